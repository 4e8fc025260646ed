package io.cqring.eq;

import io.cqring.memory.CacheLines;
import io.cqring.memory.QueueMemory;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;

/**
 * An interrupt vector, as MSI-X has them: whoever raises it wakes the thread that waits on it. Several queues may share one.
 *
 * <p>It counts, and that is why no raise is lost: a thread notes {@link #count}, looks for work, and, if there is none, waits for
 * the count to be another. A raise at any time after the note lets {@link #await} return at once.
 *
 * <pre>
 *   byte 0     raises                                             written by whoever raises
 *   byte 128   0 nobody waits, 1 comes or goes, 2 waits           written by the thread that waits
 *              | spurious wake-ups
 * </pre>
 *
 * <p>One thread at a time may wait, platform or virtual. Its words lie in a {@link QueueMemory}, as all that threads share here.
 */
public final class Interrupt {
    /** Bytes that an interrupt takes in memory of the caller's. */
    public static final int REQUIRED_BYTES = 2 * CacheLines.SEPARATION_BYTES;

    private static final int RAISES = 0;
    private static final int WAITER = RAISES + CacheLines.SEPARATION_BYTES;
    private static final int SPURIOUS = WAITER + Long.BYTES;

    private static final long NOBODY = 0;
    private static final long BETWEEN = 1;
    private static final long WAITS = 2;

    /** Over 140 years. */
    private static final long FOR_EVER_NS = Long.MAX_VALUE / 2;

    private final QueueMemory memory;

    /** What a raise runs, or null. */
    private final Runnable action;

    /**
     * The thread that waits, or waited last: it is left there, so that one that comes again costs whoever raises no cache miss. Plain:
     * the waiter word says when to look; a wrong one is woken for nothing.
     */
    private Thread waiter;

    /** An interrupt that wakes the thread that waits on it. */
    public Interrupt() {
        this(QueueMemory.allocate(REQUIRED_BYTES), null);
    }

    /**
     * An interrupt that also runs something, on the thread that raises it and after it has been counted: for a selector that
     * must be woken, for instance.
     *
     * @param action what to run; it must not block. What it throws goes to the raising thread's uncaught-exception handler, not
     *               to the raiser
     */
    public Interrupt(Runnable action) {
        this(QueueMemory.allocate(REQUIRED_BYTES), Objects.requireNonNull(action, "action"));
    }

    /**
     * An interrupt whose words lie in given memory, which nobody else uses meanwhile. For threads of this process only.
     *
     * @param memory where; the first {@link #REQUIRED_BYTES} are overwritten
     * @param action as {@link #Interrupt(Runnable)}, or null for none
     * @throws IllegalArgumentException if the memory is too small
     */
    public Interrupt(QueueMemory memory, Runnable action) {
        this.action = action;
        if (memory.sizeBytes() < REQUIRED_BYTES) {
            throw new IllegalArgumentException(
                    "memory must have " + REQUIRED_BYTES + " bytes for an interrupt: " + memory.sizeBytes());
        }
        this.memory = memory;
        memory.fill(0, REQUIRED_BYTES, (byte) 0);
    }

    /**
     * Counts one more raise, wakes the thread that waits, if any, and runs the action, if any. Any thread. Lock-free; throws
     * nothing; allocates nothing. What the caller did before is visible to whoever sees the new count.
     */
    public void raise() {
        // Edge WAKE, raising end: what was done before, then the count, then the look for a waiter. Partner: await,
        // which says that it waits and then looks at the count. Weaker (no fence): both looks may be old, and the
        // waiter sleeps though it was called. Get-and-add because several threads raise. Shown by WakeStress.
        memory.getAndAddLong(RAISES, 1);
        memory.fullFence();
        if (memory.getLongAcquire(WAITER) == WAITS) {
            LockSupport.unpark(waiter); // nothing if it has just gone
        }
        if (action != null) {
            act();
        }
    }

    private void act() {
        try {
            action.run();
        } catch (RuntimeException | Error e) {
            final Thread self = Thread.currentThread();
            self.getUncaughtExceptionHandler().uncaughtException(self, e);
        }
    }

    /**
     * Raises so far. Any thread. What was done before each of them is visible to the caller.
     *
     * @return the count
     */
    public long count() {
        // Edge WAKE, waiting end: the count, then whatever the caller looks at. Partner: raise. Weaker (opaque): the
        // caller takes the count of a raise and misses what it was about. Shown by WakeStress.
        return memory.getLongAcquire(RAISES);
    }

    /**
     * Waits until the count is another than {@code seen}. Any thread, one at a time.
     *
     * @param seen  what {@link #count} said before the caller looked for work
     * @param nanos the most time to wait, in nanoseconds; 0 only looks; more than half of {@code Long.MAX_VALUE} is for ever
     * @return true if the count is another; false if time ran out
     * @throws IllegalArgumentException if {@code nanos} is negative
     * @throws IllegalStateException    if another thread waits on this interrupt
     * @throws InterruptedException     if the thread is interrupted and the count is still the same; its interrupt flag is cleared
     */
    public boolean await(long seen, long nanos) throws InterruptedException {
        if (nanos < 0) {
            throw new IllegalArgumentException("time must be 0 or more nanoseconds: " + nanos);
        }
        if (count() != seen) {
            return true;
        }
        enterWait();
        try {
            return sleep(seen, nanos);
        } finally {
            leaveWait();
        }
    }

    private void enterWait() {
        // Edge WAKE, waiting end: one thread at a time, and what the last one left behind. Partner: leaveWait. Weaker
        // (test, then set): two threads wait, and one of them is never woken. Shown by WakeStress.
        if (!memory.compareAndSetLong(WAITER, NOBODY, BETWEEN)) {
            throw new IllegalStateException("one thread at a time may wait on an interrupt: thread "
                    + Thread.currentThread().getName() + " found another waiting");
        }
        final Thread self = Thread.currentThread();
        if (waiter != self) {
            waiter = self;
        }
        // Edge WAKE, waiting end: the thread, then that it waits, then the look at the count that follows. Partner:
        // raise. Weaker (no fence): the look may come before a raiser can see that somebody waits, and the wake-up is
        // lost. Shown by WakeStress.
        memory.putLongRelease(WAITER, WAITS);
        memory.fullFence();
    }

    private void leaveWait() {
        // Edge WAKE, waiting end: as in enterWait.
        memory.putLongRelease(WAITER, NOBODY);
    }

    private boolean sleep(long seen, long nanos) throws InterruptedException {
        final long start = System.nanoTime();
        boolean parked = false;
        while (count() == seen) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            final long left = nanos - (System.nanoTime() - start);
            if (left <= 0) {
                return false;
            }
            if (parked) {
                memory.putLongOpaque(SPURIOUS, memory.getLongOpaque(SPURIOUS) + 1); // only who waits stores it
            }
            park(left);
            parked = true;
        }
        return true;
    }

    private void park(long nanos) {
        if (nanos > FOR_EVER_NS) {
            LockSupport.park(this); // no timer to set
        } else {
            LockSupport.parkNanos(this, nanos);
        }
    }

    /**
     * Times that a thread waiting on this was woken without a raise, before its time had run out, and went on waiting. Any thread.
     *
     * @return the count
     */
    public long spuriousWakeups() {
        return memory.getLongOpaque(SPURIOUS);
    }

    @Override
    public String toString() {
        return "Interrupt[raised " + count() + " times]";
    }
}
