package io.cqring.jmh;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionEntry;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.SharedWriter;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import org.agrona.BitUtil;
import org.agrona.BufferUtil;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.ManyToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;
import org.jctools.queues.MpmcArrayQueue;
import org.jctools.queues.MpscArrayQueue;

/**
 * A ring that several may write to or poll, as each of two workers uses it: 64-byte entries, 56 bytes of payload in each ring.
 * Entry {@code s} carries the words {@code s} to {@code s + 6}. Each ring has its own loops and handlers, see {@link Transfer}.
 */
abstract class SharedRing {
    static final int CAPACITY = Transfer.CAPACITY;
    static final int BATCH = 16;
    static final int WORKERS = 2;

    /**
     * Writes entries {@code first} to {@code first + count - 1}, {@code count} being a multiple of 16; waits while the ring is
     * full. Rings with one writer: worker 0 only.
     */
    abstract void write(int worker, long first, int count);

    /** Takes what is there, at most a few hundred entries. Returns how many. Rings with one poller: worker 1 only. */
    abstract int take(int worker);

    /** What both workers have added up so far. Read between turns. */
    abstract long sum();

    /** {@link SharedWriter#write}, polled by the queue's one poller. */
    static class Writers extends SharedRing {
        final CompletionQueue queue =
                CompletionQueue.ofCapacity(CAPACITY).writers(WORKERS).create();
        final SharedWriter[] writers = {queue.newWriter(), queue.newWriter()};
        private final CompletionSum sum = CompletionSum.of(true);

        @Override
        void write(int worker, long first, int count) {
            SharedWriter writer = writers[worker];
            for (long s = first; s != first + count; s++) {
                while (!writer.write(CqringTransfer.HEADER, s, s + 1, s + 2, s + 3, s + 4, s + 5, s + 6)) {
                    Thread.onSpinWait();
                }
            }
        }

        @Override
        final int take(int worker) {
            return queue.poll(sum, Transfer.POLL_LIMIT);
        }

        @Override
        final long sum() {
            return sum.sum;
        }
    }

    /** {@link SharedWriter#claim} of 16 entries at a time. */
    static final class WriterBatches extends Writers {
        @Override
        void write(int worker, long first, int count) {
            SharedWriter writer = writers[worker];
            for (long s = first; s != first + count; s += BATCH) {
                while (!writer.claim(BATCH)) {
                    Thread.onSpinWait();
                }
                for (int i = 0; i < BATCH; i++) {
                    CompletionEntry entry = writer.entry(i);
                    entry.header(CqringTransfer.HEADER)
                            .workRequestId(s + i)
                            .length(s + i + 1)
                            .detail(s + i + 2)
                            .timestamp(s + i + 3)
                            .payload(0, s + i + 4)
                            .payload(1, s + i + 5)
                            .payload(2, s + i + 6);
                }
                writer.commit(BATCH);
            }
        }
    }

    /** Agrona's ring for many writers: {@code tryClaim}, {@code commit}, {@code read}. */
    static final class Agrona extends SharedRing {
        private final UnsafeBuffer buffer = new UnsafeBuffer(memory());
        private final ManyToOneRingBuffer ring = new ManyToOneRingBuffer(buffer);
        private final Sum sum = new Sum();

        private static ByteBuffer memory() {
            return BufferUtil.allocateDirectAligned(
                    CAPACITY * 64 + RingBufferDescriptor.TRAILER_LENGTH, BitUtil.CACHE_LINE_LENGTH);
        }

        @Override
        void write(int worker, long first, int count) {
            for (long s = first; s != first + count; s++) {
                int index = ring.tryClaim(1, 7 * Long.BYTES);
                while (index < 0) {
                    Thread.onSpinWait();
                    index = ring.tryClaim(1, 7 * Long.BYTES);
                }
                buffer.putLong(index, s);
                buffer.putLong(index + 8, s + 1);
                buffer.putLong(index + 16, s + 2);
                buffer.putLong(index + 24, s + 3);
                buffer.putLong(index + 32, s + 4);
                buffer.putLong(index + 40, s + 5);
                buffer.putLong(index + 48, s + 6);
                ring.commit(index);
            }
        }

        @Override
        int take(int worker) {
            return ring.read(sum, Transfer.POLL_LIMIT);
        }

        @Override
        long sum() {
            return sum.sum;
        }

        private static final class Sum extends PollerTally implements MessageHandler {
            @Override
            public void onMessage(int type, MutableDirectBuffer buffer, int index, int length) {
                sum += buffer.getLong(index)
                        + buffer.getLong(index + 8)
                        + buffer.getLong(index + 16)
                        + buffer.getLong(index + 24)
                        + buffer.getLong(index + 32)
                        + buffer.getLong(index + 40)
                        + buffer.getLong(index + 48);
            }
        }
    }

    /** JCTools' queue for many writers, on Unsafe, with pooled events: a pool for each worker. */
    static final class Mpsc extends SharedRing {
        private final MpscArrayQueue<Event> queue = new MpscArrayQueue<>(CAPACITY);
        private final EventPool[] pools = {new EventPool(true), new EventPool(true)};
        private final EventSum sum = EventSum.of(true);

        @Override
        void write(int worker, long first, int count) {
            EventPool pool = pools[worker];
            for (long s = first; s != first + count; s++) {
                Event.Wide event = (Event.Wide) pool.next();
                event.setWide(s);
                while (!queue.offer(event)) {
                    Thread.onSpinWait();
                }
            }
        }

        @Override
        int take(int worker) {
            return queue.drain(sum, Transfer.POLL_LIMIT);
        }

        @Override
        long sum() {
            return sum.sum;
        }
    }

    /** {@link CompletionPoller}s, claims of 16 entries, or of 64. */
    static final class Pollers extends SharedRing {
        private final CompletionQueue queue =
                CompletionQueue.ofCapacity(CAPACITY).sharedPollers().create();
        private final CompletionPoller[] pollers;
        private final CompletionSum[] sums = {CompletionSum.of(true), CompletionSum.of(true)};

        Pollers(int batch) {
            this.pollers = new CompletionPoller[] {queue.newPoller(batch), queue.newPoller(batch)};
        }

        @Override
        void write(int worker, long first, int count) {
            writeAll(queue.writer(), first, count);
        }

        @Override
        int take(int worker) {
            return pollers[worker].poll(sums[worker], Transfer.POLL_LIMIT);
        }

        @Override
        long sum() {
            return sums[0].sum + sums[1].sum;
        }
    }

    static void writeAll(CompletionWriter writer, long first, int count) {
        for (long s = first; s != first + count; s++) {
            while (!writer.write(CqringTransfer.HEADER, s, s + 1, s + 2, s + 3, s + 4, s + 5, s + 6)) {
                Thread.onSpinWait();
            }
        }
    }

    /**
     * What drivers do: a lock round a queue with one poller. Up to a batch of entries is copied out under the lock, and handled after it.
     * The role of the poller changes hands with the lock, which costs a little more than a driver pays.
     */
    static final class Locked extends SharedRing {
        private static final int WORDS = 7;

        private final CompletionQueue queue =
                CompletionQueue.ofCapacity(CAPACITY).create();
        private final ReentrantLock lock = new ReentrantLock();
        private final Copies[] copies = new Copies[WORKERS];
        private final int batch;

        Locked(int batch) {
            this.batch = batch;
            Arrays.setAll(copies, worker -> new Copies(batch));
        }

        @Override
        void write(int worker, long first, int count) {
            writeAll(queue.writer(), first, count);
        }

        @Override
        int take(int worker) {
            Copies own = copies[worker];
            own.next = 0;
            int taken;
            lock.lock();
            try {
                taken = queue.poll(own, batch);
                queue.releasePoller();
            } finally {
                lock.unlock();
            }
            own.sum += own.sumOf(taken);
            return taken;
        }

        @Override
        long sum() {
            return copies[0].sum + copies[1].sum;
        }

        /** What a worker has copied, all seven words of an entry side by side. */
        private static final class Copies extends PollerTally implements CompletionHandler {
            private final long[] words;
            private int next;

            Copies(int batch) {
                this.words = new long[batch * WORDS];
            }

            @Override
            public void onCompletion(Completion completion) {
                int to = next;
                words[to] = completion.workRequestId();
                words[to + 1] = completion.length();
                words[to + 2] = completion.detail();
                words[to + 3] = completion.timestamp();
                words[to + 4] = completion.payload(0);
                words[to + 5] = completion.payload(1);
                words[to + 6] = completion.payload(2);
                next = to + WORDS;
            }

            long sumOf(int taken) {
                long sum = 0;
                for (int i = 0; i < taken * WORDS; i++) {
                    sum += words[i];
                }
                return sum;
            }
        }
    }

    /** JCTools' queue for many pollers, on Unsafe, with pooled events. */
    static final class Mpmc extends SharedRing {
        private final MpmcArrayQueue<Event> queue = new MpmcArrayQueue<>(CAPACITY);
        private final EventPool pool = new EventPool(true);
        private final EventSum[] sums = {EventSum.of(true), EventSum.of(true)};

        @Override
        void write(int worker, long first, int count) {
            for (long s = first; s != first + count; s++) {
                Event.Wide event = (Event.Wide) pool.next();
                event.setWide(s);
                while (!queue.offer(event)) {
                    Thread.onSpinWait();
                }
            }
        }

        @Override
        int take(int worker) {
            return queue.drain(sums[worker], Transfer.POLL_LIMIT);
        }

        @Override
        long sum() {
            return sums[0].sum + sums[1].sum;
        }
    }
}
