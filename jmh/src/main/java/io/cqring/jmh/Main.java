package io.cqring.jmh;

import java.io.IOException;

/** Entry point of {@code benchmarks.jar}. Placeholder: hands everything but {@code smoke} to JMH. */
public final class Main {
    private Main() {}

    /**
     * Runs JMH.
     *
     * @param args JMH's own options, or {@code smoke} for a short run of everything
     * @throws IOException as JMH does
     */
    public static void main(String[] args) throws IOException {
        boolean smoke = args.length == 1 && args[0].equals("smoke");
        org.openjdk.jmh.Main.main(smoke ? new String[0] : args);
    }
}
