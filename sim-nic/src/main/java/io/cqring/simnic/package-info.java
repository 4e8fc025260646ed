/**
 * An emulated RDMA NIC: a device that sees only memory and doorbells, and the driver that makes things for it.
 *
 * <pre>
 *      host                                    shared memory                        device (Device.doWork)
 *
 *      QueuePair.post..., ring   ─────►   SQ, RQ, doorbell records, UAR page  ─────►  Requester: fetch, check, send
 *                                                                                         │ wire
 *      read payload              ◄─────   memory regions                      ◄─────  Responder: check, move bytes,
 *      CompletionQueue.poll      ◄─────   completion queues                   ◄─────             complete, answer
 *      CompletionQueue.arm       ─────►   arm word of each                    ─────►  QueueEvents: due?
 *      CompletionChannel         ◄─────   event queue, interrupt              ◄─────      raise
 *
 *      SimNic: create, register,          command queue of objects: the only
 *      modify, destroy, start    ─────►   thing that crosses beside memory    ─────►  Device: between turns
 * </pre>
 *
 * <p>Reading order: {@link io.cqring.simnic.SimNic} (what a caller can do), then inside {@code Device} (one pass),
 * {@code Requester} and {@code Responder} (one message, from entry to completions, and the protocol between the two), {@code DeviceQp} and
 * {@code ReceiveQueue} (what is remembered), the {@code wire} package (how packets travel, and how they get lost), {@code moderation.QueueEvents} (when the host is told). The layouts are in {@link io.cqring.simnic.qp}, memory regions in {@link io.cqring.simnic.dma}.
 */
package io.cqring.simnic;
