package io.cqring.simnic.qp;

/**
 * The work requests of one queue pair as its driver remembers them. Completion entries of real devices do not carry the caller's tag; the
 * driver finds it here, by queue pair and place. Entries are named by their sequence: how many were posted to that queue before.
 *
 * <p>An entry can be asked for from when it was posted until its slot is used again. For the thread that posts.
 */
public interface PostedWork {
    /**
     * Entries ever posted to the send queue.
     *
     * @return the sequence of the next one
     */
    long sendsPosted();

    /**
     * Entries ever posted to the receive queue.
     *
     * @return the sequence of the next one
     */
    long receivesPosted();

    /**
     * The caller's tag of a send, write, read or atomic.
     *
     * @param sequence which
     * @return 64 bits
     */
    long sendTag(long sequence);

    /**
     * The caller's tag of a receive.
     *
     * @param sequence which
     * @return 64 bits
     */
    long receiveTag(long sequence);

    /**
     * Whether a completion follows when an entry of the send queue is done.
     *
     * @param sequence which
     * @return the flag of the request that ends with this entry; false if the request goes on in the next one
     */
    boolean isSignaled(long sequence);

    /**
     * Operation of an entry of the send queue.
     *
     * @param sequence which
     * @return one of {@link WqeOpcode}
     */
    int sendOpcode(long sequence);

    /**
     * Whether the request of an entry of the send queue goes on in the next one; its completion names the last.
     *
     * @param sequence which
     * @return true for all but the last entry of a request
     */
    default boolean sendGoesOn(long sequence) {
        return false;
    }

    /**
     * As {@link #sendGoesOn}, for the receive queue.
     *
     * @param sequence which
     * @return true for all but the last entry of a receive
     */
    default boolean receiveGoesOn(long sequence) {
        return false;
    }

    /**
     * The shared queue that receives are taken from.
     *
     * @return the queue; null if the queue pair has receives of its own, those above
     */
    default SharedReceiveQueue sharedReceives() {
        return null;
    }

    /**
     * Whether this is a datagram queue pair: its receives carry their sender, and a header of 40 bytes in front.
     *
     * @return true for UD
     */
    default boolean isDatagram() {
        return false;
    }
}
