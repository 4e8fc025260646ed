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
 * Edge CQ-SHARE: of many pollers, the one whose compare-and-set succeeds has the entries, and its copies of them are whole.
 *
 * <p>Two actors, each a poller, a writer, or a thread that plays both and so laps the other one while it copies. The entries of
 * the race are numbered 1, 2, 3 and so on. Results are the numbers that the first actor took, written one behind the other
 * ("12": entry 1, then entry 2), the same for the second, and what is wrong: a bit for each wrong word (see {@link Observer}),
 * and the bits of {@link ShareRig}: an entry taken twice, lost, out of order, never written.
 *
 * <p>Proved on the shipped classes. The twins run them on a {@link WeakMemory} that does in earnest what a weaker access
 * would allow. On x86 a compare-and-set is a full fence and loads keep their order, so what is proved of the loads there is
 * that the code and the JIT keep them where they belong. Run this on Arm as well.
 */
public class CqShareStress {
    private static final ShareRig.Pool ONE_SLOT_32 = new ShareRig.Pool(1, 32, 1);
    private static final ShareRig.Pool ONE_SLOT_64 = new ShareRig.Pool(1, 64, 1);
    private static final ShareRig.Pool ONE_SLOT_128 = new ShareRig.Pool(1, 128, 1);
    private static final ShareRig.Pool TWO_SLOTS_32 = new ShareRig.Pool(2, 32, 2);
    private static final ShareRig.Pool TWO_SLOTS_64 = new ShareRig.Pool(2, 64, 2);
    private static final ShareRig.Pool TWO_SLOTS_128 = new ShareRig.Pool(2, 128, 2);
    private static final ShareRig.Pool FOUR_SLOTS_32 = new ShareRig.Pool(4, 32, 4);
    private static final ShareRig.Pool FOUR_SLOTS_64 = new ShareRig.Pool(4, 64, 4);

    private static final ShareRig.Pool RIVALS_OF_ONE_32 = ShareRig.Pool.ofRivals(4, 32, 1);
    private static final ShareRig.Pool RIVALS_OF_ONE_64 = ShareRig.Pool.ofRivals(4, 64, 1);
    private static final ShareRig.Pool RIVALS_OF_TWO_64 = ShareRig.Pool.ofRivals(4, 64, 2);
    private static final ShareRig.Pool RIVALS_LAPPED_64 = ShareRig.Pool.ofRivals(2, 64, 1);

    private CqShareStress() {}

    /** What may come of two entries and two pollers that take one each. */
    @Outcome(id = "1, 2, 0", expect = ACCEPTABLE, desc = "The first poller was first.")
    @Outcome(id = "2, 1, 0", expect = ACCEPTABLE, desc = "The second poller was first.")
    @Outcome(
            id = {"1, 1, .*", "2, 2, .*"},
            expect = FORBIDDEN,
            desc = "An entry was taken twice.")
    @Outcome(expect = FORBIDDEN, desc = "An entry was lost, torn, or never written.")
    public static class OneEach {
        private OneEach() {}
    }

    /** What may come of four entries, a poller that takes up to three and one that takes up to two. */
    @Outcome(id = "123, 4, 0", expect = ACCEPTABLE, desc = "The first poller was first.")
    @Outcome(id = "34, 12, 0", expect = ACCEPTABLE, desc = "The second poller was first.")
    @Outcome(expect = FORBIDDEN, desc = "A claim was split, or an entry lost, doubled or torn.")
    public static class BatchEach {
        private BatchEach() {}
    }

    /** What may come of four entries and two pollers that claim one at a time until there is none. */
    @Outcome(
            id = {
                "1234, 0, 0", "123, 4, 0", "124, 3, 0", "12, 34, 0",
                "134, 2, 0", "13, 24, 0", "14, 23, 0", "1, 234, 0",
                "234, 1, 0", "23, 14, 0", "24, 13, 0", "2, 134, 0",
                "34, 12, 0", "3, 124, 0", "4, 123, 0", "0, 1234, 0"
            },
            expect = ACCEPTABLE,
            desc = "Each entry went to one poller, and to each in order.")
    @Outcome(expect = FORBIDDEN, desc = "An entry was lost, doubled, torn, left, or out of order.")
    public static class Singles {
        private Singles() {}
    }

    /** What may come of four entries and two pollers that claim two at a time until there is none. */
    @Outcome(
            id = {"1234, 0, 0", "12, 34, 0", "34, 12, 0", "0, 1234, 0"},
            expect = ACCEPTABLE,
            desc = "Each pair went to one poller, and to each in order.")
    @Outcome(expect = FORBIDDEN, desc = "A pair was split, or an entry lost, doubled, torn or left.")
    public static class Pairs {
        private Pairs() {}
    }

    /** What may come of a race with the writer. */
    @Outcome(id = "[0-9]+, [0-9]+, 0", expect = ACCEPTABLE, desc = "Every entry once, in order, whole.")
    @Outcome(expect = FORBIDDEN, desc = "An entry was lost, doubled or torn.")
    public static class Accounted {
        private Accounted() {}
    }

    /** What must come of a race on a machine that breaks the edge. */
    @Outcome(id = "[0-9]+, [0-9]+, 0", expect = ACCEPTABLE, desc = "Every entry once, in order, whole.")
    @Outcome(
            id = "[0-9]+, [0-9]+, [1-9].*",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: an entry was lost, doubled or torn.")
    @Outcome(expect = FORBIDDEN, desc = "No number of an entry.")
    public static class Unaccounted {
        private Unaccounted() {}
    }

    /** A sample of two actors on one rig. */
    abstract static class Race extends Meeting {
        final ShareRig rig;

        Race(ShareRig.Pool pool, int backlog) {
            this.rig = pool.take();
            rig.prepare(backlog);
        }

        Race(int capacity, int backlog, UnaryOperator<QueueMemory> weakener) {
            this.rig = new ShareRig(capacity, 64, capacity, weakener, null);
            rig.prepare(backlog);
        }
    }

    /** A sample of two actors on one rig of pollers. */
    abstract static class AheadRace extends Meeting {
        final LookAheadShareRig rig;

        AheadRace(LookAheadShareRig rig) {
            this.rig = rig;
        }
    }

    /** The slots loaded before the consumer sequence that says which of them is next; for one thread, the victim. */
    static final class SlotsFirst extends WeakMemory {
        private static final int WORDS = 8;

        private final long[] early = new long[WORDS];
        private Thread victim;
        private boolean loaded;

        SlotsFirst(QueueMemory memory) {
            super(memory);
        }

        private boolean isVictim() {
            return armed && Thread.currentThread() == victim;
        }

        @Override
        public long getLongAcquire(long offset) {
            if (isVictim()) {
                if (offset == Region.CONSUMER_SEQUENCE && !loaded) {
                    loaded = true;
                    for (int word = 0; word != WORDS; word++) {
                        early[word] = memory.getLong(Region.FIRST_SLOT + (long) word * Long.BYTES);
                    }
                    for (int spins = 0; spins != Meeting.SPINS; spins++) { // as long as a few cache misses would take
                        Thread.onSpinWait();
                    }
                } else if (offset >= Region.FIRST_SLOT) {
                    return getLong(offset);
                }
            }
            return memory.getLongAcquire(offset);
        }

        @Override
        public long getLong(long offset) {
            return isVictim() ? early[(int) (offset - Region.FIRST_SLOT) / Long.BYTES] : memory.getLong(offset);
        }
    }

    /** Compared, then stored. */
    static final class CompareThenStore extends WeakMemory {
        CompareThenStore(QueueMemory memory) {
            super(memory);
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            if (!armed) {
                return memory.compareAndSetLong(offset, expected, value);
            }
            if (memory.getLongAcquire(offset) != expected) {
                return false;
            }
            memory.putLongRelease(offset, value);
            return true;
        }
    }

    /** One slot: claimed as soon as it is found valid, before it is copied. */
    static final class ClaimFirst extends WeakMemory {
        private boolean claimed;

        ClaimFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            long value = memory.getLongAcquire(offset);
            if (armed && offset == Region.FIRST_SLOT) {
                long sequence = memory.getLongAcquire(Region.CONSUMER_SEQUENCE);
                if ((value & 1) == (~sequence & 1)) {
                    claimed = memory.compareAndSetLong(Region.CONSUMER_SEQUENCE, sequence, sequence + 1);
                }
            }
            return value;
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            return armed ? claimed : memory.compareAndSetLong(offset, expected, value);
        }
    }

    /** Two pollers, an entry each, 32-byte entries. */
    @JCStressTest
    @JCStressMeta(OneEach.class)
    @State
    public static class Pollers32 extends Race {
        /** One sample. */
        public Pollers32() {
            super(TWO_SLOTS_32, 2);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(1);
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(1);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two pollers, an entry each, 64-byte entries. */
    @JCStressTest
    @JCStressMeta(OneEach.class)
    @State
    public static class Pollers64 extends Race {
        /** One sample. */
        public Pollers64() {
            super(TWO_SLOTS_64, 2);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(1);
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(1);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two pollers, an entry each, 128-byte entries. */
    @JCStressTest
    @JCStressMeta(OneEach.class)
    @State
    public static class Pollers128 extends Race {
        /** One sample. */
        public Pollers128() {
            super(TWO_SLOTS_128, 2);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(1);
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(1);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two cursors, an entry each. */
    @JCStressTest
    @JCStressMeta(OneEach.class)
    @State
    public static class Cursors64 extends Race {
        /** One sample. */
        public Cursors64() {
            super(TWO_SLOTS_64, 2);
        }

        /** Shows one. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.showOne();
        }

        /** Shows one. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.showOther();
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** A cursor against a poll, an entry each. */
    @JCStressTest
    @JCStressMeta(OneEach.class)
    @State
    public static class Cursor64 extends Race {
        /** One sample. */
        public Cursor64() {
            super(TWO_SLOTS_64, 2);
        }

        /** Shows one. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.showOne();
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(1);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Copies out against a poll, an entry each. */
    @JCStressTest
    @JCStressMeta(OneEach.class)
    @State
    public static class PollInto64 extends Race {
        /** One sample. */
        public PollInto64() {
            super(TWO_SLOTS_64, 2);
        }

        /** Copies out. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.copyOne();
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(1);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two pollers that claim batches, 32-byte entries. */
    @JCStressTest
    @JCStressMeta(BatchEach.class)
    @State
    public static class Batches32 extends Race {
        /** One sample. */
        public Batches32() {
            super(FOUR_SLOTS_32, 4);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(3);
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(2);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two pollers that claim batches, 64-byte entries. */
    @JCStressTest
    @JCStressMeta(BatchEach.class)
    @State
    public static class Batches64 extends Race {
        /** One sample. */
        public Batches64() {
            super(FOUR_SLOTS_64, 4);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(3);
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(2);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two pollers that know each other as rivals and so copy ahead, single entries of 32 bytes. */
    @JCStressTest
    @JCStressMeta(Singles.class)
    @State
    public static class Rivals32 extends Race {
        /** One sample. */
        public Rivals32() {
            super(RIVALS_OF_ONE_32, 4);
        }

        /** Polls all there is. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(rig.capacity);
        }

        /** Polls all there is. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(rig.capacity);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two pollers that know each other as rivals and so copy ahead, single entries of 64 bytes. */
    @JCStressTest
    @JCStressMeta(Singles.class)
    @State
    public static class Rivals64 extends Race {
        /** One sample. */
        public Rivals64() {
            super(RIVALS_OF_ONE_64, 4);
        }

        /** Polls all there is. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(rig.capacity);
        }

        /** Polls all there is. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(rig.capacity);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two pollers that know each other as rivals and so copy ahead, pairs of entries of 64 bytes. */
    @JCStressTest
    @JCStressMeta(Pairs.class)
    @State
    public static class RivalsInPairs64 extends Race {
        /** One sample. */
        public RivalsInPairs64() {
            super(RIVALS_OF_TWO_64, 4);
        }

        /** Polls all there is. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(rig.capacity);
        }

        /** Polls all there is. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(rig.capacity);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two slots: a rival has copied the second entry ahead, while the other polls and writes, twice round. */
    @JCStressTest
    @JCStressMeta(Accounted.class)
    @State
    public static class RivalsLapped64 extends Race {
        /** One sample. */
        public RivalsLapped64() {
            super(RIVALS_LAPPED_64, 2);
            rig.pollOne(1); // and copies the next
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(rig.capacity);
        }

        /** Polls and writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.lap(2);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** One slot, 32-byte entries: the other polls and writes, twice round, while one copies. */
    @JCStressTest
    @JCStressMeta(Accounted.class)
    @State
    public static class Lapped1x32 extends Race {
        /** One sample. */
        public Lapped1x32() {
            super(ONE_SLOT_32, 1);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(1);
        }

        /** Polls and writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.lap(2);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** One slot, 64-byte entries: the other polls and writes, twice round, while one copies. */
    @JCStressTest
    @JCStressMeta(Accounted.class)
    @State
    public static class Lapped1x64 extends Race {
        /** One sample. */
        public Lapped1x64() {
            super(ONE_SLOT_64, 1);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(1);
        }

        /** Polls and writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.lap(2);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** One slot, 128-byte entries: the other polls and writes, twice round, while one copies. */
    @JCStressTest
    @JCStressMeta(Accounted.class)
    @State
    public static class Lapped1x128 extends Race {
        /** One sample. */
        public Lapped1x128() {
            super(ONE_SLOT_128, 1);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(1);
        }

        /** Polls and writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.lap(2);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two slots, 32-byte entries: the other polls and writes, twice round, while one copies. */
    @JCStressTest
    @JCStressMeta(Accounted.class)
    @State
    public static class Lapped2x32 extends Race {
        /** One sample. */
        public Lapped2x32() {
            super(TWO_SLOTS_32, 2);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(2);
        }

        /** Polls and writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.lap(2);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two slots, 64-byte entries: the other polls and writes, twice round, while one copies. */
    @JCStressTest
    @JCStressMeta(Accounted.class)
    @State
    public static class Lapped2x64 extends Race {
        /** One sample. */
        public Lapped2x64() {
            super(TWO_SLOTS_64, 2);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(2);
        }

        /** Polls and writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.lap(2);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two slots, 128-byte entries: the other polls and writes, twice round, while one copies. */
    @JCStressTest
    @JCStressMeta(Accounted.class)
    @State
    public static class Lapped2x128 extends Race {
        /** One sample. */
        public Lapped2x128() {
            super(TWO_SLOTS_128, 2);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(2);
        }

        /** Polls and writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.lap(2);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** One slot: the other writes as soon as a slot is free. */
    @JCStressTest
    @JCStressMeta(Accounted.class)
    @State
    public static class Written1x64 extends Race {
        /** One sample. */
        public Written1x64() {
            super(ONE_SLOT_64, 1);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOneUntil(2 * rig.capacity);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.writeWhenFree(rig.capacity);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Two slots: the other writes as soon as a slot is free. */
    @JCStressTest
    @JCStressMeta(Accounted.class)
    @State
    public static class Written2x64 extends Race {
        /** One sample. */
        public Written2x64() {
            super(TWO_SLOTS_64, 2);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOneUntil(2 * rig.capacity);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.writeWhenFree(rig.capacity);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Twin: the words of an entry loaded before its owner bit. */
    @JCStressTest
    @JCStressMeta(Unaccounted.class)
    @State
    public static class TwinPlainHeader64 extends Race {
        /** One sample. */
        public TwinPlainHeader64() {
            super(1, 0, CqOwnStress.FieldsFirst::new);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOneUntil(1);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.writeWhenFree(1);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Twin: the slots loaded before the consumer sequence. */
    @JCStressTest
    @JCStressMeta(Unaccounted.class)
    @State
    public static class TwinSlotsFirst64 extends Race {
        /** One sample. */
        public TwinSlotsFirst64() {
            super(1, 1, SlotsFirst::new);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            ((SlotsFirst) rig.memory).victim = Thread.currentThread();
            rig.pollOne(1);
        }

        /** Polls and writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.lap(2);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Twin: compared, then stored. */
    @JCStressTest
    @JCStressMeta(Unaccounted.class)
    @State
    public static class TwinCompareThenStore64 extends Race {
        /** One sample. */
        public TwinCompareThenStore64() {
            super(2, 2, CompareThenStore::new);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(1);
        }

        /** Polls. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.pollOther(1);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** Twin: claimed before it is copied. */
    @JCStressTest
    @JCStressMeta(Unaccounted.class)
    @State
    public static class TwinClaimFirst64 extends Race {
        /** One sample. */
        public TwinClaimFirst64() {
            super(1, 1, ClaimFirst::new);
        }

        /** Polls. */
        @Actor
        public void one(III_Result result) {
            meetOther();
            rig.pollOne(1);
        }

        /** Writes. */
        @Actor
        public void other(III_Result result) {
            meetOne();
            rig.writeWhenFree(1);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** A claim of more than eight, while the writer writes, and another poller and the next lap come. */
    @JCStressTest
    @JCStressMeta(Accounted.class)
    @State
    public static class Ahead64 extends AheadRace {
        /** One sample. */
        public Ahead64() {
            super(LookAheadShareRig.take());
        }

        /** Claims. */
        @Actor
        public void one() {
            meetOther();
            rig.claim();
        }

        /** Writes, polls, writes. */
        @Actor
        public void other() {
            meetOne();
            rig.writeAndLap();
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }

    /** A claim of more than eight, entries valid out of order. */
    @JCStressTest
    @JCStressMeta(Unaccounted.class)
    @State
    public static class TwinLaterFirst64 extends AheadRace {
        /** One sample. */
        public TwinLaterFirst64() {
            super(LookAheadShareRig.twin());
        }

        /** Claims. */
        @Actor
        public void one() {
            meetOther();
            rig.claim();
        }

        /** Writes, polls, writes. */
        @Actor
        public void other() {
            meetOne();
            rig.writeAndLap();
        }

        /** Ends the sample. */
        @Arbiter
        public void end(III_Result result) {
            rig.finish(result);
        }
    }
}
