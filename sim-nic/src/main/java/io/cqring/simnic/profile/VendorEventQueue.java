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
                // Edge VENDOR-EQ-OWN, device end, as in post.
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
                // Edge VENDOR-EQ-OWN, device end, as in post.
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
                // Edge VENDOR-EQ-OWN, device end, as in post.
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
    private static final int RING = 2 * CacheLines.SEPARATION_BYTES;
    private static final int ARM_COUNT_SHIFT = 32;
    private static final int MAX_DEPTH = 1 << 22;

    private final Format format;

    /** Two doorbells, then the ring. */
    private final QueueMemory memory;

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
        this(format, QueueMemory.allocate(bytes(format, depth)), depth, interrupt);
    }

    private VendorEventQueue(Format format, QueueMemory memory, int depth, Interrupt interrupt) {
        this.format = format;
        this.depth = depth;
        this.log2Depth = Integer.numberOfTrailingZeros(depth);
        this.interrupt = Objects.requireNonNull(interrupt, "interrupt");
        this.memory = memory;
        memory.fill(0, (int) bytes(format, depth), (byte) 0);
        if (format.firstValid == 0) {
            for (int slot = 0; slot < depth; slot++) {
                format.write(memory, entry(slot), 0, 0, 1);
            }
        }
    }

    private static long bytes(Format format, int depth) {
        if (depth < 1 || depth > MAX_DEPTH || Integer.bitCount(depth) != 1) {
            throw new IllegalArgumentException("depth must be a power of two, 1 to " + MAX_DEPTH + ": " + depth);
        }
        return RING + (long) depth * format.strideBytes;
    }

    /**
     * Bytes that {@link #create} needs.
     *
     * @param profile the vendor
     * @param depth   entries, a power of two, 1 to 2^22
     * @return bytes
     * @throws IllegalArgumentException if the depth breaks its rule
     */
    public static long requiredBytes(VendorProfile profile, int depth) {
        return bytes(Format.valueOf(profile.name()), depth);
    }

    /**
     * Makes a queue in given memory.
     *
     * @param profile   the vendor
     * @param memory    where; overwritten
     * @param depth     entries, a power of two, 1 to 2^22
     * @param interrupt what it raises
     * @return the queue
     * @throws IllegalArgumentException if the depth breaks its rule, or the memory is too small
     */
    public static VendorEventQueue create(VendorProfile profile, QueueMemory memory, int depth, Interrupt interrupt) {
        final long needed = requiredBytes(profile, depth);
        if (memory.sizeBytes() < needed) {
            throw new IllegalArgumentException(
                    "memory must have " + needed + " bytes for an event queue of " + depth + ": " + memory.sizeBytes());
        }
        return new VendorEventQueue(Format.valueOf(profile.name()), memory, depth, interrupt);
    }

    private int validAt(long sequence) {
        return format.firstValid ^ ((int) (sequence >>> log2Depth) & 1);
    }

    private long entry(long sequence) {
        return RING + (sequence & (depth - 1)) * format.strideBytes;
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
            // Edge VENDOR-EQ-CREDIT, device end: the index, then the stores into the slot. Partner: poll. Weaker
            // (opaque): the handler gets words of the next lap. Shown by VendorEventStress.
            consumedSeen = memory.getLongAcquire(CONSUMER);
        }
        if (produced - consumedSeen == depth) {
            overruns++;
            interrupt.raise(); // whoever waits must look at all queues
            return false;
        }
        // Edge VENDOR-EQ-OWN, device end: the other word, and the completion it is about, then the owner bit.
        // Partner: poll. Weaker (opaque): the host polls the completion queue before the completion is there;
        // where an event has two words, it gets one of the lap before. Shown by VendorThreadsTest,
        // VendorEventStress.
        format.write(memory, entry(produced), number, toggle, validAt(produced));
        produced++;
        serve();
        return true;
    }

    /** Raises the interrupt if the host has armed the queue and an entry is there. Device thread, on each pass: it must not sleep for long. */
    public void serve() {
        // Edge VENDOR-EQ-ARM, device end: a look at the word on each pass; it carries the index, so opaque is
        // enough. Partner: arm. Weaker (plain): the load may be hoisted. Shown by VendorThreadsTest.
        final long word = memory.getLongOpaque(ARM);
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
                // Edge VENDOR-EQ-OWN, host end: the owner bit, then the other word, and what it is about.
                // Partner: post. Weaker (opaque): a word of the lap before. Shown by VendorEventStress.
                final long word = memory.getLongAcquire(entry + format.ownerOffset);
                if (format.valid(word) != validAt(consumed)) {
                    break;
                }
                consumed++;
                handler.onEvent(format.number(memory, entry, word), format.toggle(memory, entry));
            }
        } finally {
            if (consumed != first) { // also when the handler throws: its event counts as taken
                // Edge VENDOR-EQ-CREDIT, host end: the last loads from the slots, then the index. Partner: post.
                // Weaker (opaque): the device overwrites an event that is still being read. Shown by
                // VendorEventStress.
                memory.putLongRelease(CONSUMER, consumed);
            }
        }
        return (int) (consumed - first);
    }

    /** Asks for one interrupt, at once if there is an entry that has not been polled. */
    public void arm() {
        arms++;
        // Edge VENDOR-EQ-ARM, host end: nothing but the word itself. Partner: serve, which looks again and again
        // and compares the index. Weaker (plain): the store may be put off. Shown by VendorThreadsTest.
        memory.putLongOpaque(ARM, arms << ARM_COUNT_SHIFT | (consumed & 0xFFFF_FFFFL));
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
