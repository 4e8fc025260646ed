package io.cqring.notify;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.EventSink;
import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.concurrent.locks.ReentrantLock;

/**
 * How a process that writes to a queue in a file wakes the one that sleeps on it: the {@link EventSink} of
 * {@link CompletionQueue#attach(QueueMemory, EventSink, int)}, over the Unix-domain socket of {@link CompletionChannel#attach}.
 *
 * <pre>
 *   WakeupSender sender = WakeupSender.to(socket);
 *   CompletionWriter writer = CompletionQueue.attach(QueueMemory.attach(file), sender, 0).writer();
 * </pre>
 *
 * <p>One sender for one queue. It sends a byte for each event that the sleeping process has asked for, so a queue that is polled all the time
 * costs none. The sleeper learns when the sender closes or its process ends, in whatever way.
 *
 * <p><b>Connection:</b> made at once if somebody listens, and else, or if the listener is gone, tried again by each event and by
 * {@link #connect}. An event that finds nobody is {@link #lost}, and harms nobody: its mark is in the region, and whoever listens next looks
 * there. But a process that has not connected is not missed when it dies: so one that may be idle for long calls {@code connect} now and
 * then.
 *
 * <p><b>Threads:</b> any. <b>Progress:</b> nothing here waits for the other process: socket and connection are non-blocking, and a socket that
 * is full has wake-ups enough in it. Threads that raise at the same time share a lock, for a system call or, if there is no connection, a
 * few. <b>Allocation:</b> none while connected. <b>Visibility:</b> the system orders more than this needs: what was done before an event is
 * visible to whoever is woken by it.
 */
public final class WakeupSender implements EventSink, AutoCloseable {
    private final UnixDomainSocketAddress address;
    private final ReentrantLock lock = new ReentrantLock();

    /** Under the lock, as all that follows. */
    private final ByteBuffer one = ByteBuffer.allocateDirect(1);

    /** Non-blocking, or null. */
    private SocketChannel connection;

    private long connections;
    private long lost;
    private boolean closed;

    private WakeupSender(UnixDomainSocketAddress address) {
        this.address = address;
    }

    /**
     * A sender, connected if somebody listens.
     *
     * @param socket the path that was given to {@link CompletionChannel#attach} or {@code create}
     * @return the sender
     * @throws IllegalArgumentException if the path is too long for a socket
     * @throws java.nio.file.NoSuchFileException if its folder does not exist
     * @throws IOException if something else than a socket has that name
     */
    public static WakeupSender to(Path socket) throws IOException {
        final WakeupSender sender = new WakeupSender(UnixSocket.address(socket));
        sender.connect();
        return sender;
    }

    /**
     * Connects if there is no connection; one whose listener is gone counts as none. Costs a system call or two, and never waits.
     *
     * @return true if connected now; false if nobody listens, or this is closed
     */
    public boolean connect() {
        lock.lock();
        try {
            return !closed && (wake() || open());
        } finally {
            lock.unlock();
        }
    }

    /**
     * Wakes whoever sleeps. For writers: never waits, never throws.
     *
     * @param cqNumber not sent: the socket is the queue's
     */
    @Override
    public void completion(int cqNumber) {
        lock.lock();
        try {
            if (closed || !(wake() || open())) {
                lost++;
            }
        } finally {
            lock.unlock();
        }
    }

    /** Does nothing: the queue's counter of lost entries is in the region, and an end of the queue raises its event. */
    @Override
    public void overrun(int cqNumber, boolean dead) {}

    /** Sends a byte. False if there is no connection, or no longer. */
    private boolean wake() {
        if (connection == null) {
            return false;
        }
        try {
            one.clear();
            connection.write(one); // 0: full, so the listener will look after this moment anyway
            return true;
        } catch (IOException gone) {
            drop();
            return false;
        }
    }

    /** Connects. No byte is needed: the listener looks when it accepts, and so finds an event that came before and found nobody. */
    private boolean open() {
        SocketChannel made = null;
        try {
            made = SocketChannel.open(StandardProtocolFamily.UNIX);
            // A blocking channel would also be closed by whoever writes while interrupted.
            made.configureBlocking(false);
            if (made.connect(address)) { // else more than can wait there are waiting, and the listener will look
                connection = made;
                connections++;
                return true;
            }
        } catch (IOException | RuntimeException nobodyListens) {
            // so it is: the region says what has come, and whoever listens next looks there
        } finally {
            if (made != null && connection != made) {
                close(made);
            }
        }
        return false;
    }

    private void drop() {
        final SocketChannel gone = connection;
        connection = null;
        close(gone);
    }

    private static void close(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            // It is of no more use.
        }
    }

    /**
     * Whether there is a connection. A listener that has gone is noticed by the next event or {@link #connect}.
     *
     * @return true if so
     */
    public boolean isConnected() {
        lock.lock();
        try {
            return connection != null;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Connections made so far: more than one if listeners have come and gone.
     *
     * @return connections
     */
    public long connections() {
        lock.lock();
        try {
            return connections;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Events that found nobody.
     *
     * @return events
     */
    public long lost() {
        lock.lock();
        try {
            return lost;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the connection: whoever listens is told. The queue stays open; later events are {@link #lost}. Closing again does nothing. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            if (connection != null) {
                drop();
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public String toString() {
        return "WakeupSender[" + address + (isConnected() ? ", connected]" : ", not connected]");
    }
}
