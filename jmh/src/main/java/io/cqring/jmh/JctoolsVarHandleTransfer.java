package io.cqring.jmh;

import org.jctools.queues.varhandle.SpscVarHandleArrayQueue;

/**
 * JCTools' {@code SpscVarHandleArrayQueue}: the one without warnings on JDK 24 and later.
 * Its twin for the other implementation repeats these loops on purpose: shared ones would call two queue classes from
 * one place.
 */
final class JctoolsVarHandleTransfer extends Transfer {
    private final SpscVarHandleArrayQueue<Event> queue = new SpscVarHandleArrayQueue<>(CAPACITY);
    private final EventPool pool;
    private final EventSum sum;

    JctoolsVarHandleTransfer(int entryBytes) {
        super(entryBytes);
        this.pool = new EventPool(wide);
        this.sum = EventSum.of(wide);
    }

    @Override
    void send(long first, int count) {
        fullRefusals += wide ? sendWide(queue, pool, first, count) : sendNarrow(queue, pool, first, count);
    }

    private static long sendWide(SpscVarHandleArrayQueue<Event> queue, EventPool pool, long first, int count) {
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

    private static long sendNarrow(SpscVarHandleArrayQueue<Event> queue, EventPool pool, long first, int count) {
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
        SpscVarHandleArrayQueue<Event> queue = this.queue;
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
