package io.cqring.simnic.wire;

/**
 * One direction of the wire: packets arrive in the order they were sent, none is lost. Nothing is allocated after
 * creation. For the device thread only.
 */
public final class Wire {
    private final Packet[] packets;
    private final int mask;
    private int sent;
    private int delivered;

    /**
     * An empty wire.
     *
     * @param capacity packets that may be under way; a power of two
     */
    public Wire(int capacity) {
        packets = new Packet[capacity];
        mask = capacity - 1;
        for (int i = 0; i < capacity; i++) {
            packets[i] = new Packet();
        }
    }

    /**
     * Sends a packet, to be filled in by the caller before anybody takes it.
     *
     * @return the packet, with the fields of an earlier one
     * @throws IllegalStateException if as many packets are under way as the wire holds
     */
    public Packet send() {
        if (sent - delivered == packets.length) {
            throw new IllegalStateException("the wire holds at most " + packets.length + " packets");
        }
        return packets[sent++ & mask];
    }

    /**
     * Delivers the oldest packet under way.
     *
     * @return the packet, valid until the next {@link #send}; null if none is under way
     */
    public Packet receive() {
        return delivered == sent ? null : packets[delivered++ & mask];
    }
}
