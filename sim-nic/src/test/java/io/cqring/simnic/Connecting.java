package io.cqring.simnic;

import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QueuePair;

/** The changes of state of a connection, one by one, with numbers of the test's choice. */
final class Connecting {
    private Connecting() {}

    static QpAttributes init() {
        return new QpAttributes()
                .set(QpAttribute.PKEY_INDEX, 0)
                .set(QpAttribute.PORT, 1)
                .set(QpAttribute.ACCESS_RIGHTS, AccessRights.ALL);
    }

    static QpAttributes rtr(int peer, int receivePsn) {
        return new QpAttributes()
                .set(QpAttribute.DESTINATION_LID, 1)
                .set(QpAttribute.PATH_MTU, 1024)
                .set(QpAttribute.DESTINATION_QP, peer)
                .set(QpAttribute.RECEIVE_PSN, receivePsn)
                .set(QpAttribute.MAX_DESTINATION_READS, 1)
                .set(QpAttribute.MIN_RNR_TIMER, 1);
    }

    static QpAttributes rts(int sendPsn, int rnrRetry) {
        return new QpAttributes()
                .set(QpAttribute.TIMEOUT, 6)
                .set(QpAttribute.RETRY_COUNT, 7)
                .set(QpAttribute.RNR_RETRY, rnrRetry)
                .set(QpAttribute.SEND_PSN, sendPsn)
                .set(QpAttribute.MAX_READS, 1);
    }

    static void toRts(SimNic nic, QueuePair queuePair, int peer, int sendPsn, int receivePsn, int rnrRetry) {
        nic.modify(queuePair, QpState.INIT, init());
        nic.modify(queuePair, QpState.RTR, rtr(peer, receivePsn));
        nic.modify(queuePair, QpState.RTS, rts(sendPsn, rnrRetry));
    }
}
