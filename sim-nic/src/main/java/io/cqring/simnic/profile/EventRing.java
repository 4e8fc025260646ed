package io.cqring.simnic.profile;

import io.cqring.eq.Interrupt;
import io.cqring.memory.CacheLines;
import io.cqring.memory.QueueMemory;
import java.util.Objects;

/**
 * What a vendor's event queues have in common, whatever is in their entries: a ring whose owner bit changes with each lap, a consumer index, an arm
 * and an interrupt. Both ends.
 *
 * <pre>
 *   byte 0     consumer index | closed (asynchronous events only)      written by the host
 *   byte 128   arm word                                                 written by the host
 *              | overruns | events without a code (asynchronous only)   written by the device, rarely
 *   byte 256   ring: depth x stride                                     written by the device
 * </pre>
 *
 * <p>The doorbells are simplified: one word for the consumer index, and one that arms, with a count of the writes to it, because a bus delivers each
 * write and memory keeps only the last. A consumer index that the host cannot have reached is counted and not believed.
 */
abstract class EventRing {
    static final int MAX_DEPTH = 1 << 22;

    /** No slot is free. */
    static final long FULL = -1;

    static final int CLOSED = Long.BYTES;

    private static final int CONSUMER = 0;
    private static final int ARM = CacheLines.SEPARATION_BYTES;
    private static final int OVERRUNS = ARM + Long.BYTES;

    /** Asynchronous events only. */
    static final int UNTOLD = OVERRUNS + Long.BYTES;

    private static final int RING = 2 * CacheLines.SEPARATION_BYTES;
    private static final int ARM_COUNT_SHIFT = 32;

    final QueueMemory memory;
    final Interrupt interrupt;
    private final int depth;
    private final int log2Depth;
    private final int strideBytes;
    private final int ownerOffset;
    private final int ownerShift;
    private final int firstValid;

    // Device end.
    private long produced;
    private long consumedSeen;
    private long armSeen;
    private boolean armed;
    private long overruns;
    private long rejectedIndexes;

    // Host end.
    private boolean inHandler;
    private long consumed;
    private long arms;

    /** What {@link #next} took: where it lies, and its word with the owner bit. */
    long taken;

    long takenWord;

    /** Overwrites the memory; what is behind the ring in it stays. */
    EventRing(QueueMemory memory, Interrupt interrupt, int depth, EntryShape shape) {
        this.memory = memory;
        this.interrupt = Objects.requireNonNull(interrupt, "interrupt");
        this.depth = depth;
        this.log2Depth = Integer.numberOfTrailingZeros(depth);
        this.strideBytes = shape.strideBytes();
        this.ownerOffset = shape.ownerOffset();
        this.ownerShift = shape.ownerShift();
        this.firstValid = shape.firstValid();
        memory.fill(0, (int) bytes(depth, strideBytes), (byte) 0);
        if (firstValid == 0) {
            for (int slot = 0; slot < depth; slot++) {
                memory.putLong(entry(slot) + ownerOffset, 1L << ownerShift);
            }
        }
    }

    static long bytes(int depth, int strideBytes) {
        if (depth < 1 || depth > MAX_DEPTH || Integer.bitCount(depth) != 1) {
            throw new IllegalArgumentException("depth must be a power of two, 1 to " + MAX_DEPTH + ": " + depth);
        }
        return RING + (long) depth * strideBytes;
    }

    static void require(QueueMemory memory, long needed, int depth) {
        if (memory.sizeBytes() < needed) {
            throw new IllegalArgumentException(
                    "memory must have " + needed + " bytes for an event queue of " + depth + ": " + memory.sizeBytes());
        }
    }

    private int validAt(long sequence) {
        return firstValid ^ ((int) (sequence >>> log2Depth) & 1);
    }

    private long entry(long sequence) {
        return RING + (sequence & (depth - 1)) * strideBytes;
    }

    final int depth() {
        return depth;
    }

    // ---- Device end

    /** Where the next entry goes; {@link #FULL} if there is no room: then the loss is counted, and whoever waits is woken. */
    final long claim() {
        if (produced - consumedSeen == depth) {
            readConsumed();
        }
        if (produced - consumedSeen == depth) {
            lose();
            return FULL;
        }
        return entry(produced);
    }

    /** Owner bit of the entry that goes there. */
    final int claimedValid() {
        return validAt(produced);
    }

    /** The entry is written. */
    final void posted() {
        produced++;
        serve();
    }

    private void readConsumed() {
        // Edge VENDOR-EQ-CREDIT, device end: the index, then the stores into the slot. Partner: giveBack. Weaker
        // (opaque): the handler gets words of the next lap. Shown by VendorEventStress.
        final long said = memory.getLongAcquire(CONSUMER);
        if (Long.compareUnsigned(said - consumedSeen, produced - consumedSeen) > 0) {
            rejectedIndexes++;
        } else {
            consumedSeen = said;
        }
    }

    private void lose() {
        overruns++;
        // Edge VENDOR-EQ-OVERRUN, device end: what the event was about, then the count, then the interrupt. Partner:
        // overruns. Weaker (opaque): the host looks at its queues too early, and nobody tells it again. Shown by
        // VendorOverrunStress.
        memory.putLongRelease(OVERRUNS, overruns);
        interrupt.raise(); // whoever waits must look at everything
    }

    /** Raises the interrupt if the host has armed the queue and an entry is there. Device thread, on each pass: it must not sleep for long. */
    public final void serve() {
        // Edge VENDOR-EQ-ARM, device end: a look at the word on each pass; it carries the index, so opaque is
        // enough. Partner: storeArm. Weaker (plain): the load may be hoisted. Shown by VendorThreadsTest.
        final long word = memory.getLongOpaque(ARM);
        if (word != armSeen) {
            armSeen = word;
            armed = true;
        }
        if (armed && (int) produced != (int) armSeen) {
            armed = false;
            interrupt.raise();
        }
    }

    /**
     * No pass looks at the queue any more, because the device has ended or nothing posts here: wakes whoever waits, armed or not, since an arm
     * that comes now is answered by nobody. Device thread, or whoever closes a device that has none.
     */
    public final void end() {
        interrupt.raise();
    }

    // ---- Host end

    /** Refuses a call that only the poller may make if it comes from a handler: it would take what the poll is about to. */
    final void requireNoHandler() {
        if (inHandler) {
            throw new IllegalStateException("an event handler must not call the queue that is calling it");
        }
    }

    /** A poll begins, to be ended with {@link #endPoll} in any case; the most events that it may take. */
    final int beginPoll(int budget) {
        requireNoHandler();
        if (budget < 0) {
            throw new IllegalArgumentException("budget must be 0 or more events: " + budget);
        }
        inHandler = true;
        return Math.min(budget, depth);
    }

    /** The poll that began at an entry ends, maybe because the handler has thrown: its event counts as taken. The events taken. */
    final int endPoll(long first) {
        inHandler = false;
        if (consumed != first) {
            giveBack();
        }
        return (int) (consumed - first);
    }

    /** Takes the next entry if it is there. */
    final boolean next() {
        final long entry = entry(consumed);
        // Edge VENDOR-EQ-OWN, host end: the owner bit, then the other words, and what it is about. Partner: post.
        // Weaker (opaque): a word of the lap before. Shown by VendorEventStress.
        final long word = memory.getLongAcquire(entry + ownerOffset);
        if (((int) (word >>> ownerShift) & 1) != validAt(consumed)) {
            return false;
        }
        taken = entry;
        takenWord = word;
        consumed++;
        return true;
    }

    /** Whether the next entry is there; it is not taken. */
    final boolean isReady() {
        final long word = memory.getLongOpaque(entry(consumed) + ownerOffset);
        return ((int) (word >>> ownerShift) & 1) == validAt(consumed);
    }

    /** Entries taken so far. */
    final long consumed() {
        return consumed;
    }

    /** Returns the slots of what was taken to the device. */
    private void giveBack() {
        // Edge VENDOR-EQ-CREDIT, host end: the last loads from the slots, then the index. Partner: readConsumed. Weaker
        // (opaque): the device overwrites an event that is still being read. Shown by VendorEventStress.
        memory.putLongRelease(CONSUMER, consumed);
    }

    final void storeArm() {
        arms++;
        // Edge VENDOR-EQ-ARM, host end: nothing but the word itself. Partner: serve, which looks again and again
        // and compares the index. Weaker (plain): the store may be put off. Shown by VendorThreadsTest.
        memory.putLongOpaque(ARM, arms << ARM_COUNT_SHIFT | (consumed & 0xFFFF_FFFFL));
    }

    /**
     * What the thread that waits sleeps on.
     *
     * @return the interrupt, which other queues may share
     */
    public final Interrupt interrupt() {
        return interrupt;
    }

    /**
     * Events lost so far because the queue was full. Any thread. What they were about is visible to the caller.
     *
     * @return events
     */
    public final long overruns() {
        // Edge VENDOR-EQ-OVERRUN, host end: the count, then whatever the lost events were about. Partner: lose. Weaker
        // (opaque): the caller looks at its queues too early. Shown by VendorOverrunStress.
        return memory.getLongAcquire(OVERRUNS);
    }

    /**
     * Looks at the consumer index that were ignored because the host cannot have got there.
     *
     * @return looks, as the device thread sees it
     */
    public final long rejectedIndexes() {
        return rejectedIndexes;
    }
}
