package io.cqring.jmh;

/**
 * The events of a writer into a JCTools queue, used in turn and never handed back: the cheapest safe pool for one writer and
 * one poller. For the writing thread.
 *
 * <p>Why it is safe: the queue holds at most its capacity, and the poller takes and handles events one by one, in order. So
 * once the offer of event {@code s} has succeeded, event {@code s - capacity} has been taken, hence event
 * {@code s - capacity - 1} has been handled. The writer then fills event {@code s + 1}, which is the object that was event
 * {@code s + 1 - size}; with a size of capacity + 2 or more, that one has been handled. It is no data race either: the
 * writer has seen the slot of a later event emptied, and the poller empties it after it has read the earlier one.
 */
final class EventPool {
    private final Event[] events = new Event[Transfer.CAPACITY + 2];
    private int index;

    EventPool(boolean wide) {
        for (int i = 0; i < events.length; i++) {
            events[i] = wide ? new Event.Wide() : new Event();
        }
    }

    Event next() {
        Event event = events[index];
        index = index + 1 == events.length ? 0 : index + 1;
        return event;
    }
}
