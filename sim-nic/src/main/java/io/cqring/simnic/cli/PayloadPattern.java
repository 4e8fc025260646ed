package io.cqring.simnic.cli;

import io.cqring.memory.QueueMemory;

/**
 * The content of a chunk, derived from the run's seed, the link and the chunk's counter: no two chunks carry the same bytes,
 * so a payload that is stale, foreign, late or torn is found. The generator is the finaliser of SplitMix64 over a counter
 * (Steele, Lea and Flood, 2014).
 */
final class PayloadPattern {
    private static final long GAMMA = 0x9E37_79B9_7F4A_7C15L;

    private final long seed;

    PayloadPattern(long seed) {
        this.seed = seed;
    }

    private long start(int link, long counter) {
        return mix(mix(seed + GAMMA * link) + GAMMA * counter);
    }

    private static long mix(long x) {
        long y = (x ^ (x >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        y = (y ^ (y >>> 27)) * 0x94D0_49BB_1331_11EBL;
        return y ^ (y >>> 31);
    }

    /** Writes a chunk's content; the offset is a multiple of 8 and the range may be written up to the next multiple of 8. */
    void write(QueueMemory memory, int offset, int length, int link, long counter) {
        long start = start(link, counter);
        for (int i = 0; i < length; i += Long.BYTES) {
            memory.putLong(offset + i, start + GAMMA * i);
        }
    }

    /** Whether memory holds a chunk's content; the offset is a multiple of 8. */
    boolean matches(QueueMemory memory, int offset, int length, int link, long counter) {
        long start = start(link, counter);
        long difference = 0;
        int whole = length & -Long.BYTES;
        for (int i = 0; i < whole; i += Long.BYTES) {
            difference |= memory.getLong(offset + i) ^ (start + GAMMA * i);
        }
        if (whole != length) {
            long tail = memory.getLong(offset + whole) ^ (start + GAMMA * whole);
            difference |= tail & ((1L << ((length - whole) * Byte.SIZE)) - 1);
        }
        return difference == 0;
    }
}
