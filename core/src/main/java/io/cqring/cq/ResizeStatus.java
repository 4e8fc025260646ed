package io.cqring.cq;

/** What has become of the last {@link CompletionQueue#resize(int)}. */
public enum ResizeStatus {
    /** There has been none. */
    NONE,

    /** The device has not answered; it does so in its next call with nothing in hand and a slot free. May be cancelled. */
    PENDING,

    /** The device writes to the new ring; the poller has not come to its first entry. Cannot be cancelled any more. */
    ACCEPTED,

    /** The poller is in the new ring. Memory of the ring before is not touched any more. */
    DONE,

    /** Cancelled before the device accepted. Nothing has changed; memory of the new ring is not touched. */
    CANCELLED,

    /** Refused: more completions were unpolled than the new ring holds. Nothing has changed: poll, then ask again. */
    REFUSED_BACKLOG,

    /** Refused: the device had overrun the queue, which is dead. Nothing has changed. */
    REFUSED_DEAD
}
