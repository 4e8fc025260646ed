package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.cq.OverrunPolicy;
import io.cqring.memory.QueueMemory;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Edge CQ-CREDIT: the device does not overwrite an entry that the host is still reading.
 *
 * <p>The ring is full, on its second lap. The host polls, comparing every word, and gives the slots back; the device waits for
 * credit and overwrites them, one lap's worth. Results are entries that the device got in, entries that the host took, and a
 * bit for each wrong word (see {@link Observer}).
 *
 * <p>Proved on the shipped classes, with one slot and with two. The protected accesses are loads at the releasing end and
 * stores at the acquiring end; x86 never moves a load past a later store, so there the twins must carry out the accesses in
 * the wrong order to be convicted, and what is proved of the shipped code is that the JIT keeps them. Run this on Arm as well.
 */
public class CqCreditStress {
    private CqCreditStress() {}

    /** What may come of a full ring that is drained and filled at the same time. */
    @Outcome(
            id = "., ., 0",
            expect = ACCEPTABLE,
            desc = "Every entry that the host took was whole, and the next in order.")
    @Outcome(expect = FORBIDDEN, desc = "Host saw words of the next lap in an entry that it had accepted.")
    public static class Drained {
        private Drained() {}
    }

    /** What must come of it on a machine that breaks the edge. */
    @Outcome(
            id = "., ., 0",
            expect = ACCEPTABLE,
            desc = "Every entry that the host took was whole, and the next in order.")
    @Outcome(
            id = "., ., [1-9].*",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: host saw words of the next lap in an entry that it had accepted.")
    @Outcome(expect = FORBIDDEN, desc = "More entries than there are.")
    public static class Overwritten {
        private Overwritten() {}
    }

    abstract static class Rig extends QueueRig {
        Rig(int capacity, int strideBytes, UnaryOperator<QueueMemory> weakener) {
            super(capacity, strideBytes, Fill.WRITE, 1, capacity, OverrunPolicy.BACKPRESSURE, weakener);
        }

        final void overwrite(III_Result result) {
            meetOther();
            int written = 0;
            for (int spins = 0; written != capacity && spins != SPINS; spins++) {
                if (write(first + written)) {
                    written++;
                }
            }
            result.r1 = written;
        }

        final void drain(III_Result result) {
            meetOne();
            for (int spins = 0; seen.taken != 2 * capacity && spins != SPINS; spins++) {
                queue.poll(seen, capacity);
            }
            result.r2 = seen.taken;
            result.r3 = seen.wrong;
        }
    }

    /** The host's end of the edge taken away: the consumer sequence is stored as soon as an entry is accepted, not yet read. */
    static class IndexFirst extends WeakMemory {
        private final int capacity;
        private long sequence;

        IndexFirst(QueueMemory memory, int capacity) {
            super(memory);
            this.capacity = capacity;
            this.sequence = capacity; // one lap has been polled before the race
        }

        @Override
        public long getLongAcquire(long offset) {
            long value = memory.getLongAcquire(offset);
            if (armed && offset >= Region.FIRST_SLOT && (value & 1) == (~(sequence / capacity) & 1)) {
                memory.putLongRelease(Region.CONSUMER_SEQUENCE, ++sequence);
            }
            return value;
        }
    }

    /** The device's end of the edge taken away: a word of the next entry is stored before the credit for it is loaded. */
    static final class OverwriteFirst extends WeakMemory {
        private static final int WORK_REQUEST_ID = 16;

        OverwriteFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            if (armed && offset == Region.CONSUMER_SEQUENCE) {
                memory.putLong(Region.FIRST_SLOT + WORK_REQUEST_ID, Entry.workRequestId(3));
            }
            return memory.getLongAcquire(offset);
        }
    }

    /** One slot, 32-byte entries. */
    @JCStressTest
    @JCStressMeta(Drained.class)
    @State
    public static class Capacity1Stride32 extends Rig {
        /** One sample. */
        public Capacity1Stride32() {
            super(1, 32, UnaryOperator.identity());
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** One slot, 64-byte entries. */
    @JCStressTest
    @JCStressMeta(Drained.class)
    @State
    public static class Capacity1Stride64 extends Rig {
        /** One sample. */
        public Capacity1Stride64() {
            super(1, 64, UnaryOperator.identity());
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** One slot, 128-byte entries. */
    @JCStressTest
    @JCStressMeta(Drained.class)
    @State
    public static class Capacity1Stride128 extends Rig {
        /** One sample. */
        public Capacity1Stride128() {
            super(1, 128, UnaryOperator.identity());
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Two slots, 32-byte entries. */
    @JCStressTest
    @JCStressMeta(Drained.class)
    @State
    public static class Capacity2Stride32 extends Rig {
        /** One sample. */
        public Capacity2Stride32() {
            super(2, 32, UnaryOperator.identity());
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Two slots, 64-byte entries. */
    @JCStressTest
    @JCStressMeta(Drained.class)
    @State
    public static class Capacity2Stride64 extends Rig {
        /** One sample. */
        public Capacity2Stride64() {
            super(2, 64, UnaryOperator.identity());
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Two slots, 128-byte entries. */
    @JCStressTest
    @JCStressMeta(Drained.class)
    @State
    public static class Capacity2Stride128 extends Rig {
        /** One sample. */
        public Capacity2Stride128() {
            super(2, 128, UnaryOperator.identity());
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, capacity 1, 32-byte entries: consumer sequence stored before the entry is read. */
    @JCStressTest
    @JCStressMeta(Overwritten.class)
    @State
    public static class TwinIndexFirst1x32 extends Rig {
        /** One sample. */
        public TwinIndexFirst1x32() {
            super(1, 32, memory -> new IndexFirst(memory, 1));
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, capacity 1, 64-byte entries: consumer sequence stored before the entry is read. */
    @JCStressTest
    @JCStressMeta(Overwritten.class)
    @State
    public static class TwinIndexFirst1x64 extends Rig {
        /** One sample. */
        public TwinIndexFirst1x64() {
            super(1, 64, memory -> new IndexFirst(memory, 1));
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, capacity 1, 128-byte entries: consumer sequence stored before the entry is read. */
    @JCStressTest
    @JCStressMeta(Overwritten.class)
    @State
    public static class TwinIndexFirst1x128 extends Rig {
        /** One sample. */
        public TwinIndexFirst1x128() {
            super(1, 128, memory -> new IndexFirst(memory, 1));
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, capacity 2, 64-byte entries: consumer sequence stored before the entry is read. */
    @JCStressTest
    @JCStressMeta(Overwritten.class)
    @State
    public static class TwinIndexFirst2x64 extends Rig {
        /** One sample. */
        public TwinIndexFirst2x64() {
            super(2, 64, memory -> new IndexFirst(memory, 2));
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: device stores before it has loaded the credit. */
    @JCStressTest
    @JCStressMeta(Overwritten.class)
    @State
    public static class TwinOverwriteFirst extends Rig {
        /** One sample. */
        public TwinOverwriteFirst() {
            super(1, 64, OverwriteFirst::new);
        }

        /** Overwrites. */
        @Actor
        public void device(III_Result result) {
            overwrite(result);
        }

        /** Drains. */
        @Actor
        public void host(III_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
