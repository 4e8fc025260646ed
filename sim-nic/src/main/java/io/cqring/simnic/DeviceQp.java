package io.cqring.simnic;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpMemory;
import io.cqring.simnic.qp.QpState;

/**
 * The device's own record of a queue pair. Device thread only; what the host may see of it is in {@link QpMemory}.
 *
 * <pre>
 *   send queue      completed &lt;= acked &lt;= fetched &lt;= posted &lt;= completed + depth      (64-bit counts of entries)
 *                   |  reported  |  answered  | on the wire |  to be fetched
 *                                             between turns fetched == acked
 *   receive queue   consumed &lt;= receivesPosted &lt;= consumed + depth
 * </pre>
 */
final class DeviceQp {
    private static final int PSN_MASK = 0xFF_FFFF;

    final int number;

    /** Place in the device's tables and in the UAR page. */
    final int slot;

    final ProtectionDomain domain;
    final CqPort sendPort;
    final CqPort receivePort;
    final QueueMemory memory;
    final RingGeometry sendQueue;
    final RingGeometry receiveQueue;

    QpState state = QpState.RESET;

    /** Whether the device serves it in each pass. */
    boolean active;

    // Attributes.
    int rights;
    int peerNumber;
    int expectedPsn;
    int firstPsn;
    int rnrRetry;
    long rnrDelayNs;

    // Send queue.
    long posted;
    long fetched;
    long acked;
    long completed;

    /** Syndrome of the entry at {@code acked}, the one that failed; 0 if none did. */
    int failure;

    /** Retries of the entry at {@code acked} for want of a receive. */
    int rnrRetries;

    /** Whether it waits for the peer to post a receive, and until when. */
    private boolean waiting;

    private long waitUntilNs;

    // Receive queue.
    long receivesPosted;
    long receivesConsumed;

    // A receive completion that found its queue full.
    boolean receiveHeld;
    long heldHeader;
    long heldWorkRequestId;
    long heldLength;
    long heldDetail;

    DeviceQp(int number, int slot, ProtectionDomain domain, CqPort sendPort, CqPort receivePort, QpMemory qpMemory) {
        this.number = number;
        this.slot = slot;
        this.domain = domain;
        this.sendPort = sendPort;
        this.receivePort = receivePort;
        this.memory = qpMemory.memory();
        this.sendQueue = qpMemory.sendQueue();
        this.receiveQueue = qpMemory.receiveQueue();
        publishState(QpState.RESET);
    }

    void publishState(QpState to) {
        state = to;
        // Edge QP-STATE, device end. Partner: QueuePair.stateCode. Only the word itself is wanted: opaque is enough.
        memory.putLongOpaque(QpMemory.STATE, to.code());
    }

    void apply(QpAttributes attributes) {
        rights = attributes.getOrElse(QpAttribute.ACCESS_RIGHTS, rights);
        peerNumber = attributes.getOrElse(QpAttribute.DESTINATION_QP, peerNumber);
        expectedPsn = attributes.getOrElse(QpAttribute.RECEIVE_PSN, expectedPsn);
        firstPsn = attributes.getOrElse(QpAttribute.SEND_PSN, firstPsn);
        rnrRetry = attributes.getOrElse(QpAttribute.RNR_RETRY, rnrRetry);
        int timer = attributes.getOrElse(QpAttribute.MIN_RNR_TIMER, -1);
        if (timer >= 0) {
            rnrDelayNs = QpAttribute.rnrDelayNs(timer);
        }
    }

    /** Back to the start of both queues. Attributes stay until they are set again; every way out of RESET sets them. */
    void reset() {
        posted = 0;
        fetched = 0;
        acked = 0;
        completed = 0;
        failure = 0;
        rnrRetries = 0;
        waiting = false;
        receivesPosted = 0;
        receivesConsumed = 0;
        receiveHeld = false;
        memory.putLongOpaque(QpMemory.RECEIVES_FLUSHED, 0);
        publishState(QpState.RESET);
    }

    void waitUntil(long timeNs) {
        waiting = true;
        waitUntilNs = timeNs;
    }

    /** Whether a wait is not over yet. */
    boolean mustWait(long nowNs) {
        waiting = waiting && nowNs - waitUntilNs < 0;
        return waiting;
    }

    /** Packet sequence number of a send-queue entry: one message is one packet. */
    int psn(long sequence) {
        return (firstPsn + (int) sequence) & PSN_MASK;
    }

    void expectNextPsn() {
        expectedPsn = (expectedPsn + 1) & PSN_MASK;
    }

    /**
     * Takes the send doorbell record over. False if it is impossible: it went back, or counts more than the queue
     * holds.
     */
    boolean readSendDoorbell() {
        // Edge DOORBELL, device end: the record, then the entries it counts and their payload. Partner:
        // QueuePair.ringSendDoorbell. Weaker: old words of an entry are executed. Shown by DoorbellTest.
        long record = memory.getLongAcquire(QpMemory.SEND_DOORBELL);
        if (record - posted < 0 || record - completed > sendQueue.capacity()) {
            return false;
        }
        posted = record;
        return true;
    }

    /** Takes the receive doorbell record over; as {@link #readSendDoorbell}. */
    boolean readReceiveDoorbell() {
        // Edge DOORBELL, device end, as above. Partner: QueuePair.ringReceiveDoorbell.
        long record = memory.getLongAcquire(QpMemory.RECEIVE_DOORBELL);
        if (record - receivesPosted < 0 || record - receivesConsumed > receiveQueue.capacity()) {
            return false;
        }
        receivesPosted = record;
        return true;
    }

    /** Whether all that was rung has been executed and reported. */
    boolean isDrained() {
        return completed == posted && !receiveHeld;
    }

    @Override
    public String toString() {
        return "QP 0x" + Integer.toHexString(number);
    }
}
