package io.cqring.testing;

import io.cqring.memory.QueueMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;

/** Real memory that writes down every access in program order. One thread. */
public final class RecordingMemory extends QueueMemory {
    /** Kind of access. */
    public enum Op {
        /** Plain load. */
        GET,
        /** Plain store. */
        PUT,
        /** Opaque load. */
        GET_OPAQUE,
        /** Opaque store. */
        PUT_OPAQUE,
        /** Acquire load. */
        GET_ACQUIRE,
        /** Release store. */
        PUT_RELEASE,
        /** Compare-and-set; the value is what it would store, whether it did or not. */
        COMPARE_AND_SET,
        /** Get-and-add; the value is what is added. */
        GET_AND_ADD,
        /** Full fence. */
        FULL_FENCE,
        /** Byte-wise access of any kind. */
        BYTES;

        /**
         * Whether memory changes.
         *
         * @return true for stores
         */
        public boolean isStore() {
            return switch (this) {
                case GET, GET_OPAQUE, GET_ACQUIRE, FULL_FENCE -> false;
                case PUT, PUT_OPAQUE, PUT_RELEASE, COMPARE_AND_SET, GET_AND_ADD, BYTES -> true;
            };
        }
    }

    /** One access. */
    public record Access(Op op, int offset, long value) {
        @Override
        public String toString() {
            return op + "@" + offset + "=" + Long.toHexString(value);
        }
    }

    private final QueueMemory real;
    private final List<Access> log = new ArrayList<>();

    /** Fault hook: stores of words for which this holds are lost on their way. */
    private IntPredicate lostStores = offset -> false;

    /** Race hook: runs before each compare-and-set. */
    private Runnable beforeCompareAndSet = () -> {};

    /**
     * Memory of its own.
     *
     * @param bytes size
     */
    public RecordingMemory(long bytes) {
        super((int) bytes);
        this.real = QueueMemory.allocate(bytes);
    }

    /**
     * From now on, stores to these offsets have no effect.
     *
     * @param offsets which
     */
    public void loseStores(IntPredicate offsets) {
        this.lostStores = offsets;
    }

    /**
     * From now on, each compare-and-set comes after something else has happened.
     *
     * @param before what
     */
    public void onCompareAndSet(Runnable before) {
        this.beforeCompareAndSet = before;
    }

    /**
     * The memory itself, for accesses that are not to be written down.
     *
     * @return what lies under this
     */
    public QueueMemory real() {
        return real;
    }

    /** Forgets what was written down. */
    public void clear() {
        log.clear();
    }

    /**
     * Everything so far.
     *
     * @return accesses in program order
     */
    public List<Access> log() {
        return List.copyOf(log);
    }

    /**
     * Accesses of a range so far.
     *
     * @param from first byte
     * @param to   byte after the last
     * @return accesses in program order
     */
    public List<Access> log(int from, int to) {
        List<Access> range = new ArrayList<>();
        for (Access access : log) {
            if (access.offset >= from && access.offset < to) {
                range.add(access);
            }
        }
        return range;
    }

    private long loaded(Op op, long offset, long value) {
        log.add(new Access(op, (int) offset, value));
        return value;
    }

    private boolean stores(Op op, long offset, long value) {
        log.add(new Access(op, (int) offset, value));
        return !lostStores.test((int) offset);
    }

    @Override
    public long getLong(long offset) {
        return loaded(Op.GET, offset, real.getLong(offset));
    }

    @Override
    public void putLong(long offset, long value) {
        if (stores(Op.PUT, offset, value)) {
            real.putLong(offset, value);
        }
    }

    @Override
    public long getLongOpaque(long offset) {
        return loaded(Op.GET_OPAQUE, offset, real.getLongOpaque(offset));
    }

    @Override
    public void putLongOpaque(long offset, long value) {
        if (stores(Op.PUT_OPAQUE, offset, value)) {
            real.putLongOpaque(offset, value);
        }
    }

    @Override
    public long getLongAcquire(long offset) {
        return loaded(Op.GET_ACQUIRE, offset, real.getLongAcquire(offset));
    }

    @Override
    public void putLongRelease(long offset, long value) {
        if (stores(Op.PUT_RELEASE, offset, value)) {
            real.putLongRelease(offset, value);
        }
    }

    @Override
    public boolean compareAndSetLong(long offset, long expected, long value) {
        beforeCompareAndSet.run();
        return stores(Op.COMPARE_AND_SET, offset, value) && real.compareAndSetLong(offset, expected, value);
    }

    @Override
    public long getAndAddLong(long offset, long delta) {
        log.add(new Access(Op.GET_AND_ADD, (int) offset, delta));
        return real.getAndAddLong(offset, delta);
    }

    @Override
    public void fullFence() {
        log.add(new Access(Op.FULL_FENCE, 0, 0));
        real.fullFence();
    }

    @Override
    public void getBytes(int offset, byte[] into, int index, int length) {
        log.add(new Access(Op.BYTES, offset, length));
        real.getBytes(offset, into, index, length);
    }

    @Override
    public void putBytes(int offset, byte[] from, int index, int length) {
        log.add(new Access(Op.BYTES, offset, length));
        real.putBytes(offset, from, index, length);
    }

    @Override
    public void copy(int offset, QueueMemory source, int sourceOffset, int length) {
        log.add(new Access(Op.BYTES, offset, length));
        real.copy(offset, source, sourceOffset, length);
    }

    @Override
    public void fill(int offset, int length, byte value) {
        log.add(new Access(Op.BYTES, offset, length));
        real.fill(offset, length, value);
    }
}
