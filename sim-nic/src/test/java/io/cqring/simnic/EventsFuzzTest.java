package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
import io.cqring.notify.Moderation;
import io.cqring.notify.RdmaDim;
import io.cqring.notify.TimerMode;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Four queues on one event queue, bursts of 1 to 64 and gaps, a host that is sometimes slow: whatever the mode and the moderation,
 * nothing is lost, comes twice or out of order, and no entry waits longer than the period for an event that was asked for.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class EventsFuzzTest {
    private static final long SEEDS = Long.getLong("cqring.fuzz.seeds", 100);
    private static final int QUEUES = 4;
    private static final int POSTING_PASSES = 250;
    private static final int MOST_PASSES = 20_000;

    /** Unpolled and unfinished writes of a queue pair: its send queue. */
    private static final int WINDOW = 128;

    private static final int DRY_POLLS = 5;

    private enum Host {
        EVENT,
        HYBRID,
        /** Does not look after it has armed; the device compares the armed index. */
        INTERRUPT
    }

    /** What the host and the judge know of one queue. */
    private static final class Side {
        long posted;
        long taken;
        boolean asleep;
        long eventsAtArm;
        int dryPolls;
        int size;
        int passesSinceFirst;
        int passesSinceLast;
    }

    @ParameterizedTest
    @CsvSource({
        "EVENT, '1,0'",
        "EVENT, '64,16'",
        "EVENT, '8,100'",
        "EVENT, '0,20'",
        "EVENT, '16,8,entry'",
        "EVENT, adaptive",
        "HYBRID, '1,0'",
        "HYBRID, '64,16'",
        "HYBRID, '8,100'",
        "HYBRID, '0,20'",
        "HYBRID, '16,8,entry'",
        "HYBRID, adaptive",
        "INTERRUPT, '1,0'",
        "INTERRUPT, '64,16'",
        "INTERRUPT, '8,100'",
        "INTERRUPT, '0,20'",
        "INTERRUPT, '16,8,entry'",
        "INTERRUPT, adaptive"
    })
    void nothingIsLostAndNothingWaitsTooLong(String host, String moderation) {
        for (long seed = 0; seed < SEEDS; seed++) {
            new Run(seed, Host.valueOf(host), moderation).run();
        }
    }

    private static final class Run {
        private final SplittableRandom random;
        private final Host host;
        private final Moderation moderation;
        private final boolean adaptive;
        private final String name;
        private final Side[] sides = new Side[QUEUES];
        private long arms;

        Run(long seed, Host host, String moderation) {
            this.random = new SplittableRandom(seed);
            this.host = host;
            this.adaptive = moderation.equals("adaptive");
            this.moderation = adaptive ? Moderation.ofMicros(32, 32) : Moderation.parse(moderation);
            this.name = "seed " + seed + ", " + host + ", " + moderation;
            Arrays.setAll(sides, i -> new Side());
        }

        void run() {
            try (EventRig rig = new EventRig(QUEUES, adaptive ? Moderation.OFF : moderation)) {
                for (int i = 0; adaptive && i < QUEUES; i++) {
                    rig.nic.moderate(rig.queues[i], new RdmaDim());
                }
                int pass = 0;
                boolean done = false;
                while (!done) {
                    assertTrue(pass < MOST_PASSES, name + ": something never came");
                    if (pass < POSTING_PASSES && random.nextInt(3) == 0) {
                        post(rig, random.nextInt(QUEUES), 1 + random.nextInt(64));
                    }
                    rig.nic.step();
                    for (int i = 0; i < QUEUES; i++) {
                        judge(rig.queues[i], sides[i]);
                    }
                    if (random.nextInt(4) != 0) {
                        act(rig);
                    }
                    pass++;
                    done = pass > POSTING_PASSES && isAllTaken();
                }
                assertTrue(rig.nic.counter(DeviceCounter.EVENTS_RAISED) <= arms, name);
            }
        }

        private boolean isAllTaken() {
            for (Side side : sides) {
                if (side.taken != side.posted) {
                    return false;
                }
            }
            return true;
        }

        private void post(EventRig rig, int queue, int wanted) {
            final Side side = sides[queue];
            final int count = (int) Math.min(wanted, WINDOW - (side.posted - side.taken));
            if (count > 0) {
                rig.write(queue, side.posted, count);
                side.posted += count;
            }
        }

        /** After a pass: an entry that is there, past an arm that has not been answered, is still within its time. */
        private void judge(CompletionQueue queue, Side side) {
            final int size = queue.size();
            if (!side.asleep || size == 0 || queue.events() != side.eventsAtArm) {
                side.passesSinceFirst = 0;
                side.size = 0;
                return;
            }
            side.passesSinceFirst++;
            side.passesSinceLast = size == side.size ? side.passesSinceLast + 1 : 1;
            side.size = size;
            final int waited = moderation.mode() == TimerMode.FROM_EVENT ? side.passesSinceFirst : side.passesSinceLast;
            assertTrue(waited <= moderation.periodUs(), name + ": waits for " + waited + " us");
            assertTrue(
                    moderation.count() == 0 || size < moderation.count(), name + ": waits with " + size + " entries");
        }

        private void act(EventRig rig) {
            for (CompletionQueue raised = rig.takeEvent(); raised != null; raised = rig.takeEvent()) {
                sides[List.of(rig.queues).indexOf(raised)].asleep = false;
            }
            for (int i = 0; i < QUEUES; i++) {
                if (!sides[i].asleep) {
                    poll(rig, i, sides[i]);
                }
            }
        }

        private void poll(EventRig rig, int number, Side side) {
            final CompletionQueue queue = rig.queues[number];
            final int taken = queue.poll(
                    completion -> {
                        assertEquals(side.taken, completion.workRequestId(), name);
                        rig.pairs[number].retire(completion);
                        side.taken++;
                    },
                    1 + random.nextInt(64));
            if (taken != 0) {
                side.dryPolls = 0;
                return;
            }
            side.dryPolls++;
            if (host == Host.HYBRID && side.dryPolls < DRY_POLLS) {
                return;
            }
            side.dryPolls = 0;
            if (random.nextInt(3) == 0) {
                rig.nic.step(); // an entry may come between the last poll and the arm
            }
            side.eventsAtArm = queue.events();
            arms++;
            side.asleep = !queue.arm(ArmMode.NEXT) || host == Host.INTERRUPT;
        }
    }
}
