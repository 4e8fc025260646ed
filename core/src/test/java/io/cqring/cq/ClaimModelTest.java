package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ClaimModel.Claim;
import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Writers whose calls are interleaved by hand, against a plain model: what is polled, what is counted, what is free. */
@Tag("bothroutes")
class ClaimModelTest {
    /** A queue and its model, step by step the same. */
    private static final class Pair {
        final Shape shape;
        final QueueMemory memory;
        final CompletionQueue queue;
        final ClaimModel model;
        final List<SharedWriter> writers = new ArrayList<>();
        final Claim[] open;

        /** Numbers that were written by write, not by claim. */
        final Set<Long> singles = new HashSet<>();

        long number;

        Pair(Shape shape, int writers) {
            this.shape = shape;
            this.memory = QueueMemory.allocate(384 + writers * 128 + shape.capacity() * shape.stride());
            memory.fill(0, memory.sizeBytes(), (byte) 0xE7);
            this.queue = shape.builder().writers(writers).memory(memory).create();
            this.model = new ClaimModel(shape.capacity());
            this.open = new Claim[writers];
            for (int i = 0; i < writers; i++) {
                this.writers.add(queue.newWriter());
            }
        }

        boolean claim(int writer, int count) {
            open[writer] = model.claim(count);
            assertEquals(open[writer] != null, writers.get(writer).claim(count), "claim of " + count);
            return open[writer] != null;
        }

        /** Publishes the first entries of an open claim, filled with the next numbers. */
        void end(int writer, int publish) {
            SharedWriter w = writers.get(writer);
            for (int i = 0; i < publish; i++) {
                NumberedShared.fill(w.entry(i), wayOf(number + i), number + i, shape.stride());
            }
            if (publish == 0) {
                assertEquals(open[writer].count(), w.abandon());
            } else {
                w.commit(publish);
            }
            model.end(open[writer], publish, number);
            number += publish;
            open[writer] = null;
        }

        void write(int writer) {
            Claim claim = model.claim(1);
            Way way = number % 2 == 0 ? Way.WRITE : Way.WRITE_BARE;
            assertEquals(claim != null, NumberedShared.put(writers.get(writer), way, number, shape.stride()));
            if (claim != null) {
                model.end(claim, 1, number++);
            }
        }

        void poll(Polling polling, int limit) {
            List<Long> expected = model.poll(limit);
            Expect taker = new Expect(expected, shape.stride(), singles);
            assertEquals(expected.size(), polling.take(queue, limit, taker));
            assertEquals(expected.size(), taker.seen);
            check();
        }

        void check() {
            assertEquals(model.size(), queue.size());
            assertEquals(model.size() == 0, queue.isEmpty());
            assertEquals(shape.start() + model.claimed(), memory.getLong(Region.PRODUCER));
        }
    }

    private static Way wayOf(long n) {
        return n % 2 == 0 ? Way.CLAIM : Way.CLAIM_BARE;
    }

    private static final class Expect implements Polling.Taker {
        private final List<Long> expected;
        private final int stride;
        private final Set<Long> singles;
        int seen;

        Expect(List<Long> expected, int stride, Set<Long> singles) {
            this.expected = expected;
            this.stride = stride;
            this.singles = singles;
        }

        private Way way(long n) {
            return singles.contains(n) ? n % 2 == 0 ? Way.WRITE : Way.WRITE_BARE : wayOf(n);
        }

        @Override
        public void onView(Completion view) {
            long n = expected.get(seen++);
            Numbered.verify(view, n, way(n), stride);
        }

        @Override
        public void onCopy(WorkCompletion copy) {
            long n = expected.get(seen++);
            Numbered.verify(copy, n, way(n), stride);
        }
    }

    /**
     * Up to four open claims of every size that fits, ended in every order, each with every number of entries published, with
     * and without a poll after each; then the ring is filled and emptied, so that a slot with a wrong owner bit shows.
     */
    @ParameterizedTest
    @CsvSource({
        "32, 1, 0",
        "64, 1, 1",
        "128, 2, 9223372036854775805",
        "64, 2, 1",
        "32, 4, 3",
        "64, 4, 0",
        "64, 4, 2",
        "128, 4, 4294967293"
    })
    void shouldSettleOpenClaimsInEveryOrder(int stride, int capacity, long start) {
        int[] cases = {0};
        for (int pollEach = 0; pollEach < 2; pollEach++) {
            int afterEach = pollEach;
            sizes(
                    capacity,
                    new ArrayList<>(),
                    sizes -> orders(sizes.size(), new ArrayList<>(), order -> {
                        int combinations = 1;
                        for (int size : sizes) {
                            combinations *= size + 1;
                        }
                        for (int publish = 0; publish < combinations; publish++) {
                            settle(
                                    new Shape(stride, capacity, start),
                                    sizes,
                                    order,
                                    publish,
                                    afterEach == 1,
                                    cases[0]++);
                        }
                    }));
        }
        assertTrue(cases[0] >= 4, () -> "cases: " + cases[0]);
    }

    private static void settle(
            Shape shape, List<Integer> sizes, List<Integer> order, int publish, boolean pollEach, int caseNumber) {
        Pair pair = new Pair(shape, 4);
        Polling polling = Polling.at(caseNumber);
        int[] counts = new int[sizes.size()];
        int rest = publish;
        for (int i = 0; i < counts.length; i++) {
            counts[i] = rest % (sizes.get(i) + 1);
            rest /= sizes.get(i) + 1;
            assertTrue(pair.claim(i, sizes.get(i)));
        }
        try {
            for (int writer : order) {
                pair.end(writer, counts[writer]);
                pair.check();
                if (pollEach) {
                    pair.poll(polling, shape.capacity());
                }
            }
            for (int round = 0; round < 2; round++) {
                pair.poll(polling, shape.capacity());
                assertEquals(0, pair.queue.size());
                assertEquals(shape.capacity(), pair.model.free());
                assertTrue(pair.claim(round, shape.capacity()), "all is free again");
                pair.end(round, shape.capacity());
            }
            assertEquals(false, pair.claim(2, 1));
            pair.poll(polling, shape.capacity());
        } catch (AssertionError e) {
            throw new AssertionError(
                    shape + " sizes " + sizes + " order " + order + " publish " + publish + " poll each " + pollEach
                            + " " + polling,
                    e);
        }
    }

    private static void sizes(int left, List<Integer> sizes, Consumer<List<Integer>> use) {
        if (!sizes.isEmpty()) {
            use.accept(sizes);
        }
        if (sizes.size() < 4) {
            for (int size = 1; size <= left; size++) {
                sizes.add(size);
                sizes(left - size, sizes, use);
                sizes.remove(sizes.size() - 1);
            }
        }
    }

    private static void orders(int count, List<Integer> order, Consumer<List<Integer>> use) {
        if (order.size() == count) {
            use.accept(order);
        }
        for (int next = 0; next < count; next++) {
            if (!order.contains(next)) {
                order.add(next);
                orders(count, order, use);
                order.remove(order.size() - 1);
            }
        }
    }

    /** Three writers and a poller in a random order, on every shape. The message of a failure holds the seed. */
    @FieldBug(5)
    @Shape.Every
    void shouldBehaveAsTheModelInARandomOrder(Shape shape) {
        long seed = new SplittableRandom().nextLong();
        try {
            randomly(shape, seed);
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError(shape + ", seed " + seed, e);
        }
    }

    private static void randomly(Shape shape, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Pair pair = new Pair(shape, 3);
        for (int step = 0; step < 1_000; step++) {
            int writer = random.nextInt(3);
            switch (random.nextInt(4)) {
                case 0 -> {
                    if (pair.open[writer] == null) {
                        pair.singles.add(pair.number);
                        pair.write(writer);
                        pair.singles.removeIf(n -> n >= pair.number); // refused
                    }
                }
                case 1 -> {
                    if (pair.open[writer] == null) {
                        pair.claim(writer, 1 + random.nextInt(shape.capacity()));
                    }
                }
                case 2 -> {
                    if (pair.open[writer] != null) {
                        pair.end(writer, random.nextInt(pair.open[writer].count() + 1));
                    }
                }
                default -> pair.poll(Polling.at(random.nextInt(5)), 1 + random.nextInt(shape.capacity() + 1));
            }
            pair.check();
        }
    }
}
