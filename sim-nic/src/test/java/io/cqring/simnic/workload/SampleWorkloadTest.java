package io.cqring.simnic.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SampleWorkloadTest {
    private static final int DEFAULT_CHUNK_BYTES = 524_288;

    private final Workload sample = WorkloadFile.sample();

    @Test
    void resourceShouldBeWhatItsRecipeWrites() throws IOException {
        try (InputStream in = WorkloadFile.class.getResourceAsStream("sample-moe.csv")) {
            assertEquals(SampleRecipe.csv(), new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    /** Counted from the file with awk, not with this package. */
    @ParameterizedTest
    @CsvSource({"2, 697, 28183, 56366", "8, 18607, 201745, 403490", "16, 79223, 438057, 876114"})
    void shouldHaveTheTotalsThatAnotherToolCounts(int ranks, long messages, long chunks, long completions) {
        assertEquals(new WorkloadTotals(338, messages, chunks, completions), sample.totals(ranks, DEFAULT_CHUNK_BYTES));
    }

    @Test
    void shouldTakeSecondsNotMinutes() {
        int lines = sample.collectives().size();
        assertTrue(lines >= 300 && lines <= 400, "lines: " + lines);
        long chunks = sample.totals(8, DEFAULT_CHUNK_BYTES).chunks();
        assertTrue(chunks >= 100_000 && chunks <= 300_000, "chunks: " + chunks);
    }

    @Test
    void shouldContainEveryKindAndAwkwardSizes() {
        Set<CollectiveKind> kinds = sample.collectives().stream()
                .map(Collective::kind)
                .collect(Collectors.toCollection(() -> EnumSet.noneOf(CollectiveKind.class)));
        assertEquals(EnumSet.complementOf(EnumSet.of(CollectiveKind.INCAST)), kinds); // no call of a library

        for (CollectiveKind kind :
                EnumSet.of(CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_TO_ALL, CollectiveKind.BROADCAST)) {
            assertTrue(count(kind, 0, 0) > 0, "of size 0: " + kind);
        }
        assertTrue(
                sample.collectives().stream()
                                .filter(c -> c.bytes() % 8 != 0 && c.bytes() % DEFAULT_CHUNK_BYTES != 0)
                                .count()
                        > 50,
                "sizes that divide by neither ranks nor chunk");
        assertTrue(count(CollectiveKind.ALL_REDUCE, 1, 8) > 0, "fewer bytes than ranks");
    }

    @Test
    void shouldBeNamedAndNumberedLikeItsFile() {
        assertEquals("sample-moe.csv", sample.name());
        assertEquals(
                new Collective(CollectiveKind.BARRIER, 0, 3),
                sample.collectives().get(0));
        assertEquals(
                new Collective(CollectiveKind.EPOCH_END, 0, 340),
                sample.collectives().get(337));
    }

    private long count(CollectiveKind kind, long least, long most) {
        return sample.collectives().stream()
                .filter(c -> c.kind() == kind && c.bytes() >= least && c.bytes() <= most)
                .count();
    }
}
