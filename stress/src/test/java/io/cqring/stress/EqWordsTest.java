package io.cqring.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.eq.EventQueue;
import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import org.junit.jupiter.api.Test;

/** The offsets that twins use are those of the shipped event queue and interrupt. */
class EqWordsTest {
    private final QueueMemory memory = QueueMemory.allocate(Slices.BYTES);
    private final QueueMemory ofInterrupt = QueueMemory.allocate(Slices.BYTES);

    @Test
    void shouldFindEveryWordWhereTheShippedQueuePutsIt() {
        EventQueue queue = EventQueue.builder(2)
                .memory(memory)
                .interrupt(new Interrupt(ofInterrupt, null))
                .create();
        assertFalse(queue.arm());
        assertEquals(1, memory.getLong(EqWords.ARM));
        assertTrue(queue.writer().post(EventType.COMPLETION, 1, 0, 0, 11));
        assertEquals(0, memory.getLong(EqWords.ARM));
        assertEquals(1, ofInterrupt.getLong(EqWords.RAISES));
        assertTrue(queue.writer().post(EventType.COMPLETION, 2, 0, 0, 22));
        assertEquals(11, memory.getLong(EqWords.slot(0) + EqWords.DETAIL));
        assertEquals(22, memory.getLong(EqWords.slot(1) + EqWords.DETAIL));
        assertEquals(2L << 32 | 1, memory.getLong(EqWords.slot(1)));
        assertEquals(2, memory.getLong(EqWords.PRODUCER_SEQUENCE));
        assertFalse(queue.writer().post(EventType.COMPLETION, 3, 0, 0, 33));
        assertEquals(1, memory.getLong(EqWords.OVERRUNS));
        assertEquals(2, ofInterrupt.getLong(EqWords.RAISES));
        assertEquals(2, queue.poll((type, number, subType, syndrome, detail) -> {}, 2));
        assertEquals(2, memory.getLong(EqWords.CONSUMER_SEQUENCE));
    }

    @Test
    void shouldHoldWhatATestMakes() {
        assertTrue(EventQueue.requiredBytes(2) <= Slices.BYTES);
        assertTrue(Interrupt.REQUIRED_BYTES <= Slices.BYTES);
    }

    @Test
    void shouldFindTheWaiterWhereTheShippedInterruptPutsIt() throws InterruptedException {
        Interrupt interrupt = new Interrupt(ofInterrupt, null);
        Thread waiter = new Thread(() -> {
            try {
                interrupt.await(0, Long.MAX_VALUE);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        waiter.start();
        while (ofInterrupt.getLongOpaque(EqWords.WAITER) != EqWords.WAITS) {
            Thread.onSpinWait();
        }
        interrupt.raise();
        waiter.join();
        assertEquals(0, ofInterrupt.getLong(EqWords.WAITER));
    }
}
