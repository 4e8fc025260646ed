package io.cqring.jmh;

import com.lmax.disruptor.AlertException;
import com.lmax.disruptor.BlockingWaitStrategy;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.Sequence;
import com.lmax.disruptor.SequenceBarrier;
import com.lmax.disruptor.TimeoutException;
import io.cqring.cq.CompletionQueue;
import io.cqring.notify.CompletionChannel;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.MpscBlockingConsumerArrayQueue;

/**
 * Two threads that wake each other in turn, each asleep while the other works: how long does it take from "here is one" to the sleeper's
 * having it? Two wires, one each way, of one kind.
 */
abstract class WakeLoop implements AutoCloseable {
    private Thread echo;
    private Wire there;
    private Wire back;
    private volatile Throwable failure;

    /** One direction: one thread sends, another sleeps until something has come. */
    interface Wire {
        void send(long value);

        long receive() throws Exception;
    }

    abstract Wire wire();

    /** Starts the echo; it ends when it receives a negative number. */
    final WakeLoop start() {
        there = wire();
        back = wire();
        echo = new Thread(
                () -> {
                    try {
                        long got = there.receive();
                        while (got >= 0) {
                            back.send(got);
                            got = there.receive();
                        }
                    } catch (Throwable e) {
                        failure = e;
                    }
                },
                "echo");
        echo.setDaemon(true);
        echo.start();
        return this;
    }

    /** Microseconds per wake-up, over so many round trips. */
    final double turn(int roundTrips) {
        try {
            final long start = System.nanoTime();
            for (long i = 0; i != roundTrips; i++) {
                there.send(i);
                final long got = back.receive();
                if (got != i) {
                    throw new IllegalStateException("must come back as it went, " + i + ": " + got);
                }
            }
            return (System.nanoTime() - start) / 2e3 / roundTrips;
        } catch (Exception e) {
            throw new IllegalStateException("a wake-up failed; the other thread: " + failure, e);
        }
    }

    @Override
    public final void close() {
        there.send(-1);
    }

    /** A word and {@link LockSupport}: what everything else is built on. */
    static final class Bare extends WakeLoop {
        @Override
        Wire wire() {
            return new Wire() {
                private volatile long value = Long.MIN_VALUE;
                private volatile Thread sleeper;

                @Override
                public void send(long value) {
                    this.value = value;
                    LockSupport.unpark(sleeper);
                }

                @Override
                public long receive() {
                    sleeper = Thread.currentThread();
                    while (value == Long.MIN_VALUE) {
                        LockSupport.park(this);
                    }
                    final long got = value;
                    value = Long.MIN_VALUE;
                    return got;
                }
            };
        }
    }

    /** A completion queue and its channel. */
    static final class Cqring extends WakeLoop {
        @Override
        Wire wire() {
            final CompletionChannel channel = CompletionChannel.ofQueues(1);
            final CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(8));
            return new Wire() {
                private long got;

                @Override
                public void send(long value) {
                    queue.writer().write(CqringTransfer.HEADER, value, 0, 0, 0);
                }

                @Override
                public long receive() throws InterruptedException {
                    while (queue.poll(entry -> got = entry.workRequestId(), 8) == 0) {
                        channel.await(queue, Long.MAX_VALUE, TimeUnit.NANOSECONDS); // for ever, as the others
                    }
                    return got;
                }
            };
        }
    }

    /** JCTools' blocking queue. */
    static final class Jctools extends WakeLoop {
        @Override
        Wire wire() {
            final MpscBlockingConsumerArrayQueue<Long> queue = new MpscBlockingConsumerArrayQueue<>(8);
            return new Wire() {
                @Override
                public void send(long value) {
                    queue.offer(value);
                }

                @Override
                public long receive() throws InterruptedException {
                    return queue.take();
                }
            };
        }
    }

    /** The Disruptor with its blocking strategy. */
    static final class Disruptor extends WakeLoop {
        @Override
        Wire wire() {
            final RingBuffer<long[]> ring =
                    RingBuffer.createSingleProducer(() -> new long[1], 8, new BlockingWaitStrategy());
            final Sequence consumed = new Sequence();
            ring.addGatingSequences(consumed);
            final SequenceBarrier barrier = ring.newBarrier();
            return new Wire() {
                private long next;

                @Override
                public void send(long value) {
                    final long sequence = ring.next();
                    ring.get(sequence)[0] = value;
                    ring.publish(sequence);
                }

                @Override
                public long receive() throws InterruptedException, AlertException, TimeoutException {
                    barrier.waitFor(next);
                    final long got = ring.get(next)[0];
                    consumed.set(next);
                    next++;
                    return got;
                }
            };
        }
    }
}
