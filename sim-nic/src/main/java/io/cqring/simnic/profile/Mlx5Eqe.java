package io.cqring.simnic.profile;

import io.cqring.eq.EventHandler;
import io.cqring.eq.EventType;
import io.cqring.memory.QueueMemory;

/**
 * The mlx5 event-queue entry of an asynchronous event, bit by bit: 64 bytes, big-endian.
 *
 * <pre>
 *   byte 1    type, as {@link EventType#code}
 *   byte 3    sub-type
 *   byte 32   data, 28 bytes
 *     CQ error (0x04):  31:0 of byte 32 completion queue, 24 bits | byte 43 syndrome, 1 overrun
 *     queue pairs and shared receive queues (0x01, 0x02, 0x03, 0x05, 0x07, 0x10 to 0x14):
 *                       byte 52 kind of queue, 0 queue pair | 31:0 of byte 56 its number, 24 bits
 *   byte 62   signature
 *   byte 63   owner, 0 on the first lap; 1 in all entries of a fresh ring
 * </pre>
 *
 * <p>There is no room for a failed request's syndrome. Source: Linux {@code include/linux/mlx5/device.h}.
 */
final class Mlx5Eqe {
    static final int BYTES = 64;

    /** Offset of the word with the owner: stored last, with release; loaded first, with acquire. */
    static final int OWNER = 56;

    private static final int CQ_DATA = 32;
    private static final int SYNDROME_WORD = 40;
    private static final int KIND_WORD = 48;
    private static final int MASK_24 = 0xFF_FFFF;

    private Mlx5Eqe() {}

    /** Whether a type has a layout here. */
    static boolean tells(EventType type) {
        return type == EventType.INTERNAL_ERROR || type == EventType.CQ_ERROR || isOfQueue(type);
    }

    private static boolean isOfQueue(EventType type) {
        return switch (type) {
            case PATH_MIG,
                    COMM_EST,
                    SQ_DRAINED,
                    WQ_CATAS_ERROR,
                    PATH_MIG_FAILED,
                    WQ_INVAL_REQ_ERROR,
                    WQ_ACCESS_ERROR,
                    SRQ_CATAS_ERROR,
                    SRQ_LAST_WQE,
                    SRQ_RQ_LIMIT -> true;
            default -> false;
        };
    }

    /** Writes all but the word with the owner. */
    static void write(QueueMemory memory, long entry, DeviceEvent event) {
        final boolean ofCq = event.type() == EventType.CQ_ERROR;
        memory.putLong(entry, Long.reverseBytes((long) event.type().code() << 48));
        memory.putLong(entry + CQ_DATA, ofCq ? Long.reverseBytes((event.number() & (long) MASK_24) << 32) : 0);
        memory.putLong(entry + SYNDROME_WORD, ofCq ? Long.reverseBytes((event.syndrome() & 0xFFL) << 32) : 0);
        memory.putLong(entry + KIND_WORD, 0);
    }

    /** The word with the owner. */
    static long ownerWord(DeviceEvent event, int owner) {
        final long number = isOfQueue(event.type()) ? event.number() & (long) MASK_24 : 0;
        return Long.reverseBytes(number << 32 | owner);
    }

    /** Hands an entry on. */
    static void read(QueueMemory memory, long entry, long ownerWord, EventHandler handler) {
        final long head = Long.reverseBytes(memory.getLong(entry));
        final EventType type = EventType.of((int) (head >>> 48) & 0xFF);
        final int subType = (int) (head >>> 32) & 0xFF;
        if (type == EventType.CQ_ERROR) {
            final int number = (int) (Long.reverseBytes(memory.getLong(entry + CQ_DATA)) >>> 32) & MASK_24;
            final int syndrome = (int) (Long.reverseBytes(memory.getLong(entry + SYNDROME_WORD)) >>> 32) & 0xFF;
            handler.onEvent(type, number, subType, syndrome, VendorAsyncQueue.CQ_IS_DEAD);
        } else {
            final int number = isOfQueue(type) ? (int) (Long.reverseBytes(ownerWord) >>> 32) & MASK_24 : 0;
            handler.onEvent(type, number, subType, 0, 0);
        }
    }
}
