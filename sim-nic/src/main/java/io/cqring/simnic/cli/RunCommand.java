package io.cqring.simnic.cli;

import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.fault.FaultKind;
import io.cqring.simnic.fault.NamedFaults;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.workload.Collective;
import io.cqring.simnic.workload.CollectiveKind;
import io.cqring.simnic.workload.Workload;
import io.cqring.simnic.workload.WorkloadException;
import io.cqring.simnic.workload.WorkloadFile;
import io.cqring.simnic.workload.WorkloadTotals;
import java.io.Console;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.function.LongConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** {@code cqring run}: the communication of a training job, through the emulated NIC and its completion queues. */
@Command(
        name = "run",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Runs the communication of a training job: every chunk is an RDMA WRITE with immediate on an emulated NIC,"
                    + " and each of its two completions is polled from a completion queue and checked.",
            ""
        },
        footer = {"", "Exit code: 0 nothing lost, 1 the run failed, 2 wrong usage or wrong workload."})
final class RunCommand implements Callable<Integer> {
    private static final int USUAL_BYTES = 64;
    private static final Pattern INCAST = Pattern.compile("([1-9][0-9]{0,5}),([0-9]{1,10})");

    @Option(
            names = "--workload",
            paramLabel = "FILE",
            description = "AICB workload (CSV). Without it: a built-in sample, a small Mixture-of-Experts model.")
    private Path workloadFile;

    @Option(
            names = "--incast",
            paramLabel = "MESSAGES,BYTES",
            description =
                    "Instead of a workload: so many times a message of so many bytes from every rank but 0 to rank 0, all at once.")
    private String incast;

    @Option(names = "--ranks", paramLabel = "R", defaultValue = "8", description = "Ranks. Default: ${DEFAULT-VALUE}.")
    private int ranks;

    @Option(
            names = "--chunk",
            paramLabel = "BYTES",
            defaultValue = "524288",
            description = "The most bytes of one work request. Default: ${DEFAULT-VALUE}.")
    private long chunkBytes;

    @Option(
            names = "--copy-limit",
            paramLabel = "BYTES",
            defaultValue = "4096",
            description = "Bytes at the head of a chunk that are really moved and checked. Default: ${DEFAULT-VALUE}.")
    private long copyLimitBytes;

    @Option(
            names = "--limit",
            paramLabel = "COLLECTIVES",
            description = "Run only the first lines of the workload, markers included. Default: all.")
    private Long limit;

    @Option(
            names = "--cqe",
            paramLabel = "BYTES",
            description = "Bytes per completion entry: 32, 64 or 128. Default: 64, or what the vendor's driver takes.")
    private Integer cqeBytes;

    @Option(
            names = "--depth",
            paramLabel = "N",
            defaultValue = "8192",
            converter = DepthConverter.class,
            description = "Entries per completion queue, a power of two; or auto: queues start shallow and follow the"
                    + " traffic, and a full one holds the NIC back. Default: ${DEFAULT-VALUE}.")
    private OptionalInt depth;

    @Option(
            names = "--window",
            paramLabel = "W",
            defaultValue = "64",
            description = "The most unfinished chunks per queue pair. Default: ${DEFAULT-VALUE}.")
    private int window;

    @Option(
            names = "--seed",
            paramLabel = "S",
            defaultValue = "1",
            description = "What the content of chunks is derived from. Default: ${DEFAULT-VALUE}.")
    private long seed;

    @Option(
            names = "--pollers",
            paramLabel = "N",
            defaultValue = "1",
            description = "Host threads that share the polling of every completion queue. Default: ${DEFAULT-VALUE}.")
    private int pollers;

    @Option(
            names = "--merge",
            description = "Let the NIC merge completions: several sends of one queue pair in one entry.")
    private boolean merge;

    @Option(
            names = "--mode",
            paramLabel = "MODE",
            defaultValue = "poll",
            description =
                    "How the host learns of completions: poll; event: it sleeps until one comes; hybrid: it polls while"
                            + " they come and sleeps else; interrupt: it polls on events only. Default: ${DEFAULT-VALUE}.")
    private String mode;

    @Option(
            names = "--moderation",
            paramLabel = "COUNT,MICROS",
            defaultValue = "off",
            description =
                    "An event comes when so many completions wait or so much time has passed; or adaptive; or off."
                            + " With --mode event or hybrid. Default: ${DEFAULT-VALUE}.")
    private String moderation;

    @Option(
            names = "--eqs",
            paramLabel = "N",
            defaultValue = "1",
            description = "Event queues that the completion queues are spread over. Default: ${DEFAULT-VALUE}.")
    private int eqs;

    @Option(
            names = "--pace",
            paramLabel = "COMPLETIONS_PER_S",
            description = "The host posts no faster than that. Default: as fast as it can.")
    private Long pace;

    @Option(
            names = "--profile",
            paramLabel = "VENDOR",
            description =
                    "Use completion and event queues as mlx5, irdma or bnxt_re have them, and what their drivers do."
                            + " Default: the reference layout.")
    private String profile;

    @Option(
            names = "--fault",
            paramLabel = "NAME[:EVERY[,MICROS]]",
            description =
                    "A fault of the device or the host that strikes one opportunity in EVERY on average, by --seed; may be given"
                            + " several times. torn-entry, duplicate-entry, completer-abort, pcie-read-timeout, drop-event, duplicate-event,"
                            + " drop-arm, delayed-dma, link-sleep, c-state, qp-cache-miss, stuck-qp, burst, firmware-pause, clock-jump,"
                            + " slow-consumer.")
    private List<String> faultNames = List.of();

    @Option(names = "--json", description = "Print one JSON object on standard output, all else on standard error.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    private final DeviceFaults faults;
    private final boolean stepped;

    /** The command as shipped: a sound device on its own thread. */
    RunCommand() {
        this(DeviceFaults.NONE, false);
    }

    /** For tests: a faulty device, or one that is stepped by the host thread. */
    RunCommand(DeviceFaults faults, boolean stepped) {
        this.faults = faults;
        this.stepped = stepped;
    }

    @Override
    public Integer call() {
        RunOptions options;
        Workload workload;
        WorkloadTotals totals;
        NamedFaults named;
        try {
            if (pace != null && pace < 1) {
                throw new IllegalArgumentException("--pace must be 1 completion per second or more: " + pace);
            }
            EventOptions events = new EventOptions(
                    PollMode.of(mode), EventOptions.moderation(moderation), eqs, pace == null ? 0 : pace);
            Optional<VendorProfile> vendor = Optional.ofNullable(profile).map(VendorProfile::of);
            int entryBytes = cqeBytes != null
                    ? cqeBytes
                    : vendor.map(VendorProfile::usualBytes).orElse(USUAL_BYTES);
            options = new RunOptions(
                    ranks, chunkBytes, copyLimitBytes, entryBytes, depth, window, seed, merge, pollers, events, vendor);
            named = named(options);
            if (limit != null && limit < 1) {
                throw new IllegalArgumentException("--limit must be 1 or more: " + limit);
            }
            workload = workload();
            workload = limit == null ? workload : workload.limitedTo(limit);
            totals = workload.totals(ranks, chunkBytes);
        } catch (IllegalArgumentException | WorkloadException wrong) {
            throw new CommandLine.ParameterException(spec.commandLine(), wrong.getMessage(), wrong);
        }
        RunReport report = new RunReport(workload.name(), options, totals, named);
        run(workload, options, report, named == null ? faults : named);
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(report.toJson());
            out.flush();
        } else {
            report.printTable(out);
        }
        if (!report.isClean()) {
            spec.commandLine().getErr().println("cqring: the run failed: " + report.firstFault);
        }
        return report.isClean() ? 0 : 1;
    }

    private Workload workload() {
        if (incast == null) {
            return workloadFile == null ? WorkloadFile.sample() : WorkloadFile.read(workloadFile);
        }
        if (workloadFile != null) {
            throw new IllegalArgumentException("--incast takes the place of --workload: " + workloadFile);
        }
        final Matcher numbers = INCAST.matcher(incast);
        if (!numbers.matches()) {
            throw new IllegalArgumentException(
                    "--incast must be MESSAGES,BYTES, 1 to 999999 messages of 0 to 2147483647 bytes: " + incast);
        }
        final int messages = Integer.parseInt(numbers.group(1));
        final long bytes = Long.parseLong(numbers.group(2));
        if (bytes > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "--incast must be MESSAGES,BYTES, 1 to 999999 messages of 0 to 2147483647 bytes: " + incast);
        }
        final List<Collective> all = new ArrayList<>();
        for (int message = 1; message <= messages; message++) {
            all.add(new Collective(CollectiveKind.INCAST, bytes, message));
        }
        return new Workload("incast", all);
    }

    /** What {@code --fault} asks for; null if nothing. */
    private NamedFaults named(RunOptions options) {
        if (faultNames.isEmpty()) {
            return null;
        }
        final NamedFaults named = new NamedFaults(seed);
        for (String name : faultNames) {
            final FaultKind kind = named.add(name);
            options.requireSuits(kind);
        }
        return named;
    }

    private void run(Workload workload, RunOptions options, RunReport report, DeviceFaults with) {
        try (WorkloadRun run = made(workload, options, report, with)) {
            if (onTerminal()) {
                try (ProgressBar bar = new ProgressBarBuilder()
                        .setTaskName("collectives")
                        .setInitialMax(workload.collectives().size())
                        .build()) {
                    run.execute(bar::stepTo);
                }
            } else {
                LongConsumer nobody = done -> {};
                run.execute(nobody);
            }
        }
    }

    private WorkloadRun made(Workload workload, RunOptions options, RunReport report, DeviceFaults with) {
        try {
            return new WorkloadRun(workload, options, report, with, stepped); // nothing runs before all is there
        } catch (OutOfMemoryError full) {
            throw new CommandLine.ParameterException(
                    spec.commandLine(),
                    "no memory for so much of --ranks " + ranks + ", --depth "
                            + (depth.isPresent() ? depth.getAsInt() : "auto") + ", --window " + window
                            + " and --copy-limit " + copyLimitBytes + " (java -Xmx, -XX:MaxDirectMemorySize): "
                            + full.getMessage(),
                    full);
        }
    }

    /** A number, or auto: empty. */
    static final class DepthConverter implements ITypeConverter<OptionalInt> {
        @Override
        public OptionalInt convert(String value) {
            if (value.equals("auto")) {
                return OptionalInt.empty();
            }
            try {
                return OptionalInt.of(Integer.parseInt(value));
            } catch (NumberFormatException notANumber) {
                throw new TypeConversionException("'" + value + "' is not an int, nor auto");
            }
        }
    }

    /** Whether a person is watching. From Java 22 on a Console exists without a terminal, and says so by isTerminal(). */
    @SuppressWarnings("SystemConsoleNull") // null still says "no terminal" before Java 22
    private static boolean onTerminal() {
        Console console = System.console();
        if (console == null) {
            return false;
        }
        try {
            return (boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (ReflectiveOperationException before22) {
            return true;
        }
    }
}
