package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.simnic.fault.DeviceFaults;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code run --fault}: each fault does the damage it says, as often as it struck, and no other. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class FaultsTest {
    @TempDir
    private Path folder;

    private Ran run(boolean stepped, String options) throws IOException {
        return Ran.of(new RunCommand(DeviceFaults.NONE, stepped), Ran.handWorkload(folder), "--ranks=4 " + options);
    }

    private static long struck(Ran ran, String fault) {
        return ran.json().get("faults").get(fault).asLong();
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "2", "3"})
    void aLostEntryIsLostOnceAndNothingElse(String seed) throws IOException {
        Ran ran = run(true, "--fault completer-abort:500 --seed " + seed);
        long struck = struck(ran, "completer-abort");
        assertTrue(struck > 0);
        assertEquals(Map.of("lost", struck), ran.risen());
        assertEquals(Ran.HAND_COMPLETIONS - struck, ran.count("completions"));
        assertEquals(1, ran.exitCode());
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "2", "3"})
    void aDoubledEntryIsADuplicate(String seed) throws IOException {
        Ran ran = run(true, "--fault duplicate-entry:500 --seed " + seed);
        assertTrue(struck(ran, "duplicate-entry") > 0);
        assertEquals(Map.of("duplicated", struck(ran, "duplicate-entry")), ran.risen());
        assertEquals(Ran.HAND_COMPLETIONS, ran.count("completions"));
        assertEquals(1, ran.exitCode());
    }

    /** Its body is that of another completion: that one comes twice, or where nobody waits for it; its own never comes. */
    @ParameterizedTest
    @ValueSource(strings = {"1", "2", "3"})
    void aTornEntryIsLostAndShowsAnother(String seed) throws IOException {
        Ran ran = run(true, "--fault torn-entry:500 --seed " + seed);
        long struck = struck(ran, "torn-entry");
        Map<String, Long> damage = ran.risen();
        assertTrue(struck > 0);
        assertEquals(struck, damage.get("lost"), damage::toString);
        assertEquals(
                struck, damage.getOrDefault("duplicated", 0L) + damage.getOrDefault("errors", 0L), damage::toString);
        assertEquals(Ran.HAND_COMPLETIONS - struck, ran.count("completions"));
        assertEquals(1, ran.exitCode());
    }

    @ParameterizedTest
    @CsvSource({"drop-event, 1", "drop-event, 2", "drop-arm, 1", "drop-arm, 2"})
    void anEventThatIsNotRaisedIsALostWakeUpAndLosesNoCompletion(String fault, String seed) throws IOException {
        Ran ran = run(true, "--mode event --fault " + fault + ":40 --seed " + seed);
        long struck = struck(ran, fault);
        assertTrue(struck > 0);
        // Several in a row, with nothing to wake up for between them, are found together.
        assertTrue(ran.risen().containsKey("lost_wakeups"), ran::out);
        assertTrue(ran.count("lost_wakeups") <= struck, ran::out);
        assertEquals(1, ran.risen().size(), ran::out);
        assertEquals(Ran.HAND_COMPLETIONS, ran.count("completions"));
        assertEquals(1, ran.exitCode());
    }

    @Test
    void aStuckQueuePairLosesWhatIsLeftOfItAndTheRestGoesOn() throws IOException {
        Ran ran = run(true, "--fault stuck-qp:200");
        assertEquals(1, struck(ran, "stuck-qp"));
        assertEquals(List.of("lost"), List.copyOf(ran.risen().keySet()));
        assertEquals(
                Ran.HAND_COMPLETIONS, ran.count("completions") + ran.risen().get("lost"));
        assertEquals(1, ran.exitCode());
    }

    @Test
    void aReadTimeOutFailsARequestWithTheSeedsCodes() throws IOException {
        Ran ran = run(true, "--fault pcie-read-timeout:2000");
        assertTrue(struck(ran, "pcie-read-timeout") > 0);
        assertTrue(ran.risen().get("errors") > 0);
        assertTrue(ran.err().contains("REQ_ERR LOC_LEN_ERR"), ran.err());
        assertEquals(1, ran.exitCode());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--fault delayed-dma:100",
                "--fault link-sleep",
                "--fault qp-cache-miss:20",
                "--fault burst:200",
                "--fault firmware-pause:500,2000",
                "--fault clock-jump:50",
                "--fault slow-consumer:100,5",
                "--fault packet-loss:200",
                "--fault packet-duplicate:50 --fault packet-delay:50 --fault packet-loss:300",
                "--mode event --fault duplicate-event:2",
                "--mode event --fault c-state:3",
                "--mode hybrid --moderation 8,50 --fault clock-jump:50 --fault burst:200 --fault delayed-dma:100",
                "--profile mlx5 --mode event --fault duplicate-event:2",
                "--profile irdma --mode event --fault burst:200",
                "--profile bnxt_re --mode event --fault duplicate-event:2"
            })
    void whatOnlyDelaysLosesNothing(String options) throws IOException {
        for (boolean stepped : new boolean[] {true, false}) {
            Ran ran = run(stepped, options);
            assertEquals("", ran.err());
            assertEquals(Map.of(), ran.risen(), ran::out);
            assertEquals(Ran.HAND_COMPLETIONS, ran.count("completions"));
            assertEquals(0, ran.exitCode());
        }
    }

    /** By hand: 5 times 3 ranks, 2500 bytes in 3 chunks of at most 1000, two completions each. */
    @Test
    void incastIsManyToOne() {
        Ran ran = Ran.of(
                new RunCommand(DeviceFaults.NONE, true),
                "run",
                "--json",
                "--ranks=4",
                "--chunk=1000",
                "--incast=5,2500");
        assertEquals(15, ran.count("messages"));
        assertEquals(5 * 3 * 3 * 2, ran.count("completions"));
        assertEquals("incast", ran.json().get("workload").asText());
        assertEquals(0, ran.exitCode(), ran.err());
    }

    @Test
    void theSameSeedStrikesTheSame() throws IOException {
        String options = "--fault completer-abort:300 --fault delayed-dma:100 --seed 77";
        Ran first = run(true, options);
        Ran second = run(true, options);
        for (String key : List.of("lost", "completions", "polls", "empty_polls", "faults")) {
            assertEquals(first.json().get(key), second.json().get(key), key);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--fault torn|fault must be one of torn-entry, ",
                "--fault burst:0|numbers of a fault must be 1 to 1073741824: 0 in burst:0",
                "--fault burst:1,2,3|fault burst takes EVERY,MICROS: burst:1,2,3",
                "--fault torn-entry:1,2|fault torn-entry takes EVERY: torn-entry:1,2",
                "--fault burst --fault burst:5|fault was given twice: burst",
                "--incast 0,5|--incast takes the place of --workload: ",
                "--fault drop-event|--fault drop-event needs --mode event, hybrid or interrupt, --mode: poll",
                "--profile mlx5 --fault torn-entry|--fault torn-entry needs the reference profile, --profile: mlx5",
                "--profile bnxt_re --mode event --fault drop-arm|--fault drop-arm needs a profile whose host can arm again"
            })
    void wrongFaultsAreOneLine(String options, String line) throws IOException {
        Ran ran = run(true, options);
        assertTrue(ran.err().startsWith("cqring: " + line), ran.err());
        assertEquals(1, ran.err().lines().count());
        assertEquals(2, ran.exitCode());
    }
}
