package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Step by step against a table made by hand. */
class NetDimTest {
    /** As in the reference, but count first: packets and microseconds. */
    @Test
    void theProfiles() {
        assertProfiles(NetDim.receive(TimerMode.FROM_EVENT), "", "256,1", "256,8", "256,64", "256,128", "256,256");
        assertProfiles(NetDim.receive(TimerMode.FROM_ENTRY), ",entry", "256,2", "128,8", "64,16", "64,32", "64,64");
        assertProfiles(NetDim.send(TimerMode.FROM_EVENT), "", "128,1", "128,8", "128,32", "128,64", "128,128");
        assertProfiles(NetDim.send(TimerMode.FROM_ENTRY), ",entry", "128,5", "64,8", "32,16", "32,32", "32,64");
        assertThrows(NullPointerException.class, () -> NetDim.receive(null));
        assertThrows(NullPointerException.class, () -> NetDim.send(null));
    }

    private static void assertProfiles(NetDim dim, String suffix, String... expected) {
        for (int i = 0; i < 5; i++) {
            assertEquals(expected[i] + suffix, dim.profile(i).toString());
        }
        assertThrows(IndexOutOfBoundsException.class, () -> dim.profile(5));
        assertEquals(1, dim.profileIndex());
        assertEquals(dim.profile(1), dim.moderation());
        assertEquals(TuneState.PARKING_ON_TOP, dim.tuneState());
    }

    /**
     * Columns: microseconds, bytes and packets of the window; bytes per ms that the next window is compared with; state, profile,
     * steps right and left, tired. 1000 us make 64 events per ms.
     */
    private static final String[] TABLE = {
        "1000    0  0 |    0 | ON_TOP 1 0 0 0", // no bytes before, none now: same, parks on
        "1000 1000 10 | 1000 | LEFT   0 0 1 1", // no bytes before: better. Leaves, to the left as profile > 0
        "1000 1000 10 | 1000 | RIGHT  1 1 1 2", // same: turn; only one step to the left, so not on top; step
        "1000 1200 10 | 1200 | RIGHT  2 2 1 3", // 20 percent: better
        "1000 1500 10 | 1500 | RIGHT  3 3 1 4", // 25 percent
        "1000 1500 10 | 1500 | LEFT   2 3 1 5", // same: turn, step
        "1000 1700 10 | 1700 | ON_TOP 2 0 0 0", // 13 percent: better, after one step left and three right: on top
        "1000 1700 10 | 1700 | ON_TOP 2 0 0 0", // same
        "1000 1850 10 | 1700 | ON_TOP 2 0 0 0", // 150 x 100 / 1700 = 8: same; the reference stays
        "1000 1886 10 | 1700 | ON_TOP 2 0 0 0", // 186 x 100 / 1700 = 10 (10.9): same
        "1000 1887 10 | 1887 | LEFT   1 0 1 1", // 187 x 100 / 1700 = 11: better, leaves
        "1000 1600 10 | 1600 | RIGHT  2 1 1 2", // 287 x 100 / 1887 = 15: worse, turn, step
        "1000 1600 12 | 1600 | RIGHT  3 2 1 3", // bytes same; packets 20 percent: better
        "1000 1700  9 | 1700 | LEFT   2 2 1 4", // bytes 6 percent: same; packets 25 percent worse: turn, step
        "2000 3400 18 | 1700 | ON_TOP 2 0 0 0", // rates as before; 32 events per ms are better than 64: on top
        "1000 1700  9 | 1700 | LEFT   1 0 1 1", // 64 events are worse than 32: leaves
        "1000 1700  9 | 1700 | RIGHT  2 1 1 2", // same: turn, step
        "1000 2000  9 | 2000 | RIGHT  3 2 1 3", // 17 percent
        "1000 2300  9 | 2300 | RIGHT  4 3 1 4", // 15 percent
        "1000 2600  9 | 2600 | ON_TOP 4 0 0 0", // 13 percent: better, but at the right end: parks
        "1000 3000  9 | 3000 | LEFT   3 0 1 1", // 15 percent: leaves
        "1000 3400  9 | 3400 | LEFT   2 0 2 2", // 13 percent: better
        "1000 3400  9 | 3400 | RIGHT  3 1 2 3", // same: turn; the step back is still to be judged
        "1000 3800  9 | 3800 | ON_TOP 3 0 0 0", // 11 percent: better, after one step right and two left: on top
        "1000    0  0 |    0 | LEFT   2 0 1 1", // worse: leaves
        "1000    0  0 |    0 | RIGHT  3 1 1 2", // nothing before and now: same: turn, step; and so to and fro
        "1000    0  0 |    0 | LEFT   2 1 1 3",
        "1000    0  0 |    0 | RIGHT  3 1 1 4",
        "1000    0  0 |    0 | LEFT   2 1 1 5",
        "1000    0  0 |    0 | RIGHT  3 1 1 6",
        "1000    0  0 |    0 | LEFT   2 1 1 7",
        "1000    0  0 |    0 | RIGHT  3 1 1 8",
        "1000    0  0 |    0 | LEFT   2 1 1 9",
        "1000    0  0 |    0 | RIGHT  3 1 1 10", // the tenth step
        "1000    0  0 |    0 | TIRED  3 0 0 10", // turned, but too tired for a step
        "1000  100  1 |  100 | TIRED  3 0 0 9", // does not look at the windows, but keeps the last
        "1000    0  0 |    0 | TIRED  3 0 0 8",
        "1000    0  0 |    0 | TIRED  3 0 0 7",
        "1000    0  0 |    0 | TIRED  3 0 0 6",
        "1000    0  0 |    0 | TIRED  3 0 0 5",
        "1000    0  0 |    0 | TIRED  3 0 0 4",
        "1000    0  0 |    0 | TIRED  3 0 0 3",
        "1000    0  0 |    0 | TIRED  3 0 0 2",
        "1000    0  0 |    0 | TIRED  3 0 0 1",
        "1000    0  0 |    0 | LEFT   2 0 1 1", // rested: leaves
        "1000  100  9 |  100 | LEFT   1 0 2 2", // better
        "1000  200  9 |  200 | LEFT   0 0 3 3", // better
        "1000  400  9 |  400 | ON_TOP 0 0 0 0", // better, but at the left end: parks
        "1000  800  9 |  800 | RIGHT  1 1 0 1", // leaves, to the right as profile = 0
        "1000  800  9 |  800 | LEFT   0 1 1 2", // same: turn, step
        "3000 2600 20 |  867 | RIGHT  1 1 1 3", // 2600000 / 3000, up: 867, 8 percent; packets 6.7, up: 7, 22 percent
        // worse
    };

    @Test
    void followsTheTable() {
        for (long startNs : new long[] {0, Long.MAX_VALUE - 10_000_000}) {
            NetDim dim = NetDim.receive(TimerMode.FROM_EVENT);
            Windows windows = new Windows(dim, startNs);
            for (int row = 0; row < TABLE.length; row++) {
                String[] cells = TABLE[row].trim().split("[ |]+", -1);
                windows.feed(Long.parseLong(cells[0]), Integer.parseInt(cells[2]), Long.parseLong(cells[1]));
                String where = "row " + row + ": " + TABLE[row];
                assertEquals(Long.parseLong(cells[3]), dim.reference.bytes, where);
                assertTrue(dim.tuneState().name().endsWith(cells[4]), where + " is " + dim.tuneState());
                assertEquals(Integer.parseInt(cells[5]), dim.profileIndex(), where);
                assertEquals(Integer.parseInt(cells[6]), dim.stepsRight, where);
                assertEquals(Integer.parseInt(cells[7]), dim.stepsLeft, where);
                assertEquals(Integer.parseInt(cells[8]), dim.tired, where);
            }
        }
    }

    /** 65500 + 63 and 65500 + 64 modulo 65536 are 27 and 28. Totals of packets and bytes wrap at 2^64. */
    @Test
    void countersMayWrap() {
        NetDim dim = NetDim.send(TimerMode.FROM_ENTRY);
        assertFalse(dim.onSample(65_500, Long.MAX_VALUE - 3, Long.MAX_VALUE - 500, Long.MAX_VALUE - 7));
        assertFalse(dim.onSample(27, Long.MIN_VALUE + 6, Long.MIN_VALUE + 499, Long.MIN_VALUE + 999_992));
        assertEquals(0, dim.reference.bytes);
        assertTrue(dim.onSample(28, Long.MIN_VALUE + 6, Long.MIN_VALUE + 499, Long.MIN_VALUE + 999_992));
        assertEquals(1000, dim.reference.bytes); // 500 to the end, the wrap itself, 499 from the start
        assertEquals(10, dim.reference.completions);
        assertEquals(64, dim.reference.events);
        assertEquals(0, dim.profileIndex());
        assertFalse(dim.onSample(28, 0, 0, 0), "opens a window");
        assertFalse(dim.onSample(65_536 + 28, 100, 100_000, 9_000_000), "2^16 events are none");
        assertFalse(dim.onSample(65_536 + 92, 100, 100_000, 9_000_000), "better, but at the left end");
        assertEquals(TuneState.PARKING_ON_TOP, dim.tuneState());
        assertEquals(11_112, dim.reference.bytes); // 100000 x 1000 / 9000 us, rounded up
        assertEquals(12, dim.reference.completions);
        assertEquals(8, dim.reference.events); // 64000 / 9000 = 7.1
    }

    @Test
    void totalsThatGoBackAreRefusedAndChangeNothing() {
        NetDim dim = NetDim.receive(TimerMode.FROM_EVENT);
        assertFalse(dim.onSample(0, 10, 1000, 0));
        assertEquals(
                "totals must not go back: 9 completions after 10, 1000 bytes after 1000",
                assertThrows(IllegalArgumentException.class, () -> dim.onSample(64, 9, 1000, 1_000_000))
                        .getMessage());
        assertEquals(
                "totals must not go back: 10 completions after 10, 999 bytes after 1000",
                assertThrows(IllegalArgumentException.class, () -> dim.onSample(64, 10, 999, 1_000_000))
                        .getMessage());
        assertTrue(dim.onSample(64, 11, 1001, 1_000_000));
        assertEquals(1, dim.reference.bytes);
    }
}
