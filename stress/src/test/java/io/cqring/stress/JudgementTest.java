package io.cqring.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.infra.StateCase;
import org.openjdk.jcstress.infra.Status;
import org.openjdk.jcstress.infra.TestInfo;
import org.openjdk.jcstress.infra.runners.TestList;

/** The judge must be able to say no: one bad run of each kind, beside a good one. */
class JudgementTest {
    private static final String PROOF = "io.cqring.stress.SomeStress.FirstLap";
    private static final String TWIN = "io.cqring.stress.SomeStress.TwinBackwards";
    private static final Judgement.Fork GOOD_PROOF = fork(PROOF, Status.NORMAL, Map.of("0, 0", 5L, "1, 0", 995L));
    private static final Judgement.Fork GOOD_TWIN = fork(TWIN, Status.NORMAL, Map.of("1, 0", 990L, "1, 7", 10L));

    @Test
    void shouldPassWhenProofHoldsAndTwinIsConvicted() {
        Judgement judgement = judge(GOOD_PROOF, GOOD_TWIN);
        assertEquals(List.of(), judgement.failures());
        assertEquals(List.of(), judgement.skipped());
        assertTrue(judgement.passed());
        assertTrue(
                judgement.report().contains("2 tests, 2,000 samples, 0 forbidden outcomes, twins convicted 10 times"),
                () -> judgement.report().toString());
    }

    @Test
    void shouldFailWhenForbiddenOutcomeWasSeenOnce() {
        assertFailure(
                "SomeStress.FirstLap: forbidden: torn Seen 1 times as [1, 7], on here",
                fork(PROOF, Status.NORMAL, Map.of("1, 0", 1_000_000L, "1, 7", 1L)),
                GOOD_TWIN);
    }

    @Test
    void shouldSayOnceWhatManyForksSaw() {
        assertFailure(
                "SomeStress.FirstLap: forbidden: torn Seen 12 times as [1, 1] [1, 2] [1, 3] and 1 more, on here",
                fork(PROOF, Status.NORMAL, Map.of("1, 1", 1L, "1, 2", 2L)),
                fork(PROOF, Status.NORMAL, Map.of("1, 2", 2L, "1, 3", 3L, "1, 4", 4L)),
                GOOD_TWIN);
    }

    @Test
    void shouldFailWhenOutcomeIsNotDescribed() {
        assertFailure(
                "SomeStress.FirstLap: forbidden: not described Seen 3 times as [9, 9], on here",
                fork(PROOF, Status.NORMAL, Map.of("9, 9", 3L)),
                GOOD_TWIN);
    }

    @Test
    void shouldFailWhenTwinDoesWhatItsOwnFaultCannotExplain() {
        assertFailure(
                "SomeStress.TwinBackwards: forbidden: not described Seen 3 times as [9, 9], on here",
                GOOD_PROOF,
                GOOD_TWIN,
                fork(TWIN, Status.NORMAL, Map.of("9, 9", 3L)));
    }

    @Test
    void shouldFailWhenTwinWasNeverConvicted() {
        assertFailure(
                "SomeStress.TwinBackwards: the twin was never convicted, so this test proves nothing (1000 samples)",
                GOOD_PROOF,
                fork(TWIN, Status.NORMAL, Map.of("1, 0", 1000L)));
    }

    @Test
    void shouldPassWhenOneForkOfTwinConvicts() {
        assertTrue(judge(GOOD_PROOF, fork(TWIN, Status.NORMAL, Map.of("1, 0", 1000L)), GOOD_TWIN)
                .passed());
    }

    @Test
    void shouldFailWhenTestDidNotRun() {
        assertFailure("SomeStress.FirstLap: did not run", GOOD_TWIN);
    }

    @Test
    void shouldFailWhenForkIsMissing() {
        Judgement judgement =
                new Judgement(tests(), Set.of(PROOF, TWIN), Map.of(PROOF, 2), List.of(GOOD_PROOF, GOOD_TWIN), 2);
        assertEquals(List.of("SomeStress.FirstLap: only 1 of 2 forks ran"), judgement.failures());
    }

    @Test
    void shouldFailWhenNothingRan() {
        Judgement judgement = new Judgement(tests(), Set.of(), Map.of(), List.of(), 2);
        assertEquals(List.of("nothing ran: 2 tests are known, 0 were selected"), judgement.failures());
        assertEquals(List.of("2 of 2 tests were not selected"), judgement.skipped());
        assertFalse(judgement.passed());
    }

    @Test
    void shouldFailWhenThereAreNoTestsAtAll() {
        assertFalse(new Judgement(List.of(), Set.of(), Map.of(), List.of(), 2).passed());
    }

    @Test
    void shouldFailWhenForkTimedOutCrashedOrCouldNotStart() {
        for (Status status : Status.values()) {
            if (status != Status.NORMAL) {
                assertFailure(
                        "SomeStress.FirstLap: " + status + " (here): it broke",
                        GOOD_PROOF,
                        GOOD_TWIN,
                        fork(PROOF, status, Map.of()));
            }
        }
    }

    @Test
    void shouldFailWhenForkHasNoSamples() {
        assertFailure("SomeStress.FirstLap: no samples (here)", GOOD_TWIN, fork(PROOF, Status.NORMAL, Map.of()));
    }

    @Test
    void shouldFailWhenProofHasAnInterestingOutcome() {
        TestInfo proof = proof(2);
        proof.addCase(new StateCase(Pattern.compile("2, 2"), Expect.ACCEPTABLE_INTERESTING, "odd"));
        Judgement judgement = new Judgement(
                List.of(proof), Set.of(PROOF), Map.of(), List.of(fork(PROOF, Status.NORMAL, Map.of("2, 2", 1L))), 2);
        assertEquals(
                List.of("SomeStress.FirstLap: an interesting outcome in a test that is no twin"), judgement.failures());
    }

    @Test
    void shouldSayThatTestIsSkippedWhenThereAreTooFewProcessors() {
        Judgement judgement =
                new Judgement(List.of(proof(3), twin()), Set.of(PROOF, TWIN), Map.of(), List.of(GOOD_TWIN), 2);
        assertEquals(List.of("SomeStress.FirstLap needs 3 processors, there are 2"), judgement.skipped());
        assertTrue(judgement.report().contains("SKIPPED: SomeStress.FirstLap needs 3 processors, there are 2"));
        assertTrue(judgement.passed());
    }

    @Test
    void shouldSayThatTestsAreSkippedWhenTheyAreNotSelected() {
        Judgement judgement = new Judgement(tests(), Set.of(TWIN), Map.of(), List.of(GOOD_TWIN), 2);
        assertEquals(List.of("1 of 2 tests were not selected"), judgement.skipped());
        assertTrue(judgement.passed());
    }

    @Test
    void everyTwinOfThisModuleCanBeConvictedAndNoOtherTestCan() {
        Collection<String> names = new TreeSet<>(TestList.tests());
        assertTrue(names.size() > 40, "tests known: " + names.size());
        for (String name : names) {
            assertEquals(Judgement.isTwin(name), Judgement.canBeConvicted(TestList.getInfo(name)), name);
        }
    }

    @Test
    void noTestOfThisModuleNeedsMoreThanTwoProcessors() {
        for (String name : TestList.tests()) {
            assertEquals(2, TestList.getInfo(name).threads(), name);
        }
    }

    private static void assertFailure(String expected, Judgement.Fork... forks) {
        Judgement judgement = judge(forks);
        assertEquals(List.of(expected), judgement.failures());
        assertTrue(judgement.report().contains("FAILED: " + expected));
        assertFalse(judgement.passed());
    }

    private static Judgement judge(Judgement.Fork... forks) {
        return new Judgement(tests(), Set.of(PROOF, TWIN), Map.of(PROOF, 1, TWIN, 1), List.of(forks), 2);
    }

    private static List<TestInfo> tests() {
        return List.of(proof(2), twin());
    }

    private static TestInfo proof(int actors) {
        TestInfo test = test(PROOF, actors);
        test.addCase(new StateCase(Pattern.compile("1, [1-9]"), Expect.FORBIDDEN, "torn"));
        return test;
    }

    private static TestInfo twin() {
        TestInfo test = test(TWIN, 2);
        test.addCase(new StateCase(Pattern.compile("1, [1-9]"), Expect.ACCEPTABLE_INTERESTING, "convicted"));
        return test;
    }

    private static TestInfo test(String name, int actors) {
        TestInfo test = new TestInfo(name, name, "", name, actors, List.of(), false);
        test.addCase(new StateCase(Pattern.compile("[01], 0"), Expect.ACCEPTABLE, "fine"));
        test.addCase(new StateCase(Pattern.compile(""), Expect.FORBIDDEN, "not described"));
        return test;
    }

    private static Judgement.Fork fork(String test, Status status, Map<String, Long> states) {
        return new Judgement.Fork(
                test, "here", status, states, status == Status.NORMAL ? List.of() : List.of("", "it broke"));
    }
}
