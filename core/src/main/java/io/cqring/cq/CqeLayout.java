package io.cqring.cq;

import io.cqring.memory.CacheLines;

/**
 * Layout of a completion queue entry (CQE), reference profile. Pure arithmetic on words: touches no memory, keeps no state.
 *
 * <pre>
 *   63       56 55                    32 31                      8 7 6 5 4     1 0
 *  +-----------+------------------------+-------------------------+---+-+-------+-+
 *  | syndrome  |       QP number        |       WQE counter       | 0 |S| opcode|P|  header, word 0
 *  +-----------+------------------------+-------------------------+---+-+-------+-+
 *  |              timestamp, device ticks (flow hash if flag 15)                  |  word 1 in 64 and 128 B, absent in 32 B
 *  +------------------------------------------------------------------------------+
 *  |                           work-request id                                    |  word 2              word 1 in 32 B
 *  +--------------------------------------+---------------------------------------+
 *  |      immediate or invalidated rkey   |               byte count              |  length, word 3      word 2 in 32 B
 *  +-----------------------+--------------+------------+---------------+----------+
 *  |           0           |        source QP          |     flags     |vendor err|  detail, word 4      word 3 in 32 B
 *  +-----------------------+---------------------------+---------------+----------+
 *  |                          inline payload                                      |  words 5..7 in 64 B, 5..15 in 128 B
 *  +------------------------------------------------------------------------------+
 * </pre>
 *
 * <p>P is the owner bit: the host owns the slot when P equals the phase of the sequence it is about to read
 * ({@link io.cqring.ring.RingGeometry#phase(long)}). S is the solicited bit. The header is written last, in one 8-byte
 * store, so whoever accepts P already holds every field of the header. Words are little endian.
 *
 * <p>Source: seed 000 section 2.1 for the header and the timestamp; it assigns nothing to bits 7:5, where we put S. The other
 * words are ours. No vendor uses this layout.
 */
public final class CqeLayout {
    /** Bytes of the short entry: no timestamp, no payload. */
    public static final int SHORT_BYTES = 32;

    /** Bytes of the standard entry: one cache line. */
    public static final int STANDARD_BYTES = CacheLines.LINE_BYTES;

    /** Bytes of the long entry: 64 more bytes of payload. */
    public static final int LONG_BYTES = 128;

    /** Offset of the header in its slot, in bytes. */
    public static final int HEADER_OFFSET = 0;

    /** Offset of the timestamp, in bytes; only in 64 and 128 B entries. */
    public static final int TIMESTAMP_OFFSET = 8;

    /** Offset of the inline payload, in bytes; only in 64 and 128 B entries. */
    public static final int PAYLOAD_OFFSET = 40;

    /** The owner bit of the header. */
    public static final long OWNER_MASK = 1;

    /** Flag: the length word holds immediate data. */
    public static final int FLAG_IMMEDIATE = 1;

    /** Flag: the length word holds an invalidated rkey. */
    public static final int FLAG_INVALIDATED_RKEY = 1 << 1;

    /** Flag: a global routing header came with the message. */
    public static final int FLAG_GRH = 1 << 2;

    /** Flag: word 1 holds a flow hash in place of a timestamp. */
    public static final int FLAG_FLOW_HASH = 1 << 7;

    private static final int OPCODE_SHIFT = 1;
    private static final int SOLICITED_SHIFT = 5;
    private static final int COUNTER_SHIFT = 8;
    private static final int QP_SHIFT = 32;
    private static final int SYNDROME_SHIFT = 56;
    private static final int IMMEDIATE_SHIFT = 32;
    private static final int FLAGS_SHIFT = 8;
    private static final int SOURCE_QP_SHIFT = 16;
    private static final int MASK_24 = 0xFF_FFFF;
    private static final int ALL_FLAGS = FLAG_IMMEDIATE | FLAG_INVALIDATED_RKEY | FLAG_GRH | FLAG_FLOW_HASH;

    private CqeLayout() {}

    /**
     * Checks a stride.
     *
     * @param strideBytes bytes per entry
     * @return the stride
     * @throws IllegalArgumentException if it is not 32, 64 or 128
     */
    public static int requireStride(int strideBytes) {
        if (strideBytes != SHORT_BYTES && strideBytes != STANDARD_BYTES && strideBytes != LONG_BYTES) {
            throw new IllegalArgumentException("entry must be 32, 64 or 128 bytes: " + strideBytes);
        }
        return strideBytes;
    }

    /**
     * Where the work-request id lies; the length word follows 8 bytes later, the detail word 16 bytes later.
     *
     * @param strideBytes 32, 64 or 128
     * @return bytes from the start of the slot
     */
    public static int workRequestIdOffset(int strideBytes) {
        return strideBytes == SHORT_BYTES ? 8 : 16;
    }

    /**
     * Room for inline payload.
     *
     * @param strideBytes 32, 64 or 128
     * @return bytes: 0, 24 or 88
     */
    public static int payloadBytes(int strideBytes) {
        return strideBytes == SHORT_BYTES ? 0 : strideBytes - PAYLOAD_OFFSET;
    }

    /**
     * Composes a header; the owner bit is left 0, the writer sets it.
     *
     * @param opcode     one of {@link CqeOpcode}
     * @param solicited  whether the sender asked for an event
     * @param wqeCounter work-queue entry counter; free-running, the low 24 bits are kept
     * @param qpNumber   queue pair number, 0 to 2^24-1
     * @param syndrome   error code, 0 to 255; 0 is success
     * @return the header
     * @throws IllegalArgumentException if opcode, QP number or syndrome is out of range
     */
    public static long header(int opcode, boolean solicited, int wqeCounter, int qpNumber, int syndrome) {
        if (!CqeOpcode.isWritable(opcode) || ((qpNumber & ~MASK_24) | (syndrome & ~0xFF)) != 0) {
            throw badHeader(opcode, qpNumber, syndrome);
        }
        return (long) syndrome << SYNDROME_SHIFT
                | (long) qpNumber << QP_SHIFT
                | (long) (wqeCounter & MASK_24) << COUNTER_SHIFT
                | (solicited ? 1L << SOLICITED_SHIFT : 0)
                | (long) opcode << OPCODE_SHIFT;
    }

    private static IllegalArgumentException badHeader(int opcode, int qpNumber, int syndrome) {
        if (!CqeOpcode.isWritable(opcode)) {
            return new IllegalArgumentException(
                    "opcode must be 0 to 9, 13 or 14 (the rest are the queue's own): " + opcode);
        }
        if ((qpNumber & ~MASK_24) != 0) {
            return new IllegalArgumentException("QP number must be 0 to " + MASK_24 + ": " + qpNumber);
        }
        return new IllegalArgumentException("syndrome must be 0 to 255: " + syndrome);
    }

    /**
     * Composes the length word.
     *
     * @param byteCount bytes of the message, an unsigned 32-bit number
     * @param immediate immediate data or invalidated rkey; the flags of the detail word say which
     * @return the word
     */
    public static long length(int byteCount, int immediate) {
        return (long) immediate << IMMEDIATE_SHIFT | (byteCount & 0xFFFF_FFFFL);
    }

    /**
     * Composes the detail word.
     *
     * @param vendorError vendor's error code, 0 to 255
     * @param flags       any of the FLAG constants, added up
     * @param sourceQp    number of the queue pair that sent the message, 0 to 2^24-1
     * @return the word
     * @throws IllegalArgumentException if a number is out of range
     */
    public static long detail(int vendorError, int flags, int sourceQp) {
        if (((vendorError & ~0xFF) | (flags & ~ALL_FLAGS) | (sourceQp & ~MASK_24)) != 0) {
            throw new IllegalArgumentException("vendor error must be 0 to 255, flags within 0x"
                    + Integer.toHexString(ALL_FLAGS) + ", source QP 0 to " + MASK_24 + ": " + vendorError + ", 0x"
                    + Integer.toHexString(flags) + ", " + sourceQp);
        }
        return (long) sourceQp << SOURCE_QP_SHIFT | flags << FLAGS_SHIFT | vendorError;
    }

    /**
     * Operation code of a header.
     *
     * @param header a header
     * @return one of {@link CqeOpcode}
     */
    public static int opcode(long header) {
        return (int) (header >>> OPCODE_SHIFT) & 0xF;
    }

    /** The header with another operation code, and nothing else changed. */
    static long withOpcode(long header, int opcode) {
        return (header & ~(0xFL << OPCODE_SHIFT)) | (long) opcode << OPCODE_SHIFT;
    }

    /**
     * Solicited bit of a header.
     *
     * @param header a header
     * @return whether the sender asked for an event
     */
    public static boolean isSolicited(long header) {
        return (header >>> SOLICITED_SHIFT & 1) != 0;
    }

    /**
     * Work-queue entry counter of a header.
     *
     * @param header a header
     * @return the counter's low 24 bits
     */
    public static int wqeCounter(long header) {
        return (int) (header >>> COUNTER_SHIFT) & MASK_24;
    }

    /**
     * Queue pair number of a header.
     *
     * @param header a header
     * @return the number, 0 to 2^24-1
     */
    public static int qpNumber(long header) {
        return (int) (header >>> QP_SHIFT) & MASK_24;
    }

    /**
     * Error code of a header.
     *
     * @param header a header
     * @return 0 to 255; 0 is success
     */
    public static int syndrome(long header) {
        return (int) (header >>> SYNDROME_SHIFT);
    }

    /**
     * Message length of a length word.
     *
     * @param length a length word
     * @return bytes, 0 to 2^32-1
     */
    public static long byteCount(long length) {
        return length & 0xFFFF_FFFFL;
    }

    /**
     * Immediate data, or the invalidated rkey, of a length word.
     *
     * @param length a length word
     * @return the 32 bits
     */
    public static int immediate(long length) {
        return (int) (length >>> IMMEDIATE_SHIFT);
    }

    /**
     * Vendor's error code of a detail word.
     *
     * @param detail a detail word
     * @return 0 to 255
     */
    public static int vendorError(long detail) {
        return (int) detail & 0xFF;
    }

    /**
     * Flags of a detail word.
     *
     * @param detail a detail word
     * @return FLAG constants, added up
     */
    public static int flags(long detail) {
        return (int) (detail >>> FLAGS_SHIFT) & 0xFF;
    }

    /**
     * Source queue pair of a detail word.
     *
     * @param detail a detail word
     * @return the number, 0 to 2^24-1
     */
    public static int sourceQp(long detail) {
        return (int) (detail >>> SOURCE_QP_SHIFT) & MASK_24;
    }
}
