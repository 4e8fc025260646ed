package io.cqring.simnic.qp;

/**
 * Layout of one work-queue entry (WQE), 64 bytes. Pure arithmetic on words: touches no memory, keeps no state.
 *
 * <pre>
 *   63                                 32 31   19 18 17    16 15         8 7           0
 *  +--------------------------------------+------+-+---------+------------+------------+
 *  |             WQE counter              |   0  |C| segments |   flags    |   opcode   |  control, word 0
 *  +--------------------------------------+-------------------+------------+------------+
 *  |                              work-request id                                       |  word 1
 *  +------------------------------------------------------------------------------------+
 *  |                              local address                                         |  word 2
 *  +--------------------------------------+---------------------------------------------+
 *  |                lkey                  |              length, bytes                  |  word 3
 *  +--------------------------------------+---------------------------------------------+
 *  |                              remote address                                        |  word 4
 *  +--------------------------------------+---------------------------------------------+
 *  |        immediate, or Q_Key (UD)      |         rkey, or destination QP (UD)        |  word 5
 *  +--------------------------------------+---------------------------------------------+
 *  |      0; atomics: compare or add, swap; inline data of up to 16 bytes               |  words 6, 7
 *  +------------------------------------------------------------------------------------+
 * </pre>
 *
 * <p>SEND_INVALIDATE has the peer's rkey in word 5, LOCAL_INVALIDATE one's own. A datagram has its immediate in word 4, low half.
 *
 * <p>C is set if the entry goes on in the next one, its extension, whose opcode is EXTENSION. Entries with a scatter-gather list are such: the
 * first segment is in words 2 and 3, the others, up to three (their number is in the control word), in words 1 to 6 of the extension, an address
 * and a length with lkey each. Inline data of 17 to 56 bytes are in words 1 to 7 of the extension. With inline data word 3 has their length,
 * and address and lkey are not looked at. A message takes as many packet sequence numbers as its request has entries; its completion
 * has the counter of the last of them.
 *
 * <p>The host stores all eight words of every entry, so nothing of the last lap shows through. The counter is the low
 * half of the entry's sequence: the device compares it with its own and so never executes an entry of another lap.
 * There is no owner bit: the doorbell record says which entries are posted. Words are little endian. The layout is
 * ours.
 */
public final class WqeLayout {
    /** Bytes from entry to entry. */
    public static final int STRIDE_BYTES = 64;

    /** Offset of the control word. */
    public static final int CONTROL_OFFSET = 0;

    /** Offset of the work-request id. */
    public static final int WORK_REQUEST_ID_OFFSET = 8;

    /** Offset of the local address. */
    public static final int LOCAL_ADDRESS_OFFSET = 16;

    /** Offset of the word with length and lkey. */
    public static final int LOCAL_LENGTH_OFFSET = 24;

    /** Offset of the remote address. */
    public static final int REMOTE_ADDRESS_OFFSET = 32;

    /** Offset of the word with rkey and immediate data. */
    public static final int REMOTE_KEY_OFFSET = 40;

    /** Offset of the words that only atomics and inline data use; else zero. */
    public static final int RESERVED_OFFSET = 48;

    /** Offset of what an atomic compares with, or adds. */
    public static final int OPERAND_OFFSET = RESERVED_OFFSET;

    /** Offset of what a compare-and-swap stores. */
    public static final int SWAP_OFFSET = OPERAND_OFFSET + Long.BYTES;

    /** Flag: a success is to be reported, too. Errors always are. */
    public static final int FLAG_SIGNALED = 1;

    /** Flag: the completion at the receiver is solicited. */
    public static final int FLAG_SOLICITED = 1 << 1;

    /** Flag: not before all reads and atomics posted before it have brought what they asked for. */
    public static final int FLAG_FENCE = 1 << 2;

    /** All flags that a caller may set. */
    public static final int ALL_FLAGS = FLAG_SIGNALED | FLAG_SOLICITED | FLAG_FENCE;

    /** Flag: the bytes are in the entry itself. Set by the methods that post such. */
    public static final int FLAG_INLINE = 1 << 3;

    /** Bit of the control word: the next entry belongs to this one. */
    public static final int CHAINED = 1 << 18;

    /** Bits of the control word that most requests have at zero: extension, fence, inline. */
    public static final long UNUSUAL = 0xFFFF_0000L | (FLAG_FENCE | FLAG_INLINE) << 8;

    /** The most inline bytes of one entry. */
    public static final int MAX_SHORT_INLINE_BYTES = 16;

    /** The most inline bytes. */
    public static final int MAX_INLINE_BYTES = 56;

    /** The longest datagram, in bytes. */
    public static final int MAX_DATAGRAM_BYTES = 4096;

    /** What a datagram's receive has in front of the message: a global routing header. */
    public static final int GRH_BYTES = 40;

    /** The longest message, in bytes: RDMA's limit. */
    public static final long MAX_MESSAGE_BYTES = 1L << 31;

    /** Offset of what an extension carries. */
    public static final int EXTENSION_DATA_OFFSET = 8;

    private static final int FLAGS_SHIFT = 8;
    private static final int EXTRA_SHIFT = 16;
    private static final int COUNTER_SHIFT = 32;
    private static final int HIGH_SHIFT = 32;
    private static final long LOW_MASK = 0xFFFF_FFFFL;

    private WqeLayout() {}

    /**
     * Composes a control word.
     *
     * @param opcode  one of {@link WqeOpcode}
     * @param flags   FLAG constants, added up
     * @param counter the entry's sequence; its low 32 bits are kept
     * @return the word
     */
    public static long control(int opcode, int flags, long counter) {
        return counter << COUNTER_SHIFT | (long) flags << FLAGS_SHIFT | opcode;
    }

    /**
     * Bits 31:16 of a control word: 0 unless the entry has an extension.
     *
     * @param control a control word
     * @return {@link #CHAINED} shifted, and the number of segments in the extension
     */
    public static int extra(long control) {
        return (int) control >>> EXTRA_SHIFT;
    }

    /**
     * Whether the next entry belongs to this one.
     *
     * @param control a control word
     * @return whether {@link #CHAINED} is set
     */
    public static boolean isChained(long control) {
        return (control & CHAINED) != 0;
    }

    /**
     * Segments in the extension.
     *
     * @param control a control word
     * @return 0 to 3
     */
    public static int moreSegments(long control) {
        return extra(control) & 3;
    }

    /**
     * Where a segment of an extension starts: its address; length and lkey follow.
     *
     * @param segment 0 to 2
     * @return bytes from the start of the extension
     */
    public static int segmentOffset(int segment) {
        return EXTENSION_DATA_OFFSET + segment * 2 * Long.BYTES;
    }

    /**
     * Composes a word of two halves: length and lkey, or rkey and immediate.
     *
     * @param low  bits 31:0; higher bits are dropped
     * @param high bits 63:32
     * @return the word
     */
    public static long pair(long low, int high) {
        return (long) high << HIGH_SHIFT | (low & LOW_MASK);
    }

    /**
     * Operation of a control word.
     *
     * @param control a control word
     * @return 0 to 255
     */
    public static int opcode(long control) {
        return (int) control & 0xFF;
    }

    /**
     * Flags of a control word.
     *
     * @param control a control word
     * @return 0 to 255
     */
    public static int flags(long control) {
        return (int) (control >>> FLAGS_SHIFT) & 0xFF;
    }

    /**
     * Counter of a control word.
     *
     * @param control a control word
     * @return the low 32 bits of the entry's sequence
     */
    public static int counter(long control) {
        return (int) (control >>> COUNTER_SHIFT);
    }

    /**
     * Low half of a word, unsigned: a length.
     *
     * @param word a word from {@link #pair}
     * @return 0 to 2^32-1
     */
    public static long length(long word) {
        return word & LOW_MASK;
    }

    /**
     * Low half of a word: the rkey.
     *
     * @param word a word from {@link #pair}
     * @return the bits
     */
    public static int low(long word) {
        return (int) word;
    }

    /**
     * High half of a word: the lkey or the immediate data.
     *
     * @param word a word from {@link #pair}
     * @return the bits
     */
    public static int high(long word) {
        return (int) (word >>> HIGH_SHIFT);
    }
}
