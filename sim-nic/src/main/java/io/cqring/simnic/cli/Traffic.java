package io.cqring.simnic.cli;

import io.cqring.cq.Completion;
import io.cqring.simnic.SimNic;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.workload.MessagePlan;
import org.agrona.collections.Int2IntHashMap;

/**
 * What a run sends: all ranks and the links between them, what of the current collective may be posted, what is under way, and what has
 * come of it. Not thread-safe: threads that share a run's polling take its monitor.
 *
 * <p>A rank sends its n-th message of a collective when as many messages as the plan says have arrived at it.
 */
final class Traffic {
    /** Place of a link that does not exist: from rank 0 to itself. */
    private static final int NO_LINK = 0;

    private final RunOptions options;
    private final RunReport report;
    private final PayloadPattern pattern;

    private final Rank[] ranks;

    /** By sender x ranks + receiver; null where both are the same. */
    private final Link[] links;

    /** Index of the link that a queue pair sends on. */
    private final Int2IntHashMap bySendingQp = new Int2IntHashMap(NO_LINK);

    /** Null if the host posts as fast as it can. */
    private final Pace pace;

    private MessagePlan plan;
    private long unfinishedCompletions;
    private boolean aborted;

    /** Something could be posted now but for the pace. */
    private boolean paced;

    /** Makes queues, memory regions and connected queue pairs, and posts receives. */
    Traffic(SimNic nic, RunQueues queues, RunOptions options, RunReport report) {
        this.options = options;
        this.report = report;
        this.pattern = new PayloadPattern(options.seed());
        this.pace =
                options.events().pace() == 0 ? null : new Pace(options.events().pace());
        this.ranks = new Rank[options.ranks()];
        this.links = new Link[ranks.length * ranks.length];
        final ProtectionDomain domain = nic.allocateProtectionDomain();
        for (int rank = 0; rank < ranks.length; rank++) {
            ranks[rank] = new Rank(rank, nic, domain, queues, options);
        }
        final int depth = ChunkLedger.slots(options.window());
        for (int one = 0; one < ranks.length; one++) {
            for (int other = one + 1; other < ranks.length; other++) {
                final QueuePair qpOfOne = queues.createQueuePair(one, domain, depth);
                final QueuePair qpOfOther = queues.createQueuePair(other, domain, depth);
                nic.connect(qpOfOne, qpOfOther);
                link(ranks[one], ranks[other], qpOfOne, qpOfOther);
                link(ranks[other], ranks[one], qpOfOther, qpOfOne);
            }
        }
    }

    private void link(Rank sender, Rank receiver, QueuePair senderQp, QueuePair receiverQp) {
        final int index = index(sender.number, receiver.number);
        links[index] = new Link(this, index, sender, receiver, senderQp, receiverQp);
        bySendingQp.put(senderQp.number(), index);
    }

    private int index(int sender, int receiver) {
        return sender * ranks.length + receiver;
    }

    RunOptions options() {
        return options;
    }

    RunReport report() {
        return report;
    }

    PayloadPattern pattern() {
        return pattern;
    }

    Rank rank(int number) {
        return ranks[number];
    }

    // ---- The current collective

    void begin(MessagePlan next) {
        plan = next;
        for (Rank rank : ranks) {
            rank.begin(next);
        }
        for (Link link : links) {
            if (link != null) {
                link.begin(next.chunksPerMessage());
            }
        }
    }

    long chunksPerMessage() {
        return plan.chunksPerMessage();
    }

    /** Whether all of the collective has been sent and has completed; of an aborted one, what was sent. */
    boolean isFinished() {
        return unfinishedCompletions == 0 && (aborted || allSent());
    }

    private boolean allSent() {
        for (Rank rank : ranks) {
            if (!rank.hasSentAll()) {
                return false;
            }
        }
        return true;
    }

    /** So many completions more are to come, or fewer. */
    void expect(int completions) {
        unfinishedCompletions += completions;
    }

    /** Something failed: nothing more is posted. */
    void abort(String why) {
        report.fault(why);
        aborted = true;
    }

    boolean isAborted() {
        return aborted;
    }

    // ---- Posting

    /** Posts every chunk that may go out now; rings each doorbell once. False if there was none. */
    boolean postWhatMay() {
        boolean posted = false;
        paced = false;
        for (Rank rank : ranks) {
            for (int send = rank.firstOpenSend;
                    send < rank.sends && plan.arrivalsNeeded(rank.number, send) <= rank.arrivals;
                    send++) {
                posted |= post(rank, send);
            }
            while (rank.firstOpenSend < rank.sends
                    && rank.chunksPosted[rank.firstOpenSend] == plan.chunksPerMessage()) {
                rank.firstOpenSend++;
            }
        }
        return posted;
    }

    private boolean post(Rank rank, int send) {
        Link link = links[index(rank.number, plan.destination(rank.number, send))];
        long chunk = rank.chunksPosted[send];
        long end = plan.chunksPerMessage();
        while (chunk != end && link.hasRoom() && mayPost()) {
            link.post((int) plan.chunkBytes(chunk));
            chunk++;
        }
        if (chunk == rank.chunksPosted[send]) {
            return false;
        }
        rank.chunksPosted[send] = chunk;
        link.ringDoorbell();
        return true;
    }

    /** Whether the pace lets one more chunk go; if so, it must. */
    private boolean mayPost() {
        if (pace == null) {
            return true;
        }
        final long now = System.nanoTime();
        if (pace.leftNs(now) != 0) {
            paced = true;
            return false;
        }
        pace.spend(2, now);
        return true;
    }

    /** Whether the last look found something to post that the pace holds back. */
    boolean isPaced() {
        return paced;
    }

    /** Until the pace lets the next one go. Only of a run that has one. */
    long paceLeftNs() {
        return pace.leftNs(System.nanoTime());
    }

    // ---- Completions

    /** Takes in a completion that a poller found in a rank's queue. */
    void book(Rank rank, Completion completion, int poller) {
        if (!completion.hasWorkRequestId()) {
            bookMerged(rank, completion, poller);
            return;
        }
        final long id = completion.workRequestId();
        final int side = Link.sideOf(id);
        final long index = Link.indexOf(id);
        final Link link = index < links.length ? links[(int) index] : null;
        if (link == null || link.rankOf(side) != rank) {
            unknown(rank, completion);
        } else {
            link.complete(completion, poller, side, Link.counterOf(id));
        }
    }

    /** Merged: the work request is found by queue pair and counter, as drivers do. Only sends come like this. */
    private void bookMerged(Rank rank, Completion completion, int poller) {
        report.mergedCompletions++;
        final Link link = links[bySendingQp.get(completion.qpNumber())];
        if (link == null || link.rankOf(ChunkLedger.REQUESTER) != rank) {
            unknown(rank, completion);
        } else {
            link.complete(completion, poller, ChunkLedger.REQUESTER, link.newest(completion.wqeCounter()));
        }
    }

    private void unknown(Rank rank, Completion completion) {
        report.errors++;
        report.fault("rank " + rank.number + ": nobody posted " + completion);
    }

    /** Nothing more will come: counts as lost what has not, and goes on without it. */
    void giveUpWhatIsMissing() {
        for (Link link : links) {
            if (link != null) {
                link.giveUpWhatIsMissing();
            }
        }
    }
}
