package io.cqring.testing;

import java.io.IOException;
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
import org.junit.jupiter.api.Disabled;
import org.junit.platform.commons.annotation.Testable;
import org.junit.platform.commons.support.AnnotationSupport;

/** Reads {@link FieldBug} off compiled tests. Shared by the modules that have such tests. */
public final class FieldBugs {
    private FieldBugs() {}

    /**
     * Who covers what among the tests compiled into one folder.
     *
     * @param anyTest a class of that folder; it and its nested classes are left out
     * @return by number, the tests' names
     * @throws IOException if the folder cannot be read
     * @throws IllegalStateException if the annotation stands on what never runs
     */
    public static Map<Integer, Set<String>> beside(Class<?> anyTest) throws IOException {
        Map<Integer, Set<String>> covered = new TreeMap<>();
        for (Class<?> type : classesBeside(anyTest)) {
            collect(type, covered);
        }
        return covered;
    }

    /**
     * Prints who covers what.
     *
     * @param module  whose tests they are
     * @param covered by number, the tests' names
     */
    public static void print(String module, Map<Integer, Set<String>> covered) {
        StringBuilder listing = new StringBuilder("Field bugs covered (" + module + "): ")
                .append(covered.keySet().stream().map(String::valueOf).collect(Collectors.joining(", ")));
        covered.forEach((number, tests) -> listing.append(System.lineSeparator())
                .append(String.format("  %3d  %s", number, String.join(", ", tests))));
        System.out.println(listing);
    }

    static void collect(Class<?> type, Map<Integer, Set<String>> covered) {
        FieldBug onType = type.getAnnotation(FieldBug.class);
        boolean anyRuns = false;
        for (Method method : type.getDeclaredMethods()) {
            boolean runs = AnnotationSupport.isAnnotated(method, Testable.class)
                    && !AnnotationSupport.isAnnotated(method, Disabled.class)
                    && !AnnotationSupport.isAnnotated(type, Disabled.class);
            anyRuns |= runs;
            FieldBug onMethod = method.getAnnotation(FieldBug.class);
            if (onMethod != null) {
                require(runs, "@FieldBug on what never runs: " + method);
                put(covered, onMethod, type.getSimpleName() + "." + method.getName());
            }
        }
        if (onType != null) {
            require(anyRuns, "@FieldBug on a class without tests: " + type);
            put(covered, onType, type.getSimpleName());
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }

    private static void put(Map<Integer, Set<String>> covered, FieldBug bug, String name) {
        for (int number : bug.value()) {
            covered.computeIfAbsent(number, key -> new TreeSet<>()).add(name);
        }
    }

    private static List<Class<?>> classesBeside(Class<?> anyTest) throws IOException {
        try {
            Path root = Path.of(
                    anyTest.getProtectionDomain().getCodeSource().getLocation().toURI());
            List<Class<?>> classes = new ArrayList<>();
            try (Stream<Path> files = Files.walk(root)) {
                for (Path file : (Iterable<Path>)
                        files.filter(f -> f.toString().endsWith(".class")).sorted()::iterator) {
                    String name =
                            root.relativize(file).toString().replace('/', '.').replace('\\', '.');
                    String className = name.substring(0, name.length() - ".class".length());
                    if (!className.startsWith(anyTest.getName())) {
                        classes.add(Class.forName(className, false, anyTest.getClassLoader()));
                    }
                }
            }
            require(classes.size() > 10, "found only " + classes);
            return classes;
        } catch (ReflectiveOperationException | URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
