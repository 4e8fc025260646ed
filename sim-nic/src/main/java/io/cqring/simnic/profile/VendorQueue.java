package io.cqring.simnic.profile;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.cq.OverrunPolicy;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.qp.PostedWork;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.SharedReceiveQueue;
import java.util.Objects;
import java.util.function.Consumer;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * Host end of a vendor's completion queue: what that vendor's driver does. It takes entries out of the ring, finds the caller's tag among
 * the work requests it remembers, and hands on the library's own {@code Completion}s, in the reference profile's terms.
 *
 * <pre>
 *   vendor's ring ──► take: owner test, decode, tag ──► a few decoded entries ──► poll's handler
 * </pre>
 *
 * <p>An entry is decoded once and its slot given back; one whose handler throws counts as taken, and those decoded behind it come with the
 * next call. Entries of a queue pair that is not registered (any more) are passed over and counted.
 *
 * <p><b>Role:</b> one thread polls, arms and registers: the one that posts to the queue pairs. <b>Progress:</b> wait-free.
 */
public abstract class VendorQueue {
    /** The most entries of a work queue: so many bits of its counter are in every vendor's entries. */
    public static final int MAX_WORK_QUEUE = 1 << 15;

    /** In an entry: of no queue pair any more. */
    static final int NOBODY = 0;

    private static final int MAX_QP_NUMBER = 0xFF_FFFF;

    /** Completions decoded at a time: what {@code ibv_poll_cq} is usually asked for, and more. */
    private static final int DECODED = 64;

    private final CompletionQueue decoded;
    private final CompletionWriter decoder;
    private final Int2ObjectHashMap<DriverQp> queuePairs = new Int2ObjectHashMap<>();
    private final int number;
    private long strays;

    /** A queue pair as the driver keeps it. */
    static final class DriverQp {
        final int number;
        final PostedWork work;

        /** Where its receives are; null if they are its own. */
        final SharedReceiveQueue shared;

        final boolean isDatagram;

        /** Entries of the send queue that are accounted for, reported or not signaled. */
        long sendsDone;

        /** The same of the receive queue. */
        long receivesDone;

        DriverQp(int number, PostedWork work) {
            this.number = number;
            this.work = work;
            this.shared = work.sharedReceives();
            this.isDatagram = work.isDatagram();
            this.sendsDone = work.sendsPosted();
            this.receivesDone = work.receivesPosted();
        }

        /** The sequence of a send whose last bits are given: the next one that ends like this. */
        long send(int counter, int mask) {
            return sendsDone + ((counter - (int) sendsDone) & mask);
        }

        /** The sequence of a receive, in its own queue or in the shared one, where the number is a place in the ring. */
        long receive(int counter, int mask) {
            return shared == null ? receivesDone + ((counter - (int) receivesDone) & mask) : shared.sequence(counter);
        }

        long receiveTag(long sequence) {
            return shared == null ? work.receiveTag(sequence) : shared.tag(sequence);
        }

        /** Accounts for a receive. That of a shared queue is free from now on, wherever it lies; once freed it stays so. */
        void receiveDone(long sequence) {
            if (shared == null) {
                receivesDone = sequence + 1;
            } else {
                shared.retire((int) sequence);
            }
        }

        /** The entry of a receive will not be handed on: the place in a shared queue comes back all the same. */
        void receiveDropped(int index) {
            if (shared != null) {
                shared.retire((int) shared.sequence(index));
            }
        }
    }

    /** The memory is for the driver's own use. */
    VendorQueue(int number, int largest, QueueMemory scratch) {
        if (number < 0 || number > largest) {
            throw new IllegalArgumentException("number of a queue must be 0 to " + largest + ": " + number);
        }
        this.number = number;
        this.decoded = CompletionQueue.ofCapacity(DECODED)
                .overrunPolicy(OverrunPolicy.BACKPRESSURE)
                .memory(scratch)
                .create();
        this.decoder = decoded.writer();
    }

    /**
     * Bytes that a driver needs for itself, whatever the vendor: what {@code create} with given memory takes as scratch.
     *
     * @return bytes
     */
    public static long scratchBytes() {
        return CompletionQueue.ofCapacity(DECODED).requiredBytes();
    }

    /** Scratch of a queue's own. */
    static QueueMemory scratch() {
        return QueueMemory.allocate(scratchBytes());
    }

    /**
     * Number of the queue, as events carry it.
     *
     * @return the number
     */
    public final int number() {
        return number;
    }

    /**
     * Entries of the ring.
     *
     * @return its depth now
     */
    public abstract int depth();

    /**
     * Whether the vendor has such queue pairs, with a queue of this kind.
     *
     * @param type   transport service
     * @param shared where the receives are that complete here; null if they are the queue pair's own, or complete elsewhere
     * @throws IllegalArgumentException if not
     */
    public final void requireSupports(QpType type, SharedReceiveQueue shared) {
        final String why = whyNot(type, shared != null);
        if (why != null) {
            throw new IllegalArgumentException(why);
        }
        if (shared != null && shared.depth() > MAX_WORK_QUEUE) {
            throw new IllegalArgumentException("a shared receive queue must have at most " + MAX_WORK_QUEUE
                    + " entries with a vendor's completion queue: " + shared.depth());
        }
    }

    /** What the vendor does not have of it; null if nothing. */
    abstract String whyNot(QpType type, boolean sharesReceives);

    /**
     * Whether this vendor's driver lets a queue pair send again whose sends have failed and whose receives went on (state SQE).
     *
     * @return false if only a reset helps
     */
    public boolean resumesSends() {
        return true;
    }

    /**
     * The device end.
     *
     * @return always the same object
     */
    public abstract VendorWriter writer();

    /**
     * From now on, entries of this queue pair are the driver's.
     *
     * @param qpNumber the queue pair's number, 1 to 2^24-1: 0 stands for nobody in entries
     * @param work     its work requests; the next completions are those of what is posted from now on
     * @throws IllegalArgumentException if the number is out of range
     * @throws IllegalStateException    if there is one of that number
     */
    public final void register(int qpNumber, PostedWork work) {
        Objects.requireNonNull(work, "work");
        if (qpNumber <= NOBODY || qpNumber > MAX_QP_NUMBER) {
            throw new IllegalArgumentException("QP number must be 1 to " + MAX_QP_NUMBER + ": " + qpNumber);
        }
        if (queuePairs.containsKey(qpNumber)) {
            throw new IllegalStateException("queue pair is registered already: QP 0x" + Integer.toHexString(qpNumber));
        }
        queuePairs.put(qpNumber, new DriverQp(qpNumber, work));
    }

    /**
     * No completion of this queue pair is handed on any more. Entries of it that are in the ring belong to nobody from now on, also if its
     * number is registered anew; those that come later are passed over until then. Receives of a shared queue that they stand for are
     * retired, those that come later are not. So first bring the queue pair to a stop ({@code SimNic}
     * destroys or resets it), then forget it, then use its number again.
     *
     * @param qpNumber the queue pair's number; one that is not registered changes nothing. One that was reset is forgotten and registered anew
     * @throws IllegalStateException if the call comes from a handler of this queue; nothing changes
     */
    public final void forget(int qpNumber) {
        final DriverQp forgotten = queuePairs.get(qpNumber);
        if (forgotten != null) {
            decoded.purge(qpNumber);
            queuePairs.remove(qpNumber);
            disown(forgotten);
        }
    }

    /** Marks all entries of a queue pair that are in the ring: they are {@link #NOBODY}'s. The slots are the host's until it gives them back. */
    abstract void disown(DriverQp qp);

    /**
     * Takes completions.
     *
     * @param handler told of each
     * @param limit   the most of them, 0 or more
     * @return how many it was told of
     * @throws IllegalArgumentException if the limit is negative
     */
    public final int poll(CompletionHandler handler, int limit) {
        int done = decoded.poll(handler, limit);
        while (done != limit) {
            take(Math.min(limit - done, DECODED - decoded.size()));
            final int polled = decoded.poll(handler, limit - done);
            if (polled == 0) {
                break;
            }
            done += polled;
        }
        return done;
    }

    /** Decodes so many completions at the most, and tells the device what was taken. */
    abstract void take(int most);

    /**
     * Asks for one event, {@code ibv_req_notify_cq}: poll until empty, arm, poll again, only then wait.
     *
     * @param mode what for
     * @return whether completions are there already: decoded and not handed on yet, or, where the vendor's driver looks, in the ring; some do
     *     not arm then
     */
    public final boolean arm(ArmMode mode) {
        final boolean inRing = armRing(mode);
        return inRing || !decoded.isEmpty() || holdsMore();
    }

    /** Arms; whether the driver has looked and found an entry. */
    abstract boolean armRing(ArmMode mode);

    /** Whether the driver will make up a completion that no entry stands for. */
    boolean holdsMore() {
        return false;
    }

    /**
     * An event of this queue was taken from the event queue: what the driver's hook in {@code ibv_get_cq_event} does.
     *
     * @param toggle what the event carried, for the vendor that has such a thing
     */
    public abstract void onEvent(int toggle);

    /** The driver's part of a resize, before the device's: a ring for it. */
    abstract VendorRing prepareResize(int depth);

    /** The device's part: false, and nothing is changed, if it cannot move now. Device thread. */
    abstract boolean moveDevice(VendorRing next);

    /** The driver's part, once the device has moved. */
    abstract void finishResize(VendorRing next);

    /**
     * Changes the depth while the device writes, as this vendor's driver does. Nothing is lost, doubled or reordered.
     *
     * @param depth     entries; the rule is the one at creation
     * @param onDevice  runs something on the device thread and waits for it, as {@code SimNic} does
     * @return false if the device cannot move now, and nothing is changed: no slot for the marker, or a backlog that would not fit; poll and try
     *     again
     * @throws IllegalArgumentException if the depth breaks its rule
     * @throws IllegalStateException    if the queue cannot be resized, or an earlier resize is not finished
     */
    public final boolean resize(int depth, Consumer<Runnable> onDevice) {
        final VendorRing next = prepareResize(depth);
        final boolean[] moved = new boolean[1];
        onDevice.accept(() -> moved[0] = moveDevice(next));
        if (moved[0]) {
            finishResize(next);
        }
        return moved[0];
    }

    /** The driver's record; null if there is none, and then the entry is passed over. */
    final DriverQp find(int qpNumber) {
        final DriverQp found = qpNumber == NOBODY ? null : queuePairs.get(qpNumber);
        if (found == null) {
            strays++;
        }
        return found;
    }

    /** Hands on what was decoded. There is room: take was told how much. */
    final void deliver(
            int opcode,
            boolean solicited,
            long sequence,
            DriverQp qp,
            long tag,
            int byteCount,
            int immediate,
            long stamp,
            int sourceQp,
            boolean hasHeader) {
        final boolean hasImmediate = opcode == CqeOpcode.RECV_IMM || opcode == CqeOpcode.RECV_RDMA_IMM;
        final int flags = (hasImmediate
                        ? CqeLayout.FLAG_IMMEDIATE
                        : opcode == CqeOpcode.RECV_INV ? CqeLayout.FLAG_INVALIDATED_RKEY : 0)
                | (hasHeader ? CqeLayout.FLAG_GRH : 0);
        put(
                CqeLayout.header(opcode, solicited, (int) sequence, qp.number, 0),
                tag,
                CqeLayout.length(byteCount, immediate),
                CqeLayout.detail(0, flags, sourceQp),
                stamp);
    }

    /** Hands on a failure. */
    final void deliverError(
            boolean ofSend, long sequence, DriverQp qp, long tag, CompletionStatus status, int vendorError) {
        // The one status of a vendor's table that the reference profile has no code for.
        final CompletionStatus known = status == CompletionStatus.FATAL_ERR ? CompletionStatus.GENERAL_ERR : status;
        put(
                CqeLayout.header(
                        ofSend ? CqeOpcode.REQ_ERR : CqeOpcode.RESP_ERR,
                        false,
                        (int) sequence,
                        qp.number,
                        known.syndrome()),
                tag,
                0,
                CqeLayout.detail(vendorError, 0, 0),
                0);
    }

    private void put(long header, long tag, long length, long detail, long stamp) {
        if (!decoder.write(header, tag, length, detail, stamp)) {
            throw new IllegalStateException("bug: more was decoded than there was room for");
        }
    }

    /**
     * Entries passed over because nobody had registered their queue pair.
     *
     * @return the count
     */
    public final long strays() {
        return strays;
    }
}
