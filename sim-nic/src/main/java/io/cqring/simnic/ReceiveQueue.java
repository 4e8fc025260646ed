package io.cqring.simnic;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import io.cqring.simnic.dma.ProtectionDomain;

/**
 * The device's own record of a receive queue: that of one queue pair, or one that several share. Device thread only.
 *
 * <pre>
 *   consumed &lt;= posted &lt;= consumed + depth      (64-bit counts of entries)
 * </pre>
 */
final class ReceiveQueue {
    final QueueMemory memory;
    final RingGeometry ring;
    private final int doorbell;
    long posted;
    long consumed;

    /** Number of a shared one; 0 of a queue pair's own. */
    final int number;

    /** Of a shared one. */
    final ProtectionDomain domain;

    /** Of a shared one: an event is due once fewer entries than this are left; 0 if none is. */
    int limit;

    /** Of a shared one: queue pairs that use it. */
    int users;

    ReceiveQueue(QueueMemory memory, RingGeometry ring, int doorbell, int number, ProtectionDomain domain) {
        this.memory = memory;
        this.ring = ring;
        this.doorbell = doorbell;
        this.number = number;
        this.domain = domain;
    }

    boolean isShared() {
        return number != 0;
    }

    /** Takes the doorbell record over; false if it is impossible: it went back, or counts more than the queue holds. */
    boolean readDoorbell() {
        // Edge DOORBELL, device end, as DeviceQp.readSendDoorbell. Partner: QueuePair.ringReceiveDoorbell,
        // SharedReceiveQueue.ringDoorbell.
        long record = memory.getLongAcquire(doorbell);
        if (record - posted < 0 || record - consumed > ring.capacity()) {
            return false;
        }
        posted = record;
        return true;
    }
}
