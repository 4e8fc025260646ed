package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.cqring.testing.FieldBugs;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Which faults met in the field this module's tests cover; core lists its own. */
class FieldBugCoverageTest {
    /** Those that need a device: reset, hostile host, doorbells, work queues, waiting, statuses. */
    private static final Set<Integer> OWED =
            new TreeSet<>(Set.of(4, 16, 18, 21, 49, 51, 52, 74, 75, 78, 80, 81, 86, 88, 94, 105));

    @Test
    void everyFieldBugThatTheDeviceOwesHasATest() throws IOException {
        Map<Integer, Set<String>> covered = FieldBugs.beside(FieldBugCoverageTest.class);
        FieldBugs.print("sim-nic", covered);
        Set<Integer> missing = new TreeSet<>(OWED);
        missing.removeAll(covered.keySet());
        assertEquals(Set.of(), missing, "field bugs without a test in sim-nic");
    }
}
