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
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edge EQ-OWN: whoever sees the owner bit of an event sees the rest of it.
 *
 * Result: events that the host took, and 1 if a field was not that event's own.
 */
public class EqOwnStress {
    private EqOwnStress() {}

    /** What may come of an event posted and polled at the same time: events taken, 1 if a field was wrong. */
    @Outcome(id = "[01], 0", expect = ACCEPTABLE, desc = "Not yet there, or whole.")
    @Outcome(expect = FORBIDDEN, desc = "Host saw a field of the last lap in an event that it had accepted.")
    public static class Whole {
        private Whole() {}
    }

    /** What must come of it if one end of the edge is missing. */
    @Outcome(id = "[01], 0", expect = ACCEPTABLE, desc = "Not yet there, or whole.")
    @Outcome(id = "1, 1", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: the last lap's detail.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Torn {
        private Torn() {}
    }

    /** One slot; event 1 of the lap before has been polled. */
    abstract static class Rig extends EqRig {
        Rig(UnaryOperator<QueueMemory> weakener) {
            super(1, 0, weakener);
        }

        @Override
        final boolean prepare() {
            post(1);
            queue.poll((type, number, subType, syndrome, detail) -> {}, 1);
            return true;
        }

        final void postSecond() {
            meetOther();
            post(2);
        }

        final void pollUntilTaken(II_Result result) {
            meetOne();
            int taken = 0;
            for (int spins = 0; taken == 0 && spins != SPINS; spins++) {
                taken = queue.poll(this, 1);
            }
            result.r1 = taken;
            result.r2 = wrong;
        }
    }

    /** The host's end of the edge taken away: the detail is loaded before the owner bit. */
    static final class DetailFirst extends WeakMemory {
        private long early;

        DetailFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            if (armed && offset == EqWords.slot(0)) {
                early = memory.getLong(offset + EqWords.DETAIL);
            }
            return memory.getLongAcquire(offset);
        }

        @Override
        public long getLong(long offset) {
            return armed && offset == EqWords.slot(0) + EqWords.DETAIL ? early : memory.getLong(offset);
        }
    }

    /** The shipped queue. */
    @JCStressTest
    @JCStressMeta(Whole.class)
    @State
    public static class PostAndPoll extends Rig {
        /** One sample. */
        public PostAndPoll() {
            super(UnaryOperator.identity());
        }

        /** Posts. */
        @Actor
        public void device() {
            postSecond();
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            pollUntilTaken(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the owner bit is stored before the detail. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinHeaderFirst extends Rig {
        /** One sample. */
        public TwinHeaderFirst() {
            super(CqOwnStress.HeaderFirst::new);
        }

        /** Posts. */
        @Actor
        public void device() {
            postSecond();
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            pollUntilTaken(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the detail is loaded before the owner bit. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinDetailFirst extends Rig {
        /** One sample. */
        public TwinDetailFirst() {
            super(DetailFirst::new);
        }

        /** Posts. */
        @Actor
        public void device() {
            postSecond();
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            pollUntilTaken(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
