package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;

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
 * <p>Many threads may poll a queue that is made with {@link Builder#sharedPollers}: each through a {@link CompletionPoller} of
 * its own, from {@link #newPoller}. Such a queue's own poll calls, and {@link #peek}, are refused.
 *
 * <p>The queue is safe to hand to other threads in any way that publishes Java objects safely.
 *
 * @see <a href="https://man7.org/linux/man-pages/man3/ibv_poll_cq.3.html">ibv_poll_cq(3), whose contract this follows</a>
 */
public final class CompletionQueue extends QueueEnd implements AutoCloseable {
    /** The most entries that one look at a header may vouch for. */
    private static final int LOOK_AHEAD = 64;

    /** The device owns the slot. */
    private static final int NOT_READY = 0;

    /** The slot holds no completion. */
    private static final int PASSED_OVER = 1;

    /** The slot's completion is shown, and the slot holds more. */
    private static final int SHOWN = 2;

    /** The slot's only or last completion is shown. */
    private static final int SHOWN_LAST = 3;

    /** Entries that a call takes one by one before it looks ahead: a short call is about latency and touches no line more. */
    private static final int LOOK_AHEAD_AFTER = 8;

    /** The one writer, or null if there are many. */
    private final CompletionWriter writer;

    /** What many writers share, or null if there is one. */
    private final ClaimRows claimRows;

    private final Completion view;
    private final int publishInterval;
    private final boolean shared;

    /** Where completions of merged entries are laid out one by one, and the view of it; null unless the queue merges. */
    private final QueueMemory scratch;

    private final Completion expanded;

    /** Every entry is a completion, and entries become valid in order. */
    private boolean ordinary;

    private CompletionQueue(QueueMemory memory, RingGeometry geometry, Builder chosen) {
        super(memory, geometry, chosen.startSequence);
        final boolean merging = chosen.merging;
        final long start = chosen.startSequence;
        final boolean oneWriter = chosen.writers == 1;
        this.writer = oneWriter ? new CompletionWriter(memory, geometry, start, chosen.policy, merging) : null;
        this.claimRows = oneWriter ? null : new ClaimRows(memory, geometry, start, chosen.policy, chosen.writers);
        this.scratch = merging ? QueueMemory.allocate(geometry.strideBytes()) : null;
        this.expanded = merging ? new Completion(scratch, geometry.strideBytes()) : null;
        this.ordinary = oneWriter && !merging;
        this.view = new Completion(memory, geometry.strideBytes());
        this.current = view;
        this.publishInterval = Math.max(1, capacity / 4);
        this.shared = chosen.shared;
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
     * A queue that exists already: in a file that another process has made, or in memory that something else shares. Changes
     * no entry and no index. All of the header is checked, against the real size of the memory, before a slot is touched.
     *
     * <p><b>Files</b> ({@link QueueMemory#create}, {@link QueueMemory#attach}): each role is played by one process at a time. A
     * process takes a role when a thread of its own first plays it, and goes on at the index that the region says; it keeps the
     * role until {@link #releasePoller} or {@link CompletionWriter#release}, until close, or until it ends, in whatever way. A
     * process that tries meanwhile gets an {@link IllegalStateException} that names the other. The guard is a lock on a file
     * beside the region, named after the role; where that cannot be made the first use of the end throws
     * {@link java.io.UncheckedIOException}. Attaching takes no role, so a process may attach just to look at the counts.
     *
     * <p><b>Death of a process:</b> whatever was published stays, also if the process was killed. The next writer goes on after
     * the last published entry: entries that were staged, claimed or half-written are gone. The next poller goes on at the
     * consumer sequence: it gets those entries again that a call which did not finish had handled and not yet returned, at
     * most as many as one call may take. What {@link #pollInto} had copied out is gone with its process. See also {@link CompletionWriter#recover}.
     *
     * <p><b>Other memory</b> ({@link QueueMemory#wrap}) has no such guard: nobody may play an end while it is attached again.
     *
     * @param memory a region that holds a queue
     * @return the host end; {@link #writer} is the device end
     * @throws CqAttachException if the region holds no queue, or not yet, or one that this version cannot work with; nothing is
     *                           changed
     */
    public static CompletionQueue attach(QueueMemory memory) {
        CqHeader header = CqHeader.read(memory);
        RingGeometry geometry = CqRegion.geometry(header.capacity(), header.strideBytes(), 1);
        CqRegion.requirePlausible(memory, header.startSequence(), header.capacity());
        Builder chosen = new Builder(header.capacity())
                .strideBytes(header.strideBytes())
                .overrunPolicy(header.policy())
                .startSequence(header.startSequence());
        CompletionQueue queue = new CompletionQueue(memory, geometry, chosen);
        if (!queue.isInFile()) { // else each end resumes once it has its role
            queue.resume();
            queue.writer.resume();
        }
        return queue;
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
    void requirePlayable() {
        if (shared) {
            throw new IllegalStateException("completion queue has shared pollers: each thread polls through a"
                    + " CompletionPoller of its own, from newPoller()");
        }
    }

    @Override
    void letGo() {
        if (!inHandler) { // the poll under way finishes, and its handler may still read its entry
            abandonCursor();
        }
    }

    @Override
    void resume() {
        abandonCursor();
        // The host's own sequence stands still while it has the role; the device may go on before it.
        long consumed = memory.getLongOpaque(CqRegion.CONSUMER_SEQUENCE);
        long published = memory.getLongOpaque(CqRegion.PRODUCER_SEQUENCE);
        CqRegion.requireReachable(memory, startSequence, capacity, consumed, published);
        sequence = consumed;
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
     * Makes one more poller of a queue with {@link Builder#sharedPollers}, with claims of up to 16 entries. Any thread, at any
     * time, as often as wanted.
     *
     * @return a poller, for one thread
     * @throws IllegalStateException as {@link #newPoller(int)}
     */
    public CompletionPoller newPoller() {
        return newPoller(CompletionPoller.DEFAULT_BATCH);
    }

    /**
     * Makes one more poller of a queue with {@link Builder#sharedPollers}. Any thread, at any time, as often as wanted.
     *
     * @param batch the most entries that one claim takes away from the other pollers, 1 or more; more than the capacity is
     *              allowed. The poller has memory of its own for that many. Larger claims cost less per entry; smaller ones
     *              share the work more evenly, and fewer entries wait when a handler is slow or throws
     * @return a poller, for one thread
     * @throws IllegalArgumentException if {@code batch} is below 1
     * @throws IllegalStateException    if the queue has one poller, or is closed
     */
    public CompletionPoller newPoller(int batch) {
        if (batch < 1) {
            throw new IllegalArgumentException("batch must be 1 or more: " + batch);
        }
        if (!shared) {
            throw new IllegalStateException(
                    "completion queue has one poller, who calls the queue itself: make it with sharedPollers() to have many");
        }
        if (isQueueClosed()) {
            throw queueClosed();
        }
        return new CompletionPoller(this, Math.min(batch, capacity));
    }

    boolean hasManyWriters() {
        return claimRows != null;
    }

    /** The arithmetic of this queue, for its pollers. */
    RingGeometry geometry() {
        return RingGeometry.of(firstSlotOffset, capacity, 1 << strideShift);
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
        if (isQueueClosed()) {
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
        if (dead && taken == 0 && limit != 0 && isDrained(sequence)) {
            throw overrun();
        }
        return taken;
    }

    /** Every entry is a completion and they become valid in order: one look may vouch for many. */
    private int pollRuns(CompletionHandler handler, int most) {
        final Completion view = this.view;
        final QueueMemory memory = this.memory;
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
        final QueueMemory memory = this.memory;
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

    /** Each entry is looked at by itself; what is no completion is passed over. At most {@code capacity} entries in all. */
    private int pollEach(CompletionHandler handler, int most) {
        final long first = this.sequence;
        final long end = first + capacity;
        long publishAt = first + publishInterval;
        long next = first;
        int taken = 0;
        int passed = 0;
        inHandler = true;
        try {
            while (taken != most && next != end) {
                final int found = look(next, minis);
                if (found == NOT_READY) {
                    break;
                }
                if (next == publishAt) { // all before this entry has been handled
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
                    passed++;
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
                countPassedOver(passed);
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
        requireRoom(into, most);
        final boolean dead = dead();
        int taken = 0;
        while (taken != most && advance()) {
            current.copyTo(into[taken++]);
        }
        detachViews();
        consumeHeld();
        if (dead && taken == 0 && limit != 0 && isDrained(sequence)) {
            throw overrun();
        }
        return taken;
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
        consumeHeld();
        if (dead && isDrained(sequence)) {
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
        detachViews();
        return false;
    }

    /**
     * What the cursor, or the last {@link #peek}, stands on. The same object each time, unless the queue merges.
     *
     * @return the view; its accessors throw while it stands on nothing
     */
    public Completion completion() {
        return current;
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
        consumeHeld();
        abandonCursor();
        return taken;
    }

    /**
     * Closes the cursor and consumes every completion it has shown but the one it stands on, which the next poll will find
     * again.
     *
     * @return completions consumed, in entries; 0 if only one was shown
     * @throws IllegalStateException if no cursor is open, the cursor stands on nothing ({@link #next} returned false), or as
     *                               {@link #poll}; nothing is consumed
     */
    public int endPollButLast() {
        enterCursor();
        if (current.slotOffset == SlotView.DETACHED) {
            throw new IllegalStateException("the cursor stands on no completion: next() returned false");
        }
        final int taken = shown - 1;
        if (minisShown != 0) {
            minisShown--; // one of a merged entry, not its last
        } else {
            held--; // what was shown last is what is in hand last
            minisShown = current == view ? 0 : numberAt(sequence + held) - 1;
        }
        consumeHeld();
        abandonCursor();
        return taken;
    }

    /**
     * Shows the oldest ready completion and consumes nothing. An open cursor is abandoned.
     *
     * @return a view, valid until the next call on this queue; null if none is ready
     * @throws IllegalStateException as {@link #poll}; also if the queue has shared pollers: what a peek showed, another poller
     *                               could have taken, and the device overwritten, before the caller looked
     * @throws CqOverrunException    as {@link #poll}
     */
    public Completion peek() {
        if (shared) {
            throw new IllegalStateException(
                    "completion queue has shared pollers, so there is no peek: another poller may"
                            + " take the entry, and the device overwrite it, while it is looked at");
        }
        enterPoll();
        final boolean dead = dead();
        int found = PASSED_OVER;
        while (found == PASSED_OVER && held != capacity) {
            found = look(sequence + held, minisShown);
            if (found == PASSED_OVER) {
                held++;
                passed++;
                minisShown = 0;
            }
        }
        consumeHeld(); // what was passed over is nobody's any more
        if (found >= SHOWN) {
            return current;
        }
        if (dead && isDrained(sequence)) {
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
        if (shown != 0) {
            abandonCursor();
        }
        detachViews();
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
        passed = 0;
        minisShown = minis;
        detachViews();
    }

    /** Shows the next completion behind what is in hand, and takes it and what was passed over in hand. */
    private boolean advance() {
        while (held != capacity) {
            final int found = look(sequence + held, minisShown);
            if (found == NOT_READY) {
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

    /** Returns what is in hand to the device. */
    private void consumeHeld() {
        minis = minisShown;
        if (held != 0) {
            countPassedOver(passed);
            passed = 0;
            sequence += held;
            held = 0;
            publishConsumed(sequence);
        }
    }

    /** Lets {@code current} show what is in a slot; of a merged entry, completion number {@code mini}. */
    private int look(long next, int mini) {
        if (!attachIfReady(next)) {
            return NOT_READY;
        }
        return ordinary ? SHOWN_LAST : lookInto(mini);
    }

    private int lookInto(int mini) {
        current = view;
        final int opcode = view.opcode();
        if (opcode != CqeOpcode.MERGED) {
            return CqeOpcode.isPassedOver(opcode) ? PASSED_OVER : SHOWN_LAST;
        }
        final int number = MergedEntry.number(view.header(), strideBytes());
        if (expanded == null || mini >= number) {
            return PASSED_OVER; // no device of ours writes it
        }
        MergedEntry.expand(memory, view.slotOffset, mini, scratch, strideBytes());
        current = expanded.attach(0, scratch.getLong(CqeLayout.HEADER_OFFSET));
        return mini + 1 == number ? SHOWN_LAST : SHOWN;
    }

    /** Completions in a merged entry. */
    private int numberAt(long sequence) {
        final int slot = RingGeometry.offset(sequence, firstSlotOffset, indexMask, strideShift);
        return MergedEntry.number(memory.getLong(slot + CqeLayout.HEADER_OFFSET), strideBytes());
    }

    private void detachViews() {
        view.detach();
        current.detach();
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

    static long header(QueueMemory memory, long slot) {
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

    /** Counts what the one poller passed over, before the consumer sequence says that it is gone. */
    private void countPassedOver(int count) {
        if (count != 0) {
            // Published by the consumer sequence, edge CQ-COUNT. Only the poller stores to it.
            memory.putLongOpaque(CqRegion.PASSED_OVER, memory.getLong(CqRegion.PASSED_OVER) + count);
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
        // the flag that we saw, and is given back. Partner: SharedWriter.obtain. Weaker (a load): a writer that had
        // looked at the flag before it was set publishes an entry after the end was reported. Shown by CqClaimStress.
        return memory.compareAndSetLong(CqRegion.PRODUCER_SEQUENCE, next, next);
    }

    boolean dead() {
        // Edge STATE, host end: the flag, then the slots. Partner: CompletionWriter.lose. Loaded before the first
        // owner bit, so an empty ring after a set flag is empty for good. Weaker (or loaded after): entries are left
        // unpolled when the exception is thrown. Shown by StateStress.
        return memory.getLongAcquire(CqRegion.DEAD) != 0;
    }

    private static IllegalStateException polledByHandler() {
        return new IllegalStateException(
                "completion queue is being polled: a handler must not poll or release its own queue");
    }

    CqOverrunException overrun() {
        return new CqOverrunException(lostEntries(), capacity);
    }

    static IllegalArgumentException negativeLimit(int limit) {
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
     * <p>With shared pollers every thread is such another thread: the count is of what no poller has claimed, and a poll may find
     * less, or nothing, because another poller came first. With many writers as well it may for a moment be too low, by abandoned
     * entries that a poller has just passed over.
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
        // abandoned, which
        // is never less. Weaker: an abandoned entry that has been passed over is subtracted again.
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
     * least one, unless there are many writers: then what is counted may still be an open claim. Within a handler the entries
     * of the poll under way still count. After true, a poll may still find what has just been published: to know, poll or
     * {@link #peek}. With shared pollers false promises nothing: another may come first.
     *
     * @return size() == 0
     */
    public boolean isEmpty() {
        return size() == 0;
    }

    /**
     * Slots given back to the device since creation, counted from the start sequence. Any thread; on the polling thread exact,
     * elsewhere it may be out of date. A slot goes back some time after its completion has been taken, see {@link #poll}.
     *
     * @return the consumer sequence, in entries; never goes back
     */
    public long consumerSequence() {
        return memory.getLongOpaque(CqRegion.CONSUMER_SEQUENCE);
    }

    /**
     * Completions published since creation, counted from the start sequence. Any thread; on the writing thread exact,
     * elsewhere it may be out of date.
     *
     * @return the producer sequence, in entries; never goes back
     */
    public long producerSequence() {
        return memory.getLongOpaque(CqRegion.PRODUCER_SEQUENCE);
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
     * Whether the device may merge completions, see {@link Builder#merging}.
     *
     * @return what the builder was told
     */
    public boolean isMerging() {
        return expanded != null;
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
     * Lets another thread become the poller, or, if the memory is a file, another process. An open cursor is abandoned.
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
     * What is unpolled is given up, also what a {@link CompletionPoller} has claimed and not delivered. Closing again does nothing. Memory the queue allocated is freed by the garbage collector
     * once both ends are unreachable; wrapped memory is the caller's again when no call on either end is under way and nobody
     * uses the view of a {@link #peek}, a cursor or a claim any more. If the memory is a file, the queue is closed for every
     * process.
     */
    @Override
    public void close() {
        markClosed();
        releaseProcessRole();
        writer.releaseProcessRole();
    }

    /** Describes a queue to be made. Not thread-safe. */
    public static final class Builder {
        private final int capacity;
        private int strideBytes = CqeLayout.STANDARD_BYTES;
        private OverrunPolicy policy = OverrunPolicy.BACKPRESSURE;
        private long startSequence;
        private QueueMemory memory;
        private boolean merging;
        private boolean shared;
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
         * Uses the caller's memory; whatever it holds is overwritten. Only a file that holds a queue is refused.
         *
         * @param memory a region of at least {@link CompletionQueue#requiredBytes(int, int, int)} bytes; bytes beyond are not touched
         * @return this
         */
        public Builder memory(QueueMemory memory) {
            this.memory = Objects.requireNonNull(memory, "memory");
            return this;
        }

        /**
         * Lets the device put several completions into one slot: successive ones of a batch ({@link CompletionWriter#stage}) that
         * are of one queue pair and one operation, successful, not solicited, without immediate data and detail. A slot of 32
         * bytes holds 3, of 64 bytes 7, of 128 bytes 15. They are polled one by one, as ever, but carry no work-request id
         * ({@link Completion#hasWorkRequestId}) and no timestamp: the host knows the work request by QP number and WQE
         * counter. Counts of entries ({@link CompletionQueue#size}) are counts of slots.
         *
         * @return this
         */
        public Builder merging() {
            this.merging = true;
            return this;
        }

        /**
         * Lets many threads poll the queue at once, each through a {@link CompletionPoller} from
         * {@link CompletionQueue#newPoller}. Each completion goes to one of them. Entries are copied out of the ring, so for a
         * single poller the ordinary queue is faster.
         *
         * @return this
         */
        public Builder sharedPollers() {
            this.shared = true;
            return this;
        }

        /**
         * Makes the queue, empty.
         *
         * @return the host end; {@link CompletionQueue#writer} or {@link CompletionQueue#newWriter} is the device end
         * @throws IllegalArgumentException if a number breaks its rule, two choices do not go together, the memory is too small, or
         *                                  it is a file that holds a queue; nothing is touched
         */
        public CompletionQueue create() {
            if (merging && shared) {
                throw new IllegalArgumentException("merging needs one poller: a slot is returned only when all its"
                        + " completions have been handed out; choose merging() or sharedPollers()");
            }
            if (merging && writers != 1) {
                throw new IllegalArgumentException(
                        "merging needs one writer: a completion joins the slot staged before it;"
                                + " choose merging() or writers(" + writers + ")");
            }
            RingGeometry geometry = CqRegion.geometry(capacity, strideBytes, writers);
            long bytes = CqRegion.requiredBytes(capacity, strideBytes, writers);
            QueueMemory region = memory == null ? QueueMemory.allocate(bytes) : memory;
            if (region.sizeBytes() < bytes) {
                throw new IllegalArgumentException("memory of " + region.sizeBytes() + " bytes is too small for "
                        + capacity + " entries of " + strideBytes + " bytes: " + bytes + " bytes are needed");
            }
            CompletionQueue queue = new CompletionQueue(region, geometry, this);
            if (queue.isInFile()) {
                requireFitForFile(region);
            }
            CqHeader header = new CqHeader(
                    strideBytes, capacity, policy, startSequence, CqHeader.shape(writers, shared, merging));
            long epoch = queue.isInFile() ? ThreadLocalRandom.current().nextLong() : 0;
            CqRegion.initialise(region, geometry, header, epoch, memory == null);
            return queue;
        }

        private void requireFitForFile(QueueMemory region) {
            if (writers != 1 || shared || merging) {
                throw new IllegalArgumentException(
                        "a queue in a file has one writer and one poller and does not merge: "
                                + (writers != 1
                                        ? "writers(" + writers + ")"
                                        : shared ? "sharedPollers()" : "merging()"));
            }
            if (region.getLongOpaque(CqRegion.MAGIC) != 0) {
                throw new IllegalArgumentException(
                        "memory is a file that holds a queue, which other processes may use: " + region
                                + "; attach it, or delete the file");
            }
        }
    }
}
