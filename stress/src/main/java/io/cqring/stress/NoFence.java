package io.cqring.stress;

import io.cqring.memory.QueueMemory;

/**
 * A memory in which the full fence between a store and a later load of another word is missing at one end, and the processor
 * makes use of that: the store stays in the store buffer until the load has been done. What a processor does now and then, this
 * does each time, so that a twin is convicted on a busy machine as well.
 *
 * <p>Only one thread stores to the first word and loads the second one in order.
 */
final class NoFence extends WeakMemory {
    private final int storeOffset;
    private final int loadOffset;

    /** The thread whose store waits, or null: a thread finds itself here only if it put itself there. */
    private Thread buffering;

    private long value;
    private boolean adds;

    /** Holds a release store or get-and-add to {@code storeOffset} back until {@code loadOffset} has been loaded. */
    NoFence(QueueMemory memory, int storeOffset, int loadOffset) {
        super(memory);
        this.storeOffset = storeOffset;
        this.loadOffset = loadOffset;
    }

    @Override
    public void putLongRelease(long offset, long value) {
        if (offset == storeOffset) {
            hold(value, false);
        } else {
            memory.putLongRelease(offset, value);
        }
    }

    @Override
    public long getAndAddLong(long offset, long delta) {
        if (offset != storeOffset) {
            return memory.getAndAddLong(offset, delta);
        }
        long before = memory.getLongOpaque(offset);
        hold(delta, true);
        return before;
    }

    private void hold(long value, boolean adds) {
        this.value = value;
        this.adds = adds;
        buffering = Thread.currentThread();
    }

    @Override
    public long getLongAcquire(long offset) {
        long loaded = memory.getLongAcquire(offset);
        if (offset == loadOffset && buffering == Thread.currentThread()) {
            buffering = null;
            Thread.onSpinWait(); // as long as a cache miss would take
            if (adds) {
                memory.getAndAddLong(storeOffset, value);
            } else {
                memory.putLongRelease(storeOffset, value);
            }
        }
        return loaded;
    }

    @Override
    public void fullFence() {
        if (buffering != Thread.currentThread()) {
            memory.fullFence();
        }
    }
}
