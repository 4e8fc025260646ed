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
 * Edge CQ-COUNT: what {@code size} counts on the polling thread can be polled there, at once.
 *
 * <p>The host waits until the queue is not empty, then polls once. Results are the size it was told, the entries it got, and
 * the size once all is taken.
 *
 * <p>The promise goes one way only: the device stores the owner bit first and counts afterwards, so the poller may take an
 * entry that is not counted yet. On x86 stores stay in order, so the twin counts first in earnest.
 */
public class CqCountStress {
    private CqCountStress() {}

    /** What may come of looking, then polling. */
    @Outcome(id = "0, [012], 0", expect = ACCEPTABLE, desc = "Empty, as far as was counted.")
    @Outcome(id = "1, [12], 0", expect = ACCEPTABLE, desc = "One entry was counted, and polled.")
    @Outcome(id = "2, 2, 0", expect = ACCEPTABLE, desc = "Both entries were counted, and polled.")
    @Outcome(id = "1, 0, .*", expect = FORBIDDEN, desc = "Not empty, and nothing to poll.")
    @Outcome(id = "2, [01], .*", expect = FORBIDDEN, desc = "Two entries counted, fewer to poll.")
    @Outcome(expect = FORBIDDEN, desc = "All was taken, and the size is not 0.")
    public static class Counted {
        private Counted() {}
    }

    /** What must come of it if the count comes first. */
    @Outcome(id = "0, [012], 0", expect = ACCEPTABLE, desc = "Empty, as far as was counted.")
    @Outcome(id = "1, [12], 0", expect = ACCEPTABLE, desc = "One entry was counted, and polled.")
    @Outcome(id = "1, 0, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: not empty, and nothing to poll.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Miscounted {
        private Miscounted() {}
    }

    abstract static class Rig extends QueueRig {
        Rig(int capacity, UnaryOperator<QueueMemory> weakener) {
            super(capacity, 64, Fill.WRITE, 1, 0, OverrunPolicy.BACKPRESSURE, weakener);
        }

        final void lookThenPoll(III_Result result) {
            meetOne();
            for (int spins = 0; queue.isEmpty() && spins != SPINS; spins++) {
                Thread.onSpinWait();
            }
            result.r1 = queue.size();
            result.r2 = queue.poll(seen, capacity);
            result.r3 = seen.taken == capacity ? queue.size() : 0;
        }
    }

    /** One entry. */
    @JCStressTest
    @JCStressMeta(Counted.class)
    @State
    public static class One extends Rig {
        /** One sample. */
        public One() {
            super(1, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Looks, then polls. */
        @Actor
        public void host(III_Result result) {
            lookThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Two entries, one after the other. */
    @JCStressTest
    @JCStressMeta(Counted.class)
    @State
    public static class Two extends Rig {
        /** One sample. */
        public Two() {
            super(2, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
            write(first + 1);
        }

        /** Looks, then polls. */
        @Actor
        public void host(III_Result result) {
            lookThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Two entries in one batch. */
    @JCStressTest
    @JCStressMeta(Counted.class)
    @State
    public static class Batch extends Rig {
        /** One sample. */
        public Batch() {
            super(2, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            Entry.stage(writer, first);
            Entry.stage(writer, first + 1);
            writer.flush();
        }

        /** Looks, then polls. */
        @Actor
        public void host(III_Result result) {
            lookThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the entry is counted before its owner bit is stored. */
    @JCStressTest
    @JCStressMeta(Miscounted.class)
    @State
    public static class TwinCountFirst extends Rig {
        /** One sample. */
        public TwinCountFirst() {
            super(1, memory -> new WeakMemory.LateStore(memory, Region.FIRST_SLOT, Region.PRODUCER_SEQUENCE));
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Looks, then polls. */
        @Actor
        public void host(III_Result result) {
            lookThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
