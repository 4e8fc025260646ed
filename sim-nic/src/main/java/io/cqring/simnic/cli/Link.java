package io.cqring.simnic.cli;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeOpcode;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.WqeLayout;

/**
 * One ordered pair of ranks: the sender's queue pair, the receiver's, and what is under way between them. Posts the chunks, and holds each
 * completion against what was posted.
 */
final class Link {
    private static final int COUNTER_BITS = 40;
    private static final long COUNTER_MASK = (1L << COUNTER_BITS) - 1;

    /** Top bit of a work-request id: it was posted to a receive queue. */
    private static final long RECEIVE = Long.MIN_VALUE;

    private final Traffic traffic;
    private final RunOptions options;
    private final RunReport report;
    private final PayloadPattern pattern;
    private final int index;
    private final Rank sender;
    private final Rank receiver;
    private final QueuePair senderQp;
    private final QueuePair receiverQp;
    private final ChunkLedger ledger;
    private final int firstSource;
    private final int firstTarget;
    private long receivesPosted;
    private long chunksToArrive;

    /** Posts the receives for the first chunks. */
    Link(Traffic traffic, int index, Rank sender, Rank receiver, QueuePair senderQp, QueuePair receiverQp) {
        this.traffic = traffic;
        this.options = traffic.options();
        this.report = traffic.report();
        this.pattern = traffic.pattern();
        this.index = index;
        this.sender = sender;
        this.receiver = receiver;
        this.senderQp = senderQp;
        this.receiverQp = receiverQp;
        this.ledger = new ChunkLedger(options.window(), options.pollers());
        int slots = ChunkLedger.slots(options.window());
        this.firstSource = slots * (receiver.number - (receiver.number > sender.number ? 1 : 0));
        this.firstTarget = slots * (sender.number - (sender.number > receiver.number ? 1 : 0));
        for (int i = 0; i < slots; i++) {
            postReceive();
        }
    }

    // ---- Work-request ids: side, link, counter

    /** Which link a work request was posted on: its index, if there is such a link. */
    static long indexOf(long workRequestId) {
        return (workRequestId & ~RECEIVE) >>> COUNTER_BITS;
    }

    /** The side of the link on which a work request was posted. */
    static int sideOf(long workRequestId) {
        return (workRequestId & RECEIVE) == 0 ? ChunkLedger.REQUESTER : ChunkLedger.RESPONDER;
    }

    /** The chunk of the link that a work request was posted for. */
    static long counterOf(long workRequestId) {
        return workRequestId & COUNTER_MASK;
    }

    /** Whose queue gets the completions of a side. */
    Rank rankOf(int side) {
        return side == ChunkLedger.REQUESTER ? sender : receiver;
    }

    // ---- Posting

    void begin(long chunksPerMessage) {
        chunksToArrive = chunksPerMessage;
    }

    /** A receive without a buffer: the WRITE names the target itself, the receive only reports it. */
    private void postReceive() {
        long id = RECEIVE | (long) index << COUNTER_BITS | receivesPosted++;
        if (!receiverQp.postRecv(id, 0, 0, 0)) {
            throw new IllegalStateException("receive queue is full: " + receiverQp);
        }
        receiverQp.ringReceiveDoorbell();
    }

    /** Whether fewer chunks than the window are unfinished. */
    boolean hasRoom() {
        return ledger.hasRoom();
    }

    /** Posts a chunk; the doorbell is still to be rung. */
    void post(int byteCount) {
        long now = System.nanoTime();
        if (report.firstPostNs == 0) {
            report.firstPostNs = now;
        }
        long counter = ledger.post(byteCount, now);
        int slot = ledger.slot(counter);
        pattern.write(
                sender.source.memory(),
                sender.source.offset(firstSource + slot),
                Math.min(byteCount, options.residentBytes()),
                index,
                counter);
        boolean taken = senderQp.postWriteImm(
                (long) index << COUNTER_BITS | counter,
                sender.source.address(firstSource + slot),
                byteCount,
                sender.source.region().lkey(),
                receiver.target.address(firstTarget + slot),
                receiver.target.region().rkey(),
                (int) counter,
                WqeLayout.FLAG_SIGNALED);
        if (!taken) {
            throw new IllegalStateException("send queue is full: " + senderQp);
        }
        traffic.expect(2);
    }

    void ringDoorbell() {
        senderQp.ringSendDoorbell();
    }

    // ---- Completions

    /** The chunk of a send's completion that carries no work-request id, found by its counter as drivers do. */
    long newest(int wqeCounter) {
        return ledger.newest(wqeCounter);
    }

    void complete(Completion completion, int poller, int side, long counter) {
        ChunkLedger.Verdict verdict = ledger.complete(poller, side, counter);
        switch (verdict) {
            case UNKNOWN -> {
                report.errors++;
                report.fault("nothing like it is under way: " + completion);
                return;
            }
            case DUPLICATE -> {
                report.duplicated++;
                report.fault("completed twice: " + completion);
                return;
            }
            case LATE -> {
                report.misordered++;
                report.fault("a later one came first: " + completion);
            }
            case IN_ORDER -> {}
        }
        report.completions++;
        report.lastCompletionNs = System.nanoTime();
        report.recordLatency(report.lastCompletionNs - ledger.postedNs(counter));
        if (!isAsPosted(completion, side, counter)) {
            report.errors++;
            report.fault("not as posted: " + completion);
            if (completion.status() != CompletionStatus.SUCCESS) {
                traffic.abort("failed: " + completion);
            }
        } else if (side == ChunkLedger.RESPONDER && !payloadArrived(counter)) {
            report.payloadMismatches++;
            report.fault("not the bytes that were sent: " + completion);
        }
        settle(side, counter);
    }

    /** Frees what the completion held, and counts an arrival. */
    private void settle(int side, long counter) {
        traffic.expect(-1);
        if (side == ChunkLedger.REQUESTER) {
            senderQp.retireSend((int) counter);
            return;
        }
        receiverQp.retireReceive((int) counter);
        if (!traffic.isAborted()) {
            postReceive();
        }
        chunksToArrive--;
        if (chunksToArrive == 0) {
            chunksToArrive = traffic.chunksPerMessage();
            receiver.arrivals++;
        }
    }

    private boolean isAsPosted(Completion completion, int side, long counter) {
        boolean alike = completion.status() == CompletionStatus.SUCCESS
                && completion.wqeCounter() == ((int) counter & 0xFF_FFFF);
        boolean countsBytes = completion.byteCount() == ledger.bytes(counter);
        boolean isReference =
                options.profile().isEmpty(); // a driver reports neither bytes sent nor, connected, the sender
        if (side == ChunkLedger.REQUESTER) {
            return alike
                    && (countsBytes || !isReference)
                    && completion.opcode() == CqeOpcode.RC_RDMA_WRITE
                    && completion.qpNumber() == senderQp.number();
        }
        return alike
                && countsBytes
                && completion.opcode() == CqeOpcode.RECV_RDMA_IMM
                && completion.qpNumber() == receiverQp.number()
                && (!isReference || completion.sourceQp() == senderQp.number())
                && completion.hasImmediate()
                && completion.immediate() == (int) counter;
    }

    private boolean payloadArrived(long counter) {
        int length = Math.min(ledger.bytes(counter), options.residentBytes());
        int offset = receiver.target.offset(firstTarget + ledger.slot(counter));
        return pattern.matches(receiver.target.memory(), offset, length, index, counter);
    }

    void giveUpWhatIsMissing() {
        for (long counter = ledger.oldestUnfinished(); counter != ledger.posted(); counter++) {
            giveUp(ChunkLedger.REQUESTER, counter);
            giveUp(ChunkLedger.RESPONDER, counter);
        }
    }

    private void giveUp(int side, long counter) {
        if (ledger.isMissing(side, counter)) {
            ledger.giveUp(side, counter);
            report.lost++;
            report.fault("lost: the " + (side == ChunkLedger.REQUESTER ? "sender" : "receiver")
                    + "'s completion of chunk " + counter + " from rank " + sender.number + " to rank "
                    + receiver.number);
            settle(side, counter);
        }
    }
}
