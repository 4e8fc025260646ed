package io.cqring.simnic;

import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.profile.VendorEventQueue;
import io.cqring.simnic.profile.VendorQueue;
import io.cqring.simnic.profile.VendorWriter;

/** A queue of a vendor's layout. An overrun kills it, and nothing closes it. */
final class VendorPort extends CqPort {
    private final VendorQueue queue;
    private final VendorWriter writer;

    /** Where its events go; null if it has none. */
    final VendorEventQueue eventQueue;

    VendorPort(VendorQueue queue, VendorEventQueue eventQueue) {
        this.queue = queue;
        this.eventQueue = eventQueue;
        this.writer = queue.writer();
    }

    @Override
    void admit(DeviceQp qp) {
        writer.admit(qp.number, qp.type, qp.receives.isShared() ? qp.receives.ring.capacity() : 0);
    }

    @Override
    void dismiss(DeviceQp qp) {
        writer.dismiss(qp.number);
    }

    @Override
    boolean stages() {
        return true;
    }

    @Override
    int put(boolean staging, DeviceFaults faults, long header, long id, long length, long detail, long timestamp) {
        final boolean written = staging
                ? writer.stage(header, id, length, detail, timestamp)
                : writer.write(header, id, length, detail, timestamp);
        return written ? WRITTEN : LOST;
    }

    @Override
    boolean flushStaged() {
        writer.flush();
        return true;
    }

    @Override
    boolean isClosed() {
        return false;
    }

    @Override
    boolean isDead() {
        return writer.isDead();
    }

    @Override
    void release() {}

    @Override
    int number() {
        return queue.number();
    }
}
