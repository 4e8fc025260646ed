package io.cqring.notify;

import io.cqring.cq.CompletionQueue;
import java.util.ArrayDeque;

/** The queues of a channel by number, and which of their events are acknowledged. All calls under the channel's lock. */
final class Members {
    private final Member[] members;
    private final ArrayDeque<Integer> freeNumbers = new ArrayDeque<>();
    private int numbersUsed;

    Members(int most) {
        this.members = new Member[most];
    }

    /** A number for a queue that is to be made. */
    int reserve() {
        // Numbers that were never used first: an asynchronous event may still name a queue that is gone.
        final Integer free = numbersUsed < members.length ? null : freeNumbers.poll();
        if (free == null && numbersUsed == members.length) {
            throw new IllegalStateException("completion channel has its " + members.length + " queues");
        }
        return free == null ? numbersUsed++ : free;
    }

    /** The queue could not be made. */
    void giveBack(int number) {
        freeNumbers.add(number);
    }

    void add(Member member) {
        members[member.number] = member;
    }

    void remove(Member member) {
        if (members[member.number] == member) { // else another destroy was first
            members[member.number] = null;
            freeNumbers.add(member.number);
        }
    }

    /** The queue with a number, or null. */
    Member at(int number) {
        return number < members.length ? members[number] : null;
    }

    /** Numbers below this one have been given out. */
    int numbersUsed() {
        return numbersUsed;
    }

    Member of(CompletionQueue queue) {
        final Member member = at(queue.number());
        if (member == null || member.queue != queue) {
            throw new IllegalArgumentException("completion queue is not one of this channel, or was destroyed");
        }
        return member;
    }

    void acknowledge(CompletionQueue queue, int count) {
        final Member member = of(queue);
        final long owed = unacknowledged(member);
        if (count < 0 || count > owed) {
            throw new IllegalArgumentException("events to acknowledge must be 0 to " + owed + ": " + count);
        }
        member.acked += count;
    }

    long unacknowledged(Member member) {
        return member.delivered - member.acked;
    }
}
