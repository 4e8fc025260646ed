package io.cqring.cq;

import io.cqring.memory.CacheLines;
import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

/**
 * Where things lie in a completion queue's memory.
 *
 * <pre>
 *   byte 0     magic | what the queue is | checksum    written once, by create: see CqHeader
 *   byte 128   consumer sequence                       written by the host: the doorbell record
 *              | entries passed over
 *   byte 192   dead | closed, or a command (Control)   written rarely, read by both
 *              | writers that wait for space
 *   byte 256   producer sequence | lost entries | rejected doorbells     written by the device
 *              | abandoned entries | give-backs        many writers only
 *              | fired | solicited end                 how the device answers the arm word, see QueueArm
 *   byte 320   arm word | armed index                  written by the host before it waits, read by the device
 *   byte 384   row 0, row 1, ...                       many writers only, 128 bytes each
 *              owner | first | count                   owner: under a lock; the claim: by the writer that has the row
 *   then       slot 0, slot 1, ...                     written by the device
 * </pre>
 *
 * <p>Processors fetch lines of 64 bytes, some of them in pairs of 128. So of each pair one line is stored on every poll or with every
 * entry, by one end; the other is read on the way and stored rarely, and disturbs nobody.
 *
 * <p>One writer: the producer sequence counts what is published. Many writers: it counts what is claimed; a row says what its
 * writer may have claimed and not yet published. Owner 0 is a free row, else it is the id of the process that opened it.
 */
final class CqRegion {
    static final int MAGIC = 0;
    static final int CONSUMER_SEQUENCE = CacheLines.SEPARATION_BYTES;
    static final int PASSED_OVER = CONSUMER_SEQUENCE + Long.BYTES;
    static final int DEAD = CONSUMER_SEQUENCE + CacheLines.LINE_BYTES;
    static final int CLOSED = DEAD + Long.BYTES;
    static final int WAITING_WRITERS = CLOSED + Long.BYTES;
    static final int PRODUCER_SEQUENCE = CONSUMER_SEQUENCE + CacheLines.SEPARATION_BYTES;
    static final int LOST_ENTRIES = PRODUCER_SEQUENCE + Long.BYTES;
    static final int REJECTED_DOORBELLS = LOST_ENTRIES + Long.BYTES;
    static final int ABANDONED_ENTRIES = REJECTED_DOORBELLS + Long.BYTES;
    static final int GIVE_BACKS = ABANDONED_ENTRIES + Long.BYTES;
    static final int FIRED = GIVE_BACKS + Long.BYTES;
    static final int SOLICITED_END = FIRED + Long.BYTES;
    static final int ARM = PRODUCER_SEQUENCE + CacheLines.LINE_BYTES;
    static final int ARMED_INDEX = ARM + Long.BYTES;

    /** Where the rows of many writers start; without rows, the slots. */
    static final int FIRST_ROW = PRODUCER_SEQUENCE + CacheLines.SEPARATION_BYTES;

    static final int FIRST_SLOT = FIRST_ROW;
    static final int ROW_BYTES = CacheLines.SEPARATION_BYTES;
    static final int ROW_OWNER = 0;
    static final int ROW_FIRST = ROW_OWNER + Long.BYTES;
    static final int ROW_COUNT = ROW_FIRST + Long.BYTES;

    static final int MAX_WRITERS = 64;

    /** The largest ring: 2^30 bytes of slots, what one ByteBuffer can hold with room for the words above. */
    static final long MAX_SLOTS_BYTES = 1L << 30;

    /** The most slots of any stride; indices of 24 bits, as the vendors'. */
    static final int MAX_CAPACITY = 1 << 24;

    /**
     * Header of a slot that has never been used, in a ring that a live queue is to move to: where in its first lap it begins
     * is not known beforehand, so the owner bit cannot say it. Bits 7:6 are 0 in every entry.
     */
    static final long UNUSED = 0b1100_0000 | CqeOpcode.INVALID << 1;

    private CqRegion() {}

    static long requiredBytes(int capacity, int strideBytes, int writers) {
        CqeLayout.requireStride(strideBytes);
        if (writers < 1 || writers > MAX_WRITERS) {
            throw new IllegalArgumentException("writers must be 1 to " + MAX_WRITERS + ": " + writers);
        }
        long slots = RingGeometry.slotsBytes(capacity, strideBytes);
        return firstSlot(writers) + slots;
    }

    static RingGeometry geometry(int capacity, int strideBytes, int writers) {
        int firstSlot = firstSlot(writers);
        long slots = requiredBytes(capacity, strideBytes, writers) - firstSlot;
        if (capacity > MAX_CAPACITY || slots > MAX_SLOTS_BYTES) {
            throw new IllegalArgumentException("capacity must be at most "
                    + Math.min(MAX_CAPACITY, MAX_SLOTS_BYTES / strideBytes) + " entries of " + strideBytes + " bytes: "
                    + capacity);
        }
        return RingGeometry.of(firstSlot, capacity, strideBytes);
    }

    private static int firstSlot(int writers) {
        return FIRST_ROW + rows(writers) * ROW_BYTES;
    }

    private static int rows(int writers) {
        return writers == 1 ? 0 : writers;
    }

    /**
     * Makes an empty queue of whatever the memory holds: each slot gets the owner bit that its first use will not have, so
     * a recycled ring of either parity yields no phantom entry. Its header is complete last.
     */
    static void initialise(QueueMemory memory, RingGeometry geometry, CqHeader header, long epoch, boolean zeroed) {
        long startSequence = header.startSequence();
        if (!zeroed) {
            int end = geometry.firstSlotOffset() + (geometry.capacity() << geometry.strideShift());
            memory.fill(0, end, (byte) 0);
        }
        for (int index = 0; index < geometry.capacity(); index++) {
            long firstUse = geometry.firstUse(startSequence, index);
            long invalid = invalidHeader(geometry, firstUse);
            if (invalid != 0) {
                memory.putLong(geometry.offset(firstUse) + CqeLayout.HEADER_OFFSET, invalid);
            }
        }
        for (int row = 0; row != rows(header.writers()); row++) {
            memory.putLong(FIRST_ROW + row * ROW_BYTES + ROW_FIRST, startSequence);
        }
        memory.putLong(CONSUMER_SEQUENCE, startSequence);
        memory.putLong(PRODUCER_SEQUENCE, startSequence);
        if (header.events()) {
            memory.putLong(ARMED_INDEX, startSequence);
            memory.putLong(SOLICITED_END, startSequence);
        }
        header.write(memory, epoch);
        CqHeader.publish(memory);
    }

    /**
     * Checks the words that change, at attach, while both ends may be at work. Nothing that is read here is used: each end
     * reads its own index again when it has its role, and checks that value.
     */
    static void requirePlausible(QueueMemory memory, CqHeader header) {
        final long startSequence = header.startSequence();
        final int capacity = header.capacity();
        // Both may move meanwhile, so the consumer sequence is looked at before and after: the host cannot be more than
        // a batch ahead of a producer sequence loaded later, nor more than a ring behind one loaded earlier.
        // Edge CQ-CREDIT and edge CQ-COUNT, observing ends. Partners: HostEnd.publishConsumed,
        // CompletionWriter.publishSequence. Weaker: the three looks may change places, and a healthy queue that is at
        // work is refused. Shown by TakeoverTest.
        long consumedBefore = memory.getLongAcquire(CONSUMER_SEQUENCE);
        long published = memory.getLongAcquire(PRODUCER_SEQUENCE);
        long consumedAfter = memory.getLongOpaque(CONSUMER_SEQUENCE);
        requireReachable(memory, startSequence, capacity, consumedBefore, published, consumedAfter);
        if (header.writers() != 1 && consumedBefore - published > 0) { // entries are counted before they are published
            throw CqHeader.refused(
                    memory,
                    "consumer sequence must be at most the producer sequence, as there are many writers: consumer "
                            + consumedBefore + ", producer " + published,
                    false);
        }
        for (int offset : new int[] {PASSED_OVER, LOST_ENTRIES, REJECTED_DOORBELLS, ABANDONED_ENTRIES, GIVE_BACKS}) {
            long count = memory.getLongOpaque(offset);
            if (count < 0) {
                throw CqHeader.refused(memory, "counter at byte " + offset + " must be 0 or more: " + count, false);
            }
        }
        long flag = memory.getLongOpaque(DEAD);
        if (flag != 0 && flag != 1) {
            throw CqHeader.refused(memory, "flag at byte " + DEAD + " must be 0 or 1: " + flag, false);
        }
        long control = memory.getLongOpaque(CLOSED);
        if (control != 0 && control != Control.CLOSED) {
            throw CqHeader.refused(
                    memory,
                    "control word at byte " + CLOSED + " must be 0 or 1 (a resize or a drain is under way): " + control,
                    false);
        }
        if (header.events()) {
            QueueArm.requirePlausible(memory, startSequence, capacity);
        }
        for (int row = 0; row != rows(header.writers()); row++) {
            requirePlausibleRow(memory, row, startSequence, capacity);
        }
    }

    /** Whatever its writer does meanwhile, each of the words is one that it has stored. */
    private static void requirePlausibleRow(QueueMemory memory, int row, long startSequence, int capacity) {
        final int offset = FIRST_ROW + row * ROW_BYTES;
        final long owner = memory.getLongOpaque(offset + ROW_OWNER);
        final long first = memory.getLongOpaque(offset + ROW_FIRST);
        final long count = memory.getLongOpaque(offset + ROW_COUNT);
        if (owner < 0 || first - startSequence < 0 || count < 0 || count > capacity) {
            throw CqHeader.refused(
                    memory,
                    "row " + row + " must have an owner of 0 or more, a first sequence of " + startSequence
                            + " or later and a count of 0 to " + capacity + ": owner " + owner + ", first " + first
                            + ", count " + count,
                    false);
        }
    }

    /** Checks the two sequences of one moment, as an end has read them. */
    static void requireReachable(QueueMemory memory, long start, int capacity, long consumed, long published) {
        requireReachable(memory, start, capacity, consumed, published, consumed);
    }

    private static void requireReachable(
            QueueMemory memory, long start, int capacity, long consumedBefore, long published, long consumedAfter) {
        if (consumedBefore - start < 0 || published - start < 0) {
            throw CqHeader.refused(
                    memory,
                    "sequences must be " + start + " (the first) or later: consumer " + consumedBefore + ", producer "
                            + published,
                    false);
        }
        // Either may be ahead: the producer sequence follows the owner bits by which the host polls.
        if (published - consumedAfter > capacity || consumedBefore - published > capacity) {
            throw CqHeader.refused(
                    memory,
                    "sequences must be within " + capacity + " entries of each other: consumer " + consumedAfter
                            + ", producer " + published,
                    false);
        }
    }

    private static long invalidHeader(RingGeometry geometry, long sequence) {
        return geometry.phase(sequence) ^ CqeLayout.OWNER_MASK;
    }

    /** Makes the queue empty again, in the ring it is in, with both ends at a standstill. */
    static void clear(QueueMemory memory, Ring ring, long startSequence) {
        RingGeometry geometry = ring.geometry();
        for (int index = 0; index < geometry.capacity(); index++) {
            long firstUse = geometry.firstUse(startSequence, index);
            ring.memory()
                    .putLong(geometry.offset(firstUse) + CqeLayout.HEADER_OFFSET, invalidHeader(geometry, firstUse));
        }
        for (int word : new int[] {LOST_ENTRIES, REJECTED_DOORBELLS, DEAD}) {
            memory.putLongOpaque(word, 0);
        }
        memory.putLongOpaque(CONSUMER_SEQUENCE, startSequence);
        memory.putLongOpaque(PRODUCER_SEQUENCE, startSequence);
    }

    /** A ring for a live queue to move to, in memory of its own: no slot is an entry, whatever the memory holds. */
    static Ring unusedRing(QueueMemory memory, int capacity, int strideBytes) {
        RingGeometry geometry = RingGeometry.of(0, capacity, strideBytes);
        for (int index = 0; index < capacity; index++) {
            memory.putLong(geometry.offset(index) + CqeLayout.HEADER_OFFSET, UNUSED);
        }
        return new Ring(memory, geometry);
    }
}
