package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.memory.QueueMemory;
import io.cqring.simnic.profile.BnxtQueue;
import io.cqring.simnic.profile.VendorQueue;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edges VENDOR-OWN and VENDOR-CREDIT: a host that accepts the owner bit of a vendor's entry sees the whole entry, and the device does not
 * overwrite an entry that the host still reads.
 *
 * <p>The device writes three entries into a ring that holds one at a time, so that they are of the first lap and of later ones; the host
 * takes them and compares what can be told apart. Results are entries taken, and what was wrong (bits of {@link VendorRig}); an entry that the
 * device says it has written and that does not come is wrong too.
 */
public class VendorRingStress {
    private VendorRingStress() {}

    /** What may come of it. */
    @Outcome(id = "[0-5], 0", expect = ACCEPTABLE, desc = "Every entry that the host took was whole, and the next.")
    @Outcome(expect = FORBIDDEN, desc = "Host saw words of another lap in an entry that it had accepted, or lost one.")
    public static class Passed {
        private Passed() {}
    }

    /** What must come of it if one end of an edge is missing. */
    @Outcome(id = "[0-5], 0", expect = ACCEPTABLE, desc = "Every entry that the host took was whole, and the next.")
    @Outcome(
            id = "[0-5], [1-9].*",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: words of another lap, or an entry lost.")
    @Outcome(expect = FORBIDDEN, desc = "More entries than there are.")
    public static class Torn {
        private Torn() {}
    }

    abstract static class Rig extends VendorRig {
        private final int first;
        private final int last;
        private int written;
        private volatile boolean deviceDone;

        /** Entries before {@code first} are in the ring already. */
        Rig(
                BiFunction<QueueMemory, QueueMemory, VendorQueue> make,
                int first,
                int last,
                UnaryOperator<QueueMemory> weakener) {
            super(make, weakener);
            this.first = first;
            this.last = last;
        }

        Rig(Vendor vendor, UnaryOperator<QueueMemory> weakener) {
            this(vendor::create, 1, 3, weakener);
        }

        final void fill() {
            meetHost();
            int number = first;
            for (int spins = 0; number <= last && spins != SPINS; spins++) {
                if (writer.hasRoom()) {
                    write(number++);
                } else {
                    Thread.onSpinWait();
                }
            }
            written = number - 1;
            deviceDone = true;
        }

        final void drain(II_Result result) {
            meetDevice();
            for (int spins = 0; taken != last && spins != SPINS; spins++) {
                poll(1);
            }
            if (deviceDone) {
                poll(last);
                wrong |= taken == written ? 0 : LOST;
            }
            result.r1 = taken;
            result.r2 = wrong;
        }
    }

    /** The device's end of VENDOR-OWN taken away: the other words of an entry are overtaken by the one with the owner bit. */
    static final class OwnerFirst extends VendorTwin {
        private final Vendor vendor;
        private final long[] offsets = new long[16];
        private final long[] values = new long[16];
        private int waiting;

        OwnerFirst(Vendor vendor, QueueMemory memory) {
            super(memory);
            this.vendor = vendor;
        }

        @Override
        public void putLong(long offset, long value) {
            if (atDevice()) {
                offsets[waiting] = offset;
                values[waiting++] = value;
            } else {
                memory.putLong(offset, value);
            }
        }

        @Override
        public void putLongRelease(long offset, long value) {
            memory.putLongRelease(offset, value);
            if (atDevice() && vendor.isOwner(offset)) {
                pause();
                for (int i = 0; i < waiting; i++) {
                    memory.putLong(offsets[i], values[i]);
                }
                waiting = 0;
            }
        }
    }

    /** The host's end of VENDOR-OWN taken away: the other words are loaded before the one with the owner bit. */
    static final class WordsFirst extends VendorTwin {
        private final Vendor vendor;
        private final long[] early = new long[8];
        private long entry;

        WordsFirst(Vendor vendor, QueueMemory memory) {
            super(memory);
            this.vendor = vendor;
        }

        @Override
        public long getLongAcquire(long offset) {
            if (atHost() && vendor.isOwner(offset)) {
                entry = offset - vendor.owner;
                for (int word = 0; word < vendor.entryBytes / Long.BYTES; word++) {
                    early[word] = memory.getLong(entry + (long) word * Long.BYTES);
                }
                pause();
            }
            return memory.getLongAcquire(offset);
        }

        @Override
        public long getLong(long offset) {
            return atHost() && vendor.isInRing(offset)
                    ? early[(int) (offset - entry) / Long.BYTES]
                    : memory.getLong(offset);
        }
    }

    /**
     * The host's end of VENDOR-CREDIT taken away: the consumer word is stored as soon as an entry is accepted. Where the ring has a second place,
     * also that of the next entry: the loads of this one are overtaken by both.
     */
    static final class IndexFirst extends VendorTwin {
        private static final int PATIENCE = 50;

        private final Vendor vendor;
        private boolean accepted;
        private int taken;
        private int stored;
        private volatile int published;

        IndexFirst(Vendor vendor, QueueMemory memory) {
            super(memory);
            this.vendor = vendor;
        }

        @Override
        public void putLongRelease(long offset, long value) {
            memory.putLongRelease(offset, value);
            if (atDevice() && vendor.isOwner(offset)) {
                published = ++stored;
            }
        }

        @Override
        public long getLongAcquire(long offset) {
            if (atHost() && vendor.isOwner(offset)) {
                accepted = false;
            }
            return memory.getLongAcquire(offset);
        }

        @Override
        public long getLong(long offset) {
            if (atHost() && vendor.isInRing(offset) && !accepted) {
                accepted = true; // a host that loads another word of an entry has accepted it
                taken++;
                for (int ahead = 0; ahead < vendor.places && published >= taken + ahead; ahead++) {
                    memory.putLongRelease(vendor.consumer, vendor.consumerWord(taken + ahead));
                    for (int spins = 0; published <= taken + ahead && spins != PATIENCE; spins++) {
                        pause();
                    }
                }
            }
            return memory.getLong(offset);
        }
    }

    /** The device's end of VENDOR-CREDIT taken away: a word of the next entry is stored before the credit for it is loaded. */
    static final class OverwriteFirst extends VendorTwin {
        private final Vendor vendor;

        OverwriteFirst(Vendor vendor, QueueMemory memory) {
            super(memory);
            this.vendor = vendor;
        }

        @Override
        public long getLongAcquire(long offset) {
            if (atDevice() && offset == vendor.consumer) {
                memory.putLong(vendor.ring + vendor.length, 0);
            }
            return memory.getLongAcquire(offset);
        }
    }

    /** irdma's halves come one by one, the entry before its extension, as a device may write them. The edge holds for each half. */
    static class Halves extends VendorTwin {
        private boolean waiting;
        private long value;

        Halves(QueueMemory memory) {
            super(memory);
        }

        @Override
        public void putLongRelease(long offset, long value) {
            if (!atDevice()) {
                memory.putLongRelease(offset, value);
            } else if (offset == Vendor.IRDMA_EXTENSION_CONTROL) {
                this.value = value;
                waiting = true;
            } else {
                memory.putLongRelease(offset, value);
                if (waiting) {
                    waiting = false;
                    pause();
                    memory.putLongRelease(Vendor.IRDMA_EXTENSION_CONTROL, this.value);
                    extended();
                }
            }
        }

        /** The extension is valid. */
        void extended() {}
    }

    /** The same, and the extension's VALID overtakes its immediate data. */
    static final class HalvesTorn extends Halves {
        private long immediate;

        HalvesTorn(QueueMemory memory) {
            super(memory);
        }

        @Override
        public void putLong(long offset, long value) {
            if (atDevice() && offset == Vendor.IRDMA_EXTENSION) {
                immediate = value;
            } else {
                memory.putLong(offset, value);
            }
        }

        @Override
        void extended() {
            pause();
            memory.putLong(Vendor.IRDMA_EXTENSION, immediate);
        }
    }

    /** One entry. */
    abstract static class HalvesRig extends Rig {
        HalvesRig(UnaryOperator<QueueMemory> weakener) {
            super(Vendor.IRDMA::create, 1, 1, weakener);
        }
    }

    /** bnxt_re moves to another ring: an entry and the cut-off in the old one, the new one full. The host meets the cut-off in the race. */
    abstract static class SwitchRig extends Rig {
        private static final int DEPTH = 2;

        SwitchRig(UnaryOperator<QueueMemory> weakener) {
            super((memory, scratch) -> BnxtQueue.create(memory, scratch, DEPTH, Vendor.NUMBER), 4, 5, weakener);
            write(1);
            queue.resize(DEPTH, Runnable::run);
            write(2);
            write(3);
        }
    }

    /** mlx5. */
    @JCStressTest
    @JCStressMeta(Passed.class)
    @State
    public static class Mlx5 extends Rig {
        /** One sample. */
        public Mlx5() {
            super(Vendor.MLX5, UnaryOperator.identity());
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** irdma. */
    @JCStressTest
    @JCStressMeta(Passed.class)
    @State
    public static class Irdma extends Rig {
        /** One sample. */
        public Irdma() {
            super(Vendor.IRDMA, UnaryOperator.identity());
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** bnxt_re. */
    @JCStressTest
    @JCStressMeta(Passed.class)
    @State
    public static class Bnxt extends Rig {
        /** One sample. */
        public Bnxt() {
            super(Vendor.BNXT_RE, UnaryOperator.identity());
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** irdma, the extension after the entry. */
    @JCStressTest
    @JCStressMeta(Passed.class)
    @State
    public static class IrdmaHalves extends HalvesRig {
        /** One sample. */
        public IrdmaHalves() {
            super(Halves::new);
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** bnxt_re, beside the move to another ring. */
    @JCStressTest
    @JCStressMeta(Passed.class)
    @State
    public static class BnxtSwitch extends SwitchRig {
        /** One sample. */
        public BnxtSwitch() {
            super(UnaryOperator.identity());
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, mlx5: the word with the owner bit is stored before the others. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinOwnerFirstMlx5 extends Rig {
        /** One sample. */
        public TwinOwnerFirstMlx5() {
            super(Vendor.MLX5, memory -> new OwnerFirst(Vendor.MLX5, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, irdma: the word with the owner bit is stored before the others. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinOwnerFirstIrdma extends Rig {
        /** One sample. */
        public TwinOwnerFirstIrdma() {
            super(Vendor.IRDMA, memory -> new OwnerFirst(Vendor.IRDMA, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, bnxt_re: the word with the owner bit is stored before the others. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinOwnerFirstBnxt extends Rig {
        /** One sample. */
        public TwinOwnerFirstBnxt() {
            super(Vendor.BNXT_RE, memory -> new OwnerFirst(Vendor.BNXT_RE, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, mlx5: the other words are loaded before the owner bit. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinWordsFirstMlx5 extends Rig {
        /** One sample. */
        public TwinWordsFirstMlx5() {
            super(Vendor.MLX5, memory -> new WordsFirst(Vendor.MLX5, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, irdma: the other words are loaded before the owner bit. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinWordsFirstIrdma extends Rig {
        /** One sample. */
        public TwinWordsFirstIrdma() {
            super(Vendor.IRDMA, memory -> new WordsFirst(Vendor.IRDMA, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, bnxt_re: the other words are loaded before the owner bit. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinWordsFirstBnxt extends Rig {
        /** One sample. */
        public TwinWordsFirstBnxt() {
            super(Vendor.BNXT_RE, memory -> new WordsFirst(Vendor.BNXT_RE, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, irdma: the extension's VALID is stored before its immediate data. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinHalvesTorn extends HalvesRig {
        /** One sample. */
        public TwinHalvesTorn() {
            super(HalvesTorn::new);
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, mlx5: the consumer word is stored before the entry is read. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinIndexFirstMlx5 extends Rig {
        /** One sample. */
        public TwinIndexFirstMlx5() {
            super(Vendor.MLX5, memory -> new IndexFirst(Vendor.MLX5, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, irdma: the consumer word is stored before the entry is read. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinIndexFirstIrdma extends Rig {
        /** One sample. */
        public TwinIndexFirstIrdma() {
            super(Vendor.IRDMA, memory -> new IndexFirst(Vendor.IRDMA, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, bnxt_re: the consumer word is stored before the entry is read. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinIndexFirstBnxt extends Rig {
        /** One sample. */
        public TwinIndexFirstBnxt() {
            super(Vendor.BNXT_RE, memory -> new IndexFirst(Vendor.BNXT_RE, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, mlx5: the device stores before it has loaded the credit. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinOverwriteFirstMlx5 extends Rig {
        /** One sample. */
        public TwinOverwriteFirstMlx5() {
            super(Vendor.MLX5, memory -> new OverwriteFirst(Vendor.MLX5, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, bnxt_re: the device stores before it has loaded the credit. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinOverwriteFirstBnxt extends Rig {
        /** One sample. */
        public TwinOverwriteFirstBnxt() {
            super(Vendor.BNXT_RE, memory -> new OverwriteFirst(Vendor.BNXT_RE, memory));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin, bnxt_re: the acknowledgement is stored before the index in the new ring. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinAckFirst extends SwitchRig {
        /** One sample. */
        public TwinAckFirst() {
            super(memory -> new VendorTwin.Overtaken(memory, true, Vendor.BNXT_RE.consumer, Vendor.BNXT_CUT_OFF_ACK));
        }

        /** Device. */
        @Actor
        public void device() {
            fill();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            drain(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
