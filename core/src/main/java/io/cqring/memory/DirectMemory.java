package io.cqring.memory;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
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

    /** Pages are this large or larger. */
    static final int SMALLEST_PAGE_BYTES = 4096;

    private static final boolean FAST = ROUTE == AccessRoute.UNSAFE;
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    /** Bytes written at a time when a file is filled. */
    private static final int PIECE_BYTES = 1 << 16;

    private final ByteBuffer buffer;
    private final long address;

    /** The file that this memory is, or null. */
    private final Path file;

    private DirectMemory(ByteBuffer buffer) {
        this(buffer, null);
    }

    private DirectMemory(ByteBuffer buffer, Path file) {
        super(buffer.capacity());
        this.buffer = buffer;
        this.address = FAST ? BufferUtil.address(buffer) : 0;
        this.file = file;
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

    static QueueMemory createFile(Path file, long bytes) throws IOException {
        if (bytes < 1 || bytes > MAX_BYTES) {
            throw new IllegalArgumentException("size must be 1 to " + MAX_BYTES + " bytes: " + bytes);
        }
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            try {
                writeZeros(channel, bytes);
                return map(channel, file, bytes);
            } catch (IOException | RuntimeException | Error e) {
                try {
                    Files.deleteIfExists(file);
                } catch (IOException suppressed) {
                    e.addSuppressed(suppressed);
                }
                throw e;
            }
        }
    }

    /** Real zeros, not a hole: a store to a hole kills the JVM when the disk is full, a write here fails. */
    private static void writeZeros(FileChannel channel, long bytes) throws IOException {
        ByteBuffer zeros = ByteBuffer.allocateDirect((int) Math.min(bytes, PIECE_BYTES));
        for (long written = 0; written != bytes; ) {
            zeros.clear().limit((int) Math.min(bytes - written, PIECE_BYTES));
            written += channel.write(zeros, written);
        }
    }

    static QueueMemory attachFile(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            long bytes = channel.size();
            if (bytes > MAX_BYTES) {
                throw new IllegalArgumentException(
                        "file must have at most " + MAX_BYTES + " bytes: " + bytes + ", " + file);
            }
            return map(channel, file, bytes);
        }
    }

    /** The mapping outlives the channel; it ends when the garbage collector finds the buffer unreachable. */
    private static QueueMemory map(FileChannel channel, Path file, long bytes) throws IOException {
        return new DirectMemory(channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes), file.toRealPath());
    }

    @Override
    public RoleLock roleLock(String role) {
        return file == null ? null : RoleLock.beside(file, role);
    }

    @Override
    public void pretouch() {
        final long last = (long) (sizeBytes() & -Long.BYTES) - Long.BYTES;
        for (long offset = 0; offset < last; offset += SMALLEST_PAGE_BYTES) {
            addNothing(offset);
        }
        if (last >= 0) {
            addNothing(last);
        }
    }

    /** A store that changes nothing, even if another thread stores at the same time: hence atomic. */
    private void addNothing(long offset) {
        if (FAST) {
            UnsafeApi.getAndAddLong(null, address + offset, 0);
            Reference.reachabilityFence(this);
        } else {
            LONGS.getAndAdd(buffer, (int) offset, 0L);
        }
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
    public long compareAndExchangeLong(long offset, long expected, long value) {
        assert inBounds(offset);
        if (FAST) {
            long before = UnsafeApi.compareAndExchangeLong(null, address + offset, expected, value);
            Reference.reachabilityFence(this);
            return before;
        }
        return (long) LONGS.compareAndExchange(buffer, (int) offset, expected, value);
    }

    @Override
    public long getAndAddLong(long offset, long delta) {
        assert inBounds(offset);
        if (FAST) {
            long before = UnsafeApi.getAndAddLong(null, address + offset, delta);
            Reference.reachabilityFence(this);
            return before;
        }
        return (long) LONGS.getAndAdd(buffer, (int) offset, delta);
    }

    @Override
    public void fullFence() {
        VarHandle.fullFence();
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
        return "QueueMemory[" + sizeBytes() + " bytes, " + ROUTE + (file == null ? "" : ", " + file) + "]";
    }
}
