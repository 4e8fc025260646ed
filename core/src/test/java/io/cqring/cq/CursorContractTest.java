package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;

/** The lazy poll: {@code startPoll}, {@code next}, {@code endPoll}. */
@Tag("bothroutes")
class CursorContractTest {
    private static final String NO_CURSOR = "no cursor is open: startPoll() must have returned true";

    private static void assertNoCursor(CompletionQueue queue) {
        assertEquals(
                NO_CURSOR,
                assertThrows(IllegalStateException.class, queue::next).getMessage());
        assertEquals(
                NO_CURSOR,
                assertThrows(IllegalStateException.class, queue::endPoll).getMessage());
    }

    /** The end call must not go past the producer after "no more", however often it was asked. */
    @FieldBug(28)
    @Shape.Every
    void shouldConsumeExactlyWhatItHasShown(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        long consumed = 0;
        for (int backlog = 1; backlog <= shape.capacity(); backlog++) {
            for (int show : List.of(1, (backlog + 1) / 2, backlog)) {
                PollContractTest.write(queue, Way.WRITE, consumed, consumed + backlog);
                assertTrue(queue.startPoll());
                for (int i = 0; i < show; i++) {
                    assertTrue(i == 0 || queue.next());
                    Numbered.verify(queue.completion(), consumed + i, Way.WRITE, shape.stride());
                    assertEquals(
                            shape.start() + consumed,
                            memory.getLong(Region.CONSUMER),
                            "nothing goes back before the end");
                }
                if (show == backlog) {
                    assertFalse(queue.next());
                    assertFalse(queue.next());
                }
                assertEquals(show, queue.endPoll());
                consumed += show;
                assertEquals(shape.start() + consumed, memory.getLong(Region.CONSUMER));
                assertEquals(backlog - show, queue.size());
                assertNoCursor(queue);
                assertEquals(backlog - show, queue.poll(c -> {}, shape.capacity()));
                consumed += backlog - show;
                assertFalse(queue.startPoll());
            }
        }
    }

    @FieldBug(28)
    @Shape.Every
    void shouldNotOpenOnAnEmptyQueue(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        assertNoCursor(queue);
        assertFalse(queue.startPoll());
        assertNoCursor(queue);
        assertEquals(shape.start(), memory.getLong(Region.CONSUMER));
        PollContractTest.write(queue, Way.WRITE, 0, 1);
        assertNoCursor(queue);
        assertTrue(queue.startPoll());
        assertEquals(1, queue.endPoll());
        assertFalse(queue.startPoll());
        assertNoCursor(queue);
        assertEquals(shape.start() + 1, memory.getLong(Region.CONSUMER));
    }

    @Shape.Every
    void shouldConsumeNothingWhenAbandoned(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue();
        PollContractTest.write(queue, Way.WRITE, 0, n);
        List<Runnable> abandonments = List.of(
                () -> assertEquals(0, queue.poll(c -> {}, 0)),
                () -> assertEquals(0, queue.pollInto(new WorkCompletion[0], 0)),
                () -> assertNotNull(queue.peek()),
                queue::releasePoller,
                () -> assertThrows(IllegalArgumentException.class, () -> queue.poll(c -> {}, -1)));
        for (Runnable abandon : abandonments) {
            openToTheEnd(queue, n);
            abandon.run();
            assertNoCursor(queue);
            assertEquals(n, queue.size());
        }
        openToTheEnd(queue, n);
        assertTrue(queue.startPoll(), "a new cursor starts from the oldest again");
        Numbered.verify(queue.completion(), 0, Way.WRITE, shape.stride());
        assertEquals(1, queue.endPoll());
        openToTheEnd(queue, n - 1);
        Polling.InOrder taker = new Polling.InOrder(shape.stride(), Way.WRITE, 1);
        assertEquals(n - 1, queue.poll(taker::onView, n), "poll abandons, and takes what the cursor had shown");
    }

    private static void openToTheEnd(CompletionQueue queue, int expected) {
        int shown = queue.startPoll() ? 1 : 0;
        while (shown != 0 && shown <= expected && queue.next()) {
            shown++;
        }
        assertEquals(expected, shown);
    }

    @Shape.Every
    void shouldGoOnAfterFalseWhenMoreArrives(Shape shape) {
        if (shape.capacity() == 1) {
            return; // one slot: nothing more can arrive before the end; the next test has it
        }
        CompletionQueue queue = shape.queue();
        PollContractTest.write(queue, Way.WRITE, 0, 1);
        assertTrue(queue.startPoll());
        for (int i = 1; i < shape.capacity(); i++) {
            assertFalse(queue.next());
            assertThrows(IllegalStateException.class, () -> queue.completion().header());
            PollContractTest.write(queue, Way.WRITE, i, i + 1);
            assertTrue(queue.next());
            Numbered.verify(queue.completion(), i, Way.WRITE, shape.stride());
        }
        assertEquals(shape.capacity(), queue.endPoll());
    }

    /** Past a full ring lies the slot the cursor stands on first, with a valid owner bit of this very lap. */
    @Shape.Every
    void shouldNotGoRoundTheRing(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue();
        for (int lap = 0; lap < 3; lap++) {
            PollContractTest.write(queue, Way.WRITE, (long) lap * n, lap * n + n);
            openToTheEnd(queue, n);
            assertFalse(queue.next());
            assertFalse(Way.WRITE.publish(queue.writer(), 99, shape.stride()), "an open cursor keeps its slots");
            assertEquals(n, queue.endPoll());
        }
    }

    /** An entry shown on a thread that ended before endPoll was never consumed; the next poller starts anew. */
    @Shape.Every
    void shouldDieWithItsThread(Shape shape) throws InterruptedException {
        CompletionQueue queue = shape.queue();
        PollContractTest.write(queue, Way.WRITE, 0, 1);
        AtomicBoolean opened = new AtomicBoolean();
        Thread poller = new Thread(() -> opened.set(queue.startPoll()));
        poller.start();
        poller.join();
        assertTrue(opened.get());
        assertNoCursor(queue);
        assertThrows(IllegalStateException.class, () -> queue.completion().header());
        assertEquals(1, queue.poll(c -> Numbered.verify(c, 0, Way.WRITE, shape.stride()), 9));
    }
}
