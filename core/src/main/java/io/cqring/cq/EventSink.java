package io.cqring.cq;

/**
 * Whom the device end of a queue tells that the host wants to know something: the way from a completion queue to an event queue.
 * Called by whichever thread writes, recovers or closes. Must not block, must not call the queue, and must not throw: what it
 * throws comes out of the writer's call, whose entries are published by then.
 */
public interface EventSink {
    /**
     * The queue has what it was armed for, is closed or dead, or what writers that are gone had left was set right. After
     * {@link CompletionQueue#arm}, once at most. With many writers it may come early: while an older claim is still open.
     *
     * @param cqNumber number of the queue, 0 to 2^24-1
     */
    void completion(int cqNumber);

    /**
     * Entries were lost. Once for each run of losses: not again before an entry has found a slot. Many writers: each tells of its own.
     *
     * @param cqNumber number of the queue
     * @param dead     the queue takes nothing more ({@link OverrunPolicy#ERROR})
     */
    void overrun(int cqNumber, boolean dead);
}
