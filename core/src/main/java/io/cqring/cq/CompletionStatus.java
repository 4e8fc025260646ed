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
    /**
     * 0: the request was carried out.
     *
     * <p>Remedy: Nothing to do.
     */
    SUCCESS(0x00, "The request was carried out.", "Nothing to do."),
    /**
     * 1: a message does not fit: it is longer than the receive it meets, or than a message or datagram may be.
     *
     * <p>Remedy: Make receives as long as the longest message, datagrams 40 bytes longer; compare the lengths
     * of the request with those of the registered regions.
     */
    LOC_LEN_ERR(
            0x02,
            "A message does not fit: it is longer than the receive it meets, or than a message or datagram "
                    + "may be.",
            "Make receives as long as the longest message, datagrams 40 bytes longer; compare the lengths of"
                    + " the request with those of the registered regions."),
    /**
     * 2: the work request is malformed, or the queue pair may not do such: a wrong opcode, too many segments,
     * reads without the right to have any.
     *
     * <p>Remedy: Check what is posted against the type and the limits of the queue pair (max_rd_atomic,
     * max_send_sge).
     */
    LOC_QP_OP_ERR(
            0x01,
            "The work request is malformed, or the queue pair may not do such: a wrong opcode, too many "
                    + "segments, reads without the right to have any.",
            "Check what is posted against the type and the limits of the queue pair (max_rd_atomic, "
                    + "max_send_sge)."),
    /**
     * 3: an end-to-end context could not do the operation; of reliable datagrams, which no device has.
     *
     * <p>Remedy: None: the device or its driver is broken.
     */
    LOC_EEC_OP_ERR(
            "An end-to-end context could not do the operation; of reliable datagrams, which no device has.",
            "None: the device or its driver is broken."),
    /**
     * 4: a local key is unknown, of another protection domain, or does not cover the buffer with the right
     * needed.
     *
     * <p>Remedy: Check lkey, address and length against the registration, and that the region was not
     * deregistered while the request was outstanding.
     */
    LOC_PROT_ERR(
            0x04,
            "A local key is unknown, of another protection domain, or does not cover the buffer with the "
                    + "right needed.",
            "Check lkey, address and length against the registration, and that the region was not "
                    + "deregistered while the request was outstanding."),
    /**
     * 5: the queue pair was in error before the request came up; the request was not carried out.
     *
     * <p>Remedy: Look for the first failed completion of this queue pair, or for an asynchronous event: that is
     * the cause. Then reset the queue pair.
     */
    WR_FLUSH_ERR(
            0x05,
            "The queue pair was in error before the request came up; the request was not carried out.",
            "Look for the first failed completion of this queue pair, or for an asynchronous event: that is "
                    + "the cause. Then reset the queue pair."),
    /**
     * 6: a memory management operation failed: a window was bound, or a key invalidated, that is not valid.
     *
     * <p>Remedy: Check that the key is an rkey of this protection domain and has not been invalidated before.
     */
    MW_BIND_ERR(
            0x06,
            "A memory management operation failed: a window was bound, or a key invalidated, that is not " + "valid.",
            "Check that the key is an rkey of this protection domain and has not been invalidated before."),
    /**
     * 7: the answer makes no sense for the request.
     *
     * <p>Remedy: Check for different first sequence numbers, a queue pair number used again too soon, or a
     * broken peer.
     */
    BAD_RESP_ERR(
            0x10,
            "The answer makes no sense for the request.",
            "Check for different first sequence numbers, a queue pair number used again too soon, or a "
                    + "broken peer."),
    /**
     * 8: the local buffer of an RDMA write with immediate may not be accessed.
     *
     * <p>Remedy: As for LOC_PROT_ERR, at the receiver.
     */
    LOC_ACCESS_ERR(
            0x11,
            "The local buffer of an RDMA write with immediate may not be accessed.",
            "As for LOC_PROT_ERR, at the receiver."),
    /**
     * 9: the responder refused the message: it is longer than the receive, not allowed there, or an atomic is
     * not aligned to 8 bytes.
     *
     * <p>Remedy: Compare message and receive lengths; check max_dest_rd_atomic of the peer and the alignment of
     * atomics.
     */
    REM_INV_REQ_ERR(
            0x12,
            "The responder refused the message: it is longer than the receive, not allowed there, or an "
                    + "atomic is not aligned to 8 bytes.",
            "Compare message and receive lengths; check max_dest_rd_atomic of the peer and the alignment of "
                    + "atomics."),
    /**
     * 10: the remote key is unknown or invalidated, of another protection domain, or does not cover the range
     * with the right needed; or the queue pair lacks the right.
     *
     * <p>Remedy: Exchange the rkey anew; check address, length, and the access flags of region and queue pair
     * at the peer.
     */
    REM_ACCESS_ERR(
            0x13,
            "The remote key is unknown or invalidated, of another protection domain, or does not cover the "
                    + "range with the right needed; or the queue pair lacks the right.",
            "Exchange the rkey anew; check address, length, and the access flags of region and queue pair at"
                    + " the peer."),
    /**
     * 11: the responder could not carry the message out: its receive is malformed, or has a bad local key.
     *
     * <p>Remedy: Look at the failed completion of the peer: it has the cause.
     */
    REM_OP_ERR(
            0x14,
            "The responder could not carry the message out: its receive is malformed, or has a bad local " + "key.",
            "Look at the failed completion of the peer: it has the cause."),
    /**
     * 12: no answer within time-out and retries: the peer is gone, not in RTR or RTS, or set up with other
     * numbers, or the network loses too much.
     *
     * <p>Remedy: Check state, number and first sequence numbers of both ends, and the path; raise timeout and
     * retry_cnt.
     */
    RETRY_EXC_ERR(
            0x15,
            "No answer within time-out and retries: the peer is gone, not in RTR or RTS, or set up with "
                    + "other numbers, or the network loses too much.",
            "Check state, number and first sequence numbers of both ends, and the path; raise timeout and "
                    + "retry_cnt."),
    /**
     * 13: the peer had no receive posted within the retries allowed, because its receive queue is too short or
     * it does not get round to posting: often its completion queue is full.
     *
     * <p>Remedy: Raise the depth of receive and completion queue at the peer, let it post and poll in time;
     * raise rnr_retry (7 is without end) or min_rnr_timer.
     */
    RNR_RETRY_EXC_ERR(
            0x16,
            "The peer had no receive posted within the retries allowed, because its receive queue is too "
                    + "short or it does not get round to posting: often its completion queue is full.",
            "Raise the depth of receive and completion queue at the peer, let it post and poll in time; "
                    + "raise rnr_retry (7 is without end) or min_rnr_timer."),
    /**
     * 14: the reliable datagram domains differ; of reliable datagrams, which no device has.
     *
     * <p>Remedy: None: the device or its driver is broken.
     */
    LOC_RDD_VIOL_ERR(
            "The reliable datagram domains differ; of reliable datagrams, which no device has.",
            "None: the device or its driver is broken."),
    /**
     * 15: the responder refused a reliable datagram; of reliable datagrams, which no device has.
     *
     * <p>Remedy: None: the device or its driver is broken.
     */
    REM_INV_RD_REQ_ERR(
            "The responder refused a reliable datagram; of reliable datagrams, which no device has.",
            "None: the device or its driver is broken."),
    /**
     * 16: the responder gave the operation up.
     *
     * <p>Remedy: Look for errors and page faults at the peer.
     */
    REM_ABORT_ERR(0x22, "The responder gave the operation up.", "Look for errors and page faults at the peer."),
    /**
     * 17: an end-to-end context does not exist; of reliable datagrams, which no device has.
     *
     * <p>Remedy: None: the device or its driver is broken.
     */
    INV_EECN_ERR(
            "An end-to-end context does not exist; of reliable datagrams, which no device has.",
            "None: the device or its driver is broken."),
    /**
     * 18: an end-to-end context is in the wrong state; of reliable datagrams, which no device has.
     *
     * <p>Remedy: None: the device or its driver is broken.
     */
    INV_EEC_STATE_ERR(
            "An end-to-end context is in the wrong state; of reliable datagrams, which no device has.",
            "None: the device or its driver is broken."),
    /**
     * 19: the device has failed.
     *
     * <p>Remedy: Reset the device; with vendor error 0x80, look at PCIe link, ACS and IOMMU.
     */
    FATAL_ERR("The device has failed.", "Reset the device; with vendor error 0x80, look at PCIe link, ACS and IOMMU."),
    /**
     * 20: the answer came too late.
     *
     * <p>Remedy: Raise the time-out; look for a responder that is stopped for long.
     */
    RESP_TIMEOUT_ERR("The answer came too late.", "Raise the time-out; look for a responder that is stopped for long."),
    /**
     * 21: some other error; the vendor error says which.
     *
     * <p>Remedy: Look the vendor error up. 0x80 is a PCIe read that timed out: check link, ACS, IOMMU and
     * memory errors.
     */
    GENERAL_ERR(
            0xFF,
            "Some other error; the vendor error says which.",
            "Look the vendor error up. 0x80 is a PCIe read that timed out: check link, ACS, IOMMU and memory"
                    + " errors."),
    /**
     * 22: a tag matching operation failed.
     *
     * <p>Remedy: Check that tags are posted to a queue that matches tags, and not removed twice.
     */
    TM_ERR(
            "A tag matching operation failed.",
            "Check that tags are posted to a queue that matches tags, and not removed twice."),
    /**
     * 23: a tag was matched, but its rendezvous has to be finished by software.
     *
     * <p>Remedy: Fetch the data as the header says.
     */
    TM_RNDV_INCOMPLETE(
            "A tag was matched, but its rendezvous has to be finished by software.",
            "Fetch the data as the header says.");

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

    private final String cause;
    private final String remedy;

    CompletionStatus(String cause, String remedy) {
        this(NONE, cause, remedy);
    }

    CompletionStatus(int syndrome, String cause, String remedy) {
        this.syndrome = syndrome;
        this.cause = cause;
        this.remedy = remedy;
    }

    /**
     * What it means: why a request ends so.
     *
     * @return sentences in English
     */
    public String cause() {
        return cause;
    }

    /**
     * What to do about it. After seed 000, section 7.2, where that has an entry.
     *
     * @return sentences in English
     */
    public String remedy() {
        return remedy;
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
