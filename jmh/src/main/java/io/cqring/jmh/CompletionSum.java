package io.cqring.jmh;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;

/** Reads every word that an entry carries beside its header, and adds them up: the same loads as with the other rings. */
abstract class CompletionSum extends PollerTally implements CompletionHandler {
    static CompletionSum of(boolean wide) {
        return wide ? new Wide() : new Narrow();
    }

    /** For 64-byte entries: 7 words. */
    private static final class Wide extends CompletionSum {
        @Override
        public void onCompletion(Completion completion) {
            sum += completion.workRequestId()
                    + completion.length()
                    + completion.detail()
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
            sum += completion.workRequestId() + completion.length() + completion.detail();
        }
    }
}
