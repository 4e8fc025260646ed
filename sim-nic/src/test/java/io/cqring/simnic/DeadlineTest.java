package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Time-outs on a clock that moves only when the test says so. */
@FieldBug(52)
class DeadlineTest {
    private long nowNs;

    private Deadline after(long timeoutNs) {
        return Deadline.after(() -> nowNs, timeoutNs);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 123_456_789, -5_000, Long.MAX_VALUE - 500, Long.MIN_VALUE})
    void itPassesAtItsTimeAndNotBeforeWhateverTheClockShows(long startNs) {
        nowNs = startNs;
        Deadline deadline = after(1_000);
        assertFalse(deadline.hasPassed());
        nowNs = startNs + 999;
        assertFalse(deadline.hasPassed());
        nowNs = startNs + 1_000; // across the end of the clock's range, for one of these
        assertTrue(deadline.hasPassed());
        nowNs = startNs + 1_000_000;
        assertTrue(deadline.hasPassed());
    }

    @Test
    void askingOftenDoesNotMoveIt() {
        Deadline deadline = after(1_000);
        for (nowNs = 0; nowNs < 1_000; nowNs += 100) {
            assertFalse(deadline.hasPassed(), "at " + nowNs);
        }
        assertTrue(deadline.hasPassed());
    }

    @Test
    void zeroMeansPoll() {
        assertTrue(after(0).hasPassed());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, Long.MAX_VALUE, Long.MIN_VALUE, -1})
    void theLongestTimeoutDoesNotOverflow(long startNs) {
        nowNs = startNs;
        Deadline deadline = after(Long.MAX_VALUE);
        for (long elapsed : new long[] {0, 1, 1L << 40, Long.MAX_VALUE - 1}) {
            nowNs = startNs + elapsed;
            assertFalse(deadline.hasPassed(), "after " + elapsed);
        }
    }

    @Test
    void negativeTimeoutsAreRefused() {
        assertEquals(
                "time-out must be 0 ns or more: -1",
                assertThrows(IllegalArgumentException.class, () -> after(-1)).getMessage());
    }
}
