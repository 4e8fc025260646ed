package io.cqring.simnic.wire;

import io.cqring.simnic.fault.WireFaults;

/**
 * One direction of the wire. Without faults packets arrive at once, in the order they were sent, and nothing is allocated after
 * creation. With faults they are lost, doubled, and late, as {@link WireFaults} says. For the device thread only.
 */
public final class Wire {
    private final Packet[] packets;
    private final int mask;
    private int sent;
    private int delivered;

    /** Where packets are until they arrive; null if they arrive at once. */
    private final Flight flight;

    /**
     * An empty wire.
     *
     * @param capacity packets that may be sent before one is received; a power of two
     * @param faults   what happens to packets; null if nothing does
     * @param answers  whether this is the way of the answers; for the faults
     */
    public Wire(int capacity, WireFaults faults, boolean answers) {
        packets = new Packet[capacity];
        mask = capacity - 1;
        for (int i = 0; i < capacity; i++) {
            packets[i] = new Packet();
        }
        flight = faults == null ? null : new Flight(faults, answers);
    }

    /**
     * Sends a packet, to be filled in by the caller before anybody takes or sends one.
     *
     * @param nowNs the time
     * @return the packet, with the fields of an earlier one
     * @throws IllegalStateException if as many packets are under way as the wire holds
     */
    public Packet send(long nowNs) {
        if (flight != null) {
            launch(nowNs);
        }
        if (sent - delivered == packets.length) {
            throw new IllegalStateException("the wire holds at most " + packets.length + " packets");
        }
        return packets[sent++ & mask];
    }

    /**
     * Delivers the packet whose turn it is.
     *
     * @param nowNs the time
     * @return the packet, valid until the next {@link #send} or receive; null if none arrives yet
     */
    public Packet receive(long nowNs) {
        if (flight != null) {
            launch(nowNs);
            return flight.land(nowNs);
        }
        return delivered == sent ? null : packets[delivered++ & mask];
    }

    /**
     * Packets of one sender that have not arrived.
     *
     * @param sourceQp number of the queue pair that sends
     * @param nowNs    the time
     * @return their count; copies count
     */
    public int underWay(int sourceQp, long nowNs) {
        if (flight == null) {
            return 0; // asked between turns, when all have arrived
        }
        launch(nowNs);
        return flight.count(sourceQp);
    }

    private void launch(long nowNs) {
        while (delivered != sent) {
            flight.launch(packets[delivered++ & mask], nowNs);
        }
    }
}
