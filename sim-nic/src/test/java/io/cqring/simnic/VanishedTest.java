package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;
import io.cqring.notify.CompletionChannel;
import io.cqring.notify.Moderation;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.profile.AsynchronousEvents;
import io.cqring.simnic.profile.VendorEventQueue;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.YieldingIdleStrategy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The device dies with work under way: who sleeps is woken and can ask why; what was written before stays. */
@Timeout(value = 20, unit = TimeUnit.SECONDS)
@FieldBug(81)
class VanishedTest {
    /** A sleeper that nobody wakes sleeps longer than the test may take. */
    private static final long LONG_S = 1_000;

    private final RuntimeException broken = new RuntimeException("injected");

    /** Dies instead of writing the entry after so many. */
    private DeviceFaults dyingAfter(int entries) {
        return new DeviceFaults() {
            private int written;

            @Override
            public Fate entryFate() {
                if (written++ == entries) {
                    throw broken;
                }
                return Fate.WRITTEN;
            }
        };
    }

    private static void post(QueuePair pair, int first, int count) {
        for (int i = first; i < first + count; i++) {
            assertTrue(pair.postWrite(i, 0, 0, 0, 0, 0, TestRig.SIGNALED));
        }
        pair.ringSendDoorbell();
    }

    private void assertDead(SimNic nic) {
        assertSame(broken, nic.failure());
        assertSame(
                broken,
                assertThrows(IllegalStateException.class, nic::allocateProtectionDomain)
                        .getCause());
        assertThrows(IllegalStateException.class, nic::step);
    }

    /** Whoever waits for what goes wrong is woken too, and told that all is over. */
    @Test
    void theLastAsynchronousEventSaysSo() throws InterruptedException {
        try (SimNic nic =
                SimNic.builder().maxQueuePairs(4).faults(dyingAfter(0)).create()) {
            final ProtectionDomain domain = nic.allocateProtectionDomain();
            final CompletionQueue queue = CompletionQueue.ofCapacity(16).create();
            nic.attach(queue);
            final QueuePair pair = nic.createQueuePair(domain, queue, queue, 8, 8);
            nic.connect(pair, pair);
            final AsynchronousEvents what = nic.asynchronousEvents();
            assertFalse(what.arm());
            final long seen = what.interrupt().count();
            nic.start(new YieldingIdleStrategy());
            post(pair, 0, 1);
            assertTrue(what.interrupt().await(seen, TimeUnit.SECONDS.toNanos(LONG_S)));
            assertDead(nic);
            final List<EventType> told = new ArrayList<>();
            what.poll((type, number, subType, syndrome, detail) -> told.add(type), 9);
            assertEquals(List.of(EventType.INTERNAL_ERROR), told);
        }
    }

    /** What was written before wakes the sleeper though its time had not come, and can be polled. */
    @Test
    void whatWasWrittenWakesTheSleeperThoughModerationHeldItBack() throws InterruptedException {
        for (int entries = 1; entries < 4; entries++) {
            final CompletionChannel channel = CompletionChannel.ofQueues(1);
            try (SimNic nic = SimNic.builder()
                    .maxQueuePairs(4)
                    .faults(dyingAfter(entries))
                    .clock(() -> 0) // its moderation never ends
                    .create()) {
                final ProtectionDomain domain = nic.allocateProtectionDomain();
                final CompletionQueue queue = channel.createForDevice(CompletionQueue.ofCapacity(16));
                nic.attach(queue, channel, Moderation.ofMicros(64, 4095));
                final QueuePair pair = nic.createQueuePair(domain, queue, queue, 8, 8);
                nic.connect(pair, pair);
                assertFalse(queue.arm(ArmMode.NEXT));
                nic.start(new YieldingIdleStrategy());
                post(pair, 0, 5);
                assertSame(queue, channel.getEvent(LONG_S, TimeUnit.SECONDS));
                channel.ack(queue, 1);
                assertDead(nic);
                final List<String> seen = new ArrayList<>();
                queue.poll(completion -> seen.add(completion.workRequestId() + " " + completion.status()), 9);
                assertEquals(
                        List.of("0 SUCCESS", "1 SUCCESS", "2 SUCCESS", "3 SUCCESS", "4 SUCCESS"),
                        seen,
                        "what was written before, and what had been carried out");
            } finally {
                channel.close();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void whoeverSleepsOnAVendorsQueueIsWoken(VendorProfile profile) throws InterruptedException {
        final Interrupt interrupt = new Interrupt();
        try (SimNic nic =
                SimNic.builder().maxQueuePairs(4).faults(dyingAfter(0)).create()) {
            final ProtectionDomain domain = nic.allocateProtectionDomain();
            final VendorEventQueue events = profile.createEventQueue(2, interrupt);
            final VendorQueue queue = profile.createQueue(16, profile.usualBytes(), 1);
            nic.attach(queue, events, Moderation.OFF);
            final QueuePair pair = nic.createQueuePair(domain, queue, queue, 8, 8);
            nic.connect(pair, pair);
            assertFalse(queue.arm(ArmMode.NEXT));
            events.arm();
            final long seen = interrupt.count();
            nic.start(new YieldingIdleStrategy());
            post(pair, 0, 5);
            assertTrue(interrupt.await(seen, TimeUnit.SECONDS.toNanos(LONG_S)));
            assertDead(nic);
            final List<Integer> told = new ArrayList<>();
            events.poll((number, toggle) -> told.add(number), 9);
            assertEquals(List.of(1), told);
            final List<String> polled = new ArrayList<>();
            queue.poll(completion -> polled.add(completion.workRequestId() + " " + completion.status()), 9);
            assertEquals(List.of("0 SUCCESS", "1 SUCCESS", "2 SUCCESS", "3 SUCCESS", "4 SUCCESS"), polled);
        }
    }

    /** Three sends that wait for a receive, and two receives: who sleeps until they complete is told that they will not. */
    @Test
    void whatIsOutstandingIsFlushedAndWakesWhoSleepsOnIt() throws InterruptedException {
        final CompletionChannel channel = CompletionChannel.ofQueues(1);
        try (SimNic nic =
                SimNic.builder().maxQueuePairs(8).faults(dyingAfter(0)).create()) {
            final ProtectionDomain domain = nic.allocateProtectionDomain();
            final CompletionQueue queue = channel.createForDevice(CompletionQueue.ofCapacity(16));
            nic.attach(queue, channel, Moderation.OFF);
            final CompletionQueue other = CompletionQueue.ofCapacity(16).create();
            nic.attach(other);
            final QueuePair waits = nic.createQueuePair(domain, queue, queue, 8, 8);
            final QueuePair peer = nic.createQueuePair(domain, other, other, 8, 8);
            final QueuePair trigger = nic.createQueuePair(domain, other, other, 8, 8);
            nic.connect(waits, peer);
            nic.connect(trigger, trigger);
            outstanding(waits);
            assertFalse(queue.arm(ArmMode.NEXT));
            nic.start(new YieldingIdleStrategy());
            post(trigger, 0, 1);
            assertSame(queue, channel.getEvent(LONG_S, TimeUnit.SECONDS));
            channel.ack(queue, 1);
            assertDead(nic);
            final List<String> seen = new ArrayList<>();
            queue.poll(completion -> seen.add(completion.workRequestId() + " " + completion.status()), 9);
            assertEquals(FLUSHED, seen);
            assertEquals(QpState.ERR, waits.state());
            other.poll(completion -> seen.add(completion.workRequestId() + " " + completion.status()), 9);
            assertEquals(List.of("0 SUCCESS"), seen.subList(5, 6), "the one that the device died of is reported once");
            assertEquals(6, seen.size());
        } finally {
            channel.close();
        }
    }

    private static final List<String> FLUSHED =
            List.of("10 WR_FLUSH_ERR", "11 WR_FLUSH_ERR", "12 WR_FLUSH_ERR", "20 WR_FLUSH_ERR", "21 WR_FLUSH_ERR");

    private static void outstanding(QueuePair pair) {
        for (int i = 10; i < 13; i++) {
            assertTrue(pair.postSend(i, 0, 0, 0, TestRig.SIGNALED));
        }
        pair.ringSendDoorbell();
        for (int i = 20; i < 22; i++) {
            assertTrue(pair.postRecv(i, 0, 0, 0));
        }
        pair.ringReceiveDoorbell();
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void whatIsOutstandingOnAVendorsQueueIsFlushedToo(VendorProfile profile) throws InterruptedException {
        final Interrupt interrupt = new Interrupt();
        try (SimNic nic =
                SimNic.builder().maxQueuePairs(8).faults(dyingAfter(0)).create()) {
            final ProtectionDomain domain = nic.allocateProtectionDomain();
            final VendorEventQueue events = profile.createEventQueue(2, interrupt);
            final VendorQueue queue = profile.createQueue(16, profile.usualBytes(), 1);
            final VendorQueue other = profile.createQueue(16, profile.usualBytes(), 2);
            nic.attach(queue, events, Moderation.OFF);
            nic.attach(other);
            final QueuePair waits = nic.createQueuePair(domain, queue, queue, 8, 8);
            final QueuePair peer = nic.createQueuePair(domain, other, other, 8, 8);
            final QueuePair trigger = nic.createQueuePair(domain, other, other, 8, 8);
            nic.connect(waits, peer);
            nic.connect(trigger, trigger);
            outstanding(waits);
            assertFalse(queue.arm(ArmMode.NEXT));
            events.arm();
            final long seen = interrupt.count();
            nic.start(new YieldingIdleStrategy());
            post(trigger, 0, 1);
            assertTrue(interrupt.await(seen, TimeUnit.SECONDS.toNanos(LONG_S)));
            while (nic.failure() == null) {
                Thread.onSpinWait(); // whoever sees it sees all that was flushed
            }
            final List<String> polled = new ArrayList<>();
            while (queue.poll(completion -> polled.add(completion.workRequestId() + " " + completion.status()), 9)
                    != 0) {
                // until empty
            }
            assertEquals(FLUSHED, polled.stream().sorted().toList());
        }
    }

    /** The writer itself breaks, with an entry in the ring that is not accounted for: nothing comes twice, and other queues get their flush. */
    @Test
    void anEntryThatMayBeThereDoesNotComeTwice() {
        final DeviceFaults breaks = new DeviceFaults() {
            @Override
            public boolean writeCompletion(
                    CompletionWriter writer, long header, long id, long length, long detail, long timestamp) {
                assertTrue(super.writeCompletion(writer, header, id, length, detail, timestamp));
                throw broken;
            }
        };
        try (SimNic nic = SimNic.builder().maxQueuePairs(8).faults(breaks).create()) {
            final ProtectionDomain domain = nic.allocateProtectionDomain();
            final CompletionQueue queue = CompletionQueue.ofCapacity(16).create();
            final CompletionQueue other = CompletionQueue.ofCapacity(16).create();
            nic.attach(queue);
            nic.attach(other);
            final QueuePair pair = nic.createQueuePair(domain, queue, queue, 8, 8);
            final QueuePair waits = nic.createQueuePair(domain, other, other, 8, 8);
            final QueuePair peer = nic.createQueuePair(domain, other, other, 8, 8);
            nic.connect(pair, pair);
            nic.connect(waits, peer);
            outstanding(waits);
            post(pair, 0, 3);
            assertSame(broken, assertThrows(RuntimeException.class, nic::step));
            assertDead(nic);
            final List<String> seen = new ArrayList<>();
            queue.poll(completion -> seen.add(completion.workRequestId() + " " + completion.status()), 9);
            assertEquals(List.of("0 SUCCESS"), seen);
            seen.clear();
            other.poll(completion -> seen.add(completion.workRequestId() + " " + completion.status()), 9);
            assertEquals(FLUSHED, seen);
        }
    }
}
