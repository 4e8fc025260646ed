package io.cqring.simnic.cli;

import io.cqring.notify.Moderation;
import java.util.Optional;

/**
 * How the host waits and how events are held back, checked.
 *
 * @param mode       how the host learns of completions
 * @param moderation how the device holds events back; empty: it adapts to the traffic
 * @param eqs        channels, each with an event queue of its own, that the completion queues are spread over, 1 or more
 * @param pace       completions per second that the host's posts may bring, at the most; 0: no limit
 */
record EventOptions(PollMode mode, Optional<Moderation> moderation, int eqs, long pace) {
    /** No events, no limit. */
    static final EventOptions POLLING = new EventOptions(PollMode.POLL, Optional.of(Moderation.OFF), 1, 0);

    private static final String ADAPTIVE = "adaptive";
    private static final String OFF = "off";

    EventOptions {
        final boolean moderated = moderation.isEmpty() || !moderation.get().isOff();
        if (moderated && mode != PollMode.EVENT && mode != PollMode.HYBRID) {
            throw new IllegalArgumentException("--moderation needs --mode event or hybrid, --mode: " + mode.label());
        }
        moderation.ifPresent(EventOptions::requireEnds);
        if (eqs < 1) {
            throw new IllegalArgumentException("--eqs must be 1 to the number of ranks: " + eqs);
        }
        if (eqs != 1 && mode == PollMode.POLL) {
            throw new IllegalArgumentException("--eqs needs --mode event, hybrid or interrupt, --eqs: " + eqs);
        }
    }

    /** What {@code --moderation} was given: {@code COUNT,MICROS}, {@code adaptive} or {@code off}. */
    static Optional<Moderation> moderation(String text) {
        if (text.equals(ADAPTIVE)) {
            return Optional.empty();
        }
        if (text.equals(OFF)) {
            return Optional.of(Moderation.OFF);
        }
        try {
            return Optional.of(Moderation.parse(text));
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(
                    "--moderation must be off, adaptive, or fit: " + wrong.getMessage(), wrong);
        }
    }

    /** Refuses a moderation that may hold an event back for ever. */
    static void requireEnds(Moderation given) {
        if (given.count() > 1 && given.periodNs() == 0) {
            throw new IllegalArgumentException("--moderation needs a period, or fewer completions than the count"
                    + " are never reported: " + given);
        }
    }

    boolean hasEvents() {
        return mode != PollMode.POLL;
    }

    /** As on the command line. */
    String moderationLabel() {
        return moderation.map(given -> given.isOff() ? OFF : given.toString()).orElse(ADAPTIVE);
    }
}
