package io.cqring.simnic.profile;

import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;

/**
 * Device end of an mlx5 queue.
 *
 * <p>Events: the device looks at the arm doorbell on each pass, and fires at once if entries are past the armed index already. One event per
 * sequence number, which the driver advances when it has taken the event; a repeated arm with the same number only changes command and index.
 *
 * <p>With compression, successful sends of one queue pair that are flushed together become a session: a title, which says how many, and arrays of
 * eight minis in the slots 1, 8, 16, ... behind it; the other slots are left as they were.
 */
public final class Mlx5Writer extends VendorWriter {
    private static final int MOST_STAGED = 64;
    private static final int MINIS = 8;

    /** Of this NIC's one port. */
    private static final int SOURCE_LID = 1;

    private final QueueMemory memory;
    private final int number;
    private final boolean compresses;
    private VendorRing ring;

    // The arm doorbell.
    private long doorbellSeen = Mlx5Region.UNRUNG;
    private boolean armed;
    private int armWord;
    private int firedSequence = -1;
    private long strayDoorbells;

    // What is staged, of one queue pair.
    private final int[] counters;
    private final int[] wireOpcodes;
    private final int[] byteCounts;
    private int staged;
    private int stagedQp;
    private long stagedStamp;

    Mlx5Writer(QueueMemory memory, VendorRing ring, int number, long start, boolean compresses) {
        super(start);
        this.memory = memory;
        this.ring = ring;
        this.number = number;
        this.compresses = compresses;
        this.counters = new int[compresses ? MOST_STAGED : 0];
        this.wireOpcodes = new int[counters.length];
        this.byteCounts = new int[counters.length];
    }

    @Override
    public boolean write(long header, long workRequestId, long length, long detail, long timestamp) {
        flush();
        final int qp = CqeLayout.qpNumber(header);
        final int opcode = CqeLayout.opcode(header);
        final int context = CqeOpcode.isReceive(opcode) ? context(qp) : 0;
        final int counter = place(context, CqeLayout.wqeCounter(header));
        final boolean solicited = CqeLayout.isSolicited(header);
        final int syndrome = CqeLayout.syndrome(header);
        if (syndrome != 0) {
            return writeError(
                    opcode == CqeOpcode.REQ_ERR ? Mlx5Cqe.REQ_ERR : Mlx5Cqe.RESP_ERR,
                    qp,
                    qp,
                    counter,
                    Mlx5Cqe.syndrome(CompletionStatus.ofSyndrome(syndrome)),
                    CqeLayout.vendorError(detail));
        }
        if (!CqeOpcode.isReceive(opcode)) {
            // A device counts the bytes of what it has read; for what it has sent the driver knows them.
            final int byteCount = isRead(opcode) ? (int) CqeLayout.byteCount(length) : 0;
            return writeEntry(wire(opcode), qp, qp, counter, Mlx5Cqe.REQ, solicited, byteCount, 0, 0, timestamp);
        }
        final boolean isDatagram = isDatagram(context);
        final int sourceQp = CqeLayout.sourceQp(detail);
        return writeEntry(
                0,
                qp,
                qp,
                counter,
                response(opcode),
                solicited,
                (int) CqeLayout.byteCount(length),
                CqeLayout.immediate(length),
                isDatagram ? SOURCE_LID : 0,
                isDatagram ? Mlx5Cqe.sourceOfDatagram(sourceQp, 0) : Mlx5Cqe.source(sourceQp, 0),
                timestamp);
    }

    private static boolean isRead(int opcode) {
        return opcode == CqeOpcode.RC_RDMA_READ || opcode == CqeOpcode.RC_COMP_SWAP || opcode == CqeOpcode.RC_FETCH_ADD;
    }

    private static int wire(int opcode) {
        return switch (opcode) {
            case CqeOpcode.RC_RDMA_WRITE -> Mlx5Cqe.WIRE_RDMA_WRITE;
            case CqeOpcode.RC_RDMA_READ -> Mlx5Cqe.WIRE_RDMA_READ;
            case CqeOpcode.RC_COMP_SWAP -> Mlx5Cqe.WIRE_CMP_SWAP;
            case CqeOpcode.RC_FETCH_ADD -> Mlx5Cqe.WIRE_FETCH_ADD;
            case CqeOpcode.LOCAL_INV -> Mlx5Cqe.WIRE_UMR;
            default -> Mlx5Cqe.WIRE_SEND;
        };
    }

    private static int response(int opcode) {
        return switch (opcode) {
            case CqeOpcode.RECV_IMM -> Mlx5Cqe.RESP_SEND_IMM;
            case CqeOpcode.RECV_RDMA_IMM -> Mlx5Cqe.RESP_WR_IMM;
            case CqeOpcode.RECV_INV -> Mlx5Cqe.RESP_SEND_INV;
            default -> Mlx5Cqe.RESP_SEND;
        };
    }

    /**
     * Writes the entry of a success, field by field.
     *
     * @param wireOpcode one of the WIRE constants of {@link Mlx5Cqe}; 0 for a receive
     * @param qpNumber   queue pair, 24 bits
     * @param userIndex  the driver's number of it, 24 bits
     * @param counter    counter of the work-queue entry; 16 bits count
     * @param opcode     REQ or one of the RESP constants
     * @param solicited  whether the sender asked for an event
     * @param byteCount  bytes
     * @param immediate  immediate data, or the invalidated rkey
     * @param sourceQp   who sent it, 24 bits
     * @param timestamp  device ticks
     * @return true if written; false after an overrun
     */
    public boolean writeEntry(
            int wireOpcode,
            int qpNumber,
            int userIndex,
            int counter,
            int opcode,
            boolean solicited,
            int byteCount,
            int immediate,
            int sourceQp,
            long timestamp) {
        return writeEntry(
                wireOpcode,
                qpNumber,
                userIndex,
                counter,
                opcode,
                solicited,
                byteCount,
                immediate,
                0,
                Mlx5Cqe.source(sourceQp, 0),
                timestamp);
    }

    private boolean writeEntry(
            int wireOpcode,
            int qpNumber,
            int userIndex,
            int counter,
            int opcode,
            boolean solicited,
            int byteCount,
            int immediate,
            long path,
            long source,
            long timestamp) {
        if (isDead() || !hasRoom()) {
            return overrun();
        }
        publish(
                path,
                source,
                Mlx5Cqe.key(userIndex, immediate),
                byteCount & 0xFFFF_FFFFL,
                timestamp,
                Mlx5Cqe.control(
                        wireOpcode, qpNumber, counter, opcode, Mlx5Cqe.FORMAT_PLAIN, solicited, owner(produced)));
        if (solicited) {
            noteUrgent();
        }
        return true;
    }

    /**
     * Writes the entry of a failure.
     *
     * @param opcode      REQ_ERR or RESP_ERR
     * @param qpNumber    queue pair, 24 bits
     * @param userIndex   the driver's number of it, 24 bits
     * @param counter     counter of the work-queue entry; 16 bits count
     * @param syndrome    8 bits
     * @param vendorError 8 bits
     * @return true if written; false after an overrun
     */
    public boolean writeError(int opcode, int qpNumber, int userIndex, int counter, int syndrome, int vendorError) {
        if (isDead() || !hasRoom()) {
            return overrun();
        }
        publish(
                0,
                0,
                Mlx5Cqe.key(userIndex, 0),
                0,
                Mlx5Cqe.error(vendorError, syndrome),
                Mlx5Cqe.control(0, qpNumber, counter, opcode, Mlx5Cqe.FORMAT_PLAIN, false, owner(produced)));
        noteUrgent();
        return true;
    }

    @Override
    public boolean hasRoom() {
        return hasRoom(1, ring.depth());
    }

    private int owner(long index) {
        return Mlx5Cqe.ownerAt(index, ring.log2Depth());
    }

    private void publish(long path, long source, long key, long length, long stamp, long control) {
        final QueueMemory at = ring.memory();
        final long entry = ring.entry(produced);
        at.putLong(entry, 0);
        at.putLong(entry + 8, 0);
        Mlx5Cqe.putWord(at, entry + Mlx5Cqe.PATH, path);
        Mlx5Cqe.putWord(at, entry + Mlx5Cqe.SOURCE, source);
        Mlx5Cqe.putWord(at, entry + Mlx5Cqe.KEY, key);
        Mlx5Cqe.putWord(at, entry + Mlx5Cqe.LENGTH, length);
        Mlx5Cqe.putWord(at, entry + Mlx5Cqe.STAMP, stamp);
        release(entry, control);
        produced++;
    }

    private void release(long entry, long control) {
        // Edge VENDOR-OWN, device end: the words of the entry, or of a session's minis, then the one with the
        // owner bit. Partner: Mlx5Queue.control, or a real driver. Weaker (opaque): the host takes words of the
        // lap before. Shown by VendorRingStress.
        ring.memory().putLongRelease(entry + Mlx5Cqe.CONTROL, Long.reverseBytes(control));
    }

    // ---- Compression

    @Override
    public boolean stage(long header, long workRequestId, long length, long detail, long timestamp) {
        final int opcode = CqeLayout.opcode(header);
        if (!compresses || CqeLayout.syndrome(header) != 0 || CqeOpcode.isReceive(opcode)) {
            return write(header, workRequestId, length, detail, timestamp);
        }
        final int qp = CqeLayout.qpNumber(header);
        if (staged != 0 && (stagedQp != qp || staged == counters.length)) {
            flush();
        }
        if (isDead() || !hasRoom(staged + 1, ring.depth())) {
            flush();
            return overrun();
        }
        if (staged == 0) {
            stagedQp = qp;
            stagedStamp = timestamp;
        }
        counters[staged] = CqeLayout.wqeCounter(header);
        wireOpcodes[staged] = wire(opcode);
        byteCounts[staged] = isRead(opcode) ? (int) CqeLayout.byteCount(length) : 0;
        staged++;
        return true;
    }

    @Override
    public void flush() {
        final int entries = staged;
        if (entries == 0) {
            return;
        }
        staged = 0;
        for (int mini = 0; entries > 1 && mini < entries; mini++) {
            Mlx5Cqe.putWord(
                    ring.memory(),
                    miniOffset(ring, produced, mini),
                    Mlx5Queue.mini(counters[mini], wireOpcodes[mini], byteCounts[mini]));
        }
        final long title = produced;
        publish(
                0,
                0,
                Mlx5Cqe.key(stagedQp, 0),
                entries > 1 ? entries : byteCounts[0] & 0xFFFF_FFFFL,
                stagedStamp,
                Mlx5Cqe.control(
                        wireOpcodes[0],
                        stagedQp,
                        counters[0],
                        Mlx5Cqe.REQ,
                        entries > 1 ? Mlx5Cqe.FORMAT_COMPRESSED : Mlx5Cqe.FORMAT_PLAIN,
                        false,
                        owner(title)));
        produced = title + entries;
    }

    /** Where a mini of the session that starts at an index lies: arrays of eight, in the slots 1, 8, 16, ... from there. */
    static long miniOffset(VendorRing ring, long title, int mini) {
        final int array = mini / MINIS;
        return ring.entry(title + Math.max(1, array * MINIS)) + (long) (mini % MINIS) * Long.BYTES;
    }

    // ---- Host's words

    @Override
    void readConsumed() {
        // Edge VENDOR-CREDIT, device end: the record, then the stores into the slots it gives back. Partner:
        // Mlx5Queue.publishConsumed, or a real driver. Weaker (opaque): an entry is overwritten that the host
        // still reads. Shown by VendorRingStress.
        final int index = Mlx5Region.consumerIndex(memory.getLongAcquire(Mlx5Region.RECORD));
        advanceConsumed((index - (int) consumed) & Mlx5Region.INDEX_MASK);
    }

    private void readDoorbell() {
        // Edge VENDOR-ARM, device end: a look at the word on each pass; it carries the index, so opaque is
        // enough. Partner: Mlx5Queue.armRing, or a real driver: it has no fence between its store and its last
        // look at the ring, so the device must look again and again. Weaker (plain): the load may be hoisted.
        // Shown by VendorThreadsTest.
        final long rung = Long.reverseBytes(memory.getLongOpaque(Mlx5Region.DOORBELL));
        if (rung == doorbellSeen || rung == Mlx5Region.UNRUNG) {
            return;
        }
        doorbellSeen = rung;
        if ((int) rung != number) {
            strayDoorbells++;
            return;
        }
        armWord = (int) (rung >>> 32);
        armed = sequence(armWord) != firedSequence;
    }

    private static int sequence(int word) {
        return word >>> Mlx5Region.SEQUENCE_SHIFT & Mlx5Region.SEQUENCE_MASK;
    }

    @Override
    public long pastArm() {
        readDoorbell();
        if (!armed) {
            return 0;
        }
        final int ahead = ((int) produced - armWord) & Mlx5Region.INDEX_MASK;
        if (ahead == 0 || ahead >= Mlx5Region.HALF) {
            return isDead() ? 1 : 0;
        }
        if ((armWord & Mlx5Region.SOLICITED) != 0 && !isUrgentPast(produced - ahead)) {
            return isDead() ? 1 : 0;
        }
        return ahead;
    }

    @Override
    public boolean answerArm() {
        if (!armed) {
            return false;
        }
        armed = false;
        firedSequence = sequence(armWord);
        return true;
    }

    /**
     * Doorbells with the number of another queue.
     *
     * @return the count
     */
    public long strayDoorbells() {
        return strayDoorbells;
    }

    // ---- Resize

    /** Writes the marker and goes on in another ring. False, and nothing is changed, if the backlog would not fit or there is no slot for the marker. */
    boolean moveTo(VendorRing next) {
        flush();
        readConsumed();
        final long unpolled = produced - consumed;
        if (isDead() || unpolled == ring.depth() || unpolled + 1 > next.depth()) {
            return false;
        }
        publish(
                0,
                0,
                0,
                0,
                0,
                Mlx5Cqe.control(0, 0, 0, Mlx5Cqe.RESIZE_CQ, Mlx5Cqe.FORMAT_PLAIN, false, owner(produced)));
        ring = next;
        return true;
    }
}
