package io.cqring.eq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import io.cqring.testing.Threads;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two posting threads and one polling thread on the real memory. */
@Tag("bothroutes")
class EventThreadedTest {
    private static final long LONG_NS = 100_000_000_000L;
    private static final int WRITERS = 2;

    /** Each writer's events once each, in its order, every field its own. */
    private static final class Account implements EventHandler {
        private final long[] next = new long[WRITERS];
        private int taken;

        @Override
        public void onEvent(EventType type, int number, int subType, int syndrome, long detail) {
            long expected = next[number]++;
            if (detail != expected || type != EventType.CQ_ERROR || subType != ((int) detail & 0xFF) || syndrome != 9) {
                throw new AssertionError("writer " + number + ", expected " + expected + ": " + type + " " + subType
                        + " " + syndrome + " " + detail);
            }
            taken++;
        }
    }

    private static boolean post(EventQueue queue, int writer, long n) {
        return queue.writer().post(EventType.CQ_ERROR, writer, (int) n & 0xFF, 9, n);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 64})
    void shouldDeliverAMillionEventsOnceAndInOrder(int capacity) {
        int each = capacity == 64 ? 500_000 : 50_000;
        EventQueue queue =
                EventQueue.builder(capacity).startSequence((1L << 32) - 1000).create();
        Account account = new Account();
        AtomicLong refused = new AtomicLong();
        Threads.run(
                spin -> write(queue, 0, each, refused, spin), spin -> write(queue, 1, each, refused, spin), spin -> {
                    while (account.taken != WRITERS * each) {
                        if (queue.poll(account, 16) == 0) {
                            spin.once();
                        }
                    }
                });
        assertEquals(each, account.next[0]);
        assertEquals(each, account.next[1]);
        assertEquals(refused.get(), queue.overruns(), "each refusal is counted");
        assertEquals(refused.get(), queue.interrupt().count(), "and raised, nothing else is");
        assertEquals(0, queue.size());
    }

    private static void write(EventQueue queue, int writer, int count, AtomicLong refused, Threads.Spin spin) {
        for (int i = 0; i < count; i++) {
            while (!post(queue, writer, i)) {
                refused.incrementAndGet();
                spin.once();
            }
        }
    }

    /**
     * The consumer's loop of the package description. Each writer posts its next event only when the last has been handled, so
     * the consumer runs dry all the time, and one wake-up that is lost stops everything. Two slots would not be enough: a slot goes back
     * after its event has been handled.
     */
    @FieldBug(38)
    @ParameterizedTest
    @ValueSource(ints = {4, 64})
    void shouldNeverSleepOverAnEvent(int capacity) {
        int each = 20_000;
        EventQueue queue = EventQueue.builder(capacity).create();
        Interrupt interrupt = queue.interrupt();
        AtomicIntegerArray handled = new AtomicIntegerArray(WRITERS);
        Account account = new Account();
        EventHandler handler = (type, number, subType, syndrome, detail) -> {
            account.onEvent(type, number, subType, syndrome, detail);
            handled.incrementAndGet(number);
        };
        long[] armings = {0};
        Threads.run(
                spin -> {
                    while (account.taken != WRITERS * each) {
                        long seen = interrupt.count();
                        while (queue.poll(handler, 8) != 0) {}
                        if (account.taken == WRITERS * each) {
                            break;
                        }
                        armings[0]++;
                        if (!queue.arm()) {
                            assertTrue(interrupt.await(seen, LONG_NS), "a wake-up was lost");
                        }
                    }
                },
                spin -> writeInTurn(queue, 0, each, handled, spin),
                spin -> writeInTurn(queue, 1, each, handled, spin));
        assertEquals(each, account.next[0]);
        assertEquals(each, account.next[1]);
        assertEquals(0, queue.overruns());
        assertTrue(interrupt.count() <= armings[0], "at most one raise per arming");
    }

    private static void writeInTurn(
            EventQueue queue, int writer, int count, AtomicIntegerArray handled, Threads.Spin spin) {
        for (int i = 0; i < count; i++) {
            assertTrue(post(queue, writer, i));
            while (handled.get(writer) != i + 1) {
                spin.once();
            }
        }
    }

    /** A full queue loses events, and the consumer is told: in the end it knows of everything that the events were about. */
    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void shouldLoseEventsButNoWakeUpWhenItOverruns(int capacity) {
        int each = 50_000;
        EventQueue queue = EventQueue.builder(capacity).create();
        Interrupt interrupt = queue.interrupt();
        AtomicIntegerArray done = new AtomicIntegerArray(WRITERS); // what the events are about
        int[] known = new int[WRITERS];
        EventHandler look = (type, number, subType, syndrome, detail) -> {
            assertSame(EventType.COMPLETION, type);
            known[number] = done.get(number);
        };
        Threads.run(
                spin -> {
                    while (known[0] != each || known[1] != each) {
                        long seen = interrupt.count();
                        while (queue.poll(look, 8) != 0) {}
                        if (queue.takeOverrun()) {
                            known[0] = done.get(0);
                            known[1] = done.get(1);
                        } else if ((known[0] != each || known[1] != each) && !queue.arm()) {
                            assertTrue(interrupt.await(seen, LONG_NS), "a wake-up was lost");
                        }
                    }
                },
                spin -> work(queue, 0, each, done),
                spin -> work(queue, 1, each, done));
    }

    private static void work(EventQueue queue, int writer, int count, AtomicIntegerArray done) {
        for (int i = 0; i < count; i++) {
            done.incrementAndGet(writer);
            queue.writer().post(EventType.COMPLETION, writer, 0, 0, 0); // lost if the queue is full
        }
    }
}
