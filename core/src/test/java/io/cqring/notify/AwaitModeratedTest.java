package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A waiter that lets completions gather. Times are lower bounds only: how late a machine wakes a thread is not ours. */
@Timeout(120)
class AwaitModeratedTest {
    private final CompletionChannel channel = CompletionChannel.ofQueues(2);
    private final CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(16));

    private void write(int count) {
        for (int i = 0; i < count; i++) {
            assertTrue(queue.writer().write(0, i, 0, 0, 0));
        }
    }

    private Aside<Integer> waiter(Moderation moderation) {
        return Aside.call(() -> {
            assertTrue(channel.awaitModerated(queue, moderation, 1, DAYS));
            return queue.poll(entry -> {}, 16);
        });
    }

    private boolean lookNow(Moderation moderation) throws InterruptedException {
        return channel.awaitModerated(queue, moderation, 0, SECONDS);
    }

    @Test
    void shouldTakeAnyAtTheEndOfTheTime() throws InterruptedException {
        Moderation eight = Moderation.ofMicros(8, 0); // no period: fewer than 8 are not reported by themselves
        assertFalse(lookNow(eight));
        write(7);
        assertTrue(lookNow(eight));
        long start = System.nanoTime();
        assertTrue(channel.awaitModerated(queue, eight, 5, MILLISECONDS));
        assertTrue(System.nanoTime() - start >= 5_000_000, "seven are not eight");
        assertEquals(7, queue.poll(entry -> {}, 16));
        assertFalse(channel.awaitModerated(queue, eight, 1, NANOSECONDS));
    }

    @Test
    void shouldEndWithTheCount() throws Exception {
        for (TimerMode mode : TimerMode.values()) {
            for (int count : new int[] {1, 2, 8, 16, 65_535}) { // more than the ring: a full ring
                int enough = Math.min(count, 16);
                Aside<Integer> waiter = waiter(Moderation.ofMicros(count, 0, mode));
                for (int i = 1; i < enough; i++) {
                    waiter.untilItWaits();
                    write(1);
                }
                waiter.untilItWaits();
                assertEquals(enough - 1, queue.size());
                write(1);
                assertEquals(enough, waiter.result(), mode + " " + count);
                waiter.thread.join();
            }
            write(8);
            assertTrue(channel.awaitModerated(queue, Moderation.ofMicros(8, 0, mode), 1, DAYS), "there already");
            assertEquals(8, queue.poll(entry -> {}, 16));
            queue.releasePoller();
        }
    }

    @Test
    void shouldEndWithThePeriodFromTheFirstEntry() throws Exception {
        for (int count : new int[] {0, 8}) {
            for (TimerMode mode : TimerMode.values()) {
                Aside<Integer> waiter = waiter(Moderation.ofMicros(count, 4_000, mode));
                waiter.untilItWaits();
                long start = System.nanoTime();
                write(1);
                int taken = waiter.result();
                assertTrue(System.nanoTime() - start >= 4_000_000, "the period had not passed");
                assertEquals(1, taken, mode + " " + count);
                waiter.thread.join();
            }
        }
    }

    /** Ten entries, each before the period that the last one started is over. */
    @Test
    void shouldStartThePeriodAnewWithEachEntry() throws Exception {
        Moderation moderation = Moderation.ofMicros(0, 4_095, TimerMode.FROM_ENTRY);
        Aside<Integer> waiter = waiter(moderation);
        waiter.untilItWaits();
        long last = 0;
        for (int i = 0; i < 10; i++) {
            last = System.nanoTime();
            write(1);
            while (System.nanoTime() - last < 1_000_000) {
                Thread.onSpinWait();
            }
        }
        int taken = waiter.result();
        long end = System.nanoTime();
        if (taken == 10) { // else this thread was held up for longer than a period
            assertTrue(end - last >= 4_095_000, "it ended before a period after the last entry");
        } else {
            System.out.println("SKIPPED: the end of the last period, this thread was held up after " + taken);
        }
    }

    @Test
    void shouldEndWithTheQueueAndByAnInterrupt() throws Exception {
        Moderation eight = Moderation.ofMicros(8, 0, TimerMode.FROM_ENTRY);
        Aside<Integer> interrupted = waiter(eight).untilItWaits();
        write(3);
        interrupted.untilItWaits();
        interrupted.thread.interrupt();
        interrupted.failure(InterruptedException.class);
        interrupted.thread.join();
        Aside<Integer> waiter = waiter(eight).untilItWaits();
        queue.close();
        assertEquals(
                "completion queue is closed",
                waiter.failure(IllegalStateException.class).getMessage());
        assertThrows(NullPointerException.class, () -> channel.awaitModerated(queue, null, 1, SECONDS));
    }
}
