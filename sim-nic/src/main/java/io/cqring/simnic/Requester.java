package io.cqring.simnic;

import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.eq.EventType;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.simnic.qp.WqeOpcode;
import io.cqring.simnic.wire.Packet;
import io.cqring.simnic.wire.Wire;

/**
 * Sending side of the device: gives a queue pair its turn, from the entries fetched to the completions written. Also
 * flushes what is outstanding when the queue pair is in ERR.
 *
 * <p>Entries complete in order. When a turn ends, every entry it fetched was answered, or is to be fetched again.
 */
final class Requester {
    /** Entries of one queue pair per turn: so that no queue pair waits long for the others. */
    private static final int BURST = 16;

    /** Entries flushed per turn; cheaper than sending. */
    private static final int FLUSH_BURST = 64;

    private final Device device;
    private final Counters counters;
    private final Wire requests = new Wire(BURST);
    private final Wire answers = new Wire(BURST);
    private final Responder responder;

    Requester(Device device) {
        this.device = device;
        this.counters = device.counters;
        this.responder = new Responder(device);
    }

    /** One turn; what was done, for the idle strategy. */
    int takeTurn(DeviceQp qp) {
        int work = responder.deliverHeld(qp);
        work += complete(qp); // what found its queue full last time
        if (qp.state == QpState.RTS && qp.completed == qp.acked && !qp.mustWait(device.nowNs())) {
            work += send(qp);
            work += complete(qp);
        }
        if (qp.state == QpState.ERR && qp.completed == qp.posted) {
            work += responder.flush(qp, FLUSH_BURST);
        }
        return work;
    }

    /** Fetches, sends and has answered up to a burst of entries. */
    private int send(DeviceQp qp) {
        int fault = 0;
        int sent = 0;
        while (sent < BURST && qp.fetched != qp.posted) {
            fault = fetch(qp);
            if (fault != 0) {
                break;
            }
            qp.fetched++;
            sent++;
        }
        counters.add(DeviceCounter.SENDS_FETCHED, fault == 0 ? sent : sent + 1);
        Packet packet = requests.receive();
        while (packet != null) {
            responder.receive(packet, answers);
            packet = requests.receive();
        }
        boolean allAcknowledged = takeAnswers(qp);
        if (fault != 0 && allAcknowledged) {
            fail(qp, fault); // all before it have succeeded
        }
        return sent + (fault == 0 ? 0 : 1);
    }

    /** Puts the next entry on the wire; 0, or the syndrome of what is wrong with it. */
    private int fetch(DeviceQp qp) {
        final QueueMemory memory = qp.memory;
        final long sequence = qp.fetched;
        final int slot = qp.sendQueue.offset(sequence);
        final long control = memory.getLong(slot + WqeLayout.CONTROL_OFFSET);
        final int opcode = WqeLayout.opcode(control);
        if (!WqeOpcode.isSendQueue(opcode) || WqeLayout.counter(control) != (int) sequence) {
            return CompletionStatus.LOC_QP_OP_ERR.syndrome();
        }
        final long localLength = memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET);
        final long length = WqeLayout.length(localLength);
        if (length > WqeLayout.MAX_MESSAGE_BYTES) {
            return CompletionStatus.LOC_LEN_ERR.syndrome();
        }
        final long localAddress = memory.getLong(slot + WqeLayout.LOCAL_ADDRESS_OFFSET);
        MemoryRegion local = null;
        if (length != 0) {
            int right = opcode == WqeOpcode.READ ? AccessRights.LOCAL_WRITE : AccessRights.LOCAL_READ;
            local = device.regions.findLocal(WqeLayout.high(localLength), qp.domain, localAddress, length, right);
            if (local == null) {
                return CompletionStatus.LOC_PROT_ERR.syndrome();
            }
        }
        final long remoteKey = memory.getLong(slot + WqeLayout.REMOTE_KEY_OFFSET);
        Packet packet = requests.send();
        packet.destinationQp = qp.peerNumber;
        packet.sourceQp = qp.number;
        packet.psn = qp.psn(sequence);
        packet.opcode = opcode;
        packet.solicited = (WqeLayout.flags(control) & WqeLayout.FLAG_SOLICITED) != 0;
        packet.length = length;
        packet.immediate = WqeLayout.high(remoteKey);
        packet.remoteAddress = memory.getLong(slot + WqeLayout.REMOTE_ADDRESS_OFFSET);
        packet.rkey = WqeLayout.low(remoteKey);
        packet.local = local;
        packet.localAddress = localAddress;
        return 0;
    }

    /** Takes the answers in; from the first that is no ACK on, the rest of the burst is void. True if all were ACKs. */
    private boolean takeAnswers(DeviceQp qp) {
        boolean inOrder = true;
        Packet answer = answers.receive();
        while (answer != null) {
            if (inOrder) {
                inOrder = takeAnswer(qp, answer);
            }
            answer = answers.receive();
        }
        if (inOrder && qp.acked != qp.fetched) {
            throw new IllegalStateException("bug: the wire is empty and " + qp + " still waits for answers");
        }
        qp.fetched = qp.acked;
        return inOrder;
    }

    private boolean takeAnswer(DeviceQp qp, Packet answer) {
        switch (answer.answer) {
            case Packet.ACK -> {
                qp.acked++;
                qp.rnrRetries = 0;
                return true;
            }
            case Packet.RNR_NAK -> {
                if (qp.rnrRetry != QpAttribute.RNR_RETRY_WITHOUT_END && ++qp.rnrRetries > qp.rnrRetry) {
                    fail(qp, CompletionStatus.RNR_RETRY_EXC_ERR.syndrome());
                } else {
                    qp.waitUntil(device.nowNs() + answer.delayNs);
                }
                return false;
            }
            case Packet.BUSY -> {
                return false;
            }
            default -> {
                fail(qp, answer.status);
                return false;
            }
        }
    }

    /** The entry at {@code acked} failed: it will be reported, the rest flushed. */
    private void fail(DeviceQp qp, int syndrome) {
        qp.failure = syndrome;
        device.fail(qp, EventType.WQ_CATAS_ERROR, syndrome);
    }

    /** Writes the completions that are due, in order, until their queue is full. */
    private int complete(DeviceQp qp) {
        final boolean flushing = qp.state == QpState.ERR;
        final long due = flushing ? qp.posted : qp.acked;
        int done = 0;
        while (qp.completed != due && done != FLUSH_BURST && completeNext(qp, flushing)) {
            done++;
        }
        qp.sendPort.flush();
        return done;
    }

    private boolean completeNext(DeviceQp qp, boolean flushing) {
        final QueueMemory memory = qp.memory;
        final long sequence = qp.completed;
        final int slot = qp.sendQueue.offset(sequence);
        final long control = memory.getLong(slot + WqeLayout.CONTROL_OFFSET);
        int syndrome = 0;
        if (flushing && sequence >= qp.acked) {
            syndrome = sequence == qp.acked && qp.failure != 0 ? qp.failure : CompletionStatus.WR_FLUSH_ERR.syndrome();
        }
        if (syndrome == 0 && (WqeLayout.flags(control) & WqeLayout.FLAG_SIGNALED) == 0) {
            qp.completed = sequence + 1;
            return true;
        }
        int opcode = syndrome == 0 ? completionOpcode(WqeLayout.opcode(control)) : CqeOpcode.REQ_ERR;
        int length = syndrome == 0 ? WqeLayout.low(memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET)) : 0;
        boolean taken = responder.reportOneOfSeveral(
                qp.sendPort,
                CqeLayout.header(opcode, false, (int) sequence, qp.number, syndrome),
                memory.getLong(slot + WqeLayout.WORK_REQUEST_ID_OFFSET),
                CqeLayout.length(length, 0),
                0);
        if (taken) {
            qp.completed = sequence + 1;
        }
        return taken;
    }

    private static int completionOpcode(int wqeOpcode) {
        return switch (wqeOpcode) {
            case WqeOpcode.WRITE, WqeOpcode.WRITE_IMM -> CqeOpcode.RC_RDMA_WRITE;
            case WqeOpcode.READ -> CqeOpcode.RC_RDMA_READ;
            default -> CqeOpcode.RC_SEND;
        };
    }
}
