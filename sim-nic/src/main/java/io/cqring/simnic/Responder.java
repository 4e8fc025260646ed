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
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.simnic.qp.WqeOpcode;
import io.cqring.simnic.wire.Packet;
import io.cqring.simnic.wire.SegmentList;
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
 *   read or atomic not allowed (MAX_DESTINATION_READS)  none                     REM_INV_REQ_ERR          to ERR
 *   atomic not aligned to 8 bytes                       none                     REM_INV_REQ_ERR          to ERR
 *   key to be invalidated unknown, of another domain    none                     REM_ACCESS_ERR           to ERR
 *   impossible receive doorbell                         none, no answer          RETRY_EXC_ERR in time    to ERR
 * </pre>
 *
 * <p>Unreliable queue pairs answer nothing. What is wrong for them is dropped; but a message that does not fit its receive, and a receive that
 * is wrong, fail as above. UC takes only numbers from the one expected on, so nothing twice and nothing out of order; UD takes what has
 * its Q_Key.
 *
 * <p>A receive completion that finds its queue full (policy BACKPRESSURE) is held: bytes are moved and the message is
 * acknowledged, but until the completion is delivered the queue pair asks its peer to come back for everything that
 * follows. Others go on.
 */
final class Responder {
    private final Device device;
    private final Counters counters;

    /** Where the message at hand goes, if its receive has several pieces or it has a header. */
    private final SegmentList targets = new SegmentList();

    /** A list of one piece, for the moment. */
    private final SegmentList pieces = new SegmentList();

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
                || requester == null
                || requester.life != message.life
                || requester.type != qp.type
                || (qp.peerNumber != message.sourceQp && qp.type != QpType.UD)
                || !message.hasBytes()) {
            drop();
        } else if (qp.type != QpType.RC) {
            receiveUnreliable(qp, message, answers);
        } else if (message.psn == qp.expectedPsn) {
            if (qp.receiveHeld) {
                qp.refused = true;
                answer(message, answers, Packet.BUSY);
            } else {
                execute(qp, message, answers);
            }
        } else if (qp.ahead(message.psn) > 0) {
            drop();
            if (!qp.refused) {
                qp.refused = true;
                counters.increment(DeviceCounter.SEQUENCE_NAKS);
                answer(message, answers, Packet.SEQUENCE_NAK).psn = qp.expectedPsn;
            }
        } else if (qp.hasExecuted(message.psn)) {
            executeAgain(qp, requester, message, answers);
        } else { // the two sides were given different first numbers
            drop();
        }
    }

    private void drop() {
        counters.increment(DeviceCounter.PACKETS_DROPPED);
    }

    private void receiveUnreliable(DeviceQp qp, Packet message, Wire answers) {
        if (qp.receiveHeld || (qp.type == QpType.UD ? message.qkey != qp.qkey : qp.ahead(message.psn) < 0)) {
            drop();
            return;
        }
        if (qp.type == QpType.UC) {
            qp.expectAfter(message.psn, message.psns);
        }
        execute(qp, message, answers);
    }

    private void executeAgain(DeviceQp qp, DeviceQp requester, Packet message, Wire answers) {
        counters.increment(DeviceCounter.DUPLICATES);
        if (WqeOpcode.isAtomic(message.opcode)) {
            int place = qp.findAtomic(message.psn);
            if (place >= 0) {
                acknowledge(message, answers).value = qp.atomicValue(place);
            }
        } else if (message.opcode != WqeOpcode.READ) {
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
        if (WqeOpcode.hasResponse(opcode) && qp.maxPeerReads == 0) {
            refuseRequest(qp, message, answers);
            return;
        }
        if (WqeOpcode.isAtomic(opcode)) {
            executeAtomic(qp, message, answers);
            return;
        }
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
        if (opcode == WqeOpcode.SEND_INVALIDATE && !device.regions.canInvalidate(message.rkey, qp.domain)) {
            refuseAccess(qp, message, answers);
            return;
        }
        final boolean takesReceive = WqeOpcode.consumesReceive(opcode);
        long target = message.remoteAddress;
        int entries = 1;
        boolean scattered = false;
        if (takesReceive) {
            final ReceiveQueue receives = qp.receives;
            if (receives.consumed == receives.posted && !findReceive(qp, message, answers)) {
                return;
            }
            final int slot = receives.ring.offset(receives.consumed);
            final long control = receives.memory.getLong(slot + WqeLayout.CONTROL_OFFSET);
            final long needed = toRegion ? 0 : message.length;
            int fault;
            if (WqeOpcode.RECV != WqeLayout.opcode(control) || WqeLayout.counter(control) != (int) receives.consumed) {
                fault = CompletionStatus.LOC_QP_OP_ERR.syndrome();
            } else if (WqeLayout.extra(control) == 0 && qp.type != QpType.UD) {
                fault = 0;
                if (needed != 0) {
                    long word = receives.memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET);
                    target = receives.memory.getLong(slot + WqeLayout.LOCAL_ADDRESS_OFFSET);
                    remote = device.regions.findLocal(
                            WqeLayout.high(word), receives.domain, target, needed, AccessRights.LOCAL_WRITE);
                    fault = needed > WqeLayout.length(word)
                            ? CompletionStatus.LOC_LEN_ERR.syndrome()
                            : remote == null ? CompletionStatus.LOC_PROT_ERR.syndrome() : 0;
                }
            } else {
                entries = entries(receives, control);
                scattered = !toRegion;
                fault = findTargets(receives, slot, control, needed + headerBytes(qp));
            }
            if (fault != 0) {
                refuseReceive(qp, slot, entries, fault, message, answers);
                return;
            }
        }
        if (scattered) {
            scatterBytes(qp, message);
        } else if (message.length != 0) {
            moveBytes(message, remote, target);
        }
        if (opcode == WqeOpcode.SEND_INVALIDATE) {
            device.regions.invalidate(message.rkey, qp.domain);
        }
        counters.increment(DeviceCounter.MESSAGES_EXECUTED);
        if (qp.type == QpType.RC) {
            qp.expectNext(message.psns);
        }
        if (takesReceive) {
            reportReceive(qp, entries, message);
        }
        if (qp.type == QpType.RC) {
            acknowledge(message, answers);
        }
    }

    private void executeAtomic(DeviceQp qp, Packet message, Wire answers) {
        if ((message.remoteAddress & (Long.BYTES - 1)) != 0) {
            refuseRequest(qp, message, answers);
            return;
        }
        MemoryRegion remote = findRemote(qp, message, AccessRights.REMOTE_ATOMIC);
        if (remote == null) {
            refuseAccess(qp, message, answers);
            return;
        }
        final long original = device.loadLong(remote, message.remoteAddress);
        if (message.opcode == WqeOpcode.FETCH_ADD) {
            device.storeLong(remote, message.remoteAddress, original + message.operand);
        } else if (original == message.operand) {
            device.storeLong(remote, message.remoteAddress, message.value);
        }
        qp.keepAtomic(message.psn, original);
        qp.expectNext(message.psns);
        counters.increment(DeviceCounter.MESSAGES_EXECUTED);
        acknowledge(message, answers).value = original;
    }

    /** Looks whether there is a receive after all; if not, says so to the requester. */
    private boolean findReceive(DeviceQp qp, Packet message, Wire answers) {
        final ReceiveQueue receives = qp.receives;
        if (!receives.readDoorbell()) {
            device.badReceiveDoorbell(qp);
            return false;
        }
        if (receives.consumed != receives.posted) {
            return true;
        }
        if (qp.type != QpType.RC) {
            drop();
            return false;
        }
        counters.increment(DeviceCounter.RNR_NAKS);
        qp.refused = true;
        answer(message, answers, Packet.RNR_NAK).delayNs = qp.rnrDelayNs;
        return false;
    }

    private MemoryRegion findRemote(DeviceQp qp, Packet message, int right) {
        return (qp.rights & right) == 0
                ? null
                : device.regions.findRemote(message.rkey, qp.domain, message.remoteAddress, message.length, right);
    }

    private void refuseAccess(DeviceQp qp, Packet message, Wire answers) {
        if (qp.type != QpType.RC) {
            drop(); // nobody hears of it
            return;
        }
        device.failReceiving(
                qp, EventType.WQ_ACCESS_ERROR, CompletionStatus.REM_ACCESS_ERR.syndrome(), qp.receives.consumed);
        nak(message, answers, CompletionStatus.REM_ACCESS_ERR);
    }

    private void refuseRequest(DeviceQp qp, Packet message, Wire answers) {
        device.failReceiving(
                qp, EventType.WQ_INVAL_REQ_ERROR, CompletionStatus.REM_INV_REQ_ERR.syndrome(), qp.receives.consumed);
        nak(message, answers, CompletionStatus.REM_INV_REQ_ERR);
    }

    private void moveBytes(Packet message, MemoryRegion region, long address) {
        final long limit = Math.min(message.length, device.copyLimitBytes);
        final long copied;
        // Edge DATA, device end: these bytes, then the release of the completion that reports them (CqPort.write,
        // and CompletionWriter.publish below it). Partner: the host that polls the completion, then reads the
        // bytes. Weaker, or the other way round: the host reads what was there before. Shown by DataEdgeTest.
        if (message.scattered) {
            pieces.clear();
            pieces.add(region, address, message.length);
            copied = message.opcode == WqeOpcode.READ
                    ? SegmentList.copy(message.segments, 0, pieces, limit, device.faults)
                    : SegmentList.copy(pieces, 0, message.segments, limit, device.faults);
        } else if (message.opcode == WqeOpcode.READ) {
            copied = RegionTable.copy(message.local, message.localAddress, region, address, limit, device.faults);
        } else {
            copied = RegionTable.copy(region, address, message.local, message.localAddress, limit, device.faults);
        }
        counters.add(DeviceCounter.BYTES_COPIED, copied);
    }

    /** Into a receive of several pieces, or behind a header. */
    private void scatterBytes(DeviceQp qp, Packet message) {
        final int header = headerBytes(qp);
        if (header != 0) {
            device.fillHeader(message);
            pieces.clear();
            pieces.add(device.scratchRegion, 0, header);
            SegmentList.copy(targets, 0, pieces, header, device.faults);
        }
        if (message.length == 0) {
            return;
        }
        SegmentList from = message.segments;
        if (!message.scattered) {
            pieces.clear();
            pieces.add(message.local, message.localAddress, message.length);
            from = pieces;
        }
        // Edge DATA, device end, as in moveBytes.
        long limit = Math.min(message.length, device.copyLimitBytes);
        counters.add(DeviceCounter.BYTES_COPIED, SegmentList.copy(targets, header, from, limit, device.faults));
    }

    private static int headerBytes(DeviceQp qp) {
        return qp.type == QpType.UD ? WqeLayout.GRH_BYTES : 0;
    }

    private static int entries(ReceiveQueue receives, long control) {
        return WqeLayout.isChained(control) && receives.consumed + 1 < receives.posted ? 2 : 1;
    }

    /** Finds the pieces of a receive, into {@code targets}; 0, or the syndrome of what is wrong with it. */
    private int findTargets(ReceiveQueue receives, int slot, long control, long needed) {
        final QueueMemory memory = receives.memory;
        final int more = WqeLayout.moreSegments(control);
        int extension = 0;
        if (WqeLayout.extra(control) != 0) {
            boolean whole = entries(receives, control) == 2 && more != 0;
            if (whole) {
                extension = receives.ring.offset(receives.consumed + 1);
                long second = memory.getLong(extension + WqeLayout.CONTROL_OFFSET);
                whole = WqeLayout.opcode(second) == WqeOpcode.EXTENSION
                        && WqeLayout.counter(second) == (int) (receives.consumed + 1);
            }
            if (!whole) {
                return CompletionStatus.LOC_QP_OP_ERR.syndrome();
            }
        }
        long room = WqeLayout.length(memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET));
        for (int i = 0; i < more; i++) {
            room += WqeLayout.length(memory.getLong(extension + WqeLayout.segmentOffset(i) + Long.BYTES));
        }
        if (needed > room) {
            return CompletionStatus.LOC_LEN_ERR.syndrome();
        }
        targets.clear();
        if (needed != 0
                && (!device.findSegments(
                                memory, slot, extension, more, receives.domain, AccessRights.LOCAL_WRITE, targets)
                        || targets.bytes() < needed)) { // the host may have changed the lengths since
            return CompletionStatus.LOC_PROT_ERR.syndrome();
        }
        return 0;
    }

    private void refuseReceive(DeviceQp qp, int slot, int entries, int fault, Packet message, Wire answers) {
        final ReceiveQueue receives = qp.receives;
        final long refused = receives.consumed;
        finishReceive(
                qp,
                entries,
                CqeLayout.header(CqeOpcode.RESP_ERR, false, (int) receives.consumed + entries - 1, qp.number, fault),
                receives.memory.getLong(slot + WqeLayout.WORK_REQUEST_ID_OFFSET),
                0,
                0);
        final boolean senders = fault == CompletionStatus.LOC_LEN_ERR.syndrome();
        device.failReceiving(qp, senders ? EventType.WQ_INVAL_REQ_ERROR : EventType.WQ_CATAS_ERROR, fault, refused);
        if (qp.type == QpType.RC) {
            nak(message, answers, senders ? CompletionStatus.REM_INV_REQ_ERR : CompletionStatus.REM_OP_ERR);
        }
    }

    private void reportReceive(DeviceQp qp, int entries, Packet message) {
        final ReceiveQueue receives = qp.receives;
        final int slot = receives.ring.offset(receives.consumed);
        int opcode = CqeOpcode.RECV;
        int flags = 0;
        int attached = 0;
        if (WqeOpcode.hasImmediate(message.opcode)) {
            opcode = message.opcode == WqeOpcode.SEND_IMM ? CqeOpcode.RECV_IMM : CqeOpcode.RECV_RDMA_IMM;
            flags = CqeLayout.FLAG_IMMEDIATE;
            attached = message.immediate;
        } else if (message.opcode == WqeOpcode.SEND_INVALIDATE) {
            opcode = CqeOpcode.RECV_INV;
            flags = CqeLayout.FLAG_INVALIDATED_RKEY;
            attached = message.rkey;
        }
        final int header = headerBytes(qp);
        if (header != 0) {
            flags |= CqeLayout.FLAG_GRH;
        }
        finishReceive(
                qp,
                entries,
                CqeLayout.header(opcode, message.solicited, (int) receives.consumed + entries - 1, qp.number, 0),
                receives.memory.getLong(slot + WqeLayout.WORK_REQUEST_ID_OFFSET),
                CqeLayout.length((int) message.length + header, attached),
                CqeLayout.detail(0, flags, message.sourceQp));
    }

    /** Consumes the receive and reports it, now or as soon as there is room. */
    private void finishReceive(DeviceQp qp, int entries, long header, long workRequestId, long length, long detail) {
        qp.receives.consumed += entries;
        if (qp.receives.limit != 0) {
            device.checkLimit(qp.receives);
        }
        counters.increment(DeviceCounter.RECEIVES_CONSUMED);
        boolean taken = false;
        try {
            taken = report(qp.receivePort, header, workRequestId, length, detail);
        } finally {
            if (!taken) { // also if the device has just broken
                qp.receiveHeld = true;
                qp.heldHeader = header;
                qp.heldWorkRequestId = workRequestId;
                qp.heldLength = length;
                qp.heldDetail = detail;
                device.activateUnrung(qp);
            }
        }
        device.reporting = null;
    }

    /** Tries again to report a receive that found its queue full. */
    int deliverHeld(DeviceQp qp) {
        if (!qp.receiveHeld
                || !report(qp.receivePort, qp.heldHeader, qp.heldWorkRequestId, qp.heldLength, qp.heldDetail)) {
            return 0;
        }
        qp.receiveHeld = false;
        device.reporting = null;
        if (qp.state == QpState.ERR) {
            device.postLastReceive(qp);
        }
        return 1;
    }

    /** Flushes receives of a queue pair in ERR whose sends have all been flushed; those of a shared queue stay. */
    int flush(DeviceQp qp, int limit) {
        final ReceiveQueue receives = qp.receives;
        if (receives.isShared()) {
            return 0;
        }
        final QueueMemory memory = qp.memory;
        // Edge DOORBELL, a first look: is the record another one? Opaque, because readDoorbell loads it again,
        // with acquire, before anything that it counts is read.
        long record = memory.getLongOpaque(QpMemory.RECEIVE_DOORBELL);
        boolean unseen = record != memory.getLong(QpMemory.RECEIVES_FLUSHED);
        if (unseen && !receives.readDoorbell()) {
            counters.increment(DeviceCounter.BAD_DOORBELLS);
        }
        int done = 0;
        while (!qp.receiveHeld && done != limit && receives.consumed != receives.posted) {
            int slot = receives.ring.offset(receives.consumed);
            int entries = entries(receives, memory.getLong(slot + WqeLayout.CONTROL_OFFSET));
            int last = (int) receives.consumed + entries - 1;
            int syndrome = CompletionStatus.WR_FLUSH_ERR.syndrome();
            if (!report(
                    qp.receivePort,
                    CqeLayout.header(CqeOpcode.RESP_ERR, false, last, qp.number, syndrome),
                    memory.getLong(slot + WqeLayout.WORK_REQUEST_ID_OFFSET),
                    0,
                    0)) {
                break;
            }
            receives.consumed += entries;
            device.reporting = null;
            done++;
        }
        if (unseen && !qp.receiveHeld && receives.consumed == receives.posted) {
            // Edge QUIESCE, device end, as Device.settle: completions, then the record they answer.
            memory.putLongRelease(QpMemory.RECEIVES_FLUSHED, record);
        }
        return done;
    }

    /** Writes a completion. False if it must be kept for later; true also if it is lost, there is no later then. */
    boolean report(CqPort port, long header, long workRequestId, long length, long detail) {
        device.reporting = port;
        return counted(
                port, header, port.write(device.entryFaults(), header, workRequestId, length, detail, device.nowNs()));
    }

    /** As report, for one of several: the caller flushes the port after the last. */
    boolean reportOneOfSeveral(CqPort port, long header, long workRequestId, long length, long detail) {
        device.reporting = port;
        return counted(
                port, header, port.stage(device.entryFaults(), header, workRequestId, length, detail, device.nowNs()));
    }

    private boolean counted(CqPort port, long header, int outcome) {
        switch (outcome) {
            case CqPort.REFUSED -> {
                device.reporting = null; // nothing was written, and the caller keeps it
                counters.increment(DeviceCounter.COMPLETIONS_REFUSED);
                return false;
            }
            case CqPort.LOST -> {
                counters.increment(DeviceCounter.COMPLETIONS_LOST);
                if (port.beginsToLose()) {
                    device.onOverrun(port, CqeOpcode.isReceive(CqeLayout.opcode(header)));
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
        answer.scattered = false;
        return answer;
    }

    private Packet acknowledge(Packet message, Wire answers) {
        Packet answer = answer(message, answers, Packet.ACK);
        answer.psn = (message.psn + message.psns - 1) & DeviceQp.PSN_MASK;
        answer.psns = message.psns;
        answer.response = WqeOpcode.hasResponse(message.opcode);
        return answer;
    }

    private void nak(Packet message, Wire answers, CompletionStatus status) {
        answer(message, answers, Packet.NAK).status = status.syndrome();
    }
}
