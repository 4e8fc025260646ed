package io.cqring.cq;

import io.cqring.cq.Numbered.Way;

/** {@link Numbered} completions, written by a {@link SharedWriter}. */
final class NumberedShared {
    private NumberedShared() {}

    /** Writes entry n in one of the ways that a shared writer has (not STAGE) and publishes it. */
    static boolean put(SharedWriter writer, Way way, long n, int stride) {
        switch (way) {
            case WRITE -> {
                boolean room = stride != 32;
                return writer.write(
                        Numbered.header(n),
                        n,
                        Numbered.length(n),
                        Numbered.detail(n),
                        Numbered.timestamp(n),
                        room ? Numbered.payload(n, 0) : 0,
                        room ? Numbered.payload(n, 1) : 0,
                        room ? Numbered.payload(n, 2) : 0);
            }
            case WRITE_BARE -> {
                return writer.write(
                        Numbered.header(n), n, Numbered.length(n), Numbered.detail(n), Numbered.timestamp(n));
            }
            default -> {
                if (!writer.claim(1)) {
                    return false;
                }
                fill(writer.entry(0), way, n, stride);
                writer.commit(1);
                return true;
            }
        }
    }

    /** Fills a claimed entry: every word (CLAIM), or only header and work-request id (CLAIM_BARE). */
    static void fill(CompletionEntry entry, Way way, long n, int stride) {
        entry.header(Numbered.header(n)).workRequestId(n);
        if (way == Way.CLAIM) {
            entry.detail(Numbered.detail(n)).length(Numbered.length(n));
            if (stride != 32) {
                entry.timestamp(Numbered.timestamp(n));
            }
            for (int i = 0; i < Numbered.payloadWords(stride); i++) {
                entry.payload(i, Numbered.payload(n, i));
            }
        }
    }
}
