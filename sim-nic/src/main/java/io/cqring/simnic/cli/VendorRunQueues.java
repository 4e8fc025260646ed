package io.cqring.simnic.cli;

import io.cqring.cq.AdaptiveDepth;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionPoller;
import io.cqring.notify.Moderation;
import io.cqring.notify.RdmaDim;
import io.cqring.simnic.SimNic;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.profile.Mlx5Queue;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import io.cqring.simnic.qp.QueuePair;
import java.util.Optional;

/** Queues as a vendor has them. They hold whatever can be unpolled; an overrun kills one, and is a fault. */
final class VendorRunQueues implements RunQueues {
    private final SimNic nic;
    private final RunOptions options;
    private final VendorProfile profile;
    private final VendorQueue[] queues;

    /** Null if the host polls all the time. */
    private final VendorEvents events;

    VendorRunQueues(SimNic nic, RunOptions options) {
        this.nic = nic;
        this.options = options;
        this.profile = options.profile().orElseThrow();
        this.queues = new VendorQueue[options.ranks()];
        this.events = options.events().hasEvents()
                ? new VendorEvents(profile, options.events().eqs(), options.ranks())
                : null;
    }

    @Override
    public AdaptiveDepth create(int rank) {
        final VendorQueue queue = options.merge()
                ? Mlx5Queue.create(options.firstDepth(), options.cqeBytes(), rank, true)
                : profile.createQueue(options.firstDepth(), options.cqeBytes(), rank);
        queues[rank] = queue;
        if (events == null) {
            nic.attach(queue);
            return null;
        }
        events.add(queue);
        final Optional<Moderation> moderation = options.events().moderation();
        nic.attach(queue, events.eventQueue(rank), moderation.orElse(Moderation.OFF));
        if (moderation.isEmpty()) {
            nic.moderate(queue, new RdmaDim());
        }
        return null;
    }

    @Override
    public int poll(int rank, CompletionHandler handler, int limit) {
        return queues[rank].poll(handler, limit);
    }

    @Override
    public CompletionPoller newPoller(int rank) {
        throw new IllegalStateException("a vendor's queue has one poller"); // RunOptions sees to it
    }

    @Override
    public long lostEntries(int rank) {
        return queues[rank].writer().lostEntries();
    }

    @Override
    public int depth(int rank) {
        return queues[rank].depth();
    }

    @Override
    public QueuePair createQueuePair(int rank, ProtectionDomain domain, int depth) {
        return nic.createQueuePair(domain, queues[rank], queues[rank], depth, depth);
    }

    @Override
    public EventSource events() {
        return events;
    }
}
