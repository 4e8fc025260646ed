package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.function.Executable;

/** A device that is ahead of its host: what is lost, what is counted, what goes on. */
@Tag("bothroutes")
class OverrunPolicyTest {
    private static String dead(long lost, int capacity) {
        return "completion queue overrun: " + lost + " entries lost so far, capacity " + capacity
                + "; the queue is dead, make a deeper one";
    }

    /** N+5 entries into N slots: the first N survive, and every other is counted or refused. */
    @FieldBug(60)
    @Shape.EveryWithPolicy
    void shouldKeepTheOldestAndCountTheRest(Shape shape, OverrunPolicy policy) {
        int n = shape.capacity();
        for (Way way : Way.values()) {
            for (Polling polling : Polling.values()) {
                QueueMemory memory = QueueMemory.allocate(shape.bytes());
                CompletionQueue queue = shape.queue(policy, memory);
                for (int i = 0; i < n + 5; i++) {
                    assertEquals(i < n, way.publish(queue.writer(), i, shape.stride()));
                }
                long lost = policy == OverrunPolicy.BACKPRESSURE ? 0 : 5;
                assertEquals(lost, queue.lostEntries());
                assertEquals(lost, queue.writer().lostEntries());
                assertEquals(lost, memory.getLong(Region.LOST));
                assertEquals(policy == OverrunPolicy.ERROR ? 1 : 0, memory.getLong(Region.DEAD));
                assertEquals(n, queue.size());
                InOrder taker = new InOrder(shape.stride(), way, 0);
                int limit = polling == Polling.PEEK ? n : n + 5; // it looks once more, and would meet the exception
                assertEquals(n, polling.take(queue, limit, taker), () -> way + " " + polling);
                assertEquals(n, taker.next());
                if (policy != OverrunPolicy.ERROR) {
                    assertEquals(0, polling.take(queue, n, taker));
                    assertTrue(way.publish(queue.writer(), n, shape.stride()), "the queue lives on");
                    assertEquals(1, polling.take(queue, n, taker));
                    assertEquals(lost, queue.lostEntries());
                }
            }
        }
    }

    @Shape.Every
    void shouldThrowOnceADeadQueueIsDrained(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue(OverrunPolicy.ERROR);
        CompletionWriter writer = queue.writer();
        PollContractTest.write(queue, Way.WRITE, 0, n);
        assertFalse(writer.write(0, 0, 0, 0, 0));
        // Drained step by step, by every way, without an exception.
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        for (int i = 0; i < n; i++) {
            Polling polling = Polling.at(i);
            assertEquals(1, polling.take(queue, 1, taker));
        }
        List<Executable> polls = List.of(
                () -> queue.poll(c -> {}, 1),
                () -> queue.poll(c -> {}, Integer.MAX_VALUE),
                () -> queue.pollInto(Polling.completions(n), 1),
                queue::startPoll,
                queue::peek);
        for (Executable poll : polls) {
            CqOverrunException e = assertThrows(CqOverrunException.class, poll);
            assertEquals(1, e.lostEntries());
            assertEquals(dead(1, n), e.getMessage());
        }
        assertEquals(0, queue.poll(c -> {}, 0), "limit 0 takes none, dead or not");
        assertEquals(0, queue.pollInto(new WorkCompletion[0], 0));

        // For ever: no write brings it back, however much room there is, and each is counted.
        for (int i = 2; i < 6; i++) {
            assertFalse(i % 2 == 0 ? writer.stage(0, 0, 0, 0, 0) : writer.write(0, 0, 0, 0, 0));
            assertNull(writer.claim());
            assertEquals(0, writer.flush());
            assertEquals(0, writer.abort());
        }
        assertEquals(9, queue.lostEntries());
        CqOverrunException e = assertThrows(CqOverrunException.class, () -> queue.poll(c -> {}, 1));
        assertEquals(dead(9, n), e.getMessage());
        assertTrue(queue.isEmpty());
    }

    @Shape.Every
    void shouldLetACursorDrainADeadQueue(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue(OverrunPolicy.ERROR);
        PollContractTest.write(queue, Way.WRITE, 0, n);
        assertTrue(queue.startPoll());
        assertFalse(queue.writer().write(0, 0, 0, 0, 0));
        int shown = 1;
        while (queue.next()) {
            shown++;
        }
        assertEquals(n, shown);
        assertEquals(n, queue.endPoll());
        assertThrows(CqOverrunException.class, queue::startPoll);
    }

    /** What was in hand and fitted was written before the overrun: it must come out. */
    @Shape.Every
    void shouldPublishWhatFittedWhenABatchOverruns(Shape shape) {
        int n = shape.capacity();
        for (Way way : List.of(Way.STAGE, Way.CLAIM)) {
            CompletionQueue queue = shape.queue(OverrunPolicy.ERROR);
            for (int i = 0; i < n; i++) {
                assertTrue(way.put(queue.writer(), i, shape.stride()));
            }
            assertTrue(queue.isEmpty());
            assertFalse(way.put(queue.writer(), n, shape.stride()));
            InOrder taker = new InOrder(shape.stride(), way, 0);
            assertEquals(n, queue.poll(taker::onView, n));
            assertEquals(1, queue.lostEntries());
            assertEquals(0, queue.writer().flush(), "nothing is in hand");
            assertThrows(CqOverrunException.class, () -> queue.poll(c -> {}, 1));
        }
    }

    /** Under the other policies a refusal leaves the batch in hand as it is. */
    @Shape.Every
    void shouldKeepTheBatchInHandWhenAnEntryIsDroppedOrRefused(Shape shape) {
        int n = shape.capacity();
        for (OverrunPolicy policy : List.of(OverrunPolicy.DROP_NEW, OverrunPolicy.BACKPRESSURE)) {
            CompletionQueue queue = shape.queue(policy);
            CompletionWriter writer = queue.writer();
            for (int i = 0; i < n; i++) {
                assertTrue(Way.STAGE.put(writer, i, shape.stride()));
            }
            assertFalse(Way.STAGE.put(writer, n, shape.stride()));
            assertNull(writer.claim());
            assertTrue(queue.isEmpty());
            assertEquals(policy == OverrunPolicy.DROP_NEW ? 2 : 0, queue.lostEntries());
            assertEquals(n, writer.abort());
            assertNotNull(writer.claim());
        }
    }

    /** A producer exactly N ahead is no overrun, however often it happens; one entry more is exactly one. */
    @FieldBug(10)
    @Shape.Every
    void shouldNotSeeAnOverrunBeforeThereIsOne(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue(OverrunPolicy.ERROR);
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        long written = 0;
        for (int round = 0; round < 50; round++) {
            while (written - taker.next() < n) {
                assertTrue(Way.WRITE.publish(queue.writer(), written++, shape.stride()));
            }
            assertTrue(queue.poll(taker::onView, 1 + round % n) > 0);
        }
        assertEquals(0, queue.lostEntries());
        while (written - taker.next() < n) {
            assertTrue(Way.WRITE.publish(queue.writer(), written++, shape.stride()));
        }
        assertEquals(0, queue.lostEntries());
        assertFalse(Way.WRITE.publish(queue.writer(), written, shape.stride()));
        assertEquals(1, queue.lostEntries());
    }
}
