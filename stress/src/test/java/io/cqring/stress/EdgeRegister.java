package io.cqring.stress;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The register of ordering edges, held against the sources and the tests. Plain text in, complaints out, so that a test can
 * feed it known-bad input.
 *
 * <p>Register: Markdown tables whose first column is the edge's name in backticks. Columns are found by their titles:
 * {@code writer end} and {@code reader end} name {@code Class.method} in backticks, {@code stress class} and {@code twin} a
 * class of this module and a nested one, {@code test} a test class of another module.
 */
final class EdgeRegister {
    private static final Pattern NAME = Pattern.compile("\\b[Ee]dge ([A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*)\\b");
    private static final Pattern CODE_SPAN = Pattern.compile("`([^`]+)`");
    private static final Pattern METHOD_SPAN = Pattern.compile("([A-Z]\\w*)\\.([a-z]\\w*)");
    private static final Pattern ORDERED_CALL = Pattern.compile("([\\w.]*)\\b("
            + "get(?:Long|Int)(?:Acquire|Volatile)|put(?:Long|Int)(?:Release|Volatile)|getAcquire|setRelease|getVolatile"
            + "|setVolatile|lazySet|compareAndSet\\w*|weakCompareAndSet\\w*|compareAndExchange\\w*|getAnd(?:Add|Set|Bitwise)\\w*"
            + "|(?:full|acquire|release|loadLoad|storeStore)Fence)\\(");
    private static final Pattern ATOMIC_FIELD = Pattern.compile("\\bAtomic\\w+(?:<[^=;]*>)? (\\w+)\\b");
    private static final Pattern VOLATILE_FIELD = Pattern.compile("\\bvolatile\\b");

    /** Lines of code between a comment that names an edge and an access that it speaks for. */
    private static final int REACH = 8;

    /** One line of a table: cells by column title. */
    private record Row(String edge, Map<String, String> cells) {
        List<String> spans(String column) {
            List<String> spans = new ArrayList<>();
            Matcher matcher = CODE_SPAN.matcher(cells.getOrDefault(column, ""));
            while (matcher.find()) {
                spans.add(matcher.group(1));
            }
            return spans;
        }
    }

    private final List<String> complaints = new ArrayList<>();

    private EdgeRegister() {}

    /**
     * Compares all of it.
     *
     * @param register    text of the register
     * @param sources     main sources by path
     * @param stressTests names of all stress tests, {@code package.Outer.Nested}
     * @param otherTests  simple names of other modules' test classes
     * @return what is wrong, empty if nothing is
     */
    static List<String> complaints(
            String register,
            Map<String, String> sources,
            Collection<String> stressTests,
            Collection<String> otherTests) {
        EdgeRegister checker = new EdgeRegister();
        List<Row> rows = checker.parse(register);
        Set<String> edges = new HashSet<>();
        for (Row row : rows) {
            if (!edges.add(row.edge())) {
                checker.complaints.add("register: edge " + row.edge() + " is listed twice");
            }
        }
        if (rows.isEmpty()) {
            checker.complaints.add("register: no edge at all");
        }
        sources.forEach((path, text) -> checker.checkSource(path, text.lines().toList(), edges));
        rows.forEach(row -> checker.checkEnds(row, sources));
        rows.forEach(row -> checker.checkProof(row, stressTests, otherTests));
        checker.checkStressClasses(rows, stressTests);
        return checker.complaints;
    }

    private List<Row> parse(String register) {
        List<Row> rows = new ArrayList<>();
        List<String> titles = List.of();
        for (String line : register.lines().toList()) {
            if (!line.startsWith("|")) {
                titles = List.of();
                continue;
            }
            List<String> cells = new ArrayList<>();
            for (String cell : line.substring(1).split("\\|", -1)) {
                cells.add(cell.strip());
            }
            if (titles.isEmpty()) {
                titles = cells;
            } else if (titles.get(0).equals("edge") && cells.get(0).startsWith("`")) {
                Map<String, String> byTitle = new LinkedHashMap<>();
                for (int i = 0; i < Math.min(titles.size(), cells.size()); i++) {
                    byTitle.put(titles.get(i), cells.get(i));
                }
                rows.add(new Row(cells.get(0).replace("`", ""), byTitle));
            }
        }
        return rows;
    }

    /** Each comment names an edge that is registered; each ordered access has such a comment. */
    private void checkSource(String path, List<String> lines, Set<String> edges) {
        Set<String> atomics = new HashSet<>();
        for (String line : lines) {
            Matcher field = ATOMIC_FIELD.matcher(code(line));
            while (field.find()) {
                atomics.add(field.group(1));
            }
        }
        Pattern atomicCall = atomics.isEmpty()
                ? null
                : Pattern.compile("\\b(" + String.join("|", atomics) + ")\\.(get|set|getPlain|setPlain)\\(");
        Set<String> explained = new HashSet<>();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            Matcher name = NAME.matcher(line);
            while (name.find()) {
                if (!edges.contains(name.group(1))) {
                    complaints.add(path + ":" + (i + 1) + ": edge " + name.group(1) + " is not in the register");
                }
            }
            if (endsMember(line)) {
                explained.clear();
            }
            // The door itself implements the modes; its callers are the ends of edges.
            String access = path.contains("/memory/") ? null : orderedAccess(code(line), atomicCall);
            if (access != null && !explained.contains(access)) {
                if (hasEdgeComment(lines, i)) {
                    explained.add(access);
                } else {
                    complaints.add(path + ":" + (i + 1) + ": no comment names the edge of " + line.strip());
                }
            }
        }
    }

    /** What is accessed in order on this line, or null. */
    private static String orderedAccess(String code, Pattern atomicCall) {
        Matcher call = ORDERED_CALL.matcher(code);
        if (call.find()) {
            // Calls on memory are told apart by what follows: each word is an edge of its own.
            return call.group(1).startsWith("memory.") ? code.strip() : call.group();
        }
        if (atomicCall != null) {
            Matcher atomic = atomicCall.matcher(code);
            if (atomic.find()) {
                return atomic.group();
            }
        }
        return VOLATILE_FIELD.matcher(code).find() ? code.strip() : null;
    }

    private static boolean hasEdgeComment(List<String> lines, int from) {
        int reach = REACH;
        for (int i = from; i >= 0 && reach >= 0; i--) {
            if (NAME.matcher(lines.get(i)).find()) {
                return true;
            }
            if (i != from && endsMember(lines.get(i))) {
                return false;
            }
            if (i != from && !code(lines.get(i)).isBlank()) {
                reach--;
            }
        }
        return false;
    }

    private static boolean endsMember(String line) {
        return line.startsWith("    }") || line.equals("}");
    }

    /** The line without comments. */
    private static String code(String line) {
        String stripped = line.strip();
        if (stripped.startsWith("*") || stripped.startsWith("/*")) {
            return "";
        }
        int comment = line.indexOf("//");
        return comment < 0 ? line : line.substring(0, comment);
    }

    /** Each method that the register names as an end has the comment. */
    private void checkEnds(Row row, Map<String, String> sources) {
        // Whoever reads a buffer is an end as well: only core must name a method at both ends.
        boolean both = row.cells().containsKey("stress class");
        int named = 0;
        for (String column : List.of("writer end", "reader end")) {
            int ends = 0;
            for (String span : row.spans(column)) {
                Matcher method = METHOD_SPAN.matcher(span);
                if (method.matches()) {
                    ends++;
                    checkEnd(row.edge(), method.group(1), method.group(2), sources);
                }
            }
            named += ends;
            if (ends == 0 && (both || (named == 0 && column.equals("reader end")))) {
                complaints.add("register: edge " + row.edge() + " names no method in column \"" + column + "\"");
            }
        }
    }

    private void checkEnd(String edge, String type, String method, Map<String, String> sources) {
        String end = type + "." + method;
        List<String> lines = sources.entrySet().stream()
                .filter(source -> source.getKey().endsWith("/" + type + ".java"))
                .findFirst()
                .map(source -> source.getValue().lines().toList())
                .orElse(List.of());
        Pattern declaration = Pattern.compile("    [\\w<>\\[\\], .@]*\\b" + method + "\\(.*");
        boolean declared = false;
        for (int i = 0; i < lines.size(); i++) {
            if (!declaration.matcher(lines.get(i)).matches() || lines.get(i).startsWith("     ")) {
                continue;
            }
            declared = true;
            for (int j = i + 1; j < lines.size() && !endsMember(lines.get(j)); j++) {
                Matcher name = NAME.matcher(lines.get(j));
                while (name.find()) {
                    if (name.group(1).equals(edge)) {
                        return;
                    }
                }
            }
        }
        complaints.add(
                declared
                        ? "register: " + end + " has no comment that names edge " + edge
                        : "register: edge " + edge + " names " + end + ", which does not exist");
    }

    /** Each edge has a stress class with the twin it names, or, in a table without these columns, a test. */
    private void checkProof(Row row, Collection<String> stressTests, Collection<String> otherTests) {
        String edge = row.edge();
        if (!row.cells().containsKey("stress class")) {
            List<String> tests = row.spans("test");
            if (tests.isEmpty()) {
                complaints.add("register: edge " + edge + " names no test");
            }
            for (String test : tests) {
                String type = test.contains(".") ? test.substring(0, test.indexOf('.')) : test;
                if (!otherTests.contains(type)) {
                    complaints.add("register: edge " + edge + " names test " + test + ", which does not exist");
                }
            }
            return;
        }
        List<String> classes = row.spans("stress class");
        List<String> twins = row.spans("twin");
        if (classes.isEmpty()) {
            complaints.add("register: edge " + edge + " names no stress class");
        }
        if (twins.isEmpty()) {
            complaints.add("register: edge " + edge + " names no twin");
        }
        for (String type : classes) {
            List<String> tests = stressTests.stream()
                    .filter(test -> test.contains("." + type + "."))
                    .toList();
            if (tests.isEmpty()) {
                complaints.add("register: edge " + edge + " names stress class " + type + ", which does not exist");
            }
            for (String twin : twins) {
                if (!tests.isEmpty() && tests.stream().noneMatch(test -> test.endsWith("." + type + "." + twin))) {
                    complaints.add(
                            "register: edge " + edge + " names twin " + type + "." + twin + ", which does not exist");
                }
            }
        }
    }

    private void checkStressClasses(List<Row> rows, Collection<String> stressTests) {
        Set<String> registered = new HashSet<>();
        rows.forEach(row -> registered.addAll(row.spans("stress class")));
        stressTests.stream()
                .map(test -> test.substring(0, test.lastIndexOf('.')))
                .map(outer -> outer.substring(outer.lastIndexOf('.') + 1))
                .distinct()
                .filter(type -> !registered.contains(type))
                .forEach(type -> complaints.add("register: stress class " + type + " belongs to no edge"));
    }
}
