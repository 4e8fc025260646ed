package io.cqring.simnic.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cqring.simnic.fault.NamedFaults;
import io.cqring.simnic.workload.WorkloadTotals;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** What a run found: counted while it ran, then printed as a table or as one JSON object. For the thread that runs. */
final class RunReport {
    /** The longest latency that is kept exactly; longer ones count as this. */
    private static final long MAX_LATENCY_NS = 3_600_000_000_000L;

    private final String workload;
    private final RunOptions options;
    private final WorkloadTotals expected;
    /** Null if none was asked for. */
    private final NamedFaults faults;

    private final Histogram latencyNs = new Histogram(MAX_LATENCY_NS, 3);

    long completions;
    long lost;
    long duplicated;
    long misordered;
    long errors;
    long payloadMismatches;
    long cqOverruns;
    int cqDepth;
    int cqDepthMin;
    int cqDepthMax;
    long cqResizes;
    long cqesRefused;
    long mergedCompletions;
    long polls;
    long emptyPolls;
    long events;
    long interrupts;
    long spuriousWakeups;
    long arms;
    long missedEvents;
    long eqOverruns;

    /** Times that completions lay there and no event came. */
    long lostWakeups;

    /** Processor time of the thread that posts, over the time that passed. */
    double hostCpuPercent;

    long firstPostNs;
    long lastCompletionNs;

    /** First thing that went wrong, in words; null if nothing did. */
    String firstFault;

    /** For a run without named faults. */
    RunReport(String workload, RunOptions options, WorkloadTotals expected) {
        this(workload, options, expected, null);
    }

    RunReport(String workload, RunOptions options, WorkloadTotals expected, NamedFaults faults) {
        this.faults = faults;
        this.workload = workload;
        this.options = options;
        this.expected = expected;
    }

    void recordLatency(long ns) {
        latencyNs.recordValue(Math.max(0, Math.min(ns, MAX_LATENCY_NS)));
    }

    void fault(String what) {
        if (firstFault == null) {
            firstFault = what;
        }
    }

    boolean isClean() {
        return completions == expected.completions()
                && lost == 0
                && duplicated == 0
                && misordered == 0
                && errors == 0
                && payloadMismatches == 0
                && cqOverruns == 0
                && lostWakeups == 0;
    }

    private double seconds() {
        return completions == 0 ? 0 : (lastCompletionNs - firstPostNs) / 1e9;
    }

    private double millionPerSecond() {
        double seconds = seconds();
        return seconds == 0 ? 0 : completions / seconds / 1e6;
    }

    String toJson() {
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        ObjectNode json = mapper.createObjectNode();
        json.put("workload", workload);
        json.put("ranks", options.ranks());
        json.put("chunk_bytes", options.chunkBytes());
        json.put("collectives", expected.collectives());
        json.put("messages", expected.messages());
        json.put("chunks", expected.chunks());
        json.put("completions_expected", expected.completions());
        json.put("completions", completions);
        json.put("lost", lost);
        json.put("duplicated", duplicated);
        json.put("misordered", misordered);
        json.put("errors", errors);
        json.put("payload_mismatches", payloadMismatches);
        json.put("cq_overruns", cqOverruns);
        json.put("profile", options.profileLabel());
        json.put("cqe_bytes", options.cqeBytes());
        json.put("cq_depth", cqDepth);
        json.put("cq_depth_min", cqDepthMin);
        json.put("cq_depth_max", cqDepthMax);
        json.put("cq_resizes", cqResizes);
        json.put("cqes_refused", cqesRefused);
        json.put("pollers", options.pollers());
        json.put("merge", options.merge());
        json.put("merged_completions", mergedCompletions);
        json.put("polls", polls);
        json.put("empty_polls", emptyPolls);
        json.put("mode", options.events().mode().label());
        json.put("moderation", options.events().moderationLabel());
        json.put("eqs", options.events().eqs());
        json.put("events", events);
        json.put("interrupts", interrupts);
        json.put("spurious_wakeups", spuriousWakeups);
        json.put("arms", arms);
        json.put("missed_events", missedEvents);
        json.put("eq_overruns", eqOverruns);
        json.put("lost_wakeups", lostWakeups);
        if (faults != null) {
            ObjectNode injected = json.putObject("faults");
            faults.injected().forEach((kind, count) -> injected.put(kind.label(), count));
        }
        json.put("host_cpu_percent", hostCpuPercent);
        json.put("seconds", seconds());
        json.put("mcqe_per_s", millionPerSecond());
        ObjectNode latency = json.putObject("latency_ns");
        latency.put("p50", latencyNs.getValueAtPercentile(50));
        latency.put("p99", latencyNs.getValueAtPercentile(99));
        latency.put("p999", latencyNs.getValueAtPercentile(99.9));
        latency.put("max", latencyNs.getMaxValue());
        try {
            return mapper.writeValueAsString(json);
        } catch (com.fasterxml.jackson.core.JsonProcessingException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    void printTable(PrintWriter out) {
        row(out, "workload", workload);
        row(out, "ranks, chunk", options.ranks() + ", " + options.chunkBytes() + " bytes");
        row(
                out,
                "completion queues",
                options.ranks() + " x " + (options.isDepthAuto() ? "at most " : "") + cqDepth + " entries of "
                        + options.cqeBytes() + " bytes, profile " + options.profileLabel());
        if (options.isDepthAuto()) {
            row(
                    out,
                    "depth",
                    "auto: " + options.firstDepth() + " to " + options.largestDepth() + ", at the end " + cqDepthMin
                            + (cqDepthMin == cqDepthMax ? "" : " to " + cqDepthMax) + ", resized " + count(cqResizes)
                            + " times, NIC held back " + count(cqesRefused) + " times");
        }
        row(out, "collectives", count(expected.collectives()));
        row(out, "messages", count(expected.messages()));
        row(out, "chunks", count(expected.chunks()));
        row(out, "completions", count(completions) + " of " + count(expected.completions()) + " expected");
        row(out, "lost", count(lost));
        row(out, "duplicated", count(duplicated));
        row(out, "misordered", count(misordered));
        row(out, "errors", count(errors));
        row(out, "payload mismatches", count(payloadMismatches));
        row(out, "CQ overruns", count(cqOverruns));
        if (options.merge()) {
            row(out, "merged completions", count(mergedCompletions));
        }
        row(
                out,
                "polls",
                count(polls) + ", of them empty " + count(emptyPolls)
                        + (options.pollers() == 1 ? "" : ", by " + options.pollers() + " threads"));
        if (options.events().hasEvents()) {
            row(
                    out,
                    "events",
                    count(events) + " of " + count(arms) + " arms, " + count(interrupts) + " interrupts, "
                            + count(lostWakeups) + " wake-ups lost");
        }
        if (faults != null) {
            faults.injected()
                    .forEach((kind, times) -> row(out, "fault " + kind.label(), "struck " + count(times) + " times"));
        }
        row(
                out,
                "host CPU",
                String.format(
                        Locale.ROOT,
                        "%.0f %%, mode %s",
                        hostCpuPercent,
                        options.events().mode().label()));
        row(
                out,
                "time",
                String.format(Locale.ROOT, "%.3f s, %.2f million completions/s", seconds(), millionPerSecond()));
        row(
                out,
                "latency",
                String.format(
                        Locale.ROOT,
                        "p50 %.1f us, p99 %.1f us, p99.9 %.1f us, max %.1f us",
                        latencyNs.getValueAtPercentile(50) / 1e3,
                        latencyNs.getValueAtPercentile(99) / 1e3,
                        latencyNs.getValueAtPercentile(99.9) / 1e3,
                        latencyNs.getMaxValue() / 1e3));
        row(out, "verdict", isClean() ? "nothing lost" : "FAILED");
        out.flush();
    }

    private static void row(PrintWriter out, String name, String value) {
        out.printf(Locale.ROOT, "  %-20s %s%n", name, value);
    }

    private static String count(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }
}
