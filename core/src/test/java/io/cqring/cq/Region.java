package io.cqring.cq;

/** The picture in CqRegion, copied by hand as numbers: what tests that look behind the API measure against. */
final class Region {
    static final int CONSUMER = 0;
    static final int PRODUCER = 128;
    static final int LOST = 136;
    static final int REJECTED = 144;
    static final int DEAD = 256;
    static final int CLOSED = 264;
    static final int SLOTS = 384;

    private Region() {}
}
