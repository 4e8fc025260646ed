package io.cqring.testing;

import io.cqring.memory.QueueMemory;
import io.cqring.memory.RoleLock;
import java.util.function.LongConsumer;

/**
 * Memory of another kind whose user stops for good in front of a chosen store: what is there then is what a process leaves that is
 * killed at that instruction. One thread.
 */
public final class StoppingMemory extends QueueMemory {
    /** Says that the user has been stopped. An error, so that nothing catches it by mistake. */
    public static final class Stopped extends Error {
        private static final long serialVersionUID = 1L;

        Stopped() {
            super("stopped in front of a store", null, false, false);
        }
    }

    private final QueueMemory real;
    private final Runnable onStop;
    private LongConsumer beforeLoad = offset -> {};
    private long left = Long.MAX_VALUE;
    private long releasesLeft = Long.MAX_VALUE;
    private boolean stopped;
    private long stores;
    private long releases;

    /**
     * Memory that stops by throwing {@link Stopped}.
     *
     * @param real what it reads and writes
     */
    public StoppingMemory(QueueMemory real) {
        this(real, () -> {});
    }

    /**
     * Memory that runs something before it throws {@link Stopped}.
     *
     * @param real   what it reads and writes
     * @param onStop what to do when it stops
     */
    public StoppingMemory(QueueMemory real, Runnable onStop) {
        super(real.sizeBytes());
        this.real = real;
        this.onStop = onStop;
    }

    /**
     * Lets some more stores through, then none.
     *
     * @param count stores, 0 or more
     */
    public void stopAfter(long count) {
        left = count;
    }

    /**
     * Lets some more release stores through, and all others up to the next one of these.
     *
     * @param count release stores, 0 or more
     */
    public void stopAfterReleases(long count) {
        releasesLeft = count;
    }

    /** Lets all stores through again: the call was cut short, and its process lives. */
    public void resume() {
        left = Long.MAX_VALUE;
        releasesLeft = Long.MAX_VALUE;
        stopped = false;
    }

    /**
     * Runs something before each opaque or acquire load, so that a test can let the rest of the world go on just there.
     *
     * @param beforeLoad gets the offset
     */
    public void beforeLoads(LongConsumer beforeLoad) {
        this.beforeLoad = beforeLoad;
    }

    /**
     * Stores that went through.
     *
     * @return stores since the start
     */
    public long stores() {
        return stores;
    }

    /**
     * Release stores that went through.
     *
     * @return stores since the start
     */
    public long releases() {
        return releases;
    }

    /**
     * Whether it has stopped.
     *
     * @return true once a store was refused
     */
    public boolean hasStopped() {
        return stopped;
    }

    private void store() {
        if (stopped || left == 0) {
            stopped = true; // for good: nothing is stored on the way out either
            onStop.run();
            throw new Stopped();
        }
        left--;
        stores++;
    }

    @Override
    public RoleLock roleLock(String role) {
        return real.roleLock(role);
    }

    @Override
    public long getLong(long offset) {
        return real.getLong(offset);
    }

    @Override
    public void putLong(long offset, long value) {
        store();
        real.putLong(offset, value);
    }

    @Override
    public long getLongOpaque(long offset) {
        beforeLoad.accept(offset);
        return real.getLongOpaque(offset);
    }

    @Override
    public void putLongOpaque(long offset, long value) {
        store();
        real.putLongOpaque(offset, value);
    }

    @Override
    public long getLongAcquire(long offset) {
        beforeLoad.accept(offset);
        return real.getLongAcquire(offset);
    }

    @Override
    public void putLongRelease(long offset, long value) {
        if (releasesLeft-- == 0) {
            left = 0;
        }
        store();
        releases++;
        real.putLongRelease(offset, value);
    }

    @Override
    public boolean compareAndSetLong(long offset, long expected, long value) {
        store();
        return real.compareAndSetLong(offset, expected, value);
    }

    @Override
    public long getAndAddLong(long offset, long delta) {
        store();
        return real.getAndAddLong(offset, delta);
    }

    @Override
    public void fullFence() {
        real.fullFence();
    }

    @Override
    public void getBytes(int offset, byte[] into, int index, int length) {
        real.getBytes(offset, into, index, length);
    }

    @Override
    public void putBytes(int offset, byte[] from, int index, int length) {
        store();
        real.putBytes(offset, from, index, length);
    }

    @Override
    public void copy(int offset, QueueMemory source, int sourceOffset, int length) {
        store();
        real.copy(offset, source, sourceOffset, length);
    }

    @Override
    public void fill(int offset, int length, byte value) {
        store();
        real.fill(offset, length, value);
    }
}
