package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Arms that are refused. */
class ArmMisuseTest extends ArmRig {

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
}
