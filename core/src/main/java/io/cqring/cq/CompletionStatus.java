package io.cqring.cq;

import java.util.Arrays;

/**
 * Outcome of a work request, with the numbers and names of {@code enum ibv_wc_status} (rdma-core
 * {@code libibverbs/verbs.h}): the ordinal is the number.
 *
 * <p>A completion entry carries an 8-bit syndrome. The reference profile's codes are mlx5's (rdma-core
 * {@code providers/mlx5/cq.c}) except for two: seed 000 section 2.4 gives 0x02 to the local length error, so the local QP
 * operation error has mlx5's other code, 0x01. A syndrome without a meaning of its own reads as {@link #GENERAL_ERR}.
 */
public enum CompletionStatus {
    /** 0: the request succeeded. */
    SUCCESS(0x00),
    /** 1: the data do not fit the local buffers, or exceed the message limit. */
    LOC_LEN_ERR(0x02),
    /** 2: the work request itself is malformed. */
    LOC_QP_OP_ERR(0x01),
    /** 3: end-to-end context error; obsolete. */
    LOC_EEC_OP_ERR,
    /** 4: a local key does not cover the buffer, or lacks the right. */
    LOC_PROT_ERR(0x04),
    /** 5: the queue pair was in error when the request came up; the request was not carried out. */
    WR_FLUSH_ERR(0x05),
    /** 6: memory window bind error. */
    MW_BIND_ERR(0x06),
    /** 7: the responder sent an opcode that makes no sense. */
    BAD_RESP_ERR(0x10),
    /** 8: a protection error in the local buffer of an RDMA write with immediate. */
    LOC_ACCESS_ERR(0x11),
    /** 9: the responder refused the message, for instance because it exceeds the receive buffer. */
    REM_INV_REQ_ERR(0x12),
    /** 10: the remote key does not cover the range, or lacks the right. */
    REM_ACCESS_ERR(0x13),
    /** 11: the responder could not complete the operation. */
    REM_OP_ERR(0x14),
    /** 12: no answer from the peer within the retries allowed. */
    RETRY_EXC_ERR(0x15),
    /** 13: the peer had no receive posted within the retries allowed. */
    RNR_RETRY_EXC_ERR(0x16),
    /** 14: reliable datagram domain violation; obsolete. */
    LOC_RDD_VIOL_ERR,
    /** 15: invalid reliable datagram request; obsolete. */
    REM_INV_RD_REQ_ERR,
    /** 16: the responder aborted the operation. */
    REM_ABORT_ERR(0x22),
    /** 17: invalid end-to-end context number; obsolete. */
    INV_EECN_ERR,
    /** 18: invalid end-to-end context state; obsolete. */
    INV_EEC_STATE_ERR,
    /** 19: the device failed. */
    FATAL_ERR,
    /** 20: the response came too late. */
    RESP_TIMEOUT_ERR,
    /** 21: any other error. */
    GENERAL_ERR(0xFF),
    /** 22: tag matching error. */
    TM_ERR,
    /** 23: tag matching rendezvous incomplete. */
    TM_RNDV_INCOMPLETE;

    private static final int NONE = -1;
    private static final CompletionStatus[] BY_SYNDROME = new CompletionStatus[256];

    static {
        Arrays.fill(BY_SYNDROME, GENERAL_ERR);
        for (CompletionStatus status : values()) {
            if (status.syndrome != NONE) {
                BY_SYNDROME[status.syndrome] = status;
            }
        }
    }

    private final int syndrome;

    CompletionStatus() {
        this(NONE);
    }

    CompletionStatus(int syndrome) {
        this.syndrome = syndrome;
    }

    /**
     * The status a reference syndrome stands for.
     *
     * @param syndrome the entry's syndrome, 0 to 255; higher bits are ignored
     * @return the status; {@link #GENERAL_ERR} for a code without a meaning
     */
    public static CompletionStatus ofSyndrome(int syndrome) {
        return BY_SYNDROME[syndrome & 0xFF];
    }

    /**
     * The reference syndrome a device writes for this status.
     *
     * @return the code, 0 to 255
     * @throws IllegalStateException if the reference profile has no code for it
     */
    public int syndrome() {
        if (syndrome == NONE) {
            throw new IllegalStateException("the reference profile has no syndrome for " + this);
        }
        return syndrome;
    }
}
