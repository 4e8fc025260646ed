package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What a poller of many promises, for every stride, capacity and start sequence. One thread; it plays all parts. */
@Tag("bothroutes")
class SharedPollerTest {
    private static final int[] BATCHES = {1, 3, 16};
    private static final String SHARED = "completion queue has shared pollers: each thread polls through a"
            + " CompletionPoller of its own, from newPoller()";
    private static final String IN_USE =
            "completion poller is in use: a handler must not use the poller that called it";
    private static final String NO_CURSOR = "no cursor is open: startPoll() must have returned true";

    private static CompletionQueue queue(Shape shape, QueueMemory memory) {
        return shape.builder().memory(memory).sharedPollers().create();
    }

    private static CompletionQueue queue(Shape shape, OverrunPolicy policy) {
        return shape.builder().overrunPolicy(policy).sharedPollers().create();
    }

    private static void assertRefused(String message, Executable... calls) {
        for (Executable call : calls) {
            assertEquals(
                    message, assertThrows(IllegalStateException.class, call).getMessage());
        }
    }

    private static Executable[] calls(CompletionPoller poller) {
        return new Executable[] {
            () -> poller.poll(c -> {}, 1),
            () -> poller.poll(c -> {}, 0),
            () -> poller.poll(c -> {}, -1),
            () -> poller.pollInto(Polling.completions(64), 1),
            poller::startPoll,
            poller::next,
            poller::endPoll
        };
    }

    /** Thrown by handlers of these tests. */
    private static final class Thrown extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    @Shape.Every
    void shouldFindNothingInAFreshQueue(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = queue(shape, memory);
        CompletionPoller poller = queue.newPoller();
        assertEquals(0, poller.poll(c -> assertFalse(true, "phantom entry"), Integer.MAX_VALUE));
        assertEquals(0, poller.pollInto(Polling.completions(shape.capacity()), Integer.MAX_VALUE));
        assertFalse(poller.startPoll());
        PollContractTest.assertDetached(poller.completion());
        assertEquals(0, poller.undelivered());
        assertEquals(shape.start(), memory.getLong(Region.CONSUMER));
        assertTrue(queue.isEmpty());
    }

    /** Lap after lap, every way to write and to poll, every batch: each entry once, in order, every word its own. */
    @Shape.Every
    void shouldDeliverEveryEntryOnceAndInOrder(Shape shape) {
        int n = shape.capacity();
        for (int batch : BATCHES) {
            QueueMemory memory = QueueMemory.allocate(shape.bytes());
            CompletionQueue queue = queue(shape, memory);
            CompletionPoller poller = queue.newPoller(batch);
            long written = 0;
            int round = 0;
            for (int backlog = 0; backlog <= n; backlog = backlog < 4 ? backlog + 1 : backlog * 2) {
                for (int limit = 1; limit <= n + 1; limit = limit < 4 ? limit + 1 : limit * 2 - 1) {
                    Way way = Way.at(round);
                    SharedPolling polling = SharedPolling.at(round / 5);
                    round++;
                    PollContractTest.write(queue, way, written, written + backlog);
                    InOrder taker = new InOrder(shape.stride(), way, written);
                    written += backlog;
                    int left = backlog;
                    while (left != 0) {
                        int expected = Math.min(limit, left);
                        assertEquals(expected, polling.take(poller, n, limit, taker));
                        left -= expected;
                        assertEquals(shape.start() + written - left, memory.getLong(Region.CONSUMER));
                        assertEquals(left, queue.size());
                        assertEquals(n - left, queue.remaining());
                        assertEquals(left == 0, queue.isEmpty());
                    }
                    assertEquals(0, polling.take(poller, n, limit, taker));
                    assertEquals(written, taker.next());
                    PollContractTest.assertDetached(poller.completion());
                }
            }
            assertEquals(0, queue.writer().rejectedDoorbells());
        }
    }

    /** Turn by turn, each poller gets the next entries: as many as limit and what is there allow. */
    @Shape.Every
    void shouldShareOneQueueBetweenPollers(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, OverrunPolicy.BACKPRESSURE);
        CompletionPoller[] pollers = {queue.newPoller(1), queue.newPoller(2), queue.newPoller(), queue.newPoller(1000)};
        long written = 0;
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        for (int round = 0; round < 40; round++) {
            PollContractTest.write(queue, Way.WRITE, written, written + n);
            written += n;
            for (int turn = round; taker.next() != written; turn++) {
                int limit = 1 + turn % 3;
                long before = taker.next();
                int taken = SharedPolling.at(turn).take(pollers[turn % 4], n, limit, taker);
                assertEquals(Math.min(limit, written - before), taken);
            }
            for (CompletionPoller poller : pollers) {
                assertEquals(0, poller.poll(taker::onView, n));
            }
        }
    }

    /** Slots are the device's once they are claimed, before the handler runs; what it looks at does not change. */
    @Shape.Every
    void shouldFreeSlotsBeforeTheHandlerRuns(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, OverrunPolicy.BACKPRESSURE);
        CompletionPoller poller = queue.newPoller(n);
        PollContractTest.write(queue, Way.CLAIM, 0, n);
        InOrder taker = new InOrder(shape.stride(), Way.CLAIM, 0);
        assertEquals(
                n,
                poller.poll(
                        c -> {
                            if (taker.next() == 0) {
                                PollContractTest.write(queue, Way.CLAIM, n, 2L * n); // all of the next lap
                                assertFalse(Way.CLAIM.put(queue.writer(), -1, shape.stride()), "full again");
                            }
                            taker.onView(c);
                        },
                        n));
        assertEquals(n, poller.poll(taker::onView, n));
    }

    /** A cursor's view stays what it was while the slot is used again. */
    @Shape.Every
    void shouldKeepWhatACursorShows(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, OverrunPolicy.BACKPRESSURE);
        CompletionPoller poller = queue.newPoller();
        PollContractTest.write(queue, Way.CLAIM, 0, n);
        assertTrue(poller.startPoll());
        PollContractTest.write(queue, Way.CLAIM, n, n + 1);
        Numbered.verify(poller.completion(), 0, Way.CLAIM, shape.stride());
        assertSame(poller.completion(), poller.completion());
        assertEquals(1, poller.endPoll());
        PollContractTest.assertDetached(poller.completion());
        assertRefused(NO_CURSOR, poller::next, poller::endPoll);
    }

    /** Each step claims one entry: what is not shown is there for the others, what was shown is gone. */
    @Shape.Every
    void shouldConsumeWhatAnAbandonedCursorHasShownAndNoMore(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, OverrunPolicy.BACKPRESSURE);
        CompletionPoller one = queue.newPoller();
        CompletionPoller other = queue.newPoller();
        for (int shown = 1; shown <= n; shown = shown < 4 ? shown + 1 : shown * 2) {
            PollContractTest.write(queue, Way.WRITE, 0, n);
            assertTrue(one.startPoll());
            for (int i = 1; i < shown; i++) {
                assertTrue(one.next());
            }
            Numbered.verify(one.completion(), shown - 1, Way.WRITE, shape.stride());
            assertEquals(n - shown, queue.size());
            if (shown % 2 == 0) {
                InOrder taker = new InOrder(shape.stride(), Way.WRITE, shown);
                assertEquals(n - shown, other.poll(taker::onView, n));
                assertEquals(0, one.poll(c -> {}, n));
            } else {
                InOrder taker = new InOrder(shape.stride(), Way.WRITE, shown);
                assertEquals(n - shown, one.poll(taker::onView, n)); // abandons it
                assertRefused(NO_CURSOR, one::next, one::endPoll);
            }
            assertEquals(0, one.undelivered());
        }
    }

    /** However fast the writer: one call takes, and one cursor shows, at most capacity entries. */
    @FieldBug(62)
    @Shape.Every
    void shouldTakeAtMostCapacityHoweverFastTheWriterIs(Shape shape) {
        int n = shape.capacity();
        for (int batch : BATCHES) {
            CompletionQueue queue = queue(shape, OverrunPolicy.BACKPRESSURE);
            CompletionPoller poller = queue.newPoller(batch);
            long[] written = {0};
            PollContractTest.write(queue, Way.WRITE, 0, n);
            written[0] = n;
            InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
            CompletionHandler refill = c -> {
                taker.onView(c);
                while (Way.WRITE.put(queue.writer(), written[0], shape.stride())) {
                    written[0]++;
                }
            };
            assertEquals(n, poller.poll(refill, Integer.MAX_VALUE));
            assertEquals(n, poller.poll(refill, Integer.MAX_VALUE));
            assertTrue(poller.startPoll());
            int shown = 0;
            do {
                refill.onCompletion(poller.completion());
                shown++;
            } while (poller.next());
            assertEquals(n, shown);
            assertFalse(poller.next(), "and says so again");
            PollContractTest.assertDetached(poller.completion());
            assertEquals(n, poller.endPoll());
            assertEquals(3L * n, taker.next());
        }
    }

    /** The entry whose handler threw is consumed; the rest of its claim is this poller's, whichever way it polls next. */
    @Shape.Every
    void shouldDeliverTheRestOfAClaimAfterAHandlerThrew(Shape shape) {
        int n = shape.capacity();
        for (int batch : BATCHES) {
            int claimed = Math.min(n, batch);
            for (int bad = 0; bad < n; bad = bad < 4 ? bad + 1 : bad * 2 - 1) {
                for (SharedPolling polling : SharedPolling.values()) {
                    CompletionQueue queue = queue(shape, OverrunPolicy.BACKPRESSURE);
                    CompletionPoller one = queue.newPoller(batch);
                    CompletionPoller other = queue.newPoller(1000);
                    PollContractTest.write(queue, Way.CLAIM, 0, n);
                    InOrder taker = new InOrder(shape.stride(), Way.CLAIM, 0);
                    int badNumber = bad;
                    assertThrows(
                            Thrown.class,
                            () -> one.poll(
                                    c -> {
                                        taker.onView(c);
                                        if (taker.next() == badNumber + 1) {
                                            throw new Thrown();
                                        }
                                    },
                                    n));
                    PollContractTest.assertDetached(one.completion());
                    int claims = bad / claimed + 1;
                    int afterClaims = Math.min(n, claims * claimed);
                    int rest = afterClaims - (bad + 1);
                    assertEquals(rest, one.undelivered());
                    assertEquals(n - afterClaims, queue.size());
                    InOrder others = new InOrder(shape.stride(), Way.CLAIM, afterClaims);
                    assertEquals(n - afterClaims, other.poll(others::onView, n));
                    // The device overwrites all slots; the claim is not in them any more.
                    PollContractTest.write(queue, Way.CLAIM, n, 2L * n);
                    int left = rest;
                    while (left != 0) {
                        int limit = Math.min(left, 1 + left / 2);
                        assertRefused(
                                "completion poller has claimed " + left
                                        + " entries that it has not delivered: poll them before close, no other poller can",
                                one::close);
                        assertEquals(limit, polling.take(one, n, limit, taker));
                        left -= limit;
                        assertEquals(left, one.undelivered());
                        assertEquals(n, queue.size(), "what is in hand comes first");
                    }
                    assertEquals(afterClaims, taker.next());
                    InOrder nextLap = new InOrder(shape.stride(), Way.CLAIM, n);
                    assertEquals(n, polling.take(one, n, n, nextLap));
                    one.close();
                }
            }
        }
    }

    @Shape.Every
    void shouldRefuseAHandlerThatUsesItsOwnPoller(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, OverrunPolicy.BACKPRESSURE);
        CompletionPoller poller = queue.newPoller();
        PollContractTest.write(queue, Way.WRITE, 0, n);
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        assertEquals(
                n,
                poller.poll(
                        c -> {
                            assertRefused(
                                    IN_USE,
                                    () -> poller.poll(x -> {}, 1),
                                    () -> poller.poll(x -> {}, -1),
                                    () -> poller.pollInto(Polling.completions(n), 1),
                                    poller::startPoll,
                                    poller::release,
                                    poller::close);
                            assertRefused(NO_CURSOR, poller::next, poller::endPoll);
                            taker.onView(c); // and the view is what it was
                        },
                        n));
        assertEquals(n, taker.next());
        poller.close();
    }

    @Shape.Every
    void shouldLetAHandlerUseAnotherPoller(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, OverrunPolicy.BACKPRESSURE);
        CompletionPoller outer = queue.newPoller(1);
        CompletionPoller inner = queue.newPoller(1);
        PollContractTest.write(queue, Way.WRITE, 0, n);
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        int[] outerCount = {0};
        int outerTaken = outer.poll(
                c -> {
                    taker.onView(c);
                    outerCount[0]++;
                    inner.poll(taker::onView, 1);
                    Numbered.verify(c, taker.next() - (n == 1 ? 1 : 2), Way.WRITE, shape.stride());
                },
                n);
        assertEquals(n, taker.next());
        assertEquals((n + 1) / 2, outerTaken);
        assertEquals(outerTaken, outerCount[0]);
    }

    @Shape.Every
    void shouldRefuseWrongArgumentsAndTakeNothing(Shape shape) {
        int n = shape.capacity();
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = queue(shape, memory);
        CompletionPoller poller = queue.newPoller();
        PollContractTest.write(queue, Way.WRITE, 0, n);
        assertThrows(NullPointerException.class, () -> poller.poll(null, 1));
        assertThrows(NullPointerException.class, () -> poller.pollInto(null, 1));
        for (int limit : new int[] {-1, Integer.MIN_VALUE}) {
            for (Executable call : new Executable[] {
                () -> poller.poll(c -> {}, limit), () -> poller.pollInto(Polling.completions(n), limit)
            }) {
                assertEquals(
                        "limit must be 0 or more: " + limit,
                        assertThrows(IllegalArgumentException.class, call).getMessage());
            }
        }
        assertEquals(
                "array of " + (n - 1) + " is shorter than the limit: " + n,
                assertThrows(
                                IllegalArgumentException.class,
                                () -> poller.pollInto(Polling.completions(n - 1), Integer.MAX_VALUE))
                        .getMessage());
        WorkCompletion[] hole = Polling.completions(n);
        hole[n - 1] = null;
        assertEquals(
                "array must hold WorkCompletions to fill: null at index " + (n - 1),
                assertThrows(IllegalArgumentException.class, () -> poller.pollInto(hole, n))
                        .getMessage());
        assertEquals(0, poller.poll(c -> {}, 0));
        assertEquals(0, poller.pollInto(new WorkCompletion[0], 0));
        for (int batch : new int[] {0, -1, Integer.MIN_VALUE}) {
            assertEquals(
                    "batch must be 1 or more: " + batch,
                    assertThrows(IllegalArgumentException.class, () -> queue.newPoller(batch))
                            .getMessage());
        }
        queue.newPoller(Integer.MAX_VALUE).close();
        assertEquals(shape.start(), memory.getLong(Region.CONSUMER), "nothing was taken");
        assertEquals(n, poller.poll(new InOrder(shape.stride(), Way.WRITE, 0)::onView, Integer.MAX_VALUE));
    }

    /** A shared queue has no peek: what it showed, another could have taken, or the device have overwritten. */
    @FieldBug(84)
    @Shape.Every
    void shouldRefuseTheQueuesOwnPollCalls(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = queue(shape, memory);
        PollContractTest.write(queue, Way.WRITE, 0, 1);
        CompletionPoller poller = queue.newPoller();
        for (int round = 0; round < 2; round++) {
            assertRefused(
                    SHARED,
                    () -> queue.poll(c -> {}, 1),
                    () -> queue.poll(c -> {}, 0),
                    () -> queue.pollInto(Polling.completions(shape.capacity()), 1),
                    queue::startPoll,
                    queue::next,
                    queue::endPoll);
            assertRefused(
                    "completion queue has shared pollers, so there is no peek: another poller may take the entry, and the"
                            + " device overwrite it, while it is looked at",
                    queue::peek);
            assertThrows(IllegalStateException.class, queue::releasePoller);
            assertEquals(shape.start() + round, memory.getLong(Region.CONSUMER), "nothing was taken");
            PollContractTest.assertDetached(queue.completion());
            assertEquals(1 - round, poller.poll(c -> {}, 1));
        }
    }

    @Shape.Every
    void shouldRefusePollersOfAQueueWithOnePoller(Shape shape) {
        CompletionQueue queue = shape.queue();
        assertRefused(
                "completion queue has one poller, who calls the queue itself: make it with sharedPollers() to have many",
                queue::newPoller,
                () -> queue.newPoller(4));
        assertEquals(0, queue.poll(c -> {}, 1));
    }

    @Shape.Every
    void shouldCloseOnePollerAndLeaveTheOthers(Shape shape) {
        CompletionQueue queue = queue(shape, OverrunPolicy.BACKPRESSURE);
        CompletionPoller gone = queue.newPoller();
        CompletionPoller stays = queue.newPoller();
        PollContractTest.write(queue, Way.WRITE, 0, 1);
        try (gone) {
            assertEquals(0, gone.poll(c -> {}, 0));
        }
        gone.close();
        assertRefused("completion poller is closed", calls(gone));
        assertRefused("completion poller is closed", gone::undelivered);
        queue.newPoller().close(); // never used
        assertEquals(1, stays.poll(c -> {}, 1));
        CompletionPoller open = queue.newPoller();
        PollContractTest.write(queue, Way.WRITE, 1, 2);
        assertTrue(open.startPoll());
        open.close();
        PollContractTest.assertDetached(open.completion());
        assertEquals(0, stays.poll(c -> {}, 1), "what a cursor had shown is consumed");
    }

    @Shape.EveryWithPolicy
    void shouldRefuseEveryCallOnceTheQueueIsClosed(Shape shape, OverrunPolicy policy) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, policy);
        CompletionPoller unused = queue.newPoller();
        CompletionPoller poller = queue.newPoller(16);
        PollContractTest.write(queue, Way.WRITE, 0, n);
        assertThrows(
                Thrown.class,
                () -> poller.poll(
                        c -> {
                            throw new Thrown();
                        },
                        n));
        int left = Math.min(n, 16) - 1;
        CompletionPoller cursor = queue.newPoller();
        boolean shows = cursor.startPoll();
        assertEquals(n > 16, shows);
        queue.close();
        for (CompletionPoller each : List.of(unused, poller, cursor)) {
            assertRefused("completion queue is closed", calls(each));
            PollContractTest.assertDetached(each.completion());
        }
        assertRefused("completion queue is closed", queue::newPoller);
        assertEquals(left, poller.undelivered(), "still told");
        poller.close(); // given up with the queue
        poller.close();
        assertRefused("completion poller is closed", poller::undelivered);
    }

    /** A call under way finishes, with all that it may take. */
    @Shape.Every
    void shouldFinishTheCallUnderWayWhenTheQueueCloses(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, OverrunPolicy.BACKPRESSURE);
        CompletionPoller poller = queue.newPoller(2);
        PollContractTest.write(queue, Way.WRITE, 0, n);
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        assertEquals(
                n,
                poller.poll(
                        c -> {
                            queue.close();
                            assertRefused("completion queue is closed", poller::startPoll);
                            taker.onView(c);
                        },
                        n));
        assertEquals(n, taker.next());
        assertRefused("completion queue is closed", calls(poller));
    }

    /** Dead: what was written can be drained by anybody, then each poller is told, those with copies in hand last. */
    @FieldBug(60)
    @Shape.Every
    void shouldTellEachPollerOfAnOverrunOnceItIsDrained(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, OverrunPolicy.ERROR);
        CompletionPoller one = queue.newPoller(n);
        CompletionPoller other = queue.newPoller();
        CompletionPoller third = queue.newPoller();
        PollContractTest.write(queue, Way.WRITE, 0, n);
        assertFalse(Way.WRITE.put(queue.writer(), n, shape.stride()));
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        assertThrows(
                Thrown.class,
                () -> one.poll(
                        c -> {
                            taker.onView(c);
                            throw new Thrown();
                        },
                        n)); // claims all
        assertEquals(0, other.poll(c -> {}, 0), "limit 0 asks for nothing");
        for (Executable call : new Executable[] {
            () -> other.poll(c -> {}, 1), () -> other.pollInto(Polling.completions(n), n), other::startPoll
        }) {
            CqOverrunException told = assertThrows(CqOverrunException.class, call);
            assertEquals(1, told.lostEntries());
        }
        if (n > 1) {
            assertEquals(n - 1, one.poll(taker::onView, n), "its share comes first");
        }
        assertEquals(n, taker.next());
        assertThrows(CqOverrunException.class, () -> one.poll(c -> {}, 1));
        assertThrows(CqOverrunException.class, third::startPoll);
        CompletionPoller late = queue.newPoller();
        assertThrows(CqOverrunException.class, () -> late.pollInto(Polling.completions(1), 1));
    }

    /** Every set of gaps, every limit, two batches: what comes out is what the set leaves, and all slots go back. */
    @Test
    void shouldPassOverEverySetOfGaps() {
        for (Shape shape : List.of(
                new Shape(32, 1, 0), new Shape(64, 2, 1), new Shape(128, 4, 3), new Shape(64, 8, Long.MAX_VALUE - 3))) {
            for (SharedPolling polling : SharedPolling.values()) {
                for (int backlog = 0; backlog <= shape.capacity(); backlog++) {
                    for (int gaps = 0; gaps < 1 << backlog; gaps++) {
                        for (int limit = 1; limit <= shape.capacity() + 1; limit++) {
                            for (int batch : new int[] {1, 3, 16}) {
                                checkGaps(polling, shape, backlog, gaps, limit, batch);
                            }
                        }
                    }
                }
            }
        }
    }

    private static void checkGaps(SharedPolling polling, Shape shape, int backlog, int gaps, int limit, int batch) {
        int n = shape.capacity();
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = queue(shape, memory);
        CompletionPoller poller = queue.newPoller(batch);
        List<Long> expected = new ArrayList<>();
        for (int i = 0; i < backlog; i++) {
            assertTrue(queue.writer().write(CqeOpcode.RECV << 1, i, 0, 0, 0));
            if ((gaps >>> i & 1) != 0) {
                int slot = shape.slot(shape.start() + i);
                long opcode = i % 2 == 0 ? 12 : 15; // ABANDONED, INVALID
                memory.putLong(slot, (memory.getLong(slot) & ~0x1EL) | (opcode << 1));
            } else {
                expected.add((long) i);
            }
        }
        String where =
                polling + " " + shape + " backlog " + backlog + " gaps " + gaps + " limit " + limit + " batch " + batch;
        List<Long> got = new ArrayList<>();
        Polling.Taker taker = new Polling.Taker() {
            @Override
            public void onView(Completion view) {
                got.add(view.workRequestId());
            }

            @Override
            public void onCopy(WorkCompletion copy) {
                got.add(copy.workRequestId());
            }
        };
        int taken;
        do {
            int before = got.size();
            taken = polling.take(poller, n, limit, taker);
            assertEquals(Math.min(limit, expected.size() - before), taken, where);
            assertEquals(0, poller.undelivered(), where);
        } while (taken != 0);
        assertEquals(expected, got, where);
        assertEquals(0, queue.size(), where);
        for (int i = 0; i < n; i++) { // every slot is the device's again
            assertTrue(queue.writer().write(CqeOpcode.RECV << 1, 100 + i, 0, 0, 0), where);
        }
        assertFalse(queue.writer().write(CqeOpcode.RECV << 1, -1, 0, 0, 0), where);
    }

    /** Gaps in hand count as nothing: not in undelivered, and not against close. */
    @Test
    void shouldNotCountGapsAsUndelivered() {
        Shape shape = new Shape(64, 4, 0);
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = queue(shape, memory);
        CompletionPoller poller = queue.newPoller();
        PollContractTest.write(queue, Way.WRITE, 0, 4);
        for (int i = 1; i < 4; i++) {
            memory.putLong(shape.slot(i), (memory.getLong(shape.slot(i)) & ~0x1EL) | (12 << 1));
        }
        assertThrows(
                Thrown.class,
                () -> poller.poll(
                        c -> {
                            throw new Thrown();
                        },
                        4));
        assertEquals(0, poller.undelivered());
        poller.close();
    }

    /** Entries that become valid behind a hole wait for it, and are then claimed with it. */
    @Test
    void shouldNotClaimAcrossAHole() {
        Shape shape = new Shape(64, 8, 5);
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = queue(shape, memory);
        CompletionPoller poller = queue.newPoller();
        PollContractTest.write(queue, Way.WRITE, 0, 6);
        long header = memory.getLong(shape.slot(5 + 2));
        memory.putLong(shape.slot(5 + 2), header ^ 1); // as if its writer were slow
        InOrder taker = new InOrder(64, Way.WRITE, 0);
        assertEquals(2, poller.poll(taker::onView, 8));
        assertEquals(0, poller.poll(taker::onView, 8));
        memory.putLong(shape.slot(5 + 2), header);
        assertEquals(4, poller.poll(taker::onView, 8));
    }

    /** What a try block with a handler that throws loses is reported, not swallowed. */
    @Test
    void shouldReportWhatATryBlockLeavesUndelivered() {
        CompletionQueue queue = queue(new Shape(64, 4, 0), OverrunPolicy.BACKPRESSURE);
        PollContractTest.write(queue, Way.WRITE, 0, 4);
        AtomicBoolean ran = new AtomicBoolean();
        Thrown thrown = assertThrows(Thrown.class, () -> {
            try (CompletionPoller poller = queue.newPoller()) {
                poller.poll(
                        c -> {
                            ran.set(true);
                            throw new Thrown();
                        },
                        4);
            }
        });
        assertTrue(ran.get());
        assertEquals(1, thrown.getSuppressed().length);
        assertEquals(
                "completion poller has claimed 3 entries that it has not delivered: poll them before close,"
                        + " no other poller can",
                thrown.getSuppressed()[0].getMessage());
    }
}
