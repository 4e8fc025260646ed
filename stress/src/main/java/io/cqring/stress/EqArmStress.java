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
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edge EQ-ARM: a host that arms and then sleeps sees the event, or the device sees that it is armed. And who disarms raises.
 *
 * The host never really sleeps: it would, if the arming said that no event was there. The raises are those of the shipped interrupt.
 */
public class EqArmStress {
    private EqArmStress() {}

    /** What may come of a post beside an arming: 1 if the arming saw the event, and the raises. */
    @Outcome(id = "1, [01]", expect = ACCEPTABLE, desc = "The host does not sleep.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "The host sleeps, and is woken.")
    @Outcome(expect = FORBIDDEN, desc = "The host sleeps beside a ready event, or is woken twice.")
    public static class Met {
        private Met() {}
    }

    /** What must come of it if one end of the edge is missing. */
    @Outcome(id = "1, [01]", expect = ACCEPTABLE, desc = "The host does not sleep.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "The host sleeps, and is woken.")
    @Outcome(id = "0, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: the wake-up is lost.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Missed {
        private Missed() {}
    }

    /** What may come of a post beside a poll and an arming: events polled, 1 if the arming saw it, and the raises. */
    @Outcome(id = "1, 0, 0", expect = ACCEPTABLE, desc = "Polled, and no interrupt for it.")
    @Outcome(id = "0, 1, [01]", expect = ACCEPTABLE, desc = "The host polls again.")
    @Outcome(id = "0, 0, 1", expect = ACCEPTABLE, desc = "The host sleeps, and is woken.")
    @Outcome(
            expect = FORBIDDEN,
            desc = "The host sleeps beside a ready event, or is woken for one that it had before it armed.")
    public static class Polled {
        private Polled() {}
    }

    /** What may come of two posts to an armed queue, or of one beside a disarm: 1 for each that did its part, and the raises. */
    @Outcome(id = "1, 1, 1", expect = ACCEPTABLE, desc = "One interrupt.")
    @Outcome(expect = FORBIDDEN, desc = "No interrupt, or two.")
    public static class Once {
        private Once() {}
    }

    /** What must come of two posts if the arm word is tested, then set. */
    @Outcome(id = "1, 1, 1", expect = ACCEPTABLE, desc = "One interrupt.")
    @Outcome(id = "1, 1, 2", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: two interrupts for one arming.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Twice {
        private Twice() {}
    }

    /** What may come of a post beside a disarm: 1 if the disarm was told it was in time, and the raises. */
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "Disarmed in time.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "The interrupt was quicker.")
    @Outcome(expect = FORBIDDEN, desc = "Both, or neither.")
    public static class Disarmed {
        private Disarmed() {}
    }

    /** An empty queue of two slots; armed if {@code armed}. */
    abstract static class Rig extends EqRig {
        Rig(boolean armed, UnaryOperator<QueueMemory> weakener) {
            super(2, 0, weakener);
            if (armed) {
                queue.arm();
                queue.releasePoller();
            }
        }

        final void postOne() {
            meetOther();
            post(1);
        }

        final void armOnce(II_Result result) {
            meetOne();
            result.r1 = queue.arm() ? 1 : 0;
        }
    }

    /** A memory in which the look that follows an arming is left out: it finds the slot as it was. */
    static final class LookLeftOut extends WeakMemory {
        private Thread host;

        LookLeftOut(QueueMemory memory) {
            super(memory);
        }

        @Override
        public void putLongRelease(long offset, long value) {
            memory.putLongRelease(offset, value);
            if (offset == EqWords.ARM) {
                host = Thread.currentThread();
            }
        }

        @Override
        public long getLongAcquire(long offset) {
            return offset == EqWords.slot(0) && host == Thread.currentThread() ? 0 : memory.getLongAcquire(offset);
        }
    }

    /** The disarming of the device taken apart: look, then store. */
    static final class TestThenSet extends WeakMemory {
        TestThenSet(QueueMemory memory) {
            super(memory);
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            if (offset != EqWords.ARM) {
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

    /** An arming beside a post. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Arm extends Rig {
        /** One sample. */
        public Arm() {
            super(false, UnaryOperator.identity());
        }

        /** Posts. */
        @Actor
        public void device() {
            postOne();
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            armOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            result.r2 = raises();
            recycle();
        }
    }

    /** An arming of a queue that is armed, beside a post. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class ArmAgain extends Rig {
        /** One sample. */
        public ArmAgain() {
            super(true, UnaryOperator.identity());
        }

        /** Posts. */
        @Actor
        public void device() {
            postOne();
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            armOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            result.r2 = raises();
            recycle();
        }
    }

    /** A poll and an arming beside a post. */
    @JCStressTest
    @JCStressMeta(Polled.class)
    @State
    public static class PollThenArm extends Rig {
        /** One sample. */
        public PollThenArm() {
            super(false, UnaryOperator.identity());
        }

        /** Posts. */
        @Actor
        public void device() {
            postOne();
        }

        /** Polls, then arms. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            result.r1 = queue.poll(this, 2);
            result.r2 = queue.arm() ? 1 : 0;
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = raises();
            recycle();
        }
    }

    /** Two posts to an armed queue. */
    @JCStressTest
    @JCStressMeta(Once.class)
    @State
    public static class TwoPosts extends Rig {
        /** One sample. */
        public TwoPosts() {
            super(true, UnaryOperator.identity());
        }

        /** Posts. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            result.r1 = post(1) ? 1 : 0;
        }

        /** Posts. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            result.r2 = post(2) ? 1 : 0;
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = raises();
            recycle();
        }
    }

    /** A disarm beside a post. */
    @JCStressTest
    @JCStressMeta(Disarmed.class)
    @State
    public static class Disarm extends Rig {
        /** One sample. */
        public Disarm() {
            super(true, UnaryOperator.identity());
        }

        /** Posts. */
        @Actor
        public void device() {
            postOne();
        }

        /** Disarms. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            result.r1 = queue.disarm() ? 1 : 0;
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            result.r2 = raises();
            recycle();
        }
    }

    /** Twin: the host looks without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinHostUnfenced extends Rig {
        /** One sample. */
        public TwinHostUnfenced() {
            super(false, memory -> new NoFence(memory, EqWords.ARM, EqWords.slot(0)));
        }

        /** Posts. */
        @Actor
        public void device() {
            postOne();
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            armOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            result.r2 = raises();
            recycle();
        }
    }

    /** Twin: the device looks without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinDeviceUnfenced extends Rig {
        /** One sample. */
        public TwinDeviceUnfenced() {
            super(false, memory -> new NoFence(memory, EqWords.slot(0), EqWords.ARM));
        }

        /** Posts. */
        @Actor
        public void device() {
            postOne();
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            armOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            result.r2 = raises();
            recycle();
        }
    }

    /** Twin: the host arms and does not look again. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinNotPolledAgain extends Rig {
        /** One sample. */
        public TwinNotPolledAgain() {
            super(false, LookLeftOut::new);
        }

        /** Posts. */
        @Actor
        public void device() {
            postOne();
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            armOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            result.r2 = raises();
            recycle();
        }
    }

    /** Twin: the device tests the arm word, then sets it. */
    @JCStressTest
    @JCStressMeta(Twice.class)
    @State
    public static class TwinTestThenSet extends Rig {
        /** One sample. */
        public TwinTestThenSet() {
            super(true, TestThenSet::new);
        }

        /** Posts. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            result.r1 = post(1) ? 1 : 0;
        }

        /** Posts. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            result.r2 = post(2) ? 1 : 0;
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = raises();
            recycle();
        }
    }
}
