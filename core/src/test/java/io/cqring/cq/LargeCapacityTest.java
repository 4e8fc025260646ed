package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every capacity from 1 to the largest, which takes a gibibyte. */
class LargeCapacityTest {
    private static final int FILLED_UP_TO = 1 << 20;

    /** One region for all, dirty from the capacity before: each creation starts from rubbish. */
    @ParameterizedTest
    @CsvSource({"32, 16777216, 536871424", "64, 16777216, 1073742336", "128, 8388608, 1073742336"})
    void shouldWorkAtEveryCapacityUpToTheLargest(int stride, int largest, long bytes) {
        QueueMemory region = QueueMemory.allocate(bytes);
        for (int capacity = 1; capacity <= largest; capacity *= 2) {
            useOverOneLapBoundary(stride, capacity, region);
            if (capacity <= FILLED_UP_TO) {
                fillWhole(stride, capacity, region);
            }
        }
    }

    /** The last slot and the first, of this lap and the next. */
    private static void useOverOneLapBoundary(int stride, int capacity, QueueMemory region) {
        Shape shape = new Shape(stride, capacity, 7L * capacity - 1);
        CompletionQueue queue = shape.queue(OverrunPolicy.ERROR, region);
        InOrder taker = new InOrder(stride, Way.CLAIM, 0);
        assertEquals(0, queue.poll(taker::onView, 1));
        for (int i = 0; i < 3; i++) {
            assertTrue(Way.CLAIM.publish(queue.writer(), i, stride));
            int slot = shape.slot(shape.start() + i);
            int number = i;
            assertEquals(
                    i, region.getLong(slot + (stride == 32 ? 8 : 16)), () -> "entry " + number + " not in " + shape);
            assertEquals(1, queue.poll(taker::onView, 2), shape::toString);
            assertEquals(0, queue.poll(taker::onView, 2), shape::toString);
        }
        assertEquals(3, taker.next());
    }

    private static void fillWhole(int stride, int capacity, QueueMemory region) {
        CompletionQueue queue = new Shape(stride, capacity, capacity / 2).queue(OverrunPolicy.BACKPRESSURE, region);
        CompletionWriter writer = queue.writer();
        for (int lap = 0; lap < 2; lap++) {
            for (int i = 0; i < capacity; i++) {
                assertTrue(writer.write(0, i, 0, 0, 0));
            }
            assertFalse(writer.write(0, -1, 0, 0, 0));
            assertEquals(capacity, queue.size());
            long[] next = {0};
            assertEquals(
                    capacity,
                    queue.poll(
                            c -> {
                                if (c.workRequestId() != next[0]++) {
                                    throw new AssertionError("expected " + (next[0] - 1) + ": " + c);
                                }
                            },
                            Integer.MAX_VALUE));
        }
        assertEquals(0, queue.size());
    }

    /** Memory of its own, at the largest size. */
    @ParameterizedTest
    @CsvSource({"32, 16777216", "64, 16777216", "128, 8388608"})
    void shouldAllocateTheLargest(int stride, int largest) {
        CompletionQueue queue =
                new Shape(stride, largest, largest - 1).builder().create();
        InOrder taker = new InOrder(stride, Way.CLAIM, 0);
        assertEquals(0, queue.poll(taker::onView, 1));
        for (int i = 0; i < 2; i++) {
            assertTrue(Way.CLAIM.publish(queue.writer(), i, stride));
        }
        assertEquals(2, queue.poll(taker::onView, Integer.MAX_VALUE));
        assertEquals(largest, queue.remaining());
    }

    @ParameterizedTest
    @CsvSource({"32, 16777216", "64, 16777216", "128, 8388608"})
    void shouldRefuseOneStepAboveTheLargest(int stride, int largest) {
        for (int capacity = largest * 2; capacity > 0; capacity *= 2) {
            int tooLarge = capacity;
            assertEquals(
                    "capacity must be at most " + largest + " entries of " + stride + " bytes: " + tooLarge,
                    assertThrows(
                                    IllegalArgumentException.class,
                                    () -> CompletionQueue.ofCapacity(tooLarge)
                                            .strideBytes(stride)
                                            .create())
                            .getMessage());
        }
    }

    /** The largest region there is: two gibibytes less 256 bytes, filled to its last byte. */
    @Test
    void shouldFillTheLargestRegionToItsLastByte() {
        QueueMemory region = QueueMemory.allocate(2_147_483_392L);
        region.fill(0, region.sizeBytes(), (byte) 0x77);
        for (long offset = 0; offset < region.sizeBytes(); offset += 1 << 28) {
            assertEquals(0x7777_7777_7777_7777L, region.getLong(offset));
        }
        assertEquals(0x7777_7777_7777_7777L, region.getLong(region.sizeBytes() - 8));
    }
}
