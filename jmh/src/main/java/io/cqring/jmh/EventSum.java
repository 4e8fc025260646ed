package io.cqring.jmh;

import org.jctools.queues.MessagePassingQueue;

/** Adds up the words of the events that come out of a JCTools queue. */
abstract class EventSum extends PollerTally implements MessagePassingQueue.Consumer<Event> {
    static EventSum of(boolean wide) {
        return wide ? new Wide() : new Narrow();
    }

    private static final class Wide extends EventSum {
        @Override
        public void accept(Event event) {
            sum += ((Event.Wide) event).sumWide();
        }
    }

    private static final class Narrow extends EventSum {
        @Override
        public void accept(Event event) {
            sum += event.sum();
        }
    }
}
