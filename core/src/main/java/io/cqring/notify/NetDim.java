package io.cqring.notify;

import io.cqring.notify.Dim.Trend;

/**
 * Adaptive moderation for packets: the algorithm of Linux' net_dim. It climbs: a step is kept if the window after it is
 * better, and taken back if not; when one step back is better than what lies beyond, it parks there.
 *
 * <p>A window of 64 events is <b>better</b> than another by more bytes per millisecond; if these differ by 10 percent or
 * less, by more packets; then by fewer events. It parks on top too at the end of the table, and leaves when the traffic
 * changes by more than 10 percent; after 10 steps without a park on top it rests for 10 windows. Both times it tries one
 * step to the left first.
 *
 * <table>
 *   <caption>Profiles: microseconds, packets. The search starts at 1</caption>
 *   <tr><th></th><th>0</th><th>1</th><th>2</th><th>3</th><th>4</th></tr>
 *   <tr><td>receive, from event</td><td>1, 256</td><td>8, 256</td><td>64, 256</td><td>128, 256</td><td>256, 256</td></tr>
 *   <tr><td>receive, from entry</td><td>2, 256</td><td>8, 128</td><td>16, 64</td><td>32, 64</td><td>64, 64</td></tr>
 *   <tr><td>send, from event</td><td>1, 128</td><td>8, 128</td><td>32, 128</td><td>64, 128</td><td>128, 128</td></tr>
 *   <tr><td>send, from entry</td><td>5, 128</td><td>8, 64</td><td>16, 32</td><td>32, 32</td><td>64, 32</td></tr>
 * </table>
 *
 * <p><b>Role:</b> one thread at a time. <b>Progress:</b> wait-free. <b>Allocation:</b> none after creation.
 *
 * @see <a href="https://docs.kernel.org/networking/net_dim.html">Linux: Net DIM</a>
 */
public final class NetDim extends Dim {
    private static final int START_INDEX = 1;

    private static final Moderation[] RECEIVE_FROM_EVENT =
            table(TimerMode.FROM_EVENT, 1, 256, 8, 256, 64, 256, 128, 256, 256, 256);
    private static final Moderation[] RECEIVE_FROM_ENTRY =
            table(TimerMode.FROM_ENTRY, 2, 256, 8, 128, 16, 64, 32, 64, 64, 64);
    private static final Moderation[] SEND_FROM_EVENT =
            table(TimerMode.FROM_EVENT, 1, 128, 8, 128, 32, 128, 64, 128, 128, 128);
    private static final Moderation[] SEND_FROM_ENTRY =
            table(TimerMode.FROM_ENTRY, 5, 128, 8, 64, 16, 32, 32, 32, 64, 32);

    /** Steps after which it rests: two for each profile. */
    private static final int TIRED = 2 * RECEIVE_FROM_EVENT.length;

    /** Steps since it last parked on top; while it rests, windows left. */
    int tired;

    private NetDim(Moderation[] profiles) {
        super(profiles, START_INDEX, TuneState.PARKING_ON_TOP);
    }

    private static Moderation[] table(TimerMode mode, int... microsAndPackets) {
        final Moderation[] table = new Moderation[microsAndPackets.length / 2];
        for (int i = 0; i < table.length; i++) {
            table[i] = Moderation.ofMicros(microsAndPackets[2 * i + 1], microsAndPackets[2 * i], mode);
        }
        return table;
    }

    /**
     * For a queue of receives.
     *
     * @param mode from when periods count
     * @return a search at its start
     */
    public static NetDim receive(TimerMode mode) {
        return new NetDim(
                switch (mode) {
                    case FROM_EVENT -> RECEIVE_FROM_EVENT;
                    case FROM_ENTRY -> RECEIVE_FROM_ENTRY;
                });
    }

    /**
     * For a queue of sends.
     *
     * @param mode from when periods count
     * @return a search at its start
     */
    public static NetDim send(TimerMode mode) {
        return new NetDim(
                switch (mode) {
                    case FROM_EVENT -> SEND_FROM_EVENT;
                    case FROM_ENTRY -> SEND_FROM_ENTRY;
                });
    }

    /**
     * Like {@link #onEvent}, for a device that keeps totals, and need not be looked at after every event. Use one of the two.
     *
     * @param events  events so far, modulo 2^16 or more; fewer than 2^16 between two samples
     * @param packets packets so far; may wrap
     * @param bytes   bytes so far; may wrap
     * @param nowNs   the time, in nanoseconds of a monotonic clock, which may wrap
     * @return true if {@link #moderation()} is another one now
     * @throws IllegalArgumentException if packets or bytes have gone back; nothing changes
     */
    public boolean onSample(int events, long packets, long bytes, long nowNs) {
        return sample(events, packets, bytes, nowNs);
    }

    @Override
    boolean decide() {
        final TuneState before = tuneState;
        switch (before) {
            case PARKING_ON_TOP -> {
                if (trend() != Trend.SAME) {
                    leave();
                }
            }
            case PARKING_TIRED -> {
                tired--;
                if (tired == 0) {
                    leave();
                }
            }
            case GOING_RIGHT, GOING_LEFT -> go();
        }
        // A park on top compares every window with the one it began with, so that a slow drift shows too.
        return before != TuneState.PARKING_ON_TOP || tuneState != TuneState.PARKING_ON_TOP;
    }

    private void go() {
        if (trend() != Trend.BETTER) {
            turn();
        }
        if (isOnTop()) {
            parkOnTop();
        } else if (tired == TIRED) {
            park(TuneState.PARKING_TIRED);
        } else if (step()) {
            tired++;
        } else {
            parkOnTop();
        }
    }

    private void leave() {
        tuneState = index > 0 ? TuneState.GOING_LEFT : TuneState.GOING_RIGHT;
        step();
        tired++;
    }

    /** A run of steps went too far, and the one step back was better. */
    private boolean isOnTop() {
        return tuneState == TuneState.GOING_RIGHT ? stepsLeft > 1 && stepsRight == 1 : stepsRight > 1 && stepsLeft == 1;
    }

    private void parkOnTop() {
        park(TuneState.PARKING_ON_TOP);
        tired = 0;
    }

    private void park(TuneState state) {
        tuneState = state;
        stepsRight = 0;
        stepsLeft = 0;
    }

    private Trend trend() {
        if (reference.bytes == 0) {
            return current.bytes == 0 ? Trend.SAME : Trend.BETTER;
        }
        final Trend byBytes = compare(current.bytes, reference.bytes);
        if (byBytes != Trend.SAME) {
            return byBytes;
        }
        final Trend byPackets = compare(current.completions, reference.completions);
        if (byPackets != Trend.SAME) {
            return byPackets;
        }
        return switch (compare(current.events, reference.events)) {
            case BETTER -> Trend.WORSE; // fewer events are better
            case WORSE -> Trend.BETTER;
            case SAME -> Trend.SAME;
        };
    }
}
