package io.cqring.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.jmh.RoundRunner.Round;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class TransferTest {
    @Test
    void expectedSumIsThatOfTheWordsWrittenOut() {
        // three words: 0 1 2, 1 2 3, 2 3 4
        assertEquals(18, Transfer.expectedSum(3, 3));
        // seven words: 0..6 (21), 1..7 (28)
        assertEquals(49, Transfer.expectedSum(2, 7));
        assertEquals(0, Transfer.expectedSum(0, 7));
        // 3 x (0 + ... + 65535) + 65536 x 3
        assertEquals(3L * 2147450880L + 196608L, Transfer.expectedSum(65536, 3));
    }

    @Test
    void payloadIsWhatAnEntryCarriesBesideItsHeader() {
        assertEquals(7, Transfer.wordsOf(64));
        assertEquals(3, Transfer.wordsOf(32));
        assertThrows(IllegalArgumentException.class, () -> Transfer.wordsOf(128));
    }

    /** Both threads' loops on one thread: no more entries than the ring holds. */
    @ParameterizedTest
    @EnumSource
    void everyRingDeliversEveryWord(Contender contender) {
        for (int entryBytes : new int[] {64, 32}) {
            Transfer transfer = contender.create(entryBytes);
            for (int lap = 0; lap < 3; lap++) {
                long before = transfer.tally().sum;
                transfer.send(1000, 5000);
                transfer.receive(5000);
                long sum = 0;
                for (long s = 1000; s < 6000; s++) {
                    for (int word = 0; word < (entryBytes == 64 ? 7 : 3); word++) {
                        sum += s + word;
                    }
                }
                assertEquals(sum, transfer.tally().sum - before, contender + " " + entryBytes + " lap " + lap);
            }
            assertEquals(0, transfer.fullRefusals);
        }
    }

    @ParameterizedTest
    @EnumSource
    void everyRingCrossesThreads(Contender contender) {
        try (RoundRunner runner = new RoundRunner()) {
            Transfer transfer = contender.create(64);
            Round round = runner.run(transfer, 2);
            assertEquals(2 * RoundRunner.SLICE, round.entries());
            assertTrue(round.seconds() > 0);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"CQRING", "CQRING_CLAIM"})
    void completionQueueAllocatesNothing(Contender contender) {
        try (RoundRunner runner = new RoundRunner()) {
            Transfer transfer = contender.create(64);
            runner.run(transfer, 1); // classes load
            assertEquals(0, runner.run(transfer, 1).allocatedBytes());
        }
    }

    /** A ring that delivers all but one word right. */
    private static final class Lossy extends Transfer {
        private final PollerTally tally = new PollerTally() {};

        Lossy() {
            super(64);
        }

        @Override
        void send(long first, int count) {}

        @Override
        void receive(long count) {
            tally.sum += expectedSum(count, 7) - 1;
        }

        @Override
        PollerTally tally() {
            return tally;
        }
    }

    @Test
    void wrongWordFailsTheRound() {
        try (RoundRunner runner = new RoundRunner()) {
            IllegalStateException wrong = assertThrows(IllegalStateException.class, () -> runner.run(new Lossy(), 1));
            assertTrue(wrong.getMessage().contains("Lossy"), wrong.getMessage());
        }
    }

    /** A ring whose allocations must be seen: 16 bytes or more per entry. */
    private static final class Wasteful extends Transfer {
        private final PollerTally tally = new PollerTally() {};
        private Object last = "";

        Wasteful() {
            super(64);
        }

        @Override
        void send(long first, int count) {
            for (int i = 0; i < count; i++) {
                last = new Object[] {last.getClass()};
            }
        }

        @Override
        void receive(long count) {
            tally.sum += expectedSum(count, 7);
        }

        @Override
        PollerTally tally() {
            return tally;
        }
    }

    @Test
    void allocationIsSeen() {
        try (RoundRunner runner = new RoundRunner()) {
            Round round = runner.run(new Wasteful(), 1);
            assertTrue(round.allocatedBytes() >= 16L * RoundRunner.SLICE, "allocated: " + round.allocatedBytes());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"handler", "cursor", "hand-written"})
    void everyWayOfPollingReadsEveryWord(String way) {
        PollRing ring = switch (way) {
            case "handler" -> new PollRing.Handler();
            case "cursor" -> new PollRing.Cursor();
            default -> new PollRing.HandWritten();
        };
        // 256 entries of s .. s + 6: 7 x (0 + ... + 255) + 256 x 21
        long fill = 7 * 32640 + 5376;
        assertEquals(fill, PollRing.sumOfFill());
        for (int lap = 1; lap <= 3; lap++) {
            ring.fill();
            assertEquals(lap * fill, ring.drain());
        }
        assertThrows(IllegalStateException.class, ring::drain, "an empty ring must not pass for a polled one");
    }
}
