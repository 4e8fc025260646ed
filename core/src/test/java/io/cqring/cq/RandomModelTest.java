package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A million random calls, right and wrong ones, on queues of random kinds, against a model made of two deques and a few
 * counts. Prints the seed; {@code -Dcqring.test.seed=N} repeats the run.
 */
@Tag("bothroutes")
class RandomModelTest {
    private static final int OPERATIONS = 1_000_000;
    private static final int OPERATIONS_PER_QUEUE = 2_000;

    @FieldBug({16, 65})
    @Test
    void aMillionRandomCallsAgreeWithTheModel() {
        long seed = Long.getLong("cqring.test.seed", ThreadLocalRandom.current().nextLong());
        System.out.println("RandomModelTest: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        long refused = 0;
        long lost = 0;
        long rejected = 0;
        for (int done = 0; done < OPERATIONS; done += OPERATIONS_PER_QUEUE) {
            Run run = new Run(random.split());
            try {
                for (int i = 0; i < OPERATIONS_PER_QUEUE; i++) {
                    run.operation();
                }
                run.finish();
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + ", queue " + done / OPERATIONS_PER_QUEUE + ": " + run, e);
            }
            refused += run.refused;
            lost += run.lost;
            rejected += run.rejected;
        }
        // A run that never met these would prove little.
        assertMany("refused", refused);
        assertMany("lost", lost);
        assertMany("rejected doorbells", rejected);
    }

    private static void assertMany(String what, long count) {
        if (count < 1000) {
            throw new AssertionError("only " + count + " " + what);
        }
    }

    private record Entry(long number, Way way) {}

    private static final class Run implements Polling.Taker {
        private final SplittableRandom random;
        private final Shape shape;
        private final OverrunPolicy policy;
        private final QueueMemory memory;
        private final CompletionQueue queue;
        private final CompletionWriter writer;

        // The model.
        private final Deque<Entry> published = new ArrayDeque<>();
        private final Deque<Entry> inHand = new ArrayDeque<>();
        private long seenDoorbell;
        private long producer;
        private long consumer;
        private boolean dead;
        private long refused;
        private long lost;
        private long rejected;

        private long number;
        private String last = "";

        Run(SplittableRandom random) {
            this.random = random;
            int stride = Shape.STRIDES[random.nextInt(3)];
            int capacity = 1 << random.nextInt(7);
            long[] starts = Shape.starts(capacity).toArray();
            long start = random.nextInt(4) == 0 ? random.nextLong() : starts[random.nextInt(starts.length)];
            this.shape = new Shape(stride, capacity, start);
            this.policy = List.of(OverrunPolicy.values()).get(random.nextInt(3));
            this.memory = QueueMemory.allocate(shape.bytes());
            byte[] dirt = new byte[(int) shape.bytes()];
            random.nextBytes(dirt);
            memory.putBytes(0, dirt, 0, dirt.length);
            this.queue = shape.queue(policy, memory);
            this.writer = queue.writer();
            this.seenDoorbell = start;
            this.producer = start;
            this.consumer = start;
        }

        void operation() {
            int kind = random.nextInt(100);
            if (kind < 25) {
                put(Way.WRITE);
            } else if (kind < 30) {
                put(Way.WRITE_BARE);
            } else if (kind < 42) {
                put(Way.STAGE);
            } else if (kind < 52) {
                put(random.nextBoolean() ? Way.CLAIM : Way.CLAIM_BARE);
            } else if (kind < 58) {
                last = "flush";
                assertEquals(inHand.size(), writer.flush());
                publishInHand();
            } else if (kind < 60) {
                last = "abort";
                assertEquals(inHand.size(), writer.abort());
                inHand.clear();
            } else if (kind < 80) {
                take(Polling.at(random.nextInt(1 << 16)));
            } else if (kind < 85) {
                throwingHandler();
            } else if (kind < 88) {
                last = "wrong limit";
                assertThrows(IllegalArgumentException.class, () -> queue.poll(this::onView, -1 - random.nextInt(1000)));
            } else if (kind < 94) {
                scribbleOwnerBits();
            } else {
                wrongDoorbell();
            }
            check();
        }

        private void put(Way way) {
            last = way.name();
            if (way == Way.WRITE || way == Way.WRITE_BARE) {
                publishInHand();
            }
            boolean free = free();
            assertEquals(free, way.put(writer, number, shape.stride()));
            if (free) {
                inHand.addLast(new Entry(number, way));
                if (!way.needsFlush()) {
                    publishInHand();
                }
            } else {
                refused++;
            }
            number++;
        }

        /** What the device may know: room as of its last look, else a look at a doorbell that makes sense. */
        private boolean free() {
            long next = producer + inHand.size();
            if (!dead && next - seenDoorbell != shape.capacity()) {
                return true;
            }
            long doorbell = memory.getLong(Region.CONSUMER);
            if (doorbell - seenDoorbell < 0 || doorbell - producer > 0) {
                rejected++;
            } else if (doorbell != seenDoorbell && !dead) {
                seenDoorbell = doorbell;
                return true;
            }
            if (policy != OverrunPolicy.BACKPRESSURE) {
                lost++;
            }
            if (policy == OverrunPolicy.ERROR && !dead) {
                dead = true;
                publishInHand();
            }
            return false;
        }

        private void publishInHand() {
            producer += inHand.size();
            published.addAll(inHand);
            inHand.clear();
        }

        private void take(Polling polling) {
            int limit = random.nextInt(10) == 0 ? Integer.MAX_VALUE : random.nextInt(shape.capacity() + 2);
            last = polling + " limit " + limit;
            if (dead && published.isEmpty() && (limit != 0 || polling == Polling.ABANDONED_CURSOR)) {
                CqOverrunException e = assertThrows(CqOverrunException.class, () -> polling.take(queue, limit, this));
                assertEquals(lost, e.lostEntries());
                return;
            }
            int expected = Math.min(limit, published.size());
            if (polling == Polling.PEEK && dead && limit > expected) {
                // It looks once more after the last entry, and meets the exception.
                assertThrows(CqOverrunException.class, () -> polling.take(queue, limit, this));
                assertEquals(0, published.size());
            } else {
                assertEquals(expected, polling.take(queue, limit, this));
            }
        }

        private void throwingHandler() {
            last = "throwing handler";
            if (published.isEmpty()) {
                return;
            }
            int at = random.nextInt(published.size());
            int left = published.size() - at - 1;
            assertThrows(
                    ArithmeticException.class,
                    () -> queue.poll(
                            c -> {
                                onView(c);
                                if (published.size() == left) {
                                    throw new ArithmeticException();
                                }
                            },
                            Integer.MAX_VALUE));
            assertEquals(left, published.size());
        }

        /** Any owner bit in any slot that the device owns; the ring is then filled, so the host sees none of them. */
        private void scribbleOwnerBits() {
            last = "scribble";
            if (dead) {
                return;
            }
            if (memory.getLong(Region.CONSUMER) != consumer) {
                memory.putLong(Region.CONSUMER, consumer);
            }
            for (long s = producer; s != consumer + shape.capacity(); s++) {
                int slot = shape.slot(s);
                memory.putLong(slot, (memory.getLong(slot) & ~1L) | random.nextInt(2));
            }
            while (producer + inHand.size() != consumer + shape.capacity()) {
                put(random.nextBoolean() ? Way.STAGE : Way.CLAIM);
            }
            assertEquals(inHand.size(), writer.flush());
            publishInHand();
            last = "scribble, then filled";
        }

        /** A doorbell the host cannot have reached: past what is published, or back before what was seen. */
        private void wrongDoorbell() {
            last = "wrong doorbell";
            // Past what is published now and all that may be published while it stands, or back.
            long distance = random.nextBoolean() ? random.nextInt(2 * shape.capacity()) : random.nextLong(1L << 62);
            memory.putLong(
                    Region.CONSUMER,
                    random.nextBoolean()
                            ? producer + 2L * shape.capacity() + 2 + distance
                            : seenDoorbell - 1 - distance);
            int tries = random.nextInt(3) + shape.capacity() - (int) (producer + inHand.size() - seenDoorbell);
            for (int i = 0; i < tries; i++) {
                put(random.nextBoolean() ? Way.WRITE : Way.STAGE);
            }
            memory.putLong(Region.CONSUMER, consumer);
        }

        private void check() {
            assertEquals(published.size(), queue.size(), last);
            assertEquals(shape.capacity() - published.size(), queue.remaining());
            assertEquals(published.isEmpty(), queue.isEmpty());
            assertEquals(producer, memory.getLong(Region.PRODUCER));
            assertEquals(consumer, memory.getLong(Region.CONSUMER));
            assertEquals(lost, queue.lostEntries());
            assertEquals(rejected, writer.rejectedDoorbells());
            assertEquals(dead ? 1 : 0, memory.getLong(Region.DEAD));
        }

        void finish() {
            last = "finish";
            assertEquals(inHand.size(), writer.flush());
            publishInHand();
            if (!published.isEmpty()) {
                int expected = published.size();
                assertEquals(expected, queue.poll(this::onView, Integer.MAX_VALUE));
            }
            check();
        }

        @Override
        public void onView(Completion view) {
            Entry entry = published.removeFirst();
            Numbered.verify(view, entry.number, entry.way, shape.stride());
            consumer++;
        }

        @Override
        public void onCopy(WorkCompletion copy) {
            Entry entry = published.removeFirst();
            Numbered.verify(copy, entry.number, entry.way, shape.stride());
            consumer++;
        }

        @Override
        public String toString() {
            return shape + " " + policy + ", after " + last + ": producer " + producer + ", consumer " + consumer
                    + ", seen " + seenDoorbell + ", in hand " + inHand.size();
        }
    }
}
