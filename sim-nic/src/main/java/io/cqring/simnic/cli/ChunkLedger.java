package io.cqring.simnic.cli;

/**
 * What was posted on one link (one sender, one receiver) and which of its completions have come. It judges each completion
 * by what was posted, never by what other completions say: lost, duplicated and misordered are found here.
 *
 * <p>A chunk is known by its counter on the link, 0, 1, 2, ...; each ends in two completions, one a side. At most
 * {@code window} chunks are unfinished at a time. Plain arithmetic on arrays, for one thread.
 */
final class ChunkLedger {
    /** The sender's completion. */
    static final int REQUESTER = 0;

    /** The receiver's completion. */
    static final int RESPONDER = 1;

    /** What a completion was. */
    enum Verdict {
        /** Expected, and in order. */
        IN_ORDER,
        /** Expected, but a later chunk's completion of the same side came to the same poller before it. */
        LATE,
        /** It had come already. */
        DUPLICATE,
        /** No such chunk was ever posted. */
        UNKNOWN
    }

    private static final byte BOTH = 1 << REQUESTER | 1 << RESPONDER;

    private final int window;
    private final int mask;
    private final byte[] missing;
    private final int[] bytes;
    private final long[] postedNs;
    private final long[][] newest;
    private long posted;
    private long finished;

    ChunkLedger(int window, int pollers) {
        this(window, pollers, 0);
    }

    /** With the number of the first chunk, so that tests meet the widths of counters early. */
    ChunkLedger(int window, int pollers, long first) {
        this.window = window;
        this.posted = first;
        this.finished = first;
        this.newest = new long[pollers][2];
        int slots = slots(window);
        this.mask = slots - 1;
        this.missing = new byte[slots];
        this.bytes = new int[slots];
        this.postedNs = new long[slots];
    }

    /** Slots a ring needs so that unfinished chunks never share one: the next power of two. */
    static int slots(int window) {
        return window == 1 ? 1 : Integer.highestOneBit(window - 1) << 1;
    }

    boolean hasRoom() {
        return posted - finished < window;
    }

    /** Slot of a chunk, from 0 to {@link #slots} - 1; no other unfinished chunk has it. */
    int slot(long counter) {
        return (int) counter & mask;
    }

    /** Takes a new chunk in; there must be room. Returns its counter. */
    long post(int byteCount, long nowNs) {
        long counter = posted++;
        int slot = slot(counter);
        missing[slot] = BOTH;
        bytes[slot] = byteCount;
        postedNs[slot] = nowNs;
        return counter;
    }

    /** The newest chunk whose counter has these low 24 bits, which is all that an entry keeps of it; negative if there is none. */
    long newest(int wqeCounter) {
        return posted - 1 - (posted - 1 - wqeCounter & 0xFF_FFFF);
    }

    /** Takes a completion in, which {@code poller} has polled. */
    Verdict complete(int poller, int side, long counter) {
        if (counter < 0 || counter >= posted) {
            return Verdict.UNKNOWN;
        }
        int slot = slot(counter);
        if (counter < finished || (missing[slot] >>> side & 1) == 0) {
            return Verdict.DUPLICATE;
        }
        boolean late = counter < newest[poller][side];
        newest[poller][side] = Math.max(newest[poller][side], counter + 1);
        clear(slot, side);
        return late ? Verdict.LATE : Verdict.IN_ORDER;
    }

    private void clear(int slot, int side) {
        missing[slot] &= (byte) ~(1 << side);
        while (finished != posted && missing[slot(finished)] == 0) {
            finished++;
        }
    }

    /** Bytes of an unfinished chunk, or of one that has just finished. */
    int bytes(long counter) {
        return bytes[slot(counter)];
    }

    /** When an unfinished chunk, or one that has just finished, was posted. */
    long postedNs(long counter) {
        return postedNs[slot(counter)];
    }

    long posted() {
        return posted;
    }

    /** The oldest chunk that waits for a completion; {@link #posted} if none does. */
    long oldestUnfinished() {
        return finished;
    }

    /** Whether a chunk's completion of that side is still to come. */
    boolean isMissing(int side, long counter) {
        return counter >= finished && counter < posted && (missing[slot(counter)] >>> side & 1) != 0;
    }

    /** Gives a completion up for lost. */
    void giveUp(int side, long counter) {
        clear(slot(counter), side);
    }
}
