package io.cqring.stress;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.WorkCompletion;

/** What the host sees: how many entries, and which of their words were not those of the entry that had to come next. */
final class Observer implements CompletionHandler {
    /** Bit of {@link #wrong}: an entry that was not the next one (lost, doubled, out of order, or never written). */
    static final int ORDER = 1 << 20;

    /** Bit of {@link #wrong}: a word of the header is not this entry's. */
    static final int HEADER = 1;

    /** Bit of {@link #wrong}: the work-request id. */
    static final int ID = 1 << 1;

    /** Bit of {@link #wrong}: the length word. */
    static final int LENGTH = 1 << 2;

    /** Bit of {@link #wrong}: the detail word. */
    static final int DETAIL = 1 << 3;

    /** Bit of {@link #wrong}: the timestamp. */
    static final int TIMESTAMP = 1 << 4;

    /** Bit of {@link #wrong}: the first word of payload; the next words have the next bits. */
    static final int PAYLOAD = 1 << 5;

    private final Fill fill;
    private final int payloadWords;

    /** Number of the entry that must come next. */
    int next;

    /** Entries seen. */
    int taken;

    /** Which words were wrong, in any entry. */
    int wrong;

    Observer(Fill fill, int strideBytes, int next) {
        this.fill = fill;
        this.payloadWords = CqeLayout.payloadBytes(strideBytes) / Long.BYTES;
        this.next = next;
    }

    @Override
    public void onCompletion(Completion seen) {
        final int number = next;
        int found = 0;
        // Last words first: they are the ones that a device in disorder stores last.
        for (int i = payloadWords - 1; i >= 0; i--) {
            long word = fill.hasPayload(i, payloadWords) ? Entry.payload(number, i) : 0;
            if (seen.payload(i) != word) {
                found |= PAYLOAD << i;
            }
        }
        if (seen.hasTimestamp() && seen.timestamp() != (fill.hasDetail() ? Entry.timestamp(number) : 0)) {
            found |= TIMESTAMP;
        }
        found |= compare(
                seen.header(),
                seen.workRequestId(),
                seen.byteCount(),
                seen.immediate(),
                seen.vendorError(),
                seen.sourceQp());
        wrong |= found;
        taken++;
        next = number + 1;
    }

    /** As above, for what {@code pollInto} copies: no payload. */
    void onCopy(WorkCompletion seen) {
        int found = 0;
        if (payloadWords != 0 && seen.timestamp() != Entry.timestamp(next)) {
            found |= TIMESTAMP;
        }
        found |= compare(
                CqeLayout.header(
                        seen.opcode(), seen.isSolicited(), seen.wqeCounter(), seen.qpNumber(), seen.syndrome()),
                seen.workRequestId(),
                seen.byteCount(),
                seen.immediate(),
                seen.vendorError(),
                seen.sourceQp());
        wrong |= found;
        taken++;
        next++;
    }

    private int compare(long header, long workRequestId, long byteCount, int immediate, int vendorError, int sourceQp) {
        final int number = next;
        int found = 0;
        if (workRequestId != Entry.workRequestId(number)) {
            found |= ID;
        }
        if (byteCount != number || immediate != number) {
            found |= LENGTH;
        }
        int detail = fill.hasDetail() ? number : 0;
        if (vendorError != detail || sourceQp != detail) {
            found |= DETAIL;
        }
        if ((header & ~CqeLayout.OWNER_MASK) != Entry.header(number)) {
            found |= CqeLayout.wqeCounter(header) == number ? HEADER : ORDER;
        }
        return found;
    }
}
