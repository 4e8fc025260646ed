package io.cqring.stress;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.infra.StateCase;
import org.openjdk.jcstress.infra.Status;
import org.openjdk.jcstress.infra.TestInfo;

/**
 * Decides whether a run proved anything. jcstress itself is content when nothing ran, when a fork skipped its test, and when
 * a twin behaved.
 */
final class Judgement {
    private static final Pattern TWIN = Pattern.compile(".*\\.Twin[A-Z]\\w*");

    /** What one fork of a test gave. */
    record Fork(String test, String how, Status status, Map<String, Long> states, List<String> messages) {}

    /** How often, where and in which shape a forbidden outcome was seen. */
    private static final class Sighting {
        private final Set<String> states = new TreeSet<>();
        private final Set<String> hows = new TreeSet<>();
        private long count;

        void add(String state, long times, String how) {
            states.add("[" + state + "]");
            hows.add(how);
            count += times;
        }

        @Override
        public String toString() {
            String shapes = states.stream().limit(3).collect(Collectors.joining(" "));
            String more = states.size() > 3 ? " and " + (states.size() - 3) + " more" : "";
            return "Seen " + group(count) + " times as " + shapes + more + ", on " + String.join("; ", hows);
        }
    }

    private final List<String> failures = new ArrayList<>();
    private final List<String> skipped = new ArrayList<>();
    private final Map<String, String> table = new TreeMap<>();
    private long samples;
    private int ran;
    private long forbidden;
    private long convictions;

    /**
     * Judges.
     *
     * @param tests    every test there is
     * @param selected tests that were asked for
     * @param planned  forks that should have run, by test
     * @param forks    what they gave
     * @param cpus     processors there are: a test with more actors cannot run
     */
    Judgement(
            Collection<TestInfo> tests,
            Collection<String> selected,
            Map<String, Integer> planned,
            Collection<Fork> forks,
            int cpus) {
        int unselected = 0;
        for (TestInfo test : tests) {
            if (!selected.contains(test.name())) {
                unselected++;
            } else if (test.threads() > cpus) {
                skipped.add(shortName(test.name()) + " needs " + test.threads() + " processors, there are " + cpus);
            } else {
                judge(
                        test,
                        planned.getOrDefault(test.name(), 0),
                        forks.stream().filter(f -> f.test().equals(test.name())).toList());
            }
        }
        if (unselected != 0) {
            skipped.add(unselected + " of " + tests.size() + " tests were not selected");
        }
        if (ran == 0) {
            failures.add("nothing ran: " + tests.size() + " tests are known, " + selected.size() + " were selected");
        }
    }

    private void judge(TestInfo test, int planned, List<Fork> forks) {
        String name = shortName(test.name());
        boolean twin = isTwin(test.name());
        int failuresBefore = failures.size();
        long count = 0;
        long convicted = 0;
        Map<String, Sighting> sightings = new TreeMap<>();
        for (Fork fork : forks) {
            if (fork.status() != Status.NORMAL) {
                failures.add(name + ": " + fork.status() + " (" + fork.how() + "): " + firstLine(fork.messages()));
            } else if (fork.states().isEmpty()) {
                failures.add(name + ": no samples (" + fork.how() + ")");
            }
            for (Map.Entry<String, Long> state : fork.states().entrySet()) {
                count += state.getValue();
                StateCase match = match(test, state.getKey());
                switch (match.expect()) {
                    case ACCEPTABLE -> {}
                    case ACCEPTABLE_INTERESTING -> convicted += state.getValue();
                    default ->
                        sightings
                                .computeIfAbsent(match.description(), any -> new Sighting())
                                .add(state.getKey(), state.getValue(), fork.how());
                }
            }
        }
        sightings.forEach((description, sighting) -> {
            forbidden += sighting.count;
            failures.add(name + ": forbidden: " + description + " " + sighting);
        });
        if (forks.isEmpty()) {
            failures.add(name + ": did not run");
        } else if (forks.size() < planned) {
            failures.add(name + ": only " + forks.size() + " of " + planned + " forks ran");
        }
        if (twin && convicted == 0 && !forks.isEmpty()) {
            failures.add(name + ": the twin was never convicted, so this test proves nothing (" + count + " samples)");
        }
        if (!twin && convicted != 0) {
            failures.add(name + ": an interesting outcome in a test that is no twin");
        }
        boolean good = failures.size() == failuresBefore;
        String verdict = !good ? "FAILED" : twin ? "convicted " + group(convicted) + " times" : "holds";
        table.put(name, String.format(Locale.ROOT, "%-38s %5d %15s   %s", name, forks.size(), group(count), verdict));
        samples += count;
        convictions += convicted;
        ran += forks.isEmpty() ? 0 : 1;
    }

    /** As jcstress grades: the exact outcome, else the first pattern that matches, else the default. */
    private static StateCase match(TestInfo test, String state) {
        for (StateCase known : test.cases()) {
            if (known.matchesExactly(state)) {
                return known;
            }
        }
        for (StateCase known : test.cases()) {
            if (known.matches(state)) {
                return known;
            }
        }
        return test.unmatched();
    }

    static boolean isTwin(String test) {
        return TWIN.matcher(test).matches();
    }

    private static String shortName(String test) {
        String prefix = Judgement.class.getPackageName() + ".";
        return test.startsWith(prefix) ? test.substring(prefix.length()) : test;
    }

    private static String firstLine(List<String> messages) {
        return messages.stream()
                .flatMap(String::lines)
                .filter(line -> !line.isBlank())
                .limit(3)
                .map(String::strip)
                .reduce((a, b) -> a + "; " + b)
                .orElse("no message");
    }

    private static String group(long count) {
        return String.format(Locale.ROOT, "%,d", count);
    }

    /** Whether there is an outcome that a twin may be convicted by. */
    static boolean canBeConvicted(TestInfo test) {
        return test.cases().stream().anyMatch(c -> c.expect() == Expect.ACCEPTABLE_INTERESTING);
    }

    boolean passed() {
        return failures.isEmpty();
    }

    List<String> failures() {
        return failures;
    }

    List<String> skipped() {
        return skipped;
    }

    /** The table, then skips and failures, one a line. */
    List<String> report() {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(Locale.ROOT, "%-38s %5s %15s   %s", "test", "forks", "samples", "verdict"));
        lines.addAll(table.values());
        lines.add(String.format(
                Locale.ROOT,
                "%d tests, %,d samples, %,d forbidden outcomes, twins convicted %,d times",
                ran,
                samples,
                forbidden,
                convictions));
        skipped.forEach(reason -> lines.add("SKIPPED: " + reason));
        failures.forEach(reason -> lines.add("FAILED: " + reason));
        return lines;
    }
}
