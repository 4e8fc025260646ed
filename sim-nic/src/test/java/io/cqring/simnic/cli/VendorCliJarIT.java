package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The shipped jar: the beginning of each recorded workload over each vendor's queues in each of their modes, every number by the formula. */
class VendorCliJarIT {
    private static final int RANKS = 4;
    private static final long CHUNK = 524_288;

    @TempDir
    private Path folder;

    /** What the formula says of some lines of a workload, worked out here from the file itself. */
    private static final class Totals {
        long lines;
        long messages;
        long chunks;

        private void add(String call, long bytes) {
            final long all = RANKS * (RANKS - 1L);
            final long part = (bytes + RANKS - 1) / RANKS;
            lines++;
            switch (call) {
                case "all_reduce" -> send(2 * all, part);
                case "reduce_scatter", "all_gather", "all_to_all" -> send(all, part);
                case "broadcast", "reduce" -> send(RANKS - 1L, bytes);
                case "barrier" -> send(RANKS, 0);
                case "epoch_end" -> {}
                default -> throw new AssertionError("not in the recorded workloads: " + call);
            }
        }

        private void send(long count, long bytes) {
            messages += count;
            chunks += count * Math.max(1, (bytes + CHUNK - 1) / CHUNK);
        }

        static Totals of(Path file, int limit) throws IOException {
            final List<String> text = Files.readAllLines(file, StandardCharsets.UTF_8);
            int header = 0;
            while (!text.get(header).startsWith("comm_type,")) {
                header++;
            }
            final int size = List.of(text.get(header).split(",")).indexOf("msg_size");
            final Totals totals = new Totals();
            for (String line : text.subList(header + 1, header + 1 + limit)) {
                final String[] fields = line.split(",", -1);
                final String call = fields[0].substring(fields[0].indexOf('.') + 1);
                totals.add(call, call.equals("epoch_end") || call.equals("barrier") ? 0 : Long.parseLong(fields[size]));
            }
            return totals;
        }
    }

    static Stream<Arguments> everyFileProfileAndMode() {
        return Stream.of(
                        Arguments.of("G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv", 40),
                        Arguments.of("L7B-D1-C02_Llama7B_zero3_mbs1.csv", 12),
                        Arguments.of("all_to_all_workload.csv", 60))
                .flatMap(file -> Stream.of("mlx5 64", "irdma 64", "bnxt_re 32")
                        .flatMap(profile -> Stream.of("poll", "event", "hybrid")
                                .map(mode -> Arguments.of(file.get()[0], file.get()[1], profile, mode))));
    }

    private JsonNode run(Path workload, int limit, String profile, String mode)
            throws IOException, InterruptedException {
        final Path out = folder.resolve("out");
        final Path err = folder.resolve("err");
        final int exitCode = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1", // short runs: starting is most of it
                        "-jar",
                        System.getProperty("cqring.cli.jar"),
                        "run",
                        "--json",
                        "--workload=" + workload,
                        "--limit=" + limit,
                        "--ranks=" + RANKS,
                        "--profile=" + profile,
                        "--mode=" + mode)
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start()
                .waitFor();
        assertEquals("", Files.readString(err));
        assertEquals(0, exitCode);
        return new ObjectMapper().readTree(Files.readString(out));
    }

    @ParameterizedTest
    @MethodSource("everyFileProfileAndMode")
    void recordedWorkloadsLoseNothing(String file, int limit, String profile, String mode) throws Exception {
        final Path path = Path.of(System.getProperty("cqring.shared.dir"))
                .resolve("data/aicb")
                .resolve(file);
        if (!Files.exists(path)) {
            System.out.println("SKIPPED: recorded workload is absent: " + file);
            Assumptions.abort("recorded workload is absent");
        }
        final String[] vendor = profile.split(" ", -1);
        final Totals formula = Totals.of(path, limit);
        final JsonNode json = run(path, limit, vendor[0], mode);
        assertEquals(vendor[0], json.get("profile").asText());
        assertEquals(mode, json.get("mode").asText());
        expect(json, "cqe_bytes", Long.parseLong(vendor[1]));
        expect(json, "ranks", RANKS);
        expect(json, "chunk_bytes", CHUNK);
        expect(json, "collectives", formula.lines);
        expect(json, "messages", formula.messages);
        expect(json, "chunks", formula.chunks);
        expect(json, "completions_expected", 2 * formula.chunks);
        expect(json, "completions", 2 * formula.chunks);
        for (String none : List.of(
                "lost",
                "duplicated",
                "misordered",
                "errors",
                "payload_mismatches",
                "cq_overruns",
                "cq_resizes",
                "cqes_refused",
                "merged_completions",
                "eq_overruns",
                "lost_wakeups")) {
            expect(json, none, 0);
        }
        final long arms = json.get("arms").asLong();
        final long events = json.get("events").asLong();
        if (mode.equals("poll")) {
            assertEquals(0, arms + events, json::toString);
            expect(json, "interrupts", 0);
            expect(json, "missed_events", 0);
            expect(json, "spurious_wakeups", 0);
        } else {
            assertTrue(events <= arms, json::toString);
            assertTrue(json.get("interrupts").asLong() <= events, json::toString);
            assertTrue(json.get("missed_events").asLong() <= arms, json::toString);
            assertTrue(json.get("spurious_wakeups").asLong() <= events, json::toString);
        }
        assertTrue(json.get("empty_polls").asLong() <= json.get("polls").asLong(), json::toString);
    }

    private static void expect(JsonNode json, String counter, long value) {
        assertEquals(value, json.get(counter).asLong(), () -> counter + " in " + json);
    }
}
