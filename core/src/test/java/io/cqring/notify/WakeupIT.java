package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.ChildJvm;
import io.cqring.testing.Standby;
import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A writer in one JVM, a sleeper in another, either killed by SIGKILL. Seeds repeat what is written and when a kill is planned, not the
 * moment at which the system stops a process. {@code -Dcqring.test.wakeup.kills}: how many of each.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES) // turns a hang into a failure
class WakeupIT {
    private static final int KILLS = Integer.getInteger("cqring.test.wakeup.kills", 100);
    private static final int ENTRIES = 100_000;
    private static final int CAPACITY = 64;

    @TempDir
    private Path folder;

    private Standby standby;
    private final CompletionChannel channel = CompletionChannel.ofQueues(1);
    private Path file;
    private Path socket;
    private QueueMemory memory;
    private int ledgers;
    private Path ledgerFile;
    private QueueMemory ledger;

    /** Next id that is expected, here. */
    private long next;

    @BeforeEach
    void openStandby() {
        standby = new Standby(folder, 2, WakeupVictim.class, false);
    }

    @AfterEach
    void end() throws IOException {
        standby.close();
        channel.close();
    }

    private ChildJvm victim() throws IOException {
        ChildJvm victim = standby.next();
        ledgerFile = folder.resolve("ledger" + ledgers++);
        ledger = QueueMemory.create(ledgerFile, WakeupVictim.LEDGER_BYTES);
        return victim;
    }

    private void send(ChildJvm victim, String role, long first, long count, long seed) throws IOException {
        victim.send(role + " " + file + " " + socket + " " + ledgerFile + " " + first + " " + count + " " + seed);
    }

    private CompletionQueue create() throws IOException {
        file = folder.resolve("queue");
        socket = folder.resolve("queue.sock");
        memory = QueueMemory.create(file, CompletionQueue.requiredBytes(CAPACITY, 64));
        return channel.create(CompletionQueue.ofCapacity(CAPACITY).memory(memory), socket);
    }

    private static SplittableRandom random(String test) {
        long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        System.out.println("WakeupIT, " + test + ": seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        return new SplittableRandom(seed);
    }

    private int take(CompletionQueue queue) {
        return queue.poll(entry -> assertEquals(next++, entry.workRequestId(), "in order, none lost, none twice"), 16);
    }

    private long word(int offset) {
        return ledger.getLongAcquire(offset);
    }

    /** The time-out of the class interrupts us. */
    private static void requireTime() {
        assertFalse(Thread.currentThread().isInterrupted(), "hangs");
    }

    @SuppressWarnings("ThreadPriorityCheck") // the child needs a core
    private void until(ChildJvm child, int offset, long value) throws IOException {
        while (word(offset) < value) {
            Thread.yield();
            requireTime();
            assertTrue(child.isAlive() || word(offset) >= value, child.errors());
        }
    }

    @Test
    void noSleeperIsLeftBesideAnEntry() throws Exception {
        SplittableRandom random = random("none lost");
        CompletionQueue queue = create();
        long sleeps = 0;
        try (ChildJvm writer = victim()) {
            send(writer, "writer", 0, ENTRIES, random.nextLong());
            while (next != ENTRIES) {
                assertTrue(channel.await(queue, 1, TimeUnit.DAYS)); // a sleep beside an entry: the test hangs
                take(queue);
            }
            sleeps = channel.events();
            until(writer, WakeupVictim.DONE, 1);
            assertEquals(0, word(WakeupVictim.LOST));
        }
        assertTrue(channel.await(queue, 1, TimeUnit.DAYS), "the writer's end");
        assertEquals(0, take(queue));
        assertEquals(1, channel.departedSenders(queue));
        System.out.println("WakeupIT: " + ENTRIES + " entries, woken through the socket " + sleeps
                + " times, the queue full " + word(WakeupVictim.REFUSED) + " times");
        assertTrue(sleeps > 100, "too few sleeps to show anything: " + sleeps);
    }

    @Test
    void aKilledWriterIsAResult() throws Exception {
        SplittableRandom random = random("killed writers");
        CompletionQueue queue = create();
        long moved = 0;
        int unacknowledged = 0;
        for (int kill = 0; kill < KILLS; kill++) {
            long first = next;
            ChildJvm writer = victim();
            send(writer, "writer", first, Long.MAX_VALUE / 2 - first, random.nextLong());
            long enough = first + random.nextInt(2000);
            long delay = random.nextInt(3_000_000);
            ChildJvm dying = writer;
            QueueMemory its = ledger;
            Thread killer = new Thread(() -> {
                while (its.getLongAcquire(WakeupVictim.PLAYING) == 0
                        || its.getLongAcquire(WakeupVictim.PROGRESS) < enough) {
                    LockSupport.parkNanos(20_000);
                }
                LockSupport.parkNanos(delay);
                dying.kill();
            });
            killer.start();
            boolean told = false;
            while (!told) {
                assertTrue(channel.await(queue, 1, TimeUnit.DAYS));
                told = take(queue) == 0;
                assertTrue(!told || channel.departedSenders(queue) == kill + 1, "woken for nothing");
            }
            killer.join();
            assertFalse(channel.await(queue, 0, TimeUnit.SECONDS), "told once");
            assertEquals(0, take(queue));
            assertEquals(0, channel.connectedSenders(queue));
            long acknowledged = Math.max(first, word(WakeupVictim.PROGRESS));
            assertTrue(next >= acknowledged, "published and gone: " + acknowledged + " > " + next);
            unacknowledged += next > acknowledged ? 1 : 0;
            moved += next - first;
            writer.close();
        }
        System.out.println("WakeupIT: " + KILLS + " killed writers, " + moved
                + " entries, unfinished calls that had published " + unacknowledged);
    }

    @Test
    void aKilledPollerIsFollowedByAnother() throws Exception {
        SplittableRandom random = random("killed pollers");
        create();
        channel.close(); // the pollers are in other processes
        WakeupSender sender = WakeupSender.to(socket);
        CompletionQueue queue = CompletionQueue.attach(memory, sender, 0);
        CompletionWriter writer = queue.writer();
        long written = 0;
        long refused = 0;
        long again = 0;
        for (int kill = 0; kill <= KILLS; kill++) {
            boolean last = kill == KILLS;
            long first = queue.consumerSequence();
            long end = last ? written + 1000 : Long.MAX_VALUE / 2;
            try (ChildJvm poller = victim()) {
                send(poller, "poller", first, end - first, 0);
                long enough = first + random.nextInt(2000);
                long idle = random.nextInt(4); // none waits for the kill in its sleep, or it does
                while (last
                        ? written != end
                        : word(WakeupVictim.PLAYING) == 0 || word(WakeupVictim.PROGRESS) < enough) {
                    if (writer.write(0, written, 0, 0, 0)) {
                        written++;
                        pause(random);
                    } else {
                        refused++;
                        LockSupport.parkNanos(20_000);
                        requireTime(); // the poller sleeps beside a full ring?
                        assertTrue(poller.isAlive(), poller.errors());
                    }
                }
                if (last) {
                    until(poller, WakeupVictim.DONE, 1);
                    assertEquals(end, word(WakeupVictim.PROGRESS));
                } else {
                    if (idle == 0) {
                        until(poller, WakeupVictim.PROGRESS, written); // it sleeps, or is about to
                    }
                    poller.kill();
                }
                assertEquals(0, word(WakeupVictim.FAULT));
            }
            long handled = Math.max(first, word(WakeupVictim.PROGRESS));
            again += handled - queue.consumerSequence();
            assertTrue(queue.consumerSequence() <= handled, "given back and not handled");
            assertTrue(handled - queue.consumerSequence() <= 16, "more than one call's entries come again");
            for (int i = 0; i < 2 * CAPACITY; i++) { // nobody polls: the writer is refused, and goes on
                boolean took = writer.write(0, written, 0, 0, 0);
                assertEquals(written - queue.consumerSequence() < CAPACITY, took);
                written += took ? 1 : 0;
            }
        }
        System.out.println("WakeupIT: " + KILLS + " killed pollers, " + written + " entries, refused " + refused
                + " times, handled again " + again + ", events that found nobody " + sender.lost() + ", connections "
                + sender.connections());
        sender.close();
    }

    private static void pause(SplittableRandom random) {
        if (random.nextInt(16) == 0) {
            LockSupport.parkNanos(random.nextInt(200_000));
        }
    }
}
