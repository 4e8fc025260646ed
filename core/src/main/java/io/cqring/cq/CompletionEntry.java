package io.cqring.cq;

import io.cqring.memory.QueueMemory;

/**
 * A claimed slot, for the device to fill in place. Got from {@link CompletionWriter#claim} or {@link SharedWriter#entry}; what
 * is not set reads as zero. The host sees nothing of it before {@link CompletionWriter#flush} or {@link SharedWriter#commit}.
 * One per writer, reused: it stands for the slot that was asked for last, and for no slot at all (every setter throws) after
 * flush, commit, abort, abandon, another write, or a refused claim. For the writing thread only.
 */
public final class CompletionEntry extends SlotView {
    // Bits of wordsSet: what has been set since the entry was attached. None while it stands for no slot.
    private static final int HEADER = 1;
    private static final int WORK_REQUEST_ID = 2;
    private static final int LENGTH = 4;
    private static final int DETAIL = 8;
    private static final int TIMESTAMP = 16;

    /** The first word of payload; further ones follow. */
    private static final int PAYLOAD = 32;

    /** Not a word: something else is in hand as well. */
    private static final int NOT_ALONE = 1 << 31;

    CompletionEntry(QueueMemory memory, int strideBytes) {
        super(memory, strideBytes);
        this.everyWord = strideBytes == CqeLayout.SHORT_BYTES
                ? HEADER | WORK_REQUEST_ID | LENGTH | DETAIL
                : (PAYLOAD << payloadWords) - 1;
    }

    /** Stands for a slot from now on: all that the writer has in hand. */
    CompletionEntry attach(long slotOffset) {
        this.slotOffset = slotOffset;
        this.wordsSet = 0;
        return this;
    }

    /** Stands for a slot from now on, and something else is in hand. */
    void attachNext(long slotOffset) {
        this.slotOffset = slotOffset;
        this.wordsSet = NOT_ALONE;
    }

    boolean isAttached() {
        return slotOffset != DETACHED;
    }

    /** Whether it is attached, all that its writer has in hand, and each of its words has been set. */
    boolean isAloneAndWhole() {
        return wordsSet == everyWord;
    }

    /** Lets the slot go. Returns its offset. */
    long letGo() {
        final long slot = slotOffset;
        slotOffset = DETACHED;
        wordsSet = 0;
        return slot;
    }

    /** Clears the words that were not set, so that nothing of the last lap shows through, and lets the slot go. Returns the header. */
    long complete() {
        final int set = wordsSet;
        final long slot = letGo();
        if ((set & ~NOT_ALONE) != everyWord) {
            clearOthers(slot, set);
        }
        return (set & HEADER) == 0 ? 0 : header;
    }

    private void clearOthers(long slot, int set) {
        final long middle = slot + workRequestIdOffset;
        if ((set & WORK_REQUEST_ID) == 0) {
            memory.putLong(middle, 0);
        }
        if ((set & LENGTH) == 0) {
            memory.putLong(middle + 8, 0);
        }
        if ((set & DETAIL) == 0) {
            memory.putLong(middle + 16, 0);
        }
        if (strideBytes == CqeLayout.SHORT_BYTES) {
            return;
        }
        if ((set & TIMESTAMP) == 0) {
            memory.putLong(slot + CqeLayout.TIMESTAMP_OFFSET, 0);
        }
        for (int i = 0; i != payloadWords; i++) {
            if ((set & PAYLOAD << i) == 0) {
                memory.putLong(slot + CqeLayout.PAYLOAD_OFFSET + (long) i * Long.BYTES, 0);
            }
        }
    }

    /** Sets a word. All calls pass constants for {@code word}, so that the JIT adds the bits of several up. */
    private CompletionEntry put(long offset, long value, int word) {
        final long slot = slotOffset;
        if (slot == DETACHED) {
            throw notClaimed();
        }
        memory.putLong(slot + offset, value);
        wordsSet |= word;
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
        wordsSet |= (PAYLOAD << payloadWords) - PAYLOAD;
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
        wordsSet |= HEADER;
        return this;
    }

    /**
     * Sets the caller's tag of the work request.
     *
     * @param workRequestId 64 bits
     * @return this
     */
    public CompletionEntry workRequestId(long workRequestId) {
        return put(workRequestIdOffset, workRequestId, WORK_REQUEST_ID);
    }

    /**
     * Sets the length word.
     *
     * @param length a word from {@link CqeLayout#length}
     * @return this
     */
    public CompletionEntry length(long length) {
        return put(workRequestIdOffset + 8L, length, LENGTH);
    }

    /**
     * Sets the detail word.
     *
     * @param detail a word from {@link CqeLayout#detail}
     * @return this
     */
    public CompletionEntry detail(long detail) {
        return put(workRequestIdOffset + 16L, detail, DETAIL);
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
        return put(CqeLayout.TIMESTAMP_OFFSET, timestamp, TIMESTAMP);
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
        if (hasNoPayloadWord(index)) {
            throw Completion.noPayloadWord(index, strideBytes);
        }
        return put(CqeLayout.PAYLOAD_OFFSET + (long) index * Long.BYTES, value, PAYLOAD << index);
    }
}
