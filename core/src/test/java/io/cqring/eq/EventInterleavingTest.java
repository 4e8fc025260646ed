package io.cqring.eq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Interleavings;
import io.cqring.testing.SteppedMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Post, poll, arm and sleep, the shipped classes, under every order of their memory accesses up to a number of forced switches.
 * In no run does the consumer sleep, unwoken, while an event is ready or an overrun is untaken.
 *
 * <p>A consumer that sleeps stays registered with the interrupt for good and does nothing more; whether a raiser saw it is noted.
 */
class EventInterleavingTest {
    private static final AtomicInteger SCHEDULES = new AtomicInteger();

    @AfterAll
    static void tell() {
        System.out.println("Event interleavings: " + SCHEDULES + " schedules");
    }

    private static int explore(int switches, Interleavings.Factory factory) {
        int runs = Interleavings.explore(switches, factory);
        SCHEDULES.addAndGet(runs);
        return runs;
    }

    /** The interrupt's words, in the same stepped memory as the queue's. Who has said that it waits goes on waiting until {@link #leave}. */
    private static final class Asleep extends QueueMemory {
        private static final int WAITER = 128;
        private static final long WAITS = 2;

        private final QueueMemory whole;
        private final int base;
        private boolean woken;

        Asleep(QueueMemory whole, int base) {
            super(Interrupt.REQUIRED_BYTES);
            this.whole = whole;
            this.base = base;
        }

        /** The consumer has not slept: it waits no more. */
        void leave() {
            whole.putLongRelease(base + WAITER, 0);
            woken = false;
        }

        @Override
        public long getLong(long offset) {
            return whole.getLong(base + offset);
        }

        @Override
        public void putLong(long offset, long value) {
            whole.putLong(base + offset, value);
        }

        @Override
        public long getLongOpaque(long offset) {
            return whole.getLongOpaque(base + offset);
        }

        @Override
        public void putLongOpaque(long offset, long value) {
            whole.putLongOpaque(base + offset, value);
        }

        @Override
        public long getLongAcquire(long offset) {
            long value = whole.getLongAcquire(base + offset);
            woken |= offset == WAITER && value == WAITS;
            return value;
        }

        @Override
        public void putLongRelease(long offset, long value) {
            if (offset != WAITER || value == WAITS) {
                whole.putLongRelease(base + offset, value);
            }
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            return whole.compareAndSetLong(base + offset, expected, value);
        }

        @Override
        public long getAndAddLong(long offset, long delta) {
            return whole.getAndAddLong(base + offset, delta);
        }

        @Override
        public void fullFence() {
            whole.fullFence();
        }

        @Override
        public void getBytes(int offset, byte[] into, int index, int length) {
            whole.getBytes(base + offset, into, index, length);
        }

        @Override
        public void putBytes(int offset, byte[] from, int index, int length) {
            whole.putBytes(base + offset, from, index, length);
        }

        @Override
        public void copy(int offset, QueueMemory source, int sourceOffset, int length) {
            whole.copy(base + offset, source, sourceOffset, length);
        }

        @Override
        public void fill(int offset, int length, byte value) {
            whole.fill(base + offset, length, value);
        }
    }

    /** One consumer, one or more writers of a few events each. */
    private static class Rig implements Interleavings.Run {
        private final SteppedMemory memory;
        private final Asleep asleep;
        private final int[] posts;
        private final int turns;

        /** Details of events that a writer was told are in, each writer's in its order. */
        private final List<List<Long>> posted = new ArrayList<>();

        final Interrupt interrupt;
        final EventQueue queue;
        final List<Long> polled = new ArrayList<>();
        int lost;
        boolean overrunTaken;
        boolean slept;

        Rig(int capacity, int turns, int... posts) {
            int bytes = (int) EventQueue.requiredBytes(capacity);
            this.memory = new SteppedMemory(bytes + Interrupt.REQUIRED_BYTES);
            this.asleep = new Asleep(memory, bytes);
            this.interrupt = new Interrupt(asleep, null);
            this.queue = EventQueue.builder(capacity)
                    .startSequence(capacity - 1)
                    .memory(memory)
                    .interrupt(interrupt)
                    .create();
            this.posts = posts;
            this.turns = turns;
        }

        @Override
        public final SteppedMemory memory() {
            return memory;
        }

        @Override
        public final List<Runnable> bodies() {
            List<Runnable> bodies = new ArrayList<>();
            bodies.add(() -> {
                try {
                    for (int turn = 0; turn < turns && !slept; turn++) {
                        consume();
                        if (!slept) {
                            asleep.leave();
                        }
                    }
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            for (int writer = 0; writer < posts.length; writer++) {
                List<Long> own = new ArrayList<>();
                posted.add(own);
                int self = writer;
                bodies.add(() -> {
                    for (int i = 0; i < posts[self]; i++) {
                        long detail = 100L * self + i;
                        if (queue.writer().post(EventType.COMPLETION, self, 0, 0, detail)) {
                            own.add(detail);
                        } else {
                            lost++;
                        }
                    }
                });
            }
            return bodies;
        }

        /** One turn of the loop that the package description shows. */
        void consume() throws InterruptedException {
            long seen = interrupt.count();
            pollAll();
            overrunTaken |= queue.takeOverrun();
            if (!queue.arm()) {
                slept = !interrupt.await(seen, 0);
            }
        }

        final void pollAll() {
            while (queue.poll((type, number, subType, syndrome, detail) -> polled.add(detail), 2) != 0) {}
        }

        @Override
        public final void check() {
            boolean ready = queue.size() != 0;
            boolean overrun = queue.takeOverrun();
            if (slept && !asleep.woken) {
                assertFalse(ready, "asleep beside a ready event");
                assertFalse(overrun, "asleep after an overrun");
            }
            pollAll();
            int count = 0;
            for (List<Long> own : posted) {
                List<Long> seen = new ArrayList<>(polled);
                seen.retainAll(own);
                assertEquals(own, seen, "one writer's events, once each and in order");
                count += own.size();
            }
            assertEquals(count, polled.size(), () -> "polled " + polled + ", posted " + posted);
            assertEquals(lost, queue.overruns());
            assertEquals(lost != 0, overrun || overrunTaken, "every overrun is told");
            assertEquals(0, queue.size());
        }
    }

    /** Capacity, the most switches, turns of the consumer, posts of each writer. */
    @FieldBug({38, 47})
    @ParameterizedTest
    @CsvSource({
        "1, 3, 1, 1, 0",
        "2, 3, 1, 2, 0",
        "2, 2, 2, 2, 0",
        "4, 2, 1, 3, 0",
        "1, 2, 2, 2, 0",
        "2, 1, 2, 1, 1",
        "1, 2, 1, 1, 1",
        "4, 1, 1, 2, 1"
    })
    void shouldNeverSleepBesideAReadyEvent(int capacity, int switches, int turns, int first, int second) {
        int runs = explore(
                switches,
                () -> second == 0 ? new Rig(capacity, turns, first) : new Rig(capacity, turns, first, second));
        assertTrue(runs > 10, () -> "schedules: " + runs);
    }

    /** The explorer checked: a consumer that arms and does not look at the answer. */
    @Test
    void theExplorerSeesAConsumerThatDoesNotPollAgain() {
        assertConvicted(() -> new Rig(2, 1, 1) {
            @Override
            void consume() throws InterruptedException {
                long seen = interrupt.count();
                pollAll();
                queue.arm();
                slept = !interrupt.await(seen, 0);
            }
        });
    }

    /** The explorer checked: a consumer that notes the count only when it is about to sleep. */
    @Test
    void theExplorerSeesAConsumerThatNotesTheCountTooLate() {
        assertConvicted(() -> new Rig(2, 1, 1) {
            @Override
            void consume() throws InterruptedException {
                pollAll();
                if (!queue.arm()) {
                    slept = !interrupt.await(interrupt.count(), 0);
                }
            }
        });
    }

    /** The explorer checked: a consumer that does not ask for overruns. */
    @Test
    void theExplorerSeesAConsumerThatDoesNotAskForOverruns() {
        assertConvicted(() -> new Rig(1, 1, 3) {
            @Override
            void consume() throws InterruptedException {
                long seen = interrupt.count();
                pollAll();
                if (!queue.arm()) {
                    slept = !interrupt.await(seen, 0);
                }
            }
        });
    }

    private static void assertConvicted(Interleavings.Factory factory) {
        AssertionError error = assertThrows(AssertionError.class, () -> explore(3, factory));
        assertTrue(error.getCause().getMessage().startsWith("asleep"), () -> "" + error.getCause());
    }
}
