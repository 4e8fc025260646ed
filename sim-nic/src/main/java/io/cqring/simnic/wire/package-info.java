/**
 * The wire between the queue pairs of one device: two directions.
 *
 * <pre>
 *   requester ── Packet: opcode, PSN, length, address, rkey ──► responder
 *             ◄── Packet: ACK, NAK, sequence NAK, RNR NAK, BUSY; with a PSN ──
 *                  with WireFaults: lost, doubled, late, out of order
 * </pre>
 *
 * <p>There is one protocol, that of {@code Requester} and {@code Responder}; it knows nothing of the faults. Without them a packet
 * arrives the moment it is sent, so all of a burst is answered before the turn ends, and the timer never has anything to wait for.
 *
 * <p>A message is one packet, whatever its length; it carries a reference to the requester's memory instead of the
 * bytes, and the responder moves them once, from region to region. So that this is the same as carrying them, a packet counts as lost
 * once the requester's memory is not bound to it any more: its queue pair has left the life it was sent in, or its region is gone. Read
 * {@link io.cqring.simnic.wire.Packet}, then {@link io.cqring.simnic.wire.Wire}. Used by the device only; not exported.
 */
package io.cqring.simnic.wire;
