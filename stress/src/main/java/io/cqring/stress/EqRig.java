package io.cqring.stress;

import io.cqring.eq.EventHandler;
import io.cqring.eq.EventQueue;
import io.cqring.eq.EventType;
import io.cqring.eq.EventWriter;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import java.util.function.UnaryOperator;

/**
 * One sample of an event queue: as {@link QueueRig}, with events that give themselves away. Every field of event number n follows
 * from n, so one that is of another event is noticed.
 */
abstract class EqRig extends Meeting implements EventHandler {
    /** Added to what was polled if a field of an event was not its own. */
    static final int TORN = 1000;

    final QueueMemory slice;
    final Interrupt interrupt;
    final EventQueue queue;
    final EventWriter writer;

    /** Numbers of the events that were polled, as the digits of a number, oldest first. */
    int digits;

    /** 1 if a field of an event was not its own. */
    int wrong;

    private final QueueMemory interruptSlice;

    EqRig(int capacity, long startSequence, UnaryOperator<QueueMemory> weakener) {
        this.slice = Slices.take();
        this.interruptSlice = Slices.take();
        QueueMemory memory = weakener.apply(slice);
        this.interrupt = new Interrupt(interruptSlice, action(memory));
        this.queue = EventQueue.builder(capacity)
                .startSequence(startSequence)
                .memory(memory)
                .interrupt(interrupt)
                .create();
        this.writer = queue.writer();
        if (prepare()) {
            queue.releasePoller();
        }
        if (memory instanceof WeakMemory weak) {
            weak.arm();
        }
    }

    /** What the interrupt runs, or null. */
    Runnable action(QueueMemory memory) {
        return null;
    }

    /** What has happened before the race; true if the constructing thread has become the poller. */
    boolean prepare() {
        return false;
    }

    static long detail(int number) {
        return number * 0x0101_0101_0101_0101L;
    }

    final boolean post(int number) {
        return writer.post(EventType.COMPLETION, number, number, number, detail(number));
    }

    @Override
    public void onEvent(EventType type, int number, int subType, int syndrome, long detail) {
        digits = digits * 10 + number;
        if (type != EventType.COMPLETION || subType != number || syndrome != number || detail != detail(number)) {
            wrong = 1;
        }
    }

    /** Polls all that is ready; what was polled so far. */
    final int pollDigits() {
        queue.poll(this, queue.capacity());
        return wrong == 0 ? digits : TORN + digits;
    }

    final int raises() {
        return (int) interrupt.count();
    }

    /** Ends the sample: its memory goes to the next one. */
    final void recycle() {
        Slices.giveBack(slice);
        Slices.giveBack(interruptSlice);
    }
}
