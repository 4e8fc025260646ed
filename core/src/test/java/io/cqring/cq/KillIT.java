package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.ChildJvm;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Standby;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Kills one of two processes at a busy moment (SIGKILL), takes its role over and checks every entry. Half of {@code -Dcqring.test.kills}
 * is done here; the seed that is printed repeats the plan, not the moment at which the system stops a process.
 *
 * <p>Half of the victims run until the kill finds them; the others have parked by then, in front of a store that was drawn or
 * within a handler, so that rare moments come often.
 */
@Timeout(value = 20, unit = TimeUnit.MINUTES) // turns a hang into a failure
class KillIT {
    private static final int KILLS = Integer.getInteger("cqring.test.kills", 500) / 2;
    private static final int KILLS_PER_QUEUE = 10;
    private static final int[] CAPACITIES = {1, 2, 4, 8, 64, 256};

    @TempDir
    private Path folder;

    private Standby standby;

    private int halfWritten;
    private int unfinishedBatch;
    private int fullRing;
    private int anyOfThese;
    private int unfinishedCall;
    private long movedBeforeKill;
    private long again;
    private long copiedOut;

    /** Expects entries with consecutive numbers, each written in the way that its number says. */
    private static final class Taker {
        private final int stride;
        private long next;

        Taker(int stride, long first) {
            this.stride = stride;
            this.next = first;
        }

        long next() {
            return next;
        }

        void onView(Completion view) {
            Numbered.verify(view, next, Victim.way(next), stride);
            next++;
        }
    }

    /** One queue that outlives many processes. */
    private record Subject(Shape shape, QueueMemory memory, CompletionQueue queue, Path file, Path ledgerFile) {
        long word(int offset) {
            return memory.getLongAcquire(offset);
        }

        /** Entries that have been returned to the writer, since the start. */
        long returned() {
            return word(Region.CONSUMER) - shape.start();
        }

        /** Number of the first entry without a valid owner bit, read off the slots. */
        long published() {
            long number = returned();
            long end = number + shape.capacity();
            while (number != end && ownerBit(number) == phase(number)) {
                number++;
            }
            return number;
        }

        long ownerBit(long number) {
            return word(shape.slot(shape.start() + number)) & 1;
        }

        long phase(long number) {
            long lap = Long.divideUnsigned(shape.start() + number, shape.capacity());
            return lap % 2 == 0 ? 1 : 0;
        }
    }

    @BeforeEach
    void openStandby() {
        standby = new Standby(folder, 3, Victim.class, true);
    }

    @AfterEach
    void endStandby() throws IOException {
        standby.close();
    }

    @FieldBug(99)
    @Test
    void nothingPublishedIsLostWhoeverIsKilled() throws Exception {
        long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        System.out.println("KillIT: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom seeds = new SplittableRandom(seed);
        int done = 0;
        for (int number = 0; done < KILLS; number++) {
            long own = seeds.nextLong();
            int kills = Math.min(KILLS_PER_QUEUE, KILLS - done);
            try {
                oneQueue(number, kills, new SplittableRandom(own));
            } catch (Exception | Error e) {
                throw new AssertionError("queue " + number + ", seed " + own + ": " + e.getMessage(), e);
            }
            done += kills;
        }
        System.out.println("KillIT: " + done + " kills; met an entry half-written " + halfWritten
                + ", an unfinished batch "
                + unfinishedBatch + ", a full ring " + fullRing + ", any of these " + anyOfThese
                + "; an unfinished poll " + unfinishedCall + "; entries moved before the kills " + movedBeforeKill
                + ", delivered again " + again + ", copied out by pollInto and gone with the process " + copiedOut);
        assertTrue(5 * anyOfThese >= done, "too few kills met a moment that matters: " + anyOfThese + " of " + done);
    }

    private void oneQueue(int number, int kills, SplittableRandom random) throws Exception {
        int capacity = CAPACITIES[random.nextInt(CAPACITIES.length)];
        long[] starts = Shape.starts(capacity).toArray();
        Shape shape = new Shape(Shape.STRIDES[random.nextInt(3)], capacity, starts[random.nextInt(starts.length)]);
        Path file = folder.resolve("queue" + number);
        QueueMemory memory = QueueMemory.create(file, shape.bytes());
        Subject subject = new Subject(
                shape,
                memory,
                shape.queue(OverrunPolicy.BACKPRESSURE, memory),
                file,
                folder.resolve("ledger" + number));
        boolean writers = number % 2 == 0;
        for (int kill = 0; kill < kills; kill++) {
            QueueMemory ledger = QueueMemory.create(subject.ledgerFile, Victim.LEDGER_BYTES);
            if (writers) {
                killWriter(subject, ledger, random);
            } else {
                killPoller(subject, ledger, random);
            }
            Files.delete(subject.ledgerFile);
        }
        subject.queue.close();
        Files.delete(file);
    }

    private static void send(
            ChildJvm victim,
            String role,
            Subject s,
            long first,
            SplittableRandom random,
            long stopAtStore,
            long stopAtEntry)
            throws IOException {
        victim.send(role + " " + s.file + " " + s.ledgerFile + " " + first + " " + random.nextLong() + " " + stopAtStore
                + " " + stopAtEntry);
    }

    @SuppressWarnings("ThreadPriorityCheck") // the victim needs a core
    private static void breathe(ChildJvm victim) throws IOException {
        Thread.yield();
        if (!victim.isAlive()) {
            throw new AssertionError("victim died by itself: " + victim.errors());
        }
    }

    private void killWriter(Subject s, QueueMemory ledger, SplittableRandom random) throws Exception {
        Shape shape = s.shape;
        CompletionQueue queue = s.queue;
        int n = shape.capacity();
        long first = s.published();
        assertEquals(first, s.returned(), "empty before");
        Taker taker = new Taker(shape.stride(), first);
        boolean parks = random.nextBoolean();
        boolean polls = random.nextInt(4) != 0;
        long stopAtStore = parks ? random.nextInt(polls ? 600 : Math.max(10, Math.min(600, 8 * n))) : -1;
        long enough = first + random.nextInt(20_000);
        int spins = random.nextInt(2000);
        try (ChildJvm victim = standby.next()) {
            send(victim, "writer", s, first, random, stopAtStore, -1);
            while (!isTime(ledger, parks, polls, enough)) {
                if (polls) {
                    queue.poll(taker::onView, 1 + random.nextInt(2 * n));
                }
                breathe(victim);
            }
            for (int i = 0; i < spins; i++) {
                Thread.onSpinWait();
            }
            victim.kill();
        }
        long acknowledged = Math.max(first, ledger.getLong(Victim.PROGRESS));
        long published = s.published();
        assertTrue(published >= acknowledged, "published and gone: " + acknowledged + " > " + published);
        assertTrue(published - acknowledged <= Victim.MOST_IN_HAND + 1, "more than the unfinished call published");
        movedBeforeKill += published - first;
        classify(s, published);

        assertEquals(0, queue.writer().recover(), "owner bits past the first that is missing");
        assertEquals(shape.start() + published, s.word(Region.PRODUCER));
        drain(queue, taker);
        assertEquals(published, taker.next());
        goOn(s, taker);
        queue.writer().release();
    }

    /** Whether the writer is where it is to be killed: parked, or behind a full ring, or well under way. */
    private static boolean isTime(QueueMemory ledger, boolean parks, boolean polls, long enough) {
        if (ledger.getLongAcquire(Victim.STOPPED) != 0) {
            return true;
        }
        if (!polls) {
            return ledger.getLongAcquire(Victim.REFUSED) >= 2;
        }
        return !parks && ledger.getLongAcquire(Victim.PROGRESS) >= enough;
    }

    private void killPoller(Subject s, QueueMemory ledger, SplittableRandom random) throws Exception {
        Shape shape = s.shape;
        CompletionQueue queue = s.queue;
        int n = shape.capacity();
        long first = s.returned();
        long next = s.published();
        assertEquals(first, next, "empty before");
        int kind = random.nextInt(3); // runs on, parks in front of a store, parks within a handler
        long stopAtStore = kind == 1 ? random.nextInt(200) : -1;
        long stopAtEntry = kind == 2 ? first + 1 + random.nextInt(200) : -1;
        boolean full = random.nextBoolean();
        long enough = first + random.nextInt(20_000);
        int spins = random.nextInt(2000);
        try (ChildJvm victim = standby.next()) {
            send(victim, "poller", s, first, random, stopAtStore, stopAtEntry);
            boolean refused = false;
            while (kind == 0
                    ? ledger.getLongAcquire(Victim.PROGRESS) < enough || ledger.getLongAcquire(Victim.PLAYING) == 0
                    : ledger.getLongAcquire(Victim.STOPPED) == 0 || (full && !refused)) {
                refused = !publish(queue, next, shape.stride());
                if (!refused) {
                    next++;
                } else {
                    breathe(victim);
                }
            }
            for (int i = 0; i < spins; i++) {
                if (publish(queue, next, shape.stride())) {
                    next++;
                }
            }
            victim.kill();
        }
        assertEquals(0, ledger.getLong(Victim.FAULT), "entry that the victim found wrong");
        assertEquals(next, s.published(), "nothing that was written is gone");
        long handled = Math.max(first, ledger.getLong(Victim.PROGRESS));
        long limit = ledger.getLong(Victim.LIMIT);
        long returned = s.returned();
        movedBeforeKill += handled - first;
        if (limit < 0) { // pollInto returns the slots first
            assertTrue(returned - handled <= -limit, "returned and not handled: more than one call");
            copiedOut += Math.max(0, returned - handled);
        } else {
            assertTrue(returned <= handled, "returned and not handled: " + returned + " > " + handled);
        }
        assertTrue(handled - returned <= Math.min(Math.abs(limit), n), "more than one call's entries again");
        again += Math.max(0, handled - returned);
        unfinishedCall += handled == returned ? 0 : 1;
        boolean isFull = next - returned == n;
        fullRing += isFull ? 1 : 0;
        anyOfThese += isFull ? 1 : 0;

        Taker taker = new Taker(shape.stride(), returned);
        drain(queue, taker);
        assertEquals(next, taker.next());
        goOn(s, taker);
        queue.releasePoller();
    }

    private static boolean publish(CompletionQueue queue, long number, int stride) {
        return Victim.way(number).publish(queue.writer(), number, stride);
    }

    private static void drain(CompletionQueue queue, Taker taker) {
        while (queue.poll(taker::onView, queue.capacity()) != 0) {
            assertFalse(queue.writer().isDead());
        }
    }

    /** Both ends in this process now: two laps, one by one, so that each slot shows what it holds. */
    private static void goOn(Subject s, Taker taker) {
        long next = taker.next();
        for (int i = 0; i < 2 * s.shape.capacity(); i++) {
            assertTrue(publish(s.queue, next++, s.shape.stride()));
            assertEquals(1, s.queue.poll(taker::onView, s.shape.capacity()));
            assertEquals(0, s.queue.poll(taker::onView, s.shape.capacity()));
        }
        assertEquals(next, taker.next());
        assertEquals(0, s.queue.size());
        assertEquals(0, s.queue.writer().rejectedDoorbells());
        assertEquals(0, s.queue.lostEntries());
    }

    /** What a writer left, by its words. */
    private void classify(Subject s, long published) {
        Shape shape = s.shape;
        boolean full = published - s.returned() == shape.capacity();
        boolean batch = s.word(Region.PRODUCER) != shape.start() + published;
        boolean half = false;
        if (!full) {
            int slot = shape.slot(shape.start() + published);
            long[] old = words(shape, published - shape.capacity());
            long header = s.word(slot);
            boolean staged = header != old[0] && header >>> 1 == Numbered.header(published) >>> 1;
            boolean dirty = false;
            for (int i = 1; i < old.length; i++) {
                dirty |= s.word(slot + 8 * i) != old[i];
            }
            batch |= staged;
            half = dirty && !staged;
        }
        halfWritten += half ? 1 : 0;
        unfinishedBatch += batch ? 1 : 0;
        fullRing += full ? 1 : 0;
        anyOfThese += half || batch || full ? 1 : 0;
    }

    /** The words of a slot that holds an entry, from the pictures in CqeLayout; before the first: as created. */
    private static long[] words(Shape shape, long number) {
        long[] words = new long[shape.stride() / 8];
        if (number < 0) {
            long firstUse = Long.divideUnsigned(shape.start() + number + shape.capacity(), shape.capacity());
            words[0] = firstUse % 2 == 0 ? 0 : 1;
            return words;
        }
        long lap = Long.divideUnsigned(shape.start() + number, shape.capacity());
        words[0] = (Numbered.header(number) & ~1L) | (lap % 2 == 0 ? 1 : 0);
        Way way = Victim.way(number);
        boolean bare = way == Way.CLAIM_BARE;
        int at = shape.stride() == 32 ? 1 : 2;
        if (at == 2) {
            words[1] = bare ? 0 : Numbered.timestamp(number);
        }
        words[at] = number;
        words[at + 1] = bare ? 0 : Numbered.length(number);
        words[at + 2] = bare ? 0 : Numbered.detail(number);
        for (int i = 0; i < Numbered.payloadWords(shape.stride()); i++) {
            words[5 + i] = way.expectedPayload(number, i);
        }
        return words;
    }
}
