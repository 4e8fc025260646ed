/**
 * When the host is told that completions have come, and how it sleeps until then.
 *
 * <p><b>Sleeping.</b> {@link io.cqring.notify.CompletionChannel} makes queues whose events wake the threads that wait on it.
 * {@link io.cqring.notify.ReadyQueues} serves one thread with many queues. {@link io.cqring.notify.CompletionConsumer} feeds one queue to
 * one handler, by polling, by events, or both. {@link io.cqring.notify.WakeupSender} wakes from another process.
 *
 * <p><b>Moderation.</b> A device that reports every entry by an event makes its host do more work for the events than for the
 * entries. {@link io.cqring.notify.Moderation} says how many entries are gathered first, and how long the first may wait;
 * {@link io.cqring.notify.ModerationTimer} is the decision of a device that owns such a timer.
 * {@link io.cqring.notify.NetDim} and {@link io.cqring.notify.RdmaDim} choose the moderation by the traffic, as Linux does, and
 * {@link io.cqring.notify.DampedModeration} keeps their choice calm when the traffic comes in bursts. These are plain
 * objects of one thread that are told the time: no clock, no memory of a queue, no thread of their own.
 */
package io.cqring.notify;
