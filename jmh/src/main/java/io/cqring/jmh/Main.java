package io.cqring.jmh;

import java.io.IOException;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * Entry point of {@code benchmarks.jar}: {@code compare}, {@code compare-poll} and {@code smoke} are ours, anything else
 * goes to JMH.
 */
@Command(
        name = "java -jar benchmarks.jar",
        subcommands = {CompareCommand.class, ComparePollCommand.class})
public final class Main {
    private Main() {}

    /**
     * Runs one of our commands, or JMH.
     *
     * @param args a command and its options, or JMH's own options
     * @throws IOException as JMH does
     */
    public static void main(String[] args) throws IOException {
        // Before any class of Agrona's is initialised: it reads this once. Forks get it from their annotations.
        System.setProperty("agrona.disable.bounds.checks", "true");
        CommandLine commandLine = new CommandLine(new Main());
        if (args.length != 0 && commandLine.getSubcommands().containsKey(args[0])) {
            System.exit(commandLine.execute(args));
        }
        org.openjdk.jmh.Main.main(args);
    }
}
