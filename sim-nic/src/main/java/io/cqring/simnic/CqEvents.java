package io.cqring.simnic;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.notify.AdaptiveModeration;
import io.cqring.notify.CompletionChannel;
import io.cqring.notify.Moderation;
import io.cqring.notify.ModerationTimer;

/**
 * When the event of one completion queue is raised: the device's side of arming, and its moderation timer. Device thread only.
 *
 * <pre>
 *   each pass:  arm word ──► entries past the arm? ──► solicited or failed among them, or due? ──► answer the arm
 *                             no: the timer stands          no: not yet, the timer runs              event ──► channel
 * </pre>
 *
 * <p>The arm word is read anew in each pass, so an arm that comes at any time is seen by the next one.
 */
final class CqEvents {
    /** Nothing to do until something changes. */
    static final int IDLE = 0;

    /** The event was raised, or a timer runs. */
    static final int BUSY = 1;

    /** The queue is closed, or another thread writes it. */
    static final int CLOSED = -1;

    private final CompletionQueue queue;
    private final CompletionWriter writer;
    private final CompletionChannel channel;
    private final ModerationTimer timer;

    /** Chooses the moderation, or null. */
    private AdaptiveModeration adaptive;

    /** Entries past the arm that the timer knows of. */
    private long waiting;

    /** The sequence after the last entry that does not wait, at the latest. */
    private long urgentEnd;

    /** Something urgent is staged and not yet in the ring. */
    private boolean urgentStaged;

    /** Since the last event. */
    private long bytes;

    private long sequenceAtEvent;

    CqEvents(CompletionQueue queue, CompletionChannel channel, Moderation moderation) {
        this.queue = queue;
        this.writer = queue.writer();
        this.channel = channel;
        this.timer = new ModerationTimer(moderation);
        this.urgentEnd = queue.producerSequence();
        this.sequenceAtEvent = urgentEnd;
    }

    void moderate(Moderation moderation) {
        adaptive = null;
        timer.moderation(moderation);
    }

    void moderate(AdaptiveModeration algorithm) {
        adaptive = algorithm;
        timer.moderation(algorithm.moderation());
    }

    Moderation moderation() {
        return timer.moderation();
    }

    /** A completion has been written, or staged if so. */
    void onEntry(long header, long length, boolean staged) {
        bytes += CqeLayout.byteCount(length);
        if (CqeLayout.isSolicited(header) || CqeLayout.syndrome(header) != 0) {
            urgentStaged |= staged;
            urgentEnd = queue.producerSequence();
        }
    }

    /** What was staged is in the ring. */
    void onFlush() {
        if (urgentStaged) {
            urgentStaged = false;
            urgentEnd = queue.producerSequence();
        }
    }

    /** Raises the event if it is due. With the writer's role. One of the three constants. */
    int serve(Device device) {
        final long past = pastArm();
        if (past <= 0) {
            if (waiting != 0) { // polled, and armed anew behind it
                waiting = 0;
                timer.onEvent();
            }
            return past == CLOSED ? CLOSED : writer.isDead() ? raise(device) : IDLE;
        }
        final long now = device.timeNs();
        if (waiting == 0 || past < waiting) {
            timer.onArm(past, now);
        } else {
            timer.onEntries(past - waiting, now);
        }
        waiting = past;
        if (writer.isDead() || isUrgent(past) || timer.isDue(now)) {
            return raise(device);
        }
        return timer.dueInNs(now) == ModerationTimer.NEVER ? IDLE : BUSY;
    }

    private long pastArm() {
        try {
            return writer.pastArm();
        } catch (IllegalStateException closedOrTaken) {
            return CLOSED;
        }
    }

    private boolean answerArm() {
        try {
            return writer.answerArm();
        } catch (IllegalStateException closedOrTaken) {
            return false; // the next pass finds out
        }
    }

    /** Whether an entry that does not wait is among so many. */
    private boolean isUrgent(long past) {
        return urgentEnd - (queue.producerSequence() - past) > 0;
    }

    /** No later pass will: what waits for its time is raised now. */
    void serveLast(Device device) {
        if (pastArm() > 0) {
            raise(device);
        }
    }

    private int raise(Device device) {
        if (!answerArm()) {
            return IDLE;
        }
        waiting = 0;
        timer.onEvent();
        if (adaptive != null) {
            adapt(device.timeNs());
        }
        signal(device);
        return BUSY;
    }

    private void adapt(long now) {
        final long published = queue.producerSequence();
        final long entries = Math.max(0, Math.min(published - sequenceAtEvent, Integer.MAX_VALUE));
        if (adaptive.onEvent((int) entries, bytes, now)) {
            timer.moderation(adaptive.moderation());
        }
        sequenceAtEvent = published;
        bytes = 0;
    }

    /** Wakes whoever waits for the queue, armed or not: it was closed. */
    void signal(Device device) {
        device.counters.increment(DeviceCounter.EVENTS_RAISED);
        channel.raise(queue);
    }
}
