package io.cqring.stress;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.ForwardingMemory;

/**
 * A memory that breaks one promise, for twins: it lets the shipped classes run on a machine on which one of their ordered
 * accesses is not ordered. It does so by really carrying out the accesses in the wrong order, so that a processor that keeps
 * its own order well (x86) shows the fault all the same.
 *
 * <p>Keeps every promise until {@link #arm}, so that a queue can be made and used before the race. This class forwards all;
 * each twin overrides what it breaks.
 */
abstract class WeakMemory extends ForwardingMemory {
    boolean armed;

    WeakMemory(QueueMemory memory) {
        super(memory);
    }

    final void arm() {
        armed = true;
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
