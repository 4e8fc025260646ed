package io.cqring.notify;

import java.util.Objects;

/**
 * Decides when the event of one completion queue is due, for a device that owns the timer. It is told what happens and what
 * time it is; it has no clock and raises nothing itself.
 *
 * <pre>
 *   timer.onArm(entriesPastTheArmedIndex, now);      // when the host has armed the queue
 *   timer.onEntries(published, now);                 // after each batch
 *   if (timer.isDue(now)) {                          // now and then; dueInNs says how long it may be left
 *       timer.onEvent();
 *       raiseTheEvent();
 *   }
 * </pre>
 *
 * <p>An event is due when the queue is armed, an entry waits, and
 *
 * <ul>
 *   <li>the waiting entries have reached the count, or
 *   <li>the period has passed since its start. {@link TimerMode#FROM_EVENT}: the start is the first entry that waits, or the
 *       arm if that entry was there before it. So an entry waits at most one period from when it is there and the queue is
 *       armed, and a lone entry exactly one. {@link TimerMode#FROM_ENTRY}: the start is the last entry, or the arm if that is
 *       later.
 * </ul>
 *
 * <p>The vendor's name "from the event" leaves open what a timer does that runs out with nothing to report. Here it
 * stands still until an entry comes; it never runs before the queue is armed again. Events are at least a period apart
 * unless the count is reached.
 *
 * <p><b>Arms are one-shot:</b> after an event nothing is due until the next arm, and entries until then are not counted; the
 * arm says how many of them wait. A repeated arm does not put the event off.
 *
 * <p><b>Time</b> is in nanoseconds of any monotonic clock, which may wrap; two times are compared by their difference.
 * <b>Role:</b> one thread at a time, as the device's other state. <b>Progress:</b> wait-free. <b>Allocation:</b> none.
 */
public final class ModerationTimer {
    /** From {@link #dueInNs}: no passing of time makes an event due. */
    public static final long NEVER = Long.MAX_VALUE;

    private Moderation moderation;
    private boolean armed;

    /** Entries past the armed index. */
    private long waiting;

    /** When the first and the last of them came, at the earliest the arm. Without meaning when none waits. */
    private long firstNs;

    private long lastNs;

    /**
     * A timer of a queue that is not armed.
     *
     * @param moderation when events are due
     */
    public ModerationTimer(Moderation moderation) {
        this.moderation = Objects.requireNonNull(moderation, "moderation");
    }

    /**
     * The moderation in effect.
     *
     * @return as it was given
     */
    public Moderation moderation() {
        return moderation;
    }

    /**
     * Changes the moderation at once. Entries that wait go on waiting, from when they came: if they wait long enough by the new
     * values, the event is due now.
     *
     * @param moderation when events are due from now on
     */
    public void moderation(Moderation moderation) {
        this.moderation = Objects.requireNonNull(moderation, "moderation");
    }

    /**
     * The host has armed the queue, for the first time or again.
     *
     * @param entries entries that are published and lie past the armed index: they count as waiting
     * @param nowNs   the time, in nanoseconds
     * @throws IllegalArgumentException if {@code entries} is negative; nothing changes
     */
    public void onArm(long entries, long nowNs) {
        requireCount(entries);
        if (!armed || waiting == 0) {
            firstNs = nowNs;
            lastNs = nowNs;
        } // else a timer is running, and is not put off
        armed = true;
        waiting = entries;
    }

    /**
     * Entries have been published. Without effect while the queue is not armed.
     *
     * @param entries how many; 0 changes nothing
     * @param nowNs   the time, in nanoseconds
     * @throws IllegalArgumentException if {@code entries} is negative; nothing changes
     */
    public void onEntries(long entries, long nowNs) {
        requireCount(entries);
        if (!armed || entries == 0) {
            return;
        }
        if (waiting == 0) {
            firstNs = nowNs;
        }
        lastNs = nowNs;
        waiting += entries;
    }

    /** The event is raised: nothing is due before the next arm. */
    public void onEvent() {
        armed = false;
        waiting = 0;
    }

    /**
     * Whether an event is to be raised.
     *
     * @param nowNs the time, in nanoseconds
     * @return true once it is due, until {@link #onEvent}
     */
    public boolean isDue(long nowNs) {
        return dueInNs(nowNs) == 0;
    }

    /**
     * How long until an event is due if no entry comes.
     *
     * @param nowNs the time, in nanoseconds
     * @return nanoseconds; 0 if it is due; {@link #NEVER} if no time is set: not armed, nothing waits, or there is no period
     */
    public long dueInNs(long nowNs) {
        if (!armed || waiting == 0) {
            return NEVER;
        }
        final Moderation moderation = this.moderation;
        if (moderation.count() != 0 && waiting >= moderation.count()) {
            return 0;
        }
        if (moderation.periodNs() == 0) {
            return NEVER;
        }
        final long startNs = moderation.mode() == TimerMode.FROM_EVENT ? firstNs : lastNs;
        return Math.max(0, moderation.periodNs() - (nowNs - startNs));
    }

    private static void requireCount(long entries) {
        if (entries < 0) {
            throw new IllegalArgumentException("entries must not be negative: " + entries);
        }
    }
}
