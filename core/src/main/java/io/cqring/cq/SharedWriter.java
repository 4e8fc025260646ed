package io.cqring.cq;

import io.cqring.ring.RingGeometry;
import java.util.concurrent.TimeUnit;

/**
 * One of many device ends of a completion queue: claims sequences from a count that all writers share, writes completions
 * into their slots and hands them to the host. Made by {@link CompletionQueue#newWriter}.
 *
 * <p><b>Role:</b> one thread at a time. The first thread that writes is the writer until it calls {@link #release}; any other
 * gets an {@link IllegalStateException}, also after the thread has ended: then {@link CompletionQueue#recover} takes back what
 * it had claimed, and closes the writer. <b>Progress:</b> lock-free: a claim is tried again only because another writer's went
 * through; what is claimed is published without waiting. {@link #close}, and the first {@link #release}, may wait for another close,
 * recover or newWriter, also of another process.
 * <b>Allocation:</b> none. <b>Visibility:</b> whatever this thread wrote before it published a completion, to this queue or
 * elsewhere, is visible to the poller that takes the completion.
 *
 * <p>One completion: {@link #write}. Several at once: {@link #claim} takes sequences without a gap, {@link #entry} fills their
 * slots in place, {@link #commit} publishes them in order. The host takes entries in the order of their claims: an open claim
 * holds up all that was claimed after it, so keep it short. What happens when no slot is free is the queue's
 * {@link OverrunPolicy}: the method says false, and {@link CompletionQueue#lostEntries} counts what was lost.
 */
public final class SharedWriter extends QueueEnd implements AutoCloseable {
    /** {@code shown} unless a claim is open. With entries held: a call is under way, and what the row says may be claimed or not, published or not. */
    private static final int UNSURE = -1;

    private final ClaimRows rows;
    private final int row;
    private final int rowOffset;
    private final int strideBytes;
    private final boolean mayDie;
    private final boolean mayLose;
    private final CompletionEntry entry;

    /** What the row's count word holds. */
    private long rowCount;

    /** Entries were lost, and none has found a slot since. */
    private boolean losing;

    /** Set once, under the lock of the rows, or before the role is given up. */
    private boolean closed;

    /** Who opened it and answers for it until it is used, or null once it has been released. Cleared under the lock of the rows. */
    private Thread opener = Thread.currentThread();

    SharedWriter(ClaimRows rows, int row, OverrunPolicy policy) {
        super(rows.memory, rows.geometry, rows.startSequence);
        this.rows = rows;
        this.row = row;
        this.rowOffset = ClaimRows.offset(row);
        this.strideBytes = rows.geometry.strideBytes();
        this.mayDie = policy == OverrunPolicy.ERROR;
        this.mayLose = policy != OverrunPolicy.BACKPRESSURE;
        this.entry = new CompletionEntry(memory, strideBytes);
        this.creditLimit = rows.startSequence + capacity;
        this.claimed = rows.startSequence;
        this.shown = UNSURE;
    }

    @Override
    String endName() {
        return "user of this shared writer";
    }

    @Override
    boolean isForManyProcesses() {
        return true;
    }

    @Override
    void letGo() {
        entry.letGo(); // the queue or this writer is being closed: nothing is filled any more
        if (isQueueClosed()) {
            rows.releaseLocks();
        }
    }

    @Override
    void beforeTakeover(Thread ended) {
        throw new IllegalStateException("shared writer belongs to thread " + ended.getName()
                + ", which has ended: recover() takes back what it had claimed, newWriter() opens another writer");
    }

    /** Row of this writer, from 0. */
    int row() {
        return row;
    }

    /** Whether a claim of this writer can have no owner any more: closed, or its thread has ended. Under the rows' lock. */
    boolean isGone() {
        return closed || endedPlayer() != null || (opener != null && !opener.isAlive() && takeRoleFor(opener));
    }

    /** Under the rows' lock. */
    void markGone() {
        closed = true;
    }

    /**
     * Writes one completion without inline payload and publishes it.
     *
     * @param header        from {@link CqeLayout#header}; its owner bit is ignored
     * @param workRequestId the caller's tag of the work request
     * @param length        from {@link CqeLayout#length}
     * @param detail        from {@link CqeLayout#detail}
     * @param timestamp     device ticks; not stored in 32-byte entries
     * @return true if published; false if no slot was free: refused (BACKPRESSURE), or lost and counted (DROP_NEW, ERROR)
     * @throws IllegalStateException if queue or writer is closed, another thread is the writer, or a claim is open; nothing is
     *                               written
     */
    public boolean write(long header, long workRequestId, long length, long detail, long timestamp) {
        return write(header, workRequestId, length, detail, timestamp, 0, 0, 0);
    }

    /**
     * Writes one completion with 24 bytes of inline payload and publishes it. More payload (128-byte entries): {@link #claim}.
     *
     * @param header        from {@link CqeLayout#header}; its owner bit is ignored
     * @param workRequestId the caller's tag of the work request
     * @param length        from {@link CqeLayout#length}
     * @param detail        from {@link CqeLayout#detail}
     * @param timestamp     device ticks; not stored in 32-byte entries
     * @param payload0      first 8 bytes of payload; this and the next two must be 0 in 32-byte entries
     * @param payload1      next 8 bytes
     * @param payload2      next 8 bytes
     * @return true if published; false if no slot was free: refused (BACKPRESSURE), or lost and counted (DROP_NEW, ERROR)
     * @throws IllegalStateException         if queue or writer is closed, another thread is the writer, or a claim is open;
     *                                       nothing is written
     * @throws UnsupportedOperationException if there is payload and the queue has 32-byte entries; nothing is written
     */
    public boolean write(
            long header,
            long workRequestId,
            long length,
            long detail,
            long timestamp,
            long payload0,
            long payload1,
            long payload2) {
        final long first = claimed; // old if others write too: the exchange tells, and so fetches the line only once
        // As in CompletionWriter.write, all that is rare is one call whose result is returned.
        if (mustEnter()
                || held != 0
                || closed
                || mayDie
                || losing
                || rowCount != 1
                || creditLimit - first <= 0
                || strideBytes != CqeLayout.STANDARD_BYTES) {
            return writeWithCare(header, workRequestId, length, detail, timestamp, payload0, payload1, payload2);
        }
        held = 1;
        storeRow(first, 1);
        final long before = exchange(first, first + 1);
        if (before != first) {
            claimed = before;
            return obtain(1, true)
                    && written(header, workRequestId, length, detail, timestamp, payload0, payload1, payload2);
        }
        claimed = first + 1;
        sequence = first;
        return written(header, workRequestId, length, detail, timestamp, payload0, payload1, payload2);
    }

    /** A write whose thread may not be the writer, or whose slot may not be free. */
    private boolean writeWithCare(
            long header,
            long workRequestId,
            long length,
            long detail,
            long timestamp,
            long payload0,
            long payload1,
            long payload2) {
        enterIdle();
        EntryWords.requireRoomForPayload(strideBytes, payload0 | payload1 | payload2);
        return obtain(1, false)
                && written(header, workRequestId, length, detail, timestamp, payload0, payload1, payload2);
    }

    /** Fills and publishes the one entry that has been claimed. Always true. */
    private boolean written(
            long header,
            long workRequestId,
            long length,
            long detail,
            long timestamp,
            long payload0,
            long payload1,
            long payload2) {
        final long next = sequence;
        EntryWords.fill(
                memory,
                strideBytes,
                RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift),
                workRequestId,
                length,
                detail,
                timestamp,
                payload0,
                payload1,
                payload2);
        publish(next, header);
        held = 0;
        return rows.queueArm == null || rows.serveArm();
    }

    /**
     * Claims the next {@code count} sequences, without a gap; all of them or none. The claim is open until {@link #commit} or
     * {@link #abandon}.
     *
     * @param count entries, 1 to the capacity
     * @return true if claimed; false if so many slots were not free: refused (BACKPRESSURE), or {@code count} entries lost and
     *     counted (DROP_NEW, ERROR)
     * @throws IllegalArgumentException if {@code count} is out of range; nothing is claimed
     * @throws IllegalStateException    if queue or writer is closed, another thread is the writer, or a claim is open already;
     *                                  nothing is claimed
     */
    public boolean claim(int count) {
        enterIdle();
        requireClaimable(count);
        if (!obtain(count, false)) {
            return false;
        }
        shown = 0;
        return true;
    }

    /**
     * An entry of the open claim, to be filled in place; what is not set reads as zero. Asking for another entry says that this
     * one is complete; asking for one again starts it afresh.
     *
     * @param index 0 for the first entry of the claim; at most one more than the largest index so far
     * @return the entry, the same object each time
     * @throws IndexOutOfBoundsException if the claim has no such entry, or one before it has not been asked for; nothing is
     *                                   changed
     * @throws IllegalStateException     if no claim is open, queue or writer is closed, or another thread is the writer
     */
    public CompletionEntry entry(int index) {
        enterClaim();
        if (index < 0 || index >= held || index > shown) {
            throw new IndexOutOfBoundsException("entry must be 0 to " + Math.min(shown, held - 1) + " (claimed: " + held
                    + ", filled so far: " + shown + "): " + index);
        }
        park();
        if (index == shown) {
            shown++;
        }
        return entry.attach(RingGeometry.offset(sequence + index, firstSlotOffset, indexMask, strideShift));
    }

    /**
     * Publishes the first {@code count} entries of the open claim, in order, and gives the others back. The claim is closed.
     *
     * <p>What is given back is free at once if nobody has claimed since; otherwise the slots go round once more as abandoned
     * entries, which polls pass over.
     *
     * @param count entries to publish, 0 to the size of the claim; they must have been filled
     * @throws IllegalArgumentException if {@code count} is out of range, or more than has been filled; the claim stays open
     * @throws IllegalStateException    if no claim is open, queue or writer is closed, or another thread is the writer
     */
    public void commit(int count) {
        enterClaim();
        if (count < 0 || count > shown) {
            throw new IllegalArgumentException(
                    "commit must be of 0 to " + shown + " entries, those filled of the " + held + " claimed: " + count);
        }
        park();
        final long first = sequence;
        final long end = first + held;
        shown = UNSURE;
        for (long next = first; next != first + count; next++) {
            int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
            publish(next, memory.getLong(slot + CqeLayout.HEADER_OFFSET));
        }
        giveBack(first + count, end);
        held = 0;
        rows.serveArm();
    }

    /**
     * Gives the open claim back, as {@link #commit} of no entry; the host never sees it.
     *
     * @return entries given back; 0 if no claim was open
     * @throws IllegalStateException if queue or writer is closed, another thread is the writer, or an earlier call was cut short
     */
    public int abandon() {
        enterOpen();
        int count = held;
        if (count != 0) {
            commit(0);
        }
        return count;
    }

    /**
     * Waits until {@code count} slots are free: as {@link CompletionWriter#awaitSpace}. Slots become free when the host gives some back and
     * when another writer gives a claim back. Between this call and the next {@link #claim} or {@link #write}, another writer may take what was
     * free: if that is refused, wait again.
     *
     * @param count   slots, 1 to the capacity
     * @param timeout the most time to wait; 0 only looks
     * @param unit    unit of {@code timeout}
     * @return true if so many slots were free; false if time ran out
     * @throws IllegalArgumentException if {@code count} or {@code timeout} is out of range
     * @throws IllegalStateException    if the queue was made without waiting writers, queue or writer is closed (also while this waits),
     *                                  another thread is the writer, or a claim is open: the others may be waiting for that
     * @throws InterruptedException     if the thread is interrupted and there is no space; its interrupt flag is cleared, the queue is
     *                                  as before
     */
    public boolean awaitSpace(int count, long timeout, TimeUnit unit) throws InterruptedException {
        enterIdle();
        if (rows.creditArm == null) {
            throw CreditArm.notAsked();
        }
        requireClaimable(count);
        final long nanos = CreditArm.nanos(timeout, unit);
        return hasSpace(count) || rows.creditArm.await(row, () -> hasSpaceStill(count), nanos);
    }

    private boolean hasSpace(int count) {
        final long end = memory.getLongOpaque(CqRegion.PRODUCER_SEQUENCE) + count;
        return end - creditLimit <= 0 || obtainCredit(end);
    }

    private boolean hasSpaceStill(int count) {
        enter(); // closed
        return hasSpace(count);
    }

    private void requireClaimable(int count) {
        if (count < 1 || count > capacity) {
            throw new IllegalArgumentException(
                    "claim must be of 1 to " + capacity + " entries, the capacity: " + count);
        }
    }

    /** Lets the writing thread in if this writer is open. */
    private void enterOpen() {
        enter();
        if (closed) {
            throw new IllegalStateException("shared writer is closed");
        }
        if (held != 0 && shown == UNSURE) {
            throw new IllegalStateException(
                    "an earlier call of this shared writer was cut short by an exception: close it, open another");
        }
    }

    private void enterIdle() {
        enter();
        if (closed || held != 0) {
            throw notIdle();
        }
    }

    private IllegalStateException notIdle() {
        enterOpen();
        return new IllegalStateException(
                "a claim of " + held + " entries is open: commit or abandon it before the next");
    }

    private void enterClaim() {
        enterOpen();
        if (held == 0) {
            throw new IllegalStateException("no claim is open: claim() must have returned true");
        }
    }

    /** Parks the header of the entry that is being filled in its slot, with the owner bit of an invalid entry. */
    private void park() {
        if (entry.isAttached()) {
            long slot = entry.slotOffset;
            long header = entry.complete();
            long next = sequence + ((((slot - firstSlotOffset) >>> strideShift) - sequence) & indexMask);
            long invalidOwner = RingGeometry.phase(next, lapShift) ^ CqeLayout.OWNER_MASK;
            // Not an ordered access: the owner bit does not change. Opaque, because the host may load the word at the
            // same time and must see it whole.
            memory.putLongOpaque(slot + CqeLayout.HEADER_OFFSET, (header & ~CqeLayout.OWNER_MASK) | invalidOwner);
        }
    }

    /**
     * Claims {@code count} sequences from {@code sequence} on. False if it cannot: policy applied, nothing held.
     *
     * @param tried whether {@code claimed} is what an exchange of this call found, and the row covers what it wanted
     */
    private boolean obtain(int count, boolean tried) {
        if (mayDie && isDead()) {
            lose(count);
            return false;
        }
        held = count; // until this call is over: if it is cut short, only the row is left, and recover() reads that
        boolean rowStored = tried;
        boolean seen = tried; // first is what the count was at some moment of this call
        long first = claimed;
        while (true) {
            if (first + count - creditLimit > 0 && !obtainCredit(first + count)) {
                if (!seen) {
                    // Edge CQ-CLAIM, looking end: the count, then the consumer sequence that obtainCredit loads, which
                    // only goes up: if there is no room now, there was none when the count was this. Partner: exchange
                    // and giveBack of the other writers. Weaker (opaque; or a count of an earlier call, part of which
                    // may have been given back): "full", at no moment of the call. Shown by SharedFuzzTest.
                    first = memory.getLongAcquire(CqRegion.PRODUCER_SEQUENCE);
                    seen = true;
                    continue;
                }
                if (rowStored) {
                    storeRow(first, 0); // it covers what another has claimed
                }
                held = 0;
                if (mayLose) {
                    lose(count);
                }
                return false;
            }
            storeRow(first, count);
            rowStored = true;
            final long before = exchange(first, first + count);
            if (before == first) {
                break;
            }
            first = before;
            seen = true;
        }
        sequence = first;
        claimed = first + count;
        losing = false;
        if (mayDie && isDead()) { // died between our two looks: the poller may have seen the end already
            giveBack(first, first + count);
            held = 0;
            rows.serveArm();
            lose(count);
            return false;
        }
        return true;
    }

    private long exchange(long first, long end) {
        // Edge CQ-CLAIM, claiming end: compare-and-exchange of the shared count. Partner: exchange and giveBack of
        // the other writers. The row comes before it (edge CLAIM-DEAD), what others wrote into slots that they gave
        // back before our stores to them. Weaker (test, then set): two writers fill one slot, and an entry is lost.
        // Shown by CqClaimStress.
        return memory.compareAndExchangeLong(CqRegion.PRODUCER_SEQUENCE, first, end);
    }

    /** Says what this writer is about to claim, or, with a count of 0, that it claims nothing. */
    private void storeRow(long first, int count) {
        // Edge CLAIM-DEAD, writer's end: what this writer did with its last claim (owner bits, a give-back and the
        // count of it), then the row, then the claim. Partner: ClaimRows.fate. Weaker: recover() sees a row that has
        // moved on, and not that the sequence was published or given back, or a claim and not the row, and abandons an
        // entry of a living writer. Shown by ClaimDeadStress.
        memory.putLongRelease(rowOffset + CqRegion.ROW_FIRST, first);
        if (count != rowCount) {
            rowCount = count;
            memory.putLongRelease(rowOffset + CqRegion.ROW_COUNT, count);
        }
    }

    private void publish(long next, long header) {
        final int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
        // Edge CQ-OWN, device end: the slot's other words, and all this thread wrote before (edge DATA), then the
        // owner bit, which follows from the claimed sequence. Partner: HostEnd.header. Weaker: the host
        // accepts the owner bit and reads the last lap's fields. Shown by CqOwnStress, and for this class by
        // CqClaimStress.
        memory.putLongRelease(
                slot + CqeLayout.HEADER_OFFSET, (header & ~CqeLayout.OWNER_MASK) | RingGeometry.phase(next, lapShift));
        if (rows.queueArm != null && QueueArm.isSolicited(header)) {
            rows.queueArm.markSolicited(next + 1);
        }
    }

    /** Gives back the last sequences of the claim, unpublished, from {@code first} to before {@code end}. */
    private void giveBack(long first, long end) {
        if (first == end) {
            return;
        }
        // Edge CQ-CLAIM, giving end: the count goes back only if it still stands where our claim ends. Then nobody
        // has claimed since (a later claim that was given back as well left no trace), and the poller stands before
        // our first entry, which is not published. Partner: exchange of the other writers, who may store to the slots
        // from now on. Weaker (test, then set): a claim made in between is wiped out. Shown by CqClaimStress.
        if (memory.compareAndSetLong(CqRegion.PRODUCER_SEQUENCE, end, first)) {
            // Edge CLAIM-DEAD, writer's end: the count of give-backs comes between the give-back and the row that no
            // longer covers it. Partner: ClaimRows.fate. Weaker: recover() misses that a sequence it has seen claimed
            // was given back meanwhile. Shown by ClaimDeadStress.
            memory.getAndAddLong(CqRegion.GIVE_BACKS, 1);
            storeRow(first, 0);
            if (rows.creditArm != null) {
                rows.creditArm.wake(); // another may want just these
            }
            return;
        }
        for (long next = first; next != end; next++) {
            rows.abandon(next);
        }
    }

    /** The ring looks full as of the last look at the doorbell record: look again. True if all before {@code end} are free. */
    private boolean obtainCredit(long end) {
        // Edge CQ-CREDIT, device end: load the consumer sequence, then overwrite the slots it frees. Partner:
        // HostEnd.publishConsumed. Weaker: our stores may overtake the load, and the host reads the next
        // lap's words in an entry it has already accepted. Shown by CqCreditStress, and for this class by
        // CqClaimStress.
        long consumed = memory.getLongAcquire(CqRegion.CONSUMER_SEQUENCE);
        long now = memory.getLongOpaque(CqRegion.PRODUCER_SEQUENCE);
        if (consumed - (creditLimit - capacity) < 0 || consumed - now > 0) {
            // The host wrote nonsense: it may free only what was claimed before it said so, and never take back.
            // Get-and-add because several writers count; only the sum is wanted.
            memory.getAndAddLong(CqRegion.REJECTED_DOORBELLS, 1);
        } else {
            creditLimit = consumed + capacity;
        }
        return end - creditLimit <= 0;
    }

    /** Counts entries that found no slot (policies DROP_NEW and ERROR), and ends the queue's life (policy ERROR). */
    private void lose(int count) {
        // Edge STATE, device end: the count of lost entries, then the flag. Partner: HostEnd.dead. Weaker:
        // the host meets the end and reports that nothing was lost. Get-and-add because several writers count. What
        // others have claimed by now they still publish: the poller waits for it, see HostEnd.isDrained.
        // Shown by StateStress, and for this class by CqClaimStress.
        memory.getAndAddLong(CqRegion.LOST_ENTRIES, count);
        if (mayDie) {
            memory.putLongRelease(CqRegion.DEAD, 1);
        }
        if (rows.queueArm != null && !losing) {
            losing = true;
            rows.queueArm.overrun(mayDie);
        }
    }

    /**
     * Whether the queue died of an overrun (policy ERROR), of this writer or another: nothing claimed from now on reaches the
     * host. Any thread.
     *
     * @return true if it is dead
     */
    public boolean isDead() {
        // Opaque: the flag alone is wanted. That a claim made after the poller saw the end is noticed here follows
        // from the compare-and-set of the claim (edge CQ-CLAIM), which comes after the poller's.
        return memory.getLongOpaque(CqRegion.DEAD) != 0;
    }

    /**
     * Lets another thread become the writer. An open claim stays open. Also for the thread that opened the writer and has not used it: from
     * then on it may end without the place being taken for one that nobody will use, see {@link CompletionQueue#recover}.
     *
     * @throws IllegalStateException if the calling thread is not the writer
     */
    public void release() {
        if (opener != null) {
            if (player != opener && opener == Thread.currentThread()) {
                takeRole(); // not used yet
            }
            requirePlayer();
            synchronized (rows) { // a recover that has seen the opener has asked for the role, too
                opener = null;
            }
        }
        releaseRole();
    }

    /**
     * Closes this writer: gives an open claim back and frees its place for {@link CompletionQueue#newWriter}. For the writing
     * thread, or for any thread once that has released the writer or ended. What a thread had claimed when it ended, or when a
     * call was cut short by an exception, is taken back as by {@link CompletionQueue#recover}; if that cannot decide yet, the
     * place is freed by a later recover. Closing again does nothing, nor does closing after the queue.
     *
     * @throws IllegalStateException        if another thread is the writer; nothing is changed
     * @throws java.io.UncheckedIOException if a lock file beside the region cannot be opened; the writer is closed, and its place is freed
     *                                      by the next recover
     */
    @Override
    public void close() {
        if (endedPlayer() != null) {
            rows.retire(this, isQueueClosed());
            return;
        }
        takeRole();
        try {
            if (!closed) {
                boolean queueClosed = isQueueClosed();
                entry.letGo();
                if (held != 0 && shown != UNSURE && !queueClosed) {
                    giveBack(sequence, sequence + held);
                    held = 0;
                    rows.serveArm();
                }
                rows.retire(this, queueClosed);
            }
        } finally {
            releaseRole();
        }
    }
}
