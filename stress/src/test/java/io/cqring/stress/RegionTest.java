package io.cqring.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.OverrunPolicy;
import io.cqring.cq.SharedWriter;
import io.cqring.memory.QueueMemory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The offsets that twins and hand-written ends use are those of a shipped queue. */
class RegionTest {
    private static final int NUMBER = 5;

    @ParameterizedTest
    @ValueSource(ints = {32, 64, 128})
    void shouldFindEveryWordWhereTheShippedQueuePutsIt(int strideBytes) {
        QueueMemory memory = QueueMemory.allocate(Slices.BYTES);
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .strideBytes(strideBytes)
                .overrunPolicy(OverrunPolicy.ERROR)
                .memory(memory)
                .create();
        assertNotEquals(0, memory.getLong(Region.MAGIC));
        assertEquals(2, memory.getLong(Region.HEADER_CAPACITY));
        Entry.write(queue.writer(), NUMBER, strideBytes);
        Entry.write(queue.writer(), NUMBER + 1, strideBytes);
        assertEquals(Entry.header(NUMBER) | 1, memory.getLong(Region.slot(0, strideBytes)));
        assertEquals(Entry.header(NUMBER + 1) | 1, memory.getLong(Region.slot(1, strideBytes)));
        assertEquals(2, memory.getLong(Region.PRODUCER_SEQUENCE));

        assertEquals(1, queue.poll(ignored -> {}, 1));
        assertEquals(1, memory.getLong(Region.CONSUMER_SEQUENCE));

        Entry.write(queue.writer(), NUMBER + 2, strideBytes);
        assertEquals(0, memory.getLong(Region.DEAD));
        Entry.write(queue.writer(), NUMBER + 3, strideBytes);
        assertEquals(1, memory.getLong(Region.DEAD));

        assertEquals(0, memory.getLong(Region.CLOSED));
        queue.close();
        assertEquals(1, memory.getLong(Region.CLOSED));
    }

    @Test
    void shouldHoldTheLargestQueueThatATestMakes() {
        assertEquals(Slices.BYTES, CompletionQueue.requiredBytes(2, 128, 3));
    }

    @Test
    void shouldFindTheRowsWhereTheShippedQueuePutsThem() {
        QueueMemory memory = QueueMemory.allocate(Slices.BYTES);
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .startSequence(7)
                .writers(3)
                .memory(memory)
                .create();
        SharedWriter first = queue.newWriter();
        SharedWriter second = queue.newWriter();
        assertTrue(second.claim(2));
        assertEquals(7, memory.getLong(Region.row(1) + Region.ROW_FIRST));
        assertEquals(2, memory.getLong(Region.row(1) + Region.ROW_COUNT));
        assertEquals(2, second.abandon());
        assertEquals(1, memory.getLong(Region.GIVE_BACKS));
        assertTrue(first.write(Entry.header(NUMBER), 0, 0, 0, 0));
        assertEquals(7, memory.getLong(Region.row(0) + Region.ROW_FIRST));
        assertEquals(1, memory.getLong(Region.row(0) + Region.ROW_COUNT));
        assertEquals(Entry.header(NUMBER), memory.getLong(Region.FIRST_SLOT + 3 * 128 + 64) & ~1);
    }
}
