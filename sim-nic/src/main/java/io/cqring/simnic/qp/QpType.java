package io.cqring.simnic.qp;

/** Transport service of a queue pair: what it may post, and what becomes of what it posts. */
public enum QpType {
    /** Reliable connection: each message arrives once and in order, or the queue pair fails. All operations. */
    RC(~0),
    /**
     * Unreliable connection: a message that the wire loses, or that finds no receive, is gone without a word; none arrives twice or out of
     * order. Sends and writes.
     */
    UC(1 << WqeOpcode.SEND | 1 << WqeOpcode.SEND_IMM | 1 << WqeOpcode.WRITE | 1 << WqeOpcode.WRITE_IMM),
    /** Unreliable datagram: each send names its destination, and arrives as often and in what order the wire pleases. Sends. */
    UD(1 << WqeOpcode.SEND | 1 << WqeOpcode.SEND_IMM);

    private final int opcodes;

    QpType(int opcodes) {
        this.opcodes = opcodes;
    }

    /**
     * Whether an operation may stand in the send queue.
     *
     * @param opcode one of {@link WqeOpcode}, any int
     * @return true if it may
     */
    public boolean canSend(int opcode) {
        return WqeOpcode.isSendQueue(opcode) && (opcodes >>> opcode & 1) != 0;
    }
}
