package io.cqring.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

/** Reads {@link FieldBug} off the compiled tests of this module. */
class FieldBugCoverageTest {
    /** What is asked of core so far. */
    private static final Set<Integer> OWED = new TreeSet<>(Set.of(
            1, 3, 4, 5, 7, 8, 10, 11, 13, 15, 16, 20, 21, 24, 25, 26, 28, 29, 31, 32, 33, 36, 38, 41, 43, 45, 47, 49,
            51, 52, 54, 58, 60, 62, 64, 65, 66, 69, 70, 71, 74, 75, 78, 83, 84, 89, 91, 96, 97, 99, 102, 103, 104,
            105));

    @Test
    void everyFieldBugThatCoreOwesHasATest() throws IOException {
        Map<Integer, Set<String>> covered = FieldBugs.beside(FieldBugCoverageTest.class);
        FieldBugs.print("core", covered);

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
        FieldBugs.beside(FieldBugCoverageTest.class)
                .forEach((number, tests) -> assertTrue(
                        text.contains("\n**" + number + ". "), () -> number + " is not listed, used by " + tests));
        assertFalse(text.contains("\n**1000000. "), "the check must tell a number that is not listed");
    }

    /** The checker checked: what is no test, or is disabled, must not count. */
    @Test
    void anAnnotationOnWhatNeverRunsIsRefused() {
        assertThrows(IllegalStateException.class, () -> FieldBugs.collect(OnNoTest.class, new TreeMap<>()));
        assertThrows(IllegalStateException.class, () -> FieldBugs.collect(OnDisabledTest.class, new TreeMap<>()));
        assertThrows(IllegalStateException.class, () -> FieldBugs.collect(OnClassWithoutTests.class, new TreeMap<>()));
        Map<Integer, Set<String>> covered = new TreeMap<>();
        FieldBugs.collect(OnTest.class, covered);
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
}
