package io.cqring.jmh;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code compare-poll}: see {@link PollComparison}. */
@Command(
        name = "compare-poll",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Nanoseconds per polled entry in cache, beside a loop written by hand, in paired rounds of one run.")
final class ComparePollCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "101", description = "Rounds (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--seconds",
            paramLabel = "S",
            defaultValue = "0.05",
            description = "Length of one way's turn in a round, about (${DEFAULT-VALUE}).")
    private double seconds;

    @Option(
            names = "--route",
            paramLabel = "ROUTE",
            description = "How memory is reached, by both: unsafe or buffer (unsafe where it works).")
    private String route;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes every round's numbers there.")
    private Path json;

    @Override
    public Integer call() throws IOException {
        Options.require(spec, rounds >= 1, "--rounds must be 1 or more: " + rounds);
        Options.require(spec, seconds > 0 && seconds <= 10, "--seconds must be more than 0, at most 10: " + seconds);
        Options.setRoute(spec, route);
        PollComparison comparison = PollComparison.measure(rounds, seconds);
        comparison.print(spec.commandLine().getOut());
        if (json != null) {
            comparison.writeJson(json);
        }
        return 0;
    }
}
