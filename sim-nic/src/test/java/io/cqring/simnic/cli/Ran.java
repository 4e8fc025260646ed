package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A command line that has been carried out within this JVM: how it ended and what it said. */
record Ran(int exitCode, String out, String err) {
    /** Completions of the {@link #handWorkload} among 4, in chunks of 1000: 24 messages of 100 chunks, 3 of 100, 12 of 100. */
    static final long HAND_COMPLETIONS = 2 * 100 * (24 + 3 + 12);

    /** Every counter of a run that is 0 if nothing went wrong. */
    private static final List<String> FAULTS =
            List.of("lost", "duplicated", "misordered", "errors", "payload_mismatches", "cq_overruns", "lost_wakeups");

    static Ran of(RunCommand command, String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode = Main.execute(command, new PrintWriter(out, true), new PrintWriter(err, true), args);
        return new Ran(exitCode, out.toString(), err.toString());
    }

    /** {@code run --json} of a workload in chunks of 1000 bytes; options with spaces between them. */
    static Ran of(RunCommand command, Path workload, String options) {
        List<String> args =
                new ArrayList<>(List.of("run", "--json", "--chunk=1000", "--workload", workload.toString()));
        args.addAll(List.of(options.split(" ", -1)));
        return of(command, args.toArray(String[]::new));
    }

    static Path handWorkload(Path folder) throws IOException {
        return workload(folder, "all_reduce,400000", "broadcast,100000", "all_to_all,400000");
    }

    /** A file with a message for each line: kind and bytes. */
    static Path workload(Path folder, String... lines) throws IOException {
        return Files.writeString(
                folder.resolve("hand.csv"), "comm_type,msg_size\nCommType." + String.join("\nCommType.", lines) + "\n");
    }

    JsonNode json() {
        try {
            return new ObjectMapper().readTree(out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    long count(String name) {
        return json().get(name).asLong();
    }

    /** The fault counters that are not 0. */
    Map<String, Long> risen() {
        Map<String, Long> risen = new LinkedHashMap<>();
        JsonNode json = json();
        for (String counter : FAULTS) {
            if (json.get(counter).asLong() != 0) {
                risen.put(counter, json.get(counter).asLong());
            }
        }
        return risen;
    }

    /** Wrong usage: this line and nothing else. */
    void assertRefused(String line) {
        assertEquals("cqring: " + line, err.strip());
        assertEquals("", out);
        assertEquals(2, exitCode);
    }
}
