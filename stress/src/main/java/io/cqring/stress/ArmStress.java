package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.cq.EventSink;
import io.cqring.cq.OverrunPolicy;
import io.cqring.cq.SharedWriter;
import io.cqring.memory.QueueMemory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edge ARM: a host that is about to sleep sees the entry, or whoever publishes it sees the arm and raises the event, once.
 *
 * <p>The host arms an empty queue and would sleep if the arm reports nothing; the other actor publishes, closes, or overruns the
 * queue. Results are 1 if the host learned of it by itself, and the events raised.
 */
public class ArmStress {
    private ArmStress() {}

    /** What may come of one arm. */
    @Outcome(id = "1, [01]", expect = ACCEPTABLE, desc = "The host does not sleep.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "The host sleeps, and is woken.")
    @Outcome(expect = FORBIDDEN, desc = "The host sleeps beside an entry, or gets two events for one arm.")
    public static class Met {
        private Met() {}
    }

    /** What must come of it without a full fence at one of the ends, or without the look after the arm. */
    @Outcome(id = "1, [01]", expect = ACCEPTABLE, desc = "The host does not sleep.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "The host sleeps, and is woken.")
    @Outcome(id = "0, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: the event is lost.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Missed {
        private Missed() {}
    }

    /** What must come of it if the answer is tested, then set. */
    @Outcome(id = "[01], [01]", expect = ACCEPTABLE, desc = "One event at most.")
    @Outcome(id = "[01], 2", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: two events for one arm.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Doubled {
        private Doubled() {}
    }

    /** What may come of an arm while the event of the last is taken: then an entry, after a new arm. */
    @Outcome(id = "1, 2", expect = ACCEPTABLE, desc = "Two numbers, an event for each.")
    @Outcome(expect = FORBIDDEN, desc = "An event was not taken, or the next arm was not answered.")
    public static class Numbered {
        private Numbered() {}
    }

    /** What must come of it if the arm word is tested, then set. */
    @Outcome(id = "1, 2", expect = ACCEPTABLE, desc = "Two numbers, an event for each.")
    @Outcome(id = "1, 1", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: answered for ever, no event comes again.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class NumberedBack {
        private NumberedBack() {}
    }

    /** Fences of one thread left out. The others keep theirs, and all keep what a compare-and-set does on x86. */
    static final class Unfenced extends WeakMemory {
        private Thread unfenced;

        Unfenced(QueueMemory memory) {
            super(memory);
        }

        /** The calling thread has no fence from now on. */
        void here() {
            unfenced = Thread.currentThread(); // a thread finds itself here only if it put itself there
        }

        @Override
        public void fullFence() {
            if (unfenced != Thread.currentThread()) {
                memory.fullFence();
            }
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            if (offset != Region.ARM || unfenced != Thread.currentThread()) {
                return memory.compareAndSetLong(offset, expected, value);
            }
            // Nobody else stores to it here: set, without the fence that x86 adds.
            memory.putLongRelease(offset, value);
            return true;
        }
    }

    /** The compare-and-set of one word is a test, then a store. */
    static final class TestThenSet extends WeakMemory {
        private final int word;

        TestThenSet(QueueMemory memory, int word) {
            super(memory);
            this.word = word;
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            if (!armed || offset != word) {
                return memory.compareAndSetLong(offset, expected, value);
            }
            if (memory.getLongOpaque(offset) != expected) {
                return false;
            }
            Thread.onSpinWait(); // as long as a cache miss would take
            memory.putLongRelease(offset, value);
            return true;
        }
    }

    /** A queue of two slots, and an event sink that counts. */
    abstract static class Rig extends Meeting implements EventSink {
        final QueueMemory memory;
        final CompletionQueue queue;
        private final AtomicInteger events = new AtomicInteger();
        private final QueueMemory slice;

        Rig(UnaryOperator<QueueMemory> weaken, Consumer<CompletionQueue.Builder> choose) {
            this.slice = Slices.take();
            this.memory = weaken.apply(slice);
            CompletionQueue.Builder builder =
                    CompletionQueue.ofCapacity(2).events(this, 1).memory(memory);
            choose.accept(builder);
            this.queue = builder.create();
        }

        @Override
        public void completion(int cqNumber) {
            events.incrementAndGet();
        }

        @Override
        public void overrun(int cqNumber, boolean dead) {
            // Not what is counted.
        }

        /** The host's part: 1 if it must not sleep. */
        final int arm(ArmMode mode) {
            meetOther();
            try {
                return queue.arm(mode) ? 1 : 0;
            } catch (IllegalStateException closed) {
                return 1;
            }
        }

        final void finish(II_Result result) {
            result.r2 = events.get();
            Slices.giveBack(slice);
        }

        static boolean write(CompletionWriter writer) {
            return writer.write(Entry.header(1), 0, 0, 0, 0);
        }

        static boolean write(SharedWriter writer) {
            return writer.write(Entry.header(1), 0, 0, 0, 0);
        }

        static long solicited() {
            return CqeLayout.header(CqeOpcode.RECV, true, 1, 1, 0);
        }
    }

    /** One writer. */
    abstract static class OneWriter extends Rig {
        final CompletionWriter writer = queue.writer();

        OneWriter(UnaryOperator<QueueMemory> weaken) {
            super(weaken, builder -> {});
        }
    }

    /** An arm beside one write. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Write extends OneWriter {
        /** One sample. */
        public Write() {
            super(memory -> memory);
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            result.r1 = arm(ArmMode.NEXT);
        }

        /** Writes. */
        @Actor
        public void other() {
            meetOne();
            write(writer);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** An arm beside a batch. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Batch extends OneWriter {
        /** One sample. */
        public Batch() {
            super(memory -> memory);
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            result.r1 = arm(ArmMode.NEXT);
        }

        /** Publishes two. */
        @Actor
        public void other() {
            Entry.stage(writer, 1);
            Entry.stage(writer, 2);
            meetOne();
            writer.flush();
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** An arm for two entries beside two writes. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Counted extends OneWriter {
        /** One sample. */
        public Counted() {
            super(memory -> memory);
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            meetOther();
            result.r1 = queue.arm(ArmMode.NEXT, 2) ? 1 : 0;
        }

        /** Writes two. */
        @Actor
        public void other() {
            meetOne();
            write(writer);
            write(writer);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** A solicited arm beside a solicited entry. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Solicited extends OneWriter {
        /** One sample. */
        public Solicited() {
            super(memory -> memory);
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            result.r1 = arm(ArmMode.SOLICITED);
        }

        /** Writes. */
        @Actor
        public void other() {
            meetOne();
            writer.write(solicited(), 0, 0, 0, 0);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** An arm beside a close. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Close extends OneWriter {
        /** One sample. */
        public Close() {
            super(memory -> memory);
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            result.r1 = arm(ArmMode.NEXT);
        }

        /** Closes. */
        @Actor
        public void other() {
            meetOne();
            queue.close();
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** An arm beside an overrun that ends the queue's life: two entries in hand, which are not what the host asks for, and a third. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Dead extends Rig {
        /** One sample. */
        public Dead() {
            super(memory -> memory, builder -> builder.overrunPolicy(OverrunPolicy.ERROR));
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            result.r1 = arm(ArmMode.SOLICITED);
        }

        /** Overruns. */
        @Actor
        public void other() {
            CompletionWriter writer = queue.writer();
            Entry.stage(writer, 1);
            Entry.stage(writer, 2);
            meetOne();
            Entry.stage(writer, 3);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** Many writers. */
    abstract static class TwoWriters extends Rig {
        final SharedWriter first = queue.newWriter();
        final SharedWriter second = queue.newWriter();

        TwoWriters(UnaryOperator<QueueMemory> weaken) {
            super(weaken, builder -> builder.writers(2));
        }
    }

    /** An arm beside the older of two claims; the newer entry has been published. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class OlderClaim extends TwoWriters {
        /** One sample. */
        public OlderClaim() {
            super(memory -> memory);
            first.claim(1);
            second.write(solicited(), 0, 0, 0, 0);
            first.release();
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            result.r1 = arm(ArmMode.SOLICITED);
        }

        /** Gives its claim back: it cannot, and becomes an entry that is passed over. */
        @Actor
        public void other() {
            meetOne();
            first.abandon();
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** Two writers at once answer one arm. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class TwoAnswer extends TwoWriters {
        /** One sample. */
        public TwoAnswer() {
            super(memory -> memory);
            queue.arm(ArmMode.NEXT);
        }

        /** Writes. */
        @Actor
        public void host() {
            meetOther();
            write(first);
        }

        /** Writes. */
        @Actor
        public void other() {
            meetOne();
            write(second);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** Of many pollers, one arms while another takes the older of two entries: the newer stays, and is told of. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Rival extends Rig {
        private final CompletionPoller poller = queue.newPoller(1);
        private final CompletionPoller rival = queue.newPoller(1);

        /** One sample. */
        public Rival() {
            super(memory -> memory, CompletionQueue.Builder::sharedPollers);
            write(queue.writer());
            write(queue.writer());
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            meetOther();
            result.r1 = poller.arm(ArmMode.NEXT) ? 1 : 0;
        }

        /** Polls. */
        @Actor
        public void other() {
            meetOne();
            rival.poll(ignored -> {}, 1);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** Of many pollers, one arms while another arms for more than will come. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class MergedArms extends Rig {
        private final CompletionPoller poller = queue.newPoller(1);
        private final CompletionPoller rival = queue.newPoller(1);
        private final CompletionWriter writer = queue.writer();

        /** One sample. */
        public MergedArms() {
            super(memory -> memory, CompletionQueue.Builder::sharedPollers);
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            meetOther();
            result.r1 = poller.arm(ArmMode.SOLICITED) ? 1 : 0;
        }

        /** Arms. */
        @Actor
        public void other() {
            meetOne();
            rival.arm(ArmMode.NEXT, 2);
        }

        /** Writes, after both, and ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            writer.write(solicited(), 0, 0, 0, 0);
            finish(result);
        }
    }

    /** A device that asks twice and has no fence: its second look, after the meeting, must see an arm that missed the entry. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Looping extends Meeting {
        private final QueueMemory slice = Slices.take();
        private final CompletionQueue queue =
                CompletionQueue.ofCapacity(2).deviceEvents(1).memory(slice).create();
        private final CompletionWriter writer = queue.writer();
        private volatile boolean hostDone;
        private int events;

        /** One sample. */
        public Looping() {}

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            meetOther();
            result.r1 = queue.arm(ArmMode.NEXT) ? 1 : 0;
            hostDone = true;
        }

        /** Writes, then makes its passes: at least one after the host has slept, if that comes soon. */
        @Actor
        public void other() {
            meetOne();
            Entry.write(writer, 1, 64);
            pass();
            for (int spins = 0; !hostDone && spins != Meeting.SPINS; spins++) {
                Thread.onSpinWait();
            }
            pass();
            writer.release();
        }

        private void pass() {
            if (writer.pastArm() != 0 && writer.answerArm()) {
                events++;
            }
        }

        /** The pass after all that, if the host was late; and the end of the sample. */
        @Arbiter
        public void end(II_Result result) {
            pass();
            result.r2 = events;
            Slices.giveBack(slice);
        }
    }

    /** Twin: the flush looks at the arm word without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinWriterUnfenced extends OneWriter {
        /** One sample. */
        public TwinWriterUnfenced() {
            super(memory -> new NoFence(memory, Region.slot(0, 64), Region.ARM));
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            result.r1 = arm(ArmMode.NEXT);
        }

        /** Writes. */
        @Actor
        public void other() {
            Entry.stage(writer, 1);
            meetOne();
            writer.flush();
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** Twin: the host looks at the ring without a fence, and without the one that its compare-and-set is on x86. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinHostUnfenced extends OneWriter {
        /** One sample. */
        public TwinHostUnfenced() {
            super(Unfenced::new);
        }

        /** Arms. */
        @Actor
        public void host(II_Result result) {
            ((Unfenced) memory).here();
            result.r1 = arm(ArmMode.NEXT);
        }

        /** Writes. */
        @Actor
        public void other() {
            Entry.stage(writer, 1); // so that little lies between the meeting and the owner bit
            meetOne();
            writer.flush();
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** Twin: the host looks at the ring before it arms, and sleeps on that. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinNoSecondLook extends OneWriter {
        /** One sample. */
        public TwinNoSecondLook() {
            super(memory -> memory);
        }

        /** Polls, arms, and does not ask what the arm says. */
        @Actor
        public void host(II_Result result) {
            meetOther();
            result.r1 = queue.peek() == null ? 0 : 1;
            queue.arm(ArmMode.NEXT);
        }

        /** Writes. */
        @Actor
        public void other() {
            meetOne();
            write(writer);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** Twin: an answer is tested, then set. */
    @JCStressTest
    @JCStressMeta(Doubled.class)
    @State
    public static class TwinAnswerTestThenSet extends TwoWriters {
        /** One sample. */
        public TwinAnswerTestThenSet() {
            super(memory -> new TestThenSet(memory, Region.FIRED));
            queue.arm(ArmMode.NEXT);
            ((WeakMemory) memory).arm();
        }

        /** Writes. */
        @Actor
        public void host() {
            meetOther();
            write(first);
        }

        /** Writes. */
        @Actor
        public void other() {
            meetOne();
            write(second);
        }

        /** Ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            finish(result);
        }
    }

    /** An event that has been raised, and an arm while it is taken. */
    abstract static class Taking extends OneWriter {
        Taking(UnaryOperator<QueueMemory> weaken) {
            super(weaken);
            queue.arm(ArmMode.NEXT);
            write(writer);
            writer.release();
            queue.poll(ignored -> {}, 1);
            queue.releasePoller();
        }

        final void armAgain() {
            meetOther();
            queue.arm(ArmMode.NEXT);
            queue.releasePoller();
        }

        final void take(II_Result result) {
            meetOne();
            result.r1 = queue.takeEvent() ? 1 : 0;
        }

        /** Whatever the two have made of it, an arm after both is answered. */
        final void armThenWrite(II_Result result) {
            queue.arm(ArmMode.NEXT);
            write(writer);
            finish(result);
        }
    }

    /** An event is taken while the host arms again: never two events for a number, and never a number that was answered already. */
    @JCStressTest
    @JCStressMeta(Numbered.class)
    @State
    public static class Take extends Taking {
        /** One sample. */
        public Take() {
            super(memory -> memory);
        }

        /** Arms again. */
        @Actor
        public void host() {
            armAgain();
        }

        /** Takes. */
        @Actor
        public void other(II_Result result) {
            take(result);
        }

        /** Arms, writes, ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            armThenWrite(result);
        }
    }

    /** Twin: the arm word is tested, then set. */
    @JCStressTest
    @JCStressMeta(NumberedBack.class)
    @State
    public static class TwinArmTestThenSet extends Taking {
        /** One sample. */
        public TwinArmTestThenSet() {
            super(memory -> new TestThenSet(memory, Region.ARM));
            ((WeakMemory) memory).arm();
        }

        /** Arms again. */
        @Actor
        public void host() {
            armAgain();
        }

        /** Takes. */
        @Actor
        public void other(II_Result result) {
            take(result);
        }

        /** Arms, writes, ends the sample. */
        @Arbiter
        public void end(II_Result result) {
            armThenWrite(result);
        }
    }
}
