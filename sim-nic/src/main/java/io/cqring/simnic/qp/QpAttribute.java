package io.cqring.simnic.qp;

/** What a change of state sets, with the values allowed; as the fields of {@code struct ibv_qp_attr}. */
public enum QpAttribute {
    /** Index into the partition key table; there is one partition. */
    PKEY_INDEX(0, 0),
    /** Port of the device; there is one. */
    PORT(1, 1),
    /** What the peer may do through this queue pair: bits of {@code AccessRights}. */
    ACCESS_RIGHTS(0, 15),
    /** Address of the peer's port, a LID; there is one device on the wire. */
    DESTINATION_LID(1, 1),
    /** Path MTU in bytes. Checked; a message is one packet all the same. */
    PATH_MTU(256, 4096),
    /** Number of the peer's queue pair. */
    DESTINATION_QP(0, 0xFF_FFFF),
    /** First packet sequence number expected from the peer. */
    RECEIVE_PSN(0, 0xFF_FFFF),
    /** Reads and atomics the peer may have under way; with 0 they are refused. Not counted beyond that. */
    MAX_DESTINATION_READS(0, 255),
    /** Code of the time a peer waits after it found no receive posted, see {@link #rnrDelayNs}. */
    MIN_RNR_TIMER(0, 31),
    /** Code of the time to wait for an answer before all that is not answered is sent again, see {@link #timeoutNs}. */
    TIMEOUT(0, 31),
    /** Retries of one request, for want of an answer or because the peer missed it; an answer that brings progress starts anew. */
    RETRY_COUNT(0, 7),
    /** Retries after a missing receive; 7 is without end. */
    RNR_RETRY(0, 7),
    /** First packet sequence number sent. */
    SEND_PSN(0, 0xFF_FFFF),
    /** Reads and atomics this side may have under way; with 0 it can have none. */
    MAX_READS(0, 255),
    /** Datagrams: the key that a message must bring to be received. Any 32 bits. */
    QKEY(Integer.MIN_VALUE, Integer.MAX_VALUE),
    /** To SQD: 1 asks for an asynchronous event once the send queue has drained. */
    SQD_NOTIFY(0, 1),
    /** The state that the caller believes the queue pair is in, by its number; if it is in another, nothing is changed. */
    CURRENT_STATE(2, 5);

    /** Value of {@link #RNR_RETRY} that means without end. */
    public static final int RNR_RETRY_WITHOUT_END = 7;

    private static final long TIMEOUT_UNIT_NS = 4_096;

    /** Code 0 is the longest; units of 10 microseconds. InfiniBand specification, table "RNR NAK timer field". */
    private static final int[] RNR_DELAYS = {
        65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
        6144, 8192, 12288, 16384, 24576, 32768, 49152
    };

    private final int least;
    private final int most;

    QpAttribute(int least, int most) {
        this.least = least;
        this.most = most;
    }

    int require(int value) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(this + " must be " + least + " to " + most + ": " + value);
        }
        if (this == PATH_MTU && Integer.bitCount(value) != 1) {
            throw new IllegalArgumentException(this + " must be 256, 512, 1024, 2048 or 4096: " + value);
        }
        return value;
    }

    /**
     * The time that a code of {@link #TIMEOUT} stands for: 4.096 us x 2^code.
     *
     * @param code 0 to 31
     * @return nanoseconds; 0 for code 0, which means for ever
     */
    public static long timeoutNs(int code) {
        return code == 0 ? 0 : TIMEOUT_UNIT_NS << code;
    }

    /**
     * The time that a code of {@link #MIN_RNR_TIMER} stands for.
     *
     * @param code 0 to 31
     * @return nanoseconds, 10,000 to 655,360,000
     */
    public static long rnrDelayNs(int code) {
        return RNR_DELAYS[code] * 10_000L;
    }
}
