package io.cqring.simnic.cli;

import io.cqring.cq.AdaptiveDepth;
import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqOverrunException;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.DeviceCounter;
import io.cqring.simnic.SimNic;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.fault.NamedFaults;
import io.cqring.simnic.fault.WireFaults;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.simnic.workload.Collective;
import io.cqring.simnic.workload.MessagePlan;
import io.cqring.simnic.workload.Workload;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.UnaryOperator;
import org.agrona.collections.Int2IntHashMap;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.YieldingIdleStrategy;

/**
 * Runs a workload: one host thread posts for all ranks and polls all their completion queues, the NIC does the rest. More
 * host threads may share the polling; what they find they book under one lock, which the posting takes as well.
 *
 * <p>Every ordered pair of ranks is a {@link Link}. A chunk of a message is one WRITE with immediate on it; it is unfinished
 * until both its completions have been polled. A rank sends its n-th message of a collective when as many messages as the
 * plan says have arrived at it; the next collective starts when the last completion of this one has come.
 *
 * <p>Nothing waits on a clock. When no queue has a completion, nothing can be posted, and the device says that it has done all
 * it was asked to, then what is still missing is lost: it is counted and the run goes on without it. In the modes with events the
 * host thread sleeps instead, see {@link QueueWatch}: only when it can neither post nor poll, and no longer than its pace makes it
 * wait to post. A watchdog ends a sleep in which nothing happens: if completions are there all the same, a wake-up was lost, which is
 * a fault of its own.
 */
final class WorkloadRun implements AutoCloseable {
    private static final int POLL_LIMIT = 256;
    private static final int SWEEPS_BEFORE_ASKING = 64;
    private static final long DEVICE_SPINS = 1_000;
    private static final long DEVICE_YIELDS = 1_000;
    private static final long DEVICE_PARK_NS = 50_000;

    /** Two of these without an event, and with a device that has nothing left to do, and something is wrong. */
    private static final long WATCHDOG_NS = 1_000_000_000;

    /** The same, in passes of a stepped device: longer than any moderation. */
    private static final int WATCHDOG_STEPS = 10_000;

    /** Completions of a hybrid host's queue before it is the next queue's turn. */
    private static final int HYBRID_BUDGET = 64;

    /** Place of a link that does not exist: from rank 0 to itself. */
    private static final int NO_LINK = 0;

    private static final int COUNTER_BITS = 40;
    private static final long COUNTER_MASK = (1L << COUNTER_BITS) - 1;

    /** Top bit of a work-request id: it was posted to a receive queue. */
    private static final long RECEIVE = Long.MIN_VALUE;

    private final Workload workload;
    private final RunOptions options;
    private final RunReport report;
    private final PayloadPattern pattern;
    private final boolean stepped;

    /** What was asked for by name; null if nothing. */
    private final NamedFaults named;

    private final SimNic nic;
    private final ProtectionDomain domain;
    private final Rank[] ranks;

    private final RunQueues queues;

    /** Null if the host polls all the time. */
    private final QueueWatch watch;

    /** Null if the host posts as fast as it can. */
    private final Pace pace;

    private final int pollLimit;
    private final IdleStrategy idleStrategy = new YieldingIdleStrategy();

    /** Held by whoever reads or changes the state of ranks, links and report; nobody else comes while there is one poller. */
    private final Object books = new Object();

    private final Poller[] pollers;
    private final List<Thread> threads = new ArrayList<>();

    /** What a poller's thread has died of, or null. Under {@code books}. */
    private Throwable pollerFailure;

    /** Whether the other pollers shall stop. Under {@code books}. */
    private boolean done;

    /** By sender x ranks + receiver; null where both are the same. */
    private final Link[] links;

    /** Index of the link that a queue pair sends on. */
    private final Int2IntHashMap bySendingQp = new Int2IntHashMap(NO_LINK);

    private MessagePlan plan;
    private long unfinishedCompletions;
    private boolean aborted;
    private int quietSweeps;

    /** Something could be posted now but for the pace. */
    private boolean paced;

    /** Watchdog times, or passes of a stepped device, without an event. */
    private int quietWaits;

    /**
     * Sets everything up: device, queues, connected queue pairs, memory regions, receives posted.
     *
     * @param stepped whether the device is stepped by the host thread, which makes a run repeatable to the byte
     */
    WorkloadRun(Workload workload, RunOptions options, RunReport report, DeviceFaults faults, boolean stepped) {
        this(workload, options, report, faults, stepped, UnaryOperator.identity());
    }

    /** For tests: events come through something that changes them. */
    WorkloadRun(
            Workload workload,
            RunOptions options,
            RunReport report,
            DeviceFaults faults,
            boolean stepped,
            UnaryOperator<EventSource> through) {
        this.workload = workload;
        this.options = options;
        this.report = report;
        this.pattern = new PayloadPattern(options.seed());
        this.stepped = stepped;
        this.named = faults instanceof NamedFaults given ? given : null;
        SimNic.Builder builder = SimNic.builder().faults(faults).copyLimitBytes(options.residentBytes());
        WireFaults wireFaults = named == null ? null : named.wireFaults();
        if (wireFaults != null) {
            builder.wireFaults(wireFaults);
        }
        options.profile().ifPresent(builder::profile);
        this.nic = builder.create();
        this.domain = nic.allocateProtectionDomain();
        this.queues = options.profile().isPresent()
                ? new VendorRunQueues(nic, options)
                : new ReferenceRunQueues(nic, options);
        this.watch = options.events().hasEvents()
                ? new QueueWatch(options.events().mode(), through.apply(queues.events()), options.ranks())
                : null;
        this.pace =
                options.events().pace() == 0 ? null : new Pace(options.events().pace());
        this.pollLimit = options.events().mode() == PollMode.HYBRID ? HYBRID_BUDGET : POLL_LIMIT;
        this.ranks = new Rank[options.ranks()];
        this.links = new Link[ranks.length * ranks.length];
        for (int rank = 0; rank < ranks.length; rank++) {
            ranks[rank] = new Rank(rank);
        }
        for (int sender = 0; sender < ranks.length; sender++) {
            for (int receiver = sender + 1; receiver < ranks.length; receiver++) {
                connect(sender, receiver);
            }
        }
        this.pollers = new Poller[options.pollers()];
        Arrays.setAll(pollers, Poller::new);
        if (!stepped) {
            nic.start(new BackoffIdleStrategy(DEVICE_SPINS, DEVICE_YIELDS, DEVICE_PARK_NS, DEVICE_PARK_NS));
        }
    }

    private void connect(int one, int other) {
        QueuePair qpOfOne = ranks[one].newQueuePair();
        QueuePair qpOfOther = ranks[other].newQueuePair();
        nic.connect(qpOfOne, qpOfOther);
        links[index(one, other)] = new Link(ranks[one], ranks[other], qpOfOne, qpOfOther);
        links[index(other, one)] = new Link(ranks[other], ranks[one], qpOfOther, qpOfOne);
        bySendingQp.put(qpOfOne.number(), index(one, other));
        bySendingQp.put(qpOfOther.number(), index(other, one));
    }

    private int index(int sender, int receiver) {
        return sender * ranks.length + receiver;
    }

    /**
     * Runs all collectives and fills the report.
     *
     * @param progress told the number of collectives done, after each
     */
    void execute(LongConsumer progress) {
        final ThreadMXBean threadTimes = ManagementFactory.getThreadMXBean();
        final long cpuStart = threadTimes.getCurrentThreadCpuTime();
        final long start = System.nanoTime();
        for (int i = 1; i < pollers.length; i++) {
            Thread thread = new Thread(pollers[i], "cqring-poller-" + i);
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
        long collectives = 0;
        for (Collective collective : workload.collectives()) {
            synchronized (books) {
                begin(MessagePlan.of(collective, ranks.length, options.chunkBytes()));
            }
            boolean more = true;
            while (more) {
                boolean posted;
                synchronized (books) {
                    posted = !aborted && postWhatMay();
                }
                boolean polled = pollers[0].sweep();
                if (posted || polled) {
                    quietSweeps = 0;
                } else {
                    waitForDevice();
                }
                synchronized (books) {
                    more = unfinishedCompletions != 0 || (!aborted && !allSent());
                }
            }
            if (aborted) {
                break;
            }
            progress.accept(++collectives);
        }
        report.hostCpuPercent =
                100.0 * (threadTimes.getCurrentThreadCpuTime() - cpuStart) / Math.max(1, System.nanoTime() - start);
        stopPollers();
        if (watch != null) {
            watch.report(report);
        }
        for (Poller poller : pollers) {
            report.polls += poller.polls;
            report.emptyPolls += poller.emptyPolls;
        }
        reportQueues();
    }

    private void reportQueues() {
        report.cqDepthMin = Integer.MAX_VALUE;
        for (Rank rank : ranks) {
            report.cqOverruns += queues.lostEntries(rank.number);
            final int depth = queues.depth(rank.number);
            report.cqDepthMin = Math.min(report.cqDepthMin, depth);
            report.cqDepthMax = Math.max(report.cqDepthMax, depth);
            report.cqDepth = Math.max(report.cqDepth, rank.depth == null ? depth : rank.depth.deepest());
            if (rank.depth != null) {
                report.cqResizes += rank.depth.deepened() + rank.depth.halved();
            }
        }
        report.cqesRefused = nic.counter(DeviceCounter.COMPLETIONS_REFUSED);
    }

    private void stopPollers() {
        synchronized (books) {
            done = true;
        }
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", interrupted);
            }
        }
        requireNoFailure();
    }

    private void requireNoFailure() {
        synchronized (books) {
            if (pollerFailure != null) {
                throw new IllegalStateException("a poller failed", pollerFailure);
            }
        }
    }

    private void begin(MessagePlan next) {
        plan = next;
        for (Rank rank : ranks) {
            rank.arrivals = 0;
            rank.firstOpenSend = 0;
            rank.sends = next.sends(rank.number);
            for (int send = 0; send < rank.sends; send++) {
                rank.chunksPosted[send] = 0;
            }
        }
        for (Link link : links) {
            if (link != null) {
                link.chunksToArrive = next.chunksPerMessage();
            }
        }
    }

    private boolean allSent() {
        for (Rank rank : ranks) {
            if (rank.firstOpenSend != rank.sends) {
                return false;
            }
        }
        return true;
    }

    /** Posts every chunk that may go out now; rings each doorbell once. */
    private boolean postWhatMay() {
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
        while (chunk != end && link.ledger.hasRoom() && mayPost()) {
            link.post((int) plan.chunkBytes(chunk));
            chunk++;
        }
        if (chunk == rank.chunksPosted[send]) {
            return false;
        }
        rank.chunksPosted[send] = chunk;
        link.senderQp.ringSendDoorbell();
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

    /** Nothing to post and nothing to poll, and every queue is armed: sleeps until one has something, or something can be posted. */
    private void sleep() {
        final long most = paced ? pace.leftNs(System.nanoTime()) : WATCHDOG_NS;
        if (watch.await(stepped ? 0 : Math.min(most, WATCHDOG_NS))) {
            quietWaits = 0;
            return;
        }
        if (stepped) {
            nic.step();
        }
        if (nic.failure() != null) {
            throw new IllegalStateException("the device failed", nic.failure());
        }
        if (paced || !nic.isIdle()) {
            quietWaits = 0; // there is more to come
            return;
        }
        quietWaits++;
        if (quietWaits >= (stepped ? WATCHDOG_STEPS : 2)) { // so that what was under way at the first look has come
            quietWaits = 0;
            watch.wakeAll();
            if (pollers[0].sweep()) {
                report.lostWakeups++;
                report.fault(
                        "a wake-up was lost: completions were there, the device had nothing left to do, and no event came");
            } else {
                giveUpWhatIsMissing();
            }
        }
    }

    /** Nothing to post and nothing to poll: let the device work, or find that it has nothing left to do. */
    private void waitForDevice() {
        if (watch != null && watch.allAsleep()) {
            sleep();
            return;
        }
        if (stepped) {
            nic.step();
        } else {
            Thread.onSpinWait();
        }
        quietSweeps++;
        if (quietSweeps < SWEEPS_BEFORE_ASKING) {
            return; // asking costs both sides cache misses, and mostly the answer is no
        }
        quietSweeps = 0;
        idleStrategy.idle(); // somebody else may need this core to get on, the device above all
        if (nic.failure() != null) {
            throw new IllegalStateException("the device failed", nic.failure());
        }
        requireNoFailure();
        if (watch != null) {
            // A queue that sleeps may have its event still to be taken, or held back: only a host that has
            // nothing left awake can tell that something is missing, see sleep.
            return;
        }
        if (nic.isIdle() && !pollers[0].sweep()) { // what the device wrote before it became idle is visible to this
            awaitSweepsOfOthers();
            synchronized (books) {
                giveUpWhatIsMissing();
            }
        }
    }

    /** Returns when each other poller has begun a sweep since the call, ended it, and booked what it found. */
    private void awaitSweepsOfOthers() {
        for (int i = 1; i < pollers.length; i++) {
            long enough = pollers[i].sweeps() + 2; // the one under way may have passed a queue before
            while (pollers[i].sweeps() < enough) {
                requireNoFailure();
                idleStrategy.idle();
            }
        }
    }

    private void giveUpWhatIsMissing() {
        for (Link link : links) {
            if (link != null) {
                link.giveUpWhatIsMissing();
            }
        }
    }

    private static void dawdle(long nanos) {
        if (nanos != 0) {
            final long start = System.nanoTime();
            while (System.nanoTime() - start < nanos) {
                Thread.onSpinWait();
            }
        }
    }

    private void abort(String why) {
        report.fault(why);
        aborted = true;
    }

    /** Stops the device. */
    @Override
    public void close() {
        synchronized (books) {
            done = true;
        }
        nic.close();
        if (watch != null) {
            watch.close();
        }
    }

    /** One host thread's share of the polling: all queues, one after the other. The first is the thread that posts. */
    private final class Poller implements Runnable, CompletionHandler {
        private final int number;

        /** By rank; null if nobody else polls. */
        private final CompletionPoller[] shared;

        private Rank rank;
        private long polls;
        private long emptyPolls;

        /** Sweeps that have ended. Under {@code books}. */
        private long sweeps;

        Poller(int number) {
            this.number = number;
            this.shared = options.pollers() == 1 ? null : new CompletionPoller[ranks.length];
            for (int i = 0; shared != null && i < ranks.length; i++) {
                shared[i] = queues.newPoller(i);
            }
        }

        @Override
        public void run() {
            IdleStrategy idle = new YieldingIdleStrategy();
            try {
                while (!isDone()) {
                    idle.idle(sweep() ? 1 : 0);
                }
            } catch (RuntimeException | Error broken) {
                synchronized (books) {
                    pollerFailure = broken;
                }
            }
        }

        private boolean isDone() {
            synchronized (books) {
                return done;
            }
        }

        long sweeps() {
            synchronized (books) {
                return sweeps;
            }
        }

        /** Polls each queue once; with events, each that is awake. */
        boolean sweep() {
            boolean polled = false;
            for (int i = 0; i < ranks.length; i++) {
                if (watch != null && !watch.isAwake(i)) {
                    continue;
                }
                rank = ranks[i];
                polls++;
                int taken = 0;
                try {
                    taken = shared == null ? queues.poll(i, this, pollLimit) : shared[i].poll(this, pollLimit);
                    if (rank.depth != null) {
                        rank.depth.adapt();
                    }
                } catch (CqOverrunException overrun) {
                    synchronized (books) {
                        abort("rank " + rank.number + ": " + overrun.getMessage());
                    }
                }
                if (watch != null) {
                    watch.polled(i, taken);
                }
                if (taken == 0) {
                    emptyPolls++;
                } else {
                    polled = true;
                }
            }
            if (shared != null) {
                synchronized (books) {
                    sweeps++;
                }
            }
            return polled;
        }

        @Override
        public void onCompletion(Completion completion) {
            synchronized (books) {
                rank.book(completion, number);
            }
            if (named != null) {
                dawdle(named.consumerDelayNs());
            }
        }
    }

    /** One rank: its completion queue, its memory, and how far it is in the current collective. */
    private final class Rank {
        private final int number;

        /** Null if the depth is given. */
        private final AdaptiveDepth depth;

        private final Buffers source;
        private final Buffers target;
        private final long[] chunksPosted = new long[2 * options.ranks()];
        private int sends;
        private int firstOpenSend;
        private int arrivals;

        Rank(int number) {
            this.number = number;
            this.depth = queues.create(number);
            this.source = new Buffers(2L * number, AccessRights.LOCAL_READ);
            this.target = new Buffers(2L * number + 1, AccessRights.LOCAL_WRITE | AccessRights.REMOTE_WRITE);
        }

        QueuePair newQueuePair() {
            int depth = ChunkLedger.slots(options.window());
            return queues.createQueuePair(number, domain, depth);
        }

        /** Takes a completion in. */
        void book(Completion completion, int poller) {
            if (!completion.hasWorkRequestId()) {
                bookMerged(completion, poller);
                return;
            }
            long id = completion.workRequestId();
            int side = (id & RECEIVE) == 0 ? ChunkLedger.REQUESTER : ChunkLedger.RESPONDER;
            long linkIndex = (id & ~RECEIVE) >>> COUNTER_BITS;
            Link link = linkIndex < links.length ? links[(int) linkIndex] : null;
            if (link == null || this != (side == ChunkLedger.REQUESTER ? link.sender : link.receiver)) {
                report.errors++;
                report.fault("rank " + number + ": nobody posted " + completion);
            } else {
                link.complete(completion, poller, side, id & COUNTER_MASK);
            }
        }

        /** Merged: the work request is found by queue pair and counter, as drivers do. Only sends come like this. */
        private void bookMerged(Completion completion, int poller) {
            report.mergedCompletions++;
            Link link = links[bySendingQp.get(completion.qpNumber())];
            if (link == null || link.sender != this) {
                report.errors++;
                report.fault("rank " + number + ": nobody posted " + completion);
            } else {
                link.complete(completion, poller, ChunkLedger.REQUESTER, link.ledger.newest(completion.wqeCounter()));
            }
        }
    }

    /**
     * Chunk buffers of one rank in one direction, for each peer as many as a queue pair has slots. A buffer is a page of the
     * region, large enough for a whole chunk; memory is kept for its head only.
     */
    private final class Buffers {
        /** Regions lie this far apart in the address space; none is longer. */
        private static final int REGION_SHIFT = 56;

        private final QueueMemory memory;
        private final MemoryRegion region;
        private final int pageShift = options.pageShift();
        private final int bufferBytes = options.bufferBytes();

        Buffers(long number, int rights) {
            long pages = options.buffersPerDirection();
            this.memory = QueueMemory.allocate(options.memoryBytesPerDirection());
            this.region = nic.registerSparseMemory(
                    domain,
                    (number + 1) << REGION_SHIFT,
                    pages << pageShift,
                    memory,
                    pageShift,
                    options.residentBytes(),
                    rights);
        }

        long address(int buffer) {
            return region.address() + ((long) buffer << pageShift);
        }

        int offset(int buffer) {
            return buffer * bufferBytes;
        }
    }

    /** One ordered pair of ranks: the sender's queue pair, the receiver's, and what is under way between them. */
    private final class Link {
        private final int index;
        private final Rank sender;
        private final Rank receiver;
        private final QueuePair senderQp;
        private final QueuePair receiverQp;
        private final ChunkLedger ledger = new ChunkLedger(options.window(), options.pollers());
        private final int firstSource;
        private final int firstTarget;
        private long receivesPosted;
        private long chunksToArrive;

        Link(Rank sender, Rank receiver, QueuePair senderQp, QueuePair receiverQp) {
            this.index = WorkloadRun.this.index(sender.number, receiver.number);
            this.sender = sender;
            this.receiver = receiver;
            this.senderQp = senderQp;
            this.receiverQp = receiverQp;
            int slots = ChunkLedger.slots(options.window());
            this.firstSource = slots * (receiver.number - (receiver.number > sender.number ? 1 : 0));
            this.firstTarget = slots * (sender.number - (sender.number > receiver.number ? 1 : 0));
            for (int i = 0; i < slots; i++) {
                postReceive();
            }
        }

        /** A receive without a buffer: the WRITE names the target itself, the receive only reports it. */
        private void postReceive() {
            long id = RECEIVE | (long) index << COUNTER_BITS | receivesPosted++;
            if (!receiverQp.postRecv(id, 0, 0, 0)) {
                throw new IllegalStateException("receive queue is full: " + receiverQp);
            }
            receiverQp.ringReceiveDoorbell();
        }

        void post(int byteCount) {
            long now = System.nanoTime();
            if (report.firstPostNs == 0) {
                report.firstPostNs = now;
            }
            long counter = ledger.post(byteCount, now);
            int slot = ledger.slot(counter);
            pattern.write(
                    sender.source.memory,
                    sender.source.offset(firstSource + slot),
                    Math.min(byteCount, options.residentBytes()),
                    index,
                    counter);
            boolean taken = senderQp.postWriteImm(
                    (long) index << COUNTER_BITS | counter,
                    sender.source.address(firstSource + slot),
                    byteCount,
                    sender.source.region.lkey(),
                    receiver.target.address(firstTarget + slot),
                    receiver.target.region.rkey(),
                    (int) counter,
                    WqeLayout.FLAG_SIGNALED);
            if (!taken) {
                throw new IllegalStateException("send queue is full: " + senderQp);
            }
            unfinishedCompletions += 2;
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
                    abort("failed: " + completion);
                }
            } else if (side == ChunkLedger.RESPONDER && !payloadArrived(counter)) {
                report.payloadMismatches++;
                report.fault("not the bytes that were sent: " + completion);
            }
            settle(side, counter);
        }

        /** Frees what the completion held, and counts an arrival. */
        private void settle(int side, long counter) {
            unfinishedCompletions--;
            if (side == ChunkLedger.REQUESTER) {
                senderQp.retireSend((int) counter);
                return;
            }
            receiverQp.retireReceive((int) counter);
            if (!aborted) {
                postReceive();
            }
            chunksToArrive--;
            if (chunksToArrive == 0) {
                chunksToArrive = plan.chunksPerMessage();
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
            return pattern.matches(receiver.target.memory, offset, length, index, counter);
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
}
