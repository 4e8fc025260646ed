package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Assumptions;
import picocli.CommandLine;

/**
 * A real mlx5 driver in a process of its own. Its source is not part of this repository, and it is built only where its libraries are
 * installed: elsewhere the tests that need it are skipped, loudly.
 */
final class Mlx5Peer {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static Path binary;
    private static String whyNot;

    private Mlx5Peer() {}

    static Path shared(String file) {
        return Path.of(System.getProperty("cqring.shared.dir", "../shared"), "conformance", file);
    }

    /** The program, built on the first call. */
    static synchronized Path program() throws IOException, InterruptedException {
        if (binary == null && whyNot == null) {
            build();
        }
        if (binary == null) {
            System.out.println("SKIPPED: a real mlx5 driver as the peer: " + whyNot);
            Assumptions.abort(whyNot);
        }
        return binary;
    }

    private static void build() throws IOException, InterruptedException {
        final Path script = shared("build.sh");
        if (!Files.exists(script)) {
            whyNot = "its source is absent";
            return;
        }
        final Path into = Path.of("target", "mlx5-peer").toAbsolutePath();
        final Path log = Files.createDirectories(into).resolve("build.log");
        final Process build = new ProcessBuilder("bash", script.toString(), into.toString())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        if (build.waitFor() == 0) {
            binary = into.resolve("mlx5_peer");
        } else {
            whyNot = "it does not build here (gcc, libibverbs-dev, libnl-3-dev, libnl-route-3-dev): "
                    + Files.readString(log, StandardCharsets.UTF_8)
                            .lines()
                            .findFirst()
                            .orElse("no message");
        }
    }

    /** Starts the program with these arguments. */
    static Process start(Path output, List<String> arguments) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>(List.of(program().toString()));
        command.addAll(arguments);
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
    }

    /** Runs our device and the driver on one script; what the driver found. */
    static JsonNode poll(
            Path folder, UnaryOperator<QueueMemory> tamper, String mode, List<String> both, String... device)
            throws IOException, InterruptedException {
        return poll(folder, tamper, mode, 100, both, device);
    }

    /** The same with a driver that waits no longer than so many seconds in all. */
    static JsonNode poll(
            Path folder,
            UnaryOperator<QueueMemory> tamper,
            String mode,
            int seconds,
            List<String> both,
            String... device)
            throws IOException, InterruptedException {
        program();
        final Path file = folder.resolve("cq");
        final StringWriter out = new StringWriter();
        final StringWriter err = new StringWriter();
        final List<String> arguments = new ArrayList<>(List.of("--file", file.toString()));
        arguments.addAll(both);
        final List<String> driver = new ArrayList<>(arguments);
        driver.addAll(List.of("--mode", mode, "--timeout", Integer.toString(seconds)));
        arguments.addAll(List.of(device));
        final AtomicInteger exitCode = new AtomicInteger(-1);
        final Thread thread = new Thread(
                () -> exitCode.set(new CommandLine(new Mlx5DeviceCommand(tamper))
                        .setOut(new PrintWriter(out, true))
                        .setErr(new PrintWriter(err, true))
                        .execute(arguments.toArray(String[]::new))),
                "mlx5-device");
        thread.start();
        while (!out.toString().contains("ready") && thread.isAlive()) {
            Thread.onSpinWait();
        }
        assertTrue(thread.isAlive(), () -> "the device did not start: " + err);
        final Path answer = folder.resolve("driver.json");
        final Process process = start(answer, driver);
        assertTrue(process.waitFor(120, TimeUnit.SECONDS), "the driver hangs");
        thread.join();
        final JsonNode result = JSON.readTree(Files.readString(answer, StandardCharsets.UTF_8));
        if (result.path("ok").asBoolean()) {
            assertEquals(0, exitCode.get(), () -> "the device: " + err);
        }
        return result;
    }
}
