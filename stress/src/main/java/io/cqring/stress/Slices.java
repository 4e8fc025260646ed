package io.cqring.stress;

import io.cqring.memory.QueueMemory;
import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Off-heap memory for queues that live for one sample each. jcstress makes millions of them a second; allocating direct
 * memory for each would be nearly all that a test does. So a slice is allocated once and handed from a finished sample to a
 * new one, with whatever the last queue left in it.
 *
 * <p>jcstress lets the same thread finish a sample and make the next one, so nearly every slice passes through that
 * thread's own stack, without a lock.
 */
final class Slices {
    /** Room for the rows of three writers and two 128-byte entries. */
    static final int BYTES = Region.FIRST_ROW + 3 * 128 + 2 * 128;

    private static final int KEPT_PER_THREAD = 4;

    private static final ConcurrentLinkedQueue<QueueMemory> SHARED = new ConcurrentLinkedQueue<>();
    private static final ThreadLocal<ArrayDeque<QueueMemory>> OWN = ThreadLocal.withInitial(ArrayDeque::new);

    private Slices() {}

    static QueueMemory take() {
        QueueMemory slice = OWN.get().pollLast();
        if (slice == null) {
            slice = SHARED.poll();
        }
        return slice == null ? QueueMemory.allocate(BYTES) : slice;
    }

    static void giveBack(QueueMemory slice) {
        ArrayDeque<QueueMemory> own = OWN.get();
        if (own.size() < KEPT_PER_THREAD) {
            own.addLast(slice);
        } else {
            SHARED.add(slice);
        }
    }
}
