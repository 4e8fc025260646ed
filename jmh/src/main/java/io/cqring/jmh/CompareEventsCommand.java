package io.cqring.jmh;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code compare-events}: see {@link EventComparison}. */
@Command(
        name = "compare-events",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "What events cost: ArmCost, WakeLatency, EqScaling, each in paired rounds.")
final class CompareEventsCommand implements Callable<Integer> {
    private static final int MOST_QUEUES = 1 << 16;

    @Spec
    private CommandSpec spec;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "21", description = "Rounds (${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--entries",
            paramLabel = "N",
            defaultValue = "4194304",
            description = "Entries of a turn of ArmCost, rounded up to 65536 (${DEFAULT-VALUE}).")
    private int entries;

    @Option(
            names = "--round-trips",
            paramLabel = "N",
            defaultValue = "2000",
            description = "Round trips of a turn of WakeLatency (${DEFAULT-VALUE}).")
    private int roundTrips;

    @Option(
            names = "--queues",
            paramLabel = "N",
            defaultValue = "65536",
            description = "Queues of the largest case of EqScaling, 1 to 65536 (${DEFAULT-VALUE}).")
    private int queues;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes every round's numbers there.")
    private Path json;

    @Override
    public Integer call() throws IOException {
        Options.require(spec, rounds >= 1, "--rounds must be 1 or more: " + rounds);
        Options.require(spec, entries >= 1, "--entries must be 1 or more: " + entries);
        Options.require(spec, roundTrips >= 1, "--round-trips must be 1 or more: " + roundTrips);
        Options.require(
                spec, queues >= 1 && queues <= MOST_QUEUES, "--queues must be 1 to " + MOST_QUEUES + ": " + queues);
        final int slices = (int) (((long) entries + RoundRunner.SLICE - 1) / RoundRunner.SLICE);
        final EventComparison comparison = new EventComparison(rounds, slices, roundTrips, queues);
        comparison.print(spec.commandLine().getOut());
        if (json != null) {
            comparison.writeJson(json);
        }
        return 0;
    }
}
