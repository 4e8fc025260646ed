package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When an event is due, on a virtual clock. */
class ModerationTimerTest {
    private static final long US = 1000;

    private static ModerationTimer timer(String moderation) {
        return new ModerationTimer(Moderation.parse(moderation));
    }

    private static void assertDueFrom(long dueNs, ModerationTimer timer, long sinceNs) {
        assertEquals(dueNs - sinceNs, timer.dueInNs(sinceNs));
        assertFalse(timer.isDue(dueNs - 1), "one nanosecond early");
        assertTrue(timer.isDue(dueNs));
        assertTrue(timer.isDue(dueNs + 1), "it stays due");
        assertTrue(timer.isDue(dueNs + 1_000_000_000_000L), "it stays due");
        assertEquals(0, timer.dueInNs(dueNs + 5));
    }

    private static void assertNever(ModerationTimer timer, long nowNs) {
        assertEquals(ModerationTimer.NEVER, timer.dueInNs(nowNs));
        assertFalse(timer.isDue(nowNs));
        assertFalse(timer.isDue(nowNs + 1_000_000_000_000L));
    }

    /** Also where the clock wraps between entry and event, and however long the queue was idle before. */
    @FieldBug(105)
    @ParameterizedTest
    @ValueSource(longs = {0, -1, 123_456_789, Long.MAX_VALUE, Long.MAX_VALUE - 8 * US, Long.MIN_VALUE})
    void aLoneEntryIsDueAfterExactlyOnePeriod(long cameNs) {
        for (String moderation : new String[] {"64,16", "0,16", "64,16,entry", "0,16,entry"}) {
            for (long idleNs : new long[] {0, 1, 15 * US, 16 * US, 17 * US, 1_000_000_000}) {
                ModerationTimer timer = timer(moderation);
                timer.onArm(0, cameNs - idleNs);
                assertNever(timer, cameNs);
                timer.onEntries(1, cameNs);
                assertDueFrom(cameNs + 16 * US, timer, cameNs);
                timer.onEvent();
                assertNever(timer, cameNs + 16 * US);
            }
        }
    }

    @FieldBug(105)
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // moderation | entries | due after so many us; -1: never
                "0,0      | 1     | 0",
                "1,0      | 1     | 0",
                "1,16     | 1     | 0",
                "0,16     | 1     | 16",
                "0,16     | 70000 | 16",
                "64,0     | 63    | -1",
                "64,0     | 64    | 0",
                "64,0     | 65    | 0",
                "64,16    | 63    | 16",
                "64,16    | 64    | 0",
                "65535,4095 | 65534 | 4095",
                "65535,4095 | 65535 | 0",
                "64,16    | 0     | -1",
                "0,0      | 0     | -1"
            })
    void whatAZeroMeans(String moderation, long entries, long us) {
        for (String suffix : new String[] {"", ",entry"}) {
            ModerationTimer after = timer(moderation + suffix);
            after.onArm(0, 0);
            after.onEntries(entries, 500);
            assertEquals(us < 0 ? ModerationTimer.NEVER : us * US, after.dueInNs(500));
            ModerationTimer before = timer(moderation + suffix);
            before.onArm(entries, 500); // the entries were there when the queue was armed
            assertEquals(us < 0 ? ModerationTimer.NEVER : us * US, before.dueInNs(500));
        }
    }

    /** Entries at 1, 6 and 11 us: the first counts, or the last. */
    @Test
    void theModesDifferInWhatStartsTheTimer() {
        for (String moderation : new String[] {"64,16", "64,16,entry"}) {
            ModerationTimer timer = timer(moderation);
            timer.onArm(0, 0);
            for (long us : new long[] {1, 6, 11}) {
                timer.onEntries(1, us * US);
                timer.onEntries(0, us * US + 1);
            }
            assertDueFrom((moderation.endsWith("entry") ? 27 : 17) * US, timer, 11 * US);
        }
    }

    /**
     * By hand, a period of 10 us: the instants at which events come. {@code a5+2}: the host arms at 5 us, two entries wait; {@code 7}: an
     * entry at 7 us. What is due at an instant comes before what happens then.
     */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // count | what happens              | from the event | from the last entry
                "0 | a0+0 3                      | 13    | 13",
                "0 | a0+0 3 7 12                 | 13    | 22", // 12 is within 10 of 7, which is within 10 of 3
                "0 | a0+0 3 12 21 30             | 13    | 40",
                "0 | a0+0 3 13                   | 13    | 13", // 13 comes too late to put it off
                "0 | a0+0 3 12 23                | 13    | 22",
                "0 | a0+0 3 4 5 6                | 13    | 16",
                "0 | a5+2                        | 15    | 15", // they wait from the arm on
                "0 | a5+2 9                      | 15    | 19",
                "0 | a5+2 9 18                   | 15    | 28",
                "0 | a0+0 3 a8+1                 | 13    | 13", // a second arm puts nothing off
                "0 | a0+0 3 7 a9+2               | 13    | 17",
                "0 | a0+0 a9+0 12                | 22    | 22",
                "0 | a0+0 3 14 16 a20+2          | 13 30 | 13 30", // 14 and 16 find it unarmed
                "0 | a0+0 3 14 16 a20+2 25       | 13 30 | 13 35",
                "0 | a0+0 3 a20+0 24             | 13 34 | 13 34", // the old entry's time is forgotten
                "0 | a0+0 3 5 a20+0 24 29        | 13 34 | 15 39",
                "3 | a0+0 3 12 21 30             | 13    | 21", // the count is reached before the trickle ends
                "3 | a0+0 3 4 5                  | 5     | 5",
                "3 | a0+0 3 4 a8+2 9             | 9     | 9",
                "3 | a0+0 3 4 a20+1 22           | 13 30 | 14 32",
                "3 | a0+0 3 4 a20+1 22 29        | 13 29 | 14 29",
                "3 | a5+3                        | 5     | 5"
            })
    void eventsComeAtTheInstantsWorkedOutByHand(int count, String happens, String fromEvent, String fromEntry) {
        for (TimerMode mode : TimerMode.values()) {
            String expected = mode == TimerMode.FROM_EVENT ? fromEvent : fromEntry;
            for (long originNs : new long[] {0, -20 * US, Long.MAX_VALUE - 20 * US}) { // the clock may wrap
                assertEquals(expected, events(Moderation.ofMicros(count, 10, mode), happens, originNs), mode::toString);
            }
        }
    }

    /** Looks every half of a microsecond, and after each thing that happens. */
    private static String events(Moderation moderation, String happens, long originNs) {
        ModerationTimer timer = new ModerationTimer(moderation);
        StringBuilder events = new StringBuilder();
        for (long halfUs = 0; halfUs <= 200; halfUs++) {
            long nowNs = originNs + halfUs * US / 2;
            String instant = halfUs % 2 == 0 ? "" + halfUs / 2 : halfUs / 2 + ".5";
            raise(timer, nowNs, instant, events);
            for (String one : happens.split(" ", -1)) {
                String[] words = one.split("\\+", -1);
                if (words[0].equals("a" + instant)) {
                    timer.onArm(Long.parseLong(words[1]), nowNs);
                } else if (words[0].equals(instant)) {
                    timer.onEntries(1, nowNs);
                }
            }
            raise(timer, nowNs, instant, events);
        }
        return events.toString();
    }

    private static void raise(ModerationTimer timer, long nowNs, String instant, StringBuilder events) {
        if (timer.isDue(nowNs)) {
            timer.onEvent();
            events.append(events.length() == 0 ? "" : " ").append(instant);
        }
    }

    /** One entry every 10 us and a period of 16: with a count it comes with the 64th, at 640 us; without, after the last. */
    @Test
    void aTricklePutsOffAnEventOnlyInTheModeFromEntry() {
        ModerationTimer counted = timer("64,16,entry");
        ModerationTimer timed = timer("0,16,entry");
        counted.onArm(0, 0);
        timed.onArm(0, 0);
        for (long i = 1; i <= 1000; i++) {
            assertEquals(i > 64, counted.isDue(i * 10 * US - 1));
            assertFalse(timed.isDue(i * 10 * US - 1));
            counted.onEntries(1, i * 10 * US);
            timed.onEntries(1, i * 10 * US);
        }
        assertDueFrom(10_016 * US, timed, 10_000 * US);
    }

    @Test
    void nothingIsDueUnarmed() {
        ModerationTimer timer = timer("2,16");
        timer.onEntries(100, 0);
        assertNever(timer, 100 * US);
        timer.onArm(1, 100 * US); // of the hundred, one is not polled
        assertDueFrom(116 * US, timer, 100 * US);
        timer.onEntries(1, 101 * US);
        assertTrue(timer.isDue(101 * US));
        timer.onEvent();
        timer.onEntries(5, 102 * US);
        assertNever(timer, 102 * US);
    }

    /** A host that arms again and again, every 5 us, does not push the event away. */
    @Test
    void aRepeatedArmDoesNotPutTheEventOff() {
        ModerationTimer timer = timer("64,16");
        timer.onArm(1, 0);
        for (long us = 5; us <= 15; us += 5) {
            timer.onEntries(1, us * US);
            timer.onArm(2, us * US);
        }
        assertDueFrom(16 * US, timer, 15 * US);
        timer.onArm(0, 15 * US); // all was polled: the next entry starts the timer
        assertNever(timer, 20 * US);
        timer.onEntries(1, 20 * US);
        assertDueFrom(36 * US, timer, 20 * US);
    }

    /** Ten entries wait since 1 us, the last since 5 us; then the values change at 6 us. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // new       | due in so many us, seen at 6 us; -1: never
                "64,16       | 11",
                "64,16,entry | 15",
                "10,16       | 0",
                "11,100      | 95",
                "64,5        | 0",
                "64,4        | 0",
                "64,0        | -1",
                "0,0         | 0"
            })
    void aChangeTakesEffectAtOnceAndLosesNothing(String moderation, long us) {
        ModerationTimer timer = timer("64,50");
        timer.onArm(0, 0);
        timer.onEntries(4, US);
        timer.onEntries(6, 5 * US);
        assertEquals(45 * US, timer.dueInNs(6 * US));
        timer.moderation(Moderation.parse(moderation));
        assertEquals(Moderation.parse(moderation), timer.moderation());
        assertEquals(us < 0 ? ModerationTimer.NEVER : us * US, timer.dueInNs(6 * US));
        timer.moderation(Moderation.parse("64,50"));
        assertEquals(45 * US, timer.dueInNs(6 * US), "and back");
    }

    @Test
    void negativeCountsAreRefused() {
        ModerationTimer timer = timer("2,16");
        timer.onArm(1, 0);
        for (Executable call : new Executable[] {() -> timer.onEntries(-1, 5), () -> timer.onArm(-1, 5)}) {
            assertEquals(
                    "entries must not be negative: -1",
                    assertThrows(IllegalArgumentException.class, call).getMessage());
        }
        assertDueFrom(16 * US, timer, 0);
        assertThrows(NullPointerException.class, () -> timer.moderation(null));
        assertThrows(NullPointerException.class, () -> new ModerationTimer(null));
    }

    /**
     * Random traffic against a list of the times at which the waiting entries came. The device looks once per microsecond, so
     * no entry waits longer than a period in the mode from event, and none is ever forgotten.
     */
    @FieldBug(105)
    @Test
    void randomTrafficAgainstAListOfEntries() {
        for (long seed = 1; seed <= 200; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int count = random.nextInt(0, 20);
            int periodUs = random.nextInt(1, 40);
            boolean fromEntry = random.nextBoolean();
            ModerationTimer timer = new ModerationTimer(
                    Moderation.ofMicros(count, periodUs, fromEntry ? TimerMode.FROM_ENTRY : TimerMode.FROM_EVENT));
            long startNs = random.nextLong();
            Deque<Long> waiting = new ArrayDeque<>();
            boolean armed = false;
            long events = 0;
            for (long us = 0; us < 3000; us++) {
                long nowNs = startNs + us * US;
                String where = "seed " + seed + ", at " + us + " us";
                if (!armed && random.nextInt(5) == 0) {
                    int left = random.nextInt(3);
                    timer.onArm(left, nowNs);
                    armed = true;
                    for (int i = 0; i < left; i++) {
                        waiting.add(us);
                    }
                }
                if (random.nextInt(8) == 0) {
                    int entries = random.nextInt(1, 4);
                    timer.onEntries(entries, nowNs);
                    for (int i = 0; armed && i < entries; i++) {
                        waiting.add(us);
                    }
                }
                boolean expected = armed
                        && !waiting.isEmpty()
                        && ((count > 0 && waiting.size() >= count)
                                || us - (fromEntry ? waiting.peekLast() : waiting.peekFirst()) >= periodUs);
                assertEquals(expected, timer.isDue(nowNs), where);
                if (expected) {
                    assertTrue(us - (fromEntry ? waiting.peekLast() : waiting.peekFirst()) <= periodUs, where);
                    timer.onEvent();
                    waiting.clear();
                    armed = false;
                    events++;
                }
            }
            assertTrue(events > 0, "seed " + seed);
        }
    }
}
