package io.cqring.jmh;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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
                        + " rounds, in several JVMs.")
final class CompareCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Option(
            names = "--jvms",
            paramLabel = "N",
            defaultValue = "7",
            description = "JVMs to measure in, one after another; 1 is this one (${DEFAULT-VALUE}).")
    private int jvms;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "9",
            description = "Rounds in each JVM (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--seconds",
            paramLabel = "S",
            defaultValue = "0.2",
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
        Options.require(spec, jvms >= 1, "--jvms must be 1 or more: " + jvms);
        Options.require(spec, rounds >= 1, "--rounds must be 1 or more: " + rounds);
        Options.require(spec, seconds > 0 && seconds <= 10, "--seconds must be more than 0, at most 10: " + seconds);
        Options.require(spec, entryBytes == 64 || entryBytes == 32, "--entry must be 64 or 32: " + entryBytes);
        Options.setRoute(spec, route);
        PrintWriter out = spec.commandLine().getOut();
        ThroughputComparison comparison = jvms == 1
                ? ThroughputComparison.measure(entryBytes, rounds, seconds)
                : ThroughputComparison.of(Jvms.run(jvms, inOneJvm()), entryBytes, seconds);
        comparison.print(out);
        if (json != null) {
            comparison.writeJson(json);
        }
        return 0;
    }

    private List<String> inOneJvm() {
        List<String> command = new ArrayList<>(List.of("compare", "--jvms", "1"));
        command.addAll(List.of("--rounds", String.valueOf(rounds), "--seconds", String.valueOf(seconds)));
        command.addAll(List.of("--entry", String.valueOf(entryBytes)));
        if (route != null) {
            command.addAll(List.of("--route", route));
        }
        return command;
    }
}
