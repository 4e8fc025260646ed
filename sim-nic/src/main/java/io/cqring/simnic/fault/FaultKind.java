package io.cqring.simnic.fault;

import java.util.Locale;

/** Faults that can be asked for by name, and what each does to a run. */
public enum FaultKind {
    /** An entry whose body is that of the one before: what a host reads that does not wait for the owner bit. Reference layout only. */
    TORN_ENTRY(50_000, 0),

    /** An entry is written twice. */
    DUPLICATE_ENTRY(50_000, 0),

    /** The completer aborts the write of an entry, or it goes to a wrong address (the seed's ACS story): the host never sees it. */
    COMPLETER_ABORT(50_000, 0),

    /** A read over PCIe times out: the request fails with vendor error 0x80, and its queue pair with it. */
    PCIE_READ_TIMEOUT(100_000, 0),

    /** An event is not raised. Needs events. */
    DROP_EVENT(1_000, 0),

    /** An event is raised twice. Needs events. */
    DUPLICATE_EVENT(100, 0),

    /** The device forgets an arm. Needs events. */
    DROP_ARM(1_000, 0),

    /** An entry is written so many microseconds late; those behind it wait. */
    DELAYED_DMA(1_000, 20),

    /** The link sleeps when nothing was written for 50 us (the seed's ASPM row): the next entry waits so many microseconds. */
    LINK_SLEEP(1, 30),

    /** The host's core sleeps (the seed's P99 row): an event comes so many microseconds late. Needs events. */
    C_STATE(10, 100),

    /** The context of a queue pair is not in the device's cache: its turn comes so many microseconds later. */
    QP_CACHE_MISS(100, 5),

    /** One queue pair gets no more turns, and the device does not know. */
    STUCK_QP(2_000, 0),

    /** The device does nothing for so many microseconds, then catches up. */
    BURST(10_000, 200),

    /** The same, for longer. */
    FIRMWARE_PAUSE(200_000, 20_000),

    /** The device's clock jumps so many microseconds, ahead and back by turns. */
    CLOCK_JUMP(10_000, 1_000),

    /** A packet is lost on the wire; the transport sends it again. */
    PACKET_LOSS(1_000, 0),

    /** A packet arrives twice. */
    PACKET_DUPLICATE(1_000, 0),

    /** A packet is under way so many microseconds longer, and those behind it overtake it. */
    PACKET_DELAY(1_000, 20),

    /** The host does nothing for so many microseconds after a completion. */
    SLOW_CONSUMER(1_000, 50);

    /** Nobody writes so much later. */
    static final int MOST_US = 1_000_000;

    private final int usualEvery;
    private final int usualAmount;

    FaultKind(int usualEvery, int usualAmount) {
        this.usualEvery = usualEvery;
        this.usualAmount = usualAmount;
    }

    /**
     * The kind of a name.
     *
     * @param label as {@link #label}
     * @return the kind
     * @throws IllegalArgumentException for another name; the message lists all
     */
    public static FaultKind of(String label) {
        final StringBuilder all = new StringBuilder();
        for (FaultKind kind : values()) {
            if (kind.label().equals(label)) {
                return kind;
            }
            all.append(all.isEmpty() ? "" : ", ").append(kind.label());
        }
        throw new IllegalArgumentException("fault must be one of " + all + ": " + label);
    }

    /**
     * As on the command line.
     *
     * @return lower case with hyphens
     */
    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * How rare it is unless told otherwise.
     *
     * @return it strikes one opportunity in so many, on average
     */
    public int usualEvery() {
        return usualEvery;
    }

    /**
     * How long it lasts unless told otherwise.
     *
     * @return microseconds; 0 if it has no duration
     */
    public int usualAmount() {
        return usualAmount;
    }

    /**
     * Whether it strikes events, so that a host that only polls never meets it.
     *
     * @return true if so
     */
    public boolean needsEvents() {
        return this == DROP_EVENT || this == DUPLICATE_EVENT || this == DROP_ARM || this == C_STATE;
    }
}
