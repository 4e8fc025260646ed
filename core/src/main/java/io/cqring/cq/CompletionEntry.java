package io.cqring.cq;

import io.cqring.memory.QueueMemory;

/**
 * A claimed slot, for the device to fill in place. Got from {@link CompletionWriter#claim} or {@link SharedWriter#entry}; what
 * is not set reads as zero. The host sees nothing of it before {@link CompletionWriter#flush} or {@link SharedWriter#commit}.
 * One per writer, reused: it stands for the slot that was asked for last, and for no slot at all (every setter throws) after
 * flush, commit, abort, abandon, another write, or a refused claim. For the writing thread only.
 */
public final class CompletionEntry extends SlotView {
    CompletionEntry(QueueMemory memory, int strideBytes) {
        super(memory, strideBytes);
    }

    CompletionEntry attach(long slotOffset) {
        this.slotOffset = slotOffset;
        this.header = 0;
        this.wordsSet = 0;
        return this;
    }

    boolean isAttached() {
        return slotOffset != DETACHED;
    }

    /** Clears the words that were not set, so that nothing of the last lap shows through, and lets the slot go. */
    long complete() {
        final long slot = slotOffset;
        final int set = wordsSet;
        slotOffset = DETACHED;
        if (set == (1 << (strideBytes / Long.BYTES)) - 2) { // every word but the header
            return header;
        }
        for (int offset = Long.BYTES; offset != strideBytes; offset += Long.BYTES) {
            if ((set >>> (offset >>> 3) & 1) == 0) {
                memory.putLong(slot + offset, 0);
            }
        }
        return header;
    }

    private CompletionEntry put(int offset, long value) {
        final long slot = slotOffset;
        if (slot == DETACHED) {
            throw notClaimed();
        }
        memory.putLong(slot + offset, value);
        wordsSet |= 1 << (offset >>> 3);
        return this;
    }

    private static IllegalStateException notClaimed() {
        return new IllegalStateException("no slot is claimed: call claim() before filling an entry");
    }

    /**
     * Where the entry lies, for callers who have a view of their own of the same memory: the queue's, while it has not been resized.
     *
     * @return bytes from the start of that memory
     */
    public long slotOffset() {
        if (slotOffset == DETACHED) {
            throw notClaimed();
        }
        return slotOffset;
    }

    /**
     * Leaves the inline payload to the caller, who fills all of it through a view of its own of the same memory, from this thread and
     * before the entry is flushed: it is not cleared.
     *
     * @return this
     */
    public CompletionEntry payloadInPlace() {
        if (slotOffset == DETACHED) {
            throw notClaimed();
        }
        wordsSet |= ((1 << payloadWords) - 1) << (CqeLayout.PAYLOAD_OFFSET >>> 3);
        return this;
    }

    /**
     * Sets the header.
     *
     * @param header a header from {@link CqeLayout#header}; its owner bit is ignored
     * @return this
     */
    public CompletionEntry header(long header) {
        if (slotOffset == DETACHED) {
            throw notClaimed();
        }
        this.header = header;
        return this;
    }

    /**
     * Sets the caller's tag of the work request.
     *
     * @param workRequestId 64 bits
     * @return this
     */
    public CompletionEntry workRequestId(long workRequestId) {
        return put(workRequestIdOffset, workRequestId);
    }

    /**
     * Sets the length word.
     *
     * @param length a word from {@link CqeLayout#length}
     * @return this
     */
    public CompletionEntry length(long length) {
        return put(workRequestIdOffset + 8, length);
    }

    /**
     * Sets the detail word.
     *
     * @param detail a word from {@link CqeLayout#detail}
     * @return this
     */
    public CompletionEntry detail(long detail) {
        return put(workRequestIdOffset + 16, detail);
    }

    /**
     * Sets the device time.
     *
     * @param timestamp device ticks
     * @return this
     * @throws UnsupportedOperationException if the queue has 32-byte entries, which have no room for it
     */
    public CompletionEntry timestamp(long timestamp) {
        if (strideBytes == CqeLayout.SHORT_BYTES) {
            throw Completion.noTimestamp();
        }
        return put(CqeLayout.TIMESTAMP_OFFSET, timestamp);
    }

    /**
     * Sets a word of inline payload.
     *
     * @param index 0 to 2 in 64-byte entries, 0 to 10 in 128-byte entries
     * @param value 8 bytes, little endian
     * @return this
     * @throws IndexOutOfBoundsException if the entry has no such word
     */
    public CompletionEntry payload(int index, long value) {
        if (index < 0 || index >= payloadWords) {
            throw Completion.noPayloadWord(index, strideBytes);
        }
        return put(CqeLayout.PAYLOAD_OFFSET + index * Long.BYTES, value);
    }
}
