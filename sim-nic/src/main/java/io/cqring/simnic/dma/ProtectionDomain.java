package io.cqring.simnic.dma;

/**
 * A group of queue pairs and memory regions that may be used together: a queue pair reaches only the regions of its own
 * domain. An identity, nothing more; got from {@code SimNic.allocateProtectionDomain}.
 */
public final class ProtectionDomain {
    private final int number;

    /**
     * For the device; a domain made elsewhere is unknown to every device and refused.
     *
     * @param number for messages
     */
    public ProtectionDomain(int number) {
        this.number = number;
    }

    @Override
    public String toString() {
        return "protection domain " + number;
    }
}
