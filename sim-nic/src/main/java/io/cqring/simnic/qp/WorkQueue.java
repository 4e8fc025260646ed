package io.cqring.simnic.qp;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

/**
 * One ring of work entries as the host sees it: where the next one goes, which are outstanding, what was put into them. An entry is named by
 * its sequence: how many were put before it. Says nothing to the device: doorbells are the caller's. For the thread that posts; its stores are
 * plain.
 */
final class WorkQueue {
    private static final int COUNTER_MASK = 0xFF_FFFF;

    private final QueueMemory memory;
    private final RingGeometry ring;

    private long posted;
    private long retired;

    WorkQueue(QueueMemory memory, RingGeometry ring) {
        this.memory = memory;
        this.ring = ring;
    }

    int capacity() {
        return ring.capacity();
    }

    /** Entries ever put: the sequence of the next one. */
    long posted() {
        return posted;
    }

    /** Entries ever retired: the sequence of the oldest outstanding one, if there is one. */
    long retired() {
        return retired;
    }

    int outstanding() {
        return (int) (posted - retired);
    }

    int free() {
        return ring.capacity() - outstanding();
    }

    /** Whether a request of two entries fits; one that never will is refused. */
    boolean hasRoomForTwo() {
        if (ring.capacity() < 2) {
            throw new IllegalArgumentException("this takes two entries, and the queue has one");
        }
        return free() >= 2;
    }

    /** Offset of the slot that the next entry is put into. */
    int next() {
        return ring.offset(posted);
    }

    /**
     * Puts an entry, all eight words of it: nothing of the last lap is left. The first one is given without counter.
     *
     * @return false if the queue is full: nothing is stored
     */
    boolean put(long control, long w1, long w2, long w3, long w4, long w5, long w6, long w7) {
        final long sequence = posted;
        if (sequence - retired == ring.capacity()) {
            return false;
        }
        final QueueMemory memory = this.memory;
        final int slot = ring.offset(sequence);
        memory.putLong(slot, control | WqeLayout.control(0, 0, sequence));
        memory.putLong(slot + 8, w1);
        memory.putLong(slot + 16, w2);
        memory.putLong(slot + 24, w3);
        memory.putLong(slot + 32, w4);
        memory.putLong(slot + 40, w5);
        memory.putLong(slot + 48, w6);
        memory.putLong(slot + 56, w7);
        posted = sequence + 1;
        return true;
    }

    /**
     * Puts a request whose memory is a list of more than one piece: two entries, the second with all pieces but the first.
     *
     * @return false if the queue has no room for two: nothing is stored
     */
    boolean putList(int opcode, int flags, long workRequestId, SgList list, long w4, long w5) {
        if (!hasRoomForTwo()) {
            return false;
        }
        put(
                WqeLayout.control(opcode, flags, 0) | WqeLayout.CHAINED | (list.count - 1) << 16,
                workRequestId,
                list.addresses[0],
                list.lengths[0],
                w4,
                w5,
                0,
                0);
        return put(
                WqeOpcode.EXTENSION,
                list.addresses[1],
                list.lengths[1],
                list.addresses[2],
                list.lengths[2],
                list.addresses[3],
                list.lengths[3],
                0);
    }

    /**
     * Entries outstanding before that of a counter. An entry with this number of outstanding ones or more before it is not outstanding itself.
     */
    int ahead(int wqeCounter) {
        return (wqeCounter - (int) retired) & COUNTER_MASK;
    }

    /**
     * Frees the slot of an entry, and those of all before it.
     *
     * @return slots freed; 0 if the entry is not outstanding
     */
    int retire(int wqeCounter) {
        final int count = ahead(wqeCounter);
        if (count >= outstanding()) {
            return 0;
        }
        retired += count + 1;
        return count + 1;
    }

    /** The caller's tag of the request that an entry belongs to. */
    long tag(long sequence) {
        return memory.getLong(first(sequence) + WqeLayout.WORK_REQUEST_ID_OFFSET);
    }

    /** Control word of the request that an entry belongs to. */
    long control(long sequence) {
        return memory.getLong(first(sequence));
    }

    /** Whether the request of an entry goes on in the next one. */
    boolean goesOn(long sequence) {
        return WqeLayout.isChained(memory.getLong(ring.offset(sequence)));
    }

    /** Where the request that an entry belongs to begins. */
    private int first(long sequence) {
        final int slot = ring.offset(sequence);
        return WqeLayout.opcode(memory.getLong(slot)) == WqeOpcode.EXTENSION ? ring.offset(sequence - 1) : slot;
    }

    /** Forgets all entries. */
    void clear() {
        posted = 0;
        retired = 0;
    }
}
