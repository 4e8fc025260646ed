package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Threads;
import io.cqring.testing.Threads.Spin;
import java.util.BitSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * One writer thread, one poller thread, and an exact account: every entry once, in order, each word its own. Nothing depends
 * on time, but a writer on a machine too busy for tiny rings stops early; the line at the end says how many entries moved.
 */
@Tag("bothroutes")
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class ThreadedTest {
    private static final long ENOUGH_NS = 3_000_000_000L;
    private static final long AT_LEAST = 2_000;
    private static final AtomicLong MOVED = new AtomicLong();

    @AfterAll
    static void tell() {
        System.out.println("Threaded: " + MOVED + " entries moved");
    }

    /** How far a writer goes: to its target, or until it has taken long enough. */
    private static final class Goal {
        private final long target;
        private final long startNs = System.nanoTime();

        Goal(long target) {
            this.target = target;
        }

        boolean reached(long written) {
            if (written == target) {
                return true;
            }
            boolean look = (written & 0xFF) == 0 && written >= AT_LEAST;
            return look && System.nanoTime() - startNs > ENOUGH_NS;
        }
    }

    private static long target(int capacity) {
        return capacity == 1 ? 100_000 : capacity == 2 ? 150_000 : capacity < 8192 ? 500_000 : 2_000_000;
    }

    /** The way of entry n, so that lap after lap a slot is filled in different ways. */
    private static Way wayOf(long n) {
        return switch ((int) (n % 5)) {
            case 0 -> Way.WRITE;
            case 1 -> Way.STAGE;
            case 2 -> Way.CLAIM;
            case 3 -> Way.WRITE_BARE;
            default -> Way.CLAIM_BARE;
        };
    }

    private static final class Account implements Polling.Taker {
        private final int stride;
        long next;

        Account(int stride) {
            this.stride = stride;
        }

        @Override
        public void onView(Completion view) {
            Numbered.verify(view, next, wayOf(next), stride);
            next++;
        }

        @Override
        public void onCopy(WorkCompletion copy) {
            Numbered.verify(copy, next, wayOf(next), stride);
            next++;
        }
    }

    /** Backpressure: the writer tries again, so all arrive. Single writes and batches, every way to poll. */
    @FieldBug({7, 8, 24, 25, 65})
    @ParameterizedTest
    @CsvSource({
        "32, 1, 0",
        "64, 1, 2147483645",
        "128, 1, 0",
        "32, 2, 4294967293",
        "64, 2, 0",
        "128, 2, 9223372036854775805",
        "64, 4, 16777213",
        "128, 8, 65533",
        "32, 64, 9223372036854775805",
        "64, 64, 0",
        "128, 64, 4294967293",
        "32, 8192, 2147483645",
        "64, 8192, 9223372036854775805",
        "128, 8192, 0"
    })
    void everyEntryArrivesOnceAndInOrder(int stride, int capacity, long start) {
        CompletionQueue queue = new Shape(stride, capacity, start).queue();
        AtomicLong total = new AtomicLong(-1);
        Account account = new Account(stride);
        Threads.run(
                spin -> {
                    CompletionWriter writer = queue.writer();
                    Goal goal = new Goal(target(capacity));
                    long n = 0;
                    while (!goal.reached(n)) {
                        if (wayOf(n).put(writer, n, stride)) {
                            n++;
                        } else {
                            writer.flush();
                            spin.once();
                        }
                    }
                    writer.flush();
                    total.set(n);
                },
                spin -> {
                    int round = 0;
                    while (account.next != total.get()) {
                        Polling polling = Polling.at(round++);
                        if (polling.take(queue, 1 + round % (capacity + 1), account) == 0) {
                            spin.once();
                        }
                    }
                });
        assertEquals(total.get(), account.next);
        assertTrue(queue.isEmpty());
        assertEquals(0, queue.lostEntries());
        assertEquals(0, queue.writer().rejectedDoorbells());
        assertEquals(0, queue.poll(c -> {}, capacity));
        MOVED.addAndGet(account.next);
    }

    /** Drop: what the writer was told is lost is lost, all else arrives; nothing twice, nothing uncounted. */
    @FieldBug({60, 10})
    @ParameterizedTest
    @CsvSource({"32, 1", "64, 2", "128, 4", "32, 64", "64, 64", "128, 64", "64, 4096"})
    void droppedEntriesAreExactlyThoseTheWriterWasTold(int stride, int capacity) {
        CompletionQueue queue = new Shape(stride, capacity, 3).queue(OverrunPolicy.DROP_NEW);
        long target = 1_000_000;
        BitSet lost = new BitSet();
        BitSet arrived = new BitSet();
        AtomicBoolean finished = new AtomicBoolean();
        Threads.run(
                spin -> {
                    for (long n = 0; n < target; n++) {
                        if (!Way.WRITE.put(queue.writer(), n, stride)) {
                            lost.set((int) n);
                            if ((n & 7) == 0) {
                                spin.once(); // or nearly all would be lost
                            }
                        }
                    }
                    finished.set(true);
                },
                spin -> {
                    long[] previous = {-1};
                    while (true) {
                        boolean last = finished.get();
                        int taken = queue.poll(
                                c -> {
                                    long n = c.workRequestId();
                                    if (n <= previous[0]) {
                                        throw new AssertionError(n + " after " + previous[0]);
                                    }
                                    Numbered.verify(c, n, Way.WRITE, stride);
                                    previous[0] = n;
                                    arrived.set((int) n);
                                },
                                capacity);
                        if (taken == 0) {
                            if (last) {
                                return;
                            }
                            spin.once();
                        }
                    }
                });
        assertFalse(arrived.intersects(lost), "told lost, yet delivered");
        assertEquals(target, arrived.cardinality() + lost.cardinality(), "vanished uncounted");
        assertEquals(lost.cardinality(), queue.lostEntries());
        MOVED.addAndGet(arrived.cardinality());
    }

    /** Error: everything up to the overrun arrives, then the exception, for ever. */
    @FieldBug(60)
    @ParameterizedTest
    @CsvSource({"32, 1", "64, 2", "128, 4", "32, 64", "64, 64", "128, 8192"})
    void allThatWasWrittenBeforeTheOverrunArrives(int stride, int capacity) {
        for (int round = 0; round < 20; round++) {
            long pauseAt = 1 + round * 37L;
            CompletionQueue queue = new Shape(stride, capacity, round).queue(OverrunPolicy.ERROR);
            AtomicLong accepted = new AtomicLong(-1);
            InOrder taker = new InOrder(stride, Way.WRITE, 0);
            Threads.run(
                    spin -> {
                        long n = 0;
                        while (Way.WRITE.put(queue.writer(), n, stride)) {
                            n++;
                        }
                        accepted.set(n);
                        for (int i = 0; i < 10; i++) {
                            assertFalse(Way.WRITE.put(queue.writer(), -1, stride));
                        }
                    },
                    spin -> {
                        boolean paused = false;
                        try {
                            while (true) {
                                if (!paused && taker.next() >= pauseAt) {
                                    while (accepted.get() < 0) { // stop polling: the ring must overrun
                                        spin.once();
                                    }
                                    paused = true;
                                }
                                if (queue.poll(taker::onView, 1 + (int) (taker.next() % capacity)) == 0) {
                                    spin.once();
                                }
                            }
                        } catch (CqOverrunException e) {
                            assertTrue(e.lostEntries() >= 1);
                        }
                    });
            assertEquals(accepted.get(), taker.next());
            assertEquals(11, queue.lostEntries());
            assertThrows(CqOverrunException.class, () -> queue.poll(c -> {}, 1));
            MOVED.addAndGet(taker.next());
        }
    }

    /** Exactly N ahead, ten million times, is no overrun; then one true lap is exactly one. */
    @FieldBug(10)
    @ParameterizedTest
    @CsvSource({"64, 1, 100000", "32, 2, 150000", "64, 64, 10000000", "128, 64, 2000000"})
    void aProducerExactlyCapacityAheadNeverOverruns(int stride, int capacity, long target) {
        CompletionQueue queue = new Shape(stride, capacity, (1L << 32) - 5).queue(OverrunPolicy.ERROR);
        AtomicLong polled = new AtomicLong();
        AtomicLong total = new AtomicLong(-1);
        Threads.run(
                spin -> {
                    Goal goal = new Goal(target);
                    long known = 0;
                    long n = 0;
                    while (!goal.reached(n)) {
                        while (n - known == capacity) {
                            known = polled.get();
                            if (n - known == capacity) {
                                spin.once();
                            }
                        }
                        assertTrue(queue.writer().write(0, n, 0, 0, 0), "false overrun");
                        n++;
                    }
                    total.set(n);
                    while (polled.get() != n) {
                        spin.once();
                    }
                    for (int i = 0; i < capacity; i++) {
                        assertTrue(queue.writer().write(0, n + i, 0, 0, 0));
                    }
                    assertEquals(0, queue.lostEntries());
                    assertFalse(queue.writer().write(0, n + capacity, 0, 0, 0));
                    assertEquals(1, queue.lostEntries());
                },
                spin -> {
                    long[] next = {0};
                    while (next[0] != total.get()) {
                        int taken = queue.poll(
                                c -> {
                                    if (c.workRequestId() != next[0]++) {
                                        throw new AssertionError(c.workRequestId() + " at " + (next[0] - 1));
                                    }
                                },
                                capacity);
                        if (taken == 0) {
                            spin.once();
                        } else {
                            polled.set(next[0]);
                        }
                    }
                });
        MOVED.addAndGet(total.get());
    }

    /** One slot, and a handler that reads the entry, dawdles, and reads it again: it must not have changed. */
    @FieldBug(24)
    @ParameterizedTest
    @CsvSource({"32, 1", "64, 1", "128, 1", "64, 4"})
    void aSlotIsNotOverwrittenWhileItsHandlerRuns(int stride, int capacity) {
        CompletionQueue queue = new Shape(stride, capacity, 0).queue();
        AtomicLong total = new AtomicLong(-1);
        Account account = new Account(stride);
        Threads.run(
                spin -> {
                    Goal goal = new Goal(60_000);
                    long n = 0;
                    while (!goal.reached(n)) {
                        if (wayOf(n).publish(queue.writer(), n, stride)) {
                            n++;
                        } else {
                            spin.once();
                        }
                    }
                    total.set(n);
                },
                spin -> {
                    while (account.next != total.get()) {
                        int taken = queue.poll(
                                c -> {
                                    for (int i = 0; i < 20; i++) {
                                        Numbered.verify(c, account.next, wayOf(account.next), stride);
                                        Thread.onSpinWait();
                                    }
                                    account.next++;
                                },
                                capacity);
                        if (taken == 0) {
                            spin.once();
                        }
                    }
                });
        MOVED.addAndGet(account.next);
    }

    /** While the writer keeps on writing, each call ends after at most N entries and has published what it took. */
    @FieldBug(62)
    @ParameterizedTest
    @CsvSource({"64, 2", "32, 64", "64, 64", "128, 1024"})
    void aCallEndsHoweverFastTheWriterIs(int stride, int capacity) {
        Shape shape = new Shape(stride, capacity, 1L << 31);
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        AtomicBoolean stop = new AtomicBoolean();
        long[] taken = {0};
        Threads.run(
                spin -> {
                    for (long n = 0; !stop.get(); ) {
                        if (queue.writer().write(0, n, 0, 0, 0)) {
                            n++;
                        } else {
                            spin.once();
                        }
                    }
                },
                spin -> {
                    try {
                        for (int calls = 0; calls < 20_000; calls++) {
                            int now = queue.poll(c -> taken[0]++, Integer.MAX_VALUE);
                            assertTrue(now <= capacity, () -> "took " + now);
                            assertEquals(shape.start() + taken[0], memory.getLongAcquire(Region.CONSUMER));
                            if (now == 0) {
                                spin.once();
                            }
                        }
                    } finally {
                        stop.set(true);
                    }
                });
        MOVED.addAndGet(taken[0]);
    }

    /** A third thread that asks for sizes all the time never gets a lie, and never sees the consumer index go back. */
    @FieldBug({64, 26})
    @ParameterizedTest
    @CsvSource({
        "64, 1, 2147483640",
        "32, 2, 4294967290",
        "64, 8, 9223372036854775800",
        "128, 64, 65530",
        "32, 1048576, 2147483000"
    })
    void anObserverNeverSeesAnImpossibleSize(int stride, int capacity, long start) {
        Shape shape = new Shape(stride, capacity, start);
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        AtomicLong total = new AtomicLong(-1);
        AtomicBoolean finished = new AtomicBoolean();
        AtomicLong looks = new AtomicLong();
        Account account = new Account(stride);
        Threads.run(
                spin -> {
                    Goal goal = new Goal(target(capacity));
                    long n = 0;
                    while (!goal.reached(n)) {
                        if (wayOf(n).put(queue.writer(), n, stride)) {
                            n++;
                        } else {
                            queue.writer().flush();
                            spin.once();
                        }
                    }
                    queue.writer().flush();
                    total.set(n);
                },
                spin -> {
                    try {
                        while (account.next != total.get()) {
                            if (Polling.HANDLER.take(queue, capacity, account) == 0) {
                                spin.once();
                            }
                        }
                    } finally {
                        finished.set(true);
                    }
                },
                spin -> observe(queue, memory, finished, looks, spin));
        assertEquals(0, queue.size());
        assertEquals(capacity, queue.remaining());
        assertTrue(looks.get() > 0);
        MOVED.addAndGet(account.next);
    }

    private static void observe(
            CompletionQueue queue, QueueMemory memory, AtomicBoolean finished, AtomicLong looks, Spin spin) {
        int capacity = queue.capacity();
        LongSupplier doorbell = () -> memory.getLongAcquire(Region.CONSUMER);
        long before = doorbell.getAsLong();
        do {
            int size = queue.size();
            int remaining = queue.remaining();
            if (size < 0 || size > capacity || remaining < 0 || remaining > capacity) {
                throw new AssertionError("size " + size + ", remaining " + remaining + " of " + capacity);
            }
            long now = doorbell.getAsLong();
            if (now - before < 0) {
                throw new AssertionError("consumer index went back from " + before + " to " + now);
            }
            before = now;
            looks.incrementAndGet();
            spin.once();
        } while (!finished.get());
    }

    /** If the poller is told "not empty", its next poll must find something. */
    @FieldBug(83)
    @ParameterizedTest
    @CsvSource({"64, 1", "32, 2", "64, 8", "128, 64"})
    void notEmptyPromisesThePollerAnEntry(int stride, int capacity) {
        CompletionQueue queue = new Shape(stride, capacity, (1L << 31) - 100).queue();
        AtomicLong total = new AtomicLong(-1);
        Account account = new Account(stride);
        Threads.run(
                spin -> {
                    Goal goal = new Goal(Math.min(target(capacity), 500_000));
                    long n = 0;
                    while (!goal.reached(n)) {
                        if (wayOf(n).put(queue.writer(), n, stride)) {
                            n++;
                        } else {
                            queue.writer().flush();
                            spin.once();
                        }
                    }
                    queue.writer().flush();
                    total.set(n);
                },
                spin -> {
                    int round = 0;
                    while (account.next != total.get()) {
                        int size = queue.size();
                        if (size == 0) {
                            assertEquals(capacity, capacity - size);
                            spin.once();
                            continue;
                        }
                        Polling polling = Polling.at(round++);
                        int taken = polling.take(queue, capacity, account);
                        if (taken < size) {
                            throw new AssertionError(polling + " took " + taken + " of a size of " + size);
                        }
                        int left = queue.size();
                        if (left < 0 || left > capacity) {
                            throw new AssertionError("size " + left);
                        }
                    }
                });
        // And the reverse, once all is quiet: empty means that there is nothing.
        assertTrue(queue.isEmpty());
        assertEquals(0, queue.poll(c -> {}, capacity));
        MOVED.addAndGet(account.next);
    }

    /** What the writer wrote elsewhere before it published is visible to whoever takes the completion (edge DATA). */
    @FieldBug(8)
    @Test
    void whatWasWrittenBeforeTheCompletionIsVisibleWithIt() {
        int capacity = 64;
        CompletionQueue queue = new Shape(64, capacity, 0).queue();
        QueueMemory payload = QueueMemory.allocate(capacity * 8L);
        long[] heap = new long[capacity];
        AtomicLong total = new AtomicLong(-1);
        long[] next = {0};
        Threads.run(
                spin -> {
                    Goal goal = new Goal(2_000_000);
                    long n = 0;
                    long acknowledged = 0;
                    while (!goal.reached(n)) {
                        // The slot of the side memory is free again when the completion that named it was returned.
                        if (n - acknowledged == capacity) {
                            acknowledged = n - queue.size();
                            if (n - acknowledged == capacity) {
                                spin.once();
                                continue;
                            }
                        }
                        int at = (int) (n % capacity);
                        payload.putLong(at * 8L, Numbered.mix(n));
                        heap[at] = ~n;
                        assertTrue(queue.writer().write(0, n, 0, 0, 0));
                        n++;
                    }
                    total.set(n);
                },
                spin -> {
                    while (next[0] != total.get()) {
                        int taken = queue.poll(
                                c -> {
                                    long n = c.workRequestId();
                                    int at = (int) (n % capacity);
                                    if (n != next[0]++
                                            || payload.getLong(at * 8L) != Numbered.mix(n)
                                            || heap[at] != ~n) {
                                        throw new AssertionError("entry " + n + " without its data");
                                    }
                                },
                                capacity);
                        if (taken == 0) {
                            spin.once();
                        }
                    }
                });
        MOVED.addAndGet(next[0]);
    }
}
