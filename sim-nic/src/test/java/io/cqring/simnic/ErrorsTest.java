package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.B_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionStatus;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each thing that can go wrong: statuses at both ends, states after it, and the order in which the rest is flushed. */
class ErrorsTest {
    private final TestRig rig = TestRig.builder().rnrRetry(3).create();

    @AfterEach
    void close() {
        rig.close();
    }

    private void ringBoth() {
        rig.b.ringReceiveDoorbell();
        rig.a.ringReceiveDoorbell();
        rig.a.ringSendDoorbell();
        rig.quiesce();
    }

    private void assertStates(QpState a, QpState b) {
        assertEquals(a, rig.a.state(), "state of a");
        assertEquals(b, rig.b.state(), "state of b");
    }

    private boolean write(long id, int lkey, int rkey) {
        return rig.a.postWrite(id, A_ADDRESS, 8, lkey, B_ADDRESS, rkey, SIGNALED);
    }

    @Test
    void badLocalKeyFailsTheRequestAndFlushesTheRestInOrder() {
        int lkey = rig.aRegion.lkey();
        int rkey = rig.bRegion.rkey();
        TestRig.put(rig.bMemory, 0, "untouchd");
        assertTrue(rig.a.postRecv(900, 0, 0, 0));
        assertTrue(rig.a.postRecv(901, 0, 0, 0));
        assertTrue(write(1, lkey, rkey));
        assertTrue(write(2, lkey ^ 0x100, rkey));
        assertTrue(rig.a.postWrite(3, A_ADDRESS, 8, lkey, B_ADDRESS, rkey, 0)); // unsignaled, flushed all the same
        assertTrue(write(4, lkey, rkey));
        ringBoth();
        assertStates(QpState.ERR, QpState.RTS);
        assertEquals(
                List.of(
                        rig.sent(rig.a, "RC_RDMA_WRITE", 1, 0, 8),
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.LOC_PROT_ERR, 2, 1),
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.WR_FLUSH_ERR, 3, 2),
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.WR_FLUSH_ERR, 4, 3),
                        TestRig.failed(rig.a, "RESP_ERR", CompletionStatus.WR_FLUSH_ERR, 900, 0),
                        TestRig.failed(rig.a, "RESP_ERR", CompletionStatus.WR_FLUSH_ERR, 901, 1)),
                rig.drainA());
        assertEquals(List.of(), rig.drainB());
    }

    @Test
    void whatIsPostedToAQueuePairInErrorIsFlushed() {
        rig.nic.modify(rig.a, QpState.ERR, new QpAttributes());
        assertTrue(write(1, rig.aRegion.lkey(), rig.bRegion.rkey()));
        rig.a.ringSendDoorbell();
        rig.quiesce();
        assertTrue(rig.a.postRecv(2, 0, 0, 0));
        rig.a.ringReceiveDoorbell();
        rig.quiesce();
        assertTrue(rig.a.postRecv(3, 0, 0, 0));
        rig.a.ringReceiveDoorbell();
        rig.quiesce();
        assertEquals(
                List.of(
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.WR_FLUSH_ERR, 1, 0),
                        TestRig.failed(rig.a, "RESP_ERR", CompletionStatus.WR_FLUSH_ERR, 2, 0),
                        TestRig.failed(rig.a, "RESP_ERR", CompletionStatus.WR_FLUSH_ERR, 3, 1)),
                rig.drainA());
        assertStates(QpState.ERR, QpState.RTS);
    }

    @Test
    void aLongBacklogIsFlushedWholeAndInOrder() {
        for (int i = 0; i < 64; i++) {
            assertTrue(rig.a.postRecv(1000 + i, 0, 0, 0));
            assertTrue(rig.a.postWrite(i, A_ADDRESS, 8, 0, B_ADDRESS, 0, 0));
        }
        ringBoth();
        List<TestRig.Seen> seen = rig.drainA();
        assertEquals(128, seen.size());
        assertEquals(CompletionStatus.LOC_PROT_ERR, seen.get(0).status());
        for (int i = 0; i < 64; i++) {
            assertEquals(i, seen.get(i).id());
            assertEquals(1000 + i, seen.get(64 + i).id());
        }
        assertEquals(64, rig.a.freeSends());
        assertEquals(64, rig.a.freeReceives());
    }

    /** Every way in which a remote access can be wrong. */
    enum RemoteFault {
        UNKNOWN_KEY,
        LKEY_AS_RKEY,
        DEREGISTERED,
        OTHER_DOMAIN,
        NO_RIGHT,
        ONE_BYTE_BEFORE,
        ONE_BYTE_PAST,
        WRAPS_ROUND,
        QP_WITHOUT_RIGHT
    }

    @ParameterizedTest
    @EnumSource(RemoteFault.class)
    void badRemoteAccessFailsBothEnds(RemoteFault fault) {
        long address = B_ADDRESS;
        int rkey = rig.bRegion.rkey();
        switch (fault) {
            case UNKNOWN_KEY -> rkey = 0x7FFF_FF80;
            case LKEY_AS_RKEY -> rkey = rig.bRegion.lkey();
            case DEREGISTERED -> rig.nic.deregisterMemory(rig.bRegion);
            case OTHER_DOMAIN -> {
                ProtectionDomain other = rig.nic.allocateProtectionDomain();
                rkey = rig.nic
                        .registerMemory(other, B_ADDRESS, rig.bMemory, AccessRights.ALL)
                        .rkey();
            }
            case NO_RIGHT ->
                rkey = rig.nic
                        .registerMemory(
                                rig.domain, B_ADDRESS, rig.bMemory, AccessRights.LOCAL_WRITE | AccessRights.REMOTE_READ)
                        .rkey();
            case ONE_BYTE_BEFORE -> address = B_ADDRESS - 1;
            case ONE_BYTE_PAST -> address = B_ADDRESS + TestRig.MEMORY_BYTES - 7;
            case WRAPS_ROUND -> address = -4;
            case QP_WITHOUT_RIGHT ->
                rig.nic.modify(
                        rig.b,
                        QpState.RTS,
                        new QpAttributes().set(QpAttribute.ACCESS_RIGHTS, AccessRights.REMOTE_READ));
        }
        TestRig.put(rig.aMemory, 0, "SHOULDNT");
        byte[] before = new byte[TestRig.MEMORY_BYTES];
        rig.bMemory.getBytes(0, before, 0, before.length);
        assertTrue(rig.b.postRecv(50, 0, 0, 0));
        assertTrue(rig.b.postWrite(51, 0, 0, 0, 0, 0, SIGNALED)); // not rung before the error: flushed when it is
        assertTrue(rig.a.postWriteImm(7, A_ADDRESS, 8, rig.aRegion.lkey(), address, rkey, 1, SIGNALED));
        assertTrue(write(8, rig.aRegion.lkey(), rig.bRegion.rkey()));
        ringBoth();
        rig.b.ringSendDoorbell();
        rig.quiesce();
        assertStates(QpState.ERR, QpState.ERR);
        assertEquals(
                List.of(
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.REM_ACCESS_ERR, 7, 0),
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.WR_FLUSH_ERR, 8, 1)),
                rig.drainA());
        assertEquals(
                List.of(
                        TestRig.failed(rig.b, "RESP_ERR", CompletionStatus.WR_FLUSH_ERR, 50, 0),
                        TestRig.failed(rig.b, "REQ_ERR", CompletionStatus.WR_FLUSH_ERR, 51, 0)),
                rig.drainB());
        byte[] after = new byte[TestRig.MEMORY_BYTES];
        rig.bMemory.getBytes(0, after, 0, after.length);
        org.junit.jupiter.api.Assertions.assertArrayEquals(before, after, "nothing may be written");
    }

    @Test
    void theLastByteOfARegionCanBeReached() {
        assertTrue(rig.a.postWrite(
                1,
                A_ADDRESS + TestRig.MEMORY_BYTES - 8,
                8,
                rig.aRegion.lkey(),
                B_ADDRESS + TestRig.MEMORY_BYTES - 8,
                rig.bRegion.rkey(),
                SIGNALED));
        ringBoth();
        assertEquals(List.of(rig.sent(rig.a, "RC_RDMA_WRITE", 1, 0, 8)), rig.drainA());
    }

    @Test
    void aRegionCanEndWhereAddressesEnd() {
        QueueMemory memory = QueueMemory.allocate(64);
        MemoryRegion region = rig.nic.registerMemory(rig.domain, -64, memory, AccessRights.ALL);
        TestRig.put(rig.aMemory, 0, "the  end");
        assertTrue(rig.a.postWrite(1, A_ADDRESS, 8, rig.aRegion.lkey(), -8, region.rkey(), SIGNALED));
        ringBoth();
        assertEquals(List.of(rig.sent(rig.a, "RC_RDMA_WRITE", 1, 0, 8)), rig.drainA());
        assertEquals("the  end", TestRig.get(memory, 56, 8));
    }

    @Test
    void readWithoutRemoteReadIsRefused() {
        MemoryRegion region = rig.nic.registerMemory(
                rig.domain, 0, rig.bMemory, AccessRights.LOCAL_WRITE | AccessRights.REMOTE_WRITE);
        assertTrue(rig.a.postRead(1, A_ADDRESS, 8, rig.aRegion.lkey(), 0, region.rkey(), SIGNALED));
        ringBoth();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.REM_ACCESS_ERR, 1, 0)), rig.drainA());
        assertStates(QpState.ERR, QpState.ERR);
    }

    @Test
    void readIntoMemoryThatMayNotBeWrittenIsALocalError() {
        MemoryRegion region = rig.nic.registerMemory(rig.domain, 0, rig.aMemory, AccessRights.LOCAL_READ);
        assertTrue(rig.a.postRead(1, 0, 8, region.lkey(), B_ADDRESS, rig.bRegion.rkey(), SIGNALED));
        ringBoth();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.LOC_PROT_ERR, 1, 0)), rig.drainA());
        assertStates(QpState.ERR, QpState.RTS);
    }

    @Test
    void aMissingReceiveIsRetriedAndThenFailsTheRequesterOnly() {
        assertTrue(rig.a.postSend(1, A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED));
        assertTrue(rig.a.postSend(2, A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED));
        ringBoth();
        assertEquals(
                List.of(
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.RNR_RETRY_EXC_ERR, 1, 0),
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.WR_FLUSH_ERR, 2, 1)),
                rig.drainA());
        assertStates(QpState.ERR, QpState.RTS);
        // One try and three retries; each tells the peer to wait 10 us, ten passes of the virtual clock.
        assertEquals(4, rig.nic.counter(DeviceCounter.RNR_NAKS));
    }

    @Test
    void aReceivePostedInTimeSavesTheRequest() {
        assertTrue(rig.a.postSend(1, A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED));
        assertTrue(rig.a.postSend(2, A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED));
        rig.a.ringSendDoorbell();
        rig.steps(25); // tries at about 0, 10 and 20 us
        assertEquals(3, rig.nic.counter(DeviceCounter.RNR_NAKS));
        assertTrue(rig.b.postRecv(11, B_ADDRESS, 8, rig.bRegion.lkey()));
        rig.b.ringReceiveDoorbell();
        rig.steps(10);
        assertEquals(List.of(rig.sent(rig.a, "RC_SEND", 1, 0, 8)), rig.drainA());
        assertTrue(rig.b.postRecv(12, B_ADDRESS, 8, rig.bRegion.lkey()));
        rig.b.ringReceiveDoorbell();
        rig.quiesce();
        assertEquals(List.of(rig.sent(rig.a, "RC_SEND", 2, 1, 8)), rig.drainA());
        assertEquals(
                List.of(rig.received(rig.b, "RECV", 11, 0, 8, rig.a), rig.received(rig.b, "RECV", 12, 1, 8, rig.a)),
                rig.drainB());
        assertStates(QpState.RTS, QpState.RTS);
    }

    @Test
    void sevenMeansWithoutEnd() {
        try (TestRig patient = TestRig.builder().rnrRetry(7).create()) {
            assertTrue(patient.a.postSend(1, A_ADDRESS, 8, patient.aRegion.lkey(), SIGNALED));
            patient.a.ringSendDoorbell();
            patient.steps(1000);
            assertTrue(patient.nic.counter(DeviceCounter.RNR_NAKS) > 90);
            assertEquals(QpState.RTS, patient.a.state());
            assertEquals(List.of(), patient.drainA());
            assertTrue(patient.b.postRecv(2, B_ADDRESS, 8, patient.bRegion.lkey()));
            patient.b.ringReceiveDoorbell();
            patient.quiesce();
            assertEquals(List.of(patient.sent(patient.a, "RC_SEND", 1, 0, 8)), patient.drainA());
        }
    }

    @Test
    void aMessageLongerThanItsReceiveFailsBothEnds() {
        assertTrue(rig.b.postRecv(20, B_ADDRESS, 7, rig.bRegion.lkey()));
        assertTrue(rig.b.postRecv(21, B_ADDRESS, 8, rig.bRegion.lkey()));
        assertTrue(rig.a.postSend(1, A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED));
        ringBoth();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.REM_INV_REQ_ERR, 1, 0)), rig.drainA());
        assertEquals(
                List.of(
                        TestRig.failed(rig.b, "RESP_ERR", CompletionStatus.LOC_LEN_ERR, 20, 0),
                        TestRig.failed(rig.b, "RESP_ERR", CompletionStatus.WR_FLUSH_ERR, 21, 1)),
                rig.drainB());
        assertStates(QpState.ERR, QpState.ERR);
    }

    @Test
    void aReceiveBufferWithABadKeyFailsBothEnds() {
        assertTrue(rig.b.postRecv(20, B_ADDRESS, 8, rig.bRegion.rkey()));
        assertTrue(rig.a.postSend(1, A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED));
        ringBoth();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.REM_OP_ERR, 1, 0)), rig.drainA());
        assertEquals(List.of(TestRig.failed(rig.b, "RESP_ERR", CompletionStatus.LOC_PROT_ERR, 20, 0)), rig.drainB());
        assertStates(QpState.ERR, QpState.ERR);
    }

    @ParameterizedTest
    @EnumSource(
            value = QpState.class,
            names = {"RESET", "ERR"})
    void aPeerThatDoesNotAnswerExhaustsTheRetries(QpState state) {
        rig.nic.modify(rig.b, state, new QpAttributes());
        assertTrue(write(1, rig.aRegion.lkey(), rig.bRegion.rkey()));
        ringBoth();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.RETRY_EXC_ERR, 1, 0)), rig.drainA());
        assertStates(QpState.ERR, state);
    }

    @Test
    void aPeerThatIsGoneExhaustsTheRetries() {
        rig.nic.destroy(rig.b);
        assertTrue(write(1, rig.aRegion.lkey(), rig.bRegion.rkey()));
        rig.a.ringSendDoorbell();
        rig.quiesce();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.RETRY_EXC_ERR, 1, 0)), rig.drainA());
    }

    @Test
    void differentFirstSequenceNumbersAreNoConnection() {
        try (TestRig raw = TestRig.builder().unconnected().create()) {
            Connecting.toRts(raw.nic, raw.a, raw.b.number(), 100, 200, 7);
            Connecting.toRts(raw.nic, raw.b, raw.a.number(), 200, 101, 7); // expects 101, gets 100
            assertTrue(raw.a.postWrite(1, A_ADDRESS, 8, raw.aRegion.lkey(), B_ADDRESS, raw.bRegion.rkey(), SIGNALED));
            raw.a.ringSendDoorbell();
            raw.quiesce();
            assertEquals(List.of(TestRig.failed(raw.a, "REQ_ERR", CompletionStatus.RETRY_EXC_ERR, 1, 0)), raw.drainA());
        }
    }

    @Test
    void packetSequenceNumbersWrap() {
        try (TestRig raw = TestRig.builder().unconnected().create()) {
            Connecting.toRts(raw.nic, raw.a, raw.b.number(), 0xFF_FFFE, 0, 7);
            Connecting.toRts(raw.nic, raw.b, raw.a.number(), 0, 0xFF_FFFE, 7);
            for (int i = 0; i < 40; i++) {
                assertTrue(
                        raw.a.postWrite(i, A_ADDRESS, 8, raw.aRegion.lkey(), B_ADDRESS, raw.bRegion.rkey(), SIGNALED));
            }
            raw.a.ringSendDoorbell();
            raw.quiesce();
            assertEquals(40, raw.drainA().size());
            assertEquals(QpState.RTS, raw.a.state());
        }
    }
}
