package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

/**
 * The rows of a queue with many writers: which writer has which, and what becomes of the claims of a writer that is gone.
 *
 * <p>A row covers a claim from before it is made until it is published or given back, so it may also cover what its writer
 * never got. For recovery that is enough: a sequence that is claimed, not published, covered by the row of a writer that is
 * gone and by no other can only belong to a writer that is gone (see {@link #fate}).
 *
 * <p>Opening, closing and recovery are rare and share a lock; no other call takes it.
 */
final class ClaimRows {
    /** What recovery finds out about a sequence. */
    private enum Fate {
        /** Published, or never claimed: nothing to do. */
        SETTLED,

        /** The row of a writer that is not gone covers it: it may be its claim. */
        MAY_BE_ANOTHERS,

        /** Claimed by a writer that is gone, and never published. */
        LOST
    }

    final QueueMemory memory;
    final RingGeometry geometry;
    final long startSequence;
    private final OverrunPolicy policy;

    /** Where the writers wait for space, or null. */
    final CreditArm creditArm;

    /** Whose each row is; null: free. */
    private final SharedWriter[] writers;

    /** Writers opened so far: the last one's number, which is what its row says of its owner. */
    private long opened;

    ClaimRows(
            QueueMemory memory,
            RingGeometry geometry,
            long startSequence,
            OverrunPolicy policy,
            int most,
            CreditArm creditArm) {
        this.memory = memory;
        this.geometry = geometry;
        this.startSequence = startSequence;
        this.policy = policy;
        this.creditArm = creditArm;
        this.writers = new SharedWriter[most];
    }

    static int offset(int row) {
        return CqRegion.FIRST_ROW + row * CqRegion.ROW_BYTES;
    }

    /** A new writer in a free row. */
    synchronized SharedWriter open() {
        for (int row = 0; row != writers.length; row++) {
            if (writers[row] == null) {
                memory.putLong(offset(row) + CqRegion.ROW_OWNER, ++opened);
                writers[row] = new SharedWriter(this, row, policy);
                return writers[row];
            }
        }
        throw new IllegalStateException("completion queue takes at most " + writers.length
                + " writers, and all are open: close one, or call recover() if threads have ended without");
    }

    /** A writer that will write no more: frees its row, at once unless its last claim is open and cannot be settled yet. */
    synchronized void retire(SharedWriter writer, boolean queueClosed) {
        writer.markGone();
        if (writers[writer.row()] != writer || queueClosed) {
            return; // freed already, or nobody may touch the memory any more
        }
        if (writer.held == 0) {
            free(writer.row());
        } else {
            settle(writer.row(), gone());
        }
    }

    /** Takes back what writers that are gone have claimed, and frees their rows. Returns entries abandoned. */
    synchronized int recover() {
        boolean[] gone = gone();
        int abandoned = 0;
        for (int row = 0; row != gone.length; row++) {
            if (gone[row]) {
                writers[row].markGone();
                abandoned += settle(row, gone);
            }
        }
        return abandoned;
    }

    /** Found out once per recovery, before anything else is read: whoever goes meanwhile counts as alive. */
    private boolean[] gone() {
        boolean[] gone = new boolean[writers.length];
        for (int row = 0; row != gone.length; row++) {
            gone[row] = writers[row] != null && writers[row].isGone();
        }
        return gone;
    }

    private int settle(int row, boolean[] gone) {
        long first = memory.getLong(offset(row) + CqRegion.ROW_FIRST); // its writer is gone: plain
        long count = memory.getLong(offset(row) + CqRegion.ROW_COUNT);
        long end = first + Math.max(0, Math.min(count, geometry.capacity()));
        int abandoned = 0;
        boolean settled = true;
        for (long next = first; next != end; next++) {
            switch (fate(next, gone)) {
                case LOST -> {
                    abandon(next);
                    abandoned++;
                }
                case MAY_BE_ANOTHERS -> settled = false; // a later recovery will know
                case SETTLED -> {}
            }
        }
        if (settled) {
            free(row);
        }
        return abandoned;
    }

    private void free(int row) {
        memory.putLong(offset(row) + CqRegion.ROW_COUNT, 0);
        memory.putLong(offset(row) + CqRegion.ROW_OWNER, 0);
        writers[row] = null;
    }

    /**
     * What has become of a sequence that the row of a writer that is gone covers.
     *
     * <p>Why it is right: let the sequence be claimed when the producer sequence is read. If by a writer that is not gone, its
     * row has covered it since before that claim, and does until it is published or given back. So either the row is seen to
     * cover it; or it was published before the row was read, and the owner bit shows it; or it was given back in between, and
     * the count of give-backs has changed. If none of these, the claimer is gone, and will do nothing with it any more.
     */
    private Fate fate(long next, boolean[] gone) {
        while (true) { // again only if a writer has given something back meanwhile
            // Edge CLAIM-DEAD, recovering end: the count of give-backs, the claimed count, the rows, the owner bit,
            // then the count of give-backs again. Partner: SharedWriter.storeRow and giveBack. Weaker (in another
            // order): the entry of a living writer is abandoned. Shown by ClaimDeadStress.
            long giveBacks = memory.getLongAcquire(CqRegion.GIVE_BACKS);
            if (memory.getLongAcquire(CqRegion.PRODUCER_SEQUENCE) - next <= 0 || isPublished(next)) {
                return Fate.SETTLED; // asked first, because a row goes on covering what its writer has published
            }
            for (int row = 0; row != gone.length; row++) {
                if (!gone[row] && covers(row, next)) {
                    return Fate.MAY_BE_ANOTHERS;
                }
            }
            if (isPublished(next)) {
                return Fate.SETTLED;
            }
            // Edge CLAIM-DEAD, recovering end, the last of the looks.
            if (memory.getLongAcquire(CqRegion.GIVE_BACKS) == giveBacks) {
                return Fate.LOST;
            }
        }
    }

    /** Whether a sequence that is claimed, or was when we looked, is published; its slot may have been used again since. */
    private boolean isPublished(long next) {
        // Edge CLAIM-DEAD, recovering end: the owner bit, then whether the slot was claimed for the next lap
        // meanwhile. Partner: SharedWriter.publish, then storeRow. Weaker: as in fate.
        long header = memory.getLongAcquire(geometry.offset(next) + CqeLayout.HEADER_OFFSET);
        boolean lapped = memory.getLongAcquire(CqRegion.PRODUCER_SEQUENCE) - next > geometry.capacity();
        return lapped || (header & CqeLayout.OWNER_MASK) == geometry.phase(next);
    }

    private boolean covers(int row, long next) {
        // Edge CLAIM-DEAD, recovering end: a row, between the two looks at the counts. Partner:
        // SharedWriter.storeRow. The two words may be of different claims: then the older one was published or given
        // back before the later word was stored.
        long first = memory.getLongAcquire(offset(row) + CqRegion.ROW_FIRST);
        long count = memory.getLongAcquire(offset(row) + CqRegion.ROW_COUNT);
        long index = next - first;
        return index >= 0 && index < count;
    }

    /** Hands a claimed sequence to the host as an entry that polls pass over. By its writer, or by recovery. */
    void abandon(long next) {
        // Edge CQ-COUNT, device end: the count of abandoned entries, then the owner bit. Partner:
        // CompletionQueue.size. Weaker: an observer counts an abandoned entry as a completion. Get-and-add because
        // several writers count.
        memory.getAndAddLong(CqRegion.ABANDONED_ENTRIES, 1);
        // Edge CQ-OWN, device end: nothing but the header itself is wanted, and what the writer did before (edge
        // DATA). Partner: HostEnd.header. Shown by CqClaimStress.
        memory.putLongRelease(
                geometry.offset(next) + CqeLayout.HEADER_OFFSET,
                (long) CqeOpcode.ABANDONED << 1 | geometry.phase(next));
    }
}
