package io.cqring.simnic.qp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import io.cqring.testing.FieldBug;
import org.junit.jupiter.api.Test;

/** The picture in WqeLayout, word by word, as the host stores it. */
class WqeLayoutTest {
    private static final long POISON = 0xDEAD_BEEF_DEAD_BEEFL;
    private static final int DEPTH = 4;

    private final QpMemory qpMemory = QpMemory.allocate(DEPTH, DEPTH);
    private final QueueMemory memory = qpMemory.memory();
    private final QueueMemory uar = QueueMemory.allocate(64);
    private final QueuePair queuePair = new QueuePair(9, QpType.RC, null, qpMemory, uar, 8);

    private void assertWords(RingGeometry ring, long sequence, long... words) {
        for (int i = 0; i < 8; i++) {
            assertEquals(
                    Long.toHexString(words[i]),
                    Long.toHexString(memory.getLong(ring.offset(sequence) + 8 * i)),
                    "word " + i + " of entry " + sequence);
        }
    }

    private void poison(RingGeometry ring, long sequence) {
        for (int i = 0; i < 8; i++) {
            memory.putLong(ring.offset(sequence) + 8 * i, POISON);
        }
    }

    /** Three laps, each slot poisoned before each use and used by another operation each time: no word is left over. */
    @Test
    @FieldBug(18)
    void everyPostStoresEveryWordOnEveryLap() {
        memory.putLong(256, 3); // state RTS
        for (int i = 0; i < 3 * DEPTH; i++) {
            RingGeometry ring = qpMemory.sendQueue();
            poison(ring, i);
            long counter = (long) i << 32;
            switch (i % 5) {
                case 0 -> {
                    assertTrue(queuePair.postWriteImm(
                            100 + i, 0x1111_2222_3333_4444L, 0x8000_0000L, 0xA1, -2L, 0xB1, 0xC1, 3));
                    assertWords(
                            ring,
                            i,
                            counter | 0x304,
                            100 + i,
                            0x1111_2222_3333_4444L,
                            0xA1_8000_0000L,
                            -2L,
                            0xC1_0000_00B1L,
                            0,
                            0);
                }
                case 1 -> {
                    assertTrue(queuePair.postSend(100 + i, 7, 8, -1, 0));
                    assertWords(ring, i, counter | 0x001, 100 + i, 7, 0xFFFF_FFFF_0000_0008L, 0, 0, 0, 0);
                }
                case 2 -> {
                    assertTrue(queuePair.postSendImm(100 + i, 7, 0, 5, -1, 1));
                    assertWords(ring, i, counter | 0x102, 100 + i, 7, 0x5_0000_0000L, 0, 0xFFFF_FFFF_0000_0000L, 0, 0);
                }
                case 3 -> {
                    assertTrue(queuePair.postWrite(100 + i, 7, 9, 5, 77, -1, 2));
                    assertWords(ring, i, counter | 0x203, 100 + i, 7, 0x5_0000_0009L, 77, 0x0000_0000_FFFF_FFFFL, 0, 0);
                }
                default -> {
                    assertTrue(queuePair.postRead(100 + i, 7, 9, 5, 77, 6, 1));
                    assertWords(ring, i, counter | 0x105, 100 + i, 7, 0x5_0000_0009L, 77, 6, 0, 0);
                }
            }
            assertEquals(1, queuePair.retireSend(i));
            RingGeometry receives = qpMemory.receiveQueue();
            poison(receives, i);
            assertTrue(queuePair.postRecv(200 + i, 70, 90, 50));
            assertWords(receives, i, counter | 0x006, 200 + i, 70, 0x32_0000_005AL, 0, 0, 0, 0);
            assertEquals(1, queuePair.retireReceive(i));
        }
    }

    @Test
    void doorbellsAreWhereTheDeviceLooks() {
        memory.putLong(256, 3);
        assertTrue(queuePair.postSend(1, 0, 0, 0, 0));
        assertTrue(queuePair.postSend(2, 0, 0, 0, 0));
        assertTrue(queuePair.postRecv(3, 0, 0, 0));
        assertEquals(0, memory.getLong(0), "not rung yet");
        queuePair.ringSendDoorbell();
        assertEquals(2, memory.getLong(0));
        assertEquals(2, uar.getLong(8));
        assertEquals(0, memory.getLong(128));
        queuePair.ringReceiveDoorbell();
        assertEquals(1, memory.getLong(128));
        queuePair.clear();
        assertEquals(0, memory.getLong(0));
        assertEquals(0, memory.getLong(128));
        assertEquals(0, uar.getLong(8));
    }

    @Test
    void queuesFollowEachOtherAndEndWithTheMemory() {
        QpMemory shared = QpMemory.allocate(8, 2);
        assertEquals(384, shared.sendQueue().firstSlotOffset());
        assertEquals(384 + 8 * 64, shared.receiveQueue().firstSlotOffset());
        assertEquals(384 + 10 * 64, shared.memory().sizeBytes());
    }
}
