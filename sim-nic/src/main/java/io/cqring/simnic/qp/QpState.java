package io.cqring.simnic.qp;

/**
 * State of a queue pair, with the numbers of {@code enum ibv_qp_state}.
 *
 * <pre>
 *               +--------------------------- any state -- RESET ◄--+
 *               v                                                  |
 *            RESET ──► INIT ──► RTR ──► RTS ◄──► SQD          ERR ─+
 *                        |        |      | ▲       |            ^
 *                        +--------+------+-|-------+------------+   also by the device, on an error
 *                                        v |       |
 *                                        SQE ◄─────+                by the device, on an error of a send, UC and UD
 *
 *                      posting to        the device
 *                      SQ      RQ        sends   answers   flushes
 *            RESET     -       -         -       -         -
 *            INIT      -       yes       -       -         -
 *            RTR       -       yes       -       yes       -
 *            RTS       yes     yes       yes     yes       -
 *            SQD       yes     yes       begun   yes       -         (what was sent before, until it is answered)
 *            SQE       yes     yes       -       yes       sends     (never entered by a reliable connection)
 *            ERR       yes     yes       -       -         yes
 * </pre>
 *
 * <p>Source of the transitions: Linux {@code drivers/infiniband/core/verbs.c}, {@code qp_state_table}; the same
 * for all types. Also there, and so here: a state may be "changed" to itself in RESET, INIT, RTS, SQD and ERR.
 */
public enum QpState {
    /** 0: made, or made new; nothing can be posted. */
    RESET(0),
    /** 1: receives can be posted. */
    INIT(1),
    /** 2: ready to receive: answers the peer. */
    RTR(2),
    /** 3: ready to send as well. */
    RTS(3),
    /** 4: send queue draining, then drained: what is on the wire is finished, what is not waits. */
    SQD(4),
    /** 5: send queue error, of unreliable transports: sends are flushed, receives go on. */
    SQE(5),
    /** 6: error: everything outstanding, and everything posted, is flushed. */
    ERR(6);

    private static final QpState[] VALUES = values();

    /** Bit s of entry f: a host may change f to s. */
    private static final int[] LEGAL = {
        set(RESET, INIT),
        set(RESET, INIT, RTR, ERR),
        set(RESET, RTS, ERR),
        set(RESET, RTS, SQD, ERR),
        set(RESET, RTS, SQD, ERR),
        set(RESET, RTS, ERR),
        set(RESET, ERR)
    };

    private static final int POST_SEND = set(RTS, SQD, SQE, ERR);
    private static final int ANSWER = set(RTR, RTS, SQD, SQE);

    private final int code;

    QpState(int code) {
        this.code = code;
    }

    private static int set(QpState... states) {
        int bits = 0;
        for (QpState state : states) {
            bits |= 1 << state.code;
        }
        return bits;
    }

    /**
     * Whether the host may change this state to another.
     *
     * @param to the other
     * @return true if the verbs allow it
     */
    public boolean canBecome(QpState to) {
        return (LEGAL[code] >>> to.code & 1) != 0;
    }

    /**
     * Whether sends, writes and reads may be posted.
     *
     * @return true in RTS, SQD, SQE and ERR
     */
    public boolean canPostSend() {
        return canPostSend(code);
    }

    static boolean canPostSend(int code) {
        return (POST_SEND >>> code & 1) != 0;
    }

    /**
     * Whether receives may be posted.
     *
     * @return true in all states but RESET
     */
    public boolean canPostReceive() {
        return this != RESET;
    }

    /**
     * Whether the device answers the peer.
     *
     * @return true in RTR, RTS, SQD and SQE
     */
    public boolean answers() {
        return (ANSWER >>> code & 1) != 0;
    }

    /**
     * Number of the state, as it stands in memory.
     *
     * @return 0 to 6
     */
    public int code() {
        return code;
    }

    /**
     * The state of a number.
     *
     * @param code 0 to 6
     * @return the state
     */
    public static QpState of(int code) {
        return VALUES[code];
    }
}
