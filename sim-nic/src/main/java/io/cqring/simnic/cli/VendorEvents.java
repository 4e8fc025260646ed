package io.cqring.simnic.cli;

import io.cqring.cq.ArmMode;
import io.cqring.eq.Interrupt;
import io.cqring.simnic.profile.VendorEventQueue;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import java.util.Arrays;
import org.agrona.collections.IntArrayQueue;

/** Events of a vendor's queues: several event queues, one interrupt that the thread sleeps on. */
final class VendorEvents implements EventSource {
    /** Events taken out of a queue at a time. */
    private static final int BUDGET = 128;

    private final VendorProfile profile;
    private final Interrupt interrupt = new Interrupt();
    private final VendorEventQueue[] eventQueues;
    private final VendorQueue[] queues;
    private final IntArrayQueue waiting = new IntArrayQueue(NONE);
    private long events;

    VendorEvents(VendorProfile profile, int eqs, int queues) {
        this.profile = profile;
        this.queues = new VendorQueue[queues];
        this.eventQueues = new VendorEventQueue[eqs];
        Arrays.setAll(eventQueues, i -> profile.createEventQueue(queues, interrupt));
    }

    /** The queue of a number, which is its own number too; each once. */
    void add(VendorQueue queue) {
        queues[queue.number()] = queue;
    }

    VendorEventQueue eventQueue(int number) {
        return eventQueues[number % eventQueues.length];
    }

    @Override
    public boolean arm(int queue) {
        return queues[queue].arm(ArmMode.NEXT);
    }

    @Override
    public int next(long nanos) throws InterruptedException {
        if (waiting.isEmpty()) {
            final long seen = interrupt.count();
            boolean empty = true;
            for (VendorEventQueue eventQueue : eventQueues) {
                empty &= eventQueue.poll(this::take, BUDGET) == 0;
            }
            if (empty && nanos > 0) {
                for (VendorEventQueue eventQueue : eventQueues) {
                    eventQueue.arm(); // fires at once if there is something by now
                }
                interrupt.await(seen, nanos);
                for (VendorEventQueue eventQueue : eventQueues) {
                    eventQueue.poll(this::take, BUDGET);
                }
            }
        }
        return waiting.isEmpty() ? NONE : waiting.removeInt();
    }

    private void take(int number, int toggle) {
        events++;
        queues[number].onEvent(toggle);
        waiting.addInt(number);
    }

    /** {@inheritDoc} A driver that goes on as if the event had come arms under a new number. */
    @Override
    public void giveUp(int queue) {
        if (profile != VendorProfile.BNXT_RE) { // its toggle comes with the event
            queues[queue].onEvent(0);
        }
    }

    @Override
    public void report(RunReport report) {
        report.events += events;
        report.interrupts += interrupt.count();
        report.spuriousWakeups += interrupt.spuriousWakeups();
        for (VendorEventQueue eventQueue : eventQueues) {
            report.eqOverruns += eventQueue.overruns();
        }
    }

    @Override
    public void close() {}
}
