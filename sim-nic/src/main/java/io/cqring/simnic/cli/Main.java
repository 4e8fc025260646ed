package io.cqring.simnic.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Entry point of {@code cqring.jar}. */
@Command(
        name = "cqring",
        mixinStandardHelpOptions = true,
        versionProvider = Main.Version.class,
        description = {"An emulated RDMA NIC that completes into lock-free, off-heap completion queues.", ""},
        footer = {"", "For the options of a command: cqring run --help"})
public final class Main implements Runnable {
    private static final int WRONG_USAGE = 2;
    private static final int FAILED = 1;

    @Spec
    private CommandSpec spec;

    private Main() {}

    /**
     * Runs a command and exits: 0 for success, 1 for a failed run, 2 for wrong usage or a wrong workload.
     *
     * @param args command and options; {@code --help} lists them
     */
    public static void main(String[] args) {
        System.exit(execute(
                new RunCommand(),
                new PrintWriter(System.out, true, StandardCharsets.UTF_8),
                new PrintWriter(System.err, true, StandardCharsets.UTF_8),
                args));
    }

    /** Runs a command and returns the exit code. Errors are one line on {@code err}. */
    static int execute(RunCommand run, PrintWriter out, PrintWriter err, String... args) {
        CommandLine commandLine = new CommandLine(new Main());
        commandLine.addSubcommand(run);
        commandLine.addSubcommand(new PerfCommand());
        commandLine.addSubcommand(new SimulateCommand());
        commandLine.addSubcommand(new Mlx5DeviceCommand());
        commandLine.setCaseInsensitiveEnumValuesAllowed(true);
        commandLine.setOut(out);
        commandLine.setErr(err);
        commandLine.setParameterExceptionHandler((wrong, given) -> {
            err.println("cqring: " + oneLine(wrong.getMessage()));
            return WRONG_USAGE;
        });
        commandLine.setExecutionExceptionHandler((failure, command, parsed) -> {
            err.println("cqring: " + oneLine(failure.toString()));
            return FAILED;
        });
        return commandLine.execute(args);
    }

    private static String oneLine(String message) {
        return message.replaceAll("\\s*\\R\\s*", " ");
    }

    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(), "a command is missing: run, perf, simulate or mlx5-device (see cqring --help)");
    }

    /** The version that the build wrote beside this class. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            try (InputStream in = Main.class.getResourceAsStream("version.txt")) {
                return new String[] {"cqring " + new String(in.readAllBytes(), StandardCharsets.UTF_8).strip()};
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
