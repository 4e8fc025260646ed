package io.cqring.simnic.qp;

/**
 * Layout of one work-queue entry (WQE), 64 bytes. Pure arithmetic on words: touches no memory, keeps no state.
 *
 * <pre>
 *   63                                 32 31               16 15         8 7           0
 *  +--------------------------------------+-------------------+------------+------------+
 *  |             WQE counter              |         0         |   flags    |   opcode   |  control, word 0
 *  +--------------------------------------+-------------------+------------+------------+
 *  |                              work-request id                                       |  word 1
 *  +------------------------------------------------------------------------------------+
 *  |                              local address                                         |  word 2
 *  +--------------------------------------+---------------------------------------------+
 *  |                lkey                  |              length, bytes                  |  word 3
 *  +--------------------------------------+---------------------------------------------+
 *  |                              remote address                                        |  word 4
 *  +--------------------------------------+---------------------------------------------+
 *  |             immediate                |                  rkey                       |  word 5
 *  +--------------------------------------+---------------------------------------------+
 *  |                                   0                                                |  words 6, 7
 *  +------------------------------------------------------------------------------------+
 * </pre>
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

    /** Offset of the first word that is always zero. */
    public static final int RESERVED_OFFSET = 48;

    /** Flag: a success is to be reported, too. Errors always are. */
    public static final int FLAG_SIGNALED = 1;

    /** Flag: the completion at the receiver is solicited. */
    public static final int FLAG_SOLICITED = 1 << 1;

    /** All flags. */
    public static final int ALL_FLAGS = FLAG_SIGNALED | FLAG_SOLICITED;

    /** The longest message, in bytes: RDMA's limit. */
    public static final long MAX_MESSAGE_BYTES = 1L << 31;

    private static final int FLAGS_SHIFT = 8;
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
