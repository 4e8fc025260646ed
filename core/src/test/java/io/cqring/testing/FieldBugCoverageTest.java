package io.cqring.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.annotation.Testable;
import org.junit.platform.commons.support.AnnotationSupport;

/** Reads {@link FieldBug} off the compiled tests of this module. */
class FieldBugCoverageTest {
    /** What issue 2 asks of core. Number 52 is about waiting, which core does not do yet: sim-nic covers it. */
    private static final Set<Integer> OWED = new TreeSet<>(
            Set.of(3, 4, 7, 8, 10, 11, 13, 15, 16, 21, 24, 25, 26, 28, 29, 54, 60, 62, 64, 65, 66, 83, 96, 102));

    @Test
    void everyFieldBugThatCoreOwesHasATest() {
        Map<Integer, Set<String>> covered = new TreeMap<>();
        compiledTestClasses().forEach(type -> collect(type, covered));

        StringBuilder listing = new StringBuilder("Field bugs covered (core): ")
                .append(covered.keySet().stream().map(String::valueOf).collect(Collectors.joining(", ")));
        covered.forEach((number, tests) -> listing.append(System.lineSeparator())
                .append(String.format("  %3d  %s", number, String.join(", ", tests))));
        System.out.println(listing);

        Set<Integer> missing = new TreeSet<>(OWED);
        missing.removeAll(covered.keySet());
        assertEquals(Set.of(), missing, "field bugs without a test in core");
    }

    @Test
    void everyNumberUsedIsOnTheList() throws IOException {
        Path list = Path.of(System.getProperty("cqring.shared.dir", "../shared"), "reference", "field-bugs.md");
        if (!Files.isReadable(list)) {
            System.out.println("SKIPPED: numbers of @FieldBug against the list, no file " + list);
            Assumptions.abort("no file " + list);
        }
        String text = Files.readString(list);
        Map<Integer, Set<String>> covered = new TreeMap<>();
        compiledTestClasses().forEach(type -> collect(type, covered));
        covered.forEach((number, tests) ->
                assertTrue(text.contains("\n**" + number + ". "), () -> number + " is not listed, used by " + tests));
        assertFalse(text.contains("\n**1000000. "), "the check must tell a number that is not listed");
    }

    /** The checker checked: what is no test, or is disabled, must not count. */
    @Test
    void anAnnotationOnWhatNeverRunsIsRefused() {
        assertThrows(AssertionError.class, () -> collect(OnNoTest.class, new TreeMap<>()));
        assertThrows(AssertionError.class, () -> collect(OnDisabledTest.class, new TreeMap<>()));
        assertThrows(AssertionError.class, () -> collect(OnClassWithoutTests.class, new TreeMap<>()));
        Map<Integer, Set<String>> covered = new TreeMap<>();
        collect(OnTest.class, covered);
        assertEquals(Map.of(1, Set.of("OnTest.covers"), 2, Set.of("OnTest.covers")), covered);
    }

    static class OnNoTest {
        @FieldBug(1)
        void helper() {}
    }

    static class OnDisabledTest {
        @FieldBug(1)
        @Test
        @Disabled("a known-bad input of the checker")
        void off() {}
    }

    @FieldBug(1)
    static class OnClassWithoutTests {}

    static class OnTest {
        @FieldBug({1, 2})
        @Test
        void covers() {}
    }

    private static void collect(Class<?> type, Map<Integer, Set<String>> covered) {
        FieldBug onType = type.getAnnotation(FieldBug.class);
        List<Method> tests = new ArrayList<>();
        for (Method method : type.getDeclaredMethods()) {
            boolean runs = AnnotationSupport.isAnnotated(method, Testable.class)
                    && !AnnotationSupport.isAnnotated(method, Disabled.class)
                    && !AnnotationSupport.isAnnotated(type, Disabled.class);
            if (runs) {
                tests.add(method);
            }
            FieldBug onMethod = method.getAnnotation(FieldBug.class);
            if (onMethod != null) {
                assertTrue(runs, () -> "@FieldBug on what never runs: " + method);
                put(covered, onMethod, type.getSimpleName() + "." + method.getName());
            }
        }
        if (onType != null) {
            assertFalse(tests.isEmpty(), () -> "@FieldBug on a class without tests: " + type);
            put(covered, onType, type.getSimpleName());
        }
    }

    private static void put(Map<Integer, Set<String>> covered, FieldBug bug, String name) {
        for (int number : bug.value()) {
            covered.computeIfAbsent(number, key -> new TreeSet<>()).add(name);
        }
    }

    /** Every class of this module's tests but the known-bad ones above. */
    private static List<Class<?>> compiledTestClasses() {
        try {
            Path root = Path.of(FieldBug.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
            List<Class<?>> classes = new ArrayList<>();
            try (Stream<Path> files = Files.walk(root)) {
                for (Path file : files.filter(f -> f.toString().endsWith(".class"))
                        .sorted()
                        .collect(Collectors.toList())) {
                    String name =
                            root.relativize(file).toString().replace('/', '.').replace('\\', '.');
                    String className = name.substring(0, name.length() - ".class".length());
                    if (!className.startsWith(FieldBugCoverageTest.class.getName())) {
                        classes.add(Class.forName(className, false, FieldBug.class.getClassLoader()));
                    }
                }
            }
            assertTrue(classes.size() > 10, () -> "found only " + classes);
            return classes;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (ReflectiveOperationException | URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
