package io.cqring.eq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The host end of an event queue: polls events and arms the queue, so that the next one raises an {@link Interrupt}.
 *
 * <p><b>Role:</b> one thread at a time polls and arms, the first that does, until it releases the role ({@link #releasePoller}) or
 * ends; another one is refused. {@link #size}, {@link #overruns}, {@link #close} and the getters are for any thread. Both ends are in
 * one process.
 *
 * <p>Threads post in any order: the poller waits at the oldest event that is being posted, though later ones may be complete. How
 * to sleep without losing an event is in the description of this package.
 *
 * <p><b>Depth:</b> a completion queue posts once per arming, so a queue as deep as two events per completion queue and a few more
 * for all else does not overrun. If it does, events are lost and wake-ups are not: see {@link #takeOverrun}.
 */
public final class EventQueue implements AutoCloseable {
    private final QueueMemory memory;
    private final EventWriter writer;
    private final Interrupt interrupt;
    private final int number;
    private final int capacity;
    private final int indexMask;
    private final int lapShift;
    private final int strideShift;
    private final int publishInterval;
    private final AtomicReference<Thread> role = new AtomicReference<>();

    /** The thread that has the role, or null. A thread finds itself here only if it wrote itself. */
    private Thread player;

    /** Next sequence to poll. The player's. */
    private long sequence;

    /** Set while a handler may run. The player's. */
    private boolean inHandler;

    private EventQueue(Builder chosen, QueueMemory memory, RingGeometry geometry) {
        this.memory = memory;
        this.interrupt = chosen.interrupt == null ? new Interrupt() : chosen.interrupt;
        this.writer = new EventWriter(memory, geometry, interrupt);
        this.number = chosen.number;
        this.capacity = geometry.capacity();
        this.indexMask = geometry.indexMask();
        this.lapShift = geometry.lapShift();
        this.strideShift = geometry.strideShift();
        this.publishInterval = Math.max(1, capacity / 4);
        this.sequence = chosen.startSequence;
    }

    /**
     * Starts to describe a queue: number 0, memory and an interrupt of its own, unless told otherwise.
     *
     * @param capacity events; a power of two, 1 to 2^24
     * @return a builder
     * @throws IllegalArgumentException if the capacity breaks its rule
     */
    public static Builder builder(int capacity) {
        return new Builder(EqRegion.geometry(capacity));
    }

    /**
     * Memory that a queue takes, exact.
     *
     * @param capacity events; a power of two
     * @return bytes
     * @throws IllegalArgumentException if the capacity breaks its rule
     */
    public static long requiredBytes(int capacity) {
        return EqRegion.requiredBytes(capacity);
    }

    /**
     * The device end. Always the same object.
     *
     * @return the writer, for any number of threads
     */
    public EventWriter writer() {
        return writer;
    }

    /**
     * Whom an armed queue wakes.
     *
     * @return the interrupt
     */
    public Interrupt interrupt() {
        return interrupt;
    }

    /**
     * The number that this queue was given.
     *
     * @return 0 or more
     */
    public int number() {
        return number;
    }

    /**
     * Slots in the ring.
     *
     * @return events
     */
    public int capacity() {
        return capacity;
    }

    /**
     * Events posted, or just being posted, and not consumed. Any thread. A figure of the moment: that it is not 0 does not promise
     * that a poll finds one.
     *
     * @return events, 0 to the capacity
     */
    public int size() {
        final long consumed = memory.getLongOpaque(EqRegion.CONSUMER_SEQUENCE);
        final long posted = memory.getLongOpaque(EqRegion.PRODUCER_SEQUENCE);
        return (int) Math.max(0, Math.min(capacity, posted - consumed));
    }

    /**
     * Hands ready events to {@code handler}, oldest first, and returns their slots to the device. Does not arm the queue, nor
     * disarm it.
     *
     * <p>Takes at most {@code min(budget, capacity())}. An event counts as consumed once its handler is called: if the handler
     * throws, the exception goes on to the caller, and the next poll starts with the event after it. Slots go back at the end of
     * the call and each time a quarter of the ring has been handled. Allocates nothing. Visible to the handler: all that the
     * posting thread did before.
     *
     * @param handler called once per event, on this thread; it must not call what only the poller may
     * @param budget  the most events to take; 0 takes none, more than the capacity is allowed
     * @return events taken; 0 if none was ready
     * @throws NullPointerException     if there is no handler; nothing is taken
     * @throws IllegalArgumentException if {@code budget} is negative; nothing is taken
     * @throws IllegalStateException    if the queue is closed, another thread is the poller, or the call comes from a handler of
     *                                  this queue; nothing is taken
     */
    public int poll(EventHandler handler, int budget) {
        Objects.requireNonNull(handler, "handler");
        enter();
        if (budget < 0) {
            throw new IllegalArgumentException("budget must be 0 or more events: " + budget);
        }
        final QueueMemory memory = this.memory;
        final int most = Math.min(budget, capacity);
        final long first = sequence;
        int publishAt = publishInterval;
        int taken = 0;
        inHandler = true;
        try {
            while (taken != most) {
                final long next = first + taken;
                final int slot = RingGeometry.offset(next, EqRegion.FIRST_SLOT, indexMask, strideShift);
                final long header = header(memory, slot);
                if (((header ^ RingGeometry.phase(next, lapShift)) & EqeLayout.OWNER_MASK) != 0) {
                    break; // nothing, or its writer is not done
                }
                if (taken == publishAt) { // all before this event has been handled
                    publishConsumed(next);
                    publishAt += publishInterval;
                }
                taken++; // counted first: an event whose handler throws is consumed
                handler.onEvent(
                        EqeLayout.type(header),
                        EqeLayout.number(header),
                        EqeLayout.subType(header),
                        EqeLayout.syndrome(header),
                        memory.getLong(slot + EqeLayout.DETAIL_OFFSET));
            }
        } finally {
            inHandler = false;
            if (taken != 0) {
                sequence = first + taken;
                publishConsumed(first + taken);
            }
        }
        return taken;
    }

    private static long header(QueueMemory memory, int slot) {
        // Edge EQ-OWN, host end: the owner bit, then the rest of the slot. Partner: EventWriter.publish. Weaker: the
        // detail may be loaded first, and is the last lap's. Shown by EqOwnStress.
        return memory.getLongAcquire(slot + EqeLayout.HEADER_OFFSET);
    }

    private void publishConsumed(long end) {
        // Edge EQ-CREDIT, host end: our loads of the slots, then the consumer sequence that gives them back. Partner:
        // EventWriter.post. Weaker: a load may come after the device's next store to the slot, and the handler gets the
        // next lap's detail. Shown by EqCreditStress.
        memory.putLongRelease(EqRegion.CONSUMER_SEQUENCE, end);
    }

    /**
     * Arms the queue: the next event that is posted raises the interrupt, and disarms it. Looks once more afterwards, because an
     * event that came just before raises nothing.
     *
     * <p>Arming an armed queue changes nothing. Events that have been polled do not raise. Wait-free. For the polling thread.
     *
     * @return true if an event is ready: poll again before you sleep; the queue stays armed. False if there was none when the queue
     *     was armed: whatever comes raises the interrupt
     * @throws IllegalStateException as {@link #poll}; nothing is armed
     */
    public boolean arm() {
        enter();
        final long next = sequence;
        // Edge EQ-ARM, host end: the arm word, then the look at the slot. Partner: EventWriter.serveArm, which stores
        // the owner bit and then looks at the arm word. Weaker (no fence): both looks may be old, and the host sleeps
        // beside a ready event. The slot is read only if it is polled later, by a load of its own. Shown by
        // EqArmStress.
        memory.putLongRelease(EqRegion.ARM, EqRegion.armedAt(next));
        memory.fullFence();
        final long header = header(memory, RingGeometry.offset(next, EqRegion.FIRST_SLOT, indexMask, strideShift));
        return ((header ^ RingGeometry.phase(next, lapShift)) & EqeLayout.OWNER_MASK) == 0;
    }

    /**
     * Takes an arming back. For the polling thread.
     *
     * @return true if the queue was armed: no interrupt comes of that any more; false if it was not, or the device was quicker: its
     *     interrupt has been raised or is about to be
     * @throws IllegalStateException as {@link #poll}; nothing is changed
     */
    public boolean disarm() {
        enter();
        final long arm = memory.getLongOpaque(EqRegion.ARM);
        // Edge EQ-ARM, host end: either this or the device's compare-and-set. Partner: EventWriter.serveArm. Weaker
        // (test, then set): an interrupt comes that was said not to. Shown by EqArmStress.
        return (arm & EqRegion.ARMED) != 0 && memory.compareAndSetLong(EqRegion.ARM, arm, arm & ~EqRegion.ARMED);
    }

    /**
     * Whether events have been lost since this was last asked; asking clears it. An event that is lost from then on sets it again.
     * If so, look at everything that posts to this queue: what those events were about is visible to the caller. Of a completion queue,
     * first take the event that may have been lost ({@code CompletionQueue.takeEvent}), then poll it and arm it: an event that is never
     * taken is the last. For the polling thread.
     *
     * @return true if events have been lost
     * @throws IllegalStateException as {@link #poll}; nothing is cleared
     */
    public boolean takeOverrun() {
        enter();
        final long lost = overruns();
        if (lost == memory.getLongOpaque(EqRegion.OVERRUNS_TAKEN)) {
            return false;
        }
        memory.putLongOpaque(EqRegion.OVERRUNS_TAKEN, lost); // what is counted from now on is still to be taken
        return true;
    }

    /**
     * Events lost so far because the queue was full. Any thread.
     *
     * @return events
     */
    public long overruns() {
        // Edge EQ-OVERRUN, host end: the count, then whatever the lost events were about. Partner: EventWriter.lose.
        // Weaker (opaque): the caller looks at its queues too early, and nobody tells it again. Shown by
        // EqOverrunStress.
        return memory.getLongAcquire(EqRegion.OVERRUNS);
    }

    /**
     * Lets another thread become the poller. The queue stays armed if it is.
     *
     * @throws IllegalStateException if the calling thread is not the poller
     */
    public void releasePoller() {
        if (player != Thread.currentThread()) {
            throw new IllegalStateException("thread " + Thread.currentThread().getName() + " is not the poller");
        }
        if (inHandler) {
            throw calledByHandler();
        }
        player = null;
        // Edge ROLE, releasing end. Partner: takeRole. Weaker (plain): the next player may see an old sequence.
        // Shown by EqRoleStress.
        role.set(null);
    }

    /**
     * Closes both ends, from any thread: calls that start later throw {@link IllegalStateException}; calls under way finish. What is
     * unpolled is given up. Raises the interrupt, so that whoever waits finds the queue closed. Closing again does nothing. Memory
     * the queue allocated is freed by the garbage collector; wrapped memory is the caller's again when no call is under way.
     */
    @Override
    public void close() {
        if (memory.getLongOpaque(EqRegion.CLOSED) == 0) {
            memory.putLongOpaque(EqRegion.CLOSED, 1);
            interrupt.raise(); // what was stored before is visible to whoever sees the raise
        }
    }

    static IllegalStateException queueClosed() {
        return new IllegalStateException("event queue is closed");
    }

    private static IllegalStateException calledByHandler() {
        return new IllegalStateException("an event handler must not call the queue that is calling it");
    }

    /** Lets the polling thread in, or throws. */
    private void enter() {
        if (player != Thread.currentThread()) {
            takeRole();
        }
        if (memory.getLongOpaque(EqRegion.CLOSED) != 0) {
            throw queueClosed();
        }
        if (inHandler) {
            throw calledByHandler();
        }
    }

    private void takeRole() {
        final Thread self = Thread.currentThread();
        // Edge ROLE, taking end: compare-and-set. Partner: releasePoller of the last player, or the end of its thread
        // (seen by isAlive). Protects the plain fields. Weaker (test, then set): two threads get in, and an event is
        // handed out twice. Shown by EqRoleStress.
        Thread holder = role.get();
        while (holder == null || !holder.isAlive()) {
            if (role.compareAndSet(holder, self)) {
                player = self;
                return;
            }
            holder = role.get();
        }
        throw new IllegalStateException("event queue has one poller, thread " + holder.getName()
                + "; it must release the role before thread " + self.getName() + " can take it");
    }

    @Override
    public String toString() {
        return "EventQueue[number " + number + ", capacity " + capacity + ", size " + size() + "]";
    }

    /** Describes a queue to be made. Not thread-safe. */
    public static final class Builder {
        private final RingGeometry geometry;
        private QueueMemory memory;
        private Interrupt interrupt;
        private long startSequence;
        private int number;

        private Builder(RingGeometry geometry) {
            this.geometry = geometry;
        }

        /**
         * Puts the queue into the caller's memory, whose first {@link EventQueue#requiredBytes} are overwritten.
         *
         * @param memory where
         * @return this
         * @throws IllegalArgumentException if the memory is too small
         */
        public Builder memory(QueueMemory memory) {
            final long required = requiredBytes(geometry.capacity());
            if (memory.sizeBytes() < required) {
                throw new IllegalArgumentException("memory must have " + required + " bytes for an event queue of "
                        + geometry.capacity() + " events: " + memory.sizeBytes());
            }
            this.memory = memory;
            return this;
        }

        /**
         * Whom the queue wakes. Several queues may share an interrupt.
         *
         * @param interrupt the interrupt
         * @return this
         */
        public Builder interrupt(Interrupt interrupt) {
            this.interrupt = Objects.requireNonNull(interrupt, "interrupt");
            return this;
        }

        /**
         * Gives the queue a number, for its owner and for messages.
         *
         * @param number 0 or more
         * @return this
         * @throws IllegalArgumentException if it is negative
         */
        public Builder number(int number) {
            if (number < 0) {
                throw new IllegalArgumentException("number must be 0 or more: " + number);
            }
            this.number = number;
            return this;
        }

        /**
         * Lets the queue begin at another sequence than 0, as if it had been in use: for tests of what comes after a wrap.
         *
         * @param sequence the first sequence; any
         * @return this
         */
        public Builder startSequence(long sequence) {
            this.startSequence = sequence;
            return this;
        }

        /**
         * Makes the queue: empty, not armed, whatever the memory held.
         *
         * @return the queue
         */
        public EventQueue create() {
            final QueueMemory chosen =
                    memory == null ? QueueMemory.allocate(requiredBytes(geometry.capacity())) : memory;
            EqRegion.initialise(chosen, geometry, startSequence);
            return new EventQueue(this, chosen, geometry);
        }
    }
}
