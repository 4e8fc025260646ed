package io.cqring.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.cqring.testing.Threads;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every page is touched and no byte changes. */
@Tag("bothroutes")
class PretouchTest {
    @TempDir
    private Path folder;

    @Test
    void shouldChangeNoByte() {
        for (int bytes : new int[] {1, 7, 8, 9, 15, 16, 4095, 4096, 4097, 4104, 8192, 12_300, 100_001}) {
            byte[] before = new byte[bytes];
            new Random(bytes).nextBytes(before);
            QueueMemory memory = QueueMemory.allocate(bytes);
            memory.putBytes(0, before, 0, bytes);
            memory.pretouch();
            byte[] after = new byte[bytes];
            memory.getBytes(0, after, 0, bytes);
            assertArrayEquals(before, after, () -> "" + bytes);
        }
    }

    /** A load and a store in place of one atomic operation would now and then put an old value back. */
    @Test
    void shouldUndoNoStoreOfAnotherThread() {
        QueueMemory memory = QueueMemory.allocate(8);
        AtomicBoolean done = new AtomicBoolean();
        Threads.run(
                spin -> {
                    try {
                        for (long n = 1; n <= 300_000; n++) {
                            memory.putLongOpaque(0, n);
                            for (int i = 0; i < 50; i++) { // long enough for an old value to come back
                                assertEquals(n, memory.getLongOpaque(0));
                            }
                        }
                    } finally {
                        done.set(true);
                    }
                },
                spin -> {
                    while (!done.get()) {
                        memory.pretouch();
                    }
                });
    }

    /** Linux says which pages of a mapping are there, and which have been stored to. */
    @Test
    void shouldTouchEveryPageOfAMappedFile() throws IOException {
        int bytes = 256 * 4096;
        Path file = folder.resolve("pages");
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer map = channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
            assertEquals(0, kilobytes(file, "Rss:"), "a mapping starts without pages");
            // One word short of whole pages at both ends: the first and the last page count too.
            QueueMemory memory = QueueMemory.wrap(map.position(4096 - 64).limit(bytes - 4096 + 8));
            memory.pretouch();
            assertEquals(bytes / 1024, kilobytes(file, "Rss:"));
            int stored = 0;
            for (int i = 0; i < 10 && stored != bytes / 1024; i++) { // the system may be writing pages back
                memory.pretouch();
                stored = kilobytes(file, "Shared_Dirty:") + kilobytes(file, "Private_Dirty:");
            }
            assertEquals(bytes / 1024, stored, "touched as a store does");
            assertEquals(0, map.get(4096)); // keeps the mapping to here
        }
    }

    /** A line of /proc/self/smaps for the mapping of this file. */
    private static int kilobytes(Path file, String title) throws IOException {
        Path smaps = Path.of("/proc/self/smaps");
        if (!Files.isReadable(smaps)) {
            System.out.println("SKIPPED: which pages were touched: no " + smaps);
            Assumptions.abort("no " + smaps);
        }
        for (Iterator<String> lines = Files.readAllLines(smaps).iterator(); lines.hasNext(); ) {
            if (lines.next().endsWith(file.toString())) {
                while (lines.hasNext()) {
                    String line = lines.next();
                    if (line.startsWith(title)) {
                        return Integer.parseInt(line.replaceAll("\\D", ""));
                    }
                }
            }
        }
        throw new AssertionError("no mapping of " + file);
    }
}
