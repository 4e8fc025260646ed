package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.B_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionStatus;
import io.cqring.simnic.fault.Sabotage;
import io.cqring.simnic.fault.Sabotage.Kind;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Sabotage does what its name says, once, and nothing else: the checks that others test with it rest on this. */
class SabotageTest {
    /** Four sends from a to b, 16 bytes each. What both ends saw, receiver first. */
    private static List<List<TestRig.Seen>> fourSends(TestRig rig) {
        for (int i = 0; i < 4; i++) {
            TestRig.put(rig.aMemory, 16 * i, "payload number " + i);
            assertTrue(rig.b.postRecv(100 + i, B_ADDRESS + 16L * i, 16, rig.bRegion.lkey()));
            assertTrue(rig.a.postSendImm(i, A_ADDRESS + 16L * i, 16, rig.aRegion.lkey(), 70 + i, SIGNALED));
        }
        rig.b.ringReceiveDoorbell();
        rig.a.ringSendDoorbell();
        rig.steps(1); // completions of b are 0 to 3, those of a 4 to 7
        return List.of(rig.drainB(), rig.drainA());
    }

    private static List<TestRig.Seen> received(TestRig rig) {
        List<TestRig.Seen> seen = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            seen.add(rig.receivedImm(rig.b, "RECV_IMM", 100 + i, i, 16, 70 + i, rig.a));
        }
        return seen;
    }

    private static List<TestRig.Seen> sent(TestRig rig) {
        List<TestRig.Seen> seen = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            seen.add(rig.sent(rig.a, "RC_SEND", i, i, 16));
        }
        return seen;
    }

    private static String payload(TestRig rig) {
        return TestRig.get(rig.bMemory, 0, 64);
    }

    private static final String GOOD = "payload number 0payload number 1payload number 2payload number 3";

    @ParameterizedTest
    @EnumSource(Kind.class)
    void itStrikesOnceAndNothingElseChanges(Kind kind) {
        Sabotage sabotage = new Sabotage(kind, 1, 3);
        try (TestRig rig = TestRig.builder().faults(sabotage).create()) {
            assertFalse(sabotage.hasStruck());
            List<List<TestRig.Seen>> seen = fourSends(rig);
            assertTrue(sabotage.hasStruck());
            List<TestRig.Seen> b = received(rig);
            TestRig.Seen struck = b.get(1);
            String payload = GOOD;
            switch (kind) {
                case DROP -> b.remove(1);
                case DUPLICATE -> b.add(1, struck);
                case SWAP -> {
                    b.set(1, b.get(2));
                    b.set(2, struck);
                }
                case CORRUPT_ID -> b.set(1, with(struck, struck.qp(), 101L + (1L << 40), 1, 16, 71));
                case CORRUPT_QP -> b.set(1, with(struck, struck.qp() ^ 1, 101, 1, 16, 71));
                case CORRUPT_COUNTER -> b.set(1, with(struck, struck.qp(), 101, 1 + (1 << 20), 16, 71));
                case CORRUPT_BYTE_COUNT -> b.set(1, with(struck, struck.qp(), 101, 1, 17, 71));
                case CORRUPT_IMMEDIATE -> b.set(1, with(struck, struck.qp(), 101, 1, 16, 70));
                case CORRUPT_STATUS ->
                    b.set(
                            1,
                            new TestRig.Seen(
                                    struck.qp(),
                                    "RECV_IMM",
                                    CompletionStatus.LOC_LEN_ERR,
                                    101,
                                    1,
                                    0,
                                    0,
                                    true,
                                    0,
                                    false));
                case CORRUPT_PAYLOAD -> payload = "payload number 0payload oumber 1" + GOOD.substring(32);
                case LATE_PAYLOAD -> payload = "payload number 0" + "\0".repeat(16) + GOOD.substring(32);
            }
            assertEquals(b, seen.get(0));
            assertEquals(sent(rig), seen.get(1));
            assertEquals(payload, payload(rig));
            rig.steps(2);
            assertEquals(payload, payload(rig));
            rig.steps(1);
            assertEquals(kind == Kind.LATE_PAYLOAD ? GOOD : payload, payload(rig));
            assertEquals(List.of(), rig.drainA());
            assertEquals(List.of(), rig.drainB());
        }
    }

    private static TestRig.Seen with(TestRig.Seen seen, int qp, long id, int counter, long bytes, int immediate) {
        return new TestRig.Seen(
                qp,
                seen.opcode(),
                seen.status(),
                id,
                counter,
                bytes,
                immediate,
                seen.hasImmediate(),
                seen.sourceQp(),
                seen.solicited());
    }

    @Test
    void theSameSeedStrikesAtTheSamePlace() {
        List<String> places = new ArrayList<>();
        for (int seed = 0; seed < 20; seed++) {
            String place = Sabotage.seeded(Kind.DROP, seed, 1000).toString();
            assertEquals(place, Sabotage.seeded(Kind.DROP, seed, 1000).toString());
            places.add(place);
        }
        assertTrue(places.stream().distinct().count() > 15);
    }
}
