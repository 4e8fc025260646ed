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

    /** Being destroyed: its events go nowhere. */
    boolean dropped;

    /** Events that were given out, and of these what is acknowledged. */
    long delivered;

    long acked;

    Member(int number) {
        this.number = number;
    }
}
