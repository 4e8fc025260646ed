package io.cqring.notify;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectableChannel;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A pipe that is readable while there may be an event: one byte lies in it, or none. Whoever rings finds out by {@code rung} whether it
 * must write one; whoever silences reads first, and only then says that the next one must write, and only then looks for events.
 */
final class Doorbell {
    private volatile Pipe pipe;
    private final AtomicBoolean rung = new AtomicBoolean();

    /** Under the channel's lock. */
    SelectableChannel open() throws IOException {
        if (pipe == null) {
            final Pipe made = Pipe.open();
            made.source().configureBlocking(false);
            pipe = made;
        }
        return pipe.source();
    }

    /** Whoever raises the interrupt. One byte at most lies in the pipe, so this does not block. */
    void ring() {
        final Pipe pipe = this.pipe;
        if (pipe != null && rung.compareAndSet(false, true)) {
            try {
                pipe.sink().write(ByteBuffer.wrap(new byte[1]));
            } catch (IOException closed) {
                // The channel was closed, and nobody selects any more.
            }
        }
    }

    /** Before the events are looked at. */
    void silence() {
        final Pipe pipe = this.pipe;
        if (pipe != null && rung.get()) {
            try {
                // A ring that comes before the next line writes nothing: its event is seen by the look that follows.
                if (pipe.source().read(ByteBuffer.allocate(1)) == 1) {
                    rung.set(false);
                }
            } catch (IOException e) {
                throw new UncheckedIOException("the pipe of a completion channel cannot be read", e);
            }
        }
    }

    void close() {
        final Pipe pipe = this.pipe;
        if (pipe != null) {
            try {
                pipe.sink().close(); // a selector sees the end as readable
            } catch (IOException e) {
                throw new UncheckedIOException("the pipe of a completion channel cannot be closed", e);
            }
        }
    }
}
