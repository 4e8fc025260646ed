package io.cqring.simnic.cli;

import io.cqring.memory.QueueMemory;
import io.cqring.simnic.SimNic;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;

/**
 * Chunk buffers of one rank in one direction, for each peer as many as a queue pair has slots. A buffer is a page of the
 * region, large enough for a whole chunk; memory is kept for its head only.
 */
final class ChunkBuffers {
    /** Regions lie this far apart in the address space; none is longer. */
    private static final int REGION_SHIFT = 56;

    private final QueueMemory memory;
    private final MemoryRegion region;
    private final int pageShift;
    private final int bufferBytes;

    /**
     * Allocates them, and registers the region.
     *
     * @param number of the region: which part of the address space is its
     */
    ChunkBuffers(SimNic nic, ProtectionDomain domain, RunOptions options, long number, int rights) {
        this.pageShift = options.pageShift();
        this.bufferBytes = options.bufferBytes();
        this.memory = QueueMemory.allocate(options.memoryBytesPerDirection());
        this.region = nic.registerSparseMemory(
                domain,
                (number + 1) << REGION_SHIFT,
                (long) options.buffersPerDirection() << pageShift,
                memory,
                pageShift,
                options.residentBytes(),
                rights);
    }

    QueueMemory memory() {
        return memory;
    }

    MemoryRegion region() {
        return region;
    }

    /** Of a buffer, for the device. */
    long address(int buffer) {
        return region.address() + ((long) buffer << pageShift);
    }

    /** Of a buffer's head, in the memory. */
    int offset(int buffer) {
        return buffer * bufferBytes;
    }
}
