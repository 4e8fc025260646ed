package io.cqring.simnic;

import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.eq.EventType;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.RegionTable;
import io.cqring.simnic.qp.QpMemory;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.simnic.qp.WqeOpcode;
import io.cqring.simnic.wire.Packet;
import io.cqring.simnic.wire.Wire;

/**
 * Receiving side of the device: checks a message, moves its bytes, reports it to the receiver and answers the
 * requester. A message that is refused moved nothing. Messages are executed in the order of their numbers: one that comes too early is
 * dropped, and the requester told once from where to send again; one that comes again is acknowledged again and not executed again, but
 * for a read that the requester still waits for.
 *
 * <pre>
 *   what is wrong                                       responder's completion   requester's completion   responder
 *   not in RTR, RTS, SQD; gone; other peer; wrong PSN   none, no answer          RETRY_EXC_ERR in time    unharmed
 *   rkey, range, or right of region or queue pair       none                     REM_ACCESS_ERR           to ERR
 *   no receive posted                                   none                     RNR_RETRY_EXC_ERR,       unharmed
 *                                                                                after the retries
 *   message longer than the receive                     LOC_LEN_ERR              REM_INV_REQ_ERR          to ERR
 *   receive's lkey, range or right                      LOC_PROT_ERR             REM_OP_ERR               to ERR
 *   receive entry malformed                             LOC_QP_OP_ERR            REM_OP_ERR               to ERR
 *   a read that is not allowed (MAX_DESTINATION_READS)  none                     REM_INV_REQ_ERR          to ERR
 *   impossible receive doorbell                         none, no answer          RETRY_EXC_ERR in time    to ERR
 * </pre>
 *
 * <p>A receive completion that finds its queue full (policy BACKPRESSURE) is held: bytes are moved and the message is
 * acknowledged, but until the completion is delivered the queue pair asks its peer to come back for everything that
 * follows. Others go on.
 */
final class Responder {
    private final Device device;
    private final Counters counters;

    Responder(Device device) {
        this.device = device;
        this.counters = device.counters;
    }

    /** Takes one message and answers it. */
    void receive(Packet message, Wire answers) {
        final DeviceQp qp = device.find(message.destinationQp);
        final DeviceQp requester = device.find(message.sourceQp);
        if (qp == null
                || !qp.state.answers()
                || qp.peerNumber != message.sourceQp
                || requester == null
                || requester.life != message.life
                || (message.local != null && !message.local.isRegistered())) {
            counters.increment(DeviceCounter.PACKETS_DROPPED);
            return;
        }
        if (message.psn == qp.expectedPsn) {
            if (qp.receiveHeld) {
                qp.refused = true;
                answer(message, answers, Packet.BUSY);
            } else {
                execute(qp, message, answers);
            }
        } else if (qp.ahead(message.psn) > 0) {
            counters.increment(DeviceCounter.PACKETS_DROPPED);
            if (!qp.refused) {
                qp.refused = true;
                counters.increment(DeviceCounter.SEQUENCE_NAKS);
                answer(message, answers, Packet.SEQUENCE_NAK).psn = qp.expectedPsn;
            }
        } else if (qp.hasExecuted(message.psn)) {
            executeAgain(qp, requester, message, answers);
        } else { // the two sides were given different first numbers
            counters.increment(DeviceCounter.PACKETS_DROPPED);
        }
    }

    private void executeAgain(DeviceQp qp, DeviceQp requester, Packet message, Wire answers) {
        counters.increment(DeviceCounter.DUPLICATES);
        if (message.opcode != WqeOpcode.READ) {
            Packet answer = answer(message, answers, Packet.ACK);
            answer.psn = (qp.expectedPsn - 1) & DeviceQp.PSN_MASK; // the last executed: this one or a later one
            answer.psns = 0;
        } else if (requester.isUnanswered(message.psn)) {
            MemoryRegion remote = findRemote(qp, message, AccessRights.REMOTE_READ);
            if (remote != null || message.length == 0) {
                if (message.length != 0) {
                    moveBytes(message, remote, message.remoteAddress);
                }
                acknowledge(message, answers);
            } else {
                refuseAccess(qp, message, answers);
            }
        }
    }

    private void execute(DeviceQp qp, Packet message, Wire answers) {
        final int opcode = message.opcode;
        final boolean toRegion = opcode == WqeOpcode.WRITE || opcode == WqeOpcode.WRITE_IMM || opcode == WqeOpcode.READ;
        MemoryRegion remote = null;
        if (toRegion && message.length != 0) {
            int right = opcode == WqeOpcode.READ ? AccessRights.REMOTE_READ : AccessRights.REMOTE_WRITE;
            remote = findRemote(qp, message, right);
            if (remote == null) {
                refuseAccess(qp, message, answers);
                return;
            }
        }
        if (opcode == WqeOpcode.READ && qp.maxPeerReads == 0) {
            device.fail(qp, EventType.WQ_INVAL_REQ_ERROR, CompletionStatus.REM_INV_REQ_ERR.syndrome());
            nak(message, answers, CompletionStatus.REM_INV_REQ_ERR);
            return;
        }
        final boolean takesReceive = WqeOpcode.consumesReceive(opcode);
        if (takesReceive && qp.receivesConsumed == qp.receivesPosted) {
            if (!qp.readReceiveDoorbell()) {
                device.badDoorbell(qp);
                return;
            }
            if (qp.receivesConsumed == qp.receivesPosted) {
                counters.increment(DeviceCounter.RNR_NAKS);
                qp.refused = true;
                answer(message, answers, Packet.RNR_NAK).delayNs = qp.rnrDelayNs;
                return;
            }
        }
        long target = message.remoteAddress;
        if (takesReceive) {
            int slot = qp.receiveQueue.offset(qp.receivesConsumed);
            int fault = checkReceive(qp, slot, toRegion ? 0 : message.length);
            if (fault == 0 && !toRegion && message.length != 0) {
                target = qp.memory.getLong(slot + WqeLayout.LOCAL_ADDRESS_OFFSET);
                remote = receiveBuffer(qp, slot, target, message.length);
                fault = remote == null ? CompletionStatus.LOC_PROT_ERR.syndrome() : 0;
            }
            if (fault != 0) {
                refuseReceive(qp, slot, fault, message, answers);
                return;
            }
        }
        if (message.length != 0) {
            moveBytes(message, remote, target);
        }
        qp.expectNext(message.psns);
        counters.increment(DeviceCounter.MESSAGES_EXECUTED);
        if (takesReceive) {
            reportReceive(qp, message);
        }
        acknowledge(message, answers);
    }

    private MemoryRegion findRemote(DeviceQp qp, Packet message, int right) {
        return (qp.rights & right) == 0
                ? null
                : device.regions.findRemote(message.rkey, qp.domain, message.remoteAddress, message.length, right);
    }

    private void refuseAccess(DeviceQp qp, Packet message, Wire answers) {
        device.fail(qp, EventType.WQ_ACCESS_ERROR, CompletionStatus.REM_ACCESS_ERR.syndrome());
        nak(message, answers, CompletionStatus.REM_ACCESS_ERR);
    }

    private void moveBytes(Packet message, MemoryRegion region, long address) {
        long limit = Math.min(message.length, device.copyLimitBytes);
        // Edge DATA, device end: these bytes, then the release of the completion that reports them (CqPort.write,
        // and CompletionWriter.publish below it). Partner: the host that polls the completion, then reads the
        // bytes. Weaker, or the other way round: the host reads what was there before. Shown by DataEdgeTest.
        long copied = message.opcode == WqeOpcode.READ
                ? RegionTable.copy(message.local, message.localAddress, region, address, limit, device.faults)
                : RegionTable.copy(region, address, message.local, message.localAddress, limit, device.faults);
        counters.add(DeviceCounter.BYTES_COPIED, copied);
    }

    /** What is wrong with a receive that is to take so many bytes, buffer aside; 0 if nothing is. */
    private static int checkReceive(DeviceQp qp, int slot, long length) {
        long control = qp.memory.getLong(slot + WqeLayout.CONTROL_OFFSET);
        if (WqeLayout.opcode(control) != WqeOpcode.RECV || WqeLayout.counter(control) != (int) qp.receivesConsumed) {
            return CompletionStatus.LOC_QP_OP_ERR.syndrome();
        }
        long room = WqeLayout.length(qp.memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET));
        return length > room ? CompletionStatus.LOC_LEN_ERR.syndrome() : 0;
    }

    private MemoryRegion receiveBuffer(DeviceQp qp, int slot, long address, long length) {
        int lkey = WqeLayout.high(qp.memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET));
        return device.regions.findLocal(lkey, qp.domain, address, length, AccessRights.LOCAL_WRITE);
    }

    private void refuseReceive(DeviceQp qp, int slot, int fault, Packet message, Wire answers) {
        finishReceive(
                qp,
                CqeLayout.header(CqeOpcode.RESP_ERR, false, (int) qp.receivesConsumed, qp.number, fault),
                qp.memory.getLong(slot + WqeLayout.WORK_REQUEST_ID_OFFSET),
                0,
                0);
        final boolean senders = fault == CompletionStatus.LOC_LEN_ERR.syndrome();
        device.fail(qp, senders ? EventType.WQ_INVAL_REQ_ERROR : EventType.WQ_CATAS_ERROR, fault);
        nak(message, answers, senders ? CompletionStatus.REM_INV_REQ_ERR : CompletionStatus.REM_OP_ERR);
    }

    private void reportReceive(DeviceQp qp, Packet message) {
        final int slot = qp.receiveQueue.offset(qp.receivesConsumed);
        final boolean hasImmediate = WqeOpcode.hasImmediate(message.opcode);
        final int opcode = switch (message.opcode) {
            case WqeOpcode.SEND -> CqeOpcode.RECV;
            case WqeOpcode.SEND_IMM -> CqeOpcode.RECV_IMM;
            default -> CqeOpcode.RECV_RDMA_IMM;
        };
        finishReceive(
                qp,
                CqeLayout.header(opcode, message.solicited, (int) qp.receivesConsumed, qp.number, 0),
                qp.memory.getLong(slot + WqeLayout.WORK_REQUEST_ID_OFFSET),
                CqeLayout.length((int) message.length, hasImmediate ? message.immediate : 0),
                CqeLayout.detail(0, hasImmediate ? CqeLayout.FLAG_IMMEDIATE : 0, message.sourceQp));
    }

    /** Consumes the receive and reports it, now or as soon as there is room. */
    private void finishReceive(DeviceQp qp, long header, long workRequestId, long length, long detail) {
        qp.receivesConsumed++;
        counters.increment(DeviceCounter.RECEIVES_CONSUMED);
        if (!report(qp.receivePort, header, workRequestId, length, detail)) {
            qp.receiveHeld = true;
            qp.heldHeader = header;
            qp.heldWorkRequestId = workRequestId;
            qp.heldLength = length;
            qp.heldDetail = detail;
            device.activateUnrung(qp);
        }
    }

    /** Tries again to report a receive that found its queue full. */
    int deliverHeld(DeviceQp qp) {
        if (!qp.receiveHeld
                || !report(qp.receivePort, qp.heldHeader, qp.heldWorkRequestId, qp.heldLength, qp.heldDetail)) {
            return 0;
        }
        qp.receiveHeld = false;
        return 1;
    }

    /** Flushes receives of a queue pair in ERR whose sends have all been flushed. */
    int flush(DeviceQp qp, int limit) {
        final QueueMemory memory = qp.memory;
        // Edge DOORBELL, a first look: is the record another one? Opaque, because readReceiveDoorbell loads it again,
        // with acquire, before anything that it counts is read.
        long record = memory.getLongOpaque(QpMemory.RECEIVE_DOORBELL);
        boolean unseen = record != memory.getLong(QpMemory.RECEIVES_FLUSHED);
        if (unseen && !qp.readReceiveDoorbell()) {
            counters.increment(DeviceCounter.BAD_DOORBELLS);
        }
        int done = 0;
        while (!qp.receiveHeld && done != limit && qp.receivesConsumed != qp.receivesPosted) {
            int slot = qp.receiveQueue.offset(qp.receivesConsumed);
            int syndrome = CompletionStatus.WR_FLUSH_ERR.syndrome();
            if (!report(
                    qp.receivePort,
                    CqeLayout.header(CqeOpcode.RESP_ERR, false, (int) qp.receivesConsumed, qp.number, syndrome),
                    memory.getLong(slot + WqeLayout.WORK_REQUEST_ID_OFFSET),
                    0,
                    0)) {
                break;
            }
            qp.receivesConsumed++;
            done++;
        }
        if (unseen && !qp.receiveHeld && qp.receivesConsumed == qp.receivesPosted) {
            // Edge QUIESCE, device end, as Device.settle: completions, then the record they answer.
            memory.putLongRelease(QpMemory.RECEIVES_FLUSHED, record);
        }
        return done;
    }

    /** Writes a completion. False if it must be kept for later; true also if it is lost, there is no later then. */
    boolean report(CqPort port, long header, long workRequestId, long length, long detail) {
        return counted(port, header, port.write(device.faults, header, workRequestId, length, detail, device.nowNs()));
    }

    /** As report, for one of several: the caller flushes the port after the last. */
    boolean reportOneOfSeveral(CqPort port, long header, long workRequestId, long length, long detail) {
        return counted(port, header, port.stage(device.faults, header, workRequestId, length, detail, device.nowNs()));
    }

    private boolean counted(CqPort port, long header, int outcome) {
        switch (outcome) {
            case CqPort.REFUSED -> {
                counters.increment(DeviceCounter.COMPLETIONS_REFUSED);
                return false;
            }
            case CqPort.LOST -> {
                counters.increment(DeviceCounter.COMPLETIONS_LOST);
                if (port.beginsToLose()) {
                    device.onOverrun(port);
                }
                if (port.isDead()) {
                    device.onPortDeath(port);
                }
                return true;
            }
            default -> {
                counters.increment(DeviceCounter.COMPLETIONS_WRITTEN);
                if (CqeLayout.syndrome(header) == CompletionStatus.WR_FLUSH_ERR.syndrome()) {
                    counters.increment(DeviceCounter.COMPLETIONS_FLUSHED);
                }
                return true;
            }
        }
    }

    private Packet answer(Packet message, Wire answers, int kind) {
        Packet answer = answers.send(device.nowNs());
        answer.destinationQp = message.sourceQp;
        answer.sourceQp = message.destinationQp;
        answer.life = message.life;
        answer.psn = message.psn;
        answer.answer = kind;
        answer.response = false;
        return answer;
    }

    private void acknowledge(Packet message, Wire answers) {
        Packet answer = answer(message, answers, Packet.ACK);
        answer.psn = (message.psn + message.psns - 1) & DeviceQp.PSN_MASK;
        answer.psns = message.psns;
        answer.response = message.opcode == WqeOpcode.READ;
    }

    private void nak(Packet message, Wire answers, CompletionStatus status) {
        answer(message, answers, Packet.NAK).status = status.syndrome();
    }
}
