package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.SharedWriter;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Several threads that wait on one channel, and for one queue. */
@Timeout(180)
class ManyWaitersTest {
    private final CompletionChannel channel = CompletionChannel.ofQueues(8);

    private CompletionQueue queue(int capacity) {
        return channel.create(CompletionQueue.ofCapacity(capacity));
    }

    private static void write(CompletionQueue queue) {
        assertTrue(queue.writer().write(0, 1, 0, 0, 0));
    }

    @Test
    void shouldGiveEachEventToOneWaiter() throws Exception {
        List<CompletionQueue> queues = new ArrayList<>();
        List<Aside<CompletionQueue>> waiters = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            CompletionQueue queue = queue(2);
            assertFalse(queue.arm(ArmMode.NEXT));
            queues.add(queue);
            waiters.add(Aside.call(() -> channel.getEvent(1, DAYS)).untilItWaits());
        }
        queues.forEach(ManyWaitersTest::write);
        Set<CompletionQueue> got = ConcurrentHashMap.newKeySet();
        for (Aside<CompletionQueue> waiter : waiters) {
            CompletionQueue queue = waiter.result();
            assertTrue(got.add(queue), "twice");
            assertEquals(1, channel.unacknowledged(queue));
        }
        assertEquals(Set.copyOf(queues), got);
        assertNull(channel.getEvent(0, SECONDS));
        assertEquals(8, channel.events());
        assertEquals(0, channel.spuriousEvents());
        assertTrue(channel.interrupts() <= 8, () -> channel.interrupts() + " interrupts for 8 events");
    }

    /** Neither of two pollers polls before both are awake: so whoever is woken first must wake the other. */
    @Test
    void shouldPassTheWakeUpOnIfEntriesAreLeft() throws Exception {
        for (int round = 0; round < 500; round++) {
            CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(8).sharedPollers());
            CountDownLatch awake = new CountDownLatch(3);
            List<Aside<Integer>> pollers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                pollers.add(Aside.call(() -> {
                    CompletionPoller poller = queue.newPoller(1);
                    assertTrue(channel.await(poller, 1, DAYS));
                    awake.countDown();
                    awake.await();
                    return poller.poll(entry -> {}, 1);
                }));
            }
            pollers.forEach(Aside::untilItWaits);
            for (int i = 0; i < 3; i++) {
                assertTrue(queue.writer().stage(0, i, 0, 0, 0));
            }
            assertEquals(3, queue.writer().flush()); // one event
            for (Aside<Integer> poller : pollers) {
                assertEquals(1, poller.result(), "round " + round);
            }
            assertTrue(channel.destroy(queue, 0, SECONDS));
        }
    }

    /** The first holder of a wake-up is interrupted or times out at about the moment it comes; another waits for the same queue. */
    @Test
    @FieldBug(43)
    void shouldLoseNoWakeUpOfOneThatStopsWaiting() throws Exception {
        Random random = new Random(43);
        CompletionQueue other = queue(2);
        Aside<Boolean> watcher = Aside.call(() -> channel.await(other, 1, DAYS)).untilItWaits();
        for (int round = 0; round < 2_000; round++) {
            if (round == 1_000) { // from now on it is the two themselves who watch
                write(other);
                assertTrue(watcher.result());
            }
            String what = "round " + round;
            CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(8).sharedPollers());
            boolean byTime = random.nextBoolean();
            long nanos = byTime ? 1 + random.nextInt(150_000) : DAYS.toNanos(1);
            Aside<Boolean> stops = Aside.call(() -> {
                try {
                    return channel.await(queue.newPoller(), nanos, NANOSECONDS);
                } catch (InterruptedException e) {
                    return false;
                }
            });
            Aside<Boolean> stays = Aside.call(() -> channel.await(queue.newPoller(), 1, DAYS));
            if (random.nextBoolean()) {
                stays.untilItWaits();
            }
            boolean before = random.nextBoolean();
            if (!byTime && before) {
                stops.thread.interrupt();
            }
            write(queue);
            if (!byTime && !before) {
                stops.thread.interrupt();
            }
            if (stops.result()) { // it took the event, and there is one entry: that it would poll
                write(queue);
            }
            assertTrue(stays.result(), what);
            stays.thread.join();
            stops.thread.join();
            assertTrue(channel.destroy(queue, 0, SECONDS));
        }
    }

    @Test
    @FieldBug(43)
    void shouldFindAtOnceWhatCameAsTimeRanOut() throws Exception {
        CompletionQueue queue = queue(4);
        Random random = new Random(316);
        for (int round = 0; round < 3_000; round++) {
            long nanos = 1L + random.nextInt(60_000);
            CountDownLatch ready = new CountDownLatch(1);
            Aside<Void> writer = Aside.call(() -> {
                ready.await();
                for (int i = nanos < 30_000 ? 0 : 500; i != 0; i--) {
                    Thread.onSpinWait();
                }
                write(queue);
                return null;
            });
            ready.countDown();
            if (!channel.await(queue, nanos, NANOSECONDS)) {
                writer.result();
                assertTrue(channel.await(queue, 0, SECONDS), "round " + round);
            }
            writer.result();
            writer.thread.join(); // with it ends its role
            assertEquals(1, queue.poll(entry -> {}, 4));
            assertFalse(channel.await(queue, 0, SECONDS));
        }
    }

    /** Four writers, four pollers that sleep, claims of different sizes. */
    @Test
    @FieldBug(36)
    void shouldLoseNothingBetweenPollersThatSleep() throws Exception {
        final int each = 25_000;
        CompletionQueue queue = channel.create(
                CompletionQueue.ofCapacity(64).writers(4).sharedPollers().waitingWriters());
        AtomicIntegerArray seen = new AtomicIntegerArray(4 * each);
        AtomicLong taken = new AtomicLong();
        List<Aside<Void>> threads = new ArrayList<>();
        for (int batch : new int[] {1, 2, 7, 64}) {
            threads.add(Aside.call(() -> {
                CompletionPoller poller = queue.newPoller(batch);
                while (taken.get() != 4L * each) {
                    assertTrue(channel.await(poller, 1, DAYS)); // one that lasts beside an entry: the test hangs
                    taken.addAndGet(poller.poll(entry -> seen.incrementAndGet((int) entry.workRequestId()), batch));
                }
                channel.close(); // for the others
                return null;
            }));
        }
        List<Aside<Void>> writers = new ArrayList<>();
        for (int number = 0; number < 4; number++) {
            int from = number * each;
            writers.add(Aside.call(() -> {
                try (SharedWriter writer = queue.newWriter()) {
                    for (int i = 0; i < each; i++) {
                        while (!writer.write(0, from + i, 0, 0, 0)) {
                            writer.awaitSpace(1, 1, DAYS);
                        }
                    }
                }
                return null;
            }));
        }
        for (Aside<Void> writer : writers) {
            writer.result();
        }
        for (Aside<Void> poller : threads) {
            try {
                poller.result();
            } catch (ExecutionException e) {
                assertEquals("completion channel is closed", e.getCause().getMessage(), () -> "" + e);
            }
        }
        for (int i = 0; i < 4 * each; i++) {
            assertEquals(1, seen.get(i), "entry " + i);
        }
    }

    /** Writers that block when the ring is full, a poller that blocks when it is empty. */
    @Test
    @FieldBug(41)
    void shouldNotWaitForEachOther() throws Exception {
        final int each = 300_000 / 3 / 8;
        for (int capacity : new int[] {1, 2, 4}) {
            CompletionQueue queue = channel.create(
                    CompletionQueue.ofCapacity(capacity).writers(8).waitingWriters());
            List<Aside<Void>> writers = new ArrayList<>();
            for (int number = 0; number < 8; number++) {
                writers.add(Aside.call(() -> {
                    try (SharedWriter writer = queue.newWriter()) {
                        for (int i = 0; i < each; i++) {
                            while (!writer.write(0, i, 0, 0, 0)) {
                                assertTrue(writer.awaitSpace(1, 1, DAYS), "no space");
                            }
                        }
                    }
                    return null;
                }));
            }
            long[] sum = new long[1];
            int taken = 0;
            while (taken != 8 * each) {
                boolean ready = channel.await(queue, 1, DAYS);
                int now = queue.poll(entry -> sum[0] += entry.workRequestId(), capacity);
                assertTrue(ready || now != 0, "nothing after " + taken);
                taken += now;
            }
            assertEquals(8L * each * (each - 1) / 2, sum[0]);
            for (Aside<Void> writer : writers) {
                writer.result();
            }
            queue.close();
        }
    }

    @Test
    void shouldKeepAnEventOfOneThatTimedOutForTheNext() throws Exception {
        CompletionQueue queue = queue(4);
        assertFalse(channel.await(queue, 1, MILLISECONDS)); // leaves the queue armed
        write(queue);
        assertNotNull(channel.getEvent(0, SECONDS));
        channel.ack(queue, 1);
    }
}
