package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import java.util.function.Function;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edge WAKE: a thread that is about to sleep sees the raise, or the raiser sees the thread.
 *
 * The waiter looks once more after it has said that it waits, with no time to wait; it then stays registered, as if it slept. The
 * results are 1 if it learned of the raise by itself, and 1 if the raiser saw a waiter, and so woke it.
 */
public class WakeStress {
    private WakeStress() {}

    /** What may come of a raise beside a wait: 1 if the waiter saw it by itself, 1 if the raiser saw the waiter. */
    @Outcome(id = "1, [01]", expect = ACCEPTABLE, desc = "The waiter does not sleep.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "The waiter sleeps, and is woken.")
    @Outcome(expect = FORBIDDEN, desc = "The waiter sleeps on.")
    public static class Met {
        private Met() {}
    }

    /** What must come of it if one end of the edge is missing. */
    @Outcome(id = "1, [01]", expect = ACCEPTABLE, desc = "The waiter does not sleep.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "The waiter sleeps, and is woken.")
    @Outcome(id = "0, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: the wake-up is lost.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Missed {
        private Missed() {}
    }

    /** What may come of a raise with something to tell: the count, and what the waiter saw. */
    @Outcome(
            id = {"0, [01]", "1, 1"},
            expect = ACCEPTABLE,
            desc = "Not raised yet, or told.")
    @Outcome(expect = FORBIDDEN, desc = "Raised, and what it was about is not to be seen.")
    public static class Carried {
        private Carried() {}
    }

    /** What may come of two that wait: 0 if let in, -1 if refused. */
    @Outcome(
            id = {"0, -1", "-1, 0"},
            expect = ACCEPTABLE,
            desc = "One was refused.")
    @Outcome(expect = FORBIDDEN, desc = "Two wait, or none.")
    public static class OneWaits {
        private OneWaits() {}
    }

    /** What must come of it if the place is tested, then taken. */
    @Outcome(
            id = {"0, -1", "-1, 0"},
            expect = ACCEPTABLE,
            desc = "One was refused.")
    @Outcome(id = "0, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: two wait in one place.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class TwoWait {
        private TwoWait() {}
    }

    /** A memory in which a thread that has said that it waits goes on waiting, and which notes whether a raiser saw it. */
    static class Watched extends WeakMemory {
        /** Of the raiser. */
        int seen;

        /** Of the waiter: finds itself here only if it put itself there. */
        Thread waiter;

        Watched(QueueMemory memory) {
            super(memory);
        }

        @Override
        public void putLongRelease(long offset, long value) {
            if (offset == EqWords.WAITER && value != EqWords.WAITS) {
                return;
            }
            memory.putLongRelease(offset, value);
            if (offset == EqWords.WAITER) {
                waiter = Thread.currentThread();
            }
        }

        @Override
        public long getLongAcquire(long offset) {
            long value = memory.getLongAcquire(offset);
            if (offset == EqWords.WAITER && value == EqWords.WAITS) {
                seen = 1;
            }
            return value;
        }
    }

    /** A memory in which the look that follows is left out: the waiter finds the count as it was. */
    static final class LookLeftOut extends Watched {
        LookLeftOut(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            return offset == EqWords.RAISES && waiter == Thread.currentThread() ? 0 : super.getLongAcquire(offset);
        }
    }

    /** The place of the waiter tested, then taken. */
    static final class TestThenSet extends Watched {
        TestThenSet(QueueMemory memory) {
            super(memory);
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            if (memory.getLongAcquire(offset) != expected) {
                return false;
            }
            Thread.onSpinWait(); // as long as a cache miss would take
            memory.putLongRelease(offset, value);
            return true;
        }
    }

    abstract static class Rig extends Meeting {
        final Watched memory;
        final Interrupt interrupt;

        /** What a raise is about. Plain. */
        int matter;

        private final QueueMemory slice;

        Rig(Function<QueueMemory, Watched> watch) {
            this.slice = Slices.take();
            this.memory = watch.apply(slice);
            this.interrupt = new Interrupt(memory, null);
        }

        /** Looks as a thread that is about to sleep does: 1 if it need not, 0 if it would sleep, -1 if it was refused. */
        final int look() {
            try {
                return interrupt.await(0, 0) ? 1 : 0;
            } catch (IllegalStateException another) {
                return -1;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        final void raise(II_Result result) {
            meetOther();
            matter = 1;
            interrupt.raise();
            result.r2 = memory.seen;
        }

        final void recycle() {
            Slices.giveBack(slice);
        }
    }

    /** A wait beside a raise. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Wait extends Rig {
        /** One sample. */
        public Wait() {
            super(Watched::new);
        }

        /** Raises. */
        @Actor
        public void raiser(II_Result result) {
            raise(result);
        }

        /** Waits. */
        @Actor
        public void waiter(II_Result result) {
            meetOne();
            result.r1 = look();
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** What was done before a raise. */
    @JCStressTest
    @JCStressMeta(Carried.class)
    @State
    public static class Carry extends Rig {
        /** One sample. */
        public Carry() {
            super(Watched::new);
        }

        /** Raises. */
        @Actor
        public void raiser() {
            meetOther();
            matter = 1;
            interrupt.raise();
        }

        /** Looks. */
        @Actor
        public void waiter(II_Result result) {
            meetOne();
            result.r1 = (int) interrupt.count();
            result.r2 = matter;
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Two that wait. */
    @JCStressTest
    @JCStressMeta(OneWaits.class)
    @State
    public static class TwoWaiters extends Rig {
        /** One sample. */
        public TwoWaiters() {
            super(Watched::new);
        }

        /** Waits. */
        @Actor
        public void one(II_Result result) {
            meetOther();
            result.r1 = look();
        }

        /** Waits. */
        @Actor
        public void other(II_Result result) {
            meetOne();
            result.r2 = look();
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the raiser looks for a waiter without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinRaiserUnfenced extends Rig {
        /** One sample. */
        public TwinRaiserUnfenced() {
            super(memory -> new Watched(new NoFence(memory, EqWords.RAISES, EqWords.WAITER)));
        }

        /** Raises. */
        @Actor
        public void raiser(II_Result result) {
            raise(result);
        }

        /** Waits. */
        @Actor
        public void waiter(II_Result result) {
            meetOne();
            result.r1 = look();
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the waiter looks at the count without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinWaiterUnfenced extends Rig {
        /** One sample. */
        public TwinWaiterUnfenced() {
            super(memory -> new Watched(new NoFence(memory, EqWords.WAITER, EqWords.RAISES)));
        }

        /** Raises. */
        @Actor
        public void raiser(II_Result result) {
            raise(result);
        }

        /** Waits. */
        @Actor
        public void waiter(II_Result result) {
            meetOne();
            result.r1 = look();
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the waiter does not look at the count again. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinNotLookedAgain extends Rig {
        /** One sample. */
        public TwinNotLookedAgain() {
            super(LookLeftOut::new);
        }

        /** Raises. */
        @Actor
        public void raiser(II_Result result) {
            raise(result);
        }

        /** Waits. */
        @Actor
        public void waiter(II_Result result) {
            meetOne();
            result.r1 = look();
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the place is tested, then taken. */
    @JCStressTest
    @JCStressMeta(TwoWait.class)
    @State
    public static class TwinTestThenSet extends Rig {
        /** One sample. */
        public TwinTestThenSet() {
            super(TestThenSet::new);
        }

        /** Waits. */
        @Actor
        public void one(II_Result result) {
            meetOther();
            result.r1 = look();
        }

        /** Waits. */
        @Actor
        public void other(II_Result result) {
            meetOne();
            result.r2 = look();
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
