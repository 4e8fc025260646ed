package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Step by step against a table made by hand. */
class RdmaDimTest {
    /** As in the reference: completions and microseconds. */
    @Test
    void theProfiles() {
        RdmaDim dim = new RdmaDim();
        List<String> expected = List.of("1,1", "4,1", "4,2", "8,2", "8,4", "8,16", "16,16", "16,32", "32,32");
        for (int i = 0; i < 9; i++) {
            assertEquals(expected.get(i), dim.profile(i).toString());
        }
        assertThrows(IndexOutOfBoundsException.class, () -> dim.profile(9));
        assertThrows(IndexOutOfBoundsException.class, () -> dim.profile(-1));
        assertEquals(0, dim.profileIndex());
        assertEquals(dim.profile(0), dim.moderation());
        assertEquals(TuneState.GOING_RIGHT, dim.tuneState());
    }

    /**
     * Columns: microseconds and completions of the window; completions per ms; completions per event x 100; state, profile,
     * steps right and left after it. With 1000 us there are 64 events per ms, so the fourth is the third x 100 / 64, rounded down.
     */
    private static final String[] TABLE = {
        " 1000   640 |   640  1000 | RIGHT 0 0 0", // no reference yet: same. 1000 > 50 x 0: stays
        " 1000   704 |   704  1100 | RIGHT 0 0 0", // 64 x 100 / 640 = 10, not above 10; per event 10 percent too: same
        " 1000   780 |   780  1218 | RIGHT 0 0 0", // 76 x 100 / 704 = 10 (10.8 rounded down); 118 x 100 / 1100 = 10:
        // same
        " 1000   866 |   866  1353 | RIGHT 1 1 0", // 86 x 100 / 780 = 11: better, step right
        "  500   433 |   866   676 | LEFT  0 1 1", // 128 events per ms; 677 x 100 / 1353 = 50: worse, turn, step left
        " 2000  1732 |   866  2706 | RIGHT 0 0 1", // 32 events per ms: better, but at the left end: turn
        " 1000  2000 |  2000  3125 | RIGHT 1 1 1", // better by completions from here on
        " 1000  3000 |  3000  4687 | RIGHT 2 2 1",
        " 1000  4000 |  4000  6250 | RIGHT 3 3 1",
        " 1000  5000 |  5000  7812 | RIGHT 4 4 1",
        " 1000  6000 |  6000  9375 | RIGHT 5 5 1",
        " 1000  7000 |  7000 10937 | RIGHT 6 6 1",
        " 1000  8000 |  8000 12500 | RIGHT 7 7 1",
        " 1000  9000 |  9000 14062 | RIGHT 8 8 1", // 12 percent
        " 1000 10000 | 10000 15625 | LEFT  8 8 0", // 11 percent, at the right end: turn
        " 1000 11500 | 11500 17968 | LEFT  7 8 1", // 15 percent: better, step left
        " 1000 11500 | 11500 17968 | LEFT  7 8 1", // same, 17968 > 50 x 7: stays
        " 1000    23 |    23    35 | RIGHT 8 1 1", // worse: turn, step right
        " 1000    23 |    23    35 | RIGHT 0 1 1", // same, 35 <= 50 x 8: back to 0; the direction stays
        " 1000    32 |    32    50 | RIGHT 1 2 1", // 39 percent: better
        " 1000    32 |    32    50 | RIGHT 0 2 1", // same, 50 <= 50 x 1: back to 0
        " 1000    36 |    36    56 | RIGHT 1 3 1", // 12 percent: better
        " 1000    36 |    36    56 | RIGHT 1 3 1", // same, 56 > 50: stays
        " 1000     0 |     0     0 | LEFT  0 3 1", // worse: turn, step left
        " 1000     5 |     5     7 | LEFT  0 3 1", // the reference has no completions: same
        " 1000     5 |     5     7 | LEFT  0 3 1",
        " 1000     9 |     9    14 | RIGHT 0 0 1", // better, at the left end: turn
        " 3000    26 |     9    40 | RIGHT 1 1 1", // 26000 / 3000 = 8.7, up: 9; 64000 / 3000 = 21.3, up: 22; 900 / 22 =
        // 40
        "  999     9 |    10    15 | RIGHT 2 2 1", // 9000 / 999 = 9.01, up: 10, 11 percent; 64.06, up: 65; 1000 / 65 =
        // 15
        " 1000    10 |    10    15 | RIGHT 0 2 1", // same, 15 <= 50 x 2: two steps back at once
    };

    @Test
    void followsTheTable() {
        for (long startNs : new long[] {0, Long.MAX_VALUE - 10_000_000}) {
            RdmaDim dim = new RdmaDim();
            Windows windows = new Windows(dim, startNs);
            for (int row = 0; row < TABLE.length; row++) {
                String[] cells = TABLE[row].trim().split("[ |]+", -1);
                windows.feed(Long.parseLong(cells[0]), Integer.parseInt(cells[1]), 0);
                String where = "row " + row;
                assertEquals(Long.parseLong(cells[2]), dim.reference.completions, where);
                assertEquals(Long.parseLong(cells[3]), dim.reference.perEvent, where);
                assertEquals("GOING_" + cells[4], dim.tuneState().name(), where);
                assertEquals(Integer.parseInt(cells[5]), dim.profileIndex(), where);
                assertEquals(Integer.parseInt(cells[6]), dim.stepsRight, where);
                assertEquals(Integer.parseInt(cells[7]), dim.stepsLeft, where);
            }
        }
    }

    /** After a change the next event opens a window: 65 events to the next decision, 64 where nothing has changed. */
    @Test
    void aWindowAfterAChangeBeginsWithTheNextEvent() {
        RdmaDim dim = new RdmaDim();
        int completions = 10;
        int sinceDecision = 0;
        int changes = 0;
        for (long i = 0; changes < 5; i++) {
            sinceDecision++;
            if (dim.onEvent(completions, 0, i * 1000)) {
                // the first window has no reference, and there nothing changes
                assertEquals(changes == 0 ? 1 + 64 + 64 : 65, sinceDecision);
                sinceDecision = 0;
                changes++;
                completions *= 2;
            } else if (i == 64) {
                completions *= 2;
            }
        }
        assertEquals(5, dim.profileIndex());
    }

    /** The window goes on until a microsecond has passed: no rate of nothing. */
    @Test
    void aWindowWithoutTimeGoesOn() {
        RdmaDim dim = new RdmaDim();
        for (int i = 0; i < 500; i++) {
            assertFalse(dim.onEvent(1, 0, i < 400 ? 0 : 999));
        }
        assertEquals(0, dim.reference.completions);
        assertFalse(dim.onEvent(1, 0, 1000)); // the 501st: 500 in 1 us
        assertEquals(500_000, dim.reference.completions);
        assertEquals(64_000, dim.reference.events); // as in Linux: a window has 64 events, whatever came
        assertFalse(dim.onEvent(1, 0, -5_000_000)); // a clock that goes back spoils nothing
        assertEquals(500_000, dim.reference.completions);
    }

    /** Steady traffic changes nothing, so a window ends with every 64th event after the first, beyond 2^16 too. */
    @Test
    void theEventCounterMayWrap() {
        RdmaDim dim = new RdmaDim();
        for (int i = 0; i < 200_000; i++) {
            Dim.Rates before = dim.reference;
            assertFalse(dim.onEvent(10, 0, i * 1000L));
            assertEquals(i > 0 && i % 64 == 0, dim.reference != before, "window ended at event " + i);
        }
        assertEquals(10_000, dim.reference.completions);
    }

    @Test
    void negativeNumbersAreRefusedAndChangeNothing() {
        RdmaDim dim = new RdmaDim();
        Windows windows = new Windows(dim, 0);
        windows.feed(1000, 640, 0);
        assertEquals(
                "completions and bytes of an event must not be negative: -1, 0",
                assertThrows(IllegalArgumentException.class, () -> dim.onEvent(-1, 0, 0))
                        .getMessage());
        assertEquals(
                "completions and bytes of an event must not be negative: 0, -7",
                assertThrows(IllegalArgumentException.class, () -> dim.onEvent(0, -7, 0))
                        .getMessage());
        assertTrue(windows.feed(1000, 866, 0));
        assertEquals(866, dim.reference.completions);
    }
}
