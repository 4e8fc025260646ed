package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

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
 * Edge EQ-CLAIM: a sequence has one writer, and none is claimed that finds no slot.
 *
 * Result: 1 for each post that was told it got in, then the numbers of the events polled (plus 1000 if one was torn).
 */
public class EqClaimStress {
    private EqClaimStress() {}

    /** What may come of two posts with room for both: what each was told, then the events polled. */
    @Outcome(
            id = {"1, 1, 12", "1, 1, 21"},
            expect = ACCEPTABLE,
            desc = "Both, in some order.")
    @Outcome(expect = FORBIDDEN, desc = "An event was lost, torn or refused.")
    public static class BothFit {
        private BothFit() {}
    }

    /** What may come of two posts with room for one. */
    @Outcome(
            id = {"1, 0, 1", "0, 1, 2"},
            expect = ACCEPTABLE,
            desc = "One got in, the other was refused.")
    @Outcome(expect = FORBIDDEN, desc = "Both, none, or a torn one.")
    public static class OneFits {
        private OneFits() {}
    }

    /** What must come of two posts with room for both, if both may have the same sequence. */
    @Outcome(
            id = {"1, 1, 12", "1, 1, 21"},
            expect = ACCEPTABLE,
            desc = "Both, in some order.")
    @Outcome(
            id = {"1, 1, [12]", "1, 1, 10.*"},
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: two events in one slot.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class BothLost {
        private BothLost() {}
    }

    /** What must come of two posts with room for one, if both may have the same sequence. */
    @Outcome(
            id = {"1, 0, 1", "0, 1, 2"},
            expect = ACCEPTABLE,
            desc = "One got in, the other was refused.")
    @Outcome(id = "1, 1, .*", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: two events in one slot.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class BothGetIn {
        private BothGetIn() {}
    }

    /** An empty queue that begins in the last slot of a lap, so that neighbours differ in their owner bit. */
    abstract static class Rig extends EqRig {
        Rig(int capacity, UnaryOperator<QueueMemory> weakener) {
            super(capacity, capacity - 1L, weakener);
        }

        final void postFirst(III_Result result) {
            meetOther();
            result.r1 = post(1) ? 1 : 0;
        }

        final void postSecond(III_Result result) {
            meetOne();
            result.r2 = post(2) ? 1 : 0;
        }
    }

    /** The claim taken apart: look, then store. */
    static final class TestThenSet extends WeakMemory {
        TestThenSet(QueueMemory memory) {
            super(memory);
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            if (!armed || offset != EqWords.PRODUCER_SEQUENCE) {
                return memory.compareAndSetLong(offset, expected, value);
            }
            if (memory.getLongAcquire(offset) != expected) {
                return false;
            }
            Thread.onSpinWait(); // as long as a cache miss would take
            memory.putLongRelease(offset, value);
            return true;
        }
    }

    /** Room for both. */
    @JCStressTest
    @JCStressMeta(BothFit.class)
    @State
    public static class RollOver extends Rig {
        /** One sample. */
        public RollOver() {
            super(2, UnaryOperator.identity());
        }

        /** Posts. */
        @Actor
        public void one(III_Result result) {
            postFirst(result);
        }

        /** Posts. */
        @Actor
        public void other(III_Result result) {
            postSecond(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = pollDigits();
            recycle();
        }
    }

    /** Room for one. */
    @JCStressTest
    @JCStressMeta(OneFits.class)
    @State
    public static class LastSlot extends Rig {
        /** One sample. */
        public LastSlot() {
            super(1, UnaryOperator.identity());
        }

        /** Posts. */
        @Actor
        public void one(III_Result result) {
            postFirst(result);
        }

        /** Posts. */
        @Actor
        public void other(III_Result result) {
            postSecond(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = pollDigits();
            recycle();
        }
    }

    /** Twin: test, then set; room for both. */
    @JCStressTest
    @JCStressMeta(BothLost.class)
    @State
    public static class TwinTestThenSet extends Rig {
        /** One sample. */
        public TwinTestThenSet() {
            super(2, TestThenSet::new);
        }

        /** Posts. */
        @Actor
        public void one(III_Result result) {
            postFirst(result);
        }

        /** Posts. */
        @Actor
        public void other(III_Result result) {
            postSecond(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = pollDigits();
            recycle();
        }
    }

    /** Twin: test, then set; room for one. */
    @JCStressTest
    @JCStressMeta(BothGetIn.class)
    @State
    public static class TwinTestThenSetLast extends Rig {
        /** One sample. */
        public TwinTestThenSetLast() {
            super(1, TestThenSet::new);
        }

        /** Posts. */
        @Actor
        public void one(III_Result result) {
            postFirst(result);
        }

        /** Posts. */
        @Actor
        public void other(III_Result result) {
            postSecond(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = pollDigits();
            recycle();
        }
    }
}
