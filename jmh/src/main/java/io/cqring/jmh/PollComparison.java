package io.cqring.jmh;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What it costs to poll one entry that is in the cache, beside a loop written by hand over the same memory, in paired rounds.
 *
 * <p>One thread fills a ring of 256 entries with the queue's writer and empties it; only the emptying is timed, and what two
 * looks at the clock cost is taken off. A round does so for a while with each way of polling in turn.
 */
final class PollComparison {
    private static final int WARM_UP_ROUNDS = 20;

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

    private static final String HAND_WRITTEN = "hand-written loop";

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
        // About 2 us to write and poll 256 entries.
        int fills = (int) Math.max(100, seconds * 500_000);
        for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
            double timer = timerNs(fills);
            for (Map.Entry<String, PollRing> ring : rings.entrySet()) {
                double ns = drainNs(ring.getValue(), fills) - timer;
                if (round >= 0) {
                    nsPerEntry.get(ring.getKey())[round] = ns / PollRing.CAPACITY;
                    timerNs[round] = timer;
                }
            }
        }
        return new PollComparison(conditions, timerNs, nsPerEntry);
    }

    /** What a timed piece of nothing seems to last. */
    private static double timerNs(int times) {
        long total = 0;
        for (int i = 0; i < times; i++) {
            long start = System.nanoTime();
            total += System.nanoTime() - start;
        }
        return (double) total / times;
    }

    private static double drainNs(PollRing ring, int fills) {
        ring.fill();
        long before = ring.drain();
        long sum = before;
        long total = 0;
        for (int i = 0; i < fills; i++) {
            ring.fill();
            long start = System.nanoTime();
            sum = ring.drain();
            total += System.nanoTime() - start;
        }
        if (sum - before != fills * PollRing.sumOfFill()) {
            throw new IllegalStateException(ring.getClass().getSimpleName() + ": the words of " + fills
                    + " fills must add up to " + fills * PollRing.sumOfFill() + ": " + (sum - before));
        }
        return (double) total / fills;
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
