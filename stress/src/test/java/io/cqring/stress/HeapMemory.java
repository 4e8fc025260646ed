package io.cqring.stress;

import io.cqring.memory.QueueMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * A region on the heap, each word of it an element of an array that Lincheck sees: before each access it decides which thread
 * goes on. It cannot do so with the shipped memory, which goes through a {@code ByteBuffer} or {@code Unsafe}.
 *
 * <p>Every access is volatile. Lincheck runs one thread at a time anyway: what a weaker access lets through is for jcstress.
 */
class HeapMemory extends QueueMemory {
    private final AtomicLongArray words;

    HeapMemory(long sizeBytes) {
        super(Math.toIntExact(sizeBytes));
        this.words = new AtomicLongArray(index(sizeBytes));
    }

    private static int index(long offset) {
        return (int) (offset / Long.BYTES);
    }

    @Override
    public long getLong(long offset) {
        return words.get(index(offset));
    }

    @Override
    public void putLong(long offset, long value) {
        words.set(index(offset), value);
    }

    @Override
    public long getLongOpaque(long offset) {
        return words.get(index(offset));
    }

    @Override
    public void putLongOpaque(long offset, long value) {
        words.set(index(offset), value);
    }

    @Override
    public long getLongAcquire(long offset) {
        return words.get(index(offset));
    }

    @Override
    public void putLongRelease(long offset, long value) {
        words.set(index(offset), value);
    }

    @Override
    public boolean compareAndSetLong(long offset, long expected, long value) {
        return words.compareAndSet(index(offset), expected, value);
    }

    @Override
    public long getAndAddLong(long offset, long delta) {
        return words.getAndAdd(index(offset), delta);
    }

    @Override
    public void fullFence() {
        // Every access here is volatile: there is nothing left to order.
    }

    /** Whole words only: what a poller copies out. */
    @Override
    public void getBytes(int offset, byte[] into, int index, int length) {
        ByteBuffer copies = ByteBuffer.wrap(into, index, length).order(ByteOrder.LITTLE_ENDIAN);
        for (int at = offset; at != offset + length; at += Long.BYTES) {
            copies.putLong(getLong(at));
        }
    }

    @Override
    public void putBytes(int offset, byte[] from, int index, int length) {
        throw new UnsupportedOperationException("putBytes: no call under test stores bytes");
    }

    @Override
    public void copy(int offset, QueueMemory source, int sourceOffset, int length) {
        throw new UnsupportedOperationException("copy: no call under test stores bytes");
    }

    @Override
    public void fill(int offset, int length, byte value) {
        for (int index = index(offset); index != index((long) offset + length); index++) {
            words.set(index, Byte.toUnsignedLong(value) * 0x0101_0101_0101_0101L);
        }
    }

    /** For twins: the compare-and-set of one word is a test, then a store. */
    static final class TestThenSet extends HeapMemory {
        private final int word;

        TestThenSet(long sizeBytes, int word) {
            super(sizeBytes);
            this.word = word;
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            if (offset != word) {
                return super.compareAndSetLong(offset, expected, value);
            }
            if (getLong(offset) != expected) {
                return false;
            }
            putLong(offset, value);
            return true;
        }
    }

    /** For twins of a queue with many pollers: the next entry is claimed as soon as its owner bit is valid, then copied. */
    static final class ClaimFirst extends HeapMemory {
        private final int capacity;
        private final int strideBytes;

        /** Whether this thread has claimed what it is copying. */
        private final ThreadLocal<Boolean> claimed = ThreadLocal.withInitial(() -> false);

        ClaimFirst(long sizeBytes, int capacity, int strideBytes) {
            super(sizeBytes);
            this.capacity = capacity;
            this.strideBytes = strideBytes;
        }

        @Override
        public long getLongAcquire(long offset) {
            long value = super.getLongAcquire(offset);
            if (offset >= Region.FIRST_SLOT) {
                long next = getLong(Region.CONSUMER_SEQUENCE);
                long valid = (next / capacity & 1) ^ 1;
                if (offset == Region.slot((int) (next % capacity), strideBytes) && (value & 1) == valid) {
                    claimed.set(super.compareAndSetLong(Region.CONSUMER_SEQUENCE, next, next + 1));
                }
            }
            return value;
        }

        @Override
        public boolean compareAndSetLong(long offset, long expected, long value) {
            if (offset != Region.CONSUMER_SEQUENCE) {
                return super.compareAndSetLong(offset, expected, value);
            }
            boolean mine = claimed.get();
            claimed.set(false);
            return mine;
        }
    }
}
