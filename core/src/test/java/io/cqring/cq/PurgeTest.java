package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Threads;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Entries of one queue pair taken out of a queue, against a plain list. */
@Tag("bothroutes")
class PurgeTest {
    private static final int DEAD_QP = 5;
    private static final int LIVING_QP = 6;

    /** Opcode RECV and the QP number, by hand. */
    private static long header(int qp) {
        return 6 << 1 | (long) qp << 32;
    }

    private static boolean write(CompletionQueue queue, int qp, long id) {
        return queue.writer().write(header(qp), id, 0, 0, 0);
    }

    /** What a purge shows, in the order in which it does. */
    private static List<Long> purge(CompletionQueue queue, int qp) {
        List<Long> gone = new ArrayList<>();
        int count = queue.purge(qp, completion -> {
            assertEquals(qp, completion.qpNumber());
            assertEquals(CqeOpcode.RECV, completion.opcode());
            gone.add(completion.workRequestId());
        });
        assertEquals(count, gone.size());
        return gone;
    }

    /** Polls all there is, checks the size on the way. */
    private static final class Taken implements Polling.Taker {
        final List<Long> ids = new ArrayList<>();

        @Override
        public void onView(Completion view) {
            ids.add(view.workRequestId());
        }

        @Override
        public void onCopy(WorkCompletion copy) {
            ids.add(copy.workRequestId());
        }
    }

    /**
     * Every set of entries of the dead queue pair among every backlog, up to a full ring, at every start index and parity, with every way
     * to poll: the others come out, in order; then nothing for two laps but what is written in them.
     */
    @FieldBug({74, 78})
    @ParameterizedTest
    @CsvSource({"32, 1", "64, 2", "128, 4", "64, 8"})
    void everySetOfEntries(int stride, int capacity) {
        QueueMemory memory = QueueMemory.allocate(384L + (long) capacity * stride);
        for (Polling polling : Polling.values()) {
            for (int start = 0; start < 2 * capacity; start++) {
                for (int backlog = 0; backlog <= capacity; backlog++) {
                    for (int set = 0; set < 1 << backlog; set++) {
                        for (int limit = 1; limit <= capacity; limit *= 2) {
                            String where = polling + ", start " + start + ", backlog " + backlog + ", set "
                                    + Integer.toBinaryString(set) + ", limit " + limit;
                            Shape shape = new Shape(stride, capacity, start);
                            try {
                                purgeOnce(shape, memory, polling, backlog, set, limit);
                            } catch (RuntimeException | AssertionError e) {
                                throw new AssertionError(where, e);
                            }
                        }
                    }
                }
            }
        }
    }

    private static void purgeOnce(Shape shape, QueueMemory memory, Polling polling, int backlog, int set, int limit) {
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        List<Long> expected = new ArrayList<>();
        List<Long> gone = new ArrayList<>();
        for (int i = 0; i < backlog; i++) {
            boolean dead = (set >>> i & 1) != 0;
            assertTrue(write(queue, dead ? DEAD_QP : LIVING_QP, i));
            (dead ? gone : expected).add((long) i);
        }
        assertEquals(gone, purge(queue, DEAD_QP));
        assertEquals(0, queue.purge(DEAD_QP), "once");
        assertEquals(expected.size(), queue.size());
        int head = Integer.numberOfTrailingZeros(~set); // purged entries in front go back at once
        assertEquals(shape.start() + head, memory.getLong(Region.CONSUMER));

        Taken taken = new Taken();
        while (taken.ids.size() < expected.size()) {
            int before = taken.ids.size();
            int most = Math.min(limit, expected.size() - before);
            assertEquals(most, polling.take(queue, limit, taken), "as many as asked for and there");
            assertEquals(expected.size() - taken.ids.size(), queue.size());
        }
        assertEquals(expected, taken.ids);
        assertEquals(0, polling.take(queue, 1, taken));
        assertEquals(shape.start() + backlog, memory.getLong(Region.CONSUMER), "every slot is the device's again");
        for (int lap = 1; lap <= 2; lap++) {
            for (int i = 0; i < shape.capacity(); i++) {
                assertTrue(write(queue, DEAD_QP, lap * 100L + i), "the number is in use again");
                expected.add(lap * 100L + i);
            }
            assertFalse(write(queue, DEAD_QP, -1), "full");
            assertEquals(shape.capacity(), queue.size());
            while (polling.take(queue, limit, taken) != 0) {
                assertEquals(expected.size() - taken.ids.size(), queue.size());
            }
        }
        assertEquals(expected, taken.ids);
    }

    /** The number counts, not the order of creation or anything else: pairs of queue pairs with swapped numbers. */
    @FieldBug(78)
    @Test
    void theNumberOfTheQueuePairDecides() {
        CompletionQueue queue = new Shape(64, 8, 0).queue();
        assertTrue(write(queue, 1, 2)); // QP 1, work request 2
        assertTrue(write(queue, 2, 1)); // QP 2, work request 1
        assertTrue(queue.writer()
                .write(6 << 1 | 1 << 8 | 2L << 32, 3, 0, 1 << 16, 1)); // QP 2; counter, source QP and time 1
        assertTrue(queue.writer().write(14 << 1 | 2L << 32 | 1L << 56, 4, 0, 0, 0)); // QP 2; an error, syndrome 1
        assertTrue(write(queue, 0xFF_FFFF, 5));
        assertTrue(write(queue, 0, 6));
        assertEquals(1, queue.purge(1));
        Taken taken = new Taken();
        assertEquals(1, queue.poll(taken::onView, 1));
        assertEquals(2, queue.purge(2), "an error entry too");
        assertEquals(1, queue.purge(0xFF_FFFF));
        assertEquals(1, queue.purge(0));
        assertEquals(0, queue.poll(taken::onView, 8));
        assertEquals(List.of(1L), taken.ids);
    }

    /** Purged is what has been published. A queue pair that is not dead brings new entries, and they come. */
    @FieldBug(75)
    @Test
    void lateEntriesOfALivingQueuePairCome() {
        CompletionQueue queue = new Shape(64, 8, 3).queue();
        CompletionWriter writer = queue.writer();
        assertTrue(write(queue, DEAD_QP, 1));
        assertTrue(writer.stage(header(DEAD_QP), 2, 0, 0, 0)); // on its way
        assertEquals(1, queue.purge(DEAD_QP));
        writer.flush();
        assertTrue(write(queue, DEAD_QP, 3));
        Taken taken = new Taken();
        assertEquals(2, queue.poll(taken::onView, 8));
        assertEquals(List.of(2L, 3L), taken.ids);
    }

    /** A purge while a resize is under way reaches into the new ring. */
    @Test
    void purgeReachesIntoTheNextRing() {
        for (Polling polling : Polling.values()) {
            for (int set = 0; set < 1 << 6; set++) {
                CompletionQueue queue = new Shape(64, 4, 7).queue();
                List<Long> expected = new ArrayList<>();
                List<Long> gone = new ArrayList<>();
                for (int i = 0; i < 6; i++) {
                    if (i == 2) {
                        queue.resize(8);
                    }
                    boolean dead = (set >>> i & 1) != 0;
                    assertTrue(write(queue, dead ? DEAD_QP : LIVING_QP, i));
                    (dead ? gone : expected).add((long) i);
                }
                assertEquals(gone, purge(queue, DEAD_QP));
                assertEquals(expected.size(), queue.size());
                Taken taken = new Taken();
                while (!queue.isEmpty()) {
                    assertTrue(polling.take(queue, 3, taken) != 0, "not empty: the next poll takes at least one");
                    assertEquals(expected.size() - taken.ids.size(), queue.size());
                }
                assertEquals(0, polling.take(queue, 3, taken));
                assertEquals(expected, taken.ids);
                assertEquals(ResizeStatus.DONE, queue.resizeStatus());
                for (int i = 0; i < 8; i++) {
                    assertTrue(write(queue, LIVING_QP, i));
                }
                assertFalse(write(queue, LIVING_QP, 9));
            }
        }
    }

    /** Nothing polled twice, nothing lost, whatever comes in which order: against a list, with resizes between. */
    @FieldBug(74)
    @Test
    void randomWritesPollsPurgesAndResizes() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        CompletionQueue queue = new Shape(64, 8, 0).queue();
        Deque<long[]> model = new ArrayDeque<>(); // {id, qp}
        Set<Long> seen = new HashSet<>();
        long id = 0;
        long purged = 0;
        try {
            for (int step = 0; step < 300_000; step++) {
                switch (random.nextInt(8)) {
                    case 0, 1, 2 -> {
                        for (int n = random.nextInt(9); n > 0; n--) {
                            int qp = random.nextInt(4);
                            if (write(queue, qp, id)) {
                                model.addLast(new long[] {id++, qp});
                            }
                        }
                    }
                    case 3, 4, 5 -> {
                        Taken taken = new Taken();
                        Polling.at(random.nextInt(5)).take(queue, random.nextInt(9), taken);
                        for (long got : taken.ids) {
                            assertEquals(model.pollFirst()[0], got);
                            assertTrue(seen.add(got), "twice");
                        }
                    }
                    case 6 -> {
                        int qp = random.nextInt(4);
                        long before = model.size();
                        model.removeIf(entry -> entry[1] == qp);
                        assertEquals(before - model.size(), queue.purge(qp));
                        purged += before - model.size();
                    }
                    default -> {
                        ResizeStatus status = queue.resizeStatus();
                        if (status == ResizeStatus.PENDING && random.nextInt(4) == 0) {
                            assertTrue(queue.cancelResize());
                        } else if (status != ResizeStatus.PENDING && status != ResizeStatus.ACCEPTED) {
                            queue.resize(1 << random.nextInt(6));
                        }
                    }
                }
                assertEquals(model.size(), queue.size());
            }
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed, e);
        }
        System.out.println("Purge: " + id + " entries written, " + purged + " purged, seed " + seed);
    }

    /** The writer goes on at full rate: what is purged and what is polled is all that was written, in order. */
    @Test
    void purgeBesideAWriter() {
        CompletionQueue queue = new Shape(64, 64, 0).queue();
        int total = 500_000;
        AtomicLong done = new AtomicLong();
        AtomicInteger purges = new AtomicInteger();
        Threads.run(
                spin -> {
                    for (int n = 0; n < total; ) {
                        if (write(queue, n & 3, n)) {
                            n++;
                        } else {
                            spin.once();
                        }
                    }
                },
                spin -> {
                    long[] last = {-1};
                    long gone = 0;
                    long polled = 0;
                    for (int turn = 0; polled + gone != total; turn++) {
                        int count = queue.poll(
                                c -> {
                                    assertTrue(c.workRequestId() > last[0], "in order, once");
                                    assertEquals(c.workRequestId() & 3, c.qpNumber());
                                    last[0] = c.workRequestId();
                                },
                                1 + turn % 64);
                        polled += count;
                        int out = queue.purge(turn & 3);
                        gone += out;
                        purges.addAndGet(out == 0 ? 0 : 1);
                        if (count + out == 0) {
                            spin.once();
                        }
                    }
                    done.set(polled + gone);
                    assertEquals(0, queue.poll(c -> {}, 1));
                });
        assertEquals(total, done.get());
        System.out.println("Purge beside a writer: " + purges + " purges that found something");
    }

    /** A handler that throws has seen the last completion that was taken out; the next purge goes on behind it. */
    @Test
    void aHandlerThatThrowsStopsThePurge() {
        CompletionQueue queue = new Shape(64, 8, 6).queue();
        for (int i = 0; i < 6; i++) {
            assertTrue(write(queue, i % 2 == 0 ? DEAD_QP : LIVING_QP, i));
        }
        IllegalStateException thrown = new IllegalStateException("handler");
        assertSame(
                thrown,
                assertThrows(
                        IllegalStateException.class,
                        () -> queue.purge(DEAD_QP, completion -> {
                            if (completion.workRequestId() == 2) {
                                throw thrown;
                            }
                        })));
        assertEquals(4, queue.size());
        assertEquals(List.of(4L), purge(queue, DEAD_QP));
        assertEquals(3, queue.size());
        Taken taken = new Taken();
        assertEquals(3, queue.poll(taken::onView, 8));
        assertEquals(List.of(1L, 3L, 5L), taken.ids);
        assertTrue(write(queue, DEAD_QP, 6));
        assertEquals(
                1,
                queue.purge(
                        DEAD_QP, gone -> assertThrows(IllegalStateException.class, () -> queue.poll(again -> {}, 1))));
    }

    @Test
    void shouldRefuseWhatBreaksARule() {
        CompletionQueue queue = new Shape(64, 4, 0).queue();
        assertTrue(write(queue, 1, 1));
        for (int bad : new int[] {-1, 1 << 24, Integer.MIN_VALUE}) {
            assertEquals(
                    "QP number must be 0 to 16777215: " + bad,
                    assertThrows(IllegalArgumentException.class, () -> queue.purge(bad))
                            .getMessage());
        }
        assertEquals(1, queue.poll(c -> assertThrows(IllegalStateException.class, () -> queue.purge(1)), 1));
        CompletionQueue gaps = new Shape(64, 4, 0).queue();
        gaps.expectGaps();
        assertEquals(
                "a queue can be purged only if it has one writer and one poller, does not merge and is not in a file",
                assertThrows(IllegalStateException.class, () -> gaps.purge(1)).getMessage());
        queue.close();
        assertThrows(IllegalStateException.class, () -> queue.purge(1));
    }

    /** What is unpolled can be read off memory as before: only the opcode has changed. */
    @Test
    void theEntryStaysReadableInADump() {
        QueueMemory memory = QueueMemory.allocate(384 + 2 * 64);
        CompletionQueue queue = new Shape(64, 2, 0).queue(OverrunPolicy.BACKPRESSURE, memory);
        assertTrue(queue.writer().write(header(LIVING_QP), 1, 0, 0, 0));
        assertTrue(queue.writer().write(header(DEAD_QP) | 0x1234L << 8 | 9L << 56, 2, 0, 0, 0));
        assertEquals(1, queue.purge(DEAD_QP));
        assertEquals(15 << 1 | 1 | 0x1234L << 8 | (long) DEAD_QP << 32 | 9L << 56, memory.getLong(384 + 64));
        assertEquals(
                List.of(2L), List.of(memory.getLong(384 + 64 + 16)).stream().collect(Collectors.toList()));
    }
}
