package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.SteppedMemory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What an arm promises: one event, not before it is due, and never none. */
class ArmTest {
    /** Every width at which a counter kept too narrow goes wrong, and sequences that are negative as a long. */
    static Stream<Shape> shapes() {
        List<Shape> shapes = new ArrayList<>();
        for (int stride : Shape.STRIDES) {
            for (int capacity : new int[] {1, 2, 4, 8}) {
                LongStream.concat(
                                Shape.starts(capacity),
                                LongStream.of((1L << 32) - 1, Long.MIN_VALUE, Long.MIN_VALUE + 1, -1, -3))
                        .forEach(start -> shapes.add(new Shape(stride, capacity, start)));
            }
        }
        return shapes.stream();
    }

    private static long plain() {
        return CqeLayout.header(CqeOpcode.RECV, false, 1, 7, 0);
    }

    private static long solicited() {
        return CqeLayout.header(CqeOpcode.RECV, true, 1, 7, 0);
    }

    private static boolean write(CompletionQueue queue) {
        return queue.writer().write(plain(), 0, 0, 0, 0);
    }

    private static int poll(CompletionQueue queue, int limit) {
        return limit == 0 ? 0 : queue.poll(c -> {}, limit);
    }

    private static void stage(CompletionQueue queue, int count) {
        for (int i = 0; i != count; i++) {
            assertTrue(queue.writer().stage(plain(), 0, 0, 0, 0));
        }
    }

    /** A queue with events, at some slot of its ring. */
    private static CompletionQueue queueAt(Shape shape, int offset, Events events) {
        CompletionQueue queue = shape.builder().events(events, Events.CQ).create();
        for (int i = 0; i != offset; i++) {
            assertTrue(write(queue));
            assertEquals(1, poll(queue, 1));
        }
        assertEquals(0, events.completions, "nothing was armed");
        return queue;
    }

    private static String at(Object... what) {
        return List.of(what).toString();
    }

    /**
     * A batch of {@code k} begins {@code before} entries before the armed index, at it, or {@code after} entries past it, anywhere in
     * the ring: one event.
     */
    @FieldBug({33, 47})
    @ParameterizedTest
    @MethodSource("shapes")
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
    @MethodSource("shapes")
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
    @MethodSource("shapes")
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
    @MethodSource("shapes")
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
    @MethodSource("shapes")
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
    @MethodSource("shapes")
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
    @MethodSource("shapes")
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
    @MethodSource("shapes")
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

    // ---- Many writers

    /** What becomes of the older claim, behind which another writer's entry waits. */
    private enum End {
        COMMIT {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                writer.entry(0);
                writer.entry(1);
                writer.commit(2);
            }
        },
        COMMIT_PART {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                writer.entry(0);
                writer.commit(1);
            }
        },
        ABANDON {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                writer.abandon();
            }
        },
        CLOSE {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                writer.close();
            }
        },
        RECOVER {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                assertEquals(2, queue.recover());
            }
        },
        CLOSE_OF_ENDED {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                writer.close();
            }
        };

        abstract void of(CompletionQueue queue, SharedWriter writer);

        boolean threadEnded() {
            return this == RECOVER || this == CLOSE_OF_ENDED;
        }
    }

    /**
     * The host is armed behind an open claim, after which another writer has published. Events that come early cost it a look;
     * the one that it needs comes when the claim ends, in whatever way.
     */
    @ParameterizedTest
    @EnumSource(End.class)
    void shouldRaiseTheEventWhenAnOlderClaimEnds(End end) throws InterruptedException {
        for (ArmMode mode : ArmMode.values()) {
            for (long start : new long[] {0, 3, Long.MAX_VALUE, -2}) {
                for (boolean shared : new boolean[] {false, true}) {
                    Events events = new Events();
                    CompletionQueue.Builder builder = CompletionQueue.ofCapacity(4)
                            .startSequence(start)
                            .events(events, Events.CQ)
                            .writers(2);
                    CompletionQueue queue = (shared ? builder.sharedPollers() : builder).create();
                    CompletionPoller poller = shared ? queue.newPoller(1) : null;
                    SharedWriter holder = queue.newWriter();
                    if (end.threadEnded()) {
                        Thread thread = new Thread(() -> holder.claim(2));
                        thread.start();
                        thread.join();
                    } else {
                        assertTrue(holder.claim(2));
                    }
                    SharedWriter other = queue.newWriter();
                    assertTrue(other.write(solicited(), 77, 0, 0, 0));
                    int early = events.completions;
                    assertEquals(0, early, "nobody has armed");
                    assertFalse(arm(queue, poller, mode), "the claim is open");
                    assertTrue(other.write(plain(), 78, 0, 0, 0));
                    if (queue.takeEvent()) { // early
                        assertFalse(arm(queue, poller, mode));
                    }
                    assertEquals(0, take(queue, poller, new ArrayList<>()));
                    int before = events.completions;
                    end.of(queue, holder);
                    assertEquals(before + 1, events.completions, at(end, mode, start, shared));
                    List<Long> seen = new ArrayList<>();
                    take(queue, poller, seen);
                    assertTrue(seen.containsAll(List.of(77L, 78L)), at(end, mode, seen));
                }
            }
        }
    }

    private static boolean arm(CompletionQueue queue, CompletionPoller poller, ArmMode mode) {
        return poller == null ? queue.arm(mode) : poller.arm(mode);
    }

    private static int take(CompletionQueue queue, CompletionPoller poller, List<Long> into) {
        CompletionHandler handler = c -> into.add(c.workRequestId());
        return poller == null ? queue.poll(handler, 8) : poller.poll(handler, 8);
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void shouldRaiseOneEventForABatchOfOneOfManyWriters(Shape shape) {
        for (int k = 1; k <= shape.capacity(); k++) {
            for (int count = 1; count <= k; count++) {
                Events events = new Events();
                CompletionQueue queue =
                        shape.builder().events(events, Events.CQ).writers(2).create();
                SharedWriter writer = queue.newWriter();
                SharedWriter other = queue.newWriter();
                for (int round = 1; round <= 3; round++) {
                    assertFalse(queue.arm(ArmMode.NEXT, count));
                    assertTrue(writer.claim(k));
                    for (int i = 0; i != k; i++) {
                        writer.entry(i).header(i == 0 ? solicited() : plain());
                    }
                    assertEquals(2 * (round - 1), events.completions, "claimed, not published");
                    writer.commit(k);
                    assertEquals(2 * round - 1, events.completions);
                    assertEquals(k, poll(queue, k));
                    assertTrue(queue.takeEvent());
                    assertFalse(queue.arm(ArmMode.SOLICITED));
                    other.write(plain(), 0, 0, 0, 0);
                    assertEquals(2 * round - 1, events.completions);
                    assertEquals(1, poll(queue, 1));
                    other.write(solicited(), 0, 0, 0, 0);
                    assertEquals(2 * round, events.completions);
                    assertEquals(1, poll(queue, 1));
                    assertTrue(queue.takeEvent());
                }
            }
        }
    }

    @Test
    void shouldRaiseNothingForAClaimThatLeavesNoTrace() {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(4)
                .events(events, Events.CQ)
                .writers(2)
                .create();
        SharedWriter writer = queue.newWriter();
        assertFalse(queue.arm(ArmMode.NEXT));
        writer.claim(3);
        writer.abandon();
        assertEquals(0, events.completions);
        writer.write(plain(), 0, 0, 0, 0);
        assertEquals(1, events.completions);
    }

    /** A writer ends at any access of its call. Whatever it had published or claimed by then, after recovery the host knows. */
    @ParameterizedTest
    @EnumSource(ArmMode.class)
    void shouldTellTheHostOfWhatAWriterLeftThatEndedAnywhere(ArmMode mode) throws InterruptedException {
        int ends = 0;
        for (boolean batch : new boolean[] {false, true}) {
            for (boolean after : new boolean[] {false, true}) {
                boolean[] ended = {true};
                for (int access = 0; ended[0]; access++) {
                    Events events = new Events();
                    SteppedMemory memory = new SteppedMemory(CompletionQueue.requiredBytes(4, 64, 2));
                    CompletionQueue queue = CompletionQueue.ofCapacity(4)
                            .startSequence(3)
                            .events(events, Events.CQ)
                            .writers(2)
                            .memory(memory)
                            .create();
                    SharedWriter writer = queue.newWriter();
                    assertFalse(queue.arm(mode));
                    int last = access;
                    Thread thread = new Thread(() -> {
                        try {
                            memory.endAt(last, after);
                            if (batch) {
                                writer.claim(2);
                                writer.entry(0).header(solicited());
                                writer.entry(1).header(plain());
                                writer.commit(2);
                            } else {
                                writer.write(solicited(), 0, 0, 0, 0);
                            }
                            ended[0] = false;
                        } catch (SteppedMemory.Ended e) {
                            // here
                        }
                    });
                    thread.start();
                    thread.join();
                    memory.unhook();
                    queue.recover();
                    ends++;
                    boolean told = events.completions != 0;
                    // FIRED may have been set by the one that ended, which then told nobody: a sink is not memory
                    boolean answered = queue.takeEvent();
                    int there = poll(queue, 4);
                    assertTrue(told || answered || there == 0, at(batch, after, access));
                    assertTrue(events.completions <= 1, at(batch, after, access));
                    assertFalse(queue.arm(mode), at(batch, after, access));
                    queue.newWriter().write(solicited(), 0, 0, 0, 0);
                    assertTrue(queue.takeEvent(), at(batch, after, access));
                }
            }
        }
        assertTrue(ends > 50, "ends: " + ends);
    }

    // ---- Overrun, close, reset

    @Test
    void shouldReportARunOfLossesOnce() {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .overrunPolicy(OverrunPolicy.DROP_NEW)
                .events(events, Events.CQ)
                .create();
        CompletionWriter writer = queue.writer();
        for (int round = 1; round <= 3; round++) {
            stage(queue, 2);
            for (int i = 0; i != 5; i++) {
                assertFalse(writer.stage(plain(), 0, 0, 0, 0));
            }
            assertEquals(2 * round - 1, events.overruns.size());
            writer.abort();
            write(queue);
            write(queue);
            assertFalse(write(queue));
            assertFalse(write(queue));
            assertEquals(2 * round, events.overruns.size(), "an entry had found a slot");
            poll(queue, 2);
        }
        assertFalse(events.overruns.contains(true));
        assertEquals(0, events.completions);
        assertEquals(3 * 7, queue.lostEntries());
    }

    @Test
    void shouldReportARunOfLossesOfEachOfManyWritersOnce() {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .overrunPolicy(OverrunPolicy.DROP_NEW)
                .events(events, Events.CQ)
                .writers(2)
                .create();
        SharedWriter writer = queue.newWriter();
        SharedWriter other = queue.newWriter();
        for (int round = 1; round <= 3; round++) {
            assertTrue(other.claim(2));
            assertFalse(writer.write(plain(), 0, 0, 0, 0));
            assertFalse(writer.claim(1));
            assertEquals(2 * round - 1, events.overruns.size());
            other.abandon(); // no credit is needed for these slots
            assertTrue(writer.claim(2));
            assertFalse(other.write(plain(), 0, 0, 0, 0));
            assertEquals(2 * round, events.overruns.size(), "of the other writer");
            writer.abandon();
        }
        assertFalse(events.overruns.contains(true));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldWakeAnArmedHostWhenTheQueueDies(boolean many) {
        Events events = new Events();
        CompletionQueue.Builder builder =
                CompletionQueue.ofCapacity(2).overrunPolicy(OverrunPolicy.ERROR).events(events, Events.CQ);
        CompletionQueue queue = (many ? builder.writers(2) : builder).create();
        SharedWriter one = many ? queue.newWriter() : null;
        SharedWriter two = many ? queue.newWriter() : null;
        assertFalse(queue.arm(ArmMode.SOLICITED));
        for (int i = 0; i != 4; i++) {
            boolean written = many ? one.write(plain(), 0, 0, 0, 0) : write(queue);
            assertEquals(i < 2, written);
            assertEquals(i < 2 ? 0 : 1, events.completions, "nothing solicited, but dead");
        }
        assertEquals(List.of(true), events.overruns);
        assertTrue(queue.takeEvent());
        assertEquals(2, poll(queue, 8));
        assertTrue(queue.arm(ArmMode.NEXT), "dead: look");
        assertThrows(CqOverrunException.class, () -> poll(queue, 1));
        if (many) {
            assertFalse(two.write(plain(), 0, 0, 0, 0));
            assertEquals(List.of(true, true), events.overruns, "each writer tells of its own");
        } else {
            queue.writer().abort();
            assertFalse(write(queue));
            assertEquals(List.of(true), events.overruns);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldWakeAnArmedHostOnClose(boolean many) {
        for (ArmMode mode : ArmMode.values()) {
            Events events = new Events();
            CompletionQueue.Builder builder = CompletionQueue.ofCapacity(2).events(events, Events.CQ);
            CompletionQueue queue = (many ? builder.writers(2) : builder).create();
            assertFalse(queue.arm(mode));
            queue.close();
            queue.close();
            assertEquals(1, events.completions);
            assertTrue(queue.takeEvent());
            assertThrows(IllegalStateException.class, () -> queue.arm(mode));
            assertEquals(1, events.completions);
        }
    }

    @Test
    void shouldBeSilentOnCloseIfNothingIsArmed() {
        Events events = new Events();
        CompletionQueue queue = queueAt(new Shape(64, 2, 0), 1, events);
        queue.arm(ArmMode.NEXT);
        write(queue);
        queue.close();
        assertEquals(1, events.completions, "that of the entry");
        Events none = new Events();
        CompletionQueue.ofCapacity(2).events(none, 1).create().close();
        assertEquals(0, none.completions);
    }

    /** A close at any access of an arm: the call says so, or the event comes. */
    @Test
    void shouldTellOfACloseBetweenPollAndSleep() {
        for (int access = 0, outside = 0; outside == 0; access++) {
            Events events = new Events();
            SteppedMemory memory = new SteppedMemory(4096);
            CompletionQueue queue = CompletionQueue.ofCapacity(2)
                    .events(events, Events.CQ)
                    .memory(memory)
                    .create();
            boolean[] closed = {false};
            memory.runBefore(access, () -> {
                queue.close();
                closed[0] = true;
            });
            boolean told;
            try {
                told = queue.arm(ArmMode.NEXT);
            } catch (IllegalStateException e) {
                told = true;
            }
            memory.unhook();
            if (closed[0]) {
                assertTrue(told || events.completions == 1, "access " + access);
            } else {
                outside = access;
            }
        }
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void shouldStartAgainAfterReset(Shape shape) {
        Events events = new Events();
        CompletionQueue queue = queueAt(shape, 1, events);
        assertFalse(queue.arm(ArmMode.NEXT));
        queue.reset();
        write(queue);
        assertEquals(0, events.completions, "the arm went with the reset");
        poll(queue, 1);
        assertFalse(queue.arm(ArmMode.NEXT));
        write(queue);
        assertEquals(1, events.completions);
        queue.reset();
        assertTrue(queue.takeEvent(), "an event that is on its way arrives");
        for (ArmMode mode : ArmMode.values()) {
            int before = events.completions;
            assertFalse(queue.arm(mode));
            queue.writer().write(solicited(), 0, 0, 0, 0);
            assertEquals(before + 1, events.completions);
            assertTrue(queue.takeEvent());
            queue.reset();
            assertFalse(queue.arm(ArmMode.SOLICITED));
            write(queue);
            assertEquals(before + 1, events.completions, "solicited before the reset");
            queue.reset();
        }
    }

    /** Another thread takes the event at any access of a reset: the number does not go back. */
    @Test
    void shouldNotForgetThatAnEventWasTakenDuringAReset() {
        int taken = 0;
        for (int access = 0; taken == access; access++) {
            Events events = new Events();
            SteppedMemory memory = new SteppedMemory(4096);
            CompletionQueue queue = CompletionQueue.ofCapacity(2)
                    .events(events, Events.CQ)
                    .memory(memory)
                    .create();
            queue.arm(ArmMode.NEXT);
            write(queue);
            boolean[] done = {false};
            memory.runBefore(access, () -> {
                assertTrue(queue.takeEvent());
                done[0] = true;
            });
            queue.reset();
            memory.unhook();
            taken += done[0] ? 1 : 0;
            assertEquals(!done[0], queue.takeEvent());
            assertFalse(queue.arm(ArmMode.NEXT));
            write(queue);
            assertEquals(2, events.completions, "access " + access);
        }
        assertTrue(taken > 5, "accesses of a reset: " + taken);
    }

    // ---- Resize, purge, merging

    /** Armed before, on both sides of, and after the marker; the new ring smaller, larger or equal. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 8, 16})
    void shouldRaiseTheEventAcrossAResize(int newCapacity) {
        for (long start : new long[] {0, 7, Long.MAX_VALUE - 1}) {
            for (int count = 1; count <= 8; count++) {
                for (int old = 0; old <= Math.min(newCapacity, 7); old++) {
                    for (boolean armFirst : new boolean[] {false, true}) {
                        Events events = new Events();
                        CompletionQueue queue = queueAt(new Shape(64, 8, start), 3, events);
                        stage(queue, old);
                        queue.writer().flush();
                        boolean ready = armFirst && queue.arm(ArmMode.NEXT, count);
                        queue.resize(newCapacity);
                        if (!armFirst) {
                            ready = queue.arm(ArmMode.NEXT, count);
                        }
                        String where = at(newCapacity, start, count, old, armFirst);
                        assertEquals(old >= count, ready, where);
                        int there = old;
                        while (there != newCapacity) { // full
                            assertTrue(write(queue), where);
                            there++;
                            if (there < Math.min(count, newCapacity)) {
                                assertEquals(0, events.completions, where + there);
                            }
                        }
                        if (there > old) { // else nothing came that could have raised it, and the host was told
                            assertEquals(1, events.completions, where);
                        } else {
                            assertTrue(ready || old == newCapacity, where);
                        }
                        int polled = 0;
                        for (int i = 0; i != 3; i++) {
                            polled += poll(queue, 16);
                        }
                        assertEquals(there, polled, where);
                        queue.takeEvent();
                        int before = events.completions;
                        assertFalse(queue.arm(ArmMode.NEXT), where);
                        assertTrue(write(queue), where);
                        assertEquals(before + 1, events.completions, where);
                    }
                }
            }
        }
    }

    /** A marker with nothing behind it is something to poll, once. */
    @Test
    void shouldNotSpinOnAMarker() {
        Events events = new Events();
        CompletionQueue queue = queueAt(new Shape(64, 8, 0), 3, events);
        queue.resize(16);
        queue.writer().flush();
        assertTrue(queue.arm(ArmMode.NEXT, 4));
        assertEquals(0, poll(queue, 8));
        assertEquals(ResizeStatus.DONE, queue.resizeStatus());
        assertFalse(queue.arm(ArmMode.NEXT, 16));
        for (int i = 0; i != 16; i++) {
            assertEquals(0, events.completions);
            write(queue);
        }
        assertEquals(1, events.completions);
    }

    @Test
    void shouldLookBehindPurgedEntries() {
        Events events = new Events();
        CompletionQueue queue = queueAt(new Shape(64, 8, 0), 5, events);
        write(queue);
        write(queue);
        assertTrue(queue.arm(ArmMode.NEXT));
        assertEquals(2, queue.purge(7));
        assertFalse(queue.arm(ArmMode.NEXT));
        queue.writer().write(CqeLayout.header(CqeOpcode.RECV, false, 1, 8, 0), 0, 0, 0, 0);
        assertEquals(1, events.completions);
        queue.takeEvent();
        write(queue);
        assertEquals(1, queue.purge(7), "one that stays in its slot, behind another's");
        assertTrue(queue.arm(ArmMode.NEXT, 2));
        assertEquals(1, poll(queue, 8));
        assertFalse(queue.arm(ArmMode.NEXT), "passed over with the poll");
        write(queue);
        assertEquals(2, events.completions);
    }

    @ParameterizedTest
    @ValueSource(ints = {32, 64, 128})
    void shouldRaiseOneEventForAMergedEntryAndLookIntoIt(int stride) {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(4)
                .strideBytes(stride)
                .merging()
                .events(events, Events.CQ)
                .create();
        assertFalse(queue.arm(ArmMode.NEXT));
        stage(queue, 3);
        assertEquals(1, queue.writer().flush(), "one slot");
        assertEquals(1, events.completions);
        assertTrue(queue.takeEvent());
        for (int i = 0; i != 3; i++) {
            assertTrue(queue.arm(ArmMode.NEXT), "some of the slot are left");
            assertFalse(queue.arm(ArmMode.NEXT, 2), "slots count");
            assertEquals(1, poll(queue, 1));
        }
        assertFalse(queue.arm(ArmMode.NEXT, 2));
        stage(queue, 2);
        queue.writer().flush();
        assertEquals(1, events.completions);
        stage(queue, 2);
        queue.writer().flush();
        assertEquals(2, events.completions);
        queue.takeEvent();
        poll(queue, 4);
        assertFalse(queue.arm(ArmMode.SOLICITED));
        stage(queue, 2);
        queue.writer().flush();
        assertEquals(2, events.completions, "what is merged is never solicited");
        queue.writer().stage(solicited(), 0, 0, 0, 0);
        queue.writer().flush();
        assertEquals(3, events.completions);
    }

    // ---- Misuse

    private static void assertRefused(Class<? extends RuntimeException> type, String why, Runnable call) {
        String message = assertThrows(type, call::run).getMessage();
        assertTrue(message.contains(why), message);
    }

    @Test
    void shouldRefuseArmsOfAQueueWithoutEvents() {
        CompletionQueue queue = CompletionQueue.ofCapacity(2).create();
        assertFalse(queue.hasEvents());
        assertEquals(0, queue.events());
        assertEquals(0, queue.number());
        assertRefused(IllegalStateException.class, "events()", () -> queue.arm(ArmMode.NEXT));
        assertRefused(IllegalStateException.class, "events()", queue::takeEvent);
        assertRefused(
                IllegalStateException.class,
                "deviceEvents()",
                () -> queue.writer().pastArm());
        assertRefused(
                IllegalStateException.class,
                "deviceEvents()",
                () -> queue.writer().answerArm());
        CompletionQueue shared = CompletionQueue.ofCapacity(2).sharedPollers().create();
        assertRefused(
                IllegalStateException.class,
                "events()",
                () -> shared.newPoller().arm(ArmMode.NEXT));
        CompletionQueue withSink =
                CompletionQueue.ofCapacity(2).events(new Events(), 1).create();
        assertRefused(
                IllegalStateException.class,
                "deviceEvents()",
                () -> withSink.writer().pastArm());
    }

    @Test
    void shouldRefuseNumbersOutOfRange() {
        for (int number : new int[] {-1, 1 << 24}) {
            assertRefused(
                    IllegalArgumentException.class,
                    String.valueOf(number),
                    () -> CompletionQueue.ofCapacity(2)
                            .events(new Events(), number)
                            .create());
        }
        assertThrows(
                NullPointerException.class, () -> CompletionQueue.ofCapacity(2).events(null, 1));
        for (boolean shared : new boolean[] {false, true}) {
            Events events = new Events();
            CompletionQueue.Builder builder = CompletionQueue.ofCapacity(8).events(events, Events.CQ);
            CompletionQueue queue = (shared ? builder.sharedPollers() : builder).create();
            assertEquals(Events.CQ, queue.number());
            CompletionPoller poller = shared ? queue.newPoller() : null;
            for (int count : new int[] {Integer.MIN_VALUE, -1, 0, 9, Integer.MAX_VALUE}) {
                assertRefused(
                        IllegalArgumentException.class,
                        "1 to 8 entries: " + count,
                        () -> arm(queue, poller, ArmMode.NEXT, count));
            }
            assertThrows(NullPointerException.class, () -> arm(queue, poller, null, 1));
            write(queue);
            assertEquals(0, events.completions, "nothing was armed");
        }
        CompletionQueue deep =
                CompletionQueue.ofCapacity(1 << 17).events(new Events(), 1).create();
        assertFalse(deep.arm(ArmMode.NEXT, 1 << 16));
        assertRefused(IllegalArgumentException.class, "1 to 65536", () -> deep.arm(ArmMode.NEXT, (1 << 16) + 1));
    }

    private static boolean arm(CompletionQueue queue, CompletionPoller poller, ArmMode mode, int count) {
        return poller == null ? queue.arm(mode, count) : poller.arm(mode, count);
    }

    /** The greatest count that the word holds, on a ring that is deep enough. */
    @Test
    void shouldCountTo65536() {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(1 << 17)
                .strideBytes(32)
                .events(events, Events.CQ)
                .create();
        assertFalse(queue.arm(ArmMode.NEXT, 1 << 16));
        for (int i = 1; i <= 1 << 16; i++) {
            assertEquals(0, events.completions);
            write(queue);
        }
        assertEquals(1, events.completions);
        assertTrue(queue.arm(ArmMode.NEXT, 1 << 16));
        assertEquals(1, poll(queue, 1));
        assertFalse(queue.arm(ArmMode.NEXT, 1 << 16));
    }

    @Test
    void shouldRefuseWhatDoesNotGoTogether(@TempDir Path folder) throws java.io.IOException {
        assertRefused(
                IllegalArgumentException.class,
                "events()",
                () -> CompletionQueue.ofCapacity(2).writers(2).deviceEvents(1).create());
        QueueMemory file = QueueMemory.create(folder.resolve("queue"), 4096);
        CompletionQueue.Builder builder =
                CompletionQueue.ofCapacity(2).memory(file).deviceEvents(1);
        assertRefused(IllegalArgumentException.class, "file", builder::create);
        CompletionQueue.ofCapacity(2).memory(file).create(); // nothing was touched
    }

    @Test
    void shouldRefuseTheWrongThreadAHandlerAndAClosedQueue() throws InterruptedException {
        for (boolean shared : new boolean[] {false, true}) {
            Events events = new Events();
            CompletionQueue.Builder builder = CompletionQueue.ofCapacity(8).events(events, Events.CQ);
            CompletionQueue queue = (shared ? builder.sharedPollers() : builder).create();
            CompletionPoller poller = shared ? queue.newPoller() : null;
            take(queue, poller, new ArrayList<>()); // this thread's now
            List<Throwable> thrown = new ArrayList<>();
            Thread other = new Thread(() -> {
                try {
                    arm(queue, poller, ArmMode.NEXT);
                } catch (IllegalStateException e) {
                    thrown.add(e);
                }
            });
            other.start();
            other.join();
            assertEquals(1, thrown.size());
            if (shared) {
                assertRefused(IllegalStateException.class, "newPoller()", () -> queue.arm(ArmMode.NEXT));
            }
            write(queue);
            CompletionHandler arming =
                    c -> assertThrows(IllegalStateException.class, () -> arm(queue, poller, ArmMode.NEXT));
            assertEquals(1, shared ? poller.poll(arming, 1) : queue.poll(arming, 1));
            write(queue);
            assertEquals(0, events.completions, "nothing was armed");
            queue.close();
            assertRefused(IllegalStateException.class, "closed", () -> arm(queue, poller, ArmMode.NEXT));
            assertEquals(0, events.completions);
            assertFalse(queue.takeEvent());
        }
    }

    /** An open cursor is abandoned by an arm, as by a poll: its entries are there again. */
    @Test
    void shouldAbandonACursor() {
        Events events = new Events();
        CompletionQueue queue = queueAt(new Shape(64, 4, 2), 1, events);
        stage(queue, 2);
        queue.writer().flush();
        assertTrue(queue.startPoll());
        assertTrue(queue.next());
        assertTrue(queue.arm(ArmMode.NEXT, 2));
        assertThrows(IllegalStateException.class, queue::endPoll);
        assertEquals(2, poll(queue, 4));
    }

    // ---- A device that raises the events itself

    @ParameterizedTest
    @MethodSource("shapes")
    void shouldLeaveTheEventsToADeviceThatLoops(Shape shape) {
        CompletionQueue queue = shape.builder().deviceEvents(5).create();
        CompletionWriter writer = queue.writer();
        assertTrue(queue.hasEvents());
        assertEquals(5, queue.number());
        assertEquals(0, writer.pastArm());
        assertFalse(writer.answerArm());
        for (int round = 0; round != 2 * shape.capacity() + 1; round++) {
            for (int count = 1; count <= shape.capacity(); count++) {
                assertFalse(queue.arm(ArmMode.NEXT, count));
                for (int i = 1; i <= shape.capacity(); i++) {
                    write(queue);
                    assertEquals(i < count ? 0 : i, writer.pastArm(), "entries past the arm");
                    assertEquals(i < count ? 0 : i, writer.pastArm(), "a look changes nothing");
                    if (i < count) {
                        assertFalse(writer.answerArm());
                    }
                }
                long before = queue.events();
                assertTrue(writer.answerArm());
                assertFalse(writer.answerArm());
                assertEquals(0, writer.pastArm(), "answered");
                assertEquals(before + 1, queue.events());
                assertEquals(shape.capacity(), poll(queue, shape.capacity()));
                assertFalse(queue.arm(ArmMode.NEXT), "while the event is on its way");
                assertEquals(0, writer.pastArm());
                assertTrue(queue.takeEvent());
            }
        }
        assertFalse(queue.arm(ArmMode.SOLICITED));
        write(queue);
        assertEquals(0, writer.pastArm());
        poll(queue, 1);
        writer.write(solicited(), 0, 0, 0, 0);
        assertEquals(2, writer.pastArm(), "counted from the arm");
        assertTrue(writer.answerArm());
        queue.close();
        assertRefused(IllegalStateException.class, "closed", writer::pastArm);
        assertRefused(IllegalStateException.class, "closed", writer::answerArm);
    }

    @Test
    void shouldLetADeviceThatLoopsTellOfADeadQueue() {
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .overrunPolicy(OverrunPolicy.ERROR)
                .deviceEvents(5)
                .create();
        assertFalse(queue.arm(ArmMode.SOLICITED));
        write(queue);
        write(queue);
        assertEquals(0, queue.writer().pastArm());
        assertFalse(write(queue));
        assertEquals(1, queue.writer().pastArm());
        assertTrue(queue.writer().answerArm());
        assertEquals(0, queue.writer().pastArm());
        assertFalse(queue.writer().answerArm());
    }

    @Test
    void shouldRefuseADeviceOnAnotherThread() throws InterruptedException {
        CompletionQueue queue = CompletionQueue.ofCapacity(2).deviceEvents(5).create();
        write(queue);
        List<Throwable> thrown = new ArrayList<>();
        for (Consumer<CompletionWriter> call :
                List.<Consumer<CompletionWriter>>of(CompletionWriter::pastArm, CompletionWriter::answerArm)) {
            Thread other = new Thread(() -> {
                try {
                    call.accept(queue.writer());
                } catch (IllegalStateException e) {
                    thrown.add(e);
                }
            });
            other.start();
            other.join();
        }
        assertEquals(2, thrown.size());
    }

    // ---- What a drain does to it

    @Test
    void shouldWakeAnArmedHostWhenADrainCloses() {
        Events events = new Events();
        CompletionQueue queue = queueAt(new Shape(64, 4, 0), 0, events);
        assertFalse(queue.arm(ArmMode.NEXT));
        DrainResult result = queue.drainAndClose(c -> {}, 0, TimeUnit.SECONDS);
        assertTrue(result.complete());
        assertEquals(1, events.completions);
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
