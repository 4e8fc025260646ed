package io.cqring.jmh;

/** The rings that are compared, ours first. */
public enum Contender {
    /** A completion queue, one call per entry. */
    CQRING("cqring, write"),
    /** A completion queue, entries filled in place and flushed one by one. */
    CQRING_CLAIM("cqring, claim + flush"),
    /** Agrona's ring for one writer. */
    AGRONA("Agrona OneToOneRingBuffer"),
    /** JCTools on Unsafe. */
    JCTOOLS_UNSAFE("JCTools SpscArrayQueue, Unsafe"),
    /** JCTools on VarHandles. */
    JCTOOLS_VARHANDLE("JCTools SpscArrayQueue, VarHandle"),
    /** The Disruptor, events published one by one. */
    DISRUPTOR("Disruptor, single publish"),
    /** The Disruptor, events published in sixteens. */
    DISRUPTOR_BATCH("Disruptor, batch of 16");

    private final String label;

    Contender(String label) {
        this.label = label;
    }

    /**
     * Name for people.
     *
     * @return library, class or way of use
     */
    public String label() {
        return label;
    }

    /** A new, empty ring. */
    Transfer create(int entryBytes) {
        return switch (this) {
            case CQRING -> new CqringTransfer.Writing(entryBytes);
            case CQRING_CLAIM -> new CqringTransfer.Claiming(entryBytes);
            case AGRONA -> new AgronaTransfer(entryBytes);
            case JCTOOLS_UNSAFE -> new JctoolsUnsafeTransfer(entryBytes);
            case JCTOOLS_VARHANDLE -> new JctoolsVarHandleTransfer(entryBytes);
            case DISRUPTOR -> new DisruptorTransfer.Single(entryBytes);
            case DISRUPTOR_BATCH -> new DisruptorTransfer.Batch(entryBytes);
        };
    }
}
