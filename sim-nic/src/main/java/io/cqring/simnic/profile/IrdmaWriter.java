package io.cqring.simnic.profile;

import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;

/**
 * Device end of an irdma queue: slots count to the ring's size, which need not be a power of two, and VALID turns with each lap. Immediate data
 * go into an extension: the second half of a 64-byte slot, or the next slot of 32 bytes.
 *
 * <p>Events: each arm has a sequence number of its own. The device looks at the shadow area on each pass; entries that the host has not taken
 * then raise the event at once, so that one that came before the device saw the arm is not missed. What a real device does there is not public.
 */
public final class IrdmaWriter extends VendorWriter {
    /** Of this NIC's one port: 02:00:00:00:00:01, the first byte in bits 47:40. */
    private static final long MAC = 0x0200_0000_0001L;

    private final QueueMemory shadow;
    private final int number;
    private VendorRing ring;

    /** Slot of the next entry, and VALID on this lap. */
    private int tail;

    private int valid = 1;

    /** Head as last read. */
    private int headSeen;

    private long doorbellSeen;
    private boolean armed;
    private boolean armedSolicited;

    /** Entries past the arm that lie in a ring the device has left. */
    private long carried;

    IrdmaWriter(QueueMemory shadow, VendorRing ring, int number) {
        super(0);
        this.shadow = shadow;
        this.ring = ring;
        this.number = number;
    }

    /** For messages. */
    int number() {
        return number;
    }

    @Override
    public boolean hasRoom() {
        return hasRoom(ring.strideBytes() == IrdmaCqe.BYTES ? 2 : 1, ring.depth() - 1);
    }

    @Override
    public boolean write(long header, long workRequestId, long length, long detail, long timestamp) {
        final int opcode = CqeLayout.opcode(header);
        final int syndrome = CqeLayout.syndrome(header);
        final boolean hasImmediate = opcode == CqeOpcode.RECV_IMM || opcode == CqeOpcode.RECV_RDMA_IMM;
        final boolean ofSend = !CqeOpcode.isReceive(opcode);
        final int qp = CqeLayout.qpNumber(header);
        final int context = ofSend ? 0 : context(qp);
        final boolean shared = isShared(context);
        final boolean hasMac = isDatagram(context) && syndrome == 0;
        final boolean extended = hasImmediate || hasMac;
        final boolean inOwnSlot = extended && ring.strideBytes() == IrdmaCqe.BYTES;
        if (isDead() || !hasRoom(inOwnSlot ? 2 : 1, ring.depth() - 1L)) {
            return overrun();
        }
        final boolean solicited = CqeLayout.isSolicited(header);
        long control = IrdmaCqe.control(
                shared && opcode == CqeOpcode.RECV_RDMA_IMM ? IrdmaCqe.RECV_WRITE_IMM : operation(opcode),
                ofSend,
                place(context, CqeLayout.wqeCounter(header)),
                extended,
                opcode == CqeOpcode.RECV_INV,
                solicited,
                valid);
        if (syndrome != 0) {
            final CompletionStatus status = CompletionStatus.ofSyndrome(syndrome);
            control = shared
                    ? IrdmaCqe.failed(control, IrdmaCqe.MAJOR_SHARED, IrdmaCqe.event(status))
                    : IrdmaCqe.failed(control, IrdmaCqe.MAJOR_FLUSH, IrdmaCqe.minorError(status));
        }
        final long entry = ring.entryAt(tail);
        final QueueMemory at = ring.memory();
        at.putLong(entry, IrdmaCqe.length((int) CqeLayout.byteCount(length), 0));
        // The context that a driver gives is an address; the number does as well.
        at.putLong(entry + IrdmaCqe.CONTEXT, shared ? workRequestId : qp);
        final int source =
                opcode == CqeOpcode.RECV_INV ? CqeLayout.immediate(length) : hasMac ? CqeLayout.sourceQp(detail) : 0;
        at.putLong(entry + IrdmaCqe.QP, IrdmaCqe.qp(qp, source));
        if (extended || shared) {
            writeExtension(
                    inOwnSlot, hasImmediate, CqeLayout.immediate(length) & 0xFFFF_FFFFL, shared ? qp : 0, hasMac);
        }
        release(entry, shared ? IrdmaCqe.shared(control) : control);
        advance();
        if (inOwnSlot) {
            advance();
        }
        if (solicited || syndrome != 0) {
            noteUrgent();
        }
        return true;
    }

    /** With neither immediate data nor a MAC it is none, only the place where the driver looks for the context of a shared receive queue. */
    private void writeExtension(boolean inOwnSlot, boolean hasImmediate, long immediate, int context, boolean hasMac) {
        final boolean wraps = inOwnSlot && tail + 1 == ring.depth();
        final long extension = inOwnSlot ? ring.entryAt(wraps ? 0 : tail + 1L) : ring.entryAt(tail) + IrdmaCqe.BYTES;
        final QueueMemory at = ring.memory();
        at.putLong(extension, hasImmediate ? immediate : 0);
        at.putLong(extension + IrdmaCqe.CONTEXT, context);
        at.putLong(extension + IrdmaCqe.QP, hasMac ? MAC : 0);
        release(extension, IrdmaCqe.extensionControl(hasImmediate, hasMac, wraps ? 1 - valid : valid));
    }

    private void release(long entry, long control) {
        // Edge VENDOR-OWN, device end: the other words of an entry or extension, then the one with VALID.
        // Partner: IrdmaQueue.control. Weaker (opaque): the host takes words of the lap before. Shown by
        // VendorRingStress.
        ring.memory().putLongRelease(entry + IrdmaCqe.CONTROL, control);
    }

    private void advance() {
        produced++;
        tail++;
        if (tail == ring.depth()) {
            tail = 0;
            valid = 1 - valid;
        }
    }

    private static int operation(int opcode) {
        return switch (opcode) {
            case CqeOpcode.RC_RDMA_WRITE -> IrdmaCqe.RDMA_WRITE;
            case CqeOpcode.RC_RDMA_READ -> IrdmaCqe.RDMA_READ;
            case CqeOpcode.RC_COMP_SWAP -> IrdmaCqe.ATOMIC_COMPARE_SWAP;
            case CqeOpcode.RC_FETCH_ADD -> IrdmaCqe.ATOMIC_FETCH_ADD;
            case CqeOpcode.LOCAL_INV -> IrdmaCqe.INV_STAG;
            case CqeOpcode.RECV_IMM -> IrdmaCqe.RECV_IMM;
            case CqeOpcode.RECV_RDMA_IMM -> IrdmaCqe.RECV_WRITE_ONLY_IMM;
            case CqeOpcode.RECV, CqeOpcode.RECV_INV, CqeOpcode.RESP_ERR -> IrdmaCqe.RECV;
            default -> IrdmaCqe.SEND;
        };
    }

    @Override
    void readConsumed() {
        // Edge VENDOR-CREDIT, device end: the head, then the stores into the slots before it. Partner:
        // IrdmaQueue.publishHead. Weaker (opaque): an entry is overwritten that the host still reads. Shown by
        // VendorRingStress.
        final long head = shadow.getLongAcquire(IrdmaRegion.HEAD);
        if (head < 0 || head >= ring.depth()) {
            advanceConsumed(Long.MAX_VALUE); // not believed
            return;
        }
        final int by = Math.floorMod((int) head - headSeen, ring.depth());
        if (by <= produced - consumed) {
            headSeen = (int) head;
        }
        advanceConsumed(by);
    }

    private void readDoorbell() {
        // Edge VENDOR-ARM, device end: a look at the doorbell on each pass, then arm word and head. Partner:
        // IrdmaQueue.armRing. Weaker (opaque): the last arm's word is taken for this one's. Shown by
        // VendorThreadsTest.
        final long rung = shadow.getLongAcquire(IrdmaRegion.DOORBELL);
        if (rung != doorbellSeen) {
            doorbellSeen = rung;
            armed = true;
            armedSolicited = (shadow.getLongOpaque(IrdmaRegion.ARM) & IrdmaRegion.ARM_NEXT) == 0;
            carried = 0;
        }
    }

    @Override
    public long pastArm() {
        readDoorbell();
        if (!armed) {
            return 0;
        }
        readConsumed();
        final long past = carried + (armedSolicited && !isUrgentPast(consumed) ? 0 : produced - consumed);
        return isDead() ? Math.max(1, past) : past;
    }

    @Override
    public boolean answerArm() {
        final boolean answered = armed;
        armed = false;
        carried = 0;
        return answered;
    }

    // ---- Resize

    /** Goes on in another ring, from its start; what is in the old one stays there. */
    boolean moveTo(VendorRing next) {
        if (isDead()) {
            return false;
        }
        carried = pastArm();
        ring = next;
        tail = 0;
        valid = 1;
        // The command says where the head of the new ring is. The driver waits for its answer, so nobody else stores
        // here: the old ring's head must not be taken for the new one's until the driver stores its next.
        shadow.putLong(IrdmaRegion.HEAD, 0);
        headSeen = 0;
        consumed = produced; // the old ring is the driver's alone
        return true;
    }
}
