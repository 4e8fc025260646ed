package io.cqring.simnic.cli;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqeLayout;

/**
 * How a workload is run, checked.
 *
 * @param ranks          ranks that communicate, 2 to {@value #MAX_RANKS}
 * @param chunkBytes     the most bytes of one work request, 1 to 2^31-1
 * @param copyLimitBytes bytes at the head of a chunk that are really moved and checked, 0 or more
 * @param cqeBytes       bytes per completion entry: 32, 64 or 128
 * @param depth          entries per completion queue, a power of two
 * @param window         the most unfinished chunks per queue pair, 1 or more
 * @param seed           what the content is derived from
 */
record RunOptions(
        int ranks, long chunkBytes, long copyLimitBytes, int cqeBytes, int depth, int window, long seed) {

    static final int MAX_RANKS = 64;
    private static final int MAX_WINDOW = 1 << 16;

    RunOptions {
        require(ranks >= 2 && ranks <= MAX_RANKS, "--ranks must be 2 to " + MAX_RANKS, ranks);
        require(chunkBytes >= 1 && chunkBytes <= Integer.MAX_VALUE, "--chunk must be 1 to 2147483647 bytes", chunkBytes);
        require(copyLimitBytes >= 0, "--copy-limit must be 0 bytes or more", copyLimitBytes);
        require(window >= 1 && window <= MAX_WINDOW, "--window must be 1 to " + MAX_WINDOW, window);
        require(cqeBytes == 32 || cqeBytes == 64 || cqeBytes == 128, "--cqe must be 32, 64 or 128 bytes", cqeBytes);
        int smallest = smallestDepth(ranks, window);
        String rule = "--depth must be a power of two and hold 2 x (ranks - 1) x window = " + 2L * (ranks - 1) * window
                + " entries, so at least " + smallest;
        require(depth >= smallest && Integer.bitCount(depth) == 1, rule, depth);
    }

    private static void require(boolean holds, String rule, long value) {
        if (!holds) {
            throw new IllegalArgumentException(rule + ": " + value);
        }
    }

    /** The smallest depth that is accepted: a rank has ranks - 1 queue pairs, each with a window of chunks out and one in. */
    static int smallestDepth(int ranks, int window) {
        return ChunkLedger.slots(2 * (ranks - 1) * window);
    }

    /** Bytes of a chunk that memory is kept for. */
    int residentBytes() {
        return (int) Math.min(chunkBytes, copyLimitBytes);
    }
}
