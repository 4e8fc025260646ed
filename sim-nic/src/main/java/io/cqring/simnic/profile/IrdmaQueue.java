package io.cqring.simnic.profile;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.qp.QpType;
import java.util.ArrayDeque;

/**
 * An irdma completion queue, and its host end: VALID is compared with a polarity that turns when the head returns to 0; the head goes into the shadow
 * area after every entry. A resize copies nothing: the driver drains the old rings, oldest first, then the new one. Source: rdma-core {@code
 * providers/irdma/uk.c}, {@code uverbs.c}.
 */
public final class IrdmaQueue extends VendorQueue {
    private static final int WQE_MASK = 0x7FFF;
    private static final int MAX_NUMBER = 0xF_FFFF;

    /** From {@link #takeFrom}: no entry. */
    private static final int NONE = -1;

    /** From {@link #takeFrom}: an entry whose extension is not there yet. What lies behind it must wait too. */
    private static final int LATE = -2;

    private final QueueMemory shadow;
    private final IrdmaWriter writer;
    private final ArrayDeque<Cursor> old = new ArrayDeque<>();
    private Cursor current;
    private int armWord;
    private int sequence;

    /** Writes to the doorbell. */
    private int rings;

    private boolean isArmed;
    private boolean skipsArm;
    private int resizes;

    /** How far a ring has been polled. */
    private static final class Cursor {
        final VendorRing ring;
        int head;
        int polarity = 1;

        Cursor(VendorRing ring) {
            this.ring = ring;
        }

        Cursor(Cursor from) {
            this.ring = from.ring;
            this.head = from.head;
            this.polarity = from.polarity;
        }

        long entry() {
            return ring.entryAt(head);
        }

        /** Whether the extension of an extended entry takes a slot of its own. */
        boolean extendsIntoNext() {
            return ring.strideBytes() == IrdmaCqe.BYTES;
        }

        void advance() {
            head++;
            if (head == ring.depth()) {
                head = 0;
                polarity = 1 - polarity;
            }
        }
    }

    private IrdmaQueue(QueueMemory shadow, QueueMemory scratch, VendorRing ring, int number) {
        super(number, MAX_NUMBER, scratch);
        this.shadow = shadow;
        this.current = new Cursor(ring);
        this.writer = new IrdmaWriter(shadow, ring, number);
    }

    /**
     * Bytes that {@link #create(QueueMemory, QueueMemory, int, int, int)} needs.
     *
     * @param entries     completions
     * @param strideBytes bytes per slot, 32 or 64
     * @return bytes
     * @throws IllegalArgumentException if a number breaks its rule
     */
    public static long requiredBytes(int entries, int strideBytes) {
        IrdmaRegion.requireStride(strideBytes);
        return IrdmaRegion.bytes(IrdmaRegion.size(entries, strideBytes), strideBytes);
    }

    /**
     * Makes a queue.
     *
     * @param entries     completions it holds, 1 and more, also if each has immediate data; its ring has more slots, see {@link #depth}
     * @param strideBytes bytes per slot, 32 or 64
     * @param number      number of the queue
     * @return the queue
     * @throws IllegalArgumentException if a number breaks its rule
     */
    public static IrdmaQueue create(int entries, int strideBytes, int number) {
        IrdmaRegion.requireStride(strideBytes);
        final VendorRing ring = IrdmaRegion.allocate(IrdmaRegion.size(entries, strideBytes), strideBytes);
        return new IrdmaQueue(QueueMemory.allocate(IrdmaRegion.RING), scratch(), ring, number);
    }

    /**
     * Makes a queue in given memory; a later resize puts its ring elsewhere.
     *
     * @param memory      where; overwritten
     * @param scratch     {@link #scratchBytes} for the host end
     * @param entries     as in {@link #create(int, int, int)}
     * @param strideBytes bytes per slot, 32 or 64
     * @param number      number of the queue
     * @return the queue
     * @throws IllegalArgumentException if a number breaks its rule, or the memory is too small
     */
    public static IrdmaQueue create(QueueMemory memory, QueueMemory scratch, int entries, int strideBytes, int number) {
        if (memory.sizeBytes() < requiredBytes(entries, strideBytes)) {
            throw new IllegalArgumentException("memory must have " + requiredBytes(entries, strideBytes)
                    + " bytes for an irdma queue of " + entries + " x " + strideBytes + ": " + memory.sizeBytes());
        }
        final VendorRing ring = IrdmaRegion.clear(memory, IrdmaRegion.size(entries, strideBytes), strideBytes);
        return new IrdmaQueue(memory, scratch, ring, number);
    }

    @Override
    public int depth() {
        return current.ring.depth();
    }

    @Override
    public IrdmaWriter writer() {
        return writer;
    }

    @Override
    String whyNot(QpType type, boolean sharesReceives) {
        if (type == QpType.UC) {
            return "irdma has no UC queue pairs";
        }
        return sharesReceives && current.ring.strideBytes() == IrdmaCqe.BYTES
                ? "irdma has shared receive queues only with slots of 64 bytes: " + IrdmaCqe.BYTES
                : null;
    }

    @Override
    void take(int most) {
        int left = most;
        while (left > 0) {
            final int came = old.isEmpty() ? takeFrom(current) : takeOldest();
            if (came < 0) {
                return;
            }
            left -= came;
        }
    }

    /** Takes the oldest entry of all rings. One that is found proves that the device has left the rings before it; they were empty. */
    private int takeOldest() {
        for (Cursor at : old) {
            final int came = takeFrom(at);
            if (came != NONE) {
                finishBefore(at);
                return came;
            }
        }
        final int came = takeFrom(current);
        if (came != NONE) {
            finishBefore(current);
        }
        return came;
    }

    private void finishBefore(Cursor at) {
        boolean finished = false;
        while (!old.isEmpty() && old.peek() != at) {
            old.remove();
            resizes++;
            finished = true;
        }
        if (finished) {
            storeArmWord();
        }
    }

    private static long control(VendorRing ring, long entry) {
        // Edge VENDOR-OWN, host end: the word with VALID, then the others; the same again for an extension, which
        // a device may write after the entry. Partner: IrdmaWriter.release. Weaker (opaque): words of the lap
        // before are taken. Shown by VendorRingStress.
        return ring.memory().getLongAcquire(entry + IrdmaCqe.CONTROL);
    }

    /** Takes one entry: completions that came of it, 0 for a stray; or {@link #NONE}, {@link #LATE}. */
    private int takeFrom(Cursor at) {
        final VendorRing ring = at.ring;
        final long entry = at.entry();
        final long control = control(ring, entry);
        if (IrdmaCqe.valid(control) != at.polarity) {
            return NONE;
        }
        final boolean extended = IrdmaCqe.isExtended(control);
        final boolean inOwnSlot = extended && at.extendsIntoNext();
        int immediate = 0;
        boolean hasImmediate = false;
        if (extended) {
            final boolean wraps = inOwnSlot && at.head + 1 == ring.depth();
            final long extension = inOwnSlot ? ring.entryAt(wraps ? 0 : at.head + 1L) : entry + IrdmaCqe.BYTES;
            final long second = control(ring, extension);
            if (IrdmaCqe.valid(second) != (wraps ? 1 - at.polarity : at.polarity)) {
                return LATE; // its second half is still on the way
            }
            hasImmediate = IrdmaCqe.hasImmediate(second);
            immediate = (int) ring.memory().getLong(extension);
        }
        final int came = decode(ring, entry, control, hasImmediate, immediate);
        at.advance();
        if (inOwnSlot) {
            at.advance();
        }
        if (at == current) {
            publishHead();
        }
        return came;
    }

    /** Where an entry has the queue pair: a receive of a shared queue has its tag there, and the queue pair in the slot's second half. */
    private static long contextOffset(VendorRing ring, long entry, long control) {
        return IrdmaCqe.isShared(control) && ring.strideBytes() != IrdmaCqe.BYTES
                ? entry + IrdmaCqe.BYTES + IrdmaCqe.CONTEXT
                : entry + IrdmaCqe.CONTEXT;
    }

    private int decode(VendorRing ring, long entry, long control, boolean hasImmediate, int immediate) {
        final QueueMemory at = ring.memory();
        final long qpWord = at.getLong(entry + IrdmaCqe.QP);
        final DriverQp qp = find((int) at.getLong(contextOffset(ring, entry, control)));
        if (qp == null) {
            return 0;
        }
        final boolean ofSend = IrdmaCqe.isSendQueue(control);
        final long sequence = ofSend
                ? qp.send(IrdmaCqe.wqeIndex(control), WQE_MASK)
                : qp.receive(IrdmaCqe.wqeIndex(control), WQE_MASK);
        final boolean shared = IrdmaCqe.isShared(control);
        final long tag = shared
                ? at.getLong(entry + IrdmaCqe.CONTEXT)
                : ofSend ? qp.work.sendTag(sequence) : qp.receiveTag(sequence);
        if (ofSend) {
            qp.sendsDone = sequence + 1;
        } else {
            qp.receiveDone(sequence);
        }
        if (IrdmaCqe.isError(control)) {
            final boolean isEvent = IrdmaCqe.majorError(control) == IrdmaCqe.MAJOR_SHARED;
            final int major = isEvent ? IrdmaCqe.MAJOR_FLUSH : IrdmaCqe.majorError(control);
            final int minor = isEvent ? IrdmaCqe.ofEvent(IrdmaCqe.minorError(control)) : IrdmaCqe.minorError(control);
            final CompletionStatus status = IrdmaCqe.status(major, minor);
            deliverError(
                    ofSend,
                    sequence,
                    qp,
                    tag,
                    status,
                    minor & 0xFF); // verbs: major << 16 | minor; there is room for 8 bits
        } else {
            final boolean isDatagram = !ofSend && qp.isDatagram;
            final boolean invalidated = !qp.isDatagram && IrdmaCqe.isKeyValid(control);
            final int operation = IrdmaCqe.operation(control);
            deliver(
                    ofSend ? requestOpcode(operation) : receiveOpcode(operation, shared, invalidated, hasImmediate),
                    IrdmaCqe.isSolicited(control),
                    sequence,
                    qp,
                    tag,
                    (int) at.getLong(entry),
                    invalidated ? (int) qpWord : immediate,
                    0,
                    isDatagram ? IrdmaCqe.sourceQp(qpWord) : 0,
                    isDatagram);
        }
        return 1;
    }

    private static int requestOpcode(int operation) {
        return switch (operation) {
            case IrdmaCqe.RDMA_WRITE -> CqeOpcode.RC_RDMA_WRITE;
            case IrdmaCqe.RDMA_READ -> CqeOpcode.RC_RDMA_READ;
            case IrdmaCqe.ATOMIC_COMPARE_SWAP -> CqeOpcode.RC_COMP_SWAP;
            case IrdmaCqe.ATOMIC_FETCH_ADD -> CqeOpcode.RC_FETCH_ADD;
            case IrdmaCqe.INV_STAG -> CqeOpcode.LOCAL_INV;
            default -> CqeOpcode.RC_SEND;
        };
    }

    /**
     * Over RoCE the operation of a receive is the opcode of the last packet; only that of a write with immediate means something. Devices that
     * have shared receive queues say operations.
     */
    private static int receiveOpcode(int operation, boolean shared, boolean invalidated, boolean hasImmediate) {
        if (!hasImmediate) {
            return invalidated ? CqeOpcode.RECV_INV : CqeOpcode.RECV;
        }
        final boolean ofWrite = shared
                ? operation == IrdmaCqe.RECV_WRITE_IMM || operation == IrdmaCqe.RECV_WRITE_IMM_SOLICITED
                : operation == IrdmaCqe.RECV_WRITE_ONLY_IMM || operation == IrdmaCqe.RECV_WRITE_LAST_IMM;
        return ofWrite ? CqeOpcode.RECV_RDMA_IMM : CqeOpcode.RECV_IMM;
    }

    private void publishHead() {
        // Edge VENDOR-CREDIT, host end: the last loads from the slot, then the head that gives it back. Partner:
        // IrdmaWriter.readConsumed. Weaker (opaque): the device overwrites an entry that is still being read.
        // Shown by VendorRingStress.
        shadow.putLongRelease(IrdmaRegion.HEAD, current.head);
    }

    @Override
    void disown(DriverQp qp) {
        for (Cursor at : old) {
            disown(at, qp);
        }
        disown(current, qp);
    }

    private static void disown(Cursor from, DriverQp qp) {
        final Cursor at = new Cursor(from);
        for (int slot = 0; slot < at.ring.depth(); slot++) {
            final long entry = at.entry();
            final long control = control(at.ring, entry);
            if (IrdmaCqe.valid(control) != at.polarity) {
                return;
            }
            final long context = contextOffset(at.ring, entry, control);
            if (at.ring.memory().getLong(context) == qp.number) {
                at.ring.memory().putLong(context, NOBODY);
                if (!IrdmaCqe.isSendQueue(control)) {
                    qp.receiveDropped(IrdmaCqe.wqeIndex(control));
                }
            }
            at.advance();
            if (IrdmaCqe.isExtended(control) && at.extendsIntoNext()) {
                at.advance();
            }
        }
    }

    /**
     * An irdma driver does not look; it only remembers a wish for solicited events while it is armed for any, and then arms again when the event has
     * come. Always false.
     */
    @Override
    boolean armRing(ArmMode mode) {
        if (isArmed && mode == ArmMode.SOLICITED) {
            skipsArm = true;
            return false;
        }
        isArmed = true;
        sequence = (sequence + 1) & IrdmaRegion.SEQUENCE_MASK;
        armWord = sequence << IrdmaRegion.SEQUENCE_SHIFT
                | IrdmaRegion.ARM_SOLICITED
                | (mode == ArmMode.NEXT ? IrdmaRegion.ARM_NEXT : 0);
        storeArmWord();
        rings++;
        // Edge VENDOR-ARM, host end: arm word and head, then the doorbell. Partner: IrdmaWriter.readDoorbell.
        // Weaker (opaque): the device takes the last arm's word for this one's. Shown by VendorThreadsTest.
        shadow.putLongRelease(IrdmaRegion.DOORBELL, (long) rings << 32 | number());
        return false;
    }

    private void storeArmWord() {
        // Edge VENDOR-ARM, host end: the doorbell that follows orders it. Without a doorbell it arms nothing.
        shadow.putLongOpaque(IrdmaRegion.ARM, armWord | (resizes & IrdmaRegion.RESIZES_MASK));
    }

    @Override
    public void onEvent(int toggle) {
        isArmed = false;
        if (skipsArm) {
            skipsArm = false;
            armRing(ArmMode.NEXT);
        }
    }

    /** The ring that is polled, for tests. */
    VendorRing ring() {
        return current.ring;
    }

    /** The shadow area, for tests. */
    QueueMemory shadow() {
        return shadow;
    }

    // ---- Resize

    @Override
    VendorRing prepareResize(int entries) {
        return IrdmaRegion.allocate(IrdmaRegion.size(entries, current.ring.strideBytes()), current.ring.strideBytes());
    }

    /** The device has moved: the old ring is drained before the new one. */
    @Override
    void finishResize(VendorRing next) {
        old.add(current);
        current = new Cursor(next);
        publishHead();
    }

    @Override
    boolean moveDevice(VendorRing next) {
        return writer.moveTo(next);
    }
}
