package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.memory.RoleLock;
import io.cqring.testing.Threads;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A thread that is interrupted takes, keeps and gives up roles of a queue in a file as any other, and stays interrupted. */
@Tag("bothroutes")
class InterruptedRoleTest {
    private static final long BYTES = 384 + 2 * 128 + 8 * 64;

    @TempDir
    private Path folder;

    private Path file() {
        return folder.resolve("queue");
    }

    private CompletionQueue queue(int writers) throws IOException {
        return new Shape(64, 8, 0)
                .builder()
                .writers(writers)
                .memory(QueueMemory.create(file(), BYTES))
                .create();
    }

    private static void interrupted(Runnable call) {
        Thread.currentThread().interrupt();
        try {
            call.run();
        } finally {
            assertTrue(Thread.interrupted(), "the interrupt is still there");
        }
    }

    @Test
    void shouldTakeARoleAndSayWhoHasIt() throws IOException {
        QueueMemory.create(file(), BYTES);
        interrupted(() -> {
            RoleLock lock = RoleLock.beside(file(), "test");
            lock.acquire();
            assertTrue(lock.isHeld());
            lock.release();
            assertTrue(lock.tryAcquire());
            lock.release();
        });
        String holder = Files.readString(folder.resolve("queue.test"));
        assertTrue(holder.startsWith(ProcessHandle.current().pid() + " "), holder);
    }

    @Test
    void shouldLetAnInterruptedThreadPlayBothEnds() throws IOException {
        CompletionQueue queue = queue(1);
        interrupted(() -> {
            assertTrue(queue.writer().write(0, 5, 0, 0, 0));
            assertEquals(1, queue.poll(entry -> assertEquals(5, entry.workRequestId()), 8));
            queue.writer().release();
            queue.releasePoller();
            assertTrue(queue.writer().write(0, 6, 0, 0, 0));
            assertEquals(1, queue.poll(entry -> assertEquals(6, entry.workRequestId()), 8));
        });
    }

    /** The case that leaked: a worker in a pool that is shut down, with its writer in a try. */
    @Test
    void shouldFreeThePlaceOfAWriterThatShutdownNowEnds() throws Exception {
        CompletionQueue queue = queue(2);
        ExecutorService pool = Executors.newFixedThreadPool(1);
        CountDownLatch writes = new CountDownLatch(1);
        Future<Long> worker = pool.submit(() -> {
            long written = 0;
            try (SharedWriter writer = queue.newWriter()) {
                while (!Thread.currentThread().isInterrupted()) {
                    written += writer.write(0, 0, 0, 0, 0) ? 1 : 0;
                    writes.countDown();
                }
                assertTrue(writer.write(0, 0, 0, 0, 0) || written == 8);
            }
            assertTrue(Thread.currentThread().isInterrupted());
            return written;
        });
        writes.await();
        pool.shutdownNow();
        assertTrue(worker.get() > 0);
        assertTrue(pool.awaitTermination(60, TimeUnit.SECONDS));
        queue.newWriter();
        queue.newWriter(); // both places were free, and nobody has called recover()
    }

    @Test
    void shouldOpenAndRecoverOnAnInterruptedThread() throws IOException {
        CompletionQueue queue = queue(2);
        Threads.run(spin -> assertTrue(queue.newWriter().claim(2)));
        interrupted(() -> {
            assertEquals(2, queue.recover());
            try (SharedWriter writer = queue.newWriter()) {
                assertTrue(writer.write(0, 0, 0, 0, 0));
            }
        });
    }

    /** A lock file that cannot be opened: close says so, has given up what it has, and the next recover frees the place. */
    @Test
    void shouldGiveUpWhatItCanIfTheRowsCannotBeLocked() throws IOException {
        CompletionQueue queue = queue(2);
        SharedWriter writer = queue.newWriter();
        SharedWriter other = queue.newWriter();
        assertTrue(writer.claim(2));
        Path rows = folder.resolve("queue.rows");
        Files.delete(rows);
        Files.createDirectory(rows);
        assertThrows(UncheckedIOException.class, writer::close);
        Threads.run(spin -> writer.close()); // gone: any thread may, and it does nothing
        Files.delete(rows);
        assertEquals(0, queue.recover(), "the claim had been given back");
        SharedWriter next = queue.newWriter();
        assertTrue(next.claim(8));
        other.close();
    }
}
