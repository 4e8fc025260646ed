package io.cqring.simnic.qp;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/**
 * The attributes of one change of state, and the rule which of them it must and may have. Not thread-safe.
 *
 * <p>Source of the rule: Linux {@code drivers/infiniband/core/verbs.c}, {@code ib_modify_qp_is_ok}, rows of reliable
 * connections, for the attributes that exist here.
 */
public final class QpAttributes {
    private static final Set<QpAttribute> TO_INIT =
            EnumSet.of(QpAttribute.PKEY_INDEX, QpAttribute.PORT, QpAttribute.ACCESS_RIGHTS);
    private static final Set<QpAttribute> TO_RTR = EnumSet.of(
            QpAttribute.DESTINATION_LID,
            QpAttribute.PATH_MTU,
            QpAttribute.DESTINATION_QP,
            QpAttribute.RECEIVE_PSN,
            QpAttribute.MAX_DESTINATION_READS,
            QpAttribute.MIN_RNR_TIMER);
    private static final Set<QpAttribute> TO_RTS = EnumSet.of(
            QpAttribute.TIMEOUT,
            QpAttribute.RETRY_COUNT,
            QpAttribute.RNR_RETRY,
            QpAttribute.SEND_PSN,
            QpAttribute.MAX_READS);
    private static final Set<QpAttribute> MAY_CHANGE_LATER =
            EnumSet.of(QpAttribute.ACCESS_RIGHTS, QpAttribute.MIN_RNR_TIMER);
    private static final Set<QpAttribute> WHILE_DRAINED = EnumSet.of(
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
     * @param from state before
     * @param to   state after
     * @throws IllegalArgumentException if not
     */
    public void requireSuits(QpState from, QpState to) {
        Set<QpAttribute> set = values.keySet();
        Set<QpAttribute> required = required(from, to);
        if (!set.containsAll(required)) {
            Set<QpAttribute> missing = EnumSet.copyOf(required);
            missing.removeAll(set);
            throw new IllegalArgumentException(from + " to " + to + " needs the attributes " + missing);
        }
        Set<QpAttribute> excess = EnumSet.noneOf(QpAttribute.class);
        excess.addAll(set);
        excess.removeAll(required);
        excess.removeAll(optional(from, to));
        if (!excess.isEmpty()) {
            throw new IllegalArgumentException(from + " to " + to + " must not have the attributes " + excess);
        }
    }

    private static Set<QpAttribute> required(QpState from, QpState to) {
        if (from == QpState.RESET && to == QpState.INIT) {
            return TO_INIT;
        }
        if (from == QpState.INIT && to == QpState.RTR) {
            return TO_RTR;
        }
        return from == QpState.RTR && to == QpState.RTS ? TO_RTS : NONE;
    }

    private static Set<QpAttribute> optional(QpState from, QpState to) {
        return switch (to) {
            case INIT -> from == QpState.INIT ? TO_INIT : NONE;
            case RTR -> EnumSet.of(QpAttribute.PKEY_INDEX, QpAttribute.ACCESS_RIGHTS);
            case RTS -> from == QpState.SQE ? NONE : MAY_CHANGE_LATER;
            case SQD -> from == QpState.SQD ? WHILE_DRAINED : NONE;
            case RESET, SQE, ERR -> NONE;
        };
    }

    @Override
    public String toString() {
        return values.toString();
    }
}
