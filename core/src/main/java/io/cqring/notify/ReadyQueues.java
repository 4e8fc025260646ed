package io.cqring.notify;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
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
 * waiter. Busy queues take turns.
 */
public final class ReadyQueues {
    private final CompletionChannel channel;

    /** Not armed: they were busy when last seen, or are new. */
    private final ArrayDeque<CompletionQueue> awake = new ArrayDeque<>();

    /** The same, to find one in. */
    private final Set<CompletionQueue> isAwake = new HashSet<>();

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
     * @return a queue in which something is ready, or that died of an overrun, so that a poll says so; null if time ran out. A queue that
     *     was closed is forgotten
     * @throws IllegalArgumentException if the time is negative
     * @throws IllegalStateException    if the channel is closed, or another thread polls a queue
     * @throws InterruptedException     if the thread is interrupted and nothing is ready; its interrupt flag is cleared
     */
    public CompletionQueue next(long timeout, TimeUnit unit) throws InterruptedException {
        final long nanos = unit.toNanos(timeout);
        final long start = System.nanoTime();
        boolean looked = awake.isEmpty();
        while (true) {
            if (!looked) { // so that busy queues do not keep others' events waiting
                looked = true;
                while (take(0)) {
                    // all that are there
                }
            }
            final CompletionQueue ready = firstReady();
            if (ready != null) {
                return ready;
            }
            if (!take(timeout <= 0 ? timeout : Math.max(0, nanos - (System.nanoTime() - start)))) {
                return null;
            }
        }
    }

    private CompletionQueue firstReady() {
        CompletionQueue queue = awake.poll();
        while (queue != null) {
            if (!queue.isClosed() && (!queue.isEmpty() || queue.arm(ArmMode.NEXT))) {
                awake.add(queue); // behind the others
                return queue;
            }
            isAwake.remove(queue);
            queue = awake.poll();
        }
        return null;
    }

    private boolean take(long nanos) throws InterruptedException {
        final CompletionQueue queue = channel.getEvent(nanos, TimeUnit.NANOSECONDS);
        if (queue == null) {
            return false;
        }
        channel.ack(queue, 1);
        wake(queue);
        return true;
    }

    private void wake(CompletionQueue queue) {
        if (isAwake.add(queue)) {
            awake.add(queue);
        }
    }
}
