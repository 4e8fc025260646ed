package io.cqring.cq;

/** The picture in CqRegion, copied by hand as numbers: what tests that look behind the API measure against. */
final class Region {
    static final int CONSUMER = 128;
    static final int PASSED_OVER = 136;
    static final int DEAD = 192;
    static final int CLOSED = 200;
    static final int WAITING_WRITERS = 208;
    static final int PRODUCER = 256;
    static final int LOST = 264;
    static final int REJECTED = 272;
    static final int ABANDONED = 280;
    static final int GIVE_BACKS = 288;
    static final int FIRED = 296;
    static final int SOLICITED_END = 304;
    static final int ARM = 320;
    static final int ARMED_INDEX = 328;
    static final int SLOTS = 384;

    /** Words of a row, many writers only. */
    static final int ROW_OWNER = 0;

    static final int ROW_FIRST = 8;
    static final int ROW_COUNT = 16;

    private Region() {}

    static int row(int row) {
        return 384 + row * 128;
    }
}
