package io.cqring.notify;

/**
 * What the two algorithms of Linux' dynamic interrupt moderation share: windows, rates, and the bookkeeping of a search.
 *
 * <p>The counters are totals. The first sample opens a window; the first one that is {@value #WINDOW_EVENTS} events or
 * more later, and at least a microsecond, closes it. If the profile stays, that sample also opens the next window; if it
 * changes, the next sample does, for until then the new profile was not in effect. (In Linux a work item applies it, and
 * samples until then are ignored; here the caller applies it before the next event.)
 */
abstract class Dim implements AdaptiveModeration {
    /** Events in a window. */
    static final int WINDOW_EVENTS = 64;

    /** Event counters have 16 bits: a difference counts modulo 2^16. */
    private static final int EVENTS_MASK = 0xFFFF;

    static final long NS_PER_US = 1000;
    private static final long US_PER_MS = 1000;

    /** A rate must change by more than this to count. */
    private static final long SIGNIFICANT_PERCENT = 10;

    /** Rates of one window, per millisecond and rounded up. */
    static final class Rates {
        long bytes;
        long completions;
        long events;

        /** Completions per event, times 100. */
        long perEvent;
    }

    /** Outcome of a comparison: how the window was, seen from the one it is compared with. */
    enum Trend {
        WORSE,
        SAME,
        BETTER
    }

    private final Moderation[] profiles;

    int index;
    TuneState tuneState;

    /** Steps made in each direction since the last turn into it. */
    int stepsRight;

    int stepsLeft;

    /** Rates of the window that has just been closed, and of the one it is compared with. The two change places. */
    Rates current = new Rates();

    Rates reference = new Rates();

    private boolean measuring;
    private int startEvents;
    private long startCompletions;
    private long startBytes;
    private long startNs;

    /** Totals of {@link #onEvent}. */
    private int events;

    private long completions;
    private long bytes;

    /** Keeps {@code profiles}: it must be the caller's own, and never change. */
    Dim(Moderation[] profiles, int index, TuneState tuneState) {
        this.profiles = profiles;
        this.index = index;
        this.tuneState = tuneState;
    }

    /** Chooses {@link #index} by {@link #current} and {@link #reference}. Says whether current is the next reference. */
    abstract boolean decide();

    @Override
    public final boolean onEvent(int completions, long bytes, long nowNs) {
        requireNotNegative(completions, bytes);
        events++;
        this.completions += completions;
        this.bytes += bytes;
        return sample(events, this.completions, this.bytes, nowNs);
    }

    static void requireNotNegative(int completions, long bytes) {
        if (completions < 0 || bytes < 0) {
            throw new IllegalArgumentException(
                    "completions and bytes of an event must not be negative: " + completions + ", " + bytes);
        }
    }

    final boolean sample(int events, long completions, long bytes, long nowNs) {
        if (measuring) {
            if (((events - startEvents) & EVENTS_MASK) < WINDOW_EVENTS) {
                return false;
            }
            if (completions - startCompletions < 0 || bytes - startBytes < 0) {
                throw new IllegalArgumentException("totals must not go back: " + completions + " completions after "
                        + startCompletions + ", " + bytes + " bytes after " + startBytes);
            }
            final long us = (nowNs - startNs) / NS_PER_US;
            if (us <= 0) {
                return false; // no rate can be told: the window goes on
            }
            if (window(bytes - startBytes, completions - startCompletions, WINDOW_EVENTS, us)) {
                measuring = false;
                return true;
            }
        }
        measuring = true;
        startEvents = events;
        startCompletions = completions;
        startBytes = bytes;
        startNs = nowNs;
        return false;
    }

    /**
     * Decides by one window. Linux takes it that there were exactly {@value #WINDOW_EVENTS} events; so does {@link #sample}.
     *
     * @param events at least 1
     * @param us     its length in microseconds, at least 1
     * @return true if the profile is another one now
     */
    final boolean window(long bytes, long completions, long events, long us) {
        current.bytes = perMs(bytes, us);
        current.completions = perMs(completions, us);
        current.events = perMs(events, us);
        current.perEvent = current.completions * 100 / current.events;
        final int before = index;
        if (decide()) {
            final Rates old = reference;
            reference = current;
            current = old;
        }
        return index != before;
    }

    static long perMs(long count, long us) {
        return (count * US_PER_MS + us - 1) / us;
    }

    /** More is better. The same if the difference is within 10 percent, or there is no reference. */
    static Trend compare(long rate, long reference) {
        if (reference == 0 || Math.abs(rate - reference) * 100 / reference <= SIGNIFICANT_PERCENT) {
            return Trend.SAME;
        }
        return rate > reference ? Trend.BETTER : Trend.WORSE;
    }

    /** Goes the other way from now on. Only for a search that is going. */
    final void turn() {
        if (tuneState == TuneState.GOING_RIGHT) {
            tuneState = TuneState.GOING_LEFT;
            stepsLeft = 0;
        } else {
            tuneState = TuneState.GOING_RIGHT;
            stepsRight = 0;
        }
    }

    /** One step the way it is going. False at the end of the table, where nothing changes. */
    final boolean step() {
        final boolean right = tuneState == TuneState.GOING_RIGHT;
        if (index == (right ? profiles.length - 1 : 0)) {
            return false;
        }
        if (right) {
            index++;
            stepsRight++;
        } else {
            index--;
            stepsLeft++;
        }
        return true;
    }

    @Override
    public final int profileIndex() {
        return index;
    }

    @Override
    public final Moderation profile(int index) {
        return profiles[index];
    }

    /**
     * Where the search stands.
     *
     * @return the state after the last window
     */
    public final TuneState tuneState() {
        return tuneState;
    }
}
