package io.cqring.simnic.profile;

import io.cqring.cq.CompletionStatus;

/**
 * The irdma completion entry, bit by bit: four little-endian words, and four more if immediate data or a sender's address come with it.
 *
 * <pre>
 *   word 0   31:0 payload length | 63:32 packet sequence number
 *   word 1   63:0 completion context: what the driver gave for the queue pair when it was made; of a shared receive queue the request's tag
 *   word 2   31:0 source QP number (datagrams), or the invalidated key | 55:32 QP number
 *   word 3   15:0 minor error | 31:16 major error | 46:32 WQE index | 50 extended | 52 shared receive queue | 53 key valid
 *            | 54 solicited | 55 error | 61:56 operation | 62 send queue | 63 VALID
 *   extension, word 0: 31:0 immediate; word 1: completion context if word 1 of the entry has a tag; word 2: 47:0 sender's MAC | 63:48 VLAN;
 *              word 3: 60 VLAN valid | 61 MAC valid | 62 immediate valid | 63 VALID
 * </pre>
 *
 * <p>With 64-byte slots the extension is the slot's second half. With 32-byte slots it is the next slot, with a VALID bit of its own that
 * must be looked at; if that is slot 0, its polarity is the other one. The driver looks for the context of a shared receive queue in the
 * extension without asking whether there is one, so only with 64-byte slots. Source: rdma-core {@code providers/irdma/defs.h}, {@code uk.c}.
 */
public final class IrdmaCqe {
    /** Bytes of an entry, without extension. */
    public static final int BYTES = 32;

    /** Offset of word 1. */
    public static final int CONTEXT = 8;

    /** Offset of word 2. */
    public static final int QP = 16;

    /** Offset of word 3: stored last, with release; loaded first, with acquire. */
    public static final int CONTROL = 24;

    /** Operation: write. */
    public static final int RDMA_WRITE = 0x00;

    /** Operation: read. */
    public static final int RDMA_READ = 0x01;

    /** Operation: send. */
    public static final int SEND = 0x03;

    /** Operation: local invalidate. */
    public static final int INV_STAG = 0x0a;

    /** Operation: receive. */
    public static final int RECV = 0x3e;

    /** Operation: receive, consumed by a send with immediate. */
    public static final int RECV_IMM = 0x3f;

    /** Operation of a receive over RoCE: the last packet's opcode, here that of a write with immediate in one packet. */
    public static final int RECV_WRITE_ONLY_IMM = 0x0b;

    /** As above, for the last of several packets. */
    public static final int RECV_WRITE_LAST_IMM = 0x09;

    /** Operation of a receive, newer devices: consumed by a write with immediate. */
    public static final int RECV_WRITE_IMM = RDMA_WRITE;

    /** As above, by one that asked for an event. */
    public static final int RECV_WRITE_IMM_SOLICITED = 0x0d;

    /** Operation: compare and swap; newer devices. */
    public static final int ATOMIC_COMPARE_SWAP = 0x11;

    /** Operation: fetch and add; newer devices. */
    public static final int ATOMIC_FETCH_ADD = 0x0f;

    /** Major error: flushed; the minor error says why. */
    public static final int MAJOR_FLUSH = 1;

    /** Major error of a receive in a shared queue: the minor error is the code of an asynchronous event, see {@link #ofEvent}. */
    public static final int MAJOR_SHARED = 0xfffe;

    private static final int MASK_24 = 0xFF_FFFF;
    private static final int SHARED_SHIFT = 52;
    private static final int MAC_VALID_SHIFT = 61;
    private static final int EXTENDED_SHIFT = 50;
    private static final int KEY_VALID_SHIFT = 53;
    private static final int SOLICITED_SHIFT = 54;
    private static final int ERROR_SHIFT = 55;
    private static final int OPERATION_SHIFT = 56;
    private static final int SEND_QUEUE_SHIFT = 62;
    private static final int IMMEDIATE_VALID_SHIFT = 62;
    private static final int VALID_SHIFT = 63;

    private IrdmaCqe() {}

    /**
     * Composes word 0.
     *
     * @param length payload bytes, 32 bits
     * @param psn    packet sequence number
     * @return the word
     */
    public static long length(int length, int psn) {
        return (long) psn << 32 | (length & 0xFFFF_FFFFL);
    }

    /**
     * Composes word 2.
     *
     * @param qpNumber queue pair, 24 bits
     * @param source   source QP number, or the invalidated key
     * @return the word
     */
    public static long qp(int qpNumber, int source) {
        return (qpNumber & (long) MASK_24) << 32 | (source & 0xFFFF_FFFFL);
    }

    /**
     * Composes word 3 of a completion that succeeded.
     *
     * @param operation one of the operations
     * @param sendQueue whether it belongs to the send queue
     * @param wqeIndex  place of the work-queue entry, 15 bits
     * @param extended  whether an extension comes with it
     * @param keyValid  whether word 2 has an invalidated key
     * @param solicited whether the sender asked for an event
     * @param valid     VALID bit
     * @return the word
     */
    public static long control(
            int operation,
            boolean sendQueue,
            int wqeIndex,
            boolean extended,
            boolean keyValid,
            boolean solicited,
            int valid) {
        return (wqeIndex & 0x7FFFL) << 32
                | bit(extended, EXTENDED_SHIFT)
                | bit(keyValid, KEY_VALID_SHIFT)
                | bit(solicited, SOLICITED_SHIFT)
                | (long) operation << OPERATION_SHIFT
                | bit(sendQueue, SEND_QUEUE_SHIFT)
                | (long) valid << VALID_SHIFT;
    }

    /**
     * The word with an error in it.
     *
     * @param control    word 3 of a success
     * @param majorError 16 bits
     * @param minorError 16 bits
     * @return the word
     */
    public static long failed(long control, int majorError, int minorError) {
        return control | 1L << ERROR_SHIFT | (majorError & 0xFFFFL) << 16 | (minorError & 0xFFFF);
    }

    /**
     * The word of a receive in a shared queue.
     *
     * @param control word 3
     * @return the word with that bit
     */
    public static long shared(long control) {
        return control | 1L << SHARED_SHIFT;
    }

    /**
     * Composes word 3 of an extension that carries immediate data.
     *
     * @param valid VALID bit
     * @return the word
     */
    public static long extensionControl(int valid) {
        return extensionControl(true, false, valid);
    }

    /**
     * Composes word 3 of an extension.
     *
     * @param immediateValid whether its word 0 has immediate data
     * @param macValid       whether its word 2 has the sender's MAC
     * @param valid          VALID bit
     * @return the word
     */
    public static long extensionControl(boolean immediateValid, boolean macValid, int valid) {
        return bit(immediateValid, IMMEDIATE_VALID_SHIFT)
                | bit(macValid, MAC_VALID_SHIFT)
                | (long) valid << VALID_SHIFT;
    }

    private static long bit(boolean set, int shift) {
        return set ? 1L << shift : 0;
    }

    private static boolean isSet(long word, int shift) {
        return (word >>> shift & 1) != 0;
    }

    /**
     * VALID bit, of an entry or an extension.
     *
     * @param control word 3
     * @return 0 or 1
     */
    public static int valid(long control) {
        return (int) (control >>> VALID_SHIFT);
    }

    /**
     * Whether an extension comes with the entry.
     *
     * @param control word 3
     * @return the bit
     */
    public static boolean isExtended(long control) {
        return isSet(control, EXTENDED_SHIFT);
    }

    /**
     * Whether an extension has immediate data.
     *
     * @param extension word 3 of it
     * @return the bit
     */
    public static boolean hasImmediate(long extension) {
        return isSet(extension, IMMEDIATE_VALID_SHIFT);
    }

    /**
     * Whether the receive was in a shared queue.
     *
     * @param control word 3
     * @return the bit
     */
    public static boolean isShared(long control) {
        return isSet(control, SHARED_SHIFT);
    }

    /**
     * Source queue pair of a datagram.
     *
     * @param qp word 2
     * @return 24 bits, those that such a number has
     */
    public static int sourceQp(long qp) {
        return (int) qp & MASK_24;
    }

    /**
     * Whether word 2 has an invalidated key; of a datagram, whether it came over IPv4.
     *
     * @param control word 3
     * @return the bit
     */
    public static boolean isKeyValid(long control) {
        return isSet(control, KEY_VALID_SHIFT);
    }

    /**
     * Whether the sender asked for an event.
     *
     * @param control word 3
     * @return the bit
     */
    public static boolean isSolicited(long control) {
        return isSet(control, SOLICITED_SHIFT);
    }

    /**
     * Whether the request failed.
     *
     * @param control word 3
     * @return the bit
     */
    public static boolean isError(long control) {
        return isSet(control, ERROR_SHIFT);
    }

    /**
     * Whether the completion belongs to the send queue.
     *
     * @param control word 3
     * @return the bit
     */
    public static boolean isSendQueue(long control) {
        return isSet(control, SEND_QUEUE_SHIFT);
    }

    /**
     * Operation.
     *
     * @param control word 3
     * @return one of the operations
     */
    public static int operation(long control) {
        return (int) (control >>> OPERATION_SHIFT) & 0x3F;
    }

    /**
     * Place of the work-queue entry.
     *
     * @param control word 3
     * @return 15 bits
     */
    public static int wqeIndex(long control) {
        return (int) (control >>> 32) & 0x7FFF;
    }

    /**
     * Major error.
     *
     * @param control word 3
     * @return 16 bits
     */
    public static int majorError(long control) {
        return (int) control >>> 16 & 0xFFFF;
    }

    /**
     * Minor error: what kind of flush, if the major error is {@link #MAJOR_FLUSH}.
     *
     * @param control word 3
     * @return 16 bits
     */
    public static int minorError(long control) {
        return (int) control & 0xFFFF;
    }

    /**
     * Queue pair.
     *
     * @param qp word 2
     * @return 24 bits
     */
    public static int qpNumber(long qp) {
        return (int) (qp >>> 32) & MASK_24;
    }

    /**
     * The minor error, under {@link #MAJOR_FLUSH}, that the code of an asynchronous event stands for.
     *
     * @param code the minor error under {@link #MAJOR_SHARED}
     * @return 16 bits; 1, flushed, for a code that the driver's table does not have
     */
    public static int ofEvent(int code) {
        return switch (code) {
            case 0x0102, 0x0103, 0x0104, 0x0105, 0x0106, 0x0107, 0x0108, 0x0109, 0x010a, 0x011c -> 2;
            case 0x0112, 0x020d -> 3;
            case 0x0133, 0x020a -> 4;
            case 0x020e, 0x0316, 0x0505, 0x0507 -> 5;
            case 0x0132, 0x0134, 0x0135, 0x0303, 0x0305 -> 6;
            case 0x0700, 0x0703, 0x0704, 0x0705 -> 7;
            case 0x050a -> 8;
            case 0x0114, 0x0118, 0x0119, 0x011b -> 9;
            case 0x0208 -> 10;
            case 0x050f -> 11;
            default -> 1;
        };
    }

    /**
     * The code of an asynchronous event that a device writes for a status, one of several for most.
     *
     * @param status an error
     * @return the minor error under {@link #MAJOR_SHARED}
     */
    public static int event(CompletionStatus status) {
        return switch (status) {
            case WR_FLUSH_ERR -> 0;
            case LOC_PROT_ERR -> 0x0108; // bounds violation
            case REM_ACCESS_ERR -> 0x020d;
            case LOC_QP_OP_ERR -> 0x020a; // unexpected opcode in a work-queue entry
            case REM_OP_ERR -> 0x020e;
            case LOC_LEN_ERR -> 0x0303; // message too long for the buffer
            case RETRY_EXC_ERR -> 0x050a;
            case MW_BIND_ERR -> 0x0118;
            case REM_INV_REQ_ERR -> 0x0208;
            case RNR_RETRY_EXC_ERR -> 0x050f;
            default -> 0x0704; // local catastrophic
        };
    }

    /**
     * What an error stands for.
     *
     * @param majorError 16 bits
     * @param minorError 16 bits
     * @return the status
     */
    public static CompletionStatus status(int majorError, int minorError) {
        if (majorError != MAJOR_FLUSH) {
            return CompletionStatus.GENERAL_ERR;
        }
        return switch (minorError) {
            case 1 -> CompletionStatus.WR_FLUSH_ERR;
            case 2 -> CompletionStatus.LOC_PROT_ERR;
            case 3 -> CompletionStatus.REM_ACCESS_ERR;
            case 4 -> CompletionStatus.LOC_QP_OP_ERR;
            case 5 -> CompletionStatus.REM_OP_ERR;
            case 6 -> CompletionStatus.LOC_LEN_ERR;
            case 8 -> CompletionStatus.RETRY_EXC_ERR;
            case 9 -> CompletionStatus.MW_BIND_ERR;
            case 10 -> CompletionStatus.REM_INV_REQ_ERR;
            case 11 -> CompletionStatus.RNR_RETRY_EXC_ERR;
            default -> CompletionStatus.FATAL_ERR;
        };
    }

    /**
     * The minor error, under {@link #MAJOR_FLUSH}, that a device writes for a status.
     *
     * @param status an error
     * @return 16 bits; 7, fatal, where irdma has no code
     */
    public static int minorError(CompletionStatus status) {
        return switch (status) {
            case WR_FLUSH_ERR -> 1;
            case LOC_PROT_ERR -> 2;
            case REM_ACCESS_ERR -> 3;
            case LOC_QP_OP_ERR -> 4;
            case REM_OP_ERR -> 5;
            case LOC_LEN_ERR -> 6;
            case RETRY_EXC_ERR -> 8;
            case MW_BIND_ERR -> 9;
            case REM_INV_REQ_ERR -> 10;
            case RNR_RETRY_EXC_ERR -> 11;
            default -> 7;
        };
    }
}
