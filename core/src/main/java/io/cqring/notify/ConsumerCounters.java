package io.cqring.notify;

import io.cqring.memory.QueueMemory;

/** What a {@link CompletionConsumer} has done. Counted by whoever polls; for any thread to look at, so one word each, stored opaque. */
final class ConsumerCounters {
    private static final int POLLS = 0;
    private static final int EVENTS = POLLS + Long.BYTES;
    private static final int ARMS = EVENTS + Long.BYTES;
    private static final int MISSED = ARMS + Long.BYTES;
    private static final int COMPLETIONS = MISSED + Long.BYTES;
    private static final int BYTES = COMPLETIONS + Long.BYTES;

    private final QueueMemory words = QueueMemory.allocate(BYTES);

    private void count(int word, int more) {
        words.putLongOpaque(word, words.getLongOpaque(word) + more);
    }

    void polled() {
        count(POLLS, 1);
    }

    void handed(int completions) {
        count(COMPLETIONS, completions);
    }

    /** The queue was armed; {@code ready}: what the arm asks for was there. */
    void armed(boolean ready) {
        count(ARMS, 1);
        count(MISSED, ready ? 1 : 0);
    }

    /** An event has ended a sleep. */
    void woken() {
        count(EVENTS, 1);
    }

    long polls() {
        return words.getLongOpaque(POLLS);
    }

    long events() {
        return words.getLongOpaque(EVENTS);
    }

    long arms() {
        return words.getLongOpaque(ARMS);
    }

    long missed() {
        return words.getLongOpaque(MISSED);
    }

    long completions() {
        return words.getLongOpaque(COMPLETIONS);
    }
}
