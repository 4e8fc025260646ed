package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.profile.DeviceEvent;
import io.cqring.simnic.profile.VendorAsyncQueue;
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
 * Edge VENDOR-EQ-OVERRUN: a host that finds out that an event was lost sees what it was about.
 *
 * <p>The queue has one slot, and it is taken; the device loses an event, the host looks for the overrun without waiting for the interrupt. Results:
 * 1 if it took the overrun, 1 if it then saw what the event was about.
 */
public class VendorOverrunStress {
    private VendorOverrunStress() {}

    /** What may come of it. */
    @Outcome(
            id = {"0, [01]", "1, 1"},
            expect = ACCEPTABLE,
            desc = "Not told yet, or told and it is there.")
    @Outcome(expect = FORBIDDEN, desc = "Told too early.")
    public static class Told {
        private Told() {}
    }

    /** What must come of it if the count is stored too early. */
    @Outcome(
            id = {"0, [01]", "1, 1"},
            expect = ACCEPTABLE,
            desc = "Not told yet, or told and it is there.")
    @Outcome(id = "1, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: told too early.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class TooEarly {
        private TooEarly() {}
    }

    /** Where the words lie. */
    private static final int OVERRUNS = 136;

    /** Beside the queue: what the lost event is about. */
    private static final int MATTER = 128 + 128 + 64;

    abstract static class Rig extends Meeting {
        private static final DeviceEvent EVENT = DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 1);

        private final QueueMemory slice = Slices.take();
        private final QueueMemory interruptSlice = Slices.take();
        private final QueueMemory memory;
        private final VendorAsyncQueue events;

        Rig(UnaryOperator<QueueMemory> weakener) {
            memory = weakener.apply(slice);
            events = VendorAsyncQueue.create(VendorProfile.IRDMA, memory, 1, new Interrupt(interruptSlice, null));
            events.post(EVENT);
            memory.putLong(MATTER, 0);
        }

        final void lose() {
            if (memory instanceof VendorTwin twin) {
                twin.isDevice();
            }
            meetOther();
            memory.putLong(MATTER, 1);
            events.post(EVENT);
        }

        final void look(II_Result result) {
            meetOne();
            boolean told = false;
            for (int spins = 0; !told && spins != SPINS; spins++) {
                told = events.takeOverrun();
            }
            result.r1 = told ? 1 : 0;
            result.r2 = (int) memory.getLong(MATTER);
        }

        final void recycle() {
            Slices.giveBack(slice);
            Slices.giveBack(interruptSlice);
        }
    }

    /** The shipped queue. */
    @JCStressTest
    @JCStressMeta(Told.class)
    @State
    public static class LoseAndTake extends Rig {
        /** One sample. */
        public LoseAndTake() {
            super(UnaryOperator.identity());
        }

        /** Device. */
        @Actor
        public void device() {
            lose();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            look(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the count is stored before what the event is about. */
    @JCStressTest
    @JCStressMeta(TooEarly.class)
    @State
    public static class TwinCountFirst extends Rig {
        /** One sample. */
        public TwinCountFirst() {
            super(memory -> new VendorTwin.Overtaken(memory, false, MATTER, OVERRUNS));
        }

        /** Device. */
        @Actor
        public void device() {
            lose();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            look(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
