package io.cqring.cq;

import io.cqring.memory.QueueMemory;

/**
 * View of one completion in its slot. One per queue, reused: nothing is allocated or copied.
 *
 * <p>A view is <em>attached</em> only while the queue says so: during {@link CompletionHandler#onCompletion}, from
 * {@link CompletionQueue#startPoll} or {@link CompletionQueue#next} to the next call, and from
 * {@link CompletionQueue#peek} to the next call. At any other time every accessor throws {@link IllegalStateException}
 * rather than show a slot that the device may be writing. Keep data by reading them out, or use
 * {@link CompletionQueue#pollInto}. The view of a {@link CompletionPoller} shows a copy in that poller's memory, by the same
 * rule. For the polling thread only.
 */
public final class Completion extends SlotView {
    Completion(QueueMemory memory, int strideBytes) {
        super(memory, strideBytes);
    }

    Completion attach(long slotOffset, long header) {
        this.slotOffset = slotOffset;
        this.header = header;
        return this;
    }

    /** The slot's offset, or an error: the only way to the entry. */
    private long slot() {
        long offset = slotOffset;
        if (offset == DETACHED) {
            throw new IllegalStateException(
                    "completion view is not attached: it is valid only until its handler returns,"
                            + " or until the next call on the queue");
        }
        return offset;
    }

    /**
     * Where the entry lies, for callers who have a view of their own of the same memory: the queue's while it has not been resized,
     * has one poller and does not merge; otherwise memory that the caller does not have.
     *
     * @return bytes from the start of that memory
     */
    public long slotOffset() {
        return slot();
    }

    /**
     * Header of the entry, as the device wrote it; of a merged completion, as it would have written it.
     *
     * @return word 0, see {@link CqeLayout}
     */
    public long header() {
        slot();
        return header;
    }

    /**
     * Operation.
     *
     * @return one of {@link CqeOpcode}
     */
    public int opcode() {
        return CqeLayout.opcode(header());
    }

    /**
     * Whether the sender asked for an event.
     *
     * @return the solicited bit
     */
    public boolean isSolicited() {
        return CqeLayout.isSolicited(header());
    }

    /**
     * Counter of the work-queue entry that completed.
     *
     * @return the low 24 bits of a free-running count
     */
    public int wqeCounter() {
        return CqeLayout.wqeCounter(header());
    }

    /**
     * Queue pair the completion belongs to.
     *
     * @return QP number, 0 to 2^24-1
     */
    public int qpNumber() {
        return CqeLayout.qpNumber(header());
    }

    /**
     * Error code.
     *
     * @return 0 for success, else 1 to 255
     */
    public int syndrome() {
        return CqeLayout.syndrome(header());
    }

    /**
     * Outcome.
     *
     * @return the status that the syndrome stands for
     */
    public CompletionStatus status() {
        return CompletionStatus.ofSyndrome(syndrome());
    }

    /**
     * Whether the entry carried a work-request id: all do but those that the device merged.
     *
     * @return false if {@link #workRequestId} and the timestamp are unknown
     */
    public boolean hasWorkRequestId() {
        return (detail() & MergedEntry.EXPANDED) == 0;
    }

    /**
     * The caller's tag of the work request.
     *
     * @return 64 bits, as posted; 0 if it is unknown, see {@link #hasWorkRequestId}
     */
    public long workRequestId() {
        return memory.getLong(slot() + workRequestIdOffset);
    }

    /**
     * The length word, for callers who pass an entry on as it is or take it apart themselves.
     *
     * @return a word from {@link CqeLayout#length}: {@link #byteCount} and {@link #immediate}
     */
    public long length() {
        return memory.getLong(slot() + workRequestIdOffset + 8);
    }

    /**
     * The detail word, for callers who pass an entry on as it is or take it apart themselves.
     *
     * @return a word from {@link CqeLayout#detail}: {@link #vendorError}, {@link #flags} and {@link #sourceQp}; bits 40 to 63 are the
     *     library's
     */
    public long detail() {
        return memory.getLong(slot() + workRequestIdOffset + 16);
    }

    /**
     * Message length.
     *
     * @return bytes, 0 to 2^32-1
     */
    public long byteCount() {
        return CqeLayout.byteCount(length());
    }

    /**
     * Immediate data, or the invalidated rkey; {@link #flags()} says which, if any.
     *
     * @return 32 bits
     */
    public int immediate() {
        return CqeLayout.immediate(length());
    }

    /**
     * Whether {@link #immediate()} holds immediate data.
     *
     * @return flag 8 of the detail word
     */
    public boolean hasImmediate() {
        return (flags() & CqeLayout.FLAG_IMMEDIATE) != 0;
    }

    /**
     * Vendor's error code.
     *
     * @return 0 to 255
     */
    public int vendorError() {
        return CqeLayout.vendorError(detail());
    }

    /**
     * Flags.
     *
     * @return FLAG constants of {@link CqeLayout}, added up
     */
    public int flags() {
        return CqeLayout.flags(detail());
    }

    /**
     * Queue pair that sent the message.
     *
     * @return QP number, 0 to 2^24-1
     */
    public int sourceQp() {
        return CqeLayout.sourceQp(detail());
    }

    /**
     * Whether entries of this queue carry a timestamp.
     *
     * @return false for 32-byte entries
     */
    public boolean hasTimestamp() {
        return strideBytes != CqeLayout.SHORT_BYTES;
    }

    /**
     * Device time of the completion, or the flow hash if {@link CqeLayout#FLAG_FLOW_HASH} is set.
     *
     * @return device ticks
     * @throws UnsupportedOperationException if the queue has 32-byte entries, which have no room for it
     */
    public long timestamp() {
        long slot = slot();
        if (strideBytes == CqeLayout.SHORT_BYTES) {
            throw noTimestamp();
        }
        return memory.getLong(slot + CqeLayout.TIMESTAMP_OFFSET);
    }

    static UnsupportedOperationException noTimestamp() {
        return new UnsupportedOperationException("a 32-byte entry has no timestamp; use 64 or 128 bytes");
    }

    /**
     * A word of inline payload.
     *
     * @param index 0 to 2 in 64-byte entries, 0 to 10 in 128-byte entries
     * @return 8 bytes, little endian
     * @throws IndexOutOfBoundsException if the entry has no such word
     */
    public long payload(int index) {
        long slot = slot();
        if (hasNoPayloadWord(index)) {
            throw noPayloadWord(index, strideBytes);
        }
        return memory.getLong(slot + CqeLayout.PAYLOAD_OFFSET + index * (long) Long.BYTES);
    }

    static IndexOutOfBoundsException noPayloadWord(int index, int strideBytes) {
        return new IndexOutOfBoundsException("payload word must be 0 to less than "
                + CqeLayout.payloadBytes(strideBytes) / Long.BYTES + " in a " + strideBytes + "-byte entry: " + index);
    }

    void copyTo(WorkCompletion into) {
        into.set(header(), workRequestId(), length(), detail(), hasTimestamp() ? timestamp() : 0);
    }

    @Override
    public String toString() {
        return slotOffset == DETACHED ? "Completion[detached]" : describe(header, workRequestId(), byteCount());
    }

    static String describe(long header, long workRequestId, long byteCount) {
        return "Completion[" + CqeOpcode.name(CqeLayout.opcode(header)) + " "
                + CompletionStatus.ofSyndrome(CqeLayout.syndrome(header)) + " qp=" + CqeLayout.qpNumber(header)
                + " wqe="
                + CqeLayout.wqeCounter(header) + " id=" + workRequestId + " bytes=" + byteCount + "]";
    }
}
