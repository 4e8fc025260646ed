package io.cqring.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Constructor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * When {@code CompletionChannel.awaitModerated} returns, and with how many entries, worked out by hand: the shipped classes on the clock of
 * {@link Explorer}, which stands still while anybody can run. What two threads do at one instant comes in every order.
 */
class ModeratedTimesTest {
    private static int explore(HookedClasses classes, String calls, String writes, String expected) throws Exception {
        Constructor<?> rig = classes.loadClass(ChannelRigInTime.class.getName())
                .getConstructor(String.class, String.class, String.class);
        return Explorer.exploreInTime(() -> {
            try {
                return (Explorer.Run) rig.newInstance(calls, writes, expected);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    /** Waits of at most 50 us for a ring of four entries; a period of 10 us where there is one. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // count,period | entries come at | from the first | from the last entry
                "4,10 | 3          | 13 1 | 13 1",
                "0,10 | 3          | 13 1 | 13 1",
                "0,10 | 3 7 12     | 13 3 | 22 3", // 12 is within 10 of 7, which is within 10 of 3
                "0,10 | 3 12 21 30 | 13 2 | 30 4", // a full ring ends it
                "0,10 | 3 12 21    | 13 2 | 31 3",
                "0,10 | 3 14       | 13 1 | 13 1", // 14 comes too late to put it off
                "0,10 | 3 12 23    | 13 2 | 22 2",
                "0,10 | 3 4 5      | 13 3 | 15 3",
                "3,10 | 3 12 21 30 | 13 2 | 21 3", // the count is reached before the trickle ends
                "3,10 | 3 4 5      | 5 3  | 5 3",
                "3,10 | 3 4 4      | 4 3  | 4 3",
                "4,10 | 3 3 3 3    | 3 4  | 3 4",
                "2,10 | 3 4        | 4 2  | 4 2",
                "2,10 | 3 14       | 13 1 | 13 1",
                // Some are there: the time is that of the waiter, who sees them at 0.
                "4,10 | 0          | 10 1 | 10 1",
                "4,10 | 0 0 5      | 10 3 | 15 3",
                "3,10 | 0 0 4      | 4 3  | 4 3",
                "3,10 | 0 0 0      | 0 3  | 0 3",
                // No moderation, no period, no entry; more than the ring holds.
                "1,10 | 3 4        | 3 1  | 3 1",
                "3,0  | 3 4        | 50 2 | 50 2",
                "3,0  | 3 4 40     | 40 3 | 40 3",
                "3,10 | 60         | 50 - | 50 -",
                "9,0  | 3 5 7 9    | 9 4  | 9 4",
                // The time runs out first.
                "4,10 | 45         | 50 1 | 50 1",
                "0,10 | 36 45      | 46 2 | 50 2"
            })
    void returnsAtTheInstantWorkedOutByHand(String moderation, String writes, String fromEvent, String fromEntry)
            throws Exception {
        HookedClasses classes = new HookedClasses();
        assertTrue(explore(classes, moderation + " 50", writes, fromEvent) > 0);
        assertTrue(explore(classes, moderation + ",entry 50", writes, fromEntry) > 0);
    }

    /** One wait after the other, with another moderation: what the last one armed for does not count any more. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                // waits                             | entries come at | each returns at, with
                "4,10 50; 2,10 50                    | 3 15 17         | 13 1; 17 2",
                "4,10 50; 1,0 50                     | 3 15            | 13 1; 15 1",
                "0,10 50; 0,10,entry 50              | 3 12 15 24      | 13 2; 34 2",
                // The first runs out of time, and its entry is still there: the period starts anew.
                "4,10 8 keep; 2,10 50                | 3 12            | 8 1; 12 2",
                "4,10 8 keep; 3,10 50                | 3 12            | 8 1; 18 2",
                "4,10,entry 8 keep; 3,10,entry 50    | 3 12            | 8 1; 22 2",
                "2,0 8 keep; 4,0 50                  | 3 12 20 30      | 8 1; 30 4",
                "2,0 8 keep; 3,10,entry 50           | 3 12 21         | 8 1; 21 3",
                "4,0,entry 8 keep; 1,0 50            | 3 12            | 8 1; 8 1",
                // It ran out before there was any: the arm of the first is still there.
                "4,10 8; 2,10 50                     | 9 11            | 8 -; 11 2",
                "1,0 8; 3,10 50                      | 9 15            | 8 -; 19 2"
            })
    void aNewModerationCountsFromTheNextWait(String calls, String writes, String expected) throws Exception {
        assertTrue(explore(new HookedClasses(), calls, writes, expected) > 0);
    }

    /** Of a test that could not fail. */
    @Test
    void shouldNoticeAnotherInstant() {
        AssertionError error =
                assertThrows(AssertionError.class, () -> explore(new HookedClasses(), "4,10 50", "3", "12 1"));
        assertEquals("expected 12 1, but it was 13 1", error.getCause().getMessage());
    }
}
