package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sleeping until there is a completion. */
@Timeout(60)
class CompletionChannelTest {
    private final CompletionChannel channel = CompletionChannel.ofQueues(4);

    private CompletionQueue queue(int capacity) {
        return channel.create(CompletionQueue.ofCapacity(capacity));
    }

    private static void write(CompletionQueue queue, long id) {
        assertTrue(queue.writer().write(0, id, 0, 0, 0));
    }

    @Test
    void shouldFindWhatIsThereWithoutWaiting() throws InterruptedException {
        CompletionQueue queue = queue(8);
        assertFalse(channel.await(queue, 0, SECONDS));
        write(queue, 7);
        assertTrue(channel.await(queue, 0, SECONDS));
        long[] got = new long[1];
        assertEquals(1, queue.poll(entry -> got[0] = entry.workRequestId(), 8));
        assertEquals(7, got[0]);
        assertFalse(channel.await(queue, 0, SECONDS));
    }

    /** A queue with something in it is not armed: its writer has no event to raise for what is about to be polled. */
    @Test
    void shouldNotAskForAnEventOfWhatIsThere() throws InterruptedException {
        CompletionQueue queue = queue(8);
        write(queue, 7);
        assertTrue(channel.await(queue, 0, SECONDS));
        write(queue, 8);
        assertEquals(0, queue.events());
        assertEquals(2, queue.poll(entry -> {}, 8));
        assertFalse(channel.await(queue, 0, SECONDS), "and now it is armed");
        write(queue, 9);
        assertEquals(1, queue.events());
        assertTrue(channel.await(queue, 0, SECONDS));
    }

    @Test
    void shouldGiveOneEventForOneArm() throws InterruptedException {
        CompletionQueue one = queue(8);
        CompletionQueue two = queue(8);
        assertNull(channel.getEvent(0, SECONDS));
        assertFalse(one.arm(ArmMode.NEXT));
        assertFalse(two.arm(ArmMode.NEXT));
        write(two, 1);
        write(two, 2);
        assertSame(two, channel.getEvent(10, SECONDS));
        assertNull(channel.getEvent(0, SECONDS));
        assertEquals(1, channel.unacknowledged(two));
        assertEquals(
                "events to acknowledge must be 0 to 1: 2",
                assertThrows(IllegalArgumentException.class, () -> channel.ack(two, 2))
                        .getMessage());
        assertFalse(channel.destroy(two, 1, MILLISECONDS));
        channel.ack(two, 1);
        assertTrue(channel.destroy(two, 0, MILLISECONDS));
        write(one, 3);
        assertSame(one, channel.getEvent(10, SECONDS));
    }

    /** A hundred thousand times to sleep and back: one entry each way. */
    @Test
    void shouldNeverSleepBesideAnEntry() throws Exception {
        final int rounds = 50_000;
        CompletionChannel back = CompletionChannel.ofQueues(1);
        CompletionQueue there = queue(2);
        CompletionQueue here = back.create(CompletionQueue.ofCapacity(2));
        AtomicReference<Throwable> failed = new AtomicReference<>();
        Thread echo = new Thread(() -> {
            try {
                for (int i = 0; i < rounds; i++) {
                    assertTrue(channel.await(there, 1, DAYS), "there " + i);
                    assertEquals(1, there.poll(entry -> {}, 2));
                    write(here, i);
                }
            } catch (Throwable e) {
                failed.set(e);
            }
        });
        echo.start();
        for (int i = 0; i < rounds; i++) {
            write(there, i);
            assertTrue(back.await(here, 1, DAYS), "here " + i + ": " + failed.get());
            assertEquals(1, here.poll(entry -> {}, 2));
        }
        echo.join();
        assertNull(failed.get());
    }
}
