package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Edge ROLE at an event queue: one thread polls at a time, and whoever polls next goes on where the last one stopped.
 *
 * The twin is written by hand, as in {@link RoleStress}: nothing weaker than a compare-and-set can be tried on the shipped class.
 */
public class EqRoleStress {
    private EqRoleStress() {}

    /** What may come of two threads that poll: the event that each took, -1 if it was refused, and the consumer sequence. */
    @Outcome(id = "0, 0, 0", expect = ACCEPTABLE, desc = "Rehearsal: nothing was tried.")
    @Outcome(
            id = {"1, -1, 1", "-1, 1, 1"},
            expect = ACCEPTABLE,
            desc = "One got in, the other was refused.")
    @Outcome(expect = FORBIDDEN, desc = "Two pollers, or none.")
    public static class OneGetsIn {
        private OneGetsIn() {}
    }

    /** What may come of two threads that poll and release the role. */
    @Outcome(id = "0, 0, 0", expect = ACCEPTABLE, desc = "Rehearsal: nothing was tried.")
    @Outcome(
            id = {"1, -1, 1", "-1, 1, 1"},
            expect = ACCEPTABLE,
            desc = "Both came at once: one was refused.")
    @Outcome(
            id = {"1, 2, 2", "2, 1, 2"},
            expect = ACCEPTABLE,
            desc = "One after the other, an event each.")
    @Outcome(expect = FORBIDDEN, desc = "An event was taken twice, or lost.")
    public static class HandedOver {
        private HandedOver() {}
    }

    /** What must come of test, then set. */
    @Outcome(
            id = {"1, -1, 0", "-1, 1, 0"},
            expect = ACCEPTABLE,
            desc = "One got in, the other was refused.")
    @Outcome(
            id = {"1, 1, 0", "1, 2, 0", "2, 1, 0"},
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: two pollers.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class BothGetIn {
        private BothGetIn() {}
    }

    /** Two events are ready. */
    abstract static class Rig extends EqRig {
        Rig() {
            super(2, 0, UnaryOperator.identity());
            post(1);
            post(2);
        }

        final int pollOne(boolean release) {
            if (rehearsal()) {
                return 0;
            }
            int[] taken = {-1};
            try {
                queue.poll((type, number, subType, syndrome, detail) -> taken[0] = number, 1);
                if (release) {
                    queue.releasePoller();
                }
            } catch (IllegalStateException refused) {
                return -1;
            }
            return taken[0];
        }

        final int consumed() {
            return (int) slice.getLongAcquire(EqWords.CONSUMER_SEQUENCE);
        }
    }

    /** A poller written by hand that tests the role, then sets it. */
    abstract static class TestThenSetRig extends Rig {
        private volatile Thread player;
        private long sequence;

        final int pollOneUnguarded() {
            if (player != null) {
                return -1;
            }
            player = Thread.currentThread();
            int slot = EqWords.slot((int) sequence & 1);
            sequence++;
            return (int) (slice.getLongAcquire(slot) >>> 32) & 0xFF_FFFF;
        }
    }

    /** Two that keep the role. */
    @JCStressTest
    @JCStressMeta(OneGetsIn.class)
    @State
    public static class Pollers extends Rig {
        /** One sample. */
        public Pollers() {
            super();
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            result.r1 = pollOne(false);
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            result.r2 = pollOne(false);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = consumed();
            recycle();
        }
    }

    /** Two that release the role. */
    @JCStressTest
    @JCStressMeta(HandedOver.class)
    @State
    public static class Releasing extends Rig {
        /** One sample. */
        public Releasing() {
            super();
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            result.r1 = pollOne(true);
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            result.r2 = pollOne(true);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = consumed();
            recycle();
        }
    }

    /** Twin: test, then set. */
    @JCStressTest
    @JCStressMeta(BothGetIn.class)
    @State
    public static class TwinTestThenSet extends TestThenSetRig {
        /** One sample. */
        public TwinTestThenSet() {
            super();
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            result.r1 = pollOneUnguarded();
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            result.r2 = pollOneUnguarded();
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = 0;
            recycle();
        }
    }
}
