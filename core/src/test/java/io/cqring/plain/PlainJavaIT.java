package io.cqring.plain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The built jar in a JVM of its own, without any flag, on the JDK that runs the tests and on 25: right result, and not one line on
 * stderr.
 */
class PlainJavaIT {
    private static final String CORE = System.getProperty("cqring.core.jar");
    private static final String AGRONA = System.getProperty("cqring.agrona.jar");
    private static final String MAIN = MillionEntries.class.getName();
    private static final Path OWN_JDK = Path.of(System.getProperty("java.home"));

    @TempDir
    static Path mainOnly;

    private record Result(int exit, List<String> out, List<String> err) {}

    /** Nothing of the tests but the one main class may be on the child's class path. */
    @BeforeAll
    static void copyMainClass() throws IOException {
        assertTrue(Files.isRegularFile(Path.of(CORE)), () -> "no jar " + CORE);
        assertTrue(Files.isRegularFile(Path.of(AGRONA)), () -> "no jar " + AGRONA);
        String file = MAIN.replace('.', '/') + ".class";
        Path target = mainOnly.resolve(file);
        Files.createDirectories(target.getParent());
        try (InputStream in = MillionEntries.class.getClassLoader().getResourceAsStream(file)) {
            Files.copy(in, target);
        }
    }

    /** What the main must print: the sum written as a plain loop. */
    private static String expected(String route, String module) {
        long checksum = 0;
        for (long i = 0; i < 1_000_000; i++) {
            checksum = checksum * 31 + i;
        }
        return Long.toHexString(checksum) + " " + route + " " + module;
    }

    private static Result java(Path jdk, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(jdk.resolve("bin").resolve("java").toString());
        command.addAll(List.of(arguments));
        Path out = Files.createTempFile(mainOnly, "out", ".txt");
        Path err = Files.createTempFile(mainOnly, "err", ".txt");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        // These print a line on stderr, or change what is tested.
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"));
        Process process = builder.start();
        if (!process.waitFor(180, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("does not end: " + command);
        }
        return new Result(process.exitValue(), Files.readAllLines(out), Files.readAllLines(err));
    }

    private static void assertClean(Result result, String route, String module) {
        assertEquals(List.of(), result.err, "a line on stderr");
        assertEquals(List.of(expected(route, module)), result.out);
        assertEquals(0, result.exit);
    }

    private static String classPath() {
        return String.join(File.pathSeparator, CORE, AGRONA, mainOnly.toString());
    }

    private static void onClassPath(Path jdk) throws IOException, InterruptedException {
        assertClean(java(jdk, "-cp", classPath(), MAIN), "BUFFER", "null");
    }

    private static void onModulePath(Path jdk) throws IOException, InterruptedException {
        Result result = java(
                jdk,
                "-p",
                CORE + File.pathSeparator + AGRONA,
                "--add-modules",
                "io.cqring.core",
                "-cp",
                mainOnly.toString(),
                MAIN);
        assertClean(result, "BUFFER", "io.cqring.core");
    }

    private static void onTheFastRoute(Path jdk) throws IOException, InterruptedException {
        String open = "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED";
        assertClean(java(jdk, open, "-cp", classPath(), MAIN), "UNSAFE", "null");
        Result modules = java(
                jdk,
                "--add-opens=java.base/jdk.internal.misc=org.agrona",
                "-p",
                CORE + File.pathSeparator + AGRONA,
                "--add-modules",
                "io.cqring.core",
                "-cp",
                mainOnly.toString(),
                MAIN);
        assertClean(modules, "UNSAFE", "io.cqring.core");
    }

    /** A JDK 25 beside the one that runs this. */
    private static Path jdk25() throws IOException {
        if (Runtime.version().feature() == 25) {
            return OWN_JDK;
        }
        Path folder = OWN_JDK.toRealPath().getParent();
        try (DirectoryStream<Path> candidates = Files.newDirectoryStream(folder, "*25*")) {
            for (Path candidate : candidates) {
                Path release = candidate.resolve("release");
                if (Files.isExecutable(candidate.resolve("bin").resolve("java"))
                        && Files.isRegularFile(release)
                        && Files.readString(release).contains("JAVA_VERSION=\"25")) {
                    return candidate;
                }
            }
        }
        System.out.println("SKIPPED: core without flags on JDK 25: none in " + folder);
        return Assumptions.abort("no JDK 25 in " + folder);
    }

    @FieldBug(103)
    @Test
    void onOwnJdkFromTheClassPath() throws Exception {
        onClassPath(OWN_JDK);
    }

    @Test
    void onOwnJdkFromTheModulePath() throws Exception {
        onModulePath(OWN_JDK);
    }

    @Test
    void onOwnJdkOnTheFastRoute() throws Exception {
        onTheFastRoute(OWN_JDK);
    }

    @Test
    void onJdk25FromTheClassPath() throws Exception {
        onClassPath(jdk25());
    }

    @Test
    void onJdk25FromTheModulePath() throws Exception {
        onModulePath(jdk25());
    }

    @Test
    void onJdk25OnTheFastRoute() throws Exception {
        onTheFastRoute(jdk25());
    }

    /** Insisting on a route that is not there ends with the rule, not with a slower queue. */
    @Test
    void refusesARouteThatNeedsTheMissingFlag() throws Exception {
        Result result = java(OWN_JDK, "-Dcqring.memory.route=unsafe", "-cp", classPath(), MAIN);
        assertNotEquals(0, result.exit);
        assertEquals(List.of(), result.out);
        assertTrue(
                String.join("\n", result.err).contains("--add-opens java.base/jdk.internal.misc=ALL-UNNAMED"),
                () -> result.err.toString());
    }

    /** The check itself: a JVM that does print a line is caught. */
    @Test
    void seesALineOnStderr() throws Exception {
        Result result =
                java(OWN_JDK, "--add-opens=java.base/jdk.internal.misc=no.such.module", "-cp", classPath(), MAIN);
        assertEquals(0, result.exit);
        assertEquals(1, result.err.size(), () -> result.err.toString());
    }
}
