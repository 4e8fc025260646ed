package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.IdleStrategy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a consumer that polls does in between: a strategy of the test writes entries, and notes what it is asked. */
@Timeout(60)
class ConsumerIdleTest {
    private final CompletionChannel channel = CompletionChannel.ofQueues(1);
    private final CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(8));
    private final List<String> asked = new ArrayList<>();

    /** Writes an entry when it is asked for the time with this number; 0: never. */
    private final class Noting implements IdleStrategy {
        private int writesAt;

        @Override
        public void idle(int workCount) {
            asked.add("idle " + workCount);
            if (--writesAt == 0) {
                assertTrue(queue.writer().write(0, 1, 0, 0, 0));
            }
        }

        @Override
        public void idle() {
            asked.add("idle");
        }

        @Override
        public void reset() {
            asked.add("reset");
        }

        @Override
        public String toString() {
            return "noting";
        }
    }

    private CompletionConsumer.Builder described() {
        return CompletionConsumer.of(queue, entry -> asked.add("entry"));
    }

    @Test
    void shouldAskAfterEachEmptyPollAndResetAfterAnother() throws InterruptedException {
        Noting idle = new Noting();
        CompletionConsumer consumer =
                described().onWaitingThread(channel).idleStrategy(idle).create();
        idle.writesAt = 3;
        assertTrue(consumer.runOnce(1, DAYS));
        assertEquals(List.of("idle 0", "idle 0", "idle 0", "entry", "reset"), asked);
        asked.clear();
        assertTrue(queue.writer().write(0, 1, 0, 0, 0));
        assertTrue(consumer.runOnce(0, SECONDS));
        assertEquals(List.of("entry", "reset"), asked);
        asked.clear();
        assertFalse(consumer.runOnce(0, SECONDS), "only a look");
        assertEquals(List.of(), asked);
        assertEquals(6, consumer.polls());
    }

    @Test
    void shouldRefuseAStrategyThatIsNeverAsked() {
        Noting idle = new Noting();
        for (ConsumerMode mode : new ConsumerMode[] {ConsumerMode.EVENT, ConsumerMode.HYBRID}) {
            CompletionConsumer.Builder sleeps =
                    described().mode(mode).onWaitingThread(channel).idleStrategy(idle);
            assertEquals(
                    "an idle strategy needs mode POLL, and onWaitingThread(): noting with mode " + mode
                            + " and context INTERRUPT",
                    assertThrows(IllegalArgumentException.class, sleeps::create).getMessage());
        }
        CompletionConsumer.Builder direct = described().idleStrategy(idle);
        assertEquals(
                "an idle strategy needs mode POLL, and onWaitingThread(): noting with mode POLL and context DIRECT",
                assertThrows(IllegalArgumentException.class, direct::create).getMessage());
        assertThrows(NullPointerException.class, () -> described().idleStrategy(null));
    }
}
