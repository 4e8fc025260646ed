package io.cqring.notify;

import io.cqring.memory.RoleLock;
import java.io.IOException;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The other end of all {@link WakeupSender}s of a queue: a Unix-domain socket and a thread that waits for what comes through it. A thread,
 * because those who sleep at a channel park, so that writers of this process can wake them too and so that they may be virtual; nobody can
 * park and wait for a socket at the same time. It is a daemon, sleeps in a selector while nothing comes, and ends with {@link #close}.
 *
 * <p>One process at a time listens at a path, as the holder of the lock file {@code <path>.host}. So a socket that is found there is either a
 * dead process's, and is replaced, or not of this kind, and is left alone.
 */
final class WakeupListener implements AutoCloseable {
    private static final int BACKLOG = 128;

    /** How long to leave a connection that cannot be accepted, for want of file handles: it stays ready. */
    private static final long ACCEPT_RETRY_NS = 50_000_000;

    /** Whom to tell. All calls come from the listener's thread. */
    interface Peers {
        /** A sender has connected. What it published before is not announced again, nor by a byte: who is told is to look. */
        void came();

        /** Something may have come. */
        void woke();

        /** A sender has closed, or its process has ended: all that it published is visible. */
        void gone();

        /** The socket has failed, and nobody can be heard any more. */
        void failed();
    }

    private final Path socket;
    private final RoleLock role;
    private final ServerSocketChannel server;
    private final Selector selector;
    private final ByteBuffer bytes = ByteBuffer.allocateDirect(4096);
    private final ReentrantLock lock = new ReentrantLock();

    /** Under the lock, as the next. */
    private Thread thread;

    private boolean closed;

    private WakeupListener(Path socket, RoleLock role, ServerSocketChannel server, Selector selector) {
        this.socket = socket;
        this.role = role;
        this.server = server;
        this.selector = selector;
    }

    /** Takes the path; from now on senders can connect. They are served from {@link #start} on. */
    static WakeupListener open(Path path) throws IOException {
        final UnixDomainSocketAddress address = UnixSocket.address(path);
        final Path socket = path.toAbsolutePath().normalize();
        final RoleLock role = RoleLock.beside(socket, "host");
        role.acquire();
        ServerSocketChannel server = null;
        Selector selector = null;
        boolean opened = false;
        try {
            removeStale(socket, address);
            server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            server.bind(address, BACKLOG);
            server.configureBlocking(false);
            selector = Selector.open();
            server.register(selector, SelectionKey.OP_ACCEPT);
            opened = true;
            return new WakeupListener(socket, role, server, selector);
        } finally {
            if (!opened) {
                if (server != null) {
                    server.close();
                }
                if (selector != null) {
                    selector.close();
                }
                role.release();
            }
        }
    }

    /** The socket of a process that has died stays behind. */
    private static void removeStale(Path socket, UnixDomainSocketAddress address) throws IOException {
        if (!UnixSocket.exists(socket)) {
            return;
        }
        try (SocketChannel answered = SocketChannel.open(address)) {
            throw new FileSystemException(
                    socket.toString(), null, "somebody else listens at this socket: " + answered.getRemoteAddress());
        } catch (SocketException nobody) {
            Files.delete(socket);
        }
    }

    /** Serves those who connect. Once. */
    void start(Peers peers) {
        lock.lock();
        try {
            thread = new Thread(() -> serve(peers), "cqring-wakeups-" + socket.getFileName());
            thread.setDaemon(true);
            thread.start();
        } finally {
            lock.unlock();
        }
    }

    private void serve(Peers peers) {
        try {
            while (!isClosed()) {
                selector.select();
                Thread.interrupted(); // nobody of ours does that, and the selector would not sleep any more
                for (SelectionKey key : selector.selectedKeys()) {
                    if (key.isValid() && key.isAcceptable()) {
                        accept(peers);
                    } else if (key.isValid()) {
                        read(key, peers);
                    }
                }
                selector.selectedKeys().clear();
            }
        } catch (IOException e) {
            // Told below, as any other failure.
        } finally {
            if (!isClosed()) {
                peers.failed();
            }
            leave();
        }
    }

    private void accept(Peers peers) throws IOException {
        for (SocketChannel connection = acceptOne(); connection != null; connection = acceptOne()) {
            connection.configureBlocking(false);
            connection.register(selector, SelectionKey.OP_READ);
            peers.came();
        }
    }

    private SocketChannel acceptOne() {
        try {
            return server.accept();
        } catch (IOException tooManyOpenFiles) {
            LockSupport.parkNanos(ACCEPT_RETRY_NS);
            return null;
        }
    }

    /** Reads first, and tells afterwards: what comes in between, or was too much, is read next time. */
    private void read(SelectionKey key, Peers peers) {
        final SocketChannel connection = (SocketChannel) key.channel();
        int read;
        try {
            bytes.clear();
            read = connection.read(bytes);
        } catch (IOException reset) {
            read = -1;
        }
        if (read < 0) {
            closeQuietly(connection);
            peers.gone();
        } else if (read > 0) {
            peers.woke();
        }
    }

    private boolean isClosed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    /** In this order: who takes the path next finds it free, and finds no socket that it could take for a stale one. */
    private void leave() {
        for (SelectionKey key : selector.keys()) {
            closeQuietly(key.channel());
        }
        closeQuietly(selector);
        try {
            Files.deleteIfExists(socket);
        } catch (IOException e) {
            // The next listener removes it.
        }
        role.release();
    }

    private static void closeQuietly(AutoCloseable closeable) {
        try {
            closeable.close();
        } catch (Exception e) {
            // It is of no more use.
        }
    }

    /** Ends the connections, removes the socket, gives the path up, and waits until that is done. Not with the channel's lock. */
    @Override
    public void close() {
        final Thread serving;
        final boolean first;
        lock.lock();
        try {
            first = !closed;
            closed = true;
            serving = thread;
        } finally {
            lock.unlock();
        }
        if (serving == null) {
            if (first) {
                leave();
            }
            return;
        }
        selector.wakeup();
        boolean interrupted = false;
        boolean ended = false;
        while (!ended) {
            try {
                serving.join(); // it waits for nothing but the channel's lock
                ended = true;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
