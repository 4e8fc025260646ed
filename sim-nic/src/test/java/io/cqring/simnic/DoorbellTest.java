package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionStatus;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpMemory;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.WqeLayout;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.YieldingIdleStrategy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Doorbells: what is not rung does not exist, what is impossible is an error, what is rung is seen whole. */
class DoorbellTest {
    @Test
    void whatIsNotRungDoesNotExist() {
        try (TestRig rig = TestRig.builder().create()) {
            assertTrue(rig.a.postSend(1, 0, 0, 0, SIGNALED));
            assertTrue(rig.b.postRecv(2, 0, 0, 0));
            rig.steps(100);
            assertEquals(0, rig.nic.counter(DeviceCounter.SENDS_FETCHED));
            rig.a.ringSendDoorbell();
            rig.steps(100);
            assertTrue(rig.nic.counter(DeviceCounter.RNR_NAKS) > 1, "the receive is not rung");
            rig.b.ringReceiveDoorbell();
            rig.quiesce();
            assertEquals(1, rig.drainA().size());
            assertEquals(1, rig.drainB().size());
        }
    }

    @Test
    void oneRingShowsTheWholeBatchAndARingWithoutNewsDoesNoHarm() {
        try (TestRig rig = TestRig.builder().create()) {
            for (int i = 0; i < 64; i++) {
                assertTrue(rig.a.postWrite(i, 0, 0, 0, 0, 0, SIGNALED));
            }
            rig.a.ringSendDoorbell();
            rig.a.ringSendDoorbell();
            rig.quiesce();
            rig.a.ringSendDoorbell();
            rig.quiesce();
            List<TestRig.Seen> seen = rig.drainA();
            assertEquals(64, seen.size());
            for (int i = 0; i < 64; i++) {
                assertEquals(rig.sent(rig.a, "RC_RDMA_WRITE", i, i, 0), seen.get(i));
            }
            assertEquals(64, rig.nic.counter(DeviceCounter.SENDS_FETCHED));
        }
    }

    /**
     * The host's memory is not to be trusted: a send doorbell that counts too much, or back, is an error and nothing
     * else.
     */
    @ParameterizedTest
    @CsvSource({"12", "0", "-1", "9223372036854775807", "-9223372036854775808", "4294967300", "1"})
    void anImpossibleSendDoorbellPutsTheQueuePairIntoError(long record) {
        RawQp raw = new RawQp(8);
        for (int i = 0; i < 3; i++) {
            assertTrue(raw.queuePair.postWrite(i, 0, 0, 0, 0, 0, SIGNALED));
        }
        raw.queuePair.ringSendDoorbell();
        raw.device.doVirtualPass(1);
        assertEquals(3, raw.poll());
        assertTrue(raw.queuePair.postWrite(3, 0, 0, 0, 0, 0, SIGNALED)); // 3 completed: 3 to 11 are possible
        raw.memory.memory().putLong(QpMemory.SEND_DOORBELL, record);
        raw.device.uarPage.putLong(raw.register, 99);
        for (int pass = 2; pass < 10; pass++) {
            raw.device.doVirtualPass(pass);
        }
        assertEquals(QpState.ERR, raw.queuePair.state());
        assertEquals(1, raw.device.counters.get(DeviceCounter.BAD_DOORBELLS));
        assertEquals(0, raw.poll(), "what was not validly rung was not posted");
    }

    @Test
    void theLargestPossibleSendDoorbellIsHonoured() {
        RawQp raw = new RawQp(8);
        for (int i = 0; i < 8; i++) {
            assertTrue(raw.queuePair.postWrite(i, 0, 0, 0, 0, 0, SIGNALED));
        }
        raw.queuePair.ringSendDoorbell();
        raw.device.doVirtualPass(1);
        assertEquals(8, raw.poll());
        assertEquals(0, raw.device.counters.get(DeviceCounter.BAD_DOORBELLS));
    }

    @Test
    void anEntryOfAnotherLapIsNotExecuted() {
        RawQp raw = new RawQp(8);
        for (int i = 0; i < 3; i++) {
            assertTrue(raw.queuePair.postWrite(i, 0, 0, 0, 0, 0, SIGNALED));
        }
        raw.memory.memory().putLong(QpMemory.SEND_DOORBELL, 5); // entries 3 and 4 were never written
        raw.device.uarPage.putLong(raw.register, 5);
        for (int pass = 1; pass < 5; pass++) {
            raw.device.doVirtualPass(pass);
        }
        assertEquals(5, raw.poll());
        assertEquals(CompletionStatus.LOC_QP_OP_ERR, raw.statuses[3]);
        assertEquals(CompletionStatus.WR_FLUSH_ERR, raw.statuses[4]);
    }

    @ParameterizedTest
    @CsvSource({"9", "-1", "9223372036854775807", "-9223372036854775808"})
    void anImpossibleReceiveDoorbellPutsTheQueuePairIntoError(long record) {
        RawQp raw = new RawQp(8);
        assertTrue(raw.queuePair.postSend(1, 0, 0, 0, SIGNALED)); // to itself
        raw.queuePair.ringSendDoorbell();
        raw.memory.memory().putLong(QpMemory.RECEIVE_DOORBELL, record);
        for (int pass = 1; pass < 10; pass++) {
            raw.device.doVirtualPass(pass);
        }
        assertEquals(QpState.ERR, raw.queuePair.state());
        assertEquals(1, raw.poll());
        assertEquals(CompletionStatus.WR_FLUSH_ERR, raw.statuses[0]); // it is requester as well
        assertTrue(raw.device.counters.get(DeviceCounter.BAD_DOORBELLS) >= 1);
    }

    /** Whatever bits the host writes into its entries, before or after they are fetched: the device lives, and reports each once at most. */
    @Test
    void entriesOfAnyBitsHarmNobodyButTheirQueuePair() {
        for (long seed = 1; seed <= 3_000; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            RawQp raw = new RawQp(8);
            for (int i = 0; i < 8; i++) {
                for (int queue = 0; queue < 2; queue++) {
                    int slot = (queue == 0 ? raw.memory.sendQueue() : raw.memory.receiveQueue()).offset(i);
                    for (int word = 1; word < 8; word++) {
                        raw.memory.memory().putLong(slot + 8 * word, random.nextInt(3) == 0 ? random.nextLong() : 0);
                    }
                    int opcode = random.nextInt(queue == 0 ? 16 : 8) == 0 ? random.nextInt(256) : 6;
                    opcode = queue == 0 ? random.nextInt(16) : opcode;
                    long flags = (random.nextLong(16) << 8) | (random.nextLong(8) << 16);
                    raw.memory.memory().putLong(slot, (long) i << 32 | flags | opcode);
                }
            }
            raw.memory.memory().putLong(QpMemory.RECEIVE_DOORBELL, 8);
            raw.memory.memory().putLong(QpMemory.SEND_DOORBELL, 8);
            raw.device.uarPage.putLong(raw.register, 8);
            for (int pass = 1; pass < 30; pass++) {
                raw.device.doVirtualPass(pass * 100_000L);
                if (pass < 3) {
                    int slot = raw.memory.sendQueue().offset(random.nextInt(8));
                    raw.memory.memory().putLong(slot, random.nextLong());
                }
            }
            int[] sends = {0};
            int[] receives = {0};
            raw.cq.poll(
                    completion -> (io.cqring.cq.CqeOpcode.isReceive(completion.opcode()) ? receives : sends)[0]++, 64);
            assertTrue(sends[0] <= 8 && receives[0] <= 8, "seed " + seed);
        }
    }

    /** A device without its driver, and one queue pair connected to itself, whose memory the test may scribble on. */
    private static final class RawQp {
        final Device device =
                new Device(4, Long.MAX_VALUE, System::nanoTime, io.cqring.simnic.fault.DeviceFaults.NONE, null, null);
        final QpMemory memory;
        final QueuePair queuePair;
        final int register;
        final CompletionQueue cq = CompletionQueue.ofCapacity(64).create();
        final CompletionStatus[] statuses = new CompletionStatus[64];

        RawQp(int depth) {
            memory = QpMemory.allocate(depth, depth);
            device.attach(cq);
            ProtectionDomain domain = device.allocateDomain();
            int number = device.createQueuePair(io.cqring.simnic.qp.QpType.RC, domain, cq, cq, memory, 0);
            register = Device.registerOffset(device.slotOf(number));
            queuePair = new QueuePair(number, io.cqring.simnic.qp.QpType.RC, null, memory, device.uarPage, register);
            device.modify(number, QpState.INIT, Connecting.init());
            device.modify(number, QpState.RTR, Connecting.rtr(number, 5));
            device.modify(number, QpState.RTS, Connecting.rts(5, 0));
        }

        int poll() {
            int[] count = {0};
            cq.poll(
                    completion -> {
                        statuses[count[0]++] = completion.status();
                        queuePair.retire(completion);
                    },
                    64);
            return count[0];
        }
    }

    @Test
    void postsWaitWhileTheSendQueueIsDrained() {
        try (TestRig rig = TestRig.builder().create()) {
            rig.nic.modify(rig.a, QpState.SQD, new QpAttributes());
            assertTrue(rig.a.postWrite(1, 0, 0, 0, 0, 0, SIGNALED));
            rig.a.ringSendDoorbell();
            rig.steps(50);
            assertEquals(List.of(), rig.drainA());
            rig.nic.modify(rig.a, QpState.RTS, new QpAttributes());
            rig.quiesce();
            assertEquals(1, rig.drainA().size());
        }
    }

    /**
     * Edge DOORBELL with the real device thread: every field of an entry is a function of its number, the queue is
     * short, so the device is always close behind the host, and a word of the last lap would show in a completion, or
     * as an error.
     */
    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void entriesAreSeenWholeByTheRealThread() {
        final int depth = 8;
        final int messages = 300_000;
        try (SimNic nic = SimNic.builder().create()) {
            ProtectionDomain domain = nic.allocateProtectionDomain();
            CompletionQueue cq = CompletionQueue.ofCapacity(64).create();
            nic.attach(cq);
            QueuePair a = nic.createQueuePair(domain, cq, cq, depth, depth);
            nic.connect(a, a);
            MemoryRegion region = nic.registerMemory(domain, A_ADDRESS, QueueMemory.allocate(4096), AccessRights.ALL);
            nic.start(new YieldingIdleStrategy());
            long[] next = {0};
            long posted = 0;
            while (next[0] != messages) {
                while (posted != messages
                        && a.postWrite(
                                posted * 31,
                                A_ADDRESS + posted % 1000,
                                posted % 97,
                                region.lkey(),
                                A_ADDRESS + 2048 + posted % 1000,
                                region.rkey(),
                                WqeLayout.FLAG_SIGNALED)) {
                    posted++;
                    a.ringSendDoorbell();
                }
                cq.poll(
                        completion -> {
                            assertEquals(CompletionStatus.SUCCESS, completion.status());
                            assertEquals(next[0] * 31, completion.workRequestId());
                            assertEquals(next[0] % 97, completion.byteCount());
                            assertEquals((int) next[0] & 0xFF_FFFF, completion.wqeCounter());
                            assertEquals(1, a.retire(completion));
                            next[0]++;
                        },
                        64);
            }
            assertEquals(messages, nic.counter(DeviceCounter.SENDS_FETCHED));
        }
    }
}
