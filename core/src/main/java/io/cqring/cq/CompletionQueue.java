package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

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
 * <p>The life of a queue, for the polling thread: {@link #resize} moves it to another ring while both ends work, {@link #purge} takes
 * one queue pair's entries out, {@link #drainAndClose} ends it without a loss, {@link #reset} makes it as new.
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

    private static final int MAX_QP_NUMBER = 0xFF_FFFF;

    /** How long a drain looks away when there is nothing to poll. */
    private static final long DRAIN_IDLE_NS = 20_000;

    private final CompletionWriter writer;
    private final Completion view;
    private final long startSequence;
    private int publishInterval;

    /** Every entry is a completion, and entries become valid in order. */
    private boolean ordinary = true;

    /** A resize or a purge keeps the queue from being ordinary; it will be again. */
    private boolean detour;

    /** Purged entries that are still ahead of the poller. */
    private int gaps;

    /** The ring that is offered to the device, until the poller is in it or the device will not come; null: no resize. */
    private Ring nextRing;

    /** The first sequence from which on every slot of the ring has been used. */
    private long usedFrom;

    /** Number of the last resize. */
    private long resizes;

    /** What became of it; PENDING also stands for ACCEPTED. */
    private ResizeStatus resizeStatus = ResizeStatus.NONE;

    /** The most that can be unpolled: the capacity, or that of the next ring if it is larger. */
    private int mostUnpolled;

    private CompletionQueue(QueueMemory memory, RingGeometry geometry, long startSequence, OverrunPolicy policy) {
        super(memory, geometry, startSequence);
        this.writer = new CompletionWriter(memory, geometry, startSequence, policy);
        this.view = new Completion(memory, geometry.strideBytes());
        this.startSequence = startSequence;
        this.usedFrom = startSequence;
        settleIn();
    }

    private void settleIn() {
        publishInterval = Math.max(1, capacity / 4);
        mostUnpolled = capacity;
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
     * Memory that a queue takes, exact.
     *
     * @param capacity    entries; a power of two
     * @param strideBytes bytes per entry: 32, 64 or 128
     * @return bytes
     * @throws IllegalArgumentException if a number breaks its rule
     */
    public static long requiredBytes(int capacity, int strideBytes) {
        return CqRegion.requiredBytes(capacity, strideBytes);
    }

    /** From now on entries may be passed over, or become valid out of order. For the polling thread. */
    void expectGaps() {
        ordinary = false;
    }

    /** Entries that were no completions have gone back to the device. */
    private void passedOver(int count) {
        gaps = Math.max(0, gaps - count);
        endDetour();
    }

    private void beginDetour() {
        ordinary = false;
        detour = true;
    }

    /** Back to looking ahead, once nothing stands against it. A queue that is never ordinary makes no detour. */
    private void endDetour() {
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

    /**
     * The device end of this queue. Always the same object.
     *
     * @return the writer
     */
    public CompletionWriter writer() {
        return writer;
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
        if (dead && taken == 0 && limit != 0) {
            throw overrun();
        }
        return taken;
    }

    /** Every entry is a completion and they become valid in order: one look may vouch for many. */
    private int pollRuns(CompletionHandler handler, int most) {
        final Completion view = this.view;
        final QueueMemory memory = this.slots;
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

    /**
     * Each entry is looked at by itself; what is no completion is passed over, and a marker leads into the next ring. At most
     * {@code capacity} entries in all.
     */
    private int pollEach(CompletionHandler handler, int most) {
        final long first = this.sequence;
        final long end = first + capacity;
        long publishAt = first + publishInterval;
        long next = first;
        int taken = 0;
        inHandler = true;
        try {
            while (taken != most && next != end && attachIfReady(next)) {
                final int opcode = view.opcode();
                if (isBoundary(opcode)) {
                    if (!enterNextRing(next)) {
                        break; // a slot that the device has not used yet
                    }
                    publishAt = next; // as often as the new ring wants it
                    continue;
                }
                if (next == publishAt) { // all before this entry has been handled
                    publishConsumed(next);
                    publishAt += publishInterval;
                }
                next++; // counted first: an entry whose handler throws is consumed
                if (!CqeOpcode.isPassedOver(opcode)) {
                    taken++;
                    handler.onCompletion(view);
                }
            }
        } finally {
            inHandler = false;
            view.detach();
            if (next != first) {
                this.sequence = next;
                publishConsumed(next);
                passedOver((int) (next - first) - taken);
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
        do {
            final int before = taken;
            while (taken != most && advance()) {
                view.copyTo(into[taken++]);
            }
            consumeHeld(taken - before);
        } while (taken != most && crossMarker());
        view.detach();
        if (dead && taken == 0 && limit != 0) {
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
        if (advanceFromStart()) {
            shown = 1;
            return true;
        }
        if (dead) {
            throw overrun();
        }
        return false;
    }

    /**
     * Moves the cursor to the next ready completion. A cursor does not leave its ring: at the last entry before a resize it finds
     * none ready, and goes on after {@link #endPoll} and {@link #startPoll}.
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
        if (advanceFromStart()) {
            held--;
            consumeHeld(0); // what was passed over is nobody's any more
            return view;
        }
        if (dead) {
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
            if (ordinary) {
                held++;
                return true;
            }
            final int opcode = view.opcode();
            if (isBoundary(opcode)) {
                view.detach();
                return false;
            }
            held++;
            if (!CqeOpcode.isPassedOver(opcode)) {
                return true;
            }
        }
        return false;
    }

    /** The first advance of a call, into the next ring if need be. If there is no completion, nothing is in hand afterwards. */
    private boolean advanceFromStart() {
        do {
            if (advance()) {
                return true;
            }
            consumeHeld(0);
        } while (crossMarker());
        view.detach();
        return false;
    }

    /** With nothing in hand: follows the device into the next ring if the next entry is the marker. */
    private boolean crossMarker() {
        return nextRing != null && attachIfReady(sequence) && isBoundary(view.opcode()) && enterNextRing(sequence);
    }

    /** Returns what is in hand to the device: so many completions, and what was passed over. */
    private void consumeHeld(int completions) {
        if (held != 0) {
            final int passedOver = held - completions;
            sequence += held;
            held = 0;
            publishConsumed(sequence);
            if (!ordinary) {
                passedOver(passedOver);
            }
        }
    }

    private boolean attachIfReady(long next) {
        final int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
        final long header = header(slots, slot);
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
        return new CqOverrunException(writer.lostEntries(), capacity);
    }

    private static IllegalArgumentException negativeLimit(int limit) {
        return new IllegalArgumentException("limit must be 0 or more: " + limit);
    }

    /**
     * Completions published and not yet returned to the device; purged ones do not count. Any thread. On the polling thread, that
     * many can be polled at once (while a resize is under way, in two calls); more may be ready, because the count follows the completions it counts (a batch's as a whole). On other threads it
     * may also be too high, by what was polled and published during the call.
     *
     * @return entries, 0 to capacity; until the poller has followed a resize, to the larger of the two capacities
     */
    public int size() {
        // Edge CQ-COUNT, observing end. Partner: CompletionWriter.publishSequence. First the consumed count, then the
        // published one, then (in a later poll by this thread) the owner bits it counts. Weaker: "empty" might never
        // have been true, and "not empty" would not promise the poller a completion. Shown by CqCountStress.
        long consumed = memory.getLongAcquire(CqRegion.CONSUMER_SEQUENCE);
        long published = memory.getLongAcquire(CqRegion.PRODUCER_SEQUENCE);
        return (int) Math.max(0, Math.min(published - consumed - gaps, mostUnpolled));
    }

    /**
     * Free slots by the same reckoning as {@link #size}: capacity less size, 0 if that is negative.
     *
     * @return entries, 0 to capacity
     */
    public int remaining() {
        return Math.max(0, capacity - size());
    }

    /**
     * Whether the count of ready completions is 0. If the polling thread gets false outside a handler, its next poll returns at
     * least one; within a handler the entries of the poll under way still count. After true, a poll may still find what has just
     * been published: to know, poll or {@link #peek}.
     *
     * @return size() == 0
     */
    public boolean isEmpty() {
        return size() == 0;
    }

    /**
     * Slots in the ring that the poller is in. On other threads a resize may be seen late.
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
     * Starts to move the queue to another ring, in memory of its own, while both ends work: as {@link #resize(int, QueueMemory)}.
     *
     * @param newCapacity entries; a power of two, at most 2^24 (2^23 for 128-byte entries)
     * @throws IllegalArgumentException if the capacity breaks its rule; nothing changes
     * @throws IllegalStateException    as {@link #resize(int, QueueMemory)}; nothing changes
     */
    public void resize(int newCapacity) {
        requireResizable(newCapacity);
        post(newCapacity, QueueMemory.allocate(RingGeometry.slotsBytes(newCapacity, strideBytes())));
    }

    /**
     * Starts to move the queue to another ring while both ends work: nothing is lost, doubled or reordered. Does not wait:
     *
     * <ol>
     *   <li>The poller asks, with this call: {@link ResizeStatus#PENDING}. It polls on as before.
     *   <li>The device answers in its next call that finds nothing in hand (a {@code flush()} will do): it refuses if more is
     *       unpolled than the new ring holds; else it writes to the new ring from then on. It needs one free slot of the old ring,
     *       for a marker: while the ring is full, it waits for the poller to poll.
     *   <li>The poller comes to the marker in the course of its polls and goes on in the new ring: {@link ResizeStatus#DONE}.
     * </ol>
     *
     * <p>A device that makes no call never answers: {@link #cancelResize} takes the command back. Counters go on. Only slots move:
     * sequences, counters and flags stay in the region that the queue was made in, which serves until the queue is closed.
     * Memory of any other ring is the caller's again when the queue has left it ({@code DONE} of the next resize), or when it was
     * not entered ({@code CANCELLED}, {@code REFUSED}). For the polling thread; an open cursor is abandoned.
     *
     * @param newCapacity entries; a power of two, at most 2^24 (2^23 for 128-byte entries)
     * @param newMemory   a region of at least {@code newCapacity x strideBytes()} bytes, not in use by this queue; what it holds is
     *                    overwritten
     * @throws IllegalArgumentException if the capacity breaks its rule, or the memory is too small or in use; nothing changes
     * @throws IllegalStateException    if a resize is under way, the queue is not one of one writer and one poller, or as
     *                                  {@link #poll}; nothing changes
     */
    public void resize(int newCapacity, QueueMemory newMemory) {
        requireResizable(newCapacity);
        long bytes = RingGeometry.slotsBytes(newCapacity, strideBytes());
        if (newMemory.sizeBytes() < bytes) {
            throw new IllegalArgumentException("memory of " + newMemory.sizeBytes() + " bytes is too small for "
                    + newCapacity + " slots of " + strideBytes() + " bytes: " + bytes + " bytes are needed");
        }
        if (newMemory == memory || newMemory == slots) {
            throw new IllegalArgumentException("memory of the new ring must not be in use by this queue: " + newMemory);
        }
        post(newCapacity, newMemory);
    }

    private void requireResizable(int newCapacity) {
        enterPoll();
        CqRegion.geometry(newCapacity, strideBytes()); // the limits of a queue
        requireOneOfEach("be resized");
        if (nextRing != null) {
            throw new IllegalStateException("a resize from " + capacity + " to "
                    + nextRing.geometry().capacity() + " entries is under way: poll until it is done, or cancel it");
        }
    }

    private void requireOneOfEach(String what) {
        if (!ordinary && !detour) {
            throw new IllegalStateException("a queue can " + what + " only if it has one writer and one poller");
        }
    }

    private void post(int newCapacity, QueueMemory newMemory) {
        final Ring ring = CqRegion.unusedRing(newMemory, newCapacity, strideBytes());
        writer.offered = ring;
        // Edge RESIZE, host end: the new ring with every slot unused, then the command. Partner: QueueEnd.attend.
        // Weaker:
        // the device writes entries that our stores then wipe out. Shown by ResizeStress.
        if (!memory.compareAndSetLong(CqRegion.CLOSED, 0, Control.resize(++resizes))) {
            throw new IllegalStateException("completion queue is closed or being drained");
        }
        beginDetour(); // a marker may come
        nextRing = ring;
        mostUnpolled = Math.max(capacity, newCapacity);
        resizeStatus = ResizeStatus.PENDING;
    }

    /**
     * Takes a resize back that the device has not answered. For the polling thread.
     *
     * @return true if it was taken back: nothing has changed, and memory of the new ring is the caller's again; false if there was
     *     nothing to take back: {@link #resizeStatus} says why
     * @throws IllegalStateException if the queue is closed or another thread is the poller
     */
    public boolean cancelResize() {
        enter();
        // Edge RESIZE, host end: either we get the ring back or the device gets it. Partner:
        // CompletionWriter.answerResize.
        // Weaker (test, then set): both do. Shown by ResizeStress.
        if (nextRing == null || !memory.compareAndSetLong(CqRegion.CLOSED, Control.resize(resizes), 0)) {
            return false;
        }
        giveUpResize(ResizeStatus.CANCELLED);
        return true;
    }

    /**
     * What has become of the last {@link #resize}. For the polling thread.
     *
     * @return the status
     * @throws IllegalStateException if the queue is closed or another thread is the poller
     */
    public ResizeStatus resizeStatus() {
        enter();
        // Only the word itself: opaque.
        return nextRing != null && memory.getLongOpaque(CqRegion.CLOSED) == 0 ? ResizeStatus.ACCEPTED : resizeStatus;
    }

    private void giveUpResize(ResizeStatus status) {
        resizeStatus = status;
        nextRing = null;
        mostUnpolled = capacity;
        endDetour();
    }

    @Override
    void heed(long control) {
        if ((control & (Control.REFUSED_BACKLOG | Control.REFUSED_DEAD)) != 0) {
            // Edge RESIZE, as in cancelResize: the answer has been seen. If this fails, the queue has been closed.
            memory.compareAndSetLong(CqRegion.CLOSED, control, 0);
            giveUpResize(
                    (control & Control.REFUSED_DEAD) != 0 ? ResizeStatus.REFUSED_DEAD : ResizeStatus.REFUSED_BACKLOG);
        }
    }

    /**
     * Takes the unpolled completions of one queue pair out of the queue: no poll will deliver them. What every driver does when a
     * queue pair is reset or destroyed. For the polling thread; an open cursor is abandoned.
     *
     * <p>Only what has been published: if the queue pair can still complete work, later entries come after, and an entry says nothing
     * of which life of a number it belongs to. So first bring the queue pair to a stop, then purge, then use its number again.
     *
     * <p>Entries are marked in place, also in the ring of a resize under way; polls pass over them. Slots at the head of the queue go back
     * to the device at once, the others when the poller comes to them. {@link #size} does not count them any more.
     *
     * @param qpNumber number of the queue pair, as in {@link Completion#qpNumber}: 0 to 2^24-1
     * @return completions taken out, in entries
     * @throws IllegalArgumentException if the number is out of range; nothing changes
     * @throws IllegalStateException    if the queue is not one of one writer and one poller, or as {@link #poll}; nothing changes
     */
    public int purge(int qpNumber) {
        enterPoll();
        requireOneOfEach("be purged");
        if ((qpNumber & ~MAX_QP_NUMBER) != 0) {
            throw new IllegalArgumentException("QP number must be 0 to " + MAX_QP_NUMBER + ": " + qpNumber);
        }
        int purged = 0;
        long next = sequence;
        Ring in = ring;
        Ring beyond = nextRing;
        while (true) {
            final int slot = in.geometry().offset(next) + CqeLayout.HEADER_OFFSET;
            final long header = header(in.memory(), slot);
            if (((header ^ in.geometry().phase(next)) & CqeLayout.OWNER_MASK) != 0
                    || (header & ~CqeLayout.OWNER_MASK) == CqRegion.UNUSED) {
                break; // from here on the slots are the device's
            }
            final int opcode = CqeLayout.opcode(header);
            if (opcode == CqeOpcode.RESIZE && beyond != null) {
                in = beyond;
                beyond = null;
                continue; // the marker takes no sequence
            }
            if (!CqeOpcode.isPassedOver(opcode) && CqeLayout.qpNumber(header) == qpNumber) {
                // A plain store: the slot is ours from the owner bit we saw until publishConsumed gives it back, and
                // that release store (edge CQ-CREDIT) keeps this one before the device's next one to the slot.
                in.memory().putLong(slot, CqeLayout.withOpcode(header, CqeOpcode.INVALID));
                purged++;
            }
            next++;
        }
        if (purged != 0) {
            beginDetour();
            gaps += purged;
            while (held != capacity && attachIfReady(sequence + held) && isGap()) {
                held++; // at the head of the queue
            }
            view.detach();
            consumeHeld(0);
        }
        return purged;
    }

    private boolean isGap() {
        final int opcode = view.opcode();
        return CqeOpcode.isPassedOver(opcode) && !isBoundary(opcode);
    }

    /**
     * Stops the writer, hands all it has published to {@code handler}, and closes the queue. For the polling thread; an open cursor is
     * abandoned, a resize that the device has not answered is cancelled.
     *
     * <p>The writer is stopped when it is told so by its next call (an {@link IllegalStateException}; what it has in hand is given back),
     * or when no thread that is alive has the role. A writer that is alive, idle and keeps its role cannot be told from one that
     * is about to publish: then time runs out, which is a result. Blocks for at most the time given and the handler's last
     * batch.
     *
     * <p>If the handler throws, the exception goes on to the caller, its entry is consumed, and the queue stays open for polls, with the writer
     * stopped: drain again, {@link #reset} or {@link #close} it.
     *
     * @param handler called once per completion, on this thread; it must not poll this queue
     * @param timeout the most time to wait; 0 takes what is there
     * @param unit    unit of {@code timeout}
     * @return what was drained, left and lost
     * @throws NullPointerException     if there is no handler or no unit; nothing changes
     * @throws IllegalArgumentException if {@code timeout} is negative; nothing changes
     * @throws IllegalStateException    if the queue is not one of one writer and one poller, or as {@link #poll}; nothing changes
     */
    public DrainResult drainAndClose(CompletionHandler handler, long timeout, TimeUnit unit) {
        Objects.requireNonNull(handler, "handler");
        final long nanos = unit.toNanos(timeout);
        enterPoll();
        requireOneOfEach("be drained");
        if (timeout < 0) {
            throw new IllegalArgumentException("timeout must be 0 or more: " + timeout);
        }
        final long start = System.nanoTime();
        stopWriter();
        long drained = 0;
        boolean complete;
        boolean goOn;
        do {
            final boolean stopped = isWriterStopped(); // before the slots: empty after this is empty for good
            final long before = sequence;
            drained += ordinary ? pollRuns(handler, capacity) : pollEach(handler, capacity);
            complete = stopped && size() == 0;
            goOn = !complete
                    && System.nanoTime() - start < nanos
                    && memory.getLongOpaque(CqRegion.CLOSED) != Control.CLOSED;
            if (goOn && sequence == before) {
                LockSupport.parkNanos(DRAIN_IDLE_NS);
            }
        } while (goOn);
        close();
        return new DrainResult(drained, size(), lostEntries(), complete);
    }

    /** Asks the writer to stop, unless it has been asked. */
    private void stopWriter() {
        // As for any call that comes at the time of a close: let in.
        for (long control = memory.getLongOpaque(CqRegion.CLOSED);
                (control & (Control.CLOSED | Control.STOPPING | Control.STOPPED)) == 0;
                control = memory.getLongOpaque(CqRegion.CLOSED)) {
            if (control != 0) {
                cancelResize(); // or learns that it was refused; if it was accepted, polls follow it
            } else {
                // Edge DRAIN: the request carries nothing but itself.
                memory.compareAndSetLong(CqRegion.CLOSED, 0, Control.STOPPING);
            }
        }
    }

    private boolean isWriterStopped() {
        final boolean ours = writer.player == Thread.currentThread();
        if (writer.takeRoleIfFree()) { // no call of the writer is under way, and edge ROLE shows us all it did
            writer.letGo();
            memory.compareAndSetLong(
                    CqRegion.CLOSED, Control.STOPPING, Control.STOPPED); // Edge DRAIN, as the writer would
            if (!ours) {
                writer.releaseRole();
            }
        }
        // Edge DRAIN, host end: the word, then the slots. Partner: CompletionWriter.heed. Weaker (opaque): we find
        // the ring empty with an entry still to come. Shown by DrainStress.
        return (memory.getLongAcquire(CqRegion.CLOSED) & Control.STOPPED) != 0;
    }

    /**
     * Makes the queue as new: empty, at its first sequence, counters 0, alive. It stays in the ring that a resize has brought it to; a
     * resize that is under way is cancelled, or finished if the device has accepted it. For the polling thread; an open cursor is
     * abandoned.
     *
     * <p>Both ends must be idle: the writer's role must be free (released, or its thread has ended) or the caller's.
     * What the writer has in hand is given back.
     *
     * @return unpolled completions that were given up, in entries
     * @throws IllegalStateException if another thread has the writer's role, the queue is not one of one writer and one poller, or as
     *                               {@link #poll}; nothing changes
     */
    public int reset() {
        enterPoll();
        requireOneOfEach("be reset");
        final boolean ours = writer.player == Thread.currentThread();
        if (!writer.takeRoleIfFree()) {
            throw new IllegalStateException(
                    "completion queue can be reset only at a standstill: its writer must release the role or end");
        }
        try {
            cancelResize();
            final int givenUp = size();
            CqRegion.clear(memory, writer.ring, startSequence);
            writer.startAgain(startSequence);
            sequence = startSequence;
            usedFrom = startSequence;
            gaps = 0;
            nextRing = null;
            resizeStatus = ResizeStatus.NONE;
            useRing(writer.ring);
            view.memory = slots;
            settleIn();
            endDetour();
            final long control = memory.getLongOpaque(CqRegion.CLOSED);
            if (control != Control.CLOSED) {
                // Edge DRAIN: a writer that was stopped may write again. If this fails, the queue has been closed.
                memory.compareAndSetLong(CqRegion.CLOSED, control, 0);
            }
            return givenUp;
        } finally {
            if (!ours) {
                writer.releaseRole();
            }
        }
    }

    /**
     * Completions lost to overrun since creation; always 0 under BACKPRESSURE. Any thread.
     *
     * @return entries
     */
    public long lostEntries() {
        return writer.lostEntries();
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
         * Uses the caller's memory; whatever it holds is overwritten.
         *
         * @param memory a region of at least {@link CompletionQueue#requiredBytes} bytes; bytes beyond are not touched
         * @return this
         */
        public Builder memory(QueueMemory memory) {
            this.memory = Objects.requireNonNull(memory, "memory");
            return this;
        }

        /**
         * Makes the queue, empty.
         *
         * @return the host end; {@link CompletionQueue#writer} is the device end
         * @throws IllegalArgumentException if a number breaks its rule or the memory is too small; nothing is touched
         */
        public CompletionQueue create() {
            RingGeometry geometry = CqRegion.geometry(capacity, strideBytes);
            long bytes = CqRegion.requiredBytes(capacity, strideBytes);
            QueueMemory region = memory == null ? QueueMemory.allocate(bytes) : memory;
            if (region.sizeBytes() < bytes) {
                throw new IllegalArgumentException("memory of " + region.sizeBytes() + " bytes is too small for "
                        + capacity + " entries of " + strideBytes + " bytes: " + bytes + " bytes are needed");
            }
            CqRegion.initialise(region, geometry, startSequence, memory == null);
            return new CompletionQueue(region, geometry, startSequence, policy);
        }
    }
}
