package io.cqring.notify;

/**
 * How long to wait, and for how many completions: until {@code count} are there; once {@code minNs} have passed, for any; never longer
 * than {@code maxNs}. All reckoned from one moment, so waking up for nothing moves no deadline.
 */
final class AtLeast {
    private final int count;
    private final long minNs;
    private final long maxNs;
    private final long startNs;

    /**
     * @param count   completions, 1 or more
     * @param minNs   how long fewer than {@code count} are not enough, in nanoseconds
     * @param maxNs   how long to wait at most; what is less than {@code minNs} ends the wait before anything less would be enough
     * @param startNs now, by a monotonic clock that may wrap
     */
    AtLeast(int count, long minNs, long maxNs, long startNs) {
        this.count = count;
        this.minNs = minNs;
        this.maxNs = maxNs;
        this.startNs = startNs;
    }

    /** Completions that end the wait at any moment. */
    int count() {
        return count;
    }

    /** Completions that end the wait at this moment. */
    int wanted(long nowNs) {
        return nowNs - startNs < minNs ? count : 1;
    }

    /** Until something changes by the mere passing of time, in nanoseconds; 0: the wait is over. */
    long leftNs(long nowNs) {
        final long passed = nowNs - startNs;
        if (passed >= maxNs) {
            return 0;
        }
        return count > 1 && passed < minNs ? Math.min(minNs, maxNs) - passed : maxNs - passed;
    }
}
