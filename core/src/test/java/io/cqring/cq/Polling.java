package io.cqring.cq;

import java.util.Arrays;
import java.util.List;

/** The ways to poll, as one call: take at most {@code limit} entries and show each to a taker. */
enum Polling {
    /** {@code poll(handler, limit)}. */
    HANDLER {
        @Override
        int take(CompletionQueue queue, int limit, Taker taker) {
            return queue.poll(taker::onView, limit);
        }
    },

    /** {@code startPoll}, {@code next}, {@code endPoll}. */
    CURSOR {
        @Override
        int take(CompletionQueue queue, int limit, Taker taker) {
            if (limit == 0 || !queue.startPoll()) {
                return 0;
            }
            int shown = 0;
            do {
                taker.onView(queue.completion());
                shown++;
            } while (shown < limit && queue.next());
            return queue.endPoll();
        }
    },

    /** {@code pollInto(array, limit)}. */
    COPY {
        @Override
        int take(CompletionQueue queue, int limit, Taker taker) {
            WorkCompletion[] into = completions(Math.min(limit, queue.capacity()));
            int taken = queue.pollInto(into, limit);
            for (int i = 0; i < taken; i++) {
                taker.onCopy(into[i]);
            }
            return taken;
        }
    },

    /** {@code peek}, then take what was seen. */
    PEEK {
        @Override
        int take(CompletionQueue queue, int limit, Taker taker) {
            int taken = 0;
            while (taken < limit) {
                Completion seen = queue.peek();
                if (seen == null) {
                    break;
                }
                long seenId = seen.workRequestId();
                int one = queue.poll(
                        c -> {
                            if (c.workRequestId() != seenId) {
                                throw new AssertionError("peeked " + seenId + ", polled " + c.workRequestId());
                            }
                            taker.onView(c);
                        },
                        1);
                if (one != 1) {
                    throw new AssertionError("peek showed an entry, poll took " + one);
                }
                taken++;
            }
            return taken;
        }
    },

    /** A cursor over as much as there is, abandoned; then {@code poll}: the cursor must have taken nothing. */
    ABANDONED_CURSOR {
        @Override
        int take(CompletionQueue queue, int limit, Taker taker) {
            if (queue.startPoll()) {
                while (queue.next()) {
                    queue.completion().workRequestId();
                }
            }
            return queue.poll(taker::onView, limit);
        }
    };

    private static final List<Polling> ALL = List.of(values());

    /** One after the other, for a count that goes up. */
    static Polling at(int count) {
        return ALL.get(count % ALL.size());
    }

    /** Gets each entry, as a view or as a copy. */
    interface Taker {
        void onView(Completion view);

        void onCopy(WorkCompletion copy);
    }

    abstract int take(CompletionQueue queue, int limit, Taker taker);

    static WorkCompletion[] completions(int count) {
        WorkCompletion[] completions = new WorkCompletion[count];
        Arrays.setAll(completions, i -> new WorkCompletion());
        return completions;
    }

    /** Expects entries with consecutive numbers, all written one way. */
    static final class InOrder implements Taker {
        private final int stride;
        private final Numbered.Way way;
        private long next;

        InOrder(int stride, Numbered.Way way, long first) {
            this.stride = stride;
            this.way = way;
            this.next = first;
        }

        long next() {
            return next;
        }

        @Override
        public void onView(Completion view) {
            Numbered.verify(view, next, way, stride);
            next++;
        }

        @Override
        public void onCopy(WorkCompletion copy) {
            Numbered.verify(copy, next, way, stride);
            next++;
        }
    }
}
