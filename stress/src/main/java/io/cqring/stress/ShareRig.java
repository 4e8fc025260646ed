package io.cqring.stress;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.WorkCompletion;
import io.cqring.memory.QueueMemory;
import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A shipped queue with two pollers. A poller has off-heap memory of its own, and allocating that for each of millions of samples
 * would be nearly all that a test does; so rigs go from a finished sample to a new one, unless they are twins'.
 */
final class ShareRig {
    /** Bit of the third result: an entry was taken twice. */
    static final int TWICE = 1 << 21;

    /** Bit of the third result: an entry was written and nobody got it. */
    static final int LOST = 1 << 22;

    /** Bit of the third result: a poller got an entry after a later one. */
    static final int ORDER = 1 << 23;

    /** Bit of the third result: an entry that was not written in this race. */
    static final int NEVER_WRITTEN = 1 << 24;

    /** Digit of an entry that is none of the race's. */
    private static final int UNKNOWN = 9;

    final int capacity;

    /** What the queue lies in: weak for twins. */
    final QueueMemory memory;

    private final int strideBytes;
    private final Pool pool;
    private final QueueMemory slice;
    private final CompletionWriter writer;
    private final CompletionPoller one;
    private final CompletionPoller other;
    private final Taker seenByOne;
    private final Taker seenByOther;
    private final Taker seenAfterwards;
    private final WorkCompletion[] into = {new WorkCompletion()};

    /** Number of the next entry to write. */
    private int number;

    ShareRig(int capacity, int strideBytes, int batch, UnaryOperator<QueueMemory> weakener, Pool pool) {
        this.capacity = capacity;
        this.strideBytes = strideBytes;
        this.pool = pool;
        this.slice = Slices.take();
        this.memory = weakener.apply(slice);
        CompletionQueue queue = CompletionQueue.ofCapacity(capacity)
                .strideBytes(strideBytes)
                .memory(memory)
                .sharedPollers()
                .create();
        this.writer = queue.writer();
        this.one = queue.newPoller(batch);
        this.other = queue.newPoller(batch);
        this.seenByOne = new Taker();
        this.seenByOther = new Taker();
        this.seenAfterwards = new Taker();
    }

    /** Rigs of one shape. The thread that ends a sample often begins the next: nearly every rig passes through its own stack. */
    static final class Pool {
        private static final int KEPT_PER_THREAD = 4;

        private final int capacity;
        private final int strideBytes;
        private final int batch;
        private final UnaryOperator<QueueMemory> wrapper;
        private final ConcurrentLinkedQueue<ShareRig> shared = new ConcurrentLinkedQueue<>();
        private final ThreadLocal<ArrayDeque<ShareRig>> own = ThreadLocal.withInitial(ArrayDeque::new);

        Pool(int capacity, int strideBytes, int batch) {
            this(capacity, strideBytes, batch, UnaryOperator.identity());
        }

        private Pool(int capacity, int strideBytes, int batch, UnaryOperator<QueueMemory> wrapper) {
            this.capacity = capacity;
            this.strideBytes = strideBytes;
            this.batch = batch;
            this.wrapper = wrapper;
        }

        /** Of rigs whose pollers have got into each other's way before the race begins. */
        static Pool ofRivals(int capacity, int strideBytes, int batch) {
            return new Pool(capacity, strideBytes, batch, Overtaken::new);
        }

        ShareRig take() {
            ShareRig rig = own.get().pollLast();
            if (rig == null) {
                rig = shared.poll();
            }
            return rig == null ? new ShareRig(capacity, strideBytes, batch, wrapper, this) : rig;
        }

        private void giveBack(ShareRig rig) {
            ArrayDeque<ShareRig> mine = own.get();
            if (mine.size() < KEPT_PER_THREAD) {
                mine.addLast(rig);
            } else {
                shared.add(rig);
            }
        }
    }

    /** Sound memory, in which somebody else does something just before a poller's next claim, once. */
    private static final class Overtaken extends WeakMemory {
        private Runnable faster;

        Overtaken(QueueMemory memory) {
            super(memory);
        }

        @Override
        public long compareAndExchangeLong(long offset, long expected, long value) {
            Runnable first = faster;
            if (first != null) {
                faster = null;
                first.run();
            }
            return memory.compareAndExchangeLong(offset, expected, value);
        }
    }

    /** Writes down numbers, one behind the other, and which words were not those of the entry that the header names. */
    private final class Taker implements CompletionHandler {
        private final Observer words = new Observer(Fill.WRITE, strideBytes, 0);
        private int taken;
        private int digits;

        @Override
        public void onCompletion(Completion seen) {
            words.next = seen.wqeCounter();
            words.onCompletion(seen);
            record(seen.wqeCounter());
        }

        void onCopy(WorkCompletion seen) {
            words.next = seen.wqeCounter();
            words.onCopy(seen);
            record(seen.wqeCounter());
        }

        private void record(int seen) {
            int digit = seen - capacity; // the lap before the race has the numbers up to the capacity
            digits = digits * 10 + (digit >= 1 && digit < UNKNOWN ? digit : UNKNOWN);
            taken++;
        }

        void clear() {
            words.wrong = 0;
            taken = 0;
            digits = 0;
        }
    }

    /** Writes and polls one lap, every word of it unlike any of the race's, then writes what the race finds. */
    void prepare(int backlog) {
        number = 1;
        if (memory instanceof Overtaken overtaken) {
            makeRivals(overtaken);
        } else {
            while (number <= capacity) {
                Entry.full(writer, number, strideBytes);
                number++;
            }
            one.poll(ignored -> {}, capacity);
        }
        one.release();
        seenByOne.clear();
        seenByOther.clear();
        seenAfterwards.clear();
        for (int i = 0; i != backlog; i++) {
            write();
        }
        writer.release();
        if (memory instanceof WeakMemory weak) {
            weak.arm();
        }
    }

    /**
     * Writes and polls one lap, entry by entry: of its first, one comes too late, of its last, the other. From then on each has a
     * rival in mind, and copies ahead: one the blocks of entries that the last one is in, the other those that the first is in. With a
     * batch of half the ring, and one of a single entry, these are not the same.
     */
    private void makeRivals(Overtaken overtaken) {
        while (number <= capacity) {
            Entry.full(writer, number, strideBytes);
            if (number == 1) {
                overtaken.faster = () -> other.poll(ignored -> {}, 1);
            } else if (number == capacity) {
                overtaken.faster = () -> one.poll(ignored -> {}, 1);
            }
            if (number == capacity) {
                other.poll(ignored -> {}, 1);
            } else {
                one.poll(ignored -> {}, 1);
            }
            number++;
        }
        other.release();
    }

    private boolean write() {
        boolean written = Entry.write(writer, number, strideBytes);
        if (written) {
            number++;
        }
        return written;
    }

    void pollOne(int limit) {
        one.poll(seenByOne, limit);
        one.release();
    }

    void pollOther(int limit) {
        other.poll(seenByOther, limit);
        other.release();
    }

    void showOne() {
        show(one, seenByOne);
    }

    void showOther() {
        show(other, seenByOther);
    }

    private static void show(CompletionPoller poller, Taker seen) {
        if (poller.startPoll()) {
            seen.onCompletion(poller.completion());
            poller.endPoll();
        }
        poller.release();
    }

    void copyOne() {
        if (one.pollInto(into, 1) != 0) {
            seenByOne.onCopy(into[0]);
        }
        one.release();
    }

    /** Polls until so many entries were there, or too often. */
    void pollOneUntil(int count) {
        for (int spins = 0; seenByOne.taken < count && spins != Meeting.SPINS; spins++) {
            one.poll(seenByOne, capacity);
        }
        one.release();
    }

    /** Writes so many entries, or tries too often. */
    void writeWhenFree(int count) {
        int written = 0;
        for (int spins = 0; written != count && spins != Meeting.SPINS; spins++) {
            if (write()) {
                written++;
            }
        }
        writer.release();
    }

    /** The other poller takes what there is and the ring is filled again; so often. */
    void lap(int times) {
        for (int lap = 0; lap != times; lap++) {
            other.poll(seenByOther, capacity);
            for (int i = 0; i != capacity; i++) {
                write();
            }
        }
        other.release();
        writer.release();
    }

    /** Reports, and ends the sample. */
    void finish(III_Result result) {
        int wrong = seenByOne.words.wrong | seenByOther.words.wrong;
        if (memory instanceof WeakMemory weak) {
            weak.armed = false;
        }
        one.poll(seenAfterwards, capacity);
        one.release();
        wrong |= account(seenByOne.digits, seenByOther.digits, seenAfterwards.digits);
        result.r1 = seenByOne.digits;
        result.r2 = seenByOther.digits;
        result.r3 = wrong | seenAfterwards.words.wrong;
        if (pool != null) {
            pool.giveBack(this);
        } else {
            Slices.giveBack(slice);
        }
    }

    /** Every entry of the race once, each poller in order. */
    private int account(int... all) {
        int wrong = 0;
        int seen = 0;
        int written = number - 1 - capacity;
        for (int digits : all) {
            int later = UNKNOWN + 1;
            for (int left = digits; left != 0; left /= 10) { // last taken first
                int digit = left % 10;
                if (digit > written) {
                    wrong |= NEVER_WRITTEN;
                }
                if (digit > later) {
                    wrong |= ORDER;
                }
                if ((seen >>> digit & 1) != 0) {
                    wrong |= TWICE;
                }
                seen |= 1 << digit;
                later = digit;
            }
        }
        for (int digit = 1; digit <= written; digit++) {
            if ((seen >>> digit & 1) == 0) {
                wrong |= LOST;
            }
        }
        return wrong;
    }
}
