package io.cqring.memory;

/**
 * Sizes that decide who shares a cache line with whom.
 *
 * <p>x86 and most Arm server cores move 64-byte lines and fetch the neighbouring line as well, so two words that
 * different threads write are kept {@value #SEPARATION_BYTES} bytes apart.
 */
public final class CacheLines {
    /** Bytes of one cache line. A queue's memory starts on such a boundary. */
    public static final int LINE_BYTES = 64;

    /** Bytes between words that different threads write: one line and the line prefetched beside it. */
    public static final int SEPARATION_BYTES = 128;

    private CacheLines() {}
}
