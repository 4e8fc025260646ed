package io.cqring.simnic.wire;

import io.cqring.simnic.dma.MemoryRegion;

/**
 * One packet on the wire: a whole message on its way to the responder, or the answer to one. A plain record of fields,
 * preallocated and reused; each sender sets every field that its kind has.
 */
public final class Packet {
    /** Answer: the message was executed, and every one before it. */
    public static final int ACK = 0;

    /** Answer: the message was refused for good; {@link #status} says why. Every one before it was executed. */
    public static final int NAK = 1;

    /** Answer: no receive was posted, try again after {@link #delayNs}. Every one before it was executed. */
    public static final int RNR_NAK = 2;

    /** Answer: the responder waits for room in its completion queue, try again; not counted against any limit. */
    public static final int BUSY = 3;

    /** Answer: the message with this number is expected and did not come; every one before it was executed. */
    public static final int SEQUENCE_NAK = 4;

    /** Both: number of the queue pair it is for. */
    public int destinationQp;

    /** Both: number of the queue pair that sends it. */
    public int sourceQp;

    /** Both: which life of the requester it belongs to; what is under way when that ends is as good as lost. */
    public long life;

    /**
     * Both: packet sequence number, 24 bits. Requests: the first that the message takes. ACK: the last that is
     * acknowledged. Other answers: that of the message they are about.
     */
    public int psn;

    /** Requests: sequence numbers that the message takes. ACK: those of the message answered; 0 if it answers none. */
    public int psns;

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

    /** Requests with bytes in several pieces: all of them; then {@link #local} means nothing. Null as long as there were none. */
    public SegmentList segments;

    /** Requests: whether the bytes are in {@link #segments}. */
    public boolean scattered;

    /** Atomics: what to compare with, or what to add. */
    public long operand;

    /** COMPARE_SWAP: what to store. ACK of an atomic: what was there. */
    public long value;

    /** Datagrams: the key that the receiver must have. */
    public int qkey;

    /** Answers: ACK, NAK, RNR_NAK, BUSY or SEQUENCE_NAK. */
    public int answer;

    /** NAK: syndrome of the requester's completion. */
    public int status;

    /** RNR_NAK: time to wait, in nanoseconds. */
    public long delayNs;

    /** ACK: whether it brings what a read or an atomic asked for; no other ACK acknowledges such. */
    public boolean response;

    /** On a wire with faults: when it arrives, and which of those that arrive together comes first. */
    long arrivesNs;

    long order;

    Packet() {}

    /**
     * Whether the requester's regions can still be used.
     *
     * @return false if one was taken out
     */
    public boolean hasBytes() {
        return scattered ? segments.isRegistered() : local == null || local.isRegistered();
    }

    void copyFrom(Packet other) {
        destinationQp = other.destinationQp;
        sourceQp = other.sourceQp;
        life = other.life;
        psn = other.psn;
        psns = other.psns;
        opcode = other.opcode;
        solicited = other.solicited;
        length = other.length;
        immediate = other.immediate;
        remoteAddress = other.remoteAddress;
        rkey = other.rkey;
        local = other.local;
        localAddress = other.localAddress;
        scattered = other.scattered;
        if (scattered) {
            if (segments == null) {
                segments = new SegmentList();
            }
            segments.copyFrom(other.segments);
        }
        operand = other.operand;
        value = other.value;
        qkey = other.qkey;
        answer = other.answer;
        status = other.status;
        delayNs = other.delayNs;
        response = other.response;
    }
}
