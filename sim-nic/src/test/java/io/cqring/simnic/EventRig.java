package io.cqring.simnic;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqOverrunException;
import io.cqring.cq.OverrunPolicy;
import io.cqring.notify.CompletionChannel;
import io.cqring.notify.Moderation;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.qp.QueuePair;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Queues of one channel, each with a queue pair that is connected to itself: an empty WRITE completes in the pass that sees its
 * doorbell, and a pass takes a microsecond of virtual time.
 */
final class EventRig implements AutoCloseable {
    final SimNic nic;
    final CompletionChannel channel;
    final CompletionQueue[] queues;
    final QueuePair[] pairs;
    final ProtectionDomain domain;

    EventRig(int count, Moderation moderation) {
        this(count, 256, OverrunPolicy.ERROR, moderation);
    }

    EventRig(int count, int capacity, OverrunPolicy policy, Moderation moderation) {
        this(count, capacity, policy, moderation, DeviceFaults.NONE);
    }

    EventRig(int count, int capacity, OverrunPolicy policy, Moderation moderation, DeviceFaults faults) {
        nic = SimNic.builder().maxQueuePairs(16).faults(faults).create();
        channel = CompletionChannel.ofQueues(count);
        queues = new CompletionQueue[count];
        pairs = new QueuePair[count];
        domain = nic.allocateProtectionDomain();
        for (int i = 0; i < count; i++) {
            queues[i] =
                    channel.createForDevice(CompletionQueue.ofCapacity(capacity).overrunPolicy(policy));
            nic.attach(queues[i], channel, moderation);
            pairs[i] = nic.createQueuePair(domain, queues[i], queues[i], 128, 128);
            nic.connect(pairs[i], pairs[i]);
        }
    }

    /** Posts empty WRITEs with ids from {@code first} on, and rings. */
    void write(int pair, long first, int count) {
        for (int i = 0; i < count; i++) {
            if (!pairs[pair].postWrite(first + i, 0, 0, 0, 0, 0, TestRig.SIGNALED)) {
                throw new IllegalStateException("send queue is full");
            }
        }
        pairs[pair].ringSendDoorbell();
    }

    void write(int count) {
        write(0, 0, count);
    }

    boolean arm() {
        return queues[0].arm(ArmMode.NEXT);
    }

    void steps(int count) {
        for (int i = 0; i < count; i++) {
            nic.step();
        }
    }

    /** The number of passes until an event comes, which is taken; fails if there are more. */
    int stepsToEvent(int most) {
        for (int passes = 1; passes <= most; passes++) {
            nic.step();
            if (takeEvent() != null) {
                return passes;
            }
        }
        throw new AssertionError("no event in " + most + " passes");
    }

    /** An event that has arrived, acknowledged; null if there is none. */
    CompletionQueue takeEvent() {
        return takeEvent(0);
    }

    CompletionQueue takeEvent(long timeoutMs) {
        try {
            CompletionQueue queue = channel.getEvent(timeoutMs, TimeUnit.MILLISECONDS);
            if (queue != null) {
                channel.ack(queue, 1);
            }
            return queue;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Ids of all that is ready. */
    List<Long> drain(int pair) {
        List<Long> ids = new ArrayList<>();
        while (queues[pair].poll(
                        completion -> {
                            ids.add(completion.workRequestId());
                            pairs[pair].retire(completion);
                        },
                        64)
                != 0) {
            // until empty
        }
        return ids;
    }

    /** Ids of all that is ready in the first queue, which is dead, and says so in the end. */
    List<Long> drainDead() {
        List<Long> ids = new ArrayList<>();
        try {
            while (true) {
                queues[0].poll(completion -> ids.add(completion.workRequestId()), 64);
            }
        } catch (CqOverrunException dead) {
            return ids;
        }
    }

    @Override
    public void close() {
        nic.close();
        channel.close();
    }
}
