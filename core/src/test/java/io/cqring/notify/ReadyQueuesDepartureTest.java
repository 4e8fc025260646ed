package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** One thread, many queues in files, whose senders leave. Both ends in this process. */
@Timeout(120)
class ReadyQueuesDepartureTest {
    private static final int QUEUES = 4;

    private final CompletionChannel channel = CompletionChannel.ofQueues(QUEUES);
    private final ReadyQueues ready = new ReadyQueues(channel);

    private final CompletionQueue[] queues = new CompletionQueue[QUEUES];
    private final QueueMemory[] memories = new QueueMemory[QUEUES];

    @TempDir
    private Path folder;

    @AfterEach
    void close() {
        channel.close();
    }

    private void make(int count) throws IOException {
        for (int i = 0; i < count; i++) {
            memories[i] = QueueMemory.create(folder.resolve("queue" + i), CompletionQueue.requiredBytes(8, 64));
            queues[i] = channel.create(CompletionQueue.ofCapacity(8).memory(memories[i]), socket(i));
            ready.add(queues[i]);
        }
    }

    private Path socket(int queue) {
        return folder.resolve("queue" + queue + ".sock");
    }

    /** A sender that is connected, here too. */
    private WakeupSender sender(int queue) throws IOException {
        int before = channel.connectedSenders(queues[queue]);
        WakeupSender sender = WakeupSender.to(socket(queue));
        while (channel.connectedSenders(queues[queue]) == before) {
            Thread.onSpinWait();
        }
        return sender;
    }

    private void leave(int queue, WakeupSender sender) {
        long before = channel.departedSenders(queues[queue]);
        sender.close();
        while (channel.departedSenders(queues[queue]) == before) {
            Thread.onSpinWait();
        }
    }

    private void write(int queue, WakeupSender sender, int count) {
        if (count == 0) {
            return;
        }
        CompletionQueue its = CompletionQueue.attach(memories[queue], sender, 0);
        for (int i = 0; i < count; i++) {
            assertTrue(its.writer().write(0, i, 0, 0, 0));
        }
        its.writer().release();
    }

    private static int poll(CompletionQueue queue, int most) {
        return queue.poll(entry -> {}, most);
    }

    /** Whether the queue was armed when the sender left, or its entries, or another sender's, are still there. */
    @Test
    void shouldSayOnceThatASenderHasLeftAfterItsEntries() throws Exception {
        make(2);
        for (boolean armed : new boolean[] {true, false}) {
            for (int entries = 0; entries <= 3; entries++) {
                String what = "armed " + armed + ", entries " + entries;
                WakeupSender sender = sender(0);
                if (armed) {
                    assertNull(ready.next(0, SECONDS), what);
                }
                write(0, sender, entries);
                leave(0, sender);
                for (int i = 0; i < entries; i++) {
                    assertSame(queues[0], ready.next(1, DAYS), what);
                    assertEquals(1, poll(queues[0], 1), what);
                }
                assertSame(queues[0], ready.next(1, DAYS), what);
                assertEquals(0, poll(queues[0], 1), what);
                assertEquals(0, channel.connectedSenders(queues[0]), what);
                assertNull(ready.next(0, SECONDS), what + ": said once");
                assertEquals(0, channel.unacknowledged(queues[0]), what);
                assertFalse(channel.await(queues[0], 0, SECONDS), what + ": nor said again by await");
            }
        }
        assertEquals(8, channel.departedSenders(queues[0]));
        assertEquals(0, channel.departedSenders(queues[1]));
    }

    /** What await has told, next does not tell again. */
    @Test
    void shouldNotSayWhatAwaitHasSaid() throws Exception {
        make(1);
        leave(0, sender(0));
        assertTrue(channel.await(queues[0], 0, SECONDS));
        assertNull(ready.next(0, SECONDS));
    }

    @Test
    void shouldWakeWhenASenderLeaves() throws Exception {
        make(3);
        WakeupSender sender = sender(1);
        Aside<CompletionQueue> waiter = Aside.call(() -> ready.next(1, DAYS)).untilItWaits();
        sender.close();
        assertSame(queues[1], waiter.result());
    }

    /** Events and departures of all queues at once: each is said, and a destroy finds nothing owed. */
    @Test
    void shouldSayEachOfManyThatHaveLeft() throws Exception {
        make(QUEUES);
        WakeupSender[] senders = new WakeupSender[QUEUES];
        for (int i = 0; i < QUEUES; i++) {
            senders[i] = sender(i);
        }
        assertNull(ready.next(0, SECONDS));
        for (int i = 0; i < QUEUES; i++) {
            write(i, senders[i], i % 2);
            leave(i, senders[i]);
        }
        Set<CompletionQueue> withEntries = new HashSet<>();
        Set<CompletionQueue> without = new HashSet<>();
        for (CompletionQueue next = ready.next(0, SECONDS); next != null; next = ready.next(0, SECONDS)) {
            int taken = poll(next, 8);
            assertTrue((taken == 1 ? withEntries : without).add(next), "said twice");
        }
        assertEquals(Set.of(queues[1], queues[3]), withEntries);
        assertEquals(Set.of(queues), without);
        for (CompletionQueue queue : queues) {
            assertTrue(channel.destroy(queue, 0, SECONDS));
        }
        assertNull(ready.next(0, SECONDS), "forgotten");
    }
}
