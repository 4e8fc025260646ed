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
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edge RESIZE: the device finds the ring it is offered ready for use, and either it gets the ring or the host gets it back.
 *
 * <p>Moved: the host offers another ring, full of rubbish before, and polls; the device writes three entries. Results are the entries that
 * the device got in, the entries that came out, in the race and after it, and a bit for each wrong word (see {@link Observer}).
 *
 * <p>Either: the ring has been offered; the host takes it back while the device writes an entry. Results are whether the host
 * got it back and whether the device wrote to it.
 */
public class ResizeStress {
    private ResizeStress() {}

    /** What may come of a resize under way. */
    @Outcome(
            id = {"0, 0, 0", "1, 1, 0", "2, 2, 0", "3, 3, 0"},
            expect = ACCEPTABLE,
            desc = "What was written came out, whole and in order.")
    @Outcome(expect = FORBIDDEN, desc = "An entry was lost, doubled, torn, or never written.")
    public static class Moved {
        private Moved() {}
    }

    /** What must come of it if the device is offered a ring that is not ready. */
    @Outcome(
            id = {"0, 0, 0", "1, 1, 0", "2, 2, 0", "3, 3, 0"},
            expect = ACCEPTABLE,
            desc = "What was written came out, whole and in order.")
    @Outcome(
            id = {"3, [012], .*", "2, [01], .*"},
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: an entry was wiped out.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class WipedOut {
        private WipedOut() {}
    }

    /** What may come of accept against cancel. */
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "Cancelled; the device stayed in the old ring.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "Accepted; the device wrote to the new ring.")
    @Outcome(id = "1, 1", expect = FORBIDDEN, desc = "Cancelled, and the device wrote to the caller's memory.")
    @Outcome(expect = FORBIDDEN, desc = "Neither: the ring belongs to nobody.")
    public static class Either {
        private Either() {}
    }

    /** What must come of it if either end tests, then sets. */
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "Cancelled; the device stayed in the old ring.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "Accepted; the device wrote to the new ring.")
    @Outcome(
            id = "1, 1",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: cancelled, and the device wrote to the caller's memory.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Both {
        private Both() {}
    }

    /** Rubbish in every slot: with the owner bit 1, then with 0. */
    private static QueueMemory rubbish(QueueMemory ring) {
        ring.putLong(0, Entry.header(90) | 1);
        ring.putLong(64, Entry.header(91) & ~1);
        return ring;
    }

    abstract static class MovedRig extends QueueRig {
        private static final int LOOKS = 40;
        private final QueueMemory ringSlice = Slices.take();
        private final QueueMemory ring;
        private int written;

        MovedRig() {
            super(2, 64, Fill.WRITE, 1, 0, OverrunPolicy.BACKPRESSURE, UnaryOperator.identity());
            this.ring = rubbish(ringSlice);
        }

        /** For the twin; {@code made} is where the weakened memory goes. */
        MovedRig(CommandFirst[] made) {
            super(2, 64, Fill.WRITE, 1, 0, OverrunPolicy.BACKPRESSURE, memory -> made[0] = new CommandFirst(memory));
            this.ring = made[0].late(rubbish(ringSlice));
        }

        final void writeThree() {
            meetOther();
            written = write(first) ? 1 : 0;
            for (int looks = 0; looks != LOOKS; looks++) {
                writer.flush(); // answers the command, if it has come
            }
            for (int spins = 0; written != 3 && spins != SPINS; spins++) {
                if (write(first + written)) {
                    written++;
                }
            }
        }

        final void resizeAndPoll() {
            meetOne();
            queue.resize(2, ring);
            for (int spins = 0; seen.taken != 3 && spins != SPINS; spins++) {
                queue.poll(seen, 2);
            }
            queue.releasePoller();
        }

        final void judge(III_Result result) {
            while (queue.poll(seen, 2) != 0) {
                Thread.onSpinWait();
            }
            result.r1 = written;
            result.r2 = seen.taken;
            result.r3 = seen.wrong;
            Slices.giveBack(ringSlice);
            recycle();
        }
    }

    abstract static class EitherRig extends QueueRig {
        private final QueueMemory ring = rubbish(Slices.take());
        private int cancelled;

        EitherRig(UnaryOperator<QueueMemory> weakener) {
            super(1, 64, Fill.WRITE, 1, 0, OverrunPolicy.BACKPRESSURE, weakener);
            queue.resize(2, ring);
            queue.releasePoller();
        }

        final void writeOne() {
            meetOther();
            write(first);
        }

        final void cancel() {
            meetOne();
            cancelled = queue.cancelResize() ? 1 : 0;
        }

        final void judge(II_Result result) {
            result.r1 = cancelled;
            result.r2 = ring.getLong(64) >>> 1 == Entry.header(first) >>> 1 ? 1 : 0; // sequence 1 of a ring of 2
            Slices.giveBack(ring);
            recycle();
        }
    }

    /** The host's end taken away: the command is stored first, the slots are made unused afterwards. */
    static final class CommandFirst extends WeakMemory {
        private static final int COMMAND_TO_SLOTS = 30;
        private LateSlots slots;

        CommandFirst(QueueMemory memory) {
            super(memory);
        }

        QueueMemory late(QueueMemory ring) {
            slots = new LateSlots(ring);
            return slots;
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            boolean stored = memory.compareAndSetLong(offset, expected, value);
            if (stored && armed && expected == 0) {
                for (int i = 0; i != COMMAND_TO_SLOTS; i++) {
                    Thread.onSpinWait(); // as long as a cache miss would take
                }
                slots.storeWhatIsLate();
            }
            return stored;
        }

        /** Memory of the new ring: plain stores to headers, which only the host makes, come late. */
        private static final class LateSlots extends WeakMemory {
            private final long[] late = new long[2];

            LateSlots(QueueMemory memory) {
                super(memory);
            }

            @Override
            public void putLong(long offset, long value) {
                if (offset % 64 == 0) {
                    late[(int) offset / 64] = value;
                } else {
                    memory.putLong(offset, value);
                }
            }

            void storeWhatIsLate() {
                memory.putLong(0, late[0]);
                memory.putLong(64, late[1]);
            }
        }
    }

    /** Both ends taken away: the word is tested, then set. */
    static final class TestThenSet extends WeakMemory {
        TestThenSet(QueueMemory memory) {
            super(memory);
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            if (memory.getLongAcquire(offset) != expected) {
                return false;
            }
            if (armed) {
                Thread.onSpinWait(); // as long as a cache miss would take
            }
            memory.putLongRelease(offset, value);
            return true;
        }
    }

    /** Host resizes and polls, device writes. */
    @JCStressTest
    @JCStressMeta(Moved.class)
    @State
    public static class Move extends MovedRig {
        /** One sample. */
        public Move() {
            super();
        }

        /** Writes. */
        @Actor
        public void device() {
            writeThree();
        }

        /** Resizes, then polls. */
        @Actor
        public void host() {
            resizeAndPoll();
        }

        /** Polls the rest. */
        @Arbiter
        public void end(III_Result result) {
            judge(result);
        }
    }

    /** Host cancels, device writes. */
    @JCStressTest
    @JCStressMeta(Either.class)
    @State
    public static class Cancel extends EitherRig {
        /** One sample. */
        public Cancel() {
            super(UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            writeOne();
        }

        /** Cancels. */
        @Actor
        public void host() {
            cancel();
        }

        /** Looks where the entry is. */
        @Arbiter
        public void end(II_Result result) {
            judge(result);
        }
    }

    /** Twin: the command is stored before the slots are made unused. */
    @JCStressTest
    @JCStressMeta(WipedOut.class)
    @State
    public static class TwinCommandFirst extends MovedRig {
        /** One sample. */
        public TwinCommandFirst() {
            super(new CommandFirst[1]);
        }

        /** Writes. */
        @Actor
        public void device() {
            writeThree();
        }

        /** Resizes, then polls. */
        @Actor
        public void host() {
            resizeAndPoll();
        }

        /** Polls the rest. */
        @Arbiter
        public void end(III_Result result) {
            judge(result);
        }
    }

    /** Twin: both ends test the command word, then set it. */
    @JCStressTest
    @JCStressMeta(Both.class)
    @State
    public static class TwinTestThenSet extends EitherRig {
        /** One sample. */
        public TwinTestThenSet() {
            super(TestThenSet::new);
        }

        /** Writes. */
        @Actor
        public void device() {
            writeOne();
        }

        /** Cancels. */
        @Actor
        public void host() {
            cancel();
        }

        /** Looks where the entry is. */
        @Arbiter
        public void end(II_Result result) {
            judge(result);
        }
    }
}
