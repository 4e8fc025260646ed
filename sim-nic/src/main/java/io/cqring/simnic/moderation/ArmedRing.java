package io.cqring.simnic.moderation;

/** A ring whose host asks for events, as the device that raises them sees it. Device thread only. */
public interface ArmedRing {
    /**
     * Entries past the one open arm, looked up anew on each call.
     *
     * @return entries published past it; 0 if nothing is armed, or what it asks for is not there; at least 1 if the ring is armed and dead;
     *     {@link #CLOSED} if the host has closed it
     */
    long pastArm();

    /** From {@link #pastArm}: nothing will be asked for any more. */
    long CLOSED = -1;

    /**
     * Answers the arm. The caller then raises the event.
     *
     * @return true if answered, by this call: once for each arm
     */
    boolean answerArm();

    /**
     * Entries ever written.
     *
     * @return the sequence of the next one
     */
    long producerSequence();

    /**
     * Whether the ring died of an overrun.
     *
     * @return true if so
     */
    boolean isDead();
}
