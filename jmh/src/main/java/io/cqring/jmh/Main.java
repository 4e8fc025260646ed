package io.cqring.jmh;

import java.io.IOException;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * Entry point of {@code benchmarks.jar}: {@code compare}, {@code compare-poll}, {@code compare-shared}, {@code compare-events} and {@code smoke} are ours, anything else
 * goes to JMH.
 */
@Command(
        name = "java -jar benchmarks.jar",
        subcommands = {
            CompareCommand.class,
            ComparePollCommand.class,
            CompareSharedCommand.class,
            CompareEventsCommand.class,
            SmokeCommand.class
        })
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
        CommandLine commandLine = commandLine();
        if (args.length != 0 && commandLine.getSubcommands().containsKey(args[0])) {
            System.exit(commandLine.execute(args));
        }
        org.openjdk.jmh.Main.main(args);
    }

    /** Our commands. A command that throws prints why and ends with exit code 1, one that is used wrongly with 2. */
    static CommandLine commandLine() {
        return new CommandLine(new Main());
    }
}
