package io.cqring.simnic.profile;

import io.cqring.eq.EventHandler;
import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;

/**
 * Where a device posts what goes wrong: the same to a host program whichever profile's ring lies behind it. The reference profile's is an
 * {@code EventQueue}, a vendor's a {@link VendorAsyncQueue}.
 *
 * <p><b>Role:</b> the device thread calls what is marked so; one host thread polls, arms and takes overruns; {@link #overruns}, {@link #untold},
 * {@link #interrupt} and {@link #close} are for any thread. How to sleep: note the interrupt's count, poll until nothing comes,
 * {@link #takeOverrun} and look at everything if it says so, {@link #arm}, and wait for another count only if that found nothing. A
 * handler must not call what only the poller may. <b>Progress:</b> nothing here blocks. <b>Visibility:</b> what the device did before it
 * posted is visible to the handler.
 */
public interface AsynchronousEvents extends AutoCloseable {
    /**
     * Hands events to a handler, oldest first. An event whose handler throws counts as taken.
     *
     * @param handler called once per event, on this thread
     * @param budget  the most events to take; more than the queue holds is allowed
     * @return events taken; 0 if there was none
     * @throws NullPointerException     if there is no handler; nothing is taken
     * @throws IllegalArgumentException if the budget is negative; nothing is taken
     * @throws IllegalStateException    if the queue is closed, or the call comes from a handler of this queue; nothing is taken
     */
    int poll(EventHandler handler, int budget);

    /**
     * Asks for one interrupt with the next event, and looks once more.
     *
     * @return true if an event is ready: poll again before you sleep
     * @throws IllegalStateException if the queue is closed, or the call comes from a handler of this queue; nothing is armed
     */
    boolean arm();

    /**
     * Whether events have been lost since the last call. Then look at everything that events could have been about.
     *
     * @return true if events have been lost
     * @throws IllegalStateException if the queue is closed, or the call comes from a handler of this queue; nothing is taken
     */
    boolean takeOverrun();

    /**
     * Events lost so far because the queue was full.
     *
     * @return events
     */
    long overruns();

    /**
     * Events that were not posted because this vendor has no code for them, see {@link #tells}.
     *
     * @return events
     */
    long untold();

    /**
     * What the thread that waits sleeps on. It is raised once more when the device ends.
     *
     * @return the interrupt
     */
    Interrupt interrupt();

    /**
     * Lets another thread become the poller, where that is checked: the reference profile's queue refuses a second thread, a vendor's does not.
     *
     * @throws IllegalStateException if the call comes from a handler of this queue, or, where it is checked, not from the poller
     */
    void releasePoller();

    /** The host does not want to know any more: its calls are refused from now on, the device's do nothing. Raises the interrupt. */
    @Override
    void close();

    // ---- Device end

    /**
     * Whether there is a code for such an event.
     *
     * @param type what happened
     * @return false if posting it only counts it
     */
    boolean tells(EventType type);

    /**
     * Posts an event. Device thread.
     *
     * @param event what happened
     * @return true if it is in the queue; false if that is full or closed, or there is no code for it
     */
    boolean post(DeviceEvent event);

    /** Answers an arm that has come since the last event. Device thread, on each pass. */
    void serve();

    /** The device makes no pass any more: wakes whoever waits. Device thread, or whoever closes a device that has none. */
    void end();
}
