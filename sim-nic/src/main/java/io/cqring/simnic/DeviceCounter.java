package io.cqring.simnic;

/** What the device counts. Read with {@link SimNic#counter}; the number is its place in memory. */
public enum DeviceCounter {
    /** Send-queue entries fetched; one that is retried is fetched, and counted, again. */
    SENDS_FETCHED(0, "wqes_fetched"),
    /** Receive-queue entries consumed by messages. */
    RECEIVES_CONSUMED(1, "receives_consumed"),
    /** Messages carried out at the responder. */
    MESSAGES_EXECUTED(2, "messages_executed"),
    /** Payload bytes really copied, see the copy limit and sparse regions. */
    BYTES_COPIED(3, "bytes_copied"),
    /** Completions written. */
    COMPLETIONS_WRITTEN(4, "cqes_written"),
    /** Completions of those that report a flushed entry. */
    COMPLETIONS_FLUSHED(5, "cqes_flushed"),
    /** Times a completion found its queue full (policy BACKPRESSURE) and was kept for later. */
    COMPLETIONS_REFUSED(6, "cqes_refused"),
    /** Completions lost to an overrun, or to a queue that was closed. */
    COMPLETIONS_LOST(7, "cqes_lost"),
    /** Queue pairs put into ERR because a completion queue of theirs died. */
    QPS_LOST_TO_DEAD_CQS(8, "qps_lost_to_dead_cqs"),
    /** Doorbell records that were impossible. */
    BAD_DOORBELLS(9, "bad_doorbells"),
    /** Messages that found no receive posted. */
    RNR_NAKS(10, "rnr_naks"),
    /**
     * Requests dropped without an answer: what was under way behind one that must be sent again, what is for a queue pair that does not
     * answer, what belongs to a life of the requester that has ended.
     */
    PACKETS_DROPPED(11, "packets_dropped"),
    /** Times a queue pair went to ERR, for whatever reason. */
    QPS_TO_ERROR(12, "qps_to_error"),
    /** Events of completion queues raised: each answers an arm, or says that the host has closed the queue. */
    EVENTS_RAISED(13, "events_raised"),
    /** Times a queue pair heard nothing for too long and sent all that is not answered again. */
    TIMEOUTS(14, "timeouts"),
    /** Messages that did not come: the requester was told to send again from there. */
    SEQUENCE_NAKS(15, "sequence_naks"),
    /** Messages that came again: answered, not executed again; a read that is still wanted is read again. */
    DUPLICATES(16, "duplicates");

    private final int offset;
    private final String label;

    DeviceCounter(int place, String label) {
        this.offset = place * Long.BYTES;
        this.label = label;
    }

    /** Where it lies in the device's counter memory, in bytes. */
    int offset() {
        return offset;
    }

    /**
     * Name for reports.
     *
     * @return lower case, words joined by underscores
     */
    public String label() {
        return label;
    }
}
