package io.cqring.eq;

import io.cqring.memory.CacheLines;

/**
 * Layout of an event-queue entry (EQE), reference profile: 64 bytes. Pure arithmetic on words: touches no memory, keeps no
 * state.
 *
 * <pre>
 *   63       56 55                    32 31       24 23       16 15        8 7           1 0
 *  +-----------+------------------------+-----------+-----------+-----------+-------------+-+
 *  |     0     |     queue number       | syndrome  | sub-type  |   type    |      0      |P|  header, word 0, byte 0
 *  +-----------+------------------------+-----------+-----------+-----------+-------------+-+
 *  |                      detail: a timestamp or a count, by type                           |  word 1, byte 8
 *  +----------------------------------------------------------------------------------------+
 *  |                                       0                                                |  words 2..7
 *  +----------------------------------------------------------------------------------------+
 * </pre>
 *
 * <p>P is the owner bit: the host owns the slot when P equals the phase of the sequence it is about to read
 * ({@link io.cqring.ring.RingGeometry#phase(long)}). The header is written last, in one 8-byte store. Words are little endian.
 * Type and sub-type stand in bytes 1 and 2; mlx5 has them in bytes 1 and 3, its number and syndrome elsewhere, and the opposite
 * phase.
 */
public final class EqeLayout {
    /** Bytes of an entry: one cache line. */
    public static final int BYTES = CacheLines.LINE_BYTES;

    /** Offset of the header in its slot, in bytes. */
    public static final int HEADER_OFFSET = 0;

    /** Offset of the detail word, in bytes. */
    public static final int DETAIL_OFFSET = 8;

    /** The owner bit of the header. */
    public static final long OWNER_MASK = 1;

    private static final int TYPE_SHIFT = 8;
    private static final int SUB_TYPE_SHIFT = 16;
    private static final int SYNDROME_SHIFT = 24;
    private static final int NUMBER_SHIFT = 32;
    private static final int MASK_8 = 0xFF;
    private static final int MASK_24 = 0xFF_FFFF;

    private EqeLayout() {}

    /**
     * Composes a header; the owner bit is left 0, the writer sets it.
     *
     * @param type     what happened
     * @param number   number of the queue it happened to, 0 to 2^24-1
     * @param subType  what exactly, 0 to 255
     * @param syndrome error code, 0 to 255
     * @return the header
     * @throws NullPointerException     if there is no type
     * @throws IllegalArgumentException if the type is {@link EventType#UNKNOWN} or a number is out of range
     */
    public static long header(EventType type, int number, int subType, int syndrome) {
        final int code = type.code();
        if (code < 0 || ((number & ~MASK_24) | ((subType | syndrome) & ~MASK_8)) != 0) {
            throw badHeader(type, number, subType, syndrome);
        }
        return (long) number << NUMBER_SHIFT
                | (long) syndrome << SYNDROME_SHIFT
                | (long) subType << SUB_TYPE_SHIFT
                | (long) code << TYPE_SHIFT;
    }

    private static IllegalArgumentException badHeader(EventType type, int number, int subType, int syndrome) {
        if (type.code() < 0) {
            return new IllegalArgumentException("event type must have a code: " + type);
        }
        if ((number & ~MASK_24) != 0) {
            return new IllegalArgumentException("queue number must be 0 to " + MASK_24 + ": " + number);
        }
        return new IllegalArgumentException(
                "sub-type and syndrome must be 0 to 255: sub-type " + subType + ", syndrome " + syndrome);
    }

    /**
     * Type of a header.
     *
     * @param header a header
     * @return the type; {@link EventType#UNKNOWN} if its code, {@link #typeCode}, has no name
     */
    public static EventType type(long header) {
        return EventType.of(typeCode(header));
    }

    /**
     * Number of the type of a header.
     *
     * @param header a header
     * @return 0 to 255
     */
    public static int typeCode(long header) {
        return (int) (header >>> TYPE_SHIFT) & MASK_8;
    }

    /**
     * Sub-type of a header.
     *
     * @param header a header
     * @return 0 to 255
     */
    public static int subType(long header) {
        return (int) (header >>> SUB_TYPE_SHIFT) & MASK_8;
    }

    /**
     * Error code of a header.
     *
     * @param header a header
     * @return 0 to 255
     */
    public static int syndrome(long header) {
        return (int) (header >>> SYNDROME_SHIFT) & MASK_8;
    }

    /**
     * Queue number of a header.
     *
     * @param header a header
     * @return 0 to 2^24-1
     */
    public static int number(long header) {
        return (int) (header >>> NUMBER_SHIFT) & MASK_24;
    }
}
