package io.cqring.simnic.cli;

import static io.cqring.simnic.cli.ChunkLedger.REQUESTER;
import static io.cqring.simnic.cli.ChunkLedger.RESPONDER;
import static io.cqring.simnic.cli.ChunkLedger.Verdict.DUPLICATE;
import static io.cqring.simnic.cli.ChunkLedger.Verdict.IN_ORDER;
import static io.cqring.simnic.cli.ChunkLedger.Verdict.LATE;
import static io.cqring.simnic.cli.ChunkLedger.Verdict.UNKNOWN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The judge must be able to convict: each verdict for the case it is meant for, and for no other. */
class ChunkLedgerTest {
    @ParameterizedTest
    @CsvSource({"1,1", "2,2", "3,4", "4,4", "5,8", "64,64", "65,128", "65536,65536"})
    void slotsAreTheNextPowerOfTwo(int window, int slots) {
        assertEquals(slots, ChunkLedger.slots(window));
    }

    /** An entry keeps 24 bits of a counter; the newest chunk that has them is meant. Worked out by hand. */
    @ParameterizedTest
    @CsvSource({
        "0, 0, -16777216",
        "1, 0, 0",
        "1, 1, -16777215",
        "5, 4, 4",
        "5, 5, -16777211",
        "5, 2, 2",
        "16777216, 16777215, 16777215",
        "16777217, 0, 16777216",
        "16777217, 1, 1",
        "16777220, 3, 16777219"
    })
    void theNewestChunkIsFoundByTheLowBitsOfItsCounter(int posted, int wqeCounter, long counter) {
        ChunkLedger ledger = new ChunkLedger(1, 1);
        for (int i = 0; i < posted; i++) {
            ledger.post(0, 0);
        }
        assertEquals(counter, ledger.newest(wqeCounter));
    }

    /**
     * The number of a chunk is put together from 24 bits and what was posted. Bits of a chunk that is behind or was never posted
     * must not pass for one that is 2^24 further on: nothing moves.
     */
    @FieldBug(88)
    @ParameterizedTest
    @ValueSource(longs = {0, (1 << 16) - 3, (1 << 24) - 3, (1L << 31) - 3, (1L << 32) - 3, (1L << 40) - 3})
    void staleAndFutureBitsAreNoneOfThoseThatAreExpected(long first) {
        final int window = 8;
        for (int distance = -40; distance < 40; distance++) {
            ChunkLedger ledger = new ChunkLedger(window, 1, first);
            for (int i = 0; i < window; i++) {
                assertEquals(first + i, ledger.post(0, 0));
            }
            long counter = ledger.newest((int) (first + distance) & 0xFF_FFFF);
            ChunkLedger.Verdict verdict = ledger.complete(0, REQUESTER, counter);
            if (distance >= 0 && distance < window) {
                assertEquals(first + distance, counter);
                assertEquals(IN_ORDER, verdict);
            } else {
                boolean ever = (distance < 0 ? first + distance : first + distance - (1 << 24)) >= 0;
                assertEquals(ever ? DUPLICATE : UNKNOWN, verdict, "distance " + distance);
                for (int i = 0; i < window; i++) {
                    assertTrue(ledger.isMissing(REQUESTER, first + i), "distance " + distance);
                }
            }
            assertEquals(first, ledger.oldestUnfinished());
            assertEquals(first + window, ledger.posted());
        }
    }

    /** What one poller takes is in order for it, whatever the other took; the same completion twice is twice for both. */
    @Test
    void orderIsJudgedPollerByPoller() {
        ChunkLedger ledger = new ChunkLedger(4, 2);
        for (int i = 0; i < 4; i++) {
            ledger.post(0, 0);
        }
        assertEquals(IN_ORDER, ledger.complete(0, REQUESTER, 1));
        assertEquals(IN_ORDER, ledger.complete(1, REQUESTER, 0));
        assertEquals(IN_ORDER, ledger.complete(1, REQUESTER, 3));
        assertEquals(LATE, ledger.complete(1, REQUESTER, 2));
        assertEquals(DUPLICATE, ledger.complete(1, REQUESTER, 1));
        assertEquals(DUPLICATE, ledger.complete(0, REQUESTER, 3));
    }

    @Test
    void aChunkIsFinishedWhenBothSidesHaveCompleted() {
        ChunkLedger ledger = new ChunkLedger(1, 1);
        assertTrue(ledger.hasRoom());
        assertEquals(0, ledger.post(100, 5));
        assertFalse(ledger.hasRoom());
        assertEquals(IN_ORDER, ledger.complete(0, REQUESTER, 0));
        assertFalse(ledger.hasRoom());
        assertEquals(IN_ORDER, ledger.complete(0, RESPONDER, 0));
        assertTrue(ledger.hasRoom());
        assertEquals(100, ledger.bytes(0));
        assertEquals(5, ledger.postedNs(0));
        assertEquals(1, ledger.post(7, 6));
    }

    @Test
    void aWindowThatIsNoPowerOfTwoIsKeptExactly() {
        ChunkLedger ledger = new ChunkLedger(3, 1);
        for (int i = 0; i < 3; i++) {
            assertTrue(ledger.hasRoom());
            ledger.post(0, 0);
        }
        assertFalse(ledger.hasRoom());
    }

    @Test
    void theSameCompletionTwiceIsADuplicateAlsoAfterItsSlotIsReused() {
        ChunkLedger ledger = new ChunkLedger(1, 1);
        ledger.post(0, 0);
        assertEquals(IN_ORDER, ledger.complete(0, RESPONDER, 0));
        assertEquals(DUPLICATE, ledger.complete(0, RESPONDER, 0));
        assertEquals(IN_ORDER, ledger.complete(0, REQUESTER, 0));
        assertEquals(DUPLICATE, ledger.complete(0, REQUESTER, 0));
        ledger.post(0, 0);
        assertEquals(DUPLICATE, ledger.complete(0, REQUESTER, 0));
        assertEquals(IN_ORDER, ledger.complete(0, REQUESTER, 1));
    }

    @Test
    void twoSwappedCompletionsGiveOneLateOne() {
        ChunkLedger ledger = new ChunkLedger(4, 1);
        for (int i = 0; i < 4; i++) {
            ledger.post(0, 0);
        }
        assertEquals(IN_ORDER, ledger.complete(0, REQUESTER, 0));
        assertEquals(IN_ORDER, ledger.complete(0, REQUESTER, 2));
        assertEquals(LATE, ledger.complete(0, REQUESTER, 1));
        assertEquals(IN_ORDER, ledger.complete(0, REQUESTER, 3));
        assertEquals(IN_ORDER, ledger.complete(0, RESPONDER, 0), "the other side has an order of its own");
    }

    @Test
    void aGapAloneIsNotAnOrderViolation() {
        ChunkLedger ledger = new ChunkLedger(4, 1);
        ledger.post(0, 0);
        ledger.post(0, 0);
        assertEquals(IN_ORDER, ledger.complete(0, REQUESTER, 1));
        assertTrue(ledger.isMissing(REQUESTER, 0));
        assertFalse(ledger.isMissing(REQUESTER, 1));
        assertEquals(0, ledger.oldestUnfinished());
        ledger.giveUp(REQUESTER, 0);
        ledger.giveUp(RESPONDER, 0);
        assertEquals(1, ledger.oldestUnfinished());
        assertEquals(IN_ORDER, ledger.complete(0, RESPONDER, 1));
        assertEquals(ledger.posted(), ledger.oldestUnfinished());
    }

    @Test
    void whatWasNeverPostedIsUnknown() {
        ChunkLedger ledger = new ChunkLedger(2, 1);
        assertEquals(UNKNOWN, ledger.complete(0, REQUESTER, 0));
        ledger.post(0, 0);
        assertEquals(UNKNOWN, ledger.complete(0, REQUESTER, 1));
        assertEquals(UNKNOWN, ledger.complete(0, REQUESTER, -1));
        assertEquals(UNKNOWN, ledger.complete(0, RESPONDER, Long.MIN_VALUE));
    }
}
