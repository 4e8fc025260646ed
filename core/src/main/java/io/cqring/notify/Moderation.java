package io.cqring.notify;

import java.util.Locale;
import java.util.Objects;

/**
 * How events of a completion queue are held back: one comes when {@code count} entries wait, or when {@code periodNs} has
 * passed, whichever is first. The ranges are mlx5's; a value out of range is refused, never changed.
 *
 * <table>
 *   <caption>What a 0 means</caption>
 *   <tr><th>count</th><th>period</th><th>an event comes</th></tr>
 *   <tr><td>0</td><td>0</td><td>with every entry: no moderation. Kept as count 1, so it equals {@link #OFF}</td></tr>
 *   <tr><td>1</td><td>any</td><td>with every entry: no moderation; the period has no effect</td></tr>
 *   <tr><td>0</td><td>p</td><td>when the period has passed, however many entries wait</td></tr>
 *   <tr><td>n</td><td>0</td><td>when n entries wait. There is no timer: <b>fewer than n entries are never reported</b></td></tr>
 *   <tr><td>n</td><td>p</td><td>by either</td></tr>
 * </table>
 *
 * @param count    entries, 0 to {@value #MAX_COUNT}
 * @param periodNs nanoseconds, 0 to 4,095,000, whole microseconds
 * @param mode     from when the period counts
 */
public record Moderation(int count, long periodNs, TimerMode mode) {
    /** The largest count, in entries: 16 bits. */
    public static final int MAX_COUNT = 65_535;

    /** The longest period, in microseconds: 12 bits. */
    public static final int MAX_PERIOD_US = 4095;

    /** An event with every entry. */
    public static final Moderation OFF = new Moderation(1, 0, TimerMode.FROM_EVENT);

    private static final long NS_PER_US = 1000;
    private static final String FROM_ENTRY_SUFFIX = ",entry";

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException if a value breaks its rule
     * @throws NullPointerException     if there is no mode
     */
    public Moderation {
        Objects.requireNonNull(mode, "mode");
        if (count < 0 || count > MAX_COUNT) {
            throw new IllegalArgumentException("moderation count must be 0 to " + MAX_COUNT + " entries: " + count);
        }
        if (periodNs < 0 || periodNs > MAX_PERIOD_US * NS_PER_US || periodNs % NS_PER_US != 0) {
            throw new IllegalArgumentException("moderation period must be 0 to " + MAX_PERIOD_US * NS_PER_US
                    + " ns, a multiple of " + NS_PER_US + ": " + periodNs);
        }
        if (count == 0 && periodNs == 0) {
            count = 1;
        }
    }

    /**
     * A moderation in the units of {@code ibv_modify_cq}, counted {@link TimerMode#FROM_EVENT}.
     *
     * @param count    entries, 0 to {@value #MAX_COUNT}
     * @param periodUs microseconds, 0 to {@value #MAX_PERIOD_US}
     * @return the moderation
     * @throws IllegalArgumentException if a value breaks its rule
     */
    public static Moderation ofMicros(int count, int periodUs) {
        return ofMicros(count, periodUs, TimerMode.FROM_EVENT);
    }

    /**
     * A moderation in the units of {@code ibv_modify_cq}.
     *
     * @param count    entries, 0 to {@value #MAX_COUNT}
     * @param periodUs microseconds, 0 to {@value #MAX_PERIOD_US}
     * @param mode     from when the period counts
     * @return the moderation
     * @throws IllegalArgumentException if a value breaks its rule
     */
    public static Moderation ofMicros(int count, int periodUs, TimerMode mode) {
        if (periodUs < 0 || periodUs > MAX_PERIOD_US) {
            throw new IllegalArgumentException(
                    "moderation period must be 0 to " + MAX_PERIOD_US + " microseconds: " + periodUs);
        }
        return new Moderation(count, periodUs * NS_PER_US, mode);
    }

    /**
     * Reads what {@link #toString} writes: {@code COUNT,MICROS}, or {@code COUNT,MICROS,entry} for {@link TimerMode#FROM_ENTRY}.
     *
     * @param text for instance {@code 64,16}
     * @return the moderation
     * @throws IllegalArgumentException if the text has another form, or a value breaks its rule
     */
    public static Moderation parse(String text) {
        final boolean fromEntry = text.endsWith(FROM_ENTRY_SUFFIX);
        final String numbers = fromEntry ? text.substring(0, text.length() - FROM_ENTRY_SUFFIX.length()) : text;
        final int comma = numbers.indexOf(',');
        final int count;
        final int periodUs;
        try {
            count = Integer.parseInt(numbers.substring(0, Math.max(comma, 0)));
            periodUs = Integer.parseInt(numbers.substring(comma + 1));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(
                    "moderation must be COUNT,MICROS or COUNT,MICROS,entry, such as 64,16, with a count of 0 to "
                            + MAX_COUNT + " and 0 to " + MAX_PERIOD_US + " microseconds: " + text,
                    e);
        }
        return ofMicros(count, periodUs, fromEntry ? TimerMode.FROM_ENTRY : TimerMode.FROM_EVENT);
    }

    /**
     * The period in the unit of {@code ibv_modify_cq}.
     *
     * @return microseconds
     */
    public int periodUs() {
        return (int) (periodNs / NS_PER_US);
    }

    /**
     * Whether every entry brings an event.
     *
     * @return true if nothing is held back
     */
    public boolean isOff() {
        return count == 1;
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT, "%d,%d%s", count, periodUs(), mode == TimerMode.FROM_ENTRY ? FROM_ENTRY_SUFFIX : "");
    }
}
