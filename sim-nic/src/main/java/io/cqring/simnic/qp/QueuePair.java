package io.cqring.simnic.qp;

import io.cqring.cq.Completion;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

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
    private static final int COUNTER_MASK = 0xFF_FFFF;

    private final int number;
    private final QueueMemory memory;
    private final QueueMemory uarPage;
    private final int uarRegister;
    private final RingGeometry sendQueue;
    private final RingGeometry receiveQueue;

    /** Entries ever posted and retired; plain, of the posting thread. */
    private long sendsPosted;

    private long sendsRetired;
    private long receivesPosted;
    private long receivesRetired;

    /**
     * For the device's control path.
     *
     * @param number      queue pair number, 24 bits
     * @param qpMemory    memory shared with the device
     * @param uarPage     the device's page of doorbell registers
     * @param uarRegister offset of this queue pair's register there
     */
    public QueuePair(int number, QpMemory qpMemory, QueueMemory uarPage, int uarRegister) {
        this.number = number;
        this.memory = qpMemory.memory();
        this.uarPage = uarPage;
        this.uarRegister = uarRegister;
        this.sendQueue = qpMemory.sendQueue();
        this.receiveQueue = qpMemory.receiveQueue();
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
     * @param flags         {@link WqeLayout#FLAG_SIGNALED}, {@link WqeLayout#FLAG_SOLICITED}, added up; or 0
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
        if (!QpState.canPostSend(stateCode())) {
            throw wrongState("sends cannot be posted");
        }
        requireLength(length);
        if ((flags & ~WqeLayout.ALL_FLAGS) != 0) {
            throw new IllegalArgumentException("flags must lie within " + WqeLayout.ALL_FLAGS + ": " + flags);
        }
        final long sequence = sendsPosted;
        if (sequence - sendsRetired == sendQueue.capacity()) {
            return false;
        }
        final int slot = sendQueue.offset(sequence);
        store(
                slot,
                WqeLayout.control(opcode, flags, sequence),
                workRequestId,
                localAddress,
                WqeLayout.pair(length, lkey),
                remoteAddress,
                WqeLayout.pair(rkey, immediate));
        sendsPosted = sequence + 1;
        return true;
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
        if (stateCode() == 0) {
            throw wrongState("receives cannot be posted");
        }
        requireLength(length);
        final long sequence = receivesPosted;
        if (sequence - receivesRetired == receiveQueue.capacity()) {
            return false;
        }
        store(
                receiveQueue.offset(sequence),
                WqeLayout.control(WqeOpcode.RECV, 0, sequence),
                workRequestId,
                localAddress,
                WqeLayout.pair(length, lkey),
                0,
                0);
        receivesPosted = sequence + 1;
        return true;
    }

    /** Stores all eight words: nothing of the last lap is left. Plain; the doorbell publishes them. */
    private void store(
            int slot,
            long control,
            long workRequestId,
            long localAddress,
            long localLength,
            long remoteAddress,
            long remoteKey) {
        final QueueMemory memory = this.memory;
        memory.putLong(slot + WqeLayout.CONTROL_OFFSET, control);
        memory.putLong(slot + WqeLayout.WORK_REQUEST_ID_OFFSET, workRequestId);
        memory.putLong(slot + WqeLayout.LOCAL_ADDRESS_OFFSET, localAddress);
        memory.putLong(slot + WqeLayout.LOCAL_LENGTH_OFFSET, localLength);
        memory.putLong(slot + WqeLayout.REMOTE_ADDRESS_OFFSET, remoteAddress);
        memory.putLong(slot + WqeLayout.REMOTE_KEY_OFFSET, remoteKey);
        memory.putLong(slot + WqeLayout.RESERVED_OFFSET, 0);
        memory.putLong(slot + WqeLayout.RESERVED_OFFSET + Long.BYTES, 0);
    }

    private static void requireLength(long length) {
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
        memory.putLongRelease(QpMemory.SEND_DOORBELL, sendsPosted);
        // Edge DOORBELL again: the record, then the register that says "look at it". Partner: Device.scanDoorbells.
        // Weaker: the device looks too early, finds the old record and never looks again.
        uarPage.putLongRelease(uarRegister, sendsPosted);
    }

    /**
     * Shows the device all receives posted so far. The device looks when a message needs one, so no register is rung.
     */
    public void ringReceiveDoorbell() {
        // Edge DOORBELL, host end, as above. Partner: DeviceQp.readReceiveDoorbell.
        memory.putLongRelease(QpMemory.RECEIVE_DOORBELL, receivesPosted);
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
        int count = distance(wqeCounter, sendsRetired);
        if (count >= sendsPosted - sendsRetired) {
            return 0;
        }
        sendsRetired += count + 1;
        return count + 1;
    }

    /**
     * Frees the slot of a receive, and those of all posted before it.
     *
     * @param wqeCounter counter of its completion, 24 bits
     * @return slots freed, 1 if no completion was left out; 0 if no such entry is outstanding
     */
    public int retireReceive(int wqeCounter) {
        int count = distance(wqeCounter, receivesRetired);
        if (count >= receivesPosted - receivesRetired) {
            return 0;
        }
        receivesRetired += count + 1;
        return count + 1;
    }

    private static int distance(int wqeCounter, long retired) {
        return (wqeCounter - (int) retired) & COUNTER_MASK;
    }

    /**
     * Sends, writes and reads that can be posted before {@code post} returns false.
     *
     * @return free slots
     */
    public int freeSends() {
        return sendQueue.capacity() - (int) (sendsPosted - sendsRetired);
    }

    /**
     * Receives that can be posted before {@link #postRecv} returns false.
     *
     * @return free slots
     */
    public int freeReceives() {
        return receiveQueue.capacity() - (int) (receivesPosted - receivesRetired);
    }

    /**
     * Sends, writes and reads ever posted, since the last reset: the counter of the next one.
     *
     * @return entries
     */
    @Override
    public long sendsPosted() {
        return sendsPosted;
    }

    /**
     * Receives ever posted, since the last reset: the counter of the next one.
     *
     * @return entries
     */
    @Override
    public long receivesPosted() {
        return receivesPosted;
    }

    @Override
    public long sendTag(long sequence) {
        return memory.getLong(sendQueue.offset(sequence) + WqeLayout.WORK_REQUEST_ID_OFFSET);
    }

    @Override
    public long receiveTag(long sequence) {
        return memory.getLong(receiveQueue.offset(sequence) + WqeLayout.WORK_REQUEST_ID_OFFSET);
    }

    @Override
    public boolean isSignaled(long sequence) {
        return (WqeLayout.flags(memory.getLong(sendQueue.offset(sequence))) & WqeLayout.FLAG_SIGNALED) != 0;
    }

    @Override
    public int sendOpcode(long sequence) {
        return WqeLayout.opcode(memory.getLong(sendQueue.offset(sequence)));
    }

    /**
     * Forgets all that was posted, doorbells included. For {@code SimNic}, once the device has put the queue pair
     * into RESET; at any other time the device finds doorbells that went backwards and puts it into ERR.
     */
    public void clear() {
        sendsPosted = 0;
        sendsRetired = 0;
        receivesPosted = 0;
        receivesRetired = 0;
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
