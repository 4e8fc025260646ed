package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.EventSink;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.SteppedMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Peers that come, publish and go at moments that a test of two processes does not meet. */
@Timeout(60)
class WakeupMomentsTest {
    private final CompletionChannel channel = CompletionChannel.ofQueues(1);

    @TempDir
    private Path folder;

    @AfterEach
    void close() {
        channel.close();
    }

    private QueueMemory file() throws IOException {
        return QueueMemory.create(folder.resolve("queue"), CompletionQueue.requiredBytes(8, 64));
    }

    private Path socket() {
        return folder.resolve("queue.sock");
    }

    private SocketChannel connect() {
        try {
            return SocketChannel.open(UnixDomainSocketAddress.of(socket()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void until(BooleanSupplier holds) {
        while (!holds.getAsBoolean()) {
            Thread.onSpinWait();
        }
    }

    /** An event sink that tells nobody. */
    private static final class Deaf implements EventSink {
        @Override
        public void completion(int cqNumber) {}

        @Override
        public void overrun(int cqNumber, boolean dead) {}
    }

    private static void write(QueueMemory file) {
        CompletionQueue queue = CompletionQueue.attach(file, new Deaf(), 0);
        assertTrue(queue.writer().write(0, 1, 0, 0, 0));
        queue.writer().release();
    }

    /** The arm is answered while no sender is connected: the mere connection wakes, before a byte, and without one. */
    @Test
    void shouldLookWhenASenderConnects() throws Exception {
        QueueMemory file = file();
        CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(8).memory(file), socket());
        Aside<Boolean> waiter = Aside.call(() -> {
                    boolean ready = channel.await(queue, 1, DAYS);
                    queue.releasePoller();
                    return ready;
                })
                .untilItWaits();
        write(file);
        assertEquals(1, queue.events());
        assertEquals(0, channel.events(), "nobody has told of it");
        try (SocketChannel silent = connect()) {
            assertTrue(waiter.result());
            assertTrue(silent.isConnected());
        }
        assertEquals(1, channel.events());
        assertEquals(1, queue.poll(entry -> {}, 8));
    }

    /**
     * A sender publishes and leaves during a look, at each access of it in turn: the entry comes first, and then that it has left. Without an
     * entry the departure comes alone.
     */
    @Test
    void shouldSayThatASenderHasLeftAfterWhatItPublishedDuringTheLook() throws Exception {
        QueueMemory file = file();
        SteppedMemory stepped = new SteppedMemory(file);
        CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(8).memory(stepped), socket());
        int accesses = accesses(stepped, queue);
        for (int access = 0; access <= accesses; access++) { // just before each, and after the last
            for (int entries = 0; entries <= 1; entries++) {
                String what = "before access " + access + " of " + accesses + ", entries " + entries;
                SocketChannel peer = connect();
                until(() -> channel.connectedSenders(queue) == 1);
                at(
                        stepped,
                        access,
                        accesses,
                        entries == 0
                                ? () -> leave(queue, peer)
                                : () -> {
                                    write(file);
                                    leave(queue, peer);
                                });
                for (int i = 0; i < entries; i++) {
                    assertTrue(channel.await(queue, 1, DAYS), what);
                    assertEquals(1, queue.poll(entry -> {}, 8), what);
                }
                // With an entry it had left by then, so nothing is to be waited for.
                assertTrue(channel.await(queue, 1 - entries, DAYS), what + ": it has left");
                assertEquals(0, queue.poll(entry -> {}, 8), what);
                assertFalse(channel.await(queue, 0, SECONDS), what + ": said once");
                stepped.unhook();
                assertEquals(0, channel.connectedSenders(queue), what + ": nothing was put in between");
            }
        }
    }

    /** The accesses of a look that finds nothing. */
    private int accesses(SteppedMemory stepped, CompletionQueue queue) throws InterruptedException {
        assertFalse(channel.await(queue, 0, SECONDS));
        int[] seen = {0};
        stepped.hook((done, offset, stores) -> seen[0] += done ? 1 : 0);
        assertFalse(channel.await(queue, 0, SECONDS));
        stepped.unhook();
        return seen[0];
    }

    /** Runs something once, just before the access with this number, or just after the last. */
    private static void at(SteppedMemory stepped, int access, int accesses, Runnable what) {
        int[] seen = {0};
        stepped.hook((done, offset, stores) -> {
            if (done == (access == accesses) && seen[0]++ == Math.min(access, accesses - 1)) {
                stepped.unhook();
                what.run();
            }
        });
    }

    private void leave(CompletionQueue queue, SocketChannel peer) {
        long before = channel.departedSenders(queue);
        try {
            peer.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        until(() -> channel.departedSenders(queue) != before);
    }
}
