package io.cqring.simnic;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.moderation.ArmedRing;

/** A queue of the library: reference layout, and the overrun policy that the host chose. */
final class ReferencePort extends CqPort implements ArmedRing {
    private final CompletionQueue queue;
    private final CompletionWriter writer;
    private long lostSoFar;
    private boolean closed;

    /** Whether this thread has the writer's role. */
    private boolean writing;

    ReferencePort(CompletionQueue queue) {
        this.queue = queue;
        this.writer = queue.writer();
        this.lostSoFar = writer.lostEntries();
    }

    @Override
    boolean stages() {
        return queue.isMerging();
    }

    @Override
    int put(boolean staging, DeviceFaults faults, long header, long id, long length, long detail, long timestamp) {
        if (closed) {
            return LOST;
        }
        try {
            writing = true;
            if (staging
                    ? faults.stageCompletion(writer, header, id, length, detail, timestamp)
                    : faults.writeCompletion(writer, header, id, length, detail, timestamp)) {
                return WRITTEN;
            }
            long lost = writer.lostEntries();
            if (lost == lostSoFar) {
                return REFUSED;
            }
            lostSoFar = lost;
            return LOST;
        } catch (IllegalStateException closedOrTaken) {
            onClosed();
            return LOST;
        }
    }

    /** The host closed a queue that is in use, or writes to it itself. A device cannot refuse; it can only lose. */
    private void onClosed() {
        closed = true;
        writing = false;
    }

    @Override
    boolean flushStaged() {
        try {
            writer.flush();
            return true;
        } catch (IllegalStateException closedOrTaken) {
            onClosed();
            return false;
        }
    }

    @Override
    public long pastArm() {
        try {
            writing = true;
            return writer.pastArm();
        } catch (IllegalStateException closedOrTaken) {
            onClosed();
            return CLOSED;
        }
    }

    @Override
    public boolean answerArm() {
        try {
            return writer.answerArm();
        } catch (IllegalStateException closedOrTaken) {
            return false; // the next pass finds out
        }
    }

    @Override
    public long producerSequence() {
        return queue.producerSequence();
    }

    @Override
    boolean isClosed() {
        return closed;
    }

    @Override
    public boolean isDead() {
        return closed || writer.isDead();
    }

    @Override
    void release() {
        if (writing) {
            writing = false;
            writer.release();
        }
    }

    @Override
    int number() {
        return queue.number();
    }
}
