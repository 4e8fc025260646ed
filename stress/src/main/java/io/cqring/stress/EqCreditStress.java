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
 * Edge EQ-CREDIT: a slot is the device's again only when the host has read it.
 *
 * Result: 1 if the device got its event in, the number of the event that the host took, and 1 if a field was not its own.
 */
public class EqCreditStress {
    private EqCreditStress() {}

    /** What may come of an event polled while the device wants its slot: 1 if it got it, the event polled, 1 if torn. */
    @Outcome(id = "[01], 2, 0", expect = ACCEPTABLE, desc = "The event that was there, whole.")
    @Outcome(expect = FORBIDDEN, desc = "Host got the next lap's detail, or another event.")
    public static class Kept {
        private Kept() {}
    }

    /** What must come of it if one end of the edge is missing. */
    @Outcome(id = "[01], 2, 0", expect = ACCEPTABLE, desc = "The event that was there, whole.")
    @Outcome(id = "[01], 2, 1", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: the next lap's detail.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Overwritten {
        private Overwritten() {}
    }

    /** One slot, with event 2 in it. */
    abstract static class Rig extends EqRig {
        Rig(UnaryOperator<QueueMemory> weakener) {
            super(1, 0, weakener);
        }

        @Override
        final boolean prepare() {
            post(1);
            queue.poll((type, number, subType, syndrome, detail) -> {}, 1);
            post(2);
            return true;
        }

        final void postThird(III_Result result) {
            meetOther();
            int posted = 0;
            for (int spins = 0; posted == 0 && spins != SPINS; spins++) {
                posted = post(3) ? 1 : 0;
            }
            result.r1 = posted;
        }

        final void pollOnce(III_Result result) {
            meetOne();
            queue.poll(this, 1);
            result.r2 = digits;
            result.r3 = wrong;
        }
    }

    /** The host's end of the edge taken away: the slot is given back before its detail is loaded. */
    static final class IndexFirst extends WeakMemory {
        IndexFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLong(long offset) {
            if (armed && offset == EqWords.slot(0) + EqWords.DETAIL) {
                memory.putLongRelease(EqWords.CONSUMER_SEQUENCE, 2);
                for (int spins = 0; spins != 20; spins++) {
                    Thread.onSpinWait(); // as long as a cache miss would take
                }
            }
            return memory.getLong(offset);
        }
    }

    /** The device's end of the edge taken away: the slot is stored to before the consumer sequence is loaded. */
    static final class OverwriteFirst extends WeakMemory {
        OverwriteFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            if (armed && offset == EqWords.CONSUMER_SEQUENCE) {
                memory.putLong(EqWords.slot(0) + EqWords.DETAIL, EqRig.detail(3));
            }
            return memory.getLongAcquire(offset);
        }
    }

    /** The shipped queue. */
    @JCStressTest
    @JCStressMeta(Kept.class)
    @State
    public static class PollAndPost extends Rig {
        /** One sample. */
        public PollAndPost() {
            super(UnaryOperator.identity());
        }

        /** Posts. */
        @Actor
        public void device(III_Result result) {
            postThird(result);
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            pollOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the consumer sequence is stored before the detail is loaded. */
    @JCStressTest
    @JCStressMeta(Overwritten.class)
    @State
    public static class TwinIndexFirst extends Rig {
        /** One sample. */
        public TwinIndexFirst() {
            super(IndexFirst::new);
        }

        /** Posts. */
        @Actor
        public void device(III_Result result) {
            postThird(result);
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            pollOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the slot is stored to before the consumer sequence is loaded. */
    @JCStressTest
    @JCStressMeta(Overwritten.class)
    @State
    public static class TwinOverwriteFirst extends Rig {
        /** One sample. */
        public TwinOverwriteFirst() {
            super(OverwriteFirst::new);
        }

        /** Posts. */
        @Actor
        public void device(III_Result result) {
            postThird(result);
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            pollOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
