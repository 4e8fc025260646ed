package io.cqring.simnic.profile;

import io.cqring.eq.Interrupt;
import io.cqring.memory.CacheLines;
import io.cqring.memory.QueueMemory;
import java.util.Objects;

/**
 * A vendor's event queue for completions, both ends: entries to the bit, one for each answered arm of any number of completion queues, and an
 * interrupt that is raised when the queue is armed and has an entry.
 *
 * <pre>
 *   mlx5 EQ       64 bytes, big-endian: 31:0 of byte 56 queue number | byte 1 type 0 | byte 63 owner, 0 on the first lap
 *   irdma CEQ      8 bytes: 62:0 context, here the queue number | 63 VALID, 1 on the first lap
 *   bnxt_re NQ    16 bytes: 5:0 type 0x30 | 7:6 toggle | 63:32 queue, low half; byte 8: 0 V, 1 on the first lap | 63:32 high half
 * </pre>
 *
 * <p>The doorbells are simplified: one word for the consumer index, and one that arms, with a count of the writes to it, because a bus delivers each
 * write and memory keeps only the last. Source: see the vendors' entries.
 *
 * <p><b>Role:</b> the device thread posts and serves; one host thread polls and arms. <b>Progress:</b> wait-free.
 */
public final class VendorEventQueue {
    /** Layout of the entries. */
    enum Format {
        MLX5(64, 56, 0) {
            @Override
            void write(QueueMemory memory, long entry, int number, int toggle, int valid) {
                memory.putLong(entry, 0);
                // Edge EQ-OWN of a vendor's queue, device end, as in post.
                memory.putLongRelease(entry + ownerOffset, Long.reverseBytes((number & 0xFF_FFFFL) << 32 | valid));
            }

            @Override
            int valid(long word) {
                return (int) Long.reverseBytes(word) & 1;
            }

            @Override
            int number(QueueMemory memory, long entry, long word) {
                return (int) (Long.reverseBytes(word) >>> 32) & 0xFF_FFFF;
            }
        },
        IRDMA(8, 0, 1) {
            @Override
            void write(QueueMemory memory, long entry, int number, int toggle, int valid) {
                // Edge EQ-OWN of a vendor's queue, device end, as in post.
                memory.putLongRelease(entry, (long) valid << 63 | number);
            }

            @Override
            int valid(long word) {
                return (int) (word >>> 63);
            }

            @Override
            int number(QueueMemory memory, long entry, long word) {
                return (int) word;
            }
        },
        BNXT_RE(16, 8, 1) {
            @Override
            void write(QueueMemory memory, long entry, int number, int toggle, int valid) {
                memory.putLong(entry, (long) number << 32 | toggle << 6 | CQ_NOTIFICATION);
                // Edge EQ-OWN of a vendor's queue, device end, as in post.
                memory.putLongRelease(entry + ownerOffset, valid);
            }

            @Override
            int valid(long word) {
                return (int) word & 1;
            }

            @Override
            int number(QueueMemory memory, long entry, long word) {
                return (int) (memory.getLong(entry) >>> 32);
            }

            @Override
            int toggle(QueueMemory memory, long entry) {
                return (int) memory.getLong(entry) >>> 6 & 3;
            }
        };

        private static final int CQ_NOTIFICATION = 0x30;

        final int strideBytes;

        /** Offset of the word with the owner bit: stored last, loaded first. */
        final int ownerOffset;

        /** Owner bit of a valid entry on the first lap. */
        final int firstValid;

        Format(int strideBytes, int ownerOffset, int firstValid) {
            this.strideBytes = strideBytes;
            this.ownerOffset = ownerOffset;
            this.firstValid = firstValid;
        }

        abstract void write(QueueMemory memory, long entry, int number, int toggle, int valid);

        abstract int valid(long word);

        abstract int number(QueueMemory memory, long entry, long word);

        int toggle(QueueMemory memory, long entry) {
            return 0;
        }
    }

    private static final int CONSUMER = 0;
    private static final int ARM = CacheLines.SEPARATION_BYTES;
    private static final int ARM_COUNT_SHIFT = 32;

    private final Format format;
    private final QueueMemory doorbells = QueueMemory.allocate(2L * CacheLines.SEPARATION_BYTES);
    private final QueueMemory ring;
    private final Interrupt interrupt;
    private final int depth;
    private final int log2Depth;

    // Device end.
    private long produced;
    private long consumedSeen;
    private long armSeen;
    private boolean armed;
    private long overruns;

    // Host end.
    private long consumed;
    private long arms;

    VendorEventQueue(Format format, int depth, Interrupt interrupt) {
        if (depth < 1 || Integer.bitCount(depth) != 1) {
            throw new IllegalArgumentException("depth must be a power of two: " + depth);
        }
        this.format = format;
        this.depth = depth;
        this.log2Depth = Integer.numberOfTrailingZeros(depth);
        this.interrupt = Objects.requireNonNull(interrupt, "interrupt");
        this.ring = QueueMemory.allocate((long) depth * format.strideBytes);
        if (format.firstValid == 0) {
            for (int slot = 0; slot < depth; slot++) {
                format.write(ring, (long) slot * format.strideBytes, 0, 0, 1);
            }
        }
    }

    private int validAt(long sequence) {
        return format.firstValid ^ ((int) (sequence >>> log2Depth) & 1);
    }

    private long entry(long sequence) {
        return (sequence & (depth - 1)) * format.strideBytes;
    }

    // ---- Device end

    /**
     * Posts that a completion queue has answered an arm. Device thread.
     *
     * @param number its number
     * @param toggle what the vendor's event carries besides
     * @return false if the queue is full: the event is lost, and counted; a queue with a slot for each completion queue is never full
     */
    public boolean post(int number, int toggle) {
        if (produced - consumedSeen == depth) {
            // Edge EQ-CREDIT of a vendor's queue, device end: the index, then the store into the slot. Partner: poll.
            consumedSeen = doorbells.getLongAcquire(CONSUMER);
        }
        if (produced - consumedSeen == depth) {
            overruns++;
            interrupt.raise(); // whoever waits must look at all queues
            return false;
        }
        // Edge EQ-OWN of a vendor's queue, device end: the entry, and the completion it is about, then the owner bit.
        // Partner: poll.
        // Weaker: the host polls the completion queue before the completion is there. Shown by VendorThreadsTest.
        format.write(ring, entry(produced), number, toggle, validAt(produced));
        produced++;
        serve();
        return true;
    }

    /** Raises the interrupt if the host has armed the queue and an entry is there. Device thread, on each pass: it must not sleep for long. */
    public void serve() {
        // Edge EQ-ARM of a vendor's queue, device end: a look at the word on each pass. Partner: arm.
        final long word = doorbells.getLongAcquire(ARM);
        if (word != armSeen) {
            armSeen = word;
            armed = true;
        }
        if (armed && (int) produced != (int) armSeen) {
            armed = false;
            interrupt.raise();
        }
    }

    // ---- Host end

    /**
     * Takes events.
     *
     * @param handler told of each; if it throws, the event it was told of counts as taken
     * @param budget  the most of them
     * @return how many it was told of; fewer than the budget if the queue is empty
     */
    public int poll(EventHandler handler, int budget) {
        final long first = consumed;
        try {
            while (consumed - first != budget) {
                final long entry = entry(consumed);
                // Edge EQ-OWN of a vendor's queue, host end: the owner bit, then the entry and what it is about.
                // Partner: post.
                final long word = ring.getLongAcquire(entry + format.ownerOffset);
                if (format.valid(word) != validAt(consumed)) {
                    break;
                }
                consumed++;
                handler.onEvent(format.number(ring, entry, word), format.toggle(ring, entry));
            }
        } finally {
            if (consumed != first) { // also when the handler throws: its event counts as taken
                // Edge EQ-CREDIT of a vendor's queue, host end: the last loads from the slots, then the index.
                // Partner: post.
                doorbells.putLongRelease(CONSUMER, consumed);
            }
        }
        return (int) (consumed - first);
    }

    /** Asks for one interrupt, at once if there is an entry that has not been polled. */
    public void arm() {
        arms++;
        // Edge EQ-ARM of a vendor's queue, host end. Partner: serve, which looks again and again and compares the
        // index.
        doorbells.putLongRelease(ARM, arms << ARM_COUNT_SHIFT | (consumed & 0xFFFF_FFFFL));
    }

    /**
     * What the thread that waits sleeps on.
     *
     * @return the interrupt, which other queues may share
     */
    public Interrupt interrupt() {
        return interrupt;
    }

    /**
     * Events that found the queue full.
     *
     * @return the count, as the device thread sees it
     */
    public long overruns() {
        return overruns;
    }
}
