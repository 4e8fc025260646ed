package io.cqring.jmh;

import java.io.IOException;

/** Entry point of {@code benchmarks.jar}. Placeholder: hands everything to JMH. */
public final class Main {
    private Main() {}

    /**
     * Runs JMH.
     *
     * @param args JMH's own options
     * @throws IOException as JMH does
     */
    public static void main(String[] args) throws IOException {
        org.openjdk.jmh.Main.main(args);
    }
}
