package io.cqring.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;
import org.agrona.BufferUtil;
import org.agrona.UnsafeApi;

/**
 * Direct memory, reached by the one {@link AccessRoute} of this JVM. {@code FAST} is a constant to the JIT, so compiled
 * code holds one branch of each method and no test.
 *
 * <p>The fast route works on a raw address, which the garbage collector does not see: {@code buffer} keeps the memory, this
 * object keeps {@code buffer}, and a reachability fence after each access keeps this object (JLS 12.6.1).
 */
@SuppressWarnings("ReachabilityFenceUsage") // asks for try and finally; these accesses cannot throw
final class DirectMemory extends QueueMemory {
    static final AccessRoute ROUTE =
            AccessRoute.choose(System.getProperty(AccessRoute.PROPERTY, "auto"), unsafeWorks());

    private static final boolean FAST = ROUTE == AccessRoute.UNSAFE;
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final ByteBuffer buffer;
    private final long address;

    private DirectMemory(ByteBuffer buffer) {
        super(buffer.capacity());
        this.buffer = buffer;
        this.address = FAST ? BufferUtil.address(buffer) : 0;
    }

    /** Agrona's UnsafeApi links only where jdk.internal.misc is open to it; its failure is a LinkageError. */
    private static boolean unsafeWorks() {
        if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
            return false; // UnsafeApi has the machine's byte order, the layouts are little endian
        }
        try {
            ByteBuffer probe = ByteBuffer.allocateDirect(Long.BYTES);
            return UnsafeApi.getLong(BufferUtil.address(probe)) == 0;
        } catch (LinkageError unavailable) {
            return false;
        }
    }

    static QueueMemory allocateDirect(long bytes) {
        int alignment = CacheLines.SEPARATION_BYTES;
        long most = (MAX_BYTES - alignment) / alignment * alignment;
        if (bytes < 1 || bytes > most) {
            throw new IllegalArgumentException("size must be 1 to " + most + " bytes: " + bytes);
        }
        // alignedSlice rounds the limit down as well as the position up, hence a whole unit of slack on top.
        int rounded = (int) ((bytes + alignment - 1) / alignment * alignment);
        ByteBuffer raw = ByteBuffer.allocateDirect(rounded + alignment);
        return new DirectMemory(raw.alignedSlice(alignment).slice(0, (int) bytes));
    }

    static QueueMemory wrapDirect(ByteBuffer buffer) {
        if (!buffer.isDirect()) {
            throw new IllegalArgumentException(
                    "buffer must be direct (atomic access to heap arrays is not defined): " + buffer);
        }
        if (buffer.isReadOnly()) {
            throw new IllegalArgumentException("buffer must be writable: " + buffer);
        }
        if (!buffer.hasRemaining()) {
            throw new IllegalArgumentException("buffer must not be empty: " + buffer);
        }
        int past = buffer.alignmentOffset(buffer.position(), CacheLines.LINE_BYTES);
        if (past != 0) {
            throw new IllegalArgumentException("buffer must start on a " + CacheLines.LINE_BYTES
                    + "-byte boundary, it starts " + past + " bytes past one: " + buffer);
        }
        return new DirectMemory(buffer.slice());
    }

    @Override
    public long getLong(long offset) {
        assert inBounds(offset);
        if (FAST) {
            long value = UnsafeApi.getLong(address + offset);
            Reference.reachabilityFence(this);
            return value;
        }
        return (long) LONGS.get(buffer, (int) offset);
    }

    @Override
    public void putLong(long offset, long value) {
        assert inBounds(offset);
        if (FAST) {
            UnsafeApi.putLong(address + offset, value);
            Reference.reachabilityFence(this);
        } else {
            LONGS.set(buffer, (int) offset, value);
        }
    }

    @Override
    public long getLongOpaque(long offset) {
        assert inBounds(offset);
        if (FAST) {
            long value = UnsafeApi.getLongOpaque(null, address + offset);
            Reference.reachabilityFence(this);
            return value;
        }
        return (long) LONGS.getOpaque(buffer, (int) offset);
    }

    @Override
    public void putLongOpaque(long offset, long value) {
        assert inBounds(offset);
        if (FAST) {
            UnsafeApi.putLongOpaque(null, address + offset, value);
            Reference.reachabilityFence(this);
        } else {
            LONGS.setOpaque(buffer, (int) offset, value);
        }
    }

    @Override
    public long getLongAcquire(long offset) {
        assert inBounds(offset);
        if (FAST) {
            long value = UnsafeApi.getLongAcquire(null, address + offset);
            Reference.reachabilityFence(this);
            return value;
        }
        return (long) LONGS.getAcquire(buffer, (int) offset);
    }

    @Override
    public void putLongRelease(long offset, long value) {
        assert inBounds(offset);
        if (FAST) {
            UnsafeApi.putLongRelease(null, address + offset, value);
            Reference.reachabilityFence(this);
        } else {
            LONGS.setRelease(buffer, (int) offset, value);
        }
    }

    @Override
    public boolean compareAndSetLong(long offset, long expected, long value) {
        assert inBounds(offset);
        if (FAST) {
            boolean stored = UnsafeApi.compareAndSetLong(null, address + offset, expected, value);
            Reference.reachabilityFence(this);
            return stored;
        }
        return LONGS.compareAndSet(buffer, (int) offset, expected, value);
    }

    @Override
    public void getBytes(int offset, byte[] into, int index, int length) {
        buffer.get(offset, into, index, length);
    }

    @Override
    public void putBytes(int offset, byte[] from, int index, int length) {
        buffer.put(offset, from, index, length);
    }

    @Override
    public void copy(int offset, QueueMemory source, int sourceOffset, int length) {
        Objects.checkFromIndexSize(offset, length, sizeBytes());
        Objects.checkFromIndexSize(sourceOffset, length, source.sizeBytes());
        if (source instanceof DirectMemory direct) {
            buffer.put(offset, direct.buffer, sourceOffset, length);
        } else {
            byte[] bytes = new byte[length];
            source.getBytes(sourceOffset, bytes, 0, length);
            buffer.put(offset, bytes, 0, length);
        }
    }

    @Override
    public void fill(int offset, int length, byte value) {
        Objects.checkFromIndexSize(offset, length, sizeBytes());
        byte[] pattern = new byte[Math.min(length, 1 << 16)];
        Arrays.fill(pattern, value);
        int left = length; // counts down: a count up to 2^31-1 in steps of the pattern's length would pass it
        while (left > 0) {
            int now = Math.min(pattern.length, left);
            buffer.put(offset + length - left, pattern, 0, now);
            left -= now;
        }
    }

    private boolean inBounds(long offset) {
        return offset >= 0 && offset <= sizeBytes() - Long.BYTES && (offset & (Long.BYTES - 1)) == 0;
    }

    @Override
    public String toString() {
        return "QueueMemory[" + sizeBytes() + " bytes, " + ROUTE + "]";
    }
}
