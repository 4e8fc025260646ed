package io.cqring.eq;

import io.cqring.memory.CacheLines;
import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

/**
 * Where things lie in an event queue's memory. Words that different threads write are 128 bytes apart. There is no header: both
 * ends are in one process.
 *
 * <pre>
 *   byte 0     consumer sequence | overruns taken       written by the host
 *   byte 128   arm word                                 armed by the host, disarmed by the device
 *   byte 256   producer sequence                        written by the device: what its threads have claimed
 *              | credit                                 written by the device: the consumer sequence, as last seen, and a ring more
 *   byte 384   overruns                                 written by the device: events that found no slot
 *              | closed                                 written once
 *   byte 512   slot 0, slot 1, ...                      written by the device
 * </pre>
 *
 * <p>Arm word: bit 0 armed, the rest the low 63 bits of the first sequence that the host wants to hear of. The overrun flag is
 * "overruns differs from overruns taken": with a count at each end, clearing it cannot wipe out an overrun that comes meanwhile.
 */
final class EqRegion {
    static final int CONSUMER_SEQUENCE = 0;
    static final int OVERRUNS_TAKEN = CONSUMER_SEQUENCE + Long.BYTES;
    static final int ARM = CONSUMER_SEQUENCE + CacheLines.SEPARATION_BYTES;
    static final int PRODUCER_SEQUENCE = ARM + CacheLines.SEPARATION_BYTES;
    static final int CREDIT = PRODUCER_SEQUENCE + Long.BYTES;
    static final int OVERRUNS = PRODUCER_SEQUENCE + CacheLines.SEPARATION_BYTES;
    static final int CLOSED = OVERRUNS + Long.BYTES;
    static final int FIRST_SLOT = OVERRUNS + CacheLines.SEPARATION_BYTES;

    /** Bit of the arm word. */
    static final long ARMED = 1;

    /** The most slots: indices of 24 bits, as the vendors', and 2^30 bytes of memory. */
    static final int MAX_CAPACITY = 1 << 24;

    private EqRegion() {}

    static RingGeometry geometry(int capacity) {
        RingGeometry.slotsBytes(capacity, EqeLayout.BYTES); // a power of two
        if (capacity > MAX_CAPACITY) {
            throw new IllegalArgumentException("capacity must be at most " + MAX_CAPACITY + " events: " + capacity);
        }
        return RingGeometry.of(FIRST_SLOT, capacity, EqeLayout.BYTES);
    }

    static long requiredBytes(int capacity) {
        return FIRST_SLOT + RingGeometry.slotsBytes(capacity, EqeLayout.BYTES);
    }

    /** Makes an empty queue, not armed, of whatever the memory holds. */
    static void initialise(QueueMemory memory, RingGeometry geometry, long startSequence) {
        memory.fill(0, (int) requiredBytes(geometry.capacity()), (byte) 0);
        for (int index = 0; index != geometry.capacity(); index++) {
            // The owner bit that the slot's first use will not have.
            final long firstUse = geometry.firstUse(startSequence, index);
            memory.putLong(
                    geometry.offset(firstUse) + EqeLayout.HEADER_OFFSET,
                    geometry.phase(firstUse) ^ EqeLayout.OWNER_MASK);
        }
        memory.putLong(CONSUMER_SEQUENCE, startSequence);
        memory.putLong(PRODUCER_SEQUENCE, startSequence);
        memory.putLong(CREDIT, startSequence + geometry.capacity());
    }

    /** The arm word that asks for events from {@code sequence} on. */
    static long armedAt(long sequence) {
        return sequence << 1 | ARMED;
    }

    /** Whether an arm word asks for the event with this sequence. */
    static boolean asksFor(long arm, long sequence) {
        return (arm & ARMED) != 0 && (sequence << 1) - (arm & ~ARMED) >= 0;
    }
}
