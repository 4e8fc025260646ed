package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Interleavings;
import io.cqring.testing.SteppedMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Arms, answers and takes in every order of their memory accesses, up to a number of forced switches. In no order does the host
 * sleep while there is something to poll and no event on its way, and no number gets two events.
 */
class ArmInterleavingTest {
    private static final AtomicInteger SCHEDULES = new AtomicInteger();

    @AfterAll
    static void tell() {
        System.out.println("Arm interleavings: " + SCHEDULES + " schedules");
    }

    private static void explore(int switches, Interleavings.Factory factory) {
        SCHEDULES.addAndGet(Interleavings.explore(switches, factory));
    }

    /** A queue over stepped memory; hosts that poll, arm and would sleep; whoever has the turn is the only one running. */
    private abstract static class Rig implements Interleavings.Run {
        final SteppedMemory memory;
        final CompletionQueue queue;
        final Events events = new Events();
        final CompletionPoller[] pollers = new CompletionPoller[2];
        final SharedWriter[] writers = new SharedWriter[2];
        final boolean many;
        final boolean shared;

        /** Of each host, whether its last arm allowed it to sleep. */
        final boolean[] asleep = new boolean[2];

        int taken;
        int polled;

        Rig(int capacity, boolean many, boolean shared) {
            this.many = many;
            this.shared = shared;
            this.memory = new SteppedMemory(CompletionQueue.requiredBytes(capacity, 64, 2));
            CompletionQueue.Builder builder = CompletionQueue.ofCapacity(capacity)
                    .startSequence(-1)
                    .events(events, Events.CQ)
                    .memory(memory);
            if (many) {
                builder.writers(2);
            }
            if (shared) {
                builder.sharedPollers();
            }
            this.queue = builder.create();
            for (int i = 0; i != 2; i++) {
                writers[i] = many ? queue.newWriter() : null;
                pollers[i] = shared ? queue.newPoller(2) : null;
            }
        }

        @Override
        public SteppedMemory memory() {
            return memory;
        }

        final void write(int writer) {
            long header = CqeLayout.header(CqeOpcode.RECV, true, 0, 7, 0);
            assertTrue(
                    many
                            ? writers[writer].write(header, 0, 0, 0, 0)
                            : queue.writer().write(header, 0, 0, 0, 0));
        }

        final int poll(int host) {
            CompletionHandler handler = c -> polled++;
            return shared ? pollers[host].poll(handler, 8) : queue.poll(handler, 8);
        }

        final boolean arm(int host, ArmMode mode, int count) {
            return shared ? pollers[host].arm(mode, count) : queue.arm(mode, count);
        }

        /** The loop of a host: take an event if there is one, poll, arm, and sleep or not. */
        final void host(int host, ArmMode mode, int count) {
            asleep[host] = false;
            poll(host);
            asleep[host] = !arm(host, mode, count);
        }

        final void take() {
            if (queue.takeEvent()) {
                taken++;
            }
        }

        /** Entries that lie before the first one that is not published, from the consumer sequence on. */
        final int ready() {
            QueueMemory slots = memory;
            long next = memory.getLong(Region.CONSUMER);
            int capacity = queue.capacity();
            int first = many ? Region.row(2) : Region.SLOTS;
            int ready = 0;
            while (ready != capacity) {
                long lap = Math.floorDiv(next, capacity);
                long header = slots.getLong(first + Math.floorMod(next, capacity) * 64L);
                if ((header & 1) != (1 - lap & 1)) {
                    break;
                }
                ready++;
                next++;
            }
            return ready;
        }

        /** With all calls over: a host that sleeps has an event to come, or nothing to poll. */
        void requireAwake(int count) {
            assertTrue(
                    events.completions == queue.events(),
                    "answers " + queue.events() + ", events " + events.completions);
            assertTrue(taken <= events.completions, "taken " + taken + " of " + events.completions);
            boolean oneAwake = !asleep[0] || (shared && !asleep[1] && hosts() == 2);
            assertTrue(
                    oneAwake || events.completions > taken || ready() < count,
                    () -> "sleeps beside " + ready() + " entries");
        }

        int hosts() {
            return 1;
        }
    }

    private static Rig rig(
            int capacity,
            boolean many,
            boolean shared,
            Consumer<Rig> before,
            Consumer<Rig> check,
            List<Consumer<Rig>> bodies) {
        return new Rig(capacity, many, shared) {
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
                check.accept(this);
            }
        };
    }

    /** The bit by which ready() knows an entry, held against a queue. */
    @Test
    void theCountOfReadyEntriesIsThatOfAPoll() {
        Rig rig = rig(2, false, false, r -> {}, r -> {}, List.of());
        for (int i = 0; i != 7; i++) {
            assertEquals(0, rig.ready());
            rig.write(0);
            assertEquals(1, rig.ready());
            rig.write(0);
            assertEquals(2, rig.ready());
            assertEquals(2, rig.poll(0));
            if ((i & 1) != 0) {
                rig.write(0);
                assertEquals(1, rig.ready());
                assertEquals(1, rig.poll(0));
            }
        }
    }

    @FieldBug({31, 38})
    @ParameterizedTest
    @EnumSource(ArmMode.class)
    void shouldNotSleepBesideAnEntry(ArmMode mode) {
        for (int count = 1; count <= 2; count++) {
            int wanted = mode == ArmMode.SOLICITED ? 1 : count;
            explore(
                    3,
                    () -> rig(
                            2,
                            false,
                            false,
                            r -> {},
                            r -> r.requireAwake(wanted),
                            List.of(r -> r.host(0, mode, wanted), r -> {
                                r.write(0);
                                if (wanted == 2) {
                                    r.write(0);
                                }
                            })));
        }
    }

    /** The checker checked. */
    @Test
    void theSchedulesFindAHostThatDoesNotLookAgain() {
        assertThrows(
                AssertionError.class,
                () -> explore(
                        1,
                        () -> rig(
                                2,
                                false,
                                false,
                                r -> {},
                                r -> r.requireAwake(1),
                                List.of(
                                        r -> {
                                            r.asleep[0] = r.poll(0) == 0;
                                            r.arm(0, ArmMode.NEXT, 1);
                                        },
                                        r -> r.write(0)))));
    }

    /** Two writers; one has an older claim, which ends in some way while the host arms and the other writes. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void shouldNotSleepBehindAnOlderClaim(int publish) {
        for (ArmMode mode : ArmMode.values()) {
            explore(
                    publish == 0 ? 2 : 1,
                    () -> rig(
                            4,
                            true,
                            false,
                            r -> {
                                assertTrue(r.writers[0].claim(2));
                                for (int i = 0; i != publish; i++) {
                                    r.writers[0].entry(i);
                                }
                                r.writers[0].release();
                            },
                            r -> r.requireAwake(1),
                            List.of(r -> r.host(0, mode, 1), r -> r.writers[0].commit(publish), r -> r.write(1))));
        }
    }

    /** The event of the last arm is taken by another thread while two writers publish and the host arms again after it. */
    @Test
    void shouldAnswerEveryNumberOnce() {
        explore(
                2,
                () -> rig(
                        4,
                        true,
                        false,
                        r -> {
                            r.arm(0, ArmMode.NEXT, 1);
                            r.queue.releasePoller();
                        },
                        r -> {
                            assertEquals(r.events.completions, r.queue.events());
                            assertTrue(r.events.completions <= 2, "events " + r.events.completions);
                            r.requireAwake(1);
                        },
                        List.of(r -> r.write(0), r -> r.write(1), r -> {
                            r.take();
                            r.host(0, ArmMode.NEXT, 1);
                        })));
    }

    /** An event that another thread takes while the host arms: whoever takes it wakes the host afterwards, which arms again. */
    @Test
    void shouldNeverArmANumberThatWasAnswered() {
        explore(
                2,
                () -> rig(
                        4,
                        false,
                        false,
                        r -> {
                            r.arm(0, ArmMode.NEXT, 1);
                            r.write(0);
                            r.poll(0);
                            r.queue.releasePoller();
                            r.queue.writer().release();
                        },
                        r -> {
                            assertEquals(1, r.taken, "one event was outstanding");
                            r.host(0, ArmMode.NEXT, 1);
                            int before = r.events.completions;
                            boolean slept = r.asleep[0];
                            r.write(0);
                            assertTrue(!slept || r.events.completions == before + 1, "answered for ever");
                        },
                        List.of(r -> r.take(), r -> r.take(), r -> {
                            r.arm(0, ArmMode.NEXT, 1);
                            r.queue.releasePoller();
                        })));
    }

    /** Two hosts that share a queue, a writer of two entries. While both sleep, something is on its way or nothing is there. */
    @FieldBug(36)
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void shouldNotLetBothPollersSleepBesideAnEntry(int count) {
        explore(count == 1 ? 2 : 1, () -> new Rig(4, false, true) {
            @Override
            int hosts() {
                return 2;
            }

            @Override
            public List<Runnable> bodies() {
                return List.of(() -> host(0, ArmMode.NEXT, count), () -> host(1, ArmMode.NEXT, count), () -> {
                    write(0);
                    write(0);
                });
            }

            @Override
            public void check() {
                requireAwake(count);
            }
        });
    }

    /** What one asks for, another's arm does not put off, however they meet; and the index does not go back. */
    @Test
    void shouldMergeArmsHoweverTheyMeet() {
        for (boolean solicited : new boolean[] {false, true}) {
            explore(
                    2,
                    () -> rig(
                            4,
                            false,
                            true,
                            r -> r.write(0),
                            r -> {
                                boolean slept = r.asleep[1];
                                int ready = r.ready();
                                r.write(0);
                                assertTrue(!slept || r.events.completions == 1, "one entry was asked for");
                                long armed = r.memory.getLong(Region.ARMED_INDEX);
                                assertEquals(r.memory.getLong(Region.CONSUMER), armed, "ready " + ready);
                            },
                            List.of(
                                    r -> r.host(0, ArmMode.NEXT, 4),
                                    r -> r.host(1, solicited ? ArmMode.SOLICITED : ArmMode.NEXT, 1))));
        }
    }

    /** A close meets an arm and a write: whatever the order, the host knows, and once. */
    @Test
    void shouldNotSleepThroughAClose() {
        explore(
                2,
                () -> rig(
                        2,
                        false,
                        false,
                        r -> {},
                        r -> {
                            assertTrue(r.events.completions <= 1, "events " + r.events.completions);
                            assertTrue(!r.asleep[0] || r.events.completions == 1, "asleep in a closed queue");
                        },
                        List.of(
                                r -> {
                                    try {
                                        r.host(0, ArmMode.NEXT, 1);
                                    } catch (IllegalStateException closed) {
                                        r.asleep[0] = false;
                                    }
                                },
                                r -> {
                                    try {
                                        r.write(0);
                                    } catch (IllegalStateException closed) {
                                        // then there is no entry
                                    }
                                },
                                r -> r.queue.close())));
    }

    /** A taker beside a reset: the number does not go back. */
    @Test
    void shouldNotForgetATakeInAReset() {
        explore(
                3,
                () -> rig(
                        2,
                        false,
                        false,
                        r -> {
                            r.arm(0, ArmMode.NEXT, 1);
                            r.write(0);
                            r.queue.releasePoller();
                            r.queue.writer().release();
                        },
                        r -> {
                            assertEquals(1, r.taken);
                            r.host(0, ArmMode.NEXT, 1);
                            r.write(0);
                            assertEquals(2, r.events.completions);
                        },
                        List.of(
                                r -> {
                                    r.queue.reset();
                                    r.queue.releasePoller();
                                },
                                r -> r.take())));
    }
}
