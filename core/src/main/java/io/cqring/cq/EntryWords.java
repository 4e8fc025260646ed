package io.cqring.cq;

import io.cqring.memory.QueueMemory;

/** All words of an entry but the header, stored in one go: what the writers have in common. */
final class EntryWords {
    private EntryWords() {}

    static void requireRoomForPayload(int strideBytes, long payload) {
        if (payload != 0 && strideBytes == CqeLayout.SHORT_BYTES) {
            throw new UnsupportedOperationException("a 32-byte entry has no inline payload; use 64 or 128 bytes");
        }
    }

    /** Stores every word but the header; unused ones become zero, so nothing of the last lap shows through. */
    static void fill(
            QueueMemory memory,
            int strideBytes,
            long slot,
            long workRequestId,
            long length,
            long detail,
            long timestamp,
            long payload0,
            long payload1,
            long payload2) {
        if (strideBytes == CqeLayout.STANDARD_BYTES) {
            fillStandard(memory, slot, workRequestId, length, detail, timestamp, payload0, payload1, payload2);
            return;
        }
        final long middle = slot + CqeLayout.workRequestIdOffset(strideBytes);
        memory.putLong(middle, workRequestId);
        memory.putLong(middle + 8, length);
        memory.putLong(middle + 16, detail);
        if (strideBytes != CqeLayout.SHORT_BYTES) {
            memory.putLong(slot + CqeLayout.TIMESTAMP_OFFSET, timestamp);
            memory.putLong(slot + CqeLayout.PAYLOAD_OFFSET, payload0);
            memory.putLong(slot + CqeLayout.PAYLOAD_OFFSET + 8, payload1);
            memory.putLong(slot + CqeLayout.PAYLOAD_OFFSET + 16, payload2);
            if (strideBytes == CqeLayout.LONG_BYTES) {
                clearLongPayload(memory, slot + CqeLayout.STANDARD_BYTES);
            }
        }
    }

    /** As {@link #fill}, for the usual size: constant offsets. */
    static void fillStandard(
            QueueMemory memory,
            long slot,
            long workRequestId,
            long length,
            long detail,
            long timestamp,
            long payload0,
            long payload1,
            long payload2) {
        memory.putLong(slot + 8, timestamp);
        memory.putLong(slot + 16, workRequestId);
        memory.putLong(slot + 24, length);
        memory.putLong(slot + 32, detail);
        memory.putLong(slot + 40, payload0);
        memory.putLong(slot + 48, payload1);
        memory.putLong(slot + 56, payload2);
    }

    private static void clearLongPayload(QueueMemory memory, long offset) {
        memory.putLong(offset, 0);
        memory.putLong(offset + 8, 0);
        memory.putLong(offset + 16, 0);
        memory.putLong(offset + 24, 0);
        memory.putLong(offset + 32, 0);
        memory.putLong(offset + 40, 0);
        memory.putLong(offset + 48, 0);
        memory.putLong(offset + 56, 0);
    }
}
