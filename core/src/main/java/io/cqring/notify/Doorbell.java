package io.cqring.notify;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectableChannel;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A pipe that is readable while there may be an event: one byte lies in it, or none. Who silences reads it first and looks for
 * events afterwards, so a ring that comes in between is seen, or leaves a byte.
 */
final class Doorbell {
    /** Held for a system call at most. A lock of its own, because whoever raises an event does not have the channel's. */
    private final ReentrantLock lock = new ReentrantLock();

    private final ByteBuffer one = ByteBuffer.allocateDirect(1);

    /**
     * Set once, under the lock; also looked at without it, so that a channel without a selector pays nothing. Plain: it is rung
     * when it is opened, and whoever answers that arms the event queue behind a fence; a raise comes behind a fence too.
     */
    private Pipe pipe;

    /** A byte lies in the pipe. Under the lock, as all that follows. */
    private boolean rung;

    private boolean closed;

    boolean isOpen() {
        return pipe != null;
    }

    /** Made at the first call, and rung, so that what came before is looked at. */
    SelectableChannel open() throws IOException {
        lock.lock();
        try {
            if (pipe == null) {
                final Pipe made = Pipe.open();
                made.source().configureBlocking(false);
                // An interrupted thread that writes closes a blocking pipe, and nobody would be told of an event again.
                made.sink().configureBlocking(false);
                pipe = made;
                ring();
            }
            return pipe.source();
        } finally {
            lock.unlock();
        }
    }

    /** Whoever raises the interrupt. One byte at most lies in the pipe, so there is always room for it. */
    void ring() {
        final Pipe pipe = this.pipe;
        if (pipe == null) {
            return;
        }
        lock.lock();
        try {
            if (!rung && !closed) {
                one.clear();
                rung = pipe.sink().write(one) == 1;
            }
        } catch (IOException unreadable) {
            // Somebody has closed the other end, and so does not want to hear of events.
        } finally {
            lock.unlock();
        }
    }

    /** Before the events are looked at. */
    void silence() {
        final Pipe pipe = this.pipe;
        if (pipe == null) {
            return;
        }
        lock.lock();
        try {
            if (closed) {
                pipe.source().close(); // whoever selected it has seen the end
            } else if (rung) {
                one.clear();
                rung = pipe.source().read(one) != 1;
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the pipe of a completion channel cannot be read", e);
        } finally {
            lock.unlock();
        }
    }

    /** A selector finds the end of the pipe readable. */
    void close() {
        final Pipe pipe = this.pipe;
        lock.lock();
        try {
            closed = true;
            if (pipe != null) {
                pipe.sink().close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the pipe of a completion channel cannot be closed", e);
        } finally {
            lock.unlock();
        }
    }
}
