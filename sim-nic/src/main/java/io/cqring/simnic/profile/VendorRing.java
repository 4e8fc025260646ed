package io.cqring.simnic.profile;

import io.cqring.memory.QueueMemory;

/**
 * Where the slots of a vendor's ring lie.
 *
 * @param memory      the region
 * @param first       offset of slot 0, in bytes
 * @param depth       slots
 * @param strideBytes bytes from slot to slot
 * @param entryOffset where the entry starts in its slot
 */
record VendorRing(QueueMemory memory, int first, int depth, int strideBytes, int entryOffset) {
    /** Offset of the entry in a slot, 0 to depth - 1. */
    long entryAt(long slot) {
        return first + slot * strideBytes + entryOffset;
    }

    /** Offset of the entry at an index, in a ring whose depth is a power of two. */
    long entry(long index) {
        return entryAt(index & (depth - 1));
    }

    int log2Depth() {
        return Integer.numberOfTrailingZeros(depth);
    }
}
