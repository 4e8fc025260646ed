package io.cqring.notify;

import io.cqring.cq.CompletionQueue;
import io.cqring.eq.EventHandler;
import io.cqring.eq.EventQueue;
import io.cqring.eq.EventWriter;
import io.cqring.eq.Interrupt;
import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The threads that sleep at a channel. One of them watches the interrupt of the channel's event queue; it deals out what comes, and
 * hands the watch on when it leaves. The others are woken by name.
 *
 * <p>All state is under the channel's lock, which is never held while a thread sleeps. Calls that do not say otherwise are made by who has it.
 */
final class Sleepers {
    private final EventHandler dealer = (type, number, subType, syndrome, detail) -> onEvent(number);
    private final EventQueue events;
    private final Interrupt interrupt;
    private final Doorbell doorbell = new Doorbell();
    private final ReentrantLock lock;
    private final Members members;

    /** Members with an event that nobody has got yet; entries that are not signalled any more are stale. */
    private final ArrayDeque<Member> ready = new ArrayDeque<>();

    private final ArrayDeque<Waiter> waiters = new ArrayDeque<>();

    /** The waiter that watches the interrupt, or null. */
    private Waiter watcher;

    private long eventsTaken;
    private long spuriousEvents;
    private long overrunsTaken;

    /** Raises by which the watcher was called, which are no events. */
    private long ownRaises;

    private boolean closed;

    /** A thread that waits, or is about to. */
    static final class Waiter {
        final Thread thread = Thread.currentThread();

        /** What for; null: any. */
        final Member wanted;

        /** Waits for any, and was woken for an event that is ready. */
        boolean woken;

        /** Its queue is closed or dead, or a sender has left: it is to look for itself. */
        boolean called;

        private Waiter(Member wanted) {
            this.wanted = wanted;
        }
    }

    /**
     * Nobody sleeps yet.
     *
     * @param lock    the channel's
     * @param members its queues
     * @param depth   room for events, or a little more
     */
    Sleepers(ReentrantLock lock, Members members, int depth) {
        this.lock = lock;
        this.members = members;
        this.interrupt = new Interrupt(doorbell::ring);
        this.events = EventQueue.builder(depth == 1 ? 1 : Integer.highestOneBit(depth - 1) << 1)
                .interrupt(interrupt)
                .create();
    }

    /** Where writers post what has come: any thread, without the lock. */
    EventWriter eventWriter() {
        return events.writer();
    }

    /** Without the lock, too. */
    Doorbell doorbell() {
        return doorbell;
    }

    // ---- Sleeping

    /**
     * Puts the calling thread in line for the events of a member. Before the member is armed: an event that comes between the arm and the
     * sleep would else go to somebody who waits for any. To be followed by {@link #waitFor(Waiter, long, long)} or {@link #leave(Waiter)}.
     * Called without the lock, as these.
     *
     * @param wanted whose events
     * @return its place
     */
    Waiter join(Member wanted) {
        final Waiter self = new Waiter(wanted);
        lock.lock();
        try {
            waiters.add(self);
        } finally {
            lock.unlock();
        }
        return self;
    }

    /** Gives up a place in line without having slept. */
    void leave(Waiter self) {
        lock.lock();
        try {
            leave(self, true);
            handOn(); // the watcher does not know of an event that was ours
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for an event of a member, or of any, and takes it; then the place in line is given up.
     *
     * @param self  the calling thread's place
     * @param start when the wait began, by {@link System#nanoTime}
     * @param nanos the most time to wait from then on
     * @return whose event it was; also the member waited for if that is closed or dead, or if who waits for it is to look; null if time ran
     *     out
     */
    Member waitFor(Waiter self, long start, long nanos) throws InterruptedException {
        lock.lock();
        try {
            return waitFor(self, null, start, nanos);
        } finally {
            leave(self, nanos > 0);
            lock.unlock();
        }
    }

    /**
     * Waits for an event of any member, and takes it. Called without the lock.
     *
     * @param start as in {@link #waitFor(Waiter, long, long)}, as the next
     * @param nanos the most time to wait
     * @return whose event it was; null if time ran out
     */
    Member waitForAny(long start, long nanos) throws InterruptedException {
        return waitForAny(null, start, nanos);
    }

    /**
     * Waits for an event of any member, and takes all that have come, acknowledged, each with what it tells of senders that have left. Called
     * without the lock, which is taken once however many they are.
     *
     * @param taker called for each, with the lock held
     * @param start as in {@link #waitFor(Waiter, long, long)}, as the next
     * @param nanos the most time to wait
     * @return false if time ran out
     */
    boolean waitForAll(Taker taker, long start, long nanos) throws InterruptedException {
        return waitForAny(taker, start, nanos) != null;
    }

    /** Takes events in place of {@link CompletionChannel#getEvent}. */
    @FunctionalInterface
    interface Taker {
        /**
         * An event of a queue.
         *
         * @param queue whose
         * @param left  senders of it have left since somebody was last told of that; counts as told
         */
        void take(CompletionQueue queue, boolean left);
    }

    private Member waitForAny(Taker taker, long start, long nanos) throws InterruptedException {
        final Waiter self = new Waiter(null);
        lock.lock();
        try {
            waiters.add(self);
            return waitFor(self, taker, start, nanos);
        } finally {
            leave(self, nanos > 0);
            lock.unlock();
        }
    }

    private Member waitFor(Waiter self, Taker taker, long start, long nanos) throws InterruptedException {
        final Member wanted = self.wanted;
        boolean dozed = false;
        while (true) {
            self.woken = false;
            requireOpen();
            final long seen = interrupt.count();
            dealOut();
            final Member got = take(wanted);
            if (got != null) {
                if (taker != null) {
                    takeAll(got, taker);
                }
                return got;
            }
            if (self.called || (wanted != null && isClosed(wanted))) {
                return wanted; // its own calls say so
            }
            if (dozed && Thread.interrupted()) {
                throw new InterruptedException();
            }
            final long left = nanos - (System.nanoTime() - start);
            if (watcher != null) {
                if (left <= 0) {
                    return null;
                }
                doze(left); // what we have dealt out to others has roused the watcher, who hands it on
                dozed = true;
            } else {
                if (left <= 0 && !doorbell.isOpen()) {
                    return null;
                }
                // Without time to wait too, if a selector waits instead of us. The loss of an event raises the
                // interrupt, armed or not.
                if (armEvents() || interrupt.count() != seen) {
                    continue;
                }
                if (left <= 0) {
                    return null;
                }
                handOn();
                watch(self, seen, left);
            }
        }
    }

    /**
     * Leaves nothing behind that nobody knows of: an event that has just come, those of others, the watch. If somebody watches, he does that,
     * for those events have roused him.
     */
    private void leave(Waiter self, boolean hasWaited) {
        waiters.remove(self);
        if (self.wanted != null && self.wanted.signalled) {
            signal(self.wanted); // it came as we left
        }
        if (watcher == null) {
            final Waiter next = waiters.peek();
            if (next != null) {
                wake(next); // to watch from now on, and first to hand on what is left
            } else if (hasWaited // else it is in a loop, and comes again until there is nothing
                    && doorbell.isOpen()
                    && (ready.size() != 0 || armEvents())) {
                doorbell.ring(); // the selector watches
            }
        }
    }

    /** Watches the interrupt, with the lock released meanwhile. */
    private void watch(Waiter self, long seen, long left) throws InterruptedException {
        watcher = self;
        lock.unlock();
        try {
            interrupt.await(seen, left);
        } finally {
            lock.lock();
            watcher = null;
        }
    }

    /** Waits for the watcher to wake us, with the lock released meanwhile. */
    private void doze(long left) {
        lock.unlock();
        try {
            LockSupport.parkNanos(this, left); // if we were woken before this, it returns at once
        } finally {
            lock.lock();
        }
    }

    private boolean armEvents() {
        try {
            return events.arm();
        } finally {
            events.releasePoller();
        }
    }

    // ---- Dealing out

    /** Takes the events that have arrived, and wakes the waiters whose they are. */
    private void dealOut() {
        try {
            while (events.poll(dealer, events.capacity()) != 0) {
                // until none is left
            }
            if (events.takeOverrun()) {
                overrunsTaken++;
                for (int number = 0; number != members.numbersUsed(); number++) { // whose were lost nobody knows
                    final Member member = members.at(number);
                    if (member != null) {
                        member.queue.takeEvent();
                        signal(member);
                    }
                }
            }
        } finally {
            events.releasePoller();
        }
    }

    private void onEvent(int number) {
        final Member member = members.at(number);
        if (member == null || member.dropped || (!member.queue.takeEvent() && !isClosed(member))) {
            spuriousEvents++; // of a queue that was destroyed, or taken before
            return;
        }
        eventsTaken++;
        signal(member);
    }

    private static boolean isClosed(Member member) {
        return member.queue.isClosed();
    }

    /** Gives the event of a member to one that waits for it, or else lets those have it that wait for any. */
    private void signal(Member member) {
        if (member.dropped) {
            member.signalled = false;
            return;
        }
        member.signalled = true;
        if (isClosed(member) || member.queue.isDead()) { // there may be no other event, and it concerns all of them
            for (Waiter waiter : waiters) {
                if (waiter.wanted == member) {
                    waiter.called = true;
                    wake(waiter);
                }
            }
        }
        if (!wakeOne(member) && !member.listed && !member.kept) {
            member.listed = true;
            ready.add(member);
        }
    }

    /** Wakes one that waits for this member. False if nobody does. */
    private boolean wakeOne(Member member) {
        for (Waiter waiter : waiters) {
            if (waiter.wanted == member) {
                wake(waiter);
                return true;
            }
        }
        return false;
    }

    /** Wakes one that waits for any member for each that is ready; if there is none, a selector. */
    private void handOn() {
        int left = ready.size();
        if (left == 0) {
            return;
        }
        boolean somebody = false;
        for (Waiter waiter : waiters) {
            if (waiter.wanted == null) {
                somebody = true;
                if (left-- == 0) {
                    break;
                }
                if (!waiter.woken) {
                    waiter.woken = true;
                    wake(waiter);
                }
            }
        }
        if (!somebody) {
            doorbell.ring();
        }
    }

    private void wake(Waiter waiter) {
        if (waiter == watcher) {
            ownRaises++;
            interrupt.raise(); // it sleeps until that count changes, whatever wakes it
        } else if (waiter.thread != Thread.currentThread()) {
            LockSupport.unpark(waiter.thread);
        }
    }

    /** Somebody in another process may have answered an arm: takes the event, if there is one. */
    void look(Member member) {
        final boolean taken = !member.dropped && member.queue.takeEvent();
        eventsTaken += taken ? 1 : 0;
        if (taken || isClosed(member)) {
            signal(member);
            handOn();
        }
    }

    /** A sender has left: all who wait for its queue are to look, or else somebody who waits for any. */
    void call(Member member) {
        look(member); // it may have answered an arm and not come to say so
        boolean somebody = false;
        for (Waiter waiter : waiters) {
            if (waiter.wanted == member) {
                waiter.called = true;
                wake(waiter);
                somebody = true;
            }
        }
        if (!somebody && !member.dropped) {
            signal(member);
            handOn();
        }
    }

    /** Wakes one more that waits for a member, or the next that will. */
    void passOn(Member member) {
        member.signalled = !member.dropped;
        wakeOne(member);
    }

    /** Everybody is to look. */
    void wakeAll() {
        for (Waiter waiter : waiters) {
            wake(waiter);
        }
    }

    private Member take(Member wanted) {
        if (wanted != null) {
            final boolean signalled = wanted.signalled;
            wanted.signalled = false;
            return signalled ? wanted : null;
        }
        Member member = ready.poll();
        while (member != null) {
            member.listed = false;
            if (member.signalled) {
                member.signalled = false;
                member.delivered++;
                return member;
            }
            member = ready.poll();
        }
        return null;
    }

    private void takeAll(Member first, Taker taker) {
        for (Member member = first; member != null; member = take(null)) {
            member.acked++; // at once: nobody sees that it was owed
            final boolean left = member.departed != member.reported;
            member.reported = member.departed;
            taker.take(member.queue, left);
        }
    }

    // ---- Counters and life

    long events() {
        return eventsTaken;
    }

    long spuriousEvents() {
        return spuriousEvents;
    }

    long overruns() {
        return overrunsTaken;
    }

    long interrupts() {
        return interrupt.count() - ownRaises;
    }

    /** Without the lock, too. */
    long spuriousWakeups() {
        return interrupt.spuriousWakeups();
    }

    boolean isClosed() {
        return closed;
    }

    void requireOpen() {
        if (closed) {
            throw CompletionChannel.channelClosed();
        }
    }

    /** Everybody wakes and finds it closed. */
    void close() {
        closed = true;
        wakeAll();
        doorbell.close();
    }
}
