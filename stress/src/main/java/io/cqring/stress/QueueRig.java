package io.cqring.stress;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.OverrunPolicy;
import io.cqring.memory.QueueMemory;
import java.util.function.UnaryOperator;

/**
 * One sample: a fresh shipped queue over recycled memory, with the laps before the race already written and polled. Small
 * (about 1 KB) and quick to make, for there are millions.
 */
abstract class QueueRig extends Meeting {
    final int capacity;
    final int strideBytes;
    final CompletionQueue queue;
    final CompletionWriter writer;
    final Observer seen;

    /** Number of the first entry that is written in the race. */
    final int first;

    /** The real memory. */
    final QueueMemory slice;

    /** A queue with {@code laps} laps written and polled, then {@code backlog} entries written. */
    QueueRig(
            int capacity,
            int strideBytes,
            Fill fill,
            int laps,
            int backlog,
            OverrunPolicy policy,
            UnaryOperator<QueueMemory> weakener) {
        this.capacity = capacity;
        this.strideBytes = strideBytes;
        this.slice = Slices.take();
        QueueMemory memory = weakener.apply(slice);
        this.queue = CompletionQueue.ofCapacity(capacity)
                .strideBytes(strideBytes)
                .overrunPolicy(policy)
                .memory(memory)
                .create();
        this.writer = queue.writer();
        int number = 1;
        if (laps != 0) {
            for (; number <= laps * capacity; number++) {
                Entry.full(writer, number, strideBytes);
                queue.poll(ignored -> {}, 1);
            }
            queue.releasePoller();
        }
        this.seen = new Observer(fill, strideBytes, number);
        this.first = number + backlog;
        for (; number != first; number++) {
            write(number);
        }
        if (first != 1) {
            writer.release();
        }
        if (memory instanceof WeakMemory weak) {
            weak.arm();
        }
    }

    final boolean write(int number) {
        return Entry.write(writer, number, strideBytes);
    }

    /** Polls until an entry was there, or too often. */
    final void pollUntilTaken() {
        for (int spins = 0; seen.taken == 0 && spins != SPINS; spins++) {
            queue.poll(seen, capacity);
        }
    }

    /** Ends the sample: its memory goes to the next one. */
    final void recycle() {
        Slices.giveBack(slice);
    }
}
