package io.cqring.testing;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A JVM of its own, on the class path of the test, that can be talked to and killed. */
public final class ChildJvm implements AutoCloseable {
    /** What Agrona needs, and with it the fast route. */
    public static final String FAST_ROUTE = "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED";

    private static final long DEADLINE_S = 180;

    private final Process process;
    private final BufferedReader out;
    private final BufferedWriter in;
    private final Path err;

    private ChildJvm(Process process, Path err) {
        this.process = process;
        this.out = process.inputReader(StandardCharsets.UTF_8);
        this.in = process.outputWriter(StandardCharsets.UTF_8);
        this.err = err;
    }

    /**
     * Starts one.
     *
     * @param folder    where its stderr goes
     * @param options   options of the JVM, before the class name
     * @param main      its main class
     * @param arguments arguments of main
     * @return the child
     * @throws IOException if it cannot be started
     */
    public static ChildJvm start(Path folder, List<String> options, Class<?> main, String... arguments)
            throws IOException {
        return start(
                Path.of(System.getProperty("java.home")),
                System.getProperty("java.class.path"),
                folder,
                options,
                main,
                arguments);
    }

    /**
     * Starts one on any JDK and class path.
     *
     * @param jdk       home of the JDK
     * @param classPath its class path
     * @param folder    where its stderr goes
     * @param options   options of the JVM, before the class name
     * @param main      its main class
     * @param arguments arguments of main
     * @return the child
     * @throws IOException if it cannot be started
     */
    public static ChildJvm start(
            Path jdk, String classPath, Path folder, List<String> options, Class<?> main, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(jdk.resolve("bin").resolve("java").toString());
        command.addAll(options);
        command.addAll(List.of("-cp", classPath, main.getName()));
        command.addAll(List.of(arguments));
        Path err = Files.createTempFile(folder, "err", ".txt");
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(err.toFile());
        // These print a line on stderr, or change what is tested.
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"));
        return new ChildJvm(builder.start(), err);
    }

    /**
     * Its process id.
     *
     * @return the id
     */
    public long pid() {
        return process.pid();
    }

    /**
     * Next line that it prints.
     *
     * @return the line
     * @throws IOException    if it cannot be read
     * @throws AssertionError if there is none: the child has ended
     */
    public String readLine() throws IOException {
        String line = out.readLine();
        if (line == null) {
            throw new AssertionError("child has ended: " + errors());
        }
        return line;
    }

    /**
     * Gives it a line to read.
     *
     * @param line the line
     * @throws IOException if it has ended
     */
    public void send(String line) throws IOException {
        in.write(line);
        in.newLine();
        in.flush();
    }

    /**
     * Whether it still runs.
     *
     * @return true if so
     */
    public boolean isAlive() {
        return process.isAlive();
    }

    /**
     * What it has printed on stderr.
     *
     * @return the text
     * @throws IOException if it cannot be read
     */
    public String errors() throws IOException {
        return Files.readString(err);
    }

    /**
     * Waits for its end.
     *
     * @return exit code
     * @throws InterruptedException if interrupted
     */
    public int join() throws InterruptedException {
        if (!process.waitFor(DEADLINE_S, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("child does not end");
        }
        return process.exitValue();
    }

    /** Kills it as {@code kill -9} does, and waits until it is gone. */
    public void kill() {
        process.destroyForcibly().onExit().join();
    }

    /** Kills it if it still runs, and deletes its stderr. */
    @Override
    public void close() throws IOException {
        kill();
        Files.deleteIfExists(err);
    }
}
