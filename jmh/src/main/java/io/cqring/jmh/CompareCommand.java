package io.cqring.jmh;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code compare}: see {@link ThroughputComparison}. */
@Command(
        name = "compare",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Entries per second from one thread to another, beside Agrona, JCTools and the Disruptor, in paired"
                        + " rounds of one run.")
final class CompareCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "21", description = "Rounds (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--seconds",
            paramLabel = "S",
            defaultValue = "0.5",
            description = "Length of one ring's turn in a round, about (${DEFAULT-VALUE}).")
    private double seconds;

    @Option(
            names = "--entry",
            paramLabel = "BYTES",
            defaultValue = "64",
            description = "Bytes per entry, 64 or 32; the peers carry the same payload, 56 or 24 bytes"
                    + " (${DEFAULT-VALUE}).")
    private int entryBytes;

    @Option(
            names = "--route",
            paramLabel = "ROUTE",
            description = "How cqring reaches its memory: unsafe or buffer (unsafe where it works).")
    private String route;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes every round's numbers there.")
    private Path json;

    @Override
    public Integer call() throws IOException {
        Options.require(spec, rounds >= 1, "--rounds must be 1 or more: " + rounds);
        Options.require(spec, seconds > 0 && seconds <= 10, "--seconds must be more than 0, at most 10: " + seconds);
        Options.require(spec, entryBytes == 64 || entryBytes == 32, "--entry must be 64 or 32: " + entryBytes);
        Options.setRoute(spec, route);
        PrintWriter out = spec.commandLine().getOut();
        ThroughputComparison comparison = ThroughputComparison.measure(entryBytes, rounds, seconds);
        comparison.print(out);
        if (json != null) {
            comparison.writeJson(json);
        }
        return 0;
    }
}
