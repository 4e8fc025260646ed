package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.ChildJvm;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Standby;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * As {@link KillIT}, for queues that many processes write or poll: kills one or two of them at a busy moment (SIGKILL), recovers
 * and checks every entry. Half of the {@code -Dcqring.test.kills} are here; the seed that is printed repeats the plan, not the
 * moment at which the system stops a process.
 *
 * <p>The record is independent of the library: what a victim has done stands in its ledger, what it published is read off the
 * slots, and what it had claimed off its row, all by the numbers of the picture in CqRegion.
 */
@Timeout(value = 20, unit = TimeUnit.MINUTES) // turns a hang into a failure
class SharedKillIT {
    private static final int KILLS = Integer.getInteger("cqring.test.kills", 500) / 2;
    private static final int ROUNDS_PER_QUEUE = 6;
    private static final int[] CAPACITIES = {1, 2, 4, 8, 64, 256};
    private static final int ABANDONED = 12;
    private static final int WRITERS = 4;

    /** Series of the entries that this process writes; those of victims count from 1. */
    private static final long OWN = 0;

    @TempDir
    private Path folder;

    private Standby standby;
    private int ledgers;

    private int kills;
    private int openClaims;
    private int tornSlots;
    private int halfBatches;
    private int fullRings;
    private int claimedBatches;
    private int anyOfThese;
    private int beforeTheClaim;
    private int stillUndecided;
    private long recovered;
    private long lost;
    private long moved;

    /** One process that is going to be killed. */
    private record Doomed(ChildJvm jvm, QueueMemory ledger, long first, boolean parks, long enough, int batch) {
        long word(int word) {
            return ledger.getLongAcquire(word);
        }

        boolean hasParked() {
            return word(SharedVictim.STOPPED) != 0;
        }

        long series() {
            return first >>> 32;
        }

        long acknowledged() {
            return Math.max(first, word(SharedVictim.PROGRESS));
        }
    }

    /** One queue that outlives many processes, looked at by its numbers. */
    private record Subject(Shape shape, int writers, QueueMemory memory, CompletionQueue queue, Path file) {
        long word(int offset) {
            return memory.getLongAcquire(offset);
        }

        int slot(long sequence) {
            int rows = writers == 1 ? 0 : 128 * writers;
            return shape.slot(sequence) + rows;
        }

        boolean isPublished(long sequence) {
            long lap = Long.divideUnsigned(sequence, shape.capacity());
            return (word(slot(sequence)) & 1) == (lap % 2 == 0 ? 1 : 0);
        }

        boolean isAbandoned(long sequence) {
            return (word(slot(sequence)) >>> 1 & 15) == ABANDONED;
        }

        long id(long sequence) {
            return word(slot(sequence) + (shape.stride() == 32 ? 8 : 16));
        }

        boolean isFull() {
            return word(Region.PRODUCER) - word(Region.CONSUMER) == shape.capacity();
        }
    }

    @BeforeEach
    void openStandby() {
        standby = new Standby(folder, 3, SharedVictim.class, true);
    }

    @AfterEach
    void endStandby() throws IOException {
        standby.close();
    }

    private Doomed doom(
            String role, Subject s, long first, SplittableRandom random, long store, long entry, long more, int batch)
            throws IOException {
        Path file = folder.resolve("ledger" + ledgers++);
        QueueMemory ledger = QueueMemory.create(file, SharedVictim.LEDGER_BYTES);
        ChildJvm jvm = standby.next();
        jvm.send(role + " " + s.file + " " + file + " " + first + " " + random.nextLong() + " " + store + " " + entry
                + " " + batch);
        return new Doomed(jvm, ledger, first, store >= 0 || entry >= 0, first + more, batch);
    }

    private void kill(Doomed doomed) throws IOException {
        doomed.jvm.kill();
        kills++;
        assertEquals(0, doomed.word(SharedVictim.FAULT), "entry that the victim found wrong");
        doomed.jvm.close();
    }

    @SuppressWarnings("ThreadPriorityCheck") // the victims need a core
    private static void breathe(List<Doomed> victims) throws IOException {
        Thread.yield();
        for (Doomed each : victims) {
            if (!each.jvm.isAlive()) {
                throw new AssertionError("victim died by itself: " + each.jvm.errors());
            }
        }
    }

    @FieldBug(99)
    @Test
    void nothingPublishedIsLostWhicheverOfManyIsKilled() throws Exception {
        long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        System.out.println("SharedKillIT: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom seeds = new SplittableRandom(seed);
        int[] killsBy = new int[2];
        for (int number = 0; kills < KILLS; number++) {
            long own = seeds.nextLong();
            int before = kills;
            try {
                oneQueue(number, new SplittableRandom(own));
            } catch (Exception | Error e) {
                throw new AssertionError("queue " + number + ", seed " + own + ": " + e.getMessage(), e);
            }
            killsBy[number % 2] += kills - before;
        }
        System.out.println("SharedKillIT: " + kills + " kills, of writers " + killsBy[0] + ", of pollers " + killsBy[1]
                + "; met an open claim " + openClaims + ", a slot filled and not published " + tornSlots
                + ", a batch half published " + halfBatches + ", a full ring " + fullRings
                + ", a poller with a claimed batch " + claimedBatches + ", any of these " + anyOfThese
                + "; a row stored and not yet claimed " + beforeTheClaim + "; undecided while another lived "
                + stillUndecided + "; entries moved " + moved + ", abandoned by recovery " + recovered
                + ", lost with claimed batches " + lost);
        assertTrue(5 * anyOfThese >= kills, "too few kills met a moment that matters: " + anyOfThese + " of " + kills);
    }

    private void oneQueue(int number, SplittableRandom random) throws Exception {
        int capacity = CAPACITIES[random.nextInt(CAPACITIES.length)];
        long[] starts = Shape.starts(capacity).toArray();
        Shape shape = new Shape(Shape.STRIDES[random.nextInt(3)], capacity, starts[random.nextInt(starts.length)]);
        boolean killsWriters = number % 2 == 0;
        int writers = killsWriters || random.nextBoolean() ? WRITERS : 1;
        boolean sharedPollers = !killsWriters || random.nextBoolean();
        Path file = folder.resolve("queue" + number);
        QueueMemory memory = QueueMemory.create(file, CompletionQueue.requiredBytes(capacity, shape.stride(), writers));
        CompletionQueue.Builder builder = shape.builder().writers(writers).memory(memory);
        CompletionQueue queue = (sharedPollers ? builder.sharedPollers() : builder).create();
        Subject subject = new Subject(shape, writers, memory, queue, file);
        if (killsWriters) {
            new WriterRounds(subject, sharedPollers ? queue.newPoller() : null, random).run();
        } else {
            new PollerRounds(subject, random).run();
        }
        queue.close();
    }

    /** This process polls, and is one of the writers; others are killed. */
    private final class WriterRounds {
        private final Subject s;
        private final CompletionPoller poller;
        private final SplittableRandom random;
        private final SharedWriter own;

        /** Next number of each series. */
        private final Map<Long, Long> expected = new HashMap<>();

        private long written;
        private long delivered;
        private long series = OWN;

        /** Entries of the claim that this process holds open while another is killed. */
        private int claimed;

        WriterRounds(Subject s, CompletionPoller poller, SplittableRandom random) {
            this.s = s;
            this.poller = poller;
            this.random = random;
            this.own = s.queue.newWriter();
            expected.put(OWN, 0L);
        }

        void run() throws Exception {
            for (int round = 0; round < ROUNDS_PER_QUEUE; round++) {
                List<Doomed> living = new ArrayList<>();
                boolean givesBack = random.nextInt(3) == 0;
                boolean polls = random.nextInt(4) != 0;
                int victims = random.nextInt(3) == 0 ? 2 : 1;
                for (int i = 0; i < victims; i++) {
                    long first = ++series << 32;
                    expected.put(series, first);
                    int most = polls ? 600 : Math.max(10, Math.min(600, 8 * s.shape.capacity()));
                    int kind = random.nextInt(4); // runs on, parks in front of a store, or (2, 3) of a release store
                    long store = kind == 1 ? random.nextInt(most) : -1;
                    long release = kind > 1 ? random.nextInt(1 + most / 4) : -1;
                    long more = random.nextInt(200 + 20 * s.shape.capacity());
                    living.add(doom("writer", s, first, random, store, release, more, givesBack ? 1 : 0));
                }
                List<Doomed> dead = new ArrayList<>();
                while (!living.isEmpty()) {
                    Doomed next = ready(living, polls);
                    while (next == null) {
                        if (polls) {
                            poll();
                        }
                        if (random.nextInt(4) == 0) { // not each time: then no slot would be left for others
                            write();
                        }
                        breathe(living);
                        next = ready(living, polls);
                    }
                    hold();
                    kill(next);
                    living.remove(next);
                    dead.add(next);
                    classify(next);
                    if (!living.isEmpty()) {
                        recoverBeside(next, living.get(0));
                    }
                }
                settle(dead);
            }
        }

        /** Whoever is where it is to be killed: one that has parked may hold up the other, and us. */
        private Doomed ready(List<Doomed> living, boolean polls) {
            for (Doomed each : living) {
                if (isTime(each, polls)) {
                    return each;
                }
            }
            return null;
        }

        private boolean isTime(Doomed victim, boolean polls) {
            return victim.hasParked()
                    || (!polls && victim.word(SharedVictim.REFUSED) >= 2)
                    || (polls && !victim.parks && victim.acknowledged() >= victim.enough);
        }

        private int poll() {
            CompletionHandler handler = this::onCompletion;
            int limit = random.nextInt(1, 2 * s.shape.capacity() + 1);
            return poller != null ? poller.poll(handler, limit) : s.queue.poll(handler, limit);
        }

        /** Each series comes in its order, without a gap, and each field is that of its number. */
        private void onCompletion(Completion seen) {
            long id = seen.workRequestId();
            assertEquals(expected.get(id >>> 32), id, "next of its series");
            Numbered.verify(seen, id, SharedVictim.way(id), s.shape.stride());
            expected.put(id >>> 32, id + 1);
            delivered++;
        }

        private void write() {
            if (NumberedShared.put(own, SharedVictim.way(written), written, s.shape.stride())) {
                written++;
            }
        }

        /** Opens a claim in this process, so that recovery has a living one beside it. */
        private void hold() {
            int count = random.nextInt(Math.min(4, s.shape.capacity()) + 1);
            if (claimed == 0 && count != 0 && own.claim(count)) {
                claimed = count;
            }
        }

        private void commit() {
            int publish = random.nextInt(claimed + 1);
            for (int i = 0; i < publish; i++) {
                NumberedShared.fill(own.entry(i), SharedVictim.way(written), written, s.shape.stride());
                if (SharedVictim.way(written) != Numbered.Way.CLAIM) { // as write would have it
                    refill(own.entry(i), written);
                }
                written++;
            }
            if (claimed != 0) {
                own.commit(publish);
                claimed = 0;
            }
        }

        private void refill(CompletionEntry entry, long n) {
            entry.header(Numbered.header(n))
                    .workRequestId(n)
                    .length(Numbered.length(n))
                    .detail(Numbered.detail(n));
            if (s.shape.stride() != 32) {
                entry.timestamp(Numbered.timestamp(n));
                for (int i = 0; i < 3 && SharedVictim.way(n) == Numbered.Way.WRITE; i++) {
                    entry.payload(i, Numbered.payload(n, i));
                }
            }
        }

        /** The row of a process, or -1: it has none, or had not stored its owner. */
        private int row(Doomed victim) {
            for (int row = 0; row < s.writers; row++) {
                if (s.word(Region.row(row) + Region.ROW_OWNER) == victim.jvm.pid()) {
                    return row;
                }
            }
            return -1;
        }

        private void classify(Doomed victim) {
            int row = row(victim);
            long first = row < 0 ? 0 : s.word(Region.row(row) + Region.ROW_FIRST);
            long count = row < 0 ? 0 : s.word(Region.row(row) + Region.ROW_COUNT);
            long producer = s.word(Region.PRODUCER);
            long consumer = s.word(Region.CONSUMER);
            boolean open = false;
            boolean torn = false;
            boolean half = false;
            for (long next = first; next != first + count && next - producer < 0; next++) {
                boolean its = s.id(next) >>> 32 == victim.series();
                if (next - consumer < 0) { // polled, and its slot perhaps used again
                    half = true;
                } else if (s.isPublished(next)) {
                    half |= its && !s.isAbandoned(next);
                } else {
                    open = true;
                    torn |= its && s.id(next) >= published(victim.series());
                }
            }
            half &= open;
            boolean full = s.isFull();
            beforeTheClaim += count != 0 && first - producer >= 0 ? 1 : 0;
            openClaims += open ? 1 : 0;
            tornSlots += torn ? 1 : 0;
            halfBatches += half ? 1 : 0;
            fullRings += full ? 1 : 0;
            anyOfThese += open || full ? 1 : 0;
        }

        /** Number after the last entry of a series that has its owner bit: polled, or read off the slots. */
        private long published(long which) {
            long next = expected.get(which);
            long producer = s.word(Region.PRODUCER);
            for (long sequence = s.word(Region.CONSUMER); sequence - producer < 0; sequence++) {
                if (s.isPublished(sequence) && !s.isAbandoned(sequence) && s.id(sequence) >>> 32 == which) {
                    next = Math.max(next, s.id(sequence) + 1);
                }
            }
            return next;
        }

        /** One is dead, another lives and goes on; what belongs to whom shows later. */
        private void recoverBeside(Doomed dead, Doomed living) throws IOException {
            if (living.parks) {
                commit();
                return; // perhaps with the lock of the rows: then nobody recovers before it is dead as well
            }
            long progress = living.acknowledged();
            recovered += s.queue.recover();
            stillUndecided += row(dead) < 0 ? 0 : 1;
            commit();
            int turns = 0;
            while (living.acknowledged() == progress && turns++ < 1_000_000) {
                poll();
                breathe(List.of(living));
                s.queue.recover();
            }
            assertTrue(living.acknowledged() != progress, "a living writer was held up");
        }

        /** All victims are dead: what was published is polled, what was claimed and not published is abandoned, all goes on. */
        private void settle(List<Doomed> dead) {
            Map<Long, Long> published = new HashMap<>();
            for (Doomed each : dead) {
                long last = published(each.series());
                long acknowledged = each.acknowledged();
                assertTrue(last >= acknowledged, "published and gone: " + acknowledged + " > " + last);
                assertTrue(
                        last - acknowledged <= SharedVictim.MOST_IN_CLAIM, "more than the unfinished call published");
                published.put(each.series(), last);
                moved += last - each.first;
            }
            // Claimed and not published: of the dead, or what this process has claimed itself, the newest or not.
            long producer = s.word(Region.PRODUCER);
            int holes = 0;
            for (long sequence = s.word(Region.CONSUMER); sequence - producer < 0; sequence++) {
                holes += s.isPublished(sequence) ? 0 : 1;
            }
            int abandoned = s.queue.recover();
            assertEquals(holes - claimed, abandoned, "abandoned by recovery");
            recovered += abandoned;
            commit();
            assertEquals(0, s.queue.recover(), "a row that covered what we had claimed as well");
            for (Doomed each : dead) {
                assertEquals(-1, row(each), "its row is free");
            }
            long most = delivered + s.shape.capacity() + (poller == null ? 0 : poller.undelivered());
            while (poll() != 0) {
                assertTrue(delivered <= most, () -> delivered + " delivered, and nobody writes: at most " + most);
            }
            published.forEach((which, next) -> assertEquals(next, expected.get(which), "delivered of a killed writer"));
            assertEquals(written, expected.get(OWN), "delivered of the living one");
            producer = s.word(Region.PRODUCER);
            assertEquals(producer, s.word(Region.CONSUMER), "nothing is left");
            assertEquals(
                    producer - s.shape.start() - delivered, s.word(Region.PASSED_OVER), "all else was passed over");
            for (int i = 0; i < 2 * s.shape.capacity(); i++) { // each slot shows what it holds
                write();
                assertEquals(1, poll());
                assertEquals(0, poll());
            }
            assertEquals(written, expected.get(OWN));
            assertEquals(0, s.queue.size());
            assertEquals(0, s.word(Region.REJECTED));
            assertEquals(0, s.queue.lostEntries());
        }
    }

    /** This process writes, and is one of the pollers; others are killed. */
    private final class PollerRounds {
        private final Subject s;
        private final SplittableRandom random;
        private final CompletionPoller own;
        private final SharedWriter[] shared;

        /** Numbers of all entries that were handed to a handler, or are known to be lost. */
        private final BitSet settled = new BitSet();

        private int written;

        PollerRounds(Subject s, SplittableRandom random) {
            this.s = s;
            this.random = random;
            this.own = s.queue.newPoller(1 + random.nextInt(8));
            this.shared = s.writers == 1 ? null : new SharedWriter[] {s.queue.newWriter(), s.queue.newWriter()};
        }

        void run() throws Exception {
            for (int round = 0; round < ROUNDS_PER_QUEUE; round++) {
                List<Doomed> living = new ArrayList<>();
                int victims = random.nextInt(3) == 0 ? 2 : 1;
                int inHand = 0;
                boolean full = random.nextInt(3) == 0;
                for (int i = 0; i < victims; i++) {
                    int kind = random.nextInt(3); // runs on, parks in front of a store, parks within a handler
                    long store = kind == 1 ? random.nextInt(100) : -1;
                    long entry = kind == 2 ? 1 + random.nextInt(200) : -1;
                    int batch = random.nextInt(1, 17);
                    inHand += Math.min(batch, s.shape.capacity());
                    living.add(doom(
                            "poller",
                            s,
                            0,
                            random,
                            store,
                            entry,
                            random.nextInt(200 + 20 * s.shape.capacity()),
                            batch));
                }
                int fullBefore = fullRings;
                int killed = 0;
                while (!living.isEmpty()) {
                    Doomed next = living.get(0);
                    while (!(next.hasParked() || (!next.parks && next.acknowledged() >= next.enough))) {
                        traffic(living);
                    }
                    boolean stillFull =
                            full && (living.size() == 1 || living.get(1).hasParked());
                    while (stillFull && write()) {
                        // nobody polls it empty, or a living victim would
                        breathe(living.subList(1, living.size()));
                    }
                    kill(next);
                    living.remove(0);
                    killed++;
                    fullRings += s.isFull() ? 1 : 0;
                    takeLog(next);
                    for (Doomed each : living) {
                        long progress = each.word(SharedVictim.PROGRESS) + each.word(SharedVictim.REFUSED);
                        while (!each.hasParked()
                                && each.word(SharedVictim.PROGRESS) + each.word(SharedVictim.REFUSED) == progress) {
                            traffic(living); // a living poller goes on
                        }
                    }
                }
                int runs = settle(killed, inHand);
                claimedBatches += runs;
                anyOfThese += Math.max(runs, fullRings - fullBefore);
            }
        }

        private void traffic(List<Doomed> living) throws IOException {
            boolean accepted = false;
            for (int i = random.nextInt(8); i >= 0; i--) {
                accepted = write();
            }
            if (random.nextInt(4) == 0) {
                own.poll(this::onCompletion, random.nextInt(1, 9));
            }
            if (!accepted) {
                breathe(living);
            }
        }

        private void onCompletion(Completion seen) {
            Numbered.verify(seen, seen.workRequestId(), SharedVictim.way(seen.workRequestId()), s.shape.stride());
            once(seen.workRequestId());
        }

        private void once(long number) {
            assertTrue(number >= 0 && number < written, "never written: " + number);
            assertFalse(settled.get((int) number), "delivered twice: " + number);
            settled.set((int) number);
        }

        private boolean write() {
            boolean accepted;
            if (shared == null) {
                accepted = SharedVictim.way(written).publish(s.queue.writer(), written, s.shape.stride());
            } else {
                // Now and then a claim that is given back once another is behind it: an abandoned entry.
                boolean hole = s.shape.capacity() != 1 && random.nextInt(8) == 0 && shared[1].claim(1);
                accepted = NumberedShared.put(shared[0], SharedVictim.way(written), written, s.shape.stride());
                if (hole) {
                    shared[1].abandon();
                }
            }
            written += accepted ? 1 : 0;
            return accepted;
        }

        /** What a dead poller had handled. */
        private void takeLog(Doomed dead) {
            long count = dead.word(SharedVictim.PROGRESS);
            long before = -1;
            for (long i = 0; i < count; i++) {
                long number = dead.ledger.getLong(SharedVictim.LOG + i * Long.BYTES);
                assertTrue(number > before, "out of order");
                before = number;
                once(number);
            }
            moved += count;
        }

        /** All victims are dead: what nobody has handled is what they had claimed. Returns how many had claimed something. */
        private int settle(int killed, int inHand) {
            while (own.poll(this::onCompletion, s.shape.capacity()) != 0) {
                assertEquals(0, own.undelivered() / 8);
            }
            assertEquals(0, own.undelivered());
            assertEquals(s.word(Region.PRODUCER), s.word(Region.CONSUMER), "nothing is left to poll");
            int runs = 0;
            int missing = 0;
            for (int from = settled.nextClearBit(0); from < written; from = settled.nextClearBit(from)) {
                int end = settled.nextSetBit(from);
                end = end < 0 ? written : end;
                missing += end - from;
                runs++;
                settled.set(from, end);
            }
            assertTrue(missing <= inHand, "lost " + missing + ", claimed at most " + inHand);
            assertTrue(runs <= killed, "in " + runs + " runs, by " + killed + " pollers");
            lost += missing;
            if (shared != null) {
                long behind = s.word(Region.ABANDONED) - s.word(Region.PASSED_OVER);
                assertTrue(behind >= 0 && behind <= 16L * kills, "passed over and not counted: " + behind);
            } else {
                assertEquals(0, s.word(Region.PASSED_OVER));
            }
            for (int i = 0; i < 2 * s.shape.capacity(); i++) { // each slot shows what it holds
                assertTrue(write());
                while (!settled.get(written - 1)) {
                    assertEquals(1, own.poll(this::onCompletion, s.shape.capacity()));
                }
            }
            assertEquals(0, s.queue.size());
            assertEquals(0, s.word(Region.REJECTED));
            return runs;
        }
    }

    /** Rows are counted across processes, and a dead process's are free after recover. */
    @FieldBug({97, 99})
    @Test
    void writersAreCountedAcrossProcesses() throws Exception {
        Shape shape = new Shape(64, 8, 0);
        Path file = folder.resolve("queue");
        QueueMemory memory = QueueMemory.create(file, CompletionQueue.requiredBytes(8, 64, 2));
        CompletionQueue queue = shape.builder().writers(2).memory(memory).create();
        Subject subject = new Subject(shape, 2, memory, queue, file);
        // Stores of a victim: count and owner of its row; first, count, claim, then the words of the first entry.
        Doomed victim = doom("writer", subject, 1L << 32, new SplittableRandom(1), 6, -1, 0, 0);
        while (!victim.hasParked()) {
            breathe(List.of(victim));
        }
        SharedWriter writer = queue.newWriter();
        assertEquals(
                "completion queue takes at most 2 writers, and all are open: close one, or call recover() if threads or"
                        + " processes have ended without",
                assertThrows(IllegalStateException.class, queue::newWriter).getMessage());
        assertTrue(NumberedShared.put(writer, SharedVictim.way(0), 0, 64));
        assertEquals(0, queue.recover(), "stopped, but alive");
        assertEquals(0, queue.poll(seen -> {}, 8), "behind an open claim");
        kill(victim);
        assertThrows(IllegalStateException.class, queue::newWriter, "dead, but nobody has looked");
        assertEquals(1, queue.recover());
        SharedWriter next = queue.newWriter();
        assertTrue(NumberedShared.put(next, SharedVictim.way(1), 1, 64));
        long[] ids = {0};
        assertEquals(2, queue.poll(seen -> assertEquals(ids[0]++, seen.workRequestId()), 8));
        queue.close();
        assertTrue(Files.exists(file));
    }
}
