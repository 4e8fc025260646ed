package io.cqring.memory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The right to play one role at a region that is a file, for one process at a time. Got from {@link QueueMemory#roleLock}; the
 * ends of a queue and what wakes them use it, nobody else needs to.
 *
 * <p>It is a lock on a file beside the region, {@code <region>.<role>}. The operating system holds it for the process and drops
 * it when the process ends, however it ends, so a dead process never keeps a role. The file stays behind, with the process id
 * and start time of the last holder in it: they are for messages only, the lock is what counts.
 *
 * <p><b>Do not open these files in a process that holds a role:</b> where locks are POSIX locks, closing any channel of the
 * process on the file drops the lock. This class keeps to that itself: it opens a lock file only if this JVM does not hold the
 * role.
 * Delete the files only along with the region, when no process uses it.
 *
 * <p>All methods may be called by any thread, also one that is interrupted: it stays interrupted, and the call is as ever.
 */
public final class RoleLock {
    /** Where the locked byte is: far from the text, which others must be able to read where locks are mandatory. */
    private static final long LOCKED_BYTE = 1L << 32;

    /** How far two answers about the start of one process may differ: they are rounded to the clock tick. */
    private static final Duration START_TOLERANCE = Duration.ofMillis(50);

    /** Roles that this JVM holds, by lock file. Guarded by the class, as is all that follows. */
    private static final Map<Path, RoleLock> HELD = new HashMap<>();

    /** Channels that must stay open: closing them would drop a lock that other classes of this JVM hold. By lock file. */
    private static final Map<Path, FileChannel> KEPT_OPEN = new HashMap<>();

    private final Path file;
    private final String role;
    private FileChannel channel;

    private RoleLock(Path file, String role) {
        this.file = file;
        this.role = role;
    }

    /**
     * The right to play a role beside a file that is no region.
     *
     * @param region the file that the lock file is beside; it need not exist
     * @param role   name of the role, part of a file name
     * @return a lock, not taken yet
     */
    public static RoleLock beside(Path region, String role) {
        return new RoleLock(region.resolveSibling(region.getFileName() + "." + role), role);
    }

    /**
     * Takes the role for this process. Does nothing if this object has it already.
     *
     * @throws IllegalStateException if another process has it, or another object of this process; the message names the process
     * @throws UncheckedIOException  if the lock file cannot be opened or locked; the role is not taken
     */
    public void acquire() {
        String holder = take();
        if (holder != null) {
            throw refused(holder);
        }
    }

    /**
     * Takes the role for this process if nobody has it. Does not wait.
     *
     * @return true if this object has the role now; false if another process has it, or another object of this process
     * @throws UncheckedIOException if the lock file cannot be opened or locked; the role is not taken
     */
    public boolean tryAcquire() {
        return take() == null;
    }

    /** Takes the role, or says who has it. */
    private String take() {
        synchronized (RoleLock.class) {
            if (channel != null) {
                return null;
            }
            if (HELD.containsKey(file)) {
                return "this process, through another attached queue";
            }
            try {
                return openUninterrupted();
            } catch (IOException e) {
                throw new UncheckedIOException("cannot lock " + file, e);
            }
        }
    }

    /** As {@link #open}: an interrupt, which would close the channel and drop the lock, is put off until it is done. */
    private String openUninterrupted() throws IOException {
        boolean interrupted = Thread.interrupted();
        try {
            while (true) {
                try {
                    return open();
                } catch (ClosedByInterruptException meanwhile) {
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private String open() throws IOException {
        FileChannel kept = KEPT_OPEN.remove(file);
        FileChannel opened = kept != null
                ? kept
                : FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        boolean keep = false;
        try {
            FileLock lock = opened.tryLock(LOCKED_BYTE, 1, false);
            if (lock == null) {
                return holder(opened);
            }
            writeHolder(opened);
            keep = true;
            channel = opened;
            HELD.put(file, this);
            return null;
        } catch (OverlappingFileLockException e) {
            keep = true;
            KEPT_OPEN.put(file, opened); // the lock belongs to a copy of this class: see above
            return "this process, through another class loader";
        } finally {
            if (!keep) {
                opened.close();
            }
        }
    }

    /** Gives the role up. Does nothing if this object does not have it. */
    public void release() {
        synchronized (RoleLock.class) {
            if (channel != null) {
                FileChannel opened = channel;
                channel = null;
                HELD.remove(file);
                try {
                    opened.close(); // drops the lock
                } catch (IOException e) {
                    throw new UncheckedIOException("cannot unlock " + file, e);
                }
            }
        }
    }

    /**
     * Whether this object has the role.
     *
     * @return true from {@link #acquire} to {@link #release}
     */
    public boolean isHeld() {
        synchronized (RoleLock.class) {
            return channel != null;
        }
    }

    private IllegalStateException refused(String holder) {
        return new IllegalStateException("completion queue has one " + role + ", " + holder
                + "; it must release the role or end before process "
                + ProcessHandle.current().pid() + " can take it (lock file " + file + ")");
    }

    private static void writeHolder(FileChannel channel) throws IOException {
        ProcessHandle self = ProcessHandle.current();
        String text = self.pid() + " "
                + self.info().startInstant().map(Instant::toString).orElse("?") + "\n";
        channel.truncate(0);
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
        for (long position = 0; bytes.hasRemaining(); ) {
            position += channel.write(bytes, position);
        }
    }

    /** Who holds the lock, as far as the text can be trusted: a new holder may not have written its own yet. */
    private static String holder(FileChannel channel) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(128);
        channel.read(bytes, 0);
        String text = new String(bytes.array(), 0, bytes.position(), StandardCharsets.US_ASCII);
        String[] words = text.strip().split(" ", -1);
        String unknown = "another process";
        if (words.length != 2) {
            return unknown;
        }
        try {
            Optional<Instant> start = ProcessHandle.of(Long.parseLong(words[0]))
                    .flatMap(process -> process.info().startInstant());
            boolean same = start.isPresent()
                    && Duration.between(start.get(), Instant.parse(words[1]))
                                    .abs()
                                    .compareTo(START_TOLERANCE)
                            <= 0;
            return same ? "process " + words[0] + " (started " + words[1] + ")" : unknown;
        } catch (RuntimeException notWhatWeWrote) {
            return unknown;
        }
    }

    @Override
    public String toString() {
        return "RoleLock[" + file + "]";
    }
}
