package io.cqring.cq;

import io.cqring.memory.CacheLines;
import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

/**
 * Where things lie in a completion queue's memory. Words that different threads write are 128 bytes apart.
 *
 * <pre>
 *   byte 0     left free: the constant part of a header, once a region is a file
 *   byte 128   consumer sequence                       written by the host: the doorbell record
 *   byte 256   producer sequence | lost entries | rejected doorbells     written by the device
 *   byte 384   dead | closed, or a command (Control)   written rarely, read by both
 *   byte 512   slot 0, slot 1, ...                     written by the device
 * </pre>
 */
final class CqRegion {
    static final int CONSUMER_SEQUENCE = CacheLines.SEPARATION_BYTES;
    static final int PRODUCER_SEQUENCE = CONSUMER_SEQUENCE + CacheLines.SEPARATION_BYTES;
    static final int LOST_ENTRIES = PRODUCER_SEQUENCE + Long.BYTES;
    static final int REJECTED_DOORBELLS = LOST_ENTRIES + Long.BYTES;
    static final int DEAD = PRODUCER_SEQUENCE + CacheLines.SEPARATION_BYTES;
    static final int CLOSED = DEAD + Long.BYTES;
    static final int FIRST_SLOT = DEAD + CacheLines.SEPARATION_BYTES;

    /** The largest ring: 2^30 bytes of slots, what one ByteBuffer can hold with room for the words above. */
    static final long MAX_SLOTS_BYTES = 1L << 30;

    /** The most slots of any stride; indices of 24 bits, as the vendors'. */
    static final int MAX_CAPACITY = 1 << 24;

    /**
     * Header of a slot that has never been used, in a ring that a live queue is to move to: where in its first lap it begins
     * is not known beforehand, so the owner bit cannot say it. Bits 7:6 are 0 in every entry.
     */
    static final long UNUSED = 0b1100_0000 | CqeOpcode.INVALID << 1;

    private CqRegion() {}

    static long requiredBytes(int capacity, int strideBytes) {
        CqeLayout.requireStride(strideBytes);
        long slots = RingGeometry.slotsBytes(capacity, strideBytes);
        return FIRST_SLOT + slots;
    }

    static RingGeometry geometry(int capacity, int strideBytes) {
        long slots = requiredBytes(capacity, strideBytes) - FIRST_SLOT;
        if (capacity > MAX_CAPACITY || slots > MAX_SLOTS_BYTES) {
            throw new IllegalArgumentException("capacity must be at most "
                    + Math.min(MAX_CAPACITY, MAX_SLOTS_BYTES / strideBytes) + " entries of " + strideBytes + " bytes: "
                    + capacity);
        }
        return RingGeometry.of(FIRST_SLOT, capacity, strideBytes);
    }

    /**
     * Makes an empty queue of whatever the memory holds: each slot gets the owner bit that its first use will not have, so
     * a recycled ring of either parity yields no phantom entry.
     */
    static void initialise(QueueMemory memory, RingGeometry geometry, long startSequence, boolean zeroed) {
        if (!zeroed) {
            int end = geometry.firstSlotOffset() + (geometry.capacity() << geometry.strideShift());
            memory.fill(0, end, (byte) 0);
        }
        for (int index = 0; index < geometry.capacity(); index++) {
            long firstUse = geometry.firstUse(startSequence, index);
            long invalid = invalidHeader(geometry, firstUse);
            if (invalid != 0) {
                memory.putLong(geometry.offset(firstUse) + CqeLayout.HEADER_OFFSET, invalid);
            }
        }
        memory.putLong(CONSUMER_SEQUENCE, startSequence);
        memory.putLong(PRODUCER_SEQUENCE, startSequence);
    }

    private static long invalidHeader(RingGeometry geometry, long sequence) {
        return geometry.phase(sequence) ^ CqeLayout.OWNER_MASK;
    }

    /** Makes the queue empty again, in the ring it is in, with both ends at a standstill. */
    static void clear(QueueMemory memory, Ring ring, long startSequence) {
        RingGeometry geometry = ring.geometry();
        for (int index = 0; index < geometry.capacity(); index++) {
            long firstUse = geometry.firstUse(startSequence, index);
            ring.memory()
                    .putLong(geometry.offset(firstUse) + CqeLayout.HEADER_OFFSET, invalidHeader(geometry, firstUse));
        }
        for (int word : new int[] {LOST_ENTRIES, REJECTED_DOORBELLS, DEAD}) {
            memory.putLongOpaque(word, 0);
        }
        memory.putLongOpaque(CONSUMER_SEQUENCE, startSequence);
        memory.putLongOpaque(PRODUCER_SEQUENCE, startSequence);
    }

    /** A ring for a live queue to move to, in memory of its own: no slot is an entry, whatever the memory holds. */
    static Ring unusedRing(QueueMemory memory, int capacity, int strideBytes) {
        RingGeometry geometry = RingGeometry.of(0, capacity, strideBytes);
        for (int index = 0; index < capacity; index++) {
            memory.putLong(geometry.offset(index) + CqeLayout.HEADER_OFFSET, UNUSED);
        }
        return new Ring(memory, geometry);
    }
}
