package io.cqring.simnic.qp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The host side alone: slots, limits, states. The memory is real; the device is a state word that the test sets. */
class QueuePairTest {
    private final QpMemory qpMemory = QpMemory.allocate(4, 2);
    private final QueuePair queuePair = new QueuePair(9, QpType.RC, null, qpMemory, QueueMemory.allocate(64), 0);

    private void setState(QpState state) {
        qpMemory.memory().putLong(QpMemory.STATE, state.code());
    }

    private boolean send() {
        return queuePair.postSend(0, 0, 0, 0, 0);
    }

    private boolean receive() {
        return queuePair.postRecv(0, 0, 0, 0);
    }

    @Test
    void aFullQueueIsAnAnswerNotAnException() {
        setState(QpState.RTS);
        for (int i = 0; i < 4; i++) {
            assertEquals(4 - i, queuePair.freeSends());
            assertTrue(send());
        }
        assertFalse(send());
        assertEquals(0, queuePair.freeSends());
        assertEquals(4, queuePair.sendsPosted());
        assertTrue(receive());
        assertTrue(receive());
        assertFalse(receive());
        assertEquals(0, queuePair.freeReceives());
    }

    @Test
    void oneCompletionRetiresAllSendsBeforeIt() {
        setState(QpState.RTS);
        for (int i = 0; i < 4; i++) {
            assertTrue(send());
        }
        assertEquals(3, queuePair.retireSend(2));
        assertEquals(0, queuePair.retireSend(2), "a duplicate frees nothing");
        assertEquals(0, queuePair.retireSend(1), "nor does an older one");
        assertEquals(0, queuePair.retireSend(4), "nor one that was not posted");
        assertEquals(1, queuePair.retireSend(3));
        assertEquals(4, queuePair.freeSends());
        assertEquals(0, queuePair.retireSend(0));
    }

    /** Counters of 24 bits are told apart when the sequence has long passed 2^24. */
    @Test
    void countersAreRebuiltAcrossTheirWrap() {
        setState(QpState.RTS);
        long wrap = 1 << 24;
        for (long i = 0; i < wrap + 3; i++) {
            assertTrue(send());
            if (i < wrap - 1) {
                assertEquals(1, queuePair.retireSend((int) i & 0xFF_FFFF));
            }
        }
        assertFalse(send());
        assertEquals(3, queuePair.retireSend(1)); // 2^24 - 1, 2^24, 2^24 + 1
        assertEquals(1, queuePair.retireSend(2));
    }

    @ParameterizedTest
    @EnumSource(QpState.class)
    void postingFollowsTheState(QpState state) {
        setState(state);
        assertEquals(state, queuePair.state());
        if (state.code() >= 3) {
            assertTrue(send());
        } else {
            assertEquals(
                    "sends cannot be posted in state " + state + ": QP 0x9",
                    assertThrows(IllegalStateException.class, this::send).getMessage());
        }
        if (state.code() >= 1) {
            assertTrue(receive());
        } else {
            assertThrows(IllegalStateException.class, this::receive);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, (1L << 31) + 1, 1L << 32, Long.MAX_VALUE, Long.MIN_VALUE})
    void aMessageHasAtMostTwoGigabytes(long length) {
        setState(QpState.RTS);
        assertThrows(IllegalArgumentException.class, () -> queuePair.postSend(0, 0, length, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> queuePair.postRecv(0, 0, length, 0));
        assertEquals(0, queuePair.sendsPosted());
        assertTrue(queuePair.postSend(0, 0, 1L << 31, 0, 0));
    }

    @Test
    void unknownFlagsAreRefused() {
        setState(QpState.RTS);
        assertThrows(IllegalArgumentException.class, () -> queuePair.postSend(0, 0, 0, 0, 8));
        assertThrows(IllegalArgumentException.class, () -> queuePair.postSend(0, 0, 0, 0, -1));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, 3, 1 << 21, Integer.MIN_VALUE})
    void aDepthIsAPowerOfTwo(int depth) {
        assertThrows(IllegalArgumentException.class, () -> QpMemory.allocate(depth, 1));
        assertThrows(IllegalArgumentException.class, () -> QpMemory.allocate(1, depth));
    }
}
