package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.SteppedMemory;
import java.util.List;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What an arm promises: one event, not before it is due, and never none. */
class ArmTest extends ArmRig {
    /**
     * A batch of {@code k} begins {@code before} entries before the armed index, at it, or {@code after} entries past it, anywhere in
     * the ring: one event.
     */
    @FieldBug({33, 47})
    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldRaiseOneEventWhereverABatchLies(Shape shape) {
        final int n = shape.capacity();
        for (int offset = 0; offset != n; offset++) {
            for (int before = 0; before != n; before++) {
                for (int after = 0; before + after < n; after++) {
                    for (int k = before + 1; k + after <= n; k++) {
                        if (before == 0 || after == 0) {
                            Events events = new Events();
                            CompletionQueue queue = queueAt(shape, offset, events);
                            for (int i = 0; i != after; i++) {
                                write(queue);
                            }
                            stage(queue, k);
                            queue.writer().flush(before);
                            assertEquals(before, poll(queue, before));
                            String where = at(shape, offset, before, after, k);
                            assertEquals(after != 0, queue.arm(ArmMode.NEXT), where);
                            assertEquals(0, events.completions, where);
                            assertEquals(k - before, queue.writer().flush(), where);
                            assertEquals(1, events.completions, where);
                            assertEquals(k - before + after, poll(queue, n), where);
                            write(queue);
                            assertEquals(1, events.completions, where + ": not armed again");
                            assertTrue(queue.takeEvent(), where);
                            assertFalse(queue.takeEvent(), where);
                        }
                    }
                }
            }
        }
    }

    /** An event that waits for {@code count} entries comes with that entry, whether they come one by one or in batches. */
    @FieldBug(47)
    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldRaiseTheEventWhenSoManyAreThere(Shape shape) {
        final int n = shape.capacity();
        for (int offset = 0; offset != n; offset++) {
            for (int count = 1; count <= n; count++) {
                for (int there = 0; there <= n; there++) {
                    for (int k = 1; k <= n; k++) {
                        Events events = new Events();
                        CompletionQueue queue = queueAt(shape, offset, events);
                        stage(queue, there);
                        queue.writer().flush();
                        String where = at(shape, offset, count, there, k);
                        assertEquals(there >= count, queue.isPollable(count), where);
                        assertEquals(there >= count, queue.arm(ArmMode.NEXT, count), where);
                        int published = there;
                        while (published + k <= n) {
                            stage(queue, k);
                            queue.writer().flush();
                            published += k;
                            assertEquals(published >= count ? 1 : 0, events.completions, where + published);
                        }
                        assertEquals(events.completions, queue.events(), where);
                        assertEquals(events.completions == 1, queue.takeEvent(), where);
                    }
                }
            }
        }
    }

    @FieldBug(33)
    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldGiveOneEventForArmsWithoutTraffic(Shape shape) {
        Events events = new Events();
        CompletionQueue queue = queueAt(shape, 0, events);
        for (int round = 1; round <= 2 * shape.capacity() + 1; round++) {
            for (int i = 0; i != 3; i++) {
                assertFalse(queue.arm(ArmMode.NEXT));
            }
            assertEquals(round - 1, events.completions);
            write(queue);
            assertEquals(round, events.completions);
            assertTrue(queue.arm(ArmMode.NEXT), "armed again before the event is taken: something is there");
            assertEquals(1, poll(queue, 1));
            write(queue);
            assertEquals(round, events.completions, "one event for one number");
            assertTrue(queue.takeEvent());
            assertEquals(1, poll(queue, 1));
        }
    }

    /** The armed index comes round to the slot that it was at. */
    @FieldBug(33)
    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldRaiseTheEventWhenTheIndexIsAtTheSameSlotAgain(Shape shape) {
        Events events = new Events();
        CompletionQueue queue = queueAt(shape, 0, events);
        assertFalse(queue.arm(ArmMode.NEXT));
        for (int lap = 1; lap <= 4; lap++) {
            for (int i = 0; i != shape.capacity(); i++) {
                assertTrue(write(queue));
                assertEquals(1, poll(queue, 1));
            }
            assertEquals(lap, events.completions);
            assertTrue(queue.takeEvent());
            assertFalse(queue.arm(ArmMode.NEXT));
            assertEquals(lap, events.completions);
        }
    }

    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldRaiseTheSolicitedEventForSolicitedAndFailed(Shape shape) {
        for (long header : new long[] {
            solicited(),
            CqeLayout.header(CqeOpcode.REQ_ERR, false, 0, 7, 2),
            CqeLayout.header(CqeOpcode.RESP_ERR, false, 0, 7, 2),
            CqeLayout.header(CqeOpcode.RESP_ERR, true, 0, 7, 2)
        }) {
            for (int way = 0; way != 3; way++) {
                Events events = new Events();
                CompletionQueue queue = queueAt(shape, 0, events);
                put(queue, way, header);
                poll(queue, 1);
                assertFalse(queue.arm(ArmMode.SOLICITED, shape.capacity()), "what was solicited has been polled");
                put(queue, way, plain());
                assertEquals(0, events.completions, "not solicited");
                assertEquals(1, poll(queue, 1));
                put(queue, way, header);
                assertEquals(1, events.completions, "a solicited completion waits for no others");
                poll(queue, 1);
                put(queue, way, header);
                assertEquals(1, events.completions);
                assertTrue(queue.takeEvent());
            }
        }
    }

    private static void put(CompletionQueue queue, int way, long header) {
        CompletionWriter writer = queue.writer();
        switch (way) {
            case 0 -> assertTrue(writer.write(header, 0, 0, 0, 0));
            case 1 -> {
                assertTrue(writer.stage(header, 0, 0, 0, 0));
                assertEquals(1, writer.flush(1));
            }
            default -> {
                writer.claim().header(header);
                assertEquals(1, writer.flush());
            }
        }
    }

    /** A solicited entry in the middle of a batch, or before entries that are not, is not overlooked. */
    @Test
    void shouldSeeASolicitedEntryAnywhereInABatch() {
        for (int k = 1; k <= 8; k++) {
            for (int at = 0; at != k; at++) {
                Events events = new Events();
                CompletionQueue queue = queueAt(new Shape(64, 8, 5), 3, events);
                assertFalse(queue.arm(ArmMode.SOLICITED));
                for (int i = 0; i != k; i++) {
                    queue.writer().stage(i == at ? solicited() : plain(), 0, 0, 0, 0);
                }
                queue.writer().flush();
                assertEquals(1, events.completions);
            }
        }
    }

    @Test
    void shouldCountTheLastArmOfAPollerThatIsAlone() {
        Events events = new Events();
        CompletionQueue queue = queueAt(new Shape(64, 8, 0), 0, events);
        queue.arm(ArmMode.NEXT);
        queue.arm(ArmMode.SOLICITED);
        write(queue);
        assertEquals(0, events.completions, "solicited now");
        assertTrue(queue.arm(ArmMode.SOLICITED), "something is there, if nothing that is solicited");
        assertFalse(queue.arm(ArmMode.NEXT, 3));
        write(queue);
        assertEquals(0, events.completions);
        write(queue);
        assertEquals(1, events.completions);
    }

    // ---- Between the last poll and the sleep

    /**
     * What comes between a poll that finds nothing and the arm is reported by the arm, what comes at any later access raises the event.
     */
    @FieldBug({31, 38})
    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldMissNothingBetweenPollAndSleep(Shape shape) {
        for (ArmMode mode : ArmMode.values()) {
            for (int access = 0, outside = 0; outside == 0; access++) {
                Events events = new Events();
                SteppedMemory memory = new SteppedMemory(shape.bytes());
                CompletionQueue queue =
                        shape.builder().events(events, Events.CQ).memory(memory).create();
                assertEquals(0, poll(queue, 1));
                boolean[] written = {false};
                memory.runBefore(access, () -> {
                    queue.writer().write(solicited(), 0, 0, 0, 0);
                    written[0] = true;
                });
                boolean ready = queue.arm(mode);
                memory.unhook();
                if (!written[0]) {
                    outside = access;
                    queue.writer().write(solicited(), 0, 0, 0, 0);
                    assertTrue(access > 5, "accesses of an arm: " + access);
                    assertFalse(ready);
                }
                assertTrue(ready || events.completions == 1, at(shape, mode, access));
                assertTrue(events.completions <= 1, at(shape, mode, access));
            }
        }
    }

    /** Two queues, both armed after both were empty: whichever gets the entry, and whenever, says so. */
    @FieldBug(31)
    @Test
    void shouldMissNothingInEitherOfTwoQueues() {
        for (int into = 0; into != 2; into++) {
            for (int access = 0, outside = 0; outside == 0; access++) {
                int total = access;
                int[] left = {total};
                Events[] events = {new Events(), new Events()};
                SteppedMemory[] memories = {new SteppedMemory(4096), new SteppedMemory(4096)};
                CompletionQueue[] queues = new CompletionQueue[2];
                for (int i = 0; i != 2; i++) {
                    queues[i] = CompletionQueue.ofCapacity(2)
                            .events(events[i], Events.CQ)
                            .memory(memories[i])
                            .create();
                }
                int target = into;
                boolean[] written = {false};
                SteppedMemory.Hook hook = (done, offset, stores) -> {
                    if (!done && left[0]-- == 0) {
                        memories[0].unhook();
                        memories[1].unhook();
                        write(queues[target]);
                        written[0] = true;
                    }
                };
                memories[0].hook(hook);
                memories[1].hook(hook);
                boolean[] ready = new boolean[2];
                int polled = poll(queues[0], 1) + poll(queues[1], 1);
                for (int i = 0; i != 2; i++) {
                    ready[i] = queues[i].arm(ArmMode.NEXT);
                }
                memories[0].unhook();
                memories[1].unhook();
                if (!written[0]) {
                    outside = access;
                    write(queues[into]);
                }
                assertTrue(polled == 1 || ready[into] || events[into].completions == 1, at(into, access));
                assertFalse(ready[1 - into]);
                assertEquals(0, events[1 - into].completions);
            }
        }
    }

    /** A poller arms, another takes what is there at any access: the first is told, or there is nothing left to sleep on. */
    @FieldBug(36)
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void shouldTellAPollerThatAnotherWasFaster(int there) {
        for (int taken = 1; taken <= there; taken++) {
            for (int access = 0, outside = 0; outside == 0; access++) {
                Events events = new Events();
                SteppedMemory memory = new SteppedMemory(4096);
                CompletionQueue queue = CompletionQueue.ofCapacity(4)
                        .startSequence(-2)
                        .events(events, Events.CQ)
                        .sharedPollers()
                        .memory(memory)
                        .create();
                CompletionPoller first = queue.newPoller(1);
                CompletionPoller second = queue.newPoller(4);
                stage(queue, there);
                queue.writer().flush();
                int limit = taken;
                boolean[] done = {false};
                memory.runBefore(access, () -> {
                    assertEquals(limit, second.poll(c -> {}, limit));
                    done[0] = true;
                });
                boolean ready = first.arm(ArmMode.NEXT);
                memory.unhook();
                if (!done[0]) {
                    outside = access;
                } else {
                    assertTrue(ready || taken == there, at(there, taken, access));
                }
                if (!ready) {
                    write(queue);
                    assertEquals(1, events.completions, at(there, taken, access));
                }
                // and the other poller's slot, behind the arm of the first, does not hold the event back
                assertFalse(events.completions > 1);
            }
        }
    }

    @FieldBug(36)
    @Test
    void shouldNotLetAPollerSleepOnWhatItHasClaimed() {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(4)
                .events(events, Events.CQ)
                .sharedPollers()
                .create();
        CompletionPoller poller = queue.newPoller(4);
        stage(queue, 3);
        queue.writer().flush();
        assertThrows(
                IllegalStateException.class,
                () -> poller.poll(
                        c -> {
                            throw new IllegalStateException("handler");
                        },
                        4));
        assertEquals(2, poller.undelivered());
        assertTrue(poller.arm(ArmMode.NEXT));
        assertEquals(2, poller.poll(c -> {}, 4));
        assertFalse(poller.arm(ArmMode.NEXT));
    }

    /** Two pollers that ask for different things: the event comes no later than either wants it. */
    @Test
    void shouldMergeArmsIntoTheEarlier() {
        BiConsumer<CompletionPoller, CompletionPoller> solicitedLast = (one, other) -> {
            assertFalse(one.arm(ArmMode.NEXT, 4));
            assertFalse(other.arm(ArmMode.SOLICITED, 4));
        };
        BiConsumer<CompletionPoller, CompletionPoller> solicitedFirst = (one, other) -> {
            assertFalse(other.arm(ArmMode.SOLICITED));
            assertFalse(one.arm(ArmMode.NEXT, 4));
        };
        BiConsumer<CompletionPoller, CompletionPoller> counts = (one, other) -> {
            assertFalse(one.arm(ArmMode.NEXT, 4));
            assertFalse(other.arm(ArmMode.NEXT, 1));
            assertFalse(one.arm(ArmMode.NEXT, 4));
        };
        for (BiConsumer<CompletionPoller, CompletionPoller> arms : List.of(solicitedLast, solicitedFirst, counts)) {
            Events events = new Events();
            CompletionQueue queue = CompletionQueue.ofCapacity(4)
                    .startSequence(-1)
                    .events(events, Events.CQ)
                    .sharedPollers()
                    .create();
            arms.accept(queue.newPoller(), queue.newPoller());
            queue.writer().write(solicited(), 0, 0, 0, 0);
            assertEquals(1, events.completions);
            queue.takeEvent();
            assertFalse(queue.newPoller().arm(ArmMode.NEXT, 2), "one is there");
            write(queue);
            assertEquals(2, events.completions, "what was merged is over with the event");
        }
    }

    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldRaiseEventsForSharedPollersAtEverySequence(Shape shape) {
        Events events = new Events();
        CompletionQueue queue =
                shape.builder().events(events, Events.CQ).sharedPollers().create();
        CompletionPoller[] pollers = {queue.newPoller(1), queue.newPoller(8)};
        for (int round = 1; round <= 2 * shape.capacity() + 1; round++) {
            for (int count = 1; count <= shape.capacity(); count++) {
                int before = events.completions;
                assertFalse(pollers[0].arm(ArmMode.NEXT, count));
                assertFalse(pollers[1].arm(ArmMode.NEXT, count));
                for (int i = 1; i <= count; i++) {
                    write(queue);
                    assertEquals(before + (i == count ? 1 : 0), events.completions);
                }
                assertTrue(pollers[round & 1].arm(ArmMode.NEXT, count));
                assertTrue(queue.takeEvent());
                assertEquals(count, pollers[round & 1].poll(c -> {}, 8));
            }
        }
    }

    // ---- Before the device has begun

    @FieldBug(49)
    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldHonourAnArmFromBeforeTheDeviceBegan(Shape shape) {
        for (ArmMode mode : ArmMode.values()) {
            Events events = new Events();
            CompletionQueue queue = shape.builder().events(events, Events.CQ).create();
            assertFalse(queue.arm(mode));
            queue.writer().write(solicited(), 0, 0, 0, 0);
            assertEquals(1, events.completions);

            Events ofMany = new Events();
            CompletionQueue many =
                    shape.builder().events(ofMany, Events.CQ).writers(2).create();
            assertFalse(many.arm(mode));
            many.newWriter().write(solicited(), 0, 0, 0, 0);
            assertEquals(1, ofMany.completions);

            CompletionQueue device = shape.builder().deviceEvents(1).create();
            assertFalse(device.arm(mode));
            device.writer().write(solicited(), 0, 0, 0, 0);
            assertEquals(1, device.writer().pastArm());
            assertTrue(device.writer().answerArm());
        }
    }

    @FieldBug(49)
    @Test
    void shouldHonourAnArmOnRecycledMemory() {
        QueueMemory memory = QueueMemory.allocate(CompletionQueue.requiredBytes(4, 64));
        for (long start : new long[] {0, 1000, -1000}) {
            memory.fill(0, memory.sizeBytes(), (byte) 0x5A);
            Events events = new Events();
            CompletionQueue queue = CompletionQueue.ofCapacity(4)
                    .startSequence(start)
                    .events(events, Events.CQ)
                    .memory(memory)
                    .create();
            assertFalse(queue.takeEvent());
            assertEquals(0, queue.events());
            write(queue);
            assertEquals(0, events.completions);
            poll(queue, 1);
            assertFalse(queue.arm(ArmMode.NEXT));
            write(queue);
            assertEquals(1, events.completions);
        }
    }

    /**
     * At any access of an arm of one poller another one takes an entry that has just come, and arms behind it. The later index stays: no
     * event is due for an entry that is gone.
     */
    @Test
    void shouldNotGoBackBehindTheArmOfAnotherPoller() {
        for (int access = 0, outside = 0; outside == 0; access++) {
            SteppedMemory memory = new SteppedMemory(4096);
            CompletionQueue queue = CompletionQueue.ofCapacity(4)
                    .startSequence(-2)
                    .deviceEvents(Events.CQ)
                    .sharedPollers()
                    .memory(memory)
                    .create();
            CompletionPoller held = queue.newPoller(1);
            CompletionPoller quick = queue.newPoller(1);
            boolean[] overtaken = {false};
            memory.runBefore(access, () -> {
                write(queue);
                assertEquals(1, quick.poll(c -> {}, 1));
                assertFalse(quick.arm(ArmMode.NEXT));
                overtaken[0] = true;
            });
            held.arm(ArmMode.NEXT);
            memory.unhook();
            if (overtaken[0]) {
                assertEquals(0, queue.writer().pastArm(), "overtaken at access " + access);
            } else {
                outside++;
            }
            write(queue);
            assertEquals(1, queue.writer().pastArm(), "both wait for this one: " + access);
        }
    }

    @Test
    void shouldLookWithoutArming() {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(4)
                .overrunPolicy(OverrunPolicy.ERROR)
                .events(events, Events.CQ)
                .create();
        assertFalse(queue.isPollable(1));
        for (int i = 0; i != 4; i++) {
            write(queue);
            assertTrue(queue.isPollable(i + 1));
            assertEquals(i == 3, queue.isPollable(4));
        }
        assertEquals(0, events.completions, "nothing was armed");
        assertFalse(write(queue), "overrun");
        assertEquals(4, poll(queue, 4));
        assertTrue(queue.isPollable(4), "dead: a poll says so");
        assertThrows(CqOverrunException.class, () -> poll(queue, 4));
        for (int wrong : new int[] {0, -1, 5}) {
            assertEquals(
                    "completions to look for must be 1 to 4: " + wrong,
                    assertThrows(IllegalArgumentException.class, () -> queue.isPollable(wrong))
                            .getMessage());
        }
        queue.close();
        assertThrows(IllegalStateException.class, () -> queue.isPollable(1));
    }
}
