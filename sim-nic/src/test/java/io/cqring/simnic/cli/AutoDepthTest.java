package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.fault.Sabotage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * {@code run --depth auto}. Depths are worked out by hand for a stepped device: between two polls it makes one pass, in which each
 * queue pair sends 16 chunks at most. In a ring a rank has one neighbour before it and one behind, so a pass brings its
 * queue 16 + 16 = 32 completions. In an all_to_all it has R-1 peers, and a pass brings 32.
 */
class AutoDepthTest {
    @TempDir
    private Path folder;

    private static String[] times(int count, String line) {
        return Collections.nCopies(count, line).toArray(String[]::new);
    }

    private static Ran run(DeviceFaults faults, boolean stepped, Path workload, String options) {
        return Ran.of(new RunCommand(faults, stepped), workload, "--depth=auto " + options);
    }

    private static Ran runClean(boolean stepped, long completions, Path workload, String options) {
        Ran ran = run(DeviceFaults.NONE, stepped, workload, options);
        assertEquals("", ran.err());
        assertEquals(Map.of(), ran.risen(), ran::out);
        assertEquals(completions, ran.count("completions"));
        assertEquals(0, ran.exitCode());
        return ran;
    }

    /** R = 4, 64 chunks a message, ten times. 32 a pass: 3/4 of 32, not of 64. 96 a pass: 3/4 of 128, not of 256. */
    @Test
    void anAllToAllEndsDeeperThanAnAllReduce() throws IOException {
        Ran ring = runClean(true, 10 * 2 * 24 * 64, Ran.workload(folder, times(10, "all_reduce,256000")), "--ranks=4");
        Ran mesh = runClean(true, 10 * 2 * 12 * 64, Ran.workload(folder, times(10, "all_to_all,256000")), "--ranks=4");
        for (String which : List.of("cq_depth", "cq_depth_min", "cq_depth_max")) {
            assertEquals(64, ring.count(which), ring::out);
            assertEquals(256, mesh.count(which), mesh::out);
        }
        assertEquals(4, ring.count("cq_resizes"), "each queue once");
        assertEquals(4 * 3, mesh.count("cq_resizes"), "each queue to 64, 128 and 256");
        assertEquals(0, ring.count("cqes_refused"), "32 fit into 32");
        assertTrue(mesh.count("cqes_refused") > 0, "96 do not");
    }

    /**
     * R = 8. All_to_all: 224 a pass, 3/4 of 256, not of 512. Then all_reduce: 32 a pass are less than an eighth of 512, but not of
     * 256. Six of them bring each queue 6 x 2 x 14 x 64 = 10,752 completions; 8 windows of 512 are 4,096.
     */
    @Test
    void theDepthComesDownAgain() throws IOException {
        List<String> lines = new ArrayList<>(List.of(times(10, "all_to_all,512000")));
        lines.addAll(List.of(times(6, "all_reduce,512000")));
        Ran ran = runClean(
                true, 2 * 64 * (10 * 56 + 6 * 8 * 14), Ran.workload(folder, lines.toArray(String[]::new)), "--ranks=8");
        assertEquals(512, ran.count("cq_depth"));
        assertEquals(256, ran.count("cq_depth_min"));
        assertEquals(256, ran.count("cq_depth_max"));
        assertEquals(8 * (4 + 1), ran.count("cq_resizes"));
    }

    /** The queues of the smallest workloads are as deep as they need ever be, and stay so. */
    @ParameterizedTest
    @CsvSource({"2,1,2,2", "2,4,8,8", "2,16,32,32", "2,17,32,64", "3,16,32,64", "16,1,32,32", "8,64,32,1024"})
    void startsShallowAndHasALimit(int ranks, int window, int first, int largest) throws IOException {
        RunOptions options = new RunOptions(
                ranks, 8, 8, 64, OptionalInt.empty(), window, 1, false, 1, EventOptions.POLLING, Optional.empty());
        assertTrue(options.isDepthAuto());
        assertEquals(first, options.firstDepth());
        assertEquals(largest, options.largestDepth());
        Path path = Ran.workload(folder, "all_to_all," + 100_000 * ranks);
        Ran ran = runClean(true, 2L * ranks * (ranks - 1) * 100, path, "--ranks=" + ranks + " --window=" + window);
        assertTrue(ran.count("cq_depth_min") >= first, ran::out);
        assertTrue(ran.count("cq_depth") <= largest, ran::out);
    }

    @ParameterizedTest
    @CsvSource({"1,32", "2,64", "3,128", "64,32", "64,64", "64,128"})
    void everyWindowAndEntrySizeRunsCleanOnADeviceOfItsOwnThread(String window, String cqe) throws IOException {
        Path path = Ran.handWorkload(folder);
        runClean(false, Ran.HAND_COMPLETIONS, path, "--ranks=4 --window=" + window + " --cqe=" + cqe);
    }

    private void assertRaisesOne(Sabotage sabotage, String counter, boolean stepped) throws IOException {
        Path path = Ran.workload(folder, "all_to_all,400000", "broadcast,100000", "all_reduce,400000");
        Ran ran = run(sabotage, stepped, path, "--ranks=4");
        assertTrue(sabotage.hasStruck(), "the device behaved");
        assertEquals(Map.of(counter, 1L), ran.risen(), () -> sabotage + ": " + ran.json());
        assertEquals(1, ran.exitCode());
    }

    /** As with a given depth: a device that misbehaves once raises its counter by one, and no other, while queues fill and move. */
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
        for (long strikeAt : new long[] {0, 7, 1000, 3210}) {
            assertRaisesOne(new Sabotage(kind, strikeAt), counter, true);
        }
    }

    /** Only those that strike whether or not the queue is full at that moment. */
    @ParameterizedTest
    @CsvSource({"DROP, lost", "CORRUPT_PAYLOAD, payload_mismatches"})
    void alsoWhenTheDeviceIsAThreadOfItsOwn(Sabotage.Kind kind, String counter) throws IOException {
        assertRaisesOne(new Sabotage(kind, 1234), counter, false);
    }

    private static void assertRefused(String line, String... args) {
        Ran.of(new RunCommand(), args).assertRefused(line);
    }

    @Test
    void whatCannotBeResizedIsRefusedInOneLine() {
        assertRefused("--depth auto needs one poller, --pollers: 2", "run", "--depth", "auto", "--pollers", "2");
        assertRefused(
                "--depth auto needs queues that can be resized, not those of --merge",
                "run",
                "--depth",
                "auto",
                "--merge");
        assertRefused("Invalid value for option '--depth': 'deep' is not an int, nor auto", "run", "--depth", "deep");
    }

    @Test
    void aPersonIsToldTheDepths() throws IOException {
        Path path = Ran.workload(folder, times(10, "all_reduce,256000"));
        Ran ran = Ran.of(
                new RunCommand(DeviceFaults.NONE, true),
                "run",
                "--depth=auto",
                "--ranks=4",
                "--chunk=1000",
                "--workload=" + path);
        assertEquals(0, ran.exitCode(), ran.err());
        assertTrue(ran.out().contains("4 x at most 64 entries of 64 bytes"), ran::out);
        assertTrue(
                ran.out().contains("auto: 32 to 512, at the end 64, resized 4 times, NIC held back 0 times"), ran::out);
    }
}
