package io.cqring.cq;

import io.cqring.memory.QueueMemory;

/**
 * The arm word of a queue: how the host asks for one event, and how the device end answers.
 *
 * <pre>
 *   ARM           number 63:18 | count - 1  17:2 | command 1:0  (0 none, 1 solicited, 2 next)     host
 *   ARMED_INDEX   consumer sequence at the arm                                                    host
 *   FIRED         number of the last arm that was answered                                        device
 *   SOLICITED_END sequence after the last solicited or failed entry                               device, many writers
 * </pre>
 *
 * <p>The number goes up when the host takes the event, so arming again before that changes command and index only, and the device
 * answers each number once. Word and index are two words, so both are exact at any sequence: the host stores the index first, the
 * device loads it last, so a device that sees a command sees the index of that arm or of a later one. A later one is no harm: what
 * lies before it has been polled.
 *
 * <p><b>In a file</b> the words outlive whoever stored them. An arm that its poller left open is answered by whoever writes next, and the
 * answer stays until the next poller takes it. An arm that a writer left unanswered is the next writer's to answer. So whoever
 * takes a role over has an event too many to expect, none too few, as long as it is told of what was answered and not passed on: see
 * {@code io.cqring.notify.WakeupListener}.
 */
final class QueueArm {
    static final int NONE = 0;
    static final int SOLICITED = 1;
    static final int NEXT = 2;

    /** The most entries that an event may wait for: 16 bits, as the moderation count of real devices. */
    static final int MOST_COUNT = 1 << 16;

    private static final int COMMAND_MASK = 3;
    private static final int COUNT_SHIFT = 2;
    private static final int COUNT_MASK = MOST_COUNT - 1;
    private static final int NUMBER_SHIFT = 18;

    private final QueueMemory memory;

    /** Whom to tell; null: nobody, the device asks by itself. */
    final EventSink sink;

    final int cqNumber;

    /** Several writers may answer one arm. */
    private final boolean manyWriters;

    /** Several pollers may arm: arms of one number are merged. */
    private final boolean manyPollers;

    QueueArm(QueueMemory memory, EventSink sink, int cqNumber, boolean manyWriters, boolean manyPollers) {
        this.memory = memory;
        this.sink = sink;
        this.cqNumber = cqNumber;
        this.manyWriters = manyWriters;
        this.manyPollers = manyPollers;
    }

    static IllegalStateException notAsked() {
        return new IllegalStateException(
                "completion queue was made without events: its builder must be given events() or deviceEvents()");
    }

    /** Whether an entry with this header is what {@link #SOLICITED} asks for. Never that of a merged entry. */
    static boolean isSolicited(long header) {
        return CqeLayout.isSolicited(header) || CqeOpcode.isFailed(CqeLayout.opcode(header));
    }

    private static long word(long number, int count, int command) {
        return number << NUMBER_SHIFT | (long) (count - 1) << COUNT_SHIFT | command;
    }

    private static int command(long word) {
        return (int) word & COMMAND_MASK;
    }

    private static int count(long word) {
        return ((int) (word >>> COUNT_SHIFT) & COUNT_MASK) + 1;
    }

    private static long number(long word) {
        return word >>> NUMBER_SHIFT;
    }

    /**
     * Checks the words at attach, while all ends may be at work; see {@link CqRegion#requirePlausible}. Wrong ones could cost wake-ups, and
     * nothing else: words and marks are compared, and never used to find a slot.
     */
    static void requirePlausible(QueueMemory memory, long start, int capacity) {
        // Edge ARM, observing end: the answer, the word, the answer again. Partners: fire, take. The number of the
        // word is never below an answer seen before, nor more than one above an answer seen later. Weaker: the looks
        // may change places, and a healthy queue is refused. Not to be shown on x86.
        final long firedBefore = memory.getLongAcquire(CqRegion.FIRED);
        final long word = memory.getLongAcquire(CqRegion.ARM);
        final long firedAfter = memory.getLongOpaque(CqRegion.FIRED);
        final long number = number(word);
        if (firedBefore < 0 || firedBefore > number || number - firedAfter > 1 || command(word) > NEXT) {
            throw CqHeader.refused(
                    memory,
                    "arm word must have a command of 0 to 2 and a number of that of the last answer or one more: command "
                            + command(word) + ", number " + number + ", answered " + firedAfter,
                    false);
        }
        // Edge ARM, observing end: the marks, then the sequences, which the marks follow. As above; a ring of slack
        // for an index that is seen before the consumer sequence it was taken from.
        final long index = memory.getLongAcquire(CqRegion.ARMED_INDEX);
        final long solicited = memory.getLongAcquire(CqRegion.SOLICITED_END);
        final long consumed = memory.getLongOpaque(CqRegion.CONSUMER_SEQUENCE);
        final long published = memory.getLongOpaque(CqRegion.PRODUCER_SEQUENCE);
        if (index - start < 0
                || index - consumed > capacity
                || solicited - start < 0
                || solicited - published > capacity) {
            throw CqHeader.refused(
                    memory,
                    "armed index and solicited end must be " + start + " (the first sequence) or later, and at most "
                            + capacity + " past the sequences: index " + index + ", consumer " + consumed + ", end "
                            + solicited + ", producer " + published,
                    false);
        }
    }

    // ---- Host end

    /** Asks for one event. After this call the host must look at the ring, and only then sleep. */
    void arm(ArmMode mode, int count, long index) {
        storeIndex(index);
        final int wanted = mode == ArmMode.SOLICITED ? 1 : count; // a solicited completion does not wait for others
        long before = memory.getLongOpaque(CqRegion.ARM);
        while (true) {
            final long after = merged(before, mode.command, wanted);
            // Edge ARM, host end: the index, then the word. Partner: answer. By compare-and-set because another
            // thread may take an event, or arm, at the same time. Weaker (test, then set): the number goes back, and
            // the device never answers it again. Shown by ArmStress.
            if (memory.compareAndSetLong(CqRegion.ARM, before, after)) {
                break;
            }
            before = memory.getLongOpaque(CqRegion.ARM);
        }
        // Edge ARM, host end: the word, then the look at the ring that follows. Partner: answer. Weaker (no fence):
        // the look may come first, both ends miss each other, and the host sleeps with an entry in the ring. Shown
        // by ArmStress.
        memory.fullFence();
    }

    /**
     * The word after an arm. With many pollers, the one that asks for less: a solicited completion may be the next one, so solicited and
     * "the next 8" are together the next one. The index is that of the later arm; what lay before it has been claimed.
     */
    private long merged(long before, int command, int count) {
        final long number = Math.max(1, number(before)); // 0: never armed, and not to be taken for "answered"
        if (!manyPollers || command(before) == NONE) {
            return word(number, count, command);
        }
        return word(number, Math.min(count, count(before)), Math.max(command, command(before)));
    }

    private void storeIndex(long index) {
        if (!manyPollers) {
            memory.putLongOpaque(CqRegion.ARMED_INDEX, index);
            return;
        }
        long before = memory.getLongOpaque(CqRegion.ARMED_INDEX);
        // Edge ARM, host end: the index never goes back, for what lies before the later one has been claimed.
        // Partner: isPast. Weaker (plain): a poller that was held up stores an old index, and the device answers for
        // an entry that is gone. Shown by ArmTest.
        while (index - before > 0 && !memory.compareAndSetLong(CqRegion.ARMED_INDEX, before, index)) {
            before = memory.getLongOpaque(CqRegion.ARMED_INDEX);
        }
    }

    /** The host has got the event: the number goes up, nothing is armed. False if no event is outstanding. */
    boolean take() {
        // Edge ARM, taking end: the answer, then the word. Partner: fire. Weaker (opaque): an old answer is seen, the
        // event is taken for spurious, and the next arm keeps a number that was answered already: no event ever
        // again. Not to be shown on x86.
        final long fired = memory.getLongAcquire(CqRegion.FIRED);
        long before = memory.getLongOpaque(CqRegion.ARM);
        while (fired != 0 && number(before) == fired) {
            // Edge ARM, taking end: by compare-and-set, as in arm. Shown by ArmStress.
            if (memory.compareAndSetLong(CqRegion.ARM, before, word(fired + 1, 1, NONE))) {
                return true;
            }
            before = memory.getLongOpaque(CqRegion.ARM);
        }
        return false;
    }

    /** Answers given since creation. */
    long fired() {
        return memory.getLongOpaque(CqRegion.FIRED);
    }

    /**
     * Nothing is armed any more, and the ring begins, or begins again, at a sequence. With both ends at a standstill; an event may
     * be taken at the same time.
     */
    void restart(long startSequence) {
        memory.putLongOpaque(CqRegion.ARMED_INDEX, startSequence);
        memory.putLongOpaque(CqRegion.SOLICITED_END, startSequence);
        long before = memory.getLongOpaque(CqRegion.ARM);
        // Edge ARM, host end: by compare-and-set, as in arm. Shown by ArmInterleavingTest.
        while (before != 0 && !memory.compareAndSetLong(CqRegion.ARM, before, word(number(before), 1, NONE))) {
            before = memory.getLongOpaque(CqRegion.ARM);
        }
    }

    // ---- Device end

    /** Many writers: remembers that an entry that this writer has published is solicited. Before {@link #serve}. */
    void markSolicited(long end) {
        long before = memory.getLongOpaque(CqRegion.SOLICITED_END);
        // Edge ARM, device end: that there is a solicited entry, for whichever writer answers, together with its
        // entry. Partner: isPast. Weaker (a field of each writer): an entry that is held up by an older one of another
        // writer gets no event when that one comes. Shown by ArmManyWritersTest.
        while (end - before > 0 && !memory.compareAndSetLong(CqRegion.SOLICITED_END, before, end)) {
            before = memory.getLongOpaque(CqRegion.SOLICITED_END);
        }
    }

    /** After entries were published: answers the arm if there is one and they are past it. */
    void serve(long published, long solicitedEnd, int capacity) {
        if (sink != null) {
            // Edge ARM, device end: the owner bits, then the look at the arm word. Partner: arm. Weaker (no fence):
            // the look may come first, both ends miss each other, and the host sleeps with an entry in the ring.
            // Shown by ArmStress.
            memory.fullFence();
            if (answer(published, solicitedEnd, capacity)) {
                sink.completion(cqNumber);
            }
        }
    }

    /**
     * Answers the arm if what was published is past it. True if so: the caller raises the event.
     *
     * @param capacity of the ring that the device is in: a resize may have made it smaller than the count that the host waits for
     */
    boolean answer(long published, long solicitedEnd, int capacity) {
        final long word = armed();
        return word != 0 && isPast(word, published, solicitedEnd, capacity) && fire(word);
    }

    /** Answers the arm, if there is one, whatever it asks for. True if so: the caller raises the event. */
    boolean answerAny() {
        final long word = armed();
        return word != 0 && fire(word);
    }

    /** Entries were lost. If the queue is dead, nothing more will come: whoever waits must look. */
    void overrun(boolean dead) {
        if (dead) {
            wake(); // first: whatever the sink does with the news, who waits must learn of it
        }
        if (sink != null) {
            sink.overrun(cqNumber, dead);
        }
    }

    /** Something other than an entry has come that whoever waits must see: the queue is closed or dead, or was recovered. */
    void wake() {
        if (sink != null) {
            // Edge ARM, device end: the flag that says why, then the look at the arm word. Partner: arm. Weaker: as in
            // serve. Shown by ArmStress.
            memory.fullFence();
            if (answerAny()) {
                sink.completion(cqNumber);
            }
        }
    }

    /**
     * Entries past the arm that the host waits for, for a device that keeps the time itself.
     *
     * @return 0 if nothing is armed, the arm has been answered, or nothing that it asks for is there
     */
    long pastArm(long published, long solicitedEnd, int capacity) {
        final long word = armed();
        return word != 0 && isPast(word, published, solicitedEnd, capacity)
                ? published - memory.getLongOpaque(CqRegion.ARMED_INDEX)
                : 0;
    }

    /** Whether the host waits for an event that has not been raised. */
    boolean isArmed() {
        return armed() != 0;
    }

    /** The arm word, if it is to be answered; else 0. */
    private long armed() {
        // Edge ARM, device end: the word, then the index and the marks. Partner: arm. Weaker (opaque): the index of
        // an older arm is seen, and the one event is spent on an entry that was polled before. Not to be shown on
        // x86.
        final long word = memory.getLongAcquire(CqRegion.ARM);
        return command(word) != NONE && memory.getLongOpaque(CqRegion.FIRED) != number(word) ? word : 0;
    }

    private boolean isPast(long word, long published, long solicitedEnd, int capacity) {
        final long index = memory.getLongOpaque(CqRegion.ARMED_INDEX);
        if (command(word) == SOLICITED) {
            final long end = manyWriters ? memory.getLongOpaque(CqRegion.SOLICITED_END) : solicitedEnd;
            return end - index > 0;
        }
        // Many writers: what is claimed. That may be more than is published, and the event early; what an older
        // entry of another writer holds up is counted with it.
        final long end = manyWriters ? memory.getLongOpaque(CqRegion.PRODUCER_SEQUENCE) : published;
        return end - index >= Math.min(count(word), capacity);
    }

    private boolean fire(long word) {
        final long number = number(word);
        final long before = memory.getLongOpaque(CqRegion.FIRED);
        // Edge ARM, device end: the answer, before whatever tells the host of it. Partner: take. By compare-and-set,
        // as several writers, or one and a close, may be here with one arm. Weaker (test, then set): two events for
        // one arm. Shown by ArmStress.
        return before - number < 0 && memory.compareAndSetLong(CqRegion.FIRED, before, number);
    }
}
