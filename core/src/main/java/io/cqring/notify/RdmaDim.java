package io.cqring.notify;

/**
 * Adaptive moderation for completions: the algorithm of Linux' rdma_dim. It starts without moderation and goes towards more
 * completions per event as long as the windows get better. It never parks.
 *
 * <p>A window of 64 events is <b>better</b> than the one before by more completions per millisecond; if these differ by
 * 10 percent or less, by more completions per event. Better: one step on. Worse: turn, then one step. The same: stay,
 * unless there is no more than half a completion per event for each step that it is up; then back to no moderation at
 * once. At an end of the table it turns and stays for that window.
 *
 * <table>
 *   <caption>Profiles: microseconds, completions. The search starts at 0</caption>
 *   <tr><th>0</th><th>1</th><th>2</th><th>3</th><th>4</th><th>5</th><th>6</th><th>7</th><th>8</th></tr>
 *   <tr><td>1, 1</td><td>1, 4</td><td>2, 4</td><td>2, 8</td><td>4, 8</td><td>16, 8</td><td>16, 16</td><td>32, 16</td>
 *       <td>32, 32</td></tr>
 * </table>
 *
 * <p>One thing differs from Linux: there the event counter of this algorithm cuts one window short each time it wraps, after
 * 65,536 events; here it does not.
 *
 * <p><b>Role:</b> one thread at a time. <b>Progress:</b> wait-free. <b>Allocation:</b> none after creation.
 */
public final class RdmaDim extends Dim {
    private static final Moderation[] PROFILES = {
        Moderation.ofMicros(1, 1),
        Moderation.ofMicros(4, 1),
        Moderation.ofMicros(4, 2),
        Moderation.ofMicros(8, 2),
        Moderation.ofMicros(8, 4),
        Moderation.ofMicros(8, 16),
        Moderation.ofMicros(16, 16),
        Moderation.ofMicros(16, 32),
        Moderation.ofMicros(32, 32)
    };

    /** Hundredths of a completion per event that each step up must be worth. */
    private static final int WORTH_OF_A_STEP = 50;

    /** A search at its start: no moderation. */
    public RdmaDim() {
        super(PROFILES, 0, TuneState.GOING_RIGHT);
    }

    @Override
    boolean decide() {
        switch (trend()) {
            case SAME -> {
                if (current.perEvent <= (long) WORTH_OF_A_STEP * index) {
                    index = 0;
                }
            }
            case WORSE -> {
                turn();
                stepOrTurn();
            }
            case BETTER -> stepOrTurn();
        }
        return true;
    }

    private void stepOrTurn() {
        if (!step()) {
            turn();
        }
    }

    private Trend trend() {
        final Trend byCompletions = compare(current.completions, reference.completions);
        return byCompletions != Trend.SAME ? byCompletions : compare(current.perEvent, reference.perEvent);
    }
}
