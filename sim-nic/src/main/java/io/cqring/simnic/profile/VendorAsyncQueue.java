package io.cqring.simnic.profile;

import io.cqring.eq.EventHandler;
import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import java.util.Objects;

/**
 * A vendor's queue of asynchronous events, both ends: mlx5's asynchronous EQ, irdma's AEQ, bnxt_re's CREQ, entries to the bit ({@code Mlx5Eqe},
 * {@code IrdmaAeqe}, {@code BnxtCreqe}). The host end does what the driver does, and hands on the reference profile's events.
 *
 * <p>A completion queue's error says that it is dead: detail 1. An event that the vendor has no code for is counted, not posted.
 *
 * <p><b>Role:</b> as {@link AsynchronousEvents} says; that one thread polls is not checked. <b>Progress:</b> wait-free.
 */
public final class VendorAsyncQueue extends EventRing implements AsynchronousEvents {
    /** Syndrome of a completion queue that has overrun. */
    static final int OVERRUN = 1;

    /** Syndrome of a completion queue that cannot be written for another reason. */
    static final int INACCESSIBLE = 2;

    /** Detail of a completion queue's error: vendors have no other. */
    static final long CQ_IS_DEAD = 1;

    /** Layout of the entries. */
    private enum Format {
        MLX5(new EntryShape(Mlx5Eqe.BYTES, Mlx5Eqe.OWNER, 56, 0)) {
            @Override
            boolean tells(EventType type) {
                return Mlx5Eqe.tells(type);
            }

            @Override
            void write(QueueMemory memory, long entry, DeviceEvent event, boolean afterLoss, int valid) {
                Mlx5Eqe.write(memory, entry, event);
                // Edge VENDOR-EQ-OWN, device end, as in post.
                memory.putLongRelease(entry + Mlx5Eqe.OWNER, Mlx5Eqe.ownerWord(event, valid));
            }

            @Override
            void read(QueueMemory memory, long entry, long word, EventHandler handler) {
                Mlx5Eqe.read(memory, entry, word, handler);
            }
        },
        IRDMA(new EntryShape(IrdmaAeqe.BYTES, IrdmaAeqe.CONTROL, IrdmaAeqe.VALID_SHIFT, 1)) {
            @Override
            boolean tells(EventType type) {
                return IrdmaAeqe.tells(type);
            }

            @Override
            void write(QueueMemory memory, long entry, DeviceEvent event, boolean afterLoss, int valid) {
                memory.putLong(entry, IrdmaAeqe.context(event));
                // Edge VENDOR-EQ-OWN, device end, as in post.
                memory.putLongRelease(entry + IrdmaAeqe.CONTROL, IrdmaAeqe.control(event, afterLoss, valid));
            }

            @Override
            void read(QueueMemory memory, long entry, long word, EventHandler handler) {
                IrdmaAeqe.read(word, handler);
            }
        },
        BNXT_RE(new EntryShape(BnxtCreqe.BYTES, BnxtCreqe.OWNER, 0, 1)) {
            @Override
            boolean tells(EventType type) {
                return BnxtCreqe.tells(type);
            }

            @Override
            void write(QueueMemory memory, long entry, DeviceEvent event, boolean afterLoss, int valid) {
                memory.putLong(entry, BnxtCreqe.head(event));
                // Edge VENDOR-EQ-OWN, device end, as in post.
                memory.putLongRelease(entry + BnxtCreqe.OWNER, BnxtCreqe.ownerWord(event, valid));
            }

            @Override
            void read(QueueMemory memory, long entry, long word, EventHandler handler) {
                BnxtCreqe.read(memory.getLong(entry), word, handler);
            }
        };

        @SuppressWarnings("ImmutableEnumChecker") // four ints
        final EntryShape shape;

        Format(EntryShape shape) {
            this.shape = shape;
        }

        abstract boolean tells(EventType type);

        abstract void write(QueueMemory memory, long entry, DeviceEvent event, boolean afterLoss, int valid);

        abstract void read(QueueMemory memory, long entry, long word, EventHandler handler);
    }

    private final Format format;

    // Device end.
    private boolean losing;
    private long untold;

    // Host end.
    private long overrunsTaken;

    private VendorAsyncQueue(Format format, QueueMemory memory, int depth, Interrupt interrupt) {
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
    public static VendorAsyncQueue create(VendorProfile profile, QueueMemory memory, int depth, Interrupt interrupt) {
        require(memory, requiredBytes(profile, depth), depth);
        return new VendorAsyncQueue(Format.valueOf(profile.name()), memory, depth, interrupt);
    }

    // ---- Device end

    @Override
    public boolean tells(EventType type) {
        return format.tells(type);
    }

    @Override
    public boolean post(DeviceEvent event) {
        if (isClosed()) {
            return false;
        }
        if (!format.tells(event.type())) {
            untold++;
            memory.putLongOpaque(UNTOLD, untold);
            return false;
        }
        final long entry = claim();
        if (entry == FULL) {
            losing = true;
            return false;
        }
        // Edge VENDOR-EQ-OWN, device end: the other words, and what the event is about, then the owner bit. Partner:
        // next. Weaker (opaque): a word of the lap before. Shown by VendorEventStress.
        format.write(memory, entry, event, losing, claimedValid());
        losing = false;
        posted();
        return true;
    }

    // ---- Host end

    @Override
    public int poll(EventHandler handler, int budget) {
        Objects.requireNonNull(handler, "handler");
        requireOpen();
        final int most = beginPoll(budget);
        final long first = consumed();
        int polled = 0;
        try {
            while (consumed() - first < most && next()) {
                format.read(memory, taken, takenWord, handler);
            }
        } finally {
            polled = endPoll(first);
        }
        return polled;
    }

    @Override
    public boolean arm() {
        requireOpen();
        requireNoHandler();
        storeArm();
        return isReady();
    }

    @Override
    public boolean takeOverrun() {
        requireOpen();
        requireNoHandler();
        final long lost = overruns();
        if (lost == overrunsTaken) {
            return false;
        }
        overrunsTaken = lost;
        return true;
    }

    @Override
    public long untold() {
        return memory.getLongOpaque(UNTOLD);
    }

    @Override
    public void releasePoller() {
        requireNoHandler(); // which thread polls is not checked
    }

    @Override
    public void close() {
        if (!isClosed()) {
            memory.putLongOpaque(CLOSED, 1);
            interrupt.raise();
        }
    }

    private boolean isClosed() {
        return memory.getLongOpaque(CLOSED) != 0;
    }

    private void requireOpen() {
        if (isClosed()) {
            throw new IllegalStateException("event queue is closed");
        }
    }
}
