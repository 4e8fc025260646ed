package io.cqring.ring;

/**
 * Where the slots of a ring lie and who owns them: pure arithmetic, touches no memory, keeps no state.
 *
 * <pre>
 *   sequence   entries before this one since creation, a 64-bit count       0 1 2 3 | 4 5 6 7 | 8 ...     (capacity 4)
 *   index      sequence &amp; (capacity - 1)                                    0 1 2 3 | 0 1 2 3 | 0 ...
 *   lap        sequence &gt;&gt;&gt; log2(capacity)                                     0    |    1    | 2
 *   phase      owner bit of a valid entry on that lap                          1    |    0    | 1
 * </pre>
 *
 * <p>The phase is 1 on even laps: zeroed memory is a fresh, empty ring. Sequences are compared by difference and shifted
 * unsigned, so rules and order hold across 2^31, 2^32 and 2^63 alike; a ring would need centuries to get there.
 *
 * <p>This class is the only spelling of the phase rule. Hot loops call the static forms with fields held in locals; the
 * instance forms are for everybody else. Source: seed 000 section 2.1 (owner bit against the driver's phase).
 */
public final class RingGeometry {
    private final int firstSlotOffset;
    private final int capacity;
    private final int strideBytes;

    private RingGeometry(int firstSlotOffset, int capacity, int strideBytes) {
        this.firstSlotOffset = firstSlotOffset;
        this.capacity = capacity;
        this.strideBytes = strideBytes;
    }

    /**
     * A ring of {@code capacity} slots of {@code strideBytes} each.
     *
     * @param firstSlotOffset offset of slot 0, in bytes from the start of the region; a multiple of the stride
     * @param capacity        slots; a power of two
     * @param strideBytes     bytes from slot to slot; a power of two, 8 or more
     * @return the geometry
     * @throws IllegalArgumentException if a number breaks its rule or the last slot ends beyond 2^31-1 bytes
     */
    public static RingGeometry of(int firstSlotOffset, int capacity, int strideBytes) {
        long end = firstSlotOffset + slotsBytes(capacity, strideBytes);
        if (firstSlotOffset < 0 || firstSlotOffset % strideBytes != 0) {
            throw new IllegalArgumentException("first slot offset must be a multiple of the stride, " + strideBytes
                    + " bytes: " + firstSlotOffset);
        }
        if (end > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("ring must end within " + Integer.MAX_VALUE + " bytes: capacity "
                    + capacity + " x stride " + strideBytes + " ends at " + end);
        }
        return new RingGeometry(firstSlotOffset, capacity, strideBytes);
    }

    /**
     * Bytes that the slots of a ring take, exact for every int capacity.
     *
     * @param capacity    slots; a power of two
     * @param strideBytes bytes from slot to slot; a power of two, 8 or more
     * @return bytes
     * @throws IllegalArgumentException if a number breaks its rule
     */
    public static long slotsBytes(int capacity, int strideBytes) {
        if (capacity < 1 || Integer.bitCount(capacity) != 1) {
            throw new IllegalArgumentException("capacity must be a power of two, 1 or more: " + capacity);
        }
        if (strideBytes < Long.BYTES || Integer.bitCount(strideBytes) != 1) {
            throw new IllegalArgumentException("stride must be a power of two, 8 bytes or more: " + strideBytes);
        }
        return (long) capacity * strideBytes;
    }

    /**
     * Owner bit of a valid entry: the rule itself.
     *
     * @param sequence the entry's sequence
     * @param lapShift log2 of the capacity, see {@link #lapShift()}
     * @return 1 on even laps, 0 on odd ones
     */
    public static long phase(long sequence, int lapShift) {
        return ~(sequence >>> lapShift) & 1;
    }

    /**
     * Offset of a slot.
     *
     * @param sequence        the entry's sequence
     * @param firstSlotOffset offset of slot 0, in bytes
     * @param indexMask       capacity - 1, see {@link #indexMask()}
     * @param strideShift     log2 of the stride, see {@link #strideShift()}
     * @return bytes from the start of the region
     */
    public static int offset(long sequence, int firstSlotOffset, int indexMask, int strideShift) {
        return firstSlotOffset + (((int) sequence & indexMask) << strideShift);
    }

    /**
     * Owner bit of a valid entry.
     *
     * @param sequence the entry's sequence
     * @return 1 on even laps, 0 on odd ones
     */
    public long phase(long sequence) {
        return phase(sequence, lapShift());
    }

    /**
     * Offset of a slot.
     *
     * @param sequence the entry's sequence
     * @return bytes from the start of the region
     */
    public int offset(long sequence) {
        return offset(sequence, firstSlotOffset, indexMask(), strideShift());
    }

    /**
     * The first sequence, from {@code start} on, that uses a slot.
     *
     * @param start the first sequence of the ring's life
     * @param index slot number, 0 to capacity - 1
     * @return a sequence from {@code start} to {@code start + capacity - 1}
     */
    public long firstUse(long start, int index) {
        return start + ((index - (int) start) & indexMask());
    }

    /**
     * Slots in the ring.
     *
     * @return entries
     */
    public int capacity() {
        return capacity;
    }

    /**
     * Bytes from slot to slot.
     *
     * @return bytes
     */
    public int strideBytes() {
        return strideBytes;
    }

    /**
     * Offset of slot 0.
     *
     * @return bytes from the start of the region
     */
    public int firstSlotOffset() {
        return firstSlotOffset;
    }

    /**
     * What turns a sequence into an index.
     *
     * @return capacity - 1
     */
    public int indexMask() {
        return capacity - 1;
    }

    /**
     * What turns an index into bytes.
     *
     * @return log2 of the stride
     */
    public int strideShift() {
        return Integer.numberOfTrailingZeros(strideBytes);
    }

    /**
     * What turns a sequence into a lap.
     *
     * @return log2 of the capacity
     */
    public int lapShift() {
        return Integer.numberOfTrailingZeros(capacity);
    }
}
