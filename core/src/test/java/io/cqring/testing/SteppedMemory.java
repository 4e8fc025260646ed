package io.cqring.testing;

import io.cqring.memory.QueueMemory;
import java.util.function.LongSupplier;

/**
 * Real memory that stops before and after each access to a word, so that a test can put something in between, or end the
 * call there. What stops is up to the hook.
 */
public final class SteppedMemory extends ForwardingMemory {
    /** Called around each access of the thread that makes it. */
    @FunctionalInterface
    public interface Hook {
        /** An access to this word is about to be made (or has just been made, if {@code done}); it may store. */
        void at(boolean done, long offset, boolean stores);
    }

    /** What {@link #endAt} throws. */
    public static final class Ended extends Error {
        private static final long serialVersionUID = 1L;

        /** Says that the test ended the call. */
        public Ended() {
            super("call ended here by the test", null, false, false);
        }
    }

    private static final Hook NOTHING = (done, offset, stores) -> {};

    private volatile Hook hook = NOTHING;

    /**
     * Memory of its own.
     *
     * @param bytes size
     */
    public SteppedMemory(long bytes) {
        this(QueueMemory.allocate(bytes));
    }

    /**
     * Other memory, for instance a file; who uses that directly is not stopped.
     *
     * @param real the memory
     */
    public SteppedMemory(QueueMemory real) {
        super(real);
    }

    /**
     * From now on, the hook is called.
     *
     * @param hook what to call
     */
    public void hook(Hook hook) {
        this.hook = hook;
    }

    /** From now on, nothing happens between accesses. */
    public void unhook() {
        this.hook = NOTHING;
    }

    /**
     * Ends the call that makes the access with this number from now on, just before or just after it, by {@link Ended}.
     *
     * @param access from 0
     * @param after  whether the access itself is still made
     */
    public void endAt(int access, boolean after) {
        int[] seen = {0};
        hook((done, offset, stores) -> {
            if (done == after && seen[0]++ == access) {
                unhook();
                throw new Ended();
            }
        });
    }

    /**
     * Runs something once, just before the access with this number from now on. What it does is not interrupted again.
     *
     * @param access from 0
     * @param what   what to run
     */
    public void runBefore(int access, Runnable what) {
        int[] seen = {0};
        hook((done, offset, stores) -> {
            if (!done && seen[0]++ == access) {
                unhook();
                what.run();
            }
        });
    }

    private long step(long offset, boolean stores, LongSupplier access) {
        hook.at(false, offset, stores);
        long value = access.getAsLong();
        hook.at(true, offset, stores);
        return value;
    }

    private void step(long offset, Runnable store) {
        hook.at(false, offset, true);
        store.run();
        hook.at(true, offset, true);
    }

    @Override
    public long getLong(long offset) {
        return step(offset, false, () -> memory.getLong(offset));
    }

    @Override
    public void putLong(long offset, long value) {
        step(offset, () -> memory.putLong(offset, value));
    }

    @Override
    public long getLongOpaque(long offset) {
        return step(offset, false, () -> memory.getLongOpaque(offset));
    }

    @Override
    public void putLongOpaque(long offset, long value) {
        step(offset, () -> memory.putLongOpaque(offset, value));
    }

    @Override
    public long getLongAcquire(long offset) {
        return step(offset, false, () -> memory.getLongAcquire(offset));
    }

    @Override
    public void putLongRelease(long offset, long value) {
        step(offset, () -> memory.putLongRelease(offset, value));
    }

    @Override
    public boolean compareAndSetLong(long offset, long expected, long value) {
        return step(offset, true, () -> memory.compareAndSetLong(offset, expected, value) ? 1 : 0) == 1;
    }

    @Override
    public long compareAndExchangeLong(long offset, long expected, long value) {
        return step(offset, true, () -> memory.compareAndExchangeLong(offset, expected, value));
    }

    @Override
    public long getAndAddLong(long offset, long delta) {
        return step(offset, true, () -> memory.getAndAddLong(offset, delta));
    }
}
