package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.profile.CqEventHandler;
import io.cqring.simnic.profile.VendorEventQueue;
import io.cqring.simnic.profile.VendorProfile;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edges VENDOR-EQ-OWN and VENDOR-EQ-CREDIT: a host that accepts an event gets both words of it, and the device does not overwrite an event that
 * the host still reads.
 *
 * <p>On bnxt_re's events, which have two words; mlx5's and irdma's have one, which is whole or not there. The device posts three events to a queue
 * of one slot, the host takes them and compares. Results are events taken, and what was wrong with them.
 */
public class VendorEventStress {
    private VendorEventStress() {}

    /** What may come of it. */
    @Outcome(id = "[0-3], 0", expect = ACCEPTABLE, desc = "Every event that the host took was whole, and the next.")
    @Outcome(expect = FORBIDDEN, desc = "A word of another lap, or an event lost.")
    public static class Passed {
        private Passed() {}
    }

    /** What must come of it if one end of an edge is missing. */
    @Outcome(id = "[0-3], 0", expect = ACCEPTABLE, desc = "Every event that the host took was whole, and the next.")
    @Outcome(
            id = "[0-3], [1-9].*",
            expect = ACCEPTABLE_INTERESTING,
            desc = "Convicted: a word of another lap, or an event lost.")
    @Outcome(expect = FORBIDDEN, desc = "More events than there are.")
    public static class Torn {
        private Torn() {}
    }

    /** Where the words lie. */
    private static final int CONSUMER = 0;

    private static final int NUMBERS = 256;
    private static final int OWNER = 264;

    abstract static class Rig extends Meeting implements CqEventHandler {
        private static final int LAST = 3;
        private static final int LOST = 1 << 2;

        private final QueueMemory slice = Slices.take();
        private final QueueMemory interruptSlice = Slices.take();
        private final QueueMemory memory;
        private final VendorEventQueue events;
        private int taken;
        private int wrong;
        private volatile boolean deviceDone;

        Rig(UnaryOperator<QueueMemory> weakener) {
            this.memory = weakener.apply(slice);
            this.events =
                    VendorEventQueue.create(VendorProfile.BNXT_RE, memory, 1, new Interrupt(interruptSlice, null));
        }

        private static int number(int event) {
            return event * 0x0101_0101;
        }

        private static int toggle(int event) {
            return event & 3;
        }

        @Override
        public void onEvent(int number, int toggle) {
            taken++;
            wrong |= (number == number(taken) ? 0 : 1) | (toggle == toggle(taken) ? 0 : 1 << 1);
        }

        final void post() {
            if (memory instanceof VendorTwin twin) {
                twin.isDevice();
            }
            meetOther();
            int next = 1;
            for (int spins = 0; next <= LAST && spins != SPINS; spins++) {
                if (events.post(number(next), toggle(next))) {
                    next++;
                }
            }
            deviceDone = next > LAST;
        }

        final void take(II_Result result) {
            if (memory instanceof VendorTwin twin) {
                twin.isHost();
            }
            meetOne();
            for (int spins = 0; taken != LAST && spins != SPINS; spins++) {
                events.poll(this, 1);
            }
            if (deviceDone) {
                events.poll(this, LAST);
                wrong |= taken == LAST ? 0 : LOST;
            }
            result.r1 = taken;
            result.r2 = wrong;
        }

        final void recycle() {
            Slices.giveBack(slice);
            Slices.giveBack(interruptSlice);
        }
    }

    /** The host loads the other word before the one with the owner bit. */
    static final class NumberFirst extends VendorTwin {
        private long early;

        NumberFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            if (offset == OWNER && atHost()) {
                early = memory.getLong(NUMBERS);
                pause();
            }
            return memory.getLongAcquire(offset);
        }

        @Override
        public long getLong(long offset) {
            return offset == NUMBERS && atHost() ? early : memory.getLong(offset);
        }
    }

    /** The host stores the consumer index as soon as it has accepted an event. */
    static final class IndexFirst extends VendorTwin {
        private static final int PAUSES = 4;

        private boolean accepted;
        private long taken;

        IndexFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            accepted &= !(offset == OWNER && atHost());
            return memory.getLongAcquire(offset);
        }

        @Override
        public long getLong(long offset) {
            if (offset == NUMBERS && atHost() && !accepted) {
                accepted = true; // a host that loads the other word has accepted the event
                memory.putLongRelease(CONSUMER, ++taken);
                for (int i = 0; i < PAUSES; i++) {
                    pause();
                }
            }
            return memory.getLong(offset);
        }
    }

    /** The device stores to the slot before it loads the consumer index. */
    static final class OverwriteFirst extends VendorTwin {
        OverwriteFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            if (offset == CONSUMER && atDevice()) {
                memory.putLong(NUMBERS, 0);
            }
            return memory.getLongAcquire(offset);
        }
    }

    /** The shipped queue. */
    @JCStressTest
    @JCStressMeta(Passed.class)
    @State
    public static class PostAndPoll extends Rig {
        /** One sample. */
        public PostAndPoll() {
            super(UnaryOperator.identity());
        }

        /** Device. */
        @Actor
        public void device() {
            post();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            take(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the owner bit is stored before the other word. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinOwnerFirst extends Rig {
        /** One sample. */
        public TwinOwnerFirst() {
            super(memory -> new VendorTwin.Overtaken(memory, false, NUMBERS, OWNER));
        }

        /** Device. */
        @Actor
        public void device() {
            post();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            take(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the other word is loaded before the owner bit. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinNumberFirst extends Rig {
        /** One sample. */
        public TwinNumberFirst() {
            super(NumberFirst::new);
        }

        /** Device. */
        @Actor
        public void device() {
            post();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            take(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the consumer index is stored before the event is read. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinIndexFirst extends Rig {
        /** One sample. */
        public TwinIndexFirst() {
            super(IndexFirst::new);
        }

        /** Device. */
        @Actor
        public void device() {
            post();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            take(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the slot is stored to before the consumer index is loaded. */
    @JCStressTest
    @JCStressMeta(Torn.class)
    @State
    public static class TwinOverwriteFirst extends Rig {
        /** One sample. */
        public TwinOverwriteFirst() {
            super(OverwriteFirst::new);
        }

        /** Device. */
        @Actor
        public void device() {
            post();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            take(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
