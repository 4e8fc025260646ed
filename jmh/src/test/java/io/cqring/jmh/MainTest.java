package io.cqring.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class MainTest {
    @TempDir
    Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        CommandLine commandLine = Main.commandLine();
        commandLine.setOut(new PrintWriter(out));
        commandLine.setErr(new PrintWriter(err));
        return commandLine.execute(args);
    }

    @Test
    void compareMeasuresEveryRingInEveryRound() throws IOException {
        Path json = folder.resolve("compare.json");
        assertEquals(
                0, run("compare", "--jvms", "2", "--rounds", "2", "--seconds", "0.005", "--json", json.toString()));
        JsonNode rings = new ObjectMapper().readTree(json.toFile()).get("rings");
        assertEquals(Contender.values().length, rings.size());
        for (Contender contender : Contender.values()) {
            assertTrue(out.toString().contains(contender.label()), contender.label());
            assertEquals(4, rings.get(contender.name()).get("rounds").size());
            assertEquals(
                    2,
                    rings.get(contender.name()).get("cqring_over_this_each_jvm").size());
        }
        assertEquals(
                1.0,
                rings.get("CQRING").get("cqring_over_this").get("median").asDouble(),
                "a ring is as fast as itself");
    }

    @Test
    void comparePollMeasuresEveryWay() throws IOException {
        Path json = folder.resolve("poll.json");
        assertEquals(0, run("compare-poll", "--rounds", "3", "--seconds", "0.001", "--json", json.toString()));
        JsonNode ways = new ObjectMapper().readTree(json.toFile()).get("ways");
        assertEquals(3, ways.size());
        ways.forEach(way -> assertEquals(3, way.get("rounds_ns_per_entry").size()));
    }

    @Test
    void compareEventsAsksEveryQuestionInEveryRound() throws IOException {
        Path json = folder.resolve("events.json");
        assertEquals(
                0,
                run(
                        "compare-events",
                        "--rounds",
                        "2",
                        "--entries",
                        "1",
                        "--round-trips",
                        "20",
                        "--queues",
                        "4096",
                        "--json",
                        json.toString()));
        JsonNode questions = new ObjectMapper().readTree(json.toFile()).get("questions");
        int[] ways = {2, 2, 2, 4, 4, 1};
        assertEquals(ways.length, questions.size());
        for (int i = 0; i < ways.length; i++) {
            assertEquals(ways[i] + 2, questions.get(i).size()); // and title and unit
            for (JsonNode way : questions.get(i)) {
                if (way.isObject()) {
                    assertEquals(2, way.get("rounds").size());
                    way.get("rounds").forEach(figure -> assertTrue(figure.asDouble() > 0));
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"writers, 4", "pollers, 5"})
    void compareSharedGivesEveryRingBothTurnsInEveryRound(String who, int rings) throws IOException {
        Path json = folder.resolve("shared.json");
        assertEquals(
                0,
                run(
                        "compare-shared",
                        who,
                        "--jvms",
                        "2",
                        "--rounds",
                        "2",
                        "--seconds",
                        "0.002",
                        "--json",
                        json.toString()));
        JsonNode document = new ObjectMapper().readTree(json.toFile());
        for (String turn : new String[] {"stream", "contended"}) {
            assertEquals(rings, document.get(turn).size());
            document.get(turn).forEach(ring -> {
                assertEquals(4, ring.size());
                ring.forEach(rate -> assertTrue(rate.asDouble() > 0));
            });
        }
    }

    @ParameterizedTest
    @CsvSource({
        "compare, --jvms, 0",
        "compare, --rounds, 0",
        "compare, --seconds, 0",
        "compare, --seconds, 11",
        "compare, --entry, 128",
        "compare, --route, fast",
        "compare-poll, --rounds, 0",
        "compare-poll, --seconds, -1",
        "compare-poll, --route, fast",
        "compare-events, --rounds, 0",
        "compare-events, --queues, 65537",
    })
    void wrongValueIsNamedAndNothingRuns(String command, String option, String value) {
        assertEquals(2, run(command, option, value));
        assertTrue(err.toString().contains(option), err.toString());
        assertTrue(err.toString().contains(value), err.toString());
        assertEquals("", out.toString());
    }
}
