package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.Completion;
import io.cqring.cq.CompletionQueue;
import io.cqring.notify.Moderation;
import io.cqring.notify.RdmaDim;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The device on its own thread, in real time: four queues on one event queue, bursts of 1 to 64, gaps of up to two milliseconds in
 * which everybody falls asleep. Whatever the mode and the moderation, no wait outlasts the period and a second while a completion is
 * there, and none is lost, doubled or out of order. So many seconds in all: property {@code cqring.soak.seconds}.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class EventsSoakIT {
    private static final int COMBINATIONS = 12;
    private static final double SECONDS = Double.parseDouble(System.getProperty("cqring.soak.seconds", "24"));
    private static final int QUEUES = 4;
    private static final int MOST_BURST = 64;
    private static final int MOST_GAP_NS = 2_000_000;
    private static final int DRY_POLLS = 64;
    private static final int BUDGET = 16;

    private enum Host {
        EVENT,
        HYBRID,
        INTERRUPT
    }

    private long completions;

    @ParameterizedTest
    @CsvSource({
        "EVENT, '1,0'",
        "EVENT, '64,16'",
        "EVENT, '8,1000'",
        "EVENT, adaptive",
        "HYBRID, '1,0'",
        "HYBRID, '64,16'",
        "HYBRID, '8,1000'",
        "HYBRID, adaptive",
        "INTERRUPT, '1,0'",
        "INTERRUPT, '64,16'",
        "INTERRUPT, '8,1000'",
        "INTERRUPT, adaptive"
    })
    void noWaitOutlastsThePeriodAndASecond(String host, String moderation) throws InterruptedException {
        final long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        final String name = host + ", " + moderation + ", repeat with -Dcqring.test.seed=" + seed;
        final boolean adaptive = moderation.equals("adaptive");
        try (EventRig rig = new EventRig(QUEUES, adaptive ? Moderation.OFF : Moderation.parse(moderation))) {
            for (int i = 0; adaptive && i < QUEUES; i++) {
                rig.nic.moderate(rig.queues[i], new RdmaDim());
            }
            rig.nic.start(new BackoffIdleStrategy(100, 100, 50_000, 50_000));
            new Run(rig, Host.valueOf(host), new SplittableRandom(seed), name)
                    .run((long) (SECONDS * 1e9 / COMBINATIONS));
        }
        System.out.println("EventsSoakIT: " + completions + " completions, " + name);
    }

    private final class Run {
        private final EventRig rig;
        private final Host host;
        private final SplittableRandom random;
        private final String name;
        private final long[] posted = new long[QUEUES];
        private final long[] taken = new long[QUEUES];

        Run(EventRig rig, Host host, SplittableRandom random, String name) {
            this.rig = rig;
            this.host = host;
            this.random = random;
            this.name = name;
        }

        void run(long nanos) throws InterruptedException {
            final long start = System.nanoTime();
            for (CompletionQueue queue : rig.queues) {
                queue.arm(ArmMode.NEXT);
            }
            while (System.nanoTime() - start < nanos) {
                final int bursts = 1 + random.nextInt(QUEUES);
                for (int i = 0; i < bursts; i++) {
                    post(random.nextInt(QUEUES), 1 + random.nextInt(MOST_BURST));
                }
                takeAll();
                if (random.nextBoolean()) {
                    LockSupport.parkNanos(random.nextInt(MOST_GAP_NS)); // the traffic, not a wait for anything
                }
            }
        }

        private void post(int queue, int count) {
            if (posted[queue] == taken[queue]) {
                rig.write(queue, posted[queue], count);
                posted[queue] += count;
            }
        }

        /** Sleeps and takes until nothing is under way. All queues are armed before and afterwards. */
        private void takeAll() throws InterruptedException {
            while (isUnderWay()) {
                final CompletionQueue queue = rig.channel.getEvent(1_000 + 5, TimeUnit.MILLISECONDS);
                if (queue == null) {
                    for (int i = 0; i < QUEUES; i++) {
                        assertTrue(rig.queues[i].isEmpty(), name + ": asleep beside a completion of queue " + i);
                    }
                    assertEquals(null, rig.nic.failure(), name);
                    continue; // the device has had no core for a second
                }
                rig.channel.ack(queue, 1);
                take(queue.number());
            }
        }

        private boolean isUnderWay() {
            for (int i = 0; i < QUEUES; i++) {
                if (posted[i] != taken[i]) {
                    return true;
                }
            }
            return false;
        }

        private void take(int number) {
            final CompletionQueue queue = rig.queues[number];
            boolean ready = true;
            while (ready) {
                int dry = 0;
                while (dry != (host == Host.HYBRID ? DRY_POLLS : 1)) {
                    dry = queue.poll(entry -> check(number, entry), BUDGET) == 0 ? dry + 1 : 0;
                }
                // The device compares the armed index, so a host that goes by interrupts alone need not look.
                ready = queue.arm(ArmMode.NEXT) && host != Host.INTERRUPT;
            }
        }

        private void check(int number, Completion completion) {
            assertEquals(taken[number], completion.workRequestId(), name);
            rig.pairs[number].retire(completion);
            taken[number]++;
            completions++;
        }
    }
}
