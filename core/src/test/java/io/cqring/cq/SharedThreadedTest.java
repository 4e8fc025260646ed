package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Threads;
import io.cqring.testing.Threads.Spin;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Two writer threads, one poller thread, and an exact account: every entry once, each writer's in order, each word its own.
 * Writers mix single writes, batches, batches that are given back in part, and claims that are given up.
 */
@Tag("bothroutes")
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class SharedThreadedTest {
    /** Entries of the second writer are numbered from here. */
    private static final long SECOND = 1L << 40;

    private static final AtomicLong MOVED = new AtomicLong();
    private static final AtomicLong PASSED_OVER = new AtomicLong();

    @AfterAll
    static void tell() {
        System.out.println("Threaded, two writers: " + MOVED + " entries moved, " + PASSED_OVER + " passed over");
    }

    private static Way wayOf(long n) {
        return n % 3 == 0 ? Way.CLAIM : Way.WRITE;
    }

    /** Writes {@code count} entries from {@code first} on, numbers divisible by three in batches of their own. */
    private static void write(SharedWriter writer, int capacity, int stride, long first, long count, Spin spin) {
        for (long n = first; n != first + count; ) {
            if (n % 7 == 0 && writer.claim(1)) {
                writer.abandon();
            }
            boolean written;
            if (wayOf(n) == Way.CLAIM) {
                int size = capacity == 1 ? 1 : 2; // the second entry is never published
                written = writer.claim(size);
                if (written) {
                    NumberedShared.fill(writer.entry(0), Way.CLAIM, n, stride);
                    writer.commit(1);
                }
            } else {
                written = NumberedShared.put(writer, Way.WRITE, n, stride);
            }
            if (written) {
                n++;
            } else {
                spin.once();
            }
        }
        writer.close();
    }

    /** Half a million entries per writer, a million in all, for each stride, on tiny and large rings. */
    @FieldBug(5)
    @ParameterizedTest
    @CsvSource({
        "32, 2, 4294967293, 30000",
        "64, 1, 0, 20000",
        "128, 4, 9223372036854775805, 50000",
        "64, 4, 3, 50000",
        "32, 8192, 0, 500000",
        "64, 8192, 2147483645, 500000",
        "128, 8192, 65533, 500000"
    })
    void shouldMoveEveryEntryOnceAndEachWritersInOrder(int stride, int capacity, long start, long count) {
        CompletionQueue queue =
                new Shape(stride, capacity, start).builder().writers(2).create();
        SharedWriter a = queue.newWriter();
        SharedWriter b = queue.newWriter();
        long[] next = {3, SECOND};
        Threads.run(
                spin -> write(a, capacity, stride, 3, count, spin),
                spin -> write(b, capacity, stride, SECOND, count, spin),
                spin -> {
                    long left = 2 * count;
                    for (int calls = 0; left != 0; calls++) {
                        int taken;
                        if (calls % 4 != 3) {
                            taken = queue.poll(seen -> take(seen, next, stride), 64);
                        } else {
                            taken = 0;
                            if (queue.startPoll()) {
                                do {
                                    take(queue.completion(), next, stride);
                                } while (queue.next());
                                taken = queue.endPoll();
                            }
                        }
                        left -= taken;
                        int size = queue.size();
                        assertTrue(size >= 0 && size <= capacity);
                        if (taken == 0) {
                            spin.once();
                        }
                    }
                    assertEquals(0, queue.poll(seen -> {}, 1));
                    queue.releasePoller();
                });
        assertEquals(3 + count, next[0]);
        assertEquals(SECOND + count, next[1]);
        assertEquals(0, queue.poll(seen -> {}, 1), "what is left is passed over");
        assertEquals(0, queue.size());
        MOVED.addAndGet(2 * count);
        PASSED_OVER.addAndGet(queue.memory.getLong(Region.PASSED_OVER));
        assertEquals(queue.memory.getLong(Region.PASSED_OVER), queue.memory.getLong(Region.ABANDONED));
    }

    private static void take(Completion seen, long[] next, int stride) {
        int writer = seen.workRequestId() < SECOND ? 0 : 1;
        long n = next[writer]++;
        Numbered.verify(seen, n, wayOf(n), stride);
    }

    /** A full ring loses entries and counts them: what is polled and what is lost is what was written. */
    @ParameterizedTest
    @CsvSource({"DROP_NEW, 2", "DROP_NEW, 64", "ERROR, 2", "ERROR, 64"})
    void shouldAccountForEveryLostEntry(OverrunPolicy policy, int capacity) {
        long count = 100_000;
        CompletionQueue queue = new Shape(64, capacity, 1)
                .builder()
                .overrunPolicy(policy)
                .writers(2)
                .create();
        SharedWriter a = queue.newWriter();
        SharedWriter b = queue.newWriter();
        long[] polled = {0};
        AtomicLong written = new AtomicLong();
        AtomicBoolean aDone = new AtomicBoolean();
        AtomicBoolean bDone = new AtomicBoolean();
        Threads.run(
                spin -> {
                    written.addAndGet(writeOrLose(a, 0, count));
                    aDone.set(true);
                },
                spin -> {
                    written.addAndGet(writeOrLose(b, SECOND, count));
                    bDone.set(true);
                },
                spin -> {
                    long[] last = {-1, -1};
                    boolean end = false;
                    boolean endSeen = false;
                    while (!end) {
                        boolean done = aDone.get() && bDone.get();
                        try {
                            int taken = queue.poll(
                                    seen -> {
                                        long id = seen.workRequestId();
                                        int writer = id < SECOND ? 0 : 1;
                                        assertTrue(id > last[writer], "each writer's in order, none twice");
                                        last[writer] = id;
                                        Numbered.verify(seen, id, Way.WRITE, 64);
                                        polled[0]++;
                                    },
                                    capacity);
                            assertTrue(taken == 0 || !endSeen, "an entry after the end");
                            end = done && taken == 0;
                        } catch (CqOverrunException dead) {
                            end = done;
                            endSeen = true;
                            assertEquals(OverrunPolicy.ERROR, policy);
                        }
                        spin.once();
                    }
                });
        assertEquals(written.get(), polled[0]);
        assertEquals(2 * count, polled[0] + queue.lostEntries());
    }

    private static long writeOrLose(SharedWriter writer, long first, long count) {
        long written = 0;
        for (long n = first; n != first + count; n++) {
            if (NumberedShared.put(writer, Way.WRITE, n, 64)) {
                written++;
            }
        }
        return written;
    }
}
