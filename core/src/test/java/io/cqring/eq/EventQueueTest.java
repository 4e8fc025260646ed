package io.cqring.eq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.RecordingMemory;
import io.cqring.testing.RecordingMemory.Access;
import io.cqring.testing.RecordingMemory.Op;
import io.cqring.testing.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One event queue, one thread: what each call promises, at every capacity and across every wrap. */
@Tag("bothroutes")
class EventQueueTest {
    private static final int[] CAPACITIES = {1, 2, 4, 8, 64};
    private static final long[] STARTS = {
        0, (1 << 16) - 3, (1 << 24) - 3, (1L << 31) - 3, (1L << 32) - 3, (1L << 63) - 5
    };

    /** The picture in EqRegion, as numbers. */
    private static final int CONSUMER = 0;

    private static final int ARM = 128;
    private static final int PRODUCER = 256;
    private static final int SLOTS = 512;

    static Stream<Arguments> shapes() {
        List<Arguments> shapes = new ArrayList<>();
        for (int capacity : CAPACITIES) {
            for (long start : STARTS) {
                shapes.add(Arguments.of(capacity, start));
            }
        }
        return shapes.stream();
    }

    /** Expects events in order, every field following from a count. */
    private static final class Taker implements EventHandler {
        private static final EventType[] TYPES = {EventType.COMPLETION, EventType.CQ_ERROR, EventType.OBJECT_CHANGE};
        private long next;

        static boolean post(EventQueue queue, long n) {
            return queue.writer()
                    .post(TYPES[(int) (n % 3)], (int) (n * 77 & 0xFF_FFFF), (int) n & 0xFF, (int) (n >> 1) & 0xFF, ~n);
        }

        @Override
        public void onEvent(EventType type, int number, int subType, int syndrome, long detail) {
            assertEquals(~next, detail, "order");
            assertSame(TYPES[(int) (next % 3)], type);
            assertEquals((int) (next * 77 & 0xFF_FFFF), number);
            assertEquals((int) next & 0xFF, subType);
            assertEquals((int) (next >> 1) & 0xFF, syndrome);
            next++;
        }
    }

    private static final EventHandler IGNORE = (type, number, subType, syndrome, detail) -> {};

    private static EventQueue queue(int capacity, long start) {
        return EventQueue.builder(capacity).startSequence(start).create();
    }

    private static boolean post(EventQueue queue) {
        return queue.writer().post(EventType.COMPLETION, 1, 0, 0, 0);
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void shouldHandOutEveryEventOnceAndInOrder(int capacity, long start) {
        EventQueue queue = queue(capacity, start);
        assertEquals(capacity, queue.capacity());
        Taker taker = new Taker();
        long posted = 0;
        for (int lap = 0; lap < 5; lap++) {
            for (int fill = 1; fill <= capacity; fill++) {
                assertEquals(0, queue.poll(taker, capacity));
                for (int i = 0; i < fill; i++) {
                    assertTrue(Taker.post(queue, posted++));
                    assertEquals(i + 1, queue.size());
                }
                assertEquals(fill, queue.poll(taker, capacity));
                assertEquals(posted, taker.next);
                assertEquals(0, queue.size());
            }
        }
        assertEquals(0, queue.overruns());
        assertFalse(queue.takeOverrun());
        assertEquals(0, queue.interrupt().count(), "never armed");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 8})
    void shouldTakeWhatTheBudgetAllows(int capacity) {
        for (int backlog = 0; backlog <= capacity; backlog++) {
            for (int budget = 0; budget <= 2 * capacity; budget++) {
                EventQueue queue = queue(capacity, 3);
                for (int i = 0; i < backlog; i++) {
                    assertTrue(Taker.post(queue, i));
                }
                Taker taker = new Taker();
                assertEquals(Math.min(budget, backlog), queue.poll(taker, budget));
                assertEquals(Math.min(budget, backlog), taker.next);
                assertEquals(Math.max(0, backlog - budget), queue.size());
                assertEquals(Math.max(0, backlog - budget), queue.poll(taker, Integer.MAX_VALUE));
                assertEquals(backlog, taker.next);
            }
        }
    }

    @FieldBug(3)
    @ParameterizedTest
    @MethodSource("shapes")
    void shouldStartEmptyWhateverTheMemoryHeld(int capacity, long start) {
        int size = (int) EventQueue.requiredBytes(capacity);
        assertEquals(512 + 64 * capacity, size);
        QueueMemory memory = QueueMemory.allocate(size);
        for (int content = 0; content < 6; content++) {
            byte[] bytes = new byte[size];
            if (content < 3) {
                memory.fill(0, size, new byte[] {0, (byte) 0xFF, (byte) 0xAA}[content]);
            } else {
                new SplittableRandom(content * 1000L + capacity + start).nextBytes(bytes);
                memory.putBytes(0, bytes, 0, size);
            }
            EventQueue queue = EventQueue.builder(capacity)
                    .startSequence(start)
                    .memory(memory)
                    .create();
            Taker taker = new Taker();
            assertEquals(0, queue.size());
            assertEquals(0, queue.overruns());
            assertFalse(queue.takeOverrun());
            assertFalse(queue.disarm(), "not armed");
            for (int i = 0; i < 2 * capacity + 1; i++) {
                assertEquals(0, queue.poll(taker, capacity), "phantom event");
                assertTrue(Taker.post(queue, i));
                assertEquals(1, queue.poll(taker, capacity));
            }
            assertEquals(0, queue.interrupt().count());
        }
    }

    /** The words lie as drawn, and the entry in its slot as EqeLayout has it, its other words zero. */
    @Test
    void shouldWriteWhatIsDrawn() {
        QueueMemory memory = QueueMemory.allocate(EventQueue.requiredBytes(2));
        memory.fill(0, memory.sizeBytes(), (byte) 0xEE);
        EventQueue queue = EventQueue.builder(2).memory(memory).startSequence(6).create();
        assertTrue(queue.writer().post(EventType.CQ_ERROR, 5, 0, 1, 0x0123_4567_89AB_CDEFL));
        assertEquals(0x0000_0005_0100_0400L, memory.getLong(SLOTS), "sequence 6 of 2 slots: lap 3, owner bit 0");
        assertEquals(0x0123_4567_89AB_CDEFL, memory.getLong(SLOTS + 8));
        for (int word = 2; word < 8; word++) {
            assertEquals(0, memory.getLong(SLOTS + word * 8));
        }
        assertEquals(7, memory.getLong(PRODUCER));
        assertEquals(6, memory.getLong(CONSUMER));
        assertEquals(1, queue.poll(IGNORE, 1));
        assertEquals(7, memory.getLong(CONSUMER));
        assertFalse(queue.arm());
        assertEquals(7 << 1 | 1, memory.getLong(ARM));
        assertTrue(post(queue));
        assertEquals(7 << 1, memory.getLong(ARM));
        assertEquals(0x0000_0001_0000_0000L, memory.getLong(SLOTS + 64), "sequence 7: lap 3, owner bit 0");
    }

    /** Words of different writers are 128 bytes apart. */
    @FieldBug(102)
    @Test
    void shouldKeepWordsOfDifferentWritersApart() {
        int[][] groups = {
            {EqRegion.CONSUMER_SEQUENCE, EqRegion.OVERRUNS_TAKEN},
            {EqRegion.ARM},
            {EqRegion.PRODUCER_SEQUENCE},
            {EqRegion.OVERRUNS, EqRegion.CLOSED},
            {EqRegion.FIRST_SLOT}
        };
        for (int i = 0; i < groups.length; i++) {
            for (int word : groups[i]) {
                assertEquals(i, word / 128);
            }
        }
    }

    @Test
    void shouldCountAnEventWhoseHandlerThrowsAsConsumed() {
        EventQueue queue = queue(4, 0);
        for (int i = 0; i < 3; i++) {
            assertTrue(Taker.post(queue, i));
        }
        RuntimeException fault = new IllegalArgumentException("of the handler");
        EventHandler throwing = (type, number, subType, syndrome, detail) -> {
            throw fault;
        };
        assertSame(fault, assertThrows(IllegalArgumentException.class, () -> queue.poll(throwing, 4)));
        assertEquals(2, queue.size());
        Taker taker = new Taker();
        taker.next = 1;
        assertEquals(2, queue.poll(taker, 4));
    }

    /** Slots go back at the end of the call, and every quarter of the ring: a slow handler does not make the queue overrun. */
    @Test
    void shouldGiveSlotsBackAtTheEndAndEveryQuarter() {
        int capacity = 8;
        QueueMemory memory = QueueMemory.allocate(EventQueue.requiredBytes(capacity));
        EventQueue queue = EventQueue.builder(capacity).memory(memory).create();
        for (int i = 0; i < capacity; i++) {
            assertTrue(post(queue));
        }
        List<Long> seen = new ArrayList<>();
        assertEquals(
                8,
                queue.poll((type, number, subType, syndrome, detail) -> seen.add(memory.getLong(CONSUMER)), capacity));
        assertEquals(List.of(0L, 0L, 2L, 2L, 4L, 4L, 6L, 6L), seen);
        assertEquals(8, memory.getLong(CONSUMER));
    }

    // ---- arming

    @FieldBug(33)
    @ParameterizedTest
    @MethodSource("shapes")
    void shouldRaiseOncePerArmingHoweverOftenItWasArmed(int capacity, long start) {
        EventQueue queue = queue(capacity, start);
        Interrupt interrupt = queue.interrupt();
        for (int round = 0; round < 3 * capacity + 2; round++) {
            assertFalse(queue.arm());
            assertFalse(queue.arm());
            assertFalse(queue.arm());
            assertEquals(round, interrupt.count(), "arming raises nothing");
            assertTrue(post(queue));
            assertEquals(round + 1, interrupt.count());
            for (int i = 1; i < capacity; i++) {
                assertTrue(post(queue));
            }
            assertEquals(round + 1, interrupt.count(), "one-shot");
            assertEquals(capacity, queue.poll(IGNORE, capacity));
            assertTrue(post(queue));
            assertEquals(round + 1, interrupt.count(), "not armed by a poll");
            assertEquals(1, queue.poll(IGNORE, capacity));
        }
    }

    /** An event that was there before the arming raises nothing, but the arming says so. */
    @ParameterizedTest
    @MethodSource("shapes")
    void shouldSayThatAnEventCameBeforeTheArming(int capacity, long start) {
        EventQueue queue = queue(capacity, start);
        for (int round = 0; round < 2 * capacity; round++) {
            assertTrue(post(queue));
            assertTrue(queue.arm());
            assertEquals(round, queue.interrupt().count());
            assertEquals(1, queue.poll(IGNORE, 1));
            assertTrue(post(queue), "still armed");
            assertEquals(round + 1, queue.interrupt().count());
            assertEquals(1, queue.poll(IGNORE, 1));
        }
    }

    /** Armed at any index; k events follow, the first of them at, or one of them past it, the ring wrapping or not. */
    @FieldBug(47)
    @ParameterizedTest
    @MethodSource("shapes")
    void shouldRaiseOnceWhenEventsJumpOverTheArmedSequence(int capacity, long start) {
        for (int before = 0; before < capacity; before++) {
            for (int k = 1; k <= capacity - before; k++) {
                EventQueue queue = queue(capacity, start);
                for (int i = 0; i < before; i++) {
                    assertTrue(post(queue));
                }
                assertEquals(before != 0, queue.arm(), "armed with a backlog");
                for (int i = 0; i < k; i++) {
                    assertTrue(post(queue));
                }
                assertEquals(1, queue.interrupt().count(), "events " + k + " after " + before);
                assertEquals(before + k, queue.poll(IGNORE, capacity));
            }
        }
    }

    /** What was polled before the arming raises nothing afterwards: only its writer is late with its look. */
    @Test
    void shouldAskForEventsFromTheArmedSequenceOn() {
        for (long sequence : STARTS) {
            long arm = EqRegion.armedAt(sequence);
            assertFalse(EqRegion.asksFor(arm, sequence - 1));
            assertFalse(EqRegion.asksFor(arm, sequence - (1 << 24)));
            assertTrue(EqRegion.asksFor(arm, sequence));
            assertTrue(EqRegion.asksFor(arm, sequence + 1));
            assertTrue(EqRegion.asksFor(arm, sequence + (1 << 24)));
            assertFalse(EqRegion.asksFor(arm & ~1, sequence));
        }
    }

    @Test
    void shouldTakeAnArmingBack() {
        EventQueue queue = queue(4, 0);
        assertFalse(queue.disarm());
        assertFalse(queue.arm());
        assertTrue(queue.disarm());
        assertFalse(queue.disarm());
        assertTrue(post(queue));
        assertEquals(0, queue.interrupt().count());
        assertTrue(queue.arm());
        assertTrue(post(queue));
        assertEquals(1, queue.interrupt().count());
        assertFalse(queue.disarm(), "the device was quicker");
    }

    /** Both ends: own store, full fence, look at the other's word; in that order. */
    @FieldBug(38)
    @Test
    void shouldFenceBetweenItsStoreAndItsLookAtBothEnds() {
        RecordingMemory memory = new RecordingMemory(EventQueue.requiredBytes(1));
        RecordingMemory ofInterrupt = new RecordingMemory(Interrupt.REQUIRED_BYTES);
        EventQueue queue = EventQueue.builder(1)
                .memory(memory)
                .interrupt(new Interrupt(ofInterrupt, null))
                .create();
        memory.clear();
        assertFalse(queue.arm());
        assertInOrder(memory, Op.PUT_RELEASE, ARM, Op.GET_ACQUIRE, SLOTS);
        memory.clear();
        ofInterrupt.clear();
        assertTrue(post(queue));
        assertInOrder(memory, Op.PUT_RELEASE, SLOTS, Op.GET_ACQUIRE, ARM);
        assertInOrder(ofInterrupt, Op.GET_AND_ADD, 0, Op.GET_ACQUIRE, 128);
    }

    /** And the same two ends of an interrupt. */
    @FieldBug(38)
    @Test
    void shouldFenceBetweenSayingThatItWaitsAndTheLookAtTheCount() throws InterruptedException {
        RecordingMemory memory = new RecordingMemory(Interrupt.REQUIRED_BYTES);
        Interrupt interrupt = new Interrupt(memory, null);
        memory.clear();
        assertFalse(interrupt.await(0, 0));
        List<Access> log = memory.log();
        int fence = indexOf(log, Op.FULL_FENCE, -1, 0);
        int says = indexOf(log, Op.PUT_RELEASE, 128, 0);
        assertEquals(2, log.get(says).value());
        assertTrue(says < fence);
        assertTrue(fence < indexOf(log, Op.GET_ACQUIRE, 0, fence), () -> "looks at the count afterwards: " + log);
    }

    private static void assertInOrder(RecordingMemory memory, Op store, int stored, Op load, int loaded) {
        List<Access> log = memory.log();
        int first = indexOf(log, store, stored, 0);
        int fence = indexOf(log, Op.FULL_FENCE, -1, first);
        int last = indexOf(log, load, loaded, fence);
        assertTrue(first < fence && fence < last, log::toString);
        for (Access access : log.subList(0, fence)) {
            assertFalse(access.op() == load && access.offset() == loaded, () -> "an earlier look: " + log);
        }
    }

    private static int indexOf(List<Access> log, Op op, int offset, int from) {
        for (int i = from; i < log.size(); i++) {
            if (log.get(i).op() == op && (offset < 0 || log.get(i).offset() == offset)) {
                return i;
            }
        }
        throw new AssertionError("no " + op + " at " + offset + " from " + from + " in " + log);
    }

    // ---- overrun

    @ParameterizedTest
    @MethodSource("shapes")
    void shouldCountAnOverrunAndRaiseWhetherArmedOrNot(int capacity, long start) {
        EventQueue queue = queue(capacity, start);
        Taker taker = new Taker();
        for (int i = 0; i < capacity; i++) {
            assertTrue(Taker.post(queue, i));
        }
        assertFalse(queue.takeOverrun());
        for (int lost = 1; lost <= 3; lost++) {
            assertFalse(Taker.post(queue, 999));
            assertEquals(lost, queue.overruns());
            assertEquals(lost, queue.interrupt().count(), "not armed, and raised");
        }
        assertEquals(capacity, queue.size());
        assertTrue(queue.takeOverrun());
        assertFalse(queue.takeOverrun(), "taken");
        assertEquals(3, queue.overruns(), "the count stays");
        assertFalse(Taker.post(queue, 999));
        assertTrue(queue.takeOverrun(), "a later one sets it again");
        assertEquals(capacity, queue.poll(taker, capacity), "what was posted is there");
        for (int i = 0; i < capacity; i++) {
            assertTrue(Taker.post(queue, capacity + i), "and the queue works on");
        }
        assertEquals(capacity, queue.poll(taker, capacity));
        assertFalse(queue.takeOverrun());
    }

    /** A consumer sequence that the host cannot have reached frees nothing. */
    @Test
    void shouldNotTrustTheConsumerSequence() {
        for (long nonsense : new long[] {5, 1000, -1, Long.MIN_VALUE, Long.MAX_VALUE}) {
            QueueMemory memory = QueueMemory.allocate(EventQueue.requiredBytes(4));
            EventQueue queue = EventQueue.builder(4).memory(memory).create();
            for (int i = 0; i < 4; i++) {
                assertTrue(post(queue));
            }
            memory.putLong(CONSUMER, nonsense);
            assertFalse(post(queue), "consumer sequence " + nonsense);
            assertEquals(1, queue.overruns());
            assertEquals(4, memory.getLong(PRODUCER));
            assertTrue(queue.size() >= 0 && queue.size() <= 4);
        }
    }

    // ---- misuse, life

    private static List<Executable> pollerCalls(EventQueue queue) {
        return List.of(
                () -> queue.poll(IGNORE, 1),
                () -> queue.poll(IGNORE, 0),
                () -> queue.poll(IGNORE, -1),
                queue::arm,
                queue::disarm,
                queue::takeOverrun);
    }

    private static void assertRefused(List<Executable> calls, String message) {
        for (Executable call : calls) {
            assertEquals(
                    message, assertThrows(IllegalStateException.class, call).getMessage());
        }
    }

    @Test
    void shouldRefuseASecondPollerUntilTheRoleIsReleased() {
        EventQueue queue = queue(4, 0);
        assertTrue(Taker.post(queue, 0));
        assertTrue(Taker.post(queue, 1));
        assertTrue(Taker.post(queue, 2));
        Taker taker = new Taker();
        CountDownLatch polled = new CountDownLatch(1);
        CountDownLatch refused = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        Threads.run(
                spin -> {
                    try {
                        Thread.currentThread().setName("first");
                        assertEquals(1, queue.poll(taker, 1));
                        polled.countDown();
                        refused.await();
                        queue.releasePoller();
                    } finally {
                        polled.countDown();
                        released.countDown();
                    }
                    done.await();
                },
                spin -> {
                    try {
                        Thread.currentThread().setName("second");
                        polled.await();
                        assertRefused(
                                pollerCalls(queue),
                                "event queue has one poller, thread first; it must release the role before thread second"
                                        + " can take it");
                        assertEquals(
                                "thread second is not the poller",
                                assertThrows(IllegalStateException.class, queue::releasePoller)
                                        .getMessage());
                        assertEquals(2, queue.size(), "for any thread");
                        assertEquals(0, queue.overruns());
                        refused.countDown();
                        released.await();
                        assertEquals(1, queue.poll(taker, 1));
                    } finally {
                        refused.countDown();
                        done.countDown();
                    }
                });
        assertEquals(1, queue.poll(taker, 1), "both threads have ended: the role is free");
        assertEquals(3, taker.next);
    }

    @Test
    void shouldRefuseCallsFromItsHandler() {
        EventQueue queue = queue(4, 0);
        assertTrue(post(queue));
        boolean[] called = {false};
        queue.poll(
                (type, number, subType, syndrome, detail) -> {
                    called[0] = true;
                    String message = "an event handler must not call the queue that is calling it";
                    assertRefused(pollerCalls(queue), message);
                    assertRefused(List.of(queue::releasePoller), message);
                    assertTrue(post(queue), "a handler may post");
                },
                1);
        assertTrue(called[0]);
        assertEquals(1, queue.poll(IGNORE, 4));
    }

    @Test
    void shouldRefuseEverythingAfterClose() {
        EventQueue queue = queue(4, 0);
        assertTrue(post(queue));
        queue.close();
        assertRefused(pollerCalls(queue), "event queue is closed");
        assertRefused(List.of(() -> post(queue)), "event queue is closed");
        assertEquals(1, queue.interrupt().count(), "whoever waits is woken");
        queue.close();
        assertEquals(1, queue.interrupt().count());
        assertEquals(1, queue.size());
    }

    @Test
    void shouldNameWhatIsWrongAndChangeNothing() {
        EventQueue queue = queue(4, 0);
        assertTrue(post(queue));
        assertEquals(
                "budget must be 0 or more events: -1",
                assertThrows(IllegalArgumentException.class, () -> queue.poll(IGNORE, -1))
                        .getMessage());
        assertThrows(NullPointerException.class, () -> queue.poll(null, 1));
        EventWriter writer = queue.writer();
        assertThrows(NullPointerException.class, () -> writer.post(null, 0, 0, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> writer.post(EventType.UNKNOWN, 0, 0, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> writer.post(EventType.CMD, 1 << 24, 0, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> writer.post(EventType.CMD, 0, 256, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> writer.post(EventType.CMD, 0, 0, -1, 0));
        assertEquals(1, queue.size());
        assertEquals(0, queue.interrupt().count());
        assertEquals(1, queue.poll(IGNORE, 4));
    }

    @Test
    void shouldNameWhatIsWrongWithTheShape() {
        for (int capacity : new int[] {0, -1, 3, 6, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            assertEquals(
                    "capacity must be a power of two, 1 or more: " + capacity,
                    assertThrows(IllegalArgumentException.class, () -> EventQueue.builder(capacity))
                            .getMessage());
        }
        assertEquals(
                "capacity must be at most 16777216 events: 33554432",
                assertThrows(IllegalArgumentException.class, () -> EventQueue.builder(1 << 25))
                        .getMessage());
        assertEquals(
                "memory must have 768 bytes for an event queue of 4 events: 767",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> EventQueue.builder(4).memory(QueueMemory.allocate(767)))
                        .getMessage());
        assertEquals(
                "number must be 0 or more: -1",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> EventQueue.builder(4).number(-1))
                        .getMessage());
        assertThrows(NullPointerException.class, () -> EventQueue.builder(4).interrupt(null));
    }

    @Test
    void shouldBeWhatItWasAskedToBe() {
        Interrupt shared = new Interrupt();
        EventQueue one = EventQueue.builder(2).number(7).interrupt(shared).create();
        EventQueue other = EventQueue.builder(2).interrupt(shared).create();
        assertEquals(7, one.number());
        assertEquals(0, other.number());
        assertSame(shared, one.interrupt());
        assertSame(one.writer(), one.writer());
        assertFalse(one.arm());
        assertFalse(other.arm());
        assertTrue(post(one));
        assertTrue(post(other));
        assertEquals(2, shared.count(), "one vector, two queues");
        assertEquals("EventQueue[number 7, capacity 2, size 1]", one.toString());
    }
}
