package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.examples.PollerProcess;
import io.cqring.examples.WriterProcess;
import io.cqring.memory.QueueMemory;
import io.cqring.notify.WakeupSender;
import io.cqring.testing.ChildJvm;
import io.cqring.testing.FieldBug;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A queue in a file, played by processes. */
@Timeout(value = 10, unit = TimeUnit.MINUTES) // turns a hang into a failure
class TwoProcessesIT {
    private static final Path OWN_JDK = Path.of(System.getProperty("java.home"));

    @TempDir
    private Path folder;

    /** The built jar, Agrona and the two examples, no flag: the sum is right and stderr is empty. */
    private void examples(Path jdkOfWriter, Path jdkOfPoller) throws Exception {
        Path classes = folder.resolve("classes");
        for (Class<?> type : List.of(WriterProcess.class, PollerProcess.class)) {
            String name = type.getName().replace('.', '/') + ".class";
            Files.createDirectories(classes.resolve(name).getParent());
            try (InputStream in = type.getClassLoader().getResourceAsStream(name)) {
                Files.copy(in, classes.resolve(name));
            }
        }
        String classPath = String.join(
                File.pathSeparator,
                System.getProperty("cqring.core.jar"),
                System.getProperty("cqring.agrona.jar"),
                classes.toString());
        String file = folder.resolve("queue").toString();
        try (ChildJvm poller = ChildJvm.start(jdkOfPoller, classPath, folder, List.of(), PollerProcess.class, file);
                ChildJvm writer =
                        ChildJvm.start(jdkOfWriter, classPath, folder, List.of(), WriterProcess.class, file)) {
            assertEquals(0, writer.join(), () -> "writer's exit code");
            assertEquals(Long.toString(999_999L * 1_000_000 / 2), poller.readLine());
            assertEquals(0, poller.join());
            assertEquals("", writer.errors());
            assertEquals("", poller.errors());
        }
    }

    @Test
    void theExamplesMoveAMillionEntriesWithoutAFlag() throws Exception {
        examples(OWN_JDK, OWN_JDK);
    }

    /** The writer of the example is killed: the poller, asleep, learns of it and ends. */
    @Test
    void theExamplesPollerEndsWhenItsWriterIsKilled() throws Exception {
        String file = folder.resolve("queue").toString();
        CompletionQueue queue;
        try (ChildJvm poller = ChildJvm.start(folder, List.of(), PollerProcess.class, file)) {
            try (ChildJvm writer = ChildJvm.start(folder, List.of(), KilledWriter.class, file)) {
                assertEquals("written", writer.readLine());
                queue = CompletionQueue.attach(QueueMemory.attach(Path.of(file)));
                while (queue.consumerSequence() != 100) {
                    Thread.onSpinWait();
                    assertTrue(poller.isAlive(), poller.errors());
                }
                writer.kill();
            }
            assertEquals("the writer has ended after 100", poller.readLine());
            assertEquals(0, poller.join());
            assertEquals("", poller.errors());
        }
    }

    /** Writes a little, once somebody sleeps, and lives on. */
    static final class KilledWriter {
        private KilledWriter() {}

        /**
         * Entry point.
         *
         * @param args the file to make
         * @throws Exception if it cannot be made
         */
        public static void main(String[] args) throws Exception {
            QueueMemory memory = QueueMemory.create(Path.of(args[0]), CompletionQueue.requiredBytes(1024, 64));
            WakeupSender sender = WakeupSender.to(Path.of(args[0] + ".sock"));
            CompletionQueue queue = CompletionQueue.ofCapacity(1024)
                    .memory(memory)
                    .events(sender, 0)
                    .create();
            while (!sender.connect()) {
                Thread.onSpinWait();
            }
            for (int i = 0; i < 100; i++) {
                queue.writer().write(0, i, 0, 0, 0);
            }
            System.out.println("written");
            System.in.read(); // until it is killed
        }
    }

    @Test
    void theExamplesWorkAcrossJdks() throws Exception {
        examples(OWN_JDK, jdk25());
    }

    @Test
    void theExamplesWorkOnJdk25() throws Exception {
        examples(jdk25(), jdk25());
    }

    /** A JDK 25 beside the one that runs this. */
    private static Path jdk25() throws IOException {
        if (Runtime.version().feature() == 25) {
            return OWN_JDK;
        }
        Path beside = OWN_JDK.toRealPath().getParent();
        try (DirectoryStream<Path> candidates = Files.newDirectoryStream(beside, "*25*")) {
            for (Path candidate : candidates) {
                if (Files.isExecutable(candidate.resolve("bin").resolve("java"))) {
                    return candidate;
                }
            }
        }
        System.out.println("SKIPPED: two processes on JDK 25: none in " + beside);
        return Assumptions.abort("no JDK 25 in " + beside);
    }

    private ChildJvm victim(String role, Path file, Path ledger, long stopAtStore, String... options)
            throws IOException {
        ChildJvm victim = ChildJvm.start(folder, List.of(options), Victim.class);
        assertEquals("ready", victim.readLine());
        victim.send(role + " " + file + " " + ledger + " 0 1 " + stopAtStore + " -1");
        return victim;
    }

    @SuppressWarnings("ThreadPriorityCheck") // the child needs a core
    private static void await(ChildJvm child, QueueMemory ledger, int word, long value) throws IOException {
        while (ledger.getLongAcquire(word) < value) {
            Thread.yield();
            assertTrue(child.isAlive() || ledger.getLongAcquire(word) >= value, child.errors());
        }
    }

    /** A million entries of every kind and size from one JVM to another, every field of each compared; both routes at once. */
    @SuppressWarnings("ThreadPriorityCheck") // the child needs a core
    @Test
    void everyFieldArrivesWhicheverRouteEachProcessTakes() throws Exception {
        for (int stride : Shape.STRIDES) {
            for (int capacity : new int[] {8, 1024}) {
                Path file = folder.resolve("queue" + stride + "x" + capacity);
                Path ledger = folder.resolve("ledger" + stride + "x" + capacity);
                Shape shape = new Shape(stride, capacity, (1L << 32) - 1000);
                CompletionQueue queue =
                        shape.queue(OverrunPolicy.BACKPRESSURE, QueueMemory.create(file, shape.bytes()));
                QueueMemory.create(ledger, Victim.LEDGER_BYTES);
                long[] next = {0};
                // This JVM has the flag: it takes the fast route, the child the other.
                try (ChildJvm writer = victim("writer", file, ledger, -1, "-ea")) {
                    while (next[0] < 200_000) {
                        int taken =
                                queue.poll(c -> Numbered.verify(c, next[0], Victim.way(next[0]++), stride), capacity);
                        if (taken == 0) {
                            Thread.yield();
                            assertTrue(writer.isAlive(), writer.errors());
                        }
                    }
                }
                queue.close();
            }
        }
    }

    @FieldBug({97, 99})
    @Test
    void aSecondProcessIsRefusedAndADeadOnesRoleCanBeTaken() throws Exception {
        for (String role : List.of("writer", "poller")) {
            Path file = folder.resolve("queue-" + role);
            Path ledgerFile = folder.resolve("ledger-" + role);
            Shape shape = new Shape(64, 4, 0);
            QueueMemory memory = QueueMemory.create(file, shape.bytes());
            CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
            QueueMemory ledger = QueueMemory.create(ledgerFile, Victim.LEDGER_BYTES);
            try (ChildJvm victim = victim(role, file, ledgerFile, 0, "-ea")) { // the writer parks at once
                await(victim, ledger, Victim.PLAYING, 1);
                Runnable use = role.equals("writer")
                        ? () -> Way.WRITE.publish(queue.writer(), 0, 64)
                        : () -> queue.poll(c -> {}, 1);
                byte[] before = bytes(memory);
                for (int repeat = 0; repeat < 3; repeat++) {
                    String refused =
                            assertThrows(IllegalStateException.class, use::run).getMessage();
                    assertTrue(
                            refused.startsWith(
                                    "completion queue has one " + role + ", process " + victim.pid() + " (started "),
                            refused);
                    assertTrue(
                            refused.contains(
                                    "before process " + ProcessHandle.current().pid() + " can take it"),
                            refused);
                }
                assertArrayEquals(before, bytes(memory), "a refusal changes nothing");
                try (ChildJvm third = victim(role, file, ledgerFile, -1, "-ea")) {
                    assertEquals(1, third.join(), "the third process is refused as well");
                    assertTrue(third.errors().contains("process " + victim.pid() + " (started "), third.errors());
                }
                victim.kill();
                use.run();
            }
            assertEquals(role.equals("writer") ? 1 : 0, queue.size());
            queue.close();
        }
    }

    private static byte[] bytes(QueueMemory memory) {
        byte[] all = new byte[memory.sizeBytes()];
        memory.getBytes(0, all, 0, all.length);
        return all;
    }

    /** Closing in one process closes in the other: its next call is refused. */
    @Test
    void closeIsSeenByTheOtherProcess() throws Exception {
        for (String role : List.of("writer", "poller")) {
            Path file = folder.resolve("queue-" + role);
            Path ledgerFile = folder.resolve("ledger-" + role);
            Shape shape = new Shape(64, 4, 0);
            CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, QueueMemory.create(file, shape.bytes()));
            QueueMemory ledger = QueueMemory.create(ledgerFile, Victim.LEDGER_BYTES);
            try (ChildJvm victim = victim(role, file, ledgerFile, -1, "-ea")) {
                await(victim, ledger, Victim.REFUSED, 1);
                queue.close();
                assertEquals(1, victim.join());
                assertTrue(
                        victim.errors().contains("IllegalStateException: completion queue is closed"), victim.errors());
            }
        }
    }

    /** DEAD is seen by the other process: all that was written is polled, then the exception. */
    @SuppressWarnings("ThreadPriorityCheck") // the child needs a core
    @Test
    void deathByOverrunIsSeenByTheOtherProcess() throws Exception {
        Path file = folder.resolve("queue");
        Path ledgerFile = folder.resolve("ledger");
        Shape shape = new Shape(64, 4, 0);
        CompletionQueue queue = shape.queue(OverrunPolicy.ERROR, QueueMemory.create(file, shape.bytes()));
        QueueMemory ledger = QueueMemory.create(ledgerFile, Victim.LEDGER_BYTES);
        try (ChildJvm victim = victim("writer", file, ledgerFile, -1, "-ea")) {
            await(victim, ledger, Victim.REFUSED, 1);
            long[] next = {0};
            assertEquals(4, queue.poll(c -> Numbered.verify(c, next[0], Victim.way(next[0]++), 64), 9));
            assertThrows(CqOverrunException.class, () -> queue.poll(c -> {}, 1));
            assertTrue(queue.lostEntries() >= 1);
        }
        assertTrue(CompletionQueue.attach(QueueMemory.attach(file)).lostEntries() >= 1);
    }

    /** No room on the disk: an exception from create, no file left, no crash later. */
    @Test
    void aFullDiskIsAnErrorAtCreate() throws Exception {
        Path shell = Path.of("/bin/sh");
        if (!Files.isExecutable(shell)) {
            System.out.println("SKIPPED: a full disk: no " + shell + " to set a limit with");
            Assumptions.abort("no " + shell);
        }
        Path file = folder.resolve("large");
        String command = OWN_JDK.resolve("bin").resolve("java").toString();
        ProcessBuilder builder = new ProcessBuilder(
                        shell.toString(),
                        "-c",
                        "ulimit -f 2000 && exec \"$@\"", // blocks of 512 bytes, or of 1024: about a megabyte or two
                        "sh",
                        command,
                        "-XX:-UsePerfData",
                        "-cp",
                        System.getProperty("java.class.path"),
                        CreateTooLarge.class.getName(),
                        file.toString())
                .redirectErrorStream(true);
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"));
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), out);
        assertEquals("IOException\n", out);
        assertFalse(Files.exists(file), "a file is left behind");
    }

    /** Makes a file larger than its process may. */
    static final class CreateTooLarge {
        private CreateTooLarge() {}

        /**
         * Entry point.
         *
         * @param args the file
         */
        public static void main(String[] args) {
            try {
                QueueMemory.create(Path.of(args[0]), 16 << 20);
                System.out.print("created\n");
            } catch (IOException e) {
                System.out.print(e.getClass().getSimpleName() + "\n");
            }
        }
    }
}
