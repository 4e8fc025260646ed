package io.cqring.agrona;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionEntry;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.memory.CacheLines;
import io.cqring.memory.QueueMemory;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.AtomicBuffer;
import org.agrona.concurrent.ControlledMessageHandler;
import org.agrona.concurrent.ControlledMessageHandler.Action;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.RecordDescriptor;
import org.agrona.concurrent.ringbuffer.RingBuffer;

/**
 * Agrona's {@link RingBuffer} over a {@link CompletionQueue} of 128-byte entries, one message in each: code written for
 * {@code OneToOneRingBuffer} runs on it, as long as no message is longer than {@value MessageLayout#MAX_MESSAGE_BYTES} bytes.
 *
 * <p><b>Needs a JVM option</b>, as Agrona's own ring buffers do: {@code --add-opens java.base/jdk.internal.misc=ALL-UNNAMED} (on the
 * module path {@code =org.agrona}). The rest of this library does not.
 *
 * <p>What differs from {@code OneToOneRingBuffer}:
 *
 * <ul>
 *   <li>Messages have a fixed longest length, {@value MessageLayout#MAX_MESSAGE_BYTES} bytes, whatever the capacity, and each takes 128
 *       bytes, however short: positions, size and capacity are multiples of 128.
 *   <li>There is one producing and one consuming thread, and it is checked: the first thread that calls is it, until it ends or
 *       calls {@link #releaseProducer} or {@link #releaseConsumer}; any other gets an {@link IllegalStateException}. Claims that
 *       a thread leaves behind when it ends are given back, and the consumer never sees them.
 *   <li>A handler that reads the ring buffer it is called from gets an {@link IllegalStateException}.
 *   <li>{@code read} gives room back each time a quarter of the ring has been handled, not only at its end, and does not stop where
 *       the ring wraps. No call reads more messages than the ring has slots.
 *   <li>Bytes that {@code write} cannot read from the source are an error before anything is claimed.
 *   <li>A new ring buffer is empty, whatever its memory held.
 * </ul>
 *
 * <p><b>Progress:</b> wait-free. <b>Allocation:</b> none after creation. <b>Visibility:</b> whatever the producing thread wrote before it
 * wrote or committed a message is visible to the handler that gets the message. {@link #size}, the positions,
 * {@link #nextCorrelationId} and the heartbeat are for any thread.
 */
public final class CompletionRingBuffer implements RingBuffer, AutoCloseable {
    private static final String FLAG_IS_MISSING =
            "Agrona's buffers need the JVM option --add-opens java.base/jdk.internal.misc=ALL-UNNAMED"
                    + " (on the module path: =org.agrona)";

    private final AtomicBuffer buffer;
    private final QueueMemory memory;
    private final CompletionQueue queue;
    private final CompletionWriter writer;
    private final ReadTarget target;
    private final int messages;
    private final int firstSlot;
    private final int trailer;

    /**
     * An empty ring buffer in the caller's memory; whatever it holds is overwritten.
     *
     * @param buffer wraps a direct {@link ByteBuffer}, starts on a 64-byte boundary, and has exactly the bytes that
     *               {@link #requiredBytes} says for some power of two
     * @throws IllegalArgumentException if the buffer is not like that; it is not touched
     */
    public CompletionRingBuffer(AtomicBuffer buffer) {
        this.messages = messagesIn(buffer.capacity());
        this.buffer = buffer;
        this.memory = QueueMemory.wrap(bytesOf(buffer));
        this.trailer = (int) MessageLayout.trailerOffset(messages);
        this.firstSlot = trailer - MessageLayout.slotsBytes(messages);
        this.queue = CompletionQueue.ofCapacity(messages)
                .strideBytes(MessageLayout.STRIDE_BYTES)
                .memory(memory)
                .create();
        memory.fill(trailer, MessageLayout.TRAILER_BYTES, (byte) 0);
        this.writer = queue.writer();
        this.target = new ReadTarget(buffer);
    }

    /**
     * An empty ring buffer in memory of its own.
     *
     * @param messages the most messages it holds; a power of two, at most 2^23
     * @return the ring buffer
     * @throws IllegalArgumentException if the number breaks its rule
     * @throws IllegalStateException    if the JVM option is missing that Agrona's buffers need
     */
    public static CompletionRingBuffer ofMessages(int messages) {
        int bytes = (int) requiredBytes(messages);
        int alignment = CacheLines.SEPARATION_BYTES;
        ByteBuffer aligned = ByteBuffer.allocateDirect(bytes + alignment).alignedSlice(alignment);
        AtomicBuffer buffer;
        try {
            buffer = new UnsafeBuffer(aligned, 0, bytes);
        } catch (LinkageError notOpen) {
            throw new IllegalStateException(FLAG_IS_MISSING, notOpen);
        }
        return new CompletionRingBuffer(buffer);
    }

    /**
     * Memory that a ring buffer takes.
     *
     * @param messages the most messages it holds; a power of two, at most 2^23
     * @return bytes: the queue's and {@value MessageLayout#TRAILER_BYTES} more
     * @throws IllegalArgumentException if the number breaks its rule
     */
    public static long requiredBytes(int messages) {
        if (messages > MessageLayout.MAX_MESSAGES) {
            throw new IllegalArgumentException(
                    "messages must be at most " + MessageLayout.MAX_MESSAGES + ": " + messages);
        }
        return MessageLayout.trailerOffset(messages) + MessageLayout.TRAILER_BYTES;
    }

    private static int messagesIn(int bytes) {
        int messages = Integer.highestOneBit(Math.max(1, bytes / MessageLayout.STRIDE_BYTES));
        while (messages > 1 && requiredBytes(messages) > bytes) {
            messages >>= 1;
        }
        if (requiredBytes(messages) != bytes) {
            throw new IllegalArgumentException("buffer must have the bytes of a power of two of messages, " + messages
                    + " take " + requiredBytes(messages) + ": " + bytes);
        }
        return messages;
    }

    private static ByteBuffer bytesOf(AtomicBuffer buffer) {
        ByteBuffer bytes = buffer.byteBuffer();
        if (bytes == null || !bytes.isDirect()) {
            throw new IllegalArgumentException("buffer must wrap a direct ByteBuffer: " + buffer);
        }
        return bytes.duplicate().clear().slice(buffer.wrapAdjustment(), buffer.capacity());
    }

    /**
     * {@inheritDoc}
     *
     * <p>For the producing thread. Behind claims that are neither committed nor aborted, the consumer sees the message only when
     * they are.
     *
     * @throws IllegalArgumentException  if the type is less than 1, or the length negative or above {@link #maxMsgLength}; nothing
     *                                   is written
     * @throws IndexOutOfBoundsException if the source has no such bytes; nothing is written
     * @throws IllegalStateException     if the ring buffer is closed or another thread is the producer; nothing is written
     */
    @Override
    public boolean write(int msgTypeId, DirectBuffer srcBuffer, int offset, int length) {
        RecordDescriptor.checkTypeId(msgTypeId);
        requireLength(length);
        srcBuffer.boundsCheck(offset, length);
        final int slot = claim(msgTypeId, length, MessageLayout.RELEASED);
        if (slot == INSUFFICIENT_CAPACITY) {
            return false;
        }
        buffer.putBytes(slot + MessageLayout.MESSAGE_OFFSET, srcBuffer, offset, length);
        if (writer.entriesInHand() == 1) { // no claim is open in front of it
            writer.flush();
        }
        return true;
    }

    /**
     * {@inheritDoc}
     *
     * <p>For the producing thread, which must also commit or abort. Any number of claims may be open; they may be closed in any order.
     *
     * @throws IllegalStateException if the ring buffer is closed or another thread is the producer; nothing is claimed
     */
    @Override
    public int tryClaim(int msgTypeId, int length) {
        RecordDescriptor.checkTypeId(msgTypeId);
        requireLength(length);
        final int slot = claim(msgTypeId, length, MessageLayout.CLAIMED);
        return slot == INSUFFICIENT_CAPACITY ? slot : slot + MessageLayout.MESSAGE_OFFSET;
    }

    private static void requireLength(int length) {
        if (length < 0 || length > MessageLayout.MAX_MESSAGE_BYTES) {
            throw new IllegalArgumentException(
                    "message length must be 0 to " + MessageLayout.MAX_MESSAGE_BYTES + " bytes: " + length);
        }
    }

    /** Takes the next slot and sets every word of it, but for the bytes of the message. */
    private int claim(int type, int length, long state) {
        final CompletionEntry entry = writer.claim();
        if (entry == null) {
            return INSUFFICIENT_CAPACITY;
        }
        entry.header(MessageLayout.HEADER)
                .timestamp(0)
                .workRequestId(state)
                .length(CqeLayout.length(length, type))
                .detail(MessageLayout.DETAIL)
                .payloadInPlace();
        final int slot = (int) entry.slotOffset();
        final int end = slot + MessageLayout.STRIDE_BYTES;
        for (int word = slot + MessageLayout.MESSAGE_OFFSET + (length & -Long.BYTES); word != end; word += Long.BYTES) {
            memory.putLong(word, 0); // nothing of the last lap shows behind the message
        }
        memory.putLongOpaque(
                trailer + MessageLayout.CLAIMED_SEQUENCE, queue.producerSequence() + writer.entriesInHand());
        return slot;
    }

    /**
     * {@inheritDoc}
     *
     * <p>For the producing thread.
     *
     * @throws IllegalArgumentException if no message can lie at the index; nothing changes
     * @throws IllegalStateException    if the message is not claimed, or the ring buffer is closed, or another thread is the
     *                                  producer; nothing changes
     */
    @Override
    public void commit(int index) {
        release(index, false);
    }

    /**
     * {@inheritDoc}
     *
     * <p>For the producing thread.
     *
     * @throws IllegalArgumentException if no message can lie at the index; nothing changes
     * @throws IllegalStateException    if the message is not claimed, or the ring buffer is closed, or another thread is the
     *                                  producer; nothing changes
     */
    @Override
    public void abort(int index) {
        release(index, true);
    }

    /** Closes one claim, and publishes what has become the closed front of all claims. */
    private void release(int index, boolean aborted) {
        final int slot = index - MessageLayout.MESSAGE_OFFSET;
        if (slot < firstSlot || slot >= trailer || (slot - firstSlot) % MessageLayout.STRIDE_BYTES != 0) {
            throw new IllegalArgumentException("no message lies at index " + index);
        }
        final int inHand = writer.entriesInHand();
        final long first = queue.producerSequence();
        final int ahead = ((slot - firstSlot) / MessageLayout.STRIDE_BYTES - (int) first) & (messages - 1);
        if (ahead >= inHand || state(slot) != MessageLayout.CLAIMED) {
            throw new IllegalStateException("message at index " + index
                    + " is not claimed: it was committed or aborted, or its producing thread has ended");
        }
        if (aborted) {
            memory.putLong(slot + MessageLayout.LENGTH_OFFSET, CqeLayout.length(0, MessageLayout.ABORTED_TYPE));
        }
        memory.putLong(slot + MessageLayout.STATE_OFFSET, MessageLayout.RELEASED);
        if (ahead == 0) {
            int closed = 1;
            while (closed != inHand && state(slotOf(first + closed)) != MessageLayout.CLAIMED) {
                closed++;
            }
            writer.flush(closed);
        }
    }

    private int slotOf(long sequence) {
        return firstSlot + MessageLayout.slotsBytes((int) sequence & (messages - 1));
    }

    private long state(int slot) {
        return memory.getLong(slot + MessageLayout.STATE_OFFSET);
    }

    /**
     * {@inheritDoc}
     *
     * @throws NullPointerException  if there is no handler; nothing is read
     * @throws IllegalStateException as {@link #read(MessageHandler, int)}
     */
    @Override
    public int read(MessageHandler handler) {
        return read(handler, Integer.MAX_VALUE);
    }

    /**
     * {@inheritDoc}
     *
     * <p>For the consuming thread. A message counts as read once the handler is called: if it throws, the exception goes on and the
     * next read starts with the message after. The index that a handler gets is good until the handler returns.
     *
     * @param messageCountLimit the most messages to read; 0 or less reads none
     * @throws NullPointerException  if there is no handler; nothing is read
     * @throws IllegalStateException if the ring buffer is closed, another thread is the consumer, or the call comes from a
     *                               handler of this ring buffer; nothing is read
     */
    @Override
    public int read(MessageHandler handler, int messageCountLimit) {
        Objects.requireNonNull(handler, "handler");
        refuseHandler();
        // Nobody but the consuming thread, and no handler of ours, gets past the peek: the target is ours.
        if (messageCountLimit <= 0 || queue.peek() == null) {
            return 0;
        }
        final ReadTarget target = this.target;
        final int most = Math.min(messageCountLimit, messages);
        int read = 0;
        int polled = 0;
        target.handler = handler;
        try {
            do { // again only if aborted claims, which are no messages, have used up some of the limit
                target.aborted = 0;
                final int now = pollIfOpen(most - read);
                polled += now;
                read += now - target.aborted;
            } while (target.aborted != 0 && read != most && polled < messages);
        } finally {
            target.handler = null;
        }
        return read;
    }

    /** A poll of a read that is under way: 0 if the ring buffer was closed meanwhile, by the handler or another thread. */
    private int pollIfOpen(int most) {
        final long before = queue.consumerSequence();
        try {
            return queue.poll(target, most);
        } catch (IllegalStateException e) {
            // The poll was refused for the close, unless it took something: then the handler has thrown this.
            if (!queue.isClosed() || queue.consumerSequence() != before) {
                throw e;
            }
            return 0;
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws NullPointerException  if there is no handler; nothing is read
     * @throws IllegalStateException as {@link #read(MessageHandler, int)}
     */
    @Override
    public int controlledRead(ControlledMessageHandler handler) {
        return controlledRead(handler, Integer.MAX_VALUE);
    }

    /**
     * {@inheritDoc}
     *
     * <p>For the consuming thread. What an action does: see {@link Action}. The indices that a handler gets are good until it
     * answers COMMIT, or the call returns. If the handler throws, its message counts as read.
     *
     * @param messageCountLimit the most messages to read; 0 or less reads none
     * @throws NullPointerException  if there is no handler; nothing is read
     * @throws IllegalStateException as {@link #read(MessageHandler, int)}
     */
    @Override
    public int controlledRead(ControlledMessageHandler handler, int messageCountLimit) {
        Objects.requireNonNull(handler, "handler");
        refuseHandler();
        if (messageCountLimit <= 0 || !queue.startPoll()) {
            return 0;
        }
        final ReadTarget target = this.target;
        final Completion message = queue.completion();
        final int most = Math.min(messageCountLimit, messages);
        int read = 0;
        boolean open = true;
        boolean handling = false;
        target.controlled = true;
        try {
            while (true) {
                final int type = MessageLayout.type(message);
                if (type != MessageLayout.ABORTED_TYPE) {
                    handling = true;
                    final Action action = handler.onMessage(
                            type, buffer, MessageLayout.index(message), MessageLayout.length(message));
                    handling = false;
                    if (action == Action.ABORT) {
                        open = false;
                        queue.endPollButLast();
                        break;
                    }
                    read++;
                    if (action == Action.BREAK) {
                        break;
                    }
                    if (action == Action.COMMIT) {
                        open = false;
                        queue.endPoll();
                        open = read != most && queue.startPoll();
                        if (open) {
                            continue;
                        }
                        break;
                    }
                }
                if (read == most || !queue.next()) {
                    break;
                }
            }
        } catch (IllegalStateException e) {
            if (handling || !queue.isClosed()) {
                throw e;
            }
            open = false; // closed meanwhile: the end of the read
        } finally {
            target.controlled = false;
            if (open) {
                endPollIfOpen();
            }
        }
        return read;
    }

    private void endPollIfOpen() {
        try {
            queue.endPoll();
        } catch (IllegalStateException e) {
            if (!queue.isClosed()) {
                throw e;
            }
        }
    }

    private void refuseHandler() {
        if (target.controlled || target.handler != null) {
            throw new IllegalStateException("ring buffer is being read: a handler must not read its own ring buffer,"
                    + " nor another thread than the consumer");
        }
    }

    /**
     * The longest message, whatever the capacity.
     *
     * @return {@value MessageLayout#MAX_MESSAGE_BYTES} bytes
     */
    @Override
    public int maxMsgLength() {
        return MessageLayout.MAX_MESSAGE_BYTES;
    }

    /**
     * {@inheritDoc}
     *
     * @return bytes: 128 per message
     */
    @Override
    public int capacity() {
        return MessageLayout.slotsBytes(messages);
    }

    @Override
    public AtomicBuffer buffer() {
        return buffer;
    }

    /** {@inheritDoc} Any thread; no two calls get the same id. */
    @Override
    public long nextCorrelationId() {
        // Edge CORRELATION, both ends: load and store in one. Partner: itself, on another thread. Orders nothing else.
        // Weaker (a load, then a store): two requests get one id. Shown by CorrelationStress.
        return buffer.getAndAddLong(trailer + MessageLayout.CORRELATION_ID, 1);
    }

    /** {@inheritDoc} Any thread. The time is seen by itself: nothing else is ordered by it. */
    @Override
    public void consumerHeartbeatTime(long time) {
        memory.putLongOpaque(trailer + MessageLayout.HEARTBEAT, time);
    }

    @Override
    public long consumerHeartbeatTime() {
        return memory.getLongOpaque(trailer + MessageLayout.HEARTBEAT);
    }

    /**
     * {@inheritDoc}
     *
     * @return bytes: 128 for each message written or claimed
     */
    @Override
    public long producerPosition() {
        return memory.getLongOpaque(trailer + MessageLayout.CLAIMED_SEQUENCE) * MessageLayout.STRIDE_BYTES;
    }

    /**
     * {@inheritDoc}
     *
     * @return bytes: 128 for each message read or aborted
     */
    @Override
    public long consumerPosition() {
        return queue.consumerSequence() * MessageLayout.STRIDE_BYTES;
    }

    /**
     * {@inheritDoc}
     *
     * @return bytes: 128 for each message written or claimed and not yet read; 0 to the capacity
     */
    @Override
    public int size() {
        final long consumed = consumerPosition();
        return (int) Math.max(0, Math.min(producerPosition() - consumed, capacity()));
    }

    /**
     * Does nothing: claims of a thread that has ended are given back by the next call of the producing thread.
     *
     * @return false
     */
    @Override
    public boolean unblock() {
        return false;
    }

    /**
     * Lets another thread become the producer. Open claims stay open, and are the next producer's.
     *
     * @throws IllegalStateException if the calling thread is not the producer
     */
    public void releaseProducer() {
        writer.release();
    }

    /**
     * Lets another thread become the consumer.
     *
     * @throws IllegalStateException if the calling thread is not the consumer, or is in a handler
     */
    public void releaseConsumer() {
        refuseHandler();
        queue.releasePoller();
    }

    /**
     * Closes the ring buffer, from any thread: calls that read, write, claim, commit or abort and start later throw
     * {@link IllegalStateException}; calls under way finish. What is in it is given up. Closing again does nothing. Memory of
     * the caller's is the caller's again once no call is under way.
     */
    @Override
    public void close() {
        queue.close();
    }
}
