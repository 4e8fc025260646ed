package io.cqring.notify;

import java.util.Locale;
import java.util.SplittableRandom;

/**
 * A device and a host on a virtual clock. The device has one completion after the other, at random, and raises events as
 * its {@link ModerationTimer} says. The host takes all that is there at an event, which lasts 1 us and 50 ns per
 * completion, tells the adaptive moderation, and arms again.
 *
 * <p>Traffic: 0.1 to 1 completion per us during the first 200 ms, rising; then 1 per us. With bursts: from there on, each
 * 20 ms have a millisecond of 10 per us and a millisecond of silence, somewhere in their first and second half.
 */
final class VirtualHost {
    static final long MS = 1_000_000;
    private static final long RISE_NS = 200 * MS;
    private static final long CYCLE_NS = 20 * MS;

    /** From when figures are taken. */
    private static final long WARM_NS = 600 * MS;

    private static final long END_NS = 2600 * MS;

    private final SplittableRandom random;
    private final boolean bursts;
    private final AdaptiveModeration adaptive;
    private long cycle = -1;
    private long spikeNs;
    private long gapNs;

    /** Figures from {@link #WARM_NS} on. */
    int changes;

    int turns;
    int lowest = Integer.MAX_VALUE;
    int highest;
    long shortestNsBetweenChanges = Long.MAX_VALUE;
    long events;
    long completions;
    int mostTimeAt;

    VirtualHost(long seed, boolean bursts, AdaptiveModeration adaptive) {
        this.random = new SplittableRandom(seed);
        this.bursts = bursts;
        this.adaptive = adaptive;
    }

    double completionsPerEvent() {
        return (double) completions / events;
    }

    /** Completions per nanosecond at a time. */
    private double rate(double ns) {
        if (ns < RISE_NS) {
            return 1e-3 * (0.1 + 0.9 * ns / RISE_NS);
        }
        if (!bursts) {
            return 1e-3;
        }
        if ((long) ns / CYCLE_NS != cycle) {
            cycle = (long) ns / CYCLE_NS;
            spikeNs = cycle * CYCLE_NS + random.nextLong(9 * MS);
            gapNs = cycle * CYCLE_NS + random.nextLong(10 * MS, 19 * MS);
        }
        if (ns >= spikeNs && ns < spikeNs + MS) {
            return 1e-2;
        }
        return ns >= gapNs && ns < gapNs + MS ? 0 : 1e-3;
    }

    /** Poisson of a changing rate: candidates of the highest rate, thinned. */
    private double nextArrival(double ns) {
        double highestRate = bursts ? 1e-2 : 1e-3;
        do {
            ns -= StrictMath.log(1 - random.nextDouble()) / highestRate;
        } while (random.nextDouble() * highestRate >= rate(ns));
        return ns;
    }

    void run() {
        ModerationTimer timer = new ModerationTimer(adaptive.moderation());
        long[] timeAt = new long[9];
        long nowNs = 0;
        double arrivalNs = nextArrival(0);
        long waiting = 0;
        long armNs = 0;
        boolean armed = false;
        long lastEventNs = 0;
        long lastChangeNs = Long.MIN_VALUE;
        int lastDirection = 0;
        while (nowNs < END_NS) {
            if (timer.isDue(nowNs)) {
                timer.onEvent();
                armed = false;
                armNs = nowNs + 1000 + 50 * waiting;
                int before = adaptive.profileIndex();
                boolean changed = adaptive.onEvent((int) waiting, waiting * 1024, armNs);
                timer.moderation(adaptive.moderation());
                int direction = Integer.signum(adaptive.profileIndex() - before);
                if (nowNs >= WARM_NS) {
                    events++;
                    completions += waiting;
                    lowest = Math.min(lowest, adaptive.profileIndex());
                    highest = Math.max(highest, adaptive.profileIndex());
                    timeAt[before] += nowNs - lastEventNs;
                    if (changed) {
                        changes++;
                        turns += direction == -lastDirection ? 1 : 0;
                    }
                }
                if (changed) {
                    lastDirection = direction;
                    if (lastChangeNs != Long.MIN_VALUE) {
                        shortestNsBetweenChanges = Math.min(shortestNsBetweenChanges, armNs - lastChangeNs);
                    }
                    lastChangeNs = armNs;
                }
                lastEventNs = nowNs;
                waiting = 0;
            }
            long dueInNs = armed ? timer.dueInNs(nowNs) : armNs - nowNs;
            if (dueInNs == ModerationTimer.NEVER || arrivalNs <= nowNs + dueInNs) {
                nowNs = Math.max(nowNs, (long) arrivalNs);
                waiting++;
                timer.onEntries(1, nowNs);
                arrivalNs = nextArrival(arrivalNs);
            } else {
                nowNs += dueInNs;
                if (!armed) {
                    timer.onArm(waiting, nowNs);
                    armed = true;
                }
            }
        }
        for (int i = 0; i < timeAt.length; i++) {
            mostTimeAt = timeAt[i] > timeAt[mostTimeAt] ? i : mostTimeAt;
        }
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "profiles %d to %d, most of the time %d; changes %d, turns %d, shortest time between changes %d us;"
                        + " completions per event %.1f",
                lowest,
                highest,
                mostTimeAt,
                changes,
                turns,
                shortestNsBetweenChanges / 1000,
                completionsPerEvent());
    }
}
