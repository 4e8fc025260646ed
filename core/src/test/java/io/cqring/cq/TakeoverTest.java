package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.StoppingMemory;
import io.cqring.testing.StoppingMemory.Stopped;
import io.cqring.testing.Threads;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One end stops at any store and another goes on in its place. In one process; KillIT does it with real ones. */
@Tag("bothroutes")
class TakeoverTest {
    /** Writes numbers from {@code first} on in batches until stopped: two by write, then three by stage and claim, and so on. */
    private static void writeBatches(CompletionWriter writer, long first, long end, int stride) {
        for (long n = first; n < end; ) {
            if (n % 5 < 2) {
                assertTrue(Way.CLAIM.publish(writer, n, stride));
                n++;
            } else {
                for (int i = 0; i < 3 && n < end && Way.CLAIM.put(writer, n, stride); i++) {
                    n++;
                }
                writer.flush();
            }
        }
    }

    /**
     * The writer dies in front of each of its stores in turn: all that had its owner bit is polled, in order; the next writer
     * goes on behind; nothing else surfaces.
     */
    @FieldBug(99)
    @Shape.Every
    void shouldGoOnWhereAWriterStoppedAtAnyStore(Shape shape) {
        int n = shape.capacity();
        for (int old : new int[] {0, n / 2, n + n / 2}) { // entries written and polled before: both parities
            for (long stores = 0; ; stores++) {
                StoppingMemory memory = new StoppingMemory(QueueMemory.allocate(shape.bytes()));
                CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
                for (int i = 0; i < old; i++) {
                    assertTrue(Way.CLAIM.publish(queue.writer(), i, shape.stride()));
                    assertEquals(1, queue.poll(c -> {}, 1));
                }
                memory.stopAfter(stores);
                try {
                    writeBatches(queue.writer(), old, old + n, shape.stride());
                } catch (Stopped expected) {
                    assertTrue(memory.hasStopped());
                }
                long published = countOwnerBits(memory, shape, old);
                goOn(shape, memory, old, published, stores % 2 == 0);
                if (!memory.hasStopped()) {
                    assertEquals(n, published);
                    break;
                }
                if (stores > 40 && n > 8) {
                    stores += 7L * n; // large rings: samples
                }
            }
        }
    }

    /** Owner bits that are right for their lap, from a sequence on, read off the slots. */
    private static long countOwnerBits(QueueMemory memory, Shape shape, long from) {
        long count = 0;
        while (count < shape.capacity()) {
            long sequence = shape.start() + from + count;
            long lap = Long.divideUnsigned(sequence, shape.capacity());
            if ((memory.getLong(shape.slot(sequence)) & 1) != (lap % 2 == 0 ? 1 : 0)) {
                break;
            }
            count++;
        }
        return count;
    }

    private static void goOn(Shape shape, StoppingMemory stopped, long polled, long published, boolean recover) {
        int n = shape.capacity();
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        byte[] left = new byte[memory.sizeBytes()];
        stopped.getBytes(0, left, 0, left.length);
        memory.putBytes(0, left, 0, left.length);
        CompletionQueue queue = CompletionQueue.attach(memory);
        byte[] after = new byte[left.length];
        memory.getBytes(0, after, 0, left.length);
        assertArrayEquals(left, after, "attach changes nothing");
        if (recover) {
            assertEquals(
                    0, queue.writer().recover(), "published in order: no owner bit past the first that is missing");
            assertEquals(published, queue.size());
        }
        InOrder taker = new InOrder(shape.stride(), Way.CLAIM, polled);
        long next = polled + published;
        for (int i = (int) published; i < n; i++) {
            assertTrue(Way.CLAIM.publish(queue.writer(), next++, shape.stride()));
        }
        assertFalse(Way.CLAIM.publish(queue.writer(), next, shape.stride()), "full");
        assertEquals(n, queue.poll(taker::onView, n));
        for (int i = 0; i < 2 * n; i++) {
            assertTrue(Way.CLAIM.publish(queue.writer(), next++, shape.stride()));
            assertEquals(1, queue.poll(taker::onView, n));
        }
        assertEquals(next, taker.next());
        assertEquals(0, queue.writer().rejectedDoorbells());
    }

    /** The poller dies in front of each store of the consumer sequence: the next one gets what was not returned, again. */
    @Shape.Every
    void shouldGoOnWhereAPollerStoppedAtAnyStore(Shape shape) {
        int n = shape.capacity();
        for (Polling polling : Polling.values()) {
            for (long stores = 0; ; stores++) {
                QueueMemory real = QueueMemory.allocate(shape.bytes());
                StoppingMemory memory = new StoppingMemory(real);
                CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, real);
                for (int i = 0; i < n; i++) {
                    assertTrue(Way.CLAIM.publish(queue.writer(), i, shape.stride()));
                }
                InOrder first = new InOrder(shape.stride(), Way.CLAIM, 0);
                CompletionQueue victim = CompletionQueue.attach(memory);
                memory.stopAfter(stores);
                try {
                    while (polling.take(victim, Math.max(1, n / 2), first) != 0) {
                        assertFalse(memory.hasStopped());
                    }
                } catch (Stopped expected) {
                    assertTrue(memory.hasStopped());
                }
                long returned = real.getLong(Region.CONSUMER) - shape.start();
                if (polling != Polling.COPY) { // what a copy had taken when it died was not delivered
                    assertTrue(first.next() >= returned, "returned and never handled");
                    assertTrue(first.next() - returned <= Math.max(1, n / 2), "more than one call's entries again");
                }
                CompletionQueue heir = CompletionQueue.attach(real);
                InOrder second = new InOrder(shape.stride(), Way.CLAIM, returned);
                assertEquals(n - returned, heir.poll(second::onView, n));
                assertEquals(n, second.next());
                if (!memory.hasStopped()) {
                    break;
                }
            }
        }
    }

    /** A device that publishes in another order, or memory that went wrong: valid owner bits past a hole. */
    @Shape.Every
    void shouldReturnWhatLiesPastAHole(Shape shape) {
        int n = shape.capacity();
        for (int holes = 1; holes <= n; holes = 2 * holes) {
            QueueMemory memory = QueueMemory.allocate(shape.bytes());
            CompletionQueue old = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
            for (int i = 0; i < n + 1; i++) {
                assertTrue(Way.WRITE.publish(old.writer(), i, shape.stride()));
                assertEquals(1, old.poll(c -> {}, 1));
            }
            int planted = 0;
            for (int i = 1; i < n; i += holes) {
                int slot = shape.slot(shape.start() + n + 1 + i);
                memory.putLong(slot, memory.getLong(slot) ^ 1);
                planted++;
            }
            CompletionQueue queue = CompletionQueue.attach(memory);
            assertEquals(planted, queue.writer().recover());
            assertEquals(0, queue.writer().recover(), "nothing is left to return");
            InOrder taker = new InOrder(shape.stride(), Way.WRITE, n + 1);
            for (long number = n + 1L; number < 4L * n; number++) {
                assertTrue(Way.WRITE.publish(queue.writer(), number, shape.stride()));
                assertEquals(1, queue.poll(taker::onView, n), "no phantom behind it");
            }
        }
    }

    @Test
    void shouldRefuseAConsumerSequencePastWhatIsPublished() {
        QueueMemory memory = QueueMemory.allocate(384 + 4 * 64);
        CompletionQueue queue = CompletionQueue.ofCapacity(4).memory(memory).create();
        assertTrue(Way.WRITE.publish(queue.writer(), 0, 64));
        memory.putLong(Region.CONSUMER, 2);
        assertEquals(
                "cannot attach " + memory
                        + ": consumer sequence must be at most 1, the first entry that is not published: 2",
                assertThrows(CqAttachException.class, () -> CompletionQueue.attach(memory))
                        .getMessage());
    }

    /** Counts and the state of death go on; nothing vanishes uncounted. */
    @FieldBug(58)
    @Shape.EveryWithPolicy
    void shouldGoOnCounting(Shape shape, OverrunPolicy policy) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        shape.queue(policy, memory);
        long refused = 0;
        long written = 0;
        for (int i = 0; i < shape.capacity() + 6; i++) {
            CompletionQueue queue = CompletionQueue.attach(memory);
            if (Way.WRITE.publish(queue.writer(), written, shape.stride())) {
                written++;
            } else {
                refused++;
            }
            boolean counts = policy != OverrunPolicy.BACKPRESSURE;
            assertEquals(counts ? refused : 0, queue.lostEntries());
            assertEquals(
                    policy == OverrunPolicy.ERROR && refused != 0,
                    queue.writer().isDead());
        }
        assertEquals(6, refused);
        assertEquals(shape.capacity(), written);
        CompletionQueue queue = CompletionQueue.attach(memory);
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        assertEquals(shape.capacity(), queue.poll(taker::onView, shape.capacity()));
        if (policy == OverrunPolicy.ERROR) {
            assertEquals(
                    6,
                    assertThrows(CqOverrunException.class, () -> queue.poll(c -> {}, 1))
                            .lostEntries());
            assertFalse(queue.writer().write(0, 0, 0, 0, 0), "dead for good");
        } else {
            assertTrue(queue.writer().write(0, 0, 0, 0, 0));
        }
    }

    // Roles at a file, as far as one process shows them.

    private static List<Runnable> uses(CompletionQueue queue) {
        return List.of(() -> queue.poll(c -> {}, 1), () -> queue.writer().write(0, 0, 0, 0, 0));
    }

    @Test
    void shouldRefuseASecondQueueObjectThatPlaysTheSameEnd(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("queue");
        CompletionQueue first = CompletionQueue.ofCapacity(4)
                .memory(QueueMemory.create(file, 384 + 4 * 64))
                .create();
        CompletionQueue second = CompletionQueue.attach(QueueMemory.attach(file));
        uses(first).forEach(Runnable::run);
        String[] roles = {"poller", "writer"};
        for (int i = 0; i < 2; i++) {
            Runnable use = uses(second).get(i);
            for (int repeat = 0; repeat < 2; repeat++) { // refused, and the first keeps its lock
                assertEquals(
                        "completion queue has one " + roles[i] + ", this process, through another attached queue"
                                + "; it must release the role or end before process "
                                + ProcessHandle.current().pid() + " can take it (lock file " + file.toRealPath() + "."
                                + roles[i] + ")",
                        assertThrows(IllegalStateException.class, use::run).getMessage());
            }
        }
        assertEquals(1, second.size(), "looking is for anybody");
        first.releasePoller();
        first.writer().release();
        uses(second).forEach(Runnable::run);
        uses(first).forEach(use -> assertThrows(IllegalStateException.class, use::run));
        second.close();
        uses(first).forEach(use -> assertThrows(IllegalStateException.class, use::run, "closed for everybody"));
    }

    /** From object to object and from thread to thread, with the sequences; what is staged is given back. */
    @Test
    void shouldHandTheRolesOnWithTheSequences(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("queue");
        List<CompletionQueue> queues = new ArrayList<>();
        queues.add(new Shape(128, 4, Long.MAX_VALUE - 1)
                .queue(OverrunPolicy.BACKPRESSURE, QueueMemory.create(file, 384 + 4 * 128)));
        queues.add(CompletionQueue.attach(QueueMemory.attach(file)));
        queues.add(CompletionQueue.attach(QueueMemory.attach(file)));
        InOrder taker = new InOrder(128, Way.CLAIM, 0);
        for (int round = 0; round < 300; round++) {
            int number = round;
            Threads.run(spin -> {
                CompletionQueue mine = queues.get(number % 3);
                assertTrue(Way.CLAIM.publish(mine.writer(), number, 128));
                assertTrue(Way.CLAIM.put(mine.writer(), 666, 128));
                assertTrue(Way.STAGE.put(mine.writer(), 667, 128));
                mine.writer().release();
                CompletionQueue other = queues.get((number + 1) % 3);
                assertTrue(other.startPoll());
                other.releasePoller();
                CompletionQueue third = queues.get((number + 2) % 3);
                assertEquals(1, third.poll(taker::onView, 4));
                third.releasePoller();
            });
        }
        assertEquals(300, taker.next());
    }

    /** A view that outlived the role would write into a slot that is another process's by then. */
    @Test
    void shouldDetachAClaimedEntryWhenTheRoleIsReleased(@TempDir Path folder) throws IOException {
        CompletionQueue queue = CompletionQueue.ofCapacity(4)
                .memory(QueueMemory.create(folder.resolve("queue"), 384 + 4 * 64))
                .create();
        CompletionEntry entry = queue.writer().claim().workRequestId(1);
        queue.writer().release();
        assertThrows(IllegalStateException.class, () -> entry.workRequestId(2));
        assertEquals(0, queue.writer().flush());
    }

    /** A process may attach just to look, while both ends are at work: however far they go between two loads, it may. */
    @Test
    void shouldAttachWhileBothEndsMove(@TempDir Path folder) throws IOException {
        for (int capacity : new int[] {1, 2, 8}) {
            for (int lead = 0; lead <= capacity; lead++) {
                int ahead = lead;
                Path file = folder.resolve("queue" + capacity + "," + ahead);
                Shape shape = new Shape(32, capacity, Long.MAX_VALUE - 100);
                CompletionQueue queue =
                        shape.queue(OverrunPolicy.BACKPRESSURE, QueueMemory.create(file, shape.bytes()));
                for (int i = 0; i < ahead; i++) {
                    assertTrue(Way.WRITE.publish(queue.writer(), i, 32));
                }
                long[] next = {ahead};
                int[] looks = {0};
                InOrder taker = new InOrder(32, Way.WRITE, 0);
                StoppingMemory memory = new StoppingMemory(QueueMemory.attach(file));
                memory.beforeLoads(offset -> {
                    looks[0]++;
                    for (int i = 0; i < 5 * capacity; i++) { // stays as far ahead as it was, five laps on
                        if (queue.size() == capacity) {
                            queue.poll(taker::onView, 1);
                        }
                        assertTrue(Way.WRITE.publish(queue.writer(), next[0]++, 32));
                        if (queue.size() > ahead) {
                            queue.poll(taker::onView, 1);
                        }
                    }
                });
                CompletionQueue observer = CompletionQueue.attach(memory);
                assertTrue(looks[0] >= 3);
                assertTrue(observer.size() <= capacity);
                queue.close();
            }
        }
    }

    /** A thread that ends leaves the role to its process, with what it knew. */
    @Test
    void shouldKeepTheRoleInTheProcessWhenAThreadEnds(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("queue");
        CompletionQueue mine = CompletionQueue.ofCapacity(4)
                .memory(QueueMemory.create(file, 384 + 4 * 64))
                .create();
        CompletionQueue other = CompletionQueue.attach(QueueMemory.attach(file));
        InOrder taker = new InOrder(64, Way.WRITE, 0);
        for (int i = 0; i < 20; i++) {
            int number = i;
            Threads.run(spin -> assertTrue(Way.WRITE.publish(mine.writer(), number, 64)));
            Threads.run(spin -> assertEquals(1, mine.poll(taker::onView, 4)));
            uses(other).forEach(use -> assertThrows(IllegalStateException.class, use::run));
        }
    }

    @Test
    void shouldNotKeepARoleWhenTheIndexMakesNoSense(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("queue");
        QueueMemory memory = QueueMemory.create(file, 384 + 4 * 64);
        CompletionQueue.ofCapacity(4).startSequence(10).memory(memory).create();
        CompletionQueue queue = CompletionQueue.attach(QueueMemory.attach(file));
        memory.putLong(Region.CONSUMER, 9);
        uses(queue)
                .forEach(use -> assertEquals(
                        "cannot attach " + memory
                                + ": sequences must be 10 (the first) or later: consumer 9, producer 10",
                        assertThrows(CqAttachException.class, use::run).getMessage()));
        memory.putLong(Region.CONSUMER, 10);
        uses(CompletionQueue.attach(QueueMemory.attach(file))).forEach(Runnable::run);
    }
}
