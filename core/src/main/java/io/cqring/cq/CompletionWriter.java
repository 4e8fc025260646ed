package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import java.util.concurrent.TimeUnit;

/**
 * Device end of a completion queue: writes completions into slots and hands them to the host.
 *
 * <p><b>Role:</b> one thread at a time. The first thread that writes is the writer until it calls {@link #release} or ends;
 * any other gets an {@link IllegalStateException}. Across processes: see {@link CompletionQueue#attach}. <b>Progress:</b>
 * wait-free. <b>Allocation:</b> none. <b>Visibility:</b> whatever this thread wrote before it published a completion, to this queue or elsewhere, is visible to
 * the poller that takes the completion.
 *
 * <p>One completion: {@link #write}. Several at once, published in order: {@link #stage} (or {@link #claim}, to fill the slot
 * in place) as often as you like, then {@link #flush}. What happens when no slot is free is the queue's
 * {@link OverrunPolicy}; each method says false, or null, and {@link #lostEntries} counts what was lost.
 */
public final class CompletionWriter extends QueueEnd {
    private final OverrunPolicy policy;

    /** Where to wait for space, or null. */
    private final CreditArm creditArm;

    /** How the host asks for an event, or null. */
    private final QueueArm queueArm;

    private final int strideBytes;
    private final CompletionEntry entry;

    /** Completions that a staged slot may hold; 1 unless the queue merges. */
    private final int mostInSlot;

    private boolean dead;
    private long lostEntries;
    private long rejectedDoorbells;

    /** Entries were lost, and none has found a slot since. */
    private boolean losing;

    /** The ring that the host offers. The host's, until it posts the command. */
    Ring offered;

    CompletionWriter(
            QueueMemory memory,
            RingGeometry geometry,
            long startSequence,
            OverrunPolicy policy,
            boolean merging,
            CreditArm creditArm,
            QueueArm queueArm) {
        super(memory, geometry, startSequence);
        this.policy = policy;
        this.creditArm = creditArm;
        this.queueArm = queueArm;
        this.strideBytes = geometry.strideBytes();
        this.entry = new CompletionEntry(memory, strideBytes);
        this.mostInSlot = merging ? MergedEntry.most(strideBytes) : 1;
        this.creditLimit = startSequence + capacity;
        this.straightEnd = startSequence;
        this.solicitedEnd = startSequence;
    }

    @Override
    String endName() {
        return "writer";
    }

    @Override
    void letGo() {
        entry.letGo();
        held = 0;
        minis = 0;
        losing &= dead; // slots that were given back are free again
    }

    /** While a drain has the role for a moment, a thread that comes to write is told of the drain, not of the role. */
    @Override
    void requirePlayable() {
        final long control = memory.getLongOpaque(CqRegion.CLOSED); // only the word itself
        if ((control & Control.CLOSED) != 0) {
            throw queueClosed();
        }
        if ((control & (Control.STOPPING | Control.STOPPED)) != 0) {
            throw beingDrained();
        }
    }

    private static IllegalStateException beingDrained() {
        return new IllegalStateException("completion queue is being drained: it takes no more entries");
    }

    @Override
    void resume() {
        letGo();
        // The writer's own sequence stands still while it has the role; the host may go on behind it.
        long published = memory.getLongOpaque(CqRegion.PRODUCER_SEQUENCE);
        long consumed = memory.getLongOpaque(CqRegion.CONSUMER_SEQUENCE);
        CqRegion.requireReachable(memory, startSequence, capacity, consumed, published);
        // A writer that died between an owner bit and the count of it has published more than it counted. Entries
        // become valid in order, so the first slot without its owner bit is the end. Credit bounds the search.
        long end = published + Math.min(capacity, consumed + capacity - published);
        long next = published;
        while (next != end && hasOwnerBit(next)) {
            next++;
        }
        requireNotPast(next, consumed);
        sequence = next;
        straightEnd = next;
        solicitedEnd = next; // nobody knows any more what the last writer has published: better an event too many
        creditLimit = next; // no credit yet: the first claim looks for it
        lostEntries = memory.getLongOpaque(CqRegion.LOST_ENTRIES);
        rejectedDoorbells = memory.getLongOpaque(CqRegion.REJECTED_DOORBELLS);
        dead = policy == OverrunPolicy.ERROR && memory.getLongOpaque(CqRegion.DEAD) != 0;
    }

    private void requireNotPast(long next, long consumed) {
        if (consumed - next > 0) {
            throw CqHeader.refused(
                    memory,
                    "consumer sequence must be at most " + next + ", the first entry that is not published: "
                            + consumed,
                    false);
        }
    }

    private boolean hasOwnerBit(long next) {
        int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
        long header = slots.getLongOpaque(slot + CqeLayout.HEADER_OFFSET);
        return ((header ^ RingGeometry.phase(next, lapShift)) & CqeLayout.OWNER_MASK) == 0
                && (header & ~CqeLayout.OWNER_MASK) != CqRegion.UNUSED;
    }

    /**
     * Sets right what a writer in another process may have left when it died: takes the role over, gives back what is in
     * hand, returns every slot past the first unpublished entry to the device, and publishes the count of entries.
     *
     * <p>After a writer of this class there is nothing to return: it publishes in order, so no owner bit is valid past the
     * first that is not. Going on without this call is safe too; only {@link CompletionQueue#size} counts too few until the
     * next entry is published. A device or a program that publishes in another order may leave valid owner bits past a hole:
     * call this before anything is written, or they surface when the hole is filled.
     *
     * @return slots that held a valid owner bit past the first unpublished entry: entries that the host will never see
     * @throws IllegalStateException if the queue is closed, or another thread or another living process is the writer;
     *                               nothing is changed
     */
    public int recover() {
        enter();
        letGo();
        final long first = sequence;
        // Edge CQ-CREDIT, device end: as in obtainCredit. Load the consumer sequence, then store to the slots it frees.
        long consumed = memory.getLongAcquire(CqRegion.CONSUMER_SEQUENCE);
        CqRegion.requireReachable(memory, startSequence, capacity, consumed, first);
        requireNotPast(first, consumed);
        int returned = 0;
        for (long next = first; next != consumed + capacity; next++) {
            if (hasOwnerBit(next)) {
                long invalidOwner = RingGeometry.phase(next, lapShift) ^ CqeLayout.OWNER_MASK;
                int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
                slots.putLongOpaque(slot + CqeLayout.HEADER_OFFSET, invalidOwner);
                returned++;
            }
        }
        publishSequence(memory, first);
        if (queueArm != null) {
            queueArm.wake(); // the writer that died may have published, and raised no event
        }
        return returned;
    }

    @Override
    void heed(long control) {
        if ((control & (Control.STOPPING | Control.STOPPED)) != 0) {
            letGo();
            // Edge DRAIN, device end: all that was published, then the word. Partner: CompletionQueue.isWriterStopped.
            // Weaker (opaque): the host finds the ring empty with an entry still to come. Shown by DrainStress.
            memory.compareAndSetLong(CqRegion.CLOSED, Control.STOPPING, Control.STOPPED);
            throw beingDrained();
        }
        // In a file nobody can offer a ring: the bit is a stranger's.
        if ((control & Control.RESIZE_PENDING) != 0 && held == 0 && offered != null) {
            answerResize(control);
        }
    }

    /** Moves to the ring that the host offers, or refuses, or leaves the command for the next call if the marker has no slot. */
    private void answerResize(long command) {
        final Ring next = offered;
        final int most = next.geometry().capacity();
        if (unpolled() > most) {
            obtainCredit(); // the host may have polled since we looked
        }
        if (dead || unpolled() > most) {
            // Edge RESIZE, as below; the answer carries nothing but itself.
            memory.compareAndSetLong(CqRegion.CLOSED, command, dead ? Control.REFUSED_DEAD : Control.REFUSED_BACKLOG);
            return;
        }
        if (creditLimit == sequence && !obtainCredit()) {
            return; // full: the host is not behind our back, it polls
        }
        // Edge RESIZE, device end: we get the ring or the host gets it back. Partner: CompletionQueue.cancelResize.
        // Weaker (test, then set): both do, and the device writes to memory that is the caller's again. Shown by
        // ResizeStress.
        if (memory.compareAndSetLong(CqRegion.CLOSED, command, 0)) {
            final int marker = RingGeometry.offset(sequence, firstSlotOffset, indexMask, strideShift);
            EntryWords.fill(slots, strideBytes, marker, 0, 0, 0, 0, 0, 0, 0);
            publish(marker, (long) CqeOpcode.RESIZE << 1, sequence);
            memory.putLongOpaque(CqRegion.MAGIC, CqHeader.MOVED); // an attach would find the old ring
            // The marker takes no sequence. What is unpolled counts against the new capacity: size() never exceeds it.
            final int unpolled = unpolled();
            straightEnd = sequence;
            useRing(next);
            creditLimit = sequence + capacity - unpolled;
            entry.memory = slots;
            serveArm(); // the new ring may be full with fewer entries than the host waits for: nothing else would tell
        }
    }

    /**
     * Writes one completion without inline payload and publishes it, after anything that is in hand.
     *
     * @param header        from {@link CqeLayout#header}; its owner bit is ignored
     * @param workRequestId the caller's tag of the work request
     * @param length        from {@link CqeLayout#length}
     * @param detail        from {@link CqeLayout#detail}
     * @param timestamp     device ticks; not stored in 32-byte entries
     * @return true if published; false if no slot was free: refused (BACKPRESSURE), or lost and counted (DROP_NEW, ERROR)
     * @throws IllegalStateException if the queue is closed or another thread is the writer; nothing is written
     */
    public boolean write(long header, long workRequestId, long length, long detail, long timestamp) {
        return write(header, workRequestId, length, detail, timestamp, 0, 0, 0);
    }

    /**
     * Writes one completion with 24 bytes of inline payload and publishes it, after anything that is in hand. More payload
     * (128-byte entries): {@link #claim}.
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
     * @throws IllegalStateException         if the queue is closed or another thread is the writer; nothing is written
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
        // All that is rare is one call whose result is returned: if a call came back into this path, the JIT would
        // keep nothing in registers across it.
        if (mustEnter() || held != 0 || straightEnd - sequence <= 0) {
            return writeWithCare(header, workRequestId, length, detail, timestamp, payload0, payload1, payload2);
        }
        if (strideBytes != CqeLayout.STANDARD_BYTES) {
            return writeOdd(header, workRequestId, length, detail, timestamp, payload0, payload1, payload2);
        }
        final long slot = straightOffset + sequence * CqeLayout.STANDARD_BYTES;
        EntryWords.fillStandard(slots, slot, workRequestId, length, detail, timestamp, payload0, payload1, payload2);
        publish(slot, (header & ~CqeLayout.OWNER_MASK) | straightOwner);
        publishSequence(memory, ++sequence);
        return queueArm == null || told(header, sequence);
    }

    /** A write straight on into an entry of another size. */
    private boolean writeOdd(
            long header,
            long workRequestId,
            long length,
            long detail,
            long timestamp,
            long payload0,
            long payload1,
            long payload2) {
        EntryWords.requireRoomForPayload(strideBytes, payload0 | payload1 | payload2);
        final long slot = straightOffset + (sequence << strideShift);
        EntryWords.fill(
                slots, strideBytes, slot, workRequestId, length, detail, timestamp, payload0, payload1, payload2);
        publish(slot, (header & ~CqeLayout.OWNER_MASK) | straightOwner);
        publishSequence(memory, ++sequence);
        return queueArm == null || told(header, sequence);
    }

    /** A write whose thread may not be the writer, whose slot may not be free, or that something is in hand before. */
    private boolean writeWithCare(
            long header,
            long workRequestId,
            long length,
            long detail,
            long timestamp,
            long payload0,
            long payload1,
            long payload2) {
        enter();
        EntryWords.requireRoomForPayload(strideBytes, payload0 | payload1 | payload2);
        if (held != 0) {
            flushHeld();
        }
        final long sequence = this.sequence;
        if (creditLimit == sequence && isFull()) {
            return false;
        }
        final int slot = RingGeometry.offset(sequence, firstSlotOffset, indexMask, strideShift);
        EntryWords.fill(
                slots, strideBytes, slot, workRequestId, length, detail, timestamp, payload0, payload1, payload2);
        publish(slot, header, sequence);
        this.sequence = sequence + 1;
        publishSequence(memory, sequence + 1);
        goStraight();
        return queueArm == null || told(header, sequence + 1);
    }

    /** The next entries can go straight on: as far as there is credit, and to the end of the lap. Nothing is in hand. */
    private void goStraight() {
        final long next = sequence;
        final long lapEnd = (next | indexMask) + 1;
        straightOffset = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift) - (next << strideShift);
        straightOwner = RingGeometry.phase(next, lapShift);
        straightEnd = creditLimit - lapEnd < 0 ? creditLimit : lapEnd; // last: it says that the other two are good
    }

    /** After the entries up to {@code end}, the last with this header, have been published: the host's arm. Always true. */
    private boolean told(long header, long end) {
        noteSolicited(header, end);
        serveArm();
        return true;
    }

    /**
     * Writes one completion without inline payload into the next slot and holds it back until {@link #flush}. In a queue that
     * merges ({@link CompletionQueue.Builder#merging}) it may join the one staged before it and take no slot.
     *
     * @param header        from {@link CqeLayout#header}; its owner bit is ignored
     * @param workRequestId the caller's tag of the work request
     * @param length        from {@link CqeLayout#length}
     * @param detail        from {@link CqeLayout#detail}
     * @param timestamp     device ticks; not stored in 32-byte entries
     * @return true if staged; false if no slot was free: refused (BACKPRESSURE), or lost and counted (DROP_NEW, ERROR)
     * @throws IllegalStateException if the queue is closed or another thread is the writer; nothing is written
     */
    public boolean stage(long header, long workRequestId, long length, long detail, long timestamp) {
        enter();
        parkClaimed();
        if (minis != 0 && mergedIntoLast(header, length, detail)) {
            return true;
        }
        final long next = sequence + held;
        if (creditLimit == next && isFull()) {
            return false;
        }
        final int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
        EntryWords.fill(slots, strideBytes, slot, workRequestId, length, detail, timestamp, 0, 0, 0);
        park(slot, header, next);
        held++;
        if (mostInSlot != 1) {
            minis = MergedEntry.isMergeable(header, length, detail) ? 1 : 0;
            lastHeader = header;
            lastLength = length;
        }
        return true;
    }

    /** Adds a completion to the slot staged last, if it belongs there and there is room. */
    private boolean mergedIntoLast(long header, long length, long detail) {
        if (minis == mostInSlot
                || !MergedEntry.isMergeable(header, length, detail)
                || !MergedEntry.belongTogether(lastHeader, header)) {
            return false;
        }
        final long last = sequence + held - 1;
        final long slot = RingGeometry.offset(last, firstSlotOffset, indexMask, strideShift);
        if (minis == 1) { // so far an ordinary entry
            EntryWords.fill(slots, strideBytes, slot, 0, 0, 0, 0, 0, 0, 0);
            slots.putLong(slot + Long.BYTES, MergedEntry.mini(lastHeader, lastLength));
        }
        minis++;
        slots.putLong(slot + (long) minis * Long.BYTES, MergedEntry.mini(header, length));
        park(slot, MergedEntry.header(lastHeader, minis), last);
        return true;
    }

    /**
     * Claims the next slot, to be filled in place; what is not set reads as zero. The entry is published by {@link #flush},
     * along with all others in hand; claiming the next one says that this one is complete.
     *
     * @return the entry; null if no slot was free: refused (BACKPRESSURE), or lost and counted (DROP_NEW, ERROR)
     * @throws IllegalStateException if the queue is closed or another thread is the writer; nothing is claimed
     */
    public CompletionEntry claim() {
        if (mustEnter() || held != 0 || straightEnd - sequence <= 0) {
            return claimWithCare();
        }
        entry.attach(straightOffset + (sequence << strideShift));
        held = 1; // last: what is in hand is there, even if an error cuts the call short
        return entry;
    }

    private CompletionEntry claimWithCare() {
        enter();
        parkClaimed();
        final long next = sequence + held;
        if (creditLimit == next && isFull()) {
            return null;
        }
        final int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
        if (held != 0) {
            entry.attachNext(slot);
        } else {
            goStraight();
            entry.attach(slot);
        }
        held++;
        return entry;
    }

    /**
     * Publishes what is staged or claimed, in order.
     *
     * @return entries published, merged ones as one; 0 if none was in hand
     * @throws IllegalStateException if the queue is closed or another thread is the writer; nothing is published
     */
    public int flush() {
        final CompletionEntry entry = this.entry;
        if (mustEnter() || !entry.isAloneAndWhole()) {
            return flushWithCare();
        }
        final long header = entry.header;
        held = 0; // first, as nothing is in hand once the entry has let go
        publish(entry.letGo(), (header & ~CqeLayout.OWNER_MASK) | straightOwner);
        publishSequence(memory, ++sequence);
        return queueArm == null || told(header, sequence) ? 1 : 0;
    }

    /** A flush of something else than one claimed entry of which every word was set. */
    private int flushWithCare() {
        enter();
        return held != 0 ? flushHeld() : 0;
    }

    /**
     * Publishes the oldest of what is staged or claimed, in order, and keeps the rest in hand.
     *
     * @param count entries to publish, 0 to {@link #entriesInHand}
     * @return entries published: {@code count}
     * @throws IllegalArgumentException if that many are not in hand; nothing is published
     * @throws IllegalStateException    if the queue is closed or another thread is the writer; nothing is published
     */
    public int flush(int count) {
        final int inHand = entriesInHand();
        if (count < 0 || count > inHand) {
            throw new IllegalArgumentException(
                    "entries to flush must be 0 to what is in hand, " + inHand + ": " + count);
        }
        if (count == inHand && count != 0) {
            return flushHeld(); // the newest claim too
        }
        if (count != 0) {
            final long first = sequence;
            final long end = first + count;
            for (long next = first; next != end; next++) {
                int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
                publishInHand(slot, slots.getLong(slot + CqeLayout.HEADER_OFFSET), next);
            }
            held -= count;
            if (held == 0) {
                minis = 0;
            }
            sequence = end;
            publishSequence(memory, end);
            serveArm();
        }
        return count;
    }

    /**
     * What is staged or claimed and not yet flushed.
     *
     * @return entries, 0 to the queue's capacity
     * @throws IllegalStateException if the queue is closed or another thread is the writer
     */
    public int entriesInHand() {
        enter();
        return held;
    }

    /**
     * Gives back what is staged or claimed and not yet flushed. The host never sees it.
     *
     * @return entries given back, merged ones as one
     * @throws IllegalStateException if the queue is closed or another thread is the writer; nothing is changed
     */
    public int abort() {
        enter();
        int count = held;
        letGo();
        return count;
    }

    /**
     * Waits until a slot is free. Publishes what is in hand first, as {@link #flush}: the host frees only what it has seen. So this and
     * a poller that waits for completions never wait for each other, as long as that keeps no cursor open. For queues made with
     * {@link CompletionQueue.Builder#waitingWriters}.
     *
     * <p>Blocks: parks the thread, after one look, until the host gives a slot back, the queue is closed or drained, the thread
     * is interrupted or time runs out. A resize that the host asks for is answered meanwhile. May allocate a few bytes if it has to
     * wait. Must not be called from a handler of this queue, whose slots the handler keeps.
     *
     * @param timeout the most time to wait; 0 only looks
     * @param unit    unit of {@code timeout}
     * @return true if the next {@link #write}, {@link #stage} or {@link #claim} finds a slot, unless the host asks for a
     *     smaller ring meanwhile; false if time ran out
     * @throws IllegalArgumentException if {@code timeout} is negative; nothing is published
     * @throws IllegalStateException    if the queue was made without waiting writers, is closed or drained (also while this waits), or
     *                                  another thread is the writer
     * @throws InterruptedException     if the thread is interrupted and there is no space; its interrupt flag is cleared, and
     *                                  what was in hand is published
     */
    public boolean awaitSpace(long timeout, TimeUnit unit) throws InterruptedException {
        enter();
        if (creditArm == null) {
            throw CreditArm.notAsked();
        }
        final long nanos = CreditArm.nanos(timeout, unit);
        if (held != 0) {
            flushHeld();
        }
        return hasSpaceStill() || creditArm.await(0, this::hasSpaceStill, nanos);
    }

    private boolean hasSpace() {
        return creditLimit != sequence || obtainCredit();
    }

    private boolean hasSpaceStill() {
        enter(); // closed, drained, resized
        return hasSpace();
    }

    /** As new, from a sequence, in the ring it is in. For whoever has the role. */
    void startAgain(long startSequence) {
        letGo();
        sequence = startSequence;
        straightEnd = startSequence;
        creditLimit = startSequence + capacity;
        solicitedEnd = startSequence;
        dead = false;
        losing = false;
        lostEntries = 0;
        rejectedDoorbells = 0;
    }

    private int flushHeld() {
        final long first = sequence;
        final long end = first + held;
        final long parkedEnd = entry.isAttached() ? end - 1 : end;
        for (long next = first; next != parkedEnd; next++) {
            int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
            publishInHand(slot, slots.getLong(slot + CqeLayout.HEADER_OFFSET), next);
        }
        if (parkedEnd != end) {
            held--; // first, as it is not in hand once the entry has let go
            int slot = RingGeometry.offset(parkedEnd, firstSlotOffset, indexMask, strideShift);
            publishInHand(slot, entry.complete(), parkedEnd);
        }
        held = 0;
        minis = 0;
        sequence = end;
        publishSequence(memory, end);
        serveArm();
        return (int) (end - first);
    }

    private void publishInHand(int slot, long header, long next) {
        publish(slot, header, next);
        if (queueArm != null) {
            noteSolicited(header, next + 1);
        }
    }

    private void noteSolicited(long header, long end) {
        if (QueueArm.isSolicited(header)) {
            solicitedEnd = end;
        }
    }

    private void serveArm() {
        if (queueArm != null) {
            queueArm.serve(sequence, solicitedEnd, capacity);
        }
    }

    /** The claimed entry, if there is one, is complete. */
    private void parkClaimed() {
        if (entry.isAttached()) {
            held--; // until it is parked, for the entry lets go first
            minis = 0;
            long last = sequence + held;
            park(RingGeometry.offset(last, firstSlotOffset, indexMask, strideShift), entry.complete(), last);
            held++;
        }
    }

    /** Puts the header into its slot with the owner bit of an invalid entry. */
    private void park(long slot, long header, long next) {
        long invalidOwner = RingGeometry.phase(next, lapShift) ^ CqeLayout.OWNER_MASK;
        // Not an ordered access: the owner bit does not change. Opaque, because the host may load the word at the
        // same time and must see it whole.
        slots.putLongOpaque(slot + CqeLayout.HEADER_OFFSET, (header & ~CqeLayout.OWNER_MASK) | invalidOwner);
    }

    private void publish(long slot, long header, long sequence) {
        publish(slot, (header & ~CqeLayout.OWNER_MASK) | RingGeometry.phase(sequence, lapShift));
    }

    /** The header has the owner bit of a valid entry. */
    private void publish(long slot, long header) {
        // Edge CQ-OWN, device end: the slot's other words, and all this thread wrote before (edge DATA), then the
        // owner bit. Partner: HostEnd.header. Weaker (plain, or the header first): the host accepts the owner
        // bit and reads the last lap's fields. Shown by CqOwnStress.
        slots.putLongRelease(slot + CqeLayout.HEADER_OFFSET, header);
    }

    private static void publishSequence(QueueMemory memory, long sequence) {
        // Edge CQ-COUNT, device end: owner bits, then the count of them. Partner: CompletionQueue.size. Weaker: an
        // observer counts an entry that the poller cannot see yet, so "not empty" would not promise a successful
        // poll. Shown by CqCountStress.
        memory.putLongRelease(CqRegion.PRODUCER_SEQUENCE, sequence);
    }

    /** The ring looks full as of the last look at the doorbell record: look again. True if it is, policy applied. */
    private boolean isFull() {
        if (obtainCredit()) {
            return false;
        }
        if (policy != OverrunPolicy.BACKPRESSURE) {
            lose();
        }
        return true;
    }

    /** Published and, as of the last look at the doorbell record, not given back. */
    private int unpolled() {
        return (int) (sequence - (creditLimit - capacity));
    }

    /** Looks at the doorbell record. True if it gave slots back that may be used. */
    private boolean obtainCredit() {
        // Edge CQ-CREDIT, device end: load the consumer sequence, then overwrite the slots it frees. Partner:
        // HostEnd.publishConsumed. Weaker: our stores may overtake the load, and the host reads the next
        // lap's words in an entry it has already accepted. Shown by CqCreditStress.
        long consumed = memory.getLongAcquire(CqRegion.CONSUMER_SEQUENCE);
        long freed = consumed - (creditLimit - capacity);
        if (freed < 0 || consumed - sequence > 0) {
            // The host wrote nonsense: it may free only what is published, and never take back. Keep the last good
            // value.
            memory.putLongOpaque(CqRegion.REJECTED_DOORBELLS, ++rejectedDoorbells);
            freed = 0;
        }
        if (freed != 0 && !dead) {
            creditLimit += freed;
            losing = false;
            return true;
        }
        return false;
    }

    private void lose() {
        memory.putLongOpaque(CqRegion.LOST_ENTRIES, ++lostEntries);
        if (policy == OverrunPolicy.ERROR && !dead) {
            if (held != 0) {
                flushHeld(); // what fitted belongs to the entries that were written before the overrun
            }
            dead = true; // creditLimit stays at the next sequence, so every later claim comes back here
            // Edge STATE, device end: the last entries and the count of lost ones, then the flag. Partner:
            // HostEnd.dead. Weaker: the host sees the flag and an empty ring, and throws with entries still
            // to poll. Shown by StateStress.
            memory.putLongRelease(CqRegion.DEAD, 1);
        }
        if (queueArm != null && !losing) {
            losing = true;
            queueArm.overrun(dead);
        }
    }

    /**
     * For a device that raises the events of a queue made with {@link CompletionQueue.Builder#deviceEvents} itself: entries past the
     * one open arm of the host, looked up anew on each call. For the writing thread, on each of its passes: a device that sleeps
     * without a limit between two passes loses events.
     *
     * @return entries that have been published past the arm, 0 if nothing is armed, the arm was answered, or what it asks for is
     *     not there; at least 1 if the queue is armed and dead: nothing more will come, and the host must learn of it
     * @throws IllegalStateException if the queue is closed, made without {@code deviceEvents}, or another thread is the writer
     */
    public long pastArm() {
        enter();
        final long past = deviceArm().pastArm(sequence, solicitedEnd, capacity);
        return past == 0 && dead && queueArm.isArmed() ? 1 : past;
    }

    /**
     * Answers the host's arm if entries are past it, or the queue is dead. For the writing thread, see {@link #pastArm}. The caller then raises the event.
     *
     * @return true if answered, by this call: once for each arm
     * @throws IllegalStateException if the queue is closed, made without {@code deviceEvents}, or another thread is the writer
     */
    public boolean answerArm() {
        enter();
        final QueueArm arm = deviceArm();
        return dead ? arm.answerAny() : arm.answer(sequence, solicitedEnd, capacity);
    }

    private QueueArm deviceArm() {
        if (queueArm == null || queueArm.sink != null) {
            throw new IllegalStateException("completion queue raises its events itself, or has none: only one made with"
                    + " deviceEvents() is served by its device");
        }
        return queueArm;
    }

    /**
     * Completions lost to overrun since creation or the last reset; always 0 under BACKPRESSURE.
     *
     * @return entries
     */
    public long lostEntries() {
        return memory.getLongOpaque(CqRegion.LOST_ENTRIES);
    }

    /**
     * Whether the queue died of an overrun (policy ERROR): nothing written from now on reaches the host. Any thread.
     *
     * @return true if it is dead
     */
    public boolean isDead() {
        return memory.getLongOpaque(CqRegion.DEAD) != 0; // not the field: in a file another process may have set it
    }

    /**
     * Looks at the doorbell record that were ignored because the host had written a consumer sequence it could not have
     * reached. Anything but 0 is a bug of the host, or of whoever else writes to its memory.
     *
     * @return looks
     */
    public long rejectedDoorbells() {
        return memory.getLongOpaque(CqRegion.REJECTED_DOORBELLS);
    }

    /**
     * Lets another thread become the writer. What is staged stays staged; but if the memory is a file, another process may
     * become the writer as well, and what is staged or claimed is given back.
     *
     * @throws IllegalStateException if the calling thread is not the writer
     */
    public void release() {
        releaseRole();
    }
}
