package io.cqring.testing;

import io.cqring.memory.QueueMemory;
import io.cqring.memory.RoleLock;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A memory that is another one: for tests that change some of what it does. */
public abstract class ForwardingMemory extends QueueMemory {
    /** The other one. */
    protected final QueueMemory memory;

    /**
     * Forwards all.
     *
     * @param memory where to
     */
    protected ForwardingMemory(QueueMemory memory) {
        super(memory.sizeBytes());
        this.memory = memory;
    }

    @Override
    public RoleLock roleLock(String role) {
        return memory.roleLock(role);
    }

    @Override
    public long getLong(long offset) {
        return memory.getLong(offset);
    }

    @Override
    public void putLong(long offset, long value) {
        memory.putLong(offset, value);
    }

    @Override
    public long getLongOpaque(long offset) {
        return memory.getLongOpaque(offset);
    }

    @Override
    public void putLongOpaque(long offset, long value) {
        memory.putLongOpaque(offset, value);
    }

    @Override
    public long getLongAcquire(long offset) {
        return memory.getLongAcquire(offset);
    }

    @Override
    public void putLongRelease(long offset, long value) {
        memory.putLongRelease(offset, value);
    }

    @Override
    public boolean compareAndSetLong(long offset, long expected, long value) {
        return memory.compareAndSetLong(offset, expected, value);
    }

    @Override
    public long getAndAddLong(long offset, long delta) {
        return memory.getAndAddLong(offset, delta);
    }

    @Override
    public void fullFence() {
        memory.fullFence();
    }

    /** Whole words by {@link #getLong}, so that whoever looks at loads sees these as well. */
    @Override
    public void getBytes(int offset, byte[] into, int index, int length) {
        if (((offset | length) & (Long.BYTES - 1)) != 0) {
            memory.getBytes(offset, into, index, length);
            return;
        }
        ByteBuffer words = ByteBuffer.wrap(into, index, length).order(ByteOrder.LITTLE_ENDIAN);
        for (int at = offset; at != offset + length; at += Long.BYTES) {
            words.putLong(getLong(at));
        }
    }

    @Override
    public void putBytes(int offset, byte[] from, int index, int length) {
        memory.putBytes(offset, from, index, length);
    }

    @Override
    public void copy(int offset, QueueMemory source, int sourceOffset, int length) {
        memory.copy(offset, source, sourceOffset, length);
    }

    @Override
    public void fill(int offset, int length, byte value) {
        memory.fill(offset, length, value);
    }
}
