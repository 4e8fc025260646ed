package io.cqring.jmh;

import java.nio.ByteBuffer;
import org.agrona.BitUtil;
import org.agrona.BufferUtil;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.OneToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RecordDescriptor;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;

/**
 * Agrona's {@code OneToOneRingBuffer}: messages written in place with {@code tryClaim} and {@code commit}, taken with
 * {@code read}. A record is the message and 8 bytes of header, so as many fit as the other rings hold entries. Run it with
 * {@code agrona.disable.bounds.checks=true}, as its users who care for speed do.
 */
final class AgronaTransfer extends Transfer {
    private static final int MESSAGE_TYPE = 1;

    private final UnsafeBuffer buffer;
    private final OneToOneRingBuffer ring;
    private final Sum sum;

    AgronaTransfer(int entryBytes) {
        super(entryBytes);
        int message = wordsOf(entryBytes) * Long.BYTES;
        int record = BitUtil.align(message + RecordDescriptor.HEADER_LENGTH, RecordDescriptor.ALIGNMENT);
        ByteBuffer memory = BufferUtil.allocateDirectAligned(
                CAPACITY * record + RingBufferDescriptor.TRAILER_LENGTH, BitUtil.CACHE_LINE_LENGTH);
        this.buffer = new UnsafeBuffer(memory);
        this.ring = new OneToOneRingBuffer(buffer);
        this.sum = wide ? new WideSum() : new NarrowSum();
    }

    @Override
    void send(long first, int count) {
        fullRefusals += wide ? sendWide(ring, buffer, first, count) : sendNarrow(ring, buffer, first, count);
    }

    private static long sendWide(OneToOneRingBuffer ring, UnsafeBuffer buffer, long first, int count) {
        long full = 0;
        for (long s = first; s != first + count; s++) {
            int index = ring.tryClaim(MESSAGE_TYPE, 7 * Long.BYTES);
            while (index < 0) {
                full++;
                Thread.onSpinWait();
                index = ring.tryClaim(MESSAGE_TYPE, 7 * Long.BYTES);
            }
            buffer.putLong(index, s);
            buffer.putLong(index + 8, s + 1);
            buffer.putLong(index + 16, s + 2);
            buffer.putLong(index + 24, s + 3);
            buffer.putLong(index + 32, s + 4);
            buffer.putLong(index + 40, s + 5);
            buffer.putLong(index + 48, s + 6);
            ring.commit(index);
        }
        return full;
    }

    private static long sendNarrow(OneToOneRingBuffer ring, UnsafeBuffer buffer, long first, int count) {
        long full = 0;
        for (long s = first; s != first + count; s++) {
            int index = ring.tryClaim(MESSAGE_TYPE, 3 * Long.BYTES);
            while (index < 0) {
                full++;
                Thread.onSpinWait();
                index = ring.tryClaim(MESSAGE_TYPE, 3 * Long.BYTES);
            }
            buffer.putLong(index, s);
            buffer.putLong(index + 8, s + 1);
            buffer.putLong(index + 16, s + 2);
            ring.commit(index);
        }
        return full;
    }

    @Override
    void receive(long count) {
        OneToOneRingBuffer ring = this.ring;
        Sum sum = this.sum;
        long empty = 0;
        long left = count;
        while (left != 0) {
            int taken = ring.read(sum, (int) Math.min(left, POLL_LIMIT));
            if (taken == 0) {
                empty++;
                Thread.onSpinWait();
            }
            left -= taken;
        }
        sum.emptyPolls += empty;
    }

    @Override
    PollerTally tally() {
        return sum;
    }

    private abstract static class Sum extends PollerTally implements MessageHandler {}

    private static final class WideSum extends Sum {
        @Override
        public void onMessage(int type, MutableDirectBuffer buffer, int index, int length) {
            sum += buffer.getLong(index)
                    + buffer.getLong(index + 8)
                    + buffer.getLong(index + 16)
                    + buffer.getLong(index + 24)
                    + buffer.getLong(index + 32)
                    + buffer.getLong(index + 40)
                    + buffer.getLong(index + 48);
        }
    }

    private static final class NarrowSum extends Sum {
        @Override
        public void onMessage(int type, MutableDirectBuffer buffer, int index, int length) {
            sum += buffer.getLong(index) + buffer.getLong(index + 8) + buffer.getLong(index + 16);
        }
    }
}
