package io.cqring.simnic.moderation;

import io.cqring.cq.CqeLayout;
import io.cqring.notify.AdaptiveModeration;
import io.cqring.notify.Moderation;
import io.cqring.notify.ModerationTimer;
import io.cqring.simnic.fault.DeviceFaults;
import org.agrona.concurrent.NanoClock;

/**
 * When the event of one completion queue is raised: the device's side of arming, and its moderation timer. Device thread only.
 *
 * <pre>
 *   each pass:  arm word ──► entries past the arm? ──► solicited or failed among them, or due? ──► answer the arm
 *                             no: the timer stands          no: not yet, the timer runs              event
 * </pre>
 *
 * <p>The arm word is read anew in each pass, so an arm that comes at any time is seen by the next one. Layouts and vendors differ in what an
 * arm looks like ({@link ArmedRing}) and in what an event is (the runnable); the rest is the same.
 */
public final class QueueEvents {
    /** Nothing to do until something changes. */
    public static final int IDLE = 0;

    /** The event was raised, or a timer runs. */
    public static final int BUSY = 1;

    /** The queue is closed, or another thread writes it. */
    public static final int CLOSED = -1;

    private final ArmedRing ring;
    private final NanoClock clock;
    private final DeviceFaults faults;
    private final Runnable event;
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

    /**
     * For a queue that nobody has armed yet.
     *
     * @param ring       the queue
     * @param clock      device time
     * @param faults     what events pass through
     * @param event      raises the event, on the device thread
     * @param moderation how events are held back
     */
    public QueueEvents(ArmedRing ring, NanoClock clock, DeviceFaults faults, Runnable event, Moderation moderation) {
        this.ring = ring;
        this.clock = clock;
        this.faults = faults;
        this.event = event;
        this.timer = new ModerationTimer(moderation);
        this.urgentEnd = ring.producerSequence();
        this.sequenceAtEvent = urgentEnd;
    }

    /**
     * Changes the moderation at once, and ends an adaptive one.
     *
     * @param moderation how events are held back from now on
     */
    public void moderate(Moderation moderation) {
        adaptive = null;
        timer.moderation(moderation);
    }

    /**
     * Lets an algorithm choose.
     *
     * @param algorithm told of each event; what it chooses is applied at once
     */
    public void moderate(AdaptiveModeration algorithm) {
        adaptive = algorithm;
        timer.moderation(algorithm.moderation());
    }

    /**
     * The moderation in effect.
     *
     * @return as given, or as chosen
     */
    public Moderation moderation() {
        return timer.moderation();
    }

    /**
     * A completion has been written.
     *
     * @param header its header word
     * @param length its length word
     * @param staged whether it is only staged, and not in the ring yet
     */
    public void onEntry(long header, long length, boolean staged) {
        bytes += CqeLayout.byteCount(length);
        if (CqeLayout.isSolicited(header) || CqeLayout.syndrome(header) != 0) {
            urgentStaged |= staged;
            urgentEnd = ring.producerSequence();
        }
    }

    /** What was staged is in the ring. */
    public void onFlush() {
        if (urgentStaged) {
            urgentStaged = false;
            urgentEnd = ring.producerSequence();
        }
    }

    /**
     * Raises the event if it is due. With the writer's role.
     *
     * @return one of the three constants
     */
    public int serve() {
        final long past = ring.pastArm();
        if (past <= 0) {
            if (waiting != 0) { // polled, and armed anew behind it
                waiting = 0;
                timer.onEvent();
            }
            return past == ArmedRing.CLOSED ? CLOSED : ring.isDead() ? raise() : IDLE;
        }
        final long now = clock.nanoTime();
        if (waiting == 0 || past < waiting) {
            timer.onArm(past, now);
        } else {
            timer.onEntries(past - waiting, now);
        }
        waiting = past;
        if (ring.isDead() || isUrgent(past) || timer.isDue(now)) {
            return raise();
        }
        return timer.dueInNs(now) == ModerationTimer.NEVER ? IDLE : BUSY;
    }

    /** Whether an entry that does not wait is among so many. */
    private boolean isUrgent(long past) {
        return urgentEnd - (ring.producerSequence() - past) > 0;
    }

    /** No later pass will: what waits for its time is raised now. */
    public void serveLast() {
        if (ring.pastArm() > 0) {
            raise();
        }
    }

    /** No entry will come any more: answers an open arm, if the ring can answer one without an entry or has one. With the writer's role. */
    public void wake() {
        ring.pastArm();
        if (ring.answerArm()) {
            event.run();
        }
    }

    private int raise() {
        if (faults.delaysEvent()) {
            return BUSY;
        }
        if (!ring.answerArm()) {
            return IDLE;
        }
        waiting = 0;
        timer.onEvent();
        if (adaptive != null) {
            adapt(clock.nanoTime());
        }
        if (!faults.dropsArm()) {
            for (int copies = faults.eventCopies(); copies > 0; copies--) {
                event.run();
            }
        }
        return BUSY;
    }

    private void adapt(long now) {
        final long published = ring.producerSequence();
        final long entries = Math.max(0, Math.min(published - sequenceAtEvent, Integer.MAX_VALUE));
        if (adaptive.onEvent((int) entries, bytes, now)) {
            timer.moderation(adaptive.moderation());
        }
        sequenceAtEvent = published;
        bytes = 0;
    }
}
