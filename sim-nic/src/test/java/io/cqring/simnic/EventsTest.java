package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.OverrunPolicy;
import io.cqring.eq.Interrupt;
import io.cqring.notify.CompletionChannel;
import io.cqring.notify.Moderation;
import io.cqring.notify.RdmaDim;
import io.cqring.notify.TimerMode;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.testing.FieldBug;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.YieldingIdleStrategy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When the device raises the event of a queue: arms, moderation, solicited entries, the end. One pass is one microsecond. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class EventsTest {
    /** A watchdog, for tests on real time: an event that takes longer is lost. */
    private static final long LOST_MS = 20_000;

    private static List<Long> ids(long count) {
        return LongStream.range(0, count).boxed().toList();
    }

    // ---- Arms

    @Test
    void anArmBringsOneEventAndNoMore() {
        try (EventRig rig = new EventRig(1, Moderation.OFF)) {
            rig.write(1);
            rig.steps(10);
            assertNull(rig.takeEvent(), "not armed");
            assertEquals(ids(1), rig.drain(0));
            for (int i = 0; i < 3; i++) {
                assertFalse(rig.arm());
            }
            rig.steps(10);
            assertNull(rig.takeEvent(), "nothing came");
            rig.write(1);
            assertEquals(1, rig.stepsToEvent(1));
            rig.write(5);
            rig.steps(10);
            assertNull(rig.takeEvent(), "three arms, one event");
            assertEquals(1, rig.queues[0].events());
            assertEquals(1, rig.nic.counter(DeviceCounter.EVENTS_RAISED));
            assertEquals(6, rig.drain(0).size());
        }
    }

    /** The device compares the armed index with its own: what came between poll and arm is past it. */
    @Test
    void anArmBehindAnUnpolledEntryFiresInTheNextPass() {
        try (EventRig rig = new EventRig(1, Moderation.OFF)) {
            rig.write(2);
            rig.steps(1);
            assertTrue(rig.arm(), "there is something to poll");
            assertEquals(1, rig.stepsToEvent(1));
            assertEquals(ids(2), rig.drain(0));
        }
    }

    @Test
    @FieldBug(49)
    void anArmBeforeTheDeviceKnowsTheQueueOrHasStartedIsHonoured() {
        try (SimNic nic = SimNic.builder().maxQueuePairs(4).create();
                CompletionChannel channel = CompletionChannel.ofQueues(1)) {
            CompletionQueue queue = channel.createForDevice(CompletionQueue.ofCapacity(64));
            assertFalse(queue.arm(ArmMode.NEXT), "before attach");
            nic.attach(queue, channel);
            var domain = nic.allocateProtectionDomain();
            QueuePair pair = nic.createQueuePair(domain, queue, queue, 4, 4);
            nic.connect(pair, pair);
            assertTrue(pair.postWrite(7, 0, 0, 0, 0, 0, TestRig.SIGNALED));
            pair.ringSendDoorbell();
            assertEquals(0, queue.size(), "before start");
            nic.start(new BackoffIdleStrategy(10, 10, 1_000, 1_000_000));
            CompletionQueue ready = channel.getEvent(LOST_MS, TimeUnit.MILLISECONDS);
            assertSame(queue, ready);
            assertEquals(1, queue.poll(completion -> assertEquals(7, completion.workRequestId()), 2));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The device is stepped only while the host sleeps on the interrupt: one interrupt for each such sleep, and no other. */
    @Test
    void aHostThatIsForcedToSleepTakesOneInterruptEachTime() throws InterruptedException {
        try (EventRig rig = new EventRig(1, Moderation.OFF)) {
            AtomicInteger polled = new AtomicInteger();
            Thread host = new Thread(() -> {
                try {
                    while (rig.channel.await(rig.queues[0], LOST_MS, TimeUnit.MILLISECONDS)) {
                        rig.queues[0].poll(completion -> polled.incrementAndGet(), 64);
                    }
                } catch (IllegalStateException | InterruptedException end) {
                    // the channel is closed
                }
            });
            host.setDaemon(true);
            host.start();
            for (int sleep = 0; sleep < 100; sleep++) {
                while (polled.get() != sleep || !(LockSupport.getBlocker(host) instanceof Interrupt)) {
                    assertTrue(host.isAlive(), "the host was not woken from sleep " + (sleep - 1));
                    Thread.onSpinWait();
                }
                assertEquals(sleep, rig.channel.interrupts());
                rig.write(0, sleep, 1);
                do { // and not once more: the host may arm while it has yet to poll, and is answered again
                    rig.nic.step();
                } while (rig.nic.counter(DeviceCounter.EVENTS_RAISED) == sleep);
            }
            while (polled.get() != 100) {
                assertTrue(host.isAlive(), "the host was not woken from the last sleep");
                Thread.onSpinWait();
            }
            assertEquals(100, rig.channel.interrupts());
            assertEquals(100, rig.channel.events());
            assertEquals(0, rig.channel.spuriousEvents());
            rig.channel.close();
            host.join();
        }
    }

    @Test
    void aSleepingHostIsWokenByADeviceThatSleepsItself() {
        try (EventRig rig = new EventRig(1, Moderation.ofMicros(64, 16))) {
            rig.nic.start(new BackoffIdleStrategy(1, 1, 100_000, 1_000_000));
            for (int i = 0; i < 500; i++) {
                if (!rig.arm()) {
                    rig.write(0, i, 1);
                    assertSame(rig.queues[0], rig.takeEvent(LOST_MS), "round " + i);
                }
                assertEquals(List.of((long) i), rig.drain(0));
            }
        }
    }

    // ---- Moderation

    @ParameterizedTest
    @ValueSource(strings = {"64,16", "2,16", "65535,16", "0,16", "64,16,entry", "0,16,entry"})
    @FieldBug(105)
    void aLoneEntryWaitsExactlyThePeriod(String moderation) {
        try (EventRig rig = new EventRig(1, Moderation.parse(moderation))) {
            assertEquals(Moderation.parse(moderation), rig.nic.moderation(rig.queues[0]), "the effective value");
            for (int round = 0; round < 3; round++) {
                assertFalse(rig.arm());
                rig.steps(50);
                assertNull(rig.takeEvent());
                rig.write(1);
                rig.steps(1);
                assertEquals(1, rig.queues[0].size(), "it is there");
                assertNull(rig.takeEvent());
                assertEquals(16, rig.stepsToEvent(100));
                rig.steps(200);
                assertNull(rig.takeEvent(), "and not again");
                rig.drain(0);
            }
        }
    }

    @Test
    void theCountFiresAtOnceAndSoDoTheKindsOfNoModeration() {
        try (EventRig rig = new EventRig(1, Moderation.ofMicros(4, 1000))) {
            rig.arm();
            rig.write(3);
            rig.steps(100);
            assertNull(rig.takeEvent(), "three of four");
            rig.write(1);
            assertEquals(1, rig.stepsToEvent(1));
            rig.drain(0);
            for (Moderation off : List.of(Moderation.OFF, Moderation.ofMicros(0, 0), Moderation.ofMicros(1, 1000))) {
                rig.nic.moderate(rig.queues[0], off);
                assertEquals(1, rig.nic.moderation(rig.queues[0]).count());
                assertFalse(rig.arm());
                rig.write(1);
                assertEquals(1, rig.stepsToEvent(1));
                rig.drain(0);
            }
        }
    }

    @Test
    void withoutAPeriodOnlyTheCountCounts() {
        try (EventRig rig = new EventRig(1, Moderation.ofMicros(4, 0))) {
            rig.arm();
            rig.write(3);
            rig.steps(10_000);
            assertNull(rig.takeEvent());
            assertEquals(0, rig.nic.step(), "nothing to do: no timer runs");
            rig.write(1);
            assertEquals(1, rig.stepsToEvent(1));
        }
    }

    @Test
    void withoutACountOnlyThePeriodCounts() {
        try (EventRig rig = new EventRig(1, Moderation.ofMicros(0, 40))) {
            rig.arm();
            rig.write(100);
            rig.steps(1); // 16 of them
            assertEquals(40, rig.stepsToEvent(100));
            assertEquals(100, rig.queues[0].size());
        }
    }

    /** From the event: the first entry counts. From the entry: each one starts the period anew. */
    @Test
    void theModeSaysFromWhenThePeriodCounts() {
        for (TimerMode mode : TimerMode.values()) {
            try (EventRig rig = new EventRig(1, Moderation.ofMicros(64, 16, mode))) {
                rig.arm();
                rig.write(1);
                rig.steps(10);
                rig.write(1);
                rig.steps(1); // one pass and nine after the first entry
                assertEquals(mode == TimerMode.FROM_EVENT ? 16 - 10 : 16, rig.stepsToEvent(100), mode::toString);
            }
        }
    }

    @Test
    void aTimerThatRunsIsSomethingToDo() {
        try (EventRig rig = new EventRig(1, Moderation.ofMicros(64, 16))) {
            rig.arm();
            assertEquals(0, rig.nic.step());
            rig.write(1);
            int passes = 0;
            while (rig.nic.step() != 0) {
                passes++;
            }
            assertEquals(17, passes, "the pass of the entry, 15 of waiting, the pass of the event");
            assertSame(rig.queues[0], rig.takeEvent());
        }
    }

    @Test
    void aLiveChangeTakesEffectAtOnceAndLosesNothing() {
        try (EventRig rig = new EventRig(1, Moderation.ofMicros(64, 4095))) {
            rig.arm();
            rig.write(1);
            rig.steps(11);
            rig.nic.moderate(rig.queues[0], Moderation.ofMicros(64, 20)); // takes one pass: 11 us old
            assertNull(rig.takeEvent());
            assertEquals(20 - 11, rig.stepsToEvent(100));
            rig.drain(0);
            rig.nic.moderate(rig.queues[0], Moderation.ofMicros(64, 4095));
            rig.arm();
            rig.write(1);
            rig.steps(100);
            rig.nic.moderate(rig.queues[0], Moderation.ofMicros(64, 20));
            assertSame(rig.queues[0], rig.takeEvent(), "due by the new value already");
            rig.drain(0);
            rig.nic.moderate(rig.queues[0], Moderation.ofMicros(64, 4095));
            rig.arm();
            rig.write(8);
            rig.steps(100);
            assertNull(rig.takeEvent());
            rig.nic.moderate(rig.queues[0], Moderation.ofMicros(8, 4095));
            assertSame(rig.queues[0], rig.takeEvent(), "the count has been reached by the new value");
        }
    }

    @Test
    void whatWasPolledMeanwhileStopsTheTimer() {
        try (EventRig rig = new EventRig(1, Moderation.ofMicros(64, 16))) {
            rig.arm();
            rig.write(1);
            rig.steps(5);
            rig.drain(0); // by a host that does not wait for its event
            rig.arm(); // behind it
            rig.steps(100);
            assertNull(rig.takeEvent(), "nothing is there");
            rig.write(1);
            rig.steps(1);
            assertEquals(16, rig.stepsToEvent(100));
        }
    }

    /** Steady traffic, one entry a microsecond. By hand: without moderation one event each; 16 at a time, one in 16. */
    @ParameterizedTest
    @CsvSource({"'1,0', 4096", "'16,32', 256", "'64,4095', 64", "'64,16', 240"})
    void withoutModerationEventsAreAsManyAsEntriesAndWithItFarFewer(String moderation, long events) {
        try (EventRig rig = new EventRig(1, Moderation.parse(moderation))) {
            long polled = 0;
            rig.arm();
            for (int i = 0; i < 4096; i++) {
                rig.write(0, i, 1);
                rig.nic.step();
                if (rig.takeEvent() != null) {
                    polled += rig.drain(0).size();
                    rig.arm();
                }
            }
            assertEquals(events, rig.nic.counter(DeviceCounter.EVENTS_RAISED));
            assertEquals(4096 - polled, rig.drain(0).size(), "and nothing is lost");
        }
    }

    @Test
    void anAdaptiveModerationIsFedByTheEventsAndAppliedAtOnce() {
        try (EventRig rig = new EventRig(1, Moderation.OFF)) {
            RdmaDim algorithm = new RdmaDim();
            rig.nic.moderate(rig.queues[0], algorithm);
            assertEquals(Moderation.ofMicros(1, 1), rig.nic.moderation(rig.queues[0]), "profile 0");
            RdmaDim twin = new RdmaDim(); // told the same by the test
            long now = 0;
            long entries = 0;
            int changes = 0;
            rig.arm();
            for (int i = 0; i < 20_000; i++) {
                int burst = 1 + i / 2_000 % 4 * 4;
                rig.write(0, i, burst);
                rig.nic.step();
                now += SimNic.STEP_NS;
                entries += burst;
                if (rig.takeEvent() != null) {
                    changes += twin.onEvent((int) entries, 0, now) ? 1 : 0;
                    entries = 0;
                    rig.drain(0);
                    rig.arm();
                    assertEquals(twin.profileIndex(), algorithm.profileIndex(), "after " + now + " ns");
                }
            }
            assertTrue(changes > 1, "it moved");
            assertEquals(twin.moderation(), rig.nic.moderation(rig.queues[0]));
            rig.nic.moderate(rig.queues[0], Moderation.ofMicros(3, 5));
            assertEquals(Moderation.ofMicros(3, 5), rig.nic.moderation(rig.queues[0]), "ends the adaptive one");
        }
    }

    // ---- Solicited, failed

    @Test
    void aSolicitedEntryDoesNotWait() {
        for (ArmMode mode : ArmMode.values()) {
            try (EventRig rig = new EventRig(1, Moderation.ofMicros(64, 4095))) {
                for (int i = 0; i < 2; i++) {
                    assertTrue(rig.pairs[0].postRecv(100 + i, 0, 0, 0));
                }
                rig.pairs[0].ringReceiveDoorbell();
                rig.queues[0].arm(mode);
                assertTrue(rig.pairs[0].postSend(1, 0, 0, 0, TestRig.SIGNALED));
                rig.pairs[0].ringSendDoorbell();
                rig.steps(100);
                assertEquals(2, rig.queues[0].size());
                assertNull(rig.takeEvent(), "not solicited");
                assertTrue(rig.pairs[0].postSend(2, 0, 0, 0, TestRig.SIGNALED | WqeLayout.FLAG_SOLICITED));
                rig.pairs[0].ringSendDoorbell();
                assertEquals(1, rig.stepsToEvent(1));
                assertEquals(4, rig.drain(0).size());
                rig.queues[0].arm(mode);
                rig.write(1);
                rig.steps(100);
                assertNull(rig.takeEvent(), "the solicited one was before the arm");
            }
        }
    }

    @Test
    void aFailedEntryDoesNotWait() {
        for (ArmMode mode : ArmMode.values()) {
            try (EventRig rig = new EventRig(1, Moderation.ofMicros(64, 4095))) {
                rig.queues[0].arm(mode);
                assertTrue(rig.pairs[0].postWrite(1, 0x10, 8, 77, 0, 0, 0)); // no such key
                rig.pairs[0].ringSendDoorbell();
                assertEquals(1, rig.stepsToEvent(1));
                assertEquals(List.of(1L), rig.drain(0));
            }
        }
    }

    // ---- The host's mistakes, and how to see them

    /**
     * A queue whose writer raises its events looks at the arm word when it publishes, and then no more. A host that arms and sleeps
     * without a look loses the entry that came before; one that looks does not. A queue of the device's does not depend on it.
     */
    @Test
    void armingWithoutALookLosesWhatCameBeforeTheArm() {
        try (SimNic nic = SimNic.builder().maxQueuePairs(4).create();
                CompletionChannel channel = CompletionChannel.ofQueues(2)) {
            CompletionQueue own = channel.create(CompletionQueue.ofCapacity(64));
            CompletionQueue devices = channel.createForDevice(CompletionQueue.ofCapacity(64));
            nic.attach(own);
            nic.attach(devices, channel);
            var domain = nic.allocateProtectionDomain();
            for (CompletionQueue queue : List.of(own, devices)) {
                QueuePair pair = nic.createQueuePair(domain, queue, queue, 4, 4);
                nic.connect(pair, pair);
                assertEquals(0, queue.poll(completion -> {}, 1), "the host finds nothing,");
                assertTrue(pair.postWrite(1, 0, 0, 0, 0, 0, TestRig.SIGNALED));
                pair.ringSendDoorbell();
                nic.step(); // then an entry comes,
                boolean look = queue.arm(ArmMode.NEXT); // then the host arms,
                for (int i = 0; i < 1000; i++) {
                    nic.step();
                }
                CompletionQueue event = channel.getEvent(0, TimeUnit.SECONDS); // and sleeps.
                assertTrue(look, "one who looks is told");
                assertSame(
                        queue == own ? null : devices,
                        event,
                        "one who sleeps at once hears of it only if a device looks again");
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void misuseIsRefusedByName() {
        try (EventRig rig = new EventRig(1, Moderation.OFF);
                CompletionChannel other = CompletionChannel.ofQueues(2)) {
            SimNic nic = rig.nic;
            CompletionQueue plain = CompletionQueue.ofCapacity(2).create();
            CompletionQueue foreign = other.createForDevice(CompletionQueue.ofCapacity(2));
            CompletionQueue own = other.create(CompletionQueue.ofCapacity(2));
            assertThrows(IllegalArgumentException.class, () -> nic.attach(foreign, rig.channel));
            assertRefused("with its channel", () -> nic.attach(foreign));
            assertRefused("createForDevice()", () -> nic.attach(own, other));
            assertRefused("attached already", () -> nic.attach(rig.queues[0], rig.channel));
            assertRefused("not attached", () -> nic.moderate(plain, Moderation.OFF));
            nic.attach(plain);
            assertRefused("without a channel", () -> nic.moderate(plain, Moderation.OFF));
            assertRefused("without a channel", () -> nic.moderate(plain, new RdmaDim()));
            assertRefused("without a channel", () -> nic.moderation(plain));
            nic.attach(foreign, other);
            nic.detach(foreign);
            nic.attach(foreign, other, Moderation.ofMicros(7, 9));
            assertEquals(Moderation.ofMicros(7, 9), nic.moderation(foreign));
        }
    }

    private static void assertRefused(String part, org.junit.jupiter.api.function.Executable command) {
        String message = assertThrows(CommandException.class, command).getMessage();
        assertTrue(message.contains(part), message);
    }

    // ---- The end

    @Test
    void aQueueThatTheHostClosesWakesWhoeverWaits() {
        try (EventRig rig = new EventRig(2, Moderation.ofMicros(64, 4095))) {
            rig.arm();
            rig.queues[0].close();
            rig.steps(3);
            assertSame(rig.queues[0], rig.takeEvent());
            assertNull(rig.takeEvent(), "once");
            rig.write(0, 0, 1); // the device finds the queue closed by itself
            rig.steps(3);
            assertNull(rig.takeEvent());
            rig.queues[1].close();
            rig.write(1, 0, 1);
            rig.steps(3);
            assertSame(rig.queues[1], rig.takeEvent());
        }
    }

    /** An armed host learns of the death also if it has asked for solicited entries only. */
    @Test
    void theDeathOfAQueueFiresTheArm() {
        for (ArmMode mode : ArmMode.values()) {
            try (EventRig rig = new EventRig(1, 4, OverrunPolicy.ERROR, Moderation.ofMicros(64, 4095))) {
                rig.queues[0].arm(mode);
                rig.write(5);
                assertEquals(1, rig.stepsToEvent(2), mode::toString);
                assertEquals(ids(4), rig.drainDead());
                assertTrue(rig.queues[0].arm(mode), "and says so to whoever comes later");
            }
        }
    }

    @Test
    void whatWaitsForItsTimeIsRaisedAtTheEnd() {
        EventRig rig = new EventRig(3, Moderation.ofMicros(64, 4095));
        for (int i = 0; i < 3; i++) {
            assertFalse(rig.queues[i].arm(ArmMode.NEXT));
            rig.write(i, 0, i == 2 ? 0 : 1);
        }
        rig.steps(5);
        assertNull(rig.takeEvent());
        rig.nic.destroy(rig.pairs[1]);
        rig.nic.detach(rig.queues[1]);
        assertSame(rig.queues[1], rig.takeEvent());
        rig.nic.close();
        assertSame(rig.queues[0], rig.takeEvent());
        assertNull(rig.takeEvent(), "nothing came to the third");
        rig.channel.close();
    }

    @Test
    @FieldBug(51)
    void startAndCloseWithoutDelayTenThousandTimes() {
        for (int i = 0; i < 10_000; i++) {
            SimNic nic = SimNic.builder().maxQueuePairs(1).create();
            nic.start(new YieldingIdleStrategy());
            nic.close();
            assertNull(nic.failure());
            assertThrows(IllegalStateException.class, nic::step, "round " + i);
        }
    }

    /** All that was rung is executed, reported and signalled, though the device's thread may not have run before the stop. */
    @Test
    @FieldBug(51)
    void whatWasRungBeforeADrainingCloseIsNotLost() throws InterruptedException {
        for (int round = 0; round < 300; round++) {
            int count = 1 + round % 100;
            try (EventRig rig = new EventRig(1, Moderation.ofMicros(64, 4095))) {
                assertFalse(rig.arm());
                rig.write(count);
                if (round % 3 != 0) { // else stepped
                    rig.nic.start(new YieldingIdleStrategy());
                }
                assertTrue(rig.nic.drainAndClose(LOST_MS, TimeUnit.MILLISECONDS), "round " + round);
                assertSame(rig.queues[0], rig.takeEvent(), "round " + round);
                assertEquals(ids(count), rig.drain(0), "round " + round);
            }
        }
    }

    @Test
    void aDrainThatCannotEndSaysSo() throws InterruptedException {
        for (boolean started : new boolean[] {false, true}) {
            try (EventRig rig = new EventRig(1, 4, OverrunPolicy.BACKPRESSURE, Moderation.OFF)) {
                rig.write(5); // and nobody polls
                if (started) {
                    rig.nic.start(new YieldingIdleStrategy());
                }
                assertFalse(rig.nic.drainAndClose(50, TimeUnit.MILLISECONDS));
                assertEquals(ids(4), rig.drain(0));
                assertNotEquals(0, rig.nic.counter(DeviceCounter.COMPLETIONS_REFUSED));
                assertThrows(IllegalArgumentException.class, () -> rig.nic.drainAndClose(-1, TimeUnit.SECONDS));
            }
        }
    }
}
