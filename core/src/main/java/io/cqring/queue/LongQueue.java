package io.cqring.queue;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.cq.OverrunPolicy;
import io.cqring.memory.QueueMemory;
import java.util.function.BooleanSupplier;
import java.util.function.IntUnaryOperator;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * A bounded first-in first-out queue of longs, from one thread to another. A {@link CompletionQueue} of 32-byte entries lies
 * beneath; nothing of it shows.
 *
 * <p>Names and meanings are those of JCTools' {@code MessagePassingQueue}. It differs where a {@code null} would be needed or
 * a {@code Long} would be made:
 *
 * <ul>
 *   <li>{@link #poll(long)} and {@link #peek(long)} take the value to return when the queue is empty. If every long may be in
 *       the queue, use {@code drain(consumer, 1)}: its result says whether there was one.
 *   <li>Consumers, suppliers, wait strategies and exit conditions are the JDK's primitive interfaces.
 *   <li>The relaxed methods are as exact as the others: there is nothing to gain by relaxing them.
 *   <li>What JCTools declares undefined is defined here: two producers, two consumers, a consumer that polls its own queue, a
 *       supplier that throws. See the methods.
 * </ul>
 *
 * <p><b>Role:</b> one producing thread ({@code offer}, {@code fill}) and one consuming thread ({@code poll}, {@code peek},
 * {@code drain}, {@code clear}), which may be the same. The first thread to call is it, until it ends or calls
 * {@link #releaseProducer} or {@link #releaseConsumer}; any other gets an {@link IllegalStateException} and nothing changes.
 * {@link #size}, {@link #isEmpty}, {@link #capacity} and {@link #close} are for any thread. <b>Progress:</b> wait-free, but for
 * what is handed in. <b>Allocation:</b> none after creation. <b>Visibility:</b> all that a thread wrote before it offered a
 * value is visible to the thread that takes the value.
 */
public final class LongQueue implements AutoCloseable {
    private static final int STRIDE_BYTES = CqeLayout.SHORT_BYTES;
    private static final long HEADER = CqeLayout.header(CqeOpcode.RECV, false, 0, 0, 0);
    private static final CompletionHandler IGNORE = completion -> {};

    private final CompletionQueue queue;
    private final CompletionWriter writer;
    private final DrainTarget target = new DrainTarget();

    private LongQueue(CompletionQueue.Builder builder) {
        this.queue = builder.strideBytes(STRIDE_BYTES)
                .overrunPolicy(OverrunPolicy.BACKPRESSURE)
                .create();
        this.writer = queue.writer();
    }

    /**
     * An empty queue in memory of its own.
     *
     * @param capacity the most values it holds; a power of two, at most 2^24
     * @return the queue
     * @throws IllegalArgumentException if the capacity breaks its rule
     */
    public static LongQueue ofCapacity(int capacity) {
        return new LongQueue(CompletionQueue.ofCapacity(capacity));
    }

    /**
     * An empty queue in the caller's memory; whatever it holds is overwritten.
     *
     * @param capacity the most values it holds; a power of two, at most 2^24
     * @param memory   a region of at least {@link #requiredBytes} bytes
     * @return the queue
     * @throws IllegalArgumentException if the capacity breaks its rule or the memory is too small; nothing is touched
     */
    public static LongQueue ofCapacity(int capacity, QueueMemory memory) {
        return new LongQueue(CompletionQueue.ofCapacity(capacity).memory(memory));
    }

    /**
     * Memory that a queue takes.
     *
     * @param capacity values; a power of two
     * @return bytes
     * @throws IllegalArgumentException if the capacity breaks its rule
     */
    public static long requiredBytes(int capacity) {
        return CompletionQueue.requiredBytes(capacity, STRIDE_BYTES);
    }

    /**
     * Appends a value. For the producing thread.
     *
     * @param value any long
     * @return true if it is in the queue; false if the queue was full
     * @throws IllegalStateException if the queue is closed or another thread is the producer; nothing is appended
     */
    public boolean offer(long value) {
        return writer.write(HEADER, value, 0, 0, 0);
    }

    /**
     * The same as {@link #offer}.
     *
     * @param value any long
     * @return true if it is in the queue; false if the queue was full
     * @throws IllegalStateException as {@link #offer}
     */
    public boolean relaxedOffer(long value) {
        return offer(value);
    }

    /**
     * Takes the oldest value. For the consuming thread.
     *
     * @param ifEmpty what to return if there is none
     * @return the value, or {@code ifEmpty}
     * @throws IllegalStateException if the queue is closed, another thread is the consumer, or the call comes from a consumer
     *                               that this queue is being drained to; nothing is taken
     */
    public long poll(long ifEmpty) {
        if (!queue.startPoll()) {
            return ifEmpty;
        }
        long value = queue.completion().workRequestId();
        try {
            queue.endPoll();
        } catch (IllegalStateException e) {
            if (!queue.isClosed()) { // closed meanwhile: this call finishes
                throw e;
            }
        }
        return value;
    }

    /**
     * The same as {@link #poll}.
     *
     * @param ifEmpty what to return if there is none
     * @return the value, or {@code ifEmpty}
     * @throws IllegalStateException as {@link #poll}
     */
    public long relaxedPoll(long ifEmpty) {
        return poll(ifEmpty);
    }

    /**
     * Shows the oldest value and leaves it. For the consuming thread.
     *
     * @param ifEmpty what to return if there is none
     * @return the value, or {@code ifEmpty}
     * @throws IllegalStateException as {@link #poll}
     */
    public long peek(long ifEmpty) {
        Completion oldest = queue.peek();
        return oldest == null ? ifEmpty : oldest.workRequestId();
    }

    /**
     * The same as {@link #peek}.
     *
     * @param ifEmpty what to return if there is none
     * @return the value, or {@code ifEmpty}
     * @throws IllegalStateException as {@link #poll}
     */
    public long relaxedPeek(long ifEmpty) {
        return peek(ifEmpty);
    }

    /**
     * Hands values to a consumer, oldest first, until none is left or the limit is reached. For the consuming thread.
     *
     * <p>A value counts as taken once the consumer is called: if it throws, the exception goes on and the next call starts with
     * the value after. The consumer may offer to this queue (if its thread is the producer); it must not take from it. Room
     * for new values appears at the end, and each time a quarter of the ring has been handed over.
     *
     * @param consumer gets the values, on this thread
     * @param limit    the most values to take; 0 takes none; more than the capacity is allowed, but no call takes more than
     *                 the capacity
     * @return values handed over
     * @throws IllegalArgumentException if the consumer is null or the limit negative; nothing is taken
     * @throws IllegalStateException    as {@link #poll}
     */
    public int drain(LongConsumer consumer, int limit) {
        requireArguments(consumer, "consumer", limit);
        // Nobody but the consuming thread, and no consumer at work, gets past the peek: the target is ours.
        if (limit == 0 || queue.peek() == null) {
            return 0;
        }
        target.consumer = consumer;
        try {
            return queue.poll(target, limit);
        } finally {
            target.consumer = null;
        }
    }

    /**
     * Hands over what is there, at most {@link #capacity} values. For the consuming thread.
     *
     * @param consumer gets the values, on this thread
     * @return values handed over
     * @throws IllegalArgumentException if the consumer is null; nothing is taken
     * @throws IllegalStateException    as {@link #poll}
     */
    public int drain(LongConsumer consumer) {
        return drain(consumer, queue.capacity());
    }

    /**
     * Drains until told to stop. For the consuming thread.
     *
     * @param consumer    gets the values, on this thread
     * @param wait        called when the queue is empty, with the number it returned last time, 0 after values have come
     * @param keepRunning asked before each drain of at most {@link #capacity} values
     * @throws IllegalArgumentException if an argument is null; nothing is taken
     * @throws IllegalStateException    as {@link #poll}
     */
    public void drain(LongConsumer consumer, IntUnaryOperator wait, BooleanSupplier keepRunning) {
        requireArguments(consumer, "consumer", 0);
        requireArguments(wait, "wait strategy", 0);
        requireArguments(keepRunning, "exit condition", 0);
        int idle = 0;
        while (keepRunning.getAsBoolean()) {
            idle = drain(consumer) == 0 ? wait.applyAsInt(idle) : 0;
        }
    }

    /**
     * Appends values from a supplier until the queue is full or the limit is reached. For the producing thread.
     *
     * <p>The supplier is asked only when there is room for its answer, and each answer is visible to the consumer before
     * the next is asked for. If it throws, what it supplied before stays in the queue and the exception goes on. It may
     * take from this queue, and offer to it.
     *
     * @param supplier gives the values, on this thread
     * @param limit    the most values to append; 0 appends none
     * @return values appended; room that appears during the call may be left unused
     * @throws IllegalArgumentException if the supplier is null or the limit negative; nothing is appended
     * @throws IllegalStateException    as {@link #offer}, before the supplier is asked; or if the supplier itself filled or
     *                                  closed the queue, so that its last answer could not be appended
     */
    public int fill(LongSupplier supplier, int limit) {
        requireArguments(supplier, "supplier", limit);
        if (limit == 0) {
            return 0;
        }
        writer.flush(); // nothing is ever in hand: this lets the producing thread in, or throws, before a value is made
        final int most = Math.min(limit, queue.remaining());
        for (int i = 0; i < most; i++) {
            long value = supplier.getAsLong();
            if (!writer.write(HEADER, value, 0, 0, 0)) {
                throw new IllegalStateException(
                        "a supplier must not fill its own queue: no room is left for " + value + ", its last answer");
            }
        }
        return most;
    }

    /**
     * Appends values until the queue is full, at most {@link #capacity} of them. For the producing thread.
     *
     * @param supplier gives the values, on this thread
     * @return values appended
     * @throws IllegalArgumentException if the supplier is null; nothing is appended
     * @throws IllegalStateException    as {@link #fill(LongSupplier, int)}
     */
    public int fill(LongSupplier supplier) {
        return fill(supplier, queue.capacity());
    }

    /**
     * Fills until told to stop. For the producing thread.
     *
     * @param supplier    gives the values, on this thread
     * @param wait        called when the queue is full, with the number it returned last time, 0 after values went in
     * @param keepRunning asked before each fill of at most {@link #capacity} values
     * @throws IllegalArgumentException if an argument is null; nothing is appended
     * @throws IllegalStateException    as {@link #fill(LongSupplier, int)}
     */
    public void fill(LongSupplier supplier, IntUnaryOperator wait, BooleanSupplier keepRunning) {
        requireArguments(supplier, "supplier", 0);
        requireArguments(wait, "wait strategy", 0);
        requireArguments(keepRunning, "exit condition", 0);
        int idle = 0;
        while (keepRunning.getAsBoolean()) {
            idle = fill(supplier) == 0 ? wait.applyAsInt(idle) : 0;
        }
    }

    private static void requireArguments(Object function, String name, int limit) {
        if (function == null) {
            throw new IllegalArgumentException(name + " must not be null");
        }
        if (limit < 0) {
            throw new IllegalArgumentException("limit must be 0 or more: " + limit);
        }
    }

    /**
     * Drops what is there, at most {@link #capacity} values. For the consuming thread.
     *
     * @throws IllegalStateException as {@link #poll}
     */
    public void clear() {
        queue.poll(IGNORE, queue.capacity());
    }

    /**
     * Values in the queue. Any thread; exact if no other thread is at work, else an estimate.
     *
     * @return values, 0 to capacity
     */
    public int size() {
        return queue.size();
    }

    /**
     * Whether there is no value. Any thread. If the consuming thread gets false, it can take one.
     *
     * @return size() == 0
     */
    public boolean isEmpty() {
        return queue.isEmpty();
    }

    /**
     * The most values it holds.
     *
     * @return values
     */
    public int capacity() {
        return queue.capacity();
    }

    /**
     * Lets another thread become the producer.
     *
     * @throws IllegalStateException if the calling thread is not the producer
     */
    public void releaseProducer() {
        writer.release();
    }

    /**
     * Lets another thread become the consumer.
     *
     * @throws IllegalStateException if the calling thread is not the consumer, or is in a drain
     */
    public void releaseConsumer() {
        queue.releasePoller();
    }

    /**
     * Closes the queue, from any thread: calls that start later throw {@link IllegalStateException}; calls under way finish.
     * What is in it is given up. Closing again does nothing. Memory of the caller's is the caller's again once no call is
     * under way.
     */
    @Override
    public void close() {
        queue.close();
    }
}
