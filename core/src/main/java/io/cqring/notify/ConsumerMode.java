package io.cqring.notify;

/** When a {@link CompletionConsumer} polls and when it sleeps. */
public enum ConsumerMode {
    /** Always polls: never arms, never sleeps. The shortest delay, for a processor of its own. */
    POLL,

    /** An event, then one poll, up to the budget; then it arms again, unless something is left. */
    INTERRUPT,

    /** An event, then polls until nothing is left, at most a ring full; then it arms again. */
    EVENT,

    /**
     * As Linux' NAPI: an event, then one poll per turn for as long as each takes the whole budget; it arms once one takes less. Under
     * load it costs no arms and no events, idle it sleeps.
     */
    HYBRID
}
