package io.cqring.eq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** Posting, polling, arming and raising allocate nothing, interpreted or compiled. */
class EventAllocationTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int LAPS = 2_000;
    private static final int ROUNDS = 5;

    private long sum;
    private byte[] garbage = {};

    private final EventQueue queue = EventQueue.builder(16).create();
    private final EventHandler handler = (type, number, subType, syndrome, detail) -> sum += type.code() + detail;

    /** The least of a few measurements: what the JVM allocates once, as it links and compiles, is not ours. */
    private static long bytesOf(Runnable lap) {
        long least = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < LAPS; i++) {
                lap.run();
            }
            least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
        }
        return least;
    }

    private void lap() {
        for (int i = 0; i < 17; i++) { // the last one is lost
            queue.writer().post(EventType.CQ_ERROR, 7, 0, 1, 1);
        }
        queue.poll(handler, 128);
        if (!queue.takeOverrun()) {
            throw new AssertionError("not lost");
        }
        queue.arm();
    }

    @Test
    void shouldAllocateNothing() {
        long bytes = bytesOf(this::lap);
        assertTrue(bytes < LAPS, () -> "bytes in " + LAPS + " laps: " + bytes);
        assertEquals(16L * LAPS * ROUNDS * (4 + 1), sum);
        // Per lap one raise for the lost event, and one for the arming before; the first lap was not armed.
        assertEquals(2L * LAPS * ROUNDS - 1, queue.interrupt().count());
    }

    /** The measure sees 16 bytes a lap. */
    @Test
    void theMeasureSeesAllocation() {
        assertTrue(bytesOf(() -> garbage = new byte[garbage.length == 0 ? 1 : 0]) >= 16L * LAPS);
    }
}
