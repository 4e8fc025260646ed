package io.cqring.simnic.cli;

import io.cqring.cq.AdaptiveDepth;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.OverrunPolicy;
import io.cqring.notify.Moderation;
import io.cqring.notify.RdmaDim;
import io.cqring.simnic.SimNic;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.qp.QueuePair;
import java.util.Optional;

/**
 * The library's own queues. One that holds whatever can be unpolled never overruns, and if it does that is a fault. One that starts shallow fills up:
 * then the NIC keeps the completion and the queue pairs it belongs to wait, others do not. The polls go on whatever happens, so a slot is free in the
 * end.
 */
final class ReferenceRunQueues implements RunQueues {
    private final SimNic nic;
    private final RunOptions options;
    private final CompletionQueue[] queues;

    /** Null if the host polls all the time. */
    private final ChannelEvents events;

    ReferenceRunQueues(SimNic nic, RunOptions options) {
        this.nic = nic;
        this.options = options;
        this.queues = new CompletionQueue[options.ranks()];
        this.events = options.events().hasEvents()
                ? new ChannelEvents(options.events().eqs(), options.ranks())
                : null;
    }

    @Override
    public AdaptiveDepth create(int rank) {
        CompletionQueue.Builder builder = CompletionQueue.ofCapacity(options.firstDepth())
                .strideBytes(options.cqeBytes())
                .overrunPolicy(options.isDepthAuto() ? OverrunPolicy.BACKPRESSURE : OverrunPolicy.ERROR);
        if (options.merge()) {
            builder.merging();
        }
        if (options.pollers() != 1) {
            builder.sharedPollers();
        }
        final CompletionQueue queue = events == null ? builder.create() : events.create(rank, builder);
        queues[rank] = queue;
        attach(rank, queue);
        return options.isDepthAuto() ? new AdaptiveDepth(queue, options.firstDepth(), options.largestDepth()) : null;
    }

    private void attach(int rank, CompletionQueue queue) {
        if (events == null) {
            nic.attach(queue);
            return;
        }
        final Optional<Moderation> moderation = options.events().moderation();
        nic.attach(queue, events.channel(rank), moderation.orElse(Moderation.OFF));
        if (moderation.isEmpty()) {
            nic.moderate(queue, new RdmaDim());
        }
    }

    @Override
    public int poll(int rank, CompletionHandler handler, int limit) {
        return queues[rank].poll(handler, limit);
    }

    @Override
    public CompletionPoller newPoller(int rank) {
        return queues[rank].newPoller();
    }

    @Override
    public long lostEntries(int rank) {
        return queues[rank].lostEntries();
    }

    @Override
    public int depth(int rank) {
        return queues[rank].capacity();
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
