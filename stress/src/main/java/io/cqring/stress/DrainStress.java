package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.cq.DrainResult;
import io.cqring.cq.OverrunPolicy;
import io.cqring.memory.QueueMemory;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;

/**
 * Edge DRAIN: a drain that calls itself complete has taken all that the writer got in.
 *
 * <p>The device writes until it is told to stop, or has tried often enough and lets its role go; the host drains. Results are the
 * entries that the device got in, the entries that the host took, 1 if the drain was complete, and a bit for each wrong word (see
 * {@link Observer}).
 */
public class DrainStress {
    private DrainStress() {}

    /** What may come of a drain. */
    @Outcome(
            id = {"0, 0, 1, 0", "1, 1, 1, 0", "2, 2, 1, 0", "3, 3, 1, 0"},
            expect = ACCEPTABLE,
            desc = "What was written was drained.")
    @Outcome(expect = FORBIDDEN, desc = "An entry was left behind, or time ran out.")
    public static class Drained {
        private Drained() {}
    }

    /** What must come of it if the writer says "stopped" too early. */
    @Outcome(
            id = {"0, 0, 1, 0", "1, 1, 1, 0", "2, 2, 1, 0", "3, 3, 1, 0"},
            expect = ACCEPTABLE,
            desc = "What was written was drained.")
    @Outcome(
            id = {"1, 0, 1, 0", "2, 1, 1, 0", "3, 2, 1, 0"},
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: complete, with an entry left behind.")
    @Outcome(
            id = {"1, 0, 0, 0", "2, 1, 0, 0", "3, 2, 0, 0"},
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: called complete, then the late entry turned up in the count of what is left.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class LeftBehind {
        private LeftBehind() {}
    }

    abstract static class Rig extends QueueRig {
        Rig(UnaryOperator<QueueMemory> weakener) {
            super(2, 64, Fill.WRITE, 1, 0, OverrunPolicy.BACKPRESSURE, weakener);
        }

        final void writeUntilStopped(IIII_Result result) {
            meetOther();
            int written = 0;
            boolean letIn = false; // not if the host is first to take the role
            try {
                for (int spins = 0; spins != SPINS; spins++, letIn = true) {
                    if (written == 3) {
                        writer.flush(); // so that it is told
                    } else if (write(first + written)) {
                        written++;
                    }
                }
            } catch (IllegalStateException stopped) {
                // As it should be.
            }
            storeWhatIsLate();
            if (letIn) {
                writer.release();
            }
            result.r1 = written;
        }

        final void drain(IIII_Result result) {
            meetOne();
            DrainResult drained = queue.drainAndClose(seen, 10, TimeUnit.SECONDS);
            result.r2 = seen.taken;
            result.r3 = drained.complete() && drained.left() == 0 && drained.drained() == seen.taken ? 1 : 0;
            result.r4 = seen.wrong;
        }

        /** For the twin. */
        void storeWhatIsLate() {}
    }

    /** The device's end taken away: an entry is stored after the answer to a stop that comes with the next call. */
    static final class StoppedFirst extends WeakMemory {
        private static final int ANSWER_TO_ENTRY = 4_000; // longer than the host looks away
        private final long[] offsets = new long[2];
        private final long[] values = new long[2];
        private int count;

        StoppedFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public void putLongRelease(long offset, long value) {
            if (!armed || offset == Region.CONSUMER_SEQUENCE) {
                memory.putLongRelease(offset, value);
                return;
            }
            if (count == 2) { // the entry before: its header and its count
                storeWhatIsLate();
            }
            offsets[count] = offset;
            values[count] = value;
            count++;
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            boolean stored = memory.compareAndSetLong(offset, expected, value);
            if (stored && count != 0) { // the device's answer: the host has nothing that is late
                for (int i = 0; i != ANSWER_TO_ENTRY; i++) {
                    Thread.onSpinWait(); // as long as a cache miss would take
                }
            }
            return stored;
        }

        void storeWhatIsLate() {
            for (int i = 0; i != count; i++) {
                memory.putLongRelease(offsets[i], values[i]);
            }
            count = 0;
        }
    }

    /** Host drains, device writes. */
    @JCStressTest
    @JCStressMeta(Drained.class)
    @State
    public static class Drain extends Rig {
        /** One sample. */
        public Drain() {
            super(UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device(IIII_Result result) {
            writeUntilStopped(result);
        }

        /** Drains. */
        @Actor
        public void host(IIII_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the writer says "stopped" before its last entry is stored. */
    @JCStressTest
    @JCStressMeta(LeftBehind.class)
    @State
    public static class TwinStoppedFirst extends Rig {
        private final StoppedFirst memory;

        /** One sample. */
        public TwinStoppedFirst() {
            this(new StoppedFirst[1]);
        }

        private TwinStoppedFirst(StoppedFirst[] made) {
            super(real -> made[0] = new StoppedFirst(real));
            this.memory = made[0];
        }

        @Override
        void storeWhatIsLate() {
            memory.storeWhatIsLate();
        }

        /** Writes. */
        @Actor
        public void device(IIII_Result result) {
            writeUntilStopped(result);
        }

        /** Drains. */
        @Actor
        public void host(IIII_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
