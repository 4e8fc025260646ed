package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.memory.RoleLock;
import io.cqring.testing.FieldBug;
import io.cqring.testing.StoppingMemory;
import io.cqring.testing.StoppingMemory.Stopped;
import io.cqring.testing.Threads;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/**
 * Queues of many writers or many pollers that are attached: several queue objects on one file, takeover from what stopped at any
 * store, rows that hold anything. In one process; SharedKillIT does it with real ones.
 */
@Tag("bothroutes")
class SharedAttachTest {
    private static final int WRITERS = 3;

    @TempDir
    private Path folder;

    private static long bytes(int capacity, int stride, int writers) {
        return 384 + (writers == 1 ? 0 : writers * 128L) + (long) capacity * stride;
    }

    private static CompletionQueue.Builder builder(Shape shape, int writers, boolean sharedPollers) {
        CompletionQueue.Builder builder = shape.builder().writers(writers);
        return sharedPollers ? builder.sharedPollers() : builder;
    }

    private static String refusal(Executable call) {
        return assertThrows(IllegalStateException.class, call).getMessage();
    }

    private static List<Long> pollAll(CompletionQueue queue, int stride) {
        List<Long> ids = new ArrayList<>();
        queue.poll(seen -> ids.add(verified(seen, stride)), queue.capacity());
        return ids;
    }

    private static long verified(Completion seen, int stride) {
        Numbered.verify(seen, seen.workRequestId(), Way.CLAIM, stride);
        return seen.workRequestId();
    }

    private static void put(SharedWriter writer, long n, int stride) {
        assertTrue(NumberedShared.put(writer, Way.CLAIM, n, stride));
    }

    private static byte[] copy(QueueMemory memory) {
        byte[] all = new byte[memory.sizeBytes()];
        memory.getBytes(0, all, 0, all.length);
        return all;
    }

    // Several queue objects on one file.

    @FieldBug(97)
    @Test
    void shouldShareTheRowsBetweenQueueObjects() throws IOException {
        Path file = folder.resolve("queue");
        QueueMemory memory = QueueMemory.create(file, bytes(8, 64, WRITERS));
        CompletionQueue a =
                builder(new Shape(64, 8, 5), WRITERS, false).memory(memory).create();
        SharedWriter a0 = a.newWriter();
        put(a0, 0, 64);
        byte[] before = copy(memory);
        CompletionQueue b = CompletionQueue.attach(QueueMemory.attach(file));
        assertArrayEquals(before, copy(memory), "attach changes nothing");
        SharedWriter b1 = b.newWriter();
        SharedWriter a2 = a.newWriter();
        for (int row = 0; row < WRITERS; row++) {
            assertEquals(ProcessHandle.current().pid(), memory.getLong(Region.row(row) + Region.ROW_OWNER));
        }
        String full = "completion queue takes at most 3 writers, and all are open: close one, or call recover() if"
                + " threads or processes have ended without";
        assertEquals(full, refusal(a::newWriter));
        assertEquals(full, refusal(b::newWriter));
        put(b1, 1, 64);
        put(a2, 2, 64);
        a0.close();
        SharedWriter b0 = b.newWriter();
        put(b0, 3, 64);
        a0.close(); // again: does nothing to the row's new owner
        assertEquals(full, refusal(a::newWriter));
        put(b0, 4, 64);
        assertEquals(List.of(0L, 1L, 2L, 3L, 4L), pollAll(b, 64));
        assertTrue(refusal(() -> pollAll(a, 64)).startsWith("completion queue has one poller, this process,"));
        assertTrue(refusal(a::writer).startsWith("completion queue was made for many writers"));
        assertTrue(refusal(b::newPoller).startsWith("completion queue has one poller"));
        b.close();
        for (Executable use : List.<Executable>of(
                a::newWriter, a::recover, b::newWriter, b::recover, () -> put(a2, 9, 64), () -> pollAll(a, 64))) {
            assertEquals("completion queue is closed", refusal(use));
        }
    }

    /** Of another queue object's writers nothing is known but that it has them: their claims stay. */
    @Test
    void shouldLeaveTheWritersOfAnotherQueueObjectAlone() throws IOException {
        Path file = folder.resolve("queue");
        CompletionQueue a = builder(new Shape(64, 8, 5), WRITERS, false)
                .memory(QueueMemory.create(file, bytes(8, 64, WRITERS)))
                .create();
        CompletionQueue b = CompletionQueue.attach(QueueMemory.attach(file));
        SharedWriter open = a.newWriter();
        assertTrue(open.claim(2));
        SharedWriter neighbour = a.newWriter();
        assertEquals(0, neighbour.abandon());
        neighbour.close(); // gives up its own place, and no other
        SharedWriter left = a.newWriter();
        SharedWriter other = b.newWriter();
        Threads.run(spin -> assertTrue(left.claim(1)));
        put(other, 7, 64);
        assertEquals(0, b.recover(), "open, or its object's to find out");
        NumberedShared.fill(open.entry(0), Way.CLAIM, 5, 64);
        NumberedShared.fill(open.entry(1), Way.CLAIM, 6, 64);
        open.commit(2);
        assertEquals(List.of(5L, 6L), pollAll(b, 64));
        assertEquals(1, a.recover(), "its thread has ended");
        assertEquals(0, b.recover());
        assertEquals(List.of(7L), pollAll(b, 64));
        assertEquals(0, a.size());
        put(b.newWriter(), 8, 64);
        assertEquals(List.of(8L), pollAll(b, 64));
    }

    /** What one object could not settle when it closed a writer, any object may. */
    @Test
    void shouldLetAnyObjectSettleWhatAClosedWriterLeft() throws IOException {
        Path file = folder.resolve("queue");
        QueueMemory memory = QueueMemory.create(file, bytes(8, 64, WRITERS));
        builder(new Shape(64, 8, 5), WRITERS, false).memory(memory).create();
        StoppingMemory stopping = new StoppingMemory(QueueMemory.attach(file));
        CompletionQueue a = CompletionQueue.attach(stopping);
        CompletionQueue b = CompletionQueue.attach(QueueMemory.attach(file));
        SharedWriter gone = a.newWriter();
        SharedWriter live = b.newWriter();
        stopping.stopAfter(2); // first and count, not the compare-and-set
        assertThrows(Stopped.class, () -> gone.claim(1));
        stopping.resume();
        assertTrue(live.claim(1));
        gone.close();
        assertTrue(memory.getLong(Region.row(0) + Region.ROW_OWNER) != 0, "undecided: the living claim may be its own");
        NumberedShared.fill(live.entry(0), Way.CLAIM, 3, 64);
        live.commit(1);
        assertEquals(0, b.recover());
        assertEquals(0, memory.getLong(Region.row(0) + Region.ROW_OWNER), "settled");
        assertEquals(List.of(3L), pollAll(b, 64));
    }

    @Test
    void shouldGiveEachCompletionToOnePollerOfAnyObject() throws IOException {
        for (int writers : new int[] {1, WRITERS}) {
            Path file = folder.resolve("queue" + writers);
            QueueMemory memory = QueueMemory.create(file, bytes(8, 64, writers));
            CompletionQueue a =
                    builder(new Shape(64, 8, 5), writers, true).memory(memory).create();
            CompletionQueue b = CompletionQueue.attach(QueueMemory.attach(file));
            assertEquals(8, b.capacity());
            CompletionPoller ofA = a.newPoller(2);
            CompletionPoller ofB = b.newPoller(2);
            assertTrue(refusal(() -> b.poll(c -> {}, 1)).startsWith("completion queue has shared pollers"));
            List<Long> byA = new ArrayList<>();
            List<Long> byB = new ArrayList<>();
            SharedWriter writer = writers == 1 ? null : b.newWriter();
            for (long n = 0; n < 40; n++) {
                if (writer != null) {
                    put(writer, n, 64);
                } else {
                    assertTrue(Way.CLAIM.publish(b.writer(), n, 64));
                }
                assertEquals(1, a.size());
                assertEquals(
                        1,
                        (n % 3 == 0 ? ofA : ofB)
                                .poll(c -> (c.workRequestId() % 3 == 0 ? byA : byB).add(verified(c, 64)), 8));
                assertEquals(0, ofA.poll(c -> {}, 8));
                assertEquals(0, b.size());
            }
            assertEquals(40, byA.size() + byB.size());
            assertEquals(14, byA.size());
            assertFalse(Files.exists(folder.resolve("queue" + writers + ".poller")), "no process has a role to keep");
            a.close();
            assertEquals("completion queue is closed", refusal(() -> ofB.poll(c -> {}, 1)));
        }
    }

    /** Abandoned entries that a poller of one object passes over are so for all. */
    @Test
    void shouldCountWhatAnyPollerPassesOver() throws IOException {
        Path file = folder.resolve("queue");
        QueueMemory memory = QueueMemory.create(file, bytes(8, 64, WRITERS));
        CompletionQueue a =
                builder(new Shape(64, 8, 5), WRITERS, true).memory(memory).create();
        CompletionQueue b = CompletionQueue.attach(QueueMemory.attach(file));
        SharedWriter first = a.newWriter();
        SharedWriter second = b.newWriter();
        CompletionPoller poller = b.newPoller();
        for (int round = 1; round <= 20; round++) {
            assertTrue(first.claim(3));
            put(second, round, 64);
            assertEquals(3, first.abandon());
            assertEquals(1, a.size());
            assertEquals(1, b.size());
            int id = round;
            assertEquals(1, poller.poll(c -> assertEquals(id, verified(c, 64)), 8));
            assertEquals(3L * round, memory.getLong(Region.ABANDONED));
            assertEquals(3L * round, memory.getLong(Region.PASSED_OVER));
            assertEquals(0, a.size());
        }
    }

    /** A closed queue keeps nothing from a new one under its name. */
    @FieldBug(97)
    @Test
    void shouldGiveUpItsLocksWhenItIsClosed() throws IOException {
        Path file = folder.resolve("queue");
        Shape shape = new Shape(32, 4, 0);
        QueueMemory memory = QueueMemory.create(file, bytes(4, 32, 2));
        CompletionQueue old = builder(shape, 2, false).memory(memory).create();
        CompletionQueue other = CompletionQueue.attach(QueueMemory.attach(file));
        byte[] before = copy(memory);
        assertEquals(
                "memory is a file that holds a queue, which other processes may use: " + memory
                        + "; attach it, or delete the file",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> builder(shape, 2, false).memory(memory).create())
                        .getMessage());
        assertArrayEquals(before, copy(memory));
        old.newWriter();
        SharedWriter left = other.newWriter();
        Files.delete(file);
        CompletionQueue next = builder(shape, 2, false)
                .memory(QueueMemory.create(file, bytes(4, 32, 2)))
                .create();
        assertThrows(IllegalStateException.class, next::newWriter, "the old queue of that name still has its writers");
        old.close();
        SharedWriter writer = next.newWriter();
        put(writer, 1, 32);
        assertThrows(IllegalStateException.class, next::newWriter);
        left.close(); // or any other call: it learns of the close
        put(next.newWriter(), 2, 32);
        assertEquals(List.of(1L, 2L), pollAll(next, 32));
    }

    /** Threads of three objects open, write, die, close and recover; pollers of all. Each entry once, in order per writer. */
    @Test
    void shouldLoseNothingWhileObjectsComeAndGo() throws Exception {
        long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        System.out.println("SharedAttachTest: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom seeds = new SplittableRandom(seed);
        Path file = folder.resolve("queue");
        QueueMemory memory = QueueMemory.create(file, bytes(16, 32, 4));
        builder(new Shape(32, 16, Long.MAX_VALUE - 100), 4, true).memory(memory).create();
        int threads = 3;
        int lives = 60;
        int each = 20;
        List<Threads.Body> bodies = new ArrayList<>();
        List<List<Long>> seen = new ArrayList<>();
        long total = (long) threads * lives * each;
        AtomicLong taken = new AtomicLong();
        for (int t = 0; t < threads; t++) {
            int thread = t;
            SplittableRandom random = seeds.split();
            bodies.add(spin -> {
                for (int life = 0; life < lives; life++) {
                    CompletionQueue mine = attach(file);
                    SharedWriter writer = open(mine, spin);
                    long first = ((long) thread * lives + life) * each;
                    for (long n = first; n < first + each; ) {
                        if (random.nextInt(4) == 0 && writer.claim(1 + random.nextInt(3))) {
                            writer.abandon();
                        }
                        if (NumberedShared.put(writer, Way.CLAIM, n, 32)) {
                            n++;
                        } else {
                            spin.once();
                        }
                    }
                    boolean closes = random.nextBoolean();
                    if (closes) {
                        writer.close();
                    } else {
                        writer.release();
                        Threads.run(other -> writer.claim(1)); // ends with the claim, or with a refusal
                        mine.recover();
                    }
                }
            });
            List<Long> mySeen = new ArrayList<>();
            seen.add(mySeen);
            bodies.add(spin -> {
                CompletionQueue mine = attach(file);
                CompletionPoller poller = mine.newPoller(1 + thread);
                while (taken.get() != total) {
                    int got = poller.poll(c -> mySeen.add(verified(c, 32)), 5);
                    taken.addAndGet(got);
                    if (got == 0) {
                        mine.recover(); // what could not be decided before may hold all up
                        spin.once();
                    }
                }
                assertEquals(0, poller.undelivered());
            });
        }
        Threads.run(bodies.toArray(new Threads.Body[0]));
        Set<Long> all = new TreeSet<>();
        for (List<Long> list : seen) {
            for (Long id : list) {
                assertTrue(all.add(id), "twice: " + id);
            }
        }
        assertEquals(total, all.size());
        CompletionQueue last = attach(file);
        last.recover(); // a claim that could not be told from a living one's
        last.newPoller().poll(c -> fail("nothing is left"), 16);
        assertEquals(0, last.size());
        assertEquals(memory.getLong(Region.PRODUCER), memory.getLong(Region.CONSUMER));
        for (int row = 0; row < 4; row++) {
            assertEquals(0, memory.getLong(Region.row(row) + Region.ROW_OWNER));
        }
    }

    private static CompletionQueue attach(Path file) throws IOException {
        return CompletionQueue.attach(QueueMemory.attach(file));
    }

    /** Rows of writers that are gone may still be undecided. */
    private static SharedWriter open(CompletionQueue queue, Threads.Spin spin) {
        while (true) {
            try {
                return queue.newWriter();
            } catch (IllegalStateException allOpen) {
                queue.recover();
                spin.once();
            }
        }
    }

    // What stopped at any store, found by another: in memory of its own, so no lock tells who lives.

    /** Deeds of a writer, some published, some given back, with another writer's entries between. */
    private static void deeds(SharedWriter writer, SharedWriter other, int stride, int capacity, List<Long> others) {
        long number = 100;
        for (int i = 0; i < 2; i++) {
            NumberedShared.put(writer, Way.CLAIM, number++, stride);
            int count = Math.min(3, capacity);
            if (writer.claim(count)) {
                if (other != null && NumberedShared.put(other, Way.CLAIM, 200 + i, stride)) {
                    others.add(200L + i);
                }
                for (int j = 0; j < count; j++) {
                    NumberedShared.fill(writer.entry(j), Way.CLAIM, number + j, stride);
                }
                writer.commit(count - i);
                number += count - i;
            }
        }
    }

    /** The writer stops in front of each of its stores: what had its owner bit is polled, the rest is abandoned, all goes on. */
    @FieldBug(99)
    @Shape.Every
    void shouldGoOnWhereAWriterStoppedAtAnyStore(Shape shape) {
        int n = shape.capacity();
        for (int old : new int[] {0, n / 2, n}) { // entries written and polled before: both parities
            for (long stores = 0; ; stores++) {
                StoppingMemory stopping = new StoppingMemory(QueueMemory.allocate(bytes(n, shape.stride(), WRITERS)));
                CompletionQueue queue =
                        builder(shape, WRITERS, false).memory(stopping).create();
                SharedWriter writer = queue.newWriter();
                for (int i = 0; i < old; i++) {
                    put(writer, i, shape.stride());
                    assertEquals(List.of((long) i), pollAll(queue, shape.stride()));
                }
                SharedWriter other = queue.newWriter();
                List<Long> others = new ArrayList<>();
                stopping.stopAfter(stores);
                try {
                    deeds(writer, other, shape.stride(), n, others);
                } catch (Stopped expected) {
                    assertTrue(stopping.hasStopped());
                }
                goOn(shape, copy(stopping), others);
                if (!stopping.hasStopped()) {
                    break;
                }
            }
        }
    }

    private static void goOn(Shape shape, byte[] left, List<Long> others) {
        int stride = shape.stride();
        int n = shape.capacity();
        QueueMemory memory = QueueMemory.allocate(left.length);
        memory.putBytes(0, left, 0, left.length);
        // By hand: sequences that were claimed, those of them with their owner bit, and what these hold.
        long consumed = memory.getLong(Region.CONSUMER);
        long claimed = memory.getLong(Region.PRODUCER);
        List<Long> published = new ArrayList<>();
        int holes = 0;
        for (long sequence = consumed; sequence != claimed; sequence++) {
            int slot = Region.SLOTS + WRITERS * 128 + (int) Long.remainderUnsigned(sequence, n) * stride;
            long lap = Long.divideUnsigned(sequence, n);
            long header = memory.getLong(slot);
            if ((header & 1) != (lap % 2 == 0 ? 1 : 0)) {
                holes++;
            } else if ((header >>> 1 & 15) != 12) {
                published.add(memory.getLong(slot + (stride == 32 ? 8 : 16)));
            }
        }
        assertTrue(published.containsAll(others), "the other writer's");
        CompletionQueue queue = CompletionQueue.attach(memory);
        byte[] after = copy(memory);
        assertArrayEquals(left, after, "attach changes nothing");
        assertEquals(holes, queue.recover());
        assertEquals(0, queue.recover());
        assertEquals(published, pollAll(queue, stride));
        assertEquals(claimed, memory.getLong(Region.CONSUMER));
        assertEquals(0, queue.size());
        SharedWriter[] fresh = {queue.newWriter(), queue.newWriter(), queue.newWriter()};
        for (int i = 0; i < 2 * n; i++) {
            put(fresh[i % 3], i, stride);
            assertEquals(List.of((long) i), pollAll(queue, stride), "no phantom behind it");
        }
        assertEquals(0, memory.getLong(Region.REJECTED));
    }

    /** A poller stops in front of each of its stores: nothing comes twice, at most its claim is gone. */
    @FieldBug(99)
    @Shape.Every
    void shouldGoOnWhereOneOfManyPollersStoppedAtAnyStore(Shape shape) {
        int n = shape.capacity();
        for (int batch : new int[] {1, 3, 16}) {
            for (long stores = 0; ; stores++) {
                QueueMemory real = QueueMemory.allocate(bytes(n, shape.stride(), WRITERS));
                CompletionQueue queue =
                        builder(shape, WRITERS, true).memory(real).create();
                SharedWriter a = queue.newWriter();
                SharedWriter b = queue.newWriter();
                List<Long> written = new ArrayList<>();
                for (long number = 0; queue.size() < n; number++) {
                    if (number % 3 == 1 && real.getLong(Region.PRODUCER) - shape.start() < n - 1) {
                        assertTrue(a.claim(1));
                        put(b, number, shape.stride());
                        assertEquals(1, a.abandon()); // an abandoned entry in front of it
                    } else if (!NumberedShared.put(a, Way.CLAIM, number, shape.stride())) {
                        break;
                    }
                    written.add(number);
                }
                StoppingMemory stopping = new StoppingMemory(real);
                CompletionPoller victim = CompletionQueue.attach(stopping).newPoller(batch);
                List<Long> delivered = new ArrayList<>();
                stopping.stopAfter(stores);
                try {
                    while (victim.poll(c -> delivered.add(verified(c, shape.stride())), 2) != 0) {
                        assertFalse(stopping.hasStopped());
                    }
                } catch (Stopped expected) {
                    assertTrue(stopping.hasStopped());
                }
                int before = delivered.size();
                CompletionPoller heir = CompletionQueue.attach(real).newPoller(2);
                while (heir.poll(c -> delivered.add(verified(c, shape.stride())), n) != 0) {
                    assertTrue(delivered.size() <= written.size());
                }
                int lost = written.size() - delivered.size();
                assertTrue(lost <= Math.min(batch, n), "lost " + lost);
                assertEquals(written.subList(0, before), delivered.subList(0, before));
                assertEquals(
                        written.subList(before + lost, written.size()),
                        delivered.subList(before, delivered.size()),
                        "what is gone was next");
                assertEquals(0, queue.size(), "nothing is left to poll");
                put(b, written.size(), shape.stride());
                assertEquals(1, queue.size(), "whatever the one that stopped has not counted");
                assertEquals(1, heir.poll(c -> {}, n));
                if (!stopping.hasStopped()) {
                    assertEquals(0, lost);
                    break;
                }
            }
        }
    }

    /** The one poller of many writers stops in front of each of its stores: what it had not returned comes again. */
    @FieldBug(99)
    @Shape.Every
    void shouldGoOnWhereTheOnePollerStoppedAtAnyStore(Shape shape) {
        int n = shape.capacity();
        for (long stores = 0; ; stores++) {
            QueueMemory real = QueueMemory.allocate(bytes(n, shape.stride(), WRITERS));
            CompletionQueue queue = builder(shape, WRITERS, false).memory(real).create();
            SharedWriter a = queue.newWriter();
            SharedWriter b = queue.newWriter();
            List<Long> written = new ArrayList<>();
            for (long number = 0; real.getLong(Region.PRODUCER) - shape.start() < n - 1; number++) {
                assertTrue(a.claim(1));
                put(b, number, shape.stride());
                assertEquals(1, a.abandon()); // an abandoned entry in front of each
                written.add(number);
            }
            StoppingMemory stopping = new StoppingMemory(real);
            CompletionQueue victim = CompletionQueue.attach(stopping);
            List<Long> delivered = new ArrayList<>();
            stopping.stopAfter(stores);
            try {
                while (victim.poll(c -> delivered.add(verified(c, shape.stride())), 3) != 0) {
                    assertFalse(stopping.hasStopped());
                }
            } catch (Stopped expected) {
                assertTrue(stopping.hasStopped());
            }
            CompletionQueue heir = CompletionQueue.attach(real);
            List<Long> rest = pollAll(heir, shape.stride());
            int again = delivered.size() + rest.size() - written.size();
            assertTrue(again >= 0 && again <= 3, "again " + again);
            assertEquals(written.subList(written.size() - rest.size(), written.size()), rest);
            assertEquals(written.subList(0, delivered.size()), delivered);
            assertEquals(0, heir.size(), "nothing is left, whatever was counted twice");
            put(b, 99, shape.stride());
            assertTrue(heir.size() >= 1);
            assertEquals(List.of(99L), pollAll(heir, shape.stride()));
            if (!stopping.hasStopped()) {
                break;
            }
        }
    }

    /** Opening, closing and recovery exclude each other between processes; here the lock is held as another would. */
    @Test
    void shouldWaitForWhoeverHasTheRows() throws Exception {
        Path file = folder.resolve("queue");
        CompletionQueue queue = builder(new Shape(64, 8, 5), WRITERS, false)
                .memory(QueueMemory.create(file, bytes(8, 64, WRITERS)))
                .create();
        SharedWriter writer = queue.newWriter();
        RoleLock rows = QueueMemory.attach(file).roleLock("rows");
        for (Runnable call : List.<Runnable>of(queue::newWriter, queue::recover, writer::close)) {
            assertTrue(rows.tryAcquire());
            Thread caller = new Thread(call);
            caller.start();
            while (caller.isAlive() && caller.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            assertTrue(caller.isAlive(), "waits");
            rows.release();
            caller.join();
        }
        queue.close();
    }

    @Test
    void shouldTakeALockOnlyIfNobodyHasIt() throws IOException {
        QueueMemory memory = QueueMemory.create(folder.resolve("region"), 64);
        RoleLock first = memory.roleLock("role");
        RoleLock second = QueueMemory.attach(folder.resolve("region")).roleLock("role");
        for (int i = 0; i < 3; i++) {
            assertTrue(first.tryAcquire());
            assertTrue(first.tryAcquire(), "has it already");
            assertFalse(second.tryAcquire());
            assertFalse(second.isHeld());
            second.release(); // does nothing to the first
            assertTrue(first.isHeld());
            assertThrows(IllegalStateException.class, second::acquire);
            first.release();
            assertTrue(second.tryAcquire());
            assertFalse(first.tryAcquire());
            second.release();
        }
    }

    // Rows that hold anything.

    @Test
    void shouldSayWhichRowBreaksWhichRule() {
        QueueMemory memory = QueueMemory.allocate(bytes(4, 64, WRITERS));
        builder(new Shape(64, 4, 1000), WRITERS, true).memory(memory).create();
        Object[][] cases = {
            {1, Region.ROW_OWNER, -1L, "owner -1, first 1000, count 0"},
            {0, Region.ROW_FIRST, 999L, "owner 0, first 999, count 0"},
            {2, Region.ROW_COUNT, 5L, "owner 0, first 1000, count 5"},
            {2, Region.ROW_COUNT, -1L, "owner 0, first 1000, count -1"},
            {2, Region.ROW_COUNT, 1L << 32, "owner 0, first 1000, count 4294967296"},
        };
        for (Object[] each : cases) {
            int offset = Region.row((int) each[0]) + (int) each[1];
            long good = memory.getLong(offset);
            memory.putLong(offset, (long) each[2]);
            byte[] before = copy(memory);
            assertEquals(
                    "cannot attach " + memory + ": row " + each[0]
                            + " must have an owner of 0 or more, a first sequence of 1000 or later and a count of 0 to 4: "
                            + each[3],
                    assertThrows(CqAttachException.class, () -> CompletionQueue.attach(memory))
                            .getMessage());
            assertArrayEquals(before, copy(memory), "a refusal changes nothing");
            memory.putLong(offset, good);
        }
        memory.putLong(Region.CONSUMER, 1001);
        assertEquals(
                "cannot attach " + memory + ": consumer sequence must be at most the producer sequence, as there are"
                        + " many writers: consumer 1001, producer 1000",
                assertThrows(CqAttachException.class, () -> CompletionQueue.attach(memory))
                        .getMessage());
    }

    /** Whatever the words that change hold, at attach or from then on: an exception that is documented, or a call that ends. */
    @Test
    void shouldSurviveAnyRows() throws IOException {
        long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        System.out.println("SharedAttachTest: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        List<OverrunPolicy> policies = List.of(OverrunPolicy.values());
        int accepted = 0;
        int rounds = 4000;
        for (int round = 0; round < rounds; round++) {
            int writers = random.nextInt(2, 6);
            Shape shape = new Shape(32 << random.nextInt(3), 1 << random.nextInt(5), 1000);
            boolean late = random.nextBoolean();
            long size = bytes(shape.capacity(), shape.stride(), writers);
            boolean inFile = round % 40 == 0;
            Path file = folder.resolve("queue" + round);
            QueueMemory memory = inFile ? QueueMemory.create(file, size) : QueueMemory.allocate(size);
            CompletionQueue made = shape.builder()
                    .writers(writers)
                    .overrunPolicy(policies.get(random.nextInt(3)))
                    .memory(memory)
                    .create();
            int slots = 384 + 128 * writers;
            byte[] noise = new byte[memory.sizeBytes() - slots];
            random.nextBytes(noise);
            memory.putBytes(slots, noise, 0, noise.length);
            SharedWriter open = made.newWriter();
            CompletionQueue queue = late ? CompletionQueue.attach(memory) : null;
            for (int offset = 128; offset < slots; offset += 8) {
                if (random.nextInt(offset < 384 ? 12 : 4) == 0) {
                    memory.putLong(offset, value(random, shape, offset));
                }
            }
            if (queue == null) {
                try {
                    queue = CompletionQueue.attach(memory);
                } catch (CqAttachException e) {
                    made.close();
                    continue;
                }
            }
            accepted++;
            exercise(random.nextBoolean() ? made : queue, random);
            exercise(queue, random);
            try {
                open.write(2, 0, 0, 0, 0);
            } catch (IllegalStateException documented) {
                assertTrue(documented.getMessage().startsWith("shared writer is closed")
                        || documented.getMessage().equals("completion queue is closed"));
            }
            made.close();
        }
        assertTrue(
                accepted > rounds / 2 && accepted < rounds,
                "both must happen: accepted " + accepted + " of " + rounds + ", seed " + seed);
    }

    private static long value(SplittableRandom random, Shape shape, int offset) {
        long near = 1000L + random.nextInt(3 * shape.capacity());
        long[] values = {
            0, 1, -1, Long.MIN_VALUE, Long.MAX_VALUE, Integer.MAX_VALUE, 1L << 32, near, random.nextLong(), near
        };
        boolean count = offset >= 384 && offset % 128 == Region.ROW_COUNT;
        if (random.nextInt(4) != 0) { // mostly near the mark, or nothing would be accepted
            return offset == Region.CONSUMER || offset == Region.PRODUCER || offset % 128 == Region.ROW_FIRST
                    ? near
                    : count ? random.nextInt(shape.capacity() + 1) : random.nextInt(2);
        }
        return values[random.nextInt(values.length)];
    }

    /** Every call, in any order: returns within bounds or throws what it documents. */
    static void exercise(CompletionQueue queue, SplittableRandom random) {
        List<SharedWriter> writers = new ArrayList<>();
        CompletionPoller poller = null;
        try {
            poller = queue.newPoller(1 + random.nextInt(4));
        } catch (IllegalStateException onePollerOrClosed) {
            // then the queue itself is asked
        }
        for (int i = 0; i < 30; i++) {
            int limit = random.nextInt(2 * queue.capacity() + 1);
            SharedWriter writer = writers.isEmpty() ? null : writers.get(random.nextInt(writers.size()));
            try {
                int done = 0;
                switch (random.nextInt(8)) {
                    case 0, 1 ->
                        done = poller == null
                                ? queue.poll(c -> assertTrue(c.toString().length() > 10), limit)
                                : poller.poll(c -> assertTrue(c.toString().length() > 10), limit);
                    case 2 -> {
                        if (queue.hasManyWriters()) {
                            writers.add(queue.newWriter());
                        } else {
                            queue.writer().write(2, i, 0, 0, 0);
                        }
                    }
                    case 3 ->
                        done = queue.hasManyWriters()
                                ? queue.recover() / 64
                                : queue.writer().recover();
                    case 4 -> {
                        if (writer != null) {
                            writer.write(2, i, 0, 0, 0);
                        }
                    }
                    case 5 -> {
                        if (writer != null && writer.claim(1 + random.nextInt(queue.capacity()))) {
                            writer.entry(0).header(2);
                            if (random.nextBoolean()) {
                                writer.commit(random.nextInt(2));
                            }
                        }
                    }
                    case 6 -> {
                        if (writer != null) {
                            writer.close();
                        }
                    }
                    default -> done = queue.size();
                }
                assertTrue(done >= 0 && done <= queue.capacity(), "result " + done);
            } catch (IllegalStateException documented) {
                String message = documented.getMessage();
                assertTrue(
                        documented instanceof CqOverrunException
                                || documented instanceof CqAttachException
                                || message.startsWith("completion queue is ")
                                || message.startsWith("completion queue has one poller, this process")
                                || message.startsWith("completion queue has one writer, this process")
                                || message.startsWith("completion queue takes at most ")
                                || message.startsWith("shared writer is closed")
                                || message.startsWith("a claim of "),
                        message);
            }
        }
    }
}
