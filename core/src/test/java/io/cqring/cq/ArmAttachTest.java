package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.StoppingMemory;
import io.cqring.testing.StoppingMemory.Stopped;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The arm word in a region that outlives who stored it: attach, takeover, recovery, and words that somebody has spoilt. In one
 * process; WakeupIT does it with real ones.
 */
@Tag("bothroutes")
class ArmAttachTest {
    private static final long START = 1000;
    private static final int CAPACITY = 4;
    private static final long EVENTS_BIT = 1L << 18;

    private static CompletionQueue.Builder builder(Events events) {
        return CompletionQueue.ofCapacity(CAPACITY).startSequence(START).events(events, Events.CQ);
    }

    private static QueueMemory allocate(int writers) {
        return QueueMemory.allocate(384 + (writers == 1 ? 0 : writers * 128L) + CAPACITY * 64);
    }

    private static boolean write(CompletionQueue queue) {
        return queue.writer().write(CqeLayout.header(CqeOpcode.RECV, false, 1, 7, 0), 0, 0, 0, 0);
    }

    private static byte[] bytes(QueueMemory memory) {
        byte[] all = new byte[memory.sizeBytes()];
        memory.getBytes(0, all, 0, all.length);
        return all;
    }

    @Test
    void shouldSayInTheHeaderThatThereAreEvents() {
        for (int writers : new int[] {1, 2}) {
            for (boolean shared : new boolean[] {false, true}) {
                QueueMemory memory = allocate(writers);
                CompletionQueue.Builder builder =
                        builder(new Events()).writers(writers).memory(memory);
                (shared ? builder.sharedPollers() : builder).create();
                assertEquals(EVENTS_BIT | (shared ? 1 << 16 : 0) | (writers - 1), memory.getLong(88));
                assertEquals(0, memory.getLong(Region.ARM));
                assertEquals(0, memory.getLong(Region.FIRED));
                assertEquals(START, memory.getLong(Region.ARMED_INDEX));
                assertEquals(START, memory.getLong(Region.SOLICITED_END));
                byte[] before = bytes(memory);
                CompletionQueue attached = CompletionQueue.attach(memory, new Events(), Events.CQ);
                assertArrayEquals(before, bytes(memory), "attach changes nothing");
                assertTrue(attached.hasEvents());
                assertEquals(Events.CQ, attached.number());
            }
        }
    }

    /** Who writes unheard would let a host sleep beside an entry: refused. Polling and looking are not. */
    @Test
    void shouldNotLetAnybodyWriteWhoCannotTellTheHost() {
        for (int writers : new int[] {1, 2}) {
            QueueMemory memory = allocate(writers);
            CompletionQueue host =
                    builder(new Events()).writers(writers).memory(memory).create();
            CompletionQueue mute = CompletionQueue.attach(memory);
            assertFalse(mute.hasEvents());
            String why = "completion queue was made with events, and attached without a sink for them: whoever sleeps"
                    + " would not be told of what is written here; attach(memory, sink, number)";
            if (writers == 1) {
                assertEquals(
                        why,
                        assertThrows(IllegalStateException.class, mute::writer).getMessage());
                assertTrue(write(host));
            } else {
                assertEquals(
                        why,
                        assertThrows(IllegalStateException.class, mute::newWriter)
                                .getMessage());
                assertEquals(
                        why,
                        assertThrows(IllegalStateException.class, mute::recover).getMessage());
                assertTrue(host.newWriter().write(0, 1, 0, 0, 0));
            }
            assertEquals(1, mute.size());
            assertEquals(1, mute.poll(c -> {}, 4));
        }
        QueueMemory plain = allocate(1);
        CompletionQueue.ofCapacity(CAPACITY).memory(plain).create();
        assertEquals(
                "cannot attach " + plain + ": the queue was made without events",
                assertThrows(CqAttachException.class, () -> CompletionQueue.attach(plain, new Events(), 1))
                        .getMessage());
        assertThrows(IllegalArgumentException.class, () -> CompletionQueue.attach(plain, new Events(), 1 << 24));
    }

    /** An arm is answered by a writer that attached later; an answer waits for a poller that attaches later. */
    @Test
    void shouldKeepArmAndAnswerForWhoeverComesNext() {
        QueueMemory memory = allocate(1);
        CompletionQueue first = builder(new Events()).memory(memory).create();
        for (int round = 0; round < 5; round++) {
            assertFalse(first.arm(ArmMode.NEXT));
            Events writers = new Events();
            CompletionQueue second = CompletionQueue.attach(memory, writers, Events.CQ);
            assertTrue(write(second));
            assertTrue(write(second));
            assertEquals(1, writers.completions);
            CompletionQueue third = CompletionQueue.attach(memory, new Events(), Events.CQ);
            assertTrue(third.takeEvent());
            assertFalse(third.takeEvent());
            assertEquals(2, third.poll(c -> {}, 4));
            first = third;
        }
    }

    /**
     * The writer dies in front of each of its stores, with the queue armed before or behind the entry. Whoever goes on must see to it that
     * the host hears of what is published: the event has been answered, or is by recover, or, without recover, by the next entry.
     */
    @Test
    void shouldTellOfWhatADeadWriterPublishedWhereverItStopped() {
        int told = 0;
        int untold = 0;
        for (boolean recover : new boolean[] {false, true}) {
            for (int polled = 0; polled < 2; polled++) {
                boolean through = false;
                for (long stores = 0; !through; stores++) {
                    QueueMemory real = allocate(1);
                    CompletionQueue host = builder(new Events()).memory(real).create();
                    for (int i = 0; i < polled; i++) {
                        assertTrue(write(host));
                        assertEquals(1, host.poll(c -> {}, 4));
                    }
                    assertFalse(host.arm(ArmMode.NEXT));
                    StoppingMemory memory = new StoppingMemory(real);
                    Events dead = new Events();
                    CompletionQueue victim = CompletionQueue.attach(memory, dead, Events.CQ);
                    memory.stopAfter(stores);
                    try {
                        write(victim);
                        through = true;
                    } catch (Stopped expected) {
                        assertEquals(0, dead.completions);
                    }
                    Events events = new Events();
                    CompletionQueue next = CompletionQueue.attach(real, events, Events.CQ);
                    String where = recover + " " + polled + " " + stores;
                    boolean ready = host.peek() != null;
                    if (recover) {
                        next.writer().recover();
                    } else {
                        assertTrue(write(next));
                        ready = true;
                    }
                    told += dead.completions;
                    untold += ready && dead.completions == 0 ? 1 : 0;
                    assertTrue(host.takeEvent() || !ready, where + ": nobody would have been woken");
                    assertTrue(dead.completions + events.completions <= 1, where + ": two events for one arm");
                    assertFalse(host.takeEvent(), where);
                }
            }
        }
        assertTrue(told >= 2 && untold > 4, "both must have happened: told " + told + ", untold " + untold);
    }

    /** The host dies in front of each of its stores: the next one takes what there is, arms, and the next entry raises one event. */
    @Test
    void shouldArmAfterAHostThatStoppedAnywhere() {
        for (boolean shared : new boolean[] {false, true}) {
            boolean through = false;
            int stops = 0;
            for (long stores = 0; !through; stores++) {
                QueueMemory real = allocate(1);
                Events events = new Events();
                CompletionQueue.Builder builder = builder(events).memory(real);
                CompletionQueue writer = (shared ? builder.sharedPollers() : builder).create();
                StoppingMemory memory = new StoppingMemory(real);
                CompletionQueue victim = CompletionQueue.attach(memory, new Events(), Events.CQ);
                memory.stopAfter(stores);
                try {
                    for (int i = 0; i < 2; i++) {
                        arm(victim, shared);
                        assertTrue(write(writer));
                        victim.takeEvent();
                        poll(victim, shared);
                    }
                    through = true;
                } catch (Stopped expected) {
                    stops++;
                }
                int before = events.completions;
                CompletionQueue next = CompletionQueue.attach(real, new Events(), Events.CQ);
                next.takeEvent();
                boolean ready = arm(next, shared);
                assertEquals(writer.producerSequence() != next.consumerSequence(), ready, "stores " + stores);
                assertEquals(before, events.completions);
                assertTrue(write(writer));
                assertEquals(before + 1, events.completions, "stores " + stores);
                assertTrue(next.takeEvent());
                assertTrue(poll(next, shared) >= 1);
            }
            assertTrue(stops >= 4, "stops " + stops);
        }
    }

    private static boolean arm(CompletionQueue queue, boolean shared) {
        return shared ? queue.newPoller().arm(ArmMode.NEXT) : queue.arm(ArmMode.NEXT);
    }

    private static int poll(CompletionQueue queue, boolean shared) {
        return shared ? queue.newPoller().poll(c -> {}, 4) : queue.poll(c -> {}, 4);
    }

    private static long arm(long number, int count, int command) {
        return number << 18 | (count - 1L) << 2 | command;
    }

    /** Word, answer, index, end; and whether ends of a sound queue can have left them, by hand. Both sequences are 1002. */
    @Test
    void shouldAcceptWordsThatTheEndsCanHaveLeftAndNoOthers() {
        long top = (1L << 46) - 1;
        Object[][] cases = {
            {0L, 0L, START, START, true},
            {arm(1, 1, 2), 0L, START, START, true},
            {arm(1, 65536, 1), 1L, START + 2, START + 2, true},
            {arm(7, 4, 2), 6L, START, START, true},
            {arm(7, 4, 0), 7L, START, START, true},
            {arm(top, 1, 2), top, START, START, true},
            {arm(7, 1, 3), 6L, START, START, false}, // no such command
            {arm(7, 1, 2), 5L, START, START, false}, // an answer was skipped
            {arm(7, 1, 2), 8L, START, START, false}, // an answer to what was never asked
            {0L, 1L, START, START, false},
            {0L, -1L, START, START, false},
            {arm(7, 1, 2), Long.MIN_VALUE, START, START, false},
            {arm(7, 1, 2), Long.MAX_VALUE, START, START, false},
            {-1L, 0L, START, START, false},
            {arm(1, 1, 2), 0L, START - 1, START, false}, // before the first
            {arm(1, 1, 2), 0L, START, START - 1, false},
            {arm(1, 1, 2), 0L, START + 6, START, true}, // a ring of slack
            {arm(1, 1, 2), 0L, START + 7, START, false},
            {arm(1, 1, 2), 0L, START, START + 7, false},
            {arm(1, 1, 2), 0L, Long.MIN_VALUE, START, false},
            {arm(1, 1, 2), 0L, Long.MAX_VALUE, START, false},
            {arm(1, 1, 2), 0L, START, Long.MAX_VALUE, false},
        };
        for (Object[] each : cases) {
            QueueMemory memory = allocate(1);
            CompletionQueue queue = builder(new Events()).memory(memory).create();
            for (int i = 0; i < 2; i++) {
                assertTrue(write(queue));
                assertEquals(1, queue.poll(c -> {}, 1));
            }
            memory.putLong(Region.ARM, (long) each[0]);
            memory.putLong(Region.FIRED, (long) each[1]);
            memory.putLong(Region.ARMED_INDEX, (long) each[2]);
            memory.putLong(Region.SOLICITED_END, (long) each[3]);
            byte[] before = bytes(memory);
            String what = Arrays.toString(each);
            for (boolean sink : new boolean[] {true, false}) {
                if ((boolean) each[4]) {
                    attach(memory, sink);
                } else {
                    String why = assertThrows(CqAttachException.class, () -> attach(memory, sink), what)
                            .getMessage();
                    assertTrue(why.contains("arm word must") || why.contains("armed index and solicited"), why);
                }
                assertArrayEquals(before, bytes(memory));
            }
        }
    }

    private static CompletionQueue attach(QueueMemory memory, boolean sink) {
        return sink ? CompletionQueue.attach(memory, new Events(), Events.CQ) : CompletionQueue.attach(memory);
    }

    /** Whatever stands in the words at any time, every call of either end returns. An event may be lost or come for nothing. */
    @Test
    void shouldSurviveWordsThatAreSpoiltAtAnyTime() {
        long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        System.out.println("ArmAttachTest: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        int[] words = {Region.ARM, Region.ARMED_INDEX, Region.FIRED, Region.SOLICITED_END};
        for (int round = 0; round < 3000; round++) {
            int writers = 1 + random.nextInt(2);
            boolean shared = random.nextBoolean();
            QueueMemory memory = allocate(writers);
            CompletionQueue.Builder builder =
                    builder(new Events()).writers(writers).memory(memory);
            CompletionQueue queue = (shared ? builder.sharedPollers() : builder).create();
            CompletionPoller poller = shared ? queue.newPoller() : null;
            SharedWriter sharedWriter = writers == 1 ? null : queue.newWriter();
            long sent = 0;
            long taken = 0;
            for (int step = 0; step < 40; step++) {
                if (random.nextInt(3) == 0) {
                    long[] nasty = {
                        0, 1, 2, 3, -1, Long.MIN_VALUE, Long.MAX_VALUE, START, START + sent, 1L << 18, random.nextLong()
                    };
                    memory.putLong(words[random.nextInt(4)], nasty[random.nextInt(nasty.length)]);
                }
                switch (random.nextInt(6)) {
                    case 0, 1 -> {
                        ArmMode mode = random.nextBoolean() ? ArmMode.NEXT : ArmMode.SOLICITED;
                        int count = 1 + random.nextInt(CAPACITY);
                        boolean ready = shared ? poller.arm(mode, count) : queue.arm(mode, count);
                        int wanted = mode == ArmMode.SOLICITED ? 1 : count;
                        assertEquals(sent - taken >= wanted, ready, "the look at the ring does not depend on them");
                    }
                    case 2 -> queue.takeEvent();
                    case 3 -> taken += shared ? poller.poll(c -> {}, 1) : queue.poll(c -> {}, 1);
                    default -> {
                        boolean solicited = random.nextBoolean();
                        long header = CqeLayout.header(CqeOpcode.RECV, solicited, 1, 7, 0);
                        boolean written = sharedWriter != null
                                ? sharedWriter.write(header, 0, 0, 0, 0)
                                : queue.writer().write(header, 0, 0, 0, 0);
                        assertEquals(sent - taken < CAPACITY, written);
                        sent += written ? 1 : 0;
                    }
                }
            }
            queue.close();
        }
    }

    /** Attaching while both ends are at work: what is seen of different moments is never taken for spoilt. */
    @Test
    void shouldAttachWhileBothEndsAreAtWork(@TempDir Path folder) throws Exception {
        QueueMemory memory = QueueMemory.create(folder.resolve("queue"), 384 + CAPACITY * 64);
        CompletionQueue host = builder(new Events()).memory(memory).create();
        Thread busy = new Thread(() -> {
            CompletionQueue queue = CompletionQueue.attach(memory, new Events(), Events.CQ);
            while (!host.isClosed()) {
                host.arm(ArmMode.NEXT);
                write(queue);
                host.takeEvent();
                host.poll(c -> {}, 4);
            }
        });
        busy.setUncaughtExceptionHandler((thread, closed) -> {});
        busy.start();
        for (int i = 0; i < 20_000; i++) {
            CompletionQueue.attach(memory);
        }
        host.close();
        busy.join();
    }
}
