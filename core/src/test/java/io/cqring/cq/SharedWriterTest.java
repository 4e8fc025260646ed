package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Many writers, one call after the other: contract, misuse, overrun, life. */
@Tag("bothroutes")
class SharedWriterTest {
    private static final Way[] WAYS = {Way.WRITE, Way.CLAIM, Way.WRITE_BARE, Way.CLAIM_BARE};

    private static String refusal(Executable call) {
        return assertThrows(IllegalStateException.class, call).getMessage();
    }

    private static String bad(Executable call) {
        return assertThrows(IllegalArgumentException.class, call).getMessage();
    }

    private static CompletionQueue queue(Shape shape, int writers, OverrunPolicy policy) {
        return shape.builder().overrunPolicy(policy).writers(writers).create();
    }

    private static CompletionQueue queue() {
        return queue(new Shape(64, 8, 5), 2, OverrunPolicy.BACKPRESSURE);
    }

    /** Three writers take turns for more than two laps: owner bits by lap, entries in the order of the claims. */
    @FieldBug(5)
    @Shape.Every
    void shouldDeriveTheOwnerBitFromTheClaimedSequence(Shape shape) {
        int n = shape.capacity();
        int slots = 384 + 3 * 128;
        for (Way way : WAYS) {
            QueueMemory memory = QueueMemory.allocate(slots + (long) n * shape.stride());
            memory.fill(0, memory.sizeBytes(), (byte) 0x99);
            CompletionQueue queue = shape.builder().writers(3).memory(memory).create();
            List<SharedWriter> writers = List.of(queue.newWriter(), queue.newWriter(), queue.newWriter());
            InOrder taker = new InOrder(shape.stride(), way, 0);
            for (int i = 0; i < 2 * n + 3; i++) {
                long sequence = shape.start() + i;
                assertTrue(NumberedShared.put(writers.get(i % 3), way, i, shape.stride()));
                assertEquals(sequence + 1, memory.getLong(Region.PRODUCER));
                long lap = Long.divideUnsigned(sequence, n);
                int slot = slots + (int) Long.remainderUnsigned(sequence, n) * shape.stride();
                assertEquals(lap % 2 == 0 ? 1 : 0, memory.getLong(slot) & 1, "owner bit of its lap");
                assertEquals(1, queue.size());
                assertEquals(1, queue.poll(taker::onView, 8));
            }
            assertEquals(2 * n + 3, taker.next());
        }
    }

    @Shape.EveryWithPolicy
    void shouldApplyThePolicyWhenNoSlotIsFree(Shape shape, OverrunPolicy policy) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, 2, policy);
        SharedWriter a = queue.newWriter();
        SharedWriter b = queue.newWriter();
        for (int i = 0; i < n; i++) {
            assertTrue(NumberedShared.put(i % 2 == 0 ? a : b, Way.WRITE, i, shape.stride()));
        }
        assertEquals(0, queue.remaining());
        assertFalse(NumberedShared.put(a, Way.WRITE, 100, shape.stride()));
        assertFalse(b.claim(n), "all or none");
        boolean loses = policy != OverrunPolicy.BACKPRESSURE;
        assertEquals(loses ? 1 + n : 0, queue.lostEntries(), "one entry, then a batch");
        assertEquals(policy == OverrunPolicy.ERROR, a.isDead());
        assertEquals(policy == OverrunPolicy.ERROR, b.isDead());
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        assertEquals(n, queue.poll(taker::onView, n), "what fitted can be polled");
        if (policy == OverrunPolicy.ERROR) {
            assertFalse(NumberedShared.put(b, Way.WRITE, 101, shape.stride()), "dead for good, with room");
            for (Executable poll : List.<Executable>of(
                    () -> queue.poll(c -> {}, 1),
                    () -> queue.pollInto(Polling.completions(n), 1),
                    queue::startPoll,
                    queue::peek)) {
                assertEquals(
                        "completion queue overrun: " + (n + 2) + " entries lost so far, capacity " + n
                                + "; the queue is dead, make a deeper one",
                        assertThrows(CqOverrunException.class, poll).getMessage());
            }
        } else {
            assertTrue(NumberedShared.put(b, Way.WRITE, n, shape.stride()));
            assertEquals(1, queue.poll(taker::onView, n));
        }
    }

    /** Dead while claims are open: they are still published and polled, and only then comes the exception. */
    @Shape.Every
    void shouldPollWhatWasClaimedBeforeTheQueueDied(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, 2, OverrunPolicy.ERROR);
        SharedWriter a = queue.newWriter();
        SharedWriter b = queue.newWriter();
        assertTrue(a.claim(n));
        assertFalse(b.write(0, 0, 0, 0, 0));
        assertTrue(a.isDead());
        assertEquals(0, queue.poll(c -> {}, 1), "not the end: entries are claimed");
        assertEquals(0, queue.pollInto(Polling.completions(n), 1));
        assertFalse(queue.startPoll());
        assertEquals(null, queue.peek());
        for (int i = 0; i < n; i++) {
            NumberedShared.fill(a.entry(i), Way.CLAIM, i, shape.stride());
        }
        a.commit(n);
        InOrder taker = new InOrder(shape.stride(), Way.CLAIM, 0);
        assertEquals(n, queue.poll(taker::onView, n));
        assertThrows(CqOverrunException.class, () -> queue.poll(c -> {}, 1));
        assertFalse(a.write(0, 0, 0, 0, 0));
        assertEquals(2, queue.lostEntries());
    }

    /** A claim that does not fit takes nothing, also when single slots are free; its row does not cover another's claim. */
    @Test
    void shouldClaimAllOrNone() {
        CompletionQueue queue = queue();
        SharedWriter a = queue.newWriter();
        SharedWriter b = queue.newWriter();
        assertTrue(a.claim(5));
        assertFalse(b.claim(4));
        assertEquals(5, queue.size(), "an open claim counts");
        assertTrue(b.claim(3));
        assertEquals(8, queue.size());
        assertEquals(5, a.abandon());
        assertEquals(3, queue.size(), "not the newest: abandoned, not counted");
        assertEquals(3, b.abandon());
        assertEquals(0, queue.size());
        assertEquals(0, queue.poll(c -> {}, 1));
        assertTrue(a.claim(8), "all is free again");
    }

    /** What is not set reads as zero, though another lap and another writer filled every word of the slot. */
    @Shape.Every
    void shouldClearWhatIsNotSet(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = queue(shape, 2, OverrunPolicy.BACKPRESSURE);
        SharedWriter a = queue.newWriter();
        SharedWriter b = queue.newWriter();
        for (int i = 0; i < n; i++) {
            assertTrue(NumberedShared.put(a, Way.CLAIM, i, shape.stride()));
        }
        InOrder full = new InOrder(shape.stride(), Way.CLAIM, 0);
        assertEquals(n, queue.poll(full::onView, n));
        assertTrue(b.claim(n));
        for (int i = 0; i < n; i++) {
            CompletionEntry entry = b.entry(i);
            NumberedShared.fill(entry, Way.CLAIM, i, shape.stride());
            assertSame(entry, b.entry(i), "asked for again: starts afresh");
            NumberedShared.fill(entry, Way.CLAIM_BARE, i, shape.stride());
        }
        NumberedShared.fill(b.entry(0), Way.CLAIM_BARE, 0, shape.stride());
        b.commit(n);
        InOrder bare = new InOrder(shape.stride(), Way.CLAIM_BARE, 0);
        assertEquals(n, queue.poll(bare::onView, n));
    }

    @Test
    void shouldRefuseNumbersThatBreakTheRule() {
        SharedWriter writer = queue().newWriter();
        for (int count : new int[] {Integer.MIN_VALUE, -1, 0, 9, Integer.MAX_VALUE}) {
            assertEquals("claim must be of 1 to 8 entries, the capacity: " + count, bad(() -> writer.claim(count)));
        }
        assertTrue(writer.claim(3));
        for (int index : new int[] {Integer.MIN_VALUE, -1, 1, 3, Integer.MAX_VALUE}) {
            assertEquals(
                    "entry must be 0 to 0 (claimed: 3, filled so far: 0): " + index,
                    assertThrows(IndexOutOfBoundsException.class, () -> writer.entry(index))
                            .getMessage());
        }
        writer.entry(0);
        writer.entry(1);
        for (int count : new int[] {Integer.MIN_VALUE, -1, 3, 4, Integer.MAX_VALUE}) {
            assertEquals(
                    "commit must be of 0 to 2 entries, those filled of the 3 claimed: " + count,
                    bad(() -> writer.commit(count)));
        }
        writer.entry(2);
        assertEquals(
                "entry must be 0 to 2 (claimed: 3, filled so far: 3): 3",
                assertThrows(IndexOutOfBoundsException.class, () -> writer.entry(3))
                        .getMessage());
        writer.commit(3); // nothing was lost by the refusals
        CompletionQueue narrow = queue(new Shape(32, 4, 0), 2, OverrunPolicy.BACKPRESSURE);
        SharedWriter shorts = narrow.newWriter();
        assertEquals(
                "a 32-byte entry has no inline payload; use 64 or 128 bytes",
                assertThrows(UnsupportedOperationException.class, () -> shorts.write(0, 0, 0, 0, 0, 0, 1, 0))
                        .getMessage());
        assertEquals(0, narrow.size());
    }

    @Test
    void shouldRefuseCallsOutOfTurn() {
        CompletionQueue queue = queue();
        SharedWriter writer = queue.newWriter();
        String none = "no claim is open: claim() must have returned true";
        assertEquals(none, refusal(() -> writer.entry(0)));
        assertEquals(none, refusal(() -> writer.commit(0)));
        assertEquals(0, writer.abandon());
        assertTrue(writer.claim(2));
        CompletionEntry entry = writer.entry(0);
        String open = "a claim of 2 entries is open: commit or abandon it before the next";
        assertEquals(open, refusal(() -> writer.claim(1)));
        assertEquals(open, refusal(() -> writer.write(0, 0, 0, 0, 0)));
        assertEquals(open, refusal(() -> writer.write(0, 0, 0, 0, 0, 1, 2, 3)));
        entry.workRequestId(77); // still attached: the refusals changed nothing
        writer.commit(1);
        assertEquals("no slot is claimed: call claim() before filling an entry", refusal(() -> entry.workRequestId(1)));
        assertEquals(77, queue.peek().workRequestId());
        assertEquals(1, queue.size());
    }

    @Test
    void shouldRefuseWhatTheQueueWasNotMadeFor() {
        for (int writers : new int[] {Integer.MIN_VALUE, -1, 0, 65, Integer.MAX_VALUE}) {
            String message = "writers must be 1 to 64: " + writers;
            assertEquals(
                    message,
                    bad(() -> CompletionQueue.ofCapacity(4).writers(writers).create()));
            assertEquals(message, bad(() -> CompletionQueue.requiredBytes(4, 64, writers)));
        }
        CompletionQueue many = queue();
        assertEquals(
                "completion queue was made for many writers: newWriter() opens one per writing thread",
                refusal(many::writer));
        CompletionQueue one = CompletionQueue.ofCapacity(4).writers(1).create();
        String message = "completion queue was made for one writer: writer() is it; writers(n) makes a queue for many";
        assertEquals(message, refusal(one::newWriter));
        assertEquals(message, refusal(one::recover));
        assertEquals(448, CompletionQueue.requiredBytes(1, 64, 1));
        assertEquals(704, CompletionQueue.requiredBytes(1, 64, 2));
        assertEquals(8608, CompletionQueue.requiredBytes(1, 32, 64));
        QueueMemory small = QueueMemory.allocate(703);
        assertEquals(
                "memory of 703 bytes is too small for 1 entries of 64 bytes: 704 bytes are needed",
                bad(() -> CompletionQueue.ofCapacity(1).writers(2).memory(small).create()));
    }

    /** Rows: the process as owner, freed by close, never more than asked for. */
    @Test
    void shouldOpenAsManyWritersAsAskedFor() {
        QueueMemory memory = QueueMemory.allocate(384 + 64 * 128 + 64);
        memory.fill(0, memory.sizeBytes(), (byte) 1);
        CompletionQueue queue =
                CompletionQueue.ofCapacity(1).writers(64).memory(memory).create();
        List<SharedWriter> writers = new ArrayList<>();
        long self = ProcessHandle.current().pid();
        for (int i = 0; i < 64; i++) {
            assertEquals(0, memory.getLong(Region.row(i) + Region.ROW_OWNER), "free");
            assertEquals(0, memory.getLong(Region.row(i) + Region.ROW_COUNT), "covers nothing");
            writers.add(queue.newWriter());
            assertEquals(self, memory.getLong(Region.row(i) + Region.ROW_OWNER));
        }
        String full = "completion queue takes at most 64 writers, and all are open: close one, or call recover() if"
                + " threads or processes have ended without";
        assertEquals(full, refusal(queue::newWriter));
        assertTrue(writers.get(9).claim(1));
        assertEquals(0, memory.getLong(Region.row(9) + Region.ROW_FIRST));
        assertEquals(1, memory.getLong(Region.row(9) + Region.ROW_COUNT));
        writers.get(9).close();
        assertEquals(0, memory.getLong(Region.row(9) + Region.ROW_OWNER));
        assertEquals(0, memory.getLong(Region.row(9) + Region.ROW_COUNT));
        assertEquals(0, queue.size(), "its claim was given back");
        SharedWriter next = queue.newWriter();
        assertEquals(self, memory.getLong(Region.row(9) + Region.ROW_OWNER));
        assertEquals(full, refusal(queue::newWriter));
        assertTrue(next.write(0, 1, 0, 0, 0));
        assertEquals(1, queue.poll(c -> assertEquals(1, c.workRequestId()), 1));
        writers.get(9).close(); // again: does nothing, above all not to the row's new owner
        assertEquals(self, memory.getLong(Region.row(9) + Region.ROW_OWNER));
        assertEquals("shared writer is closed", refusal(() -> writers.get(9).write(0, 0, 0, 0, 0)));
        assertEquals("shared writer is closed", refusal(() -> writers.get(9).claim(1)));
        assertEquals("shared writer is closed", refusal(() -> writers.get(9).commit(0)));
        assertEquals("shared writer is closed", refusal(() -> writers.get(9).abandon()));
    }

    @Test
    void shouldRefuseEveryCallOnceTheQueueIsClosed() {
        CompletionQueue queue = queue();
        SharedWriter idle = queue.newWriter();
        SharedWriter claimed = queue.newWriter();
        assertTrue(claimed.claim(2));
        CompletionEntry entry = claimed.entry(0);
        queue.close();
        for (Executable call : List.<Executable>of(
                () -> idle.write(0, 0, 0, 0, 0),
                () -> idle.claim(1),
                () -> claimed.entry(1),
                () -> claimed.commit(1),
                claimed::abandon,
                queue::newWriter,
                queue::recover)) {
            assertEquals("completion queue is closed", refusal(call));
        }
        assertThrows(IllegalStateException.class, () -> entry.workRequestId(1), "the view is detached");
        idle.close();
        claimed.close();
        claimed.close();
    }

    @Test
    void shouldBelongToOneThread() {
        CompletionQueue queue = queue();
        SharedWriter writer = queue.newWriter();
        CountDownLatch claimed = new CountDownLatch(1);
        CountDownLatch tried = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        CountDownLatch taken = new CountDownLatch(1);
        Threads.run(
                spin -> {
                    Thread.currentThread().setName("first");
                    try {
                        assertTrue(writer.claim(2));
                        writer.entry(0).workRequestId(1);
                    } finally {
                        claimed.countDown();
                    }
                    tried.await();
                    writer.release();
                    released.countDown();
                    taken.await();
                    assertEquals("thread first is not the user of this shared writer", refusal(writer::release));
                },
                spin -> {
                    Thread.currentThread().setName("second");
                    try {
                        claimed.await();
                        String message = "completion queue has one user of this shared writer, thread first; it must"
                                + " release the role before thread second can take it";
                        for (Executable call : List.<Executable>of(
                                () -> writer.write(0, 0, 0, 0, 0),
                                () -> writer.claim(1),
                                () -> writer.entry(0),
                                () -> writer.commit(1),
                                writer::abandon,
                                writer::close)) {
                            assertEquals(message, refusal(call));
                        }
                    } finally {
                        tried.countDown();
                    }
                    released.await();
                    try {
                        writer.commit(1); // the claim came along, with what was filled
                    } finally {
                        taken.countDown();
                    }
                });
        assertEquals(1, queue.poll(c -> assertEquals(1, c.workRequestId()), 8));
        assertEquals(0, queue.size());
        String ended = "shared writer belongs to thread second, which has ended: recover() takes back what it had"
                + " claimed, newWriter() opens another writer";
        assertEquals(ended, refusal(() -> writer.write(0, 0, 0, 0, 0)));
        assertEquals(ended, refusal(() -> writer.claim(1)));
        assertEquals(ended, refusal(writer::abandon));
        writer.close(); // any thread may, once the writing thread has ended
        assertTrue(queue.newWriter().claim(8));
    }

    /** The host writes nonsense into the doorbell record: refused, counted, nothing overwritten. */
    @Shape.Every
    void shouldNotTrustTheDoorbellRecord(Shape shape) {
        int n = shape.capacity();
        QueueMemory memory = QueueMemory.allocate(384 + 2 * 128 + (long) n * shape.stride());
        CompletionQueue queue = shape.builder().writers(2).memory(memory).create();
        SharedWriter a = queue.newWriter();
        SharedWriter b = queue.newWriter();
        for (int i = 0; i < n; i++) {
            assertTrue(NumberedShared.put(a, Way.WRITE, i, shape.stride()));
        }
        long[] nonsense = {shape.start() - 1, shape.start() + n + 1, shape.start() + (1L << 40)};
        for (int i = 0; i < nonsense.length; i++) {
            memory.putLong(Region.CONSUMER, nonsense[i]);
            assertFalse(NumberedShared.put(b, Way.WRITE, 100, shape.stride()));
            assertEquals(i + 1, memory.getLong(Region.REJECTED));
        }
        memory.putLong(Region.CONSUMER, shape.start());
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        assertEquals(n, queue.poll(taker::onView, n));
    }

    /** The second call finds its thread let in by the first, a row as it was, and credit. */
    @Test
    void shouldRefuseAWriteAfterCloseEachTime() {
        CompletionQueue queue = CompletionQueue.ofCapacity(8).writers(2).create();
        SharedWriter writer = queue.newWriter();
        assertTrue(writer.write(0, 1, 0, 0, 0));
        writer.close();
        for (int i = 0; i < 3; i++) {
            assertEquals("shared writer is closed", refusal(() -> writer.write(0, 2, 0, 0, 0)));
        }
        assertEquals(1, queue.size());
    }

    /** A claim that was too large ends the queue's life while another writer still has credit. */
    @Test
    void shouldLoseWhatIsWrittenToADeadQueueThatHasRoom() {
        CompletionQueue queue = CompletionQueue.ofCapacity(4)
                .writers(2)
                .overrunPolicy(OverrunPolicy.ERROR)
                .create();
        SharedWriter writer = queue.newWriter();
        assertTrue(writer.write(0, 1, 0, 0, 0));
        assertFalse(queue.newWriter().claim(4));
        assertFalse(writer.write(0, 2, 0, 0, 0));
        assertEquals(5, queue.lostEntries());
        assertEquals(1, queue.poll(c -> assertEquals(1, c.workRequestId()), 4));
        assertThrows(CqOverrunException.class, () -> queue.poll(c -> {}, 4));
    }
}
