package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.B_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionStatus;
import io.cqring.simnic.fault.WireFaults;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.QueuePair;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Connections that lose without a word, and datagrams. */
@Timeout(120)
class UnreliableTest {
    private static final int QKEY = 0x1234;

    private static TestRig rig(WireFaults faults) {
        TestRig.Builder builder = TestRig.builder();
        if (faults != null) {
            builder.nic.wireFaults(faults);
        }
        return builder.create();
    }

    private static QueuePair make(TestRig rig, QpType type, boolean atA) {
        var cq = atA ? rig.aCq : rig.bCq;
        return rig.nic.createQueuePair(type, rig.domain, cq, cq, 64, 64);
    }

    // ---- UC

    @Test
    void whatTheWireLosesIsGoneAndTheRestIsInOrder() {
        for (long seed = 1; seed <= 50; seed++) {
            WireFaults faults = WireFaults.seeded(seed)
                    .loss(0.2)
                    .duplication(0.2)
                    .reordering(0.2)
                    .delayNs(0, 4_000);
            try (TestRig rig = rig(faults)) {
                QueuePair a = make(rig, QpType.UC, true);
                QueuePair b = make(rig, QpType.UC, false);
                rig.nic.connect(a, b);
                for (int i = 0; i < 40; i++) {
                    assertTrue(b.postRecv(i, B_ADDRESS, 64, rig.bRegion.lkey()));
                    assertTrue(a.postSendImm(i, A_ADDRESS, i, rig.aRegion.lkey(), i, SIGNALED));
                }
                b.ringReceiveDoorbell();
                a.ringSendDoorbell();
                rig.quiesce();
                List<TestRig.Seen> sent = TestRig.drain(rig.aCq, a);
                assertEquals(40, sent.size(), "each send is done, seed " + seed);
                List<TestRig.Seen> received = TestRig.drain(rig.bCq, b);
                assertTrue(received.size() < 40 && !received.isEmpty(), "seed " + seed + ": " + received.size());
                int last = -1;
                for (int i = 0; i < received.size(); i++) {
                    assertEquals(i, received.get(i).id(), "seed " + seed);
                    assertTrue(received.get(i).immediate() > last, "order, seed " + seed);
                    last = received.get(i).immediate();
                    assertEquals(last, received.get(i).bytes(), "seed " + seed);
                }
                assertEquals(QpState.RTS, a.state());
                assertEquals(QpState.RTS, b.state());
            }
        }
    }

    @Test
    void aWriteIsCarriedOutAndABadOneIsDroppedInSilence() {
        try (TestRig rig = rig(null)) {
            QueuePair a = make(rig, QpType.UC, true);
            QueuePair b = make(rig, QpType.UC, false);
            rig.nic.connect(a, b);
            TestRig.put(rig.aMemory, 0, "written!");
            int lkey = rig.aRegion.lkey();
            assertTrue(a.postWrite(1, A_ADDRESS, 8, lkey, B_ADDRESS, 0, SIGNALED)); // a bad rkey
            assertTrue(a.postSend(2, A_ADDRESS, 8, lkey, SIGNALED)); // no receive
            assertTrue(a.postWrite(3, A_ADDRESS, 8, lkey, B_ADDRESS + 8, rig.bRegion.rkey(), SIGNALED));
            a.ringSendDoorbell();
            rig.quiesce();
            List<TestRig.Seen> seen = TestRig.drain(rig.aCq, a);
            assertEquals(3, seen.size());
            seen.forEach(one -> assertEquals(CompletionStatus.SUCCESS, one.status()));
            assertEquals("\0\0\0\0\0\0\0\0written!", TestRig.get(rig.bMemory, 0, 16));
            assertEquals(2, rig.nic.counter(DeviceCounter.PACKETS_DROPPED));
            assertEquals(QpState.RTS, b.state());
            assertThrows(IllegalStateException.class, () -> a.postRead(4, 0, 0, 0, 0, 0, 0));
            assertThrows(IllegalStateException.class, () -> a.postFetchAdd(4, 0, 0, 0, 0, 0, 0));
        }
    }

    /** The bytes are the sender's until the send is reported, however slow the wire. */
    @Test
    void aSendIsReportedOnlyWhenItsBytesHaveLeft() {
        try (TestRig rig = rig(WireFaults.seeded(1).delayNs(30_000, 30_000))) {
            QueuePair a = make(rig, QpType.UC, true);
            QueuePair b = make(rig, QpType.UC, false);
            rig.nic.connect(a, b);
            TestRig.put(rig.aMemory, 0, "original");
            assertTrue(a.postWrite(1, A_ADDRESS, 8, rig.aRegion.lkey(), B_ADDRESS, rig.bRegion.rkey(), SIGNALED));
            a.ringSendDoorbell();
            for (int i = 0; rig.aCq.isEmpty(); i++) {
                assertTrue(i < 100);
                rig.nic.step();
            }
            TestRig.put(rig.aMemory, 0, "changed!");
            rig.steps(100);
            assertEquals("original", TestRig.get(rig.bMemory, 0, 8));
        }
    }

    // ---- UD

    @Test
    void aDatagramComesWithAHeaderAndTheSendersNumber() {
        try (TestRig rig = rig(null)) {
            QueuePair a = make(rig, QpType.UD, true);
            QueuePair b = make(rig, QpType.UD, false);
            rig.nic.activate(a, QKEY);
            rig.nic.activate(b, QKEY);
            rig.bMemory.fill(0, 100, (byte) '.');
            TestRig.put(rig.aMemory, 0, "datagram");
            assertTrue(b.postRecv(7, B_ADDRESS, 48, rig.bRegion.lkey()));
            assertTrue(b.postRecv(8, B_ADDRESS + 100, 100, rig.bRegion.lkey()));
            b.ringReceiveDoorbell();
            assertTrue(a.postDatagram(1, A_ADDRESS, 8, rig.aRegion.lkey(), b.number(), QKEY, SIGNALED));
            assertTrue(a.postDatagramImm(2, A_ADDRESS, 3, rig.aRegion.lkey(), b.number(), -1, 99, SIGNALED)); // own key
            a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(
                    List.of(rig.sent(a, "RC_SEND", 1, 0, 8), rig.sent(a, "RC_SEND", 2, 1, 3)),
                    TestRig.drain(rig.aCq, a));
            List<String> seen = new ArrayList<>();
            rig.bCq.poll(
                    completion -> seen.add(completion.workRequestId() + " " + completion.byteCount() + " "
                            + ((completion.flags() & io.cqring.cq.CqeLayout.FLAG_GRH) != 0) + " "
                            + (completion.sourceQp() == a.number()) + " "
                            + completion.hasImmediate() + " " + completion.immediate()),
                    8);
            assertEquals(List.of("7 48 true true false 0", "8 43 true true true 99"), seen);
            assertEquals("datagram..", TestRig.get(rig.bMemory, 40, 10));
            assertEquals("dat", TestRig.get(rig.bMemory, 140, 3));
            byte[] header = new byte[40];
            rig.bMemory.getBytes(0, header, 0, 40);
            assertEquals(0x60, header[0]); // version 6
            assertEquals(8, header[4] << 8 | header[5]); // payload length
            assertEquals(0x1B, header[6]); // next header: InfiniBand transport
            assertEquals((byte) 0xFE, header[8]);
            assertEquals((byte) 0x80, header[9]);
        }
    }

    @Test
    void oneQueuePairSendsToManyAndWrongKeysAreDropped() {
        try (TestRig rig = rig(null)) {
            QueuePair a = make(rig, QpType.UD, true);
            rig.nic.activate(a, QKEY);
            QueuePair[] all = new QueuePair[3];
            for (int i = 0; i < 3; i++) {
                all[i] = make(rig, QpType.UD, false);
                rig.nic.activate(all[i], QKEY + i);
                assertTrue(all[i].postRecv(i, B_ADDRESS, 64, rig.bRegion.lkey()));
                all[i].ringReceiveDoorbell();
            }
            for (int i = 0; i < 3; i++) {
                assertTrue(a.postDatagram(i, A_ADDRESS, 1, rig.aRegion.lkey(), all[i].number(), QKEY, SIGNALED));
            }
            assertTrue(a.postDatagram(3, A_ADDRESS, 1, rig.aRegion.lkey(), all[2].number(), QKEY + 2, SIGNALED));
            assertTrue(a.postDatagram(4, A_ADDRESS, 1, rig.aRegion.lkey(), 0xFF_FFFF, QKEY, SIGNALED)); // nobody
            assertTrue(
                    a.postDatagram(5, A_ADDRESS, 1, rig.aRegion.lkey(), all[0].number(), QKEY, SIGNALED)); // no receive
            assertTrue(
                    a.postDatagram(6, A_ADDRESS, 1, rig.aRegion.lkey(), rig.b.number(), QKEY, SIGNALED)); // an RC one
            a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(7, TestRig.drain(rig.aCq, a).size());
            List<Integer> received = new ArrayList<>();
            rig.bCq.poll(completion -> received.add(completion.qpNumber()), 8);
            assertEquals(List.of(all[0].number(), all[2].number()), received);
            assertEquals(5, rig.nic.counter(DeviceCounter.PACKETS_DROPPED));
            assertEquals(QpState.RTS, a.state());
        }
    }

    @Test
    void aDatagramThatIsTooLongFailsAndStopsTheSends() {
        try (TestRig rig = rig(null)) {
            QueuePair a = make(rig, QpType.UD, true);
            rig.nic.activate(a, QKEY);
            assertTrue(a.postDatagram(1, A_ADDRESS, 4097, rig.aRegion.lkey(), 0, QKEY, SIGNALED));
            assertTrue(a.postDatagram(2, A_ADDRESS, 4096, rig.aRegion.lkey(), 0, QKEY, SIGNALED));
            a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(QpState.SQE, a.state());
            assertEquals(
                    List.of(
                            TestRig.failed(a, "REQ_ERR", CompletionStatus.LOC_LEN_ERR, 1, 0),
                            TestRig.failed(a, "REQ_ERR", CompletionStatus.WR_FLUSH_ERR, 2, 1)),
                    TestRig.drain(rig.aCq, a));
            assertThrows(IllegalStateException.class, () -> a.postSend(3, 0, 0, 0, 0));
            assertThrows(IllegalStateException.class, () -> rig.a.postDatagram(3, 0, 0, 0, 0, 0, 0));
            assertThrows(IllegalArgumentException.class, () -> rig.nic.connect(a, a));
            assertThrows(IllegalArgumentException.class, () -> rig.nic.activate(rig.a, 1));
        }
    }

    /** A receive must have room for the header as well. */
    @Test
    void theHeaderNeedsRoom() {
        try (TestRig rig = rig(null)) {
            QueuePair a = make(rig, QpType.UD, true);
            QueuePair b = make(rig, QpType.UD, false);
            rig.nic.activate(a, QKEY);
            rig.nic.activate(b, QKEY);
            assertTrue(b.postRecv(7, B_ADDRESS, 47, rig.bRegion.lkey()));
            b.ringReceiveDoorbell();
            assertTrue(a.postDatagram(1, A_ADDRESS, 8, rig.aRegion.lkey(), b.number(), QKEY, SIGNALED));
            a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(1, TestRig.drain(rig.aCq, a).size());
            assertEquals(
                    List.of(TestRig.failed(b, "RESP_ERR", CompletionStatus.LOC_LEN_ERR, 7, 0)),
                    TestRig.drain(rig.bCq, b));
        }
    }
}
