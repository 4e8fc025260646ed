package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.OverrunPolicy;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import io.cqring.notify.CompletionChannel;
import io.cqring.notify.Moderation;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.profile.AsynchronousEvents;
import io.cqring.simnic.profile.VendorEventQueue;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.testing.FieldBug;
import io.cqring.testing.ForwardingMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The last things a device does, for whom nothing is wrong: what is broken elsewhere, or was full a moment ago, does not keep it from them. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@FieldBug(81)
class LastActTest {
    private final RuntimeException broken = new RuntimeException("injected");

    /** Dies at the start of the pass that it is told of. */
    private final class Dying extends DeviceFaults {
        private boolean now;

        @Override
        public void beginPass() {
            if (now) {
                throw broken;
            }
        }
    }

    /** Memory that fails from a moment on, as one that has been unmapped. */
    private static final class FailingMemory extends ForwardingMemory {
        private boolean failed;

        FailingMemory(long bytes) {
            super(QueueMemory.allocate(bytes));
        }

        private void check() {
            if (failed) {
                throw new IndexOutOfBoundsException("no memory");
            }
        }

        @Override
        public void putLong(long offset, long value) {
            check();
            super.putLong(offset, value);
        }

        @Override
        public long getLongOpaque(long offset) {
            check();
            return super.getLongOpaque(offset);
        }

        @Override
        public long getLongAcquire(long offset) {
            check();
            return super.getLongAcquire(offset);
        }
    }

    private static List<String> drain(CompletionQueue queue) {
        final List<String> seen = new ArrayList<>();
        while (queue.poll(completion -> seen.add(completion.workRequestId() + " " + completion.status()), 9) != 0) {
            // until empty
        }
        return seen;
    }

    // ---- A queue that was full

    /** Room comes after the device's last try: what was held, and what is posted, finds it. */
    @Test
    void aReceiveThatWasHeldIsDeliveredInTheEnd() {
        final Dying dying = new Dying();
        try (TestRig rig = TestRig.builder()
                .cqDepths(16, 2)
                .policy(OverrunPolicy.BACKPRESSURE)
                .faults(dying)
                .create()) {
            for (int i = 0; i < 4; i++) {
                assertTrue(rig.b.postRecv(i, 0, 0, 0));
            }
            rig.b.ringReceiveDoorbell();
            for (int i = 0; i < 3; i++) {
                assertTrue(rig.a.postSend(10 + i, 0, 0, 0, TestRig.SIGNALED));
            }
            rig.a.ringSendDoorbell();
            rig.steps(5);
            assertEquals(List.of("10 SUCCESS", "11 SUCCESS", "12 SUCCESS"), drain(rig.aCq));
            rig.steps(1); // the third receive is tried again, and nothing else is
            assertEquals(List.of("0 SUCCESS", "1 SUCCESS"), drain(rig.bCq));
            dying.now = true;
            assertSame(broken, assertThrows(RuntimeException.class, rig.nic::step));
            assertEquals(List.of("2 SUCCESS", "3 WR_FLUSH_ERR"), drain(rig.bCq));
        }
    }

    @Test
    void aFlushThatFoundNoRoomGoesOnInTheEnd() {
        final Dying dying = new Dying();
        try (TestRig rig = TestRig.builder()
                .cqDepths(16, 2)
                .policy(OverrunPolicy.BACKPRESSURE)
                .faults(dying)
                .create()) {
            for (int i = 0; i < 5; i++) {
                assertTrue(rig.b.postRecv(i, 0, 0, 0));
            }
            rig.b.ringReceiveDoorbell();
            rig.nic.modify(rig.b, QpState.ERR, new QpAttributes());
            rig.steps(3);
            assertEquals(List.of("0 WR_FLUSH_ERR", "1 WR_FLUSH_ERR"), drain(rig.bCq));
            dying.now = true;
            assertSame(broken, assertThrows(RuntimeException.class, rig.nic::step));
            assertEquals(List.of("2 WR_FLUSH_ERR", "3 WR_FLUSH_ERR"), drain(rig.bCq), "what there is room for");
        }
    }

    // ---- A queue that is broken

    /** Queues 0 to 4, each with a queue pair that has a receive posted; the memory of queue 2 fails, and then the device. */
    private final class Five implements AutoCloseable {
        final Dying dying = new Dying();
        final CompletionChannel channel = CompletionChannel.ofQueues(5);
        final SimNic nic = SimNic.builder().maxQueuePairs(8).faults(dying).create();
        final CompletionQueue[] queues = new CompletionQueue[5];
        final QueuePair[] pairs = new QueuePair[5];
        private final FailingMemory memory =
                new FailingMemory(CompletionQueue.ofCapacity(8).requiredBytes());

        Five() {
            final ProtectionDomain domain = nic.allocateProtectionDomain();
            for (int i = 0; i < 5; i++) {
                final CompletionQueue.Builder builder = CompletionQueue.ofCapacity(8);
                queues[i] = channel.createForDevice(i == 2 ? builder.memory(memory) : builder);
                nic.attach(queues[i], channel, Moderation.OFF);
                pairs[i] = nic.createQueuePair(domain, queues[i], queues[i], 8, 8);
                nic.connect(pairs[i], pairs[i]);
                assertTrue(pairs[i].postRecv(i, 0, 0, 0));
                pairs[i].ringReceiveDoorbell();
                assertFalse(queues[i].arm(ArmMode.NEXT));
            }
            nic.step();
            memory.failed = true;
            dying.now = true;
            assertSame(broken, assertThrows(RuntimeException.class, nic::step));
        }

        @Override
        public void close() {
            memory.failed = false;
            nic.close();
            channel.close();
        }
    }

    /** One completion queue fails in the last act: the queue pairs of the others are flushed, all are in ERR, and all sleepers are woken. */
    @Test
    void aBrokenQueueTakesNoOtherAlong() throws InterruptedException {
        try (Five five = new Five()) {
            for (int i = 0; i < 5; i++) {
                assertEquals(QpState.ERR, five.pairs[i].state(), "QP " + i);
            }
            final List<CompletionQueue> woken = new ArrayList<>();
            for (CompletionQueue queue = five.channel.getEvent(0, TimeUnit.SECONDS);
                    queue != null;
                    queue = five.channel.getEvent(0, TimeUnit.SECONDS)) {
                woken.add(queue);
                five.channel.ack(queue, 1);
            }
            assertEquals(List.of(five.queues[0], five.queues[1], five.queues[3], five.queues[4]), woken);
            for (CompletionQueue queue : woken) {
                assertEquals(1, drain(queue).size());
            }
            assertEquals(
                    1, five.nic.asynchronousEvents().interrupt().count(), "whoever waits for what goes wrong is woken");
            assertEquals("no memory", broken.getSuppressed()[0].getMessage(), "and the second exception is kept");
        }
    }

    /** A queue pair breaks while it writes to a queue that others use, too: that queue may hold its entry, and gets nothing more. */
    @Test
    void whatBrokeInTheLastActIsLeftAlone() {
        final Dying dying = new Dying();
        try (SimNic nic = SimNic.builder().maxQueuePairs(8).faults(dying).create()) {
            final ProtectionDomain domain = nic.allocateProtectionDomain();
            final int[] writes = {-1};
            final QueueMemory memory =
                    new ForwardingMemory(
                            QueueMemory.allocate(CompletionQueue.ofCapacity(8).requiredBytes())) {
                        @Override
                        public void putLongRelease(long offset, long value) {
                            super.putLongRelease(offset, value);
                            if (writes[0] >= 0 && writes[0]++ == 0) {
                                throw new IndexOutOfBoundsException("no memory");
                            }
                        }
                    };
            final CompletionQueue queue =
                    CompletionQueue.ofCapacity(8).memory(memory).create();
            nic.attach(queue);
            for (int i = 0; i < 2; i++) {
                final QueuePair pair = nic.createQueuePair(domain, queue, queue, 8, 8);
                nic.connect(pair, pair);
                assertTrue(pair.postRecv(i, 0, 0, 0));
                pair.ringReceiveDoorbell();
            }
            nic.step();
            writes[0] = 0;
            dying.now = true;
            assertSame(broken, assertThrows(RuntimeException.class, nic::step));
            final List<String> seen = drain(queue);
            assertTrue(seen.size() <= 1, seen::toString);
            assertEquals(1, broken.getSuppressed().length);
        }
    }

    // ---- A user's faults at the end

    /** A fault throws when a due event is raised at the end: other queues' events are raised, and sleepers on other interrupts woken. */
    @Test
    void aFaultAtTheEndKeepsNobodyAsleep() throws InterruptedException {
        final DeviceFaults faults = new DeviceFaults() {
            private boolean thrown;

            @Override
            public boolean delaysEvent() {
                if (!thrown) {
                    thrown = true;
                    throw broken;
                }
                return false;
            }
        };
        final EventRig rig = new EventRig(2, 64, OverrunPolicy.ERROR, Moderation.ofMicros(64, 4095), faults);
        final AsynchronousEvents events = rig.nic.asynchronousEvents();
        for (int i = 0; i < 2; i++) {
            assertFalse(rig.queues[i].arm(ArmMode.NEXT));
            rig.write(i, 0, 1);
        }
        assertFalse(events.arm());
        rig.steps(3);
        assertNull(rig.takeEvent());
        final long seen = events.interrupt().count();
        assertSame(broken, assertThrows(RuntimeException.class, rig.nic::close));
        assertEquals(seen + 1, events.interrupt().count());
        assertSame(rig.queues[1], rig.takeEvent());
        rig.channel.close();
    }

    // ---- A vendor's event queue that nobody uses any more

    /** With its last completion queue an event queue leaves the device: whoever sleeps on it is woken, and no pass looks at it again. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void anEventQueueLeavesWithItsLastUser(VendorProfile profile) {
        try (SimNic nic = SimNic.builder().maxQueuePairs(4).create()) {
            final Interrupt interrupt = new Interrupt();
            final VendorEventQueue events = profile.createEventQueue(2, interrupt);
            final VendorQueue one = profile.createQueue(16, profile.usualBytes(), 1);
            final VendorQueue other = profile.createQueue(16, profile.usualBytes(), 2);
            nic.attach(one, events, Moderation.OFF);
            nic.attach(other, events, Moderation.OFF);
            assertTrue(events.post(1, 0)); // one that was left
            nic.detach(one);
            events.arm();
            nic.step();
            assertEquals(1, interrupt.count(), "the other uses it");
            nic.detach(other);
            assertEquals(2, interrupt.count(), "the end");
            events.arm();
            nic.step();
            assertEquals(2, interrupt.count(), "nobody looks at the arm");
            nic.attach(one, events, Moderation.OFF);
            nic.step();
            assertEquals(3, interrupt.count(), "in use again");
        }
    }
}
