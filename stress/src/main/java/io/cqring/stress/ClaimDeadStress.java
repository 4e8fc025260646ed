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
 * Edge CLAIM-DEAD: recovery takes back what a writer that is gone has claimed, and nothing of a living one.
 *
 * <p>A third writer is gone: its call was cut short just before or just after its claim, so its row covers the next sequence.
 * In most tests it never got it, and what it covers is claimed, published or given back by a living writer while recovery
 * looks. Results are what the living writer did (1: one entry), entries that recovery abandoned, and the entries polled in the
 * end, as digits.
 *
 * <p>x86 keeps loads in order and stores in order, so the twins have the wrong order in earnest.
 */
public class ClaimDeadStress {
    private ClaimDeadStress() {}

    /** What may come of a write beside recovery. */
    @Outcome(id = "1, 0, 1", expect = ACCEPTABLE, desc = "Recovery left the entry alone.")
    @Outcome(id = "1, 1, .*", expect = FORBIDDEN, desc = "Recovery abandoned what a living writer had claimed.")
    @Outcome(expect = FORBIDDEN, desc = "The entry was refused, lost or torn.")
    public static class Written {
        private Written() {}
    }

    /** What must come of a write beside recovery if the row comes too late. */
    @Outcome(id = "1, 0, 1", expect = ACCEPTABLE, desc = "Recovery left the entry alone.")
    @Outcome(
            id = "1, 1, .*",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: recovery abandoned what a living writer had claimed.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class WrittenAndAbandoned {
        private WrittenAndAbandoned() {}
    }

    /** What may come of a give-back beside recovery. */
    @Outcome(id = "1, 0, 0", expect = ACCEPTABLE, desc = "Given back; recovery found nothing to do.")
    @Outcome(expect = FORBIDDEN, desc = "Recovery abandoned a sequence that nobody has claimed any more.")
    public static class GivenBack {
        private GivenBack() {}
    }

    /** What must come of a give-back beside recovery if nobody counts it. */
    @Outcome(id = "1, 0, 0", expect = ACCEPTABLE, desc = "Given back; recovery found nothing to do.")
    @Outcome(
            id = "1, 1, 0",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: recovery abandoned a sequence that nobody has claimed any more.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class GivenBackAndAbandoned {
        private GivenBackAndAbandoned() {}
    }

    /** What may come of recovery beside a poll, with a hole and a published entry behind it: 1, abandoned, what was polled. */
    @Outcome(
            id = {"1, 1, 0", "1, 1, 2"},
            expect = ACCEPTABLE,
            desc = "The hole was abandoned; the poll came before, or took the entry behind it.")
    @Outcome(expect = FORBIDDEN, desc = "The hole was not abandoned, or the poll saw something in it.")
    public static class Bridged {
        private Bridged() {}
    }

    /** Ends a call of a writer at its claim, once. */
    private static final class CutShort extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private CutShort() {
            super("cut short", null, false, false);
        }
    }

    /** Memory on which a claim can be cut short; else it keeps every promise. */
    static class CuttingMemory extends WeakMemory {
        private boolean before;
        private boolean after;

        CuttingMemory(QueueMemory memory) {
            super(memory);
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            if (before) {
                before = false;
                throw new CutShort();
            }
            boolean set = memory.compareAndSetLong(offset, expected, value);
            if (after) {
                after = false;
                throw new CutShort();
            }
            return set;
        }
    }

    abstract static class Rig extends ClaimRig {
        Rig(UnaryOperator<QueueMemory> weakener) {
            super(2, OverrunPolicy.BACKPRESSURE, weakener);
        }

        final void cutShort(QueueMemory memory, boolean claimed) {
            CuttingMemory cutting = (CuttingMemory) memory;
            cutting.before = !claimed;
            cutting.after = claimed;
            try {
                c.claim(1);
            } catch (CutShort expected) {
                return;
            }
            throw new IllegalStateException("the claim was to be cut short");
        }

        /** Leaves writer c gone, its row over the first sequence, which a has claimed. */
        final void leaveSpentRow(QueueMemory memory) {
            cutShort(memory, false);
            a.claim(1);
            c.close(); // cannot be settled: a's row covers the same
        }

        final void recover(III_Result result) {
            meetOne();
            result.r2 = queue.recover();
        }

        final void pollAll(III_Result result) {
            result.r3 = pollDigits();
            recycle();
        }
    }

    abstract static class WriteRig extends Rig {
        WriteRig(UnaryOperator<QueueMemory> weakener) {
            super(weakener);
        }

        @Override
        void prepare(QueueMemory memory) {
            leaveSpentRow(memory);
            a.abandon();
            a.release();
        }

        final void writeOne(III_Result result) {
            meetOther();
            result.r1 = write(a, 1) ? 1 : 0;
        }
    }

    abstract static class GiveBackRig extends Rig {
        GiveBackRig(UnaryOperator<QueueMemory> weakener) {
            super(weakener);
        }

        @Override
        void prepare(QueueMemory memory) {
            leaveSpentRow(memory);
            a.release();
        }

        final void giveBack(III_Result result) {
            meetOther();
            result.r1 = a.abandon();
        }
    }

    /** The living writer's row is stored after its claim. */
    static final class RowLate extends CuttingMemory {
        private long first;
        private long count;
        private boolean waiting;

        RowLate(QueueMemory memory) {
            super(memory);
        }

        @Override
        public void putLongRelease(long offset, long value) {
            if (armed && offset == Region.row(0) + Region.ROW_FIRST) {
                first = value;
                waiting = true;
            } else if (armed && offset == Region.row(0) + Region.ROW_COUNT) {
                count = value;
            } else {
                memory.putLongRelease(offset, value);
            }
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            boolean set = super.compareAndSetLong(offset, expected, value);
            if (waiting) {
                waiting = false;
                Thread.onSpinWait(); // as long as a cache miss would take
                memory.putLongRelease(Region.row(0) + Region.ROW_FIRST, first);
                memory.putLongRelease(Region.row(0) + Region.ROW_COUNT, count);
            }
            return set;
        }
    }

    /** Give-backs are not counted; and recovery is slow after its look at the claimed count, as after a cache miss. */
    static final class GiveBackUncounted extends CuttingMemory {
        GiveBackUncounted(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            long value = memory.getLongAcquire(offset);
            if (armed && offset == Region.PRODUCER_SEQUENCE) {
                Thread.onSpinWait();
            }
            return value;
        }

        @Override
        public long getAndAddLong(long offset, long delta) {
            return offset == Region.GIVE_BACKS ? 0 : memory.getAndAddLong(offset, delta);
        }
    }

    /** A living writer claims and publishes what the spent row covers. */
    @JCStressTest
    @JCStressMeta(Written.class)
    @State
    public static class Write extends WriteRig {
        /** One sample. */
        public Write() {
            super(CuttingMemory::new);
        }

        /** Writes. */
        @Actor
        public void living(III_Result result) {
            writeOne(result);
        }

        /** Recovers. */
        @Actor
        public void other(III_Result result) {
            recover(result);
        }

        /** Polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }

    /** A living writer gives back what the spent row covers. */
    @JCStressTest
    @JCStressMeta(GivenBack.class)
    @State
    public static class GiveBack extends GiveBackRig {
        /** One sample. */
        public GiveBack() {
            super(CuttingMemory::new);
        }

        /** Gives back. */
        @Actor
        public void living(III_Result result) {
            giveBack(result);
        }

        /** Recovers. */
        @Actor
        public void other(III_Result result) {
            recover(result);
        }

        /** Polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }

    /** The writer that is gone had claimed a sequence; another has published the one behind; recovery beside a poll. */
    @JCStressTest
    @JCStressMeta(Bridged.class)
    @State
    public static class Hole extends Rig {
        /** One sample. */
        public Hole() {
            super(CuttingMemory::new);
        }

        @Override
        void prepare(QueueMemory memory) {
            // Gone, and not settled before the race: a claim that is given back later covers the same sequence.
            leaveSpentRow(memory);
            a.commit(0);
            a.release();
            fillHole(memory);
        }

        private void fillHole(QueueMemory memory) {
            // As if the claim of the one that is gone had gone through: the count says so, the row covers it.
            memory.putLong(Region.PRODUCER_SEQUENCE, start + 1);
            write(b, 2);
            b.release();
        }

        /** Recovers. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            result.r1 = 1;
            result.r2 = queue.recover();
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            int polled = 0;
            for (int spins = 0; polled == 0 && spins != SPINS; spins++) {
                polled = pollDigits();
            }
            result.r3 = polled;
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the row comes after the claim. */
    @JCStressTest
    @JCStressMeta(WrittenAndAbandoned.class)
    @State
    public static class TwinRowLate extends WriteRig {
        /** One sample. */
        public TwinRowLate() {
            super(RowLate::new);
        }

        /** Writes. */
        @Actor
        public void living(III_Result result) {
            writeOne(result);
        }

        /** Recovers. */
        @Actor
        public void other(III_Result result) {
            recover(result);
        }

        /** Polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }

    /** Twin: a give-back is not counted. */
    @JCStressTest
    @JCStressMeta(GivenBackAndAbandoned.class)
    @State
    public static class TwinGiveBackUncounted extends GiveBackRig {
        /** One sample. */
        public TwinGiveBackUncounted() {
            super(GiveBackUncounted::new);
        }

        /** Gives back. */
        @Actor
        public void living(III_Result result) {
            giveBack(result);
        }

        /** Recovers. */
        @Actor
        public void other(III_Result result) {
            recover(result);
        }

        /** Polls. */
        @Arbiter
        public void end(III_Result result) {
            pollAll(result);
        }
    }
}
