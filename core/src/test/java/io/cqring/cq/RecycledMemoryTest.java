package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A queue made on memory that held something else starts empty. */
@Tag("bothroutes")
class RecycledMemoryTest {
    @FieldBug(3)
    @Shape.Every
    void shouldStartEmptyWhateverTheMemoryHeld(Shape shape) {
        int size = (int) shape.bytes();
        QueueMemory memory = QueueMemory.allocate(size);
        for (byte pattern : new byte[] {0, (byte) 0xFF, (byte) 0xAA, 0x55, 1}) {
            memory.fill(0, size, pattern);
            assertStartsEmptyAndWorks(shape, memory, "0x" + Integer.toHexString(pattern & 0xFF));
        }
        SplittableRandom random = new SplittableRandom(shape.hashCode());
        for (int round = 0; round < 5; round++) {
            byte[] bytes = new byte[size];
            random.nextBytes(bytes);
            memory.putBytes(0, bytes, 0, size);
            assertStartsEmptyAndWorks(shape, memory, "random " + round);
        }
    }

    /** An old ring, full, of either parity, at any place in its lap; also one that was dead and closed. */
    @FieldBug(3)
    @Shape.Every
    void shouldStartEmptyOnAnOldFullRingOfEitherParity(Shape shape) {
        int n = shape.capacity();
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        for (int oldStride : Shape.STRIDES) {
            if (oldStride > shape.stride()) {
                continue; // would not fit
            }
            for (long oldStart : new long[] {0, n, n / 2, n + n / 2, shape.start(), shape.start() + n}) {
                CompletionQueue old = new Shape(oldStride, n, oldStart).queue(OverrunPolicy.ERROR, memory);
                PollContractTest.write(old, Way.CLAIM, 5000, 5000 + n);
                old.writer().claim(); // and dead
                old.close(); // and closed
                assertStartsEmptyAndWorks(shape, memory, "old ring from " + oldStart + " of " + oldStride + " bytes");
            }
        }
    }

    private static void assertStartsEmptyAndWorks(Shape shape, QueueMemory memory, String held) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue(OverrunPolicy.ERROR, memory);
        assertEquals(0, queue.poll(c -> {}, Integer.MAX_VALUE), () -> "phantom entry, memory held " + held);
        assertNull(queue.peek());
        assertFalse(queue.startPoll());
        assertEquals(0, queue.size());
        assertEquals(0, queue.lostEntries());
        assertEquals(0, queue.writer().rejectedDoorbells());
        // N + 1 entries, looking before and after each: no later slot may show a phantom either.
        InOrder taker = new InOrder(shape.stride(), Way.CLAIM_BARE, 0);
        for (int i = 0; i < n + 1; i++) {
            assertEquals(0, queue.poll(taker::onView, n), held);
            assertTrue(Way.CLAIM_BARE.publish(queue.writer(), i, shape.stride()), held);
            assertEquals(1, queue.poll(taker::onView, n), held);
        }
        assertEquals(n + 1, taker.next());
        PollContractTest.write(queue, Way.CLAIM_BARE, n + 1, 2L * n + 1);
        assertEquals(n, queue.poll(taker::onView, n), held);
    }

    /** Disable and enable a thousand times, at any place: no index, phase or doorbell of the old life survives. */
    @FieldBug(4)
    @Test
    void shouldStartAnewAfterEveryRestart() {
        SplittableRandom random = new SplittableRandom(4);
        for (int stride : Shape.STRIDES) {
            int n = 8;
            QueueMemory memory = QueueMemory.allocate(384 + n * stride);
            for (int reset = 0; reset < 1000; reset++) {
                // Half of the time the same start again, as a driver does; else anywhere, odd laps included.
                long start = random.nextBoolean() ? 0 : random.nextInt(4 * n);
                Shape shape = new Shape(stride, n, start);
                CompletionQueue queue = shape.queue(OverrunPolicy.ERROR, memory);
                assertEquals(start, memory.getLong(Region.CONSUMER), "doorbell of the last life");
                assertEquals(start, memory.getLong(Region.PRODUCER));
                assertTrue(queue.isEmpty());
                long first = reset * 1000L;
                InOrder taker = new InOrder(stride, Way.WRITE, first);
                for (int i = 0; i < 2 * n; i++) {
                    assertEquals(0, queue.poll(taker::onView, n));
                    assertTrue(Way.WRITE.publish(queue.writer(), first + i, stride));
                    assertEquals(1, queue.poll(taker::onView, n), "no entry of the last life");
                }
                // Stop anywhere, with something unpolled.
                int more = random.nextInt(2 * n);
                for (int i = 0; i < more; i++) {
                    assertTrue(Way.WRITE.publish(queue.writer(), -1, stride));
                    queue.poll(c -> {}, 1);
                }
                for (int i = 0; i < 3; i++) {
                    assertTrue(Way.WRITE.publish(queue.writer(), -2, stride));
                }
                assertEquals(3, queue.size());
            }
        }
    }
}
