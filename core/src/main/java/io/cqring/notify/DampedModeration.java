package io.cqring.notify;

import java.util.Objects;

/**
 * Keeps an adaptive moderation calm when the traffic comes in bursts. It is ours, not Linux', and nothing uses it unless it is
 * put round an algorithm.
 *
 * <p><b>The rule:</b> the algorithm sees one window per period. A period is cut into {@value #SLICES} slices; the window
 * is the slice with the median rate of completions. So the profile changes at most once per period, and bursts and gaps
 * do not show as long as they take up less than half of the slices: a period of ten times the length of a burst or more
 * is right. What the algorithm learns from each of its steps is what the step did.
 *
 * <p>A slice ends with the first event after a {@value #SLICES}th of the period, but not before its
 * {@value #SLICE_EVENTS}th event: where events are rare, periods are longer. Unlike Linux, a window counts the events that
 * it really had.
 *
 * <p>The price: a real change of the traffic is followed by one profile per period. And {@link RdmaDim} loses a
 * drive of its own: its windows are so short that chance makes them differ, which leads it away from where it starts. Damped,
 * it moves only when the traffic or the last step gives it a reason.
 *
 * <p>It acts in the call for an event: without events nothing changes. <b>Role:</b> one thread at a time.
 * <b>Progress:</b> wait-free. <b>Allocation:</b> none after creation.
 */
public final class DampedModeration implements AdaptiveModeration {
    /** Odd, so that there is a median. */
    static final int SLICES = 15;

    /** So that a period has at least the 64 events of a window. */
    static final int SLICE_EVENTS = 5;

    private final Dim algorithm;
    private final long sliceNs;

    /** The slices of this period that have ended. */
    private final Slice[] slices = new Slice[SLICES];

    private int ended;

    /** The slice that is under way, unless the next event is to open one. */
    private boolean measuring;

    private long startNs;
    private long bytes;
    private long completions;
    private int events;

    private static final class Slice {
        long bytes;
        long completions;
        int events;
        long us;

        /** Completions per millisecond. */
        long rate;
    }

    /**
     * Puts the filter round Linux' algorithm for completions.
     *
     * @param algorithm to be called by this object only from now on; goes on from where it is
     * @param periodNs  nanoseconds, at least 15,000
     * @throws IllegalArgumentException if the period breaks its rule
     */
    public DampedModeration(RdmaDim algorithm, long periodNs) {
        this((Dim) algorithm, periodNs);
    }

    /**
     * Puts the filter round Linux' algorithm for packets.
     *
     * @param algorithm to be called by this object only from now on; goes on from where it is
     * @param periodNs  nanoseconds, at least 15,000
     * @throws IllegalArgumentException if the period breaks its rule
     */
    public DampedModeration(NetDim algorithm, long periodNs) {
        this((Dim) algorithm, periodNs);
    }

    private DampedModeration(Dim algorithm, long periodNs) {
        if (periodNs < SLICES * Dim.NS_PER_US) {
            throw new IllegalArgumentException(
                    "damping period must be at least " + SLICES * Dim.NS_PER_US + " ns: " + periodNs);
        }
        this.algorithm = Objects.requireNonNull(algorithm, "algorithm");
        this.sliceNs = (periodNs - 1) / SLICES + 1;
        for (int i = 0; i < SLICES; i++) {
            slices[i] = new Slice();
        }
    }

    @Override
    public boolean onEvent(int completions, long bytes, long nowNs) {
        Dim.requireNotNegative(completions, bytes);
        if (measuring) {
            this.bytes += bytes;
            this.completions += completions;
            events++;
            if (events < SLICE_EVENTS || nowNs - startNs < sliceNs) {
                return false;
            }
            endSlice((nowNs - startNs) / Dim.NS_PER_US);
            if (ended == SLICES) {
                ended = 0;
                final Slice window = median();
                if (algorithm.window(window.bytes, window.completions, window.events, window.us)) {
                    measuring = false; // the next event is the first that the new profile may have brought
                    return true;
                }
            }
        }
        measuring = true;
        startNs = nowNs;
        this.bytes = 0;
        this.completions = 0;
        events = 0;
        return false;
    }

    private void endSlice(long us) {
        final Slice slice = slices[ended++];
        slice.bytes = bytes;
        slice.completions = completions;
        slice.events = events;
        slice.us = us;
        slice.rate = Dim.perMs(completions, us);
    }

    /** The slice that has as many before it as after it, by rate and then by time. */
    private Slice median() {
        for (int i = 0; i < SLICES; i++) {
            int before = 0;
            for (int j = 0; j < SLICES; j++) {
                if (slices[j].rate < slices[i].rate || (slices[j].rate == slices[i].rate && j < i)) {
                    before++;
                }
            }
            if (before == SLICES / 2) {
                return slices[i];
            }
        }
        throw new AssertionError("an order of " + SLICES + " has a middle");
    }

    @Override
    public int profileIndex() {
        return algorithm.profileIndex();
    }

    @Override
    public Moderation profile(int index) {
        return algorithm.profile(index);
    }
}
