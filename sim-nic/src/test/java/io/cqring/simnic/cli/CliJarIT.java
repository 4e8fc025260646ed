package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The shipped jar as a user starts it: exit codes, streams, and the three recorded workloads. */
class CliJarIT {
    private static final String JAR = System.getProperty("cqring.cli.jar");

    @TempDir
    private Path folder;

    private record Outcome(int exitCode, String out, String err) {}

    private Outcome cqring(String... args) throws IOException, InterruptedException {
        return java(List.of("-jar", JAR), args);
    }

    private Outcome java(List<String> options, String... args) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(options);
        command.addAll(List.of(args));
        Path out = folder.resolve("out");
        Path err = folder.resolve("err");
        Process process = new ProcessBuilder(command)
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        int exitCode = process.waitFor();
        return new Outcome(exitCode, read(out), read(err));
    }

    private static String read(Path file) throws IOException {
        return Files.readString(file, StandardCharsets.UTF_8);
    }

    /** Exit code 2, nothing on standard output, and exactly this line on standard error. */
    private void assertRefused(String line, String... args) throws IOException, InterruptedException {
        Outcome outcome = cqring(args);
        assertEquals("cqring: " + line + System.lineSeparator(), outcome.err());
        assertEquals("", outcome.out());
        assertEquals(2, outcome.exitCode());
    }

    @Test
    void versionAndHelp() throws Exception {
        Outcome version = cqring("--version");
        assertEquals("cqring " + System.getProperty("cqring.version") + System.lineSeparator(), version.out());
        assertEquals("", version.err());
        assertEquals(0, version.exitCode());
        for (String[] args : new String[][] {{"--help"}, {"run", "--help"}}) {
            Outcome help = cqring(args);
            assertTrue(help.out().startsWith("Usage: cqring"), help.out());
            assertEquals("", help.err());
            assertEquals(0, help.exitCode());
        }
    }

    @Test
    void wrongOptionsAreOneLineAndExitCode2() throws Exception {
        assertRefused("a command is missing: run, perf, simulate or mlx5-device (see cqring --help)");
        assertRefused("--ranks must be 2 to 64: 1", "run", "--ranks", "1");
        assertRefused(
                "--depth must be a power of two and hold 2 x (ranks - 1) x window = 896 entries, so at least 1024: 3",
                "run",
                "--depth",
                "3");
        assertRefused(
                "--depth must be a power of two and hold 2 x (ranks - 1) x window = 896 entries, so at least 1024: 512",
                "run",
                "--depth",
                "512");
        assertRefused("--limit must be 1 or more: 0", "run", "--limit", "0");
        assertRefused("--pollers must be 1 to 16: 0", "run", "--pollers", "0");
        assertRefused("--merge needs one poller, --pollers: 2", "run", "--pollers", "2", "--merge");
        assertRefused("--cqe must be 32, 64 or 128 bytes: 16", "run", "--cqe", "16");
        assertRefused("Invalid value for option '--ranks': 'many' is not an int", "run", "--ranks", "many");
        assertRefused("Unknown option: '--fast'", "run", "--fast");
    }

    @Test
    void queuesThatNoMemoryCanHoldAreOneLineAndExitCode2() throws Exception {
        Outcome outcome =
                java(List.of("-XX:MaxDirectMemorySize=64m", "-jar", JAR), "run", "--depth", "1048576", "--ranks", "2");
        String line = "cqring: no memory for so much of --ranks 2, --depth 1048576, --window 64 and --copy-limit 4096"
                + " (java -Xmx, -XX:MaxDirectMemorySize): ";
        assertTrue(outcome.err().startsWith(line), outcome.err());
        assertEquals(1, outcome.err().lines().count(), outcome.err());
        assertEquals("", outcome.out());
        assertEquals(2, outcome.exitCode());
    }

    @Test
    void wrongWorkloadsAreOneLineAndExitCode2() throws Exception {
        Path missing = folder.resolve("missing.csv");
        assertRefused(missing + ": cannot be read: no such file", "run", "--workload", missing.toString());
        Path wrong = folder.resolve("wrong.csv");
        Files.writeString(wrong, "comm_type,msg_size\nCommType.all_reduce,8\nCommType.all_scatter,8\n");
        Outcome outcome = cqring("run", "--workload", wrong.toString(), "--limit", "1", "--json");
        assertTrue(outcome.err().startsWith("cqring: " + wrong + " line 3: unknown comm_type: "), outcome.err());
        assertEquals(1, outcome.err().lines().count(), outcome.err());
        assertEquals("", outcome.out());
        assertEquals(2, outcome.exitCode());
        Path truncated = folder.resolve("truncated.csv");
        Files.writeString(truncated, "comm_type,comm_group,msg_size\nCommType.all_reduce,dp,8\nCommType.all_re");
        Outcome cut = cqring("run", "--workload", truncated.toString());
        assertTrue(cut.err().startsWith("cqring: " + truncated + " line 3: "), cut.err());
        assertEquals(1, cut.err().lines().count(), cut.err());
        assertEquals(2, cut.exitCode());
    }

    /** Small cases by hand: R = 4, chunk 100. all_reduce of 1000: 24 messages of 250, 3 chunks each; barrier: 4 of 0. */
    @Test
    void jsonIsOneObjectWithTheContractsKeys() throws Exception {
        Path file = folder.resolve("hand.csv");
        Files.writeString(
                file, "comm_type,msg_size\nCommType.all_reduce,1000\nCommType.barrier,\nCommType.epoch_end,0\n");
        Outcome outcome = cqring(
                "run",
                "--workload",
                file.toString(),
                "--ranks",
                "4",
                "--chunk",
                "100",
                "--window",
                "2",
                "--depth",
                "16",
                "--json");
        assertEquals("", outcome.err());
        assertEquals(0, outcome.exitCode());
        JsonNode json = new ObjectMapper().readTree(outcome.out());
        List<String> keys = new ArrayList<>();
        json.fieldNames().forEachRemaining(keys::add);
        assertEquals(
                List.of(
                        "workload",
                        "ranks",
                        "chunk_bytes",
                        "collectives",
                        "messages",
                        "chunks",
                        "completions_expected",
                        "completions",
                        "lost",
                        "duplicated",
                        "misordered",
                        "errors",
                        "payload_mismatches",
                        "cq_overruns",
                        "profile",
                        "cqe_bytes",
                        "cq_depth",
                        "cq_depth_min",
                        "cq_depth_max",
                        "cq_resizes",
                        "cqes_refused",
                        "pollers",
                        "merge",
                        "merged_completions",
                        "polls",
                        "empty_polls",
                        "mode",
                        "moderation",
                        "eqs",
                        "events",
                        "interrupts",
                        "spurious_wakeups",
                        "arms",
                        "missed_events",
                        "eq_overruns",
                        "lost_wakeups",
                        "host_cpu_percent",
                        "seconds",
                        "mcqe_per_s",
                        "latency_ns"),
                keys);
        assertEquals(4, json.get("ranks").asInt());
        assertEquals(100, json.get("chunk_bytes").asInt());
        assertEquals(3, json.get("collectives").asInt());
        assertEquals(28, json.get("messages").asInt());
        assertEquals(76, json.get("chunks").asInt());
        assertEquals(152, json.get("completions_expected").asInt());
        for (String depth : List.of("cq_depth", "cq_depth_min", "cq_depth_max")) {
            assertEquals(16, json.get(depth).asInt(), depth);
        }
        assertEquals(0, json.get("cq_resizes").asLong());
        assertEquals(0, json.get("cqes_refused").asLong());
        assertEquals(0, json.get("merged_completions").asLong());
        assertClean(json);
        assertTrue(json.get("polls").asLong() >= json.get("empty_polls").asLong());
        JsonNode latency = json.get("latency_ns");
        assertTrue(latency.get("p50").asLong() <= latency.get("p99").asLong());
        assertTrue(latency.get("p99").asLong() <= latency.get("p999").asLong());
        assertTrue(latency.get("p999").asLong() <= latency.get("max").asLong());
        assertTrue(latency.get("p50").asLong() > 0);
    }

    private static void assertClean(JsonNode json) {
        assertEquals(
                json.get("completions_expected").asLong(),
                json.get("completions").asLong(),
                json::toString);
        for (String counter :
                List.of("lost", "duplicated", "misordered", "errors", "payload_mismatches", "cq_overruns")) {
            assertEquals(0, json.get(counter).asLong(), () -> counter + " in " + json);
        }
    }

    @ParameterizedTest
    @CsvSource({"32", "64", "128"})
    void theBuiltInSampleRunsClean(int cqeBytes) throws Exception {
        Outcome outcome = cqring("run", "--json", "--cqe", Integer.toString(cqeBytes));
        assertEquals("", outcome.err());
        JsonNode json = new ObjectMapper().readTree(outcome.out());
        assertEquals(cqeBytes, json.get("cqe_bytes").asInt());
        assertEquals(2 * 201_745, json.get("completions_expected").asLong());
        assertClean(json);
        assertEquals(0, outcome.exitCode());
    }

    @Test
    void theBuiltInSampleRunsCleanWhenTheDepthFollowsIt() throws Exception {
        Outcome outcome = cqring("run", "--json", "--depth", "auto");
        assertEquals("", outcome.err());
        JsonNode json = new ObjectMapper().readTree(outcome.out());
        assertEquals(2 * 201_745, json.get("completions_expected").asLong());
        assertClean(json);
        assertTrue(json.get("cq_resizes").asLong() > 0, json::toString);
        assertTrue(json.get("cq_depth").asInt() > 32 && json.get("cq_depth").asInt() <= 1024, json::toString);
        assertEquals(0, outcome.exitCode());
    }

    /** Sends are merged, never receives, which carry immediate data: at most half of all completions. */
    @ParameterizedTest
    @CsvSource({"32", "64", "128"})
    void theBuiltInSampleRunsCleanWithMergedCompletions(int cqeBytes) throws Exception {
        Outcome outcome = cqring("run", "--json", "--merge", "--limit", "60", "--cqe", Integer.toString(cqeBytes));
        assertEquals("", outcome.err());
        JsonNode json = new ObjectMapper().readTree(outcome.out());
        assertClean(json);
        assertTrue(json.get("merge").asBoolean());
        long merged = json.get("merged_completions").asLong();
        assertTrue(merged > 0 && merged <= json.get("completions").asLong() / 2, outcome.out());
        assertEquals(0, outcome.exitCode());
    }

    /** Two host threads share the polling of every queue: each completion still comes once, and in order at each. */
    @ParameterizedTest
    @CsvSource({"32", "64", "128"})
    void theBuiltInSampleRunsCleanWithTwoPollers(int cqeBytes) throws Exception {
        Outcome outcome =
                cqring("run", "--json", "--pollers", "2", "--limit", "60", "--cqe", Integer.toString(cqeBytes));
        assertEquals("", outcome.err());
        JsonNode json = new ObjectMapper().readTree(outcome.out());
        assertClean(json);
        assertEquals(2, json.get("pollers").asInt());
        assertEquals(0, outcome.exitCode());
    }

    private static void assertEventsFit(JsonNode json) {
        assertTrue(json.get("events").asLong() <= json.get("arms").asLong(), json::toString);
        assertTrue(json.get("interrupts").asLong() <= json.get("events").asLong(), json::toString);
        assertEquals(0, json.get("eq_overruns").asLong(), json::toString);
        assertEquals(0, json.get("lost_wakeups").asLong(), json::toString);
    }

    @ParameterizedTest
    @CsvSource({
        "event, off, 1",
        "event, '64,16', 2",
        "event, adaptive, 1",
        "hybrid, off, 1",
        "hybrid, '64,16', 8",
        "hybrid, adaptive, 3",
        "interrupt, off, 1"
    })
    void theBuiltInSampleRunsCleanWithEvents(String mode, String moderation, String eqs) throws Exception {
        Outcome outcome =
                cqring("run", "--json", "--limit=60", "--mode", mode, "--moderation", moderation, "--eqs", eqs);
        assertEquals("", outcome.err());
        JsonNode json = new ObjectMapper().readTree(outcome.out());
        assertClean(json);
        assertEventsFit(json);
        assertEquals(mode, json.get("mode").asText());
        assertEquals(moderation, json.get("moderation").asText());
        assertEquals(eqs, json.get("eqs").asText());
        assertEquals(0, outcome.exitCode());
    }

    @ParameterizedTest
    @CsvSource({
        "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv, 8, 100",
        "L7B-D1-C02_Llama7B_zero3_mbs1.csv, 8, 50",
        "all_to_all_workload.csv, 8, 50"
    })
    void recordedWorkloadsRunCleanInEveryMode(String file, int ranks, int limit) throws Exception {
        Path path = Path.of(System.getProperty("cqring.shared.dir"))
                .resolve("data/aicb")
                .resolve(file);
        if (!Files.exists(path)) {
            System.out.println("SKIPPED: recorded workload is absent: " + file);
            Assumptions.abort("recorded workload is absent");
        }
        for (String[] mode :
                new String[][] {{"poll", "off"}, {"event", "64,16"}, {"hybrid", "off"}, {"interrupt", "off"}}) {
            Outcome outcome = cqring(
                    "run",
                    "--json",
                    "--workload",
                    path.toString(),
                    "--ranks",
                    Integer.toString(ranks),
                    "--limit",
                    Integer.toString(limit),
                    "--mode",
                    mode[0],
                    "--moderation",
                    mode[1]);
            assertEquals("", outcome.err());
            JsonNode json = new ObjectMapper().readTree(outcome.out());
            assertClean(json);
            assertEventsFit(json);
            assertTrue(json.get("completions").asLong() > 0);
            assertEquals(0, outcome.exitCode());
        }
    }

    @Test
    void theHumanTableIsShortAndSaysNothingLost() throws Exception {
        Outcome outcome = cqring("run", "--limit", "20");
        assertEquals("", outcome.err());
        assertTrue(outcome.out().lines().count() < 25, outcome.out());
        assertTrue(outcome.out().contains("nothing lost"), outcome.out());
        assertEquals(0, outcome.exitCode());
    }

    /** Chunks at --chunk 524288, counted with awk straight from the files. */
    static Stream<Arguments> recorded() {
        String gpt = "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv";
        String llama = "L7B-D1-C02_Llama7B_zero3_mbs1.csv";
        String moe = "all_to_all_workload.csv";
        return Stream.of(
                Arguments.of(gpt, 2, 128, 32, 34_589L),
                Arguments.of(gpt, 8, 1024, 64, 243_061L),
                Arguments.of(gpt, 16, 2048, 128, 571_965L),
                Arguments.of(llama, 2, 128, 64, 129_133L),
                Arguments.of(llama, 8, 1024, 128, 923_415L),
                Arguments.of(llama, 16, 2048, 32, 2_011_863L),
                Arguments.of(moe, 2, 128, 128, 411_200L),
                Arguments.of(moe, 8, 1024, 32, 2_923_200L));
    }

    /** Cut short, all but one: the whole files run at a given depth. */
    @ParameterizedTest
    @CsvSource({
        "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv, 2, 1000000",
        "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv, 8, 400",
        "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv, 16, 200",
        "L7B-D1-C02_Llama7B_zero3_mbs1.csv, 2, 200",
        "L7B-D1-C02_Llama7B_zero3_mbs1.csv, 8, 100",
        "L7B-D1-C02_Llama7B_zero3_mbs1.csv, 16, 50",
        "all_to_all_workload.csv, 2, 200",
        "all_to_all_workload.csv, 8, 100",
        "all_to_all_workload.csv, 16, 50"
    })
    void recordedWorkloadsRunCleanWhenTheDepthFollowsThem(String file, int ranks, int limit) throws Exception {
        Path path = Path.of(System.getProperty("cqring.shared.dir"))
                .resolve("data/aicb")
                .resolve(file);
        if (!Files.exists(path)) {
            System.out.println("SKIPPED: recorded workload is absent: " + file);
            Assumptions.abort("recorded workload is absent");
        }
        Outcome outcome = cqring(
                "run",
                "--json",
                "--depth",
                "auto",
                "--workload",
                path.toString(),
                "--ranks",
                Integer.toString(ranks),
                "--limit",
                Integer.toString(limit));
        assertEquals("", outcome.err());
        JsonNode json = new ObjectMapper().readTree(outcome.out());
        assertClean(json);
        assertTrue(json.get("completions").asLong() > 0);
        assertTrue(json.get("cq_depth").asInt() >= json.get("cq_depth_max").asInt(), json::toString);
        assertEquals(0, outcome.exitCode());
    }

    @ParameterizedTest
    @MethodSource("recorded")
    void recordedWorkloadsRunCleanAtTheSmallestDepth(String file, int ranks, int depth, int cqeBytes, long chunks)
            throws Exception {
        Path path = Path.of(System.getProperty("cqring.shared.dir"))
                .resolve("data/aicb")
                .resolve(file);
        if (!Files.exists(path)) {
            System.out.println("SKIPPED: recorded workload is absent: " + file);
            Assumptions.abort("recorded workload is absent");
        }
        Outcome outcome = cqring(
                "run",
                "--json",
                "--workload",
                path.toString(),
                "--ranks",
                Integer.toString(ranks),
                "--depth",
                Integer.toString(depth),
                "--cqe",
                Integer.toString(cqeBytes));
        assertEquals("", outcome.err());
        JsonNode json = new ObjectMapper().readTree(outcome.out());
        assertEquals(chunks, json.get("chunks").asLong());
        assertEquals(2 * chunks, json.get("completions_expected").asLong());
        assertClean(json);
        assertEquals(0, outcome.exitCode());
    }
}
