package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import java.util.Objects;

/**
 * One of many pollers of a queue with {@link CompletionQueue.Builder#sharedPollers}. Each completion goes to exactly one of
 * them, and each sees completions in the order in which they lie in the queue.
 *
 * <p><b>How:</b> a poller copies ready entries into memory of its own, then claims them with one compare-and-set of the queue's
 * consumer sequence. If that succeeds, the copies are whole and nobody else's; if not, another poller was first and they are
 * thrown away. So the slots are the device's again before a handler runs, and a slow handler holds up neither the device nor
 * another poller. A batch of entries is claimed at once; what a call does not deliver because its handler threw, or because of
 * its limit, stays with this poller, and its next calls deliver that first.
 *
 * <p><b>Role:</b> one thread, the first that calls, until it calls {@link #release} or ends; any other gets an
 * {@link IllegalStateException}. What is claimed stays with the poller when it changes hands. A thread may have several pollers;
 * a handler may use any of them but the one that called it. <b>Progress:</b> lock-free; a poller that stops at any point holds up
 * nobody, but what it had claimed waits for it, and is lost with its process. Every call ends: each claim that is lost was won by another poller, and a call
 * gives up once the queue has moved on by {@link CompletionQueue#capacity} entries since it began, for then all that was ready
 * has been taken. <b>Allocation:</b> none after creation. <b>Visibility:</b> all the device wrote before it published a
 * completion is visible once the completion is polled.
 */
public final class CompletionPoller extends QueueEnd implements AutoCloseable {
    /** Entries that a claim takes at most if the caller does not say. */
    static final int DEFAULT_BATCH = 64;

    /** The most bytes of a batch: two have room in one memory. */
    static final int MOST_BYTES = 1 << 29;

    /** The JVM waits for a copy to end when it wants to stop its threads. */
    private static final int MOST_BYTES_AT_A_TIME = 1 << 20;

    /** Claims for which a poller remembers that another was faster. */
    private static final int RIVALRY = 1024;

    private final CompletionQueue queue;
    private final int strideBytes;
    private final int batch;

    /** Private copies: that of the entry with sequence s lies in slot {@code s & copyMask}. */
    private final QueueMemory copies;

    private final int copyMask;

    /** A block is a batch, or a little more: a power of two. The copies of two blocks lie side by side. */
    private final long blockMask;

    /** There is one writer: entries become valid in order. */
    private final boolean inOrder;

    /** Claims to come that are made with a rival in mind; 0 if none was met lately. */
    private int rivalry;

    /** With a rival: whether this poller prefers the even blocks. */
    private boolean even;

    /** Copies that were made ahead: of the entries from here on. */
    private long copiedFrom;

    /** And before this one. */
    private long copiedTo;

    private final Completion view;

    private boolean closed;

    CompletionPoller(CompletionQueue queue, int batch) {
        super(queue.memory, queue.geometry(), 0);
        this.queue = queue;
        this.strideBytes = queue.strideBytes();
        this.batch = batch;
        this.inOrder = !queue.hasManyWriters();
        this.blockMask = batch == 1 ? 0 : (Integer.highestOneBit(batch - 1) << 1) - 1;
        this.copyMask = (int) (2 * blockMask + 1);
        this.copies = QueueMemory.allocate((copyMask + 1L) << strideShift);
        this.view = new Completion(copies, strideBytes);
    }

    /**
     * The queue that this polls.
     *
     * @return the queue
     */
    public CompletionQueue queue() {
        return queue;
    }

    /**
     * The most entries that this poller claims at a time.
     *
     * @return what {@link CompletionQueue#newPoller(int)} was given
     */
    public int batch() {
        return batch;
    }

    @Override
    String endName() {
        return "thread of this completion poller";
    }

    @Override
    boolean isForManyProcesses() {
        return true;
    }

    @Override
    String refusal(Thread holder, Thread self) {
        return "completion poller is for one thread, thread " + holder.getName()
                + "; it must release the poller before thread " + self.getName()
                + " can use it, or that thread makes its own with newPoller()";
    }

    @Override
    void requirePlayable() {
        if (closed) {
            throw new IllegalStateException("completion poller is closed");
        }
    }

    @Override
    void letGo() {
        if (!inHandler) { // the poll under way finishes, and its handler may still read its entry
            abandonCursor();
        }
    }

    /**
     * Hands ready completions to {@code handler}, oldest first: what this poller has claimed already, then what it can claim.
     *
     * <p>Takes at most {@code min(limit, capacity)}. An entry counts as consumed once its handler is called: if the handler
     * throws, the exception goes on to the caller, and this poller's next call starts with the entry after it. An open cursor is
     * abandoned.
     *
     * @param handler called once per completion, on this thread; it must not use this poller
     * @param limit   the most completions to take, in entries; 0 takes none, more than the capacity is allowed
     * @return completions taken, in entries; 0 if none was ready, or other pollers took all that was
     * @throws NullPointerException     if there is no handler; nothing is taken
     * @throws IllegalArgumentException if {@code limit} is negative; nothing is taken
     * @throws IllegalStateException    if the queue or this poller is closed, another thread uses it, or the call comes from a
     *                                  handler of this poller; nothing is taken
     * @throws CqOverrunException       if the device overran the queue (policy ERROR), all it wrote before has been claimed, and
     *                                  this poller has delivered its share
     */
    public int poll(CompletionHandler handler, int limit) {
        Objects.requireNonNull(handler, "handler");
        enterPoll();
        if (limit < 0) {
            throw HostEnd.negativeLimit(limit);
        }
        final boolean dead = queue.dead();
        final int most = Math.min(limit, capacity);
        final long end = consumed() + capacity;
        int taken = 0;
        inHandler = true;
        try {
            while (taken != most && (held != 0 || claim(Math.min(most - taken, batch), end))) {
                taken += deliver(handler, most - taken);
            }
        } finally {
            inHandler = false;
            view.detach();
        }
        if (dead && taken == 0 && limit != 0 && queue.isDrained(consumed())) {
            throw queue.overrun();
        }
        return taken;
    }

    /**
     * Copies ready completions into {@code into}, oldest first: what this poller has claimed already, then what it can claim. An
     * open cursor is abandoned.
     *
     * @param into  completions to fill, from index 0 on; the first {@code min(limit, capacity)} must not be null
     * @param limit the most completions to take, in entries; 0 takes none
     * @return completions filled, in entries; 0 if none was ready, or other pollers took all that was
     * @throws IllegalArgumentException if {@code limit} is negative, {@code into} is shorter, or has a null there; nothing is
     *                                  taken
     * @throws IllegalStateException    as {@link #poll}
     * @throws CqOverrunException       as {@link #poll}
     */
    public int pollInto(WorkCompletion[] into, int limit) {
        enterPoll();
        if (limit < 0) {
            throw HostEnd.negativeLimit(limit);
        }
        final int most = Math.min(limit, capacity);
        HostEnd.requireRoom(into, most);
        final boolean dead = queue.dead();
        final long end = consumed() + capacity;
        int taken = 0;
        while (taken != most && advance(most - taken, end)) {
            view.copyTo(into[taken++]);
        }
        view.detach();
        if (dead && taken == 0 && limit != 0 && queue.isDrained(consumed())) {
            throw queue.overrun();
        }
        return taken;
    }

    /**
     * Opens a cursor on the next completion: one that this poller has claimed already, or else one that it claims now. Unlike
     * the cursor of a queue with one poller, each step consumes what it shows: a cursor that is abandoned (by any other poll, or
     * another {@code startPoll}) has consumed the completions it has shown, and no other.
     *
     * @return true if there was one: {@link #completion} shows it; false if none was ready: no cursor is open
     * @throws IllegalStateException as {@link #poll}
     * @throws CqOverrunException    as {@link #poll}
     */
    public boolean startPoll() {
        enterPoll();
        final boolean dead = queue.dead();
        if (advance(1, consumed() + capacity)) {
            shown = 1;
            return true;
        }
        if (dead && queue.isDrained(consumed())) {
            throw queue.overrun();
        }
        return false;
    }

    /**
     * Moves the cursor to the next completion and consumes it. A cursor shows at most {@code capacity} completions.
     *
     * @return true if there was one: {@link #completion} shows it; false if none was ready, or the cursor has shown its most: the
     *     view is detached, the cursor stays open
     * @throws IllegalStateException if no cursor is open, or as {@link #poll}; nothing is consumed
     */
    public boolean next() {
        enterCursor();
        if (shown != capacity && advance(1, consumed() + capacity)) {
            shown++;
            return true;
        }
        view.detach();
        return false;
    }

    /**
     * What the cursor stands on. The same object each time.
     *
     * @return the view; its accessors throw while it stands on nothing
     */
    public Completion completion() {
        return view;
    }

    /**
     * Closes the cursor. What it has shown was consumed as it was shown.
     *
     * @return completions that the cursor has shown, in entries; at least 1
     * @throws IllegalStateException if no cursor is open, or as {@link #poll}
     */
    public int endPoll() {
        enterCursor();
        final int taken = shown;
        abandonCursor();
        return taken;
    }

    /**
     * Completions that this poller has claimed and not delivered. No other poller can get them; the next calls deliver them. For
     * the polling thread; also when the queue is closed.
     *
     * @return entries; 0 unless a handler threw, or the limit was smaller than what was left of an earlier claim
     * @throws IllegalStateException if this poller is closed or another thread uses it
     */
    public int undelivered() {
        if (player != Thread.currentThread()) {
            takeRole();
        }
        return held - passedOverInHand();
    }

    /**
     * Lets another thread use this poller, with what it has claimed. An open cursor is abandoned.
     *
     * @throws IllegalStateException if the calling thread does not use this poller, or is in its handler
     */
    public void release() {
        requirePlayer();
        if (inHandler) {
            throw usedByHandler();
        }
        abandonCursor();
        releaseRole();
    }

    /**
     * Closes this poller: later calls throw {@link IllegalStateException}, the queue and its other pollers go on. For the polling
     * thread. Closing again does nothing.
     *
     * <p>Refused while claimed completions are {@link #undelivered}, because nobody else could get them: poll first. Only when
     * the queue itself is closed are they given up.
     *
     * @throws IllegalStateException if completions are undelivered, another thread uses this poller, or the call comes from its
     *                               handler; the poller stays open
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        final int left = undelivered();
        if (inHandler) {
            throw usedByHandler();
        }
        if (left != 0 && !isQueueClosed()) {
            throw new IllegalStateException("completion poller has claimed " + left
                    + " entries that it has not delivered: poll them before close, no other poller can");
        }
        closed = true;
        abandonCursor();
        releaseRole();
    }

    /** Lets the poller in: its thread, queue and poller open, not from its handler. An open cursor is abandoned. */
    private void enterPoll() {
        enter();
        if (inHandler) {
            throw usedByHandler();
        }
        abandonCursor();
    }

    private void enterCursor() {
        enter();
        if (shown == 0) {
            throw new IllegalStateException("no cursor is open: startPoll() must have returned true");
        }
    }

    private static IllegalStateException usedByHandler() {
        return new IllegalStateException(
                "completion poller is in use: a handler must not use the poller that called it");
    }

    private void abandonCursor() {
        shown = 0;
        view.detach();
    }

    /** Hands over what is in hand, at most {@code most} completions. */
    private int deliver(CompletionHandler handler, int most) {
        final Completion view = this.view;
        final QueueMemory copies = this.copies;
        final int strideShift = this.strideShift;
        final long copyMask = this.copyMask;
        final long end = sequence + held;
        long next = sequence;
        int taken = 0;
        while (next != end && taken != most) {
            final long copy = (next & copyMask) << strideShift;
            final long header = copies.getLong(copy + CqeLayout.HEADER_OFFSET);
            next++;
            sequence = next; // counted first: an entry whose handler throws is consumed
            held = (int) (end - next);
            if (!CqeOpcode.isPassedOver(CqeLayout.opcode(header))) {
                taken++;
                handler.onCompletion(view.attach(copy, header));
            }
        }
        return taken;
    }

    /**
     * Attaches the view to the next completion in hand and consumes it and what is passed over. If none is in hand, claims up to
     * {@code wanted} entries first, none of them at or past {@code end}.
     */
    private boolean advance(int wanted, long end) {
        do {
            while (held != 0) {
                final long copy = copyOffset(sequence);
                sequence++; // counted first: an entry whose handler throws is consumed
                held--;
                final long header = copies.getLong(copy + CqeLayout.HEADER_OFFSET);
                if (!CqeOpcode.isPassedOver(CqeLayout.opcode(header))) {
                    view.attach(copy, header);
                    return true;
                }
            }
        } while (claim(Math.min(wanted, batch), end));
        return false;
    }

    /**
     * Copies ready entries, at most {@code most} and none at or past {@code end}, and claims them. False if none is ready, or
     * others have taken all before {@code end}. Each turn but the last means that the consumer sequence went up, and it only
     * does so until {@code end}; or that a block was copied ahead, once per block. So a call ends after at most twice
     * {@code capacity} turns, of at most a batch each.
     */
    private boolean claim(int most, long end) {
        long first = consumed();
        while (end - first > 0) {
            long until = first + most;
            if (rivalry != 0) {
                final long next = (first | blockMask) + 1;
                if (((first & blockMask + 1) == 0) != even && copyAhead(first, next)) {
                    first = consumed();
                    continue;
                }
                until = first + Math.min(most, next - first);
            }
            until = end - until < 0 ? end : until;
            final int ready = copied(first, until);
            final long now = ready == 0 ? consumed() : take(first, first + ready);
            if (now == first) {
                return ready != 0 && hold(first, ready); // none: it stood there while the slot was looked at
            }
            if (ready != 0) { // somebody was faster: next time, the blocks between theirs
                rivalry = RIVALRY;
                even = (first & blockMask + 1) != 0;
            }
            first = now;
        }
        return false;
    }

    private boolean hold(long first, int ready) {
        sequence = first;
        held = ready;
        if (rivalry != 0) {
            rivalry--;
        }
        queue.wakeWriters();
        if (queue.hasManyWriters()) {
            countPassedOver();
        }
        return true;
    }

    /**
     * While the pollers get into each other's way, each prefers every other block of entries: it copies its next one first, and only
     * then, if nobody has claimed the block before it, that one too. So two copy at the same time, and none ever waits for another.
     *
     * <p>Such copies count as any others (see {@link #take}): if the claim goes through, the sequence had not passed them when they
     * were made. They stay useful until it has. None is a lap away from {@code first}: what lies there may be two laps old.
     *
     * @return true if something was copied that was not yet
     */
    private boolean copyAhead(long first, long next) {
        if (copiedFrom == next) {
            return false; // done already
        }
        final int ready = copyReady(next, (int) Math.min(batch, first + capacity - next));
        copiedFrom = next;
        copiedTo = next + ready;
        return ready != 0;
    }

    /** Copies in hand of entries from {@code first} on and before {@code until}: made ahead, or now. */
    private int copied(long first, long until) {
        if (first - copiedFrom >= 0 && copiedTo - first > 0) {
            return (int) Math.min(until - first, copiedTo - first);
        }
        return copyReady(first, (int) (until - first));
    }

    /** Copies the entries that look ready from {@code first} on. Nothing is certain of a copy before {@link #take}. */
    private int copyReady(long first, int most) {
        final QueueMemory memory = this.memory;
        if (inOrder && most > HostEnd.LOOK_AHEAD_AFTER && isReady(memory, first + most - 1)) {
            copyRun(first, first + most); // the last one vouches for all before it
            return most;
        }
        int ready = 0;
        while (ready != most) {
            final long next = first + ready;
            final long slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
            final long header = HostEnd.header(memory, slot);
            if (((header ^ RingGeometry.phase(next, lapShift)) & CqeLayout.OWNER_MASK) != 0) {
                break;
            }
            copy(memory, slot, header, copies, copyOffset(next));
            ready++;
        }
        return ready;
    }

    /**
     * As {@link CompletionQueue#arm(ArmMode)}. Arms of several pollers are merged: the event comes when the first of them is
     * satisfied, and wakes one; a poller that gets it and leaves entries behind must see to the others. Lock-free.
     *
     * @param mode for what
     * @return true if this poller holds claimed entries, or some are ready, or the queue is dead: poll again
     * @throws NullPointerException  if there is no mode; nothing is armed
     * @throws IllegalStateException if the queue or this poller is closed, the queue was made without events, another thread uses the
     *                               poller, or the call comes from a handler of it
     */
    public boolean arm(ArmMode mode) {
        return arm(mode, 1);
    }

    /**
     * As {@link CompletionQueue#arm(ArmMode, int)}, merged with the arms of other pollers.
     *
     * @param mode  for what
     * @param count entries that must be there, counted from the next that nobody has claimed
     * @return true if this poller holds claimed entries, or so many are ready, or others have claimed some meanwhile: poll again
     * @throws IllegalArgumentException if {@code count} is out of range; nothing is armed
     * @throws IllegalStateException    as for {@link #arm(ArmMode)}
     */
    public boolean arm(ArmMode mode, int count) {
        Objects.requireNonNull(mode, "arm mode");
        enterPoll();
        queue.requireArmable(count);
        final long first = consumed();
        queue.queueArm.arm(mode, count, first);
        enter(); // closed meanwhile
        if (held != 0 || (queue.dead() && queue.isDrained(first))) {
            return true;
        }
        final int wanted = mode == ArmMode.SOLICITED ? 1 : count;
        int ready = 0;
        while (ready != wanted && isReady(memory, first + ready)) {
            ready++;
        }
        return ready == wanted || consumed() != first;
    }

    /**
     * Copies entries that are known to be valid, without a look at each: as many bytes at a time as lie side by side. What the
     * device stores meanwhile may be copied in part; then {@link #take} fails.
     */
    private void copyRun(long first, long end) {
        long next = first;
        while (next != end) {
            final int slot = (int) next & indexMask;
            final int copy = (int) next & copyMask;
            final long most = Math.min(end - next, MOST_BYTES_AT_A_TIME >> strideShift);
            final int run = (int) Math.min(most, Math.min(capacity - slot, copyMask + 1 - copy));
            copies.copy(copy << strideShift, memory, firstSlotOffset + (slot << strideShift), run << strideShift);
            next += run;
        }
    }

    private boolean isReady(QueueMemory memory, long next) {
        final long slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
        return HostEnd.isValid(memory, slot, RingGeometry.phase(next, lapShift));
    }

    private void copy(QueueMemory memory, long slot, long header, QueueMemory copies, long copy) {
        copies.putLong(copy + CqeLayout.HEADER_OFFSET, header);
        copies.putLong(copy + 8, memory.getLong(slot + 8));
        copies.putLong(copy + 16, memory.getLong(slot + 16));
        copies.putLong(copy + 24, memory.getLong(slot + 24));
        if (strideBytes == CqeLayout.SHORT_BYTES) {
            return;
        }
        copies.putLong(copy + 32, memory.getLong(slot + 32));
        copies.putLong(copy + 40, memory.getLong(slot + 40));
        copies.putLong(copy + 48, memory.getLong(slot + 48));
        copies.putLong(copy + 56, memory.getLong(slot + 56));
        for (int offset = CqeLayout.STANDARD_BYTES; offset < strideBytes; offset += Long.BYTES) {
            copies.putLong(copy + offset, memory.getLong(slot + offset));
        }
    }

    private int passedOverInHand() {
        int count = 0;
        for (long next = sequence; next != sequence + held; next++) {
            if (CqeOpcode.isPassedOver(CqeLayout.opcode(copies.getLong(copyOffset(next))))) {
                count++;
            }
        }
        return count;
    }

    private void countPassedOver() {
        final int count = passedOverInHand();
        if (count != 0) {
            // Edge CQ-COUNT, host end: what abandoned entries we have seen, then the count of what was passed over.
            // Partner: CompletionQueue.abandonedAndNotPassedOver. Weaker: an observer sees more passed over than
            // abandoned. Get-and-add because every poller adds. The consumer sequence is ahead: size() says so.
            memory.getAndAddLong(CqRegion.PASSED_OVER, count);
        }
    }

    private long copyOffset(long sequence) {
        return (long) ((int) sequence & copyMask) << strideShift;
    }

    /** Entries that pollers have claimed, as of now or a little ago: where the next claim starts. */
    private long consumed() {
        // Edge CQ-SHARE, looking end: the consumer sequence, then the slots from there on. Partner: take, of any
        // poller. Its claim came after it had seen the slots before; so what we see in a slot is not older than one
        // lap, and the owner bit, which is the same again after two, tells the laps apart. Weaker (plain): an entry
        // of two laps ago passes for the next one, and is delivered again. Shown by CqShareStress.
        return memory.getLongAcquire(CqRegion.CONSUMER_SEQUENCE);
    }

    /**
     * Claims the entries from {@code first} to before {@code next}. The one thing that makes copies valid. If the sequence is
     * still {@code first}, it was no more than {@code first} when the copies were made, for it only goes up and 64 bits do not come round.
     * So until then the device could not have credit for these slots, and no store of its next lap can be in the copies. If a copy is
     * torn, or of another lap, the sequence had gone on before, and this fails.
     *
     * @return the sequence before: {@code first} if claimed, else where to try next
     */
    private long take(long first, long next) {
        // Edge CQ-SHARE, claiming end: our loads of the slots, then the step of the consumer sequence; and one step
        // for all pollers. Partner: consumed, of any poller; and this, for what it returns. Weaker (compare, then
        // store): two pollers deliver the same entry. Shown by CqShareStress. It is also edge CQ-CREDIT, host end.
        // Partner: CompletionWriter.obtainCredit. Weaker (claim before the copy is made): the device overwrites a slot
        // that is still being copied. Shown by CqShareStress.
        return memory.compareAndExchangeLong(CqRegion.CONSUMER_SEQUENCE, first, next);
    }
}
