package io.cqring.plain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.agrona.BufferUtil;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Callers on JDK 22 and later who have a MemorySegment: {@code QueueMemory.wrap(segment.asByteBuffer())}, tried on 25. */
class MemorySegmentTest {
    private static final String PROGRAM = """
            import io.cqring.cq.*;
            import io.cqring.memory.QueueMemory;
            import java.lang.foreign.*;

            public class Program {
                public static void main(String[] arguments) throws Exception {
                    long bytes = CompletionQueue.requiredBytes(64, 64);
                    for (String kind : new String[] {"shared", "auto"}) {
                        Arena arena = kind.equals("shared") ? Arena.ofShared() : Arena.ofAuto();
                        MemorySegment segment = arena.allocate(bytes, 128);
                        CompletionQueue queue = CompletionQueue.ofCapacity(64)
                                .memory(QueueMemory.wrap(segment.asByteBuffer()))
                                .create();
                        Thread device = new Thread(() -> {
                            for (int i = 0; i < 100_000; ) {
                                if (queue.writer().write(CqeLayout.header(CqeOpcode.RECV, false, i, 7, 0), i, 0, 0, 0)) {
                                    i++;
                                } else {
                                    Thread.yield();
                                }
                            }
                        });
                        device.start();
                        long[] sum = new long[1];
                        for (int taken = 0; taken < 100_000; ) {
                            int now = queue.poll(completion -> sum[0] += completion.workRequestId(), 64);
                            taken += now;
                            if (now == 0) {
                                Thread.yield();
                            }
                        }
                        device.join();
                        long last = queue.producerSequence() - 1;
                        long id = segment.get(ValueLayout.JAVA_LONG, bytes - 64 * 64 + last % 64 * 64 + 16);
                        queue.close();
                        System.out.println(kind + " " + sum[0] + " " + id + " " + QueueMemory.route());
                        if (kind.equals("shared")) {
                            arena.close();
                        }
                    }
                }
            }
            """;

    @TempDir
    private Path folder;

    private static Path jarOrFolderOf(Class<?> type) throws URISyntaxException {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    /** A JDK 25: this one, or one beside it. */
    private static Path jdk25() throws IOException {
        Path own = Path.of(System.getProperty("java.home"));
        if (Runtime.version().feature() == 25) {
            return own;
        }
        Path beside = own.toRealPath().getParent();
        try (DirectoryStream<Path> candidates = Files.newDirectoryStream(beside, "*25*")) {
            for (Path candidate : candidates) {
                Path release = candidate.resolve("release");
                if (Files.isExecutable(candidate.resolve("bin").resolve("javac"))
                        && Files.isRegularFile(release)
                        && Files.readString(release).contains("JAVA_VERSION=\"25")) {
                    return candidate;
                }
            }
        }
        System.out.println("SKIPPED: a queue in a MemorySegment on JDK 25: none in " + beside);
        return Assumptions.abort("no JDK 25 in " + beside);
    }

    private List<String> run(String... flags) throws Exception {
        Path source = folder.resolve("Program.java");
        Files.writeString(source, PROGRAM);
        List<String> command = new ArrayList<>();
        command.add(jdk25().resolve("bin").resolve("java").toString());
        command.addAll(List.of(flags));
        command.add("-cp");
        command.add(jarOrFolderOf(CompletionQueue.class) + File.pathSeparator + jarOrFolderOf(BufferUtil.class));
        command.add(source.toString());
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        // These print a line on stderr, or change what is tested.
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"));
        Process process = builder.start();
        List<String> output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                .lines()
                .toList();
        assertTrue(process.waitFor(120, TimeUnit.SECONDS), "does not end");
        return output;
    }

    private static List<String> expected(String route) {
        long sum = 99_999L * 100_000 / 2;
        return List.of("shared " + sum + " 99999 " + route, "auto " + sum + " 99999 " + route);
    }

    @Test
    void shouldWorkInAMemorySegmentWithoutAnyFlag() throws Exception {
        assertEquals(expected("BUFFER"), run());
    }

    @Test
    void shouldWorkInAMemorySegmentOnTheFastRoute() throws Exception {
        assertEquals(expected("UNSAFE"), run("--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"));
    }
}
