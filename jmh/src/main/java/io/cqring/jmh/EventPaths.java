package io.cqring.jmh;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.eq.EventQueue;
import io.cqring.eq.EventType;
import io.cqring.memory.CacheLines;
import io.cqring.memory.QueueMemory;
import io.cqring.notify.CompletionChannel;
import io.cqring.notify.ReadyQueues;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.agrona.BufferUtil;

/** What an event costs, on one thread, with few queues and with many. */
final class EventPaths {
    /** Events that are written, and then taken. */
    private static final int EVENTS = 4096;

    /** Of which a turn of {@link Decode} has so many times that: the table, which the other ways' turns have driven out, is back for most. */
    private static final int DECODE_PASSES = 64;

    /** The same for {@link Whole}, whose events cost more. */
    private static final int WHOLE_PASSES = 4;

    private EventPaths() {}

    /** Numbers of queues, each of {@code queues} as often, in an order without a pattern. */
    private static int[] numbers(int queues) {
        final int[] numbers = new int[EVENTS];
        for (int i = 0; i != EVENTS; i++) {
            // Steps by an odd number visit all residues of a power of two.
            numbers[i] = (int) ((long) i * 40_503 % queues);
        }
        return numbers;
    }

    /** Only the event itself: taken from the event queue, and its queue looked up. What the queue then touches is left out. */
    static final class Decode {
        private final EventQueue events = EventQueue.builder(2 * EVENTS).create();
        private final int[] numbers;

        /** As large as the table of a channel; the entries are alike, so that what they refer to costs nothing. */
        private final Object[] table;

        private long missing;

        Decode(int queues) {
            this.numbers = numbers(queues);
            this.table = new Object[queues];
            Arrays.fill(table, this);
        }

        /** Nanoseconds per event. */
        double turn() {
            long elapsed = 0;
            for (int pass = 0; pass != DECODE_PASSES; pass++) {
                elapsed += pass();
            }
            return (double) elapsed / (DECODE_PASSES * EVENTS);
        }

        private long pass() {
            for (int number : numbers) {
                events.writer().post(EventType.COMPLETION, number, 0, 0, 0);
            }
            final long start = System.nanoTime();
            int taken = 0;
            while (taken != EVENTS) {
                taken += events.poll(this::onEvent, 128);
            }
            final long elapsed = System.nanoTime() - start;
            if (missing != 0) {
                throw new IllegalStateException("events without a queue: " + missing);
            }
            return elapsed;
        }

        private void onEvent(EventType type, int number, int subType, int syndrome, long detail) {
            if (table[number] == null) {
                missing++;
            }
        }
    }

    /** The whole path: write, event, wake-up, poll, arm. Of all queues, 4096 get one entry each in a turn. */
    static final class Whole {
        private static final int CAPACITY = 2;

        private final CompletionChannel channel;
        private final ReadyQueues ready;
        private final CompletionWriter[] writers;
        private final int[] numbers;
        private long polled;

        Whole(int queues) {
            this.channel = CompletionChannel.ofQueues(queues);
            this.ready = new ReadyQueues(channel);
            this.writers = new CompletionWriter[queues];
            this.numbers = numbers(queues);
            final int bytes = (int) CompletionQueue.requiredBytes(CAPACITY, CqeLayout.STANDARD_BYTES);
            final ByteBuffer memory = BufferUtil.allocateDirectAligned(queues * bytes, CacheLines.SEPARATION_BYTES);
            for (int i = 0; i != queues; i++) {
                final CompletionQueue queue = channel.create(
                        CompletionQueue.ofCapacity(CAPACITY).memory(QueueMemory.wrap(memory.slice(i * bytes, bytes))));
                writers[i] = queue.writer();
                ready.add(queue);
            }
        }

        /** Nanoseconds per event. */
        double turn() {
            long elapsed = 0;
            for (int pass = 0; pass != WHOLE_PASSES; pass++) {
                elapsed += pass();
            }
            return (double) elapsed / (WHOLE_PASSES * EVENTS);
        }

        private long pass() {
            try {
                if (ready.next(0, TimeUnit.SECONDS) != null) { // arms what was polled last
                    throw new IllegalStateException("a queue is ready that was polled empty");
                }
                final long start = System.nanoTime();
                for (int number : numbers) {
                    if (!writers[number].write(CqringTransfer.HEADER, number, 0, 0, 0)) {
                        throw new IllegalStateException("queue " + number + " is full");
                    }
                }
                for (int i = 0; i != EVENTS; i++) {
                    final CompletionQueue queue = ready.next(0, TimeUnit.SECONDS);
                    if (queue == null || queue.poll(entry -> polled++, CAPACITY) != 1) {
                        throw new IllegalStateException("a completion was not announced: event " + i);
                    }
                }
                return System.nanoTime() - start;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
