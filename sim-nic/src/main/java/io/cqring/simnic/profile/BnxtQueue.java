package io.cqring.simnic.profile;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.WqeOpcode;
import java.util.ArrayList;
import java.util.List;

/**
 * A bnxt_re completion queue, and its host end: the toggle is compared with a phase that turns when the head returns to 0; the consumer index goes out
 * by doorbell at the end of a poll that took something. An entry of the send queue is walked, request by request, and stays at the head until that is
 * done. After an error the driver makes up what is flushed, once the ring is empty. Source: rdma-core {@code providers/bnxt_re/verbs.c}.
 *
 * <p>Not modelled: rings of twice the depth with a doorbell per half of it, doorbell pacing.
 */
public final class BnxtQueue extends VendorQueue {
    private static final int SEND_MASK = 0xFFFF;
    private static final int RECEIVE_MASK = 0xF_FFFF;

    private final QueueMemory doorbells;
    private final BnxtWriter writer;
    private final List<DriverQp> flushedSends = new ArrayList<>();
    private final List<DriverQp> flushedReceives = new ArrayList<>();
    private VendorRing ring;

    /** The ring after the cut-off; null if no resize is under way. */
    private VendorRing next;

    private int head;
    private int phase = 1;
    private int epoch;
    private int eventToggle;

    private BnxtQueue(QueueMemory doorbells, QueueMemory scratch, VendorRing ring, int number) {
        super(number, BnxtRegion.MAX_NUMBER, scratch);
        this.doorbells = doorbells;
        this.ring = ring;
        this.writer = new BnxtWriter(doorbells, ring);
        enableArms();
    }

    /**
     * Bytes that {@link #create(QueueMemory, QueueMemory, int, int)} needs.
     *
     * @param depth entries
     * @return bytes
     * @throws IllegalArgumentException if the depth breaks its rule
     */
    public static long requiredBytes(int depth) {
        BnxtRegion.requireDepth(depth);
        return BnxtRegion.bytes(depth);
    }

    /**
     * Makes a queue.
     *
     * @param depth  entries, a power of two, 1 to 2^20
     * @param number number of the queue, 20 bits
     * @return the queue
     * @throws IllegalArgumentException if the depth breaks its rule
     */
    public static BnxtQueue create(int depth, int number) {
        BnxtRegion.requireDepth(depth);
        return new BnxtQueue(QueueMemory.allocate(BnxtRegion.RING), scratch(), BnxtRegion.allocate(depth), number);
    }

    /**
     * Makes a queue in given memory; a later resize puts its ring elsewhere.
     *
     * @param memory where; overwritten
     * @param scratch {@link #scratchBytes} for the host end
     * @param depth  entries, a power of two, 1 to 2^20
     * @param number number of the queue, 20 bits
     * @return the queue
     * @throws IllegalArgumentException if the depth breaks its rule, or the memory is too small
     */
    public static BnxtQueue create(QueueMemory memory, QueueMemory scratch, int depth, int number) {
        if (memory.sizeBytes() < requiredBytes(depth)) {
            throw new IllegalArgumentException("memory must have " + requiredBytes(depth)
                    + " bytes for a bnxt_re queue of " + depth + ": " + memory.sizeBytes());
        }
        return new BnxtQueue(memory, scratch, BnxtRegion.clear(memory, depth), number);
    }

    @Override
    public int depth() {
        return ring.depth();
    }

    @Override
    public BnxtWriter writer() {
        return writer;
    }

    /** The ring that is polled, for tests. */
    VendorRing ring() {
        return ring;
    }

    /** The doorbells, for tests. */
    QueueMemory doorbells() {
        return doorbells;
    }

    @Override
    String whyNot(QpType type, boolean sharesReceives) {
        return type == QpType.UC ? "bnxt_re has no UC queue pairs" : null;
    }

    /** A bnxt_re driver flushes what is posted to a queue pair that has failed, and knows no way back but the reset. */
    @Override
    public boolean resumesSends() {
        return false;
    }

    // ---- Poll

    @Override
    void take(int most) {
        int left = most;
        boolean moved = false;
        while (left > 0) {
            final long entry = ring.entryAt(head);
            final long base = base(entry);
            if (BnxtCqe.toggle(base) != phase) {
                break;
            }
            if (BnxtCqe.type(base) == BnxtCqe.CUT_OFF) {
                switchRings(BnxtCqe.resizeToggle(base));
                moved = false;
                continue;
            }
            final int came = decode(entry, base, left);
            left -= Math.abs(came);
            if (came < 0) {
                break; // there is more in this entry: it stays at the head
            }
            ring.memory().putLong(handleOffset(entry, base), 0); // stale from now on
            advance();
            moved = true;
        }
        if (moved) {
            publishConsumed();
        }
        left = flushList(flushedSends, true, left);
        flushList(flushedReceives, false, left);
    }

    private long base(long entry) {
        // Edge VENDOR-OWN, host end: the word with the toggle, then the others. Partner: BnxtWriter.publish.
        // Weaker (opaque): words of the lap before are taken. Shown by VendorRingStress.
        return ring.memory().getLongAcquire(entry + BnxtCqe.BASE);
    }

    private void advance() {
        head++;
        if (head == ring.depth()) {
            head = 0;
            phase = 1 - phase;
            epoch = 1 - epoch;
        }
    }

    private static long handleOffset(long entry, long base) {
        return isReceive(base) ? entry + BnxtCqe.WORD_1 : entry;
    }

    private static boolean isReceive(long base) {
        return BnxtCqe.type(base) == BnxtCqe.RES_RC || BnxtCqe.type(base) == BnxtCqe.RES_UD;
    }

    /** Completions that came of the entry; their negative if there are more in it than there was room for. */
    private int decode(long entry, long base, int most) {
        final QueueMemory at = ring.memory();
        final DriverQp qp = find((int) at.getLong(handleOffset(entry, base)));
        if (qp == null) {
            return 0;
        }
        switch (BnxtCqe.type(base)) {
            case BnxtCqe.REQ -> {
                // What is being flushed has been made up already, or will be.
                return flushedSends.contains(qp)
                        ? 0
                        : walk(
                                qp,
                                (int) at.getLong(entry + BnxtCqe.WORD_1),
                                SEND_MASK,
                                BnxtCqe.sendStatus(BnxtCqe.status(base)),
                                most);
            }
            case BnxtCqe.RES_RC, BnxtCqe.RES_UD -> {
                if (flushedReceives.contains(qp)) {
                    return 0;
                }
                receive(qp, base, at.getLong(entry), at.getLong(entry + BnxtCqe.WORD_2));
                return 1;
            }
            case BnxtCqe.TERMINAL -> {
                return end(qp, (int) at.getLong(entry + BnxtCqe.WORD_1), most);
            }
            default -> throw new IllegalStateException("a bnxt_re driver does not know type " + BnxtCqe.type(base));
        }
    }

    /** What lies before the index of a terminal entry has succeeded; what lies behind it is flushed. */
    private int end(DriverQp qp, int indexes, int most) {
        int came = 0;
        final int sendIndex = indexes & BnxtCqe.NO_INDEX;
        if (sendIndex != BnxtCqe.NO_INDEX && !flushedSends.contains(qp)) {
            came = walk(qp, sendIndex, BnxtCqe.TERMINAL_INDEX_MASK, CompletionStatus.SUCCESS, most);
            if (came < 0) {
                return came;
            }
            flushedSends.add(qp);
        }
        if (indexes >>> 16 != BnxtCqe.NO_INDEX && qp.shared == null && !flushedReceives.contains(qp)) {
            flushedReceives.add(qp);
        }
        return came;
    }

    /** From where the send queue was to the index that the entry names; a failure is that of the last one. */
    private int walk(DriverQp qp, int index, int mask, CompletionStatus status, int most) {
        final long end = qp.sendsDone + ((index - (int) qp.sendsDone) & mask);
        int came = 0;
        while (qp.sendsDone != end) {
            final long sequence = qp.sendsDone;
            final boolean failed = status != CompletionStatus.SUCCESS && sequence + 1 == end;
            if (failed || qp.work.isSignaled(sequence)) {
                if (came == most) {
                    return -came;
                }
                came++;
                final long tag = qp.work.sendTag(sequence);
                if (failed) {
                    deliverError(true, sequence, qp, tag, status, 0);
                } else {
                    deliver(opcode(qp.work.sendOpcode(sequence)), false, sequence, qp, tag, 0, 0, 0, 0, false);
                }
            }
            qp.sendsDone = sequence + 1;
        }
        return came;
    }

    /** The entry does not say: the driver looks it up. */
    private static int opcode(int wqeOpcode) {
        return switch (wqeOpcode) {
            case WqeOpcode.WRITE, WqeOpcode.WRITE_IMM -> CqeOpcode.RC_RDMA_WRITE;
            case WqeOpcode.READ -> CqeOpcode.RC_RDMA_READ;
            case WqeOpcode.COMPARE_SWAP -> CqeOpcode.RC_COMP_SWAP;
            case WqeOpcode.FETCH_ADD -> CqeOpcode.RC_FETCH_ADD;
            case WqeOpcode.LOCAL_INVALIDATE -> CqeOpcode.LOCAL_INV;
            default -> CqeOpcode.RC_SEND;
        };
    }

    private void receive(DriverQp qp, long base, long word0, long word2) {
        final long sequence = qp.receive(BnxtCqe.receiveIndex(base), RECEIVE_MASK);
        final long tag = qp.receiveTag(sequence);
        qp.receiveDone(sequence);
        final CompletionStatus status = BnxtCqe.receiveStatus(BnxtCqe.status(base));
        if (status != CompletionStatus.SUCCESS) {
            deliverError(false, sequence, qp, tag, status, 0);
            return;
        }
        final int flags = BnxtCqe.flags(base);
        final int opcode;
        if ((flags & BnxtCqe.FLAG_RDMA) != 0) {
            opcode = CqeOpcode.RECV_RDMA_IMM;
        } else if ((flags & BnxtCqe.FLAG_IMM) != 0) {
            opcode = CqeOpcode.RECV_IMM;
        } else {
            opcode = (flags & BnxtCqe.FLAG_INV) != 0 ? CqeOpcode.RECV_INV : CqeOpcode.RECV;
        }
        deliver(
                opcode,
                false,
                sequence,
                qp,
                tag,
                qp.isDatagram ? BnxtCqe.datagramLength(word0) : (int) word0,
                (int) (word0 >>> 32),
                0,
                qp.isDatagram ? BnxtCqe.sourceQp(base, word2) : 0,
                qp.isDatagram);
    }

    @Override
    void disown(DriverQp qp) {
        flushedSends.remove(qp);
        flushedReceives.remove(qp);
        VendorRing in = ring;
        int slot = head;
        int expected = phase;
        boolean beyond = false;
        for (int looked = 0; looked < in.depth(); looked++) {
            final long entry = in.entryAt(slot);
            // Edge VENDOR-OWN, host end, as in base.
            final long base = in.memory().getLongAcquire(entry + BnxtCqe.BASE);
            if (BnxtCqe.toggle(base) != expected) {
                return;
            }
            if (BnxtCqe.type(base) == BnxtCqe.CUT_OFF) {
                if (beyond || next == null) {
                    return;
                }
                beyond = true;
                in = next;
                slot = 0;
                expected = 1;
                looked = -1;
                continue;
            }
            final long handle = handleOffset(entry, base);
            if (in.memory().getLong(handle) == qp.number) {
                in.memory().putLong(handle, NOBODY);
                if (isReceive(base)) {
                    qp.receiveDropped(BnxtCqe.receiveIndex(base));
                }
            }
            slot++;
            if (slot == in.depth()) {
                slot = 0;
                expected = 1 - expected;
            }
        }
    }

    @Override
    boolean holdsMore() {
        for (int i = 0; i < flushedSends.size(); i++) {
            final DriverQp qp = flushedSends.get(i);
            if (qp.sendsDone != qp.work.sendsPosted()) {
                return true;
            }
        }
        for (int i = 0; i < flushedReceives.size(); i++) {
            final DriverQp qp = flushedReceives.get(i);
            if (qp.receivesDone != qp.work.receivesPosted()) {
                return true;
            }
        }
        return false;
    }

    /** What the device does not tell: every request that is left of a queue pair that failed, also one posted later. What is left of the room. */
    private int flushList(List<DriverQp> list, boolean ofSends, int room) {
        int left = room;
        for (int i = 0; i < list.size() && left > 0; i++) {
            final DriverQp qp = list.get(i);
            final long posted = ofSends ? qp.work.sendsPosted() : qp.work.receivesPosted();
            while (left > 0 && (ofSends ? qp.sendsDone : qp.receivesDone) != posted) {
                final long sequence = ofSends ? qp.sendsDone++ : qp.receivesDone++;
                if (ofSends ? qp.work.sendGoesOn(sequence) : qp.work.receiveGoesOn(sequence)) {
                    continue;
                }
                final long tag = ofSends ? qp.work.sendTag(sequence) : qp.work.receiveTag(sequence);
                deliverError(ofSends, sequence, qp, tag, CompletionStatus.WR_FLUSH_ERR, 0);
                left--;
            }
        }
        return left;
    }

    // ---- Words for the device

    private void publishConsumed() {
        // Edge VENDOR-CREDIT, host end: the last loads from the slots, then the index that gives them back.
        // Partner: BnxtWriter.readConsumed. Weaker (opaque): the device overwrites an entry that is still being
        // read. Shown by VendorRingStress.
        doorbells.putLongRelease(BnxtRegion.CONSUMER, doorbell(BnxtRegion.TYPE_CQ, eventToggle));
    }

    private long doorbell(int type, int toggle) {
        return BnxtRegion.doorbell(type, number(), head, epoch, toggle);
    }

    /** A bnxt_re driver looks: if the ring is not empty it says so, and does not arm. */
    @Override
    boolean armRing(ArmMode mode) {
        if (BnxtCqe.toggle(base(ring.entryAt(head))) == phase) {
            return true;
        }
        // Edge VENDOR-ARM, host end: the consumer index, then the arm. Partner: BnxtWriter.pastArm, which looks
        // again and again. Weaker (opaque): an event for what was polled before. Shown by VendorThreadsTest.
        doorbells.putLongRelease(
                BnxtRegion.ARM,
                doorbell(
                        mode == ArmMode.SOLICITED ? BnxtRegion.TYPE_ARM_SOLICITED : BnxtRegion.TYPE_ARM_ALL,
                        eventToggle));
        return false;
    }

    @Override
    public void onEvent(int toggle) {
        eventToggle = toggle;
        enableArms();
    }

    private void enableArms() {
        // Edge VENDOR-ARM, host end: nothing but the word itself; without it the device leaves the arm for its
        // next pass. Partner: BnxtWriter.pastArm. Weaker (plain): the store may be put off.
        doorbells.putLongOpaque(BnxtRegion.ARM_ENABLE, doorbell(BnxtRegion.TYPE_ARM_ENABLE, eventToggle));
    }

    // ---- Resize

    @Override
    VendorRing prepareResize(int depth) {
        BnxtRegion.requireDepth(depth);
        if (next != null) {
            throw new IllegalStateException("an earlier resize has not been polled to its cut-off");
        }
        return BnxtRegion.allocate(depth);
    }

    @Override
    boolean moveDevice(VendorRing to) {
        return writer.moveTo(to);
    }

    /** The driver meets the cut-off when it polls; what lies before it comes first. */
    @Override
    void finishResize(VendorRing to) {
        next = to;
    }

    private void switchRings(int resizeToggle) {
        if (next == null) {
            throw new IllegalStateException("a cut-off entry, and no resize is under way");
        }
        if (head != 0) {
            epoch = 1 - epoch; // the index goes back, as at a wrap
        }
        ring = next;
        next = null;
        head = 0;
        phase = 1;
        publishConsumed();
        // Edge VENDOR-CREDIT, host end: the index in the new ring, then the acknowledgement. Partner:
        // BnxtWriter.readAck. Weaker (opaque): an index of the old ring is taken for one of the new, and entries
        // are overwritten. Shown by VendorRingStress.
        doorbells.putLongRelease(BnxtRegion.CUT_OFF_ACK, doorbell(BnxtRegion.TYPE_CUT_OFF_ACK, resizeToggle));
    }
}
