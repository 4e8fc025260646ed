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

    private static final String[] NAMES = {"NONE", "SEND", "SEND_IMM", "WRITE", "WRITE_IMM", "READ", "RECV"};

    private WqeOpcode() {}

    /**
     * Whether a code may stand in a send queue.
     *
     * @param opcode a code, any int
     * @return true for SEND to READ
     */
    public static boolean isSendQueue(int opcode) {
        return opcode >= SEND && opcode <= READ;
    }

    /**
     * Whether a message consumes a receive at the peer.
     *
     * @param opcode a code
     * @return true for SEND, SEND_IMM and WRITE_IMM
     */
    public static boolean consumesReceive(int opcode) {
        return opcode == SEND || opcode == SEND_IMM || opcode == WRITE_IMM;
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
