/**
 * Event queues: where a device says that something happened, and how it wakes the thread that wants to know.
 *
 * <pre>
 *     device threads                     memory (EqRegion)                            host thread
 *
 *     EventWriter                  slots: | 5 | 6 | 7 | 4' |                          EventQueue
 *     .post: claim, fill, ──────►  owner bit stored last (edge EQ-OWN)     ────────►  .poll
 *            publish
 *            armed?       ◄──────  arm word (edge EQ-ARM)                  ◄────────  .arm, and look again
 *             │ yes: disarm it
 *             ▼
 *     Interrupt.raise     ──────►  count of raises (edge WAKE)             ────────►  Interrupt.await
 * </pre>
 *
 * <p>The consumer's loop, in which no event is slept over:
 *
 * <pre>{@code
 * while (running) {
 *     long seen = interrupt.count();                  // first of all
 *     while (queue.poll(handler, 128) != 0) {}
 *     if (queue.takeOverrun()) {                      // events are missing: look at all they might have been about
 *         takeAndPollEverything();                    // takeEvent() on each queue first, or its next arm asks for nothing
 *     }
 *     if (!queue.arm()) {                             // true: an event came meanwhile
 *         interrupt.await(seen, Long.MAX_VALUE);      // returns at once if there was a raise since count()
 *     }
 * }
 * }</pre>
 *
 * <p>An event says that something happened, not how often: a completion queue posts one event each time it was armed. Packages:
 * uses {@code io.cqring.memory} and {@code io.cqring.ring}, and knows no completion queue.
 *
 * <p>Reading order: {@link io.cqring.eq.EqeLayout} (the entry, bit by bit), {@link io.cqring.eq.EventWriter#post},
 * {@link io.cqring.eq.EventQueue#poll} and {@link io.cqring.eq.EventQueue#arm}, {@link io.cqring.eq.Interrupt}. Then
 * {@code core/docs/ordering.md}.
 */
package io.cqring.eq;
