package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import java.util.Objects;

/**
 * Host end of a completion queue: polls completions and returns their slots to the device.
 *
 * <p><b>Role:</b> one polling thread at a time. The first thread that polls is the poller until it calls
 * {@link #releasePoller} or ends; any other gets an {@link IllegalStateException}. {@link #size}, {@link #remaining},
 * {@link #isEmpty}, {@link #capacity}, the counters and {@link #close} are for any thread. <b>Progress:</b> wait-free; no
 * call takes more than {@link #capacity} entries, however busy the device is. <b>Allocation:</b> none after creation.
 * <b>Visibility:</b> all the device wrote before it published a completion is visible once the completion is polled.
 *
 * <p>Four ways to poll: {@link #poll} hands entries to a handler; {@link #startPoll}, {@link #next} and {@link #endPoll} are a
 * cursor, for loops without a callback; {@link #pollInto} copies entries out; {@link #peek} looks and consumes nothing.
 *
 * <p>The queue is safe to hand to other threads in any way that publishes Java objects safely.
 *
 * @see <a href="https://man7.org/linux/man-pages/man3/ibv_poll_cq.3.html">ibv_poll_cq(3), whose contract this follows</a>
 */
public final class CompletionQueue extends QueueEnd implements AutoCloseable {
    /** The most entries that one look at a header may vouch for. */
    private static final int LOOK_AHEAD = 64;

    /** Entries that a call takes one by one before it looks ahead: a short call is about latency and touches no line more. */
    private static final int LOOK_AHEAD_AFTER = 8;

    /** The one writer, or null if there are many. */
    private final CompletionWriter writer;

    /** What many writers share, or null if there is one. */
    private final ClaimRows claimRows;

    private final Completion view;
    private final int publishInterval;

    /** Every entry is a completion, and entries become valid in order. */
    private boolean ordinary;

    private CompletionQueue(
            QueueMemory memory, RingGeometry geometry, long startSequence, OverrunPolicy policy, int writers) {
        super(memory, geometry, startSequence);
        this.writer = writers == 1 ? new CompletionWriter(memory, geometry, startSequence, policy) : null;
        this.claimRows = writers == 1 ? null : new ClaimRows(memory, geometry, startSequence, policy, writers);
        this.ordinary = writers == 1;
        this.view = new Completion(memory, geometry.strideBytes());
        this.publishInterval = Math.max(1, capacity / 4);
    }

    /**
     * Starts to describe a queue: 64-byte entries, {@link OverrunPolicy#BACKPRESSURE}, memory of its own, unless told
     * otherwise.
     *
     * @param capacity entries; a power of two, at most 2^24 (2^23 for 128-byte entries)
     * @return a builder
     */
    public static Builder ofCapacity(int capacity) {
        return new Builder(capacity);
    }

    /**
     * Memory that a queue with one writer takes, exact.
     *
     * @param capacity    entries; a power of two
     * @param strideBytes bytes per entry: 32, 64 or 128
     * @return bytes
     * @throws IllegalArgumentException if a number breaks its rule
     */
    public static long requiredBytes(int capacity, int strideBytes) {
        return requiredBytes(capacity, strideBytes, 1);
    }

    /**
     * Memory that a queue takes, exact.
     *
     * @param capacity    entries; a power of two
     * @param strideBytes bytes per entry: 32, 64 or 128
     * @param writers     the most writers, 1 to 64
     * @return bytes
     * @throws IllegalArgumentException if a number breaks its rule
     */
    public static long requiredBytes(int capacity, int strideBytes, int writers) {
        return CqRegion.requiredBytes(capacity, strideBytes, writers);
    }

    /** From now on entries may be passed over, or become valid out of order. For the polling thread. */
    void expectGaps() {
        ordinary = false;
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

    /**
     * The device end of a queue with one writer. Always the same object.
     *
     * @return the writer
     * @throws IllegalStateException if the queue was made for many writers
     */
    public CompletionWriter writer() {
        if (writer == null) {
            throw new IllegalStateException(
                    "completion queue was made for many writers: newWriter() opens one per writing thread");
        }
        return writer;
    }

    /**
     * Opens a device end of a queue with many writers, one per writing thread. Any thread; may wait for another newWriter,
     * recover, or close of a writer.
     *
     * @return a new writer, to be closed when it is no longer needed
     * @throws IllegalStateException if the queue was made for one writer, has as many open as it was made for, or is closed
     */
    public SharedWriter newWriter() {
        return claimRows().open();
    }

    /**
     * Takes back what writers that are gone have claimed and not published: writers whose thread has ended, and writers closed
     * after a call that an exception had cut short. Their entries become abandoned ones, which polls pass over, so that
     * completions behind them can be polled; what they had published stays. The writers are closed and their places free for
     * {@link #newWriter}.
     *
     * <p>A living writer's claim is never touched, however long it is open. While one may, by what its row says, own a sequence
     * that one that is gone may own too, nothing is decided about it: call again later. Any thread, at any time; may wait for
     * another recover, newWriter, or close of a writer. Writers and poller need not stop.
     *
     * @return entries abandoned by this call
     * @throws IllegalStateException if the queue was made for one writer, or is closed
     */
    public int recover() {
        return claimRows().recover();
    }

    private ClaimRows claimRows() {
        if (claimRows == null) {
            throw new IllegalStateException(
                    "completion queue was made for one writer: writer() is it; writers(n) makes a queue for many");
        }
        if (isClosed()) {
            throw new IllegalStateException("completion queue is closed");
        }
        return claimRows;
    }

    /**
     * Hands ready completions to {@code handler}, oldest first, and returns their slots to the device.
     *
     * <p>Takes at most {@code min(limit, capacity())}. An entry counts as consumed once its handler is called: if the handler
     * throws, the exception goes on to the caller, and the next poll starts with the entry after it. Slots go back at the
     * end of the call and each time a quarter of the ring has been handled. An open cursor is abandoned.
     *
     * @param handler called once per completion, on this thread; it must not poll this queue
     * @param limit   the most completions to take, in entries; 0 takes none, more than the capacity is allowed
     * @return completions taken, in entries; 0 if none was ready
     * @throws NullPointerException     if there is no handler; nothing is taken
     * @throws IllegalArgumentException if {@code limit} is negative; nothing is taken
     * @throws IllegalStateException    if the queue is closed, another thread is the poller, or the call comes from a handler
     *                                  of this queue; nothing is taken
     * @throws CqOverrunException       if the device overran the queue (policy ERROR) and all it wrote before has been polled
     */
    public int poll(CompletionHandler handler, int limit) {
        Objects.requireNonNull(handler, "handler");
        enterPoll();
        if (limit < 0) {
            throw negativeLimit(limit);
        }
        final boolean dead = dead();
        final int most = Math.min(limit, capacity);
        final int taken = ordinary ? pollRuns(handler, most) : pollEach(handler, most);
        if (dead && taken == 0 && limit != 0 && isDrained()) {
            throw overrun();
        }
        return taken;
    }

    /** Every entry is a completion and they become valid in order: one look may vouch for many. */
    private int pollRuns(CompletionHandler handler, int most) {
        final Completion view = this.view;
        final QueueMemory memory = this.memory;
        final int strideShift = this.strideShift;
        final int strideBytes = 1 << strideShift;
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
                int run = 1;
                if (lookAhead && taken >= LOOK_AHEAD_AFTER) {
                    // Entries become valid in order (one writer, batches published in order): a valid one vouches for
                    // all before it, and one acquire covers the run.
                    run = Math.min(Math.min(most, publishAt) - taken, LOOK_AHEAD);
                    run = Math.min(run, capacity - ((int) next & indexMask));
                    if (!isValid(memory, from + ((long) (run - 1) << strideShift), phase)) {
                        run = 1;
                        lookAhead = false; // close behind the writer: leave the lines it is about to write alone
                    }
                }
                final long to = from + ((long) run << strideShift);
                long slot = from;
                try {
                    do {
                        final long current = slot;
                        slot += strideBytes; // counted first: an entry whose handler throws is consumed
                        handler.onCompletion(view.attach(current, memory.getLong(current + CqeLayout.HEADER_OFFSET)));
                    } while (slot != to);
                } finally {
                    taken += (int) ((slot - from) >>> strideShift);
                }
            }
        } finally {
            inHandler = false;
            view.detach();
            if (taken != 0) {
                this.sequence = first + taken;
                publishConsumed(first + taken);
            }
        }
        return taken;
    }

    /** Each entry is looked at by itself; what is no completion is passed over. At most {@code capacity} entries in all. */
    private int pollEach(CompletionHandler handler, int most) {
        final long first = this.sequence;
        final long end = first + capacity;
        long publishAt = first + publishInterval;
        long next = first;
        int taken = 0;
        inHandler = true;
        try {
            while (taken != most && next != end && attachIfReady(next)) {
                if (next == publishAt) { // all before this entry has been handled
                    publishConsumed(next);
                    publishAt += publishInterval;
                }
                next++; // counted first: an entry whose handler throws is consumed
                if (!CqeOpcode.isPassedOver(view.opcode())) {
                    taken++;
                    handler.onCompletion(view);
                }
            }
        } finally {
            inHandler = false;
            view.detach();
            if (next != first) {
                this.sequence = next;
                countPassedOver((int) (next - first) - taken);
                publishConsumed(next);
            }
        }
        return taken;
    }

    private static boolean isValid(QueueMemory memory, long slot, long phase) {
        return ((header(memory, slot) ^ phase) & CqeLayout.OWNER_MASK) == 0;
    }

    /**
     * Copies ready completions into {@code into}, oldest first, and returns their slots to the device. An open cursor is
     * abandoned.
     *
     * @param into  completions to fill, from index 0 on; the first {@code min(limit, capacity())} must not be null
     * @param limit the most completions to take, in entries; 0 takes none
     * @return completions filled, in entries; 0 if none was ready
     * @throws IllegalArgumentException if {@code limit} is negative, {@code into} is shorter, or has a null there; nothing is
     *                                  taken
     * @throws IllegalStateException    as {@link #poll}
     * @throws CqOverrunException       as {@link #poll}
     */
    public int pollInto(WorkCompletion[] into, int limit) {
        enterPoll();
        if (limit < 0) {
            throw negativeLimit(limit);
        }
        final int most = Math.min(limit, capacity);
        if (into.length < most) {
            throw new IllegalArgumentException("array of " + into.length + " is shorter than the limit: " + most);
        }
        for (int i = 0; i < most; i++) {
            if (into[i] == null) {
                throw new IllegalArgumentException("array must hold WorkCompletions to fill: null at index " + i);
            }
        }
        final boolean dead = dead();
        int taken = 0;
        while (taken != most && advance()) {
            view.copyTo(into[taken++]);
        }
        view.detach();
        consumeHeld(taken);
        if (dead && taken == 0 && limit != 0 && isDrained()) {
            throw overrun();
        }
        return taken;
    }

    /**
     * Opens a cursor on the oldest ready completion: the lazy poll of {@code ibv_start_poll}. Nothing is consumed before
     * {@link #endPoll}: a cursor that is abandoned (by any other poll, or another {@code startPoll}) leaves all in place.
     *
     * @return true if a completion is ready: {@link #completion} shows it; false if none is: no cursor is open
     * @throws IllegalStateException as {@link #poll}
     * @throws CqOverrunException    as {@link #poll}
     */
    public boolean startPoll() {
        enterPoll();
        final boolean dead = dead();
        if (advance()) {
            shown = 1;
            return true;
        }
        consumeHeld(0);
        if (dead && isDrained()) {
            throw overrun();
        }
        return false;
    }

    /**
     * Moves the cursor to the next ready completion.
     *
     * @return true if there is one: {@link #completion} shows it; false if none is ready: the view is detached, the cursor
     *     stays open and may be moved again
     * @throws IllegalStateException if no cursor is open, or as {@link #poll}; nothing is consumed
     */
    public boolean next() {
        enterCursor();
        if (advance()) {
            shown++;
            return true;
        }
        view.detach();
        return false;
    }

    /**
     * What the cursor, or the last {@link #peek}, stands on. The same object each time.
     *
     * @return the view; its accessors throw while it stands on nothing
     */
    public Completion completion() {
        return view;
    }

    /**
     * Closes the cursor, consumes every completion it has shown and returns their slots to the device.
     *
     * @return completions consumed, in entries; at least 1
     * @throws IllegalStateException if no cursor is open, or as {@link #poll}; nothing is consumed
     */
    public int endPoll() {
        enterCursor();
        final int taken = shown;
        consumeHeld(taken);
        abandonCursor();
        return taken;
    }

    /**
     * Shows the oldest ready completion and consumes nothing. An open cursor is abandoned.
     *
     * @return a view, valid until the next call on this queue; null if none is ready
     * @throws IllegalStateException as {@link #poll}
     * @throws CqOverrunException    as {@link #poll}
     */
    public Completion peek() {
        enterPoll();
        final boolean dead = dead();
        final boolean found = advance();
        if (found) {
            held--;
        }
        consumeHeld(0); // what was passed over is nobody's any more
        if (found) {
            return view;
        }
        if (dead && isDrained()) {
            throw overrun();
        }
        return null;
    }

    /** Lets the poller in: its thread, queue open, not from a handler. An open cursor is abandoned. */
    private void enterPoll() {
        enter();
        if (inHandler) {
            throw polledByHandler();
        }
        if (held != 0) {
            abandonCursor();
        }
        view.detach();
    }

    private void enterCursor() {
        enter();
        if (shown == 0) {
            throw new IllegalStateException("no cursor is open: startPoll() must have returned true");
        }
    }

    private void abandonCursor() {
        held = 0;
        shown = 0;
        view.detach();
    }

    /** Attaches the view to the next completion behind what is in hand, and takes it and what was passed over in hand. */
    private boolean advance() {
        while (held != capacity && attachIfReady(sequence + held)) {
            held++;
            if (ordinary || !CqeOpcode.isPassedOver(view.opcode())) {
                return true;
            }
        }
        return false;
    }

    /** Returns what is in hand to the device: so many completions, and what was passed over. */
    private void consumeHeld(int completions) {
        if (held != 0) {
            countPassedOver(held - completions);
            sequence += held;
            held = 0;
            publishConsumed(sequence);
        }
    }

    private boolean attachIfReady(long next) {
        final int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
        final long header = header(memory, slot);
        if (((header ^ RingGeometry.phase(next, lapShift)) & CqeLayout.OWNER_MASK) != 0) {
            return false;
        }
        view.attach(slot, header);
        return true;
    }

    private static long header(QueueMemory memory, long slot) {
        // Edge CQ-OWN, host end: the owner bit, then the words of this slot and of all slots before it. Partner:
        // CompletionWriter.publish. The kernel's dma_rmb(). Weaker (plain): fields may be loaded before the owner bit,
        // and show the last lap. Shown by CqOwnStress.
        return memory.getLongAcquire(slot + CqeLayout.HEADER_OFFSET);
    }

    private void publishConsumed(long sequence) {
        // Edge CQ-CREDIT, host end: our loads of the slots, then the consumer sequence that gives them away. Partner:
        // CompletionWriter.obtainCredit. Weaker: the device overwrites a slot that is still being read. Shown by
        // CqCreditStress.
        memory.putLongRelease(CqRegion.CONSUMER_SEQUENCE, sequence);
    }

    /** Counts what was passed over, before the consumer sequence says that it is gone. */
    private void countPassedOver(int count) {
        if (count != 0) {
            // Edge CQ-COUNT, host end: what abandoned entries we have seen, then the count of what was passed over,
            // then the consumer sequence. Partner: abandonedAndNotPassedOver. Weaker: an observer sees more passed
            // over than abandoned. Only the poller stores to it, so its own load is plain.
            memory.putLongRelease(CqRegion.PASSED_OVER, memory.getLong(CqRegion.PASSED_OVER) + count);
        }
    }

    /** The queue is dead and nothing is ready: whether all that was claimed has been polled, so that nothing will follow. */
    private boolean isDrained() {
        if (claimRows == null) {
            return true;
        }
        // Edge CQ-CLAIM, host end: a compare-and-set that changes nothing, so that any later claim comes after it,
        // sees the flag that we saw, and is given back. Partner: SharedWriter.obtain. Weaker (a load): a writer that
        // had looked at the flag before it was set publishes an entry after the end was reported. Shown by
        // CqClaimStress.
        return memory.compareAndSetLong(CqRegion.PRODUCER_SEQUENCE, sequence, sequence);
    }

    private boolean dead() {
        // Edge STATE, host end: the flag, then the slots. Partner: CompletionWriter.lose. Loaded before the first
        // owner bit, so an empty ring after a set flag is empty for good. Weaker (or loaded after): entries are left
        // unpolled when the exception is thrown. Shown by StateStress.
        return memory.getLongAcquire(CqRegion.DEAD) != 0;
    }

    private static IllegalStateException polledByHandler() {
        return new IllegalStateException(
                "completion queue is being polled: a handler must not poll or release its own queue");
    }

    private CqOverrunException overrun() {
        return new CqOverrunException(lostEntries(), capacity);
    }

    private static IllegalArgumentException negativeLimit(int limit) {
        return new IllegalArgumentException("limit must be 0 or more: " + limit);
    }

    /**
     * Completions published and not yet returned to the device. Any thread. On the polling thread, that many can be polled
     * at once; more may be ready, because the count follows the completions it counts (a batch's as a whole). On other threads it
     * may also be too high, by what was polled and published during the call.
     *
     * <p>With many writers, open claims count as well: what is claimed and neither published nor given back may or may not become
     * a completion, so fewer may be ready. Abandoned entries do not count.
     *
     * @return entries, 0 to capacity
     */
    public int size() {
        // Edge CQ-COUNT, observing end. Partner: CompletionWriter.publishSequence. First the consumed count, then the
        // published one, then (in a later poll by this thread) the owner bits it counts. Weaker: "empty" might never
        // have been true, and "not empty" would not promise the poller a completion. Shown by CqCountStress.
        long consumed = memory.getLongAcquire(CqRegion.CONSUMER_SEQUENCE);
        long abandoned = claimRows == null ? 0 : abandonedAndNotPassedOver();
        long published = memory.getLongAcquire(CqRegion.PRODUCER_SEQUENCE);
        return (int) Math.max(0, Math.min(published - consumed - abandoned, capacity));
    }

    /** To be called after the consumer sequence was loaded: what it has passed, both counts have counted. */
    private long abandonedAndNotPassedOver() {
        // Edge CQ-COUNT, observing end. Partner: ClaimRows.abandon. First what was passed over, then what was
        // abandoned, which is never less. Weaker: an abandoned entry that has been passed over is subtracted again.
        long passed = memory.getLongAcquire(CqRegion.PASSED_OVER);
        return memory.getLongAcquire(CqRegion.ABANDONED_ENTRIES) - passed;
    }

    /**
     * Free slots by the same reckoning as {@link #size}: capacity less size.
     *
     * @return entries, 0 to capacity
     */
    public int remaining() {
        return capacity - size();
    }

    /**
     * Whether the count of ready completions is 0. If the polling thread gets false outside a handler, its next poll returns at
     * least one, unless there are many writers: then what is counted may still be an open claim. Within a handler the entries of the poll under way still count. After true, a poll may still find what has just
     * been published: to know, poll or {@link #peek}.
     *
     * @return size() == 0
     */
    public boolean isEmpty() {
        return size() == 0;
    }

    /**
     * Slots in the ring.
     *
     * @return entries
     */
    public int capacity() {
        return capacity;
    }

    /**
     * Bytes per entry.
     *
     * @return 32, 64 or 128
     */
    public int strideBytes() {
        return 1 << strideShift;
    }

    /**
     * Completions lost to overrun since creation; always 0 under BACKPRESSURE. Any thread.
     *
     * @return entries
     */
    public long lostEntries() {
        return memory.getLongOpaque(CqRegion.LOST_ENTRIES);
    }

    /**
     * Lets another thread become the poller. An open cursor is abandoned.
     *
     * @throws IllegalStateException if the calling thread is not the poller, or is in a handler of this queue
     */
    public void releasePoller() {
        requirePlayer();
        if (inHandler) {
            throw polledByHandler();
        }
        abandonCursor();
        releaseRole();
    }

    /**
     * Closes both ends, from any thread: calls that start later throw {@link IllegalStateException}; calls under way finish.
     * What is unpolled is given up. Closing again does nothing. Memory the queue allocated is freed by the garbage collector
     * once both ends are unreachable; wrapped memory is the caller's again when no call on either end is under way and nobody
     * uses the view of a {@link #peek}, a cursor or a claim any more.
     */
    @Override
    public void close() {
        markClosed();
    }

    /** Describes a queue to be made. Not thread-safe. */
    public static final class Builder {
        private final int capacity;
        private int strideBytes = CqeLayout.STANDARD_BYTES;
        private OverrunPolicy policy = OverrunPolicy.BACKPRESSURE;
        private long startSequence;
        private QueueMemory memory;
        private int writers = 1;

        private Builder(int capacity) {
            this.capacity = capacity;
        }

        /**
         * Sets the entry size.
         *
         * @param strideBytes bytes per entry: 32, 64 or 128
         * @return this
         */
        public Builder strideBytes(int strideBytes) {
            this.strideBytes = strideBytes;
            return this;
        }

        /**
         * Sets what happens when no slot is free.
         *
         * @param policy the policy
         * @return this
         */
        public Builder overrunPolicy(OverrunPolicy policy) {
            this.policy = Objects.requireNonNull(policy, "overrun policy");
            return this;
        }

        /**
         * Sets the first sequence, so that tests meet the widths of counters early.
         *
         * @param startSequence a sequence, in entries; any value
         * @return this
         */
        public Builder startSequence(long startSequence) {
            this.startSequence = startSequence;
            return this;
        }

        /**
         * Sets how many may write at the same time. With 1, the queue has one {@link CompletionQueue#writer}; with more, each
         * writing thread opens a {@link SharedWriter} by {@link CompletionQueue#newWriter}.
         *
         * @param most the most writers that may be open, 1 to 64
         * @return this
         */
        public Builder writers(int most) {
            this.writers = most;
            return this;
        }

        /**
         * Uses the caller's memory; whatever it holds is overwritten.
         *
         * @param memory a region of at least {@link CompletionQueue#requiredBytes(int, int, int)} bytes; bytes beyond are not touched
         * @return this
         */
        public Builder memory(QueueMemory memory) {
            this.memory = Objects.requireNonNull(memory, "memory");
            return this;
        }

        /**
         * Makes the queue, empty.
         *
         * @return the host end; {@link CompletionQueue#writer} or {@link CompletionQueue#newWriter} is the device end
         * @throws IllegalArgumentException if a number breaks its rule or the memory is too small; nothing is touched
         */
        public CompletionQueue create() {
            RingGeometry geometry = CqRegion.geometry(capacity, strideBytes, writers);
            long bytes = CqRegion.requiredBytes(capacity, strideBytes, writers);
            QueueMemory region = memory == null ? QueueMemory.allocate(bytes) : memory;
            if (region.sizeBytes() < bytes) {
                throw new IllegalArgumentException("memory of " + region.sizeBytes() + " bytes is too small for "
                        + capacity + " entries of " + strideBytes + " bytes: " + bytes + " bytes are needed");
            }
            CqRegion.initialise(region, geometry, startSequence, memory == null);
            return new CompletionQueue(region, geometry, startSequence, policy, writers);
        }
    }
}
