package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.B_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.OverrunPolicy;
import io.cqring.eq.EventType;
import io.cqring.simnic.fault.WireFaults;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Draining, send-queue errors, flushes and purges: what a queue pair does on its way out of RTS, and back. */
@Timeout(120)
class QpLifeTest {
    private static final QpAttributes NOTIFY = new QpAttributes().set(QpAttribute.SQD_NOTIFY, 1);

    private static List<String> events(SimNic nic) {
        List<String> events = new ArrayList<>();
        nic.asynchronousEvents()
                .poll((type, number, subType, syndrome, detail) -> events.add(type + " " + number), 128);
        return events;
    }

    private static boolean write(TestRig rig, long id, int flags) {
        return rig.a.postWrite(id, A_ADDRESS, 8, rig.aRegion.lkey(), B_ADDRESS, rig.bRegion.rkey(), flags);
    }

    private static List<Long> ids(List<TestRig.Seen> seen) {
        return seen.stream().map(TestRig.Seen::id).toList();
    }

    // ---- SQD

    @Test
    void aDrainingQueueFinishesWhatIsOnTheWireAndStartsNothing() {
        TestRig.Builder builder = TestRig.builder();
        builder.nic.wireFaults(WireFaults.seeded(1).delayNs(20_000, 20_000));
        try (TestRig rig = builder.create()) {
            for (int i = 0; i < 20; i++) { // 16 go on the wire in the first turn
                assertTrue(write(rig, i, SIGNALED));
            }
            rig.a.ringSendDoorbell();
            rig.nic.step();
            rig.nic.modify(rig.a, QpState.SQD, NOTIFY);
            rig.steps(10);
            assertEquals(List.of(), events(rig.nic), "answers are still under way");
            assertEquals(List.of(), rig.drainA());
            rig.steps(60);
            assertEquals(List.of(EventType.SQ_DRAINED + " " + rig.a.number()), events(rig.nic));
            assertEquals(16, rig.drainA().size());
            rig.steps(100);
            assertEquals(List.of(), rig.drainA(), "four were not begun");
            assertEquals(List.of(), events(rig.nic), "told once");
            assertFalse(rig.nic.isIdle());
            rig.nic.modify(rig.a, QpState.RTS, new QpAttributes());
            rig.quiesce();
            assertEquals(List.of(16L, 17L, 18L, 19L), ids(rig.drainA()));
        }
    }

    @Test
    void aDrainingQueueSendsAgainWhatWasLost() {
        TestRig.Builder builder = TestRig.builder();
        builder.nic.wireFaults(new WireFaults() {
            private int requests;

            @Override
            public int copies(boolean answer, int sourceQp, int destinationQp, int psn) {
                return !answer && requests++ < 3 ? 0 : 1;
            }

            @Override
            public long delayNs(boolean answer, int sourceQp, int destinationQp, int psn) {
                return 0;
            }
        });
        try (TestRig rig = builder.create()) {
            for (int i = 0; i < 3; i++) {
                assertTrue(write(rig, i, SIGNALED));
            }
            rig.a.ringSendDoorbell();
            rig.nic.step();
            rig.nic.modify(rig.a, QpState.SQD, NOTIFY);
            assertTrue(write(rig, 3, SIGNALED));
            rig.a.ringSendDoorbell();
            rig.steps(3_000); // more than one time-out of 1.05 ms
            assertEquals(List.of(0L, 1L, 2L), ids(rig.drainA()));
            assertEquals(List.of(EventType.SQ_DRAINED + " " + rig.a.number()), events(rig.nic));
        }
    }

    @Test
    void anEmptyQueueHasDrainedAtOnceAndSaysSoOnlyIfAsked() {
        try (TestRig rig = TestRig.builder().create()) {
            rig.nic.modify(rig.a, QpState.SQD, new QpAttributes());
            rig.steps(3);
            assertEquals(List.of(), events(rig.nic));
            rig.nic.modify(rig.a, QpState.RTS, new QpAttributes());
            rig.nic.modify(rig.a, QpState.SQD, NOTIFY);
            rig.steps(3);
            assertEquals(List.of(EventType.SQ_DRAINED + " " + rig.a.number()), events(rig.nic));
            assertEquals(5, EventType.SQ_DRAINED.ibvEvent(0));
            // It still receives.
            assertTrue(rig.b.postWrite(1, 0, 0, 0, 0, 0, SIGNALED));
            rig.b.ringSendDoorbell();
            rig.quiesce();
            assertEquals(List.of(1L), ids(rig.drainB()));
        }
    }

    @Test
    void aQueueThatWaitsForAReceiveIsNotDrained() {
        try (TestRig rig = TestRig.builder().create()) {
            assertTrue(rig.a.postSend(1, A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED));
            rig.a.ringSendDoorbell();
            rig.steps(5);
            rig.nic.modify(rig.a, QpState.SQD, NOTIFY);
            rig.steps(100);
            assertEquals(List.of(), events(rig.nic));
            assertTrue(rig.b.postRecv(2, B_ADDRESS, 8, rig.bRegion.lkey()));
            rig.b.ringReceiveDoorbell();
            rig.steps(30);
            assertEquals(List.of(1L), ids(rig.drainA()));
            assertEquals(List.of(EventType.SQ_DRAINED + " " + rig.a.number()), events(rig.nic));
        }
    }

    // ---- SQE

    private static QueuePair[] unreliable(TestRig rig) {
        QueuePair a = rig.nic.createQueuePair(QpType.UC, rig.domain, rig.aCq, rig.aCq, 16, 16);
        QueuePair b = rig.nic.createQueuePair(QpType.UC, rig.domain, rig.bCq, rig.bCq, 16, 16);
        rig.nic.connect(a, b);
        return new QueuePair[] {a, b};
    }

    @Test
    void aFailedSendOfAnUnreliableQueueStopsOnlyItsSends() {
        try (TestRig rig = TestRig.builder().create()) {
            QueuePair[] uc = unreliable(rig);
            int lkey = rig.aRegion.lkey();
            assertTrue(uc[0].postRecv(90, A_ADDRESS, 8, lkey));
            uc[0].ringReceiveDoorbell();
            assertTrue(uc[0].postWrite(1, A_ADDRESS, 8, lkey, B_ADDRESS, rig.bRegion.rkey(), SIGNALED));
            assertTrue(uc[0].postWrite(2, A_ADDRESS, 8, 0, B_ADDRESS, rig.bRegion.rkey(), SIGNALED)); // a bad lkey
            assertTrue(uc[0].postWrite(3, A_ADDRESS, 8, lkey, B_ADDRESS, rig.bRegion.rkey(), 0));
            uc[0].ringSendDoorbell();
            rig.quiesce();
            assertEquals(QpState.SQE, uc[0].state());
            assertEquals(List.of(), events(rig.nic));
            assertTrue(uc[0].postWrite(4, A_ADDRESS, 8, lkey, B_ADDRESS, rig.bRegion.rkey(), SIGNALED));
            uc[0].ringSendDoorbell();
            rig.quiesce();
            // Receives go on.
            assertTrue(uc[1].postSend(5, B_ADDRESS, 8, rig.bRegion.lkey(), 0));
            uc[1].ringSendDoorbell();
            rig.quiesce();
            assertEquals(
                    List.of(
                            rig.sent(uc[0], "RC_RDMA_WRITE", 1, 0, 8),
                            TestRig.failed(uc[0], "REQ_ERR", CompletionStatus.LOC_PROT_ERR, 2, 1),
                            TestRig.failed(uc[0], "REQ_ERR", CompletionStatus.WR_FLUSH_ERR, 3, 2),
                            TestRig.failed(uc[0], "REQ_ERR", CompletionStatus.WR_FLUSH_ERR, 4, 3),
                            rig.received(uc[0], "RECV", 90, 0, 8, uc[1])),
                    TestRig.drain(rig.aCq, uc[0]));
            // Back to RTS: what is posted from now on is sent, and arrives.
            rig.nic.modify(uc[0], QpState.RTS, new QpAttributes());
            assertTrue(uc[1].postRecv(91, B_ADDRESS, 8, rig.bRegion.lkey()));
            uc[1].ringReceiveDoorbell();
            assertTrue(uc[0].postSend(6, A_ADDRESS, 8, lkey, SIGNALED));
            uc[0].ringSendDoorbell();
            rig.quiesce();
            assertEquals(List.of(rig.sent(uc[0], "RC_SEND", 6, 4, 8)), TestRig.drain(rig.aCq, uc[0]));
            assertEquals(List.of(rig.received(uc[1], "RECV", 91, 0, 8, uc[0])), TestRig.drain(rig.bCq, uc[1]));
        }
    }

    /** The completion queue is full while the sends are flushed, and the host goes back to RTS before it is not. */
    @Test
    void whatWasPostedBeforeTheWayBackIsFlushedHoweverLate() {
        try (TestRig rig = TestRig.builder()
                .policy(OverrunPolicy.BACKPRESSURE)
                .cqDepths(2, 64)
                .create()) {
            QueuePair[] uc = unreliable(rig);
            for (int i = 0; i < 6; i++) {
                assertTrue(uc[0].postWrite(i, A_ADDRESS, 8, 0, B_ADDRESS, rig.bRegion.rkey(), SIGNALED));
            }
            uc[0].ringSendDoorbell();
            rig.steps(10);
            assertEquals(QpState.SQE, uc[0].state());
            rig.nic.modify(uc[0], QpState.RTS, new QpAttributes());
            assertTrue(uc[0].postWrite(6, A_ADDRESS, 8, rig.aRegion.lkey(), B_ADDRESS, rig.bRegion.rkey(), SIGNALED));
            uc[0].ringSendDoorbell();
            List<TestRig.Seen> seen = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                rig.steps(3);
                seen.addAll(TestRig.drain(rig.aCq, uc[0]));
            }
            assertEquals(List.of(0L, 1L, 2L, 3L, 4L, 5L, 6L), ids(seen));
            assertEquals(CompletionStatus.LOC_PROT_ERR, seen.get(0).status());
            for (int i = 1; i < 6; i++) {
                assertEquals(CompletionStatus.WR_FLUSH_ERR, seen.get(i).status());
            }
            assertEquals(CompletionStatus.SUCCESS, seen.get(6).status());
        }
    }

    @Test
    void aReliableQueueNeverGetsToSendQueueError() {
        try (TestRig rig = TestRig.builder().create()) {
            assertThrows(CommandException.class, () -> rig.nic.modify(rig.a, QpState.SQE, new QpAttributes()));
            assertTrue(rig.a.postWrite(1, A_ADDRESS, 8, 0, B_ADDRESS, 0, 0));
            rig.a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(QpState.ERR, rig.a.state());
        }
    }

    // ---- Purge, and numbers used again

    /** Completions A1 B1 A2 B2 wait; A is destroyed: B1 B2, then nothing of A ever, through more than two laps. */
    @Test
    @FieldBug({74, 78})
    void aPurgeTakesTheOldCompletionsAndNoOthers() {
        try (SimNic nic = SimNic.builder().maxQueuePairs(2).create()) {
            var domain = nic.allocateProtectionDomain();
            CompletionQueue cq = CompletionQueue.ofCapacity(8).create();
            nic.attach(cq);
            QueuePair a = nic.createQueuePair(domain, cq, cq, 8, 8);
            QueuePair b = nic.createQueuePair(domain, cq, cq, 8, 8);
            nic.connect(a, a);
            nic.connect(b, b);
            for (int i = 0; i < 2; i++) {
                for (QueuePair queuePair : List.of(a, b)) {
                    assertTrue(queuePair.postWrite(queuePair == a ? 100 + i : 200 + i, 0, 0, 0, 0, 0, SIGNALED));
                    queuePair.ringSendDoorbell();
                    nic.step();
                }
            }
            assertEquals(4, cq.size());
            assertEquals(2, nic.destroyAndPurge(a));
            QueuePair again = nic.createQueuePair(domain, cq, cq, 8, 8); // the same slot
            nic.connect(again, again);
            List<Long> seen = new ArrayList<>();
            for (int lap = 0; lap < 24; lap++) {
                assertTrue(again.postWrite(300 + lap, 0, 0, 0, 0, 0, SIGNALED));
                again.ringSendDoorbell();
                nic.step();
                cq.poll(
                        completion -> {
                            seen.add(completion.workRequestId());
                            (completion.qpNumber() == b.number() ? b : again).retire(completion);
                        },
                        8);
            }
            List<Long> expected = new ArrayList<>(List.of(200L, 201L));
            for (long lap = 0; lap < 24; lap++) {
                expected.add(300 + lap);
            }
            assertEquals(expected, seen);
            assertThrows(CommandException.class, () -> nic.destroyAndPurge(a));
        }
    }

    /** Work is on a slow wire when the queue pair is destroyed and made again with, in the end, the same number. */
    @Test
    @FieldBug(75)
    void lateCompletionsNeverReachTheNextOwnerOfANumber() {
        try (SimNic nic = SimNic.builder()
                .maxQueuePairs(1 << 20) // 15 numbers per slot
                .wireFaults(WireFaults.seeded(3).delayNs(0, 40_000).duplication(0.3))
                .create()) {
            var domain = nic.allocateProtectionDomain();
            CompletionQueue cq = CompletionQueue.ofCapacity(64).create();
            nic.attach(cq);
            int first = -1;
            int sameNumber = 0;
            for (int life = 0; life < 60; life++) {
                QueuePair queuePair = nic.createQueuePair(domain, cq, cq, 8, 8);
                if (first < 0) {
                    first = queuePair.number();
                }
                sameNumber += queuePair.number() == first ? 1 : 0;
                nic.connect(queuePair, queuePair);
                int base = life * 100;
                for (int i = 0; i < 8; i++) {
                    assertTrue(queuePair.postWrite(base + i, 0, 0, 0, 0, 0, SIGNALED));
                }
                queuePair.ringSendDoorbell();
                for (int i = 0; i < 1 + life % 30; i++) {
                    nic.step();
                }
                cq.poll(
                        completion -> {
                            assertEquals(base, completion.workRequestId() / 100 * 100, "of an earlier life");
                            assertEquals(queuePair.number(), completion.qpNumber());
                        },
                        4);
                if (life % 2 == 0) {
                    nic.destroyAndPurge(queuePair);
                } else {
                    nic.resetAndPurge(queuePair);
                    assertEquals(0, cq.size());
                    nic.destroy(queuePair);
                }
                assertEquals(0, cq.size());
            }
            assertEquals(4, sameNumber);
        }
    }

    @Test
    void aQueueOfManyPollersCannotBePurgedAndNothingIsDone() {
        try (SimNic nic = SimNic.builder().create()) {
            var domain = nic.allocateProtectionDomain();
            CompletionQueue cq = CompletionQueue.ofCapacity(8).sharedPollers().create();
            nic.attach(cq);
            QueuePair queuePair = nic.createQueuePair(domain, cq, cq, 8, 8);
            nic.connect(queuePair, queuePair);
            assertThrows(IllegalStateException.class, () -> nic.destroyAndPurge(queuePair));
            assertEquals(QpState.RTS, queuePair.state());
            assertThrows(IllegalStateException.class, () -> nic.resetAndPurge(queuePair));
            assertEquals(QpState.RTS, queuePair.state());
            nic.destroy(queuePair);
        }
    }

    /** Whatever is outstanding, of both queues, signaled or not, is flushed in order, and never before what succeeded. */
    @Test
    void bothQueuesAreFlushedInOrderEachTimeAnErrorComes() {
        for (int before = 0; before < 20; before++) {
            try (TestRig rig = TestRig.builder().create()) {
                for (int i = 0; i < 12; i++) {
                    assertTrue(rig.a.postRecv(500 + i, 0, 0, 0));
                }
                rig.a.ringReceiveDoorbell();
                for (int i = 0; i < 20; i++) {
                    int lkey = i == before ? 0 : rig.aRegion.lkey();
                    assertTrue(rig.a.postWrite(
                            i, A_ADDRESS, 8, lkey, B_ADDRESS, rig.bRegion.rkey(), i % 2 == 0 ? SIGNALED : 0));
                }
                rig.a.ringSendDoorbell();
                rig.quiesce();
                List<TestRig.Seen> expected = new ArrayList<>();
                for (int i = 0; i < 20; i++) {
                    if (i < before) {
                        if (i % 2 == 0) {
                            expected.add(rig.sent(rig.a, "RC_RDMA_WRITE", i, i, 8));
                        }
                    } else {
                        expected.add(TestRig.failed(
                                rig.a,
                                "REQ_ERR",
                                i == before ? CompletionStatus.LOC_PROT_ERR : CompletionStatus.WR_FLUSH_ERR,
                                i,
                                i));
                    }
                }
                for (int i = 0; i < 12; i++) {
                    expected.add(TestRig.failed(rig.a, "RESP_ERR", CompletionStatus.WR_FLUSH_ERR, 500 + i, i));
                }
                assertEquals(expected, rig.drainA());
            }
        }
    }
}
