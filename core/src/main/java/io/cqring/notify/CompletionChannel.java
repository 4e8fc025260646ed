package io.cqring.notify;

import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.EventSink;
import io.cqring.eq.EventType;
import io.cqring.eq.EventWriter;
import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.nio.channels.SelectableChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;

/**
 * Where threads sleep until a completion queue has something for them: {@code ibv_comp_channel}. The queues of a channel share its
 * event queue, so an event costs the same however many there are.
 *
 * <pre>
 *   writer ─► queue armed? ─► event queue armed? ─► interrupt ─► the one waiter that watches it ─► the waiter whose queue it is
 * </pre>
 *
 * <p><b>Two ways to wait.</b> {@link #await(CompletionQueue, long, TimeUnit)} waits for one queue: it looks, arms, looks again and only then
 * sleeps, so there is nothing to get wrong. {@link #getEvent} waits for an event of any queue, as {@code ibv_get_cq_event}: the caller arms
 * the queues, polls after arming, and acknowledges events ({@link #ack}). Use one of them for a queue, not both at a time: while a thread is in
 * {@code await} for a queue, its events are for that thread; {@code getEvent} may give out one that comes later, of an arm that is left over.
 *
 * <p><b>Threads:</b> all calls are for any thread, and several may wait; {@code await} is also a call of the queue's polling thread. An
 * event goes to one waiter. <b>Progress:</b> what writers do here is lock-free, a compare-and-set, a store and an unpark; only if the channel
 * is {@link #selectable}, also a short lock and a system call. Those who wait share a
 * lock, held for the handling of events only. Waiting parks: it takes no processor time, works in virtual threads, and ends with an
 * interrupt, with {@link #close}, and with its time. <b>Allocation:</b> one small object per sleep. <b>Visibility:</b> all that was done before an event was raised is visible to
 * the waiter that gets it.
 */
public final class CompletionChannel implements AutoCloseable {
    /** Syndrome of {@link EventType#CQ_ERROR}: a completion queue was overrun; the number that real devices use. */
    public static final int OVERRUN_SYNDROME = 1;

    /** Room for events beside two per queue. */
    private static final int SPARE_EVENTS = 128;

    private static final int MOST_QUEUES = 1 << 22;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition acknowledged = lock.newCondition();
    private final Members members;
    private final Sleepers sleepers;
    private final QueueWaits waits;
    private final EventWriter eventWriter;

    /** Where losses are reported, or null. */
    private final EventWriter asynchronous;

    private final Sink sink = new Sink();

    /** What the writers call. */
    private final class Sink implements EventSink {
        @Override
        public void completion(int cqNumber) {
            eventWriter.post(EventType.COMPLETION, cqNumber, 0, 0, 0); // full: the loss itself wakes us
        }

        @Override
        public void overrun(int cqNumber, boolean dead) {
            if (asynchronous != null) {
                asynchronous.post(EventType.CQ_ERROR, cqNumber, 0, OVERRUN_SYNDROME, dead ? 1 : 0);
            }
        }
    }

    /** The processes that write to a queue in a file, as its listener sees them. */
    private final class Senders implements WakeupListener.Peers {
        private final Member member;

        Senders(Member member) {
            this.member = member;
        }

        @Override
        public void came() {
            lock.lock();
            try {
                member.connected++;
                sleepers.look(member);
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void woke() {
            lock.lock();
            try {
                sleepers.look(member);
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void gone() {
            left(1);
        }

        @Override
        public void failed() {
            left(Integer.MAX_VALUE);
        }

        private void left(int most) {
            lock.lock();
            try {
                final int count = Math.min(most, member.connected);
                member.connected -= count;
                member.departed += Math.max(1, count); // a failure is told of, whoever was connected
                sleepers.call(member);
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * A channel for a number of queues.
     *
     * @param mostQueues queues it can have at a time, 1 to 2^22
     * @return the channel
     * @throws IllegalArgumentException if the number is out of range
     */
    public static CompletionChannel ofQueues(int mostQueues) {
        return new CompletionChannel(mostQueues, null);
    }

    /**
     * A channel whose queues report losses to an event queue for asynchronous events ({@link EventType#CQ_ERROR}, syndrome
     * {@link #OVERRUN_SYNDROME}, detail 1 if the queue is dead).
     *
     * @param mostQueues queues it can have at a time, 1 to 2^22
     * @param asynchronous where to post; must stay open as long as the queues are written
     * @return the channel
     * @throws IllegalArgumentException if the number is out of range
     */
    public static CompletionChannel ofQueues(int mostQueues, EventWriter asynchronous) {
        return new CompletionChannel(mostQueues, Objects.requireNonNull(asynchronous, "asynchronous events"));
    }

    private CompletionChannel(int mostQueues, EventWriter asynchronous) {
        this(mostQueues, asynchronous, 2 * mostQueues + SPARE_EVENTS);
    }

    /** With an event queue for so many events or more: for tests of its overrun. */
    CompletionChannel(int mostQueues, EventWriter asynchronous, int depth) {
        if (mostQueues < 1 || mostQueues > MOST_QUEUES) {
            throw new IllegalArgumentException("queues must be 1 to " + MOST_QUEUES + ": " + mostQueues);
        }
        this.asynchronous = asynchronous;
        this.members = new Members(mostQueues);
        this.sleepers = new Sleepers(lock, members, depth);
        this.waits = new QueueWaits(lock, members, sleepers);
        this.eventWriter = sleepers.eventWriter();
    }

    // ---- Queues

    /**
     * Makes a queue whose events come here.
     *
     * @param described the queue; its events are set by this call
     * @return the queue
     * @throws IllegalArgumentException as {@link CompletionQueue.Builder#create}
     * @throws IllegalStateException    if the channel is closed, or has as many queues as it can
     */
    public CompletionQueue create(CompletionQueue.Builder described) {
        requireNoFile(described);
        return add(number -> described.events(sink, number).create(), null);
    }

    /**
     * Makes a queue in a file, whose events come here also if another process writes: it attaches the file with a {@link WakeupSender} to
     * the socket. This process is the one that sleeps, until the channel is closed or the queue destroyed; others may attach and poll, without
     * sleeping.
     *
     * @param described the queue, in memory of {@link QueueMemory#create}; its events are set by this call
     * @param socket    where to listen, for instance the name of the file and {@code .sock}; of at most 100 bytes. A socket that a dead
     *                  process has left there is replaced. A lock file of that name and {@code .host} is made beside it
     * @return the queue
     * @throws IllegalArgumentException as {@link CompletionQueue.Builder#create}; or the memory is no file, or the path is too long
     * @throws IllegalStateException    if the channel is closed, or has as many queues as it can; or somebody listens there: the message names
     *                                  the process
     * @throws IOException              if the socket cannot be made: its folder does not exist, or the name is that of something else. In
     *                                  all these cases no queue is made
     */
    public CompletionQueue create(CompletionQueue.Builder described, Path socket) throws IOException {
        if (!described.isInFile()) {
            throw new IllegalArgumentException(
                    "a queue that is in no file needs no socket, for no other process writes to it: create(described)");
        }
        return listening(number -> described.events(sink, number).create(), socket);
    }

    /**
     * Attaches a queue in a file that was made with events, and sleeps on it in place of a process that has ended: as
     * {@link CompletionQueue#attach(QueueMemory, io.cqring.cq.EventSink, int)} and {@link #create(CompletionQueue.Builder, Path)}. An event that found
     * nobody is taken here. Senders of the last listener connect again by themselves, see {@link WakeupSender}.
     *
     * @param memory the file
     * @param socket where to listen
     * @return the queue
     * @throws io.cqring.cq.CqAttachException as {@link CompletionQueue#attach(QueueMemory)}; or the queue was made without events
     * @throws IllegalArgumentException if the path is too long
     * @throws IllegalStateException    as {@link #create(CompletionQueue.Builder, Path)}
     * @throws IOException              as {@link #create(CompletionQueue.Builder, Path)}
     */
    public CompletionQueue attach(QueueMemory memory, Path socket) throws IOException {
        return listening(number -> CompletionQueue.attach(memory, sink, number), socket);
    }

    /**
     * Makes a queue whose events a device raises: by {@link #raise}, after {@link io.cqring.cq.CompletionWriter#answerArm}. To be ended
     * by {@link #destroy}, which wakes those who wait for it: of a mere {@link CompletionQueue#close} nobody is told.
     *
     * @param described the queue; its events are set by this call
     * @return the queue
     * @throws IllegalArgumentException as {@link CompletionQueue.Builder#create}
     * @throws IllegalStateException    if the channel is closed, or has as many queues as it can
     */
    public CompletionQueue createForDevice(CompletionQueue.Builder described) {
        requireNoFile(described);
        return add(number -> described.deviceEvents(number).create(), null);
    }

    private static void requireNoFile(CompletionQueue.Builder described) {
        if (described.isInFile()) {
            throw new IllegalArgumentException("a queue in a file is written by other processes, which wake this one"
                    + " through a socket: create(described, socket)");
        }
    }

    private CompletionQueue listening(IntFunction<CompletionQueue> maker, Path socket) throws IOException {
        final WakeupListener listener = WakeupListener.open(socket);
        boolean added = false;
        try {
            final CompletionQueue queue = add(maker, listener);
            added = true;
            return queue;
        } finally {
            if (!added) {
                listener.close();
            }
        }
    }

    private CompletionQueue add(IntFunction<CompletionQueue> maker, WakeupListener listener) {
        final Member member = new Member(reserve());
        try {
            final CompletionQueue queue = maker.apply(member.number);
            lock.lock();
            try {
                sleepers.requireOpen();
                member.queue = queue;
                member.listener = listener;
                members.add(member);
                if (listener != null) {
                    sleepers.look(member); // what came before somebody listened
                    listener.start(new Senders(member));
                }
                return queue;
            } finally {
                lock.unlock();
            }
        } finally {
            if (member.queue == null) {
                giveBack(member.number);
            }
        }
    }

    private int reserve() {
        lock.lock();
        try {
            sleepers.requireOpen();
            return members.reserve();
        } finally {
            lock.unlock();
        }
    }

    private void giveBack(int number) {
        lock.lock();
        try {
            members.giveBack(number);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Raises the event of a queue: for the device of {@link #createForDevice}. Any thread; lock-free. The event of a queue that has
     * none outstanding is counted as spurious and wakes nobody.
     *
     * @param queue the queue, one of this channel
     * @throws IllegalArgumentException if the queue was made without events
     */
    public void raise(CompletionQueue queue) {
        if (!queue.hasEvents()) {
            throw new IllegalArgumentException("completion queue was made without events, so it has none to raise");
        }
        sink.completion(queue.number());
    }

    /**
     * Closes a queue and takes it out of the channel: waits until every event that {@link #getEvent} has given out for it is
     * acknowledged, because whoever has one still holds the queue. Events that nobody has got are dropped. {@code ibv_destroy_cq} waits in
     * the same way, without a limit.
     *
     * @param queue   the queue
     * @param timeout the most time to wait
     * @param unit    its unit
     * @return true if the queue is gone; false if time ran out: it is closed, and {@link #unacknowledged} says what it still owes. Call
     *     again
     * @throws IllegalArgumentException if the queue is not one of this channel, or the time is negative
     * @throws IllegalStateException    if events are unacknowledged and the channel is closed, also meanwhile; as for a time-out
     * @throws InterruptedException     if the thread is interrupted while it waits; as for a time-out
     */
    public boolean destroy(CompletionQueue queue, long timeout, TimeUnit unit) throws InterruptedException {
        long left = nanos(timeout, unit);
        WakeupListener listener = null;
        lock.lock();
        try {
            final Member member = members.of(queue);
            queue.close();
            listener = member.listener;
            member.dropped = true;
            member.signalled = false;
            sleepers.wakeAll(); // whoever waits for it learns that it is closed
            while (member.delivered != member.acked) {
                if (sleepers.isClosed()) {
                    throw new IllegalStateException(
                            "completion channel is closed; events of the queue that are not acknowledged: "
                                    + (member.delivered - member.acked));
                }
                if (left <= 0) {
                    return false;
                }
                left = acknowledged.awaitNanos(left);
            }
            members.remove(member);
            return true;
        } finally {
            lock.unlock();
            close(listener);
        }
    }

    private static void close(WakeupListener listener) {
        if (listener != null) {
            listener.close();
        }
    }

    /**
     * Senders of other processes that are connected to a queue in a file.
     *
     * @param queue the queue
     * @return senders; 0 if the queue is in no file
     * @throws IllegalArgumentException if the queue is not one of this channel
     */
    public int connectedSenders(CompletionQueue queue) {
        lock.lock();
        try {
            return members.of(queue).connected;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Senders that have left a queue in a file: closed, or their process has ended.
     *
     * @param queue the queue
     * @return senders since the queue was made or attached here; 0 if it is in no file. One more if the socket failed and nobody can be
     *     heard any more
     * @throws IllegalArgumentException if the queue is not one of this channel
     */
    public long departedSenders(CompletionQueue queue) {
        lock.lock();
        try {
            return members.of(queue).departed;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Events of a queue that have been given out by {@link #getEvent} and not been acknowledged.
     *
     * @param queue the queue
     * @return events
     * @throws IllegalArgumentException if the queue is not one of this channel
     */
    public long unacknowledged(CompletionQueue queue) {
        lock.lock();
        try {
            return members.unacknowledged(members.of(queue));
        } finally {
            lock.unlock();
        }
    }

    // ---- Waiting for any queue

    /**
     * Waits for an event of any queue, and takes it: from now on the queue can be armed for another. {@code ibv_get_cq_event}.
     *
     * <p>The queue may turn out to be empty: its completions may have been polled after it was armed, or a sender of it has left
     * ({@link #departedSenders}). To lose nothing: arm, poll until nothing comes, wait.
     *
     * @param timeout the most time to wait; 0 only looks
     * @param unit    its unit
     * @return the queue; null if time ran out. To be acknowledged ({@link #ack}), before it can be destroyed
     * @throws IllegalArgumentException if the time is negative
     * @throws IllegalStateException    if the channel is closed, also meanwhile
     * @throws InterruptedException     if the thread is interrupted and there is no event; its interrupt flag is cleared
     */
    public CompletionQueue getEvent(long timeout, TimeUnit unit) throws InterruptedException {
        final long nanos = nanos(timeout, unit);
        final long start = System.nanoTime();
        sleepers.doorbell().silence();
        final Member member = sleepers.waitForAny(start, nanos);
        return member == null ? null : member.queue;
    }

    /**
     * Acknowledges events of {@link #getEvent}; several at once cost less. {@code ibv_ack_cq_events}.
     *
     * @param queue the queue
     * @param count events, 0 to what is {@link #unacknowledged}
     * @throws IllegalArgumentException if the count is out of range, or the queue is not one of this channel; nothing is changed
     */
    public void ack(CompletionQueue queue, int count) {
        lock.lock();
        try {
            members.acknowledge(queue, count);
            acknowledged.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * A channel that a {@link java.nio.channels.Selector} finds readable when there may be an event: for NIO and Netty loops. Do not
     * read it: call {@link #getEvent} with time 0 until it returns null, which also makes ready for the next event. It is readable
     * when it is made, and at the end, when this channel is closed: the call of {@code getEvent} that then throws closes it too.
     * Always the same object.
     *
     * @return a pipe's end, non-blocking
     * @throws IOException           if the system gives no pipe
     * @throws IllegalStateException if this channel is closed
     */
    public SelectableChannel selectable() throws IOException {
        lock.lock();
        try {
            sleepers.requireOpen();
            return sleepers.doorbell().open();
        } finally {
            lock.unlock();
        }
    }

    // ---- Waiting for one queue

    /**
     * Waits until a queue has completions. For its polling thread.
     *
     * @param queue   a queue of this channel, without shared pollers
     * @param timeout the most time to wait; 0 only looks
     * @param unit    its unit
     * @return true if completions are ready, or the queue died of an overrun, so that a poll says so; false if time ran out. If slots
     *     are passed over, a poll may find nothing: call again. True also, once, when a sender of a queue in a file has left, by closing or
     *     by the death of its process, and only when all that it published has been polled: {@link #departedSenders} says so, and
     *     {@link #connectedSenders} whether another is there
     * @throws IllegalArgumentException if the queue is not one of this channel, or the time is negative
     * @throws IllegalStateException    if channel or queue is closed, also meanwhile; or as {@link CompletionQueue#arm}
     * @throws InterruptedException     if the thread is interrupted and nothing is ready; its interrupt flag is cleared
     */
    public boolean await(CompletionQueue queue, long timeout, TimeUnit unit) throws InterruptedException {
        final long nanos = nanos(timeout, unit);
        return waits.await(queue, null, new AtLeast(1, 0, nanos, System.nanoTime()), null);
    }

    /**
     * As {@link #await(CompletionQueue, long, TimeUnit)}, for one of many pollers, on its thread. If more is ready than one claim of this
     * poller can take, another poller that waits is woken as well.
     *
     * <p>A poller whose calls take less than its batch should be made with a batch of that size: what it leaves of one claim, others
     * are not told of.
     *
     * @param poller  of a queue of this channel
     * @param timeout the most time to wait; 0 only looks
     * @param unit    its unit
     * @return true if this poller holds completions, or some are ready; others may be faster. True also if a sender has left, to each that
     *     waits. False if time ran out
     * @throws IllegalArgumentException if the queue is not one of this channel, or the time is negative
     * @throws IllegalStateException    if channel or queue is closed, also meanwhile; or as {@link CompletionPoller#arm}
     * @throws InterruptedException if the thread is interrupted and nothing is ready; its interrupt flag is cleared
     */
    public boolean await(CompletionPoller poller, long timeout, TimeUnit unit) throws InterruptedException {
        final long nanos = nanos(timeout, unit);
        return waits.await(poller.queue(), poller, new AtLeast(1, 0, nanos, System.nanoTime()), null);
    }

    /**
     * Waits for several completions: until {@code count} are ready; after {@code minWait}, until any is; and no longer than
     * {@code maxWait}. All times from the start of the call. For the polling thread.
     *
     * <p>Beware of a count that never fits: a writer that waits for more space than the ring has left, while fewer than {@code count} are
     * in it, waits for this call, and this call for it. So with {@code awaitSpace} let count and space together be at most the capacity.
     *
     * @param queue   a queue of this channel, without shared pollers
     * @param count   completions, 1 to the smaller of the queue's capacity and 65536
     * @param minWait how long fewer are not enough
     * @param maxWait the most time to wait
     * @param unit    unit of both
     * @return true if {@code count} are ready, or, {@code minWait} having passed, any; or the queue died, or a sender has left, whose last
     *     completions may be fewer. False if none is there at the end of
     *     {@code maxWait}, or, if {@code maxWait} is the shorter, fewer than {@code count}
     * @throws IllegalArgumentException if the queue is not one of this channel, the count is out of range, or a time is negative
     * @throws IllegalStateException    as {@link #await(CompletionQueue, long, TimeUnit)}
     * @throws InterruptedException     if the thread is interrupted and not enough is ready; its interrupt flag is cleared
     */
    public boolean awaitAtLeast(CompletionQueue queue, int count, long minWait, long maxWait, TimeUnit unit)
            throws InterruptedException {
        final long minNs = nanos(minWait, unit);
        final long maxNs = nanos(maxWait, unit);
        final int most = QueueWaits.most(queue);
        if (count < 1 || count > most) {
            throw new IllegalArgumentException("completions to wait for must be 1 to " + most + ": " + count);
        }
        return waits.await(queue, null, new AtLeast(count, minNs, maxNs, System.nanoTime()), null);
    }

    /**
     * Waits for completions and lets some gather, where no device keeps the time: the first wakes the waiter, which then goes on
     * waiting itself until the count is reached or the period is over. {@link TimerMode#FROM_EVENT}: the period starts when the waiter has
     * seen the first, so none waits much longer than that. {@link TimerMode#FROM_ENTRY}: each entry that the waiter sees starts it anew. A
     * full ring ends the wait too, and so does a sender of a queue in a file that leaves. For the polling thread.
     *
     * @param queue      a queue of this channel, without shared pollers
     * @param moderation how many to gather, and how long
     * @param timeout    the most time to wait in all; 0 only looks
     * @param unit       its unit
     * @return true if completions are ready, or the queue died; at the end of the time any number will do. False if there is none
     * @throws IllegalArgumentException as {@link #await(CompletionQueue, long, TimeUnit)}
     * @throws IllegalStateException    as {@link #await(CompletionQueue, long, TimeUnit)}
     * @throws InterruptedException     if the thread is interrupted and nothing is due; its interrupt flag is cleared
     */
    public boolean awaitModerated(CompletionQueue queue, Moderation moderation, long timeout, TimeUnit unit)
            throws InterruptedException {
        Objects.requireNonNull(moderation, "moderation");
        return waits.awaitAndGather(queue, moderation, nanos(timeout, unit), null);
    }

    /** As {@link #awaitModerated}, for a {@link CompletionConsumer}, which counts. */
    boolean awaitModerated(CompletionQueue queue, Moderation moderation, long nanos, ConsumerCounters counters)
            throws InterruptedException {
        return waits.awaitAndGather(queue, moderation, nanos, counters);
    }

    /** As {@link #getEvent}, for all that have come, and acknowledges them. For {@link ReadyQueues}. False if time ran out. */
    boolean takeEvents(Sleepers.Taker taker, long nanos) throws InterruptedException {
        final long start = System.nanoTime();
        sleepers.doorbell().silence();
        return sleepers.waitForAll(taker, start, nanos);
    }

    /** From now on events of a queue are for {@link #awaitEvent} only. For {@link CompletionConsumer}. */
    void keepEvents(CompletionQueue queue) {
        lock.lock();
        try {
            members.of(queue).kept = true;
        } finally {
            lock.unlock();
        }
    }

    /** Waits for the event of a queue that somebody else arms, at any time. False if time ran out. */
    boolean awaitEvent(CompletionQueue queue, long nanos) throws InterruptedException {
        return waits.awaitEvent(queue, nanos);
    }

    /** Ends one {@link #awaitEvent}, also one that is about to begin. */
    void callWaiter(CompletionQueue queue) {
        lock.lock();
        try {
            final Member member = members.at(queue.number());
            if (member != null && member.queue == queue) { // else it was destroyed
                sleepers.passOn(member);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Takes back what {@link #callWaiter} has left, if nobody has come to wait. */
    void recallWaiter(CompletionQueue queue) {
        lock.lock();
        try {
            final Member member = members.at(queue.number());
            if (member != null && member.queue == queue) {
                member.signalled = false;
            }
        } finally {
            lock.unlock();
        }
    }

    static IllegalStateException channelClosed() {
        return new IllegalStateException("completion channel is closed");
    }

    static long nanos(long timeout, TimeUnit unit) {
        if (timeout < 0) {
            throw new IllegalArgumentException("time to wait must be 0 or more: " + timeout);
        }
        return unit.toNanos(timeout);
    }

    // ---- Counters and life

    /**
     * Events of queues that have arrived here. Any thread.
     *
     * @return events
     */
    public long events() {
        return counted(sleepers::events);
    }

    /**
     * Events that named a queue without an event to take: it was destroyed, or looked at because of an overrun. Any thread.
     *
     * @return events
     */
    public long spuriousEvents() {
        return counted(sleepers::spuriousEvents);
    }

    /**
     * Times that all queues had to be looked at because events were lost. Any thread.
     *
     * @return times
     */
    public long overruns() {
        return counted(sleepers::overruns);
    }

    private long counted(LongSupplier counter) {
        lock.lock();
        try {
            return counter.getAsLong();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Interrupts raised for this channel: at most one per arming of its event queue, and one per event lost. Any thread.
     *
     * @return interrupts
     */
    public long interrupts() {
        return counted(sleepers::interrupts);
    }

    /**
     * Times that the watching thread woke without an interrupt and went on waiting. Any thread.
     *
     * @return times
     */
    public long spuriousWakeups() {
        return sleepers.spuriousWakeups();
    }

    /**
     * Whether the channel is closed. Any thread.
     *
     * @return true from {@link #close} on
     */
    public boolean isClosed() {
        lock.lock();
        try {
            return sleepers.isClosed();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Closes the channel: every thread that waits here, now or later, gets an {@link IllegalStateException}. The queues stay open, and
     * nobody hears of their events any more; {@link #ack} and {@link #destroy} still work. Of queues in files, sockets are removed and connections
     * ended, so another process can sleep on them once this one has released the poller's role. Any thread; closing again does nothing.
     */
    @Override
    public void close() {
        final List<WakeupListener> listeners = new ArrayList<>();
        lock.lock();
        try {
            for (int number = 0; number != members.numbersUsed(); number++) {
                final Member member = members.at(number);
                if (member != null && member.listener != null) {
                    listeners.add(member.listener);
                }
            }
            if (!sleepers.isClosed()) {
                acknowledged.signalAll(); // before: the close of a pipe may fail
                sleepers.close();
            }
        } finally {
            lock.unlock();
            listeners.forEach(WakeupListener::close);
        }
    }
}
