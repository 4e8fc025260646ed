package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import io.cqring.testing.Interleavings;
import io.cqring.testing.SteppedMemory;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The shipped classes under every order of their memory accesses, up to a number of forced switches. Two or three threads;
 * what must hold afterwards follows from what each call said.
 */
class ClaimInterleavingTest {
    private static final AtomicInteger SCHEDULES = new AtomicInteger();

    @AfterAll
    static void tell() {
        System.out.println("Claim interleavings: " + SCHEDULES + " schedules");
    }

    private static void explore(int switches, Interleavings.Factory factory) {
        SCHEDULES.addAndGet(Interleavings.explore(switches, factory));
    }

    /** A queue over stepped memory, three writers, and what they got in. */
    private abstract static class Rig implements Interleavings.Run {
        final SteppedMemory memory;
        final CompletionQueue queue;
        final int capacity;
        final SharedWriter a;
        final SharedWriter b;
        final SharedWriter c;

        /** Ids that a writer was told are published, each writer's in its order. */
        final List<List<Long>> published = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());

        final List<Long> polled = new ArrayList<>();

        /** Starts in the last slot of a lap, so that neighbouring sequences differ in their owner bit. */
        Rig(int capacity, OverrunPolicy policy) {
            this.capacity = capacity;
            this.memory = new SteppedMemory(384 + 3 * 128 + capacity * 64L);
            this.queue = CompletionQueue.ofCapacity(capacity)
                    .startSequence(capacity - 1)
                    .overrunPolicy(policy)
                    .writers(3)
                    .memory(memory)
                    .create();
            this.a = queue.newWriter();
            this.b = queue.newWriter();
            this.c = queue.newWriter();
        }

        @Override
        public SteppedMemory memory() {
            return memory;
        }

        final boolean write(SharedWriter writer, int index, long id) {
            boolean done = writer.write(0, id, 0, 0, 0);
            if (done) {
                published.get(index).add(id);
            }
            return done;
        }

        /** Claims, fills what is to be published, commits. */
        final void batch(SharedWriter writer, int index, long firstId, int count, int publish) {
            if (count > capacity || !writer.claim(count)) {
                return;
            }
            for (int i = 0; i < publish; i++) {
                writer.entry(i).workRequestId(firstId + i);
            }
            writer.commit(publish);
            for (int i = 0; i < publish; i++) {
                published.get(index).add(firstId + i);
            }
        }

        final int poll() {
            int taken = queue.poll(seen -> polled.add(seen.workRequestId()), capacity);
            long used = memory.getLong(Region.PRODUCER) - memory.getLong(Region.CONSUMER);
            assertTrue(used >= 0 && used <= capacity, "claimed and not consumed: " + used);
            return taken;
        }

        /** All that was published, and nothing else: each once, each writer's in order. Then the whole ring is usable. */
        final void checkAccount() {
            int taken;
            do {
                taken = poll();
            } while (taken != 0);
            long claimed = memory.getLong(Region.PRODUCER);
            assertEquals(claimed, memory.getLong(Region.CONSUMER), "something holds the ring up");
            Set<Long> all = new HashSet<>(polled);
            assertEquals(polled.size(), all.size(), () -> "twice: " + polled);
            int count = 0;
            for (List<Long> own : published) {
                count += own.size();
                List<Long> seen = new ArrayList<>(polled);
                seen.retainAll(own);
                assertEquals(own, seen, "one writer's entries in order");
            }
            assertEquals(count, polled.size(), () -> "polled " + polled + ", published " + published);
            assertEquals(0, queue.size());
        }

        final void checkUsable() {
            SharedWriter fresh = queue.newWriter();
            for (int lap = 0; lap < 2; lap++) {
                assertTrue(fresh.claim(capacity));
                for (int i = 0; i < capacity; i++) {
                    fresh.entry(i).workRequestId(1000 + i);
                }
                assertEquals(0, queue.poll(seen -> {}, capacity), "nothing is valid before it is published");
                fresh.commit(capacity);
                assertEquals(capacity, queue.size());
                long[] next = {1000};
                assertEquals(capacity, queue.poll(seen -> assertEquals(next[0]++, seen.workRequestId()), capacity));
            }
        }
    }

    private static Rig rig(int capacity, List<Consumer<Rig>> bodies, Consumer<Rig> before) {
        return new Rig(capacity, OverrunPolicy.BACKPRESSURE) {
            {
                before.accept(this);
            }

            @Override
            public List<Runnable> bodies() {
                List<Runnable> runnables = new ArrayList<>();
                bodies.forEach(body -> runnables.add(() -> body.accept(this)));
                return runnables;
            }

            @Override
            public void check() {
                checkAccount();
                if (published.get(0).size() + published.get(1).size() == 0) {
                    assertTrue(capacity < 4, "with room for all, nobody is refused");
                }
            }
        };
    }

    /** What one writer does in a race; writer, its index, first id. */
    private enum Deed {
        WRITE {
            @Override
            void on(Rig rig, SharedWriter writer, int index) {
                rig.write(writer, index, 100 * index + 1);
            }
        },
        WRITE_TWICE {
            @Override
            void on(Rig rig, SharedWriter writer, int index) {
                rig.write(writer, index, 100 * index + 1);
                rig.write(writer, index, 100 * index + 2);
            }
        },
        BATCH {
            @Override
            void on(Rig rig, SharedWriter writer, int index) {
                rig.batch(writer, index, 100 * index + 1, 2, 2);
            }
        },
        PART {
            @Override
            void on(Rig rig, SharedWriter writer, int index) {
                rig.batch(writer, index, 100 * index + 1, 2, 1);
            }
        },
        GIVE_BACK_THEN_WRITE {
            @Override
            void on(Rig rig, SharedWriter writer, int index) {
                rig.batch(writer, index, 0, 1, 0);
                rig.write(writer, index, 100 * index + 1);
            }
        };

        abstract void on(Rig rig, SharedWriter writer, int index);
    }

    /** Two writers, every pair of deeds, with and without room for both. */
    @FieldBug({5, 91})
    @ParameterizedTest
    @EnumSource(Deed.class)
    void shouldGiveEachSequenceToOneWriter(Deed first) {
        for (Deed second : Deed.values()) {
            for (int capacity : new int[] {1, 2, 4}) {
                explore(
                        2,
                        () -> rig(
                                capacity,
                                List.of(rig -> first.on(rig, rig.a, 0), rig -> second.on(rig, rig.b, 1)),
                                rig -> {}));
            }
        }
    }

    /** Two writers and a poller on a ring that is full or nearly so: an old claimed count meets a new consumer sequence. */
    @FieldBug(91)
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void shouldNeverClaimMoreThanIsFree(int capacity) {
        for (Deed deed : new Deed[] {Deed.WRITE, Deed.GIVE_BACK_THEN_WRITE}) {
            explore(
                    2,
                    () -> rig(
                            capacity,
                            List.of(rig -> deed.on(rig, rig.a, 0), rig -> Deed.WRITE_TWICE.on(rig, rig.b, 1), rig -> {
                                rig.poll();
                                rig.poll();
                            }),
                            rig -> {
                                for (int i = 0; i < capacity; i++) {
                                    assertTrue(rig.write(rig.c, 2, 50 + i));
                                }
                            }));
        }
    }

    /** What the writer that is gone left behind. */
    private enum Left {
        /** Its row covers the next sequence, which it never claimed. */
        ROW_ONLY,

        /** It claimed one sequence and published nothing. */
        CLAIM,

        /** It claimed one sequence, another writer claimed and published the one after. */
        CLAIM_BEFORE_ANOTHER
    }

    /**
     * Recovery beside a living writer. Whatever the order, nothing of the living one is abandoned, and at the latest a second
     * recovery has abandoned what the one that is gone had claimed.
     */
    @ParameterizedTest
    @EnumSource(Left.class)
    void shouldNeverAbandonWhatALivingWriterOwns(Left left) {
        for (Deed deed : Deed.values()) {
            explore(2, () -> new RecoverRig(left) {
                @Override
                void live() {
                    deed.on(this, a, 0);
                }
            });
        }
    }

    /** The same, with the living writer's claim open at the start, right over the row of the one that is gone. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void shouldNeverAbandonAnOpenClaimThatASpentRowCovers(int publish) {
        explore(3, () -> new RecoverRig(Left.ROW_ONLY) {
            @Override
            void prepare() {
                assertTrue(a.claim(2));
                assertEquals(0, queue.recover(), "covered by a living writer's row");
            }

            @Override
            void live() {
                for (int i = 0; i < publish; i++) {
                    a.entry(i).workRequestId(1 + i);
                }
                a.commit(publish);
                for (long i = 0; i < publish; i++) {
                    published.get(0).add(1 + i);
                }
                write(a, 0, 10);
            }
        });
    }

    /** One living writer gives back what another then claims, while recovery looks: the count of give-backs is what tells. */
    @Test
    void shouldNoticeThatASequenceWasGivenBackMeanwhile() {
        explore(2, () -> new RecoverRig(Left.ROW_ONLY) {
            @Override
            void prepare() {
                assertTrue(a.claim(1));
            }

            @Override
            void live() {
                a.abandon();
            }

            @Override
            public List<Runnable> bodies() {
                List<Runnable> all = new ArrayList<>(super.bodies());
                all.add(() -> write(b, 1, 101));
                return all;
            }
        });
    }

    /** A recovery in one thread, a living writer in another; writer c is gone. */
    private abstract static class RecoverRig extends Rig {
        private final Left left;
        private int recovered;

        RecoverRig(Left left) {
            super(4, OverrunPolicy.BACKPRESSURE);
            this.left = left;
            try {
                Thread gone = new Thread(() -> {
                    // Accesses of a write: enter, first, count, then the compare-and-exchange of the claimed count.
                    memory.endAt(3, left != Left.ROW_ONLY);
                    assertThrows(SteppedMemory.Ended.class, () -> c.write(0, 99, 0, 0, 0));
                });
                gone.start();
                gone.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            assertEquals(3, memory.getLong(Region.row(2) + Region.ROW_FIRST));
            assertEquals(1, memory.getLong(Region.row(2) + Region.ROW_COUNT));
            assertEquals(left == Left.ROW_ONLY ? 3 : 4, memory.getLong(Region.PRODUCER), "where it was to end");
            if (left == Left.CLAIM_BEFORE_ANOTHER) {
                write(b, 1, 150);
                b.release();
            }
            prepare();
            if (memory.getLong(Region.row(0) + Region.ROW_COUNT) != 0) {
                a.release();
            }
        }

        void prepare() {}

        abstract void live();

        @Override
        public List<Runnable> bodies() {
            return List.of(this::live, () -> recovered += queue.recover());
        }

        @Override
        public void check() {
            recovered += queue.recover();
            assertEquals(left == Left.ROW_ONLY ? 0 : 1, recovered, "abandoned");
            checkAccount();
            checkUsable();
        }
    }

    /** Nothing reaches the host once the end was reported, however the overrun, a claim and the poll meet. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void shouldReportTheEndOnceAndForAll(int capacity) {
        explore(2, () -> new Rig(capacity, OverrunPolicy.ERROR) {
            private boolean endSeen;

            @Override
            public List<Runnable> bodies() {
                return List.of(
                        () -> {
                            for (int i = 0; i <= capacity; i++) {
                                write(a, 0, i);
                            }
                        },
                        () -> write(b, 1, 100),
                        () -> {
                            try {
                                poll();
                                poll();
                            } catch (CqOverrunException end) {
                                endSeen = true;
                            }
                        });
            }

            @Override
            public void check() {
                int before = polled.size();
                boolean ends = false;
                try {
                    while (poll() != 0) {
                        assertFalse(endSeen, "an entry after the end");
                    }
                } catch (CqOverrunException end) {
                    ends = true;
                }
                assertTrue(!endSeen || ends, "the end, then not");
                if (ends) {
                    assertTrue(queue.lostEntries() > 0);
                }
                assertEquals(
                        published.get(0).size() + published.get(1).size(), polled.size(), () -> "before " + before);
                assertEquals(capacity + 2 - polled.size(), queue.lostEntries(), "polled or lost, each entry");
            }
        });
    }
}
