package io.cqring.simnic.profile;

import io.cqring.cq.CompletionStatus;
import io.cqring.eq.EventHandler;
import io.cqring.eq.EventType;

/**
 * The events in a bnxt_re command response queue, bit by bit: 16 bytes, little-endian. Responses to commands are not modelled.
 *
 * <pre>
 *   byte 0   5:0 type
 *   byte 8   0 V, 1 on the first lap
 *   byte 9   event
 *   type 0x38, event 0xc0, queue pair error    byte 3 requester's reason | byte 4 queue pair, 32 bits | byte 11 responder's reason
 *                                              | byte 12 send index, 16 bits | byte 14 receive index, 16 bits
 *   type 0x38, event 0xc1, CQ error            byte 2 reason | byte 4 completion queue, 32 bits
 *   type 0x3a, events 1 to 0xb                 the function has failed
 *   type 0x32, in the layout of an NQ: byte 1 event, 1 threshold | byte 4 shared receive queue, low half | byte 12 high half
 * </pre>
 *
 * <p>The last is the notification queue's; here it comes the same way. A queue pair's event without a reason is "last WQE reached". The driver makes
 * an ibv event of a reason by a table; so an event's type is what that says, not always what the reference profile posts for the same cause.
 * Source: Linux {@code drivers/infiniband/hw/bnxt_re}, {@code roce_hsi.h}, {@code main.c}.
 */
final class BnxtCreqe {
    static final int BYTES = 16;

    /** Offset of the second word: stored last, with release; loaded first, with acquire. */
    static final int OWNER = 8;

    private static final int TYPE_MASK = 0x3F;
    private static final int SRQ_EVENT = 0x32;
    private static final int QP_EVENT = 0x38;
    private static final int FUNC_EVENT = 0x3a;

    private static final int THRESHOLD = 1;
    private static final int QP_ERROR = 0xc0;
    private static final int CQ_ERROR = 0xc1;

    /** What the device tells of a function that has failed: error in the transmit queue manager. */
    private static final int TQM_ERROR = 6;

    private static final int LAST_FUNC_ERROR = 0xb;

    private static final int REQ_CQ_OVERFLOW = 2;
    private static final int RES_CQ_OVERFLOW = 5;

    // Reasons of the requester.
    private static final int REQ_TIMEOUT_RETRY_LIMIT = 2;
    private static final int REQ_RNR_RETRY_LIMIT = 3;
    private static final int REQ_NAK_1 = 4;
    private static final int REQ_NAK_2 = 5;
    private static final int REQ_NAK_3 = 6;
    private static final int REQ_TX_MEMORY_ERROR = 9;
    private static final int REQ_READ_RESP_LENGTH = 0xa;
    private static final int REQ_INVALID_READ_RESP = 0xb;
    private static final int REQ_ILLEGAL_BIND = 0xc;
    private static final int REQ_CMP_ERROR = 0xf;
    private static final int REQ_INVALID_OP = 0x17;

    // Reasons of the responder.
    private static final int RES_EXCEEDS_WQE = 3;
    private static final int RES_RX_INVALID_R_KEY = 6;
    private static final int RES_UNSUPPORTED_OPCODE = 0xf;
    private static final int RES_MEMORY_ERROR = 0x12;
    private static final int RES_CMP_ERROR = 0x14;
    private static final int RES_WQE_FORMAT_ERROR = 0x16;

    // The driver's table, a bit per reason: what it calls an access error, and what an invalid request.
    private static final long REQ_ACCESS = bits(1, 2, 3, 5, 6, 0xb, 0xc, 0xd, 0xe, 0x10, 0x14, 0x1a, 0x1b);
    private static final long REQ_INVALID = bits(4, 7, 0xa, 0x11, 0x12, 0x13, 0x16, 0x17);
    private static final long RES_ACCESS = bits(1, 2, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0xd, 0x10, 0x15, 0x17, 0x1d);
    private static final long RES_INVALID = bits(3, 4, 0xf, 0x11, 0x16);

    private BnxtCreqe() {}

    private static long bits(int... reasons) {
        long bits = 0;
        for (int reason : reasons) {
            bits |= 1L << reason;
        }
        return bits;
    }

    /** Whether a type has a code. */
    static boolean tells(EventType type) {
        return switch (type) {
            case CQ_ERROR,
                    WQ_CATAS_ERROR,
                    WQ_ACCESS_ERROR,
                    WQ_INVAL_REQ_ERROR,
                    SRQ_LAST_WQE,
                    SRQ_RQ_LIMIT,
                    INTERNAL_ERROR -> true;
            default -> false;
        };
    }

    private static int requesterReason(CompletionStatus status) {
        return switch (status) {
            case LOC_LEN_ERR -> REQ_READ_RESP_LENGTH;
            case LOC_QP_OP_ERR -> REQ_INVALID_OP;
            case LOC_PROT_ERR -> REQ_TX_MEMORY_ERROR;
            case MW_BIND_ERR -> REQ_ILLEGAL_BIND;
            case BAD_RESP_ERR -> REQ_INVALID_READ_RESP;
            case REM_INV_REQ_ERR -> REQ_NAK_1;
            case REM_ACCESS_ERR -> REQ_NAK_2;
            case REM_OP_ERR -> REQ_NAK_3;
            case RETRY_EXC_ERR -> REQ_TIMEOUT_RETRY_LIMIT;
            case RNR_RETRY_EXC_ERR -> REQ_RNR_RETRY_LIMIT;
            default -> REQ_CMP_ERROR;
        };
    }

    private static int responderReason(CompletionStatus status) {
        return switch (status) {
            case LOC_LEN_ERR -> RES_EXCEEDS_WQE;
            case LOC_QP_OP_ERR -> RES_WQE_FORMAT_ERROR;
            case LOC_PROT_ERR -> RES_MEMORY_ERROR;
            case REM_INV_REQ_ERR -> RES_UNSUPPORTED_OPCODE;
            case REM_ACCESS_ERR -> RES_RX_INVALID_R_KEY;
            default -> RES_CMP_ERROR;
        };
    }

    private static CompletionStatus statusOf(int requester, int responder) {
        if (responder != 0) {
            return switch (responder) {
                case RES_EXCEEDS_WQE -> CompletionStatus.LOC_LEN_ERR;
                case RES_WQE_FORMAT_ERROR -> CompletionStatus.LOC_QP_OP_ERR;
                case RES_MEMORY_ERROR -> CompletionStatus.LOC_PROT_ERR;
                case RES_UNSUPPORTED_OPCODE -> CompletionStatus.REM_INV_REQ_ERR;
                case RES_RX_INVALID_R_KEY -> CompletionStatus.REM_ACCESS_ERR;
                default -> CompletionStatus.SUCCESS;
            };
        }
        return switch (requester) {
            case REQ_READ_RESP_LENGTH -> CompletionStatus.LOC_LEN_ERR;
            case REQ_INVALID_OP -> CompletionStatus.LOC_QP_OP_ERR;
            case REQ_TX_MEMORY_ERROR -> CompletionStatus.LOC_PROT_ERR;
            case REQ_ILLEGAL_BIND -> CompletionStatus.MW_BIND_ERR;
            case REQ_INVALID_READ_RESP -> CompletionStatus.BAD_RESP_ERR;
            case REQ_NAK_1 -> CompletionStatus.REM_INV_REQ_ERR;
            case REQ_NAK_2 -> CompletionStatus.REM_ACCESS_ERR;
            case REQ_NAK_3 -> CompletionStatus.REM_OP_ERR;
            case REQ_TIMEOUT_RETRY_LIMIT -> CompletionStatus.RETRY_EXC_ERR;
            case REQ_RNR_RETRY_LIMIT -> CompletionStatus.RNR_RETRY_EXC_ERR;
            default -> CompletionStatus.SUCCESS;
        };
    }

    private static EventType typeOf(int requester, int responder) {
        if (requester == 0 && responder == 0) {
            return EventType.SRQ_LAST_WQE;
        }
        final long access = responder != 0 ? RES_ACCESS : REQ_ACCESS;
        final long invalid = responder != 0 ? RES_INVALID : REQ_INVALID;
        final int reason = responder != 0 ? responder : requester;
        if (reason < Long.SIZE && (access >>> reason & 1) != 0) {
            return EventType.WQ_ACCESS_ERROR;
        }
        return reason < Long.SIZE && (invalid >>> reason & 1) != 0
                ? EventType.WQ_INVAL_REQ_ERROR
                : EventType.WQ_CATAS_ERROR;
    }

    /** Bytes 0 to 7. */
    static long head(DeviceEvent event) {
        final long number = (long) event.number() << 32;
        return switch (event.type()) {
            case INTERNAL_ERROR -> FUNC_EVENT;
            case SRQ_RQ_LIMIT -> number | THRESHOLD << 8 | SRQ_EVENT;
            case CQ_ERROR -> number | (event.receiving() ? RES_CQ_OVERFLOW : REQ_CQ_OVERFLOW) << 16 | QP_EVENT;
            case SRQ_LAST_WQE -> number | QP_EVENT;
            default ->
                event.receiving()
                        ? number | QP_EVENT
                        : number
                                | (long) requesterReason(CompletionStatus.ofSyndrome(event.syndrome())) << 24
                                | QP_EVENT;
        };
    }

    /** Bytes 8 to 15. */
    static long ownerWord(DeviceEvent event, int valid) {
        final long indexes = (event.sendIndex() & 0xFFFFL) << 32 | (event.receiveIndex() & 0xFFFFL) << 48;
        return switch (event.type()) {
            case INTERNAL_ERROR -> TQM_ERROR << 8 | valid;
            case SRQ_RQ_LIMIT -> valid;
            case CQ_ERROR -> CQ_ERROR << 8 | valid;
            case SRQ_LAST_WQE -> indexes | QP_ERROR << 8 | valid;
            default -> {
                final int reason =
                        event.receiving() ? responderReason(CompletionStatus.ofSyndrome(event.syndrome())) : 0;
                yield indexes | (long) reason << 24 | QP_ERROR << 8 | valid;
            }
        };
    }

    /** Hands an event on. */
    static void read(long head, long ownerWord, EventHandler handler) {
        final int type = (int) head & TYPE_MASK;
        final int event = (int) (ownerWord >>> 8) & 0xFF;
        final int number = (int) (head >>> 32);
        if (type == SRQ_EVENT) {
            final boolean limit = ((int) (head >>> 8) & 0xFF) == THRESHOLD;
            handler.onEvent(limit ? EventType.SRQ_RQ_LIMIT : EventType.UNKNOWN, number, 0, 0, 0);
        } else if (type == QP_EVENT && event == QP_ERROR) {
            final int requester = (int) (head >>> 24) & 0xFF;
            final int responder = (int) (ownerWord >>> 24) & 0xFF;
            handler.onEvent(
                    typeOf(requester, responder),
                    number,
                    0,
                    statusOf(requester, responder).syndrome(),
                    0);
        } else if (type == QP_EVENT && event == CQ_ERROR) {
            final int reason = (int) (head >>> 16) & 0xFF;
            final boolean overrun = reason == REQ_CQ_OVERFLOW || reason == RES_CQ_OVERFLOW;
            handler.onEvent(
                    EventType.CQ_ERROR,
                    number,
                    0,
                    overrun ? VendorAsyncQueue.OVERRUN : VendorAsyncQueue.INACCESSIBLE,
                    VendorAsyncQueue.CQ_IS_DEAD);
        } else {
            final boolean failed = type == FUNC_EVENT && event >= 1 && event <= LAST_FUNC_ERROR;
            handler.onEvent(failed ? EventType.INTERNAL_ERROR : EventType.UNKNOWN, 0, 0, 0, 0);
        }
    }
}
