package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

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
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edge CQ-OWN: a host that accepts the owner bit of an entry sees the whole entry, and nothing of the lap before.
 *
 * <p>The device writes an entry of which every word derives from one number; the host polls and compares every word. On the
 * first lap the slot was empty, on the second it holds an entry with other numbers in every word. Results are entries taken,
 * then a bit for each wrong word (see {@link Observer}).
 *
 * <p>Proved on the shipped classes. The twins run the same shipped classes on a {@link WeakMemory} that takes one end of the
 * edge away, and must be convicted. On x86 the processor keeps the order of stores, so weakening release to opaque would show
 * nothing there: the twins carry the accesses out in the wrong order. What x86 cannot show is whether the release and the
 * acquire that are there would be enough on Arm: run this there as well.
 */
public class CqOwnStress {
    private CqOwnStress() {}

    /** What may come of one entry. */
    @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "Host polled first: empty.")
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "Host took the entry, every word of it.")
    @Outcome(id = "1, [1-9].*", expect = FORBIDDEN, desc = "Owner bit of this lap, words of another: torn publication.")
    @Outcome(expect = FORBIDDEN, desc = "An entry that nobody wrote.")
    public static class OneEntry {
        private OneEntry() {}
    }

    /** What may come of two entries in one batch, once the host has looked at the second one first. */
    @Outcome(id = "0, 0, 0", expect = ACCEPTABLE, desc = "Host came first: empty.")
    @Outcome(
            id = "0, [12], 0",
            expect = ACCEPTABLE,
            desc = "Host looked before the flush was done, and took what was there.")
    @Outcome(id = "1, 2, 0", expect = ACCEPTABLE, desc = "Host saw the second entry, and took both.")
    @Outcome(id = "1, [01], .*", expect = FORBIDDEN, desc = "Second entry valid, first one not: out of order.")
    @Outcome(
            id = "., ., [1-9].*",
            expect = FORBIDDEN,
            desc = "Owner bit of this lap, words of another: torn publication.")
    @Outcome(expect = FORBIDDEN, desc = "An entry that nobody wrote.")
    public static class TwoEntries {
        private TwoEntries() {}
    }

    /** What must come of one entry on a machine that breaks the edge. */
    @Outcome(id = "0, 0", expect = ACCEPTABLE, desc = "Host polled first: empty.")
    @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "Host took the entry, every word of it.")
    @Outcome(
            id = "1, [1-9].*",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: owner bit of this lap, words of another.")
    @Outcome(expect = FORBIDDEN, desc = "An entry that nobody wrote.")
    public static class OneEntryTorn {
        private OneEntryTorn() {}
    }

    /** What must come of a batch on a machine that breaks its order. */
    @Outcome(id = "0, [012], 0", expect = ACCEPTABLE, desc = "Host looked before the flush was done.")
    @Outcome(id = "1, 2, 0", expect = ACCEPTABLE, desc = "Host saw the second entry, and took both.")
    @Outcome(id = "1, 0, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: second entry valid, first one not.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class TwoEntriesBackwards {
        private TwoEntriesBackwards() {}
    }

    /** What may come of a poll: entries taken, wrong words. */
    @Outcome(
            id = {"9, 0", "10, 0", "11, 0", "12, 0"},
            expect = ACCEPTABLE,
            desc = "As many as were valid, every word of them.")
    @Outcome(expect = FORBIDDEN, desc = "An entry that was not looked at was not whole, or not there.")
    public static class AheadRun {
        private AheadRun() {}
    }

    /** What must come of a poll on a machine that breaks the edge. */
    @Outcome(
            id = {"9, 0", "10, 0", "11, 0", "12, 0"},
            expect = ACCEPTABLE,
            desc = "As many as were valid, every word of them.")
    @Outcome(
            id = "12, [1-9].*",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: the last one was valid, and one before it was not whole.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class BrokenRun {
        private BrokenRun() {}
    }

    abstract static class Rig extends QueueRig {
        Rig(int strideBytes, int laps) {
            super(1, strideBytes, Fill.WRITE, laps, 0, OverrunPolicy.BACKPRESSURE, UnaryOperator.identity());
        }

        Rig(int strideBytes, UnaryOperator<QueueMemory> weakener) {
            super(1, strideBytes, Fill.WRITE, 1, 0, OverrunPolicy.BACKPRESSURE, weakener);
        }

        final void pollAndReport(II_Result result) {
            pollUntilTaken();
            report(result);
        }

        final void report(II_Result result) {
            result.r1 = seen.taken;
            result.r2 = seen.wrong;
        }
    }

    /** Two slots; entries in hand are published together. */
    abstract static class BatchRig extends QueueRig {
        private final int secondSlot;
        private final long secondPhase;

        BatchRig(int strideBytes, Fill fill, UnaryOperator<QueueMemory> weakener) {
            super(2, strideBytes, fill, 1, 0, OverrunPolicy.BACKPRESSURE, weakener);
            this.secondSlot = Region.slot(1, strideBytes);
            this.secondPhase = 0; // on the second lap
        }

        final void stageTwoAndFlush() {
            Entry.stage(writer, first);
            Entry.stage(writer, first + 1);
            writer.flush();
        }

        final void claimTwoAndFlush() {
            Entry.claim(writer, first, strideBytes);
            Entry.claim(writer, first + 1, strideBytes);
            writer.flush();
        }

        /** Waits for the second entry, past the queue, then takes what is there. */
        final void lookAtSecondThenPoll(III_Result result) {
            int valid = 0;
            for (int spins = 0; valid == 0 && spins != SPINS; spins++) {
                valid = (slice.getLongAcquire(secondSlot) & 1) == secondPhase ? 1 : 0;
            }
            queue.poll(seen, 2);
            result.r1 = valid;
            result.r2 = seen.taken;
            result.r3 = seen.wrong;
        }
    }

    /** The device's end of the edge taken away: plain stores are overtaken by the release store of the header. */
    static final class HeaderFirst extends WeakMemory {
        private final long[] offsets = new long[16];
        private final long[] values = new long[16];
        private int waiting;

        HeaderFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public void putLong(long offset, long value) {
            if (armed) {
                offsets[waiting] = offset;
                values[waiting++] = value;
            } else {
                memory.putLong(offset, value);
            }
        }

        @Override
        public void putLongRelease(long offset, long value) {
            memory.putLongRelease(offset, value);
            for (int i = 0; i < waiting; i++) {
                memory.putLong(offsets[i], values[i]);
            }
            waiting = 0;
        }
    }

    /** The host's end of the edge taken away: the slot's words are loaded before its owner bit. */
    static final class FieldsFirst extends WeakMemory {
        private final long[] early = new long[16];

        FieldsFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            if (armed && offset == Region.FIRST_SLOT) {
                for (int word = 0; word < 8; word++) {
                    early[word] = memory.getLong(offset + (long) word * Long.BYTES);
                }
            }
            return memory.getLongAcquire(offset);
        }

        @Override
        public long getLong(long offset) {
            return armed ? early[(int) (offset - Region.FIRST_SLOT) / Long.BYTES] : memory.getLong(offset);
        }
    }

    /** The order of a batch taken away: the first header is stored after the second. */
    static final class SecondFirst extends WeakMemory.LateStore {
        SecondFirst(QueueMemory memory) {
            super(memory, Region.slot(0, 64), Region.slot(1, 64));
        }
    }

    /** 32-byte entries, slot never used before. */
    @JCStressTest
    @JCStressMeta(OneEntry.class)
    @State
    public static class FirstLap32 extends Rig {
        /** One sample. */
        public FirstLap32() {
            super(32, 0);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            pollAndReport(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 64-byte entries, slot never used before. */
    @JCStressTest
    @JCStressMeta(OneEntry.class)
    @State
    public static class FirstLap64 extends Rig {
        /** One sample. */
        public FirstLap64() {
            super(64, 0);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            pollAndReport(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 128-byte entries, slot never used before. */
    @JCStressTest
    @JCStressMeta(OneEntry.class)
    @State
    public static class FirstLap128 extends Rig {
        /** One sample. */
        public FirstLap128() {
            super(128, 0);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            pollAndReport(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 32-byte entries, slot recycled. */
    @JCStressTest
    @JCStressMeta(OneEntry.class)
    @State
    public static class SecondLap32 extends Rig {
        /** One sample. */
        public SecondLap32() {
            super(32, 1);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            pollAndReport(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 64-byte entries, slot recycled. */
    @JCStressTest
    @JCStressMeta(OneEntry.class)
    @State
    public static class SecondLap64 extends Rig {
        /** One sample. */
        public SecondLap64() {
            super(64, 1);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            pollAndReport(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 128-byte entries, slot recycled. */
    @JCStressTest
    @JCStressMeta(OneEntry.class)
    @State
    public static class SecondLap128 extends Rig {
        /** One sample. */
        public SecondLap128() {
            super(128, 1);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            pollAndReport(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 32-byte entries, two staged, then flushed: they become valid in order. */
    @JCStressTest
    @JCStressMeta(TwoEntries.class)
    @State
    public static class Batch32 extends BatchRig {
        /** One sample. */
        public Batch32() {
            super(32, Fill.STAGE, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            stageTwoAndFlush();
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            lookAtSecondThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 64-byte entries, two staged, then flushed: they become valid in order. */
    @JCStressTest
    @JCStressMeta(TwoEntries.class)
    @State
    public static class Batch64 extends BatchRig {
        /** One sample. */
        public Batch64() {
            super(64, Fill.STAGE, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            stageTwoAndFlush();
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            lookAtSecondThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 128-byte entries, two staged, then flushed: they become valid in order. */
    @JCStressTest
    @JCStressMeta(TwoEntries.class)
    @State
    public static class Batch128 extends BatchRig {
        /** One sample. */
        public Batch128() {
            super(128, Fill.STAGE, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            stageTwoAndFlush();
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            lookAtSecondThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 32-byte entries, two claimed and half filled, then flushed: what was not set is zero. */
    @JCStressTest
    @JCStressMeta(TwoEntries.class)
    @State
    public static class Claim32 extends BatchRig {
        /** One sample. */
        public Claim32() {
            super(32, Fill.CLAIM, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            claimTwoAndFlush();
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            lookAtSecondThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 64-byte entries, two claimed and half filled, then flushed: what was not set is zero. */
    @JCStressTest
    @JCStressMeta(TwoEntries.class)
    @State
    public static class Claim64 extends BatchRig {
        /** One sample. */
        public Claim64() {
            super(64, Fill.CLAIM, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            claimTwoAndFlush();
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            lookAtSecondThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** 128-byte entries, two claimed and half filled, then flushed: what was not set is zero. */
    @JCStressTest
    @JCStressMeta(TwoEntries.class)
    @State
    public static class Claim128 extends BatchRig {
        /** One sample. */
        public Claim128() {
            super(128, Fill.CLAIM, UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            claimTwoAndFlush();
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            lookAtSecondThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** The same, host with a cursor. */
    @JCStressTest
    @JCStressMeta(OneEntry.class)
    @State
    public static class Cursor64 extends Rig {
        /** One sample. */
        public Cursor64() {
            super(64, 1);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            for (int spins = 0; seen.taken == 0 && spins != SPINS; spins++) {
                if (queue.startPoll()) {
                    seen.onCompletion(queue.completion());
                    queue.endPoll();
                }
            }
            report(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** The same, host with a peek. */
    @JCStressTest
    @JCStressMeta(OneEntry.class)
    @State
    public static class Peek64 extends Rig {
        /** One sample. */
        public Peek64() {
            super(64, 1);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            for (int spins = 0; seen.taken == 0 && spins != SPINS; spins++) {
                if (queue.peek() != null) {
                    seen.onCompletion(queue.completion());
                }
            }
            report(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** The same, host copies entries out. */
    @JCStressTest
    @JCStressMeta(OneEntry.class)
    @State
    public static class PollInto64 extends Rig {
        private final WorkCompletion[] into = {new WorkCompletion()};

        /** One sample. */
        public PollInto64() {
            super(64, 1);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            for (int spins = 0; seen.taken == 0 && spins != SPINS; spins++) {
                if (queue.pollInto(into, 1) != 0) {
                    seen.onCopy(into[0]);
                }
            }
            report(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, 32-byte entries: header stored first. */
    @JCStressTest
    @JCStressMeta(OneEntryTorn.class)
    @State
    public static class TwinHeaderFirst32 extends Rig {
        /** One sample. */
        public TwinHeaderFirst32() {
            super(32, HeaderFirst::new);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            pollAndReport(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, 64-byte entries: header stored first. */
    @JCStressTest
    @JCStressMeta(OneEntryTorn.class)
    @State
    public static class TwinHeaderFirst64 extends Rig {
        /** One sample. */
        public TwinHeaderFirst64() {
            super(64, HeaderFirst::new);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            pollAndReport(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, 128-byte entries: header stored first. */
    @JCStressTest
    @JCStressMeta(OneEntryTorn.class)
    @State
    public static class TwinHeaderFirst128 extends Rig {
        /** One sample. */
        public TwinHeaderFirst128() {
            super(128, HeaderFirst::new);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            pollAndReport(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: host loads the words before the owner bit. */
    @JCStressTest
    @JCStressMeta(OneEntryTorn.class)
    @State
    public static class TwinFieldsFirst64 extends Rig {
        /** One sample. */
        public TwinFieldsFirst64() {
            super(64, FieldsFirst::new);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            write(first);
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            meetOne();
            pollAndReport(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the headers of a batch stored backwards. */
    @JCStressTest
    @JCStressMeta(TwoEntriesBackwards.class)
    @State
    public static class TwinSecondFirst64 extends BatchRig {
        /** One sample. */
        public TwinSecondFirst64() {
            super(64, Fill.STAGE, SecondFirst::new);
        }

        /** Writes. */
        @Actor
        public void device() {
            meetOther();
            stageTwoAndFlush();
        }

        /** Polls. */
        @Actor
        public void host(III_Result result) {
            meetOne();
            lookAtSecondThenPoll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** A poll of more than eight, while the writer writes. */
    @JCStressTest
    @JCStressMeta(AheadRun.class)
    @State
    public static class Ahead32 extends LookAheadRig {
        /** One sample. */
        public Ahead32() {
            super(UnaryOperator.identity());
        }

        /** Writes. */
        @Actor
        public void device() {
            writeThree();
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            pollOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** A poll of more than eight, entries valid out of order. */
    @JCStressTest
    @JCStressMeta(BrokenRun.class)
    @State
    public static class TwinLaterFirst32 extends LookAheadRig {
        /** One sample. */
        public TwinLaterFirst32() {
            super(memory -> new LookAheadRig.LaterFirst(memory, 32));
        }

        /** Writes. */
        @Actor
        public void device() {
            writeThree();
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            pollOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** A poll of more than eight, words loaded before the header that vouches for them. */
    @JCStressTest
    @JCStressMeta(BrokenRun.class)
    @State
    public static class TwinWordsFirst32 extends LookAheadRig {
        /** One sample. */
        public TwinWordsFirst32() {
            super(LookAheadRig.WordsFirst::new);
        }

        /** Writes. */
        @Actor
        public void device() {
            writeThree();
        }

        /** Polls. */
        @Actor
        public void host(II_Result result) {
            pollOnce(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
