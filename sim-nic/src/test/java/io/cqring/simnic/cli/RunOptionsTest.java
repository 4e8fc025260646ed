package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RunOptionsTest {
    private static String refusal(int ranks, long chunk, long copyLimit, int cqe, int depth, int window) {
        return assertThrows(
                        IllegalArgumentException.class,
                        () -> new RunOptions(
                                ranks,
                                chunk,
                                copyLimit,
                                cqe,
                                OptionalInt.of(depth),
                                window,
                                1,
                                false,
                                1,
                                EventOptions.POLLING,
                                Optional.empty()))
                .getMessage();
    }

    /** By hand: 2 x (ranks - 1) x window, rounded up to a power of two. */
    @ParameterizedTest
    @CsvSource({"2,64,128", "8,64,1024", "16,64,2048", "2,1,2", "3,1,4", "4,1,8", "2,3,8", "16,1,32", "64,65536,8388608"
    })
    void theSmallestDepthThatWorksIsAcceptedAndHalfOfItRefusedByName(int ranks, int window, int smallest) {
        assertEquals(smallest, RunOptions.smallestDepth(ranks, window));
        new RunOptions(
                ranks, 8, 8, 64, OptionalInt.of(smallest), window, 1, false, 1, EventOptions.POLLING, Optional.empty());
        long needed = 2L * (ranks - 1) * window;
        assertEquals(
                "--depth must be a power of two and hold 2 x (ranks - 1) x window = " + needed
                        + " entries, so at least " + smallest + ": " + smallest / 2,
                refusal(ranks, 8, 8, 64, smallest / 2, window));
    }

    @Test
    void everyOptionIsRefusedByNameValueAndRule() {
        assertEquals("--ranks must be 2 to 64: 1", refusal(1, 8, 8, 64, 8192, 64));
        assertEquals("--ranks must be 2 to 64: 65", refusal(65, 8, 8, 64, 8192, 64));
        assertEquals("--chunk must be 1 to 2147483647 bytes: 0", refusal(2, 0, 8, 64, 8192, 64));
        assertEquals("--chunk must be 1 to 2147483647 bytes: 2147483648", refusal(2, 1L << 31, 8, 64, 8192, 64));
        assertEquals("--copy-limit must be 0 bytes or more: -1", refusal(2, 8, -1, 64, 8192, 64));
        assertEquals("--window must be 1 to 65536: 0", refusal(2, 8, 8, 64, 8192, 0));
        assertEquals("--cqe must be 32, 64 or 128 bytes: 48", refusal(2, 8, 8, 48, 8192, 64));
        assertEquals(
                "--depth must be a power of two and hold 2 x (ranks - 1) x window = 128 entries, so at least 128: 3",
                refusal(2, 8, 8, 64, 3, 64));
        assertEquals(
                "--depth must be a power of two and hold 2 x (ranks - 1) x window = 128 entries, so at least 128: 8191",
                refusal(2, 8, 8, 64, 8191, 64));
    }
}
