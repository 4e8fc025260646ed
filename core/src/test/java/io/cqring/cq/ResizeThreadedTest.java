package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Threads;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.EnumMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A writer thread at full rate, and a poller that resizes all the time, to and fro between 1 and 256 slots: every entry comes
 * once, in order, whole. Memory that the queue has left is overwritten at once.
 */
@Tag("bothroutes")
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class ResizeThreadedTest {
    private static final int AT_LEAST = 1_000;
    private static final long ENOUGH_NS = 60_000_000_000L;
    private static final int LARGEST = 256;

    /** So that every third call or so finds entries in hand, when the command cannot be answered. */
    private static Way wayOf(long n) {
        return Way.at((int) (n % 5));
    }

    /** The poller's side. */
    private static final class Resizer implements Polling.Taker {
        private final int stride;
        private final SplittableRandom random;
        private final QueueMemory region;
        private final CompletionQueue queue;
        private final Deque<QueueMemory> free = new ArrayDeque<>();
        private final Map<ResizeStatus, Integer> outcomes = new EnumMap<>(ResizeStatus.class);
        private final int[] backlogs = new int[10];
        private QueueMemory current; // null: the ring the queue was made with
        private QueueMemory next;
        private int capacity = 8;
        private int nextCapacity;
        long taken;

        Resizer(int stride, long start, SplittableRandom random) {
            this.stride = stride;

            this.random = random;
            this.region = QueueMemory.allocate(384 + capacity * (long) stride);
            this.queue = new Shape(stride, capacity, start).queue(OverrunPolicy.BACKPRESSURE, region);
            for (int i = 0; i < 2; i++) {
                giveBack(QueueMemory.allocate(LARGEST * (long) stride));
            }
        }

        int finished() {
            return outcomes.values().stream().mapToInt(Integer::intValue).sum();
        }

        private void giveBack(QueueMemory memory) {
            if (memory != null) {
                memory.fill(0, memory.sizeBytes(), (byte) random.nextInt(256));
                free.addLast(memory);
            }
        }

        /** Lets entries pile up, so that the next command meets a backlog. The writer goes on, so they come. */
        void pileUp(Threads.Spin spin) {
            int backlog = random.nextInt(2) == 0 ? 0 : random.nextInt(capacity + 1);
            while (next == null && queue.size() < backlog) {
                spin.once();
            }
        }

        /** Starts a resize if none is under way, cancels it now and then, and keeps the books of its memory. */
        void turn() {
            if (next == null) {
                if (random.nextInt(4) != 0) {
                    nextCapacity = 1 << random.nextInt(9);
                    next = free.pollFirst();
                    backlogs[32 - Integer.numberOfLeadingZeros(queue.size())]++;
                    queue.resize(nextCapacity, next);
                }
                return;
            }
            ResizeStatus status = queue.resizeStatus();
            if (status == ResizeStatus.PENDING && random.nextInt(4096) == 0 && queue.cancelResize()) {
                status = ResizeStatus.CANCELLED;
            }
            switch (status) {
                case PENDING, ACCEPTED -> {}
                case DONE -> {
                    giveBack(current);
                    current = next;
                    capacity = nextCapacity;
                    settled(status);
                }
                case CANCELLED, REFUSED_BACKLOG -> {
                    giveBack(next);
                    settled(status);
                }
                default -> throw new AssertionError(status);
            }
        }

        private void settled(ResizeStatus status) {
            next = null;
            outcomes.merge(status, 1, Integer::sum);
            assertEquals(capacity, queue.capacity());
        }

        @Override
        public void onView(Completion view) {
            Numbered.verifyBriefly(view, taken, wayOf(taken), stride);
            taken++;
        }

        @Override
        public void onCopy(WorkCompletion copy) {
            Numbered.verify(copy, taken, wayOf(taken), stride);
            taken++;
        }
    }

    @FieldBug({1, 20, 70, 71})
    @ParameterizedTest
    @CsvSource({"32, 0, 10000", "64, 4294967293, 100000", "128, 9223372036854775805, 10000"})
    void resizesUnderLoad(int stride, long start, int target) {
        long seed = System.nanoTime();
        Resizer resizer = new Resizer(stride, start, new SplittableRandom(seed));
        CompletionQueue queue = resizer.queue;
        AtomicBoolean enough = new AtomicBoolean();
        AtomicLong written = new AtomicLong(-1);
        long startNs = System.nanoTime();
        try {
            Threads.run(
                    spin -> {
                        CompletionWriter writer = queue.writer();
                        long n = 0;
                        while (!enough.get()) {
                            if (wayOf(n).put(writer, n, stride)) {
                                n++;
                            } else {
                                writer.flush();
                                spin.once();
                            }
                        }
                        writer.flush();
                        written.set(n);
                    },
                    spin -> {
                        while (!enough.get()) {
                            resizer.pileUp(spin);
                            resizer.turn();
                            Polling polling = Polling.at(resizer.random.nextInt(5));
                            int limit = 1 + resizer.random.nextInt(2 * LARGEST);
                            if (resizer.random.nextInt(8) != 0 && polling.take(queue, limit, resizer) == 0) {
                                spin.once();
                            }
                            long consumed = resizer.region.getLong(Region.CONSUMER);
                            assertEquals(start + resizer.taken, consumed, "the doorbell is what was consumed");
                            boolean late = System.nanoTime() - startNs > ENOUGH_NS;
                            enough.set(resizer.finished() >= (late ? AT_LEAST : target));
                        }
                        while (resizer.taken != written.get()) {
                            if (queue.poll(resizer::onView, LARGEST) == 0) {
                                spin.once();
                            }
                        }
                        assertEquals(0, queue.poll(resizer::onView, LARGEST));
                    });
        } catch (AssertionError e) {
            throw new AssertionError("seed " + seed + ", after " + resizer.finished() + " resizes", e);
        }
        assertTrue(resizer.finished() >= AT_LEAST);
        assertEquals(0, queue.lostEntries());
        assertEquals(0, queue.writer().rejectedDoorbells());
        System.out.println("Resizes, stride " + stride + ": " + resizer.outcomes + ", " + resizer.taken
                + " entries, backlog when asked (0, 1, 2-3, 4-7, ...) " + Arrays.toString(resizer.backlogs) + ", seed "
                + seed);
    }
}
