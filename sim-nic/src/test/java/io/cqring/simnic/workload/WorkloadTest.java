package io.cqring.simnic.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WorkloadTest {
    private static final Workload FOUR = new Workload(
            "jobs.csv",
            List.of(
                    new Collective(CollectiveKind.ALL_REDUCE, 1000, 3),
                    new Collective(CollectiveKind.EPOCH_END, 0, 4),
                    new Collective(CollectiveKind.BARRIER, 0, 5),
                    new Collective(CollectiveKind.ISEND, 250, 7)));

    @Test
    void shouldAddUpItsCollectives() {
        // all_reduce 12 messages of 334 in 48 chunks, barrier 3 in 3, isend 1 in 3
        assertEquals(new WorkloadTotals(4, 16, 54, 108), FOUR.totals(3, 100));
        assertEquals(new WorkloadTotals(0, 0, 0, 0), new Workload("none", List.of()).totals(2, 1));
    }

    @Test
    void limitShouldCountMarkersAndKeepTheFirst() {
        assertEquals(FOUR.collectives().subList(0, 1), FOUR.limitedTo(1).collectives());
        assertEquals(FOUR.collectives().subList(0, 2), FOUR.limitedTo(2).collectives());
        assertEquals("jobs.csv", FOUR.limitedTo(2).name());
        assertEquals(new WorkloadTotals(2, 12, 48, 96), FOUR.limitedTo(2).totals(3, 100));
        assertSame(FOUR, FOUR.limitedTo(4));
        assertSame(FOUR, FOUR.limitedTo(5));
        assertSame(FOUR, FOUR.limitedTo(Long.MAX_VALUE));
        for (long limit : new long[] {0, -1, Long.MIN_VALUE}) {
            assertEquals(
                    "limit must be at least 1 collective: limit=" + limit,
                    assertThrows(IllegalArgumentException.class, () -> FOUR.limitedTo(limit))
                            .getMessage());
        }
    }

    @Test
    void shouldNameTheLineOfACollectiveThatOverflows() {
        Workload workload = new Workload(
                "jobs.csv",
                List.of(
                        new Collective(CollectiveKind.BARRIER, 0, 2),
                        new Collective(CollectiveKind.ALL_REDUCE, Long.MAX_VALUE, 17)));
        assertEquals(
                "jobs.csv line 17: all_reduce of 9223372036854775807 bytes over 8 ranks in chunks of 1 bytes needs more"
                        + " than 9223372036854775807 completions",
                assertThrows(WorkloadException.class, () -> workload.totals(8, 1))
                        .getMessage());
    }

    @Test
    void shouldNameTheLineAtWhichTheSumOverflows() {
        Collective half = new Collective(CollectiveKind.ISEND, Long.MAX_VALUE / 4, 3);
        Workload fits = new Workload("jobs.csv", List.of(half, half));
        assertEquals(Long.MAX_VALUE - 3, fits.totals(2, 1).completions());

        Workload tooMany = new Workload("jobs.csv", List.of(half, half, new Collective(CollectiveKind.BARRIER, 0, 9)));
        assertEquals(
                "jobs.csv line 9: all lines up to this one need more than 9223372036854775807 completions; larger chunks"
                        + " need fewer",
                assertThrows(WorkloadException.class, () -> tooMany.totals(2, 1))
                        .getMessage());
    }

    @Test
    void shouldRefuseBadRanksAndChunksEvenWithoutCollectives() {
        Workload none = new Workload("none", List.of());
        assertThrows(IllegalArgumentException.class, () -> none.totals(1, 8));
        assertThrows(IllegalArgumentException.class, () -> none.totals(2, 0));
    }

    @Test
    void shouldNotSeeLaterChangesOfTheListItWasMadeFrom() {
        List<Collective> list = new ArrayList<>(FOUR.collectives());
        Workload workload = new Workload("jobs.csv", list);
        list.clear();
        assertEquals(4, workload.collectives().size());
    }
}
