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
import io.cqring.cq.CqOverrunException;
import io.cqring.cq.OverrunPolicy;
import io.cqring.cq.SharedWriter;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One thread, many queues. */
@Timeout(180)
class ReadyQueuesTest {
    private static final long SEED = Long.getLong("cqring.seed", System.nanoTime());

    private final CompletionChannel channel = CompletionChannel.ofQueues(8);
    private final ReadyQueues ready = new ReadyQueues(channel);

    private CompletionQueue queue(int capacity) {
        CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(capacity));
        ready.add(queue);
        return queue;
    }

    private static void write(CompletionQueue queue, int count) {
        for (int i = 0; i < count; i++) {
            assertTrue(queue.writer().write(0, i, 0, 0, 0));
        }
    }

    private static int poll(CompletionQueue queue, int budget) {
        return queue.poll(entry -> {}, budget);
    }

    /** Whatever the budget, a loop that polls once per wake-up gets all, in steps of the budget, and then sleeps. */
    @Test
    @FieldBug(32)
    void shouldComeBackToWhatABudgetLeft() throws InterruptedException {
        final int most = 16;
        CompletionQueue queue = queue(2 * most);
        CompletionChannel alone = CompletionChannel.ofQueues(1);
        CompletionQueue awaited = alone.create(CompletionQueue.ofCapacity(2 * most));
        for (int budget = 1; budget <= most; budget++) {
            for (int backlog = 1; backlog <= 2 * most; backlog++) {
                for (int before = 0; before <= backlog; before += Math.max(1, backlog / 2)) {
                    String what = "budget " + budget + ", backlog " + backlog + ", of which before the arm " + before;
                    write(queue, before);
                    write(awaited, before);
                    if (before == 0) {
                        assertNull(ready.next(0, SECONDS), what); // armed
                        assertFalse(alone.await(awaited, 0, SECONDS), what);
                    }
                    write(queue, backlog - before);
                    write(awaited, backlog - before);
                    for (int left = backlog; left > 0; left -= budget) {
                        assertSame(queue, ready.next(0, SECONDS), what);
                        assertEquals(Math.min(budget, left), poll(queue, budget), what);
                        assertTrue(alone.await(awaited, 0, SECONDS), what);
                        assertEquals(Math.min(budget, left), poll(awaited, budget), what);
                    }
                    assertNull(ready.next(0, SECONDS), what);
                    assertFalse(alone.await(awaited, 0, SECONDS), what);
                }
            }
        }
    }

    @Test
    @FieldBug({31, 32})
    void shouldFindEntriesOfEveryQueueThatCameBetweenPollAndSleep() throws InterruptedException {
        CompletionQueue one = queue(32);
        CompletionQueue two = queue(32);
        assertNull(ready.next(0, SECONDS));
        write(one, 17);
        assertSame(one, ready.next(0, SECONDS));
        assertEquals(16, poll(one, 16));
        write(two, 1);
        assertSame(one, ready.next(0, SECONDS)); // one is left
        assertEquals(1, poll(one, 16));
        assertEquals(0, poll(one, 16));
        write(one, 1); // after the last poll, before it is armed
        assertSame(two, ready.next(0, SECONDS), "busy queues take turns");
        assertEquals(1, poll(two, 16));
        write(two, 1);
        assertSame(one, ready.next(0, SECONDS));
        assertEquals(1, poll(one, 16));
        assertSame(two, ready.next(0, SECONDS));
        assertEquals(1, poll(two, 16));
        assertNull(ready.next(0, SECONDS));
    }

    @Test
    void shouldSleepBesideAnOpenClaim() throws Exception {
        CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(8).writers(2));
        ready.add(queue);
        SharedWriter writer = queue.newWriter();
        assertTrue(writer.claim(1));
        assertFalse(queue.isEmpty());
        assertNull(ready.next(0, SECONDS));
        assertNull(ready.next(1, MILLISECONDS));
        writer.entry(0).header(0);
        writer.commit(1);
        assertSame(queue, ready.next(0, SECONDS));
    }

    @Test
    void shouldReportADeadQueueAndForgetAClosedOne() throws Exception {
        CompletionQueue dies = channel.create(CompletionQueue.ofCapacity(2).overrunPolicy(OverrunPolicy.ERROR));
        CompletionQueue closed = queue(2);
        CompletionQueue lives = queue(2);
        ready.add(dies);
        write(dies, 2);
        dies.writer().write(0, 1, 0, 0, 0);
        write(closed, 1);
        assertSame(closed, ready.next(0, SECONDS));
        assertSame(dies, ready.next(0, SECONDS));
        assertEquals(2, poll(dies, 2));
        closed.close();
        assertSame(dies, ready.next(0, SECONDS));
        assertThrows(CqOverrunException.class, () -> poll(dies, 2));
        dies.close();
        assertNull(ready.next(0, SECONDS));
        assertFalse(lives.isClosed());
        Aside<Void> waiter = Aside.call(() -> {
            lives.arm(ArmMode.NEXT);
            return null;
        });
        waiter.failure(IllegalStateException.class); // this thread polls it
        Aside<Void> stranger = Aside.call(() -> {
            write(lives, 1);
            return null;
        });
        stranger.result();
        Aside<CompletionQueue> other = Aside.call(() -> ready.next(0, SECONDS));
        other.failure(IllegalStateException.class);
        assertSame(lives, ready.next(0, SECONDS), "a call of a wrong thread loses nothing");
    }

    /** Bursts of 1 to 64 with gaps between them, over four queues; two threads write. */
    @Test
    void shouldLoseNothingInASoak() throws Exception {
        soak(SEED, true);
    }

    @Test
    void shouldLoseNothingInASoakOfOneThreadPerQueue() throws Exception {
        soak(SEED + 1, false);
    }

    private void soak(long seed, boolean together) throws Exception {
        final String repeat = "repeat with -Dcqring.seed=" + (together ? seed : seed - 1);
        final int each = 25_000;
        List<CompletionQueue> queues = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            queues.add(channel.create(CompletionQueue.ofCapacity(64).waitingWriters()));
        }
        List<Aside<Void>> writers = new ArrayList<>();
        for (int half = 0; half < 2; half++) {
            Random random = new Random(seed * 31 + half);
            List<CompletionQueue> mine = queues.subList(2 * half, 2 * half + 2);
            writers.add(Aside.call(() -> {
                int[] written = new int[2];
                while (written[0] != each || written[1] != each) {
                    int which = written[0] == each || (written[1] != each && random.nextBoolean()) ? 1 : 0;
                    int burst = Math.min(1 + random.nextInt(64), each - written[which]);
                    for (int i = 0; i < burst; i++) {
                        while (!mine.get(which).writer().write(0, written[which], 0, 0, 0)) {
                            assertTrue(mine.get(which).writer().awaitSpace(1, DAYS), repeat);
                        }
                        written[which]++;
                    }
                    for (int gap = random.nextInt(4) == 0 ? random.nextInt(20_000) : 0; gap > 0; gap--) {
                        Thread.onSpinWait();
                    }
                }
                return null;
            }));
        }
        if (together) {
            ReadyQueues soaked = new ReadyQueues(channel);
            queues.forEach(soaked::add);
            long[] next = new long[4];
            Random random = new Random(seed);
            for (int taken = 0; taken != 4 * each; ) {
                CompletionQueue queue = soaked.next(1, DAYS);
                if (queue == null) {
                    throw new AssertionError("nothing after " + taken + ", sizes "
                            + queues.stream().map(CompletionQueue::size).toList() + "; " + repeat);
                }
                int number = queues.indexOf(queue);
                taken += queue.poll(
                        entry -> assertEquals(next[number]++, entry.workRequestId(), repeat), 1 + random.nextInt(40));
            }
            assertNull(soaked.next(0, SECONDS), repeat);
        } else {
            List<Aside<Void>> pollers = new ArrayList<>();
            for (CompletionQueue queue : queues) {
                Random random = new Random(seed + queue.number());
                pollers.add(Aside.call(() -> {
                    long[] next = new long[1];
                    for (int taken = 0; taken != each; ) {
                        int wanted = Math.min(1 + random.nextInt(5), each - taken);
                        assertTrue(channel.awaitAtLeast(queue, wanted, 1, 1, DAYS), repeat);
                        int got = queue.poll(
                                entry -> assertEquals(next[0]++, entry.workRequestId(), repeat),
                                1 + random.nextInt(40));
                        assertTrue(got != 0, repeat);
                        taken += got;
                    }
                    return null;
                }));
            }
            for (Aside<Void> poller : pollers) {
                poller.result();
            }
        }
        for (Aside<Void> writer : writers) {
            writer.result();
        }
        assertTrue(channel.events() <= 4L * each, repeat);
    }
}
