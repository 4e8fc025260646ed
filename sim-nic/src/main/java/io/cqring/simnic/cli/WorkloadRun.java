package io.cqring.simnic.cli;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CqOverrunException;
import io.cqring.simnic.DeviceCounter;
import io.cqring.simnic.SimNic;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.fault.NamedFaults;
import io.cqring.simnic.fault.WireFaults;
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
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.YieldingIdleStrategy;

/**
 * Runs a workload: one host thread posts for all ranks and polls all their completion queues, the NIC does the rest. More
 * host threads may share the polling; what they find they book under one lock, which the posting takes as well.
 *
 * <p>What is posted and what completions must say is {@link Traffic}: every ordered pair of ranks is a {@link Link}, a chunk of a message is one
 * WRITE with immediate on it, unfinished until both its completions have been polled. The next collective starts when the last completion
 * of this one has come. This class has the threads: when they post, poll, wait, and when they give up.
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

    private final Workload workload;
    private final RunOptions options;
    private final RunReport report;
    private final boolean stepped;

    /** What was asked for by name; null if nothing. */
    private final NamedFaults named;

    private final SimNic nic;
    private final RunQueues queues;

    /** Its monitor is held by whoever reads or changes it or the report; nobody else comes while there is one poller. */
    private final Traffic traffic;

    /** Null if the host polls all the time. */
    private final QueueWatch watch;

    private final int pollLimit;
    private final IdleStrategy idleStrategy = new YieldingIdleStrategy();

    private final Poller[] pollers;
    private final List<Thread> threads = new ArrayList<>();

    /** What a poller's thread has died of, or null. Under {@code traffic}. */
    private Throwable pollerFailure;

    /** Whether the other pollers shall stop. Under {@code traffic}. */
    private boolean done;

    private int quietSweeps;

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
        this.stepped = stepped;
        this.named = faults instanceof NamedFaults given ? given : null;
        SimNic.Builder builder = SimNic.builder().faults(faults).copyLimitBytes(options.residentBytes());
        WireFaults wireFaults = named == null ? null : named.wireFaults();
        if (wireFaults != null) {
            builder.wireFaults(wireFaults);
        }
        options.profile().ifPresent(builder::profile);
        this.nic = builder.create();
        this.queues = options.profile().isPresent()
                ? new VendorRunQueues(nic, options)
                : new ReferenceRunQueues(nic, options);
        this.watch = options.events().hasEvents()
                ? new QueueWatch(options.events().mode(), through.apply(queues.events()), options.ranks())
                : null;
        this.pollLimit = options.events().mode() == PollMode.HYBRID ? HYBRID_BUDGET : POLL_LIMIT;
        this.traffic = new Traffic(nic, queues, options, report);
        this.pollers = new Poller[options.pollers()];
        Arrays.setAll(pollers, Poller::new);
        if (!stepped) {
            nic.start(new BackoffIdleStrategy(DEVICE_SPINS, DEVICE_YIELDS, DEVICE_PARK_NS, DEVICE_PARK_NS));
        }
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
            synchronized (traffic) {
                traffic.begin(MessagePlan.of(collective, options.ranks(), options.chunkBytes()));
            }
            boolean more = true;
            while (more) {
                boolean posted;
                synchronized (traffic) {
                    posted = !traffic.isAborted() && traffic.postWhatMay();
                }
                boolean polled = pollers[0].sweep();
                if (posted || polled) {
                    quietSweeps = 0;
                } else {
                    waitForDevice();
                }
                synchronized (traffic) {
                    more = !traffic.isFinished();
                }
            }
            if (traffic.isAborted()) {
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
        for (int number = 0; number < options.ranks(); number++) {
            final Rank rank = traffic.rank(number);
            report.cqOverruns += queues.lostEntries(number);
            final int depth = queues.depth(number);
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
        synchronized (traffic) {
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
        synchronized (traffic) {
            if (pollerFailure != null) {
                throw new IllegalStateException("a poller failed", pollerFailure);
            }
        }
    }

    /** Nothing to post and nothing to poll, and every queue is armed: sleeps until one has something, or something can be posted. */
    private void sleep() {
        final long most = traffic.isPaced() ? traffic.paceLeftNs() : WATCHDOG_NS;
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
        if (traffic.isPaced() || !nic.isIdle()) {
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
                traffic.giveUpWhatIsMissing();
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
            synchronized (traffic) {
                traffic.giveUpWhatIsMissing();
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

    private static void dawdle(long nanos) {
        if (nanos != 0) {
            final long start = System.nanoTime();
            while (System.nanoTime() - start < nanos) {
                Thread.onSpinWait();
            }
        }
    }

    /** Stops the device. */
    @Override
    public void close() {
        synchronized (traffic) {
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

        /** Sweeps that have ended. Under {@code traffic}. */
        private long sweeps;

        Poller(int number) {
            this.number = number;
            this.shared = options.pollers() == 1 ? null : new CompletionPoller[options.ranks()];
            for (int i = 0; shared != null && i < options.ranks(); i++) {
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
                synchronized (traffic) {
                    pollerFailure = broken;
                }
            }
        }

        private boolean isDone() {
            synchronized (traffic) {
                return done;
            }
        }

        long sweeps() {
            synchronized (traffic) {
                return sweeps;
            }
        }

        /** Polls each queue once; with events, each that is awake. */
        boolean sweep() {
            boolean polled = false;
            for (int i = 0; i < options.ranks(); i++) {
                if (watch != null && !watch.isAwake(i)) {
                    continue;
                }
                rank = traffic.rank(i);
                polls++;
                int taken = 0;
                try {
                    taken = shared == null ? queues.poll(i, this, pollLimit) : shared[i].poll(this, pollLimit);
                    if (rank.depth != null) {
                        rank.depth.adapt();
                    }
                } catch (CqOverrunException overrun) {
                    synchronized (traffic) {
                        traffic.abort("rank " + rank.number + ": " + overrun.getMessage());
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
                synchronized (traffic) {
                    sweeps++;
                }
            }
            return polled;
        }

        @Override
        public void onCompletion(Completion completion) {
            synchronized (traffic) {
                traffic.book(rank, completion, number);
            }
            if (named != null) {
                dawdle(named.consumerDelayNs());
            }
        }
    }
}
