package io.cqring.stress;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionEntry;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.OverrunPolicy;
import io.cqring.cq.SharedWriter;
import io.cqring.memory.QueueMemory;
import java.util.function.UnaryOperator;

/**
 * One sample of a queue with many writers: as {@link QueueRig}, with three {@link SharedWriter}s and 64-byte entries. The
 * first sequence uses the last slot of a lap, so that neighbours differ in their owner bit.
 */
abstract class ClaimRig extends Meeting {
    static final int STRIDE_BYTES = 64;

    /** Added to what was polled if a word of an entry was not its own. */
    static final int TORN = 1000;

    final int capacity;
    final long start;
    final CompletionQueue queue;
    final SharedWriter a;
    final SharedWriter b;
    final SharedWriter c;
    final Observer seen = new Observer(Fill.WRITE, STRIDE_BYTES, 1);

    private final QueueMemory slice;
    private int digits;

    ClaimRig(int capacity, OverrunPolicy policy, UnaryOperator<QueueMemory> weakener) {
        this.capacity = capacity;
        this.start = capacity - 1L;
        this.slice = Slices.take();
        QueueMemory memory = weakener.apply(slice);
        this.queue = CompletionQueue.ofCapacity(capacity)
                .strideBytes(STRIDE_BYTES)
                .startSequence(start)
                .overrunPolicy(policy)
                .writers(3)
                .memory(memory)
                .create();
        this.a = queue.newWriter();
        this.b = queue.newWriter();
        this.c = queue.newWriter();
        prepare(memory);
        if (memory instanceof WeakMemory weak) {
            weak.arm();
        }
    }

    /** What has happened before the race. Writers that were used must be released. */
    void prepare(QueueMemory memory) {}

    static boolean write(SharedWriter writer, int number) {
        return writer.write(
                Entry.header(number),
                Entry.workRequestId(number),
                Entry.length(number),
                Entry.detail(number),
                Entry.timestamp(number),
                Entry.payload(number, 0),
                Entry.payload(number, 1),
                Entry.payload(number, 2));
    }

    /** Fills the only entry of an open claim. */
    static void fill(SharedWriter writer, int number) {
        CompletionEntry entry = writer.entry(0)
                .header(Entry.header(number))
                .workRequestId(Entry.workRequestId(number))
                .length(Entry.length(number))
                .detail(Entry.detail(number))
                .timestamp(Entry.timestamp(number));
        for (int i = 0; i < 3; i++) {
            entry.payload(i, Entry.payload(number, i));
        }
    }

    /** Polls all that is ready; the numbers of the entries, as the digits of a number, oldest first. */
    final int pollDigits() {
        queue.poll(this::onCompletion, capacity);
        return seen.wrong == 0 ? digits : TORN + digits;
    }

    private void onCompletion(Completion completion) {
        seen.next = completion.wqeCounter(); // any order: each entry is compared with its own number
        digits = digits * 10 + seen.next;
        seen.onCompletion(completion);
    }

    final void recycle() {
        Slices.giveBack(slice);
    }
}
