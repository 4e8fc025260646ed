package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.cq.ArmMode;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.profile.VendorEventQueue;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edges VENDOR-ARM, VENDOR-EQ-ARM and VENDOR-EQ-OWN: a host that arms a vendor's queue and its event queue, and then sleeps, is woken for the
 * entry that it has not seen, and finds it; and is not woken for one that it had before.
 *
 * <p>The first entry is there. The host takes it, arms, polls, and would sleep if nothing came; the device writes a second entry once there is
 * room, and looks at the arm words on every pass, as the emulated NIC does. Results are how the host went on (see the constants), and the
 * entries that it has got, plus 100 if one was wrong.
 */
public class VendorSleepStress {
    /** The host did not sleep: it found the entry. */
    static final int POLLED = 0;

    /** The host did not sleep: it found the event. */
    static final int TOLD = 1;

    /** The host slept, and an interrupt came. */
    static final int WOKEN = 2;

    /** One of the two was away for too long: nothing can be said. */
    static final int NOTHING = 3;

    /** The host sleeps beside the entry. */
    static final int ASLEEP = 9;

    private VendorSleepStress() {}

    /** What may come of it. */
    @Outcome(id = "[012], 2", expect = ACCEPTABLE, desc = "The host has the entry.")
    @Outcome(id = "3, [12]", expect = ACCEPTABLE, desc = "One of the two was away for too long.")
    @Outcome(id = "9, .*", expect = FORBIDDEN, desc = "The host sleeps beside an entry.")
    @Outcome(id = "[12], 1", expect = FORBIDDEN, desc = "An event, and no entry for it.")
    @Outcome(expect = FORBIDDEN, desc = "A wrong entry.")
    public static class Met {
        private Met() {}
    }

    /** What must come of it where a wake-up can be lost. */
    @Outcome(id = "[012], 2", expect = ACCEPTABLE, desc = "The host has the entry.")
    @Outcome(id = "3, [12]", expect = ACCEPTABLE, desc = "One of the two was away for too long.")
    @Outcome(id = "9, 1", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: the host sleeps beside an entry.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Missed {
        private Missed() {}
    }

    /** What must come of it where an event can come too early. */
    @Outcome(id = "[012], 2", expect = ACCEPTABLE, desc = "The host has the entry.")
    @Outcome(id = "3, [12]", expect = ACCEPTABLE, desc = "One of the two was away for too long.")
    @Outcome(id = "[12], 1", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: an event, and no entry for it.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Early {
        private Early() {}
    }

    /** Memory of an event queue: two doorbells, then one entry. */
    static final class EventWords {
        static final int ARM = 128;
        static final int RING = 256;

        private EventWords() {}
    }

    abstract static class Rig extends VendorRig {
        private static final int HOST_PATIENCE = 5_000;
        private static final int DEVICE_PATIENCE = 2_000;

        private final QueueMemory eventSlice = Slices.take();
        private final QueueMemory interruptSlice = Slices.take();
        private final Interrupt interrupt = new Interrupt(interruptSlice, null);
        private final QueueMemory eventMemory;
        private final VendorEventQueue events;
        private volatile boolean hostDone;

        /** Null until the device has ended; then whether it has written, and looked after the host was done. */
        private volatile Boolean deviceEnd;

        /** The second operator gets the queue's memory, weakened already, and the event queue's. */
        Rig(Vendor vendor, UnaryOperator<QueueMemory> weakener, BinaryOperator<QueueMemory> eventWeakener) {
            super(vendor::create, weakener);
            this.eventMemory = eventWeakener.apply(memory, eventSlice);
            this.events = VendorEventQueue.create(vendor.profile, eventMemory, 1, interrupt);
            write(1);
        }

        Rig(Vendor vendor, UnaryOperator<QueueMemory> weakener) {
            this(vendor, weakener, (cq, eq) -> eq);
        }

        final void writeAndLook() {
            boolean written = begin() && writeSecond(true);
            for (int spins = 0; written && !hostDone && spins != DEVICE_PATIENCE; spins++) {
                pass(true);
            }
            boolean done = hostDone;
            pass(true);
            deviceEnd = written && done;
        }

        /** A device that does not look again, or not at the event queue's word. */
        final void writeAndLookOnce(boolean atEventQueueOnly) {
            boolean written = begin() && writeSecond(false);
            for (int spins = 0; written && !hostDone && spins != DEVICE_PATIENCE; spins++) {
                if (atEventQueueOnly) {
                    pass(false);
                }
            }
            boolean done = hostDone;
            if (atEventQueueOnly) {
                pass(false);
            }
            deviceEnd = written && done;
        }

        private boolean writeSecond(boolean serves) {
            for (int spins = 0; !hostDone && spins != DEVICE_PATIENCE; spins++) {
                boolean room = writer.hasRoom();
                if (room) {
                    write(2);
                }
                if (room || serves) {
                    pass(serves);
                }
                if (room) {
                    return true;
                }
            }
            return false;
        }

        private boolean begin() {
            if (eventMemory instanceof VendorTwin twin) {
                twin.isDevice();
            }
            return meetHost();
        }

        private void pass(boolean serves) {
            if (writer.pastArm() > 0 && writer.answerArm()) {
                events.post(Vendor.NUMBER, writer.eventToggle());
            }
            if (serves) {
                events.serve();
            }
        }

        private int takeEvents() {
            return events.poll((number, toggle) -> queue.onEvent(toggle), 1);
        }

        final void armAndSleep(II_Result result) {
            meetDevice();
            poll(1);
            if (deviceEnd != null) {
                hostDone = true;
                result.r1 = NOTHING;
                result.r2 = taken;
                return;
            }
            queue.arm(ArmMode.NEXT);
            int how = poll(1) != 0 ? POLLED : NOTHING;
            if (how == NOTHING) {
                long seen = interrupt.count();
                if (takeEvents() != 0) {
                    how = TOLD;
                    poll(1);
                    hostDone = true;
                } else {
                    events.arm();
                    hostDone = true;
                    how = sleep(seen);
                }
            } else {
                hostDone = true;
            }
            result.r1 = how;
            result.r2 = wrong == 0 ? taken : taken + 100;
        }

        private int sleep(long seen) {
            Boolean ended = null;
            for (int spins = 0; ended == null && interrupt.count() == seen && spins != HOST_PATIENCE; spins++) {
                ended = deviceEnd;
            }
            if (interrupt.count() == seen) {
                return ended != null && ended ? ASLEEP : NOTHING;
            }
            takeEvents();
            poll(1);
            return WOKEN;
        }

        final void end() {
            recycle();
            Slices.giveBack(eventSlice);
            Slices.giveBack(interruptSlice);
        }
    }

    /** The device's store of an owner bit waits in a store buffer until it has looked at a word. */
    static final class StoreBuffer extends VendorTwin {
        private static final int PAUSES = 6;

        private final int firstOwner;
        private final int lookedAt;
        private boolean waiting;
        private long offset;
        private long value;

        /** Release stores from {@code firstOwner} on wait. */
        StoreBuffer(QueueMemory memory, int firstOwner, int lookedAt) {
            super(memory);
            this.firstOwner = firstOwner;
            this.lookedAt = lookedAt;
        }

        @Override
        public void putLongRelease(long offset, long value) {
            if (atDevice() && offset >= firstOwner) {
                drain(); // of irdma's two only the later one waits
                this.offset = offset;
                this.value = value;
                waiting = true;
            } else {
                memory.putLongRelease(offset, value);
            }
        }

        @Override
        public long getLongAcquire(long offset) {
            return looked(offset, memory.getLongAcquire(offset));
        }

        @Override
        public long getLongOpaque(long offset) {
            return looked(offset, memory.getLongOpaque(offset));
        }

        private long looked(long offset, long loaded) {
            if (offset == lookedAt && atDevice() && waiting) {
                for (int i = 0; i < PAUSES; i++) {
                    pause();
                }
                drain();
            }
            return loaded;
        }

        private void drain() {
            if (waiting) {
                waiting = false;
                memory.putLongRelease(offset, value);
            }
        }
    }

    /** The device loads irdma's arm word before the doorbell that says that there is one. */
    static final class WordFirst extends VendorTwin {
        private long early;

        WordFirst(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            if (offset == Vendor.IRDMA.doorbell && atDevice()) {
                early = memory.getLong(Vendor.IRDMA_ARM_WORD);
                pause();
            }
            return memory.getLongAcquire(offset);
        }

        @Override
        public long getLongOpaque(long offset) {
            return offset == Vendor.IRDMA_ARM_WORD && atDevice() ? early : memory.getLongOpaque(offset);
        }
    }

    /** The queue's memory: the owner bit of an entry waits until its event is there. */
    static final class EntryLate extends VendorTwin {
        private final Vendor vendor;
        private boolean waiting;
        private long offset;
        private long value;

        EntryLate(Vendor vendor, QueueMemory memory) {
            super(memory);
            this.vendor = vendor;
        }

        @Override
        public void putLongRelease(long offset, long value) {
            if (atDevice() && vendor.isOwner(offset)) {
                this.offset = offset;
                this.value = value;
                waiting = true;
            } else {
                memory.putLongRelease(offset, value);
            }
        }

        private void letGo() {
            if (waiting) {
                waiting = false;
                memory.putLongRelease(offset, value);
            }
        }
    }

    /** The event queue's memory: an event overtakes the entry that it is about. */
    static final class EventFirst extends VendorTwin {
        private static final int PAUSES = 6;

        private final EntryLate entries;

        EventFirst(QueueMemory entries, QueueMemory memory) {
            super(memory);
            this.entries = (EntryLate) entries;
        }

        @Override
        public void putLongRelease(long offset, long value) {
            memory.putLongRelease(offset, value);
            if (atDevice() && offset >= EventWords.RING) {
                for (int i = 0; i < PAUSES; i++) {
                    pause();
                }
                entries.letGo();
            }
        }
    }

    /** mlx5. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Mlx5 extends Rig {
        /** One sample. */
        public Mlx5() {
            super(Vendor.MLX5, UnaryOperator.identity());
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLook();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** irdma. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Irdma extends Rig {
        /** One sample. */
        public Irdma() {
            super(Vendor.IRDMA, UnaryOperator.identity());
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLook();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** bnxt_re. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Bnxt extends Rig {
        /** One sample. */
        public Bnxt() {
            super(Vendor.BNXT_RE, UnaryOperator.identity());
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLook();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin, mlx5: the device looks at the arm once, and without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinLooksOnceMlx5 extends Rig {
        /** One sample. */
        public TwinLooksOnceMlx5() {
            super(Vendor.MLX5, memory -> new StoreBuffer(memory, Vendor.MLX5.ring, Vendor.MLX5.doorbell));
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLookOnce(false);
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin, irdma: the device looks at the arm once, and without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinLooksOnceIrdma extends Rig {
        /** One sample. */
        public TwinLooksOnceIrdma() {
            super(Vendor.IRDMA, memory -> new StoreBuffer(memory, Vendor.IRDMA.ring, Vendor.IRDMA.doorbell));
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLookOnce(false);
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin, bnxt_re: the device looks at the arm once, and without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinLooksOnceBnxt extends Rig {
        /** One sample. */
        public TwinLooksOnceBnxt() {
            super(Vendor.BNXT_RE, memory -> new StoreBuffer(memory, Vendor.BNXT_RE.ring, Vendor.BNXT_RE.doorbell));
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLookOnce(false);
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin, irdma: the doorbell is stored before the arm word. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinDoorbellFirst extends Rig {
        /** One sample. */
        public TwinDoorbellFirst() {
            super(
                    Vendor.IRDMA,
                    memory -> new VendorTwin.Overtaken(memory, true, Vendor.IRDMA_ARM_WORD, Vendor.IRDMA.doorbell));
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLook();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin, irdma: the arm word is loaded before the doorbell. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinWordFirst extends Rig {
        /** One sample. */
        public TwinWordFirst() {
            super(Vendor.IRDMA, WordFirst::new);
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLook();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin, irdma: the arm is stored before the consumer index. */
    @JCStressTest
    @JCStressMeta(Early.class)
    @State
    public static class TwinIndexLateIrdma extends Rig {
        /** One sample. */
        public TwinIndexLateIrdma() {
            super(
                    Vendor.IRDMA,
                    memory -> new VendorTwin.Overtaken(memory, true, Vendor.IRDMA.consumer, Vendor.IRDMA.doorbell));
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLook();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin, bnxt_re: the arm is stored before the consumer index. */
    @JCStressTest
    @JCStressMeta(Early.class)
    @State
    public static class TwinIndexLateBnxt extends Rig {
        /** One sample. */
        public TwinIndexLateBnxt() {
            super(
                    Vendor.BNXT_RE,
                    memory -> new VendorTwin.Overtaken(memory, true, Vendor.BNXT_RE.consumer, Vendor.BNXT_RE.doorbell));
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLook();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin, mlx5: the event is stored before the entry. */
    @JCStressTest
    @JCStressMeta(Early.class)
    @State
    public static class TwinEventFirstMlx5 extends Rig {
        /** One sample. */
        public TwinEventFirstMlx5() {
            super(Vendor.MLX5, memory -> new EntryLate(Vendor.MLX5, memory), EventFirst::new);
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLook();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin, irdma: the event is stored before the entry. */
    @JCStressTest
    @JCStressMeta(Early.class)
    @State
    public static class TwinEventFirstIrdma extends Rig {
        /** One sample. */
        public TwinEventFirstIrdma() {
            super(Vendor.IRDMA, memory -> new EntryLate(Vendor.IRDMA, memory), EventFirst::new);
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLook();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin, bnxt_re: the event is stored before the entry. */
    @JCStressTest
    @JCStressMeta(Early.class)
    @State
    public static class TwinEventFirstBnxt extends Rig {
        /** One sample. */
        public TwinEventFirstBnxt() {
            super(Vendor.BNXT_RE, memory -> new EntryLate(Vendor.BNXT_RE, memory), EventFirst::new);
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLook();
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }

    /** Twin: the device looks at the event queue's arm once, and without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinServesOnce extends Rig {
        /** One sample. */
        public TwinServesOnce() {
            super(
                    Vendor.MLX5,
                    UnaryOperator.identity(),
                    (cq, eq) -> new StoreBuffer(eq, EventWords.RING, EventWords.ARM));
        }

        /** Device. */
        @Actor
        public void device() {
            writeAndLookOnce(true);
        }

        /** Host. */
        @Actor
        public void host(II_Result result) {
            armAndSleep(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void over() {
            end();
        }
    }
}
