/**
 * Completion queues: a ring of fixed-size entries in off-heap memory, written by a device, polled by a host.
 *
 * <pre>
 *     device thread                         memory (CqRegion)                           host thread
 *
 *     CompletionWriter                 slots: | 5 | 6 | 7 | 4' |                       CompletionQueue
 *     .write / .stage / .claim  ────►  owner bit stored last, release   ────►          .poll / cursor / pollInto / peek
 *     .flush                           (edge CQ-OWN)                                   owner bit loaded first, acquire
 *                                                                                              │
 *     reads it only when full   ◄────  consumer sequence, release       ◄──────────────────────┘  once per poll
 *                                      (edge CQ-CREDIT)
 * </pre>
 *
 * <p>A queue made for many writers has {@link io.cqring.cq.SharedWriter}s in the place of the one writer: they claim sequences by
 * compare-and-set (edge CQ-CLAIM), and {@link io.cqring.cq.CompletionQueue#recover} takes back what dead ones had claimed.
 *
 * <p>With many pollers ({@link io.cqring.cq.CompletionPoller}) the consumer sequence goes on by compare-and-set, once per claim,
 * after the entries have been copied (edge CQ-SHARE).
 *
 * <p>{@link io.cqring.cq.AdaptiveDepth} resizes a queue as its traffic asks for. Nothing in the queue knows of it.
 *
 * <p>Reading order: {@link io.cqring.cq.CqeLayout} (the entry, bit by bit), {@link io.cqring.cq.CompletionWriter#write},
 * {@link io.cqring.cq.CompletionQueue#poll} (the hot path is these two and {@code HostEnd.pollRuns}), {@link io.cqring.cq.OverrunPolicy}. Then
 * {@code core/docs/ordering.md}: each acquire and release here is one end of an edge listed there.
 */
package io.cqring.cq;
