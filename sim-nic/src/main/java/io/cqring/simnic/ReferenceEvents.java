package io.cqring.simnic;

import io.cqring.eq.EventHandler;
import io.cqring.eq.EventQueue;
import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;
import io.cqring.simnic.profile.AsynchronousEvents;
import io.cqring.simnic.profile.DeviceEvent;

/** Asynchronous events in the reference profile: an event queue, whose poller is checked, and which has a code for each of them. */
final class ReferenceEvents implements AsynchronousEvents {
    private final EventQueue queue;

    ReferenceEvents(int depth) {
        queue = EventQueue.builder(depth).create();
    }

    @Override
    public int poll(EventHandler handler, int budget) {
        return queue.poll(handler, budget);
    }

    @Override
    public boolean arm() {
        return queue.arm();
    }

    @Override
    public boolean takeOverrun() {
        return queue.takeOverrun();
    }

    @Override
    public long overruns() {
        return queue.overruns();
    }

    @Override
    public long untold() {
        return 0;
    }

    @Override
    public Interrupt interrupt() {
        return queue.interrupt();
    }

    @Override
    public void releasePoller() {
        queue.releasePoller();
    }

    @Override
    public void close() {
        queue.close();
    }

    @Override
    public boolean tells(EventType type) {
        return true;
    }

    @Override
    public boolean post(DeviceEvent event) {
        try {
            return queue.writer().post(event.type(), event.number(), 0, event.syndrome(), event.detail());
        } catch (IllegalStateException closed) {
            return false; // the host does not want to know
        }
    }

    /** The writer has looked at the arm after each event, with a fence. */
    @Override
    public void serve() {}

    @Override
    public void end() {
        queue.interrupt().raise();
    }

    @Override
    public String toString() {
        return queue.toString();
    }
}
