package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.B_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionStatus;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.WqeLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Each operation moves the right bytes and gives exactly the completions of both ends. */
class OperationsTest {
    private static final String TEXT = "The quick brown fox";
    private static final String DOTS = "...................";
    private final TestRig rig = TestRig.builder().create();

    @AfterEach
    void close() {
        rig.close();
    }

    private void prepare() {
        TestRig.put(rig.aMemory, 100, TEXT);
        TestRig.put(rig.bMemory, 300, "[" + DOTS + "]");
    }

    private void assertMovedToB() {
        assertEquals("[" + TEXT + "]", TestRig.get(rig.bMemory, 300, TEXT.length() + 2));
    }

    @Test
    void writeImmMovesBytesAndReportsAtBothEnds() {
        prepare();
        assertTrue(rig.b.postRecv(77, 0, 0, 0));
        rig.b.ringReceiveDoorbell();
        assertTrue(rig.a.postWriteImm(
                5, A_ADDRESS + 100, 19, rig.aRegion.lkey(), B_ADDRESS + 301, rig.bRegion.rkey(), 0xCAFE, SIGNALED));
        rig.a.ringSendDoorbell();
        rig.quiesce();
        assertMovedToB();
        assertEquals(List.of(rig.sent(rig.a, "RC_RDMA_WRITE", 5, 0, 19)), rig.drainA());
        assertEquals(List.of(rig.receivedImm(rig.b, "RECV_RDMA_IMM", 77, 0, 19, 0xCAFE, rig.a)), rig.drainB());
    }

    @Test
    void writeIsNotNoticedByThePeer() {
        prepare();
        assertTrue(rig.a.postWrite(
                5, A_ADDRESS + 100, 19, rig.aRegion.lkey(), B_ADDRESS + 301, rig.bRegion.rkey(), SIGNALED));
        rig.a.ringSendDoorbell();
        rig.quiesce();
        assertMovedToB();
        assertEquals(List.of(rig.sent(rig.a, "RC_RDMA_WRITE", 5, 0, 19)), rig.drainA());
        assertEquals(List.of(), rig.drainB());
    }

    @Test
    void sendGoesIntoTheReceiveBuffer() {
        prepare();
        assertTrue(rig.b.postRecv(78, B_ADDRESS + 301, 500, rig.bRegion.lkey()));
        rig.b.ringReceiveDoorbell();
        assertTrue(rig.a.postSend(6, A_ADDRESS + 100, 19, rig.aRegion.lkey(), SIGNALED));
        rig.a.ringSendDoorbell();
        rig.quiesce();
        assertMovedToB();
        assertEquals(List.of(rig.sent(rig.a, "RC_SEND", 6, 0, 19)), rig.drainA());
        assertEquals(List.of(rig.received(rig.b, "RECV", 78, 0, 19, rig.a)), rig.drainB());
    }

    @Test
    void sendImmCarriesTheImmediate() {
        prepare();
        assertTrue(rig.b.postRecv(78, B_ADDRESS + 301, 19, rig.bRegion.lkey()));
        rig.b.ringReceiveDoorbell();
        assertTrue(rig.a.postSendImm(6, A_ADDRESS + 100, 19, rig.aRegion.lkey(), -2, SIGNALED));
        rig.a.ringSendDoorbell();
        rig.quiesce();
        assertMovedToB();
        assertEquals(List.of(rig.sent(rig.a, "RC_SEND", 6, 0, 19)), rig.drainA());
        assertEquals(List.of(rig.receivedImm(rig.b, "RECV_IMM", 78, 0, 19, -2, rig.a)), rig.drainB());
    }

    @Test
    void readFetchesFromThePeerUnnoticed() {
        TestRig.put(rig.bMemory, 2000, TEXT);
        TestRig.put(rig.aMemory, 0, "[" + DOTS + "]");
        assertTrue(rig.a.postRead(
                9, A_ADDRESS + 1, 19, rig.aRegion.lkey(), B_ADDRESS + 2000, rig.bRegion.rkey(), SIGNALED));
        rig.a.ringSendDoorbell();
        rig.quiesce();
        assertEquals("[" + TEXT + "]", TestRig.get(rig.aMemory, 0, 21));
        assertEquals(List.of(rig.sent(rig.a, "RC_RDMA_READ", 9, 0, 19)), rig.drainA());
        assertEquals(List.of(), rig.drainB());
    }

    @Test
    void solicitedReachesTheReceiverOnly() {
        assertTrue(rig.b.postRecv(1, 0, 0, 0));
        rig.b.ringReceiveDoorbell();
        assertTrue(rig.a.postSend(2, 0, 0, 0, SIGNALED | WqeLayout.FLAG_SOLICITED));
        rig.a.ringSendDoorbell();
        rig.quiesce();
        assertEquals(
                List.of(false),
                rig.drainA().stream().map(TestRig.Seen::solicited).toList());
        assertEquals(
                List.of(true),
                rig.drainB().stream().map(TestRig.Seen::solicited).toList());
    }

    @Test
    void unsignaledSuccessesAreSilentAndCountAsCompleted() {
        for (int i = 0; i < 200; i++) {
            int flags = i % 10 == 9 ? SIGNALED : 0;
            assertTrue(rig.a.postWrite(i, A_ADDRESS, 8, rig.aRegion.lkey(), B_ADDRESS, rig.bRegion.rkey(), flags));
            if (i % 10 == 9) {
                rig.a.ringSendDoorbell();
                rig.quiesce();
                assertEquals(List.of(rig.sent(rig.a, "RC_RDMA_WRITE", i, i, 8)), rig.drainA());
                assertEquals(64, rig.a.freeSends());
            }
        }
    }

    @Test
    void zeroBytesNeedNoKeyAndTheBarrierIsReported() {
        assertTrue(rig.b.postRecv(1, -1, 0, -1));
        assertTrue(rig.b.postRecv(2, -1, 0, -1));
        rig.b.ringReceiveDoorbell();
        assertTrue(rig.a.postWriteImm(3, -1, 0, -1, -1, -1, 44, SIGNALED));
        assertTrue(rig.a.postSend(4, -1, 0, -1, SIGNALED));
        assertTrue(rig.a.postRead(5, -1, 0, -1, -1, -1, SIGNALED));
        rig.a.ringSendDoorbell();
        rig.quiesce();
        assertEquals(
                List.of(
                        rig.sent(rig.a, "RC_RDMA_WRITE", 3, 0, 0),
                        rig.sent(rig.a, "RC_SEND", 4, 1, 0),
                        rig.sent(rig.a, "RC_RDMA_READ", 5, 2, 0)),
                rig.drainA());
        assertEquals(
                List.of(
                        rig.receivedImm(rig.b, "RECV_RDMA_IMM", 1, 0, 0, 44, rig.a),
                        rig.received(rig.b, "RECV", 2, 1, 0, rig.a)),
                rig.drainB());
    }

    @Test
    void bothDirectionsAtOnceEachInItsOwnOrder() {
        for (int i = 0; i < 60; i++) {
            assertTrue(rig.a.postRecv(i, 0, 0, 0));
            assertTrue(rig.b.postRecv(i, 0, 0, 0));
            assertTrue(rig.a.postSend(100 + i, 0, 0, 0, SIGNALED));
            assertTrue(rig.b.postSend(200 + i, 0, 0, 0, SIGNALED));
        }
        rig.a.ringReceiveDoorbell();
        rig.b.ringReceiveDoorbell();
        rig.a.ringSendDoorbell();
        rig.b.ringSendDoorbell();
        rig.quiesce();
        for (List<TestRig.Seen> seen : List.of(rig.drainA(), rig.drainB())) {
            assertEquals(120, seen.size());
            for (String opcode : List.of("RECV", "RC_SEND")) {
                List<Integer> counters = seen.stream()
                        .filter(one -> one.opcode().equals(opcode))
                        .map(TestRig.Seen::counter)
                        .toList();
                assertEquals(IntStream.range(0, 60).boxed().toList(), counters);
            }
        }
    }

    @Test
    void noQueuePairTakesMoreThanItsTurn() {
        CompletionQueue cq = CompletionQueue.ofCapacity(256).create();
        rig.nic.attach(cq);
        QueuePair busy = rig.nic.createQueuePair(rig.domain, cq, cq, 64, 1);
        QueuePair modest = rig.nic.createQueuePair(rig.domain, cq, cq, 64, 1);
        rig.nic.connect(busy, busy);
        rig.nic.connect(modest, modest);
        for (int i = 0; i < 64; i++) {
            assertTrue(busy.postWrite(i, 0, 0, 0, 0, 0, SIGNALED));
        }
        assertTrue(modest.postWrite(1000, 0, 0, 0, 0, 0, SIGNALED));
        busy.ringSendDoorbell();
        modest.ringSendDoorbell();
        rig.nic.step();
        List<Long> ids = new ArrayList<>();
        cq.poll(completion -> ids.add(completion.workRequestId()), 256);
        assertEquals(17, ids.size(), "16 of one, 1 of the other");
        assertTrue(ids.contains(1000L));
    }

    @Test
    void timestampsAreTheVirtualTimeOfThePass() {
        assertTrue(rig.a.postWrite(1, 0, 0, 0, 0, 0, SIGNALED));
        rig.a.ringSendDoorbell();
        rig.nic.step();
        long first = rig.aCq.peek().timestamp();
        assertEquals(1, rig.drainA().size());
        rig.steps(4);
        assertTrue(rig.a.postWrite(1, 0, 0, 0, 0, 0, SIGNALED));
        rig.a.ringSendDoorbell();
        rig.nic.step();
        assertEquals(first + 5 * SimNic.STEP_NS, rig.aCq.peek().timestamp());
    }

    /** A buffer of 6 GB of which 64 bytes per MiB are real, and messages of the greatest length there is. */
    @Test
    void hugeMessagesMoveWhatIsResident() {
        long length = 6L << 30;
        long bytes = MemoryRegion.sparseMemoryBytes(length, 20, 64);
        assertEquals(6 * 1024 * 64, bytes);
        QueueMemory source = QueueMemory.allocate(bytes);
        QueueMemory target = QueueMemory.allocate(bytes);
        for (int page = 0; page < 6 * 1024; page++) {
            source.putLong(page * 64 + 56, page + 1);
        }
        MemoryRegion from =
                rig.nic.registerSparseMemory(rig.domain, 1L << 50, length, source, 20, 64, AccessRights.LOCAL_READ);
        MemoryRegion into =
                rig.nic.registerSparseMemory(rig.domain, 1L << 51, length, target, 20, 64, AccessRights.ALL);
        long two = 1L << 31;
        assertTrue(rig.b.postRecv(1, 0, 0, 0));
        rig.b.ringReceiveDoorbell();
        assertTrue(
                rig.a.postWriteImm(2, (1L << 50) + two, two, from.lkey(), (1L << 51) + two, into.rkey(), 9, SIGNALED));
        assertTrue(rig.a.postWrite(
                3, (1L << 50) + two * 2 + 1, two, from.lkey(), (1L << 51) + two, into.rkey(), SIGNALED));
        rig.a.ringSendDoorbell();
        rig.quiesce();
        assertEquals(
                List.of(
                        rig.sent(rig.a, "RC_RDMA_WRITE", 2, 0, 1L << 31),
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.LOC_PROT_ERR, 3, 1)),
                rig.drainA());
        assertEquals(List.of(rig.receivedImm(rig.b, "RECV_RDMA_IMM", 1, 0, 1L << 31, 9, rig.a)), rig.drainB());
        for (int page = 0; page < 6 * 1024; page++) {
            assertEquals(page >= 2048 && page < 4096 ? page + 1 : 0, target.getLong(page * 64 + 56), "page " + page);
        }
        assertEquals(2048 * 64, rig.nic.counter(DeviceCounter.BYTES_COPIED));
    }

    @Test
    void theCopyLimitCutsBytesButNeitherChecksNorCounts() {
        TestRig.Builder builder = TestRig.builder();
        builder.nic.copyLimitBytes(10);
        try (TestRig limited = builder.create()) {
            TestRig.put(limited.aMemory, 0, "0123456789ABCDEF");
            TestRig.put(limited.bMemory, 0, "................");
            assertTrue(limited.a.postWrite(
                    1, A_ADDRESS, 16, limited.aRegion.lkey(), B_ADDRESS, limited.bRegion.rkey(), SIGNALED));
            assertTrue(limited.a.postWrite(
                    2, A_ADDRESS, 4097, limited.aRegion.lkey(), B_ADDRESS, limited.bRegion.rkey(), SIGNALED));
            limited.a.ringSendDoorbell();
            limited.quiesce();
            assertEquals("0123456789......", TestRig.get(limited.bMemory, 0, 16));
            assertEquals(
                    List.of(
                            limited.sent(limited.a, "RC_RDMA_WRITE", 1, 0, 16),
                            TestRig.failed(limited.a, "REQ_ERR", CompletionStatus.LOC_PROT_ERR, 2, 1)),
                    limited.drainA());
        }
    }

    @Test
    void aQueuePairMayTalkToItself() {
        TestRig.put(rig.aMemory, 0, "self");
        QueuePair self = rig.nic.createQueuePair(rig.domain, rig.aCq, rig.aCq, 4, 4);
        rig.nic.connect(self, self);
        assertTrue(self.postRecv(1, A_ADDRESS + 8, 4, rig.aRegion.lkey()));
        self.ringReceiveDoorbell();
        assertTrue(self.postSend(2, A_ADDRESS, 4, rig.aRegion.lkey(), SIGNALED));
        self.ringSendDoorbell();
        rig.quiesce();
        assertEquals("self", TestRig.get(rig.aMemory, 8, 4));
        assertEquals(
                List.of(rig.received(self, "RECV", 1, 0, 4, self), rig.sent(self, "RC_SEND", 2, 0, 4)),
                TestRig.drain(rig.aCq, self));
    }
}
