package io.cqring.cq;

/**
 * The device overran a queue with {@link OverrunPolicy#ERROR}: it is dead, and all that was written before the overrun has
 * been polled. The queue stays unusable: make a new one, or {@link CompletionQueue#reset} it.
 */
public final class CqOverrunException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /** Entries lost when this exception was made. */
    private final long lostEntries;

    CqOverrunException(long lostEntries, int capacity) {
        super("completion queue overrun: " + lostEntries + " entries lost so far, capacity " + capacity
                + "; the queue is dead, make a deeper one");
        this.lostEntries = lostEntries;
    }

    /**
     * Entries lost when this exception was made.
     *
     * @return entries
     */
    public long lostEntries() {
        return lostEntries;
    }
}
