package io.cqring.simnic.dma;

import io.cqring.memory.QueueMemory;
import io.cqring.simnic.fault.DeviceFaults;
import java.util.ArrayDeque;
import java.util.Arrays;

/**
 * The device's table of memory regions: finds a region by its key, checks the access and moves the bytes. For the
 * device thread only.
 *
 * <pre>
 *   key   31        8  7   6         0
 *        | index     | R | generation |      R: 0 in an lkey, 1 in an rkey; the generation changes each time an index is reused
 * </pre>
 */
public final class RegionTable {
    private static final int INDEX_SHIFT = 8;
    private static final int REMOTE = 1 << 7;
    private static final int GENERATION_MASK = REMOTE - 1;
    private static final int MAX_REGIONS = 1 << 24;
    private static final long MAX_LENGTH = 1L << MemoryRegion.ONE_PAGE;

    private final ArrayDeque<Integer> free = new ArrayDeque<>();
    private MemoryRegion[] regions = new MemoryRegion[16];
    private int[] generations = new int[16];
    private int used;

    /** An empty table. */
    public RegionTable() {}

    /**
     * Registers a range with memory behind every byte.
     *
     * @param domain       who may use it
     * @param address      first virtual address; the range must not pass 2^64
     * @param length       bytes, 1 or more
     * @param rights       bits of {@link AccessRights}
     * @param memory       the memory
     * @param memoryOffset where the range starts in the memory, in bytes
     * @return the region
     * @throws IllegalArgumentException if a number breaks its rule; nothing is registered
     */
    public MemoryRegion register(
            ProtectionDomain domain, long address, long length, int rights, QueueMemory memory, int memoryOffset) {
        requireRange(address, length, rights);
        if (memoryOffset < 0 || length > memory.sizeBytes() - (long) memoryOffset) {
            throw new IllegalArgumentException("memory of " + memory.sizeBytes() + " bytes is too small for " + length
                    + " bytes from offset " + memoryOffset);
        }
        return add(domain, address, length, rights, memory, memoryOffset, MemoryRegion.ONE_PAGE, length);
    }

    /**
     * Registers a range of which only the head of each page has memory behind it.
     *
     * @param domain        who may use it
     * @param address       first virtual address, and start of page 0; the range must not pass 2^64
     * @param length        bytes, 1 or more
     * @param rights        bits of {@link AccessRights}
     * @param memory        the memory, at least {@link MemoryRegion#sparseMemoryBytes} bytes, used from its start
     * @param pageShift     log2 of the page size, 0 to 62
     * @param residentBytes bytes of each page that are real, 1 to 2^pageShift
     * @return the region
     * @throws IllegalArgumentException if a number breaks its rule; nothing is registered
     */
    public MemoryRegion registerSparse(
            ProtectionDomain domain,
            long address,
            long length,
            int rights,
            QueueMemory memory,
            int pageShift,
            int residentBytes) {
        requireRange(address, length, rights);
        if (pageShift < 0 || pageShift > MemoryRegion.ONE_PAGE) {
            throw new IllegalArgumentException("page shift must be 0 to " + MemoryRegion.ONE_PAGE + ": " + pageShift);
        }
        if (residentBytes < 1 || residentBytes > 1L << pageShift) {
            throw new IllegalArgumentException(
                    "resident bytes must be 1 to the page size, " + (1L << pageShift) + ": " + residentBytes);
        }
        long needed = MemoryRegion.sparseMemoryBytes(length, pageShift, residentBytes);
        if (needed > memory.sizeBytes()) {
            throw new IllegalArgumentException("memory of " + memory.sizeBytes() + " bytes is too small for "
                    + residentBytes + " bytes of each page: " + needed + " bytes are needed");
        }
        return add(domain, address, length, rights, memory, 0, pageShift, residentBytes);
    }

    private static void requireRange(long address, long length, int rights) {
        AccessRights.require(rights);
        if (length < 1 || length > MAX_LENGTH) {
            throw new IllegalArgumentException("length must be 1 to " + MAX_LENGTH + " bytes: " + length);
        }
        if (Long.compareUnsigned(address + length - 1, address) < 0) {
            throw new IllegalArgumentException(
                    "range must not pass 2^64: address 0x" + Long.toHexString(address) + ", length " + length);
        }
    }

    private MemoryRegion add(
            ProtectionDomain domain,
            long address,
            long length,
            int rights,
            QueueMemory memory,
            int memoryOffset,
            int pageShift,
            long residentBytes) {
        int index = free.isEmpty() ? grow() : free.remove();
        int lkey = index << INDEX_SHIFT | (++generations[index] & GENERATION_MASK);
        MemoryRegion region = new MemoryRegion(
                domain, address, length, rights, memory, memoryOffset, pageShift, residentBytes, lkey, lkey | REMOTE);
        regions[index] = region;
        return region;
    }

    private int grow() {
        if (used == MAX_REGIONS) {
            throw new IllegalStateException("the device holds at most " + MAX_REGIONS + " memory regions");
        }
        if (used == regions.length) {
            regions = Arrays.copyOf(regions, 2 * used);
            generations = Arrays.copyOf(generations, 2 * used);
        }
        return used++;
    }

    /**
     * Takes a region out. Its keys are refused from now on.
     *
     * @param region a region of this table
     * @throws IllegalArgumentException if it is not, or not any more
     */
    public void deregister(MemoryRegion region) {
        int index = region.lkey() >>> INDEX_SHIFT;
        if (index >= used || regions[index] != region) {
            throw new IllegalArgumentException("not registered here: " + region);
        }
        regions[index] = null;
        region.deregistered = true;
        free.add(index);
    }

    /**
     * Whether a domain still has regions.
     *
     * @param domain the domain
     * @return true if one is registered
     */
    public boolean isUsed(ProtectionDomain domain) {
        return Arrays.stream(regions).anyMatch(region -> region != null && region.domain == domain);
    }

    /**
     * Finds the region for an access by its own side.
     *
     * @param lkey    the key
     * @param domain  domain of the queue pair
     * @param address first virtual address
     * @param length  bytes, 1 or more
     * @param right   the right needed, one bit of {@link AccessRights}; 0 to read
     * @return the region; null if the key is unknown or an rkey, the domain another, the range not within, the right
     *     missing
     */
    public MemoryRegion findLocal(int lkey, ProtectionDomain domain, long address, long length, int right) {
        MemoryRegion region = find(lkey);
        return region != null && region.lkey() == lkey && allows(region, domain, address, length, right)
                ? region
                : null;
    }

    /**
     * Finds the region for an access by the peer.
     *
     * @param rkey    the key
     * @param domain  domain of the queue pair that is asked, not of the one that asks
     * @param address first virtual address
     * @param length  bytes, 1 or more
     * @param right   the right needed, one bit of {@link AccessRights}
     * @return the region; null if the key is unknown or an lkey, the domain another, the range not within, the right
     *     missing
     */
    public MemoryRegion findRemote(int rkey, ProtectionDomain domain, long address, long length, int right) {
        MemoryRegion region = find(rkey);
        return region != null && region.rkey() == rkey && allows(region, domain, address, length, right)
                ? region
                : null;
    }

    /**
     * Makes the keys of a region invalid: they are refused from now on, and the region stays until it is deregistered.
     *
     * @param rkey   its rkey
     * @param domain domain of the queue pair that asks
     * @return true; false if the key is unknown, an lkey, invalid already or of another domain: nothing is done
     */
    public boolean invalidate(int rkey, ProtectionDomain domain) {
        if (!canInvalidate(rkey, domain)) {
            return false;
        }
        find(rkey).invalidated = true;
        return true;
    }

    /**
     * Whether {@link #invalidate} would do it.
     *
     * @param rkey   its rkey
     * @param domain domain of the queue pair that asks
     * @return whether it would
     */
    public boolean canInvalidate(int rkey, ProtectionDomain domain) {
        MemoryRegion region = find(rkey);
        return region != null && region.rkey() == rkey && region.domain == domain && !region.invalidated;
    }

    private MemoryRegion find(int key) {
        int index = key >>> INDEX_SHIFT;
        return index < used ? regions[index] : null;
    }

    private static boolean allows(MemoryRegion region, ProtectionDomain domain, long address, long length, int right) {
        return region.domain == domain
                && !region.invalidated
                && (region.rights() & right) == right
                && region.covers(address, length);
    }

    /**
     * Moves the bytes of a message whose ranges have been checked. A byte is copied if it is resident at both ends;
     * any other byte of the target keeps its value.
     *
     * @param into        region of the target
     * @param intoAddress first byte there
     * @param from        region of the source
     * @param fromAddress first byte there
     * @param length      bytes to look at, from the first on; 0 or more
     * @param faults      what the pieces pass through
     * @return bytes copied
     */
    public static long copy(
            MemoryRegion into,
            long intoAddress,
            MemoryRegion from,
            long fromAddress,
            long length,
            DeviceFaults faults) {
        long copied = 0;
        long done = 0;
        while (done < length) {
            long target = intoAddress + done;
            long source = fromAddress + done;
            long left = length - done;
            long resident = Math.min(into.residentRun(target), from.residentRun(source));
            if (resident > 0) {
                int piece = (int) Math.min(left, resident);
                faults.copyPayload(into.memory, into.resident(target), from.memory, from.resident(source), piece);
                copied += piece;
                done += piece;
            } else {
                // Skip to where both may be resident again: the end of the page of whichever is not.
                long skip = 1;
                if (into.residentRun(target) <= 0) {
                    skip = Math.max(skip, into.pageRun(target));
                }
                if (from.residentRun(source) <= 0) {
                    skip = Math.max(skip, from.pageRun(source));
                }
                done += Math.min(left, skip);
            }
        }
        return copied;
    }
}
