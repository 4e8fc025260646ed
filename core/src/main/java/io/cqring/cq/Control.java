package io.cqring.cq;

/**
 * Values of the control word ({@link CqRegion#CLOSED}), which both ends load once per call: 0, or what an end must do before
 * anything else. One word, so that one load and one branch of the hot path serve all of it.
 *
 * <pre>
 *   0  ── CompletionQueue.post ──►  number | RESIZE_PENDING  ── CompletionWriter.answerResize ──►  0  accepted: a marker follows
 *                                        │                   ── CompletionWriter.answerResize ──►  refused, till the host has seen it
 *                                        └── CompletionQueue.cancelResize ──►  0
 *   0  ── CompletionQueue.stopWriter ──►  STOPPING  ── CompletionWriter.heed ──►  STOPPED
 *   any ── close ──►  CLOSED, for good
 * </pre>
 *
 * <p>All but CLOSED are set and cleared by compare-and-set. A command has a number, so that an answer to one that was
 * cancelled cannot be taken for the answer to the next.
 */
final class Control {
    /** Closed, for good. */
    static final long CLOSED = 1;

    /** The host offers another ring. */
    static final long RESIZE_PENDING = 1 << 1;

    /** The device refused it: more is unpolled than the new ring would hold. */
    static final long REFUSED_BACKLOG = 1 << 2;

    /** The device refused it: it has overrun the queue, which is dead. */
    static final long REFUSED_DEAD = 1 << 3;

    /** The host drains the queue: the device is to write nothing more. */
    static final long STOPPING = 1 << 4;

    /** The device has been told: it writes nothing more. */
    static final long STOPPED = 1 << 5;

    private static final int NUMBER_SHIFT = 8;

    private Control() {}

    /** The command to go on in another ring. */
    static long resize(long number) {
        return number << NUMBER_SHIFT | RESIZE_PENDING;
    }
}
