package io.cqring.simnic.wire;

import io.cqring.simnic.fault.WireFaults;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.PriorityQueue;

/** The packets under way on one direction of a wire with faults. Grows with them; packets are reused. */
final class Flight {
    private final WireFaults faults;
    private final boolean answers;
    private final PriorityQueue<Packet> underWay = new PriorityQueue<>(
            Comparator.comparingLong((Packet packet) -> packet.arrivesNs).thenComparingLong(packet -> packet.order));
    private final ArrayDeque<Packet> spare = new ArrayDeque<>();
    private long launched;
    private Packet landed;

    Flight(WireFaults faults, boolean answers) {
        this.faults = faults;
        this.answers = answers;
    }

    void launch(Packet packet, long nowNs) {
        int copies = faults.copies(answers, packet.sourceQp, packet.destinationQp, packet.psn);
        for (int i = 0; i < copies; i++) {
            Packet copy = spare.isEmpty() ? new Packet() : spare.remove();
            copy.copyFrom(packet);
            copy.arrivesNs = nowNs + faults.delayNs(answers, packet.sourceQp, packet.destinationQp, packet.psn);
            copy.order = launched++;
            underWay.add(copy);
        }
    }

    Packet land(long nowNs) {
        if (landed != null) {
            spare.add(landed);
            landed = null;
        }
        Packet next = underWay.peek();
        if (next != null && next.arrivesNs - nowNs <= 0) {
            landed = underWay.remove();
        }
        return landed;
    }

    int count(int sourceQp) {
        int count = 0;
        for (Packet packet : underWay) {
            count += packet.sourceQp == sourceQp ? 1 : 0;
        }
        return count;
    }
}
