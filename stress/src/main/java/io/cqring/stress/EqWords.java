package io.cqring.stress;

/** Where the words of an event queue and of an interrupt lie, as core draws them. A unit test holds these against the shipped classes. */
final class EqWords {
    static final int CONSUMER_SEQUENCE = 0;
    static final int ARM = 128;
    static final int PRODUCER_SEQUENCE = 256;
    static final int OVERRUNS = 384;
    static final int FIRST_SLOT = 512;
    static final int DETAIL = 8;

    /** Words of an interrupt, in memory of its own. */
    static final int RAISES = 0;

    static final int WAITER = 128;

    /** What the waiter word says while a thread waits. */
    static final long WAITS = 2;

    private EqWords() {}

    static int slot(int index) {
        return FIRST_SLOT + index * 64;
    }
}
