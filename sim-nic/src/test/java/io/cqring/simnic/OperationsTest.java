package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.B_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.simnic.qp.WqeLayout;
import java.util.List;
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
}
