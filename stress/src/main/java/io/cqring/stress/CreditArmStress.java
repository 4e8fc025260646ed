package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.SharedWriter;
import io.cqring.memory.QueueMemory;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Edge CREDIT-ARM: a writer that is about to wait sees the space, or whoever makes it sees the writer.
 *
 * <p>A full queue of one slot. The writer asks for space with no time to wait, so it looks once more after it has said that it
 * waits; it then stays registered, as if it slept. The other actor makes space, or closes the queue. Results are 1 if the writer
 * learned of it by itself, and 1 if the other actor saw that a writer waits, and so woke it.
 */
public class CreditArmStress {
    private CreditArmStress() {}

    /** What may come of it. */
    @Outcome(id = "1, [01]", expect = ACCEPTABLE, desc = "The writer does not sleep.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "The writer sleeps, and is woken.")
    @Outcome(expect = FORBIDDEN, desc = "The writer sleeps beside a free slot.")
    public static class Met {
        private Met() {}
    }

    /** What must come of it without a full fence at one of the ends. */
    @Outcome(id = "1, [01]", expect = ACCEPTABLE, desc = "The writer does not sleep.")
    @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "The writer sleeps, and is woken.")
    @Outcome(id = "0, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: the wake-up is lost.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class Missed {
        private Missed() {}
    }

    /** A memory in which a writer that has said that it waits goes on waiting, and which notes whether a waker saw it. */
    static class Watched extends WeakMemory {
        /** Of the actor that makes space. */
        int seen;

        Watched(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getLongAcquire(long offset) {
            long value = memory.getLongAcquire(offset);
            if (offset == Region.WAITING_WRITERS && value != 0) {
                seen = 1;
            }
            return value;
        }

        @Override
        public long getAndAddLong(long offset, long delta) {
            if (offset == Region.WAITING_WRITERS && delta < 0) {
                return 1;
            }
            return memory.getAndAddLong(offset, delta);
        }
    }

    /** The waking end's fence taken away. */
    static final class WakerUnfenced extends Watched {
        WakerUnfenced(QueueMemory memory) {
            super(memory);
        }

        @Override
        public void fullFence() {
            // Not here. The waiting end does not need it on x86, where its get-and-add is one.
        }
    }

    /** The waiting end's fence taken away, and that of its get-and-add. */
    static final class WaiterUnfenced extends Watched {
        private Thread waiter;

        WaiterUnfenced(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long getAndAddLong(long offset, long delta) {
            if (offset != Region.WAITING_WRITERS || delta < 0) {
                return super.getAndAddLong(offset, delta);
            }
            long before = memory.getLongOpaque(offset);
            memory.putLongRelease(offset, before + delta);
            waiter = Thread.currentThread();
            return before;
        }

        @Override
        public void fullFence() {
            if (waiter != Thread.currentThread()) { // a thread finds itself here only if it put itself there
                memory.fullFence();
            }
        }
    }

    abstract static class Rig extends Meeting {
        final CompletionQueue queue;
        final Watched memory;
        private final QueueMemory slice;

        Rig(int writers, boolean sharedPollers, Function<QueueMemory, Watched> watch) {
            this.slice = Slices.take();
            this.memory = watch.apply(slice);
            CompletionQueue.Builder builder = CompletionQueue.ofCapacity(1)
                    .waitingWriters()
                    .writers(writers)
                    .memory(memory);
            this.queue = (sharedPollers ? builder.sharedPollers() : builder).create();
        }

        final void recycle() {
            Slices.giveBack(slice);
        }
    }

    /** One writer, which waits. */
    abstract static class OneWriter extends Rig {
        OneWriter(boolean sharedPollers, Function<QueueMemory, Watched> watch) {
            super(1, sharedPollers, watch);
            queue.writer().write(Entry.header(1), 0, 0, 0, 0);
            queue.writer().release();
        }

        final void waitForSpace(II_Result result) {
            meetOther();
            try {
                result.r1 = queue.writer().awaitSpace(0, TimeUnit.SECONDS) ? 1 : 0;
            } catch (IllegalStateException closed) {
                result.r1 = 1;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        final void poll(II_Result result) {
            meetOne();
            queue.poll(ignored -> {}, 1);
            result.r2 = memory.seen;
        }
    }

    /** Two writers, of which the second waits. */
    abstract static class TwoWriters extends Rig {
        final SharedWriter first;
        final SharedWriter second;

        TwoWriters() {
            super(2, false, Watched::new);
            this.first = queue.newWriter();
            this.second = queue.newWriter();
        }

        final void waitForSpace(II_Result result) {
            meetOther();
            try {
                result.r1 = second.awaitSpace(1, 0, TimeUnit.SECONDS) ? 1 : 0;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Writer beside a poll. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Poll extends OneWriter {
        /** One sample. */
        public Poll() {
            super(false, Watched::new);
        }

        /** Waits. */
        @Actor
        public void writer(II_Result result) {
            waitForSpace(result);
        }

        /** Polls. */
        @Actor
        public void other(II_Result result) {
            poll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Writer beside one of many pollers. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Shared extends OneWriter {
        private final CompletionPoller poller;

        /** One sample. */
        public Shared() {
            super(true, Watched::new);
            this.poller = queue.newPoller();
        }

        /** Waits. */
        @Actor
        public void writer(II_Result result) {
            waitForSpace(result);
        }

        /** Polls. */
        @Actor
        public void other(II_Result result) {
            meetOne();
            poller.poll(ignored -> {}, 1);
            result.r2 = memory.seen;
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Writer beside a close. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class Close extends OneWriter {
        /** One sample. */
        public Close() {
            super(false, Watched::new);
        }

        /** Waits. */
        @Actor
        public void writer(II_Result result) {
            waitForSpace(result);
        }

        /** Closes. */
        @Actor
        public void other(II_Result result) {
            meetOne();
            queue.close();
            result.r2 = memory.seen;
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** One of many writers beside a poll. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class ManyWriters extends TwoWriters {
        /** One sample. */
        public ManyWriters() {
            first.write(Entry.header(1), 0, 0, 0, 0);
            first.release();
        }

        /** Waits. */
        @Actor
        public void writer(II_Result result) {
            waitForSpace(result);
        }

        /** Polls. */
        @Actor
        public void other(II_Result result) {
            meetOne();
            queue.poll(ignored -> {}, 1);
            result.r2 = memory.seen;
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** One of many writers beside another that gives its claim back. */
    @JCStressTest
    @JCStressMeta(Met.class)
    @State
    public static class GiveBack extends TwoWriters {
        /** One sample. */
        public GiveBack() {
            first.claim(1);
            first.release();
        }

        /** Waits. */
        @Actor
        public void writer(II_Result result) {
            waitForSpace(result);
        }

        /** Gives back. */
        @Actor
        public void other(II_Result result) {
            meetOne();
            first.abandon();
            result.r2 = memory.seen;
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the poll looks for writers without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinWakerUnfenced extends OneWriter {
        /** One sample. */
        public TwinWakerUnfenced() {
            super(false, WakerUnfenced::new);
        }

        /** Waits. */
        @Actor
        public void writer(II_Result result) {
            waitForSpace(result);
        }

        /** Polls. */
        @Actor
        public void other(II_Result result) {
            poll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }

    /** Twin: the writer looks for space without a fence. */
    @JCStressTest
    @JCStressMeta(Missed.class)
    @State
    public static class TwinWaiterUnfenced extends OneWriter {
        /** One sample. */
        public TwinWaiterUnfenced() {
            super(false, WaiterUnfenced::new);
        }

        /** Waits. */
        @Actor
        public void writer(II_Result result) {
            waitForSpace(result);
        }

        /** Polls. */
        @Actor
        public void other(II_Result result) {
            poll(result);
        }

        /** Ends the sample. */
        @Arbiter
        public void end() {
            recycle();
        }
    }
}
