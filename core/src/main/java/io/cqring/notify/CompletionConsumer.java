package io.cqring.notify;

import io.cqring.cq.ArmMode;
import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionQueue;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.agrona.concurrent.BusySpinIdleStrategy;
import org.agrona.concurrent.IdleStrategy;

/**
 * Feeds the completions of one queue to one handler: whether it polls or sleeps, and on which thread, is an option, and the
 * handler stays as it is.
 *
 * <pre>
 *   CompletionConsumer consumer = CompletionConsumer.of(queue, handler)
 *           .mode(ConsumerMode.HYBRID).onWaitingThread(channel).budget(64).create();
 *   consumer.runUntilClosed();
 * </pre>
 *
 * <p><b>Threads:</b> the run calls and {@link #process} are for one thread, which is the queue's poller with contexts DIRECT and INTERRUPT.
 * With WORKER each task is the poller while it runs. The counters are for any thread. A handler that throws: its completion
 * counts as consumed, and the exception comes out of the call, with WORKER out of the next run call; run again to go on.
 */
public final class CompletionConsumer {
    private static final int DEFAULT_BUDGET = 256;

    private final CompletionQueue queue;
    private final CompletionHandler handler;
    private final CompletionHandler counting = this::hand;
    private final ConsumerMode mode;
    private final ConsumerContext context;
    private final CompletionChannel channel;
    private final Executor executor;
    private final int budget;
    private final Moderation moderation;

    /** Between polls that find nothing, in mode POLL. */
    private final IdleStrategy idle;

    private final Runnable task = this::runTask;

    private final ConsumerCounters counters = new ConsumerCounters();

    /** Held by tasks: an event may start the next one before the last has let go of the queue. */
    private final ReentrantLock turn = new ReentrantLock();

    /** The last poll took the whole budget. The poller's; with tasks under the turn, as all that follows. */
    private boolean busy;

    /** A task is to come, or the queue is armed. */
    private boolean started;

    /** A task was handed to the executor and has not begun: an event that comes meanwhile is its business. */
    private boolean queued;

    /** A task is running: a thread that has the turn and finds this is in it. */
    private boolean inTask;

    /** The task that is running is to go round once more. */
    private boolean again;

    /** The handler is running. */
    private boolean handling;

    /** What a task has thrown. */
    private Throwable failure;

    /** Handed over in the poll under way. */
    private int handed;

    private CompletionConsumer(Builder chosen) {
        this.queue = chosen.queue;
        this.handler = chosen.handler;
        this.mode = chosen.mode;
        this.context = chosen.context;
        this.channel = chosen.channel;
        this.executor = chosen.executor;
        this.budget = Math.min(chosen.budget, queue.capacity());
        this.moderation = chosen.moderation;
        this.idle = chosen.idle == null ? BusySpinIdleStrategy.INSTANCE : chosen.idle;
        if (context == ConsumerContext.WORKER) {
            channel.keepEvents(queue); // its tasks arm it also while nobody waits
        }
    }

    /**
     * Starts to describe a consumer: DIRECT, POLL, a budget of 256, no moderation, unless told otherwise.
     *
     * @param queue   the queue, without shared pollers
     * @param handler called once per completion; must not poll the queue, nor call this consumer
     * @return a builder
     */
    public static Builder of(CompletionQueue queue, CompletionHandler handler) {
        return new Builder(queue, handler);
    }

    // ---- Context DIRECT

    /**
     * Polls once.
     *
     * @param budget the most completions to take; 0 takes none
     * @return completions taken
     * @throws IllegalArgumentException if the budget is negative
     * @throws IllegalStateException    if the context is not DIRECT, or as {@link CompletionQueue#poll}
     */
    public int process(int budget) {
        requireContext(context == ConsumerContext.DIRECT, "process()");
        return poll(budget);
    }

    // ---- Contexts INTERRUPT and WORKER

    /**
     * One turn: sleeps if the mode says so, and polls, or starts the task that does.
     *
     * @param timeout the most time to wait; 0 only looks
     * @param unit    its unit
     * @return true if there was something to do; false if time ran out
     * @throws IllegalArgumentException if the time is negative
     * @throws IllegalStateException    if the context is DIRECT, queue or channel is closed (of the channel it may learn only once nothing
     *                                  is left to poll), or another thread is the poller; or, as a
     *                                  {@link io.cqring.cq.CqOverrunException}, if the queue is dead and all has been polled
     * @throws InterruptedException     if the thread is interrupted while there is nothing to do; its interrupt flag is cleared
     */
    public boolean runOnce(long timeout, TimeUnit unit) throws InterruptedException {
        requireContext(context != ConsumerContext.DIRECT, "runOnce()");
        final long nanos = CompletionChannel.nanos(timeout, unit);
        return context == ConsumerContext.WORKER ? startTask(nanos) : runHere(nanos);
    }

    /**
     * Turns until queue or channel is closed. A task that is running then finishes by itself.
     *
     * @throws IllegalStateException as {@link #runOnce}, but not for the close
     * @throws InterruptedException  as {@link #runOnce}
     */
    public void runUntilClosed() throws InterruptedException {
        requireContext(context != ConsumerContext.DIRECT, "runUntilClosed()");
        while (!isClosed()) {
            try {
                runOnce(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
            } catch (IllegalStateException e) {
                if (!isClosed() || thrownByHandler()) {
                    throw e;
                }
            }
        }
    }

    private boolean isClosed() {
        return queue.isClosed() || channel.isClosed();
    }

    private boolean thrownByHandler() {
        turn.lock();
        try {
            return handling;
        } finally {
            turn.unlock();
        }
    }

    private boolean runHere(long nanos) throws InterruptedException {
        handling = false;
        if (mode == ConsumerMode.POLL) {
            return spin(nanos);
        }
        if (busy && mode == ConsumerMode.HYBRID && work() != 0) {
            return true;
        }
        if (!sleep(nanos)) {
            return false;
        }
        work();
        return true;
    }

    private boolean spin(long nanos) throws InterruptedException {
        final long start = System.nanoTime();
        while (poll(budget) == 0) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            if (channel.isClosed()) {
                throw CompletionChannel.channelClosed();
            }
            if (System.nanoTime() - start >= nanos) {
                return false;
            }
            idle.idle(0);
        }
        idle.reset();
        return true;
    }

    /** Sleeps until there is something: the channel looks, and arms only if there is nothing. False if time ran out. */
    private boolean sleep(long nanos) throws InterruptedException {
        return channel.awaitModerated(queue, moderation, nanos, counters);
    }

    /** True if there is something to poll already. */
    private boolean arm() {
        final boolean ready = queue.arm(ArmMode.NEXT);
        counters.armed(ready);
        return ready;
    }

    /** Polls as the mode says. Returns completions taken. */
    private int work() {
        final int most = mode == ConsumerMode.EVENT ? queue.capacity() : budget;
        int left = most;
        int taken;
        do {
            taken = poll(Math.min(budget, left));
            left -= taken;
        } while (left > 0 && taken == budget);
        busy = taken == budget;
        return most - left;
    }

    private int poll(int most) {
        counters.polled();
        handling = false;
        handed = 0;
        try {
            return queue.poll(counting, most);
        } finally {
            counters.handed(handed);
        }
    }

    private void hand(Completion completion) {
        handed++; // first: one whose handler throws is consumed
        handling = true;
        handler.onCompletion(completion);
        handling = false;
    }

    // ---- Context WORKER

    private boolean startTask(long nanos) throws InterruptedException {
        final boolean first;
        turn.lockInterruptibly();
        try {
            throwFailure();
            handling = false;
            first = !started;
            started = true;
        } finally {
            turn.unlock();
        }
        if (!first && !channel.awaitEvent(queue, nanos)) {
            return false;
        }
        turn.lock();
        try {
            throwFailure();
            if (!first) {
                counters.woken();
            }
            started = true; // before: an executor may run the task at once, and that may fail
            boolean submitted = false;
            try {
                submit();
                submitted = true;
            } finally {
                started &= submitted;
            }
        } finally {
            turn.unlock();
        }
        return true;
    }

    private void submit() {
        if (queued) {
            return;
        }
        queued = true;
        boolean taken = false;
        try {
            executor.execute(task);
            taken = true;
        } finally {
            queued &= taken; // an executor may have run it by now
        }
    }

    private void throwFailure() {
        final Throwable thrown = failure;
        failure = null;
        if (thrown != null) {
            channel.recallWaiter(queue); // if nobody waited for it, it would pass for an event later
        }
        if (thrown instanceof Error error) {
            throw error;
        }
        if (thrown instanceof RuntimeException exception) {
            throw exception;
        }
    }

    /** What the executor runs. If it does so within a task, which handed this one in, that one goes round once more: no recursion. */
    private void runTask() {
        turn.lock();
        try {
            if (inTask) {
                again = true;
                return;
            }
            inTask = true;
            do {
                again = false;
                runTurn();
            } while (again);
            inTask = false;
        } finally {
            turn.unlock();
        }
    }

    /** Polls, and either comes again or arms the queue, so that its event starts the next one. */
    private void runTurn() {
        try {
            queued = false;
            work();
            final boolean more = (busy && mode == ConsumerMode.HYBRID) || arm();
            queue.releasePoller();
            if (more) {
                submit();
            }
        } catch (RuntimeException | Error e) {
            stop(e);
        }
    }

    /** The next run call throws it, and the one after that starts again. */
    private void stop(Throwable thrown) {
        failure = thrown;
        started = false;
        try {
            queue.releasePoller();
        } catch (IllegalStateException notPoller) {
            // The queue let nobody in.
        }
        channel.callWaiter(queue);
    }

    private void requireContext(boolean right, String call) {
        if (!right) {
            throw new IllegalStateException(call + " is not for a completion consumer of context " + context);
        }
    }

    // ---- Counters

    /**
     * Polls so far. Any thread; exact on the polling thread, elsewhere it may be out of date, as all counters.
     *
     * @return calls
     */
    public long polls() {
        return counters.polls();
    }

    /**
     * Times that the consumer slept and an event woke it, because there was something. Not while it let completions gather. Any thread.
     *
     * @return events
     */
    public long events() {
        return counters.events();
    }

    /**
     * Times that the consumer armed the queue in order to sleep: once per sleep, not if there was something to poll. Any thread.
     *
     * @return arms
     */
    public long arms() {
        return counters.arms();
    }

    /**
     * Arms that found what they asked for, which had come since the look before, so that there was no sleep. Any thread.
     *
     * @return arms
     */
    public long missed() {
        return counters.missed();
    }

    /**
     * Completions handed to the handler. Any thread.
     *
     * @return completions
     */
    public long completions() {
        return counters.completions();
    }

    @Override
    public String toString() {
        return "CompletionConsumer[" + mode + ", " + context + ", budget " + budget + ", moderation " + moderation
                + "]";
    }

    /** Describes a consumer to be made. Not thread-safe. */
    public static final class Builder {
        private final CompletionQueue queue;
        private final CompletionHandler handler;
        private ConsumerMode mode = ConsumerMode.POLL;
        private ConsumerContext context = ConsumerContext.DIRECT;
        private CompletionChannel channel;
        private Executor executor;
        private int budget = DEFAULT_BUDGET;
        private Moderation moderation = Moderation.OFF;
        private IdleStrategy idle;

        private Builder(CompletionQueue queue, CompletionHandler handler) {
            this.queue = Objects.requireNonNull(queue, "queue");
            this.handler = Objects.requireNonNull(handler, "handler");
        }

        /**
         * Sets when to poll and when to sleep.
         *
         * @param mode the mode; only POLL goes with context DIRECT, and it does not go with WORKER
         * @return this
         */
        public Builder mode(ConsumerMode mode) {
            this.mode = Objects.requireNonNull(mode, "mode");
            return this;
        }

        /**
         * Runs the handler on the thread that waits: context INTERRUPT.
         *
         * @param channel the channel that the queue was made by
         * @return this
         */
        public Builder onWaitingThread(CompletionChannel channel) {
            this.context = ConsumerContext.INTERRUPT;
            this.channel = Objects.requireNonNull(channel, "channel");
            return this;
        }

        /**
         * Runs the handler in tasks: context WORKER. From its creation on events of the queue are for this consumer, whoever else waits at the
         * channel.
         *
         * @param channel  the channel that the queue was made by
         * @param executor runs the tasks; several consumers may share it. One that runs them at once, on the thread that hands them in, keeps
         *     {@link CompletionConsumer#runOnce} until nothing is left to poll
         * @return this
         */
        public Builder onWorker(CompletionChannel channel, Executor executor) {
            this.context = ConsumerContext.WORKER;
            this.channel = Objects.requireNonNull(channel, "channel");
            this.executor = Objects.requireNonNull(executor, "executor");
            return this;
        }

        /**
         * Sets the most completions per poll of the run calls.
         *
         * @param budget completions, 1 or more; more than the queue's capacity means that
         * @return this
         * @throws IllegalArgumentException if it is below 1
         */
        public Builder budget(int budget) {
            if (budget < 1) {
                throw new IllegalArgumentException("budget must be 1 or more completions: " + budget);
            }
            this.budget = budget;
            return this;
        }

        /**
         * Lets completions gather before the thread that waited polls: {@link CompletionChannel#awaitModerated}.
         *
         * @param moderation how many, and how long; only with a mode that sleeps, on the waiting thread
         * @return this
         */
        public Builder moderation(Moderation moderation) {
            this.moderation = Objects.requireNonNull(moderation, "moderation");
            return this;
        }

        /**
         * Sets what the run calls do between polls that find nothing: {@code idle(0)} after each such poll, {@code reset()} after one that
         * found something. Unless told otherwise they spin, with {@link Thread#onSpinWait}. A strategy that parks puts off the end of the wait
         * (its time, an interrupt, a close) by as long as it parks.
         *
         * @param idle what to do, on the thread that waits; one strategy is for one consumer. Only with mode POLL, on the waiting thread
         * @return this
         */
        public Builder idleStrategy(IdleStrategy idle) {
            this.idle = Objects.requireNonNull(idle, "idle strategy");
            return this;
        }

        /**
         * Makes the consumer.
         *
         * @return the consumer
         * @throws IllegalArgumentException if two choices do not go together, or the queue of context WORKER is not one of its channel
         */
        public CompletionConsumer create() {
            final boolean polls = mode == ConsumerMode.POLL;
            if (context == ConsumerContext.DIRECT && !polls) {
                throw new IllegalArgumentException("a consumer of context DIRECT is never armed: mode " + mode
                        + " needs onWaitingThread() or onWorker()");
            }
            if (context == ConsumerContext.WORKER && polls) {
                throw new IllegalArgumentException(
                        "mode POLL never lets a worker go: choose onWaitingThread(), or another mode");
            }
            if (!moderation.isOff() && (polls || context != ConsumerContext.INTERRUPT)) {
                throw new IllegalArgumentException("moderation needs a mode that sleeps, and onWaitingThread(): "
                        + moderation + " with mode " + mode + " and context " + context);
            }
            if (idle != null && (!polls || context != ConsumerContext.INTERRUPT)) {
                throw new IllegalArgumentException("an idle strategy needs mode POLL, and onWaitingThread(): " + idle
                        + " with mode " + mode + " and context " + context);
            }
            return new CompletionConsumer(this);
        }
    }
}
