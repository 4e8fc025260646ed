package io.cqring.simnic.profile;

import io.cqring.memory.QueueMemory;

/**
 * Where the parts of an mlx5 queue lie, in memory of our own or in a file that a driver of another process maps.
 *
 * <pre>
 *   byte 0x20   arm doorbell in the UAR page: sequence number | command | index | queue number            written by the host
 *   byte 4096   consumer index record, 32 bits | arm record, 32 bits                                       written by the host
 *   byte 8192   ring: depth x 64 or 128 bytes                                                              written by the device
 * </pre>
 *
 * <p>All big-endian. The doorbell is all ones until the first arm.
 */
final class Mlx5Region {
    static final int DOORBELL = 0x20;
    static final int RECORD = 4096;
    static final int RING = 8192;

    /** Doorbell nobody has rung. */
    static final long UNRUNG = -1;

    /** Command of the arm word: solicited or failed only. */
    static final int SOLICITED = 1 << 24;

    static final int INDEX_MASK = 0xFF_FFFF;

    /** Two indexes this far apart and more: the other one is ahead. */
    static final int HALF = 1 << 23;

    static final int SEQUENCE_SHIFT = 28;
    static final int SEQUENCE_MASK = 3;

    /** What indexes of 24 bits tell apart with room to spare; real devices end at 2^22 as well. */
    static final int MAX_DEPTH = 1 << 22;

    private Mlx5Region() {}

    static long bytes(int depth, int strideBytes) {
        return RING + (long) depth * strideBytes;
    }

    static void require(int depth, int strideBytes) {
        if (depth < 1 || depth > MAX_DEPTH || Integer.bitCount(depth) != 1) {
            throw new IllegalArgumentException("depth must be a power of two, 1 to " + MAX_DEPTH + ": " + depth);
        }
        if (strideBytes != Mlx5Cqe.BYTES && strideBytes != 2 * Mlx5Cqe.BYTES) {
            throw new IllegalArgumentException("mlx5 entries have 64 or 128 bytes: " + strideBytes);
        }
    }

    static VendorRing ring(QueueMemory memory, int first, int depth, int strideBytes) {
        return new VendorRing(memory, first, depth, strideBytes, strideBytes - Mlx5Cqe.BYTES);
    }

    /** No slot looks valid afterwards, neither to a driver that tests the opcode nor, on the first lap, to one that tests the owner. */
    static void fill(VendorRing ring) {
        ring.memory().fill(ring.first(), ring.depth() * ring.strideBytes(), (byte) 0);
        for (int slot = 0; slot < ring.depth(); slot++) {
            Mlx5Cqe.putWord(ring.memory(), ring.entryAt(slot) + Mlx5Cqe.CONTROL, Mlx5Cqe.FILL & 0xFF);
        }
    }

    /** Both records in one word, as they lie in memory. */
    static long records(int consumerIndex, int arm) {
        return (Integer.reverseBytes(arm) & 0xFFFF_FFFFL) << 32 | (Integer.reverseBytes(consumerIndex) & 0xFFFF_FFFFL);
    }

    /** The consumer index of the records. */
    static int consumerIndex(long records) {
        return Integer.reverseBytes((int) records) & INDEX_MASK;
    }
}
