package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.function.Executable;

/** What every way to poll promises, for every stride, capacity and start sequence. */
@Tag("bothroutes")
class PollContractTest {
    private static final String NOT_ATTACHED =
            "completion view is not attached: it is valid only until its handler returns,"
                    + " or until the next call on the queue";
    private static final String BEING_POLLED =
            "completion queue is being polled: a handler must not poll or release its own queue";
    private static final String NO_CURSOR = "no cursor is open: startPoll() must have returned true";

    static void write(CompletionQueue queue, Way way, long from, long to) {
        for (long n = from; n < to; n++) {
            assertTrue(way.publish(queue.writer(), n, queue.strideBytes()), "refused");
        }
    }

    static void assertDetached(Completion view) {
        List<Executable> accessors = List.of(
                view::header,
                view::opcode,
                view::isSolicited,
                view::wqeCounter,
                view::qpNumber,
                view::syndrome,
                view::status,
                view::workRequestId,
                view::byteCount,
                view::immediate,
                view::hasImmediate,
                view::vendorError,
                view::flags,
                view::sourceQp,
                view::timestamp,
                () -> view.payload(0));
        for (Executable accessor : accessors) {
            assertEquals(
                    NOT_ATTACHED,
                    assertThrows(IllegalStateException.class, accessor).getMessage());
        }
        assertEquals("Completion[detached]", view.toString());
    }

    @Shape.Every
    void shouldFindNothingInAFreshQueue(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        assertEquals(0, queue.poll(c -> assertNull(c, "phantom entry"), Integer.MAX_VALUE));
        assertEquals(0, queue.pollInto(Polling.completions(shape.capacity()), Integer.MAX_VALUE));
        assertFalse(queue.startPoll());
        assertNull(queue.peek());
        assertDetached(queue.completion());
        assertEquals(0, queue.size());
        assertTrue(queue.isEmpty());
        assertEquals(shape.capacity(), queue.remaining());
        assertEquals(shape.capacity(), queue.capacity());
        assertEquals(shape.stride(), queue.strideBytes());
        assertEquals(0, queue.lostEntries());
        assertEquals(shape.start(), memory.getLong(Region.CONSUMER));
        assertEquals(shape.start(), memory.getLong(Region.PRODUCER));
    }

    /** The counters pass 2^16, 2^24, 2^31, 2^32 and 2^63 on the way. */
    @FieldBug(25)
    @Shape.Every
    void shouldDeliverEveryEntryOnceAndInOrderOverManyLaps(Shape shape) {
        for (Way way : Way.values()) {
            for (Polling polling : Polling.values()) {
                QueueMemory memory = QueueMemory.allocate(shape.bytes());
                CompletionQueue queue = shape.queue(OverrunPolicy.ERROR, memory);
                InOrder taker = new InOrder(shape.stride(), way, 0);
                long written = 0;
                for (int lap = 0; lap < 5; lap++) { // first one by one, then the whole ring at once
                    int step = lap < 2 ? 1 : shape.capacity();
                    for (int done = 0; done < shape.capacity(); done += step) {
                        write(queue, way, written, written + step);
                        written += step;
                        assertEquals(step, queue.size());
                        assertEquals(shape.capacity() - step, queue.remaining());
                        assertFalse(queue.isEmpty());
                        assertEquals(step, polling.take(queue, shape.capacity(), taker), way + " " + polling);
                        assertEquals(written, taker.next());
                        assertEquals(0, queue.size());
                        assertEquals(shape.start() + written, memory.getLong(Region.CONSUMER));
                        assertEquals(shape.start() + written, memory.getLong(Region.PRODUCER));
                        assertEquals(0, polling.take(queue, shape.capacity(), taker));
                    }
                }
                assertEquals(0, queue.lostEntries());
                assertEquals(0, queue.writer().rejectedDoorbells());
            }
        }
    }

    @FieldBug(66)
    @Shape.Every
    void shouldStopAtTheLimit(Shape shape) {
        int n = shape.capacity();
        for (Polling polling : Polling.values()) {
            for (int limit : new int[] {0, 1, n / 2, n - 1, n, n + 1, Integer.MAX_VALUE}) {
                CompletionQueue queue = shape.queue();
                write(queue, Way.WRITE, 0, n);
                InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
                int expected = Math.min(limit, n);
                assertEquals(expected, polling.take(queue, limit, taker), polling + " " + limit);
                assertEquals(n - expected, queue.size());
                assertEquals(n - expected, polling.take(queue, n, taker));
                assertEquals(n, taker.next());
            }
        }
    }

    @FieldBug(66)
    @Shape.Every
    void shouldRefuseANegativeLimitAndTakeNothing(Shape shape) {
        CompletionQueue queue = shape.queue();
        write(queue, Way.WRITE, 0, 1);
        for (int limit : new int[] {-1, Integer.MIN_VALUE}) {
            String message = "limit must be 0 or more: " + limit;
            assertTrue(queue.startPoll());
            assertEquals(
                    message,
                    assertThrows(IllegalArgumentException.class, () -> queue.poll(c -> {}, limit))
                            .getMessage());
            assertDetached(queue.completion());
            assertTrue(queue.startPoll());
            assertEquals(
                    message,
                    assertThrows(
                                    IllegalArgumentException.class,
                                    () -> queue.pollInto(Polling.completions(shape.capacity()), limit))
                            .getMessage());
            assertDetached(queue.completion());
        }
        assertEquals(1, queue.size());
        assertEquals(1, queue.poll(c -> Numbered.verify(c, 0, Way.WRITE, shape.stride()), 9));
    }

    @Shape.Every
    void shouldTakeNothingWhenThereIsNoHandler(Shape shape) {
        CompletionQueue queue = shape.queue();
        assertThrows(NullPointerException.class, () -> queue.poll(null, 1));
        write(queue, Way.WRITE, 0, 1);
        assertThrows(NullPointerException.class, () -> queue.poll(null, 1));
        assertEquals(1, queue.poll(c -> Numbered.verify(c, 0, Way.WRITE, shape.stride()), 1), "the entry is lost");
    }

    @Shape.Every
    void shouldCountAThrowingHandlersEntryAsConsumed(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        int n = shape.capacity();
        for (int throwAt = 0; throwAt < n; throwAt++) {
            write(queue, Way.WRITE, 0, n);
            InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
            RuntimeException failure = new RuntimeException("handler");
            int at = throwAt;
            RuntimeException thrown = assertThrows(
                    RuntimeException.class,
                    () -> queue.poll(
                            c -> {
                                taker.onView(c);
                                if (taker.next() == at + 1) {
                                    throw failure;
                                }
                            },
                            n));
            assertSame(failure, thrown);
            assertDetached(queue.completion());
            long consumed = shape.start() + (long) throwAt * n + at + 1;
            assertEquals(consumed, memory.getLong(Region.CONSUMER), "progress is published all the same");
            assertEquals(n - at - 1, queue.poll(taker::onView, n), "the next poll starts with the entry after it");
            assertEquals(n, taker.next());
        }
    }

    @FieldBug(29)
    @Shape.Every
    void shouldRefuseAHandlerThatPollsItsOwnQueue(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        CompletionQueue other = shape.queue();
        int n = shape.capacity();
        write(queue, Way.WRITE, 0, n);
        write(other, Way.STAGE, 7, 8);
        List<Long> doorbells = new ArrayList<>();
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        List<Executable> polls = List.of(
                () -> queue.poll(c -> {}, 1),
                () -> queue.poll(c -> {}, 0),
                () -> queue.pollInto(Polling.completions(n), n),
                queue::startPoll,
                queue::peek,
                queue::releasePoller);
        assertEquals(
                n,
                queue.poll(
                        c -> {
                            for (Executable poll : polls) {
                                assertEquals(
                                        BEING_POLLED,
                                        assertThrows(IllegalStateException.class, poll)
                                                .getMessage());
                            }
                            for (Executable cursor : List.<Executable>of(queue::next, queue::endPoll)) {
                                assertEquals(
                                        NO_CURSOR,
                                        assertThrows(IllegalStateException.class, cursor)
                                                .getMessage());
                            }
                            taker.onView(c); // the view of the outer call is still there
                            doorbells.add(memory.getLong(Region.CONSUMER));
                            other.poll(d -> Numbered.verify(d, 7, Way.STAGE, shape.stride()), 1);
                        },
                        n));
        assertEquals(n, taker.next());
        doorbells.add(memory.getLong(Region.CONSUMER));
        assertEquals(shape.start() + n, doorbells.get(doorbells.size() - 1));
        for (int i = 1; i < doorbells.size(); i++) {
            assertTrue(doorbells.get(i) - doorbells.get(i - 1) >= 0, () -> "doorbell went back: " + doorbells);
        }
        assertEquals(0, other.size(), "another queue may be polled by a handler");
        assertEquals(0, queue.poll(c -> {}, 1), "the queue works on");
    }

    /** A slot never goes back before its handler has returned, and at the latest when a quarter of the ring has. */
    @Shape.Every
    void shouldReturnCreditEveryQuarterWhileAHandlerIsSlow(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        int n = shape.capacity();
        int quarter = Math.max(1, n / 4);
        write(queue, Way.WRITE, 0, n);
        int[] handled = {0};
        queue.poll(
                c -> {
                    long returned = memory.getLong(Region.CONSUMER) - shape.start();
                    assertTrue(returned <= handled[0], () -> "slot under a handler given away: " + returned);
                    assertTrue(
                            handled[0] - returned < quarter,
                            () -> handled[0] + " handled, only " + returned + " returned");
                    if (handled[0] >= quarter) { // and the device can use it, in the middle of the call
                        assertTrue(Way.WRITE.publish(queue.writer(), n + handled[0] - quarter, shape.stride()));
                    }
                    handled[0]++;
                },
                n);
        assertEquals(n, handled[0]);
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, n);
        assertEquals(n - quarter, queue.poll(taker::onView, n));
    }

    /** The handler writes an entry for each it takes: a call that chased the tail would never end. */
    @FieldBug(62)
    @Shape.Every
    void shouldEndAfterCapacityEntriesHoweverBusyTheDeviceIs(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        int n = shape.capacity();
        write(queue, Way.WRITE, 0, n);
        long[] written = {n};
        long consumed = 0;
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        for (int round = 0; round < 5; round++) {
            int[] inThisCall = {0};
            int taken = queue.poll(
                    c -> {
                        if (++inThisCall[0] > n) {
                            throw new AssertionError("chases the tail");
                        }
                        taker.onView(c);
                        if (Way.WRITE.publish(queue.writer(), written[0], shape.stride())) {
                            written[0]++;
                        }
                    },
                    Integer.MAX_VALUE);
            assertTrue(taken >= 1 && taken <= n, () -> "took " + taken);
            assertTrue(n == 1 || written[0] - taker.next() > 0, "the device kept the ring busy");
            consumed += taken;
            assertEquals(shape.start() + consumed, memory.getLong(Region.CONSUMER), "published at the end");
            if (n == 1) {
                write(queue, Way.WRITE, written[0]++, written[0]);
            }
        }

        // A cursor is held to the same: it never shows more than a ring.
        while (written[0] - consumed < n) {
            write(queue, Way.WRITE, written[0]++, written[0]);
        }
        assertTrue(queue.startPoll());
        int shown = 1;
        while (shown <= n && queue.next()) {
            shown++;
        }
        assertEquals(n, shown);
        assertEquals(n, queue.endPoll());
    }

    @Shape.Every
    void shouldHideTheEntryWhoseHandlerRunsFromSizeOnlyOnceItIsReturned(Shape shape) {
        CompletionQueue queue = shape.queue();
        write(queue, Way.WRITE, 0, shape.capacity());
        queue.poll(c -> assertEquals(shape.capacity(), queue.size()), 1);
        assertEquals(shape.capacity() - 1, queue.size());
        assertEquals(1, queue.remaining());
    }

    /** Whatever ends a look at an entry detaches the view: no value the caller could still read changes under it. */
    @FieldBug(15)
    @Shape.Every
    void shouldDetachTheViewWheneverACallEnds(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue();
        Completion view = queue.completion();
        assertDetached(view);

        List<Executable> ends = new ArrayList<>(List.of(
                () -> queue.poll(c -> {}, 0),
                () -> queue.poll(c -> {}, 1),
                () -> queue.pollInto(Polling.completions(n), n),
                () -> queue.pollInto(Polling.completions(n), 0),
                () -> assertThrows(
                        IllegalArgumentException.class, () -> queue.pollInto(new WorkCompletion[0], Integer.MAX_VALUE)),
                () -> assertThrows(IllegalArgumentException.class, () -> queue.pollInto(new WorkCompletion[n], n)),
                () -> assertThrows(IllegalArgumentException.class, () -> queue.poll(c -> {}, -1)),
                () -> assertThrows(
                        RuntimeException.class,
                        () -> queue.poll(
                                c -> {
                                    throw new RuntimeException("handler");
                                },
                                1)),
                queue::releasePoller));
        for (Executable end : ends) {
            for (boolean byPeek : new boolean[] {true, false}) {
                CompletionQueue fresh = queue;
                fresh.poll(c -> {}, n);
                write(fresh, Way.WRITE, 5, 6);
                if (byPeek) {
                    assertSame(view, fresh.peek());
                } else {
                    assertTrue(fresh.startPoll());
                }
                Numbered.verify(view, 5, Way.WRITE, shape.stride());
                assertRuns(end);
                assertDetached(view);
            }
        }

        queue.poll(c -> {}, n);
        write(queue, Way.WRITE, 5, 6);
        assertTrue(queue.startPoll());
        assertFalse(queue.next());
        assertDetached(view);
        assertEquals(1, queue.endPoll());
        assertDetached(view);
        assertNull(queue.peek());
        assertDetached(view);
        assertFalse(queue.startPoll());
        assertDetached(view);
    }

    @FieldBug(15)
    @Shape.Every
    void shouldDetachTheViewWhenTheQueueTurnsOutToBeClosed(Shape shape) {
        for (int call = 0; call < 7; call++) {
            CompletionQueue queue = shape.queue();
            List<Executable> calls = List.of(
                    () -> queue.poll(c -> {}, 1),
                    () -> queue.pollInto(Polling.completions(1), 1),
                    queue::startPoll,
                    queue::next,
                    queue::endPoll,
                    queue::peek,
                    () -> queue.poll(c -> {}, 0));
            write(queue, Way.WRITE, 0, 1);
            assertTrue(queue.startPoll());
            queue.close();
            assertThrows(IllegalStateException.class, calls.get(call));
            assertDetached(queue.completion());
        }
    }

    @FieldBug(15)
    @Shape.Every
    void shouldDetachTheViewWhenTheQueueTurnsOutToBeDead(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue(OverrunPolicy.ERROR);
        write(queue, Way.WRITE, 0, n);
        assertFalse(Way.WRITE.publish(queue.writer(), n, shape.stride()));
        assertEquals(n, queue.poll(c -> {}, n));
        List<Executable> polls = List.of(
                () -> queue.poll(c -> {}, 1),
                () -> queue.pollInto(Polling.completions(n), n),
                queue::startPoll,
                queue::peek);
        for (Executable poll : polls) {
            assertThrows(CqOverrunException.class, poll);
            assertDetached(queue.completion());
        }
    }

    /** What was copied out stays as it was, whatever the device does to the slot later. */
    @FieldBug(15)
    @Shape.Every
    void shouldKeepCopiesThroughLaterLaps(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue();
        write(queue, Way.CLAIM, 0, n);
        WorkCompletion[] kept = Polling.completions(n);
        assertEquals(n, queue.pollInto(kept, n));
        for (int lap = 1; lap < 4; lap++) {
            write(queue, Way.CLAIM, (long) lap * n, lap * n + n);
            assertEquals(n, queue.poll(c -> {}, n));
        }
        for (int i = 0; i < n; i++) {
            Numbered.verify(kept[i], i, Way.CLAIM, shape.stride());
        }
    }

    @Shape.Every
    void shouldRefuseAnArrayThatCannotHoldTheLimit(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue();
        write(queue, Way.WRITE, 0, n);
        assertEquals(
                "array of " + (n - 1) + " is shorter than the limit: " + n,
                assertThrows(
                                IllegalArgumentException.class,
                                () -> queue.pollInto(Polling.completions(n - 1), Integer.MAX_VALUE))
                        .getMessage());
        WorkCompletion[] holed = Polling.completions(n);
        holed[n - 1] = null;
        assertEquals(
                "array must hold WorkCompletions to fill: null at index " + (n - 1),
                assertThrows(IllegalArgumentException.class, () -> queue.pollInto(holed, n))
                        .getMessage());
        assertThrows(NullPointerException.class, () -> queue.pollInto(null, n));
        assertEquals(n, queue.size(), "nothing is taken");

        // An array as long as the ring is enough for any limit, a longer one is filled from index 0 only.
        WorkCompletion[] longer = Polling.completions(n + 2);
        assertEquals(n, queue.pollInto(longer, n + 1));
        for (int i = 0; i < n; i++) {
            Numbered.verify(longer[i], i, Way.WRITE, shape.stride());
        }
        assertEquals(0, longer[n].workRequestId());
        assertEquals("Completion[RC_SEND SUCCESS qp=0 wqe=0 id=0 bytes=0]", longer[n + 1].toString(), "left as it was");
        assertEquals(0, queue.pollInto(new WorkCompletion[0], 0), "limit 0 needs no room");
    }

    @Shape.Every
    void shouldPeekWithoutConsuming(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        int n = shape.capacity();
        write(queue, Way.WRITE, 0, n);
        for (int i = 0; i < 3; i++) {
            Completion seen = queue.peek();
            assertSame(queue.completion(), seen);
            Numbered.verify(seen, 0, Way.WRITE, shape.stride());
        }
        assertEquals(n, queue.size());
        assertEquals(shape.start(), memory.getLong(Region.CONSUMER));
        assertEquals(
                NO_CURSOR,
                assertThrows(IllegalStateException.class, queue::next).getMessage());
        assertEquals(
                NO_CURSOR,
                assertThrows(IllegalStateException.class, queue::endPoll).getMessage());
        assertFalse(Way.WRITE.publish(queue.writer(), n, shape.stride()), "a peeked slot is not given back");
        assertEquals(n, queue.poll(c -> {}, n));
        assertNull(queue.peek());
    }

    private static void assertRuns(Executable executable) {
        try {
            executable.execute();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
