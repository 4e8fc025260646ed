package io.cqring.jmh;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.memory.CacheLines;
import io.cqring.memory.QueueMemory;
import java.nio.ByteBuffer;
import org.agrona.BufferUtil;

/**
 * A ring small enough to stay in the first-level cache, filled by the queue's own writer and emptied in one of three ways, on
 * one thread: how much does an entry cost to poll?
 *
 * <p>All three read the same fields of 64-byte entries and add them up. {@link HandWritten} is what somebody would write who
 * knows the layout and wants nothing but speed: the minimal correct protocol, raw memory, everything in local variables.
 */
abstract class PollRing {
    /** Entries in the ring: 16 kB of them. */
    static final int CAPACITY = 256;

    /** The words of the seven fields of entry 0, 1, 2, ... of a fill. */
    private static final int WORDS = 7;

    private final CompletionWriter writer;

    private PollRing(CompletionWriter writer) {
        this.writer = writer;
    }

    /** Fills the ring. The same code for all. */
    final void fill() {
        for (int s = 0; s != CAPACITY; s++) {
            if (!writer.write(CqringTransfer.HEADER, s, s + 1, s + 2, s + 3, s + 4, s + 5, s + 6)) {
                throw new IllegalStateException("ring must be empty before it is filled");
            }
        }
    }

    /** Empties the ring. Returns what all words polled so far add up to. */
    abstract long drain();

    /** What one fill adds to {@link #drain}'s result. */
    static long sumOfFill() {
        return Transfer.expectedSum(CAPACITY, WORDS);
    }

    private static CompletionQueue queue() {
        return CompletionQueue.ofCapacity(CAPACITY).create();
    }

    private static IllegalStateException incomplete(int taken) {
        return new IllegalStateException("ring must hold " + CAPACITY + " entries: " + taken);
    }

    /** Every field of an entry, those of one word put together again: so each is taken out, and the sum is that of the words. */
    private static long fields(Completion completion) {
        return completion.workRequestId()
                + (completion.byteCount() | (long) completion.immediate() << 32)
                + (completion.vendorError() | (long) completion.flags() << 8 | (long) completion.sourceQp() << 16)
                + completion.timestamp()
                + completion.payload(0)
                + completion.payload(1)
                + completion.payload(2);
    }

    private static final class FieldSum extends PollerTally implements CompletionHandler {
        @Override
        public void onCompletion(Completion completion) {
            sum += fields(completion);
        }
    }

    /** {@link CompletionQueue#poll} with a handler. */
    static final class Handler extends PollRing {
        private final CompletionQueue queue;
        private final FieldSum sum = new FieldSum();

        Handler() {
            this(queue());
        }

        private Handler(CompletionQueue queue) {
            super(queue.writer());
            this.queue = queue;
        }

        @Override
        long drain() {
            int taken = queue.poll(sum, CAPACITY);
            if (taken != CAPACITY) {
                throw incomplete(taken);
            }
            return sum.sum;
        }
    }

    /** {@link CompletionQueue#startPoll}, {@link CompletionQueue#next}, {@link CompletionQueue#endPoll}. */
    static final class Cursor extends PollRing {
        private final CompletionQueue queue;
        private long sum;

        Cursor() {
            this(queue());
        }

        private Cursor(CompletionQueue queue) {
            super(queue.writer());
            this.queue = queue;
        }

        @Override
        long drain() {
            long sum = this.sum;
            int taken = 0;
            if (queue.startPoll()) {
                Completion completion = queue.completion();
                do {
                    sum += fields(completion);
                } while (queue.next());
                taken = queue.endPoll();
            }
            if (taken != CAPACITY) {
                throw incomplete(taken);
            }
            this.sum = sum;
            return sum;
        }
    }

    /** A loop over the same memory without the library, on the same route. */
    static final class HandWritten extends PollRing {
        private static final int SLOT_SHIFT = 6;
        private static final int LAP_SHIFT = Integer.numberOfTrailingZeros(CAPACITY);
        private static final int BYTES = (int) CompletionQueue.requiredBytes(CAPACITY, CqeLayout.STANDARD_BYTES);
        private static final int FIRST_SLOT = BYTES - (CAPACITY << SLOT_SHIFT);
        private static final int CONSUMER_SEQUENCE = 128;

        private final RawMemory memory;
        private long sequence;
        private long sum;

        HandWritten() {
            this(BufferUtil.allocateDirectAligned(BYTES, CacheLines.SEPARATION_BYTES));
        }

        private HandWritten(ByteBuffer buffer) {
            super(CompletionQueue.ofCapacity(CAPACITY)
                    .memory(QueueMemory.wrap(buffer))
                    .create()
                    .writer());
            this.memory = new RawMemory(buffer);
        }

        @Override
        long drain() {
            RawMemory memory = this.memory;
            long first = sequence;
            long end = first + CAPACITY;
            long next = first;
            long sum = this.sum;
            while (next != end) {
                long slot = FIRST_SLOT + ((next & (CAPACITY - 1)) << SLOT_SHIFT);
                long header = memory.getAcquire(slot);
                if (((header ^ ~(next >>> LAP_SHIFT)) & 1) != 0) {
                    break;
                }
                long length = memory.get(slot + 24);
                long detail = memory.get(slot + 32);
                sum += memory.get(slot + 16)
                        + (CqeLayout.byteCount(length) | (long) CqeLayout.immediate(length) << 32)
                        + (CqeLayout.vendorError(detail)
                                | (long) CqeLayout.flags(detail) << 8
                                | (long) CqeLayout.sourceQp(detail) << 16)
                        + memory.get(slot + 8)
                        + memory.get(slot + 40)
                        + memory.get(slot + 48)
                        + memory.get(slot + 56);
                next++;
            }
            if (next != end) {
                throw incomplete((int) (next - first));
            }
            memory.putRelease(CONSUMER_SEQUENCE, next);
            sequence = next;
            this.sum = sum;
            return sum;
        }
    }
}
