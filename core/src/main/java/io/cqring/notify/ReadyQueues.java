package io.cqring.notify;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqOverrunException;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * One thread's many queues of a channel: says which has completions, and sleeps while none has. It arms a queue once that was polled
 * empty, so a call costs the same however many queues there are, and nothing is lost between poll and sleep.
 *
 * <p>For one thread, which also polls the queues; all of the channel's events come here, so a channel serves one such object, and no other
 * waiter. Busy queues take turns. Looking at a queue abandons a cursor that is open on it.
 */
public final class ReadyQueues {
    private final CompletionChannel channel;

    /** Not armed: they were busy when last seen, or are new. */
    private final ArrayDeque<CompletionQueue> awake = new ArrayDeque<>();

    /** The same, to find one in. */
    private final Set<CompletionQueue> isAwake = new HashSet<>();

    /** A sender has left, which is told once all that it published has been polled. */
    private final Set<CompletionQueue> left = new HashSet<>();

    private final Sleepers.Taker taker = this::take;

    /**
     * The queues of a channel that will be added.
     *
     * @param channel the channel
     */
    public ReadyQueues(CompletionChannel channel) {
        this.channel = Objects.requireNonNull(channel, "channel");
    }

    /**
     * Adds a queue, once.
     *
     * @param queue a queue of the channel, without shared pollers; this thread is its poller from now on
     */
    public void add(CompletionQueue queue) {
        wake(Objects.requireNonNull(queue, "queue"));
    }

    /**
     * A queue with completions. Polling it is up to the caller: what it leaves is found by a later call.
     *
     * @param timeout the most time to wait; 0 only looks
     * @param unit    its unit
     * @return a queue in which something is ready, or that died of an overrun, so that a poll says so; null if time ran out. Also, once, a
     *     queue in a file of which a sender has left, by closing or by the death of its process, and only when all that it published has been
     *     polled: {@link CompletionChannel#departedSenders} says so, and {@link CompletionChannel#connectedSenders} whether another is there.
     *     A queue that was closed is forgotten
     * @throws IllegalArgumentException if the time is negative
     * @throws IllegalStateException    if the channel is closed, or another thread polls a queue
     * @throws InterruptedException     if the thread is interrupted and nothing is ready; its interrupt flag is cleared
     */
    public CompletionQueue next(long timeout, TimeUnit unit) throws InterruptedException {
        final long nanos = CompletionChannel.nanos(timeout, unit);
        final long start = System.nanoTime();
        boolean looked = awake.isEmpty();
        while (true) {
            if (!looked) { // so that busy queues do not keep others' events waiting
                looked = true;
                channel.takeEvents(taker, 0);
            }
            final CompletionQueue ready = firstReady();
            if (ready != null) {
                return ready;
            }
            if (!channel.takeEvents(taker, Math.max(0, nanos - (System.nanoTime() - start)))) {
                return null;
            }
        }
    }

    private CompletionQueue firstReady() {
        CompletionQueue queue = awake.peek();
        while (queue != null) {
            final boolean ready = isReady(queue);
            awake.remove(); // only now: if it cannot be looked at, it stays
            if (ready) {
                awake.add(queue); // behind the others
                return queue;
            }
            isAwake.remove(queue);
            queue = awake.peek();
        }
        return null;
    }

    private boolean isReady(CompletionQueue queue) {
        try {
            // Looks into the ring: where there are many writers, the count says too much, and would keep us awake. A
            // sender that left did so before this look, which finds all that it published.
            return queue.peek() != null || queue.arm(ArmMode.NEXT) || left.remove(queue);
        } catch (CqOverrunException dead) {
            return true; // a poll says so
        } catch (IllegalStateException e) {
            if (queue.isClosed()) {
                left.remove(queue);
                return false;
            }
            throw e;
        }
    }

    private void take(CompletionQueue queue, boolean senderLeft) {
        if (senderLeft) {
            left.add(queue);
        }
        wake(queue);
    }

    private void wake(CompletionQueue queue) {
        if (isAwake.add(queue)) {
            awake.add(queue);
        }
    }
}
