package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.cq.CqOverrunException;
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
 * Edge CQ-CLAIM: each sequence has one writer, its owner bit is that of its own lap, and what is given back is nobody else's.
 *
 * <p>Two writers meet where a lap ends; once both are done, all is polled. Results are whether each got its entry in (first
 * writer: entry 1, second: entry 2), then the entries polled, as digits, oldest first, 1000 more if a word was wrong. Other
 * tests put a writer beside a poller, for the ends of CQ-OWN, CQ-CREDIT and STATE that shared writers have.
 *
 * <p>Two writers and a poller would be three actors; that they get along follows from these pairs, and is tried with three
 * threads in core's tests.
 */
public class CqClaimStress {
    private CqClaimStress() {}

    /** What may come of two writes with room for both. */
    @Outcome(
            id = {"1, 1, 12", "1, 1, 21"},
            expect = ACCEPTABLE,
            desc = "Both entries, each once.")
    @Outcome(id = "1, 1, .*", expect = FORBIDDEN, desc = "An entry was lost, doubled, torn, or is never valid.")
    @Outcome(expect = FORBIDDEN, desc = "A writer was refused though there was room.")
    public static class BothFit {
        private BothFit() {}
    }

    /** What must come of two writes with room for both, if a sequence may have two writers, or the owner bit is sampled. */
    @Outcome(
            id = {"1, 1, 12", "1, 1, 21"},
            expect = ACCEPTABLE,
            desc = "Both entries, each once.")
    @Outcome(
            id = "1, 1, .*",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: an entry was lost, torn, or is never valid.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class OneIsLost {
        private OneIsLost() {}
    }

    /** What may come of two writes with room for one. */
    @Outcome(
            id = {"1, 0, 1", "0, 1, 2"},
            expect = ACCEPTABLE,
            desc = "One got in, the other was refused.")
    @Outcome(expect = FORBIDDEN, desc = "A claim that could not be kept, or a refusal of both.")
    public static class OneFits {
        private OneFits() {}
    }

    /** What must come of two writes with room for one, if both may have the same sequence. */
    @Outcome(
            id = {"1, 0, 1", "0, 1, 2"},
            expect = ACCEPTABLE,
            desc = "One got in, the other was refused.")
    @Outcome(id = "1, 1, .*", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: two entries in one slot.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class BothGetIn {
        private BothGetIn() {}
    }

    /** What may come of giving a claim back while another writes, and one more write afterwards. */
    @Outcome(id = "1, 1, 23", expect = ACCEPTABLE, desc = "The other's entry, then the later one.")
    @Outcome(expect = FORBIDDEN, desc = "The other's claim was wiped out, or the slot given back is not passed over.")
    public static class GivenBack {
        private GivenBack() {}
    }

    /** What must come of giving a claim back without looking whether another has claimed since. */
    @Outcome(id = "1, 1, 23", expect = ACCEPTABLE, desc = "The other's entry, then the later one.")
    @Outcome(
            id = {"1, 1, 3", "1, 1, 32", "1, 1, 10.*"},
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: the other's claim was wiped out.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class WipedOut {
        private WipedOut() {}
    }

    /** What may come of entries written and polled at the same time: entries in, entries taken, wrong words. */
    @Outcome(
            id = "., ., 0",
            expect = ACCEPTABLE,
            desc = "Every entry that the host took was whole, and the next in order.")
    @Outcome(expect = FORBIDDEN, desc = "Host saw words of another lap in an entry that it had accepted.")
    public static class Drained {
        private Drained() {}
    }

    /** What may come of an overrun while another's claim is open: entries taken, 1 if the host met the end, wrong words. */
    @Outcome(id = "[01], 0, 0", expect = ACCEPTABLE, desc = "Host did not meet the end.")
    @Outcome(id = "1, 1, 0", expect = ACCEPTABLE, desc = "Host took the entry, then met the end.")
    @Outcome(id = "0, 1, 0", expect = FORBIDDEN, desc = "The end, with an entry still to come.")
    @Outcome(expect = FORBIDDEN, desc = "A torn entry, or one that nobody wrote.")
    public static class End {
        private End() {}
    }

    /** What must come of it if the host does not ask whether anything is claimed. */
    @Outcome(id = "[01], 0, 0", expect = ACCEPTABLE, desc = "Host did not meet the end.")
    @Outcome(id = "1, 1, 0", expect = ACCEPTABLE, desc = "Host took the entry, then met the end.")
    @Outcome(id = "0, 1, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: the end, with an entry still to come.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class EndTooEarly {
        private EndTooEarly() {}
    }

    abstract static class RaceRig extends ClaimRig {
        RaceRig(int capacity, UnaryOperator<QueueMemory> weakener) {
            super(capacity, OverrunPolicy.BACKPRESSURE, weakener);
        }

        final void first(III_Result result) {
            meetOther();
            result.r1 = write(a, 1) ? 1 : 0;
        }

        final void second(III_Result result) {
            meetOne();
            result.r2 = write(b, 2) ? 1 : 0;
        }

        final void pollAll(III_Result result) {
            result.r3 = pollDigits();
            recycle();
        }
    }

    abstract static class GiveBackRig extends ClaimRig {
        GiveBackRig(UnaryOperator<QueueMemory> weakener) {
            super(2, OverrunPolicy.BACKPRESSURE, weakener);
        }

        @Override
        void prepare(QueueMemory memory) {
            a.claim(1);
            a.release();
        }

        final void giveBack(III_Result result) {
            meetOther();
            result.r1 = a.abandon();
        }

        final void second(III_Result result) {
            meetOne();
            result.r2 = write(b, 2) ? 1 : 0;
        }

        final void pollAll(III_Result result) {
            pollDigits();
            write(c, 3);
            result.r3 = pollDigits();
            recycle();
        }
    }

    /** The compare-and-set of the claimed count taken apart: look, then store. */
    static final class TestThenSet extends WeakMemory {
        private final boolean claims;
        private final boolean giveBacks;

        TestThenSet(QueueMemory memory, boolean claims, boolean giveBacks) {
            super(memory);
            this.claims = claims;
            this.giveBacks = giveBacks;
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            boolean apart = armed && offset == Region.PRODUCER_SEQUENCE && (value > expected ? claims : giveBacks);
            if (!apart) {
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

    /** The owner bit of the first claim that was tried, not of the one that went through. */
    static final class PhaseSampled extends WeakMemory {
        private static final ThreadLocal<long[]> SAMPLE = ThreadLocal.withInitial(() -> new long[2]);
        private final int lapShift;

        PhaseSampled(QueueMemory memory, int lapShift) {
            super(memory);
            this.lapShift = lapShift;
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            long[] sample = SAMPLE.get();
            if (offset == Region.PRODUCER_SEQUENCE && sample[1] == 0) {
                sample[0] = expected;
                sample[1] = 1;
            }
            return memory.compareAndSetLong(offset, expected, value);
        }

        @Override
        public void putLongRelease(long offset, long value) {
            long[] sample = SAMPLE.get();
            if (armed && offset >= Region.row(3) && sample[1] != 0) {
                sample[1] = 0;
                memory.putLongRelease(offset, (value & ~1L) | (~(sample[0] >>> lapShift) & 1));
            } else {
                memory.putLongRelease(offset, value);
            }
        }
    }

    /** Two writers, two free slots, the first at the end of a lap. */
    @JCStressTest
    @JCStressMeta(BothFit.class)
    @State
    public static class RollOver extends RaceRig {
        /** One sample. */
        public RollOver() {
            super(2, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void one(III_Result result) {
            first(result);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            second(result);
        }

        /** Polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }

    /** Two writers, one free slot. */
    @JCStressTest
    @JCStressMeta(OneFits.class)
    @State
    public static class OneFree extends RaceRig {
        /** One sample. */
        public OneFree() {
            super(1, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void one(III_Result result) {
            first(result);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            second(result);
        }

        /** Polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }

    /** One gives its claim back, the other writes. */
    @JCStressTest
    @JCStressMeta(GivenBack.class)
    @State
    public static class GiveBack extends GiveBackRig {
        /** One sample. */
        public GiveBack() {
            super(UnaryOperator.identity());
        }

        /** Gives back. */
        @Actor
        public void one(III_Result result) {
            giveBack(result);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            second(result);
        }

        /** Writes one more, polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }

    /** A full ring is polled and filled again at the same time. */
    @JCStressTest
    @JCStressMeta(Drained.class)
    @State
    public static class Refill extends ClaimRig {
        /** One sample. */
        public Refill() {
            super(1, OverrunPolicy.BACKPRESSURE, UnaryOperator.identity());
        }

        @Override
        void prepare(QueueMemory memory) {
            write(a, 1);
            a.release();
        }

        /** Writes when there is room. */
        @Actor
        public void device(III_Result result) {
            meetOther();
            int written = 0;
            for (int spins = 0; written != 2 && spins != SPINS; spins++) {
                if (write(written == 0 ? a : b, 2 + written)) {
                    written++;
                }
            }
            result.r1 = written;
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            for (int spins = 0; seen.taken != 3 && spins != SPINS; spins++) {
                queue.poll(seen, 1);
            }
            result.r2 = seen.taken;
            result.r3 = seen.wrong;
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    abstract static class EndRig extends ClaimRig {
        EndRig(UnaryOperator<QueueMemory> weakener) {
            super(1, OverrunPolicy.ERROR, weakener);
        }

        @Override
        void prepare(QueueMemory memory) {
            a.claim(1);
            a.release();
        }

        final void overrunThenCommit() {
            meetOther();
            write(b, 2);
            fill(a, 1);
            a.commit(1);
        }

        final void pollUntilEnd(III_Result result) {
            meetOne();
            try {
                for (int spins = 0; spins != SPINS; spins++) {
                    queue.poll(seen, 1);
                }
            } catch (CqOverrunException dead) {
                result.r2 = 1;
            }
            result.r1 = seen.taken;
            result.r3 = seen.wrong;
        }
    }

    /** The host's question whether all that was claimed is polled, answered with yes. */
    static final class NothingClaimed extends WeakMemory {
        NothingClaimed(QueueMemory memory) {
            super(memory);
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            return expected == value || memory.compareAndSetLong(offset, expected, value);
        }
    }

    /** Overrun by one writer while the other's claim is open. */
    @JCStressTest
    @JCStressMeta(End.class)
    @State
    public static class OverrunBesideClaim extends EndRig {
        /** One sample. */
        public OverrunBesideClaim() {
            super(UnaryOperator.identity());
        }

        /** Overruns, then publishes what was claimed before. */
        @Actor
        public void device() {
            overrunThenCommit();
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            pollUntilEnd(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the claim is tested, then stored; room for both. */
    @JCStressTest
    @JCStressMeta(OneIsLost.class)
    @State
    public static class TwinTestThenSet extends RaceRig {
        /** One sample. */
        public TwinTestThenSet() {
            super(2, memory -> new TestThenSet(memory, true, false));
        }

        /** Writes. */
        @Actor
        public void one(III_Result result) {
            first(result);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            second(result);
        }

        /** Polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }

    /** Twin: the claim is tested, then stored; room for one. */
    @JCStressTest
    @JCStressMeta(BothGetIn.class)
    @State
    public static class TwinTestThenSetOneFree extends RaceRig {
        /** One sample. */
        public TwinTestThenSetOneFree() {
            super(1, memory -> new TestThenSet(memory, true, false));
        }

        /** Writes. */
        @Actor
        public void one(III_Result result) {
            first(result);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            second(result);
        }

        /** Polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }

    /** Twin: the owner bit is sampled before the claim. */
    @JCStressTest
    @JCStressMeta(OneIsLost.class)
    @State
    public static class TwinPhaseSampled extends RaceRig {
        /** One sample. */
        public TwinPhaseSampled() {
            super(2, memory -> new PhaseSampled(memory, 1));
        }

        /** Writes. */
        @Actor
        public void one(III_Result result) {
            first(result);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            second(result);
        }

        /** Polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }

    /** Twin: the count goes back after a look, not by compare-and-set. */
    @JCStressTest
    @JCStressMeta(WipedOut.class)
    @State
    public static class TwinGiveBackBlindly extends GiveBackRig {
        /** One sample. */
        public TwinGiveBackBlindly() {
            super(memory -> new TestThenSet(memory, false, true));
        }

        /** Gives back. */
        @Actor
        public void one(III_Result result) {
            giveBack(result);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            second(result);
        }

        /** Writes one more, polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }

    /** Twin: the end is reported without asking what is claimed. */
    @JCStressTest
    @JCStressMeta(EndTooEarly.class)
    @State
    public static class TwinEndUnasked extends EndRig {
        /** One sample. */
        public TwinEndUnasked() {
            super(NothingClaimed::new);
        }

        /** Overruns, then publishes what was claimed before. */
        @Actor
        public void device() {
            overrunThenCommit();
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            pollUntilEnd(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
