package io.cqring.simnic.qp;

import java.util.Arrays;

/**
 * Scatter-gather list: up to {@value #MAX_SEGMENTS} pieces of memory that one work request takes as if they followed each other. To be filled,
 * posted, cleared and filled again; allocates nothing after creation. Not thread-safe.
 */
public final class SgList {
    /** The most pieces of one list. */
    public static final int MAX_SEGMENTS = 4;

    final long[] addresses = new long[MAX_SEGMENTS];

    /** Length and lkey, as in the entry. */
    final long[] lengths = new long[MAX_SEGMENTS];

    int count;
    private long bytes;

    /** An empty list. */
    public SgList() {}

    /**
     * Adds a piece.
     *
     * @param address first byte
     * @param length  bytes, 0 or more
     * @param lkey    key of the region it lies in
     * @return this
     * @throws IllegalArgumentException if the list is full, or the length negative, or the whole longer than a message may be; nothing is
     *                                  added
     */
    public SgList add(long address, long length, int lkey) {
        if (count == MAX_SEGMENTS) {
            throw new IllegalArgumentException("a list holds at most " + MAX_SEGMENTS + " segments");
        }
        if (length < 0 || length > WqeLayout.MAX_MESSAGE_BYTES - bytes) {
            throw new IllegalArgumentException(
                    "a list holds at most " + WqeLayout.MAX_MESSAGE_BYTES + " bytes; has " + bytes + ", add " + length);
        }
        addresses[count] = address;
        lengths[count] = WqeLayout.pair(length, lkey);
        count++;
        bytes += length;
        return this;
    }

    /**
     * Empties the list.
     *
     * @return this
     */
    public SgList clear() {
        count = 0;
        bytes = 0;
        Arrays.fill(addresses, 0);
        Arrays.fill(lengths, 0);
        return this;
    }

    /**
     * Bytes of all pieces.
     *
     * @return 0 to 2^31
     */
    public long bytes() {
        return bytes;
    }
}
