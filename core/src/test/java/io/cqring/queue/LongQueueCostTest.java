package io.cqring.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.AccessRoute;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.lang.management.ManagementFactory;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.openjdk.jol.info.ClassLayout;
import org.openjdk.jol.info.FieldLayout;

/** What LongQueue allocates, and what shares a cache line with it. */
class LongQueueCostTest {
    /** Bytes allocated by this thread over many calls, once the JVM is warm: fewer than one per call. */
    @Test
    void shouldAllocateNothing() {
        assertEquals(AccessRoute.UNSAFE, QueueMemory.route(), "what is promised was measured on the fast route");
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        LongQueue queue = LongQueue.ofCapacity(8);
        long[] sum = {0};
        LongConsumer consumer = value -> sum[0] += value;
        LongSupplier supplier = () -> sum[0];
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 20 && least != 0; round++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < 10_000; i++) {
                queue.offer(i);
                queue.peek(-1);
                queue.poll(-1);
                queue.fill(supplier, 5);
                queue.drain(consumer, 5);
            }
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertTrue(least < 10_000, "bytes per 50,000 calls: " + least);
    }

    /** The one field that a drain stores lies 128 bytes from everything else, on both sides. */
    @FieldBug(102)
    @Test
    void shouldKeepWhatADrainStoresOnLinesOfItsOwn() {
        ClassLayout layout = ClassLayout.parseClass(DrainTarget.class);
        FieldLayout field = layout.fields().stream()
                .filter(f -> f.name().equals("consumer"))
                .findFirst()
                .orElseThrow();
        assertTrue(field.offset() >= 128, () -> "" + layout.toPrintable());
        assertTrue(layout.instanceSize() - field.offset() - field.size() >= 128, () -> "" + layout.toPrintable());
    }
}
