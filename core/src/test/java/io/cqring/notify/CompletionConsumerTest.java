package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqOverrunException;
import io.cqring.cq.OverrunPolicy;
import io.cqring.testing.FieldBug;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** The same handler in every mode and context. */
@Timeout(180)
class CompletionConsumerTest {
    private final CompletionChannel channel = CompletionChannel.ofQueues(2);
    private final CompletionQueue queue =
            channel.create(CompletionQueue.ofCapacity(16).waitingWriters());

    /** What all consumers here share. */
    private final List<Long> got = new ArrayList<>();

    private final CompletionHandler handler = entry -> got.add(entry.workRequestId());

    /** Runs tasks when it is told to. */
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

    private CompletionConsumer.Builder consumer(ConsumerMode mode) {
        return CompletionConsumer.of(queue, handler).mode(mode).budget(4);
    }

    private void write(int count) {
        for (int i = 0; i < count; i++) {
            assertTrue(queue.writer().write(0, i, 0, 0, 0));
        }
    }

    private void assertCounts(
            CompletionConsumer consumer, long polls, long completions, long arms, long missed, long events) {
        assertEquals(
                "polls " + polls + ", completions " + completions + ", arms " + arms + ", missed " + missed
                        + ", events " + events,
                "polls " + consumer.polls() + ", completions " + consumer.completions() + ", arms " + consumer.arms()
                        + ", missed " + consumer.missed() + ", events " + consumer.events());
        assertEquals(completions, got.size());
    }

    // ---- DIRECT

    @Test
    void shouldPollOnCallAndNeverArm() throws Exception {
        CompletionConsumer direct = consumer(ConsumerMode.POLL).create();
        assertEquals(0, direct.process(4));
        write(9);
        assertEquals(4, direct.process(4));
        assertEquals(0, direct.process(0));
        assertEquals(5, direct.process(100));
        assertCounts(direct, 4, 9, 0, 0, 0);
        assertEquals(0, queue.events());
        assertThrows(IllegalArgumentException.class, () -> direct.process(-1));
        assertThrows(IllegalStateException.class, () -> direct.runOnce(0, SECONDS));
        CompletionConsumer waits =
                consumer(ConsumerMode.EVENT).onWaitingThread(channel).create();
        assertEquals(
                "process() is not for a completion consumer of context INTERRUPT",
                assertThrows(IllegalStateException.class, () -> waits.process(1))
                        .getMessage());
    }

    // ---- INTERRUPT

    /** Ten entries are there, budget 4; then nothing; then one comes while it sleeps. */
    @Test
    @FieldBug(32)
    void shouldPollAsTheModeSays() throws Exception {
        CompletionConsumer polling =
                consumer(ConsumerMode.POLL).onWaitingThread(channel).create();
        write(10);
        assertTrue(polling.runOnce(0, SECONDS));
        assertTrue(polling.runOnce(0, SECONDS));
        assertTrue(polling.runOnce(0, SECONDS));
        assertFalse(polling.runOnce(0, SECONDS));
        assertCounts(polling, 4, 10, 0, 0, 0);
        got.clear();

        CompletionConsumer interrupt =
                consumer(ConsumerMode.INTERRUPT).onWaitingThread(channel).create();
        write(10);
        assertTrue(interrupt.runOnce(0, SECONDS));
        assertCounts(interrupt, 1, 4, 0, 0, 0);
        assertTrue(interrupt.runOnce(0, SECONDS));
        assertTrue(interrupt.runOnce(0, SECONDS));
        assertFalse(interrupt.runOnce(0, SECONDS));
        assertCounts(interrupt, 3, 10, 1, 0, 0);
        got.clear();

        CompletionConsumer event =
                consumer(ConsumerMode.EVENT).onWaitingThread(channel).create();
        write(10);
        assertTrue(event.runOnce(0, SECONDS));
        assertCounts(event, 3, 10, 0, 0, 0);
        assertFalse(event.runOnce(0, SECONDS));
        assertCounts(event, 3, 10, 1, 0, 0);
        got.clear();

        CompletionConsumer hybrid =
                consumer(ConsumerMode.HYBRID).onWaitingThread(channel).create();
        write(10);
        assertTrue(hybrid.runOnce(0, SECONDS));
        assertTrue(hybrid.runOnce(0, SECONDS)); // the budget was used up: no look
        assertCounts(hybrid, 2, 8, 0, 0, 0);
        assertTrue(hybrid.runOnce(0, SECONDS));
        assertCounts(hybrid, 3, 10, 0, 0, 0);
        assertFalse(hybrid.runOnce(0, SECONDS)); // it was not
        assertCounts(hybrid, 3, 10, 1, 0, 0);
        got.clear();
        queue.releasePoller();

        for (CompletionConsumer sleeps : List.of(interrupt, event, hybrid)) {
            long events = sleeps.events();
            Aside<Boolean> run = Aside.call(() -> sleeps.runOnce(1, DAYS)).untilItWaits();
            write(1);
            assertTrue(run.result());
            run.thread.join();
            assertEquals(events + 1, sleeps.events());
        }
        assertEquals(3, got.size());
    }

    @Test
    void shouldMoveEverythingInEveryModeAndContext() throws Exception {
        final int number = 30_000;
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try {
            for (ConsumerMode mode : ConsumerMode.values()) {
                for (ConsumerContext context : ConsumerContext.values()) {
                    if (mode == ConsumerMode.POLL
                            ? context == ConsumerContext.WORKER
                            : context == ConsumerContext.DIRECT) {
                        continue;
                    }
                    String what = mode + " " + context;
                    CompletionChannel channel = CompletionChannel.ofQueues(1);
                    CompletionQueue queue =
                            channel.create(CompletionQueue.ofCapacity(16).waitingWriters());
                    AtomicLong next = new AtomicLong();
                    CompletionConsumer.Builder builder = CompletionConsumer.of(queue, entry -> {
                                if (!next.compareAndSet(entry.workRequestId(), entry.workRequestId() + 1)) {
                                    throw new AssertionError("out of order: " + entry.workRequestId());
                                }
                            })
                            .mode(mode)
                            .budget(5);
                    switch (context) {
                        case DIRECT -> {}
                        case INTERRUPT -> builder.onWaitingThread(channel);
                        case WORKER -> builder.onWorker(channel, pool);
                    }
                    CompletionConsumer consumer = builder.create();
                    Aside<Void> running = Aside.call(() -> {
                        if (context == ConsumerContext.DIRECT) {
                            while (!queue.isClosed()) {
                                try {
                                    consumer.process(5);
                                } catch (IllegalStateException closed) {
                                    assertTrue(queue.isClosed());
                                }
                            }
                        } else {
                            consumer.runUntilClosed();
                        }
                        return null;
                    });
                    for (int i = 0; i < number; i++) {
                        while (!queue.writer().write(0, i, 0, 0, 0)) {
                            assertTrue(queue.writer().awaitSpace(1, DAYS), what);
                        }
                    }
                    long start = System.nanoTime();
                    while (next.get() != number && running.thread.isAlive()) {
                        assertTrue(System.nanoTime() - start < 20_000_000_000L, what + ": " + next + " of " + number);
                        Thread.onSpinWait();
                    }
                    queue.close();
                    channel.close();
                    running.result();
                    assertEquals(number, next.get(), what);
                    queue.writer().release();
                }
            }
        } finally {
            pool.shutdownNow();
        }
    }

    /** Its task arms the queue while nobody waits for it: the event is not for one who waits for any. */
    @Test
    void shouldKeepItsEventsFromOthers() throws Exception {
        CompletionConsumer worker =
                consumer(ConsumerMode.EVENT).onWorker(channel, tasks::add).create();
        CompletionQueue other = channel.create(CompletionQueue.ofCapacity(4));
        assertFalse(other.arm(ArmMode.NEXT));
        assertTrue(worker.runOnce(0, SECONDS));
        tasks.remove().run(); // finds nothing, and arms
        write(1);
        other.writer().write(0, 0, 0, 0, 0);
        assertSame(other, channel.getEvent(0, SECONDS));
        channel.ack(other, 1);
        assertNull(channel.getEvent(0, SECONDS));
        assertTrue(worker.runOnce(0, SECONDS));
        tasks.remove().run();
        assertEquals(1, worker.completions());
    }

    @Test
    void shouldLetCompletionsGather() throws Exception {
        CompletionConsumer consumer = consumer(ConsumerMode.EVENT)
                .budget(16)
                .onWaitingThread(channel)
                .moderation(Moderation.ofMicros(8, 0))
                .create();
        Aside<Boolean> run = Aside.call(() -> consumer.runOnce(1, DAYS));
        for (int i = 0; i < 8; i++) {
            run.untilItWaits();
            write(1);
        }
        assertTrue(run.result());
        assertEquals(1, consumer.polls());
        assertEquals(8, consumer.completions());
    }

    @Test
    void shouldPassOnWhatAHandlerThrowsAndGoOn() throws Exception {
        CompletionConsumer bad = CompletionConsumer.of(queue, entry -> {
                    if (entry.workRequestId() == 1) {
                        throw new IllegalStateException("handler");
                    }
                })
                .mode(ConsumerMode.HYBRID)
                .onWaitingThread(channel)
                .create();
        write(3);
        assertEquals(
                "handler",
                assertThrows(IllegalStateException.class, bad::runUntilClosed).getMessage());
        assertEquals(2, bad.completions());
        assertTrue(bad.runOnce(0, SECONDS));
        assertEquals(3, bad.completions());
        CompletionConsumer closes = CompletionConsumer.of(queue, entry -> {
                    queue.close();
                    throw new IllegalStateException("handler");
                })
                .mode(ConsumerMode.EVENT)
                .onWaitingThread(channel)
                .create();
        write(1);
        assertEquals(
                "handler",
                assertThrows(IllegalStateException.class, closes::runUntilClosed)
                        .getMessage());
        closes.runUntilClosed(); // returns
    }

    @Test
    @FieldBug(51)
    void shouldEndByCloseOrInterrupt() throws Exception {
        for (ConsumerMode mode : ConsumerMode.values()) {
            for (int i = 0; i < 200; i++) {
                CompletionChannel channel = CompletionChannel.ofQueues(1);
                CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(4));
                CompletionConsumer consumer = CompletionConsumer.of(queue, handler)
                        .mode(mode)
                        .onWaitingThread(channel)
                        .create();
                Aside<Void> run = Aside.call(() -> {
                    consumer.runUntilClosed();
                    return null;
                });
                if (i % 2 == 1) {
                    run.untilItRuns();
                }
                switch (i % 3) {
                    case 0 -> queue.close();
                    case 1 -> channel.close();
                    default -> run.thread.interrupt();
                }
                if (i % 3 == 2) {
                    run.failure(InterruptedException.class);
                } else {
                    run.result();
                }
            }
        }
    }

    @Test
    void shouldReportADeadQueue() throws Exception {
        CompletionQueue dies = channel.create(CompletionQueue.ofCapacity(2).overrunPolicy(OverrunPolicy.ERROR));
        for (int i = 0; i < 3; i++) {
            dies.writer().write(0, i, 0, 0, 0);
        }
        CompletionConsumer consumer = CompletionConsumer.of(dies, handler)
                .mode(ConsumerMode.EVENT)
                .onWaitingThread(channel)
                .create();
        assertThrows(CqOverrunException.class, consumer::runUntilClosed);
        assertEquals(List.of(0L, 1L), got);
    }

    // ---- WORKER

    @Test
    void shouldRunTasksThatFollowEachOtherWhileBusy() throws Exception {
        CompletionConsumer worker =
                consumer(ConsumerMode.HYBRID).onWorker(channel, tasks::add).create();
        write(10);
        assertTrue(worker.runOnce(0, SECONDS)); // starts the first task
        assertCounts(worker, 0, 0, 0, 0, 0);
        assertFalse(worker.runOnce(0, SECONDS));
        assertEquals(1, tasks.size());
        tasks.remove().run();
        assertEquals(1, tasks.size(), "goes on by a new task");
        tasks.remove().run();
        assertCounts(worker, 2, 8, 0, 0, 0);
        tasks.remove().run();
        assertCounts(worker, 3, 10, 1, 0, 0);
        assertEquals(0, tasks.size(), "armed");
        assertFalse(worker.runOnce(0, SECONDS));
        write(1);
        assertTrue(worker.runOnce(0, SECONDS));
        Aside<Void> other = Aside.call(
                () -> { // any thread
                    tasks.remove().run();
                    return null;
                });
        other.result();
        assertCounts(worker, 4, 11, 2, 0, 1);
        assertEquals(0, tasks.size());
    }

    @Test
    void shouldPassOnWhatAHandlerThrowsInATask() throws Exception {
        List<Long> seen = new ArrayList<>();
        CompletionConsumer worker = CompletionConsumer.of(queue, entry -> {
                    if (seen.size() == 1) {
                        seen.add(-1L);
                        throw new IllegalStateException("handler");
                    }
                    seen.add(entry.workRequestId());
                })
                .mode(ConsumerMode.EVENT)
                .onWorker(channel, task -> new Thread(task).start())
                .create();
        write(3);
        Aside<Void> run = Aside.call(() -> {
            worker.runUntilClosed();
            return null;
        });
        assertEquals("handler", run.failure(IllegalStateException.class).getMessage());
        Aside<Void> again = Aside.call(() -> {
            worker.runUntilClosed();
            return null;
        });
        long start = System.nanoTime();
        while (worker.completions() != 3 && System.nanoTime() - start < 60_000_000_000L) {
            Thread.onSpinWait();
        }
        assertEquals(List.of(0L, -1L, 2L), seen);
        channel.close();
        again.result();
    }

    @Test
    void shouldStartAgainAfterTheExecutorRefused() throws Exception {
        boolean[] refuses = {true};
        CompletionConsumer worker = consumer(ConsumerMode.HYBRID)
                .onWorker(channel, task -> {
                    if (refuses[0]) {
                        throw new RejectedExecutionException("full");
                    }
                    tasks.add(task);
                })
                .create();
        write(10);
        assertThrows(RejectedExecutionException.class, () -> worker.runOnce(0, SECONDS));
        refuses[0] = false;
        assertTrue(worker.runOnce(0, SECONDS));
        refuses[0] = true;
        tasks.remove().run(); // cannot go on
        assertThrows(RejectedExecutionException.class, () -> worker.runOnce(1, DAYS));
        refuses[0] = false;
        assertTrue(worker.runOnce(0, SECONDS));
        while (!tasks.isEmpty()) {
            tasks.remove().run();
        }
        assertEquals(10, got.size());
    }

    // ---- Errors

    @Test
    void shouldRefuseChoicesThatDoNotGoTogether() {
        Moderation some = Moderation.ofMicros(8, 16);
        assertRefused(
                "a consumer of context DIRECT is never armed: mode EVENT needs onWaitingThread() or onWorker()",
                () -> consumer(ConsumerMode.EVENT).create());
        assertRefused(
                "mode POLL never lets a worker go: choose onWaitingThread(), or another mode",
                () -> consumer(ConsumerMode.POLL).onWorker(channel, tasks::add).create());
        assertRefused(
                "moderation needs a mode that sleeps, and onWaitingThread(): 8,16 with mode EVENT and context WORKER",
                () -> consumer(ConsumerMode.EVENT)
                        .onWorker(channel, tasks::add)
                        .moderation(some)
                        .create());
        assertRefused(
                "moderation needs a mode that sleeps, and onWaitingThread(): 8,16 with mode POLL and context DIRECT",
                () -> consumer(ConsumerMode.POLL).moderation(some).create());
        assertRefused(
                "budget must be 1 or more completions: 0",
                () -> consumer(ConsumerMode.POLL).budget(0));
    }

    private static void assertRefused(String message, Executable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
    }

    /** An event that comes while a task is to come is that task's business: else each such event added a task for good. */
    @Test
    void shouldQueueOneTaskAtATime() throws Exception {
        boolean[] more = {true};
        CompletionConsumer worker = CompletionConsumer.of(queue, entry -> {
                    if (more[0]) { // comes after the task's only poll, and before it arms
                        more[0] = false;
                        write(1);
                    }
                })
                .mode(ConsumerMode.INTERRUPT)
                .budget(1)
                .onWorker(channel, tasks::add)
                .create();
        write(1);
        assertTrue(worker.runOnce(0, SECONDS));
        tasks.remove().run();
        assertEquals(1, tasks.size(), "armed, and found what had come");
        write(1); // past the arm: its event
        assertTrue(worker.runOnce(0, SECONDS));
        assertEquals(1, tasks.size());
        tasks.remove().run();
        assertEquals(2, worker.completions());
    }

    @Test
    void shouldRefuseToRunADirectConsumer() {
        CompletionConsumer direct = CompletionConsumer.of(queue, handler).create();
        assertEquals(
                "runUntilClosed() is not for a completion consumer of context DIRECT",
                assertThrows(IllegalStateException.class, direct::runUntilClosed)
                        .getMessage());
    }

    @Test
    void shouldSayThatTheChannelIsClosedInEveryMode() {
        channel.close();
        for (ConsumerMode mode : ConsumerMode.values()) {
            CompletionConsumer consumer =
                    consumer(mode).onWaitingThread(channel).create();
            assertThrows(IllegalStateException.class, () -> consumer.runOnce(0, SECONDS), () -> "" + mode);
        }
    }

    /** Two full batches, and nothing behind: the third turn had nothing to do, and waits if it has time. */
    @Test
    void shouldNotTakeAFullBatchForSomethingToDo() throws Exception {
        CompletionConsumer hybrid =
                consumer(ConsumerMode.HYBRID).onWaitingThread(channel).create();
        write(8);
        assertTrue(hybrid.runOnce(0, SECONDS));
        assertTrue(hybrid.runOnce(0, SECONDS));
        assertFalse(hybrid.runOnce(0, SECONDS));
        assertCounts(hybrid, 3, 8, 1, 0, 0);
        write(4);
        assertTrue(hybrid.runOnce(0, SECONDS));
        queue.releasePoller();
        Aside<Boolean> run = Aside.call(() -> hybrid.runOnce(1, DAYS)).untilItWaits();
        write(1);
        assertTrue(run.result());
        assertEquals(13, hybrid.completions());
    }

    // ---- WORKER, with an executor that runs tasks at once

    @Test
    void shouldNotRecurseWithAnExecutorThatRunsTasksAtOnce() throws Exception {
        final long number = 1_000_000;
        long[] seen = {0};
        CompletionConsumer worker = CompletionConsumer.of(queue, entry -> {
                    if (++seen[0] < number) {
                        write(1); // there is always one more
                    }
                })
                .mode(ConsumerMode.HYBRID)
                .budget(1)
                .onWorker(channel, Runnable::run)
                .create();
        write(1);
        assertTrue(worker.runOnce(0, SECONDS));
        assertEquals(number, seen[0]);
        assertFalse(worker.runOnce(0, SECONDS));
        write(1);
        assertTrue(worker.runOnce(0, SECONDS));
        assertEquals(number + 1, worker.completions());
        assertEquals(1, worker.events());
    }

    @Test
    void shouldStartAgainAfterATaskThatFailedAtOnce() throws Exception {
        boolean[] fails = {true};
        CompletionConsumer worker = CompletionConsumer.of(queue, entry -> {
                    if (fails[0]) {
                        throw new IllegalStateException("handler");
                    }
                })
                .mode(ConsumerMode.EVENT)
                .onWorker(channel, Runnable::run)
                .create();
        write(2);
        assertTrue(worker.runOnce(0, SECONDS));
        assertEquals(
                "handler",
                assertThrows(IllegalStateException.class, () -> worker.runOnce(0, SECONDS))
                        .getMessage());
        fails[0] = false;
        assertTrue(worker.runOnce(0, SECONDS), "a new task");
        assertEquals(2, worker.completions());
        assertFalse(worker.runOnce(0, SECONDS));
        assertEquals(0, worker.events());
    }

    /** What calls a waiter to a failure is no event: not for the task after the next, either. */
    @Test
    void shouldCountNoEventForAFailureThatNobodyWaitedFor() throws Exception {
        boolean[] fails = {true};
        CompletionConsumer worker = CompletionConsumer.of(queue, entry -> {
                    if (fails[0]) {
                        throw new IllegalStateException("handler");
                    }
                })
                .mode(ConsumerMode.EVENT)
                .onWorker(channel, tasks::add)
                .create();
        write(1);
        assertTrue(worker.runOnce(0, SECONDS));
        tasks.remove().run();
        assertThrows(IllegalStateException.class, () -> worker.runOnce(0, SECONDS));
        fails[0] = false;
        assertTrue(worker.runOnce(0, SECONDS));
        tasks.remove().run(); // arms
        assertFalse(worker.runOnce(0, SECONDS), "nothing has come");
        assertEquals(0, tasks.size());
        assertEquals(0, worker.events());
    }
}
