package io.cqring.simnic.cli;

import io.cqring.cq.AdaptiveDepth;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionPoller;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.qp.QueuePair;

/** The completion queues of a run, one for each rank, whatever their layout. */
interface RunQueues {
    /** Makes a rank's queue and gives it to the device; what follows its traffic, or null if the depth is given. */
    AdaptiveDepth create(int rank);

    /** Takes completions, as {@code CompletionQueue.poll}. */
    int poll(int rank, CompletionHandler handler, int limit);

    /** One more poller, of queues that have several. */
    CompletionPoller newPoller(int rank);

    /** Completions that found no slot. */
    long lostEntries(int rank);

    /** Entries of the queue now. */
    int depth(int rank);

    /** A queue pair that completes into the queue. */
    QueuePair createQueuePair(int rank, ProtectionDomain domain, int depth);

    /** Where the queues' events come from; only for runs with events. */
    EventSource events();
}
