package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.B_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionStatus;
import io.cqring.simnic.fault.WireFaults;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.SgList;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.testing.FieldBug;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Forms of work requests: lists of pieces, inline data, keys made invalid, fences. */
@Timeout(120)
class RequestsTest {
    private final TestRig rig = TestRig.builder().depth(8).create();
    private final SgList list = new SgList();

    @AfterEach
    void close() {
        rig.close();
    }

    private void go() {
        rig.b.ringReceiveDoorbell();
        rig.a.ringSendDoorbell();
        rig.quiesce();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    // ---- Scatter and gather

    @Test
    void piecesAreGatheredInOrderAndScatteredInOrder() {
        TestRig.put(rig.aMemory, 0, "..abc....defgh..ij.klmnopq");
        int lkey = rig.aRegion.lkey();
        list.add(A_ADDRESS + 2, 3, lkey)
                .add(A_ADDRESS + 9, 5, lkey)
                .add(A_ADDRESS + 16, 2, lkey)
                .add(A_ADDRESS + 19, 7, lkey);
        assertEquals(17, list.bytes());
        assertTrue(rig.a.postSend(1, list, SIGNALED));
        assertTrue(rig.a.postWrite(2, list, B_ADDRESS + 1000, rig.bRegion.rkey(), SIGNALED));
        assertEquals(4, rig.a.freeSends(), "two slots each");
        SgList into = new SgList();
        into.add(B_ADDRESS + 100, 1, rig.bRegion.lkey())
                .add(B_ADDRESS + 200, 10, rig.bRegion.lkey())
                .add(B_ADDRESS + 300, 50, rig.bRegion.lkey());
        assertTrue(rig.b.postRecv(3, into));
        assertEquals(6, rig.b.freeReceives());
        go();
        assertEquals(
                List.of(rig.sent(rig.a, "RC_SEND", 1, 1, 17), rig.sent(rig.a, "RC_RDMA_WRITE", 2, 3, 17)),
                rig.drainA());
        assertEquals(List.of(rig.received(rig.b, "RECV", 3, 1, 17, rig.a)), rig.drainB());
        assertEquals("a\0", TestRig.get(rig.bMemory, 100, 2));
        assertEquals("bcdefghijk\0", TestRig.get(rig.bMemory, 200, 11));
        assertEquals("lmnopq\0", TestRig.get(rig.bMemory, 300, 7));
        assertEquals("abcdefghijklmnopq\0", TestRig.get(rig.bMemory, 1000, 18));
        assertEquals(8, rig.a.freeSends());
        assertEquals(8, rig.b.freeReceives());
    }

    @Test
    void aReadIsScattered() {
        TestRig.put(rig.bMemory, 50, "0123456789");
        list.add(A_ADDRESS + 7, 4, rig.aRegion.lkey()).add(A_ADDRESS, 0, 0).add(A_ADDRESS + 30, 6, rig.aRegion.lkey());
        assertTrue(rig.a.postRead(1, list, B_ADDRESS + 50, rig.bRegion.rkey(), SIGNALED));
        go();
        assertEquals(List.of(rig.sent(rig.a, "RC_RDMA_READ", 1, 1, 10)), rig.drainA());
        assertEquals("\0" + "0123\0", TestRig.get(rig.aMemory, 6, 6));
        assertEquals("456789\0", TestRig.get(rig.aMemory, 30, 7));
    }

    @Test
    void everyPieceIsChecked() {
        list.add(A_ADDRESS, 4, rig.aRegion.lkey()).add(A_ADDRESS, 4, rig.aRegion.rkey());
        assertTrue(rig.a.postSend(1, list, SIGNALED));
        assertTrue(rig.a.postSend(2, A_ADDRESS, 1, rig.aRegion.lkey(), 0));
        go();
        assertEquals(
                List.of(
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.LOC_PROT_ERR, 1, 1),
                        TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.WR_FLUSH_ERR, 2, 2)),
                rig.drainA());
    }

    @Test
    void aScatteredReceiveThatIsTooShortFails() {
        list.add(B_ADDRESS, 4, rig.bRegion.lkey()).add(B_ADDRESS + 10, 5, rig.bRegion.lkey());
        assertTrue(rig.b.postRecv(7, list));
        assertTrue(rig.b.postRecv(8, list));
        assertTrue(rig.a.postSend(1, A_ADDRESS, 10, rig.aRegion.lkey(), SIGNALED));
        go();
        assertEquals(
                List.of(
                        TestRig.failed(rig.b, "RESP_ERR", CompletionStatus.LOC_LEN_ERR, 7, 1),
                        TestRig.failed(rig.b, "RESP_ERR", CompletionStatus.WR_FLUSH_ERR, 8, 3)),
                rig.drainB());
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.REM_INV_REQ_ERR, 1, 0)), rig.drainA());
    }

    @Test
    void limitsOfListsAreNamed() {
        for (int i = 0; i < 4; i++) {
            list.add(A_ADDRESS, 1, 0);
        }
        assertThrows(IllegalArgumentException.class, () -> list.add(A_ADDRESS, 1, 0));
        list.clear().add(0, 1L << 31, 0);
        assertThrows(IllegalArgumentException.class, () -> list.add(0, 1, 0));
        assertThrows(IllegalArgumentException.class, () -> list.add(0, -1, 0));
        list.clear().add(A_ADDRESS, 1, rig.aRegion.lkey()).add(A_ADDRESS, 1, rig.aRegion.lkey());
        for (int i = 0; i < 7; i++) {
            assertTrue(rig.a.postWrite(i, 0, 0, 0, 0, 0, SIGNALED));
        }
        assertFalse(rig.a.postSend(9, list, 0), "one slot is not enough");
    }

    // ---- Inline

    @Test
    @FieldBug(18)
    void inlineBytesAreTakenWhenPostedForThreeLapsAndMore() {
        StringBuilder expected = new StringBuilder();
        StringBuilder found = new StringBuilder();
        for (int i = 0; i <= 56; i++) {
            byte[] data = bytes("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456".substring(0, i));
            int before = rig.a.freeSends();
            assertTrue(
                    i % 2 == 0
                            ? rig.a.postWriteInline(i, data, B_ADDRESS + 100, rig.bRegion.rkey(), SIGNALED)
                            : rig.a.postSendInline(i, data, SIGNALED));
            assertEquals(i <= 16 ? 1 : 2, before - rig.a.freeSends());
            expected.append(new String(data, StandardCharsets.US_ASCII)).append('\n');
            java.util.Arrays.fill(data, (byte) '!'); // the caller's again
            rig.bMemory.fill(100, 64, (byte) '.');
            if (i % 2 == 1) {
                assertTrue(rig.b.postRecv(i, B_ADDRESS + 100, 64, rig.bRegion.lkey()));
            }
            go();
            assertEquals(
                    List.of(rig.sent(
                            rig.a, i % 2 == 0 ? "RC_RDMA_WRITE" : "RC_SEND", i, (int) rig.a.sendsPosted() - 1, i)),
                    rig.drainA());
            rig.drainB();
            found.append(TestRig.get(rig.bMemory, 100, i)).append('\n');
            assertEquals("........", TestRig.get(rig.bMemory, 100 + i, 8));
        }
        assertEquals(expected.toString(), found.toString());
        assertThrows(IllegalArgumentException.class, () -> rig.a.postSendInline(1, new byte[57], 0));
    }

    // ---- Keys made invalid

    @Test
    void aSendCanMakeAKeyInvalid() {
        var region = rig.nic.registerMemory(rig.domain, 0, rig.bMemory, 15);
        assertTrue(rig.b.postRecv(5, B_ADDRESS, 8, rig.bRegion.lkey()));
        assertTrue(rig.a.postWrite(1, A_ADDRESS, 8, rig.aRegion.lkey(), 0, region.rkey(), SIGNALED));
        assertTrue(rig.a.postSendInvalidate(2, A_ADDRESS, 8, rig.aRegion.lkey(), region.rkey(), SIGNALED));
        go();
        assertEquals(
                List.of(rig.sent(rig.a, "RC_RDMA_WRITE", 1, 0, 8), rig.sent(rig.a, "RC_SEND", 2, 1, 8)), rig.drainA());
        rig.bCq.poll(
                completion -> {
                    assertEquals(9, completion.opcode());
                    assertEquals(region.rkey(), completion.immediate());
                    assertEquals(io.cqring.cq.CqeLayout.FLAG_INVALIDATED_RKEY, completion.flags());
                    assertFalse(completion.hasImmediate());
                    rig.b.retire(completion);
                },
                1);
        assertTrue(rig.a.postWrite(3, A_ADDRESS, 8, rig.aRegion.lkey(), 0, region.rkey(), SIGNALED));
        go();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.REM_ACCESS_ERR, 3, 2)), rig.drainA());
        rig.nic.deregisterMemory(region); // it is still there to be taken out
    }

    @Test
    void aSendThatNamesAWrongKeyIsRefusedAndConsumesNothing() {
        assertTrue(rig.b.postRecv(5, B_ADDRESS, 8, rig.bRegion.lkey()));
        assertTrue(rig.a.postSendInvalidate(2, A_ADDRESS, 8, rig.aRegion.lkey(), rig.bRegion.lkey(), SIGNALED));
        go();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.REM_ACCESS_ERR, 2, 0)), rig.drainA());
        assertEquals(List.of(TestRig.failed(rig.b, "RESP_ERR", CompletionStatus.WR_FLUSH_ERR, 5, 0)), rig.drainB());
    }

    @Test
    void aLocalInvalidateTakesEffectInItsPlace() {
        var region = rig.nic.registerMemory(rig.domain, 0, rig.aMemory, 15);
        assertTrue(rig.a.postWrite(1, 0, 8, region.lkey(), B_ADDRESS, rig.bRegion.rkey(), SIGNALED));
        assertTrue(rig.a.postLocalInvalidate(2, region.rkey(), SIGNALED));
        assertTrue(rig.a.postWrite(3, A_ADDRESS, 8, rig.aRegion.lkey(), B_ADDRESS, rig.bRegion.rkey(), SIGNALED));
        go();
        assertEquals(
                List.of(
                        rig.sent(rig.a, "RC_RDMA_WRITE", 1, 0, 8),
                        rig.sent(rig.a, "LOCAL_INV", 2, 1, 0),
                        rig.sent(rig.a, "RC_RDMA_WRITE", 3, 2, 8)),
                rig.drainA());
        // The key is dead, for oneself and for the peer; and twice is once too often.
        assertTrue(rig.b.postWrite(9, B_ADDRESS, 8, rig.bRegion.lkey(), 0, region.rkey(), SIGNALED));
        rig.b.ringSendDoorbell();
        rig.quiesce();
        assertEquals(List.of(TestRig.failed(rig.b, "REQ_ERR", CompletionStatus.REM_ACCESS_ERR, 9, 0)), rig.drainB());
    }

    @Test
    void invalidatingAKeyThatIsNoneFails() {
        assertTrue(rig.a.postLocalInvalidate(2, rig.aRegion.lkey(), 0));
        go();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.MW_BIND_ERR, 2, 0)), rig.drainA());
        assertEquals(QpState.ERR, rig.a.state());
    }

    // ---- Fence

    /** On a slow wire: without the fence the send follows the read at once, with it only after the read's answer. */
    @Test
    void aFenceWaitsForReads() {
        for (int fence : new int[] {0, WqeLayout.FLAG_FENCE}) {
            List<String> log = new ArrayList<>();
            TestRig.Builder builder = TestRig.builder();
            builder.nic.wireFaults(new WireFaults() {
                @Override
                public int copies(boolean answer, int sourceQp, int destinationQp, int psn) {
                    log.add(answer ? "answer" : "request");
                    return 1;
                }

                @Override
                public long delayNs(boolean answer, int sourceQp, int destinationQp, int psn) {
                    return 10_000;
                }
            });
            try (TestRig slow = builder.create()) {
                assertTrue(slow.a.postRead(
                        1, A_ADDRESS, 8, slow.aRegion.lkey(), B_ADDRESS, slow.bRegion.rkey(), SIGNALED));
                assertTrue(slow.a.postWrite(
                        2, A_ADDRESS, 8, slow.aRegion.lkey(), B_ADDRESS, slow.bRegion.rkey(), SIGNALED | fence));
                slow.a.ringSendDoorbell();
                slow.quiesce();
                assertEquals(2, slow.drainA().size());
                assertEquals(
                        fence == 0
                                ? List.of("request", "request", "answer", "answer")
                                : List.of("request", "answer", "request", "answer"),
                        log);
            }
        }
    }

    /** All forms at once, long and short entries mixed, on a wire that loses: each once, in order, all bytes right. */
    @Test
    void longEntriesSurviveALossyWire() {
        for (long seed = 1; seed <= 60; seed++) {
            TestRig.Builder builder = TestRig.builder().depth(64);
            builder.nic.wireFaults(WireFaults.seeded(seed)
                    .loss(0.1)
                    .duplication(0.1)
                    .reordering(0.1)
                    .delayNs(0, 3_000));
            try (TestRig lossy = builder.create()) {
                int lkey = lossy.aRegion.lkey();
                for (int i = 0; i < 30; i++) {
                    TestRig.put(
                            lossy.aMemory, i * 16, "w" + (char) ('a' + i % 26) + "........" + (char) ('A' + i % 26));
                    SgList two = new SgList().add(A_ADDRESS + i * 16L, 2, lkey).add(A_ADDRESS + i * 16L + 10, 1, lkey);
                    long to = B_ADDRESS + i * 64L;
                    int rkey = lossy.bRegion.rkey();
                    String text = "inline data number " + (char) ('a' + i % 26) + " of this run";
                    boolean posted = switch (i % 3) {
                        case 0 -> lossy.a.postWrite(i, two, to, rkey, SIGNALED);
                        case 1 -> lossy.a.postWriteInline(i, bytes(text), to, rkey, SIGNALED);
                        default -> lossy.a.postWrite(i, A_ADDRESS + i * 16L, 3, lkey, to, rkey, SIGNALED);
                    };
                    assertTrue(posted);
                }
                lossy.a.ringSendDoorbell();
                lossy.quiesce();
                List<TestRig.Seen> seen = lossy.drainA();
                assertEquals(30, seen.size(), "seed " + seed);
                for (int i = 0; i < 30; i++) {
                    assertEquals(i, seen.get(i).id(), "seed " + seed);
                    char small = (char) ('a' + i % 26);
                    String expected = switch (i % 3) {
                        case 0 -> "w" + small + (char) ('A' + i % 26);
                        case 1 -> "inline data number " + small + " of this run";
                        default -> "w" + small + ".";
                    };
                    assertEquals(expected.length(), seen.get(i).bytes(), "seed " + seed);
                    assertEquals(
                            expected + "\0",
                            TestRig.get(lossy.bMemory, i * 64, expected.length() + 1),
                            "message " + i + ", seed " + seed);
                }
                assertEquals(64, lossy.a.freeSends());
            }
        }
    }
}
