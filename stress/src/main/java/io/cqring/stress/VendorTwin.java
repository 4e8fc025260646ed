package io.cqring.stress;

import io.cqring.memory.QueueMemory;

/**
 * A memory that breaks one promise to one end of a vendor's queue. Which thread plays which end it is told when the race begins; until then it
 * keeps every promise.
 */
abstract class VendorTwin extends WeakMemory {
    /** Who plays an end, or null: a thread finds itself here only if it put itself there. */
    private Thread device;

    private Thread host;

    VendorTwin(QueueMemory memory) {
        super(memory);
    }

    final void isDevice() {
        device = Thread.currentThread();
    }

    final void isHost() {
        host = Thread.currentThread();
    }

    final boolean atDevice() {
        return device == Thread.currentThread();
    }

    final boolean atHost() {
        return host == Thread.currentThread();
    }

    /** As long as some cache misses would take. */
    static void pause() {
        for (int i = 0; i < 5; i++) {
            Thread.onSpinWait();
        }
    }

    /** Stores of one thread to one word are overtaken by its next release store to another. */
    static final class Overtaken extends VendorTwin {
        private final int late;
        private final int until;
        private final boolean ofHost;
        private boolean waiting;
        private long value;

        Overtaken(QueueMemory memory, boolean ofHost, int late, int until) {
            super(memory);
            this.ofHost = ofHost;
            this.late = late;
            this.until = until;
        }

        private boolean isLate(long offset, long value) {
            if (offset != late || !(ofHost ? atHost() : atDevice())) {
                return false;
            }
            this.value = value;
            waiting = true;
            return true;
        }

        @Override
        public void putLong(long offset, long value) {
            if (!isLate(offset, value)) {
                memory.putLong(offset, value);
            }
        }

        @Override
        public void putLongOpaque(long offset, long value) {
            if (!isLate(offset, value)) {
                memory.putLongOpaque(offset, value);
            }
        }

        @Override
        public void putLongRelease(long offset, long value) {
            if (isLate(offset, value)) {
                return;
            }
            memory.putLongRelease(offset, value);
            if (offset == until && (ofHost ? atHost() : atDevice()) && waiting) {
                waiting = false;
                pause();
                memory.putLong(late, this.value);
            }
        }
    }
}
