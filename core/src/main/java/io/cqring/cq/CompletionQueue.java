package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Host end of a completion queue: polls completions and returns their slots to the device.
 *
 * <p><b>Role:</b> one polling thread at a time. The first thread that polls is the poller until it calls
 * {@link #releasePoller} or ends; any other gets an {@link IllegalStateException}. {@link #size}, {@link #remaining},
 * {@link #isEmpty}, {@link #capacity}, the counters and {@link #close} are for any thread. <b>Progress:</b> polls are wait-free
 * and take at most {@link #capacity} entries, however busy the device is; the calls that wait say so. <b>Allocation:</b> none after creation.
 * <b>Visibility:</b> all the device wrote before it published a completion is visible once the completion is polled.
 *
 * <p>Four ways to poll: {@link #poll} hands entries to a handler; {@link #startPoll}, {@link #next} and {@link #endPoll} are a
 * cursor, for loops without a callback; {@link #pollInto} copies entries out; {@link #peek} looks and consumes nothing.
 *
 * <p>Many threads may poll a queue that is made with {@link Builder#sharedPollers}: each through a {@link CompletionPoller} of
 * its own, from {@link #newPoller}. Such a queue's own poll calls, and {@link #peek}, are refused.
 *
 * <p>The life of a queue, for the polling thread: {@link #resize} moves it to another ring while both ends work, {@link #purge} takes
 * one queue pair's entries out, {@link #drainAndClose} ends it without a loss, {@link #reset} makes it as new.
 *
 * <p>The queue is safe to hand to other threads in any way that publishes Java objects safely.
 *
 * @see <a href="https://man7.org/linux/man-pages/man3/ibv_poll_cq.3.html">ibv_poll_cq(3), whose contract this follows</a>
 */
public final class CompletionQueue extends HostEnd implements AutoCloseable {
    /** Numbers of queue pairs and completion queues have 24 bits. */
    private static final int MAX_NUMBER = 0xFF_FFFF;

    /** How long a drain looks away when there is nothing to poll. */
    private static final long DRAIN_IDLE_NS = 20_000;

    /** The one writer, or null if there are many. */
    private final CompletionWriter writer;

    private final boolean shared;

    /** The host may be armed by others, and this object has no way to tell them: it must not write. */
    private final boolean mute;

    /** Number of the last resize. */
    private long resizes;

    private CompletionQueue(QueueMemory memory, RingGeometry geometry, Builder chosen) {
        super(memory, geometry, chosen);
        this.writer = chosen.writers == 1
                ? new CompletionWriter(
                        memory, geometry, startSequence, chosen.policy, chosen.merging, creditArm, queueArm)
                : null;
        this.shared = chosen.shared;
        this.mute = chosen.mute;
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
     * <p><b>Many writers, many pollers:</b> any number of processes may attach. A {@link CompletionPoller} takes no role: each
     * claims for itself. A {@link SharedWriter} is one of the writers that the queue was made for, counted over all processes; its
     * place is locked by its process ({@code <file>.writer-<place>}) until it is closed, recovered, or the process ends. If a process
     * is killed, {@link #recover} in any other takes back what its writers had claimed and not published, and what its pollers had
     * claimed and not delivered is lost: at most one batch for each poller.
     *
     * <p><b>Events:</b> of a queue that was made with events this gives the host end only, and the counts: {@link #writer},
     * {@link #newWriter} and {@link #recover} are refused, because a host that sleeps would not be told. See
     * {@link #attach(QueueMemory, EventSink, int)}. Closing the queue from here wakes nobody either.
     *
     * <p><b>Other memory</b> ({@link QueueMemory#wrap}) has no such guard: nobody may play an end while it is attached again, and
     * {@link #recover} takes all writers but those of its own queue object for gone.
     *
     * @param memory a region that holds a queue
     * @return the host end; {@link #writer} or {@link #newWriter} is the device end
     * @throws CqAttachException if the region holds no queue, or not yet, or one that this version cannot work with; nothing is
     *                           changed
     */
    public static CompletionQueue attach(QueueMemory memory) {
        return attachAs(memory, null, 0);
    }

    /**
     * As {@link #attach(QueueMemory)}, for a queue that was made with events: this end can arm it, and its writers raise the events. For
     * writers of another process than the one that sleeps, the sink is an {@code io.cqring.notify.WakeupSender}; the process that sleeps
     * attaches by {@code CompletionChannel.attach}.
     *
     * <p><b>Death of a process:</b> what was asked for stays in the region. An open arm is answered by whoever writes next, an answer waits
     * for whoever polls next. A writer that was killed may have published an entry and told nobody: the next writer tells, with its first
     * entry or by {@link CompletionWriter#recover} or {@link #recover}; or whoever notices the death looks.
     *
     * <p>A process that may write to the file can keep those who sleep from being woken, nothing worse: so give each wait a time.
     *
     * @param memory a region that holds a queue
     * @param sink   whom the writers of this object tell
     * @param number number of the queue, by which events name it, 0 to 2^24-1
     * @return the host end; {@link #writer} or {@link #newWriter} is the device end
     * @throws CqAttachException        as {@link #attach(QueueMemory)}; or the queue was made without events
     * @throws IllegalArgumentException if the number is out of range
     */
    public static CompletionQueue attach(QueueMemory memory, EventSink sink, int number) {
        return attachAs(memory, Objects.requireNonNull(sink, "event sink"), requireNumber(number));
    }

    private static int requireNumber(int number) {
        if ((number & ~MAX_NUMBER) != 0) {
            throw new IllegalArgumentException("number of the queue must be 0 to " + MAX_NUMBER + ": " + number);
        }
        return number;
    }

    private static CompletionQueue attachAs(QueueMemory memory, EventSink sink, int number) {
        CqHeader header = CqHeader.read(memory);
        if (sink != null && !header.events()) {
            throw CqHeader.refused(memory, "the queue was made without events", false);
        }
        RingGeometry geometry = CqRegion.geometry(header.capacity(), header.strideBytes(), header.writers());
        CqRegion.requirePlausible(memory, header);
        Builder chosen = new Builder(header.capacity())
                .strideBytes(header.strideBytes())
                .overrunPolicy(header.policy())
                .startSequence(header.startSequence())
                .writers(header.writers());
        chosen.shared = header.sharedPollers();
        if (sink != null) {
            chosen.events(sink, number);
        }
        chosen.mute = header.events() && sink == null;
        CompletionQueue queue = new CompletionQueue(memory, geometry, chosen);
        if (!queue.isInFile()) { // else each end resumes once it has its role
            queue.resume();
            if (queue.writer != null) {
                queue.writer.resume();
                queue.findGaps();
            }
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

    @Override
    void requirePlayable() {
        if (shared) {
            throw new IllegalStateException("completion queue has shared pollers: each thread polls through a"
                    + " CompletionPoller of its own, from newPoller()");
        }
    }

    /** Counts what a purge has left in the slots; a queue in a file is never purged. */
    private void findGaps() {
        for (long next = sequence; next != writer.sequence; next++) {
            final int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
            if (CqeLayout.opcode(slots.getLong(slot + CqeLayout.HEADER_OFFSET)) == CqeOpcode.INVALID) {
                gaps++;
            }
        }
        if (gaps != 0) {
            beginDetour();
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
     * @throws IllegalStateException if the queue was made for many writers; or with events, and attached without a sink for them
     */
    public CompletionWriter writer() {
        requireVoice();
        if (writer == null) {
            throw new IllegalStateException(
                    "completion queue was made for many writers: newWriter() opens one per writing thread");
        }
        return writer;
    }

    /**
     * Makes one more poller of a queue with {@link Builder#sharedPollers}, with claims of up to 64 entries. Any thread, at any
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
     * @param batch the most entries that one claim takes away from the other pollers, 1 or more; more than the capacity, or
     *              than fit into 2^29 bytes, is allowed and means that. The poller has memory of its own for twice as many. Larger claims cost less per entry; smaller ones
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
        return new CompletionPoller(
                this, Math.min(Math.min(batch, capacity), CompletionPoller.MOST_BYTES >> strideShift));
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
     * recover, or close of a writer, also of another process if the queue is in a file.
     *
     * <p>Until a thread uses the writer, the thread that opened it answers for it: if that ends first, {@link #recover} closes the
     * writer. A thread that opens writers for others and may end before they write calls {@link SharedWriter#release} on each.
     *
     * @return a new writer, to be closed when it is no longer needed
     * @throws IllegalStateException if the queue was made for one writer, has as many open as it was made for (in all processes),
     *                               or is closed; or it was made with events, and attached without a sink for them
     * @throws java.io.UncheckedIOException if a lock file beside the region cannot be opened; no writer is opened
     */
    public SharedWriter newWriter() {
        return claimRows().open();
    }

    /**
     * Takes back what writers that are gone have claimed and not published: writers whose thread has ended (of one that was never used,
     * nor released, the thread that opened it), writers closed after a
     * call that an exception had cut short, and, if the queue is in a file, the writers of processes that have ended, in whatever
     * way. Which threads of another living process have ended, only a recover of that process can tell, on the queue object that
     * opened the writer. Their entries become abandoned ones, which polls pass over, so that completions behind them can be
     * polled; what they had published stays. The writers are closed and their places free for {@link #newWriter}.
     *
     * <p>A living writer's claim is never touched, however long it is open. While one may, by what its row says, own a sequence
     * that one that is gone may own too, nothing is decided about it: call again later. Any thread, at any time; may wait for
     * another recover, newWriter, or close of a writer, also of another process. Writers and poller need not stop.
     *
     * @return entries abandoned by this call
     * @throws IllegalStateException if the queue was made for one writer, or is closed; or it was made with events, and attached
     *                               without a sink for them
     * @throws java.io.UncheckedIOException if a lock file beside the region cannot be opened; call again
     */
    public int recover() {
        return claimRows().recover();
    }

    private void requireVoice() {
        if (mute) {
            throw new IllegalStateException(
                    "completion queue was made with events, and attached without a sink for them:"
                            + " whoever sleeps would not be told of what is written here; attach(memory, sink, number)");
        }
    }

    private ClaimRows claimRows() {
        if (claimRows == null) {
            throw new IllegalStateException(
                    "completion queue was made for one writer: writer() is it; writers(n) makes a queue for many");
        }
        if (isQueueClosed()) {
            throw new IllegalStateException("completion queue is closed");
        }
        requireVoice();
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
        do {
            while (taken != most && advance()) {
                current.copyTo(into[taken++]);
            }
            consumeHeld();
        } while (taken != most && crossMarker());
        detachViews();
        if (dead && taken == 0 && limit != 0 && isDrained(sequence)) {
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
        if (dead && isDrained(sequence)) {
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
        // As in CompletionWriter.write, all that is rare is one call whose result is returned.
        if (mustEnter() || shown == 0 || !ordinary || held == capacity || !attachIfReady(sequence + held)) {
            return nextWithCare();
        }
        held++;
        shown++;
        return true;
    }

    private boolean nextWithCare() {
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
        putLastBack();
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
        if (advanceFromStart()) {
            putLastBack();
            consumeHeld(); // what was passed over is nobody's any more
            return current;
        }
        if (dead && isDrained(sequence)) {
            throw overrun();
        }
        return null;
    }

    /**
     * Completions published and not yet returned to the device; purged ones do not count. Any thread. On the polling thread, that
     * many can be polled at once (while a resize is under way, in two calls); more may be ready, because the count follows the completions it counts (a batch's as a whole). On other threads it
     * may also be too high, by what was polled and published during the call.
     *
     * <p>With many writers, open claims count as well: what is claimed and neither published nor given back may or may not become
     * a completion, so fewer may be ready. Abandoned entries do not count. A thread or process that ends while it abandons or passes
     * over entries may leave their count wrong for good: then size is too low or too high by these, but never 0 if a
     * completion is ready.
     *
     * <p>With shared pollers every thread is such another thread: the count is of what no poller has claimed, and a poll may find
     * less, or nothing, because another poller came first. With many writers as well it may for a moment be too low, by abandoned
     * entries that a poller has just passed over.
     *
     * @return entries, 0 to capacity; until the poller has followed a resize, to the larger of the two capacities
     */
    public int size() {
        // Edge CQ-COUNT, observing end. Partner: CompletionWriter.publishSequence. First the consumed count, then the
        // published one, then (in a later poll by this thread) the owner bits it counts. Weaker: "empty" might never
        // have been true, and "not empty" would not promise the poller a completion. Shown by CqCountStress.
        long consumed = memory.getLongAcquire(CqRegion.CONSUMER_SEQUENCE);
        long abandoned = claimRows == null ? 0 : abandonedAndNotPassedOver();
        long published = memory.getLongAcquire(CqRegion.PRODUCER_SEQUENCE);
        long size = published - consumed - abandoned - gaps;
        if (size <= 0 && abandoned != 0) {
            size = countUnlessAbandoned(consumed, published);
        }
        return (int) Math.max(0, Math.min(size, mostUnpolled));
    }

    /** For when the counts say that all is abandoned: one that died may have left them wrong. Asks the slots. */
    private long countUnlessAbandoned(long consumed, long published) {
        long count = 0;
        final long most = Math.min(published - consumed, capacity);
        for (long next = consumed; next - consumed < most; next++) {
            final int slot = RingGeometry.offset(next, firstSlotOffset, indexMask, strideShift);
            final long header = header(memory, slot);
            final boolean valid = ((header ^ RingGeometry.phase(next, lapShift)) & CqeLayout.OWNER_MASK) == 0;
            if (!valid || !CqeOpcode.isPassedOver(CqeLayout.opcode(header))) {
                count++;
            }
        }
        return count;
    }

    /** To be called after the consumer sequence was loaded: what it has passed, both counts have counted. */
    private long abandonedAndNotPassedOver() {
        // Edge CQ-COUNT, observing end. Partner: ClaimRows.abandon. First what was passed over, then what was
        // abandoned, which is never less. Weaker: an abandoned entry that has been passed over is subtracted again.
        long passed = memory.getLongAcquire(CqRegion.PASSED_OVER);
        return Math.max(0, memory.getLongAcquire(CqRegion.ABANDONED_ENTRIES) - passed);
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
     * Slots given back to the device, counted from the start sequence. Any thread; on the polling thread exact, elsewhere it may be
     * out of date. A slot goes back some time after its completion has been taken, see {@link #poll}; with shared pollers before.
     *
     * @return the consumer sequence, in entries; goes back only by {@link #reset}
     */
    public long consumerSequence() {
        return memory.getLongOpaque(CqRegion.CONSUMER_SEQUENCE);
    }

    /**
     * Entries published, counted from the start sequence; with many writers, entries claimed. Any thread; on the one writing thread
     * exact, elsewhere it may be out of date.
     *
     * @return the producer sequence, in entries; goes back only by {@link #reset}, and when a claim is given back
     */
    public long producerSequence() {
        return memory.getLongOpaque(CqRegion.PRODUCER_SEQUENCE);
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
        CqRegion.geometry(newCapacity, strideBytes(), 1); // the limits of a queue
        requireOneOfEach("be resized");
        if (nextRing != null) {
            throw new IllegalStateException("a resize from " + capacity + " to "
                    + nextRing.geometry().capacity() + " entries is under way: poll until it is done, or cancel it");
        }
    }

    private void requireOneOfEach(String what) {
        if ((!ordinary && !detour) || isInFile()) {
            throw new IllegalStateException("a queue can " + what
                    + " only if it has one writer and one poller, does not merge and is not in a file");
        }
    }

    private void post(int newCapacity, QueueMemory newMemory) {
        final Ring ring = CqRegion.unusedRing(newMemory, newCapacity, strideBytes());
        writer.offered = ring;
        // Edge RESIZE, host end: the new ring with every slot unused, then the command. Partner: QueueEnd.attend.
        // Weaker: the device writes entries that our stores then wipe out. Shown by ResizeStress.
        if (!memory.compareAndSetLong(CqRegion.CLOSED, 0, Control.resize(++resizes))) {
            throw new IllegalStateException("completion queue is closed or being drained");
        }
        wakeWriters(); // to answer
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
        final long unanswered = Control.RESIZE_PENDING | Control.REFUSED_BACKLOG | Control.REFUSED_DEAD;
        return nextRing != null && (memory.getLongOpaque(CqRegion.CLOSED) & unanswered) == 0
                ? ResizeStatus.ACCEPTED
                : resizeStatus;
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
        return purge(qpNumber, completion -> {});
    }

    /**
     * As {@link #purge(int)}, and shows each completion that is taken out: who goes by completions to know which receives of a shared queue are
     * free again learns of these, too.
     *
     * @param qpNumber as {@link #purge(int)}
     * @param gone     called for each, in order; must not poll the queue. If it throws, that completion is the last that was taken out
     * @return completions taken out, in entries
     * @throws IllegalArgumentException as {@link #purge(int)}
     * @throws IllegalStateException    as {@link #purge(int)}
     */
    public int purge(int qpNumber, CompletionHandler gone) {
        Objects.requireNonNull(gone, "handler");
        enterPoll();
        requireOneOfEach("be purged");
        if ((qpNumber & ~MAX_NUMBER) != 0) {
            throw new IllegalArgumentException("QP number must be 0 to " + MAX_NUMBER + ": " + qpNumber);
        }
        int purged = 0;
        long next = sequence;
        Ring in = ring;
        Ring beyond = nextRing;
        inHandler = true;
        try {
            while (true) {
                final int slot = in.geometry().offset(next);
                final long header = header(in.memory(), slot);
                if (((header ^ in.geometry().phase(next)) & CqeLayout.OWNER_MASK) != 0
                        || (header & ~CqeLayout.OWNER_MASK) == CqRegion.UNUSED) {
                    break; // from here on the slots are the device's
                }
                final int opcode = CqeLayout.opcode(header);
                if (opcode == CqeOpcode.RESIZE && beyond != null) {
                    in = beyond;
                    beyond = null;
                    view.memory = in.memory();
                    continue; // the marker takes no sequence
                }
                next++;
                if (!CqeOpcode.isPassedOver(opcode) && CqeLayout.qpNumber(header) == qpNumber) {
                    // A plain store: the slot is ours from the owner bit we saw until publishConsumed gives it back,
                    // and that release store (edge CQ-CREDIT) keeps this one before the device's next one to the slot.
                    in.memory()
                            .putLong(slot + CqeLayout.HEADER_OFFSET, CqeLayout.withOpcode(header, CqeOpcode.INVALID));
                    purged++; // before it is shown, as the store
                    gone.onCompletion(view.attach(slot, header));
                }
            }
        } finally {
            inHandler = false;
            view.detach();
            view.memory = slots;
            endPurge(purged);
        }
        return purged;
    }

    private void endPurge(int purged) {
        if (purged != 0) {
            beginDetour();
            gaps += purged;
            while (held != capacity && attachIfReady(sequence + held) && isGap()) {
                held++; // at the head of the queue
                passed++;
            }
            view.detach();
            consumeHeld();
        }
    }

    /**
     * Stops the writer, hands all it has published to {@code handler}, and closes the queue. For the polling thread; an open cursor is
     * abandoned, a resize that the device has not answered is cancelled.
     *
     * <p>The writer is stopped when it is told so by its next call (an {@link IllegalStateException}; what it has in hand is given back),
     * or when no thread that is alive has the role. A writer that is alive, idle and keeps its role cannot be told from one that
     * is about to publish: then time runs out, which is a result. Blocks for at most the time given and the handler's last
     * batch. An interrupt does not end the wait: the thread is interrupted again when the call ends.
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
        boolean interrupted = false;
        try {
            do {
                final boolean stopped = isWriterStopped(); // before the slots: empty after this is empty for good
                final long before = sequence;
                drained += ordinary ? pollRuns(handler, capacity) : pollEach(handler, mostUnpolled);
                complete = stopped && size() == 0;
                goOn = !complete
                        && System.nanoTime() - start < nanos
                        && memory.getLongOpaque(CqRegion.CLOSED) != Control.CLOSED;
                if (goOn && sequence == before) {
                    interrupted |= Thread.interrupted(); // or it would not park
                    LockSupport.parkNanos(DRAIN_IDLE_NS);
                }
            } while (goOn);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
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
     * What the writer has in hand is given back. The queue is not armed any more: who waits for its event must arm it again.
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
            if (queueArm != null) {
                queueArm.restart(startSequence);
            }
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
     * Asks for one event, at the next completion or the next solicited one, and says whether there is something to poll already. For
     * the polling thread; wait-free. {@code ibv_req_notify_cq}, with the missed-event report of its kernel twin.
     *
     * <p>The rule for callers: poll until nothing comes, arm, and only if this returned false, wait for the event. What comes between
     * the last poll and this call is reported here, what comes later raises the event: nothing falls in between. One arm gives one
     * event at most; arming again before it has come changes what is asked for, and asks for no second one. The event goes to the
     * {@link EventSink} of {@link Builder#events}, or is the device's to raise ({@link Builder#deviceEvents}).
     *
     * @param mode for what
     * @return true if completions are ready, or the queue died of an overrun and nothing more will come: poll again. True also for the
     *     marker of a resize that a poll has yet to follow, even into a ring that is still empty. True also if nothing but
     *     purged entries lies ahead, over which a poll has yet to pass: after either, a poll may find nothing. The queue is armed in any case
     * @throws NullPointerException  if there is no mode; nothing is armed
     * @throws IllegalStateException if the queue is closed, was made without events, another thread is the poller, or the call comes
     *                               from a handler of this queue; an event may have been asked for
     */
    public boolean arm(ArmMode mode) {
        return arm(mode, 1);
    }

    /**
     * As {@link #arm(ArmMode)}, and the event waits for {@code count} entries. Only for {@link ArmMode#NEXT}; a solicited completion does
     * not wait.
     *
     * @param mode  for what
     * @param count entries that must be there, 1 to the smaller of the capacity and 65536; counted from the next to be polled
     * @return true if so many are ready: poll again. True also, whatever the count, for the marker of a resize that a poll has yet to follow.
     *     Purged entries that lie ahead count
     * @throws IllegalArgumentException if {@code count} is out of range; nothing is armed
     * @throws IllegalStateException    as for {@link #arm(ArmMode)}
     */
    public boolean arm(ArmMode mode, int count) {
        Objects.requireNonNull(mode, "arm mode");
        enterPoll();
        requireArmable(count);
        queueArm.arm(mode, count, sequence);
        enter(); // closed meanwhile
        return isReady(mode == ArmMode.SOLICITED ? 1 : count) || (dead() && isDrained(sequence));
    }

    /**
     * Whether {@code count} completions can be polled now: what {@link #arm(ArmMode, int)} says, without asking for an event. For the
     * polling thread; wait-free. If slots are passed over, polls may give less.
     *
     * @param count entries that must be there, 1 to the capacity
     * @return true if so many are ready, or the queue died of an overrun and nothing more will come
     * @throws IllegalArgumentException if {@code count} is out of range
     * @throws IllegalStateException    if the queue is closed or has shared pollers, another thread is the poller, or the call comes from
     *                                  a handler of this queue
     */
    public boolean isPollable(int count) {
        if (count < 1 || count > capacity) {
            throw new IllegalArgumentException("completions to look for must be 1 to " + capacity + ": " + count);
        }
        enterPoll();
        return isReady(count) || (dead() && isDrained(sequence));
    }

    /** Whether the arm may be asked for; if not, throws. */
    void requireArmable(int count) {
        if (queueArm == null) {
            throw QueueArm.notAsked();
        }
        final int most = Math.min(capacity, QueueArm.MOST_COUNT);
        if (count < 1 || count > most) {
            throw new IllegalArgumentException("an event can wait for 1 to " + most + " entries: " + count);
        }
    }

    /**
     * Says that the event of the last arm has arrived: from now on the queue is not armed, and can be armed for another. Any thread;
     * lock-free. {@code ibv_get_cq_event} does this. Take the event first, then poll and arm: an arm made while an event is
     * outstanding asks for no other, and is undone by this call.
     *
     * @return true if there was one, for a completion or for a close; false if none is outstanding
     * @throws IllegalStateException if the queue was made without events
     */
    public boolean takeEvent() {
        if (queueArm == null) {
            throw QueueArm.notAsked();
        }
        return queueArm.take();
    }

    /**
     * Events raised by arms since creation. Any thread.
     *
     * @return events; 0 if the queue has none
     */
    public long events() {
        return queueArm == null ? 0 : queueArm.fired();
    }

    /**
     * Whether the device overran the queue and it is dead (policy {@link OverrunPolicy#ERROR}). What was written before can still be
     * polled. Any thread.
     *
     * @return true from the overrun on, until a {@link #reset}
     */
    public boolean isDead() {
        return memory.getLongOpaque(CqRegion.DEAD) != 0;
    }

    /**
     * Whether the queue was closed. Any thread.
     *
     * @return true from {@link #close} on
     */
    public boolean isClosed() {
        return isQueueClosed();
    }

    /**
     * Whether the host can {@link #arm} this queue.
     *
     * @return true if it was made with {@link Builder#events} or {@link Builder#deviceEvents}, or attached with a sink for events
     */
    public boolean hasEvents() {
        return queueArm != null;
    }

    /**
     * Whether the events of this queue are a device's to raise.
     *
     * @return true if it was made with {@link Builder#deviceEvents}
     */
    public boolean hasDeviceEvents() {
        return queueArm != null && queueArm.sink == null;
    }

    /**
     * Number of the queue, by which events name it.
     *
     * @return what {@link Builder#events}, {@link Builder#deviceEvents} or {@link #attach(QueueMemory, EventSink, int)} was given; 0 if
     *     the queue has no events
     */
    public int number() {
        return queueArm == null ? 0 : queueArm.cqNumber;
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
     * Completions lost to overrun since creation or the last {@link #reset}; always 0 under BACKPRESSURE. Any thread.
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
     * process, and whoever sleeps there is woken through the {@link EventSink}.
     */
    @Override
    public void close() {
        markClosed();
        wakeWriters();
        if (queueArm != null) {
            queueArm.wake();
        }
        releaseProcessRole();
        if (writer != null) {
            writer.releaseProcessRole();
        } else {
            claimRows.releaseLocks();
        }
    }

    /** Describes a queue to be made. Not thread-safe. */
    public static final class Builder {
        private final int capacity;
        private int strideBytes = CqeLayout.STANDARD_BYTES;
        OverrunPolicy policy = OverrunPolicy.BACKPRESSURE;
        long startSequence;
        private QueueMemory memory;
        boolean merging;
        boolean shared;
        boolean waiting;
        int writers = 1;
        boolean armable;
        EventSink sink;
        int number;

        /** Attached, with events, and no sink. */
        boolean mute;

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
         * @param most the most writers that may be open, 1 to 64; if the queue is in a file, in all processes together
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
         * Lets a writer that finds the queue full wait for space: {@link CompletionWriter#awaitSpace},
         * {@link SharedWriter#awaitSpace}. Whoever gives slots back then looks whether a writer waits, once per call of a poll and per
         * quarter of the ring, behind a full fence; so a queue is made for it or does without. Only under
         * {@link OverrunPolicy#BACKPRESSURE}; not in a file, because a thread of another process could not be woken.
         *
         * @return this
         */
        public Builder waitingWriters() {
            this.waiting = true;
            return this;
        }

        /**
         * Lets the host {@link CompletionQueue#arm} the queue, and the writers raise the events: a write, flush or commit looks at the
         * arm word once, behind a full fence. In a file, other processes write through
         * {@link CompletionQueue#attach(QueueMemory, EventSink, int)}, each with a sink of its own.
         *
         * @param sink   whom the writers tell
         * @param number number of the queue, by which events name it, 0 to 2^24-1
         * @return this
         */
        public Builder events(EventSink sink, int number) {
            deviceEvents(number);
            this.sink = Objects.requireNonNull(sink, "event sink");
            return this;
        }

        /**
         * Lets the host {@link CompletionQueue#arm} the queue, and leaves the events to a device that loops: it asks
         * {@link CompletionWriter#pastArm} on each pass, and needs no fence. One writer; not in a file.
         *
         * @param number number of the queue, 0 to 2^24-1
         * @return this
         */
        public Builder deviceEvents(int number) {
            this.armable = true;
            this.sink = null;
            this.number = number;
            return this;
        }

        /**
         * Whether the queue will be in a file, where other processes may attach it.
         *
         * @return true if its memory is a file
         */
        public boolean isInFile() {
            return memory != null && memory.roleLock("writer") != null;
        }

        /**
         * Memory that the queue takes as it is described so far, exact.
         *
         * @return bytes
         * @throws IllegalArgumentException if a number breaks its rule
         */
        public long requiredBytes() {
            return CqRegion.requiredBytes(capacity, strideBytes, writers);
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
            if (waiting && policy != OverrunPolicy.BACKPRESSURE) {
                throw new IllegalArgumentException("waiting writers need BACKPRESSURE: with " + policy
                        + " a writer that finds no slot loses its entry and never waits");
            }
            requireNumber(number);
            if (armable && sink == null && writers != 1) {
                throw new IllegalArgumentException("events raised by the device need one writer: choose events()"
                        + " with a sink, or writers(1) instead of " + writers);
            }
            RingGeometry geometry = CqRegion.geometry(capacity, strideBytes, writers);
            long bytes = requiredBytes();
            QueueMemory region = memory == null ? QueueMemory.allocate(bytes) : memory;
            if (region.sizeBytes() < bytes) {
                throw new IllegalArgumentException("memory of " + region.sizeBytes() + " bytes is too small for "
                        + capacity + " entries of " + strideBytes + " bytes: " + bytes + " bytes are needed");
            }
            CompletionQueue queue = new CompletionQueue(region, geometry, this);
            if (queue.isInFile()) {
                if (waiting) {
                    throw new IllegalArgumentException("a queue in a file cannot have waiting writers: no thread of"
                            + " another process can be woken; leave out waitingWriters()");
                }
                if (armable && sink == null) {
                    throw new IllegalArgumentException(
                            "a queue in a file has no events that its device raises: a device in"
                                    + " another process does not know where; events() instead of deviceEvents()");
                }
                requireFitForFile(region);
            }
            CqHeader header = new CqHeader(
                    strideBytes, capacity, policy, startSequence, CqHeader.shape(writers, shared, merging, armable));
            long epoch = queue.isInFile() ? ThreadLocalRandom.current().nextLong() : 0;
            CqRegion.initialise(region, geometry, header, epoch, memory == null);
            return queue;
        }

        private void requireFitForFile(QueueMemory region) {
            if (merging) {
                throw new IllegalArgumentException(
                        "a queue in a file does not merge, for a poller that takes over would"
                                + " not know how much of a slot was handed out: merging()");
            }
            if (region.getLongOpaque(CqRegion.MAGIC) != 0) {
                throw new IllegalArgumentException(
                        "memory is a file that holds a queue, which other processes may use: " + region
                                + "; attach it, or delete the file");
            }
        }
    }
}
