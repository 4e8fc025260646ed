package io.cqring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The README's examples are compiled and run as they stand there. */
class ReadmeTest {
    private static final Pattern JAVA_BLOCK = Pattern.compile("```java\\R(.*?)```", Pattern.DOTALL);

    @TempDir
    private Path folder;

    @Test
    void theExampleCompilesWithoutWarningAndMovesAMillionCompletions() throws Exception {
        assertEquals(999_999L * 1_000_000 / 2, sumOfExample(0));
    }

    @Test
    void theExampleThatSleepsCompilesWithoutWarningAndGetsAThousand() throws Exception {
        assertEquals(999L * 1000 / 2, sumOfExample(1));
    }

    private Object sumOfExample(int number) throws Exception {
        Matcher block = JAVA_BLOCK.matcher(Files.readString(Path.of("..", "README.md")));
        for (int i = 0; i <= number; i++) {
            assertTrue(block.find(), "README.md has no Java example " + number);
        }
        String example = block.group(1);
        assertTrue(example.lines().count() <= 20, "the example is to stay short");
        Path source = folder.resolve("Example.java");
        Files.writeString(
                source,
                "import io.cqring.cq.*;\nimport io.cqring.notify.*;\nimport java.util.concurrent.TimeUnit;\n"
                        + "public class Example { public static long run() throws Exception {\n" + example
                        + "device.join();\nreturn sum[0]; } }\n");
        int result = ToolProvider.getSystemJavaCompiler()
                .run(
                        null,
                        null,
                        null,
                        "-Xlint:all",
                        "-Werror",
                        "-proc:none",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-d",
                        folder.toString(),
                        source.toString());
        assertEquals(0, result, "the example does not compile");
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            return loader.loadClass("Example").getMethod("run").invoke(null);
        }
    }
}
