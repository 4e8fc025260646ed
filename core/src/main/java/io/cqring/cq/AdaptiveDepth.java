package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

/**
 * Lets the depth of a queue follow its traffic: deeper when completions pile up, as in an all-to-all, shallower when few wait at
 * a time, as in an all-reduce. Nothing of it happens by itself: whoever polls makes one and calls {@link #adapt} after each poll.
 *
 * <pre>
 *   while (running) {
 *       queue.poll(handler, 256);
 *       depth.adapt();
 *   }
 * </pre>
 *
 * <p>It looks at the <b>backlog</b> each time an eighth of the ring has been consumed: what the calls since the last
 * {@code adapt} took, and what they left. Most of what a call takes waited when it began; the rest came while it ran, and the
 * device had to find room for that too. So a burst cannot hide in one large poll, and a backlog that grows as fast as it is
 * polled shows. The other side of it: where device and poller keep pace for a whole ring, a poll that may take a whole ring
 * counts as a burst, and the depth goes up to between 4/3 and 8/3 of the limit of the polls.
 *
 * <ul>
 *   <li><b>Deeper</b> at once when a backlog of three quarters of the ring is seen: twice, or as far as the backlog is below three
 *       quarters again.
 *   <li><b>Shallower</b> by half after {@value #CALM_WINDOWS} windows in a row whose largest backlog was below an eighth of the
 *       ring. A window is as many entries as the ring has slots. So traffic whose backlog stays between an eighth and
 *       three quarters changes nothing, and after a halving a backlog must be three times as large as any of the calm before the ring is
 *       deepened again. A ring of 8 or fewer stays.
 *   <li><b>Never</b> beyond the two limits, nor while a resize is under way.
 * </ul>
 *
 * <p>Time is counted in entries, never on a clock: a queue without traffic keeps its depth. A device that does not answer a
 * command is one that writes nothing, so the command stands until it does; but a halving that it has not answered is taken back
 * when the ring must be deepened. A halving that it refuses, because more is unpolled by then, is counted and tried again after the next calm.
 * When it says that the queue is dead, nothing more is asked until {@link CompletionQueue#reset}.
 *
 * <p>Under {@link OverrunPolicy#ERROR} and {@code DROP_NEW} this is no protection: a burst that fills the ring before the
 * poller sees it is an overrun. {@code BACKPRESSURE} makes the device wait, and the depth decides only how often.
 *
 * <p><b>Role:</b> the polling thread, nobody else. <b>Progress:</b> wait-free. <b>Cost:</b> a load and a comparison; once per eighth
 * of a ring also two loads of words that the device writes; deepening stores one word per slot of the new ring. <b>Allocation:</b> a ring's memory when a
 * depth is reached for the first time, kept for the next time: in all at most twice the largest. Only a resize makes a few small objects.
 */
public final class AdaptiveDepth {
    /** Windows of calm before a ring is halved. */
    static final int CALM_WINDOWS = 8;

    /** A look each time 1/2^3 of the ring has been consumed; calm is a backlog below that. */
    private static final int EIGHTH = 3;

    private final CompletionQueue queue;
    private final int smallest;
    private final int largest;

    /** Memory of rings that were used or offered, by log2 of their depth. */
    private final QueueMemory[] rings = new QueueMemory[Integer.SIZE];

    /** Consumer sequence at the last call. */
    private long seen;

    /** Consumer sequence at the last look, and how far beyond it is the next; 0 while a resize of ours is under way. */
    private long lookedAt;

    private long lookAfter;

    private long windowStart;
    private int windowBacklog;
    private int calmWindows;

    /** The depth before the resize that is under way, and the one asked for; 0 if none of ours is. */
    private int from;

    private int asked;

    private int deepest;
    private int highWater;
    private long deepened;
    private long halved;
    private long refused;
    private long takenBack;

    /**
     * Watches a queue. Changes nothing yet.
     *
     * @param queue    a queue of one writer and one poller that does not merge and is not in a file
     * @param smallest the smallest depth, in entries; a power of two, at most the capacity of the queue
     * @param largest  the largest depth, in entries; a power of two, at least the capacity of the queue, at most 2^24 (2^23 for 128-byte
     *                 entries)
     * @throws IllegalArgumentException if a depth breaks its rule
     * @throws IllegalStateException    if the queue is not such a queue
     */
    public AdaptiveDepth(CompletionQueue queue, int smallest, int largest) {
        queue.requirePlayable(); // not with shared pollers
        if (queue.hasManyWriters() || queue.isMerging() || queue.isInFile()) {
            throw new IllegalStateException("the depth of a queue can adapt only if it has one writer and one poller,"
                    + " does not merge and is not in a file");
        }
        final int capacity = queue.capacity();
        if (Integer.bitCount(smallest) != 1 || smallest < 1 || smallest > capacity) {
            throw new IllegalArgumentException("smallest depth must be a power of two, 1 to the queue's capacity of "
                    + capacity + ": " + smallest);
        }
        if (Integer.bitCount(largest) != 1 || largest < capacity) {
            throw new IllegalArgumentException("largest depth must be a power of two, at least the queue's capacity of "
                    + capacity + ": " + largest);
        }
        CqRegion.geometry(largest, queue.strideBytes(), 1); // the limits of a queue
        this.queue = queue;
        this.smallest = smallest;
        this.largest = largest;
        this.deepest = capacity;
        this.seen = queue.consumerSequence();
        startWindow(seen);
    }

    /**
     * Takes notice of what has been polled, and asks for another depth when it is time. To be called by the polling thread after
     * each poll that is to count; what several polls took before one call counts as one. Never waits; polls and their
     * order are not touched. If the poller's role is free, the caller takes it, as by a poll.
     *
     * @throws IllegalStateException if the queue is closed or being drained, or another thread is the poller, in a call that
     *                               looks at the queue; the depth does not change
     * @throws OutOfMemoryError      if there is no memory for a deeper ring; the depth does not change
     */
    public void adapt() {
        final long consumed = queue.consumerSequence();
        final long taken = consumed - seen;
        seen = consumed;
        if (Long.compareUnsigned(consumed - lookedAt, lookAfter) >= 0) {
            look(consumed, taken);
        }
    }

    private void look(long consumed, long taken) {
        final ResizeStatus status = queue.resizeStatus();
        if (consumed - lookedAt < 0) {
            startWindow(consumed); // the queue has been reset
        }
        if (asked != 0) {
            learn(status);
        }
        final int capacity = queue.capacity();
        final int eighth = Math.max(1, capacity >> EIGHTH);
        lookAfter = asked == 0 ? eighth : 0;
        if (consumed - lookedAt < eighth) {
            return; // came only to learn of the resize
        }
        lookedAt = consumed;
        final int backlog = (int) Math.min(taken, capacity) + queue.size();
        highWater = Math.max(highWater, backlog);
        windowBacklog = Math.max(windowBacklog, backlog);
        final boolean windowEnds = consumed - windowStart >= capacity;
        if (windowEnds) {
            calmWindows = windowBacklog < capacity >> EIGHTH ? calmWindows + 1 : 0;
        }
        final int wanted = wanted(capacity, windowBacklog, calmWindows, smallest, largest);
        if (windowEnds) {
            windowStart = consumed;
            windowBacklog = 0;
        }
        if (wanted != capacity) {
            change(status, capacity, wanted);
        }
    }

    /**
     * The policy: which depth the figures of a window ask for.
     *
     * @param capacity    the depth, in entries
     * @param backlog     the largest backlog of the window so far, in entries
     * @param calmWindows windows in a row whose largest backlog was below an eighth of the depth
     */
    static int wanted(int capacity, int backlog, int calmWindows, int smallest, int largest) {
        int deeper = capacity;
        while (backlog >= deeper - (deeper >> 2) && deeper < largest) {
            deeper <<= 1;
        }
        if (calmWindows >= CALM_WINDOWS && backlog < capacity >> EIGHTH && capacity > smallest) {
            return capacity >> 1;
        }
        return deeper;
    }

    private void change(ResizeStatus status, int capacity, int wanted) {
        if (asked != 0
                ? wanted < capacity || asked > capacity
                : status == ResizeStatus.PENDING
                        || status == ResizeStatus.ACCEPTED
                        || status == ResizeStatus.REFUSED_DEAD) {
            return; // the one under way will do, or is not ours; or nothing will do
        }
        final int place = Integer.numberOfTrailingZeros(wanted);
        if (rings[place] == null) {
            rings[place] = QueueMemory.allocate(RingGeometry.slotsBytes(wanted, queue.strideBytes()));
        }
        if (asked != 0) {
            if (!queue.cancelResize()) {
                return; // the device was faster
            }
            takenBack++;
        }
        queue.resize(wanted, rings[place]);
        from = capacity;
        asked = wanted;
        lookAfter = 0;
    }

    /** Sees what has become of the resize that we asked for. */
    private void learn(ResizeStatus status) {
        if (status == ResizeStatus.PENDING || status == ResizeStatus.ACCEPTED) {
            return;
        }
        if (status == ResizeStatus.DONE) {
            if (asked > from) {
                deepened++;
            } else {
                halved++;
            }
            deepest = Math.max(deepest, asked);
        } else if (status == ResizeStatus.REFUSED_BACKLOG || status == ResizeStatus.REFUSED_DEAD) {
            refused++;
        } // else somebody else has cancelled it, or reset the queue
        asked = 0;
        startWindow(lookedAt);
    }

    private void startWindow(long start) {
        lookedAt = start;
        windowStart = start;
        windowBacklog = 0;
        calmWindows = 0;
    }

    /**
     * The largest depth that the queue has had, as far as the calls of {@link #adapt} have seen. For the polling thread, like all that
     * follow.
     *
     * @return entries
     */
    public int deepest() {
        return deepest;
    }

    /**
     * The largest backlog that was seen: what was taken between two calls of {@link #adapt}, and what was left.
     *
     * @return entries; up to twice the depth
     */
    public int highWater() {
        return highWater;
    }

    /**
     * Times that the queue has moved to a deeper ring.
     *
     * @return resizes
     */
    public long deepened() {
        return deepened;
    }

    /**
     * Times that the queue has moved to a ring of half the depth.
     *
     * @return resizes
     */
    public long halved() {
        return halved;
    }

    /**
     * Times that the device refused, because more was unpolled than the new ring would have held, or because the queue was dead.
     *
     * @return resizes
     */
    public long refused() {
        return refused;
    }

    /**
     * Halvings that were taken back, because the ring had to be deepened before the device answered.
     *
     * @return resizes
     */
    public long takenBack() {
        return takenBack;
    }
}
