package io.cqring.stress;

import io.cqring.memory.QueueMemory;

/**
 * A memory that breaks one promise, for twins: it lets the shipped classes run on a machine on which one of their ordered
 * accesses is not ordered. It does so by really carrying out the accesses in the wrong order, so that a processor that keeps
 * its own order well (x86) shows the fault all the same.
 *
 * <p>Keeps every promise until {@link #arm}, so that a queue can be made and used before the race. This class forwards all;
 * each twin overrides what it breaks.
 */
abstract class WeakMemory extends QueueMemory {
    final QueueMemory memory;
    boolean armed;

    WeakMemory(QueueMemory memory) {
        super(memory.sizeBytes());
        this.memory = memory;
    }

    final void arm() {
        armed = true;
    }

    @Override
    public long getLong(long offset) {
        return memory.getLong(offset);
    }

    @Override
    public void putLong(long offset, long value) {
        memory.putLong(offset, value);
    }

    @Override
    public long getLongOpaque(long offset) {
        return memory.getLongOpaque(offset);
    }

    @Override
    public void putLongOpaque(long offset, long value) {
        memory.putLongOpaque(offset, value);
    }

    @Override
    public long getLongAcquire(long offset) {
        return memory.getLongAcquire(offset);
    }

    @Override
    public void putLongRelease(long offset, long value) {
        memory.putLongRelease(offset, value);
    }

    @Override
    public boolean compareAndSetLong(long offset, long expected, long value) {
        return memory.compareAndSetLong(offset, expected, value);
    }

    @Override
    public long getAndAddLong(long offset, long delta) {
        return memory.getAndAddLong(offset, delta);
    }

    @Override
    public void fullFence() {
        memory.fullFence();
    }

    @Override
    public void getBytes(int offset, byte[] into, int index, int length) {
        memory.getBytes(offset, into, index, length);
    }

    @Override
    public void putBytes(int offset, byte[] from, int index, int length) {
        memory.putBytes(offset, from, index, length);
    }

    @Override
    public void copy(int offset, QueueMemory source, int sourceOffset, int length) {
        memory.copy(offset, source, sourceOffset, length);
    }

    @Override
    public void fill(int offset, int length, byte value) {
        memory.fill(offset, length, value);
    }

    /** A release store that is overtaken by a later one to another word. */
    static class LateStore extends WeakMemory {
        private final int lateOffset;
        private final int untilOffset;
        private boolean waiting;
        private long value;

        /** Holds a store to {@code lateOffset} back until one to {@code untilOffset} has been done. */
        LateStore(QueueMemory memory, int lateOffset, int untilOffset) {
            super(memory);
            this.lateOffset = lateOffset;
            this.untilOffset = untilOffset;
        }

        @Override
        public void putLongRelease(long offset, long value) {
            if (armed && offset == lateOffset) {
                this.value = value;
                waiting = true;
                return;
            }
            memory.putLongRelease(offset, value);
            if (waiting && offset == untilOffset) {
                waiting = false;
                Thread.onSpinWait(); // as long as a cache miss would take
                memory.putLongRelease(lateOffset, this.value);
            }
        }
    }
}
