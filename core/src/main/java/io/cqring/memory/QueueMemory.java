package io.cqring.memory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * A region of off-heap memory: the one door through which this project touches memory that two threads share.
 *
 * <p>Offsets are bytes from the start of the region. A {@code long} lies at a multiple of 8 and in little-endian
 * byte order, whatever the machine. The methods are named for their ordering, as in {@code VarHandle}: plain (no
 * suffix), opaque, acquire, release, compare-and-set. They order nothing by themselves: each caller names the edge it is one end of
 * (see {@code core/docs/ordering.md}).
 *
 * <p><b>Bounds:</b> a caller keeps {@code 0 <= offset <= sizeBytes() - 8}. The buffer route checks it; the fast route
 * checks it with {@code assert} only, so that a poll costs no bounds check. Byte operations ({@link #getBytes},
 * {@link #putBytes}, {@link #copy}, {@link #fill}) are checked on both routes.
 *
 * <p><b>Life:</b> memory from {@link #allocate} is given back by the garbage collector once no end of a queue refers
 * to it, so no end can ever touch memory that is gone. Memory passed to {@link #wrap} stays the caller's: the buffer is
 * kept reachable, but a caller who frees it by other means must have closed both ends first. A file from {@link #create} or
 * {@link #attach} stays mapped until no end of a queue in this process refers to it; it may be deleted at any time, and lives on
 * for those who have it mapped.
 *
 * <p>There is one shipped implementation, so the JIT inlines it without a type check. The class is open for model
 * checkers and recorders only: a second implementation loaded into a production JVM costs speed.
 */
public abstract class QueueMemory {
    /** The largest region, in bytes: what a {@link ByteBuffer} can address. */
    public static final long MAX_BYTES = Integer.MAX_VALUE;

    private final int sizeBytes;

    /**
     * For implementations.
     *
     * @param sizeBytes size of the region, in bytes
     */
    protected QueueMemory(int sizeBytes) {
        this.sizeBytes = sizeBytes;
    }

    /**
     * Allocates a zeroed region on a {@value CacheLines#SEPARATION_BYTES}-byte boundary.
     *
     * @param bytes size of the region, in bytes; 1 to {@link #MAX_BYTES} less the alignment
     * @return the region
     * @throws IllegalArgumentException if {@code bytes} is out of range; nothing is allocated
     * @throws OutOfMemoryError         if the JVM's limit for direct memory is reached (see -XX:MaxDirectMemorySize)
     */
    public static QueueMemory allocate(long bytes) {
        return DirectMemory.allocateDirect(bytes);
    }

    /**
     * Uses the caller's memory between the buffer's position and limit: huge pages, a mapped file, device memory.
     * Contents are left alone.
     *
     * <p>For a native {@code MemorySegment} (JDK 22 or later, no flag) pass {@code segment.asByteBuffer()}. Its arena is the
     * caller's: close both ends, and let no call be under way, before the arena is closed.
     *
     * @param buffer a direct, writable buffer whose position lies on a {@value CacheLines#LINE_BYTES}-byte boundary; its
     *               position and limit may be changed afterwards without effect
     * @return the region
     * @throws IllegalArgumentException if the buffer is on the heap, read-only, empty or not aligned
     */
    public static QueueMemory wrap(ByteBuffer buffer) {
        return DirectMemory.wrapDirect(buffer);
    }

    /**
     * Makes a file of zeros and maps it, so that other processes can {@link #attach} it. Put it on a file system in memory
     * (tmpfs, on Linux {@code /dev/shm}) if it need not survive a reboot: elsewhere the system writes it to disk now and then.
     *
     * <p>The space is taken here, by writing every byte: a full disk is an error now, not a crash of the JVM at some store
     * later. That holds for tmpfs and for file systems that overwrite in place (ext4, xfs); one that copies on write, compresses
     * or lives on a network (btrfs, ZFS, NFS) may still run out later.
     *
     * <p>Nobody may shorten the file while a process has it mapped. It is a way to share memory, not a log: after a power
     * failure its contents are undefined.
     *
     * @param file  the file to make; it must not exist
     * @param bytes size of the region, in bytes; 1 to {@link #MAX_BYTES}
     * @return the region
     * @throws IllegalArgumentException if {@code bytes} is out of range; nothing is made
     * @throws java.nio.file.FileAlreadyExistsException if there is such a file; it is left alone
     * @throws IOException              if there is no room, or the file cannot be made or mapped; no file is left behind
     */
    public static QueueMemory create(Path file, long bytes) throws IOException {
        return DirectMemory.createFile(file, bytes);
    }

    /**
     * Maps a file that {@link #create} has made, all of it, in whatever state it is. Changes no byte; it is the queue's attach
     * that judges the contents.
     *
     * @param file an existing file, readable and writable, of at most {@link #MAX_BYTES} bytes
     * @return the region, as large as the file is now
     * @throws IllegalArgumentException if the file is too large
     * @throws java.nio.file.NoSuchFileException if there is no such file
     * @throws IOException              if the file cannot be opened or mapped
     */
    public static QueueMemory attach(Path file) throws IOException {
        return DirectMemory.attachFile(file);
    }

    /**
     * The right to play a role at this region, if other processes can reach it. For the ends of queues.
     *
     * @param role name of the role, part of a file name
     * @return a lock, not taken yet; null if the region is no file: then the process is alone with it, or the caller sees to it
     */
    public RoleLock roleLock(String role) {
        return null;
    }

    /**
     * How memory is reached in this JVM; chosen once, when the first region is made.
     *
     * @return the route in use
     */
    public static AccessRoute route() {
        return DirectMemory.ROUTE;
    }

    /**
     * Size of the region.
     *
     * @return bytes
     */
    public final int sizeBytes() {
        return sizeBytes;
    }

    /**
     * Touches every page of the region, as a store does, and changes no byte: what follows meets no page fault, unless the
     * system takes pages away again. For mapped files and wrapped memory, before the first lap; memory from {@link #allocate} and
     * of a queue that has just been created has been written in full. Any thread, at any time; other threads may be storing.
     * Takes one atomic operation per {@value DirectMemory#SMALLEST_PAGE_BYTES} bytes. A memory for model checkers has no pages and
     * does nothing.
     */
    public void pretouch() {}

    /**
     * Plain load.
     *
     * @param offset bytes from the start of the region, a multiple of 8
     * @return the value
     */
    public abstract long getLong(long offset);

    /**
     * Plain store.
     *
     * @param offset bytes from the start of the region, a multiple of 8
     * @param value  the value
     */
    public abstract void putLong(long offset, long value);

    /**
     * Opaque load: atomic, never merged or dropped by the JIT, orders nothing else.
     *
     * @param offset bytes from the start of the region, a multiple of 8
     * @return the value
     */
    public abstract long getLongOpaque(long offset);

    /**
     * Opaque store: atomic, never merged or dropped by the JIT, orders nothing else.
     *
     * @param offset bytes from the start of the region, a multiple of 8
     * @param value  the value
     */
    public abstract void putLongOpaque(long offset, long value);

    /**
     * Acquire load: later loads and stores stay after it.
     *
     * @param offset bytes from the start of the region, a multiple of 8
     * @return the value
     */
    public abstract long getLongAcquire(long offset);

    /**
     * Release store: earlier loads and stores stay before it.
     *
     * @param offset bytes from the start of the region, a multiple of 8
     * @param value  the value
     */
    public abstract void putLongRelease(long offset, long value);

    /**
     * Compare-and-set: stores {@code value} if the word is {@code expected}, as one step. Full ordering, as a volatile load
     * and, if it stores, a volatile store: earlier accesses stay before it, later ones after it.
     *
     * @param offset   bytes from the start of the region, a multiple of 8
     * @param expected what the word must be
     * @param value    what it becomes
     * @return true if stored; false if the word was something else: it is unchanged. Never false for another reason
     */
    public abstract boolean compareAndSetLong(long offset, long expected, long value);

    /**
     * As {@link #compareAndSetLong}, but says what the word was: a caller that was too late need not load it again, and has the word's
     * cache line for itself already.
     *
     * @param offset   bytes from the start of the region, a multiple of 8
     * @param expected what the word must be
     * @param value    what it becomes
     * @return the value before: {@code expected} if stored; anything else means that nothing was
     */
    public long compareAndExchangeLong(long offset, long expected, long value) {
        while (true) { // again only if the word was changed, and changed back, between the two accesses
            if (compareAndSetLong(offset, expected, value)) {
                return expected;
            }
            long before = getLongAcquire(offset);
            if (before != expected) {
                return before;
            }
        }
    }

    /**
     * Get-and-add, volatile: atomic, nothing moves across it in either direction.
     *
     * @param offset bytes from the start of the region, a multiple of 8
     * @param delta  what is added, with wrap-around
     * @return the value before
     */
    public abstract long getAndAddLong(long offset, long delta);

    /**
     * A full fence: no access before it, to whatever memory, moves past one after it. What a store that must come before a load of
     * another word needs: neither a release store nor an acquire load keeps these two in order.
     */
    public abstract void fullFence();

    /**
     * Copies bytes out of the region, plain.
     *
     * @param offset bytes from the start of the region; any alignment
     * @param into   where the bytes go
     * @param index  first byte written in {@code into}
     * @param length bytes to copy
     * @throws IndexOutOfBoundsException if either range is out of bounds; nothing is copied
     */
    public abstract void getBytes(int offset, byte[] into, int index, int length);

    /**
     * Copies bytes into the region, plain.
     *
     * @param offset bytes from the start of the region; any alignment
     * @param from   where the bytes come from
     * @param index  first byte read in {@code from}
     * @param length bytes to copy
     * @throws IndexOutOfBoundsException if either range is out of bounds; nothing is copied
     */
    public abstract void putBytes(int offset, byte[] from, int index, int length);

    /**
     * Copies bytes from another region (or this one; the ranges may overlap) into this region, plain.
     *
     * @param offset       where the bytes go: bytes from the start of this region; any alignment
     * @param source       the region to read
     * @param sourceOffset where the bytes come from: bytes from the start of {@code source}; any alignment
     * @param length       bytes to copy
     * @throws IndexOutOfBoundsException if either range is out of bounds; nothing is copied
     */
    public abstract void copy(int offset, QueueMemory source, int sourceOffset, int length);

    /**
     * Sets bytes of the region to one value, plain.
     *
     * @param offset bytes from the start of the region; any alignment
     * @param length bytes to set
     * @param value  the value of each byte
     * @throws IndexOutOfBoundsException if the range is out of bounds; nothing is written
     */
    public abstract void fill(int offset, int length, byte value);
}
