package io.cqring.jmh;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What it costs to poll one entry that is in the cache, beside a loop written by hand over the same memory, in paired rounds.
 *
 * <p>One thread fills a ring of 256 entries with the queue's writer and empties it; only the emptying is timed, and what two
 * looks at the clock cost is taken off. A round does so for a while with each way of polling in turn, and takes the median of each: what
 * an interrupt or another process costs is not the queue's doing.
 */
final class PollComparison {
    private static final int WARM_UP_ROUNDS = 20;

    /** Roughly; decides only how often a round fills the ring. */
    private static final double FILL_AND_DRAIN_SECONDS = 3e-6;

    private static final String HAND_WRITTEN = "hand-written loop";

    private final Map<String, String> conditions;
    private final String loadAtEnd;
    private final double[] timerNs;
    private final Map<String, double[]> nsPerEntry;

    private PollComparison(Map<String, String> conditions, double[] timerNs, Map<String, double[]> nsPerEntry) {
        this.conditions = conditions;
        this.loadAtEnd = Conditions.loadAverage();
        this.timerNs = timerNs;
        this.nsPerEntry = nsPerEntry;
    }

    /** Measures. Every round's checksums are verified. */
    static PollComparison measure(int rounds, double seconds) {
        Map<String, String> conditions = Conditions.describe();
        Map<String, PollRing> rings = new LinkedHashMap<>();
        rings.put("poll(handler, limit)", new PollRing.Handler());
        rings.put("cursor", new PollRing.Cursor());
        rings.put(HAND_WRITTEN, new PollRing.HandWritten());
        Map<String, double[]> nsPerEntry = new LinkedHashMap<>();
        rings.keySet().forEach(name -> nsPerEntry.put(name, new double[rounds]));
        double[] timerNs = new double[rounds];
        long[] times = new long[Math.max(100, (int) (seconds / FILL_AND_DRAIN_SECONDS))];
        for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
            double timer = timerNs(times);
            for (Map.Entry<String, PollRing> ring : rings.entrySet()) {
                double ns = drainNs(ring.getValue(), times) - timer;
                if (round >= 0) {
                    nsPerEntry.get(ring.getKey())[round] = ns / PollRing.CAPACITY;
                    timerNs[round] = timer;
                }
            }
        }
        return new PollComparison(conditions, timerNs, nsPerEntry);
    }

    /** What a timed piece of nothing seems to last: median of {@code times.length} trials. */
    private static double timerNs(long[] times) {
        for (int i = 0; i < times.length; i++) {
            long start = System.nanoTime();
            times[i] = System.nanoTime() - start;
        }
        return median(times);
    }

    /** How long it takes to empty the ring: median of {@code times.length} trials. */
    private static double drainNs(PollRing ring, long[] times) {
        ring.fill();
        long before = ring.drain();
        long sum = before;
        for (int i = 0; i < times.length; i++) {
            ring.fill();
            long start = System.nanoTime();
            sum = ring.drain();
            times[i] = System.nanoTime() - start;
        }
        long expected = times.length * PollRing.sumOfFill();
        if (sum - before != expected) {
            throw new IllegalStateException(ring.getClass().getName() + ": the words of " + times.length
                    + " fills must add up to " + expected + ": " + (sum - before));
        }
        return median(times);
    }

    private static double median(long[] times) {
        return Summary.of(Arrays.stream(times).asDoubleStream().toArray()).median();
    }

    void print(PrintWriter out) {
        out.printf("PollCost: 1 thread, 64-byte entries in cache, %d at a time, all fields read%n", PollRing.CAPACITY);
        out.printf("%d paired rounds, checksums verified%n", timerNs.length);
        conditions.forEach((name, value) -> out.printf("  %-21s %s%n", name, value));
        out.printf("  %-21s %s%n", "load average at end", loadAtEnd);
        out.printf(
                "  %-21s %.1f ns per %d entries%n%n",
                "clock, taken off", Summary.of(timerNs).median(), PollRing.CAPACITY);
        out.printf("%-22s %24s   %24s%n", "", "ns per polled entry", "this / hand-written loop");
        out.printf("%-22s %8s%8s%8s   %8s%8s%8s%n", "way", "q1", "median", "q3", "q1", "median", "q3");
        nsPerEntry.forEach((name, each) -> {
            Summary ns = Summary.of(each);
            Summary ratio = ratio(name);
            out.printf(
                    "%-22s %8.3f%8.3f%8.3f   %8.3f%8.3f%8.3f%n",
                    name,
                    ns.lowerQuartile(),
                    ns.median(),
                    ns.upperQuartile(),
                    ratio.lowerQuartile(),
                    ratio.median(),
                    ratio.upperQuartile());
        });
        out.flush();
    }

    private Summary ratio(String name) {
        return Summary.ofRatios(nsPerEntry.get(name), nsPerEntry.get(HAND_WRITTEN));
    }

    void writeJson(Path file) throws IOException {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("benchmark", "PollCost");
        document.put("conditions", conditions);
        document.put("load_average_at_end", loadAtEnd);
        document.put("clock_ns", timerNs);
        Map<String, Object> ways = new LinkedHashMap<>();
        nsPerEntry.forEach((name, each) -> {
            Map<String, Object> way = new LinkedHashMap<>();
            way.put("ns_per_entry", Summary.of(each));
            way.put("this_over_hand_written", ratio(name));
            way.put("rounds_ns_per_entry", each);
            ways.put(name, way);
        });
        document.put("ways", ways);
        new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValue(file.toFile(), document);
    }
}
