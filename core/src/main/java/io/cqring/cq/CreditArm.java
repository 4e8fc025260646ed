package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Where writers wait for free slots of a queue made with {@link CompletionQueue.Builder#waitingWriters}, and who wakes them: edge
 * CREDIT-ARM.
 *
 * <p>The region counts the writers that wait. Only writers store to the count: whoever frees slots looks at it and wakes, and leaves it
 * alone, so that no wake-up can be taken for another and nobody has to tidy up after a writer that stopped waiting for another
 * reason. A wake-up too many is harmless: a writer looks again and waits on.
 */
final class CreditArm {
    private final QueueMemory memory;

    /** Offset of the count of writers that wait. */
    private final int count;

    /** The thread that waits, by number of the writer, or null. Plain: the count in the region says when to look. */
    private final Thread[] waiting;

    CreditArm(QueueMemory memory, int count, int writers) {
        this.memory = memory;
        this.count = count;
        this.waiting = new Thread[writers];
    }

    static IllegalStateException notAsked() {
        return new IllegalStateException(
                "completion queue was made without waiting writers: its builder's waitingWriters() allows awaitSpace");
    }

    /** Checks a time-out, and says it in nanoseconds. */
    static long nanos(long timeout, TimeUnit unit) {
        if (timeout < 0) {
            throw new IllegalArgumentException("timeout must be 0 or more: " + timeout);
        }
        return unit.toNanos(timeout);
    }

    /**
     * Waits until {@code free} says yes, which it is asked once before anything else and each time something may have changed.
     *
     * @return true if it did; false if time ran out
     */
    boolean await(int writer, BooleanSupplier free, long nanos) throws InterruptedException {
        final long start = System.nanoTime();
        arm(writer);
        try {
            while (!free.getAsBoolean()) {
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                final long left = nanos - (System.nanoTime() - start);
                if (left <= 0) {
                    return false;
                }
                LockSupport.parkNanos(this, left);
            }
            return true;
        } finally {
            disarm(writer);
        }
    }

    /**
     * Says that a writer is about to wait. After this call it must look for space, and for a word in the control word, and only then
     * park; and {@link #disarm} whatever comes of it.
     */
    private void arm(int writer) {
        waiting[writer] = Thread.currentThread();
        // Edge CREDIT-ARM, waiting end: the thread, then the count (release), then the look for space that follows.
        // Partner: wake. Weaker (no fence): the look may come before the count is seen, and both ends miss each other:
        // the writer sleeps beside free slots. Get-and-add because several writers count. Shown by CreditArmStress.
        memory.getAndAddLong(count, 1);
        memory.fullFence();
    }

    private void disarm(int writer) {
        // Edge CREDIT-ARM, waiting end: only the count itself is wanted; get-and-add as in arm.
        memory.getAndAddLong(count, -1);
        waiting[writer] = null;
    }

    /** Wakes the writers that wait. After slots have been freed, or something was put into the control word. */
    void wake() {
        // Edge CREDIT-ARM, waking end: what was stored before (the consumer sequence, a claim given back, the control
        // word), then the look at the count. Partner: arm. Weaker (no fence): the look may come first; as in arm.
        // Shown by CreditArmStress.
        memory.fullFence();
        if (memory.getLongAcquire(count) != 0) {
            wakeAll();
        }
    }

    private void wakeAll() {
        for (Thread thread : waiting) {
            LockSupport.unpark(thread); // nothing if null; a writer that has just stopped waiting is woken for nothing
        }
    }
}
