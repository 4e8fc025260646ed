package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.B_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionStatus;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.fault.WireFaults;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QueuePair;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Compare-and-swap and fetch-and-add. */
@Timeout(120)
class AtomicsTest {
    private final TestRig rig = TestRig.builder().create();

    @AfterEach
    void close() {
        rig.close();
    }

    private void go() {
        rig.a.ringSendDoorbell();
        rig.quiesce();
    }

    private boolean add(long id, long address, int rkey) {
        return rig.a.postFetchAdd(id, A_ADDRESS, rig.aRegion.lkey(), address, rkey, 1, SIGNALED);
    }

    @Test
    void addGivesBackWhatWasThereAndWraps() {
        rig.bMemory.putLong(16, -1);
        rig.bMemory.putLong(24, 77);
        for (int i = 0; i < 3; i++) {
            assertTrue(rig.a.postFetchAdd(
                    i, A_ADDRESS + 8L * i, rig.aRegion.lkey(), B_ADDRESS + 16, rig.bRegion.rkey(), 5, SIGNALED));
        }
        go();
        assertEquals(
                List.of(
                        rig.sent(rig.a, "RC_FETCH_ADD", 0, 0, 8),
                        rig.sent(rig.a, "RC_FETCH_ADD", 1, 1, 8),
                        rig.sent(rig.a, "RC_FETCH_ADD", 2, 2, 8)),
                rig.drainA());
        assertEquals(14, rig.bMemory.getLong(16));
        assertEquals(77, rig.bMemory.getLong(24), "the neighbour");
        assertEquals(-1, rig.aMemory.getLong(0));
        assertEquals(4, rig.aMemory.getLong(8));
        assertEquals(9, rig.aMemory.getLong(16));
        assertEquals(List.of(), rig.drainB());
    }

    @Test
    void swapHappensOnlyIfEqualAndAlwaysTellsWhatWasThere() {
        rig.bMemory.putLong(0, 0x1234_5678_9ABC_DEF0L);
        int lkey = rig.aRegion.lkey();
        int rkey = rig.bRegion.rkey();
        assertTrue(rig.a.postCompareSwap(1, A_ADDRESS, lkey, B_ADDRESS, rkey, 7, 8, SIGNALED));
        assertTrue(
                rig.a.postCompareSwap(2, A_ADDRESS + 8, lkey, B_ADDRESS, rkey, 0x1234_5678_9ABC_DEF0L, -3, SIGNALED));
        assertTrue(rig.a.postCompareSwap(3, A_ADDRESS + 16, lkey, B_ADDRESS, rkey, -3, 9, SIGNALED));
        go();
        assertEquals(3, rig.drainA().size());
        assertEquals(0x1234_5678_9ABC_DEF0L, rig.aMemory.getLong(0));
        assertEquals(0x1234_5678_9ABC_DEF0L, rig.aMemory.getLong(8));
        assertEquals(-3, rig.aMemory.getLong(16));
        assertEquals(9, rig.bMemory.getLong(0));
    }

    @Test
    void anAddressThatIsNotAMultipleOfEightIsAnInvalidRequest() {
        assertTrue(add(1, B_ADDRESS + 4, rig.bRegion.rkey()));
        go();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.REM_INV_REQ_ERR, 1, 0)), rig.drainA());
        assertEquals(QpState.ERR, rig.b.state());
    }

    @Test
    void theRightIsNeeded() {
        MemoryRegion region = rig.nic.registerMemory(
                rig.domain,
                0,
                rig.bMemory,
                AccessRights.LOCAL_WRITE | AccessRights.REMOTE_WRITE | AccessRights.REMOTE_READ);
        assertTrue(add(1, 0, region.rkey()));
        go();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.REM_ACCESS_ERR, 1, 0)), rig.drainA());
        assertEquals(0, rig.bMemory.getLong(0));
        assertThrows(IllegalArgumentException.class, () -> AccessRights.require(AccessRights.REMOTE_ATOMIC));
    }

    @Test
    void theResultNeedsMemoryThatMayBeWritten() {
        MemoryRegion readOnly = rig.nic.registerMemory(rig.domain, 0, rig.aMemory, AccessRights.LOCAL_READ);
        assertTrue(rig.a.postFetchAdd(1, 0, readOnly.lkey(), B_ADDRESS, rig.bRegion.rkey(), 1, SIGNALED));
        go();
        assertEquals(List.of(TestRig.failed(rig.a, "REQ_ERR", CompletionStatus.LOC_PROT_ERR, 1, 0)), rig.drainA());
        assertEquals(0, rig.bMemory.getLong(0));
    }

    /** Several queue pairs count in one word, on a wire that loses and doubles everything: each ticket is drawn once. */
    @Test
    void countersOfManyQueuePairsLoseAndDoubleNothing() {
        for (long seed = 1; seed <= 40; seed++) {
            WireFaults faults = WireFaults.seeded(seed)
                    .loss(0.1)
                    .duplication(0.2)
                    .reordering(0.2)
                    .delayNs(0, 5_000);
            try (SimNic nic = SimNic.builder().wireFaults(faults).create()) {
                var domain = nic.allocateProtectionDomain();
                var cq = io.cqring.cq.CompletionQueue.ofCapacity(512).create();
                nic.attach(cq);
                QueueMemory shared = QueueMemory.allocate(64);
                MemoryRegion target = nic.registerMemory(domain, 0, shared, AccessRights.ALL);
                QueueMemory tickets = QueueMemory.allocate(4 * 64 * 8);
                MemoryRegion results = nic.registerMemory(domain, 0x1000, tickets, AccessRights.ALL);
                QueuePair[] pairs = new QueuePair[8];
                for (int i = 0; i < 8; i++) {
                    pairs[i] = nic.createQueuePair(domain, cq, cq, 64, 64);
                }
                for (int i = 0; i < 4; i++) {
                    nic.connect(pairs[i], pairs[i + 4]);
                    for (int k = 0; k < 64; k++) {
                        long result = 0x1000 + 8L * (64 * i + k);
                        assertTrue(pairs[i].postFetchAdd(k, result, results.lkey(), 8, target.rkey(), 1, SIGNALED));
                    }
                    pairs[i].ringSendDoorbell();
                }
                for (int i = 0; i < 200_000 && !nic.isIdle(); i++) {
                    nic.step();
                }
                long[] drawn = new long[256];
                for (int i = 0; i < 256; i++) {
                    drawn[i] = tickets.getLong(8L * i);
                }
                Arrays.sort(drawn);
                long[] expected = new long[256];
                Arrays.setAll(expected, i -> i);
                assertEquals(256, cq.size(), "seed " + seed);
                assertEquals(256, shared.getLong(8), "seed " + seed);
                assertArrayEquals(expected, drawn, "seed " + seed);
            }
        }
    }
}
