package io.cqring.notify;

import io.cqring.cq.CompletionQueue;

/** A queue of a channel. All fields under the channel's lock. */
final class Member {
    final int number;
    CompletionQueue queue;

    /** An event has arrived and nobody has got it. */
    boolean signalled;

    /** In the list of those that are ready. */
    boolean listed;

    /** Its events are for those who wait for it, also while nobody does: never for who waits for any. */
    boolean kept;

    /** Being destroyed: its events go nowhere. */
    boolean dropped;

    /** Events that were given out, and of these what is acknowledged. */
    long delivered;

    long acked;

    /** Where senders of other processes connect; null if the queue is in no file. */
    WakeupListener listener;

    /** Senders that are connected, senders that have left, and how many of these somebody has been told of. */
    int connected;

    long departed;
    long reported;

    Member(int number) {
        this.number = number;
    }
}
