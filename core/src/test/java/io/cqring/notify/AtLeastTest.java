package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.cqring.testing.FieldBug;
import org.junit.jupiter.api.Test;

/** How long, and for how many: in virtual time, against moments worked out by hand. */
@FieldBug(52)
class AtLeastTest {
    private static final long FOREVER = Long.MAX_VALUE;

    /** Entries come at given times; wakes up for nothing at others. Returns when the wait ends, in ns; negative: without success. */
    private static long end(int count, long min, long max, long[] entries, long[] spurious, long start) {
        AtLeast plan = new AtLeast(count, min, max, start);
        long now = 0;
        while (true) {
            int ready = 0;
            long next = Long.MAX_VALUE;
            for (long at : entries) {
                ready += at <= now ? 1 : 0;
                next = at > now ? Math.min(next, at) : next;
            }
            for (long at : spurious) {
                next = at > now ? Math.min(next, at) : next;
            }
            if (ready >= plan.wanted(start + now)) {
                return now;
            }
            long left = plan.leftNs(start + now);
            if (left == 0) {
                return -now;
            }
            now = Math.min(next, left > Long.MAX_VALUE - now ? Long.MAX_VALUE : now + left);
        }
    }

    @Test
    void shouldEndWhenItIsDueAndNotBefore() {
        // count 4, at least 20 us, at most 1 ms
        long[][] entries = {
            {0, 0, 0, 0},
            {1, 2, 3, 4},
            {1, 2, 3, 30_000},
            {5_000},
            {19_999, 20_000},
            {20_000},
            {20_001},
            {999_999},
            {1_000_000},
            {1_000_001},
            {},
            {1, 2, 3, 20_000},
            {1, 2, 3, 19_999, 19_999},
        };
        long[] ends = {
            0, 4, 20_000, 20_000, 20_000, 20_000, 20_001, 999_999, 1_000_000, -1_000_000, -1_000_000, 20_000, 19_999,
        };
        long[] tenTimes = {7, 1_000, 5_001, 19_998, 20_005, 100_000, 300_000, 500_000, 999_998, 999_999};
        for (int i = 0; i < entries.length; i++) {
            for (long start : new long[] {0, -5, Long.MAX_VALUE - 10, Long.MIN_VALUE}) {
                assertEquals(ends[i], end(4, 20_000, 1_000_000, entries[i], new long[0], start), "row " + i);
                assertEquals(ends[i], end(4, 20_000, 1_000_000, entries[i], tenTimes, start), "woken, row " + i);
            }
        }
    }

    @Test
    void shouldTakeZeroAndForEver() {
        assertEquals(-0L, end(1, 0, 0, new long[] {1}, new long[0], 9));
        assertEquals(0, new AtLeast(1, 0, 0, 9).leftNs(9));
        assertEquals(1_000_000_000_000L, end(1, 0, FOREVER, new long[] {1_000_000_000_000L}, new long[] {3}, 9));
        assertEquals(5, end(2, FOREVER, FOREVER, new long[] {1, 5}, new long[] {3}, Long.MAX_VALUE));
        assertEquals(FOREVER - 1, new AtLeast(1, 0, FOREVER, 9).leftNs(10));
        assertEquals(-100, end(2, 500, 100, new long[] {1}, new long[0], 0), "fewer, and the most is the shorter");
        assertEquals(100, end(2, 100, 100, new long[] {1}, new long[0], 0), "at the end of both, one will do");
    }
}
