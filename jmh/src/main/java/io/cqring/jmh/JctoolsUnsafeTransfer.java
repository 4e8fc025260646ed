package io.cqring.jmh;

import org.jctools.queues.SpscArrayQueue;

/**
 * JCTools' {@code SpscArrayQueue} on {@code sun.misc.Unsafe}: what its users run on JDK 17.
 * Its twin for the other implementation repeats these loops on purpose: shared ones would call two queue classes from
 * one place.
 */
final class JctoolsUnsafeTransfer extends Transfer {
    private final SpscArrayQueue<Event> queue = new SpscArrayQueue<>(CAPACITY);
    private final EventPool pool;
    private final EventSum sum;

    JctoolsUnsafeTransfer(int entryBytes) {
        super(entryBytes);
        this.pool = new EventPool(wide);
        this.sum = EventSum.of(wide);
    }

    @Override
    void send(long first, int count) {
        fullRefusals += wide ? sendWide(queue, pool, first, count) : sendNarrow(queue, pool, first, count);
    }

    private static long sendWide(SpscArrayQueue<Event> queue, EventPool pool, long first, int count) {
        long full = 0;
        for (long s = first; s != first + count; s++) {
            Event.Wide event = (Event.Wide) pool.next();
            event.setWide(s);
            while (!queue.offer(event)) {
                full++;
                Thread.onSpinWait();
            }
        }
        return full;
    }

    private static long sendNarrow(SpscArrayQueue<Event> queue, EventPool pool, long first, int count) {
        long full = 0;
        for (long s = first; s != first + count; s++) {
            Event event = pool.next();
            event.set(s);
            while (!queue.offer(event)) {
                full++;
                Thread.onSpinWait();
            }
        }
        return full;
    }

    @Override
    void receive(long count) {
        SpscArrayQueue<Event> queue = this.queue;
        EventSum sum = this.sum;
        long empty = 0;
        long left = count;
        while (left != 0) {
            int taken = queue.drain(sum, (int) Math.min(left, POLL_LIMIT));
            if (taken == 0) {
                empty++;
                Thread.onSpinWait();
            }
            left -= taken;
        }
        sum.emptyPolls += empty;
    }

    @Override
    PollerTally tally() {
        return sum;
    }
}
