package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** A poller of many allocates nothing per call, interpreted or compiled. */
class SharedPollerAllocationTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int LAPS = 2_000;
    private static final int ROUNDS = 5;

    private long sum;
    private byte[] garbage = {};

    private final CompletionQueue queue =
            CompletionQueue.ofCapacity(64).sharedPollers().create();
    private final CompletionPoller poller = queue.newPoller();
    private final WorkCompletion[] into = Polling.completions(64);
    private final CompletionHandler handler = completion -> sum += completion.workRequestId();

    /** The least of a few measurements: what the JVM allocates once, as it links and compiles, is not the poller's. */
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

    private void fill() {
        for (int i = 0; i < 64; i++) {
            queue.writer().write(0, 1, 0, 0, 0);
        }
    }

    private void showAll() {
        if (poller.startPoll()) {
            do {
                handler.onCompletion(poller.completion());
            } while (poller.next());
            poller.endPoll();
        }
    }

    @Test
    void shouldAllocateNothing() {
        assertNothing(() -> {
            fill();
            poller.poll(handler, 64);
        });
        assertNothing(() -> {
            fill();
            poller.pollInto(into, 64);
        });
        assertNothing(() -> {
            fill();
            showAll();
        });
        assertEquals(2L * 64 * LAPS * ROUNDS, sum); // pollInto adds nothing
    }

    private static void assertNothing(Runnable lap) {
        long bytes = bytesOf(lap);
        assertTrue(bytes < LAPS, () -> "bytes in " + LAPS + " laps: " + bytes);
    }

    /** The measure sees 16 bytes a lap. */
    @Test
    void theMeasureSeesAllocation() {
        assertTrue(bytesOf(() -> garbage = new byte[garbage.length == 0 ? 1 : 0]) >= 16L * LAPS);
    }
}
