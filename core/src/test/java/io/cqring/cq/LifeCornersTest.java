package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Where two things that a queue can do meet. Each case was found by reading, and went wrong once. */
class LifeCornersTest {
    private final List<Long> polled = new ArrayList<>();

    private static void write(CompletionQueue queue, int qp, long id) {
        assertTrue(queue.writer().write(CqeLayout.header(CqeOpcode.RECV, false, 0, qp, 0), id, 0, 0, 0));
    }

    private void take(Completion completion) {
        polled.add(completion.workRequestId());
    }

    /** The old ring is left behind in a region that still has a header: nobody may take it for the queue. */
    @Test
    void shouldNotAttachARegionThatAResizeHasLeft() {
        QueueMemory memory = QueueMemory.allocate(CompletionQueue.requiredBytes(4, 64));
        CompletionQueue queue = CompletionQueue.ofCapacity(4).memory(memory).create();
        write(queue, 1, 0);
        queue.resize(8);
        assertEquals(
                "control word at byte 200 must be 0 or 1 (a resize or a drain is under way): 258",
                assertThrows(CqAttachException.class, () -> CompletionQueue.attach(memory))
                        .getMessage()
                        .replaceFirst("^cannot attach .*]: ", ""));
        queue.writer().flush();
        String message = assertThrows(CqAttachException.class, () -> CompletionQueue.attach(memory))
                .getMessage();
        assertTrue(message.endsWith("the queue has been resized: its entries are in another ring"), message);
        write(queue, 1, 1);
        assertEquals(2, queue.poll(this::take, 9));
    }

    /** What a purge has marked is passed over by whoever attaches, too. */
    @Test
    void shouldPassOverPurgedEntriesAfterAnAttach() {
        QueueMemory memory = QueueMemory.allocate(CompletionQueue.requiredBytes(4, 64));
        CompletionQueue first = CompletionQueue.ofCapacity(4).memory(memory).create();
        write(first, 2, 10);
        write(first, 1, 11);
        write(first, 2, 12);
        assertEquals(1, first.purge(1));
        CompletionQueue second = CompletionQueue.attach(memory);
        assertEquals(2, second.size());
        assertEquals(2, second.poll(this::take, 9));
        assertEquals(List.of(10L, 12L), polled);
        assertEquals(0, second.size());
        for (int i = 0; i < 4; i++) {
            write(second, 1, i);
        }
        assertEquals(4, second.poll(this::take, 9), "back to looking ahead");
    }

    /** A drain takes what is there, in both rings. */
    @Test
    void shouldDrainOverAMarkerAllThatIsThere() {
        CompletionQueue queue = CompletionQueue.ofCapacity(2).create();
        write(queue, 1, 0);
        queue.resize(8);
        for (int i = 1; i < 8; i++) {
            write(queue, 1, i);
        }
        queue.writer().release();
        DrainResult result = queue.drainAndClose(this::take, 0, TimeUnit.SECONDS);
        assertEquals(new DrainResult(8, 0, 0, true), result);
        assertEquals(List.of(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L), polled);
    }

    /** Gaps behind a marker do not use up a poll that was begun in the smaller ring before it. */
    @Test
    void shouldPollWhatIsBehindGapsBehindAMarker() {
        CompletionQueue queue =
                CompletionQueue.ofCapacity(2).overrunPolicy(OverrunPolicy.ERROR).create();
        write(queue, 1, 0);
        queue.resize(8);
        write(queue, 1, 1);
        write(queue, 1, 2);
        write(queue, 2, 3);
        assertEquals(3, queue.purge(1));
        assertEquals(1, queue.size());
        assertFalse(queue.isEmpty());
        assertEquals(1, queue.poll(this::take, 10));
        assertEquals(List.of(3L), polled);
    }

    /** In a handler the entries of the poll under way still count, whatever was passed over before. */
    @Test
    void shouldNotCountTooLowWithinAPoll() {
        CompletionQueue queue = CompletionQueue.ofCapacity(4).create();
        write(queue, 2, 0);
        write(queue, 1, 1);
        write(queue, 2, 2);
        assertEquals(1, queue.purge(1));
        List<Integer> sizes = new ArrayList<>();
        assertEquals(2, queue.poll(completion -> sizes.add(queue.size()), 9));
        assertTrue(sizes.get(1) >= 1, "entry 2 is being handled: " + sizes);
        assertEquals(0, queue.size());

        CompletionQueue shared = CompletionQueue.ofCapacity(4).writers(2).create();
        SharedWriter writer = shared.newWriter();
        SharedWriter other = shared.newWriter();
        assertTrue(writer.write(0, 0, 0, 0, 0));
        assertTrue(other.claim(1));
        assertTrue(writer.write(0, 2, 0, 0, 0));
        other.abandon();
        sizes.clear();
        assertEquals(2, shared.poll(completion -> sizes.add(shared.size()), 9));
        assertTrue(sizes.get(1) >= 1, "entry 2 is being handled: " + sizes);
        assertEquals(0, shared.size());
    }

    /** A ring that the device has taken is not the caller's again because of a drain. */
    @Test
    void shouldSayAcceptedWhileADrainIsUnderWay() {
        CompletionQueue queue = CompletionQueue.ofCapacity(4).create();
        write(queue, 1, 0);
        queue.resize(8);
        assertEquals(ResizeStatus.PENDING, queue.resizeStatus());
        queue.writer().flush();
        assertEquals(ResizeStatus.ACCEPTED, queue.resizeStatus());
        queue.writer().release();
        assertThrows(
                ArithmeticException.class,
                () -> queue.drainAndClose(
                        completion -> {
                            throw new ArithmeticException();
                        },
                        0,
                        TimeUnit.SECONDS));
        assertEquals(ResizeStatus.ACCEPTED, queue.resizeStatus());
        assertFalse(queue.cancelResize());
        assertEquals(0, queue.poll(this::take, 9));
        assertEquals(ResizeStatus.DONE, queue.resizeStatus());
    }
}
