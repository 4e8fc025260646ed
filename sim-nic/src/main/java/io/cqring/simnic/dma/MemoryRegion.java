package io.cqring.simnic.dma;

import io.cqring.memory.QueueMemory;

/**
 * A range of virtual addresses that the device may use, and the memory behind it. What the host sees of it is immutable; any thread.
 *
 * <pre>
 *   plain    |################################|     every byte has memory behind it
 *   sparse   |####......|####......|####......|     of each page of 2^pageShift bytes only the first residentBytes have
 *             page 0     page 1     page 2          page p lies at p x roundUp(residentBytes, 64) in the memory
 * </pre>
 *
 * <p>A sparse region stands for a huge buffer of which only the head of each page is real. The device checks the full
 * range of every message all the same; only the bytes differ: those that are not resident are neither stored nor
 * loaded.
 *
 * <p>The keys are proof of the right to use the region, the {@code lkey} in one's own work requests, the {@code rkey}
 * in the peer's. They differ, and a later region never gets the same ones soon: a stale or swapped key is refused.
 */
public final class MemoryRegion {
    /** Page shift of a plain region: one page, larger than any region. */
    static final int ONE_PAGE = 62;

    private static final int RESIDENT_ALIGNMENT = 64;

    final ProtectionDomain domain;
    final QueueMemory memory;
    private final long address;
    private final long length;
    private final int memoryOffset;
    private final int pageShift;
    private final long residentBytes;
    private final long residentStride;
    private final int rights;
    private final int lkey;
    private final int rkey;

    /** Of the thread that has the table. */
    boolean deregistered;

    /** Of the thread that has the table: its keys have been made invalid. */
    boolean invalidated;

    MemoryRegion(
            ProtectionDomain domain,
            long address,
            long length,
            int rights,
            QueueMemory memory,
            int memoryOffset,
            int pageShift,
            long residentBytes,
            int lkey,
            int rkey) {
        this.domain = domain;
        this.address = address;
        this.length = length;
        this.rights = rights;
        this.memory = memory;
        this.memoryOffset = memoryOffset;
        this.pageShift = pageShift;
        this.residentBytes = residentBytes;
        this.residentStride = roundUp(residentBytes);
        this.lkey = lkey;
        this.rkey = rkey;
    }

    /**
     * A region of the device's own, in no table: all of a memory, from address 0 on.
     *
     * @param memory the memory
     * @return the region
     */
    public static MemoryRegion ofDevice(QueueMemory memory) {
        return new MemoryRegion(
                null, 0, memory.sizeBytes(), AccessRights.ALL, memory, 0, ONE_PAGE, memory.sizeBytes(), 0, 0);
    }

    private static long roundUp(long residentBytes) {
        return (residentBytes + RESIDENT_ALIGNMENT - 1) & -RESIDENT_ALIGNMENT;
    }

    /**
     * Memory that a sparse region needs behind it, exact.
     *
     * @param length        bytes of the region, 1 or more
     * @param pageShift     log2 of the page size, 0 to 62
     * @param residentBytes bytes of each page that are real, 1 or more
     * @return bytes
     * @throws ArithmeticException if the number exceeds 2^63-1
     */
    public static long sparseMemoryBytes(long length, int pageShift, int residentBytes) {
        long pages = ((length - 1) >>> pageShift) + 1;
        return Math.multiplyExact(pages, roundUp(residentBytes));
    }

    /**
     * First address of the region.
     *
     * @return a virtual address
     */
    public long address() {
        return address;
    }

    /**
     * Size of the range.
     *
     * @return bytes
     */
    public long length() {
        return length;
    }

    /**
     * What may be done with it.
     *
     * @return bits of {@link AccessRights}
     */
    public int rights() {
        return rights;
    }

    /**
     * Key for the owner's work requests.
     *
     * @return the key
     */
    public int lkey() {
        return lkey;
    }

    /**
     * Key for the peer's work requests.
     *
     * @return the key
     */
    public int rkey() {
        return rkey;
    }

    /**
     * Where a byte lies in the memory behind the region.
     *
     * @param address a virtual address
     * @return bytes from the start of the memory; -1 if the address is outside the region or not resident
     */
    public int memoryOffset(long address) {
        return covers(address, 1) && residentRun(address) > 0 ? resident(address) : -1;
    }

    /**
     * Whether its keys are still good. For the device's thread.
     *
     * @return false once it was taken out of its table
     */
    public boolean isRegistered() {
        return !deregistered;
    }

    /** Whether the range lies within the region: exact for all 64-bit addresses. */
    boolean covers(long address, long length) {
        long offset = address - this.address; // negative, as unsigned: huge, hence outside
        return Long.compareUnsigned(offset, this.length) <= 0 && length <= this.length - offset;
    }

    /** Bytes from this address to the end of the resident part of its page; 0 or less if it is not resident. */
    long residentRun(long address) {
        return residentBytes - inPage(address);
    }

    /** Bytes from this address to the end of its page. */
    long pageRun(long address) {
        return (1L << pageShift) - inPage(address);
    }

    /** Where a resident byte lies in the memory. */
    int resident(long address) {
        long page = (address - this.address) >>> pageShift;
        return (int) (memoryOffset + page * residentStride + inPage(address));
    }

    private long inPage(long address) {
        return (address - this.address) & ((1L << pageShift) - 1);
    }

    @Override
    public String toString() {
        return "memory region at 0x" + Long.toHexString(address) + ", " + length + " bytes, lkey 0x"
                + Integer.toHexString(lkey) + ", rkey 0x" + Integer.toHexString(rkey);
    }
}
