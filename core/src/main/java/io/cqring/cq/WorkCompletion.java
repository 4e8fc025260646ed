package io.cqring.cq;

/**
 * A completion copied out of its slot, as {@code struct ibv_wc} is: the caller owns it and may keep it. Filled by
 * {@link CompletionQueue#pollInto}; reused as often as the caller likes. Not thread-safe.
 *
 * <p>As in verbs, after an error only work-request id, status, QP number and vendor error mean something.
 */
public final class WorkCompletion {
    private long header;
    private long workRequestId;
    private long length;
    private long detail;
    private long timestamp;

    /** A completion to be filled; until then all its fields are zero. */
    public WorkCompletion() {}

    void set(long header, long workRequestId, long length, long detail, long timestamp) {
        this.header = header;
        this.workRequestId = workRequestId;
        this.length = length;
        this.detail = detail;
        this.timestamp = timestamp;
    }

    /**
     * Whether the entry carried a work-request id: all do but those that the device merged.
     *
     * @return false if {@link #workRequestId} and the timestamp are unknown
     */
    public boolean hasWorkRequestId() {
        return (detail & MergedEntry.EXPANDED) == 0;
    }

    /**
     * The caller's tag of the work request.
     *
     * @return 64 bits, as posted; 0 if it is unknown, see {@link #hasWorkRequestId}
     */
    public long workRequestId() {
        return workRequestId;
    }

    /**
     * Outcome.
     *
     * @return the status that the syndrome stands for
     */
    public CompletionStatus status() {
        return CompletionStatus.ofSyndrome(CqeLayout.syndrome(header));
    }

    /**
     * Operation.
     *
     * @return one of {@link CqeOpcode}
     */
    public int opcode() {
        return CqeLayout.opcode(header);
    }

    /**
     * Whether the sender asked for an event.
     *
     * @return the solicited bit
     */
    public boolean isSolicited() {
        return CqeLayout.isSolicited(header);
    }

    /**
     * Counter of the work-queue entry that completed.
     *
     * @return the low 24 bits of a free-running count
     */
    public int wqeCounter() {
        return CqeLayout.wqeCounter(header);
    }

    /**
     * Queue pair the completion belongs to.
     *
     * @return QP number, 0 to 2^24-1
     */
    public int qpNumber() {
        return CqeLayout.qpNumber(header);
    }

    /**
     * Error code.
     *
     * @return 0 for success, else 1 to 255
     */
    public int syndrome() {
        return CqeLayout.syndrome(header);
    }

    /**
     * Message length.
     *
     * @return bytes, 0 to 2^32-1
     */
    public long byteCount() {
        return CqeLayout.byteCount(length);
    }

    /**
     * Immediate data, or the invalidated rkey; {@link #flags()} says which, if any.
     *
     * @return 32 bits
     */
    public int immediate() {
        return CqeLayout.immediate(length);
    }

    /**
     * Vendor's error code.
     *
     * @return 0 to 255
     */
    public int vendorError() {
        return CqeLayout.vendorError(detail);
    }

    /**
     * Flags.
     *
     * @return FLAG constants of {@link CqeLayout}, added up
     */
    public int flags() {
        return CqeLayout.flags(detail);
    }

    /**
     * Queue pair that sent the message.
     *
     * @return QP number, 0 to 2^24-1
     */
    public int sourceQp() {
        return CqeLayout.sourceQp(detail);
    }

    /**
     * Device time of the completion, or a flow hash if {@link CqeLayout#FLAG_FLOW_HASH} is set.
     *
     * @return device ticks; 0 if the queue has 32-byte entries, which carry none
     */
    public long timestamp() {
        return timestamp;
    }

    @Override
    public String toString() {
        return Completion.describe(header, workRequestId, byteCount());
    }
}
