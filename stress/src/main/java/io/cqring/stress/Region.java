package io.cqring.stress;

/**
 * Where a queue's words lie, as core draws them: twins must know which store is which. A unit test compares these numbers
 * with what a shipped queue does.
 */
final class Region {
    static final int MAGIC = 0;
    static final int HEADER_CAPACITY = 40;
    static final int CONSUMER_SEQUENCE = 128;
    static final int PRODUCER_SEQUENCE = 256;
    static final int GIVE_BACKS = 288;
    static final int DEAD = 384;
    static final int CLOSED = 392;
    static final int WAITING_WRITERS = 400;

    /** Rows of many writers; without them the slots start here. */
    static final int FIRST_ROW = 512;

    static final int FIRST_SLOT = FIRST_ROW;
    static final int ROW_FIRST = 8;
    static final int ROW_COUNT = 16;

    private Region() {}

    static int slot(int index, int strideBytes) {
        return FIRST_SLOT + index * strideBytes;
    }

    static int row(int row) {
        return FIRST_ROW + row * 128;
    }
}
