/**
 * Queue pairs as the host sees them, and what both sides must agree on.
 *
 * <pre>
 *     host thread                         QpMemory                                   device thread
 *
 *     QueuePair.post...    ────►   send queue, receive queue (WqeLayout)   ────►   fetches entries
 *     .ringSendDoorbell    ────►   doorbell record, UAR register           ────►   looks at the record
 *     .retire(completion)                                                          (edge DOORBELL)
 *     .state               ◄────   state                                   ◄────   QpState
 * </pre>
 *
 * <p>Reading order: {@link io.cqring.simnic.qp.WqeLayout} (the entry, bit by bit), {@link
 * io.cqring.simnic.qp.QpMemory}, {@link io.cqring.simnic.qp.QueuePair}; then {@link io.cqring.simnic.qp.QpState} and
 * {@link io.cqring.simnic.qp.QpAttributes} for how a connection comes about. {@link io.cqring.simnic.qp.QpType} says what each transport can
 * do, {@link io.cqring.simnic.qp.SharedReceiveQueue} and {@link io.cqring.simnic.qp.SgList} are for those who need them.
 */
package io.cqring.simnic.qp;
