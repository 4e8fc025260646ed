package io.cqring.simnic.qp;

import io.cqring.cq.Completion;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;

/**
 * Host side of a queue pair: posts work requests into off-heap rings and rings the doorbells. Got from
 * {@code SimNic.createQueuePair}.
 *
 * <p><b>Role:</b> one thread at a time posts, rings and retires; {@link #state} and {@link #number} are for any thread.
 * <b>Progress:</b> wait-free. <b>Allocation:</b> none. <b>Visibility:</b> what this thread wrote before it rang,
 * payload above all, is what the device moves. Posted entries that have not been rung do not exist for the device.
 *
 * <pre>
 *   post..., post..., ringSendDoorbell()  ─►  device  ─►  completion  ─►  retire(completion): its slots are free again
 * </pre>
 *
 * <p><b>Slots.</b> A posted entry keeps its slot until it is retired. Sends complete in order, so the completion of
 * one retires all before it as well: those not signaled give no completion of their own, and a queue of nothing but
 * unsignaled entries fills up for good. Receives give one completion each.
 *
 * <p>A message has 0 to 2^31 bytes. With 0 bytes, addresses and keys are not looked at.
 */
public final class QueuePair implements PostedWork {
    private final int number;
    private final QpType type;
    private final SharedReceiveQueue shared;
    private final QueueMemory memory;
    private final QueueMemory uarPage;
    private final int uarRegister;
    private final WorkQueue sends;
    private final WorkQueue receives;

    /**
     * For the device's control path.
     *
     * @param number      queue pair number, 24 bits
     * @param type        its transport service
     * @param shared      the queue that its receives are posted to; null if they are posted to itself
     * @param qpMemory    memory shared with the device
     * @param uarPage     the device's page of doorbell registers
     * @param uarRegister offset of this queue pair's register there
     */
    public QueuePair(
            int number,
            QpType type,
            SharedReceiveQueue shared,
            QpMemory qpMemory,
            QueueMemory uarPage,
            int uarRegister) {
        this.number = number;
        this.type = type;
        this.shared = shared;
        this.memory = qpMemory.memory();
        this.uarPage = uarPage;
        this.uarRegister = uarRegister;
        this.sends = new WorkQueue(memory, qpMemory.sendQueue());
        this.receives = new WorkQueue(memory, qpMemory.receiveQueue());
    }

    /**
     * Number of the queue pair, as its completions carry it.
     *
     * @return 24 bits
     */
    public int number() {
        return number;
    }

    /**
     * Transport service.
     *
     * @return what it was made as
     */
    public QpType type() {
        return type;
    }

    /**
     * State as of now. The device may change it to ERR at any time.
     *
     * @return the state
     */
    public QpState state() {
        return QpState.of(stateCode());
    }

    private int stateCode() {
        // Edge QP-STATE, host end. Partner: DeviceQp.publishState. Only the word itself is wanted: opaque is enough.
        return (int) memory.getLongOpaque(QpMemory.STATE);
    }

    /**
     * Posts a send.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  first byte to send
     * @param length        bytes, 0 to 2^31
     * @param lkey          key of the region it lies in
     * @param flags         {@link WqeLayout#FLAG_SIGNALED}, {@link WqeLayout#FLAG_SOLICITED}, {@link WqeLayout#FLAG_FENCE}, added up; or 0
     * @return true if posted; false if the send queue is full: nothing is posted
     * @throws IllegalArgumentException if length or flags are out of range; nothing is posted
     * @throws IllegalStateException    if the state does not allow it, see {@link QpState}; nothing is posted
     */
    public boolean postSend(long workRequestId, long localAddress, long length, int lkey, int flags) {
        return post(WqeOpcode.SEND, workRequestId, localAddress, length, lkey, 0, 0, 0, flags);
    }

    /**
     * Posts a send with immediate data.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  first byte to send
     * @param length        bytes, 0 to 2^31
     * @param lkey          key of the region it lies in
     * @param immediate     32 bits for the receiver's completion
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postSendImm(long workRequestId, long localAddress, long length, int lkey, int immediate, int flags) {
        return post(WqeOpcode.SEND_IMM, workRequestId, localAddress, length, lkey, 0, 0, immediate, flags);
    }

    /**
     * Posts an RDMA write.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  first byte to write from
     * @param length        bytes, 0 to 2^31
     * @param lkey          key of the region it lies in
     * @param remoteAddress first byte to write to, at the peer
     * @param rkey          key of the peer's region
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postWrite(
            long workRequestId, long localAddress, long length, int lkey, long remoteAddress, int rkey, int flags) {
        return post(WqeOpcode.WRITE, workRequestId, localAddress, length, lkey, remoteAddress, rkey, 0, flags);
    }

    /**
     * Posts an RDMA write with immediate data; it consumes a receive of the peer.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  first byte to write from
     * @param length        bytes, 0 to 2^31
     * @param lkey          key of the region it lies in
     * @param remoteAddress first byte to write to, at the peer
     * @param rkey          key of the peer's region
     * @param immediate     32 bits for the receiver's completion
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postWriteImm(
            long workRequestId,
            long localAddress,
            long length,
            int lkey,
            long remoteAddress,
            int rkey,
            int immediate,
            int flags) {
        return post(
                WqeOpcode.WRITE_IMM, workRequestId, localAddress, length, lkey, remoteAddress, rkey, immediate, flags);
    }

    /**
     * Posts an RDMA read.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  first byte to read into
     * @param length        bytes, 0 to 2^31
     * @param lkey          key of the region it lies in
     * @param remoteAddress first byte to read, at the peer
     * @param rkey          key of the peer's region
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postRead(
            long workRequestId, long localAddress, long length, int lkey, long remoteAddress, int rkey, int flags) {
        return post(WqeOpcode.READ, workRequestId, localAddress, length, lkey, remoteAddress, rkey, 0, flags);
    }

    /**
     * Posts a send that makes a key of the peer's invalid when it arrives.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  first byte to send
     * @param length        bytes, 0 to 2^31
     * @param lkey          key of the region it lies in
     * @param rkey          the peer's key; its receive completion carries it
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postSendInvalidate(
            long workRequestId, long localAddress, long length, int lkey, int rkey, int flags) {
        return post(WqeOpcode.SEND_INVALIDATE, workRequestId, localAddress, length, lkey, 0, rkey, 0, flags);
    }

    /**
     * Posts a local invalidate: the keys of a region of one's own are refused from then on. It is carried out once all posted before it has
     * been answered.
     *
     * @param workRequestId tag, comes back in the completion
     * @param rkey          key of the region
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postLocalInvalidate(long workRequestId, int rkey, int flags) {
        return post(WqeOpcode.LOCAL_INVALIDATE, workRequestId, 0, 0, 0, 0, rkey, 0, flags);
    }

    /**
     * Posts a compare-and-swap: if the 8 bytes at the peer are equal to one value, they become another. What was there is stored here.
     * Atomic against all that comes through this NIC; not against threads of the host.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  where the 8 bytes that were there go
     * @param lkey          key of the region they lie in
     * @param remoteAddress the 8 bytes at the peer; a multiple of 8
     * @param rkey          key of the peer's region
     * @param compare       what they must be
     * @param swap          what they become
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postCompareSwap(
            long workRequestId,
            long localAddress,
            int lkey,
            long remoteAddress,
            int rkey,
            long compare,
            long swap,
            int flags) {
        return postAtomic(
                WqeOpcode.COMPARE_SWAP, workRequestId, localAddress, lkey, remoteAddress, rkey, compare, swap, flags);
    }

    /**
     * Posts a fetch-and-add: the 8 bytes at the peer grow by a value. What was there is stored here. As {@link #postCompareSwap} otherwise.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  where the 8 bytes that were there go
     * @param lkey          key of the region they lie in
     * @param remoteAddress the 8 bytes at the peer; a multiple of 8
     * @param rkey          key of the peer's region
     * @param add           what to add
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postFetchAdd(
            long workRequestId, long localAddress, int lkey, long remoteAddress, int rkey, long add, int flags) {
        return postAtomic(WqeOpcode.FETCH_ADD, workRequestId, localAddress, lkey, remoteAddress, rkey, add, 0, flags);
    }

    /**
     * Posts a datagram.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  first byte to send
     * @param length        bytes, 0 to {@link WqeLayout#MAX_DATAGRAM_BYTES}
     * @param lkey          key of the region it lies in
     * @param destinationQp number of the queue pair it is for
     * @param qkey          key that the receiver must have; if negative, as a 32-bit number with its highest bit set, the sender's own is used
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws IllegalStateException    as {@link #postSend}; also if this is no UD queue pair
     */
    public boolean postDatagram(
            long workRequestId, long localAddress, long length, int lkey, int destinationQp, int qkey, int flags) {
        return postDatagram(WqeOpcode.SEND, workRequestId, localAddress, length, lkey, destinationQp, qkey, 0, flags);
    }

    /**
     * Posts a datagram with immediate data.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  first byte to send
     * @param length        bytes, 0 to {@link WqeLayout#MAX_DATAGRAM_BYTES}
     * @param lkey          key of the region it lies in
     * @param destinationQp number of the queue pair it is for
     * @param qkey          as {@link #postDatagram(long, long, long, int, int, int, int)}
     * @param immediate     32 bits for the receiver's completion
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}
     * @throws IllegalStateException    as {@link #postSend}; also if this is no UD queue pair
     */
    public boolean postDatagramImm(
            long workRequestId,
            long localAddress,
            long length,
            int lkey,
            int destinationQp,
            int qkey,
            int immediate,
            int flags) {
        return postDatagram(
                WqeOpcode.SEND_IMM, workRequestId, localAddress, length, lkey, destinationQp, qkey, immediate, flags);
    }

    /**
     * Posts a send from a scatter-gather list. A list of more than one piece takes two slots.
     *
     * @param workRequestId tag, comes back in the completion
     * @param list          what to send; read in this call
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}; also if it takes more slots than the queue has
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postSend(long workRequestId, SgList list, int flags) {
        return postList(WqeOpcode.SEND, workRequestId, list, 0, 0, 0, flags);
    }

    /**
     * Posts an RDMA write from a scatter-gather list. A list of more than one piece takes two slots.
     *
     * @param workRequestId tag, comes back in the completion
     * @param list          what to write; read in this call
     * @param remoteAddress first byte to write to, at the peer
     * @param rkey          key of the peer's region
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}; also if it takes more slots than the queue has
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postWrite(long workRequestId, SgList list, long remoteAddress, int rkey, int flags) {
        return postList(WqeOpcode.WRITE, workRequestId, list, remoteAddress, rkey, 0, flags);
    }

    /**
     * Posts an RDMA read into a scatter-gather list. A list of more than one piece takes two slots.
     *
     * @param workRequestId tag, comes back in the completion
     * @param list          where to; read in this call
     * @param remoteAddress first byte to read, at the peer
     * @param rkey          key of the peer's region
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}; also if it takes more slots than the queue has
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postRead(long workRequestId, SgList list, long remoteAddress, int rkey, int flags) {
        return postList(WqeOpcode.READ, workRequestId, list, remoteAddress, rkey, 0, flags);
    }

    /**
     * Posts a send of bytes that the entry itself carries: they can be changed at once, and need no region. More than
     * {@link WqeLayout#MAX_SHORT_INLINE_BYTES} take two slots.
     *
     * @param workRequestId tag, comes back in the completion
     * @param bytes         where the bytes are; at most {@link WqeLayout#MAX_INLINE_BYTES} of them
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}; also if it takes more slots than the queue has
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postSendInline(long workRequestId, byte[] bytes, int flags) {
        return postInline(WqeOpcode.SEND, workRequestId, bytes, 0, 0, flags);
    }

    /**
     * Posts an RDMA write of bytes that the entry itself carries, as {@link #postSendInline}.
     *
     * @param workRequestId tag, comes back in the completion
     * @param bytes         where the bytes are; at most {@link WqeLayout#MAX_INLINE_BYTES} of them
     * @param remoteAddress first byte to write to, at the peer
     * @param rkey          key of the peer's region
     * @param flags         as {@link #postSend}
     * @return as {@link #postSend}
     * @throws IllegalArgumentException as {@link #postSend}; also if it takes more slots than the queue has
     * @throws IllegalStateException    as {@link #postSend}
     */
    public boolean postWriteInline(long workRequestId, byte[] bytes, long remoteAddress, int rkey, int flags) {
        return postInline(WqeOpcode.WRITE, workRequestId, bytes, remoteAddress, rkey, flags);
    }

    private boolean post(
            int opcode,
            long workRequestId,
            long localAddress,
            long length,
            int lkey,
            long remoteAddress,
            int rkey,
            int immediate,
            int flags) {
        requireCanPost(opcode, flags);
        requireConnected();
        requireLength(length);
        return sends.put(
                WqeLayout.control(opcode, flags, 0),
                workRequestId,
                localAddress,
                WqeLayout.pair(length, lkey),
                remoteAddress,
                WqeLayout.pair(rkey, immediate),
                0,
                0);
    }

    private boolean postAtomic(
            int opcode,
            long workRequestId,
            long localAddress,
            int lkey,
            long remoteAddress,
            int rkey,
            long operand,
            long swap,
            int flags) {
        requireCanPost(opcode, flags);
        return sends.put(
                WqeLayout.control(opcode, flags, 0),
                workRequestId,
                localAddress,
                WqeLayout.pair(Long.BYTES, lkey),
                remoteAddress,
                WqeLayout.pair(rkey, 0),
                operand,
                swap);
    }

    private boolean postDatagram(
            int opcode,
            long workRequestId,
            long localAddress,
            long length,
            int lkey,
            int destinationQp,
            int qkey,
            int immediate,
            int flags) {
        requireCanPost(opcode, flags);
        if (type != QpType.UD) {
            throw new IllegalStateException(
                    "only a UD queue pair sends datagrams: QP 0x" + Integer.toHexString(number));
        }
        requireLength(length);
        return sends.put(
                WqeLayout.control(opcode, flags, 0),
                workRequestId,
                localAddress,
                WqeLayout.pair(length, lkey),
                WqeLayout.pair(immediate, 0),
                WqeLayout.pair(destinationQp, qkey),
                0,
                0);
    }

    private boolean postList(
            int opcode, long workRequestId, SgList list, long remoteAddress, int rkey, int immediate, int flags) {
        if (list.count < 2) {
            long lengthWord = list.lengths[0]; // an empty list is all zero
            return post(
                    opcode,
                    workRequestId,
                    list.addresses[0],
                    WqeLayout.length(lengthWord),
                    WqeLayout.high(lengthWord),
                    remoteAddress,
                    rkey,
                    immediate,
                    flags);
        }
        requireCanPost(opcode, flags);
        requireConnected();
        return sends.putList(opcode, flags, workRequestId, list, remoteAddress, WqeLayout.pair(rkey, immediate));
    }

    private boolean postInline(int opcode, long workRequestId, byte[] bytes, long remoteAddress, int rkey, int flags) {
        requireCanPost(opcode, flags);
        requireConnected();
        if (bytes.length > WqeLayout.MAX_INLINE_BYTES) {
            throw new IllegalArgumentException(
                    "inline data have at most " + WqeLayout.MAX_INLINE_BYTES + " bytes: " + bytes.length);
        }
        final boolean chained = bytes.length > WqeLayout.MAX_SHORT_INLINE_BYTES;
        if (chained && !sends.hasRoomForTwo()) {
            return false;
        }
        final int slot = sends.next();
        if (!sends.put(
                WqeLayout.control(opcode, flags | WqeLayout.FLAG_INLINE, 0) | (chained ? WqeLayout.CHAINED : 0),
                workRequestId,
                0,
                WqeLayout.pair(bytes.length, 0),
                remoteAddress,
                WqeLayout.pair(rkey, 0),
                0,
                0)) {
            return false;
        }
        if (chained) {
            final int extension = sends.next();
            sends.put(WqeOpcode.EXTENSION, 0, 0, 0, 0, 0, 0, 0);
            memory.putBytes(extension + WqeLayout.EXTENSION_DATA_OFFSET, bytes, 0, bytes.length);
        } else if (bytes.length != 0) {
            memory.putBytes(slot + WqeLayout.RESERVED_OFFSET, bytes, 0, bytes.length);
        }
        return true;
    }

    private void requireCanPost(int opcode, int flags) {
        if (!QpState.canPostSend(stateCode())) {
            throw wrongState("sends cannot be posted");
        }
        if (!type.canSend(opcode)) {
            throw new IllegalStateException("a " + type + " queue pair cannot post " + WqeOpcode.name(opcode)
                    + ": QP 0x" + Integer.toHexString(number));
        }
        if ((flags & ~WqeLayout.ALL_FLAGS) != 0) {
            throw new IllegalArgumentException("flags must lie within " + WqeLayout.ALL_FLAGS + ": " + flags);
        }
    }

    private void requireConnected() {
        if (type == QpType.UD) {
            throw new IllegalStateException(
                    "a UD queue pair sends datagrams only: QP 0x" + Integer.toHexString(number));
        }
    }

    /**
     * Posts a receive into a scatter-gather list. A list of more than one piece takes two slots.
     *
     * @param workRequestId tag, comes back in the completion
     * @param list          where the bytes of a send go; read in this call
     * @return as {@link #postRecv(long, long, long, int)}
     * @throws IllegalArgumentException if it takes more slots than the queue has
     * @throws IllegalStateException    as {@link #postRecv(long, long, long, int)}
     */
    public boolean postRecv(long workRequestId, SgList list) {
        if (list.count < 2) {
            return postRecv(
                    workRequestId,
                    list.addresses[0],
                    WqeLayout.length(list.lengths[0]),
                    WqeLayout.high(list.lengths[0]));
        }
        requireCanReceive();
        return receives.putList(WqeOpcode.RECV, 0, workRequestId, list, 0, 0);
    }

    private void requireCanReceive() {
        if (!state().canPostReceive()) {
            throw wrongState("receives cannot be posted");
        }
        if (shared != null) {
            throw new IllegalStateException(
                    "receives are posted to the shared queue: QP 0x" + Integer.toHexString(number));
        }
    }

    /**
     * Posts a receive.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  where the bytes of a send go
     * @param length        room for them, 0 to 2^31 bytes; 0 will do for the report of an RDMA write with immediate
     * @param lkey          key of the region it lies in
     * @return true if posted; false if the receive queue is full: nothing is posted
     * @throws IllegalArgumentException if the length is out of range; nothing is posted
     * @throws IllegalStateException    if the state is RESET; nothing is posted
     */
    public boolean postRecv(long workRequestId, long localAddress, long length, int lkey) {
        requireCanReceive();
        requireLength(length);
        return receives.put(WqeOpcode.RECV, workRequestId, localAddress, WqeLayout.pair(length, lkey), 0, 0, 0, 0);
    }

    static void requireLength(long length) {
        if (length < 0 || length > WqeLayout.MAX_MESSAGE_BYTES) {
            throw new IllegalArgumentException(
                    "length must be 0 to " + WqeLayout.MAX_MESSAGE_BYTES + " bytes: " + length);
        }
    }

    private IllegalStateException wrongState(String what) {
        return new IllegalStateException(what + " in state " + state() + ": QP 0x" + Integer.toHexString(number));
    }

    /**
     * Shows the device all sends, writes and reads posted so far. Once per batch is enough; more often does no harm.
     */
    public void ringSendDoorbell() {
        // Edge DOORBELL, host end: payload and entries, then the record that counts them. Partner:
        // DeviceQp.readSendDoorbell. Weaker: the device executes an entry of which it sees old words. Shown by
        // DoorbellTest.
        memory.putLongRelease(QpMemory.SEND_DOORBELL, sends.posted());
        // Edge DOORBELL again: the record, then the register that says "look at it". Partner: Device.scanDoorbells.
        // Weaker: the device looks too early, finds the old record and never looks again.
        uarPage.putLongRelease(uarRegister, sends.posted());
    }

    /**
     * Shows the device all receives posted so far. The device looks when a message needs one, so no register is rung.
     */
    public void ringReceiveDoorbell() {
        // Edge DOORBELL, host end, as above. Partner: ReceiveQueue.readDoorbell.
        memory.putLongRelease(QpMemory.RECEIVE_DOORBELL, receives.posted());
    }

    /**
     * Frees the slots that a completion of this queue pair stands for, whatever its status.
     *
     * @param completion a completion with this queue pair's number
     * @return slots freed; 0 if the entry is not outstanding: the completion is a duplicate, or older than a reset
     */
    public int retire(Completion completion) {
        return CqeOpcode.isReceive(completion.opcode())
                ? retireReceive(completion.wqeCounter())
                : retireSend(completion.wqeCounter());
    }

    /**
     * Frees the slot of a send, write or read, and those of all posted before it.
     *
     * @param wqeCounter counter of its completion, 24 bits
     * @return slots freed; 0 if no such entry is outstanding
     */
    public int retireSend(int wqeCounter) {
        return sends.retire(wqeCounter);
    }

    /**
     * Frees the slot of a receive, and those of all posted before it.
     *
     * @param wqeCounter counter of its completion, 24 bits
     * @return slots freed, 1 if no completion was left out; 0 if no such entry is outstanding
     */
    public int retireReceive(int wqeCounter) {
        return receives.retire(wqeCounter);
    }

    /**
     * Sends, writes and reads that can be posted before {@code post} returns false.
     *
     * @return free slots
     */
    public int freeSends() {
        return sends.free();
    }

    /**
     * Receives that can be posted before {@link #postRecv} returns false.
     *
     * @return free slots
     */
    public int freeReceives() {
        return receives.free();
    }

    /**
     * Sends, writes and reads ever posted, since the last reset: the counter of the next one.
     *
     * @return entries
     */
    @Override
    public long sendsPosted() {
        return sends.posted();
    }

    /**
     * Receives ever posted, since the last reset: the counter of the next one.
     *
     * @return entries
     */
    @Override
    public long receivesPosted() {
        return receives.posted();
    }

    @Override
    public long sendTag(long sequence) {
        return sends.tag(sequence);
    }

    @Override
    public long receiveTag(long sequence) {
        return receives.tag(sequence);
    }

    @Override
    public boolean isSignaled(long sequence) {
        return !sends.goesOn(sequence) && (WqeLayout.flags(sends.control(sequence)) & WqeLayout.FLAG_SIGNALED) != 0;
    }

    @Override
    public int sendOpcode(long sequence) {
        return WqeLayout.opcode(sends.control(sequence));
    }

    @Override
    public boolean sendGoesOn(long sequence) {
        return sends.goesOn(sequence);
    }

    @Override
    public boolean receiveGoesOn(long sequence) {
        return receives.goesOn(sequence);
    }

    @Override
    public SharedReceiveQueue sharedReceives() {
        return shared;
    }

    @Override
    public boolean isDatagram() {
        return type == QpType.UD;
    }

    /**
     * Forgets all that was posted, doorbells included. For {@code SimNic}, once the device has put the queue pair
     * into RESET; at any other time the device finds doorbells that went backwards and puts it into ERR.
     */
    public void clear() {
        sends.clear();
        receives.clear();
        // Edge DOORBELL, host end: records first, then the register, as when ringing. The device does not look at
        // them in RESET; it starts from 0 when the queue pair leaves it.
        memory.putLongRelease(QpMemory.SEND_DOORBELL, 0);
        memory.putLongRelease(QpMemory.RECEIVE_DOORBELL, 0);
        uarPage.putLongRelease(uarRegister, 0);
    }

    @Override
    public String toString() {
        return "QP 0x" + Integer.toHexString(number) + " " + state();
    }
}
