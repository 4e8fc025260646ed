package io.cqring.simnic;

import org.agrona.concurrent.NanoClock;

/**
 * A limit on waiting, on a monotonic clock. Elapsed time is a difference of two readings, so neither a clock near the
 * end of its range nor a time-out of {@code Long.MAX_VALUE} overflows, and nothing that happens while waiting moves
 * the limit. A time-out of 0 has passed from the start: do the thing once, do not wait.
 */
final class Deadline {
    private final NanoClock clock;
    private final long startNs;
    private final long timeoutNs;

    private Deadline(NanoClock clock, long timeoutNs) {
        this.clock = clock;
        this.startNs = clock.nanoTime();
        this.timeoutNs = timeoutNs;
    }

    static Deadline after(NanoClock clock, long timeoutNs) {
        return new Deadline(clock, requireTimeout(timeoutNs));
    }

    static long requireTimeout(long timeoutNs) {
        if (timeoutNs < 0) {
            throw new IllegalArgumentException("time-out must be 0 ns or more: " + timeoutNs);
        }
        return timeoutNs;
    }

    boolean hasPassed() {
        return clock.nanoTime() - startNs >= timeoutNs;
    }
}
