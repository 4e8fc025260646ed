package io.cqring.simnic;

import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.eq.EventType;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.fault.WireFaults;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.simnic.qp.WqeOpcode;
import io.cqring.simnic.wire.Packet;
import io.cqring.simnic.wire.SegmentList;
import io.cqring.simnic.wire.Wire;

/**
 * Sending side of the device: gives a queue pair its turn, from the entries fetched to the completions written. Also
 * flushes what is outstanding when the queue pair is in ERR or SQE.
 *
 * <p>Entries complete in order. Up to a burst of them is on the wire; an answer says how far the peer has come, and when it says
 * that something is missing, or nothing comes for too long, all from there on is fetched and sent again (go-back-N):
 *
 * <pre>
 *   answer          entries acknowledged          then
 *   ACK             up to and with its own        the retry counts start anew
 *   SEQUENCE_NAK    all before its own            again from there, counted as a retry
 *   RNR_NAK         all before its own            again from there after the delay, counted apart
 *   BUSY            all before its own            again from there, not counted
 *   NAK             all before its own            its entry has failed; the queue pair goes to ERR
 *   none in time    none                          again from the oldest on, counted as a retry
 * </pre>
 *
 * <p>Only its own answer brings what a read or an atomic asked for: an ACK of something later acknowledges up to there, and sends it again.
 *
 * <p>Unreliable queue pairs get no answers: an entry is done when the wire no longer has its packet. In SQD only what has been sent before is
 * sent again; when all that is answered and reported, the queue has drained.
 */
final class Requester {
    /** Vendor's error of a request whose memory could not be read in time; the syndrome beside it is the seed's (section 2.4). */
    private static final int PCIE_READ_TIMEOUT = 0x80;

    /** Entries of one queue pair per turn, so that no queue pair waits long for the others; also the most on the wire. */
    private static final int BURST = 16;

    /** Entries flushed per turn; cheaper than sending. */
    private static final int FLUSH_BURST = 64;

    /** Of an entry: it must wait for others; nothing is wrong with it. */
    private static final int NOT_YET = -1;

    private final Device device;
    private final Counters counters;
    private final Wire requests;
    private final Wire answers;
    private final Responder responder;

    // What findPlain or findSpecial found: one piece in a region; or, if that is null, all that is gathered.
    private MemoryRegion foundRegion;
    private long foundAddress;
    private long foundLength;
    private SegmentList gathered = new SegmentList();

    Requester(Device device, WireFaults wireFaults) {
        this.device = device;
        this.counters = device.counters;
        this.responder = new Responder(device);
        this.requests = new Wire(BURST, wireFaults, false);
        this.answers = new Wire(BURST, wireFaults, true);
    }

    /** One turn; what was done, for the idle strategy. */
    int takeTurn(DeviceQp qp) {
        int work = responder.deliverHeld(qp);
        work += complete(qp); // what found its queue full last time, or was answered since
        if (qp.isSending()) {
            if (qp.isTimedOut(device.nowNs())) {
                counters.increment(DeviceCounter.TIMEOUTS);
                qp.wentBack = false;
                retry(qp);
            }
            if (qp.completed == qp.acked && !qp.mustWait(device.nowNs())) {
                work += send(qp);
                work += complete(qp);
            }
            if (qp.drainNotice && qp.completed == qp.sent) {
                qp.drainNotice = false;
                device.post(EventType.SQ_DRAINED, qp);
            }
        }
        if (qp.state == QpState.ERR && qp.completed == qp.posted) {
            work += responder.flush(qp, FLUSH_BURST);
        }
        return work;
    }

    /** Fetches and sends up to a burst of entries, and takes in what arrives. */
    private int send(DeviceQp qp) {
        final long limit = qp.state == QpState.RTS ? qp.posted : qp.sent;
        int fault = 0;
        int sent = 0;
        if (qp.fetched == qp.acked) {
            qp.startTimer(device.nowNs());
        }
        while (sent < BURST && qp.fetched != limit && qp.fetched - qp.acked < BURST) {
            fault = fetch(qp);
            if (fault != 0) {
                break;
            }
            sent++;
        }
        final long end = qp.fetched;
        if (qp.sent < end) {
            qp.sent = end;
        }
        deliver();
        if (qp.type != QpType.RC && qp.isSending() && requests.underWay(qp.number, device.nowNs()) == 0) {
            qp.acked = qp.fetched;
        }
        if (fault > 0 && qp.acked == end && qp.isSending()) {
            sent++;
            fail(qp, fault); // all before it have succeeded
        }
        counters.add(DeviceCounter.SENDS_FETCHED, sent);
        return sent;
    }

    /** Takes in what arrives by now, requests and answers; how many. */
    int deliver() {
        final long nowNs = device.nowNs();
        int arrived = 0;
        Packet packet = requests.receive(nowNs);
        while (packet != null) {
            responder.receive(packet, answers);
            arrived++;
            packet = requests.receive(nowNs);
        }
        packet = answers.receive(nowNs);
        while (packet != null) {
            takeAnswer(packet);
            arrived++;
            packet = answers.receive(nowNs);
        }
        return arrived;
    }

    /** Puts the next entry on the wire; 0, or the syndrome of what is wrong with it, or NOT_YET. */
    private int fetch(DeviceQp qp) {
        final QueueMemory memory = qp.memory;
        final long sequence = qp.fetched;
        final int slot = qp.sendQueue.offset(sequence);
        final long control = memory.getLong(slot + WqeLayout.CONTROL_OFFSET);
        final int opcode = WqeLayout.opcode(control);
        if (WqeLayout.counter(control) != (int) sequence) {
            return CompletionStatus.LOC_QP_OP_ERR.syndrome();
        }
        if (device.faults.readFails()) {
            return PCIE_READ_TIMEOUT << DeviceQp.VENDOR_SHIFT | CompletionStatus.LOC_LEN_ERR.syndrome();
        }
        if ((control & WqeLayout.UNUSUAL) != 0 || !WqeOpcode.isPlain(opcode) || qp.type == QpType.UD) {
            return fetchOther(qp, slot, control); // apart, so that the JIT finds this method small enough to inline
        }
        final long localLength = memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET);
        final long length = WqeLayout.length(localLength);
        if (length > WqeLayout.MAX_MESSAGE_BYTES) {
            return CompletionStatus.LOC_LEN_ERR.syndrome();
        }
        final long localAddress = memory.getLong(slot + WqeLayout.LOCAL_ADDRESS_OFFSET);
        MemoryRegion local = null;
        if (length != 0) {
            local = device.regions.findLocal(
                    WqeLayout.high(localLength), qp.domain, localAddress, length, AccessRights.LOCAL_READ);
            if (local == null) {
                return CompletionStatus.LOC_PROT_ERR.syndrome();
            }
        }
        Packet packet = send(qp, slot, control, 1);
        packet.length = length;
        packet.local = local;
        packet.localAddress = localAddress;
        return 0;
    }

    /** As fetch, for an entry that may be of any kind. */
    private int fetchOther(DeviceQp qp, int slot, long control) {
        final QueueMemory memory = qp.memory;
        final int opcode = WqeLayout.opcode(control);
        final int flags = WqeLayout.flags(control);
        if (!qp.type.canSend(opcode)) {
            return CompletionStatus.LOC_QP_OP_ERR.syndrome();
        }
        if ((flags & WqeLayout.FLAG_FENCE) != 0 && qp.readsUnderWay != 0) {
            return NOT_YET;
        }
        final boolean special = WqeLayout.extra(control) != 0 || (flags & WqeLayout.FLAG_INLINE) != 0;
        if (opcode == WqeOpcode.LOCAL_INVALIDATE) {
            return special ? CompletionStatus.LOC_QP_OP_ERR.syndrome() : invalidate(qp, slot);
        }
        int fault = special ? findSpecial(qp, slot, control, opcode) : findPlain(qp, slot, opcode);
        if (fault != 0) {
            return fault;
        }
        if (foundLength > (qp.type == QpType.UD ? WqeLayout.MAX_DATAGRAM_BYTES : WqeLayout.MAX_MESSAGE_BYTES)) {
            return CompletionStatus.LOC_LEN_ERR.syndrome();
        }
        if (WqeOpcode.hasResponse(opcode)) {
            if (qp.maxReads == 0) {
                return CompletionStatus.LOC_QP_OP_ERR.syndrome();
            }
            if (WqeOpcode.isAtomic(opcode) && (special || foundLength != Long.BYTES)) {
                return CompletionStatus.LOC_LEN_ERR.syndrome();
            }
            if (qp.readsUnderWay == qp.maxReads) {
                return NOT_YET;
            }
            qp.readsUnderWay++;
        }
        Packet packet = send(qp, slot, control, special ? qp.entries(qp.fetched, control) : 1);
        packet.length = foundLength;
        packet.local = foundRegion;
        packet.localAddress = foundAddress;
        packet.scattered = special && foundRegion == null;
        if (packet.scattered) {
            SegmentList before = packet.segments;
            packet.segments = gathered;
            gathered = before == null ? new SegmentList() : before;
        }
        if (WqeOpcode.isAtomic(opcode)) {
            packet.operand = memory.getLong(slot + WqeLayout.OPERAND_OFFSET);
            packet.value = memory.getLong(slot + WqeLayout.SWAP_OFFSET);
        } else if (qp.type == QpType.UD) {
            packet.destinationQp = packet.rkey & DeviceQp.PSN_MASK;
            int qkey = packet.immediate;
            packet.qkey = qkey < 0 ? qp.qkey : qkey;
            packet.immediate = WqeLayout.low(packet.remoteAddress);
        }
        return 0;
    }

    /** Sends a packet for an entry; where its bytes are is still to be filled in. */
    private Packet send(DeviceQp qp, int slot, long control, int entries) {
        final long sequence = qp.fetched;
        final long remoteKey = qp.memory.getLong(slot + WqeLayout.REMOTE_KEY_OFFSET);
        Packet packet = requests.send(device.nowNs());
        packet.destinationQp = qp.peerNumber;
        packet.sourceQp = qp.number;
        packet.life = qp.life;
        packet.psn = qp.psn(sequence);
        packet.psns = entries;
        packet.opcode = WqeLayout.opcode(control);
        packet.solicited = (WqeLayout.flags(control) & WqeLayout.FLAG_SOLICITED) != 0;
        packet.immediate = WqeLayout.high(remoteKey);
        packet.remoteAddress = qp.memory.getLong(slot + WqeLayout.REMOTE_ADDRESS_OFFSET);
        packet.rkey = WqeLayout.low(remoteKey);
        packet.scattered = false;
        qp.fetched = sequence + entries;
        return packet;
    }

    /** Finds the bytes of an entry that is one piece; leaves them in the found fields. */
    private int findPlain(DeviceQp qp, int slot, int opcode) {
        final long localLength = qp.memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET);
        foundLength = WqeLayout.length(localLength);
        foundAddress = qp.memory.getLong(slot + WqeLayout.LOCAL_ADDRESS_OFFSET);
        foundRegion = null;
        if (foundLength > WqeLayout.MAX_MESSAGE_BYTES) {
            return CompletionStatus.LOC_LEN_ERR.syndrome();
        }
        if (foundLength != 0) {
            int right = WqeOpcode.hasResponse(opcode) ? AccessRights.LOCAL_WRITE : AccessRights.LOCAL_READ;
            foundRegion =
                    device.regions.findLocal(WqeLayout.high(localLength), qp.domain, foundAddress, foundLength, right);
            if (foundRegion == null) {
                return qp.type == QpType.UD && foundLength > WqeLayout.MAX_DATAGRAM_BYTES
                        ? CompletionStatus.LOC_LEN_ERR.syndrome()
                        : CompletionStatus.LOC_PROT_ERR.syndrome();
            }
        }
        return 0;
    }

    /** Finds the bytes of an entry that has an extension, or inline data; leaves them in the found fields. */
    private int findSpecial(DeviceQp qp, int slot, long control, int opcode) {
        final QueueMemory memory = qp.memory;
        final long sequence = qp.fetched;
        final boolean chained = WqeLayout.isChained(control);
        final boolean inline = (WqeLayout.flags(control) & WqeLayout.FLAG_INLINE) != 0;
        final int more = WqeLayout.moreSegments(control);
        int extension = 0;
        if (chained) {
            if (sequence + 1 >= qp.posted) {
                return CompletionStatus.LOC_QP_OP_ERR.syndrome();
            }
            extension = qp.sendQueue.offset(sequence + 1);
            long second = memory.getLong(extension + WqeLayout.CONTROL_OFFSET);
            if (WqeLayout.opcode(second) != WqeOpcode.EXTENSION || WqeLayout.counter(second) != (int) (sequence + 1)) {
                return CompletionStatus.LOC_QP_OP_ERR.syndrome();
            }
        }
        final long localLength = memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET);
        foundLength = WqeLayout.length(localLength);
        foundRegion = null;
        if (inline) {
            int room = chained ? WqeLayout.MAX_INLINE_BYTES : WqeLayout.MAX_SHORT_INLINE_BYTES;
            if (more != 0 || foundLength > room || WqeOpcode.hasResponse(opcode)) {
                return CompletionStatus.LOC_QP_OP_ERR.syndrome();
            }
            foundRegion = qp.entries;
            foundAddress = chained ? extension + WqeLayout.EXTENSION_DATA_OFFSET : slot + WqeLayout.RESERVED_OFFSET;
            return 0;
        }
        if (more == 0 || !chained || WqeLayout.extra(control) >>> 3 != 0) {
            return CompletionStatus.LOC_QP_OP_ERR.syndrome();
        }
        final int right = WqeOpcode.hasResponse(opcode) ? AccessRights.LOCAL_WRITE : AccessRights.LOCAL_READ;
        gathered.clear();
        if (!device.findSegments(memory, slot, extension, more, qp.domain, right, gathered)) {
            return CompletionStatus.LOC_PROT_ERR.syndrome();
        }
        foundLength = gathered.bytes();
        return 0;
    }

    private int invalidate(DeviceQp qp, int slot) {
        if (qp.acked != qp.fetched) {
            return NOT_YET;
        }
        int rkey = WqeLayout.low(qp.memory.getLong(slot + WqeLayout.REMOTE_KEY_OFFSET));
        if (!device.regions.invalidate(rkey, qp.domain)) {
            return CompletionStatus.MW_BIND_ERR.syndrome();
        }
        qp.skipTo(qp.acked + 1);
        return 0;
    }

    private void takeAnswer(Packet answer) {
        final DeviceQp qp = device.find(answer.destinationQp);
        if (qp == null || qp.life != answer.life) {
            return; // of a life that has ended
        }
        final long sequence = qp.sequence(answer.psn);
        if (answer.answer == Packet.ACK) {
            if (sequence >= qp.acked && sequence < qp.sent) {
                acknowledge(qp, sequence, answer);
            }
            return;
        }
        if (sequence < qp.acked || sequence > qp.sent || !acknowledgeBefore(qp, sequence)) {
            return;
        }
        switch (answer.answer) {
            case Packet.SEQUENCE_NAK -> {
                goBackOnce(qp);
            }
            case Packet.RNR_NAK -> {
                if (!qp.mustWait(device.nowNs())) { // else this is a double
                    missReceive(qp, answer.delayNs);
                }
            }
            case Packet.BUSY -> {
                qp.retries = 0; // the peer is there
                qp.goBack(device.nowNs());
            }
            default -> fail(qp, answer.status);
        }
    }

    private void acknowledge(DeviceQp qp, long last, Packet answer) {
        final long first = last + 1 - answer.psns;
        if (first != qp.acked && !acknowledgeBefore(qp, Math.max(first, qp.acked))) {
            return;
        }
        if (answer.response) {
            if (last < qp.fetched) { // else it has been counted out by going back
                qp.readsUnderWay--;
            }
            if (isAtomic(qp, last) && !storeOriginal(qp, last, answer.value)) {
                fail(qp, CompletionStatus.LOC_PROT_ERR.syndrome());
                return;
            }
        }
        moveOn(qp, last + 1);
    }

    /**
     * The peer has executed all before an entry. False if there is a read among them whose answer has not come: all from
     * there on is sent again.
     */
    private boolean acknowledgeBefore(DeviceQp qp, long end) {
        final long start = qp.acked;
        long reached = start;
        while (reached != end && !isRead(qp, reached)) {
            reached++;
        }
        if (reached != start) {
            moveOn(qp, reached);
        }
        if (reached == end) {
            return true;
        }
        goBackOnce(qp);
        return false;
    }

    /** Sends again what the peer misses, unless it has said so before: until something comes of that, it may say so many times. */
    private void goBackOnce(DeviceQp qp) {
        if (!qp.wentBack && qp.fetched != qp.acked) {
            retry(qp);
            qp.wentBack = true;
        }
    }

    private static boolean isRead(DeviceQp qp, long sequence) {
        return WqeOpcode.hasResponse(opcode(qp, sequence));
    }

    private static boolean isAtomic(DeviceQp qp, long sequence) {
        return WqeOpcode.isAtomic(opcode(qp, sequence));
    }

    private static int opcode(DeviceQp qp, long sequence) {
        return WqeLayout.opcode(qp.memory.getLong(qp.sendQueue.offset(sequence) + WqeLayout.CONTROL_OFFSET));
    }

    /** Stores what an atomic found at the peer. False if its region has gone meanwhile. */
    private boolean storeOriginal(DeviceQp qp, long sequence, long value) {
        final int slot = qp.sendQueue.offset(sequence);
        final long address = qp.memory.getLong(slot + WqeLayout.LOCAL_ADDRESS_OFFSET);
        final int lkey = WqeLayout.high(qp.memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET));
        MemoryRegion region = device.regions.findLocal(lkey, qp.domain, address, Long.BYTES, AccessRights.LOCAL_WRITE);
        if (region == null) {
            return false;
        }
        device.storeLong(region, address, value);
        return true;
    }

    private void moveOn(DeviceQp qp, long acked) {
        qp.acked = acked;
        if (qp.fetched < acked) {
            qp.fetched = acked; // an answer that came after all
        }
        qp.retries = 0;
        qp.rnrRetries = 0;
        qp.wentBack = false;
        qp.startTimer(device.nowNs());
    }

    private void retry(DeviceQp qp) {
        if (++qp.retries > qp.retryLimit) {
            fail(qp, CompletionStatus.RETRY_EXC_ERR.syndrome());
        } else {
            qp.goBack(device.nowNs());
        }
    }

    private void missReceive(DeviceQp qp, long delayNs) {
        if (qp.rnrRetry != QpAttribute.RNR_RETRY_WITHOUT_END && ++qp.rnrRetries > qp.rnrRetry) {
            fail(qp, CompletionStatus.RNR_RETRY_EXC_ERR.syndrome());
        } else {
            qp.retries = 0; // the peer is there
            qp.goBack(device.nowNs());
            qp.waitUntil(device.nowNs() + delayNs);
        }
    }

    /** The entry at {@code acked} failed: it will be reported, the rest flushed. */
    private void fail(DeviceQp qp, int syndrome) {
        qp.failure = syndrome;
        if (qp.type == QpType.RC) {
            device.fail(qp, EventType.WQ_CATAS_ERROR, syndrome & DeviceQp.SYNDROME_MASK);
        } else {
            device.toSendError(qp);
        }
    }

    /** The device is about to end: reports and flushes what there is room for. The queue pair is in ERR. */
    void finish(DeviceQp qp) {
        qp.readSendDoorbell(); // if it is impossible, what was read before is all there is
        responder.deliverHeld(qp);
        int done = 1;
        while (done != 0) {
            done = complete(qp);
            if (qp.completed == qp.posted) {
                done += responder.flush(qp, FLUSH_BURST);
            }
        }
    }

    /** Writes the completions that are due, in order, until their queue is full. */
    private int complete(DeviceQp qp) {
        final long due = qp.isFlushing() ? qp.posted : qp.acked;
        int done = 0;
        while (qp.completed < due && done != FLUSH_BURST && completeNext(qp, due)) {
            done++;
        }
        qp.sendPort.flush();
        return done;
    }

    private boolean completeNext(DeviceQp qp, long due) {
        final QueueMemory memory = qp.memory;
        final long sequence = qp.completed;
        final int slot = qp.sendQueue.offset(sequence);
        final long control = memory.getLong(slot + WqeLayout.CONTROL_OFFSET);
        final int failure = qp.syndrome(sequence);
        final int syndrome = failure & DeviceQp.SYNDROME_MASK;
        // The host may have changed the entry since it was fetched, but it does not make it longer than what is due.
        final int entries = sequence + 1 == due ? 1 : qp.entries(sequence, control);
        if (syndrome == 0 && (WqeLayout.flags(control) & WqeLayout.FLAG_SIGNALED) == 0) {
            qp.completed = sequence + entries;
            return true;
        }
        int opcode = syndrome == 0 ? completionOpcode(WqeLayout.opcode(control)) : CqeOpcode.REQ_ERR;
        int length = syndrome == 0 ? WqeLayout.low(memory.getLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET)) : 0;
        if (entries != 1 && syndrome == 0) {
            int extension = qp.sendQueue.offset(sequence + 1);
            for (int i = 0; i < WqeLayout.moreSegments(control); i++) {
                length += WqeLayout.low(memory.getLong(extension + WqeLayout.segmentOffset(i) + Long.BYTES));
            }
        }
        boolean taken = responder.reportOneOfSeveral(
                qp.sendPort,
                CqeLayout.header(opcode, false, (int) sequence + entries - 1, qp.number, syndrome),
                memory.getLong(slot + WqeLayout.WORK_REQUEST_ID_OFFSET),
                CqeLayout.length(length, 0),
                failure >>> DeviceQp.VENDOR_SHIFT);
        if (taken) {
            qp.completed = sequence + entries;
        }
        device.reporting = null;
        return taken;
    }

    private static int completionOpcode(int wqeOpcode) {
        return switch (wqeOpcode) {
            case WqeOpcode.WRITE, WqeOpcode.WRITE_IMM -> CqeOpcode.RC_RDMA_WRITE;
            case WqeOpcode.READ -> CqeOpcode.RC_RDMA_READ;
            case WqeOpcode.COMPARE_SWAP -> CqeOpcode.RC_COMP_SWAP;
            case WqeOpcode.FETCH_ADD -> CqeOpcode.RC_FETCH_ADD;
            case WqeOpcode.LOCAL_INVALIDATE -> CqeOpcode.LOCAL_INV;
            default -> CqeOpcode.RC_SEND;
        };
    }
}
