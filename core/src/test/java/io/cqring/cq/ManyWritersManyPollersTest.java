package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.Threads;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Two writers and two pollers on one queue: each entry exactly once, and each writer's in order at each poller. */
class ManyWritersManyPollersTest {
    private static final int WRITERS = 2;
    private static final int PER_WRITER = 100_000;

    @ParameterizedTest
    @CsvSource({"32, 1", "32, 1024", "64, 2", "64, 8", "64, 1024", "128, 64"})
    void shouldDeliverEachEntryOnce(int stride, int capacity) {
        long seed = Long.getLong("cqring.test.seed", new Random().nextLong());
        System.out.println("ManyWritersManyPollersTest: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        CompletionQueue queue = CompletionQueue.ofCapacity(capacity)
                .strideBytes(stride)
                .startSequence((1L << 32) - 3)
                .writers(WRITERS)
                .sharedPollers()
                .create();
        AtomicLongArray seen = new AtomicLongArray(WRITERS * PER_WRITER);
        AtomicLong left = new AtomicLong((long) WRITERS * PER_WRITER);
        AtomicLong abandoned = new AtomicLong();
        Threads.run(
                writer(queue, 0, seed, abandoned),
                writer(queue, 1, seed + 1, abandoned),
                poller(queue, seed + 2, seen, left),
                poller(queue, seed + 3, seen, left));
        for (int i = 0; i < seen.length(); i++) {
            assertEquals(1, seen.get(i), "entry " + i);
        }
        assertEquals(0, queue.size());
        assertEquals(0, queue.lostEntries());
        assertTrue(abandoned.get() != 0, "some claims were given back");
    }

    /** Single writes, whole claims, and claims of which the end is given back. */
    private static Threads.Body writer(CompletionQueue queue, int number, long seed, AtomicLong abandoned) {
        return spin -> {
            Random random = new Random(seed);
            int next = 0;
            try (SharedWriter writer = queue.newWriter()) {
                while (next != PER_WRITER) {
                    int count = Math.min(1 + random.nextInt(4), queue.capacity());
                    if (count == 1 && random.nextBoolean()) {
                        if (writer.write(
                                CqeLayout.header(CqeOpcode.RECV, false, next, number, 0), id(number, next), 0, 0, 0)) {
                            next++;
                        } else {
                            spin.once();
                        }
                    } else if (writer.claim(count)) {
                        int commit = Math.min(random.nextInt(count + 1), PER_WRITER - next);
                        for (int i = 0; i < commit; i++) {
                            writer.entry(i)
                                    .header(CqeLayout.header(CqeOpcode.RECV, false, next, number, 0))
                                    .workRequestId(id(number, next));
                            next++;
                        }
                        writer.commit(commit);
                        abandoned.addAndGet(count - commit);
                    } else {
                        spin.once();
                    }
                }
            }
        };
    }

    private static long id(int writer, int number) {
        return (long) writer * PER_WRITER + number;
    }

    private static Threads.Body poller(CompletionQueue queue, long seed, AtomicLongArray seen, AtomicLong left) {
        return spin -> {
            Random random = new Random(seed);
            long[] newest = {-1, -1};
            try (CompletionPoller poller = queue.newPoller(1 + random.nextInt(16))) {
                while (left.get() != 0) {
                    int taken = poller.poll(
                            completion -> {
                                long id = completion.workRequestId();
                                int writer = completion.qpNumber();
                                assertEquals(id % PER_WRITER & 0xFF_FFFF, completion.wqeCounter());
                                assertEquals(id / PER_WRITER, writer);
                                assertTrue(id > newest[writer], "out of order");
                                newest[writer] = id;
                                seen.incrementAndGet((int) id);
                            },
                            1 + random.nextInt(40));
                    left.addAndGet(-taken);
                    if (taken == 0) {
                        spin.once();
                    }
                }
            }
        };
    }

    /** With many of both, the end of a dead queue is reported to each poller, once all that was claimed has come. */
    @Test
    void shouldReportTheOverrunToEveryPollerAfterTheLastClaim() {
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .writers(2)
                .sharedPollers()
                .overrunPolicy(OverrunPolicy.ERROR)
                .create();
        SharedWriter one = queue.newWriter();
        SharedWriter other = queue.newWriter();
        CompletionPoller first = queue.newPoller();
        CompletionPoller second = queue.newPoller();
        assertTrue(one.claim(2));
        assertEquals(false, other.write(0, 1, 0, 0, 0), "overrun: the queue is dead");
        assertEquals(0, first.poll(completion -> {}, 4), "two entries are still to come");
        one.entry(0).workRequestId(10);
        one.entry(1).workRequestId(11);
        one.commit(2);
        assertEquals(1, first.poll(completion -> assertEquals(10, completion.workRequestId()), 1));
        assertEquals(1, second.poll(completion -> assertEquals(11, completion.workRequestId()), 4));
        assertThrows(CqOverrunException.class, () -> first.poll(completion -> {}, 4));
        assertThrows(CqOverrunException.class, () -> second.poll(completion -> {}, 4));
        assertEquals(1, queue.lostEntries());
    }

    @Test
    void shouldNotCountAbandonedEntries() {
        CompletionQueue queue =
                CompletionQueue.ofCapacity(8).writers(2).sharedPollers().create();
        SharedWriter one = queue.newWriter();
        SharedWriter other = queue.newWriter();
        assertTrue(one.claim(2));
        assertTrue(other.write(0, 5, 0, 0, 0));
        assertEquals(3, queue.size(), "an open claim counts");
        assertEquals(2, one.abandon());
        assertEquals(1, queue.size());
        CompletionPoller poller = queue.newPoller();
        assertEquals(1, poller.poll(completion -> assertEquals(5, completion.workRequestId()), 8));
        assertEquals(0, queue.size());
        assertEquals(8, queue.remaining());
    }
}
