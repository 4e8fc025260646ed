package io.cqring.simnic.profile;

import io.cqring.memory.QueueMemory;

/** Real memory, but for what a subclass does to release stores. */
public abstract class TamperedMemory extends QueueMemory {
    private final QueueMemory real;

    protected TamperedMemory(QueueMemory real) {
        super(real.sizeBytes());
        this.real = real;
    }

    /**
     * A release store on its way.
     *
     * @return what is stored instead
     */
    protected abstract long tamper(long offset, long value);

    @Override
    public void putLongRelease(long offset, long value) {
        real.putLongRelease(offset, tamper(offset, value));
    }

    @Override
    public long getLong(long offset) {
        return real.getLong(offset);
    }

    @Override
    public void putLong(long offset, long value) {
        real.putLong(offset, value);
    }

    @Override
    public long getLongOpaque(long offset) {
        return real.getLongOpaque(offset);
    }

    @Override
    public void putLongOpaque(long offset, long value) {
        real.putLongOpaque(offset, value);
    }

    @Override
    public long getLongAcquire(long offset) {
        return real.getLongAcquire(offset);
    }

    @Override
    public boolean compareAndSetLong(long offset, long expected, long value) {
        return real.compareAndSetLong(offset, expected, value);
    }

    @Override
    public long getAndAddLong(long offset, long delta) {
        return real.getAndAddLong(offset, delta);
    }

    @Override
    public void fullFence() {
        real.fullFence();
    }

    @Override
    public void getBytes(int offset, byte[] into, int index, int length) {
        real.getBytes(offset, into, index, length);
    }

    @Override
    public void putBytes(int offset, byte[] from, int index, int length) {
        real.putBytes(offset, from, index, length);
    }

    @Override
    public void copy(int offset, QueueMemory source, int sourceOffset, int length) {
        real.copy(offset, source, sourceOffset, length);
    }

    @Override
    public void fill(int offset, int length, byte value) {
        real.fill(offset, length, value);
    }
}
