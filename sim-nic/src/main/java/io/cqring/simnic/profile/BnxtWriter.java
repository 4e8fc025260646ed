package io.cqring.simnic.profile;

import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import org.agrona.collections.Int2IntCounterMap;
import org.agrona.collections.IntHashSet;

/**
 * Device end of a bnxt_re queue. An entry of the send queue says how far that queue has come: one stands for all signaled requests before it, so
 * sends of one queue pair that are flushed together give one entry. Of what is flushed after an error only the fact is told, by a terminal entry;
 * the driver makes up the completions.
 *
 * <p>Events: an arm counts if it carries the toggle of the last event, and the driver has enabled arms since. Entries that the host has not taken raise
 * it at once.
 */
public final class BnxtWriter extends VendorWriter {
    private static final int NONE = -1;
    private static final int COUNTER_MASK = 0xFF_FFFF;

    /** Of this NIC's one port: 02:00:00:00:00:01, the first byte in bits 47:40. */
    private static final long MAC = 0x0200_0000_0001L;

    private final QueueMemory doorbells;
    private VendorRing ring;

    /** Counts of entries at which this ring began. */
    private long ringStart;

    /** Epoch of the consumer index at the start of this ring; unknown until the driver has acknowledged the cut-off. */
    private int firstEpoch;

    private boolean awaitsAck;
    private int resizeToggle;
    private int eventToggle;
    private long staleArms;
    private long armSeen;
    private boolean armed;
    private boolean armedSolicited;

    /** Sends of this queue pair up to this counter are done and not told yet. */
    private int stagedQp = NONE;

    private int stagedIndex;

    /** Queue pairs whose send queue's end was told since the last flush. */
    private final IntHashSet endedSends = new IntHashSet();

    /** Queue pairs whose receive queue's end was told, with the counter that is flushed next unless the queue pair was reset. */
    private final Int2IntCounterMap endedReceives = new Int2IntCounterMap(NONE);

    /** A request was flushed that no entry tells of: a driver calls the queue's handler when one is posted to a queue that is being flushed. */
    private boolean handlerDue;

    /** Entries past the arm that lie in a ring the device has left. */
    private long carried;

    BnxtWriter(QueueMemory doorbells, VendorRing ring) {
        super(0);
        this.doorbells = doorbells;
        this.ring = ring;
    }

    @Override
    public boolean hasRoom() {
        return hasRoom(1, ring.depth());
    }

    @Override
    public boolean stage(long header, long workRequestId, long length, long detail, long timestamp) {
        if (CqeLayout.syndrome(header) != 0 || CqeOpcode.isReceive(CqeLayout.opcode(header))) {
            return write(header, workRequestId, length, detail, timestamp);
        }
        final int qp = CqeLayout.qpNumber(header);
        if (qp != stagedQp) {
            publishStaged();
        }
        if (isDead() || !hasRoom()) {
            return overrun();
        }
        stagedQp = qp;
        stagedIndex = CqeLayout.wqeCounter(header) + 1;
        return true;
    }

    @Override
    public void flush() {
        publishStaged();
        endedSends.clear();
    }

    private void publishStaged() {
        if (stagedQp != NONE) {
            final int qp = stagedQp;
            stagedQp = NONE;
            publish(qp, stagedIndex & BnxtCqe.NO_INDEX, 0, BnxtCqe.base(BnxtCqe.REQ, 0, 0, 0, toggle()));
            endedSends.remove(qp);
        }
    }

    @Override
    public boolean write(long header, long workRequestId, long length, long detail, long timestamp) {
        publishStaged();
        if (isDead() || !hasRoom()) {
            return overrun();
        }
        final int opcode = CqeLayout.opcode(header);
        final int qp = CqeLayout.qpNumber(header);
        final int counter = CqeLayout.wqeCounter(header);
        final boolean ofSend = !CqeOpcode.isReceive(opcode);
        final CompletionStatus status = CompletionStatus.ofSyndrome(CqeLayout.syndrome(header));
        if (status == CompletionStatus.WR_FLUSH_ERR) {
            writeEnd(qp, counter, ofSend);
        } else if (ofSend) {
            publish(
                    qp,
                    (counter + 1) & BnxtCqe.NO_INDEX,
                    0,
                    BnxtCqe.base(BnxtCqe.REQ, BnxtCqe.sendCode(status), 0, 0, toggle()));
            endedSends.remove(qp);
        } else {
            writeReceive(opcode, status, qp, counter, length, detail);
            endedReceives.remove(qp);
        }
        if (CqeLayout.isSolicited(header) || status != CompletionStatus.SUCCESS) {
            noteUrgent();
        }
        return true;
    }

    private void writeReceive(int opcode, CompletionStatus status, int qp, int counter, long length, long detail) {
        final int context = context(qp);
        final boolean isDatagram = isDatagram(context);
        final int flags = receiveFlags(opcode);
        final int attached = flags == 0 ? 0 : CqeLayout.immediate(length);
        final int bytes = (int) CqeLayout.byteCount(length);
        final long base = BnxtCqe.base(
                isDatagram ? BnxtCqe.RES_UD : BnxtCqe.RES_RC,
                BnxtCqe.receiveCode(status),
                isShared(context) ? flags | BnxtCqe.FLAG_SRQ : flags,
                place(context, counter),
                toggle());
        if (isDatagram && status == CompletionStatus.SUCCESS) {
            final int sourceQp = CqeLayout.sourceQp(detail);
            publish(
                    BnxtCqe.datagram(bytes, attached),
                    qp,
                    BnxtCqe.source(sourceQp, MAC),
                    BnxtCqe.withSource(base, sourceQp));
        } else {
            publish(BnxtCqe.receive(bytes, attached), qp, 0, base);
        }
    }

    /**
     * Tells the end of a queue: once per burst of sends, once per life of a receive queue. Receives have an entry each until then, so that one which
     * does not follow the last flushed one is of a new life.
     */
    private void writeEnd(int qp, int counter, boolean ofSend) {
        final boolean told = ofSend ? !endedSends.add(qp) : endedReceives.get(qp) == counter;
        if (!ofSend) {
            final int next = (counter + 1) & COUNTER_MASK;
            if (next == 0) { // the first of a new life
                endedReceives.remove(qp);
            } else {
                endedReceives.put(qp, next);
            }
        }
        handlerDue |= told;
        if (!told) {
            final long index = counter & BnxtCqe.TERMINAL_INDEX_MASK;
            publish(
                    qp,
                    ofSend ? (long) BnxtCqe.NO_INDEX << 16 | index : index << 16 | BnxtCqe.NO_INDEX,
                    0,
                    BnxtCqe.base(BnxtCqe.TERMINAL, BnxtCqe.sendCode(CompletionStatus.WR_FLUSH_ERR), 0, 0, toggle()));
        }
    }

    private static int receiveFlags(int opcode) {
        return switch (opcode) {
            case CqeOpcode.RECV_IMM -> BnxtCqe.FLAG_IMM;
            case CqeOpcode.RECV_RDMA_IMM -> BnxtCqe.FLAG_IMM | BnxtCqe.FLAG_RDMA;
            case CqeOpcode.RECV_INV -> BnxtCqe.FLAG_INV;
            default -> 0;
        };
    }

    /** Toggle of the next entry: 1 on the first lap. */
    private int toggle() {
        return 1 - ((int) ((produced - ringStart) >>> ring.log2Depth()) & 1);
    }

    private void publish(long word0, long word1, long word2, long base) {
        final QueueMemory at = ring.memory();
        final long entry = ring.entry(produced - ringStart);
        at.putLong(entry, word0);
        at.putLong(entry + BnxtCqe.WORD_1, word1);
        at.putLong(entry + BnxtCqe.WORD_2, word2);
        // Edge VENDOR-OWN, device end: the other words, then the one with the toggle. Partner: BnxtQueue.base.
        // Weaker (opaque): the host takes words of the lap before. Shown by VendorRingStress.
        at.putLongRelease(entry + BnxtCqe.BASE, base);
        produced++;
    }

    @Override
    void readConsumed() {
        if (awaitsAck) {
            readAck();
            if (awaitsAck) {
                return;
            }
        }
        // Edge VENDOR-CREDIT, device end: the doorbell, then the stores into the slots it gives back. Partner:
        // BnxtQueue.publishConsumed. Weaker (opaque): an entry is overwritten that the host still reads. Shown by
        // VendorRingStress.
        final long word = doorbells.getLongAcquire(BnxtRegion.CONSUMER);
        final int laps = 2 * ring.depth();
        final int position = (BnxtRegion.epoch(word) ^ firstEpoch) * ring.depth() + BnxtRegion.index(word);
        advanceConsumed((position - (int) (consumed - ringStart)) & (laps - 1));
    }

    private void readAck() {
        // Edge VENDOR-CREDIT, device end: the acknowledgement, then the consumer index of the new ring. Partner:
        // BnxtQueue.switchRings. Weaker (opaque): an index of the old ring is taken for one of the new, and
        // entries are overwritten. Shown by VendorRingStress.
        final long word = doorbells.getLongAcquire(BnxtRegion.CUT_OFF_ACK);
        if (BnxtRegion.type(word) == BnxtRegion.TYPE_CUT_OFF_ACK && BnxtRegion.toggle(word) == resizeToggle) {
            awaitsAck = false;
            firstEpoch = BnxtRegion.epoch(word);
        }
    }

    @Override
    public long pastArm() {
        // Edge VENDOR-ARM, device end: a look at the arm on each pass, then the consumer index. Partner:
        // BnxtQueue.armRing. Weaker (opaque): an event for what was polled before. Shown by VendorThreadsTest.
        // The other word says nothing but itself; partner: BnxtQueue.enableArms.
        final long word = doorbells.getLongAcquire(BnxtRegion.ARM);
        final long enabled = doorbells.getLongOpaque(BnxtRegion.ARM_ENABLE);
        if (word != armSeen && BnxtRegion.toggle(enabled) == eventToggle) {
            armSeen = word;
            armed = BnxtRegion.toggle(word) == eventToggle;
            armedSolicited = BnxtRegion.type(word) == BnxtRegion.TYPE_ARM_SOLICITED;
            carried = 0;
            staleArms += armed ? 0 : 1;
        }
        if (!armed) {
            return 0;
        }
        readConsumed();
        final long past = carried + (armedSolicited && !isUrgentPast(consumed) ? 0 : produced - consumed);
        return isDead() || handlerDue ? Math.max(1, past) : past;
    }

    @Override
    public boolean answerArm() {
        if (!armed) {
            return false;
        }
        armed = false;
        carried = 0;
        handlerDue = false;
        eventToggle = (eventToggle + 1) & BnxtRegion.TOGGLE_MASK;
        return true;
    }

    @Override
    public int eventToggle() {
        return eventToggle;
    }

    /**
     * Arms that were ignored because they carried the toggle of an event before the last.
     *
     * @return the count
     */
    public long staleArms() {
        return staleArms;
    }

    // ---- Resize

    /** Writes the cut-off and goes on in another ring, from its start. False, and nothing is changed, if there is no slot for it. */
    boolean moveTo(VendorRing next) {
        flush();
        readConsumed();
        if (isDead() || awaitsAck || !hasRoom()) {
            return false;
        }
        carried = pastArm();
        resizeToggle = (resizeToggle + 1) & BnxtRegion.TOGGLE_MASK;
        publish(0, 0, 0, BnxtCqe.cutOff(resizeToggle, toggle()));
        ring = next;
        ringStart = produced;
        consumed = produced; // the old ring is the driver's alone
        awaitsAck = true;
        return true;
    }
}
