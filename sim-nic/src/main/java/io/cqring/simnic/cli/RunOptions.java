package io.cqring.simnic.cli;

import io.cqring.memory.CacheLines;
import io.cqring.simnic.fault.FaultKind;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * How a workload is run, checked.
 *
 * @param ranks          ranks that communicate, 2 to {@value #MAX_RANKS}
 * @param chunkBytes     the most bytes of one work request, 1 to 2^31-1
 * @param copyLimitBytes bytes at the head of a chunk that are really moved and checked, 0 or more
 * @param cqeBytes       bytes per completion entry: 32, 64 or 128
 * @param depth          entries per completion queue, a power of two; empty if the depth is to follow the traffic
 * @param window         the most unfinished chunks per queue pair, 1 or more
 * @param seed           what the content is derived from
 * @param merge          whether the device may merge completions
 * @param pollers        host threads that share the polling of every completion queue, 1 to {@value #MAX_POLLERS}
 * @param events         how the host waits
 * @param profile        the vendor whose queues are used; empty: the reference layout
 */
record RunOptions(
        int ranks,
        long chunkBytes,
        long copyLimitBytes,
        int cqeBytes,
        OptionalInt depth,
        int window,
        long seed,
        boolean merge,
        int pollers,
        EventOptions events,
        Optional<VendorProfile> profile) {

    static final int MAX_RANKS = 64;
    static final int MAX_POLLERS = 16;
    private static final long MAX_REGION_BYTES = 2_147_483_000L;
    private static final int MAX_WINDOW = 1 << 16;

    /**
     * Where a depth that follows the traffic starts: what one turn of the NIC can bring a queue, 16 sends of one queue pair and 16
     * receives of its peer's. Below that every burst would hold the NIC back; from there on it shows as a full ring.
     */
    private static final int SHALLOW = 32;

    RunOptions {
        require(ranks >= 2 && ranks <= MAX_RANKS, "--ranks must be 2 to " + MAX_RANKS, ranks);
        require(
                chunkBytes >= 1 && chunkBytes <= Integer.MAX_VALUE,
                "--chunk must be 1 to 2147483647 bytes",
                chunkBytes);
        require(copyLimitBytes >= 0, "--copy-limit must be 0 bytes or more", copyLimitBytes);
        require(window >= 1 && window <= MAX_WINDOW, "--window must be 1 to " + MAX_WINDOW, window);
        profile.ifPresent(vendor -> requireSuits(vendor, cqeBytes, merge, pollers, window, depth, events));
        require(cqeBytes == 32 || cqeBytes == 64 || cqeBytes == 128, "--cqe must be 32, 64 or 128 bytes", cqeBytes);
        require(pollers >= 1 && pollers <= MAX_POLLERS, "--pollers must be 1 to " + MAX_POLLERS, pollers);
        require(!merge || pollers == 1, "--merge needs one poller, --pollers", pollers);
        if (depth.isPresent()) {
            requireDepth(ranks, window, cqeBytes, depth.getAsInt());
        } else {
            require(pollers == 1, "--depth auto needs one poller, --pollers", pollers);
            if (merge) {
                throw new IllegalArgumentException(
                        "--depth auto needs queues that can be resized, not those of --merge");
            }
        }
        require(
                pollers == 1 || !events.hasEvents(),
                "--mode " + events.mode().label() + " needs one poller, --pollers",
                pollers);
        require(events.eqs() <= ranks, "--eqs must be 1 to the number of ranks, " + ranks, events.eqs());
        require(
                (ranks - 1L) * ChunkLedger.slots(window) * roundUp(Math.min(chunkBytes, copyLimitBytes))
                        < MAX_REGION_BYTES,
                "(ranks - 1) x window x --copy-limit must stay below 2147483000 bytes, --copy-limit",
                copyLimitBytes);
    }

    private static void requireSuits(
            VendorProfile vendor,
            int cqeBytes,
            boolean merge,
            int pollers,
            int window,
            OptionalInt depth,
            EventOptions events) {
        final String with = " with --profile " + vendor.label();
        require(vendor.hasStride(cqeBytes), "--cqe must be a size that the vendor has" + with, cqeBytes);
        require(pollers == 1, "--pollers must be 1" + with, pollers);
        require(
                ChunkLedger.slots(window) <= VendorQueue.MAX_WORK_QUEUE,
                "--window must be at most " + VendorQueue.MAX_WORK_QUEUE + with,
                window);
        if (depth.isEmpty()) {
            throw new IllegalArgumentException("--depth must be a number" + with + ": auto");
        }
        final int most = vendor.mostEntries(cqeBytes);
        require(
                depth.getAsInt() <= most,
                "--depth must be at most " + most + " with --cqe " + cqeBytes + with,
                depth.getAsInt());
        if (merge && vendor != VendorProfile.MLX5) {
            throw new IllegalArgumentException(
                    "--merge needs the reference profile or mlx5, --profile: " + vendor.label());
        }
        if (events.mode() == PollMode.INTERRUPT) {
            throw new IllegalArgumentException("--mode must be poll, event or hybrid" + with + ": interrupt");
        }
    }

    /** Whether a run like this can meet a fault of this kind. */
    void requireSuits(FaultKind kind) {
        if (kind.needsEvents() && !events.hasEvents()) {
            throw new IllegalArgumentException(
                    "--fault " + kind.label() + " needs --mode event, hybrid or interrupt, --mode: "
                            + events.mode().label());
        }
        if (kind == FaultKind.TORN_ENTRY && profile.isPresent()) {
            throw new IllegalArgumentException(
                    "--fault torn-entry needs the reference profile, --profile: " + profileLabel());
        }
        final boolean losesEvents = kind == FaultKind.DROP_EVENT || kind == FaultKind.DROP_ARM;
        if (losesEvents && profile.equals(Optional.of(VendorProfile.BNXT_RE))) {
            throw new IllegalArgumentException("--fault " + kind.label()
                    + " needs a profile whose host can arm again after a lost event, --profile: " + profileLabel());
        }
        require(
                pollers == 1 || kind != FaultKind.SLOW_CONSUMER,
                "--fault slow-consumer needs one poller, --pollers",
                pollers);
    }

    private static void requireDepth(int ranks, int window, int cqeBytes, int depth) {
        int smallest = smallestDepth(ranks, window);
        String rule = "--depth must be a power of two and hold 2 x (ranks - 1) x window = " + 2L * (ranks - 1) * window
                + " entries, so at least " + smallest;
        require(depth >= smallest && Integer.bitCount(depth) == 1, rule, depth);
        int deepest = cqeBytes == 128 ? 1 << 23 : 1 << 24;
        require(depth <= deepest, "--depth must be at most " + deepest + " with --cqe " + cqeBytes, depth);
    }

    private static void require(boolean holds, String rule, long value) {
        if (!holds) {
            throw new IllegalArgumentException(rule + ": " + value);
        }
    }

    /** As on the command line. */
    String profileLabel() {
        return profile.map(VendorProfile::label).orElse("reference");
    }

    /** Whether the depth follows the traffic. */
    boolean isDepthAuto() {
        return depth.isEmpty();
    }

    /** Entries of a completion queue at the start. */
    int firstDepth() {
        return depth.orElse(Math.min(SHALLOW, largestDepth()));
    }

    /** Entries of a completion queue at the most: no more can be unpolled. */
    int largestDepth() {
        return depth.orElse(smallestDepth(ranks, window));
    }

    /** The smallest depth that is accepted: a rank has ranks - 1 queue pairs, each with a window of chunks out and one in. */
    static int smallestDepth(int ranks, int window) {
        return ChunkLedger.slots(2 * (ranks - 1) * window);
    }

    /** Bytes of a chunk that memory is kept for, and that are moved. */
    int residentBytes() {
        return (int) Math.min(chunkBytes, copyLimitBytes);
    }

    /** Bytes of memory behind one chunk buffer: whole cache lines. */
    int bufferBytes() {
        return (int) roundUp(residentBytes());
    }

    private static long roundUp(long bytes) {
        return (bytes + CacheLines.LINE_BYTES - 1) & -CacheLines.LINE_BYTES;
    }

    /** Log2 of the address space of one chunk buffer: the next power of two that holds a chunk. */
    int pageShift() {
        return Math.max(6, Long.SIZE - Long.numberOfLeadingZeros(chunkBytes - 1));
    }

    /** Chunk buffers of one rank in one direction. */
    int buffersPerDirection() {
        return (ranks - 1) * ChunkLedger.slots(window);
    }

    /** Memory of one rank in one direction. */
    long memoryBytesPerDirection() {
        return Math.max(CacheLines.LINE_BYTES, buffersPerDirection() * roundUp(Math.min(chunkBytes, copyLimitBytes)));
    }
}
