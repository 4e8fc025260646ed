package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

/**
 * How the host end polls: which slots hold completions, in which order, and when their slots go back to the device.
 * {@link CompletionQueue} says who may do what; this class does it.
 *
 * <p>{@link #pollRuns} is the loop of the ordinary queue: every entry is a completion, and they become valid in order.
 * {@link #pollEach} is the loop of all others, and of an ordinary queue for as long as a resize or a purge is under way. The cursor, {@code pollInto} and
 * {@code peek} are built on {@link #advance}.
 */
abstract class HostEnd extends QueueEnd {
    /** The most entries that one look at a header may vouch for. */
    private static final int LOOK_AHEAD = 64;

    /** The device owns the slot. */
    private static final int NOT_READY = 0;

    /** A marker, or a slot that has never been used: the ring ends here, or begins. */
    private static final int BOUNDARY = 1;

    /** The slot holds no completion. */
    static final int PASSED_OVER = 2;

    /** The slot's completion is shown, and the slot holds more. */
    private static final int SHOWN = 3;

    /** The slot's only or last completion is shown. */
    private static final int SHOWN_LAST = 4;

    /** Entries that a call takes one by one before it looks ahead: a short call is about latency and touches no line more. */
    static final int LOOK_AHEAD_AFTER = 8;

    /** What many writers share, or null if there is one. */
    final ClaimRows claimRows;

    /** Where writers wait for free slots, or null if they cannot. */
    final CreditArm creditArm;

    /** How the host asks for an event, or null if it cannot. */
    final QueueArm queueArm;

    final Completion view;
    private int publishInterval;

    /** Where completions of merged entries are laid out one by one, and the view of it; null unless the queue merges. */
    private final QueueMemory scratch;

    final Completion expanded;

    /** Every entry is a completion, and entries become valid in order. */
    boolean ordinary;

    /** A resize or a purge keeps the queue from being ordinary; it will be again. */
    boolean detour;

    /** Purged entries that are still ahead of the poller. */
    int gaps;

    /** The ring that is offered to the device, until the poller is in it or the device will not come; null: no resize. */
    Ring nextRing;

    /** The first sequence from which on every slot of the ring has been used. */
    long usedFrom;

    /** What became of the last resize; PENDING also stands for ACCEPTED. */
    ResizeStatus resizeStatus = ResizeStatus.NONE;

    /** The most that can be unpolled: the capacity, or that of the next ring if it is larger. */
    int mostUnpolled;

    HostEnd(QueueMemory memory, RingGeometry geometry, CompletionQueue.Builder chosen) {
        super(memory, geometry, chosen.startSequence);
        final boolean oneWriter = chosen.writers == 1;
        this.creditArm = chosen.waiting ? new CreditArm(memory, CqRegion.WAITING_WRITERS, chosen.writers) : null;
        this.queueArm =
                chosen.armable ? new QueueArm(memory, chosen.sink, chosen.number, !oneWriter, chosen.shared) : null;
        this.claimRows = oneWriter
                ? null
                : new ClaimRows(
                        memory, geometry, chosen.startSequence, chosen.policy, chosen.writers, creditArm, queueArm);
        this.scratch = chosen.merging ? QueueMemory.allocate(geometry.strideBytes()) : null;
        this.expanded = chosen.merging ? new Completion(scratch, geometry.strideBytes()) : null;
        this.ordinary = oneWriter && !chosen.merging;
        this.view = new Completion(memory, geometry.strideBytes());
        this.current = view;
        this.usedFrom = chosen.startSequence;
        settleIn();
    }

    void settleIn() {
        publishInterval = Math.max(1, capacity / 4);
        mostUnpolled = capacity;
    }

    /** From now on entries may be passed over, or become valid out of order. For the polling thread. */
    void expectGaps() {
        ordinary = false;
    }

    void beginDetour() {
        ordinary = false;
        detour = true;
    }

    /** Back to looking ahead, once nothing stands against it. A queue that is never ordinary makes no detour. */
    void endDetour() {
        if (detour && gaps == 0 && nextRing == null && sequence - usedFrom >= 0) {
            detour = false;
            ordinary = true;
        }
    }

    @Override
    String endName() {
        return "poller";
    }

    @Override
    void letGo() {
        if (!inHandler) { // the poll under way finishes, and its handler may still read its entry
            abandonCursor();
        }
    }

    /** Every entry is a completion and they become valid in order: one look may vouch for many. */
    int pollRuns(CompletionHandler handler, int most) {
        final Completion view = this.view;
        final QueueMemory memory = this.slots;
        final int strideShift = this.strideShift;
        final long first = this.sequence;
        int publishAt = publishInterval;
        int taken = 0;
        boolean lookAhead = true;
        inHandler = true;
        try {
            while (taken != most) {
                final long next = first + taken;
                final long from = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
                final long phase = RingGeometry.phase(next, lapShift);
                if (!isValid(memory, from, phase)) {
                    break; // the device owns this slot: nothing more is ready
                }
                if (taken == publishAt) { // all before this entry has been handled
                    publishConsumed(next);
                    publishAt += publishInterval;
                }
                if (lookAhead && taken >= LOOK_AHEAD_AFTER) {
                    // Entries become valid in order (one writer, batches published in order): a valid one vouches for
                    // all before it, and one acquire covers the run.
                    int run = Math.min(Math.min(most, publishAt) - taken, LOOK_AHEAD);
                    run = Math.min(run, capacity - ((int) next & indexMask));
                    if (run > 1) {
                        final long last = from + ((long) (run - 1) << strideShift);
                        if (isValid(memory, last, phase)) {
                            handRun(handler, from, last);
                            taken += held;
                            held = 0;
                            continue;
                        }
                        lookAhead = false; // close behind the writer: leave the lines it is about to write alone
                    }
                }
                taken++; // counted first: an entry whose handler throws is consumed
                handler.onCompletion(view.attach(from, memory.getLong(from + CqeLayout.HEADER_OFFSET)));
            }
        } finally {
            taken += held;
            held = 0;
            inHandler = false;
            view.detach();
            if (taken != 0) {
                this.sequence = first + taken;
                publishConsumed(first + taken);
            }
        }
        return taken;
    }

    /**
     * Hands over a run of entries that are known to be valid, and leaves in {@code held} how many were. A method of its own,
     * so that its loop always runs long: as a part of pollRuns, after many short polls, the JIT took it for cold.
     */
    private void handRun(CompletionHandler handler, long from, long last) {
        final Completion view = this.view;
        final QueueMemory memory = this.slots;
        final int strideBytes = 1 << strideShift;
        long slot = from - strideBytes;
        try {
            do {
                slot += strideBytes; // counted first: an entry whose handler throws is consumed
                handler.onCompletion(view.attach(slot, memory.getLong(slot + CqeLayout.HEADER_OFFSET)));
            } while (slot != last);
        } finally {
            held = (int) ((slot - from) >>> strideShift) + 1;
        }
    }

    /**
     * Each entry is looked at by itself; what is no completion is passed over, and a marker leads into the next ring. At most
     * as many entries in all as can be unpolled.
     */
    int pollEach(CompletionHandler handler, int most) {
        final long first = this.sequence;
        final long end = first + mostUnpolled;
        long publishAt = first + publishInterval;
        long next = first;
        int taken = 0;
        int over = 0; // passed over, and not yet counted as such
        inHandler = true;
        try {
            while (taken != most && next != end) {
                final int found = look(next, minis);
                if (found == NOT_READY) {
                    break;
                }
                if (found == BOUNDARY) {
                    if (!enterNextRing(next)) {
                        break; // a slot that the device has not used yet
                    }
                    publishAt = next; // as often as the new ring wants it
                    continue;
                }
                if (next == publishAt) { // all before this entry has been handled
                    countPassedOver(over);
                    over = 0;
                    publishConsumed(next);
                    publishAt += publishInterval;
                }
                if (found == SHOWN) { // all counted first: a completion whose handler throws is consumed
                    minis++;
                } else {
                    minis = 0;
                    next++;
                }
                if (found == PASSED_OVER) {
                    over++;
                } else {
                    taken++;
                    handler.onCompletion(current);
                }
            }
        } finally {
            inHandler = false;
            detachViews();
            minisShown = minis;
            if (next != first) {
                this.sequence = next;
                countPassedOver(over);
                publishConsumed(next);
                endDetour();
            }
        }
        return taken;
    }

    /** Whether what the view is on is no entry of this ring: a marker, or a slot that has never been used. */
    private boolean isBoundary(int opcode) {
        return (opcode == CqeOpcode.RESIZE && nextRing != null)
                || (opcode == CqeOpcode.INVALID && (view.header() & ~CqeLayout.OWNER_MASK) == CqRegion.UNUSED);
    }

    /**
     * Follows the device into the next ring if the entry in the view is the marker. The marker takes no sequence: {@code next}
     * is to be found in the new ring. Only if nothing before the marker is in hand any more.
     */
    private boolean enterNextRing(long next) {
        final boolean marker = view.opcode() == CqeOpcode.RESIZE;
        view.detach();
        if (marker) {
            useRing(nextRing);
            view.memory = slots;
            nextRing = null;
            resizeStatus = ResizeStatus.DONE;
            usedFrom = next + capacity;
            settleIn();
        }
        return marker;
    }

    static boolean isValid(QueueMemory memory, long slot, long phase) {
        return ((header(memory, slot) ^ phase) & CqeLayout.OWNER_MASK) == 0;
    }

    static void requireRoom(WorkCompletion[] into, int most) {
        if (into.length < most) {
            throw new IllegalArgumentException("array of " + into.length + " is shorter than the limit: " + most);
        }
        for (int i = 0; i < most; i++) {
            if (into[i] == null) {
                throw new IllegalArgumentException("array must hold WorkCompletions to fill: null at index " + i);
            }
        }
    }

    /** Lets the poller in: its thread, queue open, not from a handler. An open cursor is abandoned. */
    void enterPoll() {
        enter();
        if (inHandler) {
            throw polledByHandler();
        }
        if (shown != 0) {
            abandonCursor();
        }
        detachViews();
    }

    void enterCursor() {
        enter();
        if (shown == 0) {
            throw new IllegalStateException("no cursor is open: startPoll() must have returned true");
        }
    }

    void abandonCursor() {
        held = 0;
        shown = 0;
        passed = 0;
        minisShown = minis;
        detachViews();
    }

    /** Shows the next completion behind what is in hand, and takes it and what was passed over in hand. */
    boolean advance() {
        while (held != capacity) {
            final int found = look(sequence + held, minisShown);
            if (found == NOT_READY) {
                return false;
            }
            if (found == BOUNDARY) {
                detachViews();
                return false;
            }
            if (found == SHOWN) {
                minisShown++;
            } else {
                minisShown = 0;
                held++;
            }
            if (found != PASSED_OVER) {
                return true;
            }
            passed++;
        }
        return false;
    }

    /** The first advance of a call, into the next ring if need be. If there is no completion, nothing is in hand afterwards. */
    boolean advanceFromStart() {
        do {
            if (advance()) {
                return true;
            }
            consumeHeld();
        } while (crossMarker());
        detachViews();
        return false;
    }

    /** With nothing in hand: follows the device into the next ring if the next entry is the marker. */
    boolean crossMarker() {
        return nextRing != null && look(sequence, minisShown) == BOUNDARY && enterNextRing(sequence);
    }

    /** Takes the completion that is shown out of what is in hand. */
    void putLastBack() {
        if (minisShown != 0) {
            minisShown--; // one of a merged entry, not its last
        } else {
            held--; // what was shown last is what is in hand last
            minisShown = current == view ? 0 : numberAt(sequence + held) - 1;
        }
    }

    /** Returns what is in hand to the device. */
    void consumeHeld() {
        minis = minisShown;
        if (held != 0) {
            countPassedOver(passed);
            passed = 0;
            sequence += held;
            held = 0;
            publishConsumed(sequence);
            if (!ordinary) {
                endDetour();
            }
        }
    }

    /** Lets {@code current} show what is in a slot; of a merged entry, completion number {@code mini}. */
    int look(long next, int mini) {
        if (!attachIfReady(next)) {
            return NOT_READY;
        }
        return ordinary ? SHOWN_LAST : lookInto(mini);
    }

    private int lookInto(int mini) {
        current = view;
        final int opcode = view.opcode();
        if (isBoundary(opcode)) {
            return BOUNDARY;
        }
        if (opcode != CqeOpcode.MERGED) {
            return CqeOpcode.isPassedOver(opcode) ? PASSED_OVER : SHOWN_LAST;
        }
        final int number = MergedEntry.number(view.header(), 1 << strideShift);
        if (expanded == null || mini >= number) {
            return PASSED_OVER; // no device of ours writes it
        }
        MergedEntry.expand(slots, view.slotOffset, mini, scratch, 1 << strideShift);
        current = expanded.attach(0, scratch.getLong(CqeLayout.HEADER_OFFSET));
        return mini + 1 == number ? SHOWN_LAST : SHOWN;
    }

    /** Completions in a merged entry. */
    private int numberAt(long sequence) {
        final int slot = RingGeometry.offset(sequence, firstSlotOffset, indexMask, strideShift);
        return MergedEntry.number(slots.getLong(slot + CqeLayout.HEADER_OFFSET), 1 << strideShift);
    }

    void detachViews() {
        view.detach();
        current.detach();
    }

    boolean attachIfReady(long next) {
        final int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
        final long header = header(slots, slot);
        if (((header ^ RingGeometry.phase(next, lapShift)) & CqeLayout.OWNER_MASK) != 0) {
            return false;
        }
        view.attach(slot, header);
        return true;
    }

    static long header(QueueMemory memory, long slot) {
        // Edge CQ-OWN, host end: the owner bit, then the words of this slot and of all slots before it. Partner:
        // CompletionWriter.publish. The kernel's dma_rmb(). Weaker (plain): fields may be loaded before the owner bit,
        // and show the last lap. Shown by CqOwnStress.
        return memory.getLongAcquire(slot + CqeLayout.HEADER_OFFSET);
    }

    void publishConsumed(long sequence) {
        // Edge CQ-CREDIT, host end: our loads of the slots, then the consumer sequence that gives them away. Partner:
        // CompletionWriter.obtainCredit. Weaker: the device overwrites a slot that is still being read. Shown by
        // CqCreditStress.
        memory.putLongRelease(CqRegion.CONSUMER_SEQUENCE, sequence);
        wakeWriters();
    }

    /** Wakes writers that wait for space, now that there is some, or that something is in the control word. */
    final void wakeWriters() {
        if (creditArm != null) {
            creditArm.wake();
        }
    }

    /** Counts what the one poller passed over, before the consumer sequence says that it is gone. */
    private void countPassedOver(int count) {
        if (count == 0) {
            return;
        }
        gaps = Math.max(0, gaps - count);
        if (claimRows != null) {
            // Edge CQ-COUNT, host end: what abandoned entries we have seen, then the count of what was passed over,
            // then the consumer sequence. Partner: abandonedAndNotPassedOver. Weaker: an observer sees more passed
            // over than abandoned. Only the poller stores to it, so its own load is plain.
            memory.putLongRelease(CqRegion.PASSED_OVER, memory.getLong(CqRegion.PASSED_OVER) + count);
        }
    }

    /**
     * The queue is dead and nothing is ready at {@code next}: whether all that was claimed has been polled, so that nothing
     * will follow.
     */
    boolean isDrained(long next) {
        if (claimRows == null) {
            return true;
        }
        // Edge CQ-CLAIM, host end: a compare-and-set that changes nothing, so that any later claim comes after it, sees
        // the flag that we saw, and is given back. Partner: SharedWriter.exchange. Weaker (a load): a writer that had
        // looked at the flag before it was set publishes an entry after the end was reported. Shown by CqClaimStress.
        return memory.compareAndSetLong(CqRegion.PRODUCER_SEQUENCE, next, next);
    }

    /** Whether the next {@code count} slots hold entries; if one of them is passed over, polls may give less. */
    final boolean isReady(int count) {
        if (ordinary) { // the last one vouches for all before it
            final long last = sequence + count - 1;
            final long slot = RingGeometry.offset(last, firstSlotOffset, indexMask, strideShift);
            return isValid(slots, slot, RingGeometry.phase(last, lapShift));
        }
        int found = SHOWN_LAST;
        for (int i = 0; i != count && found != NOT_READY && found != BOUNDARY; i++) {
            found = look(sequence + i, i == 0 ? minis : 0);
        }
        final boolean ready = found != NOT_READY && (found != BOUNDARY || view.opcode() == CqeOpcode.RESIZE);
        detachViews();
        return ready;
    }

    boolean dead() {
        // Edge STATE, host end: the flag, then the slots. Partner: CompletionWriter.lose. Loaded before the first
        // owner bit, so an empty ring after a set flag is empty for good. Weaker (or loaded after): entries are left
        // unpolled when the exception is thrown. Shown by StateStress.
        return memory.getLongAcquire(CqRegion.DEAD) != 0;
    }

    static IllegalStateException polledByHandler() {
        return new IllegalStateException(
                "completion queue is being polled: a handler must not poll or release its own queue");
    }

    CqOverrunException overrun() {
        return new CqOverrunException(memory.getLongOpaque(CqRegion.LOST_ENTRIES), capacity);
    }

    static IllegalArgumentException negativeLimit(int limit) {
        return new IllegalArgumentException("limit must be 0 or more: " + limit);
    }

    boolean isGap() {
        final int opcode = view.opcode();
        return CqeOpcode.isPassedOver(opcode) && !isBoundary(opcode);
    }
}
