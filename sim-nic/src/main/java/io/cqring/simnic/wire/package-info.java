/**
 * The wire between the queue pairs of one device: two directions, in order, lossless.
 *
 * <pre>
 *   requester ── Packet: opcode, PSN, length, address, rkey ──► responder
 *             ◄── Packet: ACK, NAK, RNR NAK, BUSY; the same PSN ──
 * </pre>
 *
 * <p>A message is one packet, whatever its length; it carries a reference to the requester's memory instead of the
 * bytes, and the responder moves them once, from region to region. Read {@link io.cqring.simnic.wire.Packet}, then
 * {@link io.cqring.simnic.wire.Wire}. Used by the device only; not exported.
 */
package io.cqring.simnic.wire;
