package io.cqring.simnic.cli;

/**
 * Lets no more through than so many completions per second; what was not used in the last ten milliseconds may be made up for.
 * Told the time; for one thread.
 */
final class Pace {
    private static final long BURST_NS = 10_000_000;
    private static final double NS_PER_S = 1e9;

    private final double nsPerCompletion;

    /** When the next may go. Without meaning before the first has gone. */
    private long nextNs;

    private boolean begun;

    /** For a rate of completions per second, 1 or more. */
    Pace(long perSecond) {
        this.nsPerCompletion = NS_PER_S / perSecond;
    }

    /** Until the next may go, in nanoseconds; 0: now. */
    long leftNs(long nowNs) {
        return begun ? Math.max(0, nextNs - nowNs) : 0;
    }

    /** So many go. */
    void spend(int completions, long nowNs) {
        final long unused = begun ? Math.min(nowNs - nextNs, BURST_NS) : 0;
        nextNs = nowNs - unused + (long) Math.ceil(completions * nsPerCompletion);
        begun = true;
    }
}
