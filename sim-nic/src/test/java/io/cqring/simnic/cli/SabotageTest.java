package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.fault.Sabotage;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The checks of a run can fail: a device that misbehaves once raises the counter that is meant for it, by 1, and no other. */
class SabotageTest {
    private static final Set<String> COUNTERS =
            Set.of("lost", "duplicated", "misordered", "errors", "payload_mismatches", "cq_overruns");

    /** all_reduce of 400,000 among 4: 24 messages of 100,000 bytes, 100 chunks each; twice, and a broadcast of 300 chunks. */
    private static final long COMPLETIONS = 2 * (2 * 24 * 100 + 3 * 100);

    @TempDir
    private Path folder;

    private Path workload;

    @BeforeEach
    void writeWorkload() throws IOException {
        workload = folder.resolve("hand.csv");
        Files.writeString(
                workload,
                "comm_type,msg_size\nCommType.all_reduce,400000\nCommType.broadcast,100000\nCommType.all_reduce,400000\n");
    }

    private record Outcome(int exitCode, JsonNode json, String err) {
        Map<String, Long> risen() {
            Map<String, Long> risen = new LinkedHashMap<>();
            for (String counter : COUNTERS) {
                if (json.get(counter).asLong() != 0) {
                    risen.put(counter, json.get(counter).asLong());
                }
            }
            return risen;
        }
    }

    private Outcome run(DeviceFaults faults, boolean stepped, String... more) throws IOException {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        List<String> args = new ArrayList<>(
                List.of("run", "--json", "--workload", workload.toString(), "--ranks", "4", "--chunk", "1000"));
        args.addAll(List.of(more));
        int exitCode = Main.execute(
                new RunCommand(faults, stepped),
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                args.toArray(String[]::new));
        return new Outcome(exitCode, new ObjectMapper().readTree(out.toString()), err.toString());
    }

    private void assertRaises(Map<String, Long> expected, Sabotage sabotage, boolean stepped) throws IOException {
        Outcome outcome = run(sabotage, stepped, "--window=8");
        assertTrue(sabotage.hasStruck(), "the device behaved");
        assertEquals(expected, outcome.risen(), () -> sabotage + ": " + outcome.json());
        assertEquals(COMPLETIONS, outcome.json().get("completions_expected").asLong());
        assertEquals(
                COMPLETIONS - expected.getOrDefault("lost", 0L),
                outcome.json().get("completions").asLong());
        assertEquals(1, outcome.exitCode());
        assertEquals(1, outcome.err().lines().count(), outcome.err());
        assertTrue(outcome.err().startsWith("cqring: the run failed: "), outcome.err());
    }

    @ParameterizedTest
    @CsvSource({
        "DROP, lost",
        "DUPLICATE, duplicated",
        "SWAP, misordered",
        "CORRUPT_QP, errors",
        "CORRUPT_COUNTER, errors",
        "CORRUPT_BYTE_COUNT, errors",
        "CORRUPT_PAYLOAD, payload_mismatches",
        "LATE_PAYLOAD, payload_mismatches"
    })
    void oneFaultRaisesItsCounterByOneAndNoOther(Sabotage.Kind kind, String counter) throws IOException {
        for (long strikeAt : new long[] {0, 7, 1000, 4321}) {
            assertRaises(Map.of(counter, 1L), new Sabotage(kind, strikeAt), true);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "DROP, lost",
        "DUPLICATE, duplicated",
        "SWAP, misordered",
        "CORRUPT_BYTE_COUNT, errors",
        "CORRUPT_PAYLOAD, payload_mismatches"
    })
    void alsoWhenTheDeviceIsAThreadOfItsOwn(Sabotage.Kind kind, String counter) throws IOException {
        assertRaises(Map.of(counter, 1L), new Sabotage(kind, 1234), false);
    }

    /** A completion with a wrong id is two faults: one that nobody posted, and one that never came. */
    @Test
    void aWrongIdIsAnErrorAndALoss() throws IOException {
        assertRaises(Map.of("errors", 1L, "lost", 1L), new Sabotage(Sabotage.Kind.CORRUPT_ID, 500), true);
    }

    /** An error status stops the run: nothing more is posted, what is out is drained. */
    @Test
    void anErrorStatusStopsTheRun() throws IOException {
        Sabotage sabotage = new Sabotage(Sabotage.Kind.CORRUPT_STATUS, 500);
        Outcome outcome = run(sabotage, true, "--window=8");
        assertEquals(Map.of("errors", 1L), outcome.risen(), outcome.json()::toString);
        assertTrue(outcome.json().get("completions").asLong() < COMPLETIONS);
        assertEquals(1, outcome.exitCode());
    }

    @Test
    void aSoundDeviceRaisesNothing() throws IOException {
        for (boolean stepped : new boolean[] {true, false}) {
            Outcome outcome = run(DeviceFaults.NONE, stepped);
            assertEquals(Map.of(), outcome.risen(), outcome.json()::toString);
            assertEquals(COMPLETIONS, outcome.json().get("completions").asLong());
            assertEquals("", outcome.err());
            assertEquals(0, outcome.exitCode());
        }
    }

    @ParameterizedTest
    @CsvSource({"1,8", "2,16", "3,32", "64,512"})
    void everyWindowRunsCleanAtTheSmallestDepth(String window, String depth) throws IOException {
        for (String cqe : new String[] {"32", "64", "128"}) {
            Outcome outcome = run(DeviceFaults.NONE, true, "--window=" + window, "--depth=" + depth, "--cqe=" + cqe);
            assertEquals(Map.of(), outcome.risen(), outcome.json()::toString);
            assertEquals(COMPLETIONS, outcome.json().get("completions").asLong());
            assertEquals(0, outcome.exitCode());
        }
    }
}
