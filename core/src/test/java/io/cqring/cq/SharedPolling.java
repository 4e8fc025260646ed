package io.cqring.cq;

/** The ways to use a {@link CompletionPoller}, as one call: take at most {@code limit} entries and show each to a taker. */
enum SharedPolling {
    /** {@code poll(handler, limit)}. */
    HANDLER {
        @Override
        int take(CompletionPoller poller, int capacity, int limit, Polling.Taker taker) {
            return poller.poll(taker::onView, limit);
        }
    },

    /** {@code startPoll}, {@code next}, {@code endPoll}. */
    CURSOR {
        @Override
        int take(CompletionPoller poller, int capacity, int limit, Polling.Taker taker) {
            if (limit == 0 || !poller.startPoll()) {
                return 0;
            }
            int shown = 0;
            do {
                taker.onView(poller.completion());
                shown++;
            } while (shown < limit && poller.next());
            return poller.endPoll();
        }
    },

    /** {@code pollInto(array, limit)}. */
    COPY {
        @Override
        int take(CompletionPoller poller, int capacity, int limit, Polling.Taker taker) {
            WorkCompletion[] into = Polling.completions(Math.min(limit, capacity));
            int taken = poller.pollInto(into, limit);
            for (int i = 0; i < taken; i++) {
                taker.onCopy(into[i]);
            }
            return taken;
        }
    },

    /** A cursor over one entry, abandoned: it has consumed that one. Then {@code poll}. */
    ABANDONED_CURSOR {
        @Override
        int take(CompletionPoller poller, int capacity, int limit, Polling.Taker taker) {
            if (limit == 0 || !poller.startPoll()) {
                return 0;
            }
            taker.onView(poller.completion());
            return 1 + poller.poll(taker::onView, limit - 1);
        }
    };

    private static final SharedPolling[] ALL = values();

    /** One after the other, for a count that goes up. */
    static SharedPolling at(int count) {
        return ALL[count % ALL.length];
    }

    abstract int take(CompletionPoller poller, int capacity, int limit, Polling.Taker taker);
}
