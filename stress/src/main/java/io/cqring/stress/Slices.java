package io.cqring.stress;

import io.cqring.memory.QueueMemory;
import io.cqring.simnic.profile.VendorQueue;
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

    /** For a vendor's queue. */
    static final Slices OF_VENDORS = new Slices(Vendor.BYTES);

    /** For the driver's end of one. */
    static final Slices OF_DRIVERS = new Slices((int) VendorQueue.scratchBytes());

    private static final int KEPT_PER_THREAD = 4;

    private static final Slices USUAL = new Slices(BYTES);

    private final ConcurrentLinkedQueue<QueueMemory> shared = new ConcurrentLinkedQueue<>();
    private final ThreadLocal<ArrayDeque<QueueMemory>> own = ThreadLocal.withInitial(ArrayDeque::new);
    private final int bytes;

    Slices(int bytes) {
        this.bytes = bytes;
    }

    static QueueMemory take() {
        return USUAL.lend();
    }

    static void giveBack(QueueMemory slice) {
        USUAL.receive(slice);
    }

    QueueMemory lend() {
        QueueMemory slice = own.get().pollLast();
        if (slice == null) {
            slice = shared.poll();
        }
        return slice == null ? QueueMemory.allocate(bytes) : slice;
    }

    void receive(QueueMemory slice) {
        ArrayDeque<QueueMemory> kept = own.get();
        if (kept.size() < KEPT_PER_THREAD) {
            kept.addLast(slice);
        } else {
            shared.add(slice);
        }
    }
}
