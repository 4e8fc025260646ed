package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Every small queue there is: capacity 1 to 16, every start index of both parities, every batch size, backlog and poll limit,
 * through every way to write and every way to poll, against an {@link ArrayDeque}.
 */
class SweepTest {
    private static long cases;

    @AfterAll
    static void tell() {
        System.out.println("Sweep: " + cases + " cases");
    }

    @ParameterizedTest
    @CsvSource({
        "32, 1", "32, 2", "32, 4", "32, 8", "32, 16", "64, 1", "64, 2", "64, 4", "64, 8", "64, 16", "128, 1", "128, 2",
        "128, 4", "128, 8", "128, 16"
    })
    void everyStateAgreesWithAPlainQueue(int stride, int n) {
        QueueMemory memory = QueueMemory.allocate(384 + n * stride); // never cleaned between cases
        long before = cases;
        for (Writing writing : Writing.values()) {
            for (Polling polling : Polling.values()) {
                Machine machine = new Machine(stride, n, memory, writing, polling);
                for (int batch = 1; batch <= n; batch++) {
                    for (int backlog = 0; backlog <= n; backlog++) {
                        for (int limit = 0; limit <= n + 1; limit++) {
                            fromEveryStart(machine, batch, backlog, limit);
                        }
                    }
                }
            }
        }
        long expected = 2L * n * 4 * 5 * n * (n + 1) * (n + 2);
        assertEquals(expected, cases - before, "cases of this capacity");
    }

    /** One case per start index and parity. A case moves the ring on, so each start is taken when it comes up. */
    private static void fromEveryStart(Machine machine, int batch, int backlog, int limit) {
        boolean[] done = new boolean[2 * machine.capacity];
        for (int i = 0; i < done.length; i++) {
            while (done[machine.place()]) {
                machine.step();
            }
            int start = machine.place();
            done[start] = true;
            try {
                machine.run(batch, backlog, limit);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError(
                        machine + ", start " + start + ", batch " + batch + ", backlog " + backlog + ", limit " + limit,
                        e);
            }
            cases++;
        }
    }

    /** The ways to write a batch. */
    private enum Writing {
        WRITE(Way.WRITE),
        STAGE(Way.STAGE),
        CLAIM(Way.CLAIM),
        /** Each batch is first staged with other numbers and given back. */
        ABORT(Way.STAGE);

        final Way way;

        Writing(Way way) {
            this.way = way;
        }
    }

    /** A queue and its model. */
    private static final class Machine implements Polling.Taker {
        private final int stride;
        private final int capacity;
        private final QueueMemory memory;
        private final Writing writing;
        private final Polling polling;
        private final CompletionQueue queue;
        private final CompletionWriter writer;
        private final Deque<Long> model = new ArrayDeque<>();
        private long written;
        private long taken;

        Machine(int stride, int capacity, QueueMemory memory, Writing writing, Polling polling) {
            this.stride = stride;
            this.capacity = capacity;
            this.memory = memory;
            this.writing = writing;
            this.polling = polling;
            this.queue = CompletionQueue.ofCapacity(capacity)
                    .strideBytes(stride)
                    .memory(memory)
                    .create();
            this.writer = queue.writer();
        }

        void run(int batch, int backlog, int limit) {
            take(limit, 0);
            write(batch, backlog);
            take(limit, Math.min(limit, backlog));
            if (batch == capacity && limit == capacity) {
                drain();
                for (int twice = 0; twice < 2; twice++) { // exactly N, twice
                    write(capacity, capacity);
                    take(capacity, capacity);
                }
            } else {
                // Go on from where the limit left it: one more batch, as far as it fits, then all.
                write(batch, Math.min(batch, capacity - model.size()));
                drain();
            }
            take(limit, 0);
        }

        /** Index and parity of the next entry: 0 to 2N-1. */
        int place() {
            return (int) (written % (2L * capacity));
        }

        /** One entry on, to another place. */
        void step() {
            write(1, 1);
            take(1, 1);
        }

        @Override
        public String toString() {
            return "stride " + stride + ", capacity " + capacity + ", " + writing + ", " + polling;
        }

        /** Writes {@code count} entries in batches; when the ring is full, one more of each kind is refused. */
        private void write(int batch, int count) {
            int left = count;
            while (left > 0) {
                int now = Math.min(batch, left);
                if (writing == Writing.ABORT) {
                    for (int i = 0; i < now; i++) {
                        check(true, writer.stage(-1, -1, -1, -1, -1), "stage to give back");
                    }
                    check(now, writer.abort(), "abort");
                }
                for (int i = 0; i < now; i++) {
                    check(true, writing.way.put(writer, number(), stride), "put");
                    model.addLast(number());
                    written++;
                }
                if (writing != Writing.WRITE) {
                    check(model.size() - now, queue.size(), "size before flush");
                    check(now, writer.flush(), "flush");
                }
                left -= now;
                check(model.size(), queue.size(), "size");
                check(capacity - model.size(), queue.remaining(), "remaining");
                check(written, memory.getLong(Region.PRODUCER), "producer sequence");
            }
            if (model.size() == capacity) {
                check(false, writing.way.put(writer, -1, stride), "put into a full ring");
                check(0, writer.flush(), "flush after a refusal");
            }
        }

        /** Small, so that what an entry must hold can be looked up; still different for many laps. */
        private long number() {
            return written & (Numbered.TABLE - 1);
        }

        private void take(int limit, int expected) {
            check(expected, polling.take(queue, limit, this), "taken");
            check(taken, memory.getLong(Region.CONSUMER), "consumer sequence");
            check(model.size(), queue.size(), "size");
            check(model.isEmpty(), queue.isEmpty(), "isEmpty");
        }

        private void drain() {
            take(capacity + 1, model.size());
            check(0, model.size(), "left in the model");
        }

        @Override
        public void onView(Completion view) {
            Numbered.verifyBriefly(view, model.removeFirst(), writing.way, stride);
            taken++;
        }

        @Override
        public void onCopy(WorkCompletion copy) {
            Numbered.verify(copy, model.removeFirst(), writing.way, stride);
            taken++;
        }

        private static void check(Object expected, Object actual, String what) {
            if (!expected.equals(actual)) {
                throw new AssertionError(what + " must be " + expected + ", is " + actual);
            }
        }

        private static void check(long expected, long actual, String what) {
            if (expected != actual) {
                throw new AssertionError(what + " must be " + expected + ", is " + actual);
            }
        }
    }
}
