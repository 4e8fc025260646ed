package io.cqring.simnic.qp;

/**
 * Operation codes of a work-queue entry. Plain ints, not an enum: they are read from and written to memory on the hot
 * path. 0 is none: zeroed memory is no request.
 */
public final class WqeOpcode {
    /** Sends bytes into a receive of the peer. */
    public static final int SEND = 1;

    /** As SEND, with immediate data. */
    public static final int SEND_IMM = 2;

    /** Writes bytes into the peer's memory; the peer does not notice. */
    public static final int WRITE = 3;

    /** As WRITE, and consumes a receive of the peer to report the immediate data. */
    public static final int WRITE_IMM = 4;

    /** Reads bytes from the peer's memory; the peer does not notice. */
    public static final int READ = 5;

    /** A receive: takes a SEND's bytes, or a WRITE_IMM's report. */
    public static final int RECV = 6;

    /** Compares 8 bytes of the peer's memory, and replaces them if they are equal; brings back what was there. */
    public static final int COMPARE_SWAP = 7;

    /** Adds to 8 bytes of the peer's memory; brings back what was there. */
    public static final int FETCH_ADD = 8;

    /** As SEND, and makes a key of the peer's invalid. */
    public static final int SEND_INVALIDATE = 9;

    /** Makes a key of one's own invalid. Sends nothing. */
    public static final int LOCAL_INVALIDATE = 10;

    /** No operation: the second half of the entry before it. */
    public static final int EXTENSION = 15;

    private static final int SEND_QUEUE = 1 << SEND
            | 1 << SEND_IMM
            | 1 << WRITE
            | 1 << WRITE_IMM
            | 1 << READ
            | 1 << COMPARE_SWAP
            | 1 << FETCH_ADD
            | 1 << SEND_INVALIDATE
            | 1 << LOCAL_INVALIDATE;

    private static final String[] NAMES = {
        "NONE",
        "SEND",
        "SEND_IMM",
        "WRITE",
        "WRITE_IMM",
        "READ",
        "RECV",
        "COMPARE_SWAP",
        "FETCH_ADD",
        "SEND_INVALIDATE",
        "LOCAL_INVALIDATE"
    };

    private WqeOpcode() {}

    /**
     * Whether a code may stand in a send queue.
     *
     * @param opcode a code, any int
     * @return true for all but RECV and EXTENSION
     */
    public static boolean isSendQueue(int opcode) {
        return (opcode & ~31) == 0 && (SEND_QUEUE >>> opcode & 1) != 0;
    }

    /**
     * Whether it only sends or writes: what most requests do.
     *
     * @param opcode a code, any int
     * @return true for SEND, SEND_IMM, WRITE and WRITE_IMM
     */
    public static boolean isPlain(int opcode) {
        return opcode >= SEND && opcode <= WRITE_IMM;
    }

    /**
     * Whether the answer brings something that no other answer brings.
     *
     * @param opcode a code
     * @return true for READ, COMPARE_SWAP and FETCH_ADD
     */
    public static boolean hasResponse(int opcode) {
        return opcode == READ || isAtomic(opcode);
    }

    /**
     * Whether it changes 8 bytes at once.
     *
     * @param opcode a code
     * @return true for COMPARE_SWAP and FETCH_ADD
     */
    public static boolean isAtomic(int opcode) {
        return opcode == COMPARE_SWAP || opcode == FETCH_ADD;
    }

    /**
     * Whether a message consumes a receive at the peer.
     *
     * @param opcode a code
     * @return true for SEND, SEND_IMM, SEND_INVALIDATE and WRITE_IMM
     */
    public static boolean consumesReceive(int opcode) {
        return opcode == SEND || opcode == SEND_IMM || opcode == WRITE_IMM || opcode == SEND_INVALIDATE;
    }

    /**
     * Whether a message carries immediate data.
     *
     * @param opcode a code
     * @return true for SEND_IMM and WRITE_IMM
     */
    public static boolean hasImmediate(int opcode) {
        return opcode == SEND_IMM || opcode == WRITE_IMM;
    }

    /**
     * Name of a code, for messages.
     *
     * @param opcode a code, any int
     * @return the name; {@code opcode 77} for a value that is no code
     */
    public static String name(int opcode) {
        return opcode >= 0 && opcode < NAMES.length ? NAMES[opcode] : "opcode " + opcode;
    }
}
