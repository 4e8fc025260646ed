package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

/** Feeds an algorithm whole windows of 64 events, on a clock of its own. */
final class Windows {
    private final Dim dim;
    private long nowNs;
    private boolean open;

    Windows(Dim dim, long startNs) {
        this.dim = dim;
        this.nowNs = startNs;
    }

    /** One window: 63 events at its start, the last at its end, which brings all. An event before it if none is open. */
    boolean feed(long us, int completions, long bytes) {
        int before = dim.profileIndex();
        if (!open) {
            assertFalse(dim.onEvent(12_345, 67_890, nowNs), "an event that opens a window decides nothing");
        }
        for (int i = 1; i < 64; i++) {
            assertFalse(dim.onEvent(0, 0, nowNs), "a window has 64 events");
        }
        nowNs += us * 1000;
        boolean changed = dim.onEvent(completions, bytes, nowNs);
        assertEquals(before != dim.profileIndex(), changed);
        open = !changed;
        return changed;
    }
}
