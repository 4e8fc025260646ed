package io.cqring.simnic.profile;

/** Takes one event at a time from {@link VendorEventQueue#poll}. */
@FunctionalInterface
public interface CqEventHandler {
    /**
     * A completion queue has something to tell.
     *
     * @param number number of the queue
     * @param toggle what else the event carries, for {@link VendorQueue#onEvent}
     */
    void onEvent(int number, int toggle);
}
