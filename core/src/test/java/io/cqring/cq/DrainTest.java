package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.SteppedMemory;
import io.cqring.testing.Threads;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The end of a queue that loses nothing, and its new beginning. */
@Tag("bothroutes")
class DrainTest {
    private static final String DRAINED = "completion queue is being drained: it takes no more entries";

    private static void assertMessage(String message, Executable call) {
        assertEquals(message, assertThrows(IllegalStateException.class, call).getMessage());
    }

    /** The writer is this thread, or nobody: nothing to wait for. */
    @Shape.Every
    void shouldDrainAllThatWasPublishedAndClose(Shape shape) {
        int n = shape.capacity();
        for (int backlog = 0; backlog <= n; backlog++) {
            CompletionQueue queue = shape.queue();
            PollContractTest.write(queue, Way.WRITE, 0, backlog);
            Polling.InOrder taker = new Polling.InOrder(shape.stride(), Way.WRITE, 0);
            assertEquals(new DrainResult(backlog, 0, 0, true), queue.drainAndClose(taker::onView, 0, TimeUnit.SECONDS));
            assertEquals(backlog, taker.next());
            assertMessage("completion queue is closed", () -> queue.writer().write(0, 0, 0, 0, 0));
            assertMessage("completion queue is closed", () -> queue.poll(c -> {}, 1));
            assertMessage("completion queue is closed", () -> queue.drainAndClose(c -> {}, 0, TimeUnit.SECONDS));
        }
    }

    @ParameterizedTest
    @EnumSource(OverrunPolicy.class)
    void shouldTellWhatWasLost(OverrunPolicy policy) {
        CompletionQueue queue = new Shape(64, 2, 0).queue(policy);
        PollContractTest.write(queue, Way.WRITE, 0, 2);
        assertFalse(queue.writer().write(0, 2, 0, 0, 0));
        long lost = policy == OverrunPolicy.BACKPRESSURE ? 0 : 1;
        assertEquals(new DrainResult(2, 0, lost, true), queue.drainAndClose(c -> {}, 0, TimeUnit.SECONDS));
    }

    /** In hand is not published: given back. */
    @Test
    void shouldGiveBackWhatTheWriterHasInHand() {
        CompletionQueue queue = new Shape(64, 4, 0).queue();
        PollContractTest.write(queue, Way.WRITE, 0, 1);
        assertTrue(Way.STAGE.put(queue.writer(), 1, 64));
        assertEquals(new DrainResult(1, 0, 0, true), queue.drainAndClose(c -> {}, 0, TimeUnit.SECONDS));
    }

    /** A writer at full rate is told, and every entry that it got in is drained. */
    @Test
    void shouldStopAWriterAtFullRateAndLoseNothing() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        long moved = 0;
        for (int round = 0; round < 2_000; round++) {
            int capacity = 1 << random.nextInt(6);
            int before = random.nextInt(3 * capacity);
            boolean resize = random.nextBoolean();
            CompletionQueue queue = new Shape(64, capacity, 0).queue();
            AtomicLong written = new AtomicLong(-1);
            Polling.InOrder taker = new Polling.InOrder(64, Way.WRITE, 0);
            DrainResult[] result = {null};
            long[] polled = {0};
            Threads.run(
                    spin -> {
                        long n = 0;
                        try {
                            while (true) {
                                if (Way.WRITE.put(queue.writer(), n, 64)) {
                                    n++;
                                } else {
                                    spin.once();
                                }
                            }
                        } catch (IllegalStateException e) {
                            boolean closed = "completion queue is closed".equals(e.getMessage());
                            assertTrue(closed || DRAINED.equals(e.getMessage()), e::getMessage);
                            written.set(n);
                        }
                    },
                    spin -> {
                        while (polled[0] < before) {
                            polled[0] += queue.poll(taker::onView, capacity);
                        }
                        if (resize) {
                            queue.resize(2 * capacity);
                        }
                        result[0] = queue.drainAndClose(taker::onView, 100, TimeUnit.SECONDS);
                    });
            assertEquals(written.get(), taker.next(), () -> "seed " + seed);
            assertEquals(new DrainResult(written.get() - polled[0], 0, 0, true), result[0], () -> "seed " + seed);
            moved += written.get();
        }
        System.out.println("Drain: 2000 rounds, " + moved + " entries, seed " + seed);
    }

    /** The wait for a writer that keeps its role is one, also on a thread that is interrupted: a look each 20 us at most. */
    @Test
    void shouldWaitAndNotSpinOnAnInterruptedThread() {
        long[] looks = {0};
        SteppedMemory memory = new SteppedMemory(new Shape(64, 4, 0).bytes());
        CompletionQueue queue = new Shape(64, 4, 0).queue(OverrunPolicy.BACKPRESSURE, memory);
        AtomicBoolean over = new AtomicBoolean();
        AtomicBoolean writes = new AtomicBoolean();
        Threads.run(
                spin -> {
                    PollContractTest.write(queue, Way.WRITE, 0, 2);
                    writes.set(true);
                    while (!over.get()) {
                        spin.once();
                    }
                },
                spin -> {
                    while (!writes.get()) {
                        spin.once();
                    }
                    memory.hook((done, offset, stores) -> looks[0] += !done && offset == Region.CLOSED ? 1 : 0);
                    Thread.currentThread().interrupt();
                    try {
                        DrainResult result = queue.drainAndClose(c -> {}, 200, TimeUnit.MILLISECONDS);
                        assertEquals(new DrainResult(2, 0, 0, false), result);
                        assertTrue(Thread.currentThread().isInterrupted());
                    } finally {
                        memory.unhook();
                        over.set(true);
                    }
                });
        // 200 ms at 20 us; each turn looks at the word three times at most.
        assertTrue(looks[0] <= 3 * 10_000 + 100, "looks at the control word: " + looks[0]);
    }

    /** While the drain looks after a writer's role that is free it has that role itself; a first write must not take it for a writer. */
    @Test
    void shouldTellAFirstWriteThatFallsIntoADrainOfTheDrain() {
        CompletionQueue queue = new Shape(64, 2, 0).queue();
        assertTrue(queue.memory.compareAndSetLong(CqRegion.CLOSED, 0, Control.STOPPING));
        assertTrue(queue.writer().takeRoleIfFree());
        Threads.run(spin -> assertMessage(DRAINED, () -> queue.writer().write(0, 0, 0, 0, 0)));
        queue.close();
        Threads.run(spin ->
                assertMessage("completion queue is closed", () -> queue.writer().write(0, 0, 0, 0, 0)));
    }

    /** A writer that is alive and idle and keeps its role: time runs out, which is a result; what was published was drained. */
    @Test
    void shouldReportThatTheWriterWasNotHeardOf() {
        CompletionQueue queue = new Shape(64, 4, 0).queue();
        AtomicBoolean wrote = new AtomicBoolean();
        AtomicBoolean drained = new AtomicBoolean();
        Threads.run(
                spin -> {
                    PollContractTest.write(queue, Way.WRITE, 0, 3);
                    wrote.set(true);
                    while (!drained.get()) {
                        spin.once();
                    }
                    assertMessage(
                            "completion queue is closed", () -> queue.writer().write(0, 0, 0, 0, 0));
                },
                spin -> {
                    while (!wrote.get()) {
                        spin.once();
                    }
                    assertEquals(
                            new DrainResult(3, 0, 0, false), queue.drainAndClose(c -> {}, 1, TimeUnit.MILLISECONDS));
                    drained.set(true);
                });
    }

    /** A writer whose thread has ended, with entries in hand: nobody to wait for. */
    @Test
    void shouldNotWaitForAWriterThatIsGone() throws InterruptedException {
        CompletionQueue queue = new Shape(64, 4, 0).queue();
        Thread writer = new Thread(() -> {
            PollContractTest.write(queue, Way.WRITE, 0, 2);
            Way.STAGE.put(queue.writer(), 2, 64);
        });
        writer.start();
        writer.join();
        assertEquals(new DrainResult(2, 0, 0, true), queue.drainAndClose(c -> {}, 0, TimeUnit.SECONDS));
    }

    /** What is there is taken in one go, also from a ring of one slot and the larger one behind it. */
    @Test
    void shouldTakeWhatIsThereOfBothRings() {
        CompletionQueue queue = new Shape(64, 1, 0).queue();
        queue.resize(8);
        PollContractTest.write(queue, Way.WRITE, 0, 6);
        assertEquals(new DrainResult(6, 0, 0, true), queue.drainAndClose(c -> {}, 0, TimeUnit.SECONDS));
    }

    /** Purged entries are nobody's: neither drained nor left. */
    @Test
    void shouldNotCountWhatWasPurged() {
        CompletionQueue queue = new Shape(64, 4, 0).queue();
        for (int i = 0; i < 4; i++) {
            assertTrue(queue.writer().write(6 << 1 | (long) (i & 1) << 32, i, 0, 0, 0));
        }
        assertEquals(2, queue.purge(1));
        assertEquals(new DrainResult(2, 0, 0, true), queue.drainAndClose(c -> {}, 0, TimeUnit.SECONDS));
    }

    @Test
    void shouldStayOpenWhenTheHandlerThrows() {
        CompletionQueue queue = new Shape(64, 4, 0).queue();
        PollContractTest.write(queue, Way.WRITE, 0, 3);
        IllegalStateException mine = new IllegalStateException("mine");
        assertEquals(
                mine,
                assertThrows(
                        IllegalStateException.class,
                        () -> queue.drainAndClose(
                                c -> {
                                    throw mine;
                                },
                                1,
                                TimeUnit.SECONDS)));
        assertMessage(DRAINED, () -> queue.writer().write(0, 0, 0, 0, 0));
        assertMessage(DRAINED, () -> queue.writer().claim());
        assertMessage("completion queue is closed or being drained", () -> queue.resize(8));
        assertEquals(1, queue.poll(c -> assertEquals(1, c.workRequestId()), 1));
        assertEquals(new DrainResult(1, 0, 0, true), queue.drainAndClose(c -> {}, 1, TimeUnit.SECONDS));
    }

    @Test
    void shouldCancelAResizeThatWasNotAnsweredAndFollowOneThatWas() {
        CompletionQueue pending = new Shape(64, 2, 0).queue();
        PollContractTest.write(pending, Way.WRITE, 0, 1);
        pending.resize(8);
        assertEquals(new DrainResult(1, 0, 0, true), pending.drainAndClose(c -> {}, 0, TimeUnit.SECONDS));
        CompletionQueue refused = new Shape(64, 2, 0).queue();
        PollContractTest.write(refused, Way.WRITE, 0, 2);
        refused.resize(1);
        refused.writer().flush();
        assertEquals(new DrainResult(2, 0, 0, true), refused.drainAndClose(c -> {}, 0, TimeUnit.SECONDS));
    }

    @Test
    void shouldRefuseWhatBreaksARule() {
        CompletionQueue queue = new Shape(64, 4, 0).queue();
        assertThrows(NullPointerException.class, () -> queue.drainAndClose(null, 1, TimeUnit.SECONDS));
        assertThrows(NullPointerException.class, () -> queue.drainAndClose(c -> {}, 1, null));
        assertEquals(
                "timeout must be 0 or more: -1",
                assertThrows(IllegalArgumentException.class, () -> queue.drainAndClose(c -> {}, -1, TimeUnit.SECONDS))
                        .getMessage());
        PollContractTest.write(queue, Way.WRITE, 0, 1); // nothing has stopped the writer
        assertEquals(
                1,
                queue.poll(
                        c -> {
                            assertThrows(
                                    IllegalStateException.class,
                                    () -> queue.drainAndClose(d -> {}, 1, TimeUnit.SECONDS));
                            assertThrows(IllegalStateException.class, queue::reset);
                        },
                        1));
    }

    /** As new, from any state: empty, counters 0, first sequence, either parity, whatever was unpolled, dead or alive. */
    @FieldBug(4)
    @Shape.EveryWithPolicy
    void shouldBeAsNewAfterReset(Shape shape, OverrunPolicy policy) {
        int n = shape.capacity();
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(policy, memory);
        SplittableRandom random = new SplittableRandom(n);
        long id = 0;
        for (int round = 0; round < 20; round++) {
            int taken = random.nextInt(2 * n + 1);
            for (int i = 0; i < taken; i++) {
                PollContractTest.write(queue, Way.WRITE, id, id + 1);
                assertEquals(1, queue.poll(c -> {}, 1));
                id++;
            }
            int backlog = random.nextInt(n + 1);
            PollContractTest.write(queue, Way.WRITE, id, id + backlog);
            if (backlog == n) {
                assertFalse(Way.WRITE.publish(queue.writer(), -1, shape.stride())); // may kill the queue
            } else {
                assertTrue(Way.STAGE.put(queue.writer(), -1, shape.stride())); // in hand
            }
            assertEquals(backlog, queue.reset());
            id += backlog;
            assertEquals(shape.start(), memory.getLong(Region.CONSUMER));
            assertEquals(shape.start(), memory.getLong(Region.PRODUCER));
            for (int word : new int[] {Region.LOST, Region.REJECTED, Region.DEAD, Region.CLOSED}) {
                assertEquals(0, memory.getLong(word), "word at " + word);
            }
            assertEquals(0, queue.size());
            assertNull(queue.peek());
        }
        Polling.InOrder taker = new Polling.InOrder(shape.stride(), Way.WRITE, id);
        for (int lap = 0; lap < 3; lap++) {
            PollContractTest.write(queue, Way.WRITE, id, id + n);
            assertEquals(n, queue.poll(taker::onView, n));
            assertEquals(0, queue.poll(taker::onView, n));
            id += n;
        }
    }

    @Test
    void resetIsRefusedWhileAnotherThreadHasTheWriter() {
        CompletionQueue queue = new Shape(64, 4, 0).queue();
        AtomicBoolean wrote = new AtomicBoolean();
        AtomicBoolean refused = new AtomicBoolean();
        AtomicBoolean released = new AtomicBoolean();
        Threads.run(
                spin -> {
                    PollContractTest.write(queue, Way.WRITE, 0, 3);
                    wrote.set(true);
                    while (!refused.get()) {
                        spin.once();
                    }
                    queue.writer().release();
                    released.set(true);
                },
                spin -> {
                    while (!wrote.get()) {
                        spin.once();
                    }
                    assertMessage(
                            "completion queue can be reset only at a standstill: its writer must release the role or end",
                            queue::reset);
                    assertEquals(3, queue.size(), "nothing changed");
                    refused.set(true);
                    while (!released.get()) {
                        spin.once();
                    }
                    assertEquals(3, queue.reset());
                });
        PollContractTest.write(queue, Way.WRITE, 7, 8); // from this thread: the role is free
        queue.writer().release();
    }

    /** Reset finishes or cancels a resize, and ends a drain. */
    @Test
    void resetStaysInTheRingThatTheWriterIsIn() {
        for (int state = 0; state < 3; state++) {
            CompletionQueue queue = new Shape(64, 2, 1).queue();
            PollContractTest.write(queue, Way.WRITE, 0, 1);
            queue.resize(8);
            if (state > 0) {
                PollContractTest.write(queue, Way.WRITE, 1, 4); // accepted
            }
            if (state > 1) {
                assertEquals(2, queue.poll(c -> {}, 2)); // and followed
            }
            assertEquals(state == 0 ? 1 : state == 1 ? 4 : 2, queue.reset());
            assertEquals(ResizeStatus.NONE, queue.resizeStatus());
            int n = state == 0 ? 2 : 8;
            assertEquals(n, queue.capacity());
            Polling.InOrder taker = new Polling.InOrder(64, Way.WRITE, 0);
            for (int lap = 0; lap < 3; lap++) {
                PollContractTest.write(queue, Way.WRITE, (long) lap * n, (lap + 1L) * n);
                assertFalse(Way.WRITE.publish(queue.writer(), -1, 64));
                assertEquals(n, queue.poll(taker::onView, n));
            }
            queue.resize(4);
            assertTrue(queue.writer().write(0, 0, 0, 0, 0));
            assertEquals(1, queue.poll(c -> {}, n));
            assertEquals(4, queue.capacity());
        }
        CompletionQueue drained = new Shape(64, 2, 0).queue();
        PollContractTest.write(drained, Way.WRITE, 0, 2);
        assertThrows(
                ArithmeticException.class,
                () -> drained.drainAndClose(
                        c -> {
                            throw new ArithmeticException();
                        },
                        0,
                        TimeUnit.SECONDS));
        assertEquals(1, drained.reset());
        PollContractTest.write(drained, Way.WRITE, 0, 2);
    }

    @Test
    void resetForgetsWhatWasPurged() {
        CompletionQueue queue = new Shape(64, 4, 0).queue();
        for (int i = 0; i < 4; i++) {
            assertTrue(queue.writer().write(6 << 1 | (long) (i & 1) << 32, i, 0, 0, 0));
        }
        assertEquals(2, queue.purge(1));
        assertEquals(2, queue.reset());
        PollContractTest.write(queue, Way.WRITE, 0, 4);
        assertEquals(4, queue.size());
        assertEquals(4, queue.poll(new Polling.InOrder(64, Way.WRITE, 0)::onView, 4));
    }
}
