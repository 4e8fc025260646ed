package io.cqring.simnic.profile;

import io.cqring.eq.Interrupt;
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
 * <p>The doorbells are simplified, see {@code profiles.md}. Asynchronous events go into a {@link VendorAsyncQueue}. Source: see the vendors' entries.
 *
 * <p><b>Role:</b> the device thread posts and serves; one host thread polls and arms. <b>Progress:</b> wait-free.
 */
public final class VendorEventQueue extends EventRing {
    /** Layout of the entries. */
    enum Format {
        MLX5(new EntryShape(64, 56, 56, 0), 0xFF_FFFF) {
            @Override
            void write(QueueMemory memory, long entry, int number, int toggle, int valid) {
                memory.putLong(entry, 0);
                // Edge VENDOR-EQ-OWN, device end, as in post.
                memory.putLongRelease(entry + shape.ownerOffset(), Long.reverseBytes((long) number << 32 | valid));
            }

            @Override
            int number(QueueMemory memory, long entry, long word) {
                return (int) (Long.reverseBytes(word) >>> 32) & 0xFF_FFFF;
            }
        },
        IRDMA(new EntryShape(8, 0, 63, 1), Integer.MAX_VALUE) {
            @Override
            void write(QueueMemory memory, long entry, int number, int toggle, int valid) {
                // Edge VENDOR-EQ-OWN, device end, as in post.
                memory.putLongRelease(entry, (long) valid << 63 | number);
            }

            @Override
            int number(QueueMemory memory, long entry, long word) {
                return (int) word;
            }
        },
        BNXT_RE(new EntryShape(16, 8, 0, 1), Integer.MAX_VALUE) {
            @Override
            void write(QueueMemory memory, long entry, int number, int toggle, int valid) {
                memory.putLong(entry, (long) number << 32 | toggle << 6 | CQ_NOTIFICATION);
                // Edge VENDOR-EQ-OWN, device end, as in post.
                memory.putLongRelease(entry + shape.ownerOffset(), valid);
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

        /** Of a toggle. */
        static final int MOST_TOGGLE = 3;

        @SuppressWarnings("ImmutableEnumChecker") // four ints
        final EntryShape shape;

        /** The largest number of a completion queue that has room in an entry. */
        final int mostNumber;

        Format(EntryShape shape, int mostNumber) {
            this.shape = shape;
            this.mostNumber = mostNumber;
        }

        abstract void write(QueueMemory memory, long entry, int number, int toggle, int valid);

        abstract int number(QueueMemory memory, long entry, long word);

        int toggle(QueueMemory memory, long entry) {
            return 0;
        }
    }

    private final Format format;

    VendorEventQueue(Format format, int depth, Interrupt interrupt) {
        this(format, QueueMemory.allocate(bytes(depth, format.shape.strideBytes())), depth, interrupt);
    }

    private VendorEventQueue(Format format, QueueMemory memory, int depth, Interrupt interrupt) {
        super(memory, interrupt, depth, format.shape);
        this.format = format;
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
        return bytes(depth, Format.valueOf(profile.name()).shape.strideBytes());
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
        require(memory, requiredBytes(profile, depth), depth);
        return new VendorEventQueue(Format.valueOf(profile.name()), memory, depth, interrupt);
    }

    // ---- Device end

    /**
     * Posts that a completion queue has answered an arm. Device thread.
     *
     * @param number its number, 0 to 2^31 - 1; mlx5 has 24 bits
     * @param toggle what the vendor's event carries besides, 0 to 3; only bnxt_re has room for it
     * @return false if the queue is full: the event is lost, and counted; a queue with a slot for each completion queue is never full
     * @throws IllegalArgumentException if the number or the toggle breaks its rule; nothing is posted
     */
    public boolean post(int number, int toggle) {
        if (number < 0 || number > format.mostNumber) {
            throw new IllegalArgumentException(
                    "number of a completion queue must be 0 to " + format.mostNumber + ": " + number);
        }
        if (toggle < 0 || toggle > Format.MOST_TOGGLE) {
            throw new IllegalArgumentException("toggle must be 0 to " + Format.MOST_TOGGLE + ": " + toggle);
        }
        final long entry = claim();
        if (entry == FULL) {
            return false;
        }
        // Edge VENDOR-EQ-OWN, device end: the other word, and the completion it is about, then the owner bit.
        // Partner: next. Weaker (opaque): the host polls the completion queue before the completion is there;
        // where an event has two words, it gets one of the lap before. Shown by VendorThreadsTest,
        // VendorEventStress.
        format.write(memory, entry, number, toggle, claimedValid());
        posted();
        return true;
    }

    // ---- Host end

    /**
     * Takes events, as many as the ring holds at the most.
     *
     * @param handler told of each, on this thread; if it throws, the event it was told of counts as taken. It must not call what only the
     *     poller may
     * @param budget  the most of them; more than the queue holds is allowed
     * @return how many it was told of; fewer than the budget if the queue is empty, or has handed on all that it can hold
     * @throws NullPointerException     if there is no handler; nothing is taken
     * @throws IllegalArgumentException if the budget is negative; nothing is taken
     * @throws IllegalStateException    if the call comes from a handler of this queue; nothing is taken
     */
    public int poll(CqEventHandler handler, int budget) {
        Objects.requireNonNull(handler, "handler");
        final int most = beginPoll(budget);
        final long first = consumed();
        int polled = 0;
        try {
            while (consumed() - first < most && next()) {
                handler.onEvent(format.number(memory, taken, takenWord), format.toggle(memory, taken));
            }
        } finally {
            polled = endPoll(first);
        }
        return polled;
    }

    /**
     * Asks for one interrupt, at once if there is an entry that has not been polled.
     *
     * @throws IllegalStateException if the call comes from a handler of this queue; nothing is armed
     */
    public void arm() {
        requireNoHandler();
        storeArm();
    }
}
