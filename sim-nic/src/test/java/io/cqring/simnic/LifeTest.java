package io.cqring.simnic;

import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QueuePair;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.YieldingIdleStrategy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Starting, stepping, closing, and the commands that make and change things. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class LifeTest {
    @Test
    void whatWasRungBeforeStartIsExecutedAfterIt() {
        try (TestRig rig = TestRig.builder().create()) {
            for (int i = 0; i < 10; i++) {
                assertTrue(rig.a.postWrite(i, 0, 0, 0, 0, 0, SIGNALED));
            }
            rig.a.ringSendDoorbell();
            assertFalse(rig.nic.isIdle());
            rig.nic.start(new YieldingIdleStrategy());
            while (!rig.nic.isIdle()) {
                Thread.onSpinWait();
            }
            assertEquals(10, rig.drainA().size());
        }
    }

    /** Edge QUIESCE: once the device says idle, a poll sees everything. */
    @Test
    void idleMeansThatEveryCompletionCanBePolled() {
        try (TestRig rig = TestRig.builder().create()) {
            rig.nic.start(new YieldingIdleStrategy());
            long id = 0;
            for (int round = 0; round < 3_000; round++) {
                int batch = 1 + round % 32;
                for (int i = 0; i < batch; i++) {
                    assertTrue(rig.b.postRecv(id, 0, 0, 0));
                    assertTrue(rig.a.postSend(id++, 0, 0, 0, SIGNALED));
                }
                rig.b.ringReceiveDoorbell();
                rig.a.ringSendDoorbell();
                while (!rig.nic.isIdle()) {
                    Thread.onSpinWait();
                }
                assertEquals(batch, rig.drainA().size(), "round " + round);
                assertEquals(batch, rig.drainB().size(), "round " + round);
            }
        }
    }

    @Test
    void idleWaitsForThePeersFlushToo() {
        for (int round = 0; round < 50; round++) {
            try (TestRig rig = TestRig.builder().create()) {
                rig.nic.start(new YieldingIdleStrategy());
                for (int i = 0; i < 64; i++) {
                    assertTrue(rig.b.postRecv(i, 0, 0, 0));
                }
                rig.b.ringReceiveDoorbell();
                assertTrue(rig.a.postWrite(1, 0x10, 8, rig.aRegion.rkey(), 0, 0, 0)); // a bad lkey
                assertTrue(rig.b.postWrite(2, TestRig.B_ADDRESS, 8, rig.bRegion.lkey(), 0, 0, 0)); // a bad rkey
                rig.b.ringSendDoorbell();
                rig.a.ringSendDoorbell();
                while (!rig.nic.isIdle()) {
                    Thread.onSpinWait();
                }
                assertEquals(1, rig.drainA().size());
                assertEquals(65, rig.drainB().size());
            }
        }
    }

    @Test
    void startingAndClosingAtOnceWorksAThousandTimes() {
        for (int i = 0; i < 1_000; i++) {
            SimNic nic = SimNic.builder().maxQueuePairs(1).create();
            nic.start(new YieldingIdleStrategy());
            nic.close();
            nic.close();
            assertNull(nic.failure());
        }
    }

    @Test
    void stepAndStartExcludeEachOther() {
        SimNic nic = SimNic.builder().create();
        nic.step();
        nic.start(new BackoffIdleStrategy());
        assertEquals(
                "cannot step: the NIC is started",
                assertThrows(IllegalStateException.class, nic::step).getMessage());
        assertThrows(IllegalStateException.class, () -> nic.start(new BackoffIdleStrategy()));
        nic.close();
        assertEquals(
                "cannot step: the NIC is closed",
                assertThrows(IllegalStateException.class, nic::step).getMessage());
        assertThrows(IllegalStateException.class, () -> nic.start(new BackoffIdleStrategy()));
        assertThrows(IllegalStateException.class, nic::allocateProtectionDomain);
    }

    @Test
    void commandsOfManyThreadsAreAllAnswered() throws Exception {
        for (boolean started : new boolean[] {false, true}) {
            try (SimNic nic = SimNic.builder().create()) {
                if (started) {
                    nic.start(new YieldingIdleStrategy());
                }
                ProtectionDomain domain = nic.allocateProtectionDomain();
                ExecutorService threads = Executors.newFixedThreadPool(4);
                List<Future<List<Integer>>> answers = new ArrayList<>();
                for (int t = 0; t < 4; t++) {
                    answers.add(threads.submit(() -> {
                        List<Integer> keys = new ArrayList<>();
                        for (int i = 0; i < 200; i++) {
                            keys.add(nic.registerMemory(domain, i, QueueMemory.allocate(64), 0)
                                    .lkey());
                        }
                        return keys;
                    }));
                }
                Set<Integer> keys = new HashSet<>();
                for (Future<List<Integer>> answer : answers) {
                    keys.addAll(answer.get());
                }
                threads.shutdown();
                assertEquals(800, keys.size());
            }
        }
    }

    @Test
    void aThreadThatEndedLeavesTheDeviceToTheNext() throws Exception {
        try (TestRig rig = TestRig.builder().create()) {
            assertTrue(rig.a.postWrite(1, 0, 0, 0, 0, 0, SIGNALED));
            rig.a.ringSendDoorbell();
            Thread stepper = new Thread(rig.nic::step);
            stepper.start();
            stepper.join();
            assertTrue(rig.a.postWrite(2, 0, 0, 0, 0, 0, SIGNALED));
            rig.a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(2, rig.drainA().size());
        }
    }

    @Test
    void aDeviceThatFailsSaysSoToEveryCaller() {
        RuntimeException broken = new RuntimeException("injected");
        DeviceFaults faults = new DeviceFaults() {
            @Override
            public boolean writeCompletion(
                    CompletionWriter writer, long header, long id, long length, long detail, long timestamp) {
                throw broken;
            }
        };
        try (TestRig rig = TestRig.builder().faults(faults).create()) {
            rig.nic.start(new YieldingIdleStrategy());
            assertTrue(rig.a.postWrite(1, 0, 0, 0, 0, 0, SIGNALED));
            rig.a.ringSendDoorbell();
            while (rig.nic.failure() == null) {
                Thread.onSpinWait();
            }
            assertSame(broken, rig.nic.failure());
            IllegalStateException said = assertThrows(IllegalStateException.class, rig.nic::allocateProtectionDomain);
            assertSame(broken, said.getCause());
        }
    }

    @Test
    void aCommandThatIsNotAnsweredInTimeIsWithdrawn() throws Exception {
        Object entered = new Object();
        boolean[] blocked = {false};
        boolean[] release = {false};
        DeviceFaults stuck = new DeviceFaults() {
            @Override
            public void copyPayload(QueueMemory into, int intoOffset, QueueMemory from, int fromOffset, int length) {
                synchronized (entered) {
                    blocked[0] = true;
                    entered.notifyAll();
                    while (!release[0]) {
                        try {
                            entered.wait();
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                }
            }
        };
        TestRig.Builder builder = TestRig.builder().faults(stuck);
        builder.nic.commandTimeoutNs(20_000_000);
        try (TestRig rig = builder.create()) {
            rig.nic.start(new YieldingIdleStrategy());
            assertTrue(rig.a.postWrite(
                    1, TestRig.A_ADDRESS, 8, rig.aRegion.lkey(), TestRig.B_ADDRESS, rig.bRegion.rkey(), SIGNALED));
            rig.a.ringSendDoorbell();
            synchronized (entered) {
                while (!blocked[0]) {
                    entered.wait();
                }
            }
            assertEquals(
                    "the device did not answer within 20000000 ns",
                    assertThrows(CommandException.class, () -> rig.nic.modify(rig.b, QpState.ERR, new QpAttributes()))
                            .getMessage());
            synchronized (entered) {
                release[0] = true;
                entered.notifyAll();
            }
            while (!rig.nic.isIdle()) {
                Thread.onSpinWait();
            }
            assertEquals(QpState.RTS, rig.b.state(), "the command was withdrawn, not carried out late");
        }
    }

    // ---- Commands

    private static void assertRefused(String part, org.junit.jupiter.api.function.Executable command) {
        String message = assertThrows(CommandException.class, command).getMessage();
        assertTrue(message.contains(part), message);
    }

    @Test
    void refusalsNameTheValueAndTheRule() {
        try (TestRig rig = TestRig.builder().create();
                TestRig other = TestRig.builder().create()) {
            SimNic nic = rig.nic;
            CompletionQueue loose = CompletionQueue.ofCapacity(2).create();
            assertRefused("attached already", () -> nic.attach(rig.aCq));
            assertRefused("not attached", () -> nic.detach(loose));
            assertRefused("in use by 2", () -> nic.detach(rig.aCq));
            assertRefused("not attached", () -> nic.createQueuePair(rig.domain, loose, rig.aCq, 1, 1));
            assertRefused("not one of this device", () -> nic.createQueuePair(other.domain, rig.aCq, rig.aCq, 1, 1));
            assertRefused("not one of this device", () -> nic.registerMemory(other.domain, 0, rig.aMemory, 0));
            assertRefused("need LOCAL_WRITE", () -> nic.registerMemory(rig.domain, 0, rig.aMemory, 2));
            assertRefused("must not pass 2^64", () -> nic.registerMemory(rig.domain, -1, rig.aMemory, 0));
            assertRefused("not registered", () -> nic.deregisterMemory(other.aRegion));
            assertRefused("cannot go from RTS to INIT", () -> nic.modify(rig.a, QpState.INIT, new QpAttributes()));
            assertRefused("memory regions", () -> nic.freeProtectionDomain(rig.domain));
            assertThrows(IllegalArgumentException.class, () -> nic.createQueuePair(rig.domain, rig.aCq, rig.aCq, 3, 1));
            nic.deregisterMemory(rig.aRegion);
            nic.deregisterMemory(rig.bRegion);
            assertRefused("still has QP", () -> nic.freeProtectionDomain(rig.domain));
            nic.destroy(rig.a);
            nic.destroy(rig.b);
            nic.freeProtectionDomain(rig.domain);
            nic.detach(rig.aCq);
            nic.detach(rig.bCq);
            assertRefused("not one of this device", () -> nic.freeProtectionDomain(rig.domain));
        }
    }

    @Test
    void aDetachedQueueCanGoToAnotherDevice() {
        try (TestRig rig = TestRig.builder().create();
                SimNic second = SimNic.builder().create()) {
            assertTrue(rig.a.postWrite(1, 0, 0, 0, 0, 0, SIGNALED));
            rig.a.ringSendDoorbell();
            rig.nic.start(new YieldingIdleStrategy());
            while (!rig.nic.isIdle()) {
                Thread.onSpinWait();
            }
            rig.nic.destroy(rig.a);
            rig.nic.detach(rig.aCq);
            second.attach(rig.aCq);
            ProtectionDomain domain = second.allocateProtectionDomain();
            QueuePair a = second.createQueuePair(domain, rig.aCq, rig.aCq, 4, 4);
            second.connect(a, a);
            assertTrue(a.postWrite(2, 0, 0, 0, 0, 0, SIGNALED));
            a.ringSendDoorbell();
            second.step();
            assertEquals(2, rig.aCq.size());
        }
    }

    /**
     * The transition table again, now through the device: each legal change is made, each other refused without
     * effect.
     */
    @ParameterizedTest
    @EnumSource(QpState.class)
    void theDeviceMakesLegalChangesAndRefusesTheOthers(QpState to) {
        for (QpState from : QpState.values()) {
            if (from == QpState.SQE) {
                continue; // no way leads there for a reliable connection
            }
            try (TestRig rig = TestRig.builder().unconnected().create()) {
                QueuePair a = rig.a;
                bring(rig, from);
                QpAttributes attributes = needed(from, to, a.number());
                if (from.canBecome(to)) {
                    rig.nic.modify(a, to, attributes);
                    assertEquals(to, a.state(), from + " to " + to);
                } else {
                    assertRefused("cannot go from " + from + " to " + to, () -> rig.nic.modify(a, to, attributes));
                    assertEquals(from, a.state(), from + " to " + to);
                }
            }
        }
    }

    private static void bring(TestRig rig, QpState to) {
        switch (to) {
            case RESET, SQE -> {}
            case INIT -> rig.nic.modify(rig.a, QpState.INIT, Connecting.init());
            case RTR -> {
                bring(rig, QpState.INIT);
                rig.nic.modify(rig.a, QpState.RTR, Connecting.rtr(rig.a.number(), 0));
            }
            case RTS -> {
                bring(rig, QpState.RTR);
                rig.nic.modify(rig.a, QpState.RTS, Connecting.rts(0, 0));
            }
            case SQD, ERR -> {
                bring(rig, QpState.RTS);
                rig.nic.modify(rig.a, to, new QpAttributes());
            }
        }
        assertEquals(to, rig.a.state());
    }

    private static QpAttributes needed(QpState from, QpState to, int number) {
        if (from == QpState.RESET && to == QpState.INIT) {
            return Connecting.init();
        }
        if (from == QpState.INIT && to == QpState.RTR) {
            return Connecting.rtr(number, 0);
        }
        return from == QpState.RTR && to == QpState.RTS ? Connecting.rts(0, 0) : new QpAttributes();
    }

    @Test
    void attributesThatAreMissingOrTooManyAreNamed() {
        try (TestRig rig = TestRig.builder().unconnected().create()) {
            QueuePair a = rig.a;
            assertRefused(
                    "RESET to INIT needs the attributes [PORT, ACCESS_RIGHTS]",
                    () -> rig.nic.modify(a, QpState.INIT, new QpAttributes().set(QpAttribute.PKEY_INDEX, 0)));
            assertRefused(
                    "RESET to INIT must not have the attributes [SEND_PSN]",
                    () -> rig.nic.modify(a, QpState.INIT, Connecting.init().set(QpAttribute.SEND_PSN, 0)));
            assertEquals(QpState.RESET, a.state());
            rig.nic.modify(a, QpState.INIT, Connecting.init());
            assertRefused(
                    "INIT to RTR needs the attributes [DESTINATION_LID, PATH_MTU, DESTINATION_QP, RECEIVE_PSN,"
                            + " MAX_DESTINATION_READS, MIN_RNR_TIMER]",
                    () -> rig.nic.modify(a, QpState.RTR, new QpAttributes()));
            rig.nic.modify(a, QpState.RTR, Connecting.rtr(a.number(), 0));
            assertRefused(
                    "RTR to RTS needs the attributes [TIMEOUT, RETRY_COUNT, RNR_RETRY, SEND_PSN, MAX_READS]",
                    () -> rig.nic.modify(a, QpState.RTS, new QpAttributes()));
        }
    }

    @Test
    void sparseMemoryOfTerabytesCanBeRegistered() {
        try (TestRig rig = TestRig.builder().create()) {
            MemoryRegion region = rig.nic.registerSparseMemory(
                    rig.domain, 0, 1L << 42, QueueMemory.allocate(64 << 10), 32, 64, AccessRights.ALL);
            assertNotNull(region);
            assertEquals(1L << 42, region.length());
        }
    }
}
