package io.cqring.simnic;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.simnic.fault.DeviceFaults;

/** A completion queue as the device sees it: where completions go in, and what becomes of them. Device thread only. */
final class CqPort {
    /** The completion is in the queue. */
    static final int WRITTEN = 0;

    /** The queue is full and wants it later. */
    static final int REFUSED = 1;

    /** The completion is gone. */
    static final int LOST = 2;

    final CompletionQueue queue;
    private final CompletionWriter writer;
    private long lostSoFar;
    private boolean closed;

    /** Whether this thread has the writer's role. */
    private boolean writing;

    /** Whether something may be staged. */
    private boolean staged;

    /** When its events are raised; null if it has none. */
    private final CqEvents events;

    /** Who waits for an event has been woken because the queue is closed. */
    private boolean closeTold;

    /** Completions were lost, and none has been written since. */
    private boolean losing;

    /** Queue pairs that use it; one that uses it for both its queues counts twice. */
    int users;

    CqPort(CompletionQueue queue, CqEvents events) {
        this.queue = queue;
        this.events = events;
        this.writer = queue.writer();
        this.lostSoFar = writer.lostEntries();
    }

    int write(DeviceFaults faults, long header, long workRequestId, long length, long detail, long timestamp) {
        return put(false, faults, header, workRequestId, length, detail, timestamp);
    }

    /** As write, but if the queue merges the host sees it only after {@link #flush}. */
    int stage(DeviceFaults faults, long header, long workRequestId, long length, long detail, long timestamp) {
        staged |= queue.isMerging();
        return put(queue.isMerging(), faults, header, workRequestId, length, detail, timestamp);
    }

    private int put(
            boolean staging,
            DeviceFaults faults,
            long header,
            long workRequestId,
            long length,
            long detail,
            long timestamp) {
        if (closed) {
            return LOST;
        }
        try {
            writing = true;
            if (staging
                    ? faults.stageCompletion(writer, header, workRequestId, length, detail, timestamp)
                    : faults.writeCompletion(writer, header, workRequestId, length, detail, timestamp)) {
                losing = false;
                if (events != null) {
                    events.onEntry(header, length, staging);
                }
                return WRITTEN;
            }
            long lost = writer.lostEntries();
            if (lost == lostSoFar) {
                return REFUSED;
            }
            lostSoFar = lost;
            return LOST;
        } catch (IllegalStateException closedOrTaken) {
            // The host closed a queue that is in use, or writes to it itself. A device cannot refuse; it can only lose.
            closed = true;
            writing = false;
            return LOST;
        }
    }

    /** Publishes what is staged. */
    void flush() {
        if (!staged) {
            return;
        }
        staged = false;
        try {
            writer.flush();
            if (events != null) {
                events.onFlush();
            }
        } catch (IllegalStateException closedOrTaken) {
            closed = true; // as in put
            writing = false;
        }
    }

    /** To be asked after each loss: whether it is the first of a run, by an overrun. */
    boolean beginsToLose() {
        final boolean begins = !losing && !closed;
        losing = true;
        return begins;
    }

    CqEvents events() {
        if (events == null) {
            throw new IllegalStateException("completion queue was attached without a channel, so it has no moderation");
        }
        return events;
    }

    /** Raises the queue's event if it is due; whether there is something to do here. Only for ports with events. */
    boolean serveEvents(Device device) {
        if (!closed) {
            writing = true;
            final int outcome = events.serve(device);
            if (outcome != CqEvents.CLOSED) {
                return outcome == CqEvents.BUSY;
            }
            closed = true; // as in put
            writing = false;
        }
        if (!closeTold) {
            closeTold = true;
            events.signal(device); // whoever waits learns that it is closed
        }
        return false;
    }

    /** Raises the queue's event now if an entry waits for its time: no later pass will. */
    void serveEventsLast(Device device) {
        if (events != null && !closed) {
            writing = true;
            events.serveLast(device);
        }
    }

    /** Whether nothing will ever reach the host through this queue again. */
    boolean isDead() {
        return closed || writer.isDead();
    }

    /** Lets another thread write, if this one does. */
    void release() {
        if (writing) {
            writing = false;
            writer.release();
        }
    }
}
