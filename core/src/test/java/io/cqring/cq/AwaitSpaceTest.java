package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.RecordingMemory;
import io.cqring.testing.RecordingMemory.Op;
import io.cqring.testing.SteppedMemory;
import io.cqring.testing.Threads;
import java.nio.file.Path;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.ValueSource;

/** Writers that wait for space: edge CREDIT-ARM as a caller sees it. The race itself is CreditArmStress's. */
@Tag("bothroutes")
class AwaitSpaceTest {
    private static final long LONG_S = 100;

    private static CompletionQueue.Builder waiting(int capacity) {
        return CompletionQueue.ofCapacity(capacity).waitingWriters();
    }

    private static CompletionQueue full(int capacity) {
        CompletionQueue queue = waiting(capacity).create();
        for (int i = 0; i < capacity; i++) {
            assertTrue(write(queue.writer(), i));
        }
        return queue;
    }

    private static boolean write(CompletionWriter writer, long number) {
        return writer.write(CqeLayout.header(CqeOpcode.RECV, false, (int) number, 7, 0), number, 0, 0, 0);
    }

    private static boolean write(SharedWriter writer, long number) {
        return writer.write(CqeLayout.header(CqeOpcode.RECV, false, (int) number, 7, 0), number, 0, 0, 0);
    }

    private static long waiters(CompletionQueue queue) {
        return queue.memory.getLongOpaque(CqRegion.WAITING_WRITERS);
    }

    private static void awaitWaiter(CompletionQueue queue, Threads.Spin spin) {
        while (waiters(queue) == 0) {
            spin.once();
        }
    }

    private interface Wait {
        boolean awaitSpace(long seconds) throws InterruptedException;
    }

    /** Waits far longer than a wake-up can take: if time runs out, the wake-up was lost, even if the last look finds space. */
    private static boolean woken(Wait wait) throws InterruptedException {
        long start = System.nanoTime();
        try {
            return wait.awaitSpace(LONG_S);
        } finally {
            assertTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(LONG_S), "a wake-up was lost");
        }
    }

    private static boolean woken(CompletionQueue queue) throws InterruptedException {
        return woken(seconds -> queue.writer().awaitSpace(seconds, TimeUnit.SECONDS));
    }

    private static boolean woken(SharedWriter writer, int count) throws InterruptedException {
        return woken(seconds -> writer.awaitSpace(count, seconds, TimeUnit.SECONDS));
    }

    private static void assertRefused(String message, Executable call) {
        assertEquals(message, assertThrows(RuntimeException.class, call).getMessage());
    }

    @Test
    void shouldRefuseWhatCannotWait(@TempDir Path dir) throws Exception {
        CompletionQueue plain = CompletionQueue.ofCapacity(1).create();
        assertRefused(
                "completion queue was made without waiting writers: its builder's waitingWriters() allows awaitSpace",
                () -> plain.writer().awaitSpace(0, TimeUnit.SECONDS));
        try (CompletionQueue many = CompletionQueue.ofCapacity(1).writers(2).create();
                SharedWriter writer = many.newWriter()) {
            assertRefused(
                    "completion queue was made without waiting writers: its builder's waitingWriters() allows awaitSpace",
                    () -> writer.awaitSpace(1, 0, TimeUnit.SECONDS));
        }
        QueueMemory file = QueueMemory.create(dir.resolve("queue"), CompletionQueue.requiredBytes(2, 64));
        assertRefused(
                "a queue in a file cannot have waiting writers: no thread of another process can be woken;"
                        + " leave out waitingWriters()",
                () -> waiting(2).memory(file).create());
    }

    @ParameterizedTest
    @EnumSource(value = OverrunPolicy.class, names = "BACKPRESSURE", mode = Mode.EXCLUDE)
    void shouldRefusePoliciesThatNeverWait(OverrunPolicy policy) {
        assertRefused(
                "waiting writers need BACKPRESSURE: with " + policy
                        + " a writer that finds no slot loses its entry and never waits",
                () -> waiting(1).overrunPolicy(policy).create());
    }

    @Test
    void shouldRefuseBadCallsAndChangeNothing() {
        CompletionQueue queue = full(2);
        assertRefused("timeout must be 0 or more: -1", () -> queue.writer().awaitSpace(-1, TimeUnit.SECONDS));
        Threads.run(spin ->
                assertThrows(IllegalStateException.class, () -> queue.writer().awaitSpace(1, TimeUnit.SECONDS)));
        assertEquals(0, waiters(queue));
        CompletionQueue many = waiting(4).writers(2).create();
        SharedWriter writer = many.newWriter();
        for (int count : new int[] {Integer.MIN_VALUE, -1, 0, 5, Integer.MAX_VALUE}) {
            assertRefused(
                    "claim must be of 1 to 4 entries, the capacity: " + count,
                    () -> writer.awaitSpace(count, 0, TimeUnit.SECONDS));
        }
        assertRefused("timeout must be 0 or more: -1", () -> writer.awaitSpace(1, -1, TimeUnit.SECONDS));
        assertTrue(writer.claim(3));
        assertRefused(
                "a claim of 3 entries is open: commit or abandon it before the next",
                () -> writer.awaitSpace(1, 0, TimeUnit.SECONDS));
        assertEquals(3, writer.abandon());
        many.close();
        assertRefused("completion queue is closed", () -> writer.awaitSpace(1, 0, TimeUnit.SECONDS));
    }

    /** A queue that was not made for it has no fence; one that was has one per poll that gave something back. */
    @Test
    void shouldCostAFenceOnlyWhereItWasAskedFor() throws Exception {
        for (boolean asked : new boolean[] {false, true}) {
            RecordingMemory memory = new RecordingMemory(CompletionQueue.requiredBytes(4, 64));
            CompletionQueue.Builder builder = CompletionQueue.ofCapacity(4).memory(memory);
            CompletionQueue queue = (asked ? builder.waitingWriters() : builder).create();
            memory.clear();
            write(queue.writer(), 0);
            queue.poll(c -> {}, 4);
            queue.poll(c -> {}, 4);
            long fences = memory.log().stream()
                    .filter(access -> access.op() == Op.FULL_FENCE)
                    .count();
            assertEquals(asked ? 1 : 0, fences);
            if (asked) {
                memory.clear();
                assertTrue(woken(queue));
                assertTrue(
                        memory.log().stream().noneMatch(access -> access.op().isStore()), "there was space: not armed");
            }
        }
    }

    @Test
    void shouldOnlyLookIfTheTimeIsZero() throws Exception {
        CompletionQueue queue = full(2);
        assertFalse(queue.writer().awaitSpace(0, TimeUnit.SECONDS));
        assertFalse(queue.writer().awaitSpace(1, TimeUnit.MICROSECONDS));
        assertEquals(0, waiters(queue));
        assertEquals(1, queue.poll(c -> {}, 1));
        assertTrue(queue.writer().awaitSpace(0, TimeUnit.SECONDS));
        assertTrue(write(queue.writer(), 2));
        assertFalse(queue.writer().awaitSpace(0, TimeUnit.SECONDS));
    }

    /** What is in hand takes the slots, and nobody can free it but a poller that sees it. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 8})
    void shouldPublishWhatIsInHandBeforeItWaits(int capacity) {
        CompletionQueue queue = waiting(capacity).create();
        Threads.run(
                spin -> {
                    CompletionWriter writer = queue.writer();
                    for (int i = 1; i < capacity; i++) {
                        assertTrue(writer.stage(CqeLayout.header(CqeOpcode.RECV, false, i, 7, 0), 0, 0, 0, 0));
                    }
                    writer.claim().header(CqeLayout.header(CqeOpcode.RECV, false, 0, 7, 0));
                    assertTrue(woken(queue));
                    assertEquals(0, writer.entriesInHand());
                },
                spin -> {
                    int taken = 0;
                    while (taken != capacity) {
                        taken += queue.poll(c -> {}, capacity);
                        spin.once();
                    }
                });
    }

    /**
     * Each side moves only when the other has: after each entry the poller sleeps until the writer has gone on, so a wake-up that is
     * lost is a hang, not a delay.
     */
    @FieldBug(43)
    @ParameterizedTest
    @CsvSource({"1, 1, false", "2, 1, false", "8, 1, false", "1, 2, false", "4, 2, false", "1, 1, true", "4, 2, true"})
    void shouldNeverLoseAWakeUp(int capacity, int writers, boolean sharedPollers) {
        final int entries = 40_000;
        CompletionQueue.Builder builder = waiting(capacity).writers(writers);
        CompletionQueue queue = (sharedPollers ? builder.sharedPollers() : builder).create();
        Semaphore written = new Semaphore(0);
        long[] sum = {0};
        Threads.Body poller = spin -> {
            CompletionPoller own = sharedPollers ? queue.newPoller(1) : null;
            CompletionHandler add = c -> sum[0] += c.workRequestId();
            for (int taken = 0; taken != entries * writers; taken++) {
                assertTrue(written.tryAcquire(LONG_S, TimeUnit.SECONDS));
                while ((own == null ? queue.poll(add, 1) : own.poll(add, 1)) == 0) {
                    spin.once(); // only between two writers: the older claim is not published yet
                }
            }
        };
        Threads.Body writer = spin -> {
            SharedWriter own = writers == 1 ? null : queue.newWriter();
            for (int n = 1; n <= entries; n++) {
                while (!(own == null ? write(queue.writer(), n) : write(own, n))) {
                    assertTrue(own == null ? woken(queue) : woken(own, 1), "a wake-up was lost");
                }
                written.release();
            }
        };
        Threads.run(writers == 1 ? new Threads.Body[] {poller, writer} : new Threads.Body[] {poller, writer, writer});
        assertEquals((long) entries * (entries + 1) / 2 * writers, sum[0]);
        assertEquals(0, waiters(queue));
    }

    /** The slots that one writer gives back come from no poll. */
    @Test
    void shouldBeWokenByAWriterThatGivesAClaimBack() {
        CompletionQueue queue = waiting(4).writers(2).create();
        Threads.run(
                spin -> {
                    SharedWriter writer = queue.newWriter();
                    assertTrue(writer.claim(4));
                    awaitWaiter(queue, spin);
                    assertEquals(4, writer.abandon());
                },
                spin -> {
                    SharedWriter writer = queue.newWriter();
                    while (queue.producerSequence() != 4) {
                        spin.once();
                    }
                    assertTrue(woken(writer, 4));
                    assertTrue(writer.claim(4));
                });
    }

    @Test
    void shouldWaitForAsManySlotsAsItWants() {
        CompletionQueue queue = waiting(4).writers(2).create();
        Threads.run(
                spin -> {
                    SharedWriter writer = queue.newWriter();
                    for (int i = 0; i < 4; i++) {
                        assertTrue(write(writer, i));
                    }
                    assertFalse(writer.awaitSpace(1, 0, TimeUnit.SECONDS));
                    assertTrue(woken(writer, 3));
                    assertTrue(writer.claim(3));
                },
                spin -> {
                    awaitWaiter(queue, spin);
                    for (int taken = 0; taken != 3; ) {
                        taken += queue.poll(c -> {}, 1);
                    }
                });
    }

    /** A waiting writer hears of whatever comes through the control word. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTellAWaitingWriterOfTheEnd(boolean drain) {
        CompletionQueue queue = full(2);
        queue.writer().release();
        Threads.run(
                spin -> assertRefused(
                        drain
                                ? "completion queue is being drained: it takes no more entries"
                                : "completion queue is closed",
                        () -> {
                            while (true) { // the drain frees slots, too
                                assertTrue(woken(queue));
                            }
                        }),
                spin -> {
                    awaitWaiter(queue, spin);
                    if (drain) {
                        assertEquals(
                                new DrainResult(2, 0, 0, true), queue.drainAndClose(c -> {}, LONG_S, TimeUnit.SECONDS));
                    } else {
                        queue.close();
                    }
                });
        assertEquals(0, waiters(queue));
    }

    /** A full ring with a resize offered: the first slot that is freed lets the device answer, in the wait itself. */
    @Test
    void shouldAnswerAResizeWhileItWaits() {
        CompletionQueue queue = full(1);
        queue.writer().release();
        Threads.run(
                spin -> {
                    assertTrue(woken(queue));
                    while (!write(queue.writer(), 1)) {
                        assertTrue(woken(queue));
                    }
                },
                spin -> {
                    awaitWaiter(queue, spin);
                    queue.resize(4);
                    int taken = 0;
                    while (taken != 2) {
                        taken += queue.poll(c -> {}, 1);
                        spin.once();
                    }
                    assertEquals(ResizeStatus.DONE, queue.resizeStatus());
                    assertEquals(4, queue.capacity());
                });
    }

    /** A refusal needs no slot, so it does not wait for one either. */
    @Test
    void shouldRefuseAResizeWhileItWaits() {
        CompletionQueue queue = full(4);
        queue.writer().release();
        Threads.run(spin -> assertTrue(woken(queue)), spin -> {
            awaitWaiter(queue, spin);
            queue.resize(2);
            while (queue.resizeStatus() == ResizeStatus.PENDING) {
                spin.once();
            }
            assertEquals(ResizeStatus.REFUSED_BACKLOG, queue.resizeStatus());
            assertEquals(1, queue.poll(c -> {}, 1));
        });
    }

    /** An interrupt at every access of the wait: an exception, or a result with the flag left set; the queue is as before. */
    @FieldBug(43)
    @Test
    void shouldLeaveNothingBehindAfterAnInterrupt() throws Exception {
        int thrown = 0;
        for (int access = 0; access < 40; access++) {
            SteppedMemory memory = new SteppedMemory(CompletionQueue.requiredBytes(1, 64));
            CompletionQueue queue = waiting(1).memory(memory).create();
            assertTrue(write(queue.writer(), 0));
            memory.runBefore(access, () -> Thread.currentThread().interrupt());
            try {
                assertFalse(queue.writer().awaitSpace(1, TimeUnit.MICROSECONDS));
                Thread.interrupted(); // it came after the last look
            } catch (InterruptedException e) {
                thrown++;
                assertFalse(Thread.currentThread().isInterrupted());
            }
            memory.runBefore(Integer.MAX_VALUE, () -> {});
            assertEquals(0, waiters(queue));
            assertFalse(queue.writer().awaitSpace(1, TimeUnit.MICROSECONDS));
            assertEquals(1, queue.poll(c -> {}, 1));
            assertTrue(queue.writer().awaitSpace(0, TimeUnit.SECONDS));
            assertTrue(write(queue.writer(), 1));
        }
        assertTrue(thrown != 0, "no interrupt met the wait");
    }

    @FieldBug(43)
    @Test
    void shouldBeWokenByAnInterrupt() {
        CompletionQueue queue = full(1);
        queue.writer().release();
        Thread[] waiter = {null};
        Threads.run(
                spin -> {
                    waiter[0] = Thread.currentThread();
                    assertThrows(InterruptedException.class, () -> woken(queue));
                    assertFalse(Thread.currentThread().isInterrupted());
                    queue.writer().release();
                },
                spin -> {
                    awaitWaiter(queue, spin);
                    waiter[0].interrupt();
                });
        assertEquals(0, waiters(queue));
        assertEquals(1, queue.poll(c -> {}, 1));
        assertTrue(write(queue.writer(), 1));
    }

    /**
     * A poll at every access of a wait whose time is over at once: it is seen, or the next call sees it; and a wake-up that comes too late
     * makes no later wait end early.
     */
    @FieldBug(43)
    @Test
    void shouldMakeNothingOfAWakeUpThatComesAsTimeRunsOut() throws Exception {
        int seen = 0;
        int missed = 0;
        for (int access = 0; access < 20; access++) {
            SteppedMemory memory = new SteppedMemory(CompletionQueue.requiredBytes(1, 64));
            CompletionQueue queue = waiting(1).memory(memory).create();
            assertTrue(write(queue.writer(), 0));
            int[] polled = {0};
            memory.runBefore(access, () -> polled[0] = queue.poll(c -> {}, 1));
            if (queue.writer().awaitSpace(0, TimeUnit.SECONDS)) {
                seen++;
                assertEquals(1, polled[0]);
            } else {
                missed += polled[0];
            }
            memory.runBefore(Integer.MAX_VALUE, () -> {});
            assertEquals(0, waiters(queue));
            assertEquals(polled[0] == 1, queue.writer().awaitSpace(0, TimeUnit.SECONDS));
            if (polled[0] == 1) {
                assertTrue(write(queue.writer(), 1));
            }
            assertFalse(queue.writer().awaitSpace(1, TimeUnit.MILLISECONDS), "an old wake-up is not space");
        }
        assertTrue(seen != 0 && missed != 0, "seen " + seen + ", after the last look " + missed);
    }
}
