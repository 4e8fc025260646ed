package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.testing.SteppedMemory;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a sleep of a consumer costs: stores to the armed index, of which each arm makes one. */
@Timeout(60)
class ConsumerArmsTest {
    /** From the table of the region in architecture.md: the armed index, in the words of the host. */
    private static final long ARMED_INDEX = 328;

    private final CompletionChannel channel = CompletionChannel.ofQueues(1);
    private final SteppedMemory memory = new SteppedMemory(CompletionQueue.requiredBytes(16, 64));
    private final CompletionQueue queue =
            channel.create(CompletionQueue.ofCapacity(16).memory(memory));
    private final AtomicInteger arms = new AtomicInteger();

    /** Entries to write just before the next arm. */
    private int beforeTheNextArm;

    @AfterEach
    void close() {
        channel.close();
    }

    private CompletionConsumer consumer(ConsumerMode mode, Moderation moderation) {
        memory.hook((done, offset, stores) -> {
            if (offset == ARMED_INDEX && stores && !done) {
                arms.getAndIncrement();
                int count = beforeTheNextArm;
                beforeTheNextArm = 0;
                write(count);
            }
        });
        return CompletionConsumer.of(queue, entry -> {})
                .mode(mode)
                .onWaitingThread(channel)
                .moderation(moderation)
                .create();
    }

    private void write(int count) {
        for (int i = 0; i < count; i++) {
            assertTrue(queue.writer().write(0, i, 0, 0, 0));
        }
    }

    /** The arms that the memory has seen, which are those that the consumer counts; arms that found something; events. */
    private void assertArms(int expected, int missed, int events, CompletionConsumer consumer) {
        assertEquals(expected, arms.getAndSet(0), consumer::toString);
        assertEquals(
                expected + ", " + missed + ", " + events,
                consumer.arms() + ", " + consumer.missed() + ", " + consumer.events());
    }

    @Test
    void shouldArmOncePerSleep() throws Exception {
        for (ConsumerMode mode : new ConsumerMode[] {ConsumerMode.INTERRUPT, ConsumerMode.EVENT, ConsumerMode.HYBRID}) {
            CompletionConsumer consumer = consumer(mode, Moderation.OFF);
            Aside<Boolean> run = Aside.call(() -> consumer.runOnce(1, DAYS)).untilItWaits();
            write(1);
            assertTrue(run.result());
            run.thread.join();
            assertArms(1, 0, 1, consumer);
        }
    }

    @Test
    void shouldNotArmBesideAnEntry() throws Exception {
        CompletionConsumer consumer = consumer(ConsumerMode.EVENT, Moderation.OFF);
        write(1);
        assertTrue(consumer.runOnce(1, DAYS));
        assertArms(0, 0, 0, consumer);
        assertEquals(0, queue.events());
    }

    /** It comes between the look and the arm. */
    @Test
    void shouldCountAnArmThatFindsAnEntry() throws Exception {
        CompletionConsumer consumer = consumer(ConsumerMode.EVENT, Moderation.OFF);
        beforeTheNextArm = 1;
        assertTrue(consumer.runOnce(1, DAYS));
        assertArms(1, 1, 0, consumer);
        assertEquals(1, consumer.completions());
    }

    @Test
    void shouldArmOnceForWaitingInVain() throws Exception {
        CompletionConsumer consumer = consumer(ConsumerMode.HYBRID, Moderation.OFF);
        assertFalse(consumer.runOnce(0, SECONDS));
        assertArms(1, 0, 0, consumer);
    }

    /** The first entry wakes it, then the last; in the mode from the entry each does, and each is a sleep of its own. */
    @Test
    void shouldArmOncePerSleepWhileCompletionsGather() throws Exception {
        for (TimerMode timer : TimerMode.values()) {
            CompletionConsumer consumer = consumer(ConsumerMode.EVENT, Moderation.ofMicros(4, 0, timer));
            Aside<Boolean> run = Aside.call(() -> consumer.runOnce(1, DAYS));
            for (int i = 0; i < 4; i++) {
                run.untilItWaits();
                write(1);
                int armsNow = timer == TimerMode.FROM_ENTRY ? i + 2 : 2;
                while (i != 3 && arms.get() < armsNow && !Thread.currentThread().isInterrupted()) {
                    Thread.onSpinWait(); // until it has seen that one, and sleeps again, or is about to
                }
            }
            assertTrue(run.result());
            run.thread.join();
            int sleeps = timer == TimerMode.FROM_ENTRY ? 4 : 2;
            assertArms(sleeps, 0, 1, consumer);
            queue.writer().release();
        }
    }
}
