package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqAttachException;
import io.cqring.memory.QueueMemory;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edge HEADER: whoever finds the magic finds a finished queue.
 *
 * <p>One thread makes a queue of two slots, the other waits for the magic and attaches the same memory. The queue's
 * first lap is an odd one, so that a slot which is not primed yet holds a phantom entry. Results are 0 for "not finished", 1 for
 * a queue, 2 for any other refusal; and the entries that the queue gave, plus 4 if its capacity is wrong.
 *
 * <p>x86 keeps stores in order, so the twins store the magic early in earnest.
 */
public class HeaderStress {
    private HeaderStress() {}

    /** What may come of attaching a queue that is being made. */
    @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "Not finished.")
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "A queue, complete and empty.")
    @Outcome(id = "2, .*", expect = FORBIDDEN, desc = "The magic, and a header that is not complete.")
    @Outcome(expect = FORBIDDEN, desc = "The magic, and a phantom entry or a wrong size.")
    public static class Complete {
        private Complete() {}
    }

    /** What must come of it if the magic comes before another word of the header. */
    @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "Not finished.")
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "A queue, complete and empty.")
    @Outcome(id = "2, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: the magic, and no complete header.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Incomplete {
        private Incomplete() {}
    }

    /** What must come of it if the magic comes before a slot is primed. */
    @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "Not finished.")
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "A queue, complete and empty.")
    @Outcome(id = "1, 1", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: a phantom entry.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Unprimed {
        private Unprimed() {}
    }

    /** A plain store that is overtaken by the magic. */
    private static final class LateWord extends WeakMemory {
        private final long lateOffset;
        private boolean waiting;
        private long value;

        LateWord(QueueMemory memory, long lateOffset) {
            super(memory);
            this.lateOffset = lateOffset;
            arm();
        }

        @Override
        public void putLong(long offset, long value) {
            if (armed && offset == lateOffset) {
                this.value = value;
                waiting = true;
                return;
            }
            memory.putLong(offset, value);
        }

        @Override
        public void putLongRelease(long offset, long value) {
            memory.putLongRelease(offset, value);
            if (waiting && offset == Region.MAGIC) {
                waiting = false;
                for (int spins = 0; spins != Meeting.SPINS; spins++) {
                    Thread.onSpinWait(); // attaching takes longer than a load: so must this
                }
                memory.putLong(lateOffset, this.value);
            }
        }
    }

    abstract static class Rig extends Meeting {
        private static final int CAPACITY = 2;

        private final QueueMemory slice = Slices.take();
        private final QueueMemory memory;

        Rig(UnaryOperator<QueueMemory> weakener) {
            slice.fill(0, slice.sizeBytes(), (byte) 0);
            memory = weakener.apply(slice);
        }

        final void make() {
            meetOther();
            CompletionQueue.ofCapacity(CAPACITY)
                    .startSequence(CAPACITY)
                    .memory(memory)
                    .create();
        }

        final void attach(II_Result result) {
            meetOne();
            for (int spins = 0; slice.getLongOpaque(Region.MAGIC) == 0 && spins != Meeting.SPINS; spins++) {
                Thread.onSpinWait();
            }
            try {
                CompletionQueue queue = CompletionQueue.attach(slice);
                result.r1 = 1;
                result.r2 = queue.poll(ignored -> {}, 1) + (queue.capacity() == CAPACITY ? 0 : 4);
            } catch (CqAttachException e) {
                result.r1 = e.isUnfinished() ? 0 : 2;
            }
        }

        final void recycle() {
            Slices.giveBack(slice);
        }
    }

    /** Creating against attaching. */
    @JCStressTest
    @JCStressMeta(Complete.class)
    @State
    public static class CreateAttach extends Rig {
        /** One sample. */
        public CreateAttach() {
            super(UnaryOperator.identity());
        }

        /** Makes a queue. */
        @Actor
        public void creator() {
            make();
        }

        /** Attaches it. */
        @Actor
        public void attacher(II_Result result) {
            attach(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the magic is stored before the capacity. */
    @JCStressTest
    @JCStressMeta(Incomplete.class)
    @State
    public static class TwinMagicBeforeHeader extends Rig {
        /** One sample. */
        public TwinMagicBeforeHeader() {
            super(memory -> new LateWord(memory, Region.HEADER_CAPACITY));
        }

        /** Makes a queue. */
        @Actor
        public void creator() {
            make();
        }

        /** Attaches it. */
        @Actor
        public void attacher(II_Result result) {
            attach(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the magic is stored before the first slot is primed. */
    @JCStressTest
    @JCStressMeta(Unprimed.class)
    @State
    public static class TwinMagicBeforeSlots extends Rig {
        /** One sample. */
        public TwinMagicBeforeSlots() {
            super(memory -> new LateWord(memory, Region.FIRST_SLOT));
        }

        /** Makes a queue. */
        @Actor
        public void creator() {
            make();
        }

        /** Attaches it. */
        @Actor
        public void attacher(II_Result result) {
            attach(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
