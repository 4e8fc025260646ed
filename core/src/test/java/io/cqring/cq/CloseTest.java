package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.Threads;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Use after close is an exception, never corruption. */
@Tag("bothroutes")
class CloseTest {
    private static void assertClosed(CompletionQueue queue) {
        CompletionWriter writer = queue.writer();
        List<Executable> calls = List.of(
                () -> queue.poll(c -> {}, 1),
                () -> queue.poll(c -> {}, 0),
                () -> queue.poll(c -> {}, -1),
                () -> queue.pollInto(Polling.completions(queue.capacity()), 1),
                queue::startPoll,
                queue::next,
                queue::endPoll,
                queue::peek,
                () -> writer.write(0, 0, 0, 0, 0),
                () -> writer.write(0, 0, 0, 0, 0, 0, 0, 0),
                () -> writer.stage(0, 0, 0, 0, 0),
                writer::claim,
                writer::flush,
                writer::abort);
        for (Executable call : calls) {
            assertEquals(
                    "completion queue is closed",
                    assertThrows(IllegalStateException.class, call).getMessage());
        }
    }

    @Shape.EveryWithPolicy
    void shouldRefuseEveryCallAfterClose(Shape shape, OverrunPolicy policy) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(policy, memory);
        PollContractTest.write(queue, Way.WRITE, 0, 1);
        Way.STAGE.put(queue.writer(), 1, shape.stride());
        byte[] before = slots(shape, memory);
        queue.close();
        queue.close();
        assertClosed(queue);
        assertEquals(List.of(1, shape.capacity() - 1), List.of(queue.size(), queue.remaining()), "still told");
        assertArrayEquals(before, slots(shape, memory), "nothing is written any more");
        queue.releasePoller();
        queue.writer().release();
    }

    private static byte[] slots(Shape shape, QueueMemory memory) {
        byte[] bytes = new byte[shape.capacity() * shape.stride()];
        memory.getBytes(Region.SLOTS, bytes, 0, bytes.length);
        return bytes;
    }

    @Test
    void shouldCloseAsAResource() {
        CompletionQueue queue = new Shape(64, 4, 0).queue();
        try (queue) {
            assertTrue(queue.isEmpty());
        }
        assertClosed(queue);
    }

    /** A call under way finishes: close from its own handler, everything else of the call goes on. */
    @Shape.Every
    void shouldFinishTheCallUnderWay(Shape shape) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        PollContractTest.write(queue, Way.WRITE, 0, shape.capacity());
        Polling.InOrder taker = new Polling.InOrder(shape.stride(), Way.WRITE, 0);
        assertEquals(
                shape.capacity(),
                queue.poll(
                        c -> {
                            queue.close();
                            assertThrows(IllegalStateException.class, queue::peek);
                            taker.onView(c); // the call under way keeps its view
                        },
                        shape.capacity()));
        assertEquals(shape.capacity(), taker.next());
        assertEquals(shape.start() + shape.capacity(), memory.getLong(Region.CONSUMER));
        assertClosed(queue);
    }

    @Test
    void shouldStopBothEndsWhenAThirdThreadCloses() {
        for (int round = 0; round < 50; round++) {
            CompletionQueue queue = new Shape(64, 8, 0).queue();
            AtomicBoolean moving = new AtomicBoolean();
            Threads.run(
                    spin -> {
                        for (long n = 0; ; ) {
                            try {
                                if (Way.WRITE.publish(queue.writer(), n, 64)) {
                                    n++;
                                } else {
                                    spin.once();
                                }
                            } catch (IllegalStateException e) {
                                assertEquals("completion queue is closed", e.getMessage());
                                return;
                            }
                        }
                    },
                    spin -> {
                        Polling.InOrder taker = new Polling.InOrder(64, Way.WRITE, 0);
                        while (true) {
                            try {
                                if (queue.poll(taker::onView, 8) == 0) {
                                    spin.once();
                                }
                                moving.set(true);
                            } catch (IllegalStateException e) {
                                assertEquals("completion queue is closed", e.getMessage());
                                return;
                            }
                        }
                    },
                    spin -> {
                        while (!moving.get()) {
                            spin.once();
                        }
                        queue.close();
                    });
            assertClosed(queue);
        }
    }
}
