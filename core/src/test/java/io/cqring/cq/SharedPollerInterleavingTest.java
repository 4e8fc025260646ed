package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.ForwardingMemory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * One call of a poller, stopped before every one of its accesses to the ring, while others do whole calls: each place is tried
 * with each of them, and each pair of places with each pair, the second within the first included. Afterwards every entry must
 * have been delivered once, with its own words, to each poller in order. One thread, so each case repeats itself.
 */
class SharedPollerInterleavingTest {
    private static final int NEVER = -1;

    /** How the compare-and-set of the memory works. */
    private enum Step {
        WHOLE,

        /** Known bad: compared, then stored. */
        TWO_STEPS,

        /** Known bad: stored, whatever was there. */
        BLIND
    }

    private static final QueueMemory RING = QueueMemory.allocate(new Shape(128, 4, 0).bytes());

    /** Real memory that lets something happen before the n-th access. */
    private static final class Stopped extends ForwardingMemory {
        private final Step step;
        private final int[] places = {NEVER, NEVER};
        private final Runnable[] deeds = new Runnable[2];
        private int accesses;

        Stopped(Step step) {
            super(RING); // the same for all cases: allocating is most of what a case would cost
            this.step = step;
        }

        void plan(int which, int place, Runnable deed) {
            places[which] = place;
            deeds[which] = deed;
            accesses = 0;
        }

        private void access() {
            int now = accesses++;
            for (int i = 0; i < 2; i++) {
                if (places[i] == now) {
                    places[i] = NEVER;
                    deeds[i].run();
                }
            }
        }

        @Override
        public long getLong(long offset) {
            access();
            return memory.getLong(offset);
        }

        @Override
        public void putLong(long offset, long value) {
            access();
            memory.putLong(offset, value);
        }

        @Override
        public long getLongOpaque(long offset) {
            access();
            return memory.getLongOpaque(offset);
        }

        @Override
        public void putLongOpaque(long offset, long value) {
            access();
            memory.putLongOpaque(offset, value);
        }

        @Override
        public long getLongAcquire(long offset) {
            access();
            return memory.getLongAcquire(offset);
        }

        @Override
        public void putLongRelease(long offset, long value) {
            access();
            memory.putLongRelease(offset, value);
        }

        @Override
        public long getAndAddLong(long offset, long delta) {
            access();
            return memory.getAndAddLong(offset, delta);
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            access();
            switch (step) {
                case WHOLE -> {
                    return memory.compareAndSetLong(offset, expected, value);
                }
                case TWO_STEPS -> {
                    if (memory.getLong(offset) != expected) {
                        return false;
                    }
                    access();
                    memory.putLong(offset, value);
                    return true;
                }
                default -> {
                    memory.putLong(offset, value);
                    return true;
                }
            }
        }
    }

    /** What happens in between. */
    private enum Deed {
        POLL_ONE,
        POLL_ALL,
        WRITE_ONE,
        /** Everything polled, the ring filled again: a lap. */
        LAP,
        /** Two laps: owner bits are what they were. */
        TWO_LAPS
    }

    /** One case: the queue, its pollers, and who got what. */
    private static final class Case {
        private final Shape shape;
        private final int backlog;
        private final Stopped memory;
        private final CompletionQueue queue;
        private final CompletionPoller[] pollers = new CompletionPoller[3];
        private final int batch;
        private final List<List<Long>> got = new ArrayList<>();
        private long written;
        private boolean writing;

        Case(Shape shape, int backlog, int batch, Step step) {
            this.shape = shape;
            this.backlog = backlog;
            this.memory = new Stopped(step);
            this.queue = shape.builder().memory(memory).sharedPollers().create();
            this.batch = batch;
            for (int poller = 0; poller < 3; poller++) {
                got.add(new ArrayList<>());
            }
            for (int i = 0; i < backlog; i++) {
                write();
            }
        }

        private void write() {
            if (!writing) { // the one writer cannot interrupt itself
                writing = true;
                if (Way.WRITE.put(queue.writer(), written, shape.stride())) {
                    written++;
                }
                writing = false;
            }
        }

        private CompletionPoller poller(int index) {
            if (pollers[index] == null) {
                pollers[index] = queue.newPoller(index == 0 ? batch : 16);
            }
            return pollers[index];
        }

        private int poll(int poller, int limit) {
            return poller(poller).poll(c -> take(poller, c), limit);
        }

        private void take(int poller, Completion completion) {
            long number = completion.workRequestId();
            Numbered.verify(completion, number, Way.WRITE, shape.stride());
            got.get(poller).add(number);
        }

        void perform(Deed deed, int poller) {
            switch (deed) {
                case POLL_ONE -> poll(poller, 1);
                case POLL_ALL -> poll(poller, shape.capacity());
                case WRITE_ONE -> write();
                default -> {
                    for (int lap = 0; lap < (deed == Deed.LAP ? 1 : 2); lap++) {
                        poll(poller, shape.capacity());
                        for (int i = 0; i < shape.capacity(); i++) {
                            write();
                        }
                    }
                }
            }
        }

        /** The call that is interrupted, then the account. Returns how many accesses the call had, with what came between. */
        int run(boolean cursor, int limit) {
            int taken;
            if (cursor) {
                CompletionPoller poller = poller(0);
                taken = 0;
                if (poller.startPoll()) {
                    do {
                        take(0, poller.completion());
                        taken++;
                    } while (taken != limit && poller.next());
                    poller.endPoll();
                }
            } else {
                taken = poll(0, limit);
            }
            int accesses = memory.accesses;
            memory.plan(0, NEVER, null);
            memory.plan(1, NEVER, null);
            require(taken == got.get(0).size(), "not what was returned", taken);
            require(taken <= Math.min(limit, shape.capacity()), "above the limit", taken);
            if (taken == 0) {
                for (long ready = 0; ready < backlog; ready++) {
                    require(
                            got.get(1).contains(ready) || got.get(2).contains(ready),
                            "found nothing, though this was ready and nobody's",
                            ready);
                }
            }
            while (poll(0, shape.capacity()) != 0) {}
            check();
            return accesses;
        }

        private void check() {
            boolean[] seen = new boolean[(int) written];
            for (List<Long> numbers : got) {
                long before = -1;
                for (long number : numbers) {
                    require(number > before, "out of order", number);
                    require(number < written, "never written", number);
                    require(!seen[(int) number], "delivered twice", number);
                    seen[(int) number] = true;
                    before = number;
                }
            }
            for (int number = 0; number < written; number++) {
                require(seen[number], "lost", number);
            }
            require(
                    queue.writer().rejectedDoorbells() == 0,
                    "doorbells rejected",
                    queue.writer().rejectedDoorbells());
        }

        private void require(boolean holds, String otherwise, long what) {
            if (!holds) {
                throw new AssertionError(otherwise + ": " + what + "; delivered " + got);
            }
        }
    }

    /** Runs one case with up to two deeds; returns the accesses of the interrupted call. */
    private static int run(
            Shape shape,
            int backlog,
            int batch,
            int limit,
            boolean cursor,
            Step step,
            int place,
            Deed deed,
            int secondPlace,
            Deed second) {
        Case one = new Case(shape, backlog, batch, step);
        one.memory.plan(0, place, () -> one.perform(deed, 1));
        one.memory.plan(1, secondPlace, () -> one.perform(second, 2));
        try {
            return one.run(cursor, limit);
        } catch (AssertionError | IllegalStateException e) {
            throw new AssertionError(
                    shape + " backlog " + backlog + " batch " + batch + " limit " + limit + " cursor " + cursor + ": "
                            + deed + " at " + place + ", " + second + " at " + secondPlace,
                    e);
        }
    }

    /** One deed at each place. */
    private static int everyPlace(Shape shape, int backlog, int batch, int limit, boolean cursor, Step step) {
        int runs = 0;
        for (Deed deed : Deed.values()) {
            int place = 0;
            int accesses;
            do {
                accesses = run(shape, backlog, batch, limit, cursor, step, place, deed, NEVER, deed);
                runs++;
            } while (++place < accesses);
        }
        return runs;
    }

    /** Two deeds at each pair of places. */
    private static int everyPair(Shape shape, int backlog, int batch, int limit) {
        int runs = 0;
        int places = run(shape, backlog, batch, limit, false, Step.WHOLE, NEVER, Deed.LAP, NEVER, Deed.LAP);
        for (Deed deed : Deed.values()) {
            for (Deed second : Deed.values()) {
                for (int place = 0; place < places; place++) {
                    int secondPlace = place;
                    int accesses;
                    do {
                        accesses =
                                run(shape, backlog, batch, limit, false, Step.WHOLE, place, deed, secondPlace, second);
                        runs++;
                    } while (++secondPlace < accesses);
                }
            }
        }
        return runs;
    }

    @FieldBug({84, 91})
    @Test
    void shouldDeliverEachEntryOnceWhereverAPollIsInterrupted() {
        int runs = 0;
        for (int stride : Shape.STRIDES) {
            for (int capacity : new int[] {1, 2, 4}) {
                for (long start : new long[] {0, Long.MAX_VALUE - 1}) {
                    Shape shape = new Shape(stride, capacity, start);
                    for (int backlog = 0; backlog <= capacity; backlog++) {
                        for (int batch = 1; batch <= capacity; batch *= 2) {
                            for (int limit = 1; limit <= capacity; limit *= 2) {
                                runs += everyPlace(shape, backlog, batch, limit, false, Step.WHOLE);
                                runs += everyPlace(shape, backlog, batch, limit, true, Step.WHOLE);
                            }
                        }
                    }
                }
            }
        }
        System.out.println("Interrupted once: " + runs + " schedules");
        assertTrue(runs > 10_000, "too few schedules: " + runs);
    }

    @FieldBug(84)
    @Test
    void shouldDeliverEachEntryOnceWhereverAPollIsInterruptedTwice() {
        int runs = 0;
        for (int capacity : new int[] {1, 2, 4}) {
            Shape shape = new Shape(32, capacity, capacity - 1);
            for (int backlog = 0; backlog <= capacity; backlog++) {
                for (int batch = 1; batch <= capacity; batch *= 4) {
                    runs += everyPair(shape, backlog, batch, capacity);
                }
            }
        }
        System.out.println("Interrupted twice: " + runs + " schedules");
        assertTrue(runs > 10_000, "too few schedules: " + runs);
    }

    /** The checker checked: a claim of two steps, or one that does not compare, is found out. */
    @Test
    void theSchedulesFindAClaimThatIsNoCompareAndSet() {
        Shape shape = new Shape(64, 2, 0);
        for (Step step : List.of(Step.TWO_STEPS, Step.BLIND)) {
            assertThrows(AssertionError.class, () -> everyPlace(shape, 2, 2, 2, false, step), step.toString());
        }
    }
}
