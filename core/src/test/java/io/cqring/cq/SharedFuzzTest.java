package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.testing.SteppedMemory;
import io.cqring.testing.Threads;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Queues of many writers and many pollers, on memory between whose accesses somebody else makes a whole random call, and within
 * that somebody else again. So all ends interleave on one thread, at any access, and a run repeats itself. The books say what must
 * come out, and whether a writer that was refused had too little room at some moment of its call. Prints the seed;
 * {@code -Dcqring.test.seed=N} repeats the run.
 */
class SharedFuzzTest {
    private static final int POLLER_RUNS = 250;
    private static final int WRITER_RUNS = 250;
    private static final int MOST_NESTED = 3;

    /** What is known of an entry. */
    private enum Fate {
        /** Its call is under way, or was cut short: it may come or not. */
        OPEN,
        WRITTEN,
        REFUSED
    }

    private static final class Booked {
        private final int writer;
        private final Way way;
        private Fate fate = Fate.OPEN;
        private boolean taken;

        Booked(int writer, Way way) {
            this.writer = writer;
            this.way = way;
        }
    }

    /** The entries of one run, by number. Each writer has one call at a time, so its numbers go up. */
    private static final class Books {
        private final List<Booked> entries = new ArrayList<>();

        int open(int writer, Way way) {
            entries.add(new Booked(writer, way));
            return entries.size() - 1;
        }

        void close(int number, boolean written) {
            entries.get(number).fate = written ? Fate.WRITTEN : Fate.REFUSED;
        }

        Booked take(long number) {
            if (number < 0 || number >= entries.size()) {
                throw new AssertionError("entry " + number + " was never written");
            }
            Booked entry = entries.get((int) number);
            if (entry.taken) {
                throw new AssertionError("entry " + number + " comes twice");
            }
            entry.taken = true;
            return entry;
        }

        /** Entries taken. */
        int balance() {
            int taken = 0;
            for (int number = 0; number != entries.size(); number++) {
                Booked entry = entries.get(number);
                if (entry.taken ? entry.fate == Fate.REFUSED : entry.fate == Fate.WRITTEN) {
                    throw new AssertionError(
                            "entry " + number + " was " + entry.fate + (entry.taken ? ", and came" : ", and is lost"));
                }
                taken += entry.taken ? 1 : 0;
            }
            return taken;
        }
    }

    /** What the handler of a taker throws, now and then. */
    private static final class Thrown extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Thrown() {
            super("thrown by the handler", null, false, false);
        }
    }

    /** Checks what one poller gets: every word, never again, and each writer's entries in order. */
    private static final class Taker implements Polling.Taker {
        private final Books books;
        private final int stride;
        private final Map<Integer, Long> lastOfWriter = new HashMap<>();
        private int untilThrow;

        Taker(Books books, int stride) {
            this.books = books;
            this.stride = stride;
        }

        /** Its handler throws at the view with this number from now on, from 1; 0: at none. */
        void throwAt(int view) {
            untilThrow = view;
        }

        @Override
        public void onView(Completion view) {
            long number = view.workRequestId();
            Numbered.verify(view, number, book(number), stride);
            if (untilThrow != 0 && --untilThrow == 0) {
                throw new Thrown();
            }
        }

        @Override
        public void onCopy(WorkCompletion copy) {
            long number = copy.workRequestId();
            Numbered.verify(copy, number, book(number), stride);
        }

        private Way book(long number) {
            Booked entry = books.take(number);
            Long last = lastOfWriter.put(entry.writer, number);
            if (last != null && last > number) {
                throw new AssertionError("entry " + number + " comes after entry " + last + " of the same writer");
            }
            return entry.way;
        }
    }

    /** A writer, and what the call under way asks for. */
    private static final class Writing {
        private final int id;

        /** Null: the one writer of the queue. */
        private final SharedWriter end;

        private boolean busy;
        private int wanted;

        /** Whether there was less room than it wants at some moment since it has asked. */
        private boolean sawTooLittle;

        Writing(int id, SharedWriter end) {
            this.id = id;
            this.end = end;
        }
    }

    /** One queue, and all that uses it. */
    private abstract static class Run {
        final SplittableRandom random;
        final int capacity;
        final int stride;
        final SteppedMemory memory;
        final CompletionQueue queue;
        final Books books = new Books();
        final List<Writing> writers = new ArrayList<>();
        private final String shape;
        private final int chance;
        private int depth;
        private boolean looking;
        private int asking;
        int nested;
        int refused;

        /** A queue with one writer or several, and room for more. */
        Run(SplittableRandom random, boolean sharedPollers, int moreWriters) {
            this.random = random;
            this.capacity = 1 << random.nextInt(5);
            this.stride = random.nextInt(4) == 0 ? 64 : 32;
            this.chance = 20 + random.nextInt(1_200);
            int open = sharedPollers && random.nextBoolean() ? 1 : 2 + random.nextInt(2);
            int most = open + moreWriters;
            long start = start();
            this.shape = "capacity " + capacity + ", stride " + stride + ", start " + start + ", writers " + open
                    + ", chance " + chance;
            this.memory = new SteppedMemory(CompletionQueue.requiredBytes(capacity, stride, most));
            CompletionQueue.Builder builder = CompletionQueue.ofCapacity(capacity)
                    .strideBytes(stride)
                    .startSequence(start)
                    .writers(most)
                    .overrunPolicy(OverrunPolicy.BACKPRESSURE)
                    .waitingWriters()
                    .memory(memory);
            this.queue = (sharedPollers ? builder.sharedPollers() : builder).create();
            for (int i = 0; i != open; i++) {
                writers.add(new Writing(i, most == 1 ? null : queue.newWriter()));
            }
        }

        /** Near each place where a sequence, or half of one, changes its sign, its width or its lap. */
        private long start() {
            long near = random.nextInt(40);
            return switch (random.nextInt(8)) {
                case 0 -> near;
                case 1 -> -near;
                case 2 -> -2L * capacity;
                case 3 -> Long.MAX_VALUE - near;
                case 4 -> Long.MIN_VALUE + near;
                case 5 -> (1L << 31) - near;
                case 6 -> (1L << 32) - near;
                default -> random.nextLong();
            };
        }

        /** A call of somebody who is in none. */
        abstract void operation();

        /** Nobody meddles any more: takes what is left. */
        abstract void end();

        /** Entries taken. */
        final int play(int operations) {
            hook();
            for (int i = 0; i != operations; i++) {
                operation();
            }
            memory.unhook();
            end();
            assertEquals(queue.producerSequence(), queue.consumerSequence(), "stuck");
            assertEquals(0, memory.getLong(Region.REJECTED), "rejected doorbells");
            return books.balance();
        }

        final void hook() {
            memory.hook(this::meddle);
        }

        private void meddle(boolean done, long offset, boolean stores) {
            if (looking) {
                return;
            }
            if (asking != 0) {
                look();
            }
            if (!done && depth != MOST_NESTED && random.nextInt(10_000) < chance) {
                depth++;
                nested++;
                operation();
                depth--;
                look();
            }
        }

        /** Is there less room than somebody wants? Only the accesses of a call are moments at which it can find that out. */
        private void look() {
            looking = true;
            long room = memory.getLong(Region.CONSUMER) + capacity - memory.getLong(Region.PRODUCER);
            looking = false;
            for (Writing writing : writers) {
                if (writing.wanted > room) {
                    writing.sawTooLittle = true;
                }
            }
        }

        /** Writes one entry, or claims some and publishes a part of them. */
        final void write(Writing writing) {
            if (writing.busy) {
                return;
            }
            writing.busy = true;
            if (writing.end == null) {
                writeOne(writing, Way.at(random.nextInt(5)));
            } else if (random.nextBoolean()) {
                writeOne(writing, random.nextBoolean() ? Way.WRITE : Way.WRITE_BARE);
            } else {
                int count = 1 + random.nextInt(capacity);
                ask(writing, count);
                if (answered(writing, writing.end.claim(count))) {
                    fillAndCommit(writing.id, writing.end, random.nextInt(count + 1));
                }
            }
            writing.busy = false;
        }

        private void writeOne(Writing writing, Way way) {
            int number = books.open(writing.id, way);
            ask(writing, 1);
            boolean written = writing.end == null
                    ? way.publish(queue.writer(), number, stride)
                    : NumberedShared.put(writing.end, way, number, stride);
            books.close(number, answered(writing, written));
        }

        private void ask(Writing writing, int count) {
            writing.wanted = count;
            writing.sawTooLittle = false;
            asking++;
            look();
        }

        private boolean answered(Writing writing, boolean granted) {
            look();
            if (!granted) {
                refused++;
                assertTrue(writing.sawTooLittle, "refused " + writing.wanted + " slots that were free at every moment");
            }
            writing.wanted = 0;
            asking--;
            return granted;
        }

        final void fillAndCommit(int writer, SharedWriter end, int count) {
            int[] numbers = new int[count];
            for (int i = 0; i != count; i++) {
                Way way = random.nextBoolean() ? Way.CLAIM : Way.CLAIM_BARE;
                numbers[i] = books.open(writer, way);
                NumberedShared.fill(end.entry(i), way, numbers[i], stride);
            }
            end.commit(count);
            for (int number : numbers) {
                books.close(number, true);
            }
        }

        final int anyLimit() {
            return random.nextInt(3) == 0 ? 1 : 1 + random.nextInt(2 * capacity);
        }

        @Override
        public String toString() {
            return shape;
        }
    }

    /** Many pollers. */
    private static final class Pollers extends Run {
        private final List<CompletionPoller> pollers = new ArrayList<>();
        private final List<Taker> takers = new ArrayList<>();
        private final boolean[] busy;
        private int thrown;

        Pollers(SplittableRandom random) {
            super(random, true, 0);
            int count = 2 + random.nextInt(3);
            this.busy = new boolean[count];
            for (int i = 0; i != count; i++) {
                pollers.add(queue.newPoller(anyLimit()));
                takers.add(new Taker(books, stride));
            }
        }

        @Override
        void operation() {
            if (random.nextBoolean()) {
                Writing writing = writers.get(random.nextInt(writers.size()));
                int times = 1 + random.nextInt(3);
                for (int i = 0; i != times; i++) {
                    write(writing);
                }
                return;
            }
            int who = random.nextInt(busy.length);
            if (!busy[who]) {
                busy[who] = true;
                takers.get(who).throwAt(random.nextInt(10) == 0 ? 1 + random.nextInt(capacity) : 0);
                try {
                    SharedPolling.at(random.nextInt(4)).take(pollers.get(who), capacity, anyLimit(), takers.get(who));
                } catch (Thrown expected) {
                    thrown++;
                }
                busy[who] = false;
            }
        }

        @Override
        void end() {
            int taken;
            do {
                taken = 0;
                for (int i = 0; i != busy.length; i++) {
                    takers.get(i).throwAt(0);
                    taken += pollers.get(i).poll(takers.get(i)::onView, capacity);
                }
            } while (taken != 0);
        }
    }

    /** Many writers, some of which end in the middle of a call, and one poller. */
    private static final class Writers extends Run {
        private static final int MORTALS = 2;
        private static final int MOST_ACCESSES = 40;

        private final Taker taker = new Taker(books, stride);
        private boolean polling;

        /** Somebody opens a writer or recovers: the lock of the rows would let this thread in twice. */
        private boolean changingRows;

        private int writersEver = writers.size();
        private int ended;
        private int recovered;

        Writers(SplittableRandom random) {
            super(random, false, MORTALS);
        }

        @Override
        void operation() {
            int what = random.nextInt(100);
            if (what < 50) {
                write(writers.get(random.nextInt(writers.size())));
            } else if (what < 85) {
                if (!polling) {
                    polling = true;
                    Polling.at(random.nextInt(5)).take(queue, anyLimit(), taker);
                    polling = false;
                }
            } else if (!changingRows) {
                if (what < 93) {
                    liveAndEnd();
                } else {
                    recover();
                }
            }
        }

        /** A thread claims, and ends: at some access, or with its claim open, or after it has published it. */
        private void liveAndEnd() {
            changingRows = true;
            SharedWriter mortal = open();
            changingRows = false;
            if (mortal == null) {
                return;
            }
            int id = writersEver++;
            int count = 1 + random.nextInt(capacity);
            boolean commits = random.nextInt(4) != 0;
            int filled = random.nextInt(count + 1);
            memory.endAt(random.nextInt(1 + random.nextInt(MOST_ACCESSES)), random.nextBoolean()); // often in the claim
            Threads.run(spin -> {
                try {
                    if (mortal.claim(count) && commits) {
                        fillAndCommit(id, mortal, filled);
                    }
                } catch (SteppedMemory.Ended expected) {
                    ended++;
                }
            });
            hook();
        }

        /** Null if there is no row: those of the threads that have ended are taken until somebody recovers. */
        private SharedWriter open() {
            try {
                return queue.newWriter();
            } catch (IllegalStateException e) {
                assertTrue(e.getMessage().startsWith("completion queue takes at most"), e.getMessage());
                return null;
            }
        }

        private void recover() {
            changingRows = true;
            recovered += queue.recover();
            changingRows = false;
        }

        @Override
        void end() {
            recover();
            for (int i = 0; i <= capacity; i++) { // a poll may meet nothing but abandoned entries
                queue.poll(taker::onView, capacity);
            }
            for (int i = 0; i != MORTALS; i++) {
                assertNotNull(open(), "a row was not freed");
            }
        }
    }

    /** Makes and plays so many runs, each with its part of the seed. */
    private static <R extends Run> void play(
            String what, int runs, int operations, Function<SplittableRandom, R> maker, Consumer<R> after) {
        long seed = Long.getLong("cqring.test.seed", ThreadLocalRandom.current().nextLong());
        System.out.println("SharedFuzzTest, " + what + ": seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        long taken = 0;
        long nested = 0;
        long refused = 0;
        for (int i = 0; i != runs; i++) {
            R run = maker.apply(random.split());
            try {
                taken += run.play(operations);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + ", run " + i + ": " + run + ": " + e.getMessage(), e);
            }
            nested += run.nested;
            refused += run.refused;
            after.accept(run);
        }
        // Runs that never met these would prove little.
        assertMany(50L * runs, "entries taken", taken);
        assertMany(50L * runs, "nested calls", nested);
        assertMany(10L * runs, "refusals", refused);
    }

    private static void assertMany(long least, String what, long count) {
        assertTrue(count >= least, () -> "only " + count + " " + what);
    }

    @Test
    void shouldGiveEachEntryToOnePollerWhoeverMeddles() {
        long[] thrown = {0};
        play("pollers", POLLER_RUNS, 400, Pollers::new, run -> thrown[0] += run.thrown);
        assertMany(POLLER_RUNS, "handlers threw", thrown[0]);
    }

    @Test
    void shouldLoseNothingOfLivingWritersWhoeverMeddlesOrDies() {
        long[] ended = {0};
        long[] recovered = {0};
        play("writers", WRITER_RUNS, 200, Writers::new, run -> {
            ended[0] += run.ended;
            recovered[0] += run.recovered;
        });
        assertMany(WRITER_RUNS, "threads ended in a call", ended[0]);
        assertMany(WRITER_RUNS, "entries recovered", recovered[0]);
    }

    /**
     * Of two slots, the other writer takes one, gets it polled, and takes one again, all between two accesses of a write. Slots
     * taken meanwhile: 0, 1, 0, 1. So one is free at every moment, and a write that wants one must get it; but the count that the writer
     * remembers is of a claim that it gave back, and the room that it sees first may be older than the count that it sees next.
     */
    @ParameterizedTest
    @EnumSource(OverrunPolicy.class)
    void shouldNotRefuseASlotThatWasFreeAtEveryMoment(OverrunPolicy policy) {
        int place = 0;
        boolean[] meddled = {true};
        for (; meddled[0]; place++) {
            SteppedMemory memory = new SteppedMemory(CompletionQueue.requiredBytes(2, 64, 2));
            CompletionQueue queue = CompletionQueue.ofCapacity(2)
                    .writers(2)
                    .overrunPolicy(policy)
                    .memory(memory)
                    .create();
            SharedWriter one = queue.newWriter();
            SharedWriter other = queue.newWriter();
            assertTrue(one.claim(2));
            assertEquals(2, one.abandon());
            Polling.InOrder polled = new Polling.InOrder(64, Way.WRITE, 1);
            meddled[0] = false;
            memory.runBefore(place, () -> {
                if (memory.getLong(Region.PRODUCER) == 0) { // else it has its slot, and there is nothing to see
                    meddled[0] = true;
                    assertTrue(NumberedShared.put(other, Way.WRITE, 1, 64));
                    assertEquals(1, queue.poll(polled::onView, 1));
                    assertTrue(NumberedShared.put(other, Way.WRITE, 2, 64));
                }
            });
            assertTrue(NumberedShared.put(one, Way.WRITE, 3, 64), "refused, meddled with at access " + place);
            memory.unhook();
            assertEquals(0, queue.lostEntries());
            assertFalse(one.isDead());
            if (meddled[0]) {
                assertEquals(2, queue.poll(polled::onView, 2));
                assertEquals(4, polled.next());
            }
        }
        assertTrue(place > 5, "places tried: " + place);
    }
}
