package io.cqring.jmh;

/**
 * One ring, with the loop of its writer and the loop of its poller, as a careful user of that ring writes them.
 *
 * <p>Entry {@code s} of a round carries the words {@code s, s + 1, s + 2, ...}: 7 of them (56 bytes) in place of a 64-byte
 * completion entry, 3 (24 bytes) in place of a 32-byte one. The poller adds all of them up. Each implementation has its own
 * loops and its own handler classes, and uses one handler class per entry size, so that every call in a loop has one target
 * and the JIT inlines it: no ring suffers from the others being in the same JVM.
 *
 * <p>Waiting is {@link Thread#onSpinWait} for all, at both ends. What was waited for is counted apart.
 */
abstract class Transfer {
    /** Entries in every ring. */
    static final int CAPACITY = 8192;

    /** The most entries one poll takes, where the ring lets its user say so. */
    static final int POLL_LIMIT = 256;

    /** Whether entries have 7 words, not 3. */
    final boolean wide;

    /** Attempts to write that found the ring full. Written by the writer, once per call of {@link #send}. */
    long fullRefusals;

    Transfer(int entryBytes) {
        this.wide = wordsOf(entryBytes) == 7;
    }

    /** Words of payload that stand for a completion entry: what it carries beside its header. */
    static int wordsOf(int entryBytes) {
        if (entryBytes != 64 && entryBytes != 32) {
            throw new IllegalArgumentException("entry must be 64 or 32 bytes: " + entryBytes);
        }
        return entryBytes / Long.BYTES - 1;
    }

    /** Sends entries {@code first} to {@code first + count - 1}. Writing thread. */
    abstract void send(long first, int count);

    /** Takes {@code count} entries: all that are sent in the meantime, no more will come. Polling thread. */
    abstract void receive(long count);

    /** Sum and empty polls so far. Read between rounds. */
    abstract PollerTally tally();

    /** What the words of entries 0 to {@code count - 1} add up to, modulo 2^64. */
    static long expectedSum(long count, int words) {
        long sumOfSequences = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
        return words * sumOfSequences + count * (words * (words - 1L) / 2);
    }
}
