package io.cqring.simnic;

import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.moderation.QueueEvents;

/**
 * A completion queue as the device sees it, whatever its layout: where completions go in, and what becomes of them. Device thread only.
 */
abstract class CqPort {
    /** The completion is in the queue. */
    static final int WRITTEN = 0;

    /** The queue is full and wants it later. */
    static final int REFUSED = 1;

    /** The completion is gone. */
    static final int LOST = 2;

    /** Queue pairs that use it; one that uses it for both its queues counts twice. */
    int users;

    /** When its events are raised; null if it has none. */
    private QueueEvents events;

    /** Whoever waits for an event has been woken because the queue is closed. */
    private boolean closeTold;

    /** Wakes whoever waits. */
    private Runnable event;

    /** Completions were lost, and none has been written since. */
    private boolean losing;

    /** Work-request id of the last entry: what a torn one shows. */
    private long lastId;

    /** Something may be staged. */
    private boolean staged;

    /** The last entry got as far as the ring: if the device broke in the middle of it, it may be there. */
    private boolean begun;

    /** Gives the port events. */
    final void raises(QueueEvents given, Runnable how) {
        events = given;
        event = how;
    }

    final boolean hasEvents() {
        return events != null;
    }

    final QueueEvents events() {
        if (events == null) {
            throw new IllegalStateException("completion queue was attached without a channel, so it has no moderation");
        }
        return events;
    }

    final int write(DeviceFaults faults, long header, long id, long length, long detail, long timestamp) {
        return noted(false, header, length, meet(false, faults, header, id, length, detail, timestamp));
    }

    /** As write, but if the queue merges the host sees it only after {@link #flush}. */
    final int stage(DeviceFaults faults, long header, long id, long length, long detail, long timestamp) {
        final boolean staging = stages();
        staged |= staging;
        return noted(staging, header, length, meet(staging, faults, header, id, length, detail, timestamp));
    }

    /** Puts the entry, if it meets with nothing. */
    private int meet(
            boolean staging, DeviceFaults faults, long header, long id, long length, long detail, long timestamp) {
        begun = false;
        final DeviceFaults.Fate fate = faults.entryFate();
        begun = true;
        if (fate == DeviceFaults.Fate.WRITTEN) {
            lastId = id;
            return put(staging, faults, header, id, length, detail, timestamp);
        }
        switch (fate) {
            case LATER -> {
                return REFUSED;
            }
            case LOST -> {
                return WRITTEN;
            }
            case TWICE -> put(staging, faults, header, id, length, detail, timestamp);
            default -> {
                return put(staging, faults, header, lastId, length, detail, timestamp);
            }
        }
        return put(staging, faults, header, id, length, detail, timestamp);
    }

    private int noted(boolean staging, long header, long length, int outcome) {
        if (outcome == WRITTEN) {
            losing = false;
            if (events != null) {
                events.onEntry(header, length, staging);
            }
        }
        return outcome;
    }

    final boolean hasBegun() {
        return begun;
    }

    /** Publishes what is staged. */
    final void flush() {
        if (!staged) {
            return;
        }
        staged = false;
        if (flushStaged() && events != null) {
            events.onFlush();
        }
    }

    /** To be asked after each loss: whether it is the first of a run, by an overrun. */
    final boolean beginsToLose() {
        final boolean begins = !losing && !isClosed();
        losing = true;
        return begins;
    }

    /** Raises the queue's event if it is due; whether there is something to do here. Only for ports with events. */
    final boolean serveEvents() {
        if (!isClosed()) {
            final int outcome = events.serve();
            if (outcome != QueueEvents.CLOSED) {
                return outcome == QueueEvents.BUSY;
            }
        }
        if (!closeTold) {
            closeTold = true;
            event.run(); // whoever waits learns that it is closed
        }
        return false;
    }

    /** Raises the queue's event now if an entry waits for its time: no later pass will. */
    final void serveEventsLast() {
        if (events != null && !isClosed()) {
            events.serveLast();
        }
    }

    /** Receives of a queue pair will complete here. For layouts whose entries depend on what kind it is. */
    void admit(DeviceQp qp) {}

    /** A queue pair that was admitted is gone. */
    void dismiss(DeviceQp qp) {}

    /** Whether completions of several requests are staged before they are shown. */
    abstract boolean stages();

    /** Writes or stages a completion: one of the three outcomes. */
    abstract int put(
            boolean staging, DeviceFaults faults, long header, long id, long length, long detail, long timestamp);

    /** Publishes; false if the host has closed the queue. */
    abstract boolean flushStaged();

    /** The host has closed the queue, or writes it itself. */
    abstract boolean isClosed();

    /** Whether nothing will ever reach the host through this queue again. */
    abstract boolean isDead();

    /** Lets another thread write, if this one does. */
    abstract void release();

    /** The queue's number, for events. */
    abstract int number();
}
