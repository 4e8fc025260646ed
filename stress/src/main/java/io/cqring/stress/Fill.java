package io.cqring.stress;

/** How the device fills an entry, and so which words the host must find in it; all others must be zero. */
enum Fill {
    /** {@code write}: header, work-request id, length, detail, timestamp, three words of payload. */
    WRITE,

    /** {@code stage}: as write, no payload. */
    STAGE,

    /** {@code claim}, half filled: header, work-request id, length, the last word of payload. */
    CLAIM,

    /** {@code claim}, every word set: what a lap before leaves behind. */
    FULL;

    boolean hasDetail() {
        return this != CLAIM;
    }

    boolean hasPayload(int index, int words) {
        return switch (this) {
            case WRITE -> index < 3;
            case STAGE -> false;
            case CLAIM -> index == words - 1;
            case FULL -> true;
        };
    }
}
