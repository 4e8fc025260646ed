package io.cqring.simnic.cli;

import java.util.Arrays;

/**
 * Which queues are to be polled, and sleep while none is. A queue is awake, and polled, or it is armed, and left alone until its event
 * comes.
 *
 * <pre>
 *   awake ──► polled empty (HYBRID: many times) ──► armed ──► nothing there ──► asleep
 *     ▲                                               └─ something there ─┐        │
 *     └───────────────────────────────────────────────────────────────────┴────────┘ event
 * </pre>
 *
 * <p>INTERRUPT sleeps also if something was there: a device that compares the armed index fires for that too.
 *
 * <p>For one thread, the one that polls. It sleeps in an {@link EventSource}.
 */
final class QueueWatch implements AutoCloseable {
    /** HYBRID: empty polls in a row before a queue is armed. */
    static final int DRY_POLLS = 64;

    private final PollMode mode;
    private final EventSource source;
    private final Watched[] watched;
    private int awake;
    private long arms;
    private long missedEvents;
    private long vainEvents;

    private static final class Watched {
        boolean awake = true;

        /** Woken by an event, and not polled since. */
        boolean woken;

        int dryPolls;
    }

    QueueWatch(PollMode mode, EventSource source, int queues) {
        this.mode = mode;
        this.source = source;
        this.watched = new Watched[queues];
        Arrays.setAll(watched, number -> new Watched());
        this.awake = queues;
    }

    boolean isAwake(int number) {
        return watched[number].awake;
    }

    boolean allAsleep() {
        return awake == 0;
    }

    /** A queue that is awake has been polled: arms it if it is time. */
    void polled(int number, int taken) {
        final Watched polled = watched[number];
        if (taken == 0 && polled.woken) {
            vainEvents++;
        }
        polled.woken = false;
        if (taken != 0) {
            polled.dryPolls = 0;
            return;
        }
        polled.dryPolls++;
        if (mode == PollMode.HYBRID && polled.dryPolls < DRY_POLLS) {
            return;
        }
        polled.dryPolls = 0;
        arms++;
        final boolean missed = source.arm(number);
        if (missed) {
            missedEvents++;
        }
        if (!missed || mode == PollMode.INTERRUPT) {
            polled.awake = false;
            awake--;
        }
    }

    /** Waits for an event; takes all that are there. False if none came in time. */
    boolean await(long nanos) {
        final long start = System.nanoTime();
        boolean got = false;
        long left = nanos;
        try {
            do {
                for (int raised = source.next(got ? 0 : left); raised != EventSource.NONE; raised = source.next(0)) {
                    got = true;
                    watched[raised].woken = true;
                    wake(watched[raised]);
                }
                left = nanos - (System.nanoTime() - start);
            } while (!got && left > 0);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", interrupted);
        }
        return got;
    }

    private void wake(Watched sleeping) {
        if (!sleeping.awake) {
            sleeping.awake = true;
            awake++;
        }
    }

    /** The watchdog has had enough: every queue is polled again, whatever the events say. */
    void wakeAll() {
        for (int number = 0; number < watched.length; number++) {
            source.giveUp(number);
            wake(watched[number]);
        }
    }

    /** Fills in what was counted. */
    void report(RunReport report) {
        await(0); // what nobody has taken yet counts too
        report.arms = arms;
        report.missedEvents = missedEvents;
        report.spuriousWakeups = vainEvents;
        source.report(report);
    }

    @Override
    public void close() {
        source.close();
    }
}
