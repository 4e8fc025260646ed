package io.cqring.cq;

/** What happens when the device has a completion and no slot is free. Chosen when the queue is made. Never silent. */
public enum OverrunPolicy {
    /**
     * The verbs' rule: the queue is dead. The entry is lost and counted, as is every later one; what was written before can
     * be polled, then polling an empty queue throws {@link CqOverrunException}. Source: {@code ibv_poll_cq(3)}.
     */
    ERROR,

    /** The seed's rule (000 section 5.3): the entry is discarded and counted, the queue lives on. */
    DROP_NEW,

    /** The rule of an ordinary ring: the writer is refused, nothing is lost, it may try again. */
    BACKPRESSURE
}
