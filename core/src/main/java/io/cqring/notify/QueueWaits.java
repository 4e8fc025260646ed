package io.cqring.notify;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Waits for one queue: the rule by which a waiter looks, stands in line, arms, looks again and sleeps, and when what it finds is enough. Calls of the
 * waiter, which does not have the channel's lock.
 */
final class QueueWaits {
    /** The most entries that an arm can wait for. */
    private static final int MOST_COUNT = 1 << 16;

    private final ReentrantLock lock;
    private final Members members;
    private final Sleepers sleepers;

    QueueWaits(ReentrantLock lock, Members members, Sleepers sleepers) {
        this.lock = lock;
        this.members = members;
        this.sleepers = sleepers;
    }

    /** The most completions that an event can wait for: a ring full, or what the arm word has bits for. */
    static int most(CompletionQueue queue) {
        return Math.min(queue.capacity(), MOST_COUNT);
    }

    /**
     * Waits until there is what {@code plan} wants.
     *
     * @param poller   one of many, of this queue; null: the queue has one
     * @param counters of who waits; null: nobody counts
     * @return false if time ran out
     */
    boolean await(CompletionQueue queue, CompletionPoller poller, AtLeast plan, ConsumerCounters counters)
            throws InterruptedException {
        final Member member = openMember(queue);
        final long reported = reported(member);
        boolean called = false;
        while (true) {
            if (poller == null && queue.isPollable(plan.count())) {
                return true; // not armed: whoever writes need not raise an event for what is about to be polled
            }
            final long now = System.nanoTime();
            final int wanted = plan.wanted(now);
            final Sleepers.Waiter self = sleepers.join(member); // before the arm, so that its event is for us
            long left = 0;
            try {
                final long departed = departed(member); // before the look, which then finds all that they published
                // The rule that nobody may get wrong: arm, then look, and only then sleep. What came before the look is
                // reported by it, what comes later raises the event.
                if (poller == null ? arm(queue, wanted, counters) : arm(poller, wanted, called ? member : null)) {
                    return true;
                }
                if (departed != reported) {
                    report(member, departed);
                    return true;
                }
                left = plan.leftNs(now);
                if (left <= 0) {
                    return false;
                }
            } finally {
                if (left <= 0) {
                    sleepers.leave(self);
                }
            }
            called = sleepers.waitFor(self, now, left) != null;
            if (called && counters != null && queue.isPollable(1)) { // else it was an old event
                counters.woken();
            }
        }
    }

    /**
     * Waits until there is something, and lets completions gather: {@link CompletionChannel#awaitModerated}.
     *
     * @param counters as in {@link #await}
     */
    boolean awaitAndGather(CompletionQueue queue, Moderation moderation, long nanos, ConsumerCounters counters)
            throws InterruptedException {
        final long start = System.nanoTime();
        final Member member = openMember(queue);
        final long reported = reported(member);
        if (!await(queue, null, new AtLeast(1, 0, nanos, start), counters)) {
            return false;
        }
        if (!moderation.isOff()) {
            gather(member, new ModerationTimer(moderation), start, nanos, reported, counters);
        }
        return true;
    }

    private void gather(
            Member member, ModerationTimer timer, long start, long nanos, long reported, ConsumerCounters counters)
            throws InterruptedException {
        final CompletionQueue queue = member.queue;
        final Moderation moderation = timer.moderation();
        final boolean eachCounts = moderation.mode() == TimerMode.FROM_ENTRY;
        final int most = most(queue);
        final int enough = moderation.count() == 0 ? most : Math.min(moderation.count(), most);
        int seen = 1;
        timer.onArm(seen, System.nanoTime());
        while (true) {
            final Sleepers.Waiter self = sleepers.join(member); // before the arm, as in await
            final long now = System.nanoTime();
            long left = 0;
            try {
                int wanted = eachCounts ? Math.min(seen + 1, enough) : enough; // each that comes is to wake us
                while (queue.isPollable(wanted) || arm(queue, wanted, counters)) {
                    if (wanted == enough) {
                        return;
                    }
                    // Enough has a look of its own.
                    final int ready = Math.min(Math.max(wanted, queue.size()), enough - 1);
                    timer.onEntries(ready - seen, now);
                    seen = ready;
                    wanted = seen + 1;
                }
                if (departed(member) != reported) { // nobody may be left to write more
                    return;
                }
                left = Math.min(timer.dueInNs(now), nanos - (now - start));
                if (left <= 0) {
                    return;
                }
            } finally {
                if (left <= 0) {
                    sleepers.leave(self);
                }
            }
            sleepers.waitFor(self, now, left);
        }
    }

    private static boolean arm(CompletionQueue queue, int wanted, ConsumerCounters counters) {
        final boolean ready = queue.arm(ArmMode.NEXT, wanted);
        if (counters != null) {
            counters.armed(ready);
        }
        return ready;
    }

    /**
     * Arms for one of many pollers. It may have been woken by the last event of the queue, and others wait for it too: tells the next, if
     * entries will be left, or if the queue has ended since, whose end then raised no event, as it was not armed.
     *
     * @param woken whose event has woken this poller; null if none has
     */
    private boolean arm(CompletionPoller poller, int wanted, Member woken) {
        final CompletionQueue queue = poller.queue();
        boolean othersToo = true; // if arm throws: closed
        try {
            final boolean ready = poller.arm(ArmMode.NEXT, wanted);
            // After the arm: what comes from now on raises an event of its own.
            othersToo = ready && (queue.isDead() || queue.size() + poller.undelivered() > poller.batch());
            return ready;
        } finally {
            if (othersToo && woken != null) {
                passOn(woken);
            }
        }
    }

    private long departed(Member member) {
        if (member.listener == null) {
            return 0;
        }
        lock.lock();
        try {
            return member.departed;
        } finally {
            lock.unlock();
        }
    }

    private long reported(Member member) {
        if (member.listener == null) {
            return 0;
        }
        lock.lock();
        try {
            return member.reported;
        } finally {
            lock.unlock();
        }
    }

    private void report(Member member, long departed) {
        lock.lock();
        try {
            member.reported = Math.max(member.reported, departed);
        } finally {
            lock.unlock();
        }
    }

    private void passOn(Member member) {
        lock.lock();
        try {
            sleepers.passOn(member);
        } finally {
            lock.unlock();
        }
    }

    /** Waits for the event of a queue that somebody else arms, at any time. False if time ran out. */
    boolean awaitEvent(CompletionQueue queue, long nanos) throws InterruptedException {
        return sleepers.waitFor(sleepers.join(openMember(queue)), System.nanoTime(), nanos) != null;
    }

    private Member openMember(CompletionQueue queue) {
        lock.lock();
        try {
            sleepers.requireOpen();
            return members.of(queue);
        } finally {
            lock.unlock();
        }
    }
}
