package io.cqring.stress;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.memory.QueueMemory;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * As {@link LookAheadRig}, with two pollers that claim up to twelve entries, so that one looks at the twelfth first. Rigs go from a
 * finished sample to a new one, unless they are twins'; see {@link ShareRig}.
 */
final class LookAheadShareRig {
    private static final int STRIDE = 64;
    private static final int BATCH = 12;
    private static final Slices SLICES = new Slices(Region.FIRST_SLOT + LookAheadRig.CAPACITY * STRIDE);
    private static final ConcurrentLinkedQueue<LookAheadShareRig> POOL = new ConcurrentLinkedQueue<>();

    private final QueueMemory slice = SLICES.lend();
    private final QueueMemory memory;
    private final CompletionWriter writer;
    private final CompletionPoller one;
    private final CompletionPoller other;
    private final Taker seenByOne = new Taker();
    private final Taker seenByOther = new Taker();
    private final Taker seenAfterwards = new Taker();
    private final boolean twin;

    /** Number of the next entry to write. */
    private int number;

    private LookAheadShareRig(UnaryOperator<QueueMemory> weakener, boolean twin) {
        this.memory = weakener.apply(slice);
        this.twin = twin;
        CompletionQueue queue = CompletionQueue.ofCapacity(LookAheadRig.CAPACITY)
                .strideBytes(STRIDE)
                .memory(memory)
                .sharedPollers()
                .create();
        this.writer = queue.writer();
        this.one = queue.newPoller(BATCH);
        this.other = queue.newPoller(BATCH);
    }

    static LookAheadShareRig take() {
        LookAheadShareRig rig = POOL.poll();
        return (rig == null ? new LookAheadShareRig(UnaryOperator.identity(), false) : rig).prepare();
    }

    static LookAheadShareRig twin() {
        return new LookAheadShareRig(memory -> new LookAheadRig.LaterFirst(memory, STRIDE), true).prepare();
    }

    /** Entries of the race have the numbers from 1 past the capacity on; a bit each. */
    private static final class Taker implements CompletionHandler {
        private final Observer words = new Observer(Fill.WRITE, STRIDE, 0);
        private int taken;
        private long numbers;
        private int last;
        private boolean wrong;

        @Override
        public void onCompletion(Completion seen) {
            final int number = seen.wqeCounter();
            words.next = number;
            words.onCompletion(seen);
            final long bit = 1L << (number & 63);
            wrong |= number <= last || number <= LookAheadRig.CAPACITY || number >= Long.SIZE || (numbers & bit) != 0;
            numbers |= bit;
            last = number;
            taken++;
        }

        void clear() {
            words.wrong = 0;
            taken = 0;
            numbers = 0;
            last = 0;
            wrong = false;
        }
    }

    private LookAheadShareRig prepare() {
        number = 1;
        while (number <= LookAheadRig.CAPACITY) {
            Entry.full(writer, number, STRIDE);
            number++;
        }
        while (one.poll(ignored -> {}, LookAheadRig.CAPACITY) != 0) {
            // all of the lap before
        }
        one.release();
        seenByOne.clear();
        seenByOther.clear();
        seenAfterwards.clear();
        for (int i = 0; i != LookAheadRig.BACKLOG; i++) {
            write();
        }
        writer.release();
        if (memory instanceof WeakMemory weak) {
            weak.arm();
        }
        return this;
    }

    private void write() {
        if (Entry.write(writer, number, STRIDE)) {
            number++;
        }
    }

    /** Writes the three, then takes what there is, as the other poller, and fills the ring again: a poller that is copying is lapped. */
    void writeAndLap() {
        for (int i = 0; i != LookAheadRig.WRITTEN; i++) {
            write();
        }
        other.poll(seenByOther, BATCH);
        other.release();
        for (int i = 0; i != LookAheadRig.CAPACITY; i++) {
            write();
        }
        writer.release();
    }

    /** Claims what there is; once. */
    void claim() {
        one.poll(seenByOne, BATCH);
        one.release();
    }

    void finish(III_Result result) {
        if (memory instanceof WeakMemory weak) {
            weak.armed = false;
        }
        while (one.poll(seenAfterwards, LookAheadRig.CAPACITY) != 0) {
            // what is left
        }
        one.release();
        final long all = seenByOne.numbers | seenByOther.numbers | seenAfterwards.numbers;
        final boolean doubled = (seenByOne.numbers & seenByOther.numbers) != 0
                || ((seenByOne.numbers | seenByOther.numbers) & seenAfterwards.numbers) != 0;
        final boolean lost = all != (1L << number) - (1L << (LookAheadRig.CAPACITY + 1));
        result.r1 = seenByOne.taken;
        result.r2 = seenByOther.taken;
        result.r3 = seenByOne.words.wrong
                | seenByOther.words.wrong
                | seenAfterwards.words.wrong
                | (seenByOne.wrong || seenByOther.wrong || seenAfterwards.wrong ? Observer.ORDER : 0)
                | (doubled ? ShareRig.TWICE : 0)
                | (lost ? ShareRig.LOST : 0);
        if (twin) {
            SLICES.receive(slice);
        } else {
            POOL.add(this);
        }
    }
}
