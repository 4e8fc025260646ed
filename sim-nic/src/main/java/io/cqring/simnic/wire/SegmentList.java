package io.cqring.simnic.wire;

import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.RegionTable;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.qp.SgList;

/** Pieces of memory whose regions have been found, taken as if they followed each other. Reused; for the device thread. */
public final class SegmentList {
    private final MemoryRegion[] regions = new MemoryRegion[SgList.MAX_SEGMENTS];
    private final long[] addresses = new long[SgList.MAX_SEGMENTS];
    private final long[] lengths = new long[SgList.MAX_SEGMENTS];
    private int count;
    private long bytes;

    /** An empty list. */
    public SegmentList() {}

    /** Empties it. */
    public void clear() {
        count = 0;
        bytes = 0;
    }

    /**
     * Adds a piece.
     *
     * @param region  its region; may be null if the length is 0
     * @param address first byte
     * @param length  bytes, 0 or more
     */
    public void add(MemoryRegion region, long address, long length) {
        if (length != 0) {
            regions[count] = region;
            addresses[count] = address;
            lengths[count++] = length;
            bytes += length;
        }
    }

    /**
     * Bytes of all pieces.
     *
     * @return 0 or more
     */
    public long bytes() {
        return bytes;
    }

    /**
     * Whether all regions can still be used.
     *
     * @return false if one was taken out
     */
    public boolean isRegistered() {
        for (int i = 0; i < count; i++) {
            if (!regions[i].isRegistered()) {
                return false;
            }
        }
        return true;
    }

    void copyFrom(SegmentList other) {
        clear();
        for (int i = 0; i < other.count; i++) {
            add(other.regions[i], other.addresses[i], other.lengths[i]);
        }
    }

    /**
     * Moves bytes from list to list.
     *
     * @param into   where to; has room for skip + length
     * @param skip   bytes at its start to leave out
     * @param from   where from; has length bytes
     * @param length bytes to move
     * @param faults what the pieces pass through
     * @return bytes copied
     */
    public static long copy(SegmentList into, long skip, SegmentList from, long length, DeviceFaults faults) {
        int target = 0;
        long targetDone = skip;
        int source = 0;
        long sourceDone = 0;
        long left = length;
        long copied = 0;
        while (left != 0) {
            if (targetDone >= into.lengths[target]) {
                targetDone -= into.lengths[target++];
            } else if (sourceDone == from.lengths[source]) {
                sourceDone = 0;
                source++;
            } else {
                long piece =
                        Math.min(left, Math.min(into.lengths[target] - targetDone, from.lengths[source] - sourceDone));
                copied += RegionTable.copy(
                        into.regions[target],
                        into.addresses[target] + targetDone,
                        from.regions[source],
                        from.addresses[source] + sourceDone,
                        piece,
                        faults);
                targetDone += piece;
                sourceDone += piece;
                left -= piece;
            }
        }
        return copied;
    }
}
