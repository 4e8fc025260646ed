package io.cqring.notify;

/** From when the period of a {@link Moderation} counts. The number of a mode in mlx5 is its ordinal. */
public enum TimerMode {
    /**
     * The timer is started once per event: by the first entry that waits, or by the arm if the entry was there before.
     * Later entries do not move it, so none waits longer than the period. In mlx5: start from EQE.
     */
    FROM_EVENT,

    /**
     * Every entry starts the timer anew: the event comes when the traffic pauses. A steady trickle puts it off until the
     * count is reached; without a count, for as long as the trickle lasts. In mlx5: start from CQE.
     */
    FROM_ENTRY
}
