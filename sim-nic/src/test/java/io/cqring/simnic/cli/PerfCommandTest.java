package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.cqring.simnic.fault.DeviceFaults;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code perf}: that it measures what it says; what comes out is for a quiet machine. */
class PerfCommandTest {
    private static Ran run(String options) {
        return Ran.of(new RunCommand(DeviceFaults.NONE, false), ("perf " + options).split(" "));
    }

    private static JsonNode ways(String options) {
        Ran ran = run(options + " --json");
        assertEquals(0, ran.exitCode(), ran.err());
        return ran.json().get("ways");
    }

    @ParameterizedTest
    @CsvSource({"poll, off, 64", "event, off, 32", "hybrid, '64,16', 64", "interrupt, off, 128", "event, '8,100', 64"})
    void measuresLatencyInEveryMode(String mode, String moderation, int cqe) {
        JsonNode way = ways("lat --mode " + mode + " --moderation " + moderation + " --cqe " + cqe
                        + " --iters 300 --rounds 2")
                .get(0);
        assertEquals(mode, way.get("mode").asText());
        assertEquals(cqe, way.get("cqe_bytes").asInt());
        assertTrue(way.get("avg_us").get("median").asDouble() > 0);
        assertTrue(way.get("p99_us").get("least").asDouble()
                <= way.get("p99_us").get("most").asDouble());
    }

    /** One request at a time, each armed for: without moderation as many interrupts as there are sleeps, at most one per request. */
    @Test
    void aRateHasInterruptsUnlessItPolls() {
        JsonNode polling = ways("rate --iters 2000 --rounds 1").get(0);
        assertEquals(0, polling.get("interrupts_per_s").get("median").asDouble());
        JsonNode way =
                ways("rate --mode interrupt --window 1 --iters 500 --rounds 1").get(0);
        double perSecond = way.get("completions_per_s").get("median").asDouble();
        double interrupts = way.get("interrupts_per_s").get("median").asDouble();
        assertTrue(perSecond > 0);
        assertTrue(interrupts <= perSecond * 1.01, interrupts + " interrupts for " + perSecond + " completions");
    }

    @Test
    void theTableHasTheSeedsRowsAndItsRatios() {
        JsonNode ways = ways("table --iters 300 --rounds 3");
        double[] seed = {1, 12.0 / 45, 38.0 / 45, 48.0 / 45};
        assertEquals(seed.length, ways.size());
        for (int i = 0; i < seed.length; i++) {
            assertEquals(seed[i], ways.get(i).get("seed_ratio").asDouble());
            assertEquals(3, ways.get(i).get("rate_over_first_each_round").size());
        }
        assertEquals(1.0, ways.get(0).get("rate_over_first_each_round").get(0).asDouble());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "lat --moderation 64,16|--moderation needs --mode event, hybrid or interrupt, --mode poll: 64,16",
                "lat --mode event --moderation 64,0|--moderation 64,0: --moderation needs a period, or fewer completions"
                        + " than the count are never reported: 64,0",
                "table --mode event|--mode is not for table, which has its own: event",
                "table --cqe 32|--cqe is not for table, which has its own: 32",
                "table --moderation off|--moderation is not for table, which has its own: off"
            })
    void whatDoesNotGoTogetherIsOneLineAndNothingRuns(String options, String line) {
        run(options).assertRefused(line);
    }

    @ParameterizedTest
    @CsvSource({
        "--mode, sometimes",
        "--moderation, '64'",
        "--moderation, '64,5000'",
        "--cqe, 16",
        "--iters, 0",
        "--rounds, 0",
        "--window, 4097",
    })
    void aWrongValueIsOneLineAndNothingRuns(String option, String value) {
        Ran ran = run("lat " + option + " " + value);
        assertEquals(2, ran.exitCode());
        assertEquals("", ran.out());
        assertEquals(1, ran.err().lines().count(), ran.err());
        assertTrue(ran.err().contains(option) && ran.err().contains(value), ran.err());
    }
}
