/**
 * Queues for those who want a queue and no words of RDMA: each is a thin face of one {@link io.cqring.cq.CompletionQueue}.
 *
 * <p>{@link io.cqring.queue.LongQueue} carries longs, with the methods of JCTools' {@code MessagePassingQueue}. For messages of bytes
 * see {@code io.cqring.agrona}.
 */
package io.cqring.queue;
