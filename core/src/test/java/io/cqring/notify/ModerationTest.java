package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The value: what it accepts, what it is then, and how it is written. */
class ModerationTest {
    /** Nothing is clamped: what is accepted reads back as it was given; only 0,0 has another name. */
    @FieldBug(105)
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // given     | count | us   | ns      | mode       | off   | written
                "0,0         | 1     | 0    | 0       | FROM_EVENT | true  | 1,0",
                "1,0         | 1     | 0    | 0       | FROM_EVENT | true  | 1,0",
                "1,16        | 1     | 16   | 16000   | FROM_EVENT | true  | 1,16",
                "0,1         | 0     | 1    | 1000    | FROM_EVENT | false | 0,1",
                "2,0         | 2     | 0    | 0       | FROM_EVENT | false | 2,0",
                "64,16       | 64    | 16   | 16000   | FROM_EVENT | false | 64,16",
                "65535,4095  | 65535 | 4095 | 4095000 | FROM_EVENT | false | 65535,4095",
                "64,16,entry | 64    | 16   | 16000   | FROM_ENTRY | false | 64,16,entry",
                "0,0,entry   | 1     | 0    | 0       | FROM_ENTRY | true  | 1,0,entry"
            })
    void readsBackAsItWasGiven(
            String text, int count, int periodUs, long periodNs, TimerMode mode, boolean off, String written) {
        Moderation moderation = Moderation.parse(text);
        assertEquals(count, moderation.count());
        assertEquals(periodUs, moderation.periodUs());
        assertEquals(periodNs, moderation.periodNs());
        assertEquals(mode, moderation.mode());
        assertEquals(off, moderation.isOff());
        assertEquals(written, moderation.toString());
        assertEquals(moderation, Moderation.parse(written));
        assertEquals(moderation, Moderation.ofMicros(count, periodUs, mode));
        assertEquals(moderation, new Moderation(count, periodNs, mode));
    }

    @Test
    void noModerationHasOneName() {
        assertEquals(Moderation.OFF, Moderation.ofMicros(0, 0));
        assertEquals(1, Moderation.OFF.count());
        assertEquals(0, Moderation.OFF.periodNs());
        assertTrue(Moderation.OFF.isOff());
        assertFalse(Moderation.ofMicros(0, 1).isOff());
    }

    @FieldBug(105)
    @Test
    void outOfRangeIsRefusedNotClamped() {
        assertRefused("moderation count must be 0 to 65535 entries: 65536", () -> Moderation.ofMicros(65_536, 1));
        assertRefused("moderation count must be 0 to 65535 entries: -1", () -> Moderation.ofMicros(-1, 1));
        assertRefused("moderation period must be 0 to 4095 microseconds: 4096", () -> Moderation.ofMicros(1, 4096));
        assertRefused("moderation period must be 0 to 4095 microseconds: -1", () -> Moderation.ofMicros(1, -1));
        assertRefused(
                "moderation period must be 0 to 4095000 ns, a multiple of 1000: 4096000",
                () -> new Moderation(1, 4_096_000, TimerMode.FROM_EVENT));
        assertRefused(
                "moderation period must be 0 to 4095000 ns, a multiple of 1000: -1000",
                () -> new Moderation(1, -1000, TimerMode.FROM_EVENT));
        assertRefused(
                "moderation period must be 0 to 4095000 ns, a multiple of 1000: 1500",
                () -> new Moderation(1, 1500, TimerMode.FROM_EVENT));
        assertRefused("moderation count must be 0 to 65535 entries: 70000", () -> Moderation.parse("70000,1"));
        assertRefused("moderation period must be 0 to 4095 microseconds: 5000", () -> Moderation.parse("1,5000"));
        assertThrows(NullPointerException.class, () -> new Moderation(1, 0, null));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''",
                "64",
                "64,",
                ",16",
                "64,16,",
                "64 16",
                "64,16,event",
                "64,16,entry,entry",
                "x,1",
                "99999999999,1"
            })
    void anotherFormIsRefused(String text) {
        assertRefused(
                "moderation must be COUNT,MICROS or COUNT,MICROS,entry, such as 64,16, with a count of 0 to 65535 and 0"
                        + " to 4095 microseconds: " + text,
                () -> Moderation.parse(text));
    }

    private static void assertRefused(String message, Executable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
