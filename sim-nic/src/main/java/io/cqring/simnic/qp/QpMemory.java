package io.cqring.simnic.qp;

import io.cqring.memory.CacheLines;
import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

/**
 * The memory that the two sides of a queue pair share, and where things lie in it. Words that different sides write
 * are 128 bytes apart.
 *
 * <pre>
 *   byte 0     send doorbell: entries ever posted to the send queue            written by the host
 *   byte 128   receive doorbell: the same of the receive queue                 written by the host
 *   byte 256   state | receive doorbell dealt with in state ERR                written by the device
 *   byte 384   send queue, then receive queue: 64-byte entries                 written by the host
 * </pre>
 */
public final class QpMemory {
    /** Offset of the send doorbell record. */
    public static final int SEND_DOORBELL = 0;

    /** Offset of the receive doorbell record. */
    public static final int RECEIVE_DOORBELL = SEND_DOORBELL + CacheLines.SEPARATION_BYTES;

    /** Offset of the state: the number of a {@link QpState}. */
    public static final int STATE = RECEIVE_DOORBELL + CacheLines.SEPARATION_BYTES;

    /** Offset of the receive doorbell up to which the device, in state ERR, has flushed. */
    public static final int RECEIVES_FLUSHED = STATE + Long.BYTES;

    /** The deepest queue, in entries: counters of 24 bits must tell its entries apart. */
    public static final int MAX_DEPTH = 1 << 20;

    private static final int FIRST_SLOT = STATE + CacheLines.SEPARATION_BYTES;

    private final QueueMemory memory;
    private final RingGeometry sendQueue;
    private final RingGeometry receiveQueue;

    private QpMemory(QueueMemory memory, RingGeometry sendQueue, RingGeometry receiveQueue) {
        this.memory = memory;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
    }

    /**
     * Allocates zeroed memory: nothing posted, state RESET.
     *
     * @param sendDepth    entries of the send queue; a power of two, 1 to {@link #MAX_DEPTH}
     * @param receiveDepth entries of the receive queue; the same rule
     * @return the memory
     * @throws IllegalArgumentException if a depth breaks the rule
     */
    public static QpMemory allocate(int sendDepth, int receiveDepth) {
        requireDepth("send", sendDepth);
        requireDepth("receive", receiveDepth);
        long sendBytes = RingGeometry.slotsBytes(sendDepth, WqeLayout.STRIDE_BYTES);
        long receiveBytes = RingGeometry.slotsBytes(receiveDepth, WqeLayout.STRIDE_BYTES);
        return new QpMemory(
                QueueMemory.allocate(FIRST_SLOT + sendBytes + receiveBytes),
                RingGeometry.of(FIRST_SLOT, sendDepth, WqeLayout.STRIDE_BYTES),
                RingGeometry.of((int) (FIRST_SLOT + sendBytes), receiveDepth, WqeLayout.STRIDE_BYTES));
    }

    private static void requireDepth(String queue, int depth) {
        if (depth < 1 || depth > MAX_DEPTH || Integer.bitCount(depth) != 1) {
            throw new IllegalArgumentException(
                    queue + " queue depth must be a power of two, 1 to " + MAX_DEPTH + ": " + depth);
        }
    }

    /**
     * The memory itself.
     *
     * @return the region
     */
    public QueueMemory memory() {
        return memory;
    }

    /**
     * Where the entries of the send queue lie.
     *
     * @return the geometry
     */
    public RingGeometry sendQueue() {
        return sendQueue;
    }

    /**
     * Where the entries of the receive queue lie.
     *
     * @return the geometry
     */
    public RingGeometry receiveQueue() {
        return receiveQueue;
    }
}
