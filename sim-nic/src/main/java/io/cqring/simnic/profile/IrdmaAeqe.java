package io.cqring.simnic.profile;

import io.cqring.cq.CompletionStatus;
import io.cqring.eq.EventHandler;
import io.cqring.eq.EventType;

/**
 * The irdma asynchronous event, bit by bit, as devices of the third generation write it: two little-endian words. The first two generations place
 * the fields of word 1 otherwise, and have 19 bits for the number.
 *
 * <pre>
 *   word 0   3:0 TCP state | 5:4 terminate data | 63:6 context, here the number
 *   word 1   24:0 queue pair, completion queue or shared receive queue | 28:25 source | 31:29 state of the queue pair | 49:32 place of the
 *            work-queue entry | 61:50 code | 62 overflow: events were lost before this one | 63 VALID
 * </pre>
 *
 * <p>The driver makes an ibv event of a code by a table; so an event's type is what that says, not always what the reference profile posts for
 * the same cause. Source: Linux {@code drivers/infiniband/hw/irdma}, {@code defs.h}, {@code ctrl.c}, {@code hw.c}.
 */
final class IrdmaAeqe {
    static final int BYTES = 16;

    /** Offset of word 1: stored last, with release; loaded first, with acquire. */
    static final int CONTROL = 8;

    static final int VALID_SHIFT = 63;

    static final int AMP_UNALLOCATED_STAG = 0x102;
    static final int AMP_INVALID_STAG = 0x103;
    static final int AMP_TO_WRAP = 0x10a;
    static final int AMP_INVALIDATE_NO_REMOTE_ACCESS = 0x112;
    static final int AMP_MWBIND_VALID_STAG = 0x114;
    static final int AMP_MWBIND_INVALID_RIGHTS = 0x118;
    static final int AMP_MWBIND_INVALID_BOUNDS = 0x119;
    static final int AMP_MWBIND_BIND_DISABLED = 0x11b;
    static final int PRIV_OPERATION_DENIED = 0x11c;
    static final int UDA_XMIT_DGRAM_TOO_LONG = 0x132;
    static final int UDA_XMIT_BAD_PD = 0x133;
    static final int UDA_XMIT_DGRAM_TOO_SHORT = 0x134;
    static final int UDA_L4LEN_INVALID = 0x135;
    static final int CQ_OPERATION_ERROR = 0x203;
    static final int IB_INVALID_REQUEST = 0x208;
    static final int SRQ_LIMIT = 0x209;
    static final int WQE_UNEXPECTED_OPCODE = 0x20a;
    static final int IB_REMOTE_ACCESS_ERROR = 0x20d;
    static final int IB_REMOTE_OP_ERROR = 0x20e;
    static final int SRQ_CATASTROPHIC_ERROR = 0x20f;
    static final int DDP_MESSAGE_TOO_LONG = 0x303;
    static final int DDP_INVALID_MO = 0x305;
    static final int ROCE_RSP_LENGTH_ERROR = 0x316;
    static final int LLP_RECEIVED_MPA_CRC_ERROR = 0x505;
    static final int LLP_SEGMENT_TOO_SMALL = 0x507;
    static final int LLP_TOO_MANY_RETRIES = 0x50a;
    static final int LLP_TOO_MANY_RNRS = 0x50f;
    static final int LCE_QP_CATASTROPHIC = 0x700;
    static final int LCE_FUNCTION_CATASTROPHIC = 0x701;
    static final int QP_SUSPEND_COMPLETE = 0x900;

    private static final int NO_CODE = 0;

    private static final int SOURCE_NONE = 0;
    private static final int SOURCE_RQ = 1;
    private static final int SOURCE_CQ = 2;
    private static final int SOURCE_SQ = 5;

    private static final int STATE_SQD = 3;
    private static final int STATE_ERROR = 6;

    private static final int CONTEXT_SHIFT = 6;
    private static final int SOURCE_SHIFT = 25;
    private static final int STATE_SHIFT = 29;
    private static final int INDEX_SHIFT = 32;
    private static final int CODE_SHIFT = 50;
    private static final int OVERFLOW_SHIFT = 62;
    private static final int NUMBER_MASK = 0x1FF_FFFF;
    private static final int CODE_MASK = 0xFFF;

    /** As in completions. */
    private static final int INDEX_MASK = 0x7FFF;

    private IrdmaAeqe() {}

    /** Whether a type has a code. */
    static boolean tells(EventType type) {
        return switch (type) {
            case WQ_CATAS_ERROR, WQ_ACCESS_ERROR, WQ_INVAL_REQ_ERROR -> true;
            default -> codeOf(type) != NO_CODE;
        };
    }

    private static int codeOf(EventType type) {
        return switch (type) {
            case CQ_ERROR -> CQ_OPERATION_ERROR;
            case SQ_DRAINED -> QP_SUSPEND_COMPLETE;
            case SRQ_RQ_LIMIT -> SRQ_LIMIT;
            case SRQ_CATAS_ERROR -> SRQ_CATASTROPHIC_ERROR;
            case INTERNAL_ERROR -> LCE_FUNCTION_CATASTROPHIC;
            default -> NO_CODE;
        };
    }

    /** The code of what ended a request or a queue pair. */
    private static int codeOf(CompletionStatus status, boolean receiving) {
        return switch (status) {
            case LOC_LEN_ERR -> receiving ? DDP_MESSAGE_TOO_LONG : UDA_XMIT_DGRAM_TOO_LONG;
            case LOC_QP_OP_ERR -> WQE_UNEXPECTED_OPCODE;
            case LOC_PROT_ERR -> AMP_INVALID_STAG;
            case MW_BIND_ERR -> AMP_MWBIND_INVALID_RIGHTS;
            case REM_INV_REQ_ERR -> IB_INVALID_REQUEST;
            case REM_ACCESS_ERR -> IB_REMOTE_ACCESS_ERROR;
            case REM_OP_ERR -> IB_REMOTE_OP_ERROR;
            case RETRY_EXC_ERR -> LLP_TOO_MANY_RETRIES;
            case RNR_RETRY_EXC_ERR -> LLP_TOO_MANY_RNRS;
            default -> LCE_QP_CATASTROPHIC;
        };
    }

    /** The driver's table: the status that a code flushes with; SUCCESS for one that it does not tell apart. */
    private static CompletionStatus statusOf(int code) {
        if ((code >= AMP_UNALLOCATED_STAG && code <= AMP_TO_WRAP) || code == PRIV_OPERATION_DENIED) {
            return CompletionStatus.LOC_PROT_ERR;
        }
        return switch (code) {
            case UDA_XMIT_BAD_PD, WQE_UNEXPECTED_OPCODE -> CompletionStatus.LOC_QP_OP_ERR;
            case UDA_XMIT_DGRAM_TOO_LONG,
                    UDA_XMIT_DGRAM_TOO_SHORT,
                    UDA_L4LEN_INVALID,
                    DDP_MESSAGE_TOO_LONG,
                    DDP_INVALID_MO -> CompletionStatus.LOC_LEN_ERR;
            case AMP_INVALIDATE_NO_REMOTE_ACCESS, IB_REMOTE_ACCESS_ERROR -> CompletionStatus.REM_ACCESS_ERR;
            case LLP_SEGMENT_TOO_SMALL, LLP_RECEIVED_MPA_CRC_ERROR, ROCE_RSP_LENGTH_ERROR, IB_REMOTE_OP_ERROR ->
                CompletionStatus.REM_OP_ERR;
            case LLP_TOO_MANY_RETRIES -> CompletionStatus.RETRY_EXC_ERR;
            case LLP_TOO_MANY_RNRS -> CompletionStatus.RNR_RETRY_EXC_ERR;
            case AMP_MWBIND_INVALID_RIGHTS,
                    AMP_MWBIND_BIND_DISABLED,
                    AMP_MWBIND_INVALID_BOUNDS,
                    AMP_MWBIND_VALID_STAG -> CompletionStatus.MW_BIND_ERR;
            case IB_INVALID_REQUEST -> CompletionStatus.REM_INV_REQ_ERR;
            default -> CompletionStatus.SUCCESS;
        };
    }

    /** The driver's table: the event that a code becomes. */
    private static EventType typeOf(int code) {
        return switch (statusOf(code)) {
            case LOC_PROT_ERR, REM_ACCESS_ERR, MW_BIND_ERR -> EventType.WQ_ACCESS_ERROR;
            case REM_INV_REQ_ERR -> EventType.WQ_INVAL_REQ_ERROR;
            default -> EventType.WQ_CATAS_ERROR;
        };
    }

    static long context(DeviceEvent event) {
        return (long) event.number() << CONTEXT_SHIFT;
    }

    /** Word 1. */
    static long control(DeviceEvent event, boolean overflow, int valid) {
        final int byType = codeOf(event.type());
        final boolean failed = byType == NO_CODE;
        final int code = failed ? codeOf(CompletionStatus.ofSyndrome(event.syndrome()), event.receiving()) : byType;
        final int source;
        int state = 0;
        int index = 0;
        if (failed) {
            source = event.receiving() ? SOURCE_RQ : SOURCE_SQ;
            state = STATE_ERROR;
            index = event.receiving() ? event.receiveIndex() : event.sendIndex();
        } else if (code == QP_SUSPEND_COMPLETE) {
            source = SOURCE_SQ;
            state = STATE_SQD;
            index = event.sendIndex();
        } else {
            source = code == CQ_OPERATION_ERROR ? SOURCE_CQ : SOURCE_NONE;
        }
        return (long) valid << VALID_SHIFT
                | (overflow ? 1L << OVERFLOW_SHIFT : 0)
                | (long) code << CODE_SHIFT
                | (long) (index & INDEX_MASK) << INDEX_SHIFT
                | (long) state << STATE_SHIFT
                | (long) source << SOURCE_SHIFT
                | (event.number() & NUMBER_MASK);
    }

    /** Hands an event on. */
    static void read(long control, EventHandler handler) {
        final int code = (int) (control >>> CODE_SHIFT) & CODE_MASK;
        final int number = (int) control & NUMBER_MASK;
        switch (code) {
            case CQ_OPERATION_ERROR ->
                handler.onEvent(EventType.CQ_ERROR, number, 0, VendorAsyncQueue.OVERRUN, VendorAsyncQueue.CQ_IS_DEAD);
            case QP_SUSPEND_COMPLETE -> handler.onEvent(EventType.SQ_DRAINED, number, 0, 0, 0);
            case SRQ_LIMIT -> handler.onEvent(EventType.SRQ_RQ_LIMIT, number, 0, 0, 0);
            case SRQ_CATASTROPHIC_ERROR -> handler.onEvent(EventType.SRQ_CATAS_ERROR, number, 0, 0, 0);
            case LCE_FUNCTION_CATASTROPHIC -> handler.onEvent(EventType.INTERNAL_ERROR, number, 0, 0, 0);
            default -> {
                final boolean ofQp = ((int) (control >>> SOURCE_SHIFT) & 1) != 0; // all such sources are odd
                handler.onEvent(
                        ofQp || code == LCE_QP_CATASTROPHIC ? typeOf(code) : EventType.UNKNOWN,
                        number,
                        0,
                        statusOf(code).syndrome(),
                        0);
            }
        }
    }
}
