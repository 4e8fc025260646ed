package io.cqring.stress;

/**
 * Where a queue's words lie, as core draws them: twins must know which store is which. A unit test compares these numbers
 * with what a shipped queue does.
 */
final class Region {
    static final int MAGIC = 0;
    static final int HEADER_CAPACITY = 40;
    static final int CONSUMER_SEQUENCE = 128;
    static final int DEAD = 192;
    static final int CLOSED = 200;
    static final int WAITING_WRITERS = 208;
    static final int PRODUCER_SEQUENCE = 256;
    static final int GIVE_BACKS = 288;
    static final int FIRED = 296;
    static final int SOLICITED_END = 304;
    static final int ARM = 320;
    static final int ARMED_INDEX = 328;

    /** Rows of many writers; without them the slots start here. */
    static final int FIRST_ROW = 384;

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
