package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.fault.Sabotage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The checks of a run can fail: a device that misbehaves once raises the counter that is meant for it, by 1, and no other. */
class SabotageTest {
    /** all_reduce of 400,000 among 4: 24 messages of 100,000 bytes, 100 chunks each; twice, and a broadcast of 300 chunks. */
    private static final long COMPLETIONS = 2 * (2 * 24 * 100 + 3 * 100);

    @TempDir
    private Path folder;

    private Path workload;

    @BeforeEach
    void writeWorkload() throws IOException {
        workload = Ran.workload(folder, "all_reduce,400000", "broadcast,100000", "all_reduce,400000");
    }

    private Ran run(DeviceFaults faults, boolean stepped, String options) {
        return Ran.of(new RunCommand(faults, stepped), workload, "--ranks=4 " + options);
    }

    private void assertRaises(Map<String, Long> expected, Sabotage sabotage, boolean stepped) {
        Ran ran = run(sabotage, stepped, "--window=8");
        assertTrue(sabotage.hasStruck(), "the device behaved");
        assertEquals(expected, ran.risen(), () -> sabotage + ": " + ran.json());
        assertEquals(COMPLETIONS, ran.count("completions_expected"));
        assertEquals(COMPLETIONS - expected.getOrDefault("lost", 0L), ran.count("completions"));
        assertEquals(1, ran.exitCode());
        assertEquals(1, ran.err().lines().count(), ran.err());
        assertTrue(ran.err().startsWith("cqring: the run failed: "), ran.err());
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
    void oneFaultRaisesItsCounterByOneAndNoOther(Sabotage.Kind kind, String counter) {
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
    void alsoWhenTheDeviceIsAThreadOfItsOwn(Sabotage.Kind kind, String counter) {
        assertRaises(Map.of(counter, 1L), new Sabotage(kind, 1234), false);
    }

    /** A completion with a wrong id is two faults: one that nobody posted, and one that never came. */
    @Test
    void aWrongIdIsAnErrorAndALoss() {
        assertRaises(Map.of("errors", 1L, "lost", 1L), new Sabotage(Sabotage.Kind.CORRUPT_ID, 500), true);
    }

    /** An error status stops the run: nothing more is posted, what is out is drained. */
    @Test
    void anErrorStatusStopsTheRun() {
        Sabotage sabotage = new Sabotage(Sabotage.Kind.CORRUPT_STATUS, 500);
        Ran ran = run(sabotage, true, "--window=8");
        assertEquals(Map.of("errors", 1L), ran.risen(), ran::out);
        assertTrue(ran.count("completions") < COMPLETIONS);
        assertEquals(1, ran.exitCode());
    }

    @Test
    void aSoundDeviceRaisesNothing() {
        for (boolean stepped : new boolean[] {true, false}) {
            Ran ran = run(DeviceFaults.NONE, stepped, "--window=64");
            assertEquals(Map.of(), ran.risen(), ran::out);
            assertEquals(COMPLETIONS, ran.count("completions"));
            assertEquals("", ran.err());
            assertEquals(0, ran.exitCode());
        }
    }

    @ParameterizedTest
    @CsvSource({"1,8", "2,16", "3,32", "64,512"})
    void everyWindowRunsCleanAtTheSmallestDepth(String window, String depth) {
        for (String cqe : new String[] {"32", "64", "128"}) {
            Ran ran = run(DeviceFaults.NONE, true, "--window=" + window + " --depth=" + depth + " --cqe=" + cqe);
            assertEquals(Map.of(), ran.risen(), ran::out);
            assertEquals(COMPLETIONS, ran.count("completions"));
            assertEquals(0, ran.exitCode());
        }
    }
}
