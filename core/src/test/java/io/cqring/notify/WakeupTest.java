package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqAttachException;
import io.cqring.cq.EventSink;
import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Waking through a socket, both ends in this process; WakeupIT does it with real ones. */
@SuppressWarnings("try") // the close in the middle is what is tested
@Timeout(120)
class WakeupTest {
    private final CompletionChannel channel = CompletionChannel.ofQueues(4);

    @TempDir
    private Path folder;

    private int files;
    private Path socket;
    private QueueMemory memory;

    @AfterEach
    void close() {
        channel.close();
    }

    private CompletionQueue queue(boolean shared) throws IOException {
        files++;
        socket = folder.resolve("queue" + files + ".sock");
        memory = QueueMemory.create(folder.resolve("queue" + files), CompletionQueue.requiredBytes(8, 64));
        CompletionQueue.Builder builder = CompletionQueue.ofCapacity(8).memory(memory);
        return channel.create(shared ? builder.sharedPollers() : builder, socket);
    }

    private CompletionQueue queue() throws IOException {
        return queue(false);
    }

    private CompletionQueue writerOf(WakeupSender sender) {
        return CompletionQueue.attach(memory, sender, 0);
    }

    private static void write(CompletionQueue queue) {
        assertTrue(queue.writer().write(0, 1, 0, 0, 0));
    }

    private Aside<Boolean> awaiting(CompletionQueue queue) {
        return Aside.call(() -> await(channel, queue)).untilItWaits();
    }

    /** Waits, and lets another thread poll. */
    private static boolean await(CompletionChannel channel, CompletionQueue queue) throws InterruptedException {
        return thenRelease(queue, () -> channel.await(queue, 1, DAYS));
    }

    /** A wait of the queue's poller. */
    private interface Wait {
        boolean run() throws InterruptedException;
    }

    private static boolean thenRelease(CompletionQueue queue, Wait wait) throws InterruptedException {
        try {
            return wait.run();
        } finally {
            queue.releasePoller();
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // one core
    private void untilConnected(CompletionQueue queue, int count) {
        while (channel.connectedSenders(queue) != count) {
            Thread.yield();
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // one core
    private void untilDeparted(CompletionQueue queue, long count) {
        while (channel.departedSenders(queue) != count) {
            Thread.yield();
        }
    }

    private static List<Thread> listeners() {
        List<Thread> found = new ArrayList<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().startsWith("cqring-wakeups-")) {
                found.add(thread);
            }
        }
        return found;
    }

    // ---- Waking

    @Test
    void shouldWakeForAnEntryAndAskForNoByteWhileAwake() throws Exception {
        CompletionQueue queue = queue();
        try (WakeupSender sender = WakeupSender.to(socket)) {
            assertTrue(sender.isConnected());
            CompletionQueue writer = writerOf(sender);
            for (int i = 0; i < 100; i++) {
                Aside<Boolean> waiter = awaiting(queue);
                write(writer);
                assertTrue(waiter.result());
                for (int more = 0; more < 5; more++) {
                    write(writer);
                }
                assertEquals(6, take(queue));
            }
            // One that wakes, and one for the arm with which the waiter looked again, which may be the next round's.
            long events = queue.events();
            assertTrue(events >= 100 && events <= 200, "events for 600 entries: " + events);
            assertEquals(0, sender.lost());
            assertEquals(1, sender.connections());
            assertEquals(0, channel.departedSenders(queue));
            assertEquals(1, channel.connectedSenders(queue));
            assertEquals(0, channel.spuriousEvents());
        }
    }

    private static int take(CompletionQueue queue) {
        int taken = queue.poll(entry -> {}, 8);
        queue.releasePoller();
        return taken;
    }

    /** The socket does not stand in the way of a writer of this process. */
    @Test
    void shouldWakeForAWriterOfThisProcessToo() throws Exception {
        CompletionQueue queue = queue();
        Aside<Boolean> waiter = awaiting(queue);
        write(queue);
        assertTrue(waiter.result());
    }

    @Test
    void shouldBeWokenThroughASelector() throws Exception {
        CompletionQueue queue = queue();
        try (Selector selector = Selector.open();
                WakeupSender sender = WakeupSender.to(socket)) {
            CompletionQueue writer = writerOf(sender);
            SelectableChannel source = channel.selectable();
            source.register(selector, SelectionKey.OP_READ);
            for (int i = 0; i < 20; i++) {
                assertFalse(queue.arm(ArmMode.NEXT));
                while (channel.getEvent(0, SECONDS) != null) {
                    channel.ack(queue, 1);
                }
                selector.selectedKeys().clear();
                selector.selectNow();
                selector.selectedKeys().clear();
                write(writer);
                assertEquals(1, selector.select(60_000), "the selector was not woken");
                assertSame(queue, channel.getEvent(0, SECONDS));
                channel.ack(queue, 1);
                assertEquals(1, queue.poll(entry -> {}, 8));
            }
            assertNull(channel.getEvent(0, SECONDS));
            selector.selectedKeys().clear();
            selector.selectNow();
            selector.selectedKeys().clear();
            sender.close();
            assertEquals(1, selector.select(60_000), "the selector was not told that the sender has left");
            assertSame(queue, channel.getEvent(0, SECONDS));
            assertEquals(1, channel.departedSenders(queue));
        }
    }

    @Test
    void shouldWakeWhoWaitsForAnyQueue() throws Exception {
        CompletionQueue first = queue();
        CompletionQueue second = queue();
        try (WakeupSender sender = WakeupSender.to(socket)) {
            assertFalse(first.arm(ArmMode.NEXT));
            assertFalse(second.arm(ArmMode.NEXT));
            CompletionQueue writer = writerOf(sender);
            Aside<CompletionQueue> waiter =
                    Aside.call(() -> channel.getEvent(1, DAYS)).untilItWaits();
            write(writer);
            assertSame(second, waiter.result());
            waiter = Aside.call(() -> channel.getEvent(1, DAYS)).untilItWaits();
            sender.close();
            assertSame(second, waiter.result());
            assertEquals(1, second.poll(entry -> {}, 8));
        }
    }

    /** A close in the writer's process is one here: the waiter learns of it. */
    @Test
    void shouldWakeWhenTheOtherProcessClosesTheQueue() throws Exception {
        CompletionQueue queue = queue();
        try (WakeupSender sender = WakeupSender.to(socket)) {
            CompletionQueue writer = writerOf(sender);
            Aside<Boolean> waiter = awaiting(queue);
            writer.close();
            assertEquals(
                    "completion queue is closed",
                    waiter.failure(IllegalStateException.class).getMessage());
        }
    }

    // ---- A peer that is gone

    @Test
    void shouldSayOnceThatASenderHasLeftAfterItsEntries() throws Exception {
        CompletionQueue queue = queue();
        for (int round = 1; round <= 5; round++) {
            WakeupSender sender = WakeupSender.to(socket);
            CompletionQueue writer = writerOf(sender);
            untilConnected(queue, 1);
            for (int i = 0; i < round; i++) {
                write(writer);
            }
            sender.close();
            untilDeparted(queue, round);
            writer.writer().release();
            for (int i = 0; i < round; i++) {
                assertTrue(channel.await(queue, 1, DAYS));
                assertEquals(1, queue.poll(entry -> {}, 1), "entries first");
            }
            assertTrue(channel.await(queue, 1, DAYS));
            assertEquals(0, queue.poll(entry -> {}, 1));
            assertEquals(0, channel.connectedSenders(queue));
            assertFalse(channel.await(queue, 1, MILLISECONDS), "said once");
            sender.close();
            assertFalse(channel.await(queue, 1, MILLISECONDS));
        }
    }

    @Test
    void shouldWakeAllThatWaitWhenASenderLeaves() throws Exception {
        CompletionQueue queue = queue(true);
        WakeupSender sender = WakeupSender.to(socket);
        List<Aside<Boolean>> waiters = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            waiters.add(Aside.call(() -> {
                CompletionPoller poller = queue.newPoller();
                return channel.await(poller, 1, DAYS);
            }));
        }
        waiters.forEach(Aside::untilItWaits);
        untilConnected(queue, 1);
        sender.close();
        for (Aside<Boolean> waiter : waiters) {
            assertTrue(waiter.result());
        }
        assertFalse(channel.await(queue.newPoller(), 1, MILLISECONDS));
    }

    @Test
    void shouldEndOtherWaitsWhenASenderLeaves() throws Exception {
        CompletionQueue queue = queue();
        WakeupSender one = WakeupSender.to(socket);
        untilConnected(queue, 1);
        Aside<Boolean> atLeast = Aside.call(() -> thenRelease(queue, () -> channel.awaitAtLeast(queue, 8, 1, 1, DAYS)))
                .untilItWaits();
        one.close();
        assertTrue(atLeast.result());

        WakeupSender two = WakeupSender.to(socket);
        untilConnected(queue, 1);
        CompletionQueue ofTwo = writerOf(two);
        write(ofTwo);
        ofTwo.writer().release();
        Aside<Boolean> moderated = Aside.call(() ->
                        thenRelease(queue, () -> channel.awaitModerated(queue, Moderation.ofMicros(8, 0), 1, DAYS)))
                .untilItWaits();
        two.close();
        assertTrue(moderated.result());
        assertEquals(1, take(queue));
        assertTrue(await(channel, queue), "and then it is said");

        // It has left before the wait begins: with an entry, and with none.
        for (int entries = 1; entries >= 0; entries--) {
            WakeupSender three = WakeupSender.to(socket);
            untilConnected(queue, 1);
            CompletionQueue writer = writerOf(three);
            for (int i = 0; i < entries; i++) {
                writer.writer().write(0, 1, 0, 0, 0);
                writer.writer().release();
            }
            three.close();
            untilDeparted(queue, 4 - entries);
            assertTrue(thenRelease(queue, () -> channel.awaitModerated(queue, Moderation.ofMicros(8, 0), 1, DAYS)));
            assertEquals(entries, take(queue));
            if (entries == 1) {
                assertTrue(await(channel, queue));
            }
        }
    }

    /** It published past the arm, and was killed before it could send the byte: the end of its connection wakes. */
    @Test
    void shouldWakeForAnEntryThatNobodyToldOf() throws Exception {
        for (boolean answered : new boolean[] {true, false}) {
            CompletionQueue queue = queue();
            try (WakeupSender sender = WakeupSender.to(socket)) { // of another process, which has written nothing yet
                Aside<Boolean> waiter;
                try (SocketChannel silent = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
                    untilConnected(queue, 2);
                    waiter = awaiting(queue);
                    if (answered) {
                        CompletionQueue killed = CompletionQueue.attach(memory, new Deaf(), 0);
                        write(killed);
                        killed.writer().release();
                    } else { // an entry by hand, as a writer that had not looked at the arm word yet leaves it
                        memory.putLongRelease(384, 1);
                    }
                    assertTrue(waiter.thread.isAlive());
                }
                assertTrue(waiter.result());
                assertEquals(1, take(queue));
                // The departure was seen together with the entry: it is still to be told.
                assertTrue(await(channel, queue));
                CompletionQueue writer = writerOf(sender);
                Aside<Boolean> again = awaiting(queue);
                write(writer);
                assertTrue(again.result(), "the next arm is answered");
            }
        }
    }

    /** An event sink that tells nobody. */
    private static final class Deaf implements EventSink {
        @Override
        public void completion(int cqNumber) {}

        @Override
        public void overrun(int cqNumber, boolean dead) {}
    }

    // ---- A listener that is gone

    /** The writer answers an arm of a listener that is gone; the next one takes the answer, and the sender finds it by itself. */
    @Test
    void shouldFindTheNextListener() throws Exception {
        CompletionQueue queue = queue();
        try (WakeupSender sender = WakeupSender.to(socket)) {
            CompletionQueue writer = writerOf(sender);
            CompletionChannel now = channel;
            for (int round = 1; round <= 4; round++) {
                assertFalse(queue.arm(ArmMode.NEXT));
                queue.releasePoller();
                now.close();
                write(writer);
                assertEquals(round, sender.lost(), "nobody was there");
                assertFalse(sender.isConnected());
                now = CompletionChannel.ofQueues(1);
                queue = now.attach(memory, socket);
                assertTrue(now.await(queue, 1, DAYS));
                assertEquals(1, queue.poll(entry -> {}, 8));
                assertFalse(now.await(queue, 0, SECONDS));
                queue.releasePoller();
                assertEquals(0, now.connectedSenders(queue));
                CompletionChannel then = now;
                CompletionQueue its = queue;
                Aside<Boolean> waiter = Aside.call(() -> await(then, its)).untilItWaits();
                write(writer); // connects
                assertTrue(waiter.result());
                assertEquals(1 + round, sender.connections());
                assertEquals(1, take(queue));
            }
            now.close();
        }
    }

    @Test
    void shouldConnectWhenAsked() throws Exception {
        queue();
        Path later = folder.resolve("later.sock");
        try (WakeupSender sender = WakeupSender.to(later)) {
            assertFalse(sender.isConnected());
            assertFalse(sender.connect());
            sender.completion(0);
            assertEquals(1, sender.lost());
            channel.close();
            try (CompletionChannel other = CompletionChannel.ofQueues(1)) {
                CompletionQueue again = other.attach(memory, later);
                assertTrue(sender.connect());
                assertTrue(sender.connect(), "still");
                assertEquals(1, sender.connections());
                while (other.connectedSenders(again) == 0) {
                    Thread.onSpinWait();
                }
                sender.close();
                assertFalse(sender.connect());
                sender.completion(0);
                assertEquals(2, sender.lost());
                assertTrue(other.await(again, 1, DAYS));
            }
        }
    }

    /** What does not read is not waited for. */
    @Test
    void shouldNotWaitForAListenerThatDoesNotRead() throws Exception {
        Path stuck = folder.resolve("stuck.sock");
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(stuck));
            try (WakeupSender sender = WakeupSender.to(stuck);
                    SocketChannel connection = server.accept()) {
                for (int i = 0; i < 1_000_000; i++) {
                    sender.completion(0);
                }
                assertEquals(0, sender.lost());
                ByteBuffer all = ByteBuffer.allocate(1 << 20);
                connection.configureBlocking(false);
                while (connection.read(all) > 0) {
                    // until it is empty
                }
                assertTrue(all.position() > 0 && all.position() < 1_000_000, "it was full, or this shows nothing");
                connection.close();
                sender.completion(0); // its place in the backlog is taken by a new connection
                assertEquals(0, sender.lost());
                assertEquals(2, sender.connections());
                server.close();
                sender.completion(0);
                sender.completion(0);
                assertEquals(2, sender.lost());
            }
        }
        Files.delete(stuck);
    }

    /** An interrupted writer's channel must not be closed under it. */
    @Test
    void shouldNotMindAnInterrupt() throws Exception {
        CompletionQueue queue = queue();
        try (WakeupSender sender = WakeupSender.to(socket)) {
            CompletionQueue writer = writerOf(sender);
            for (int i = 0; i < 3; i++) {
                Aside<Boolean> waiter = awaiting(queue);
                Thread.currentThread().interrupt();
                write(writer);
                assertTrue(Thread.interrupted());
                assertTrue(waiter.result());
                assertEquals(1, take(queue));
            }
            assertEquals(1, sender.connections());
        }
    }

    /** Several threads raise, and the listener comes and goes: nothing throws, each sleep ends. */
    @Test
    void shouldStandManyThreadsAtOnce() throws Exception {
        Path path = folder.resolve("many.sock");
        try (WakeupSender sender = WakeupSender.to(path)) {
            AtomicInteger raised = new AtomicInteger();
            List<Aside<Void>> threads = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                threads.add(Aside.call(() -> {
                    for (int n = 0; n < 20_000; n++) {
                        sender.completion(0);
                        raised.incrementAndGet();
                    }
                    return null;
                }));
            }
            QueueMemory file = QueueMemory.create(folder.resolve("many"), CompletionQueue.requiredBytes(8, 64));
            for (int i = 0; i < 20; i++) {
                try (CompletionChannel listening = CompletionChannel.ofQueues(1)) {
                    if (i == 0) {
                        listening.create(CompletionQueue.ofCapacity(8).memory(file), path);
                    } else {
                        listening.attach(file, path);
                    }
                    assertThrows(
                            IllegalStateException.class,
                            () -> CompletionChannel.ofQueues(1).attach(file, path));
                }
            }
            for (Aside<Void> thread : threads) {
                thread.result();
            }
            assertEquals(60_000, raised.get());
            assertFalse(sender.connect(), "nobody listens any more");
        }
    }

    // ---- Misuse

    @Test
    void shouldRefuseAPathThatCannotBeASocket() throws Exception {
        QueueMemory file = QueueMemory.create(folder.resolve("file"), CompletionQueue.requiredBytes(8, 64));
        CompletionQueue.Builder builder = CompletionQueue.ofCapacity(8).memory(file);
        Path tooLong = folder.resolve("x".repeat(120));
        int bytes = tooLong.toString().length();
        String why = "path of a socket must be of at most 100 bytes: " + bytes + " in " + tooLong;
        assertEquals(
                why,
                assertThrows(IllegalArgumentException.class, () -> channel.create(builder, tooLong))
                        .getMessage());
        assertEquals(
                why,
                assertThrows(IllegalArgumentException.class, () -> WakeupSender.to(tooLong))
                        .getMessage());
        Path nowhere = folder.resolve("none").resolve("s.sock");
        why = nowhere + ": the folder of the socket does not exist";
        assertEquals(
                why,
                assertThrows(NoSuchFileException.class, () -> channel.create(builder, nowhere))
                        .getMessage());
        assertEquals(
                why,
                assertThrows(NoSuchFileException.class, () -> WakeupSender.to(nowhere))
                        .getMessage());
        Path text = Files.writeString(folder.resolve("text"), "mine");
        for (Path taken : List.of(text, folder)) {
            why = taken + ": is a file or a folder, not a socket";
            assertEquals(
                    why,
                    assertThrows(FileSystemException.class, () -> channel.create(builder, taken))
                            .getMessage());
            assertEquals(
                    why,
                    assertThrows(FileSystemException.class, () -> WakeupSender.to(taken))
                            .getMessage());
        }
        assertEquals("mine", Files.readString(text));
        assertEquals(0, file.getLong(0), "no queue was made");
        assertEquals(List.of(), listeners());
        channel.create(builder, folder.resolve("ok.sock"));
    }

    @Test
    void shouldReplaceADeadSocketAndRefuseALivingOne() throws Exception {
        QueueMemory file = QueueMemory.create(folder.resolve("file"), CompletionQueue.requiredBytes(8, 64));
        CompletionQueue.Builder builder = CompletionQueue.ofCapacity(8).memory(file);
        Path path = folder.resolve("s.sock");
        ServerSocketChannel stranger = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        stranger.bind(UnixDomainSocketAddress.of(path));
        String why = assertThrows(FileSystemException.class, () -> channel.create(builder, path))
                .getMessage();
        assertTrue(why.startsWith(path + ": somebody else listens at this socket"), why);
        stranger.close(); // leaves the file
        assertTrue(Files.exists(path));
        CompletionQueue queue = channel.create(builder, path);
        String refused = assertThrows(
                        IllegalStateException.class,
                        () -> CompletionChannel.ofQueues(1).attach(file, path))
                .getMessage();
        assertTrue(refused.startsWith("completion queue has one host, this process"), refused);
        Aside<Boolean> waiter = awaiting(queue);
        try (WakeupSender sender = WakeupSender.to(path)) {
            write(CompletionQueue.attach(file, sender, 0));
            assertTrue(waiter.result(), "the refusal has disturbed nobody");
        }
    }

    @Test
    void shouldRefuseToSleepOnAQueueWithoutEvents() throws Exception {
        QueueMemory file = QueueMemory.create(folder.resolve("file"), CompletionQueue.requiredBytes(8, 64));
        Path path = folder.resolve("s.sock");
        assertTrue(assertThrows(CqAttachException.class, () -> channel.attach(file, path))
                .isUnfinished());
        CompletionQueue.ofCapacity(8).memory(file).create();
        assertEquals(
                "cannot attach " + file + ": the queue was made without events",
                assertThrows(CqAttachException.class, () -> channel.attach(file, path))
                        .getMessage());
        assertFalse(Files.exists(path));
        assertEquals(List.of(), listeners());
    }

    // ---- Life

    @Test
    void shouldEndItsThreadAndTakeItsSocketAway() throws Exception {
        CompletionQueue first = queue();
        Path ofFirst = socket;
        CompletionQueue second = queue();
        List<Thread> threads = listeners();
        assertEquals(2, threads.size());
        for (Thread thread : threads) {
            assertTrue(thread.isDaemon());
        }
        WakeupSender sender = WakeupSender.to(ofFirst);
        untilConnected(first, 1);
        assertTrue(channel.destroy(first, 1, SECONDS));
        assertFalse(Files.exists(ofFirst));
        assertTrue(Files.exists(socket));
        sender.completion(0);
        assertEquals(1, sender.lost());
        assertEquals(1, listeners().size());
        channel.close();
        channel.close();
        assertFalse(Files.exists(socket));
        assertEquals(List.of(), listeners());
        assertFalse(second.isClosed());
        assertTrue(channel.destroy(second, 0, SECONDS));
    }

    /** Nobody spins: neither the listener nor who waits takes processor time while nothing comes. */
    @Test
    void shouldTakeNoProcessorTimeWhileNothingComes() throws Exception {
        CompletionQueue queue = queue();
        try (WakeupSender sender = WakeupSender.to(socket)) {
            untilConnected(queue, 1);
            awaiting(queue);
            Thread listener = listeners().get(0);
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            long before = threads.getThreadCpuTime(listener.getId());
            Thread.sleep(500);
            long used = threads.getThreadCpuTime(listener.getId()) - before;
            assertTrue(used < 100_000_000, "nanoseconds in half a second: " + used);
        }
    }
}
