package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;
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
import io.cqring.eq.EventQueue;
import io.cqring.testing.FieldBug;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** What each call of a channel promises, and what it refuses. */
@Timeout(180)
class ChannelContractTest {
    private final CompletionChannel channel = CompletionChannel.ofQueues(4);

    private CompletionQueue queue() {
        return channel.create(CompletionQueue.ofCapacity(8));
    }

    private static void write(CompletionQueue queue) {
        assertTrue(queue.writer().write(0, 1, 0, 0, 0));
    }

    private static int drain(CompletionQueue queue) {
        return queue.poll(entry -> {}, 64);
    }

    private static void assertRefused(Class<? extends Exception> type, String message, Executable call) {
        assertEquals(message, assertThrows(type, call).getMessage());
    }

    // ---- Queues

    @Test
    void shouldRefuseNumbersOfQueuesThatBreakTheRule() {
        assertRefused(
                IllegalArgumentException.class, "queues must be 1 to 4194304: 0", () -> CompletionChannel.ofQueues(0));
        assertRefused(
                IllegalArgumentException.class,
                "queues must be 1 to 4194304: 4194305",
                () -> CompletionChannel.ofQueues(4194305));
        assertThrows(NullPointerException.class, () -> CompletionChannel.ofQueues(1, null));
    }

    @Test
    void shouldGiveNumbersAndUseThemAgain() throws InterruptedException {
        CompletionChannel two = CompletionChannel.ofQueues(2);
        CompletionQueue first = two.create(CompletionQueue.ofCapacity(2));
        CompletionQueue second = two.create(CompletionQueue.ofCapacity(2));
        assertEquals(0, first.number());
        assertEquals(1, second.number());
        assertRefused(
                IllegalStateException.class,
                "completion channel has its 2 queues",
                () -> two.create(CompletionQueue.ofCapacity(2)));
        assertTrue(two.destroy(first, 0, SECONDS));
        assertTrue(first.isClosed());
        assertThrows(IllegalArgumentException.class, () -> two.create(CompletionQueue.ofCapacity(3)));
        CompletionQueue third = two.create(CompletionQueue.ofCapacity(2)); // the number is not lost by the failure
        assertEquals(0, third.number());
        for (Executable call : List.<Executable>of(
                () -> two.destroy(first, 0, SECONDS),
                () -> two.ack(first, 0),
                () -> two.unacknowledged(first),
                () -> two.await(first, 0, SECONDS),
                () -> two.awaitAtLeast(first, 1, 0, 0, SECONDS),
                () -> two.await(queue(), 0, SECONDS))) {
            assertRefused(
                    IllegalArgumentException.class,
                    "completion queue is not one of this channel, or was destroyed",
                    call);
        }
        // An event of the first that comes late is not one of the third.
        assertFalse(third.arm(ArmMode.NEXT));
        two.raise(first);
        assertNull(two.getEvent(0, SECONDS));
        assertEquals(1, two.spuriousEvents());
        write(third);
        assertSame(third, two.getEvent(0, SECONDS));
        assertEquals(1, two.events());
        assertRefused(
                IllegalArgumentException.class,
                "completion queue was made without events, so it has none to raise",
                () -> two.raise(CompletionQueue.ofCapacity(2).create()));
    }

    @Test
    void shouldRefuseTimesAndCountsThatBreakTheRule() {
        CompletionQueue queue = queue();
        for (Executable call : List.<Executable>of(
                () -> channel.await(queue, -1, SECONDS),
                () -> channel.getEvent(-1, SECONDS),
                () -> channel.destroy(queue, -1, SECONDS),
                () -> channel.awaitAtLeast(queue, 1, -1, 5, SECONDS),
                () -> channel.awaitAtLeast(queue, 1, 0, -1, SECONDS),
                () -> channel.awaitModerated(queue, Moderation.OFF, -1, SECONDS),
                () -> new ReadyQueues(channel).next(-1, DAYS))) {
            assertRefused(IllegalArgumentException.class, "time to wait must be 0 or more: -1", call);
        }
        for (int count : new int[] {0, 9}) {
            for (int min : new int[] {0, 1}) {
                assertRefused(
                        IllegalArgumentException.class,
                        "completions to wait for must be 1 to 8: " + count,
                        () -> channel.awaitAtLeast(queue, count, min, 1, SECONDS));
            }
        }
        assertFalse(queue.isClosed());
    }

    @Test
    void shouldReportLossesToTheAsynchronousQueue() throws InterruptedException {
        EventQueue asynchronous = EventQueue.builder(8).create();
        CompletionChannel channel = CompletionChannel.ofQueues(2, asynchronous.writer());
        channel.create(CompletionQueue.ofCapacity(2));
        CompletionQueue dies = channel.create(CompletionQueue.ofCapacity(2).overrunPolicy(OverrunPolicy.ERROR));
        write(dies);
        write(dies);
        dies.writer().write(0, 1, 0, 0, 0); // the overrun
        List<String> posted = new ArrayList<>();
        asynchronous.poll(
                (type, number, subType, syndrome, detail) ->
                        posted.add(type + " of " + number + ", " + syndrome + ", " + detail),
                8);
        assertEquals(List.of("CQ_ERROR of 1, 1, 1"), posted);
        assertTrue(channel.await(dies, 0, SECONDS));
        assertEquals(2, dies.poll(entry -> {}, 2));
        assertTrue(channel.await(dies, 60, SECONDS), "a poll says that it is dead");
        assertThrows(CqOverrunException.class, () -> dies.poll(entry -> {}, 1));
    }

    @Test
    void shouldWakeByADeviceThatAnswersTheArm() throws Exception {
        CompletionQueue ofDevice = channel.createForDevice(CompletionQueue.ofCapacity(8));
        Aside<Boolean> waiter =
                Aside.call(() -> channel.await(ofDevice, 1, DAYS)).untilItWaits();
        write(ofDevice);
        assertEquals(0, ofDevice.events());
        assertTrue(ofDevice.writer().answerArm());
        assertFalse(ofDevice.writer().answerArm());
        channel.raise(ofDevice);
        channel.raise(ofDevice); // one too many wakes nobody
        assertTrue(waiter.result());
        assertNull(channel.getEvent(0, SECONDS));
        assertEquals(1, channel.events());
        assertEquals(1, channel.spuriousEvents());
    }

    // ---- Close and destroy wake those who wait

    @Test
    void shouldWakeEveryWaiterByClose() throws Exception {
        CompletionQueue one = queue();
        CompletionQueue shared = channel.create(CompletionQueue.ofCapacity(8).sharedPollers());
        CompletionQueue owed = queue();
        assertFalse(owed.arm(ArmMode.NEXT));
        write(owed);
        assertSame(owed, channel.getEvent(0, SECONDS));
        List<Aside<?>> waiters = List.of(
                Aside.call(() -> channel.await(one, Long.MAX_VALUE, DAYS)),
                Aside.call(() -> channel.getEvent(Long.MAX_VALUE, DAYS)),
                Aside.call(() -> channel.getEvent(1, DAYS)),
                Aside.call(() -> channel.await(shared.newPoller(), 1, DAYS)),
                Aside.call(() -> channel.await(shared.newPoller(), 1, DAYS)));
        Aside<Boolean> destroyer = Aside.call(() -> channel.destroy(owed, 1, DAYS));
        waiters.forEach(Aside::untilItWaits);
        destroyer.untilItWaits();
        channel.close();
        for (Aside<?> waiter : waiters) {
            assertEquals(
                    "completion channel is closed",
                    waiter.failure(IllegalStateException.class).getMessage());
        }
        assertEquals(
                "completion channel is closed; events of the queue that are not acknowledged: 1",
                destroyer.failure(IllegalStateException.class).getMessage());
        channel.ack(owed, 1);
        assertTrue(channel.destroy(owed, 0, SECONDS));
        assertTrue(channel.isClosed());
        channel.close();
        for (Executable call : List.<Executable>of(
                () -> channel.getEvent(0, SECONDS),
                () -> channel.await(one, 0, SECONDS),
                () -> channel.create(CompletionQueue.ofCapacity(8)),
                channel::selectable,
                () -> new ReadyQueues(channel).next(0, SECONDS))) {
            assertRefused(IllegalStateException.class, "completion channel is closed", call);
        }
        write(one); // the queues live on
        assertEquals(1, drain(one));
    }

    @Test
    void shouldWakeThoseWhoWaitForAQueueThatIsClosedOrDestroyed() throws Exception {
        CompletionQueue closed = queue();
        CompletionQueue destroyed = queue();
        CompletionQueue ofDevice = channel.createForDevice(CompletionQueue.ofCapacity(8));
        List<Aside<Boolean>> waiters = new ArrayList<>();
        for (CompletionQueue queue : List.of(ofDevice, closed, destroyed)) { // the first watches
            waiters.add(Aside.call(() -> channel.await(queue, 1, DAYS)).untilItWaits());
        }
        closed.close();
        assertTrue(channel.destroy(destroyed, 0, SECONDS));
        assertTrue(channel.destroy(ofDevice, 0, SECONDS));
        for (Aside<Boolean> waiter : waiters) {
            assertEquals(
                    "completion queue is closed",
                    waiter.failure(IllegalStateException.class).getMessage());
        }
    }

    @Test
    void shouldWaitForAcknowledgementsBeforeAQueueIsDestroyed() throws Exception {
        CompletionQueue queue = queue();
        for (int i = 0; i < 3; i++) {
            assertFalse(queue.arm(ArmMode.NEXT));
            write(queue);
            assertSame(queue, channel.getEvent(0, SECONDS));
            assertEquals(1, drain(queue));
        }
        assertFalse(queue.arm(ArmMode.NEXT));
        write(queue); // an event that nobody has got is dropped
        assertFalse(channel.destroy(queue, 1, NANOSECONDS));
        assertEquals(3, channel.unacknowledged(queue));
        channel.ack(queue, 2);
        Aside<Boolean> destroyer =
                Aside.call(() -> channel.destroy(queue, 1, DAYS)).untilItWaits();
        assertEquals(1, channel.unacknowledged(queue));
        for (int count : new int[] {-1, 2}) {
            assertRefused(
                    IllegalArgumentException.class,
                    "events to acknowledge must be 0 to 1: " + count,
                    () -> channel.ack(queue, count));
        }
        Aside<Boolean> impatient =
                Aside.call(() -> channel.destroy(queue, 1, DAYS)).untilItWaits();
        impatient.thread.interrupt();
        impatient.failure(InterruptedException.class);
        assertNull(channel.getEvent(0, SECONDS));
        channel.ack(queue, 1);
        assertTrue(destroyer.result());
        assertThrows(IllegalArgumentException.class, () -> channel.unacknowledged(queue));
    }

    @Test
    void shouldNotGiveOutAQueueThatWaitsForItsAcknowledgementsWhenEventsAreLost() throws Exception {
        CompletionChannel small = new CompletionChannel(4, null, 1);
        CompletionQueue owed = small.create(CompletionQueue.ofCapacity(8));
        CompletionQueue one = small.create(CompletionQueue.ofCapacity(8));
        CompletionQueue two = small.create(CompletionQueue.ofCapacity(8));
        assertFalse(owed.arm(ArmMode.NEXT));
        write(owed);
        assertSame(owed, small.getEvent(0, SECONDS));
        assertFalse(small.destroy(owed, 0, SECONDS));
        assertFalse(one.arm(ArmMode.NEXT));
        assertFalse(two.arm(ArmMode.NEXT));
        write(one);
        write(two); // no room for its event
        assertSame(one, small.getEvent(0, SECONDS));
        assertSame(two, small.getEvent(0, SECONDS));
        assertNull(small.getEvent(0, SECONDS));
        assertEquals(1, small.overruns());
    }

    // ---- Lost events

    @Test
    void shouldLoseNoWakeUpByLostEvents() throws Exception {
        CompletionChannel small = new CompletionChannel(4, null, 1);
        List<CompletionQueue> queues = new ArrayList<>();
        List<Aside<Boolean>> waiters = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            CompletionQueue queue = small.create(CompletionQueue.ofCapacity(8));
            queues.add(queue);
            waiters.add(Aside.call(() -> small.await(queue, 1, DAYS)).untilItWaits());
        }
        queues.forEach(ChannelContractTest::write);
        for (Aside<Boolean> waiter : waiters) {
            assertTrue(waiter.result());
        }
    }

    // ---- Interrupts

    @Test
    @FieldBug(43)
    void shouldEndByAnInterruptAndGoOn() throws Exception {
        CompletionQueue queue = queue();
        CompletionQueue other = queue();
        Aside<Boolean> watcher = Aside.call(() -> channel.await(other, 1, DAYS)).untilItWaits();
        CountDownLatch timedOut = new CountDownLatch(1);
        Aside<String> waiter = Aside.call(() -> {
            assertThrows(InterruptedException.class, () -> channel.await(queue, 1, DAYS));
            assertFalse(Thread.currentThread().isInterrupted());
            assertFalse(channel.await(queue, 1, MILLISECONDS));
            timedOut.countDown();
            assertTrue(channel.await(queue, 1, DAYS));
            return "woken";
        });
        waiter.untilItWaits();
        waiter.thread.interrupt();
        timedOut.await();
        write(queue);
        assertEquals("woken", waiter.result());
        watcher.thread.interrupt(); // the one that watches
        watcher.failure(InterruptedException.class);

        CompletionChannel quiet = CompletionChannel.ofQueues(1); // an event of the above may be left in the other
        CompletionQueue third = quiet.create(CompletionQueue.ofCapacity(8));
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> quiet.getEvent(1, DAYS));
        assertFalse(Thread.interrupted());
        write(third);
        Thread.currentThread().interrupt();
        assertTrue(quiet.await(third, 1, DAYS), "an interrupt does not hide what is ready");
        assertTrue(Thread.interrupted());
    }

    @Test
    void shouldHandTheWatchOnWhenTheWatcherIsInterrupted() throws Exception {
        CompletionQueue queue = queue();
        CompletionQueue other = queue();
        for (int i = 0; i < 2_000; i++) {
            Aside<Boolean> watcher = Aside.call(() -> channel.await(other, 1, DAYS));
            watcher.untilItWaits();
            Aside<Boolean> waiter = Aside.call(() -> channel.await(queue, 1, DAYS));
            if ((i & 1) == 0) {
                waiter.untilItWaits();
            }
            if ((i & 2) == 0) { // the write may come before, with or after the interrupt
                watcher.thread.interrupt();
                write(queue);
            } else {
                write(queue);
                watcher.thread.interrupt();
            }
            assertTrue(waiter.result(), "round " + i);
            watcher.failure(InterruptedException.class);
            waiter.thread.join();
            watcher.thread.join();
            assertEquals(1, drain(queue));
            queue.releasePoller();
        }
    }

    // ---- Costs

    @Test
    void shouldCostNoProcessorTimeToSleep() throws Exception {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        if (!threads.isCurrentThreadCpuTimeSupported()) {
            System.out.println("SKIPPED: processor time of a sleeping thread, which this JVM does not know");
            return;
        }
        CompletionQueue queue = queue();
        Aside<Boolean> sleeper = Aside.call(() -> channel.await(queue, 1, DAYS)).untilItWaits();
        long start = System.nanoTime();
        long before = threads.getThreadCpuTime(sleeper.thread.getId());
        long work = 0;
        while (System.nanoTime() - start < 300_000_000) { // the longer, the clearer; nothing depends on it
            work += System.nanoTime() & 1;
        }
        long used = threads.getThreadCpuTime(sleeper.thread.getId()) - before;
        long passed = System.nanoTime() - start;
        write(queue);
        assertTrue(sleeper.result());
        assertTrue(used < passed / 5, () -> "slept " + passed + " ns and used " + used + " ns");
        assertTrue(work >= 0);
    }
}
