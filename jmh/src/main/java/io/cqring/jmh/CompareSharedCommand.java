package io.cqring.jmh;

import io.cqring.jmh.SharedComparison.Kind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code compare-shared}: see {@link SharedComparison}. */
@Command(
        name = "compare-shared",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Rings for many writers, or for many pollers, beside others, in paired rounds, in several JVMs.")
final class CompareSharedCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(index = "0", paramLabel = "writers|pollers", description = "Who shares the ring.")
    private String who;

    @Option(
            names = "--jvms",
            paramLabel = "N",
            defaultValue = "5",
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
            defaultValue = "0.1",
            description = "Length of one turn, about (${DEFAULT-VALUE}).")
    private double seconds;

    @Option(
            names = "--route",
            paramLabel = "ROUTE",
            description = "How cqring reaches its memory: unsafe or buffer (unsafe where it works).")
    private String route;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes every turn's numbers there.")
    private Path json;

    @Override
    public Integer call() throws IOException {
        Options.require(
                spec,
                who.equals("writers") || who.equals("pollers"),
                "first argument must be writers or pollers: " + who);
        Options.require(spec, jvms >= 1, "--jvms must be 1 or more: " + jvms);
        Options.require(spec, rounds >= 1, "--rounds must be 1 or more: " + rounds);
        Options.require(spec, seconds > 0 && seconds <= 10, "--seconds must be more than 0, at most 10: " + seconds);
        Options.setRoute(spec, route);
        Kind kind = Kind.valueOf(who.toUpperCase(Locale.ROOT));
        SharedComparison comparison = jvms == 1
                ? SharedComparison.measure(kind, rounds, seconds)
                : SharedComparison.of(kind, Jvms.run(jvms, inOneJvm()));
        comparison.print(spec.commandLine().getOut());
        if (json != null) {
            comparison.writeJson(json);
        }
        return 0;
    }

    private List<String> inOneJvm() {
        List<String> command = new ArrayList<>(List.of("compare-shared", who, "--jvms", "1"));
        command.addAll(List.of("--rounds", String.valueOf(rounds), "--seconds", String.valueOf(seconds)));
        if (route != null) {
            command.addAll(List.of("--route", route));
        }
        return command;
    }
}
