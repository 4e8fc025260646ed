package io.cqring.eq;

import java.util.Arrays;

/**
 * What an event is about. Codes are those of mlx5, byte 1 of its event-queue entry; the second number is that of
 * {@code ibv_event_type} where the event becomes one.
 */
public enum EventType {
    /** An armed completion queue has something to poll. No ibv event: it goes to a completion channel. */
    COMPLETION(0x00),

    /** A queue pair has moved to its alternate path. */
    PATH_MIG(0x01, 6),

    /** The first packet has reached a queue pair that is not in RTS yet. */
    COMM_EST(0x02, 4),

    /** A send queue has drained. */
    SQ_DRAINED(0x03, 5),

    /** A completion queue has overrun or cannot be written. */
    CQ_ERROR(0x04, 0),

    /** A work queue is broken. */
    WQ_CATAS_ERROR(0x05, 1),

    /** A queue pair could not move to its alternate path. */
    PATH_MIG_FAILED(0x07, 7),

    /** The device has met an error of its own. */
    INTERNAL_ERROR(0x08),

    /** A port has changed; the sub-type says how, see {@link #ibvEvent}. */
    PORT_CHANGE(0x09),

    /** A command has completed. */
    CMD(0x0a),

    /** The device wants memory pages, or gives some back. */
    PAGE_REQUEST(0x0b),

    /** The device has met a page that is not there. */
    PAGE_FAULT(0x0c),

    /** The context of a network port has changed. */
    NIC_VPORT_CHANGE(0x0d),

    /** The functions of an embedded switch have changed. */
    ESW_FUNCTIONS_CHANGED(0x0e),

    /** A virtual function has changed its state. */
    VHCA_STATE(0x0f),

    /** A work queue has refused a request. */
    WQ_INVAL_REQ_ERROR(0x10, 2),

    /** A work queue has met a local access violation. */
    WQ_ACCESS_ERROR(0x11, 3),

    /** A shared receive queue is broken. */
    SRQ_CATAS_ERROR(0x12, 14),

    /** A queue pair in error has taken its last entry from a shared receive queue. */
    SRQ_LAST_WQE(0x13, 16),

    /** A shared receive queue has sunk below its limit. */
    SRQ_RQ_LIMIT(0x14, 15),

    /** A pin has changed. */
    GPIO(0x15),

    /** A transceiver has been plugged or unplugged, or complains. */
    PORT_MODULE(0x16),

    /** A sensor reads too hot. */
    TEMP_WARN(0x17),

    /** An extended shared receive queue is broken. */
    XRQ_ERROR(0x18),

    /** Somebody else has configured the device. */
    REMOTE_CONFIG(0x19),

    /** Doorbells come faster than they are taken. */
    DB_BF_CONGESTION(0x1a),

    /** The device does not get on. */
    STALL(0x1b),

    /** A dynamically connected target has drained. */
    DCT_DRAINED(0x1c),

    /** A dynamically connected target was given a wrong key. */
    DCT_KEY_VIOLATION(0x1d),

    /** The FPGA has met an error. */
    FPGA_ERROR(0x20),

    /** A queue pair of the FPGA has met an error. */
    FPGA_QP_ERROR(0x21),

    /** One of several rarer events; the sub-type says which. */
    GENERAL(0x22),

    /** A monitored counter has passed its limit. */
    MONITOR_COUNTER(0x24),

    /** A pulse per second. */
    PPS(0x25),

    /** The device has written traces. */
    DEVICE_TRACER(0x26),

    /** An object has changed. */
    OBJECT_CHANGE(0x27),

    /** A code that has no name here. Handed out by {@link #of}, never posted. */
    UNKNOWN(-1);

    /** Not an ibv event. */
    public static final int NO_IBV_EVENT = -1;

    /** Sub-type of {@link #PORT_CHANGE}: the port is down. */
    public static final int PORT_DOWN = 1;

    /** Sub-type of {@link #PORT_CHANGE}: the port is active. */
    public static final int PORT_ACTIVE = 4;

    /** Sub-type of {@link #PORT_CHANGE}: the port is initialised, not active. */
    public static final int PORT_INITIALIZED = 5;

    /** Sub-type of {@link #PORT_CHANGE}: its local identifier has changed. */
    public static final int PORT_LID = 6;

    /** Sub-type of {@link #PORT_CHANGE}: its partition keys have changed. */
    public static final int PORT_PKEY = 7;

    /** Sub-type of {@link #PORT_CHANGE}: its identifiers (GUID, GID) have changed. */
    public static final int PORT_GUID = 8;

    /** Sub-type of {@link #PORT_CHANGE}: the subnet manager asks clients to register again. */
    public static final int PORT_CLIENT_REREGISTER = 9;

    private static final EventType[] BY_CODE = new EventType[256];

    static {
        Arrays.fill(BY_CODE, UNKNOWN);
        for (EventType type : values()) {
            if (type != UNKNOWN) {
                BY_CODE[type.code] = type;
            }
        }
    }

    private final int code;
    private final int ibvEvent;

    EventType(int code) {
        this(code, -1);
    }

    EventType(int code, int ibvEvent) {
        this.code = code;
        this.ibvEvent = ibvEvent;
    }

    /**
     * The number in an event-queue entry.
     *
     * @return 0 to 255; -1 of {@link #UNKNOWN}
     */
    public int code() {
        return code;
    }

    /**
     * The type with a number. Throws nothing, whatever the number: a consumer must survive what a newer device posts.
     *
     * @param code a number
     * @return the type, {@link #UNKNOWN} if none has that number
     */
    public static EventType of(int code) {
        return (code & ~0xFF) == 0 ? BY_CODE[code] : UNKNOWN;
    }

    /**
     * The {@code ibv_event_type} that this event becomes in {@code ibv_get_async_event}.
     *
     * @param subType the event's sub-type; only that of {@link #PORT_CHANGE} matters
     * @return its number, 0 to 18; {@link #NO_IBV_EVENT} if it becomes none
     */
    public int ibvEvent(int subType) {
        if (this != PORT_CHANGE) {
            return ibvEvent;
        }
        return switch (subType) {
            case PORT_DOWN, PORT_INITIALIZED -> 10;
            case PORT_ACTIVE -> 9;
            case PORT_LID -> 11;
            case PORT_PKEY -> 12;
            case PORT_GUID -> 18;
            case PORT_CLIENT_REREGISTER -> 17;
            default -> NO_IBV_EVENT;
        };
    }
}
