package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.cq.CqOverrunException;
import io.cqring.cq.OverrunPolicy;
import io.cqring.cq.WorkCompletion;
import io.cqring.memory.QueueMemory;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edge STATE: a dead queue gives up every entry that was written before it died, then says so; a closed queue lets no later
 * call in.
 *
 * <p>Overrun: the device writes until it is refused, the host polls until {@link CqOverrunException}. Results are the entries
 * that the device got in, the entries that the host took, 1 if it met the exception (3 if that said nothing was lost), and a
 * bit for each wrong word (see {@link Observer}).
 *
 * <p>The reading end is a matter of program order: the flag before the slots. x86 keeps the order of loads and of stores, so
 * the twins have the wrong order in earnest.
 */
public class StateStress {
    private StateStress() {}

    /** What may come of an overrun of one slot. */
    @Outcome(id = "1, [01], 0, 0", expect = ACCEPTABLE, desc = "Overrun; host did not meet the end.")
    @Outcome(id = "1, 1, 1, 0", expect = ACCEPTABLE, desc = "Overrun; host took the entry, then met the end.")
    @Outcome(id = "2, [012], 0, 0", expect = ACCEPTABLE, desc = "Host was quick, both entries fitted: no overrun.")
    @Outcome(id = "1, 0, 1, 0", expect = FORBIDDEN, desc = "The end, with an entry still to poll.")
    @Outcome(id = "., ., 3, .", expect = FORBIDDEN, desc = "The end, and no loss counted.")
    @Outcome(expect = FORBIDDEN, desc = "The end without an overrun, or a torn entry.")
    public static class Overrun {
        private Overrun() {}
    }

    /** What may come of an overrun with two entries in hand, which are published first. */
    @Outcome(id = "2, [012], 0, 0", expect = ACCEPTABLE, desc = "Host did not meet the end.")
    @Outcome(id = "2, 2, 1, 0", expect = ACCEPTABLE, desc = "Host took both entries, then met the end.")
    @Outcome(id = "2, [01], 1, 0", expect = FORBIDDEN, desc = "The end, with entries still to poll.")
    @Outcome(expect = FORBIDDEN, desc = "No loss counted, or a torn entry.")
    public static class OverrunInHand {
        private OverrunInHand() {}
    }

    /** What must come of an overrun if one end of the edge is missing. */
    @Outcome(id = "1, [01], 0, 0", expect = ACCEPTABLE, desc = "Overrun; host did not meet the end.")
    @Outcome(id = "1, 1, 1, 0", expect = ACCEPTABLE, desc = "Overrun; host took the entry, then met the end.")
    @Outcome(id = "2, [012], 0, 0", expect = ACCEPTABLE, desc = "Host was quick, both entries fitted: no overrun.")
    @Outcome(
            id = "1, 0, 1, 0",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: the end, with an entry still to poll.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class EndedEarly {
        private EndedEarly() {}
    }

    /** What may come of a close: whether the actor knew of it when it called, and whether the call was let in. */
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "The call came first, or at the same time.")
    @Outcome(id = "[01], 0", expect = ACCEPTABLE, desc = "The call came later: refused.")
    @Outcome(id = "1, 1", expect = FORBIDDEN, desc = "Closed, and a later call got in.")
    @Outcome(expect = FORBIDDEN, desc = "Neither let in nor refused.")
    public static class Closed {
        private Closed() {}
    }

    abstract static class Rig extends QueueRig {
        Rig(int capacity, Fill fill, UnaryOperator<QueueMemory> weakener) {
            super(capacity, 64, fill, 1, 0, OverrunPolicy.ERROR, weakener);
        }

        final void writeUntilRefused(IIII_Result result) {
            meetOther();
            int written = 0;
            while (written != 2 && write(first + written)) {
                written++;
            }
            result.r1 = written;
        }

        /** Takes what is ready. True, or a {@link CqOverrunException}, says that this is the end. */
        abstract boolean take();

        final void takeUntilEnd(IIII_Result result) {
            meetOne();
            int end = 0;
            try {
                for (int spins = 0; end == 0 && spins != SPINS; spins++) {
                    end = take() ? 1 : 0;
                }
            } catch (CqOverrunException dead) {
                end = dead.lostEntries() > 0 ? 1 : 3;
            }
            result.r2 = seen.taken;
            result.r3 = end;
            result.r4 = seen.wrong;
        }
    }

    abstract static class PollRig extends Rig {
        PollRig(int capacity, Fill fill, UnaryOperator<QueueMemory> weakener) {
            super(capacity, fill, weakener);
        }

        @Override
        final boolean take() {
            queue.poll(seen, capacity);
            return false;
        }
    }

    abstract static class PollIntoRig extends Rig {
        private final WorkCompletion[] into = {new WorkCompletion()};

        PollIntoRig() {
            super(1, Fill.WRITE, UnaryOperator.identity());
        }

        @Override
        final boolean take() {
            if (queue.pollInto(into, 1) != 0) {
                seen.onCopy(into[0]);
            }
            return false;
        }
    }

    abstract static class CursorRig extends Rig {
        CursorRig() {
            super(1, Fill.WRITE, UnaryOperator.identity());
        }

        @Override
        final boolean take() {
            if (queue.startPoll()) {
                seen.onCompletion(queue.completion());
                queue.endPoll();
            }
            return false;
        }
    }

    abstract static class PeekRig extends Rig {
        PeekRig() {
            super(1, Fill.WRITE, UnaryOperator.identity());
        }

        @Override
        final boolean take() {
            if (queue.peek() != null) {
                queue.poll(seen, 1);
            }
            return false;
        }
    }

    /** A host written by hand that loads the flag after the owner bit, and takes that for the truth. */
    abstract static class FlagAfterScanRig extends Rig {
        FlagAfterScanRig() {
            super(1, Fill.WRITE, UnaryOperator.identity());
        }

        @Override
        final boolean take() {
            int phase = seen.taken; // 0 on the second lap, 1 on the third
            if ((slice.getLongAcquire(Region.FIRST_SLOT) & 1) != phase) {
                return slice.getLongAcquire(Region.DEAD) != 0;
            }
            queue.poll(seen, 1);
            return false;
        }
    }

    abstract static class CloseRig extends QueueRig {
        private volatile boolean closed;

        CloseRig() {
            super(1, 64, Fill.WRITE, 1, 0, OverrunPolicy.BACKPRESSURE, UnaryOperator.identity());
        }

        final void closeAndTell() {
            meetOther();
            queue.close();
            closed = true;
        }

        final void call(II_Result result, Runnable call) {
            meetOne();
            result.r1 = closed ? 1 : 0;
            try {
                call.run();
                result.r2 = 1;
            } catch (IllegalStateException refused) {
                result.r2 = 0;
            }
        }
    }

    /** Host polls with a handler. */
    @JCStressTest
    @JCStressMeta(Overrun.class)
    @State
    public static class Poll extends PollRig {
        /** One sample. */
        public Poll() {
            super(1, Fill.WRITE, UnaryOperator.identity());
        }

        /** Overruns. */
        @Actor
        public void device(IIII_Result result) {
            writeUntilRefused(result);
        }

        /** Polls until the end. */
        @Actor
        public void host(IIII_Result result) {
            takeUntilEnd(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Host copies entries out. */
    @JCStressTest
    @JCStressMeta(Overrun.class)
    @State
    public static class PollInto extends PollIntoRig {
        /** One sample. */
        public PollInto() {
            super();
        }

        /** Overruns. */
        @Actor
        public void device(IIII_Result result) {
            writeUntilRefused(result);
        }

        /** Polls until the end. */
        @Actor
        public void host(IIII_Result result) {
            takeUntilEnd(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Host uses a cursor. */
    @JCStressTest
    @JCStressMeta(Overrun.class)
    @State
    public static class Cursor extends CursorRig {
        /** One sample. */
        public Cursor() {
            super();
        }

        /** Overruns. */
        @Actor
        public void device(IIII_Result result) {
            writeUntilRefused(result);
        }

        /** Polls until the end. */
        @Actor
        public void host(IIII_Result result) {
            takeUntilEnd(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Host peeks, then polls. */
    @JCStressTest
    @JCStressMeta(Overrun.class)
    @State
    public static class Peek extends PeekRig {
        /** One sample. */
        public Peek() {
            super();
        }

        /** Overruns. */
        @Actor
        public void device(IIII_Result result) {
            writeUntilRefused(result);
        }

        /** Polls until the end. */
        @Actor
        public void host(IIII_Result result) {
            takeUntilEnd(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Two entries staged, the third overruns. */
    @JCStressTest
    @JCStressMeta(OverrunInHand.class)
    @State
    public static class InHand extends PollRig {
        /** One sample. */
        public InHand() {
            super(2, Fill.STAGE, UnaryOperator.identity());
        }

        /** Overruns. */
        @Actor
        public void device(IIII_Result result) {
            meetOther();
            int staged = 0;
            while (staged != 3 && Entry.stage(writer, first + staged)) {
                staged++;
            }
            result.r1 = staged;
        }

        /** Polls until the end. */
        @Actor
        public void host(IIII_Result result) {
            takeUntilEnd(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Close against a write. */
    @JCStressTest
    @JCStressMeta(Closed.class)
    @State
    public static class CloseWriter extends CloseRig {
        /** One sample. */
        public CloseWriter() {
            super();
        }

        /** Closes. */
        @Actor
        public void closer() {
            closeAndTell();
        }

        /** Writes. */
        @Actor
        public void device(II_Result result) {
            call(result, () -> write(first));
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Close against a poll. */
    @JCStressTest
    @JCStressMeta(Closed.class)
    @State
    public static class ClosePoller extends CloseRig {
        /** One sample. */
        public ClosePoller() {
            super();
        }

        /** Closes. */
        @Actor
        public void closer() {
            closeAndTell();
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            call(result, () -> queue.poll(seen, 1));
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the flag is stored before the last entry. */
    @JCStressTest
    @JCStressMeta(EndedEarly.class)
    @State
    public static class TwinFlagFirst extends PollRig {
        /** One sample. */
        public TwinFlagFirst() {
            super(1, Fill.WRITE, memory -> new WeakMemory.LateStore(memory, Region.FIRST_SLOT, Region.DEAD));
        }

        /** Overruns. */
        @Actor
        public void device(IIII_Result result) {
            writeUntilRefused(result);
        }

        /** Polls until the end. */
        @Actor
        public void host(IIII_Result result) {
            takeUntilEnd(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: host loads the flag after it has found the ring empty.  */
    @JCStressTest
    @JCStressMeta(EndedEarly.class)
    @State
    public static class TwinFlagAfterScan extends FlagAfterScanRig {
        /** One sample. */
        public TwinFlagAfterScan() {
            super();
        }

        /** Overruns. */
        @Actor
        public void device(IIII_Result result) {
            writeUntilRefused(result);
        }

        /** Polls until the end. */
        @Actor
        public void host(IIII_Result result) {
            takeUntilEnd(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
