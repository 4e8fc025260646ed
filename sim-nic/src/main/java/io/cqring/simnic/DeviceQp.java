package io.cqring.simnic;

import io.cqring.cq.CompletionStatus;
import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpMemory;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.WqeLayout;
import java.util.Arrays;

/**
 * The device's own record of a queue pair. Device thread only; what the host may see of it is in {@link QpMemory}.
 *
 * <pre>
 *   send queue      completed &lt;= acked &lt;= fetched &lt;= sent &lt;= posted &lt;= completed + depth    (64-bit counts of entries)
 *                   |  reported  |  answered  | on the wire | to be sent again | to be sent
 *                                             on a wire without faults fetched == acked between turns
 * </pre>
 *
 * <p>The receive queue is a {@link ReceiveQueue}, its own or a shared one.
 */
final class DeviceQp {
    /** Packet sequence numbers have 24 bits. */
    static final int PSN_MASK = 0xFF_FFFF;

    private static final long NEVER = Long.MAX_VALUE;

    /** Results of atomics kept: more than a requester can have on the wire. */
    private static final int ATOMICS_KEPT = 32;

    /** 32 minus the bits of a packet sequence number: shifting there and back makes a difference of two signed. */
    private static final int PSN_SHIFT = 8;

    final int number;

    /** Place in the device's tables and in the UAR page. */
    final int slot;

    final ProtectionDomain domain;
    final CqPort sendPort;
    final CqPort receivePort;
    final QueueMemory memory;
    final RingGeometry sendQueue;
    final ReceiveQueue receives;
    final QpType type;

    /** The memory of its entries, as a region: where inline data come from. */
    final MemoryRegion entries;

    QpState state = QpState.RESET;

    /** Whether the device serves it in each pass. */
    boolean active;

    /** Which life of this queue pair it is: ends in RESET and in ERR, and no queue pair of the device has had it before. */
    long life;

    // Attributes.
    int rights;
    int qkey;
    int peerNumber;
    int expectedPsn;
    int firstPsn;
    int rnrRetry;
    long rnrDelayNs;
    int retryLimit;

    /** How long to wait for an answer; 0 is for ever. */
    private long timeoutNs;

    int maxReads;
    int maxPeerReads;

    // Send queue.
    long posted;
    long fetched;
    long acked;
    long completed;

    /** Entries that have been on the wire at least once. */
    long sent;

    /** Reads and atomics on the wire. */
    int readsUnderWay;

    /** Entries from here on, up to {@code flushEnd}, are flushed; NEVER if none is. */
    private long flushFrom = NEVER;

    private long flushEnd = NEVER;

    /** Syndrome of the entry at {@code flushFrom}, if it is the one that failed; 0 if none did. */
    int failure;

    /** Of {@code failure}: the syndrome, and above it the vendor's error. */
    static final int SYNDROME_MASK = 0xFF;

    static final int VENDOR_SHIFT = 8;

    /** In SQD: the host wants to know when it has drained, and does not yet. */
    boolean drainNotice;

    /** Retries of the entry at {@code acked} for want of a receive. */
    int rnrRetries;

    /** Retries of the entry at {@code acked} for want of an answer, or because the peer missed it. */
    int retries;

    /** Whether the entry at {@code acked} was sent again because the peer misses something, and nothing has come of it yet. */
    boolean wentBack;

    /** Since when the entry at {@code acked} waits for its answer. Means nothing while none is on the wire. */
    private long sentAtNs;

    /** Whether it waits for the peer to post a receive, and until when. */
    private boolean waiting;

    private long waitUntilNs;

    /** Sequence numbers taken by messages executed since the first number was set: those that can come again. */
    private long psnsExecuted;

    /** The peer has been told that the message expected did not come, or must come again. */
    boolean refused;

    /** Results of the last atomics, for those that come again: number and value, the oldest at {@code nextAtomic}. Null if there were none. */
    private int[] atomicPsns;

    private long[] atomicValues;
    private int nextAtomic;

    // A receive completion that found its queue full.
    boolean receiveHeld;
    long heldHeader;
    long heldWorkRequestId;
    long heldLength;
    long heldDetail;

    DeviceQp(
            int number,
            int slot,
            QpType type,
            ProtectionDomain domain,
            CqPort sendPort,
            CqPort receivePort,
            QpMemory qpMemory,
            ReceiveQueue receives) {
        this.number = number;
        this.slot = slot;
        this.type = type;
        this.domain = domain;
        this.sendPort = sendPort;
        this.receivePort = receivePort;
        this.memory = qpMemory.memory();
        this.sendQueue = qpMemory.sendQueue();
        this.receives = receives;
        this.entries = MemoryRegion.ofDevice(memory);
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
        if (attributes.getOrElse(QpAttribute.RECEIVE_PSN, -1) >= 0) {
            expectedPsn = attributes.getOrElse(QpAttribute.RECEIVE_PSN, 0);
            psnsExecuted = 0;
            refused = false;
            atomicPsns = null;
        }
        qkey = attributes.getOrElse(QpAttribute.QKEY, qkey);
        firstPsn = attributes.getOrElse(QpAttribute.SEND_PSN, firstPsn);
        rnrRetry = attributes.getOrElse(QpAttribute.RNR_RETRY, rnrRetry);
        retryLimit = attributes.getOrElse(QpAttribute.RETRY_COUNT, retryLimit);
        maxReads = attributes.getOrElse(QpAttribute.MAX_READS, maxReads);
        maxPeerReads = attributes.getOrElse(QpAttribute.MAX_DESTINATION_READS, maxPeerReads);
        int timeout = attributes.getOrElse(QpAttribute.TIMEOUT, -1);
        if (timeout >= 0) {
            timeoutNs = QpAttribute.timeoutNs(timeout);
        }
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
        sent = 0;
        readsUnderWay = 0;
        failure = 0;
        flushFrom = NEVER;
        flushEnd = NEVER;
        drainNotice = false;
        rnrRetries = 0;
        retries = 0;
        wentBack = false;
        waiting = false;
        if (!receives.isShared()) {
            receives.posted = 0;
            receives.consumed = 0;
        }
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

    /** Whether entries that have been sent before are sent, and answers taken. */
    boolean isSending() {
        return state == QpState.RTS || state == QpState.SQD;
    }

    /** Whether the send queue is flushed, what is posted from now on as well. */
    boolean isFlushing() {
        return state == QpState.ERR || state == QpState.SQE;
    }

    /** From the oldest entry that is not answered on all are flushed. */
    void beginFlush() {
        if (flushFrom == NEVER || completed >= flushEnd) {
            flushFrom = acked;
        } // else what was to be flushed before is not all reported yet
        flushEnd = NEVER;
    }

    /** What has been posted so far is still flushed, what comes from now on is sent. */
    void endFlush() {
        skipTo(posted);
        flushEnd = posted;
    }

    /** Entries before this one will not be sent, or not again, and take no numbers. */
    void skipTo(long sequence) {
        firstPsn = (firstPsn - (int) (sequence - acked)) & PSN_MASK;
        acked = sequence;
        fetched = sequence;
        if (sent < sequence) {
            sent = sequence;
        }
    }

    /** Syndrome that an entry about to be completed has, and above it the vendor's error. */
    int syndrome(long sequence) {
        if (sequence < flushFrom || sequence >= flushEnd) {
            return 0;
        }
        return sequence == flushFrom && failure != 0 ? failure : CompletionStatus.WR_FLUSH_ERR.syndrome();
    }

    /** Entries that the one at a sequence takes: 2 if it has an extension, of those posted. */
    int entries(long sequence, long control) {
        return WqeLayout.isChained(control) && sequence + 1 < posted ? 2 : 1;
    }

    void keepAtomic(int psn, long value) {
        if (atomicPsns == null) {
            atomicPsns = new int[ATOMICS_KEPT];
            Arrays.fill(atomicPsns, -1);
            atomicValues = new long[ATOMICS_KEPT];
        }
        atomicPsns[nextAtomic] = psn;
        atomicValues[nextAtomic] = value;
        nextAtomic = (nextAtomic + 1) & (ATOMICS_KEPT - 1);
    }

    /** Place of the result of an atomic, for {@link #atomicValue}; -1 if it is not kept, or was none. */
    int findAtomic(int psn) {
        if (atomicPsns != null) {
            for (int i = 0; i < ATOMICS_KEPT; i++) {
                if (atomicPsns[i] == psn) {
                    return i;
                }
            }
        }
        return -1;
    }

    long atomicValue(int place) {
        return atomicValues[place];
    }

    void startTimer(long nowNs) {
        sentAtNs = nowNs;
    }

    /** Whether the entry at {@code acked} is on the wire and has waited too long. */
    boolean isTimedOut(long nowNs) {
        return fetched != acked && timeoutNs != 0 && nowNs - sentAtNs >= timeoutNs;
    }

    /** All that is not answered goes on the wire again. */
    void goBack(long nowNs) {
        fetched = acked;
        readsUnderWay = 0;
        sentAtNs = nowNs;
    }

    /** Packet sequence number of a send-queue entry: a message takes as many numbers as its request has entries. */
    int psn(long sequence) {
        return (firstPsn + (int) sequence) & PSN_MASK;
    }

    /** The send-queue entry that a number stands for: the one nearest to {@code acked}. */
    long sequence(int psn) {
        return acked + difference(psn, psn(acked));
    }

    /** Whether an entry waits for its answer. */
    boolean isUnanswered(int psn) {
        long sequence = sequence(psn);
        return sequence >= acked && sequence < sent;
    }

    /** How far a number lies ahead of the one expected; negative if behind. */
    int ahead(int psn) {
        return difference(psn, expectedPsn);
    }

    private static int difference(int psn, int from) {
        return (psn - from) << PSN_SHIFT >> PSN_SHIFT;
    }

    /** Whether a number, that lies behind, belongs to a message executed in this connection. */
    boolean hasExecuted(int psn) {
        return -ahead(psn) <= psnsExecuted;
    }

    /** After a number that need not be the one expected: what lies between is given up. */
    void expectAfter(int psn, int psns) {
        expectedPsn = (psn + psns) & PSN_MASK;
    }

    void expectNext(int psns) {
        expectedPsn = (expectedPsn + psns) & PSN_MASK;
        psnsExecuted += psns;
        refused = false;
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

    /** Whether all that was rung has been executed and reported. */
    boolean isDrained() {
        return completed == posted && !receiveHeld;
    }

    @Override
    public String toString() {
        return "QP 0x" + Integer.toHexString(number);
    }
}
