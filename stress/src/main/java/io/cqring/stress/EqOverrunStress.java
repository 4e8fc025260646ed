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
 * Edge EQ-OVERRUN: whoever is woken by a lost event finds out that one was lost, and sees what it was about; and taking one overrun
 * does not wipe out the next.
 */
public class EqOverrunStress {
    private EqOverrunStress() {}

    /** What may come of an overrun: 1 if the host saw the interrupt, 1 if it then took an overrun, 1 if it saw what the event was about. */
    @Outcome(
            id = {"0, 0, [01]", "0, 1, 1"},
            expect = ACCEPTABLE,
            desc = "Not woken yet.")
    @Outcome(id = "1, 1, 1", expect = ACCEPTABLE, desc = "Woken, and knows why.")
    @Outcome(expect = FORBIDDEN, desc = "Woken for nothing, or too early for what it is about.")
    public static class Told {
        private Told() {}
    }

    /** What must come of it if the interrupt comes before the count. */
    @Outcome(
            id = {"0, 0, [01]", "0, 1, 1"},
            expect = ACCEPTABLE,
            desc = "Not woken yet.")
    @Outcome(id = "1, 1, 1", expect = ACCEPTABLE, desc = "Woken, and knows why.")
    @Outcome(id = "1, 0, [01]", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: woken, and finds no overrun.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class NotTold {
        private NotTold() {}
    }

    /** What may come of a second overrun while the first is taken: 1 for the first, 1 if the second was about something seen, 1 if one is left. */
    @Outcome(
            id = {"1, 1, [01]", "1, 0, 1"},
            expect = ACCEPTABLE,
            desc = "Seen, or still to be taken.")
    @Outcome(expect = FORBIDDEN, desc = "The second overrun was wiped out.")
    public static class Again {
        private Again() {}
    }

    /** A full queue of one slot. */
    abstract static class Rig extends EqRig {
        /** What the lost event is about. Plain. */
        int matter;

        Rig(UnaryOperator<QueueMemory> weakener) {
            this(weakener, 0);
        }

        /** {@code overruns}: how many events are lost before the sample starts. */
        Rig(UnaryOperator<QueueMemory> weakener, int overruns) {
            super(1, 0, weakener);
            post(1);
            for (int lost = 0; lost < overruns; lost++) {
                post(9);
            }
        }

        final void overrun() {
            meetOther();
            matter = 1;
            post(2);
        }
    }

    /** A memory in which an overrun is counted only when {@link #settle} is called. */
    static final class CountLate extends WeakMemory {
        private long late;

        CountLate(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getAndAddLong(long offset, long delta) {
            if (offset != EqWords.OVERRUNS) {
                return memory.getAndAddLong(offset, delta);
            }
            late = delta;
            return 0;
        }

        void settle() {
            Thread.onSpinWait(); // as long as a cache miss would take
            memory.getAndAddLong(EqWords.OVERRUNS, late);
        }
    }

    /** Waits for the interrupt, then takes the overrun. */
    abstract static class WokenRig extends Rig {
        WokenRig(UnaryOperator<QueueMemory> weakener) {
            super(weakener);
        }

        final void takeWhenWoken(III_Result result) {
            meetOne();
            int woken = 0;
            for (int spins = 0; woken == 0 && spins != SPINS; spins++) {
                woken = raises();
            }
            result.r1 = woken;
            result.r2 = queue.takeOverrun() ? 1 : 0;
            result.r3 = matter;
        }
    }

    /** The shipped queue. */
    @JCStressTest
    @JCStressMeta(Told.class)
    @State
    public static class Woken extends WokenRig {
        /** One sample. */
        public Woken() {
            super(UnaryOperator.identity());
        }

        /** Posts, and loses. */
        @Actor
        public void device() {
            overrun();
        }

        /** Wakes and looks. */
        @Actor
        public void host(III_Result result) {
            takeWhenWoken(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** A second overrun while the first is taken. */
    @JCStressTest
    @JCStressMeta(Again.class)
    @State
    public static class TakeAndLose extends Rig {
        /** One sample. */
        public TakeAndLose() {
            super(UnaryOperator.identity(), 1);
        }

        /** Posts, and loses. */
        @Actor
        public void device() {
            overrun();
        }

        /** Takes the first, then looks. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            result.r1 = queue.takeOverrun() ? 1 : 0;
            result.r2 = matter;
            queue.releasePoller();
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = queue.takeOverrun() ? 1 : 0;
            recycle();
        }
    }

    /** Twin: the interrupt is raised before the overrun is counted. */
    @JCStressTest
    @JCStressMeta(NotTold.class)
    @State
    public static class TwinCountLate extends WokenRig {
        /** One sample. */
        public TwinCountLate() {
            super(CountLate::new);
        }

        @Override
        Runnable action(QueueMemory memory) {
            return ((CountLate) memory)::settle; // runs at the end of the raise
        }

        /** Posts, and loses. */
        @Actor
        public void device() {
            overrun();
        }

        /** Wakes and looks. */
        @Actor
        public void host(III_Result result) {
            takeWhenWoken(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
