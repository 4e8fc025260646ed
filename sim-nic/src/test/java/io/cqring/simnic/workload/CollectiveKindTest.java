package io.cqring.simnic.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CollectiveKindTest {
    @ParameterizedTest
    @CsvSource({
        "all_reduce, ALL_REDUCE",
        "reduce_scatter, REDUCE_SCATTER",
        "all_gather, ALL_GATHER",
        "all_to_all, ALL_TO_ALL",
        "broadcast, BROADCAST",
        "reduce, REDUCE",
        "isend, ISEND",
        "irecv, IRECV",
        "barrier, BARRIER",
        "incast, INCAST",
        "epoch_end, EPOCH_END"
    })
    void shouldFindEachKindWithAndWithoutPrefix(String label, CollectiveKind kind) {
        assertEquals(Optional.of(kind), CollectiveKind.of(label));
        assertEquals(Optional.of(kind), CollectiveKind.of("CommType." + label));
        assertEquals(label, kind.label());
    }

    @Test
    void shouldHaveNoKindBeyondTheTenOfTheFormatAndOurOwn() {
        assertEquals(10 + 1, CollectiveKind.values().length);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "CommType.",
                "CommType.CommType.barrier",
                "ALL_REDUCE",
                "commtype.barrier",
                "all_scatter",
                "all_reduce_",
                "computation"
            })
    void shouldFindNothingForAnyOtherName(String name) {
        assertEquals(Optional.empty(), CollectiveKind.of(name));
    }
}
