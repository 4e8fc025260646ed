package io.cqring.simnic.profile;

import io.cqring.memory.QueueMemory;

/**
 * Where the parts of a bnxt_re queue lie. A real doorbell is one register that takes words of several types, and the bus delivers each of them; memory
 * keeps only the last, so each type has a word of its own here.
 *
 * <pre>
 *   doorbells, 64 bits: index 23:0 | epoch 24 | toggle 26:25 | queue 51:32 | valid 58 | type 63:60          written by the host
 *     byte 0     type 4, consumer index
 *     byte 64    type 5 or 6, arm for solicited or all: carries the consumer index too
 *     byte 128   type 7, arm enable
 *     byte 192   type 9, cut-off acknowledged
 *   byte 4096   ring: depth x 32 bytes                                                                      written by the device
 * </pre>
 */
final class BnxtRegion {
    static final int CONSUMER = 0;
    static final int ARM = 64;
    static final int ARM_ENABLE = 128;
    static final int CUT_OFF_ACK = 192;
    static final int RING = 4096;

    static final int TYPE_CQ = 4;
    static final int TYPE_ARM_SOLICITED = 5;
    static final int TYPE_ARM_ALL = 6;
    static final int TYPE_ARM_ENABLE = 7;
    static final int TYPE_CUT_OFF_ACK = 9;

    static final int TOGGLE_MASK = 3;
    static final int MAX_DEPTH = 1 << 20;
    static final int MAX_NUMBER = 0xF_FFFF;

    private static final int INDEX_MASK = 0xFF_FFFF;
    private static final int EPOCH_SHIFT = 24;
    private static final int TOGGLE_SHIFT = 25;
    private static final int TYPE_SHIFT = 60;
    private static final long VALID = 1L << 58;

    private BnxtRegion() {}

    static void requireDepth(int depth) {
        if (depth < 1 || depth > MAX_DEPTH || Integer.bitCount(depth) != 1) {
            throw new IllegalArgumentException("depth must be a power of two, 1 to " + MAX_DEPTH + ": " + depth);
        }
    }

    static long bytes(int depth) {
        return RING + (long) depth * BnxtCqe.BYTES;
    }

    /** The ring behind the doorbells, of zeros as {@link #allocate}'s; so are the doorbells. */
    static VendorRing clear(QueueMemory memory, int depth) {
        memory.fill(0, (int) bytes(depth), (byte) 0);
        return new VendorRing(memory, RING, depth, BnxtCqe.BYTES, 0);
    }

    /** A ring of zeros: the toggle is 1 on the first lap. */
    static VendorRing allocate(int depth) {
        return new VendorRing(QueueMemory.allocate((long) depth * BnxtCqe.BYTES), 0, depth, BnxtCqe.BYTES, 0);
    }

    static long doorbell(int type, int number, int index, int epoch, int toggle) {
        return (long) type << TYPE_SHIFT
                | VALID
                | (number & 0xF_FFFFL) << 32
                | (long) (toggle & TOGGLE_MASK) << TOGGLE_SHIFT
                | (long) epoch << EPOCH_SHIFT
                | index;
    }

    static int index(long doorbell) {
        return (int) doorbell & INDEX_MASK;
    }

    static int epoch(long doorbell) {
        return (int) (doorbell >>> EPOCH_SHIFT) & 1;
    }

    static int toggle(long doorbell) {
        return (int) (doorbell >>> TOGGLE_SHIFT) & TOGGLE_MASK;
    }

    static int type(long doorbell) {
        return (int) (doorbell >>> TYPE_SHIFT);
    }
}
