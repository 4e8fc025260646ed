package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.OverrunPolicy;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Edge ROLE: one thread plays an end at a time, and whoever plays it next goes on where the last one stopped.
 *
 * <p>Two entries are ready, or two slots free; two threads play the same end, once each. Results are the number of the entry
 * that each thread took (or, for writers, 1 if it wrote), -1 if it was refused, and the entries that the queue gave in the end.
 *
 * <p>Writing the role is a compare-and-set and fully fenced on x86, so nothing weaker can be tried there; the twin does what a
 * hurried author would: test, then set.
 */
public class RoleStress {
    private RoleStress() {}

    /** What may come of two threads that keep the role. */
    @Outcome(id = "0, 0, 0", expect = ACCEPTABLE, desc = "Rehearsal: nothing was tried.")
    @Outcome(
            id = {"1, -1, 1", "-1, 1, 1"},
            expect = ACCEPTABLE,
            desc = "One got in, the other was refused.")
    @Outcome(
            id = {"1, 1, .*", "1, 2, .*", "2, 1, .*"},
            expect = FORBIDDEN,
            desc = "Two players at one end.")
    @Outcome(id = "-1, -1, .*", expect = FORBIDDEN, desc = "Both refused, though the role was free.")
    @Outcome(expect = FORBIDDEN, desc = "An entry was lost, torn, or never written.")
    public static class OneGetsIn {
        private OneGetsIn() {}
    }

    /** What may come of two pollers that release the role. */
    @Outcome(id = "0, 0, 0", expect = ACCEPTABLE, desc = "Rehearsal: nothing was tried.")
    @Outcome(
            id = {"1, -1, 1", "-1, 1, 1"},
            expect = ACCEPTABLE,
            desc = "Both came at once: one was refused.")
    @Outcome(
            id = {"1, 2, 2", "2, 1, 2"},
            expect = ACCEPTABLE,
            desc = "One after the other, an entry each, in order.")
    @Outcome(
            id = {"1, 1, .*", "2, 2, .*"},
            expect = FORBIDDEN,
            desc = "An entry was taken twice.")
    @Outcome(expect = FORBIDDEN, desc = "An entry was lost, torn, or never written.")
    public static class HandedOver {
        private HandedOver() {}
    }

    /** What may come of two writers that release the role. */
    @Outcome(id = "0, 0, 0", expect = ACCEPTABLE, desc = "Rehearsal: nothing was tried.")
    @Outcome(
            id = {"1, -1, 1", "-1, 1, 1"},
            expect = ACCEPTABLE,
            desc = "Both came at once: one was refused.")
    @Outcome(id = "1, 1, 2", expect = ACCEPTABLE, desc = "One after the other, and both entries are there.")
    @Outcome(expect = FORBIDDEN, desc = "An entry was lost or torn.")
    public static class WrittenInTurn {
        private WrittenInTurn() {}
    }

    /** What must come of test, then set. */
    @Outcome(
            id = {"1, -1, 0", "-1, 1, 0"},
            expect = ACCEPTABLE,
            desc = "One got in, the other was refused.")
    @Outcome(
            id = {"1, 1, 0", "1, 2, 0", "2, 1, 0"},
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: two players at one end.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class BothGetIn {
        private BothGetIn() {}
    }

    /** Remembers the number of the entry. */
    static final class Taker implements CompletionHandler {
        int number;

        @Override
        public void onCompletion(Completion seen) {
            number = seen.workRequestId() == Entry.workRequestId(seen.wqeCounter()) ? seen.wqeCounter() : -2;
        }
    }

    abstract static class Rig extends QueueRig {
        /** How often a thread that was refused tries again; each refusal costs an exception. */
        private static final int TRIES = 4;

        Rig(int backlog) {
            super(2, 64, Fill.WRITE, 0, backlog, OverrunPolicy.BACKPRESSURE, UnaryOperator.identity());
        }

        final int pollOne(boolean release) {
            if (rehearsal()) {
                return 0;
            }
            Taker taker = new Taker();
            for (int tries = release ? TRIES : 1; tries != 0; tries--) {
                try {
                    queue.poll(taker, 1);
                    if (release) {
                        queue.releasePoller();
                    }
                    return taker.number;
                } catch (IllegalStateException refused) {
                    taker.number = -1;
                }
            }
            return taker.number;
        }

        final int writeOne(int number, boolean release) {
            if (rehearsal()) {
                return 0;
            }
            for (int tries = release ? TRIES : 1; tries != 0; tries--) {
                try {
                    boolean written = write(number);
                    if (release) {
                        writer.release();
                    }
                    return written ? 1 : 0;
                } catch (IllegalStateException refused) {
                    Thread.onSpinWait();
                }
            }
            return -1;
        }

        /** Entries that whole threads took, by the consumer sequence. */
        final int consumed() {
            return (int) slice.getLongAcquire(Region.CONSUMER_SEQUENCE);
        }

        /** Entries that are there to be polled; -2 if one is torn. */
        final int readable() {
            Taker taker = new Taker();
            int count = 0;
            while (queue.poll(taker, 1) != 0) {
                if (taker.number == -2) {
                    return -2;
                }
                count++;
            }
            return count;
        }
    }

    /** A poller written by hand that tests the role, then sets it. */
    abstract static class TestThenSetRig extends Rig {
        private volatile Thread player;
        private long sequence;

        TestThenSetRig() {
            super(2);
        }

        final int pollOneUnguarded() {
            if (player != null) {
                return -1;
            }
            player = Thread.currentThread();
            int slot = Region.slot((int) sequence & 1, 64);
            sequence++;
            return (int) (slice.getLongAcquire(slot) >>> 8) & 0xFF_FFFF; // the counter field of the header
        }
    }

    /** Two pollers. */
    @JCStressTest
    @JCStressMeta(OneGetsIn.class)
    @State
    public static class Pollers extends Rig {
        /** One sample. */
        public Pollers() {
            super(2);
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

    /** Two pollers, each releases the role. */
    @JCStressTest
    @JCStressMeta(HandedOver.class)
    @State
    public static class PollersHandOver extends Rig {
        /** One sample. */
        public PollersHandOver() {
            super(2);
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

    /** Two writers. */
    @JCStressTest
    @JCStressMeta(OneGetsIn.class)
    @State
    public static class Writers extends Rig {
        /** One sample. */
        public Writers() {
            super(0);
        }

        /** Writes. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            result.r1 = writeOne(1, false);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            result.r2 = writeOne(2, false);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = readable();
            recycle();
        }
    }

    /** Two writers, each releases the role. */
    @JCStressTest
    @JCStressMeta(WrittenInTurn.class)
    @State
    public static class WritersHandOver extends Rig {
        /** One sample. */
        public WritersHandOver() {
            super(0);
        }

        /** Writes. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            result.r1 = writeOne(1, true);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            result.r2 = writeOne(2, true);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            result.r3 = readable();
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
