package io.cqring.simnic.qp;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/**
 * The attributes of one change of state, and the rule which of them it must and may have. Not thread-safe.
 *
 * <p>Source of the rule: Linux {@code drivers/infiniband/core/verbs.c}, {@code ib_modify_qp_is_ok} and
 * {@code qp_state_table}, rows RC, UC and UD, for the attributes that exist here: no alternate paths.
 */
public final class QpAttributes {
    private static final Set<QpAttribute> NONE = EnumSet.noneOf(QpAttribute.class);

    private final Map<QpAttribute, Integer> values = new EnumMap<>(QpAttribute.class);

    /** No attributes. */
    public QpAttributes() {}

    /**
     * Sets one.
     *
     * @param attribute which
     * @param value     its value
     * @return this
     * @throws IllegalArgumentException if the value is out of the attribute's range; nothing is set
     */
    public QpAttributes set(QpAttribute attribute, int value) {
        values.put(attribute, attribute.require(value));
        return this;
    }

    /**
     * The value of one, or what holds if it is not set.
     *
     * @param attribute which
     * @param otherwise the value in force so far
     * @return the value
     */
    public int getOrElse(QpAttribute attribute, int otherwise) {
        return values.getOrDefault(attribute, otherwise);
    }

    /**
     * A copy, which later changes of this object do not reach.
     *
     * @return the copy
     */
    public QpAttributes copy() {
        QpAttributes copy = new QpAttributes();
        copy.values.putAll(values);
        return copy;
    }

    /**
     * Checks that these are the attributes of a change of state: all it must have, none it may not have.
     *
     * @param type the queue pair's
     * @param from state before
     * @param to   state after
     * @throws IllegalArgumentException if not
     */
    public void requireSuits(QpType type, QpState from, QpState to) {
        Set<QpAttribute> set = values.keySet();
        Set<QpAttribute> required = required(type, from, to);
        if (!set.containsAll(required)) {
            Set<QpAttribute> missing = EnumSet.copyOf(required);
            missing.removeAll(set);
            throw new IllegalArgumentException(from + " to " + to + " needs the attributes " + missing);
        }
        Set<QpAttribute> excess = EnumSet.noneOf(QpAttribute.class);
        excess.addAll(set);
        excess.removeAll(required);
        excess.removeAll(optional(type, from, to));
        if (!excess.isEmpty()) {
            throw new IllegalArgumentException(from + " to " + to + " must not have the attributes " + excess);
        }
        int believed = getOrElse(QpAttribute.CURRENT_STATE, from.code());
        if (believed != from.code()) {
            throw new IllegalArgumentException("CURRENT_STATE is " + from + ", not " + QpState.of(believed));
        }
    }

    private static Set<QpAttribute> required(QpType type, QpState from, QpState to) {
        if (from == QpState.RESET && to == QpState.INIT) {
            return toInit(type);
        }
        if (from == QpState.INIT && to == QpState.RTR) {
            return toRtr(type);
        }
        return from == QpState.RTR && to == QpState.RTS ? toRts(type) : NONE;
    }

    private static Set<QpAttribute> toInit(QpType type) {
        return EnumSet.of(
                QpAttribute.PKEY_INDEX,
                QpAttribute.PORT,
                type == QpType.UD ? QpAttribute.QKEY : QpAttribute.ACCESS_RIGHTS);
    }

    private static Set<QpAttribute> toRtr(QpType type) {
        Set<QpAttribute> set = EnumSet.noneOf(QpAttribute.class);
        if (type != QpType.UD) {
            set.addAll(EnumSet.of(
                    QpAttribute.DESTINATION_LID,
                    QpAttribute.PATH_MTU,
                    QpAttribute.DESTINATION_QP,
                    QpAttribute.RECEIVE_PSN));
        }
        if (type == QpType.RC) {
            set.addAll(EnumSet.of(QpAttribute.MAX_DESTINATION_READS, QpAttribute.MIN_RNR_TIMER));
        }
        return set;
    }

    private static Set<QpAttribute> toRts(QpType type) {
        return type != QpType.RC
                ? EnumSet.of(QpAttribute.SEND_PSN)
                : EnumSet.of(
                        QpAttribute.TIMEOUT,
                        QpAttribute.RETRY_COUNT,
                        QpAttribute.RNR_RETRY,
                        QpAttribute.SEND_PSN,
                        QpAttribute.MAX_READS);
    }

    private static Set<QpAttribute> optional(QpType type, QpState from, QpState to) {
        return switch (to) {
            case INIT -> from == QpState.INIT ? toInit(type) : NONE;
            case RTR ->
                EnumSet.of(QpAttribute.PKEY_INDEX, type == QpType.UD ? QpAttribute.QKEY : QpAttribute.ACCESS_RIGHTS);
            case RTS -> whileConnected(type, from);
            case SQD -> from == QpState.SQD ? whileDrained(type) : EnumSet.of(QpAttribute.SQD_NOTIFY);
            case RESET, SQE, ERR -> NONE;
        };
    }

    private static Set<QpAttribute> whileConnected(QpType type, QpState from) {
        return switch (type) {
            case UD -> EnumSet.of(QpAttribute.CURRENT_STATE, QpAttribute.QKEY);
            case UC -> EnumSet.of(QpAttribute.CURRENT_STATE, QpAttribute.ACCESS_RIGHTS);
            case RC ->
                from == QpState.SQE
                        ? NONE
                        : EnumSet.of(QpAttribute.CURRENT_STATE, QpAttribute.ACCESS_RIGHTS, QpAttribute.MIN_RNR_TIMER);
        };
    }

    private static Set<QpAttribute> whileDrained(QpType type) {
        return switch (type) {
            case UD -> EnumSet.of(QpAttribute.PKEY_INDEX, QpAttribute.QKEY);
            case UC -> EnumSet.of(QpAttribute.PKEY_INDEX, QpAttribute.ACCESS_RIGHTS, QpAttribute.DESTINATION_LID);
            case RC ->
                EnumSet.of(
                        QpAttribute.PKEY_INDEX,
                        QpAttribute.PORT,
                        QpAttribute.ACCESS_RIGHTS,
                        QpAttribute.DESTINATION_LID,
                        QpAttribute.MAX_DESTINATION_READS,
                        QpAttribute.MIN_RNR_TIMER,
                        QpAttribute.TIMEOUT,
                        QpAttribute.RETRY_COUNT,
                        QpAttribute.RNR_RETRY,
                        QpAttribute.MAX_READS);
        };
    }

    @Override
    public String toString() {
        return values.toString();
    }
}
