package io.cqring.simnic.wire;

import io.cqring.simnic.dma.MemoryRegion;

/**
 * One packet on the wire: a whole message on its way to the responder, or the answer to one. A plain record of fields,
 * preallocated and reused; each sender sets every field that its kind has.
 */
public final class Packet {
    /** Answer: the message was executed. */
    public static final int ACK = 0;

    /** Answer: the message was refused for good; {@link #status} says why. */
    public static final int NAK = 1;

    /** Answer: no receive was posted, try again after {@link #delayNs}. */
    public static final int RNR_NAK = 2;

    /** Answer: the responder waits for room in its completion queue, try again; not counted against any limit. */
    public static final int BUSY = 3;

    /** Requests: number of the queue pair that is asked. */
    public int destinationQp;

    /** Requests: number of the queue pair that asks. */
    public int sourceQp;

    /** Both: packet sequence number, 24 bits; an answer has that of its message. */
    public int psn;

    /** Requests: operation, one of {@code WqeOpcode}. */
    public int opcode;

    /** Requests: whether the receiver's completion shall be solicited. */
    public boolean solicited;

    /** Requests: bytes of the message. */
    public long length;

    /** Requests that have one: immediate data. */
    public int immediate;

    /** Writes and reads: first byte at the responder. */
    public long remoteAddress;

    /** Writes and reads: key for it. */
    public int rkey;

    /**
     * Requests with bytes: the requester's region, the source of sends and writes and the target of reads; else null.
     */
    public MemoryRegion local;

    /** Requests with bytes: first byte there. */
    public long localAddress;

    /** Answers: ACK, NAK, RNR_NAK or BUSY. */
    public int answer;

    /** NAK: syndrome of the requester's completion. */
    public int status;

    /** RNR_NAK: time to wait, in nanoseconds. */
    public long delayNs;

    Packet() {}
}
