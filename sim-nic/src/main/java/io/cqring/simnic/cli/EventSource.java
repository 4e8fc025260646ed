package io.cqring.simnic.cli;

/** Where events of a run's queues come from; the queues are called by their numbers. For one thread, the one that polls. */
interface EventSource extends AutoCloseable {
    /** From {@link #next}: no event. */
    int NONE = -1;

    /** Arms a queue for its next completion; whether one may be there already. */
    boolean arm(int queue);

    /** The next event's queue; waits so long for one. NONE if none comes, or if there may be one now: ask again. */
    int next(long nanos) throws InterruptedException;

    /** What was armed and not answered with an event counts as answered. */
    void giveUp(int queue);

    /** Fills in events, interrupts, spurious wake-ups and overruns. */
    void report(RunReport report);

    @Override
    void close();
}
