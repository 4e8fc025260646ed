package io.cqring.simnic;

import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqOverrunException;
import io.cqring.cq.OverrunPolicy;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the device does when a completion queue is full, dead, closed or scribbled on. */
class OverrunTest {
    private static boolean writeNothing(QueuePair queuePair, long id) {
        return queuePair.postWrite(id, 0, 0, 0, 0, 0, SIGNALED);
    }

    private static List<Long> ids(List<TestRig.Seen> seen) {
        return seen.stream().map(TestRig.Seen::id).toList();
    }

    private static List<Long> range(long end) {
        return LongStream.range(0, end).boxed().toList();
    }

    /** 65 entries through a queue of 64: the device stops at 64, overwrites nothing, and goes on once one is polled. */
    @Test
    @FieldBug(21)
    void theDeviceStopsAtAFullQueueUntilTheHostReturnsASlot() {
        try (TestRig rig = TestRig.builder()
                .policy(OverrunPolicy.BACKPRESSURE)
                .cqDepths(64, 64)
                .depth(128)
                .create()) {
            for (int i = 0; i < 65; i++) {
                assertTrue(writeNothing(rig.a, i));
            }
            rig.a.ringSendDoorbell();
            rig.steps(1000);
            assertEquals(64, rig.aCq.size());
            assertFalse(rig.nic.isIdle(), "one completion is not written");
            assertTrue(rig.nic.counter(DeviceCounter.COMPLETIONS_REFUSED) > 0);
            List<Long> seen = new ArrayList<>();
            assertEquals(1, rig.aCq.poll(completion -> seen.add(completion.workRequestId()), 1));
            rig.quiesce();
            assertEquals(64, rig.aCq.size());
            seen.addAll(ids(rig.drainA()));
            assertEquals(range(65), seen);
            assertEquals(0, rig.nic.counter(DeviceCounter.COMPLETIONS_LOST));
        }
    }

    @Test
    void aFullReceiveQueueStallsItsQueuePairAndNoOther() {
        try (TestRig rig = TestRig.builder()
                .policy(OverrunPolicy.BACKPRESSURE)
                .cqDepths(256, 2)
                .rnrRetry(0)
                .create()) {
            CompletionQueue otherCq = CompletionQueue.ofCapacity(64).create();
            rig.nic.attach(otherCq);
            QueuePair other = rig.nic.createQueuePair(rig.domain, otherCq, otherCq, 64, 64);
            rig.nic.connect(other, other);
            for (int i = 0; i < 20; i++) {
                assertTrue(rig.b.postRecv(i, 0, 0, 0));
                assertTrue(rig.a.postSend(i, 0, 0, 0, SIGNALED));
                assertTrue(writeNothing(other, i));
            }
            rig.b.ringReceiveDoorbell();
            rig.a.ringSendDoorbell();
            rig.steps(100);
            other.ringSendDoorbell();
            rig.steps(100);
            assertEquals(20, TestRig.drain(otherCq, other).size(), "the others go on");
            assertEquals(3, rig.aCq.size(), "two reported, one executed and held");
            assertEquals(QpState.RTS, rig.a.state(), "waiting for room is not a missing receive");
            assertFalse(rig.nic.isIdle());
            List<TestRig.Seen> atB = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                atB.addAll(rig.drainB());
                rig.steps(5);
            }
            rig.quiesce();
            assertEquals(range(20), ids(atB));
            assertEquals(range(20), ids(rig.drainA()));
            assertEquals(0, rig.nic.counter(DeviceCounter.RNR_NAKS));
        }
    }

    /**
     * Nothing is rung at b, and all that a rang is executed: still the device is not idle, b's completion is to come.
     */
    @Test
    void aHeldCompletionIsNotIdleness() {
        try (TestRig rig = heldAtB()) {
            assertEquals(3, rig.drainA().size());
            assertFalse(rig.nic.isIdle());
            assertEquals(2, rig.drainB().size());
            assertFalse(rig.nic.isIdle());
            rig.quiesce();
            assertEquals(List.of(2L), ids(rig.drainB()));
        }
    }

    @Test
    @FieldBug(4)
    void aResetForgetsAHeldCompletion() {
        try (TestRig rig = heldAtB()) {
            rig.nic.modify(rig.a, QpState.RESET, new QpAttributes());
            rig.nic.modify(rig.b, QpState.RESET, new QpAttributes());
            assertEquals(2, rig.drainB().size());
            rig.drainA();
            rig.nic.connect(rig.a, rig.b);
            assertTrue(rig.b.postRecv(70, 0, 0, 0));
            rig.b.ringReceiveDoorbell();
            assertTrue(rig.a.postSend(71, 0, 0, 0, SIGNALED));
            rig.a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(List.of(rig.received(rig.b, "RECV", 70, 0, 0, rig.a)), rig.drainB());
            assertEquals(List.of(rig.sent(rig.a, "RC_SEND", 71, 0, 0)), rig.drainA());
        }
    }

    /**
     * Three sends into a completion queue of two: the third is executed and acknowledged, its receive completion
     * held.
     */
    private static TestRig heldAtB() {
        TestRig rig = TestRig.builder()
                .policy(OverrunPolicy.BACKPRESSURE)
                .cqDepths(256, 2)
                .create();
        for (int i = 0; i < 3; i++) {
            assertTrue(rig.b.postRecv(i, 0, 0, 0));
            assertTrue(rig.a.postSend(i, 0, 0, 0, SIGNALED));
        }
        rig.b.ringReceiveDoorbell();
        rig.a.ringSendDoorbell();
        rig.steps(20);
        return rig;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void aFlushWaitsForRoomToo(int depth) {
        try (TestRig rig = TestRig.builder()
                .policy(OverrunPolicy.BACKPRESSURE)
                .cqDepths(depth, 16)
                .create()) {
            for (int i = 0; i < 40; i++) {
                assertTrue(rig.a.postSend(i, 0, 8, 0, 0));
                assertTrue(rig.a.postRecv(40 + i, 0, 0, 0));
            }
            rig.a.ringSendDoorbell();
            rig.a.ringReceiveDoorbell();
            List<TestRig.Seen> seen = new ArrayList<>();
            for (int i = 0; i < 400; i++) {
                rig.nic.step();
                seen.addAll(rig.drainA());
            }
            assertEquals(range(80), ids(seen));
            assertTrue(rig.nic.isIdle());
        }
    }

    @Test
    void anOverrunUnderPolicyErrorKillsTheQueuePairsThatUseTheQueue() {
        try (TestRig rig =
                TestRig.builder().policy(OverrunPolicy.ERROR).cqDepths(4, 256).create()) {
            QueuePair second = rig.nic.createQueuePair(rig.domain, rig.bCq, rig.aCq, 8, 8);
            rig.nic.connect(second, second);
            for (int i = 0; i < 5; i++) {
                assertTrue(writeNothing(rig.a, i));
            }
            rig.a.ringSendDoorbell();
            rig.steps(10);
            assertEquals(QpState.ERR, rig.a.state());
            assertEquals(QpState.ERR, second.state(), "its receives complete in the dead queue");
            assertEquals(QpState.RTS, rig.b.state());
            assertEquals(2, rig.nic.counter(DeviceCounter.QPS_LOST_TO_DEAD_CQS));
            assertEquals(1, rig.nic.counter(DeviceCounter.COMPLETIONS_LOST));
            List<Long> seen = new ArrayList<>();
            assertEquals(4, rig.aCq.poll(completion -> seen.add(completion.workRequestId()), 64));
            assertEquals(range(4), seen);
            assertThrows(CqOverrunException.class, () -> rig.aCq.poll(completion -> {}, 64));
        }
    }

    @Test
    void anOverrunUnderPolicyDropLosesTheCompletionOnly() {
        try (TestRig rig = TestRig.builder()
                .policy(OverrunPolicy.DROP_NEW)
                .cqDepths(4, 256)
                .create()) {
            for (int i = 0; i < 6; i++) {
                assertTrue(writeNothing(rig.a, i));
            }
            rig.a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(QpState.RTS, rig.a.state());
            assertEquals(2, rig.nic.counter(DeviceCounter.COMPLETIONS_LOST));
            assertEquals(2, rig.aCq.lostEntries());
            assertEquals(range(4), ids(rig.drainA()));
            assertTrue(writeNothing(rig.a, 6));
            rig.a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(List.of(6L), ids(rig.drainA()));
        }
    }

    @Test
    void aQueueClosedInUseCostsItsQueuePairsAndNothingElse() {
        try (TestRig rig = TestRig.builder().create()) {
            rig.aCq.close();
            assertTrue(writeNothing(rig.a, 1));
            assertTrue(writeNothing(rig.b, 2));
            rig.a.ringSendDoorbell();
            rig.b.ringSendDoorbell();
            rig.quiesce(); // b hears nothing any more, and gives up in time
            assertEquals(QpState.ERR, rig.a.state());
            assertEquals(1, rig.nic.counter(DeviceCounter.QPS_LOST_TO_DEAD_CQS));
            assertEquals(1, rig.drainB().size());
        }
    }

    /** What the host writes into slots it has consumed. */
    enum Scribble {
        ZERO,
        ONE,
        RANDOM,
        WHOLE_SLOT
    }

    /**
     * The device derives owner bits from its own sequence: whatever the host leaves in consumed slots, ten laps are
     * right.
     */
    @ParameterizedTest
    @EnumSource(Scribble.class)
    @FieldBug(16)
    void ownerBitsDoNotDependOnWhatTheHostLeftInTheSlots(Scribble scribble) {
        final int capacity = 8;
        final int stride = 64;
        int bytes = (int) CompletionQueue.requiredBytes(capacity, stride);
        int firstSlot = bytes - capacity * stride;
        QueueMemory memory = QueueMemory.allocate(bytes);
        CompletionQueue cq = CompletionQueue.ofCapacity(capacity).memory(memory).create();
        SplittableRandom random = new SplittableRandom(16);
        try (SimNic nic = SimNic.builder().create()) {
            var domain = nic.allocateProtectionDomain();
            nic.attach(cq);
            QueuePair a = nic.createQueuePair(domain, cq, cq, capacity, capacity);
            nic.connect(a, a);
            long next = 0;
            for (int burst = 1; next < 10L * capacity; burst = burst % capacity + 1) {
                final int count = burst;
                for (int i = 0; i < count; i++) {
                    assertTrue(writeNothing(a, next + i));
                }
                a.ringSendDoorbell();
                while (!nic.isIdle()) {
                    nic.step();
                }
                List<Long> ids = new ArrayList<>();
                int polled = cq.poll(
                        completion -> {
                            assertEquals(CompletionStatus.SUCCESS, completion.status());
                            assertEquals(1, a.retire(completion));
                            ids.add(completion.workRequestId());
                        },
                        count);
                final long from = next;
                assertEquals(count, polled);
                assertEquals(LongStream.range(from, from + count).boxed().toList(), ids);
                // These slots are the device's again. (The host, which polls no further than what it knows to be
                // there, cannot mislead itself.)
                for (int i = 0; i < count; i++) {
                    int slot = firstSlot + (int) ((next + i) % capacity) * stride;
                    long word0 = memory.getLong(slot);
                    switch (scribble) {
                        case ZERO -> word0 &= ~1L;
                        case ONE -> word0 |= 1L;
                        case RANDOM -> word0 ^= random.nextInt(2);
                        case WHOLE_SLOT -> {
                            IntStream.range(1, 8).forEach(word -> memory.putLong(slot + 8 * word, random.nextLong()));
                            word0 = random.nextLong();
                        }
                    }
                    memory.putLong(slot, word0);
                }
                next += count;
            }
        }
    }
}
