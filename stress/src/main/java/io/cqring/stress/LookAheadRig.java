package io.cqring.stress;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.OverrunPolicy;
import io.cqring.memory.QueueMemory;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * A poll that looks ahead: of more than eight entries, where one that is valid vouches for all before it.
 *
 * <p>Sixteen slots, every word in them left by the lap before. Nine entries are there when the race begins, and the host has taken eight
 * of them when the writer writes three more. So the twelfth is the one that is looked at ahead, and the tenth and eleventh are read
 * without a look of their own. The host looks when it has seen the tenth, past the queue.
 */
abstract class LookAheadRig extends QueueRig implements CompletionHandler {
    static final int CAPACITY = 16;
    static final int BACKLOG = 9;
    static final int WRITTEN = 3;

    /** Entries that a call takes one by one, after which it looks ahead. */
    private static final int ONE_BY_ONE = 8;

    private static final int STRIDE = 32;

    /** The eleventh entry becomes valid after the twelfth. */
    static final class LaterFirst extends WeakMemory.LateStore {
        LaterFirst(QueueMemory memory, int strideBytes) {
            super(memory, Region.slot(10, strideBytes), Region.slot(11, strideBytes));
        }
    }

    /** The words of the eleventh entry are loaded before the header that vouches for it. */
    static final class WordsFirst extends WeakMemory {
        private static final int STRIDE = 32;
        private final long[] early = new long[STRIDE / Long.BYTES];
        private boolean loaded;

        WordsFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            if (armed && offset == Region.slot(11, STRIDE)) {
                for (int word = 0; word != early.length; word++) {
                    early[word] = memory.getLong(Region.slot(10, STRIDE) + (long) word * Long.BYTES);
                }
                loaded = true;
                for (int spins = 0; spins != Meeting.SPINS; spins++) { // as long as a few cache misses would take
                    Thread.onSpinWait();
                }
            } else if (armed && offset == Region.slot(10, STRIDE)) {
                loaded = false; // looked at by itself
            }
            return memory.getLongAcquire(offset);
        }

        @Override
        public long getLong(long offset) {
            long word = (offset - Region.slot(10, STRIDE)) / Long.BYTES;
            return loaded && word >= 0 && word < early.length ? early[(int) word] : memory.getLong(offset);
        }
    }

    LookAheadRig(UnaryOperator<QueueMemory> weakener) {
        super(CAPACITY, STRIDE, Fill.WRITE, 1, BACKLOG, OverrunPolicy.BACKPRESSURE, weakener);
    }

    final void writeThree() {
        meetOther();
        for (int i = 0; i != WRITTEN; i++) {
            write(first + i);
        }
    }

    @Override
    public void onCompletion(Completion completion) {
        seen.onCompletion(completion);
        if (seen.taken == ONE_BY_ONE) {
            meetOne();
            waitForSecondLap(slice, Region.slot(BACKLOG, STRIDE));
        }
    }

    final void pollOnce(II_Result result) {
        queue.poll(this, CAPACITY);
        result.r1 = seen.taken;
        result.r2 = seen.wrong;
    }

    /** Waits, past the queue, until a slot holds an entry of its second lap. */
    private static void waitForSecondLap(QueueMemory slice, int slot) {
        for (int spins = 0; (slice.getLongAcquire(slot) & 1) != 0 && spins != Meeting.SPINS; spins++) {
            Thread.onSpinWait();
        }
    }
}
