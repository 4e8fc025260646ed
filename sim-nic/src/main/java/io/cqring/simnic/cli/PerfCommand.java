package io.cqring.simnic.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cqring.notify.Moderation;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code cqring perf}: latency and rate of completions in real time, in the manner of perftest. */
@Command(
        name = "perf",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Measures in real time how completions of RDMA WRITEs of 8 bytes reach the host: lat, one at a time; rate, a window"
                    + " of them; table, both for polling, interrupts, coalesced interrupts and two sizes of entries, in turn.",
            ""
        },
        footer = {"", "Exit code: 0 measured, 1 a request failed or a wake-up was lost, 2 wrong usage."})
final class PerfCommand implements Callable<Integer> {
    private static final int MOST_WINDOW = 4096;
    private static final int WARM_UP_PART = 4;

    /** What to measure. */
    enum What {
        LAT,
        RATE,
        TABLE
    }

    @Parameters(paramLabel = "lat|rate|table", description = "What to measure.")
    private What what;

    @Option(
            names = "--mode",
            paramLabel = "MODE",
            defaultValue = "poll",
            description = "poll, event, hybrid or interrupt; not for table. Default: ${DEFAULT-VALUE}.")
    private PerfRig.Mode mode;

    @Option(
            names = "--moderation",
            paramLabel = "COUNT,MICROS|off",
            defaultValue = "off",
            description = "When the device raises an event; not for poll or table. Default: ${DEFAULT-VALUE}.")
    private String moderation;

    @Option(
            names = "--cqe",
            paramLabel = "BYTES",
            defaultValue = "64",
            description = "Bytes per completion entry: 32, 64 or 128; not for table. Default: ${DEFAULT-VALUE}.")
    private int cqeBytes;

    @Option(
            names = "--iters",
            paramLabel = "N",
            defaultValue = "20000",
            description = "Requests per measurement. Default: ${DEFAULT-VALUE}.")
    private long iterations;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "5",
            description = "Measurements of each kind; the median is printed. Default: ${DEFAULT-VALUE}.")
    private int rounds;

    @Option(
            names = "--window",
            paramLabel = "W",
            defaultValue = "64",
            description = "The most requests under way when the rate is measured. Default: ${DEFAULT-VALUE}.")
    private int window;

    @Option(names = "--json", description = "Print one JSON object.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    /** One way of taking completions, and what was measured of it. */
    private static final class Way {
        final String name;
        final PerfRig.Mode mode;
        final Moderation moderation;
        final int cqeBytes;

        /** The seed's figure, relative to its polling with 64-byte entries; 0 if it has none. */
        final double seedRate;

        final List<PerfRig.Result> latency = new ArrayList<>();
        final List<PerfRig.Result> rate = new ArrayList<>();

        Way(String name, PerfRig.Mode mode, Moderation moderation, int cqeBytes, double seedRate) {
            this.name = name;
            this.mode = mode;
            this.moderation = moderation;
            this.cqeBytes = cqeBytes;
            this.seedRate = seedRate;
        }
    }

    /** A number of a measurement. */
    private interface Figure {
        double of(PerfRig.Result result);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        require(iterations >= 1, "--iters must be 1 or more: " + iterations);
        require(rounds >= 1, "--rounds must be 1 or more: " + rounds);
        require(window >= 1 && window <= MOST_WINDOW, "--window must be 1 to " + MOST_WINDOW + ": " + window);
        require(cqeBytes == 32 || cqeBytes == 64 || cqeBytes == 128, "--cqe must be 32, 64 or 128: " + cqeBytes);
        requireSuits();
        final List<Way> ways = what == What.TABLE ? seedsTable() : List.of(asked());
        for (int round = 0; round != rounds; round++) { // in turn, so that a slow minute is slow for all
            for (Way way : ways) {
                if (what != What.RATE) {
                    way.latency.add(measure(way, 1));
                }
                if (what != What.LAT) {
                    way.rate.add(measure(way, window));
                }
            }
        }
        if (json) {
            printJson(ways);
        } else {
            print(ways);
        }
        return 0;
    }

    /** An option that would change nothing is a mistake. */
    private void requireSuits() {
        for (String option : what == What.TABLE ? List.of("--mode", "--moderation", "--cqe") : List.<String>of()) {
            if (spec.commandLine().getParseResult().hasMatchedOption(option)) {
                throw new ParameterException(
                        spec.commandLine(),
                        option + " is not for table, which has its own: "
                                + spec.commandLine()
                                        .getParseResult()
                                        .matchedOption(option)
                                        .originalStringValues()
                                        .get(0));
            }
        }
        require(
                mode != PerfRig.Mode.POLL || moderation.equals("off"),
                "--moderation needs --mode event, hybrid or interrupt, --mode poll: " + moderation);
    }

    private void require(boolean rule, String message) {
        if (!rule) {
            throw new ParameterException(spec.commandLine(), message);
        }
    }

    private Way asked() {
        final Moderation chosen;
        try {
            chosen = moderation.equals("off") ? Moderation.OFF : Moderation.parse(moderation);
            EventOptions.requireEnds(chosen);
        } catch (IllegalArgumentException wrong) {
            throw new ParameterException(spec.commandLine(), "--moderation " + moderation + ": " + wrong.getMessage());
        }
        return new Way(mode.name().toLowerCase(Locale.ROOT), mode, chosen, cqeBytes, 0);
    }

    /** The table of the seed text: its rows, and its rates relative to the first. */
    private static List<Way> seedsTable() {
        return List.of(
                new Way("polling, 64 B", PerfRig.Mode.POLL, Moderation.OFF, 64, 1),
                new Way("interrupt, not coalesced", PerfRig.Mode.INTERRUPT, Moderation.OFF, 64, 12.0 / 45),
                new Way("hybrid, 64 or 16 us", PerfRig.Mode.HYBRID, Moderation.ofMicros(64, 16), 64, 38.0 / 45),
                new Way("polling, 32 B", PerfRig.Mode.POLL, Moderation.OFF, 32, 48.0 / 45));
    }

    private PerfRig.Result measure(Way way, int underWay) throws InterruptedException {
        try (PerfRig rig = new PerfRig(way.mode, way.moderation, way.cqeBytes, underWay)) {
            rig.run(Math.max(1, iterations / WARM_UP_PART));
            return rig.run(iterations);
        }
    }

    private static double median(List<PerfRig.Result> results, Figure figure) {
        final double[] figures =
                results.stream().mapToDouble(figure::of).sorted().toArray();
        return figures.length == 0 ? Double.NaN : figures[figures.length / 2];
    }

    private static double[] range(List<PerfRig.Result> results, Figure figure) {
        final double[] figures =
                results.stream().mapToDouble(figure::of).sorted().toArray();
        return figures.length == 0 ? new double[0] : new double[] {figures[0], figures[figures.length - 1]};
    }

    /** Rates over those of the first way in the same round. */
    private static double[] ratesOverFirst(List<Way> ways, Way way) {
        final double[] ratios = new double[way.rate.size()];
        Arrays.setAll(
                ratios,
                i -> way.rate.get(i).perSecond() / ways.get(0).rate.get(i).perSecond());
        Arrays.sort(ratios);
        return ratios;
    }

    private void print(List<Way> ways) {
        final PrintWriter out = spec.commandLine().getOut();
        out.printf(
                Locale.ROOT,
                "RDMA WRITE, 8 bytes; %d requests a measurement, median of %d in turn; latency with 1 under way, rate with %d%n%n",
                iterations,
                rounds,
                window);
        out.printf(
                "%-26s %9s %9s %12s %9s %9s %12s   %-24s %s%n",
                "", "avg us", "p99 us", "completions", "CPU %", "CPU %", "interrupts", "rate / first way", "seed's");
        out.printf(
                "%-26s %9s %9s %12s %9s %9s %12s   %-24s %s%n",
                "way", "lat", "lat", "/s", "lat", "rate", "/s, rate", "median (least to most)", "ratio");
        for (Way way : ways) {
            final double[] ratios = what == What.TABLE ? ratesOverFirst(ways, way) : new double[0];
            out.printf(
                    Locale.ROOT,
                    "%-26s %9.2f %9.2f %12.0f %9.0f %9.0f %12.0f   %-24s %s%n",
                    way.name,
                    median(way.latency, PerfRig.Result::averageUs),
                    median(way.latency, PerfRig.Result::p99Us),
                    median(way.rate, PerfRig.Result::perSecond),
                    median(way.latency, PerfRig.Result::hostCpuPercent),
                    median(way.rate, PerfRig.Result::hostCpuPercent),
                    median(way.rate, PerfRig.Result::interruptsPerSecond),
                    ratios.length == 0
                            ? ""
                            : String.format(
                                    Locale.ROOT,
                                    "%.2f (%.2f to %.2f)",
                                    ratios[ratios.length / 2],
                                    ratios[0],
                                    ratios[ratios.length - 1]),
                    way.seedRate == 0 ? "" : String.format(Locale.ROOT, "%.3f", way.seedRate));
        }
        if (what == What.TABLE) {
            out.println();
            out.println(
                    "The seed's ratios are of a 400G NIC and kernel interrupts; here the device is a thread, and an interrupt"
                            + " is an unpark.");
        }
        out.flush();
    }

    private void printJson(List<Way> ways) throws IOException {
        final ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        final ObjectNode document = mapper.createObjectNode();
        document.put("requests", iterations);
        document.put("rounds", rounds);
        document.put("window", window);
        final ArrayNode list = document.putArray("ways");
        for (Way way : ways) {
            final ObjectNode node = list.addObject();
            node.put("name", way.name);
            node.put("mode", way.mode.name().toLowerCase(Locale.ROOT));
            node.put("moderation", way.moderation.isOff() ? "off" : way.moderation.toString());
            node.put("cqe_bytes", way.cqeBytes);
            if (!way.latency.isEmpty()) {
                putFigure(node, "avg_us", way.latency, PerfRig.Result::averageUs);
                putFigure(node, "p99_us", way.latency, PerfRig.Result::p99Us);
                putFigure(node, "lat_host_cpu_percent", way.latency, PerfRig.Result::hostCpuPercent);
            }
            if (!way.rate.isEmpty()) {
                putFigure(node, "completions_per_s", way.rate, PerfRig.Result::perSecond);
                putFigure(node, "rate_host_cpu_percent", way.rate, PerfRig.Result::hostCpuPercent);
                putFigure(node, "interrupts_per_s", way.rate, PerfRig.Result::interruptsPerSecond);
            }
            if (what == What.TABLE) {
                final ArrayNode ratios = node.putArray("rate_over_first_each_round");
                for (double ratio : ratesOverFirst(ways, way)) {
                    ratios.add(ratio);
                }
                node.put("seed_ratio", way.seedRate);
            }
        }
        spec.commandLine().getOut().println(mapper.writeValueAsString(document));
        spec.commandLine().getOut().flush();
    }

    private static void putFigure(ObjectNode node, String name, List<PerfRig.Result> results, Figure figure) {
        final ObjectNode spread = node.putObject(name);
        final double[] range = range(results, figure);
        spread.put("median", median(results, figure));
        spread.put("least", range[0]);
        spread.put("most", range[1]);
    }
}
