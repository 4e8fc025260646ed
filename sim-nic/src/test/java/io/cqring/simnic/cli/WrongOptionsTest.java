package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Values that a command cannot take: one line that names the value and the rule, exit code 2, and nothing has run. */
class WrongOptionsTest {
    @TempDir
    private Path folder;

    private void assertRefused(String options, String line) {
        Ran.of(new RunCommand(), options.replace("FOLDER", folder.toString()).split(" "))
                .assertRefused(line);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--profile mlx5 --depth 8388608|--depth must be at most 4194304 with --cqe 64 with --profile mlx5: 8388608",
                "--profile mlx5 --cqe 128 --depth 8388608|--depth must be at most 4194304 with --cqe 128 with --profile mlx5: 8388608",
                "--profile irdma --depth 1048576|--depth must be at most 1048575 with --cqe 64 with --profile irdma: 1048576",
                "--profile irdma --cqe 32 --depth 524288|--depth must be at most 524287 with --cqe 32 with --profile irdma: 524288",
                "--profile bnxt_re --depth 2097152|--depth must be at most 1048576 with --cqe 32 with --profile bnxt_re: 2097152",
                "--profile bnxt_re --depth 2097152 --mode event|--depth must be at most 1048576 with --cqe 32 with --profile bnxt_re: 2097152",
                "--profile irdma --window 65536 --ranks 2 --depth 131072|--window must be at most 32768 with --profile irdma: 65536",
                "--profile efa|profile must be mlx5, irdma or bnxt_re: efa",
                "--depth 33554432|--depth must be at most 16777216 with --cqe 64: 33554432"
            })
    void run(String options, String line) {
        assertRefused("run " + options, line);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--profile efa|profile must be mlx5, irdma or bnxt_re: efa",
                "--profile mlx5 --fault torn-entry|--fault torn-entry needs the reference profile, --profile: mlx5",
                "--seeds 0|--seeds must be 1 or more: 0",
                "--steps 0|--steps must be 1 to 10000000: 0",
                "--seeds 2 --log FOLDER/log|--log needs --seeds 1: 2"
            })
    void simulate(String options, String line) {
        assertRefused("simulate " + options, line);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--depth 8388608|depth must be a power of two, 1 to 4194304: 8388608",
                "--depth 48|depth must be a power of two, 1 to 4194304: 48",
                "--cqe-size 32|mlx5 entries have 64 or 128 bytes: 32",
                "--loops 0|--loops must be 1 or more: 0",
                "--start -1|--start must be 0 or more: -1",
                "--timeout 0|--timeout must be 1 to 1000000000 seconds: 0",
                "--timeout 9223372037|--timeout must be 1 to 1000000000 seconds: 9223372037",
                "--moderation adaptive|--moderation must be off or COUNT,MICROS: adaptive",
                "--moderation 64,0|--moderation needs a period, or fewer completions than the count are never reported: 64,0"
            })
    void mlx5Device(String options, String line) throws IOException {
        Files.writeString(folder.resolve("script.csv"), "send,0,0,0,0,0\n");
        assertRefused("mlx5-device --file FOLDER/queue --script FOLDER/script.csv " + options, line);
        assertFalse(Files.exists(folder.resolve("queue")));
    }

    /** An entry has eight bits for a syndrome and for a vendor's error. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "req_err,0,0,256,0,0|field 4 must be a number of 8 bits: 256",
                "req_err,0,0,255,256,0|field 5 must be a number of 8 bits: 256",
                "recv_imm,0,4294967296,0,0,0|field 3 must be a number of 32 bits: 4294967296"
            })
    void aScriptsNumbersAreAsWideAsTheEntrys(String script, String rule) throws IOException {
        Files.writeString(folder.resolve("script.csv"), script + "\n");
        assertRefused(
                "mlx5-device --file FOLDER/queue --script FOLDER/script.csv",
                folder.resolve("script.csv") + " line 1: " + rule);
    }

    @ParameterizedTest
    @ValueSource(strings = {"send,\"0,0,0,0,0\n", "send,0,0\n", "jump,0,0,0,0,0\n", ""})
    void aWrongScriptIsOneLine(String script) throws IOException {
        Files.writeString(folder.resolve("script.csv"), script);
        final Ran ran = Ran.of(
                new RunCommand(),
                "mlx5-device",
                "--file",
                folder.resolve("queue").toString(),
                "--script",
                folder.resolve("script.csv").toString());
        assertEquals(1, ran.err().lines().count(), ran.err());
        assertTrue(ran.err().startsWith("cqring: "), ran.err());
        assertFalse(ran.err().contains("at io.cqring"), ran.err());
        assertEquals("", ran.out());
        assertEquals(2, ran.exitCode(), ran.err());
        assertFalse(Files.exists(folder.resolve("queue")));
    }
}
