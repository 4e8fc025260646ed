package io.cqring.simnic.cli;

import io.cqring.simnic.profile.VendorProfile;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code cqring simulate}: whole systems on a virtual clock, each from a seed, everything booked. */
@Command(
        name = "simulate",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Runs three hosts, the device and the wire on one thread and a virtual clock. A scheduler picks who is next by the seed; every work request,"
                    + " byte, credit, event and counter is booked. The same seed is the same run, to the byte.",
            ""
        },
        footer = {
            "",
            "Exit code: 0 all added up, 1 something did not: the seed and the smallest such run are printed; 2 wrong usage."
        })
final class SimulateCommand implements Callable<Integer> {
    private static final int MOST_STEPS = 10_000_000;

    @Option(
            names = "--seed",
            paramLabel = "S",
            defaultValue = "1",
            description = "The first seed. Default: ${DEFAULT-VALUE}.")
    private long seed;

    @Option(
            names = "--seeds",
            paramLabel = "N",
            defaultValue = "1",
            description = "How many seeds. Default: ${DEFAULT-VALUE}.")
    private int seeds;

    @Option(
            names = "--steps",
            paramLabel = "N",
            defaultValue = "2000",
            description = "Choices of the scheduler in each run. Default: ${DEFAULT-VALUE}.")
    private int steps;

    @Option(
            names = "--profile",
            paramLabel = "VENDOR",
            description = "Queues as mlx5, irdma or bnxt_re have them. Default: the reference layout.")
    private String profile;

    @Option(
            names = {"--fault", "--faults"},
            paramLabel = "NAME[:EVERY[,MICROS]]",
            description = "As for run; may be given several times. One that does damage must end the run.")
    private List<String> faults = List.of();

    @Option(names = "--log", paramLabel = "FILE", description = "Write the events of the run there; needs --seeds 1.")
    private Path logFile;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        final Optional<VendorProfile> vendor;
        try {
            if (seeds < 1) {
                throw new IllegalArgumentException("--seeds must be 1 or more: " + seeds);
            }
            if (steps < 1 || steps > MOST_STEPS) {
                throw new IllegalArgumentException("--steps must be 1 to " + MOST_STEPS + ": " + steps);
            }
            if (logFile != null && seeds != 1) {
                throw new IllegalArgumentException("--log needs --seeds 1: " + seeds);
            }
            vendor = Optional.ofNullable(profile).map(VendorProfile::of);
            new Simulation(seed, 0, vendor, faults, line -> {}).run(); // refuses wrong faults
        } catch (IllegalArgumentException wrong) {
            throw new ParameterException(spec.commandLine(), wrong.getMessage(), wrong);
        }
        return logFile == null ? runAll(vendor, line -> {}) : runLogged(vendor);
    }

    private int runLogged(Optional<VendorProfile> vendor) {
        try (Writer writer = Files.newBufferedWriter(logFile, StandardCharsets.UTF_8)) {
            return runAll(vendor, line -> {
                try {
                    writer.write(line);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        } catch (IOException e) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--log cannot be written: " + e.getClass().getSimpleName() + ": " + e.getMessage(),
                    e);
        }
    }

    private int runAll(Optional<VendorProfile> vendor, Consumer<String> log) {
        final PrintWriter out = spec.commandLine().getOut();
        long posted = 0;
        long polled = 0;
        long sleeps = 0;
        String digest = "";
        for (long current = seed; current != seed + seeds; current++) {
            final Simulation.Outcome outcome = new Simulation(current, steps, vendor, faults, log).run();
            if (outcome.violation() != null) {
                spec.commandLine().getErr().println("cqring: seed " + current + ": " + outcome.violation());
                out.println("smallest: " + shrink(current, vendor));
                return 1;
            }
            posted += outcome.posted();
            polled += outcome.polled();
            sleeps += outcome.sleeps();
            digest = outcome.digest();
        }
        out.println("ok: " + seeds + " seeds from " + seed + ", " + posted + " requests, " + polled + " completions, "
                + sleeps + " sleeps" + (seeds == 1 ? ", log " + digest : ""));
        return 0;
    }

    /** Leaves out what is not needed for the run to fail, faults first, then steps. */
    private String shrink(long failing, Optional<VendorProfile> vendor) {
        final List<String> needed = new ArrayList<>(faults);
        for (String fault : faults) {
            needed.remove(fault);
            if (!fails(failing, steps, vendor, needed)) {
                needed.add(fault);
            }
        }
        int least = 0; // does not fail
        int most = steps; // fails
        while (most - least > 1) {
            final int middle = (least + most) >>> 1;
            if (fails(failing, middle, vendor, needed)) {
                most = middle;
            } else {
                least = middle;
            }
        }
        final StringBuilder command = new StringBuilder("simulate --seed " + failing + " --steps " + most);
        vendor.ifPresent(named -> command.append(" --profile ").append(named.label()));
        needed.forEach(fault -> command.append(" --fault ").append(fault));
        return command.toString();
    }

    private static boolean fails(long seed, int steps, Optional<VendorProfile> vendor, List<String> faults) {
        return new Simulation(seed, steps, vendor, faults, line -> {}).run().violation() != null;
    }
}
