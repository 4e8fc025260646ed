package io.cqring.jmh;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;

/**
 * Reads all an entry carries, through the view's public accessors, and adds it up. A word that has several fields is put
 * together again from them, so that the sum is that of the whole words, as with the other rings.
 */
abstract class CompletionSum extends PollerTally implements CompletionHandler {
    static CompletionSum of(boolean wide) {
        return wide ? new Wide() : new Narrow();
    }

    /** The words that entries of every size have. */
    static long common(Completion completion) {
        return completion.workRequestId() + lengthWord(completion) + detailWord(completion);
    }

    static long lengthWord(Completion completion) {
        return completion.byteCount() | (long) completion.immediate() << 32;
    }

    static long detailWord(Completion completion) {
        return completion.vendorError() | (long) completion.flags() << 8 | (long) completion.sourceQp() << 16;
    }

    /** For 64-byte entries: 7 words. */
    private static final class Wide extends CompletionSum {
        @Override
        public void onCompletion(Completion completion) {
            sum += common(completion)
                    + completion.timestamp()
                    + completion.payload(0)
                    + completion.payload(1)
                    + completion.payload(2);
        }
    }

    /** For 32-byte entries: 3 words. */
    private static final class Narrow extends CompletionSum {
        @Override
        public void onCompletion(Completion completion) {
            sum += common(completion);
        }
    }
}
