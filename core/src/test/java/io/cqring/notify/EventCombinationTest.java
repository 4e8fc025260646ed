package io.cqring.notify;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.ResizeStatus;
import io.cqring.cq.SharedWriter;
import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** The rows of "What goes with what" in architecture.md that speak of events. */
class EventCombinationTest {
    private final CompletionChannel channel = CompletionChannel.ofQueues(8);

    @TempDir
    private Path folder;

    @AfterEach
    void close() {
        channel.close();
    }

    @Test
    void shouldWorkWithManyWritersAndManyPollers() throws InterruptedException {
        for (int writers : new int[] {1, 3}) {
            for (boolean shared : new boolean[] {false, true}) {
                CompletionQueue.Builder builder = CompletionQueue.ofCapacity(8).writers(writers);
                CompletionQueue queue = channel.create(shared ? builder.sharedPollers() : builder);
                CompletionPoller poller = shared ? queue.newPoller() : null;
                assertFalse(shared ? channel.await(poller, 0, SECONDS) : channel.await(queue, 0, SECONDS));
                if (writers == 1) {
                    assertTrue(queue.writer().write(0, 7, 0, 0, 0));
                } else {
                    try (SharedWriter writer = queue.newWriter()) {
                        assertTrue(writer.write(0, 7, 0, 0, 0));
                    }
                }
                assertTrue(shared ? channel.await(poller, 1, SECONDS) : channel.await(queue, 1, SECONDS));
                if (shared) {
                    assertThrows(IllegalStateException.class, () -> channel.await(queue, 0, SECONDS));
                    assertThrows(IllegalStateException.class, () -> channel.awaitAtLeast(queue, 2, 0, 0, SECONDS));
                    assertThrows(
                            IllegalStateException.class,
                            () -> channel.awaitModerated(queue, Moderation.OFF, 0, SECONDS));
                    ReadyQueues ready = new ReadyQueues(channel);
                    ready.add(queue);
                    assertThrows(IllegalStateException.class, () -> ready.next(0, SECONDS));
                }
            }
        }
    }

    @Test
    void shouldWorkWithMerging() throws InterruptedException {
        CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(8).merging());
        assertFalse(channel.awaitAtLeast(queue, 2, 1, 0, SECONDS));
        for (int i = 0; i < 3; i++) {
            assertTrue(queue.writer().stage(0, i, 0, 0, 0));
        }
        assertEquals(1, queue.writer().flush());
        assertFalse(channel.awaitAtLeast(queue, 2, 1, 0, SECONDS), "counts are of slots");
        assertTrue(channel.await(queue, 1, SECONDS));
        assertEquals(3, queue.poll(entry -> {}, 8));
        assertFalse(channel.await(queue, 0, SECONDS));
    }

    @Test
    void shouldSleepOnInTheNewRingAfterAResize() throws InterruptedException {
        CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(4));
        assertFalse(channel.await(queue, 0, SECONDS));
        for (int capacity : new int[] {8, 2}) {
            queue.resize(capacity);
            queue.writer().flush(); // accepts
            assertTrue(queue.writer().write(0, 1, 0, 0, 0));
            int taken = 0;
            while (taken == 0) {
                assertTrue(channel.await(queue, 1, SECONDS)); // the marker, or the entry behind it
                taken = queue.poll(entry -> {}, 8);
            }
            assertEquals(ResizeStatus.DONE, queue.resizeStatus());
            assertFalse(channel.await(queue, 0, SECONDS));
            assertTrue(queue.writer().write(0, 1, 0, 0, 0));
            assertTrue(channel.await(queue, 1, SECONDS));
            assertEquals(1, queue.poll(entry -> {}, 8));
        }
    }

    @Test
    void shouldWantASocketForAFile() throws IOException {
        QueueMemory file = QueueMemory.create(folder.resolve("cq"), CompletionQueue.requiredBytes(8, 64));
        CompletionQueue.Builder builder = CompletionQueue.ofCapacity(8).memory(file);
        for (Executable create :
                List.<Executable>of(() -> channel.create(builder), () -> channel.createForDevice(builder))) {
            assertEquals(
                    "a queue in a file is written by other processes, which wake this one through a socket:"
                            + " create(described, socket)",
                    assertThrows(IllegalArgumentException.class, create).getMessage());
        }
        Path socket = folder.resolve("cq.sock");
        assertEquals(
                "a queue that is in no file needs no socket, for no other process writes to it: create(described)",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> channel.create(CompletionQueue.ofCapacity(8), socket))
                        .getMessage());
        CompletionChannel ofOne = CompletionChannel.ofQueues(1);
        CompletionQueue.Builder wrong =
                CompletionQueue.ofCapacity(8).memory(file).merging();
        assertThrows(IllegalArgumentException.class, () -> ofOne.create(wrong, socket));
        assertFalse(Files.exists(socket), "taken away again");
        assertEquals(0, ofOne.create(builder, socket).number(), "the number is free again, and the socket");
        assertTrue(Files.exists(socket));
        ofOne.close();
        assertFalse(Files.exists(socket));
    }

    /** The row "events": in a file too, with one writer and many, one poller and many. */
    @Test
    void shouldWakeThroughASocket() throws Exception {
        for (int writers : new int[] {1, 3}) {
            for (boolean shared : new boolean[] {false, true}) {
                QueueMemory file = QueueMemory.create(
                        folder.resolve("cq" + writers + shared), CompletionQueue.requiredBytes(8, 64, writers));
                Path socket = folder.resolve("sock" + writers + shared);
                CompletionQueue.Builder builder =
                        CompletionQueue.ofCapacity(8).writers(writers).memory(file);
                CompletionQueue queue = channel.create(shared ? builder.sharedPollers() : builder, socket);
                Aside<Boolean> waiter = Aside.call(() -> shared
                                ? channel.await(queue.newPoller(), 60, SECONDS)
                                : channel.await(queue, 60, SECONDS))
                        .untilItWaits();
                try (WakeupSender sender = WakeupSender.to(socket)) {
                    CompletionQueue other = CompletionQueue.attach(file, sender, 0);
                    if (writers == 1) {
                        assertTrue(other.writer().write(0, 7, 0, 0, 0));
                    } else {
                        try (SharedWriter writer = other.newWriter()) {
                            assertTrue(writer.write(0, 7, 0, 0, 0));
                        }
                    }
                    assertTrue(waiter.result());
                }
                queue.close();
            }
        }
    }
}
