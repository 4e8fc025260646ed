package io.cqring.simnic.workload;

import static io.cqring.simnic.workload.CollectiveKind.ALL_GATHER;
import static io.cqring.simnic.workload.CollectiveKind.ALL_REDUCE;
import static io.cqring.simnic.workload.CollectiveKind.ALL_TO_ALL;
import static io.cqring.simnic.workload.CollectiveKind.BARRIER;
import static io.cqring.simnic.workload.CollectiveKind.BROADCAST;
import static io.cqring.simnic.workload.CollectiveKind.ISEND;
import static io.cqring.simnic.workload.CollectiveKind.REDUCE;
import static io.cqring.simnic.workload.CollectiveKind.REDUCE_SCATTER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class MessagePlanTest {
    /** Every number written by hand from the definition. */
    @ParameterizedTest(name = "{0} S={1} R={2} C={3}")
    @CsvSource({
        // kind, S, R, C,            steps, messages, bytes each, chunks each, chunks, completions
        "ALL_REDUCE,     1000, 2, 100,   2,   4, 500,  5,   20,   40",
        "ALL_REDUCE,     1000, 3, 100,   4,  12, 334,  4,   48,   96",
        "ALL_REDUCE,     1000, 4, 100,   6,  24, 250,  3,   72,  144",
        "ALL_REDUCE,     1000, 8, 100,  14, 112, 125,  2,  224,  448",
        "REDUCE_SCATTER, 1000, 2, 100,   1,   2, 500,  5,   10,   20",
        "REDUCE_SCATTER, 1000, 3, 100,   2,   6, 334,  4,   24,   48",
        "REDUCE_SCATTER, 1000, 4, 100,   3,  12, 250,  3,   36,   72",
        "REDUCE_SCATTER, 1000, 8, 100,   7,  56, 125,  2,  112,  224",
        "ALL_GATHER,     1000, 2, 100,   1,   2, 500,  5,   10,   20",
        "ALL_GATHER,     1000, 3, 100,   2,   6, 334,  4,   24,   48",
        "ALL_GATHER,     1000, 4, 100,   3,  12, 250,  3,   36,   72",
        "ALL_GATHER,     1000, 8, 100,   7,  56, 125,  2,  112,  224",
        "ALL_TO_ALL,     1000, 2, 100,   1,   2, 500,  5,   10,   20",
        "ALL_TO_ALL,     1000, 3, 100,   1,   6, 334,  4,   24,   48",
        "ALL_TO_ALL,     1000, 4, 100,   1,  12, 250,  3,   36,   72",
        "ALL_TO_ALL,     1000, 8, 100,   1,  56, 125,  2,  112,  224",
        "BROADCAST,      1000, 2, 100,   1,   1, 1000, 10,  10,   20",
        "BROADCAST,      1000, 3, 100,   2,   2, 1000, 10,  20,   40",
        "BROADCAST,      1000, 8, 100,   7,   7, 1000, 10,  70,  140",
        "REDUCE,         1000, 2, 100,   1,   1, 1000, 10,  10,   20",
        "REDUCE,         1000, 4, 100,   3,   3, 1000, 10,  30,   60",
        "REDUCE,         1000, 8, 100,   7,   7, 1000, 10,  70,  140",
        "ISEND,          1000, 2, 100,   1,   1, 1000, 10,  10,   20",
        "ISEND,          1001, 8, 100,   1,   1, 1001, 11,  11,   22",
        "IRECV,          1000, 8, 100,   0,   0, 0,     1,   0,    0",
        "BARRIER,           0, 2, 100,   1,   2, 0,     1,   2,    4",
        "BARRIER,           0, 8, 100,   1,   8, 0,     1,   8,   16",
        "BARRIER,        1000, 8, 100,   1,   8, 0,     1,   8,   16",
        "EPOCH_END,         0, 8, 100,   0,   0, 0,     1,   0,    0",
        "EPOCH_END,      1000, 8, 100,   0,   0, 0,     1,   0,    0",
        // nothing, one byte, and sizes around a whole chunk
        "ALL_REDUCE,        0, 4, 100,   6,  24, 0,     1,  24,   48",
        "ALL_TO_ALL,        0, 4, 100,   1,  12, 0,     1,  12,   24",
        "BROADCAST,         0, 4, 100,   3,   3, 0,     1,   3,    6",
        "ISEND,             0, 4, 100,   1,   1, 0,     1,   1,    2",
        "ALL_GATHER,        1, 8, 100,   7,  56, 1,     1,  56,  112",
        "ALL_GATHER,        9, 8, 100,   7,  56, 2,     1,  56,  112",
        "BROADCAST,        99, 2, 100,   1,   1, 99,    1,   1,    2",
        "BROADCAST,       100, 2, 100,   1,   1, 100,   1,   1,    2",
        "BROADCAST,       101, 2, 100,   1,   1, 101,   2,   2,    4",
        "BROADCAST,         5, 2,   1,   1,   1, 5,     5,   5,   10",
        // sizes of real jobs: beyond int, and beyond it per message
        "REDUCE_SCATTER, 6422958080, 8, 524288,  7, 56, 802869760, 1532, 85792, 171584",
        "BROADCAST, 6422958080, 8, 524288, 7, 7, 6422958080, 12251, 85757, 171514"
    })
    void shouldMatchTheTableWrittenByHand(
            CollectiveKind kind,
            long size,
            int ranks,
            long chunkBytes,
            int steps,
            long messages,
            long bytes,
            long chunksPerMessage,
            long chunks,
            long completions) {
        MessagePlan plan = plan(kind, size, ranks, chunkBytes);
        assertEquals(steps, plan.steps(), "steps");
        assertEquals(messages, plan.messages(), "messages");
        assertEquals(bytes, plan.bytes(), "bytes per message");
        assertEquals(chunksPerMessage, plan.chunksPerMessage(), "chunks per message");
        assertEquals(chunks, plan.chunks(), "chunks");
        assertEquals(completions, plan.completions(), "completions");
    }

    @Test
    void ringShouldSendToTheNextRankAndWaitForOneArrivalMorePerStep() {
        assertEquals(
                List.of(
                        "0>1@0", "0>1@1", "0>1@2", "0>1@3", //
                        "1>2@0", "1>2@1", "1>2@2", "1>2@3", //
                        "2>0@0", "2>0@1", "2>0@2", "2>0@3"),
                sends(ALL_REDUCE, 3));
        List<String> half = List.of("0>1@0", "0>1@1", "1>2@0", "1>2@1", "2>0@0", "2>0@1");
        assertEquals(half, sends(REDUCE_SCATTER, 3));
        assertEquals(half, sends(ALL_GATHER, 3));
        assertEquals(List.of("0>1@0", "0>1@1", "1>0@0", "1>0@1"), sends(ALL_REDUCE, 2));
    }

    @Test
    void allToAllShouldReachEveryOtherRankAtOnceBeginningWithTheNext() {
        assertEquals(
                List.of(
                        "0>1@0", "0>2@0", "0>3@0", //
                        "1>2@0", "1>3@0", "1>0@0", //
                        "2>3@0", "2>0@0", "2>1@0", //
                        "3>0@0", "3>1@0", "3>2@0"),
                sends(ALL_TO_ALL, 4));
    }

    @Test
    void chainsShouldGoHopByHopFromTheHeadWhichWaitsForNobody() {
        assertEquals(List.of("0>1@0", "1>2@1", "2>3@1"), sends(BROADCAST, 4));
        assertEquals(List.of("1>0@1", "2>1@1", "3>2@0"), sends(REDUCE, 4));
        assertEquals(List.of("0>1@0"), sends(BROADCAST, 2));
        assertEquals(List.of("1>0@0"), sends(REDUCE, 2));
    }

    @Test
    void isendShouldGoToRankOneAndBarrierOnceRound() {
        assertEquals(List.of("0>1@0"), sends(ISEND, 4));
        assertEquals(List.of("0>1@0", "1>2@0", "2>0@0"), sends(BARRIER, 3));
        assertEquals(List.of(), sends(CollectiveKind.IRECV, 3));
        assertEquals(List.of(), sends(CollectiveKind.EPOCH_END, 3));
    }

    @ParameterizedTest
    @CsvSource({
        "ALL_REDUCE, 6 6 6 6",
        "REDUCE_SCATTER, 3 3 3 3",
        "ALL_GATHER, 3 3 3 3",
        "ALL_TO_ALL, 3 3 3 3",
        "BROADCAST, 0 1 1 1",
        "REDUCE, 1 1 1 0",
        "ISEND, 0 1 0 0",
        "IRECV, 0 0 0 0",
        "BARRIER, 1 1 1 1",
        "EPOCH_END, 0 0 0 0"
    })
    void shouldKnowHowManyMessagesArriveAtEachOfFourRanks(CollectiveKind kind, String expected) {
        MessagePlan plan = plan(kind, 1000, 4, 100);
        String into = plan.messagesInto(0) + " " + plan.messagesInto(1) + " " + plan.messagesInto(2) + " "
                + plan.messagesInto(3);
        assertEquals(expected, into);
    }

    @Test
    void lastChunkShouldBeTheRemainder() {
        assertEquals(List.of(100L, 100L, 50L), chunkBytes(plan(ISEND, 250, 2, 100)));
        assertEquals(List.of(100L, 100L), chunkBytes(plan(ISEND, 200, 2, 100)));
        assertEquals(List.of(1L), chunkBytes(plan(ISEND, 1, 2, 100)));
        assertEquals(List.of(0L), chunkBytes(plan(ISEND, 0, 2, 100)));
        assertEquals(List.of(0L), chunkBytes(plan(BARRIER, 250, 2, 100)));
        assertEquals(List.of(84L, 83L), chunkBytes(plan(ALL_GATHER, 500, 3, 84)));
    }

    @Test
    void shouldPlanTheLargestSizeThereIs() {
        MessagePlan plan = plan(BROADCAST, Long.MAX_VALUE, 2, Long.MAX_VALUE);
        assertEquals(1, plan.chunks());
        assertEquals(Long.MAX_VALUE, plan.chunkBytes(0));

        MessagePlan split = plan(BROADCAST, Long.MAX_VALUE, 2, 4);
        assertEquals(2305843009213693952L, split.chunksPerMessage()); // 2^61
        assertEquals(4611686018427387904L, split.completions()); // 2^62
        assertEquals(4, split.chunkBytes(0));
        assertEquals(3, split.chunkBytes(2305843009213693951L));

        assertEquals(1L << 62, plan(ALL_GATHER, Long.MAX_VALUE, 2, 1L << 62).bytes());
    }

    @ParameterizedTest
    @CsvSource({
        "BROADCAST, 9223372036854775807, 2, 1",
        "BROADCAST, 9223372036854775807, 2, 2", // 2^62 chunks still fit, twice as many completions do not
        "ALL_REDUCE, 9223372036854775807, 8, 1",
        "ALL_TO_ALL, 9223372036854775807, 1000000, 1",
        "ALL_REDUCE, 1, 2147483647, 1",
        "ALL_TO_ALL, 4611686018427387904, 2147483647, 1",
    })
    void shouldNameTheCollectiveWhenANumberDoesNotFit(CollectiveKind kind, long size, int ranks, long chunkBytes) {
        ArithmeticException e = assertThrows(ArithmeticException.class, () -> plan(kind, size, ranks, chunkBytes));
        assertEquals(
                kind.label() + " of " + size + " bytes over " + ranks + " ranks in chunks of " + chunkBytes
                        + " bytes needs more than 9223372036854775807 completions",
                e.getMessage());
    }

    @Test
    void shouldWriteTheSameDigitsInEveryLocale() {
        Locale before = Locale.getDefault();
        try {
            Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
            assertEquals(
                    "isend of 250 bytes, 3 ranks: 1 messages of 250 bytes in 3 chunks",
                    plan(ISEND, 250, 3, 100).toString());
            assertEquals(
                    "isend of 9223372036854775807 bytes over 2 ranks in chunks of 1 bytes needs more than"
                            + " 9223372036854775807 completions",
                    assertThrows(ArithmeticException.class, () -> plan(ISEND, Long.MAX_VALUE, 2, 1))
                            .getMessage());
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void shouldFitAtTheVeryEdge() {
        assertEquals(
                Long.MAX_VALUE - 1, plan(BROADCAST, Long.MAX_VALUE / 2, 2, 1).completions());
        assertThrows(ArithmeticException.class, () -> plan(BROADCAST, Long.MAX_VALUE / 2 + 1, 2, 1));
    }

    @ParameterizedTest
    @EnumSource
    void shouldRefuseFewerThanTwoRanksAndEmptyChunks(CollectiveKind kind) {
        Collective collective = new Collective(kind, 8, 1);
        for (int ranks : new int[] {1, 0, -1, Integer.MIN_VALUE}) {
            assertEquals(
                    "ranks must be at least 2: ranks=" + ranks,
                    assertThrows(IllegalArgumentException.class, () -> MessagePlan.of(collective, ranks, 8))
                            .getMessage());
        }
        for (long chunkBytes : new long[] {0, -1, Long.MIN_VALUE}) {
            assertEquals(
                    "chunkBytes must be at least 1: chunkBytes=" + chunkBytes,
                    assertThrows(IllegalArgumentException.class, () -> MessagePlan.of(collective, 2, chunkBytes))
                            .getMessage());
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldRefuseRanksSendsAndChunksThatDoNotExist(CollectiveKind kind) {
        MessagePlan plan = plan(kind, 1000, 4, 100);
        for (int rank : new int[] {-1, 4}) {
            assertThrows(IndexOutOfBoundsException.class, () -> plan.sends(rank));
            assertThrows(IndexOutOfBoundsException.class, () -> plan.messagesInto(rank));
            assertThrows(IndexOutOfBoundsException.class, () -> plan.destination(rank, 0));
            assertThrows(IndexOutOfBoundsException.class, () -> plan.arrivalsNeeded(rank, 0));
        }
        for (int rank = 0; rank < 4; rank++) {
            int sender = rank;
            for (int n : new int[] {-1, plan.sends(rank)}) {
                assertThrows(IndexOutOfBoundsException.class, () -> plan.destination(sender, n));
                assertThrows(IndexOutOfBoundsException.class, () -> plan.arrivalsNeeded(sender, n));
            }
        }
        assertThrows(IndexOutOfBoundsException.class, () -> plan.chunkBytes(-1));
        assertThrows(IndexOutOfBoundsException.class, () -> plan.chunkBytes(plan.chunksPerMessage()));
    }

    @Test
    void shouldDescribeItselfInOneLine() {
        MessagePlan plan = plan(ALL_REDUCE, 1000, 3, 100);
        assertEquals("all_reduce of 1000 bytes, 3 ranks: 12 messages of 334 bytes in 48 chunks", plan.toString());
        assertFalse(plan.toString().contains("\n"));
        assertEquals(new Collective(ALL_REDUCE, 1000, 1), plan.collective());
        assertEquals(3, plan.ranks());
    }

    @Test
    void collectiveShouldRefuseImpossibleValues() {
        assertEquals(
                "bytes must not be negative: bytes=-1",
                assertThrows(IllegalArgumentException.class, () -> new Collective(ISEND, -1, 1))
                        .getMessage());
        assertEquals(
                "line must be at least 1: line=0",
                assertThrows(IllegalArgumentException.class, () -> new Collective(ISEND, 1, 0))
                        .getMessage());
        assertThrows(NullPointerException.class, () -> new Collective(null, 1, 1));
    }

    private static MessagePlan plan(CollectiveKind kind, long bytes, int ranks, long chunkBytes) {
        return MessagePlan.of(new Collective(kind, bytes, 1), ranks, chunkBytes);
    }

    /** All sends as {@code from>to@arrivalsNeeded}, rank by rank. */
    private static List<String> sends(CollectiveKind kind, int ranks) {
        MessagePlan plan = plan(kind, 1000, ranks, 100);
        List<String> sends = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            for (int n = 0; n < plan.sends(rank); n++) {
                sends.add(rank + ">" + plan.destination(rank, n) + "@" + plan.arrivalsNeeded(rank, n));
            }
        }
        return sends;
    }

    private static List<Long> chunkBytes(MessagePlan plan) {
        List<Long> bytes = new ArrayList<>();
        for (long chunk = 0; chunk < plan.chunksPerMessage(); chunk++) {
            bytes.add(plan.chunkBytes(chunk));
        }
        return bytes;
    }
}
