package io.cqring.cq;

/**
 * Operation codes of a completion entry, word 0 bits 4:1 (reference profile; codes 13 and 14 as in mlx5).
 *
 * <p>Plain ints, not an enum: they are read from and written to memory on the hot path.
 */
public final class CqeOpcode {
    /** A send finished at the requester. */
    public static final int RC_SEND = 0;

    /** An RDMA write finished at the requester. */
    public static final int RC_RDMA_WRITE = 1;

    /** An RDMA read finished at the requester; its data are in local memory. */
    public static final int RC_RDMA_READ = 2;

    /** A compare-and-swap finished at the requester. */
    public static final int RC_COMP_SWAP = 3;

    /** A fetch-and-add finished at the requester. */
    public static final int RC_FETCH_ADD = 4;

    /** A local invalidate finished at the requester. */
    public static final int LOCAL_INV = 5;

    /** A receive was consumed by a send. */
    public static final int RECV = 6;

    /** A receive was consumed by a send with immediate data. */
    public static final int RECV_IMM = 7;

    /** A receive was consumed by an RDMA write with immediate data. */
    public static final int RECV_RDMA_IMM = 8;

    /** A receive was consumed by a send that invalidated an rkey. */
    public static final int RECV_INV = 9;

    /** A request failed; syndrome and vendor error say why. */
    public static final int REQ_ERR = 13;

    /** A receive failed or was flushed; syndrome and vendor error say why. */
    public static final int RESP_ERR = 14;

    /** Several completions in one entry; polls hand them out one by one. */
    static final int MERGED = 10;
    /** No entry: from here on the device writes to another ring, and this sequence is found there. */
    static final int RESIZE = 11;

    /** A claimed entry that its writer gave up; polls pass over it. */
    static final int ABANDONED = 12;

    /** An entry taken back before it was polled; polls pass over it. */
    static final int INVALID = 15;

    /** Codes a device may write. 10 (MERGED), 11 (RESIZE), 12 (ABANDONED) and 15 (INVALID) are the queue's own. */
    private static final int WRITABLE = 0b0110_0011_1111_1111;

    private static final String[] NAMES = {
        "RC_SEND", "RC_RDMA_WRITE", "RC_RDMA_READ", "RC_COMP_SWAP", "RC_FETCH_ADD", "LOCAL_INV", "RECV", "RECV_IMM",
        "RECV_RDMA_IMM", "RECV_INV", "MERGED", "RESIZE", "ABANDONED", "REQ_ERR", "RESP_ERR", "INVALID"
    };

    private CqeOpcode() {}

    /**
     * Name of a code, for messages.
     *
     * @param opcode a code, 0 to 15
     * @return the name; {@code opcode 77} for a value that is no code
     */
    public static String name(int opcode) {
        return opcode >= 0 && opcode < NAMES.length ? NAMES[opcode] : "opcode " + opcode;
    }

    /**
     * Whether the completion belongs to a receive queue.
     *
     * @param opcode a code
     * @return true for RECV, RECV_IMM, RECV_RDMA_IMM, RECV_INV and RESP_ERR
     */
    public static boolean isReceive(int opcode) {
        return (opcode >= RECV && opcode <= RECV_INV) || opcode == RESP_ERR;
    }

    static boolean isFailed(int opcode) {
        return opcode == REQ_ERR || opcode == RESP_ERR;
    }

    /** Whether polls pass over the entry: it is no completion, only a slot that must be returned to the device. */
    static boolean isPassedOver(int opcode) {
        return opcode == ABANDONED || opcode == INVALID;
    }

    static boolean isWritable(int opcode) {
        return (opcode & ~15) == 0 && (WRITABLE >>> opcode & 1) != 0;
    }
}
