package io.cqring.simnic.profile;

import io.cqring.simnic.qp.PostedWork;
import io.cqring.simnic.qp.SharedReceiveQueue;
import io.cqring.simnic.qp.WqeOpcode;
import java.util.ArrayList;
import java.util.List;

/** Work requests kept in plain lists: nothing is ever overwritten, so that a look at the wrong one is seen. */
final class Posted implements PostedWork {
    private final long base;
    private final List<Long> sendTags = new ArrayList<>();
    private final List<Integer> sendOpcodes = new ArrayList<>();
    private final List<Boolean> signaled = new ArrayList<>();
    private final List<Long> receiveTags = new ArrayList<>();
    private SharedReceiveQueue shared;
    private boolean isDatagram;

    /** The first request has this sequence, in both queues. */
    Posted(long base) {
        this.base = base;
    }

    /** Receives come from a shared queue; before it is registered. */
    Posted sharing(SharedReceiveQueue queue) {
        shared = queue;
        return this;
    }

    /** It is a datagram queue pair; before it is registered. */
    Posted ofDatagrams() {
        isDatagram = true;
        return this;
    }

    long send(long tag, int opcode, boolean isSignaled) {
        sendTags.add(tag);
        sendOpcodes.add(opcode);
        signaled.add(isSignaled);
        return sendsPosted() - 1;
    }

    /** Signaled sends with tags from {@code first} on. */
    Posted sends(long first, int count) {
        for (int i = 0; i < count; i++) {
            send(first + i, WqeOpcode.SEND, true);
        }
        return this;
    }

    /** Receives with tags from {@code first} on. */
    Posted receives(long first, int count) {
        for (int i = 0; i < count; i++) {
            receiveTags.add(first + i);
        }
        return this;
    }

    @Override
    public long sendsPosted() {
        return base + sendTags.size();
    }

    @Override
    public long receivesPosted() {
        return base + receiveTags.size();
    }

    @Override
    public SharedReceiveQueue sharedReceives() {
        return shared;
    }

    @Override
    public boolean isDatagram() {
        return isDatagram;
    }

    @Override
    public long sendTag(long sequence) {
        return sendTags.get((int) (sequence - base));
    }

    @Override
    public long receiveTag(long sequence) {
        return receiveTags.get((int) (sequence - base));
    }

    @Override
    public boolean isSignaled(long sequence) {
        return signaled.get((int) (sequence - base));
    }

    @Override
    public int sendOpcode(long sequence) {
        return sendOpcodes.get((int) (sequence - base));
    }
}
