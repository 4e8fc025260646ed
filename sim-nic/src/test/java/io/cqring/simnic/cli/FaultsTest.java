package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cqring.simnic.fault.DeviceFaults;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
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
    private static final List<String> DAMAGE =
            List.of("lost", "duplicated", "misordered", "errors", "payload_mismatches", "cq_overruns", "lost_wakeups");

    /** R = 4, chunks of 1000: 24 messages of 100 chunks, 3 of 100, 12 of 100. */
    private static final long COMPLETIONS = 2 * 100 * (24 + 3 + 12);

    @TempDir
    private Path folder;

    private record Outcome(int exitCode, JsonNode json, String err) {
        Map<String, Long> damage() {
            Map<String, Long> risen = new LinkedHashMap<>();
            for (String counter : DAMAGE) {
                if (json.get(counter).asLong() != 0) {
                    risen.put(counter, json.get(counter).asLong());
                }
            }
            return risen;
        }

        long struck(String fault) {
            return json.get("faults").get(fault).asLong();
        }

        long completions() {
            return json.get("completions").asLong();
        }
    }

    private Outcome run(boolean stepped, String options) throws IOException {
        Path workload = folder.resolve("hand.csv");
        Files.writeString(
                workload,
                "comm_type,msg_size\nCommType.all_reduce,400000\nCommType.broadcast,100000\nCommType.all_to_all,400000\n");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        List<String> args = new ArrayList<>(
                List.of("run", "--json", "--ranks=4", "--chunk=1000", "--workload", workload.toString()));
        args.addAll(List.of(options.split(" ", -1)));
        int exitCode = Main.execute(
                new RunCommand(DeviceFaults.NONE, stepped),
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                args.toArray(String[]::new));
        return new Outcome(
                exitCode, exitCode == 2 ? null : new ObjectMapper().readTree(out.toString()), err.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "2", "3"})
    void aLostEntryIsLostOnceAndNothingElse(String seed) throws IOException {
        Outcome outcome = run(true, "--fault completer-abort:500 --seed " + seed);
        long struck = outcome.struck("completer-abort");
        assertTrue(struck > 0);
        assertEquals(Map.of("lost", struck), outcome.damage());
        assertEquals(COMPLETIONS - struck, outcome.completions());
        assertEquals(1, outcome.exitCode());
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "2", "3"})
    void aDoubledEntryIsADuplicate(String seed) throws IOException {
        Outcome outcome = run(true, "--fault duplicate-entry:500 --seed " + seed);
        assertTrue(outcome.struck("duplicate-entry") > 0);
        assertEquals(Map.of("duplicated", outcome.struck("duplicate-entry")), outcome.damage());
        assertEquals(COMPLETIONS, outcome.completions());
        assertEquals(1, outcome.exitCode());
    }

    /** Its body is that of another completion: that one comes twice, or where nobody waits for it; its own never comes. */
    @ParameterizedTest
    @ValueSource(strings = {"1", "2", "3"})
    void aTornEntryIsLostAndShowsAnother(String seed) throws IOException {
        Outcome outcome = run(true, "--fault torn-entry:500 --seed " + seed);
        long struck = outcome.struck("torn-entry");
        Map<String, Long> damage = outcome.damage();
        assertTrue(struck > 0);
        assertEquals(struck, damage.get("lost"), damage::toString);
        assertEquals(
                struck, damage.getOrDefault("duplicated", 0L) + damage.getOrDefault("errors", 0L), damage::toString);
        assertEquals(COMPLETIONS - struck, outcome.completions());
        assertEquals(1, outcome.exitCode());
    }

    @ParameterizedTest
    @CsvSource({"drop-event, 1", "drop-event, 2", "drop-arm, 1", "drop-arm, 2"})
    void anEventThatIsNotRaisedIsALostWakeUpAndLosesNoCompletion(String fault, String seed) throws IOException {
        Outcome outcome = run(true, "--mode event --fault " + fault + ":40 --seed " + seed);
        long struck = outcome.struck(fault);
        assertTrue(struck > 0);
        // Several in a row, with nothing to wake up for between them, are found together.
        assertTrue(outcome.damage().containsKey("lost_wakeups"), outcome.json()::toString);
        assertTrue(outcome.json().get("lost_wakeups").asLong() <= struck, outcome.json()::toString);
        assertEquals(1, outcome.damage().size(), outcome.json()::toString);
        assertEquals(COMPLETIONS, outcome.completions());
        assertEquals(1, outcome.exitCode());
    }

    @Test
    void aStuckQueuePairLosesWhatIsLeftOfItAndTheRestGoesOn() throws IOException {
        Outcome outcome = run(true, "--fault stuck-qp:200");
        assertEquals(1, outcome.struck("stuck-qp"));
        assertEquals(List.of("lost"), List.copyOf(outcome.damage().keySet()));
        assertEquals(COMPLETIONS, outcome.completions() + outcome.damage().get("lost"));
        assertEquals(1, outcome.exitCode());
    }

    @Test
    void aReadTimeOutFailsARequestWithTheSeedsCodes() throws IOException {
        Outcome outcome = run(true, "--fault pcie-read-timeout:2000");
        assertTrue(outcome.struck("pcie-read-timeout") > 0);
        assertTrue(outcome.damage().get("errors") > 0);
        assertTrue(outcome.err().contains("REQ_ERR LOC_LEN_ERR"), outcome.err());
        assertEquals(1, outcome.exitCode());
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
            Outcome outcome = run(stepped, options);
            assertEquals("", outcome.err());
            assertEquals(Map.of(), outcome.damage(), outcome.json()::toString);
            assertEquals(COMPLETIONS, outcome.completions());
            assertEquals(0, outcome.exitCode());
        }
    }

    /** By hand: 5 times 3 ranks, 2500 bytes in 3 chunks of at most 1000, two completions each. */
    @Test
    void incastIsManyToOne() throws IOException {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode = Main.execute(
                new RunCommand(DeviceFaults.NONE, true),
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                "run",
                "--json",
                "--ranks=4",
                "--chunk=1000",
                "--incast=5,2500");
        JsonNode json = new ObjectMapper().readTree(out.toString());
        assertEquals(15, json.get("messages").asLong());
        assertEquals(5 * 3 * 3 * 2, json.get("completions").asLong());
        assertEquals("incast", json.get("workload").asText());
        assertEquals(0, exitCode, err.toString());
    }

    @Test
    void theSameSeedStrikesTheSame() throws IOException {
        String options = "--fault completer-abort:300 --fault delayed-dma:100 --seed 77";
        Outcome first = run(true, options);
        Outcome second = run(true, options);
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
        Outcome outcome = run(true, options);
        assertTrue(outcome.err().startsWith("cqring: " + line), outcome.err());
        assertEquals(1, outcome.err().lines().count());
        assertEquals(2, outcome.exitCode());
    }
}
