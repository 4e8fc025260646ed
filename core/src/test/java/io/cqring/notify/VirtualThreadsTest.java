package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.cqring.testing.ChildJvm;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Waiting blocks no carrier: one carrier is enough for those who write and those who wait. */
@Timeout(200)
class VirtualThreadsTest {
    /** 0 + 1 + ... + 19999, and 100 queues of 50. */
    private static final String EXPECTED = 19_999L * 20_000 / 2 + " 5000";

    @TempDir
    private Path folder;

    @Test
    void shouldRunOnOneCarrier() throws Exception {
        if (Runtime.version().feature() < 21) {
            System.out.println(
                    "SKIPPED: virtual threads, which JDK " + Runtime.version().feature() + " does not have");
            Assumptions.abort("no virtual threads");
        }
        List<String> oneCarrier =
                List.of("-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1");
        try (ChildJvm child = ChildJvm.start(folder, oneCarrier, VirtualThreads.class)) {
            assertEquals(EXPECTED, child.readLine());
            assertEquals(0, child.join());
        }
    }

    /** The same program on platform threads, so that it is tried on every JDK. */
    @Test
    void shouldDoTheSameOnPlatformThreads() throws Exception {
        assertEquals(EXPECTED, VirtualThreads.run(runnable -> {
            Thread thread = new Thread(runnable);
            thread.setDaemon(true);
            thread.start();
        }));
    }
}
