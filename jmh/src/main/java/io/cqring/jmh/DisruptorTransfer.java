package io.cqring.jmh;

import com.lmax.disruptor.AlertException;
import com.lmax.disruptor.BatchEventProcessor;
import com.lmax.disruptor.BatchEventProcessorBuilder;
import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.Sequence;
import com.lmax.disruptor.SequenceBarrier;
import com.lmax.disruptor.WaitStrategy;

/**
 * A Disruptor with one producer and one {@code BatchEventProcessor}, run by the polling thread. The processor takes all
 * that is there at once: it has no other limit by default.
 */
abstract class DisruptorTransfer extends Transfer {
    final RingBuffer<Event> ring;
    private final BatchEventProcessor<Event> processor;
    private final Sum sum;

    private DisruptorTransfer(int entryBytes) {
        super(entryBytes);
        BusySpin waiting = new BusySpin();
        this.ring = RingBuffer.createSingleProducer(wide ? Event.Wide::new : Event::new, CAPACITY, waiting);
        this.sum = wide ? new WideSum(waiting) : new NarrowSum(waiting);
        this.processor = new BatchEventProcessorBuilder().build(ring, ring.newBarrier(), sum);
        ring.addGatingSequences(processor.getSequence());
    }

    @Override
    void receive(long count) {
        sum.processor = processor;
        sum.last = processor.getSequence().get() + count;
        processor.run(); // until the handler has seen the last one
        sum.emptyPolls = sum.waiting.emptyPolls;
    }

    @Override
    PollerTally tally() {
        return sum;
    }

    /** The library's {@code BusySpinWaitStrategy}, which also counts how often it looked in vain. */
    private static final class BusySpin extends PollerTally implements WaitStrategy {
        @Override
        public long waitFor(long sequence, Sequence cursor, Sequence dependent, SequenceBarrier barrier)
                throws AlertException {
            long available = dependent.get();
            if (available >= sequence) {
                return available;
            }
            long empty = 0;
            while (available < sequence) {
                barrier.checkAlert();
                empty++;
                Thread.onSpinWait();
                available = dependent.get();
            }
            emptyPolls += empty;
            return available;
        }

        @Override
        public void signalAllWhenBlocking() {}
    }

    private abstract static class Sum extends PollerTally implements EventHandler<Event> {
        final BusySpin waiting;
        BatchEventProcessor<Event> processor;
        long last;

        Sum(BusySpin waiting) {
            this.waiting = waiting;
        }

        final void haltAfterLast(long sequence) {
            if (sequence == last) {
                processor.halt();
            }
        }
    }

    private static final class WideSum extends Sum {
        WideSum(BusySpin waiting) {
            super(waiting);
        }

        @Override
        public void onEvent(Event event, long sequence, boolean endOfBatch) {
            sum += ((Event.Wide) event).sumWide();
            if (endOfBatch) {
                haltAfterLast(sequence);
            }
        }
    }

    private static final class NarrowSum extends Sum {
        NarrowSum(BusySpin waiting) {
            super(waiting);
        }

        @Override
        public void onEvent(Event event, long sequence, boolean endOfBatch) {
            sum += event.sum();
            if (endOfBatch) {
                haltAfterLast(sequence);
            }
        }
    }

    /** Each event claimed and published by itself. */
    static final class Single extends DisruptorTransfer {
        Single(int entryBytes) {
            super(entryBytes);
        }

        @Override
        void send(long first, int count) {
            fullRefusals += wide ? sendWide(ring, first, count) : sendNarrow(ring, first, count);
        }

        private static long sendWide(RingBuffer<Event> ring, long first, int count) {
            long full = 0;
            for (long s = first; s != first + count; s++) {
                while (!ring.hasAvailableCapacity(1)) {
                    full++;
                    Thread.onSpinWait();
                }
                long claimed = ring.next();
                ((Event.Wide) ring.get(claimed)).setWide(s);
                ring.publish(claimed);
            }
            return full;
        }

        private static long sendNarrow(RingBuffer<Event> ring, long first, int count) {
            long full = 0;
            for (long s = first; s != first + count; s++) {
                while (!ring.hasAvailableCapacity(1)) {
                    full++;
                    Thread.onSpinWait();
                }
                long claimed = ring.next();
                ring.get(claimed).set(s);
                ring.publish(claimed);
            }
            return full;
        }
    }

    /** Sixteen events claimed and published at once. */
    static final class Batch extends DisruptorTransfer {
        static final int SIZE = 16;

        Batch(int entryBytes) {
            super(entryBytes);
        }

        @Override
        void send(long first, int count) {
            long full = 0;
            long end = first + count;
            for (long s = first; s != end; ) {
                int size = (int) Math.min(SIZE, end - s);
                while (!ring.hasAvailableCapacity(size)) {
                    full++;
                    Thread.onSpinWait();
                }
                long last = ring.next(size);
                long lowest = last - size + 1;
                if (wide) {
                    fillWide(ring, lowest, last, s);
                } else {
                    fillNarrow(ring, lowest, last, s);
                }
                ring.publish(lowest, last);
                s += size;
            }
            fullRefusals += full;
        }

        private static void fillWide(RingBuffer<Event> ring, long lowest, long last, long s) {
            for (long claimed = lowest; claimed <= last; claimed++) {
                ((Event.Wide) ring.get(claimed)).setWide(s + claimed - lowest);
            }
        }

        private static void fillNarrow(RingBuffer<Event> ring, long lowest, long last, long s) {
            for (long claimed = lowest; claimed <= last; claimed++) {
                ring.get(claimed).set(s + claimed - lowest);
            }
        }
    }
}
