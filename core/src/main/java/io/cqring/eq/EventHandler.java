package io.cqring.eq;

/** Takes one event at a time from {@link EventQueue#poll}. Plain arguments: nothing is allocated, nothing must be let go. */
@FunctionalInterface
public interface EventHandler {
    /**
     * Called once per event, oldest first, on the polling thread.
     *
     * <p>The event counts as consumed from here on, also if this method throws: the exception reaches the caller of
     * {@code poll} and the next poll goes on with the next event. Calling the same queue from within is refused, but for what
     * any thread may call.
     *
     * @param type     what happened; {@link EventType#UNKNOWN} for a code without a name
     * @param number   number of the queue it happened to (completion queue or queue pair, by type), 0 to 2^24-1
     * @param subType  what exactly, by type; 0 to 255
     * @param syndrome error code, by type; 0 to 255
     * @param detail   64 bits more, by type: a timestamp or a count
     */
    void onEvent(EventType type, int number, int subType, int syndrome, long detail);
}
