package io.cqring.simnic.profile;

import io.cqring.cq.CompletionStatus;

/**
 * The bnxt_re completion entry, 32 bytes, bit by bit: three little-endian words by type, then the base.
 *
 * <pre>
 *   requester (0)   word 0: 63:0 handle of the queue pair | word 1: 15:0 send queue's consumer index: all before it are done
 *   receive (1)     word 0: 31:0 length | 63:32 immediate, or the invalidated key | word 1: 63:0 handle
 *   datagram (2)    as a receive, but word 0: 13:0 length | 31:14 VLAN and the like; word 2: 47:0 sender's MAC | 63:48 source QP number, low
 *   terminal (14)   word 0: 63:0 handle | word 1: 15:0 send queue's, 31:16 receive queue's consumer index; 0xFFFF: none
 *   cut-off (15)    the base alone
 *   word 3, base    0 toggle | 4:1 type | 6:5 resize toggle | 15:8 status | 31:16 flags | 51:32 receive's index
 *                   | 63:56 source QP number, high
 * </pre>
 *
 * <p>The receive's index is the one that the driver wrote into the request: in a shared queue, its place there.
 *
 *
 * <p>The seed says 64 bytes; the driver says 32, and so does this class. Source: rdma-core {@code providers/bnxt_re/bnxt_re-abi.h},
 * {@code verbs.c}.
 */
public final class BnxtCqe {
    /** Bytes of an entry. */
    public static final int BYTES = 32;

    /** Offset of word 1. */
    public static final int WORD_1 = 8;

    /** Offset of word 2. */
    public static final int WORD_2 = 16;

    /** Offset of the base: stored last, with release; loaded first, with acquire. */
    public static final int BASE = 24;

    /** Type: requests done up to an index. */
    public static final int REQ = 0;

    /** Type: a receive of a connected queue pair. */
    public static final int RES_RC = 1;

    /** Type: a receive of a datagram queue pair. */
    public static final int RES_UD = 2;

    /** Type: nothing more comes for a queue pair that failed; the driver makes up the flushed ones. */
    public static final int TERMINAL = 14;

    /** Type: the device goes on in another ring. */
    public static final int CUT_OFF = 15;

    /** Flag of a receive: it was in a shared queue. */
    public static final int FLAG_SRQ = 1;

    /** Flag of a receive: immediate data. */
    public static final int FLAG_IMM = 2;

    /** Flag of a receive: an invalidated key. */
    public static final int FLAG_INV = 4;

    /** Flag of a receive: consumed by a write with immediate. */
    public static final int FLAG_RDMA = 8;

    /** Consumer index of a terminal entry: not valid. */
    public static final int NO_INDEX = 0xFFFF;

    /** Consumer indexes of a terminal entry count to this, so that none looks like {@link #NO_INDEX}. */
    static final int TERMINAL_INDEX_MASK = 0x7FFF;

    private static final int INDEX_MASK = 0xF_FFFF;
    private static final int DATAGRAM_LENGTH_MASK = 0x3FFF;
    private static final long MAC_MASK = 0xFFFF_FFFF_FFFFL;
    private static final int SOURCE_LOW_SHIFT = 48;
    private static final int SOURCE_HIGH_SHIFT = 56;

    private BnxtCqe() {}

    /**
     * Composes the base.
     *
     * @param type         one of the types
     * @param status       8 bits, see {@link #sendStatus} and {@link #receiveStatus}
     * @param flags        FLAG constants, added up
     * @param receiveIndex place of the receive, 20 bits
     * @param toggle       toggle bit
     * @return the word
     */
    public static long base(int type, int status, int flags, int receiveIndex, int toggle) {
        return (receiveIndex & (long) INDEX_MASK) << 32
                | (flags & 0xFFFFL) << 16
                | (status & 0xFF) << 8
                | type << 1
                | toggle;
    }

    /**
     * Composes the base of a cut-off entry.
     *
     * @param resizeToggle 2 bits, for the acknowledgement
     * @param toggle       toggle bit
     * @return the word
     */
    public static long cutOff(int resizeToggle, int toggle) {
        return (resizeToggle & 3L) << 5 | CUT_OFF << 1 | toggle;
    }

    /**
     * Composes word 0 of a receive.
     *
     * @param length    bytes
     * @param immediate immediate data, or the invalidated key
     * @return the word
     */
    public static long receive(int length, int immediate) {
        return (long) immediate << 32 | (length & 0xFFFF_FFFFL);
    }

    /**
     * Composes word 0 of a datagram.
     *
     * @param length    bytes, 14 bits; the header of 40 bytes counts
     * @param immediate immediate data
     * @return the word
     */
    public static long datagram(int length, int immediate) {
        return receive(length & DATAGRAM_LENGTH_MASK, immediate);
    }

    /**
     * Composes word 2 of a datagram.
     *
     * @param sourceQp queue pair that sent it; its low 16 bits count
     * @param mac      48 bits, the first byte in bits 47:40
     * @return the word
     */
    public static long source(int sourceQp, long mac) {
        return (long) sourceQp << SOURCE_LOW_SHIFT | (mac & MAC_MASK);
    }

    /**
     * The base of a datagram.
     *
     * @param base     the base of a receive
     * @param sourceQp queue pair that sent it; bits 23:16 count
     * @return the word
     */
    public static long withSource(long base, int sourceQp) {
        return base | (sourceQp >>> 16 & 0xFFL) << SOURCE_HIGH_SHIFT;
    }

    /**
     * Queue pair that sent a datagram.
     *
     * @param base   the base
     * @param source word 2
     * @return 24 bits
     */
    public static int sourceQp(long base, long source) {
        return (int) (base >>> SOURCE_HIGH_SHIFT) << 16 | (int) (source >>> SOURCE_LOW_SHIFT);
    }

    /**
     * Length of a datagram.
     *
     * @param word0 word 0
     * @return 14 bits
     */
    public static int datagramLength(long word0) {
        return (int) word0 & DATAGRAM_LENGTH_MASK;
    }

    /**
     * Toggle bit.
     *
     * @param base the base
     * @return 0 or 1
     */
    public static int toggle(long base) {
        return (int) base & 1;
    }

    /**
     * Type.
     *
     * @param base the base
     * @return one of the types
     */
    public static int type(long base) {
        return (int) base >>> 1 & 0xF;
    }

    /**
     * Resize toggle of a cut-off entry.
     *
     * @param base the base
     * @return 2 bits
     */
    public static int resizeToggle(long base) {
        return (int) base >>> 5 & 3;
    }

    /**
     * Status.
     *
     * @param base the base
     * @return 8 bits
     */
    public static int status(long base) {
        return (int) base >>> 8 & 0xFF;
    }

    /**
     * Flags.
     *
     * @param base the base
     * @return FLAG constants, added up
     */
    public static int flags(long base) {
        return (int) base >>> 16 & 0xFFFF;
    }

    /**
     * Place of the receive.
     *
     * @param base the base
     * @return 20 bits
     */
    public static int receiveIndex(long base) {
        return (int) (base >>> 32) & INDEX_MASK;
    }

    /**
     * What the status of a requester entry stands for.
     *
     * @param code 8 bits
     * @return the status; {@link CompletionStatus#GENERAL_ERR} for a code without a meaning
     */
    public static CompletionStatus sendStatus(int code) {
        return switch (code) {
            case 0x0 -> CompletionStatus.SUCCESS;
            case 0x1 -> CompletionStatus.BAD_RESP_ERR;
            case 0x2 -> CompletionStatus.LOC_LEN_ERR;
            case 0x3 -> CompletionStatus.LOC_QP_OP_ERR;
            case 0x4 -> CompletionStatus.LOC_PROT_ERR;
            case 0x5 -> CompletionStatus.MW_BIND_ERR;
            case 0x6 -> CompletionStatus.REM_INV_REQ_ERR;
            case 0x7 -> CompletionStatus.REM_ACCESS_ERR;
            case 0x8 -> CompletionStatus.REM_OP_ERR;
            case 0x9 -> CompletionStatus.RNR_RETRY_EXC_ERR;
            case 0xA -> CompletionStatus.RETRY_EXC_ERR;
            case 0xB -> CompletionStatus.WR_FLUSH_ERR;
            default -> CompletionStatus.GENERAL_ERR;
        };
    }

    /**
     * The status of a requester entry that a device writes.
     *
     * @param status the outcome
     * @return 8 bits; 0xff, which stands for nothing, where bnxt_re has no code
     */
    public static int sendCode(CompletionStatus status) {
        return switch (status) {
            case SUCCESS -> 0x0;
            case BAD_RESP_ERR -> 0x1;
            case LOC_LEN_ERR -> 0x2;
            case LOC_QP_OP_ERR -> 0x3;
            case LOC_PROT_ERR -> 0x4;
            case MW_BIND_ERR -> 0x5;
            case REM_INV_REQ_ERR -> 0x6;
            case REM_ACCESS_ERR -> 0x7;
            case REM_OP_ERR -> 0x8;
            case RNR_RETRY_EXC_ERR -> 0x9;
            case RETRY_EXC_ERR -> 0xA;
            case WR_FLUSH_ERR -> 0xB;
            default -> 0xff;
        };
    }

    /**
     * What the status of a receive stands for. Other numbers than those of a requester.
     *
     * @param code 8 bits
     * @return the status; {@link CompletionStatus#GENERAL_ERR} for a code without a meaning
     */
    public static CompletionStatus receiveStatus(int code) {
        return switch (code) {
            case 0 -> CompletionStatus.SUCCESS;
            case 1 -> CompletionStatus.LOC_ACCESS_ERR;
            case 2 -> CompletionStatus.LOC_LEN_ERR;
            case 3 -> CompletionStatus.LOC_PROT_ERR;
            case 4 -> CompletionStatus.LOC_QP_OP_ERR;
            case 5 -> CompletionStatus.MW_BIND_ERR;
            case 6 -> CompletionStatus.REM_INV_REQ_ERR;
            case 7 -> CompletionStatus.WR_FLUSH_ERR;
            default -> CompletionStatus.GENERAL_ERR;
        };
    }

    /**
     * The status of a receive that a device writes.
     *
     * @param status the outcome
     * @return 8 bits; 0xff, which stands for nothing, where bnxt_re has no code
     */
    public static int receiveCode(CompletionStatus status) {
        return switch (status) {
            case SUCCESS -> 0;
            case LOC_ACCESS_ERR -> 1;
            case LOC_LEN_ERR -> 2;
            case LOC_PROT_ERR -> 3;
            case LOC_QP_OP_ERR -> 4;
            case MW_BIND_ERR -> 5;
            case REM_INV_REQ_ERR -> 6;
            case WR_FLUSH_ERR -> 7;
            default -> 0xff;
        };
    }
}
