package io.cqring.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** Child JVMs that have been started ahead, for tests that use up many. Each waits in {@link ChildJob#await}. */
public final class Standby implements AutoCloseable {
    private final ArrayDeque<ChildJvm> waiting = new ArrayDeque<>();
    private final Path folder;
    private final int count;
    private final Class<?> main;
    private final boolean bothRoutes;
    private int started;

    /**
     * Starts none yet.
     *
     * @param folder     where their stderr goes
     * @param count      how many are started ahead
     * @param main       their main class
     * @param bothRoutes whether every second one, the first as well, has the fast route
     */
    public Standby(Path folder, int count, Class<?> main, boolean bothRoutes) {
        this.folder = folder;
        this.count = count;
        this.main = main;
        this.bothRoutes = bothRoutes;
    }

    /**
     * One that is ready. It is the caller's to close.
     *
     * @return the child
     * @throws IOException if none can be started
     */
    public ChildJvm next() throws IOException {
        while (waiting.size() < count) {
            List<String> options =
                    new ArrayList<>(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx64m", "-ea"));
            if (bothRoutes && started++ % 2 == 0) {
                options.add(ChildJvm.FAST_ROUTE);
            }
            waiting.add(ChildJvm.start(folder, options, main));
        }
        ChildJvm next = waiting.remove();
        assertEquals("ready", next.readLine());
        return next;
    }

    /** Ends those that nobody took. */
    @Override
    public void close() throws IOException {
        for (ChildJvm child : waiting) {
            child.close();
        }
    }
}
