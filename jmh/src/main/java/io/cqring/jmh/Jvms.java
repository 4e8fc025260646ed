package io.cqring.jmh;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs a command of ours in JVMs of their own, one after another. What the JIT made of a ring and where its memory came to
 * lie stay the same as long as a JVM lives: rounds in one JVM say nothing about the next, so a comparison needs several.
 */
final class Jvms {
    private Jvms() {}

    /**
     * Runs {@code command --json FILE} in {@code count} JVMs with this one's flags.
     *
     * @return what they wrote to their files, in order
     * @throws IOException           if a JVM cannot be started or its file not be read
     * @throws IllegalStateException if one of them failed, with all it said
     */
    static List<String> run(int count, List<String> command) throws IOException {
        List<String> results = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            results.add(run(command));
        }
        return results;
    }

    private static String run(List<String> command) throws IOException {
        Path json = Files.createTempFile("cqring-", ".json");
        Path said = Files.createTempFile("cqring-", ".txt");
        try {
            List<String> line = new ArrayList<>();
            line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
            line.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
            line.add("--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED"); // benchmarks.jar's manifest is not read
            line.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
            line.addAll(command);
            line.addAll(List.of("--json", json.toString()));
            Process jvm = new ProcessBuilder(line)
                    .redirectErrorStream(true)
                    .redirectOutput(said.toFile())
                    .start();
            int exit = waitFor(jvm);
            if (exit != 0) {
                throw new IllegalStateException("a JVM ended with exit code " + exit + ": " + Files.readString(said));
            }
            return Files.readString(json);
        } finally {
            Files.delete(json);
            Files.delete(said);
        }
    }

    private static int waitFor(Process jvm) {
        try {
            return jvm.waitFor();
        } catch (InterruptedException interrupted) {
            jvm.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", interrupted);
        }
    }
}
