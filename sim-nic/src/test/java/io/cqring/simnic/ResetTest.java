package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.B_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.testing.FieldBug;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** A queue pair that is reset, or destroyed and made again, starts from nothing. */
class ResetTest {
    private static final int DEPTH = 8;

    /**
     * Stops a connection at a random point (entries posted and not rung, rung and not executed, completed and not
     * polled), resets it, and wants exactly the completions of the next life.
     */
    @Test
    @FieldBug(4)
    void aThousandResetsAtRandomPointsLeaveNothingBehind() {
        long seed = System.nanoTime();
        System.out.println("seed of aThousandResetsAtRandomPointsLeaveNothingBehind: " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        try (TestRig rig = TestRig.builder().depth(DEPTH).cqDepths(16, 16).create()) {
            for (int reset = 0; reset < 1000; reset++) {
                String where = "seed " + seed + ", reset " + reset;
                long base = 1000L * reset;
                // An interrupted life.
                int receives = random.nextInt(DEPTH + 1);
                for (int i = 0; i < receives; i++) {
                    assertTrue(rig.b.postRecv(base + 900 + i, 0, 0, 0), where);
                }
                if (random.nextBoolean()) {
                    rig.b.ringReceiveDoorbell();
                }
                int sends = random.nextInt(DEPTH + 1);
                for (int i = 0; i < sends; i++) {
                    assertTrue(post(rig, base + 800 + i), where);
                    if (random.nextInt(3) == 0) {
                        rig.a.ringSendDoorbell();
                    }
                    if (random.nextInt(3) == 0) {
                        rig.nic.step();
                    }
                }
                if (random.nextInt(4) == 0) {
                    rig.nic.modify(rig.a, QpState.ERR, new QpAttributes());
                    rig.steps(random.nextInt(3));
                }
                // Reset. What was completed may be polled; it belongs to the old life.
                rig.nic.modify(rig.a, QpState.RESET, new QpAttributes());
                rig.nic.modify(rig.b, QpState.RESET, new QpAttributes());
                assertEquals(QpState.RESET, rig.a.state(), where);
                rig.drainA().forEach(seen -> assertTrue(seen.id() >= base + 800 && seen.id() < base + 1000, where));
                rig.drainB().forEach(seen -> assertTrue(seen.id() >= base + 800 && seen.id() < base + 1000, where));
                assertTrue(rig.nic.isIdle(), where);
                // A whole life, two laps and more.
                rig.nic.connect(rig.a, rig.b);
                for (int lap = 0; lap < 2; lap++) {
                    for (int i = 0; i < DEPTH; i++) {
                        assertTrue(rig.b.postRecv(base + 100L * lap + i, 0, 0, 0), where);
                        assertTrue(post(rig, base + 100L * lap + 50 + i), where);
                    }
                    rig.b.ringReceiveDoorbell();
                    rig.a.ringSendDoorbell();
                    rig.quiesce();
                    List<TestRig.Seen> atA = rig.drainA();
                    List<TestRig.Seen> atB = rig.drainB();
                    assertEquals(DEPTH, atA.size(), where);
                    assertEquals(DEPTH, atB.size(), where);
                    for (int i = 0; i < DEPTH; i++) {
                        int counter = lap * DEPTH + i;
                        assertEquals(
                                rig.sent(rig.a, "RC_RDMA_WRITE", base + 100L * lap + 50 + i, counter, 8),
                                atA.get(i),
                                where);
                        assertEquals(
                                rig.receivedImm(rig.b, "RECV_RDMA_IMM", base + 100L * lap + i, counter, 8, 7, rig.a),
                                atB.get(i),
                                where);
                    }
                }
            }
        }
    }

    private static boolean post(TestRig rig, long id) {
        return rig.a.postWriteImm(id, A_ADDRESS, 8, rig.aRegion.lkey(), B_ADDRESS, rig.bRegion.rkey(), 7, SIGNALED);
    }

    @Test
    void aSlotUsedAgainHasANewNumberAndNoHistory() {
        try (SimNic nic = SimNic.builder().maxQueuePairs(1).create()) {
            var domain = nic.allocateProtectionDomain();
            var cq = io.cqring.cq.CompletionQueue.ofCapacity(16).create();
            nic.attach(cq);
            QueuePair old = nic.createQueuePair(domain, cq, cq, DEPTH, DEPTH);
            nic.connect(old, old);
            for (int i = 0; i < 5; i++) {
                assertTrue(old.postWrite(i, 0, 0, 0, 0, 0, SIGNALED));
            }
            old.ringSendDoorbell();
            assertThrows(CommandException.class, () -> nic.createQueuePair(domain, cq, cq, DEPTH, DEPTH));
            int executed = cq.size();
            nic.destroy(old);
            assertThrows(IllegalStateException.class, () -> old.postSend(0, 0, 0, 0, 0));
            assertThrows(CommandException.class, () -> nic.modify(old, QpState.INIT, new QpAttributes()));
            assertThrows(CommandException.class, () -> nic.destroy(old));
            QueuePair fresh = nic.createQueuePair(domain, cq, cq, DEPTH, DEPTH);
            assertNotEquals(old.number(), fresh.number());
            nic.connect(fresh, fresh);
            for (int i = 0; i < 5; i++) { // as many as the old one had rung: the register must change all the same
                assertTrue(fresh.postWrite(100 + i, 0, 0, 0, 0, 0, SIGNALED));
            }
            fresh.ringSendDoorbell();
            while (!nic.isIdle()) {
                nic.step();
            }
            assertEquals(executed + 5, cq.size());
        }
    }
}
