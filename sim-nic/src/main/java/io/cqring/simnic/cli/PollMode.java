package io.cqring.simnic.cli;

import java.util.Locale;

/** How the host learns of completions. The code that handles them is the same. */
enum PollMode {
    /** It polls all queues all the time; nothing is armed. */
    POLL,

    /** It polls a queue until that is empty, arms it, looks again, and sleeps once every queue is armed. */
    EVENT,

    /** As EVENT, but it arms a queue only after many polls in a row have found nothing; as Linux' NAPI. */
    HYBRID,

    /** It polls a queue when an event says so, until that is empty, and never without one. No moderation. */
    INTERRUPT;

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    static PollMode of(String label) {
        for (PollMode mode : values()) {
            if (mode.label().equals(label)) {
                return mode;
            }
        }
        throw new IllegalArgumentException("--mode must be poll, event, hybrid or interrupt: " + label);
    }
}
