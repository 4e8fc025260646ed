/**
 * The arithmetic every ring of the project shares: which slot a sequence uses and which owner bit makes it valid.
 *
 * <p>One class, {@link io.cqring.ring.RingGeometry}. It knows neither entries nor memory, so completion rings, event rings
 * and the work queues of the emulated NIC all use it.
 */
package io.cqring.ring;
