package io.cqring.simnic.profile;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.qp.QpType;

/**
 * An mlx5 completion queue, and its host end: ownership is the parity of the lap, 0 on the first, and the opcode is not INVALID. The consumer index
 * is a record in host memory, 24 bits, stored at the end of every poll. Source: rdma-core {@code providers/mlx5/cq.c}.
 */
public final class Mlx5Queue extends VendorQueue {
    private static final int COUNTER_MASK = 0xFFFF;

    private final QueueMemory memory;
    private final boolean compresses;
    private final Mlx5Writer writer;
    private VendorRing ring;
    private long consumed;
    private int armWord;
    private int armSequence;

    // A session that is being expanded.
    private long title;
    private int sessionLength;
    private int sessionDone;

    private Mlx5Queue(
            QueueMemory memory,
            QueueMemory scratch,
            int depth,
            int strideBytes,
            int number,
            long start,
            boolean compresses) {
        super(number, Mlx5Region.INDEX_MASK, scratch);
        this.memory = memory;
        this.compresses = compresses;
        this.ring = Mlx5Region.ring(memory, Mlx5Region.RING, depth, strideBytes);
        this.consumed = start;
        this.writer = new Mlx5Writer(memory, ring, number, start, compresses);
    }

    /**
     * Bytes that {@link #create(QueueMemory, int, int, int, long)} and {@link #attach} need.
     *
     * @param depth       entries
     * @param strideBytes bytes per entry, 64 or 128
     * @return bytes
     * @throws IllegalArgumentException as {@link #create(QueueMemory, int, int, int, long)}
     */
    public static long requiredBytes(int depth, int strideBytes) {
        Mlx5Region.require(depth, strideBytes);
        return Mlx5Region.bytes(depth, strideBytes);
    }

    /**
     * Makes a queue in memory of its own.
     *
     * @param depth       entries, a power of two, 1 to 2^22
     * @param strideBytes bytes per entry, 64 or 128
     * @param number      number of the queue, 24 bits
     * @param compresses  whether the device may write compressed sessions
     * @return the queue
     * @throws IllegalArgumentException if depth or stride break their rule
     */
    public static Mlx5Queue create(int depth, int strideBytes, int number, boolean compresses) {
        final QueueMemory memory = QueueMemory.allocate(requiredBytes(depth, strideBytes));
        return prime(new Mlx5Queue(memory, scratch(), depth, strideBytes, number, 0, compresses));
    }

    /**
     * Makes a queue in given memory, which may be a file that a driver of another process maps: see {@code mlx5-device}.
     *
     * @param memory      where; overwritten
     * @param depth       entries, a power of two, 1 to 2^22
     * @param strideBytes bytes per entry, 64 or 128
     * @param number      number of the queue, 24 bits
     * @param start       index of the first entry
     * @return the queue
     * @throws IllegalArgumentException if depth or stride break their rule, or the memory is too small
     */
    public static Mlx5Queue create(QueueMemory memory, int depth, int strideBytes, int number, long start) {
        return create(memory, scratch(), depth, strideBytes, number, start);
    }

    /**
     * Makes a queue in given memory, as {@link #create(QueueMemory, int, int, int, long)}, and allocates none.
     *
     * @param memory      where; overwritten
     * @param scratch     {@link #scratchBytes} for the host end
     * @param depth       entries, a power of two, 1 to 2^22
     * @param strideBytes bytes per entry, 64 or 128
     * @param number      number of the queue, 24 bits
     * @param start       index of the first entry
     * @return the queue
     * @throws IllegalArgumentException if depth or stride break their rule, or a memory is too small
     */
    public static Mlx5Queue create(
            QueueMemory memory, QueueMemory scratch, int depth, int strideBytes, int number, long start) {
        requireRoom(memory, depth, strideBytes);
        return prime(new Mlx5Queue(memory, scratch, depth, strideBytes, number, start, false));
    }

    /**
     * As {@link #create(QueueMemory, int, int, int, long)}; the device may write compressed sessions.
     *
     * @param memory      where; overwritten
     * @param depth       entries, a power of two, 1 to 2^22
     * @param strideBytes bytes per entry, 64 or 128
     * @param number      number of the queue, 24 bits
     * @param start       index of the first entry, 0 or more
     * @param compresses  whether the device may write compressed sessions
     * @return the queue
     * @throws IllegalArgumentException if depth or stride break their rule, or the memory is too small
     */
    public static Mlx5Queue create(
            QueueMemory memory, int depth, int strideBytes, int number, long start, boolean compresses) {
        requireRoom(memory, depth, strideBytes);
        return prime(new Mlx5Queue(memory, scratch(), depth, strideBytes, number, start, compresses));
    }

    /**
     * The host end of a queue that a device of another process has made. Changes nothing in it.
     *
     * @param memory      the device's file
     * @param depth       entries, a power of two, 1 to 2^22
     * @param strideBytes bytes per entry, 64 or 128
     * @param number      number of the queue, 24 bits
     * @param start       index of the first entry
     * @return the queue; its {@link #writer} is the other process's and must not be used
     * @throws IllegalArgumentException if depth or stride break their rule, or the memory is too small
     */
    public static Mlx5Queue attach(QueueMemory memory, int depth, int strideBytes, int number, long start) {
        requireRoom(memory, depth, strideBytes);
        return new Mlx5Queue(memory, scratch(), depth, strideBytes, number, start, false);
    }

    private static void requireRoom(QueueMemory memory, int depth, int strideBytes) {
        if (memory.sizeBytes() < requiredBytes(depth, strideBytes)) {
            throw new IllegalArgumentException("memory must have " + requiredBytes(depth, strideBytes)
                    + " bytes for an mlx5 queue of " + depth + " x " + strideBytes + ": " + memory.sizeBytes());
        }
    }

    private static Mlx5Queue prime(Mlx5Queue queue) {
        queue.memory.fill(0, Mlx5Region.RING, (byte) 0);
        Mlx5Region.fill(queue.ring);
        queue.memory.putLong(Mlx5Region.DOORBELL, Mlx5Region.UNRUNG);
        queue.publishConsumed();
        return queue;
    }

    @Override
    public int depth() {
        return ring.depth();
    }

    @Override
    public Mlx5Writer writer() {
        return writer;
    }

    @Override
    String whyNot(QpType type, boolean sharesReceives) {
        return null;
    }

    /** The ring that is polled, for tests. */
    VendorRing ring() {
        return ring;
    }

    // ---- Poll

    @Override
    void take(int most) {
        int left = most;
        while (left > 0) {
            if (sessionDone != sessionLength) {
                left -= expandOne();
                continue;
            }
            final long entry = ring.entry(consumed);
            final long control = control(entry);
            if (!isOurs(control, consumed)) {
                break;
            }
            if (Mlx5Cqe.format(control) == Mlx5Cqe.FORMAT_COMPRESSED) {
                title = consumed;
                sessionLength = (int) Mlx5Cqe.word(ring.memory(), entry + Mlx5Cqe.LENGTH);
                sessionDone = 0;
                if (sessionLength < 1 || sessionLength > ring.depth()) {
                    throw new IllegalStateException("a compressed session must have 1 to " + ring.depth()
                            + " completions: " + sessionLength + " at index " + title);
                }
                continue;
            }
            consumed++;
            left -= decode(entry, control);
        }
        publishConsumed();
    }

    private long control(long entry) {
        // Edge VENDOR-OWN, host end: the word with the owner bit, then the others. Partner: Mlx5Writer.release,
        // or a device of another process. Weaker (opaque): words of the lap before are taken. Shown by
        // VendorRingStress.
        return Long.reverseBytes(ring.memory().getLongAcquire(entry + Mlx5Cqe.CONTROL));
    }

    private boolean isOurs(long control, long index) {
        return Mlx5Cqe.opcode(control) != Mlx5Cqe.INVALID
                && Mlx5Cqe.owner(control) == Mlx5Cqe.ownerAt(index, ring.log2Depth());
    }

    /** Completions that came of it: 0 for a stray. */
    private int decode(long entry, long control) {
        final QueueMemory at = ring.memory();
        final long key = Mlx5Cqe.word(at, entry + Mlx5Cqe.KEY);
        final DriverQp qp = find((int) (key >>> 32) & Mlx5Region.INDEX_MASK);
        if (qp == null) {
            return 0;
        }
        final int opcode = Mlx5Cqe.opcode(control);
        final boolean ofSend = opcode == Mlx5Cqe.REQ || opcode == Mlx5Cqe.REQ_ERR;
        final long stamp = Mlx5Cqe.word(at, entry + Mlx5Cqe.STAMP);
        final int counter = Mlx5Cqe.wqeCounter(control);
        final long sequence = ofSend ? qp.send(counter, COUNTER_MASK) : qp.receive(counter, COUNTER_MASK);
        final long tag = ofSend ? qp.work.sendTag(sequence) : qp.receiveTag(sequence);
        if (ofSend) {
            qp.sendsDone = sequence + 1;
        } else {
            qp.receiveDone(sequence);
        }
        if (opcode == Mlx5Cqe.REQ_ERR || opcode == Mlx5Cqe.RESP_ERR) {
            deliverError(ofSend, sequence, qp, tag, Mlx5Cqe.status((int) stamp & 0xFF), (int) stamp >>> 8 & 0xFF);
        } else {
            final long source = Mlx5Cqe.word(at, entry + Mlx5Cqe.SOURCE);
            deliver(
                    ofSend ? requestOpcode(Mlx5Cqe.wireOpcode(control)) : receiveOpcode(opcode),
                    Mlx5Cqe.isSolicited(control),
                    sequence,
                    qp,
                    tag,
                    (int) Mlx5Cqe.word(at, entry + Mlx5Cqe.LENGTH),
                    (int) key,
                    stamp,
                    ofSend ? 0 : Mlx5Cqe.sourceQp(source),
                    !ofSend && Mlx5Cqe.hasHeader(source));
        }
        return 1;
    }

    private static int requestOpcode(int wireOpcode) {
        return switch (wireOpcode) {
            case Mlx5Cqe.WIRE_RDMA_WRITE, Mlx5Cqe.WIRE_RDMA_WRITE_IMM -> CqeOpcode.RC_RDMA_WRITE;
            case Mlx5Cqe.WIRE_RDMA_READ -> CqeOpcode.RC_RDMA_READ;
            case Mlx5Cqe.WIRE_CMP_SWAP -> CqeOpcode.RC_COMP_SWAP;
            case Mlx5Cqe.WIRE_FETCH_ADD -> CqeOpcode.RC_FETCH_ADD;
            case Mlx5Cqe.WIRE_UMR -> CqeOpcode.LOCAL_INV;
            default -> CqeOpcode.RC_SEND;
        };
    }

    private static int receiveOpcode(int opcode) {
        return switch (opcode) {
            case Mlx5Cqe.RESP_WR_IMM -> CqeOpcode.RECV_RDMA_IMM;
            case Mlx5Cqe.RESP_SEND -> CqeOpcode.RECV;
            case Mlx5Cqe.RESP_SEND_IMM -> CqeOpcode.RECV_IMM;
            case Mlx5Cqe.RESP_SEND_INV -> CqeOpcode.RECV_INV;
            default -> throw new IllegalStateException("an mlx5 driver does not know opcode " + opcode);
        };
    }

    /** A driver moves the entries behind up instead. The ring of a compressed queue has holes, so here they stay where they are, in any ring. */
    @Override
    void disown(DriverQp qp) {
        long index = consumed;
        while (index - consumed < ring.depth()) {
            final long entry = ring.entry(index);
            final long control = control(entry);
            if (!isOurs(control, index)) {
                return;
            }
            final long key = Mlx5Cqe.word(ring.memory(), entry + Mlx5Cqe.KEY);
            if (((int) (key >>> 32) & Mlx5Region.INDEX_MASK) == qp.number) {
                Mlx5Cqe.putWord(ring.memory(), entry + Mlx5Cqe.KEY, Mlx5Cqe.key(NOBODY, (int) key));
                final int opcode = Mlx5Cqe.opcode(control);
                if (opcode != Mlx5Cqe.REQ && opcode != Mlx5Cqe.REQ_ERR) {
                    qp.receiveDropped(Mlx5Cqe.wqeCounter(control));
                }
            }
            index += Mlx5Cqe.format(control) == Mlx5Cqe.FORMAT_COMPRESSED
                    ? Math.max(1, (int) Mlx5Cqe.word(ring.memory(), entry + Mlx5Cqe.LENGTH))
                    : 1;
        }
    }

    // ---- Compression

    /** A completion of a compressed session in eight bytes. */
    static long mini(int counter, int wireOpcode, int byteCount) {
        return (counter & 0xFFFFL) << 48 | (wireOpcode & 0xFFL) << 40 | (byteCount & 0xFFFF_FFFFL);
    }

    /** Completions that came of the next mini: 0 for a stray. */
    private int expandOne() {
        final long mini = Mlx5Cqe.word(ring.memory(), Mlx5Writer.miniOffset(ring, title, sessionDone));
        final DriverQp qp = find(
                (int) (Mlx5Cqe.word(ring.memory(), ring.entry(title) + Mlx5Cqe.KEY) >>> 32) & Mlx5Region.INDEX_MASK);
        if (qp != null) {
            final long sequence = qp.send((int) (mini >>> 48), COUNTER_MASK);
            qp.sendsDone = sequence + 1;
            deliver(
                    requestOpcode((int) (mini >>> 40) & 0xFF),
                    false,
                    sequence,
                    qp,
                    qp.work.sendTag(sequence),
                    (int) mini,
                    0,
                    Mlx5Cqe.word(ring.memory(), ring.entry(title) + Mlx5Cqe.STAMP),
                    0,
                    false);
        }
        sessionDone++;
        if (sessionDone == sessionLength) {
            endSession();
        }
        return qp == null ? 0 : 1;
    }

    /** Neither minis nor holes have an owner bit: unless it is restored, a slot may look valid a lap later, before it is written. */
    private void endSession() {
        for (int slot = 0; slot < sessionLength; slot++) {
            final long index = title + slot;
            Mlx5Cqe.putWord(
                    ring.memory(),
                    ring.entry(index) + Mlx5Cqe.CONTROL,
                    Mlx5Cqe.control(
                            0,
                            0,
                            0,
                            Mlx5Cqe.INVALID,
                            Mlx5Cqe.FORMAT_PLAIN,
                            false,
                            Mlx5Cqe.ownerAt(index, ring.log2Depth())));
        }
        consumed = title + sessionLength;
        sessionLength = 0;
        sessionDone = 0;
    }

    // ---- Words for the device

    private void publishConsumed() {
        // Edge VENDOR-CREDIT, host end: the last loads from the slots, then the record that gives them back.
        // Partner: Mlx5Writer.readConsumed. Weaker (opaque): the device overwrites an entry that is still being
        // read. Shown by VendorRingStress.
        memory.putLongRelease(Mlx5Region.RECORD, Mlx5Region.records((int) consumed & Mlx5Region.INDEX_MASK, armWord));
    }

    /** An mlx5 driver does not look: the device compares the index. Always false. */
    @Override
    boolean armRing(ArmMode mode) {
        armWord = (armSequence & Mlx5Region.SEQUENCE_MASK) << Mlx5Region.SEQUENCE_SHIFT
                | (mode == ArmMode.SOLICITED ? Mlx5Region.SOLICITED : 0)
                | ((int) consumed & Mlx5Region.INDEX_MASK);
        publishConsumed(); // the arm record lies in the same word
        // Edge VENDOR-ARM, host end: nothing but the word itself, which carries the index. Partner:
        // Mlx5Writer.readDoorbell. No fence: the device looks again and again. Weaker (plain): the store may be
        // put off. Shown by VendorThreadsTest.
        memory.putLongOpaque(Mlx5Region.DOORBELL, Long.reverseBytes((long) armWord << 32 | (number() & 0xFFFF_FFFFL)));
        return false;
    }

    @Override
    public void onEvent(int toggle) {
        armSequence++;
    }

    // ---- Resize

    @Override
    VendorRing prepareResize(int depth) {
        Mlx5Region.require(depth, ring.strideBytes());
        if (compresses) {
            throw new IllegalStateException("a queue with compressed sessions cannot be resized");
        }
        final VendorRing next =
                Mlx5Region.ring(QueueMemory.allocate((long) depth * ring.strideBytes()), 0, depth, ring.strideBytes());
        Mlx5Region.fill(next);
        return next;
    }

    /** The device has moved: what is unpolled is copied, one place further on and with the owner bit of that place, and the marker is taken. */
    @Override
    void finishResize(VendorRing next) {
        long index = consumed;
        while (true) {
            final long entry = ring.entry(index);
            final long control = control(entry);
            if (!isOurs(control, index)) {
                throw new IllegalStateException("no marker in the old ring at index " + index);
            }
            if (Mlx5Cqe.opcode(control) == Mlx5Cqe.RESIZE_CQ) {
                break;
            }
            index++;
            final long slot = next.entry(index) - next.entryOffset();
            next.memory().copy((int) slot, ring.memory(), (int) (entry - ring.entryOffset()), ring.strideBytes());
            Mlx5Cqe.putWord(
                    next.memory(),
                    next.entry(index) + Mlx5Cqe.CONTROL,
                    (control & ~1L) | Mlx5Cqe.ownerAt(index, next.log2Depth()));
        }
        ring = next;
        consumed++;
        publishConsumed();
    }

    @Override
    boolean moveDevice(VendorRing next) {
        return writer.moveTo(next);
    }
}
