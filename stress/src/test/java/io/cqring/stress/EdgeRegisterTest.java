package io.cqring.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.openjdk.jcstress.infra.runners.TestList;

/** Register, code comments and stress classes say the same; and the checker can say that they do not. */
class EdgeRegisterTest {
    private static final String HEAD = """
            | edge | writer end | reader end | modes | stress class | twin |
            | --- | --- | --- | --- | --- | --- |
            """;
    private static final String ROW =
            "| `DOOR` | `Bell.ring` | `Bell.hear` | release | `DoorStress` | `TwinDeaf`: deaf |\n";
    private static final String REGISTER = HEAD + ROW;
    private static final String SOURCE = """
            class Bell {
                void ring(int offset) {
                    // Edge DOOR, ringing end.
                    memory.putLongRelease(offset, 1);
                }

                long hear(int offset) {
                    // Edge DOOR, hearing end. Partner: ring.
                    return memory.getLongAcquire(offset);
                }
            }
            """;
    private static final List<String> STRESS_TESTS = List.of("a.DoorStress.Ring", "a.DoorStress.TwinDeaf");

    @Test
    void registerCommentsAndStressClassesAgree() throws IOException {
        Path root = root();
        Map<String, String> sources = new TreeMap<>();
        for (String module : List.of("core", "sim-nic")) {
            javaFiles(root.resolve(module).resolve("src/main/java"))
                    .forEach(file -> sources.put(file.toString(), read(file)));
        }
        assertTrue(sources.size() > 10, () -> "sources found: " + sources.keySet());
        Set<String> otherTests = javaFiles(root.resolve("sim-nic/src/test/java"))
                .map(file -> file.getFileName().toString().replace(".java", ""))
                .collect(Collectors.toCollection(TreeSet::new));
        String register = Files.readString(root.resolve("core/docs/ordering.md"));
        List<String> complaints = EdgeRegister.complaints(register, sources, TestList.tests(), otherTests);
        assertEquals("", String.join("\n", complaints));
    }

    @Test
    void shouldFindNothingWrongWithAGoodRegister() {
        assertComplaints(REGISTER, SOURCE, STRESS_TESTS);
    }

    @Test
    void shouldNoticeAccessWithoutComment() {
        assertComplaints(
                REGISTER,
                SOURCE.replace("\n}\n", "\n\n    void more() {\n        memory.putLongRelease(8, 1);\n    }\n}\n"),
                STRESS_TESTS,
                "x/Bell.java:13: no comment names the edge of memory.putLongRelease(8, 1);");
    }

    @Test
    void shouldNoticeCommentThatIsTooFarAway() {
        String between = "        next();\n";
        String near = SOURCE.replace("        memory.put", between.repeat(8) + "        memory.put");
        String far = SOURCE.replace("        memory.put", between.repeat(9) + "        memory.put");
        assertComplaints(REGISTER, near, STRESS_TESTS);
        assertComplaints(
                REGISTER,
                far,
                STRESS_TESTS,
                "x/Bell.java:13: no comment names the edge of memory.putLongRelease(offset, 1);");
    }

    @Test
    void shouldNoticeEveryKindOfOrderedAccess() {
        for (String access : List.of(
                "long v = memory.getLongAcquire(0);",
                "memory.putLongRelease(0, 1);",
                "memory.compareAndSetLong(0, 1, 2);",
                "memory.getAndAddLong(0, 1);",
                "HANDLE.setRelease(this, 1);",
                "long v = (long) HANDLE.getAcquire(this);",
                "VarHandle.fullFence();",
                "fullFence();",
                "flag.compareAndSet(0, 1);",
                "flag.set(1);",
                "int v = flag.get();",
                "volatile int seen;")) {
            String source =
                    "class Bell {\n    final AtomicInteger flag = new AtomicInteger();\n    void m() {\n        "
                            + access + "\n    }\n}\n";
            List<String> complaints = EdgeRegister.complaints(
                    REGISTER, Map.of("x/Other.java", source, "x/Bell.java", SOURCE), STRESS_TESTS, Set.of());
            assertEquals(List.of("x/Other.java:4: no comment names the edge of " + access), complaints);
        }
    }

    @Test
    void shouldLetPlainAndOpaqueAccessesAndCommentsBe() {
        String source = """
                class Other {
                    // memory.putLongRelease(0, 1) is not needed here
                    /** Like {@code compareAndSet(0, 1)}. */
                    void m() {
                        memory.putLong(0, 1);
                        memory.putLongOpaque(0, 1);
                        map.get(0);
                    }
                }
                """;
        assertEquals(
                List.of(),
                EdgeRegister.complaints(
                        REGISTER, Map.of("x/Other.java", source, "x/Bell.java", SOURCE), STRESS_TESTS, Set.of()));
    }

    @Test
    void shouldNoticeEdgeInCodeThatIsNotRegistered() {
        assertComplaints(
                REGISTER,
                SOURCE.replace("class Bell {", "class Bell {\n    // Edge WINDOW, too."),
                STRESS_TESTS,
                "x/Bell.java:2: edge WINDOW is not in the register");
    }

    @Test
    void shouldNoticeEndWithoutComment() {
        assertComplaints(
                REGISTER,
                SOURCE.replace("memory.getLongAcquire(offset)", "0").replace("// Edge DOOR, hearing", "// hearing"),
                STRESS_TESTS,
                "register: Bell.hear has no comment that names edge DOOR");
    }

    @Test
    void shouldNoticeEndThatDoesNotExist() {
        assertComplaints(
                REGISTER.replace("Bell.hear", "Bell.listen"),
                SOURCE,
                STRESS_TESTS,
                "register: edge DOOR names Bell.listen, which does not exist");
    }

    @Test
    void shouldNoticeEndThatIsNotNamed() {
        assertComplaints(
                REGISTER.replace("`Bell.hear`", "whoever hears"),
                SOURCE,
                STRESS_TESTS,
                "register: edge DOOR names no method in column \"reader end\"");
    }

    @Test
    void shouldNoticeStressClassThatDoesNotExist() {
        assertComplaints(
                REGISTER.replace("`DoorStress`", "`GateStress`"),
                SOURCE,
                STRESS_TESTS,
                "register: edge DOOR names stress class GateStress, which does not exist",
                "register: stress class DoorStress belongs to no edge");
    }

    @Test
    void shouldNoticeStressClassOfNoEdge() {
        assertComplaints(
                REGISTER,
                SOURCE,
                List.of("a.DoorStress.Ring", "a.DoorStress.TwinDeaf", "a.RoofStress.Leak"),
                "register: stress class RoofStress belongs to no edge");
    }

    @Test
    void shouldNoticeTwinThatDoesNotExist() {
        assertComplaints(
                REGISTER,
                SOURCE,
                List.of("a.DoorStress.Ring"),
                "register: edge DOOR names twin DoorStress.TwinDeaf, which does not exist");
    }

    @Test
    void shouldNoticeEdgeWithoutStressClassOrTwin() {
        assertComplaints(
                REGISTER.replace("`DoorStress`", "to come").replace("`TwinDeaf`: deaf", "to come"),
                SOURCE,
                List.of(),
                "register: edge DOOR names no stress class",
                "register: edge DOOR names no twin");
    }

    @Test
    void shouldNoticeEdgeListedTwiceAndEmptyRegister() {
        assertComplaints(REGISTER + ROW, SOURCE, STRESS_TESTS, "register: edge DOOR is listed twice");
        assertComplaints(HEAD, "class Bell {}", List.of(), "register: no edge at all");
    }

    @Test
    void shouldTakeTestInPlaceOfStressClassInATableThatSaysSo() {
        String register = REGISTER + """

                | edge | writer end | reader end | test |
                | --- | --- | --- | --- |
                | `GATE` | `Gate.open` | `Gate.pass` | `GateTest` |
                """;
        String gate = """
                class Gate {
                    void open() {} // Edge GATE, too short to have a body

                    void open(int n) {
                        // Edge GATE, opening end.
                        memory.putLongRelease(n, 1);
                    }

                    void pass(int n) {
                        // Edge GATE, passing end.
                        memory.getLongAcquire(n);
                    }
                }
                """;
        Map<String, String> sources = Map.of("x/Bell.java", SOURCE, "y/Gate.java", gate);
        assertEquals(List.of(), EdgeRegister.complaints(register, sources, STRESS_TESTS, Set.of("GateTest")));
        assertEquals(
                List.of("register: edge GATE names test GateTest, which does not exist"),
                EdgeRegister.complaints(register, sources, STRESS_TESTS, Set.of()));
        assertEquals(
                List.of("register: edge GATE names no test"),
                EdgeRegister.complaints(register.replace("`GateTest`", ""), sources, STRESS_TESTS, Set.of()));
    }

    private static void assertComplaints(
            String register, String source, Collection<String> stressTests, String... expected) {
        assertEquals(
                List.of(expected),
                EdgeRegister.complaints(register, Map.of("x/Bell.java", source), stressTests, Set.of()));
    }

    /** The folder that holds all modules. */
    private static Path root() {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.isDirectory(folder.resolve("core/src/main"))) {
            folder = folder.getParent();
        }
        return folder;
    }

    private static Stream<Path> javaFiles(Path folder) {
        if (!Files.isDirectory(folder)) {
            return Stream.of();
        }
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.toString().endsWith(".java")).sorted().toList().stream();
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }
}
