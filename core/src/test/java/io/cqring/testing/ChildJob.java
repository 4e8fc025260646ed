package io.cqring.testing;

import io.cqring.memory.QueueMemory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.locks.LockSupport;

/** The other end of a {@link ChildJvm}: how its main method gets to know what to do, and does not outlive the test. */
public final class ChildJob {
    private ChildJob() {}

    /**
     * Says {@code ready} and waits for a line. From then on the JVM ends, with 2, when the test does.
     *
     * @return the words of the line; null if the test has ended
     * @throws IOException if it cannot be read
     */
    public static String[] await() throws IOException {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line = in.readLine();
        if (line == null) {
            return null;
        }
        Thread watch = new Thread(() -> {
            try {
                in.readLine(); // ends with the test
            } catch (IOException ended) {
                // so it has
            }
            Runtime.getRuntime().halt(2);
        });
        watch.setDaemon(true);
        watch.start();
        return line.split(" ", -1);
    }

    /**
     * Says so, and does nothing until it is killed.
     *
     * @param ledger  where to say so
     * @param stopped offset of the word that becomes 1
     */
    public static void park(QueueMemory ledger, int stopped) {
        ledger.putLongRelease(stopped, 1);
        while (true) {
            LockSupport.park(ledger);
        }
    }
}
