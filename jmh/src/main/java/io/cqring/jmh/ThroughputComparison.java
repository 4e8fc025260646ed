package io.cqring.jmh;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.cqring.jmh.RoundRunner.Round;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * How many entries per second cross from one writer thread to one poller thread, beside other rings, in paired rounds.
 *
 * <p>Each round gives every ring one short turn, in the same order, and yields one ratio per peer. A machine that is slow
 * for a while is slow for both halves of a ratio, so ratios hold where rates swing; the spread says how well. A turn moves a
 * fixed number of entries, chosen in the warm-up so that it lasts about as long for every ring.
 */
final class ThroughputComparison {
    private static final int CALIBRATIONS = 4;

    private final int jvms;
    private final int entryBytes;
    private final double seconds;
    private final Map<String, String> conditions;
    private final String loadAtEnd;
    private final Map<Contender, Round[]> rounds;

    private ThroughputComparison(
            int jvms, int entryBytes, double seconds, Map<String, String> conditions, Map<Contender, Round[]> rounds) {
        this.jvms = jvms;
        this.entryBytes = entryBytes;
        this.seconds = seconds;
        this.conditions = conditions;
        this.loadAtEnd = Conditions.loadAverage();
        this.rounds = rounds;
    }

    /** Measures, in this JVM. Every round's checksums are verified. */
    static ThroughputComparison measure(int entryBytes, int roundCount, double seconds) {
        Map<String, String> conditions = Conditions.describe();
        Map<Contender, Round[]> rounds = new EnumMap<>(Contender.class);
        Map<Contender, Transfer> transfers = new EnumMap<>(Contender.class);
        Map<Contender, Integer> slices = new EnumMap<>(Contender.class);
        for (Contender contender : Contender.values()) {
            transfers.put(contender, contender.create(entryBytes));
            slices.put(contender, 8);
            rounds.put(contender, new Round[roundCount]);
        }
        try (RoundRunner runner = new RoundRunner()) {
            for (int i = 0; i < CALIBRATIONS; i++) {
                slices.replaceAll((contender, now) -> calibrated(runner.run(transfers.get(contender), now), seconds));
            }
            for (int round = 0; round < roundCount; round++) {
                for (Contender contender : Contender.values()) {
                    rounds.get(contender)[round] = runner.run(transfers.get(contender), slices.get(contender));
                }
            }
        }
        return new ThroughputComparison(1, entryBytes, seconds, conditions, rounds);
    }

    /**
     * Puts together what several JVMs measured in as many rounds each.
     *
     * @param documents what {@link #writeJson} wrote in each
     */
    static ThroughputComparison of(List<String> documents, int entryBytes, double seconds) throws IOException {
        ObjectMapper json = new ObjectMapper();
        Map<String, String> conditions = Map.of();
        Map<Contender, Round[]> rounds = new EnumMap<>(Contender.class);
        for (String document : documents) {
            JsonNode root = json.readTree(document);
            if (rounds.isEmpty()) {
                conditions = json.convertValue(root.get("conditions"), new TypeReference<>() {});
            }
            for (Contender contender : Contender.values()) {
                JsonNode list = root.get("rings").get(contender.name()).get("rounds");
                Round[] more = json.convertValue(list, Round[].class);
                rounds.merge(contender, more, ThroughputComparison::concatenated);
            }
        }
        return new ThroughputComparison(documents.size(), entryBytes, seconds, conditions, rounds);
    }

    private static Round[] concatenated(Round[] first, Round[] second) {
        return Stream.concat(Arrays.stream(first), Arrays.stream(second)).toArray(Round[]::new);
    }

    private static int calibrated(Round round, double seconds) {
        return (int) Math.max(1, Math.round(round.entriesPerSecond() * seconds / RoundRunner.SLICE));
    }

    private double[] each(Contender contender, ToDoubleFunction<Round> number) {
        return IntStream.range(0, rounds.get(contender).length)
                .mapToDouble(round -> number.applyAsDouble(rounds.get(contender)[round]))
                .toArray();
    }

    private double perEntry(Contender contender, ToDoubleFunction<Round> number) {
        double entries = 0;
        double total = 0;
        for (Round round : rounds.get(contender)) {
            entries += round.entries();
            total += number.applyAsDouble(round);
        }
        return total / entries;
    }

    private Summary rate(Contender contender) {
        return Summary.of(each(contender, Round::entriesPerSecond));
    }

    /** Ours over the peer's, round by round. */
    Summary ratio(Contender ours, Contender peer) {
        return Summary.ofRatios(each(ours, Round::entriesPerSecond), each(peer, Round::entriesPerSecond));
    }

    /** The median of {@link #ratio} in each JVM. */
    private double[] ratioOfEachJvm(Contender ours, Contender peer) {
        double[] mine = each(ours, Round::entriesPerSecond);
        double[] theirs = each(peer, Round::entriesPerSecond);
        int length = mine.length / jvms;
        return IntStream.range(0, jvms)
                .mapToDouble(jvm -> Summary.ofRatios(
                                Arrays.copyOfRange(mine, jvm * length, (jvm + 1) * length),
                                Arrays.copyOfRange(theirs, jvm * length, (jvm + 1) * length))
                        .median())
                .toArray();
    }

    /** Heap bytes per entry, both threads, all rounds. */
    double allocatedPerEntry(Contender contender) {
        return perEntry(contender, Round::allocatedBytes);
    }

    /** The implementation of JCTools that was faster in this run: the one to be compared with. */
    private Contender fasterJctools() {
        return rate(Contender.JCTOOLS_UNSAFE).median()
                        >= rate(Contender.JCTOOLS_VARHANDLE).median()
                ? Contender.JCTOOLS_UNSAFE
                : Contender.JCTOOLS_VARHANDLE;
    }

    void print(PrintWriter out) {
        int words = Transfer.wordsOf(entryBytes);
        out.printf(
                "RingThroughput: 1 writer, 1 poller, %d-byte entries, %d bytes of payload in every ring, capacity %d%n",
                entryBytes, words * Long.BYTES, Transfer.CAPACITY);
        out.printf(
                "%d paired rounds in each of %d JVMs, about %.2f s per ring and round, checksums verified%n",
                rounds.get(Contender.CQRING).length / jvms, jvms, seconds);
        conditions.forEach((name, value) -> out.printf("  %-21s %s%n", name, value));
        out.printf("  %-21s %s%n%n", "load average at end", loadAtEnd);
        out.printf(
                "%-34s %21s   %23s   %23s   %9s %9s %9s %6s%n",
                "",
                "million entries/s",
                "cqring write / this",
                "cqring claim / this",
                "empty",
                "full",
                "heap B",
                "core");
        out.printf(
                "%-34s %7s%7s%7s   %8s%7s%8s   %8s%7s%8s   %9s %9s %9s %6s%n",
                "ring", "q1", "median", "q3", "q1", "median", "q3", "q1", "median", "q3", "/entry", "/entry", "/entry",
                "share");
        for (Contender contender : Contender.values()) {
            Summary rate = rate(contender);
            Summary write = ratio(Contender.CQRING, contender);
            Summary claim = ratio(Contender.CQRING_CLAIM, contender);
            out.printf(
                    "%-34s %7.1f%7.1f%7.1f   %8.2f%7.2f%8.2f   %8.2f%7.2f%8.2f   %9.4f %9.4f %9.6f %6.2f%n",
                    contender.label(),
                    rate.lowerQuartile() / 1e6,
                    rate.median() / 1e6,
                    rate.upperQuartile() / 1e6,
                    write.lowerQuartile(),
                    write.median(),
                    write.upperQuartile(),
                    claim.lowerQuartile(),
                    claim.median(),
                    claim.upperQuartile(),
                    perEntry(contender, Round::emptyPolls),
                    perEntry(contender, Round::fullRefusals),
                    allocatedPerEntry(contender),
                    Summary.of(each(contender, Round::cpuShare)).median());
        }
        out.printf("%nmedian of cqring write / this in each JVM:%n");
        for (Contender contender : Contender.values()) {
            if (contender != Contender.CQRING) {
                out.printf("  %-34s", contender.label());
                Arrays.stream(ratioOfEachJvm(Contender.CQRING, contender))
                        .sorted()
                        .forEach(median -> out.printf("%6.2f", median));
                out.println();
            }
        }
        out.printf(
                "%ncore share: part of its turn for which a thread had a core (of the thread that had less; median).%n"
                        + "Below 0.95 other programs were in the way: the spread of the ratios says how much.%n");
        out.printf("The faster JCTools queue of this run: %s%n", fasterJctools().label());
        out.flush();
    }

    void writeJson(Path file) throws IOException {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("benchmark", "RingThroughput");
        document.put("entry_bytes", entryBytes);
        document.put("payload_bytes", Transfer.wordsOf(entryBytes) * Long.BYTES);
        document.put("capacity", Transfer.CAPACITY);
        document.put("jvms", jvms);
        document.put("conditions", conditions);
        document.put("load_average_at_end", loadAtEnd);
        Map<String, Object> rings = new LinkedHashMap<>();
        rounds.forEach((contender, list) -> {
            Map<String, Object> ring = new LinkedHashMap<>();
            ring.put("label", contender.label());
            ring.put("entries_per_second", rate(contender));
            ring.put("cqring_over_this", ratio(Contender.CQRING, contender));
            ring.put("cqring_over_this_each_jvm", ratioOfEachJvm(Contender.CQRING, contender));
            ring.put("cqring_claim_over_this", ratio(Contender.CQRING_CLAIM, contender));
            ring.put("allocated_bytes_per_entry", allocatedPerEntry(contender));
            ring.put("rounds", List.of(list));
            rings.put(contender.name(), ring);
        });
        document.put("rings", rings);
        new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValue(file.toFile(), document);
    }
}
