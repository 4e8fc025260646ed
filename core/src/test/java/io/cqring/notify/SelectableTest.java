package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
import io.cqring.testing.FieldBug;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A selector that waits for events. */
@Timeout(180)
class SelectableTest {
    private final CompletionChannel channel = CompletionChannel.ofQueues(4);
    private final CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(8));
    private SelectableChannel source;
    private Selector selector;

    @BeforeEach
    void open() throws Exception {
        selector = Selector.open();
        source = channel.selectable();
        source.register(selector, SelectionKey.OP_READ);
        assertSame(source, channel.selectable());
        assertTrue(isReadable(), "what came before is to be looked at");
        assertNull(channel.getEvent(0, SECONDS));
        assertFalse(isReadable());
    }

    @AfterEach
    void close() throws IOException {
        channel.close();
        selector.close();
        source.close();
    }

    private boolean isReadable() throws IOException {
        boolean selected = selector.selectNow() != 0;
        selector.selectedKeys().clear();
        return selected;
    }

    private void select() throws IOException {
        assertEquals(1, selector.select(60_000), "the selector was not woken");
        selector.selectedKeys().clear();
    }

    private static void write(CompletionQueue queue) {
        assertTrue(queue.writer().write(0, 1, 0, 0, 0));
    }

    @Test
    void shouldPutOneByteAtMostIntoThePipe() throws Exception {
        CompletionQueue other = channel.create(CompletionQueue.ofCapacity(8));
        assertFalse(queue.arm(ArmMode.NEXT));
        assertFalse(other.arm(ArmMode.NEXT));
        write(queue);
        assertTrue(isReadable());
        write(other);
        write(queue);
        assertEquals(1, ((ReadableByteChannel) source).read(ByteBuffer.allocate(64)));
        assertEquals(0, ((ReadableByteChannel) source).read(ByteBuffer.allocate(64)));
    }

    @Test
    void shouldBeReadableOncePerEventAndQuietInBetween() throws Exception {
        for (int i = 0; i < 100; i++) {
            assertFalse(queue.arm(ArmMode.NEXT));
            assertFalse(isReadable());
            write(queue);
            select();
            assertSame(queue, channel.getEvent(0, SECONDS));
            assertNull(channel.getEvent(0, SECONDS));
            channel.ack(queue, 1);
            assertEquals(1, queue.poll(entry -> {}, 8));
        }
    }

    /** An interrupted thread that writes to a blocking pipe closes it. */
    @Test
    void shouldHearAWriterWhoseThreadIsInterrupted() throws Exception {
        for (int i = 0; i < 3; i++) {
            assertFalse(queue.arm(ArmMode.NEXT));
            Aside.call(() -> {
                        Thread.currentThread().interrupt();
                        write(queue);
                        assertTrue(Thread.currentThread().isInterrupted());
                        queue.writer().release();
                        return null;
                    })
                    .result();
            select();
            Thread.currentThread().interrupt();
            assertSame(queue, channel.getEvent(0, SECONDS));
            assertNull(channel.getEvent(0, SECONDS));
            assertTrue(Thread.interrupted());
            assertFalse(isReadable(), "nor is the pipe at its end");
            assertEquals(1, queue.poll(entry -> {}, 8));
        }
    }

    @Test
    void shouldEndWithTheChannel() throws Exception {
        Aside<Integer> loop = Aside.call(() -> selector.select(60_000));
        loop.untilItRuns();
        channel.close();
        assertEquals(1, loop.result());
        assertTrue(source.isOpen());
        assertThrows(IllegalStateException.class, () -> channel.getEvent(0, SECONDS));
        assertFalse(source.isOpen());
        write(queue); // nobody hears it
    }

    @Test
    void shouldLeaveWritersInPeaceIfSomebodyClosedThePipe() throws Exception {
        assertFalse(queue.arm(ArmMode.NEXT));
        source.close();
        write(queue);
        assertTrue(channel.await(queue, 0, SECONDS));
    }

    /** The selector looks while a waiter still watches, which then goes: the event queue must not be left unarmed. */
    @Test
    void shouldHearOfAnEventAfterAWaiterHasGone() throws Exception {
        CompletionQueue others = channel.create(CompletionQueue.ofCapacity(8));
        for (int i = 0; i < 300; i++) {
            assertFalse(queue.arm(ArmMode.NEXT));
            Aside<Integer> waiter = Aside.call(() -> {
                assertTrue(channel.await(others, 1, DAYS));
                return others.poll(entry -> {}, 8);
            });
            waiter.untilItWaits();
            write(others);
            assertNull(channel.getEvent(0, SECONDS));
            assertEquals(1, waiter.result());
            waiter.thread.join();
            while (isReadable()) {
                assertNull(channel.getEvent(0, SECONDS));
            }
            write(queue);
            select();
            assertSame(queue, channel.getEvent(0, SECONDS));
            assertNull(channel.getEvent(0, SECONDS));
            channel.ack(queue, 1);
            assertEquals(1, queue.poll(entry -> {}, 8));
        }
    }

    /** A selector loop, and another thread that waits for a queue of its own: it deals out the events of the selector's queue too. */
    @Test
    @FieldBug(45)
    @SuppressWarnings("ThreadPriorityCheck") // three threads on a busy two-core machine
    void shouldLoseNoEventOfASelectorBesideAWaiter() throws Exception {
        final int rounds = 5_000;
        CompletionQueue others = channel.create(CompletionQueue.ofCapacity(8));
        Aside<Void> waiter = Aside.call(() -> {
            for (int taken = 0; taken != rounds; ) {
                assertTrue(channel.await(others, 1, DAYS));
                taken += others.poll(entry -> {}, 8);
            }
            assertThrows(InterruptedException.class, () -> channel.await(others, 1, DAYS));
            return null;
        });
        Aside<Void> writer = Aside.call(() -> {
            for (int i = 0; i < rounds; i++) {
                while (!queue.writer().write(0, i, 0, 0, 0)) {
                    Thread.yield();
                }
                while (!others.writer().write(0, i, 0, 0, 0)) {
                    Thread.yield();
                }
                if (i % 3 == 0) { // let them get to sleep now and then
                    while (!queue.isEmpty() || !others.isEmpty()) {
                        Thread.yield();
                    }
                }
            }
            return null;
        });
        int taken = 0;
        long wakes = 0;
        boolean ready = queue.arm(ArmMode.NEXT);
        while (taken != rounds) {
            if (!ready) {
                select();
                wakes++;
                CompletionQueue got = channel.getEvent(0, SECONDS);
                while (got != null) {
                    channel.ack(got, 1);
                    got = channel.getEvent(0, SECONDS);
                }
            }
            int now = queue.poll(entry -> {}, 8);
            while (now != 0) {
                taken += now;
                now = queue.poll(entry -> {}, 8);
            }
            ready = queue.arm(ArmMode.NEXT);
        }
        writer.result();
        waiter.untilItWaits();
        waiter.thread.interrupt();
        waiter.result();
        // Not a hot loop: a wake-up is of an event, of either queue, or of a byte that was left when one was looked at.
        long woken = wakes;
        long events = channel.events();
        assertTrue(woken <= 4 * events + 4, () -> woken + " wake-ups for " + events + " events");
    }
}
