package io.cqring.eq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

/**
 * The device end of an {@link EventQueue}: posts events, and raises the interrupt that the queue is armed for. Got from
 * {@link EventQueue#writer}.
 *
 * <p><b>Any number of threads</b> may post through this one object; it keeps nothing between calls. <b>Progress:</b> lock-free.
 * <b>Allocation:</b> none. <b>Visibility:</b> what a thread did before it posted is visible to the handler of its event, and to
 * whoever its interrupt wakes.
 *
 * <p>A thread that is stopped for good in the middle of a post (only a failure of the JVM can do that) holds the queue up at its
 * slot; there is no recovery, as both ends are in one process.
 */
public final class EventWriter {
    private final QueueMemory memory;
    private final Interrupt interrupt;
    private final int indexMask;
    private final int lapShift;
    private final int strideShift;

    EventWriter(QueueMemory memory, RingGeometry geometry, Interrupt interrupt) {
        this.memory = memory;
        this.interrupt = interrupt;
        this.indexMask = geometry.indexMask();
        this.lapShift = geometry.lapShift();
        this.strideShift = geometry.strideShift();
    }

    /**
     * Posts an event. If the queue is armed, disarms it and raises its interrupt: exactly once per arming, however many threads
     * post. If the queue is full, the event is lost: that is counted, stays to be taken by {@link EventQueue#takeOverrun}, and
     * raises the interrupt in any case, so that the consumer looks at all its queues.
     *
     * @param type     what happened
     * @param number   number of the queue it happened to, 0 to 2^24-1
     * @param subType  what exactly, 0 to 255
     * @param syndrome error code, 0 to 255
     * @param detail   64 bits more
     * @return true if the event is in the queue; false if the queue was full
     * @throws NullPointerException     if there is no type; nothing is posted
     * @throws IllegalArgumentException if the type is {@link EventType#UNKNOWN} or a number is out of range; nothing is posted
     * @throws IllegalStateException    if the queue is closed; nothing is posted
     */
    public boolean post(EventType type, int number, int subType, int syndrome, long detail) {
        final QueueMemory memory = this.memory;
        final long header = EqeLayout.header(type, number, subType, syndrome);
        if (memory.getLongOpaque(EqRegion.CLOSED) != 0) {
            throw EventQueue.queueClosed();
        }
        // Edge EQ-CLAIM, looking end: the count, then the consumer sequence, which only goes up: if there is no room
        // now, there was none when the count was this. Partner: the compare-and-exchange below, of the other threads.
        // Weaker (opaque): the queue is called full at no moment of the call. Shown by EqClaimStress.
        long next = memory.getLongAcquire(EqRegion.PRODUCER_SEQUENCE);
        while (true) {
            // Edge EQ-CREDIT, device end, for what another thread of ours looked up. Partner: the release store of
            // it below. Weaker: as there. Not to be shown on x86.
            if (next - memory.getLongAcquire(EqRegion.CREDIT) >= 0) {
                // Edge EQ-CREDIT, device end: load the consumer sequence, then overwrite the slots it frees. Partner:
                // EventQueue.publishConsumed. Weaker: our stores may overtake the load, and the host reads the next
                // lap's words in an event that it has accepted. Shown by EqCreditStress.
                final long consumed = memory.getLongAcquire(EqRegion.CONSUMER_SEQUENCE);
                final long used = next - consumed;
                if (used > indexMask || used < 0) {
                    if (used < 0) {
                        // Edge EQ-CLAIM, looking end: others have gone on meanwhile; or else the host wrote nonsense.
                        final long now = memory.getLongAcquire(EqRegion.PRODUCER_SEQUENCE);
                        if (now != next) {
                            next = now;
                            continue;
                        }
                    }
                    lose();
                    return false;
                }
                // Edge EQ-CREDIT, device end: passes on what the load above has seen. It may go back, by a thread that
                // was held up: then one looks once more than it had to.
                memory.putLongRelease(EqRegion.CREDIT, consumed + indexMask + 1);
            }
            // Edge EQ-CLAIM, claiming end: compare-and-exchange, after the look at the room. Partner: the same call on
            // another thread. Weaker (test, then set): two threads fill one slot, and an event is lost.
            // Shown by EqClaimStress.
            final long before = memory.compareAndExchangeLong(EqRegion.PRODUCER_SEQUENCE, next, next + 1);
            if (before == next) {
                break;
            }
            next = before;
        }
        publish(next, header, detail);
        serveArm(next);
        return true;
    }

    private void publish(long sequence, long header, long detail) {
        final int slot = RingGeometry.offset(sequence, EqRegion.FIRST_SLOT, indexMask, strideShift);
        memory.putLong(slot + EqeLayout.DETAIL_OFFSET, detail);
        // Edge EQ-OWN, device end: the detail, and all that this thread did before, then the owner bit. Partner:
        // EventQueue.header. Weaker: the host accepts the owner bit and reads the last lap's detail.
        // Shown by EqOwnStress.
        memory.putLongRelease(slot + EqeLayout.HEADER_OFFSET, header | RingGeometry.phase(sequence, lapShift));
    }

    /** After the event with this sequence has been published: raises the interrupt if the host waits for it. */
    private void serveArm(long sequence) {
        // Edge EQ-ARM, device end: the owner bit, then the look at the arm word. Partner: EventQueue.arm, which
        // stores the arm word and then looks at the slot. Weaker (no fence): both looks may be old, and the host
        // sleeps beside a ready event. Shown by EqArmStress.
        memory.fullFence();
        final long arm = memory.getLongAcquire(EqRegion.ARM);
        if (!EqRegion.asksFor(arm, sequence)) {
            return; // not armed, or the host had this event before it armed
        }
        // Edge EQ-ARM, device end: who disarms raises. If the word has changed, another thread raises, or the host has
        // armed again since our event was out, and has looked. Weaker (test, then set): two interrupts for one arming.
        // Shown by EqArmStress.
        if (memory.compareAndSetLong(EqRegion.ARM, arm, arm & ~EqRegion.ARMED)) {
            interrupt.raise();
        }
    }

    private void lose() {
        // Edge EQ-OVERRUN, device end: what the event was about, then the count, then the interrupt. Partner:
        // EventQueue.takeOverrun. Weaker: whoever the interrupt wakes finds no overrun and no event, and sleeps again.
        // Get-and-add because several threads count. Shown by EqOverrunStress.
        memory.getAndAddLong(EqRegion.OVERRUNS, 1);
        interrupt.raise();
    }
}
