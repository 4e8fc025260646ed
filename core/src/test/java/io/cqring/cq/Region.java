package io.cqring.cq;

/** The picture in CqRegion, copied by hand as numbers: what tests that look behind the API measure against. */
final class Region {
    static final int CONSUMER = 128;
    static final int PRODUCER = 256;
    static final int LOST = 264;
    static final int REJECTED = 272;
    static final int DEAD = 384;
    static final int CLOSED = 392;
    static final int SLOTS = 512;

    private Region() {}
}
