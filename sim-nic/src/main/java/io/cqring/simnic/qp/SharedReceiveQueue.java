package io.cqring.simnic.qp;

import io.cqring.memory.QueueMemory;

/**
 * Host side of a shared receive queue (SRQ): receives that any of several queue pairs may consume, in the order in which they were posted.
 * Got from {@code SimNic.createSharedReceiveQueue}.
 *
 * <p><b>Role:</b> one thread at a time posts, rings and retires. <b>Progress:</b> wait-free. <b>Allocation:</b> none.
 *
 * <p><b>Slots.</b> Completions of a shared queue reach the host through the completion queues of its queue pairs, so not in the order of the
 * entries. Each is retired by its own counter; a slot can be posted again once all before it have been retired as well. A vendor's driver
 * retires an entry itself when it takes its completion out of the ring ({@code VendorQueue}); so the thread that polls is the one that posts.
 *
 * <p>When a queue pair fails, its receives stay here: they are not flushed, others use them. One piece of memory per entry.
 */
public final class SharedReceiveQueue {
    private final int number;
    private final QueueMemory memory;
    private final WorkQueue receives;

    /** Which slots have been retired, of those that are not free yet. */
    private final boolean[] done;

    /**
     * For the device's control path.
     *
     * @param number its number, 1 or more
     * @param memory memory shared with the device; its receive queue and receive doorbell are used
     */
    public SharedReceiveQueue(int number, QpMemory memory) {
        this.number = number;
        this.memory = memory.memory();
        this.receives = new WorkQueue(this.memory, memory.receiveQueue());
        this.done = new boolean[receives.capacity()];
    }

    /**
     * Number of the queue, as its events carry it.
     *
     * @return 1 or more
     */
    public int number() {
        return number;
    }

    /**
     * Posts a receive.
     *
     * @param workRequestId tag, comes back in the completion
     * @param localAddress  where the bytes of a send go
     * @param length        room for them, 0 to 2^31 bytes
     * @param lkey          key of the region it lies in
     * @return true if posted; false if the queue is full: nothing is posted
     * @throws IllegalArgumentException if the length is out of range; nothing is posted
     */
    public boolean postRecv(long workRequestId, long localAddress, long length, int lkey) {
        QueuePair.requireLength(length);
        return receives.put(WqeOpcode.RECV, workRequestId, localAddress, WqeLayout.pair(length, lkey), 0, 0, 0, 0);
    }

    /** Shows the device all receives posted so far. */
    public void ringDoorbell() {
        // Edge DOORBELL, host end, as QueuePair.ringReceiveDoorbell. Partner: ReceiveQueue.readDoorbell.
        memory.putLongRelease(QpMemory.RECEIVE_DOORBELL, receives.posted());
    }

    /**
     * Retires the entry of a completion.
     *
     * @param wqeCounter counter of the completion, 24 bits
     * @return true; false if the entry is not outstanding: the completion is a duplicate, or a vendor's driver has retired it
     */
    public boolean retire(int wqeCounter) {
        final int ahead = receives.ahead(wqeCounter);
        final int slot = ((int) receives.retired() + ahead) & (done.length - 1);
        if (ahead >= receives.outstanding() || done[slot]) {
            return false;
        }
        done[slot] = true;
        int first = (int) receives.retired();
        while (done[first & (done.length - 1)]) {
            done[first & (done.length - 1)] = false;
            receives.retire(first++);
        }
        return true;
    }

    /**
     * Entries of the queue.
     *
     * @return its depth
     */
    public int depth() {
        return receives.capacity();
    }

    /**
     * For a driver whose device names a receive by its place: the sequence of the entry that was posted there last.
     *
     * @param index place in the ring; more bits than the depth has are not looked at
     * @return how many were posted before it; negative if nothing was ever posted there
     */
    public long sequence(int index) {
        final long first = receives.retired();
        final long next = first + ((index - (int) first) & (done.length - 1));
        return next < receives.posted() ? next : next - done.length;
    }

    /**
     * For a driver: the caller's tag of an entry.
     *
     * @param sequence how many were posted before it; its slot has not been posted again since
     * @return 64 bits
     */
    public long tag(long sequence) {
        return receives.tag(sequence);
    }

    /**
     * Receives that can be posted before {@link #postRecv} returns false.
     *
     * @return free slots
     */
    public int free() {
        return receives.free();
    }

    @Override
    public String toString() {
        return "SRQ " + number;
    }
}
