package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.memory.RoleLock;
import io.cqring.ring.RingGeometry;
import java.util.concurrent.locks.LockSupport;

/**
 * The rows of a queue with many writers: which writer has which, and what becomes of the claims of a writer that is gone.
 *
 * <p>A row covers a claim from before it is made until it is published or given back, so it may also cover what its writer
 * never got. For recovery that is enough: a sequence that is claimed, not published, covered by the row of a writer that is
 * gone and by no other can only belong to a writer that is gone (see {@link #fate}).
 *
 * <p>Opening, closing and recovery are rare and share a lock; no other call takes it. In a file it is a lock between processes
 * as well ({@code <file>.rows}), and each row that a writer has is locked ({@code <file>.writer-<row>}) by the writer's
 * process until the row is free or the process ends. So a row that is not free and that nobody has locked is one of a process
 * that is gone, or of a writer whose process has given it up.
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

    /** What is known of the writer that has a row. */
    private enum Owner {
        NONE,

        /** It may publish, or give back, what its row covers. */
        OPEN,

        /** It will do nothing any more. */
        GONE
    }

    /** How often recovery looks at one sequence: writers may give something back each time, but not so often in a row. */
    private static final int MOST_LOOKS = 1000;

    /** How long one waits before one asks again whether another process, or another queue on the same file, is done. */
    private static final long LOCK_RETRY_NS = 50_000;

    final QueueMemory memory;
    final RingGeometry geometry;
    final long startSequence;
    private final OverrunPolicy policy;

    /** Where the writers wait for space, or null. */
    final CreditArm creditArm;

    /** How the host asks for an event, or null. */
    final QueueArm queueArm;

    /** The writers that this object has opened, by row, until they are gone. */
    private final SharedWriter[] writers;

    /** What this object and others on the same file take in turn; null if the memory is no file. */
    private final RoleLock rowsLock;

    /** For each row, held while there is a writer in {@code writers}; null if the memory is no file. */
    private final RoleLock[] rowLocks;

    ClaimRows(
            QueueMemory memory,
            RingGeometry geometry,
            long startSequence,
            OverrunPolicy policy,
            int most,
            CreditArm creditArm,
            QueueArm queueArm) {
        this.memory = memory;
        this.geometry = geometry;
        this.startSequence = startSequence;
        this.policy = policy;
        this.creditArm = creditArm;
        this.queueArm = queueArm;
        this.writers = new SharedWriter[most];
        this.rowsLock = memory.roleLock("rows");
        this.rowLocks = rowsLock == null ? null : new RoleLock[most];
        for (int row = 0; rowLocks != null && row != most; row++) {
            rowLocks[row] = memory.roleLock("writer-" + row);
        }
    }

    static int offset(int row) {
        return CqRegion.FIRST_ROW + row * CqRegion.ROW_BYTES;
    }

    /** A new writer in a free row. */
    synchronized SharedWriter open() {
        lock();
        try {
            for (int row = 0; row != writers.length; row++) {
                if (isFree(row) && (rowLocks == null || rowLocks[row].tryAcquire())) {
                    // Whoever freed it may have been killed half-way: it covers nothing before it has an owner.
                    memory.putLong(offset(row) + CqRegion.ROW_COUNT, 0);
                    memory.putLong(
                            offset(row) + CqRegion.ROW_OWNER,
                            ProcessHandle.current().pid());
                    writers[row] = new SharedWriter(this, row, policy);
                    return writers[row];
                }
            }
        } finally {
            unlock();
        }
        throw new IllegalStateException(
                "completion queue takes at most " + writers.length
                        + " writers, and all are open: close one, or call recover() if threads or processes have ended without");
    }

    /** A writer that will write no more: frees its row, at once unless its last claim is open and cannot be settled yet. */
    synchronized void retire(SharedWriter writer, boolean queueClosed) {
        writer.markGone();
        int row = writer.row();
        if (writers[row] != writer) {
            return; // gone already
        }
        if (queueClosed) {
            giveUp(row); // nobody may touch the memory any more
            return;
        }
        try {
            lock();
        } catch (RuntimeException | Error e) {
            giveUp(row); // whoever recovers settles it
            throw e;
        }
        try {
            Owner[] owners = owners();
            giveUp(row);
            if (writer.held == 0) {
                free(row);
            } else {
                settle(row, owners);
            }
        } finally {
            unlock();
        }
    }

    /** Takes back what writers that are gone have claimed, and frees their rows. Returns entries abandoned. */
    synchronized int recover() {
        lock();
        try {
            Owner[] owners = owners();
            int abandoned = 0;
            for (int row = 0; row != owners.length; row++) {
                if (owners[row] == Owner.GONE) {
                    if (writers[row] != null) {
                        writers[row].markGone();
                        giveUp(row);
                    }
                    abandoned += settle(row, owners);
                }
            }
            return abandoned;
        } finally {
            unlock();
        }
    }

    /** Gives up this process's locks, once the queue is closed: nobody opens or recovers any more. Any thread. */
    void releaseLocks() {
        for (int row = 0; rowLocks != null && row != rowLocks.length; row++) {
            rowLocks[row].release();
        }
    }

    private void lock() {
        boolean interrupted = false;
        try {
            while (rowsLock != null && !rowsLock.tryAcquire()) {
                interrupted |= Thread.interrupted(); // or it would not park
                LockSupport.parkNanos(LOCK_RETRY_NS);
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void unlock() {
        if (rowsLock != null) {
            rowsLock.release();
        }
    }

    private boolean isFree(int row) {
        return writers[row] == null && memory.getLong(offset(row) + CqRegion.ROW_OWNER) == 0;
    }

    /** This process has no writer in the row any more. If the row is not free, whoever recovers may settle it. */
    private void giveUp(int row) {
        writers[row] = null;
        if (rowLocks != null) {
            rowLocks[row].release();
        }
    }

    /** Found out once per recovery, before anything else is read: whoever goes meanwhile counts as open. */
    private Owner[] owners() {
        Owner[] owners = new Owner[writers.length];
        for (int row = 0; row != owners.length; row++) {
            if (isFree(row)) {
                owners[row] = Owner.NONE;
            } else if (writers[row] != null) {
                owners[row] = writers[row].isGone() ? Owner.GONE : Owner.OPEN;
            } else {
                owners[row] = isLockedElsewhere(row) ? Owner.OPEN : Owner.GONE;
            }
        }
        return owners;
    }

    /**
     * Whether a writer of another process, or of another queue object of this process, has the row. If not, the system's lock
     * shows us all that its last owner stored. It has no owner again before we are done: that takes the rows' lock.
     */
    private boolean isLockedElsewhere(int row) {
        if (rowLocks == null) {
            return false;
        }
        if (!rowLocks[row].tryAcquire()) {
            return true;
        }
        rowLocks[row].release();
        return false;
    }

    private int settle(int row, Owner[] owners) {
        long first = memory.getLong(offset(row) + CqRegion.ROW_FIRST); // its writer is gone: plain
        long count = memory.getLong(offset(row) + CqRegion.ROW_COUNT);
        long end = first + Math.max(0, Math.min(count, geometry.capacity()));
        int abandoned = 0;
        boolean settled = true;
        for (long next = first; next != end; next++) {
            switch (fate(next, owners)) {
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
        if (queueArm != null) {
            // What lies behind can be polled now; and the one that is gone may have published, and raised no event.
            queueArm.wake();
        }
        return abandoned;
    }

    private void free(int row) {
        memory.putLong(offset(row) + CqRegion.ROW_COUNT, 0);
        memory.putLong(offset(row) + CqRegion.ROW_OWNER, 0);
    }

    /**
     * What has become of a sequence that the row of a writer that is gone covers.
     *
     * <p>Why it is right: let the sequence be claimed when the producer sequence is read. If by a writer that is not gone, its
     * row has covered it since before that claim, and does until it is published or given back. So either the row is seen to
     * cover it; or it was published before the row was read, and the owner bit shows it; or it was given back in between, and
     * the count of give-backs has changed. If none of these, the claimer is gone, and will do nothing with it any more. Writers of
     * other processes are no different: they share these words, and whether they live we know from the locks of their rows.
     */
    private Fate fate(long next, Owner[] owners) {
        for (int looks = 0; looks != MOST_LOOKS; looks++) { // again only if a writer has given something back meanwhile
            // Edge CLAIM-DEAD, recovering end: the count of give-backs, the claimed count, the rows, the owner bit,
            // then the count of give-backs again. Partner: SharedWriter.storeRow and giveBack. Weaker (in another
            // order): the entry of a living writer is abandoned. Shown by ClaimDeadStress.
            long giveBacks = memory.getLongAcquire(CqRegion.GIVE_BACKS);
            if (memory.getLongAcquire(CqRegion.PRODUCER_SEQUENCE) - next <= 0 || isPublished(next)) {
                return Fate.SETTLED; // asked first, because a row goes on covering what its writer has published
            }
            for (int row = 0; row != owners.length; row++) {
                if (owners[row] == Owner.OPEN && covers(row, next)) {
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
        return Fate.MAY_BE_ANOTHERS;
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

    /** After something became valid: raises the event that the host asked for. Always true. */
    boolean serveArm() {
        if (queueArm == null) {
            return true;
        }
        // The flag alone is wanted: opaque. If it is set meanwhile, whoever sets it wakes the host.
        if (memory.getLongOpaque(CqRegion.DEAD) != 0) {
            queueArm.wake(); // this may have been the last open claim, after which nothing more will come
        } else {
            queueArm.serve(0, 0, geometry.capacity());
        }
        return true;
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
