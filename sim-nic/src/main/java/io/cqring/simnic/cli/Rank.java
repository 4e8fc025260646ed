package io.cqring.simnic.cli;

import io.cqring.cq.AdaptiveDepth;
import io.cqring.simnic.SimNic;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.workload.MessagePlan;

/** One rank: its completion queue, its memory, and how far it is in the current collective. */
final class Rank {
    final int number;

    /** Null if the depth is given. */
    final AdaptiveDepth depth;

    final ChunkBuffers source;
    final ChunkBuffers target;

    /** Of each message that it sends in this collective. */
    final long[] chunksPosted;

    /** Messages that it sends in this collective. */
    int sends;

    /** The first of them of which a chunk is still to be posted. */
    int firstOpenSend;

    /** Messages that have arrived. */
    int arrivals;

    Rank(int number, SimNic nic, ProtectionDomain domain, RunQueues queues, RunOptions options) {
        this.number = number;
        this.depth = queues.create(number);
        this.chunksPosted = new long[2 * options.ranks()];
        this.source = new ChunkBuffers(nic, domain, options, 2L * number, AccessRights.LOCAL_READ);
        this.target = new ChunkBuffers(
                nic, domain, options, 2L * number + 1, AccessRights.LOCAL_WRITE | AccessRights.REMOTE_WRITE);
    }

    void begin(MessagePlan plan) {
        arrivals = 0;
        firstOpenSend = 0;
        sends = plan.sends(number);
        for (int send = 0; send < sends; send++) {
            chunksPosted[send] = 0;
        }
    }

    boolean hasSentAll() {
        return firstOpenSend == sends;
    }
}
