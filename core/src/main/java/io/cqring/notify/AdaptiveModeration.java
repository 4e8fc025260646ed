package io.cqring.notify;

/**
 * Chooses a moderation by the traffic: told of every event, it moves through a table of profiles, ordered from few entries
 * per event to many.
 *
 * <pre>
 *   if (adaptive.onEvent(taken, bytes, System.nanoTime())) {
 *       timer.moderation(adaptive.moderation());
 *   }
 * </pre>
 *
 * <p><b>Role:</b> one thread at a time, the one that handles the events. <b>Allocation:</b> none per event.
 */
public interface AdaptiveModeration {
    /**
     * An event has been handled. The caller is to put a new moderation into effect before the next event.
     *
     * @param completions completions that were taken because of it
     * @param bytes       bytes that these stand for
     * @param nowNs       the time, in nanoseconds of a monotonic clock, which may wrap
     * @return true if {@link #moderation()} is another one now
     * @throws IllegalArgumentException if a number is negative; nothing changes
     */
    boolean onEvent(int completions, long bytes, long nowNs);

    /**
     * The place of the present moderation in the table.
     *
     * @return from 0
     */
    int profileIndex();

    /**
     * A moderation of the table.
     *
     * @param index its place, from 0
     * @return the moderation, always the same object
     * @throws IndexOutOfBoundsException if the table has no such place
     */
    Moderation profile(int index);

    /**
     * The moderation that is to be in effect.
     *
     * @return one of the table
     */
    default Moderation moderation() {
        return profile(profileIndex());
    }
}
