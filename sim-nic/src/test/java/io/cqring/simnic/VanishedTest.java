package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
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
                final List<Long> ids = new ArrayList<>();
                queue.poll(completion -> ids.add(completion.workRequestId()), 9);
                assertEquals(List.of(0L, 1L, 2L).subList(0, entries), ids, "what was written before");
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
            assertEquals(0, queue.poll(completion -> {}, 9));
        }
    }
}
