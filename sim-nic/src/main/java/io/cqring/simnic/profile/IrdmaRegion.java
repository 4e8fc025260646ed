package io.cqring.simnic.profile;

import io.cqring.memory.QueueMemory;

/**
 * Where the parts of an irdma queue lie.
 *
 * <pre>
 *   shadow area, 64 bytes                                                                             written by the host
 *     byte 0    19:0 head
 *     byte 32   13:0 resizes finished | 14 arm next | 15 arm next solicited | 17:16 arm sequence
 *   byte 64     arm doorbell, a register: 31:0 queue number | 63:32 writes to it, see below               written by the host
 *   byte 4096   ring: size x 32 or 64 bytes; at most size - 1 slots are ever full                      written by the device
 * </pre>
 *
 * <p>A bus delivers each write to a register, and memory keeps only the last; so the doorbell counts them. The arm sequence alone would not do: its
 * two bits come back after four arms.
 */
final class IrdmaRegion {
    static final int HEAD = 0;
    static final int ARM = 32;
    static final int DOORBELL = 64;
    static final int RING = 4096;

    static final int RESIZES_MASK = 0x3FFF;
    static final int ARM_NEXT = 1 << 14;
    static final int ARM_SOLICITED = 1 << 15;
    static final int SEQUENCE_SHIFT = 16;
    static final int SEQUENCE_MASK = 3;

    /** The driver's limits. */
    static final int MIN_SIZE = 4;

    static final int MAX_SIZE = 1 << 20;

    private IrdmaRegion() {}

    /** Slots for so many entries: one more, twice that where an immediate takes a second slot, and even. */
    static int size(int entries, int strideBytes) {
        final long wanted = strideBytes == IrdmaCqe.BYTES ? 2L * (entries + 1L) : entries + 1L;
        final long size = Math.max(MIN_SIZE, wanted + (wanted & 1));
        if (entries < 1 || size > MAX_SIZE) {
            throw new IllegalArgumentException(
                    "irdma queues have 1 to " + mostEntries(strideBytes) + " entries: " + entries);
        }
        return (int) size;
    }

    static int mostEntries(int strideBytes) {
        return strideBytes == IrdmaCqe.BYTES ? MAX_SIZE / 2 - 1 : MAX_SIZE - 1;
    }

    static void requireStride(int strideBytes) {
        if (strideBytes != IrdmaCqe.BYTES && strideBytes != 2 * IrdmaCqe.BYTES) {
            throw new IllegalArgumentException("irdma entries have 32 or 64 bytes: " + strideBytes);
        }
    }

    static long bytes(int size, int strideBytes) {
        return RING + (long) size * strideBytes;
    }

    /** The ring behind the shadow area, of zeros as {@link #allocate}'s; so are the words of the host. */
    static VendorRing clear(QueueMemory memory, int size, int strideBytes) {
        memory.fill(0, (int) bytes(size, strideBytes), (byte) 0);
        return new VendorRing(memory, RING, size, strideBytes, 0);
    }

    /** A ring of zeros: VALID is 1 on the first lap. */
    static VendorRing allocate(int size, int strideBytes) {
        return new VendorRing(QueueMemory.allocate((long) size * strideBytes), 0, size, strideBytes, 0);
    }
}
