package io.cqring.simnic;

import static io.cqring.simnic.TestRig.A_ADDRESS;
import static io.cqring.simnic.TestRig.B_ADDRESS;
import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionStatus;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every status of the verbs: produced by its real cause, or named with the reason why this device cannot. */
@Timeout(120)
class ErrorCodesTest {
    /** Status, number in ibv_wc_status, syndrome on the wire; then what brings it about. */
    private record Case(CompletionStatus status, int number, int syndrome, Consumer<TestRig> cause) {}

    private static final Map<CompletionStatus, String> IMPOSSIBLE = new EnumMap<>(CompletionStatus.class);

    static {
        IMPOSSIBLE.put(CompletionStatus.LOC_EEC_OP_ERR, "reliable datagrams are not modelled");
        IMPOSSIBLE.put(CompletionStatus.BAD_RESP_ERR, "the responder is this same device and sends no nonsense");
        IMPOSSIBLE.put(CompletionStatus.LOC_ACCESS_ERR, "a write with immediate touches no buffer of its receive");
        IMPOSSIBLE.put(CompletionStatus.LOC_RDD_VIOL_ERR, "reliable datagrams are not modelled");
        IMPOSSIBLE.put(CompletionStatus.REM_INV_RD_REQ_ERR, "reliable datagrams are not modelled");
        IMPOSSIBLE.put(CompletionStatus.REM_ABORT_ERR, "the responder pages nothing in, so it never gives up");
        IMPOSSIBLE.put(CompletionStatus.INV_EECN_ERR, "reliable datagrams are not modelled");
        IMPOSSIBLE.put(CompletionStatus.INV_EEC_STATE_ERR, "reliable datagrams are not modelled");
        IMPOSSIBLE.put(
                CompletionStatus.FATAL_ERR, "a device that has failed writes no completions; SimNic.failure says so");
        IMPOSSIBLE.put(CompletionStatus.RESP_TIMEOUT_ERR, "an answer that is late is asked for again: RETRY_EXC_ERR");
        IMPOSSIBLE.put(CompletionStatus.GENERAL_ERR, "every error of this device has a code of its own");
        IMPOSSIBLE.put(CompletionStatus.TM_ERR, "tag matching is not modelled");
        IMPOSSIBLE.put(CompletionStatus.TM_RNDV_INCOMPLETE, "tag matching is not modelled");
    }

    private static void write(TestRig rig, int lkey, int rkey) {
        assertTrue(rig.a.postWrite(1, A_ADDRESS, 8, lkey, B_ADDRESS, rkey, SIGNALED));
    }

    private static void sendInto(TestRig rig, int room, int lkey) {
        assertTrue(rig.b.postRecv(2, B_ADDRESS, room, lkey));
        rig.b.ringReceiveDoorbell();
        assertTrue(rig.a.postSend(1, A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED));
    }

    private static List<Case> cases() {
        return List.of(
                new Case(CompletionStatus.SUCCESS, 0, 0x00, rig -> write(rig, rig.aRegion.lkey(), rig.bRegion.rkey())),
                new Case(CompletionStatus.LOC_LEN_ERR, 1, 0x02, rig -> sendInto(rig, 7, rig.bRegion.lkey())),
                new Case(CompletionStatus.LOC_QP_OP_ERR, 2, 0x01, rig -> {
                    rig.nic.modify(rig.a, QpState.RESET, new QpAttributes());
                    Connecting.toRts(rig.nic, rig.a, rig.b.number(), 0, 0, 7);
                    rig.nic.modify(rig.a, QpState.SQD, new QpAttributes());
                    rig.nic.modify(
                            rig.a, QpState.SQD, new QpAttributes().set(io.cqring.simnic.qp.QpAttribute.MAX_READS, 0));
                    rig.nic.modify(rig.a, QpState.RTS, new QpAttributes());
                    assertTrue(rig.a.postRead(1, 0, 0, 0, 0, 0, SIGNALED)); // no right to have reads
                }),
                new Case(CompletionStatus.LOC_PROT_ERR, 4, 0x04, rig -> write(rig, rig.aRegion.rkey(), 0)),
                new Case(CompletionStatus.WR_FLUSH_ERR, 5, 0x05, rig -> {
                    rig.nic.modify(rig.a, QpState.ERR, new QpAttributes());
                    write(rig, rig.aRegion.lkey(), rig.bRegion.rkey());
                }),
                new Case(CompletionStatus.MW_BIND_ERR, 6, 0x06, rig -> rig.a.postLocalInvalidate(1, 77, SIGNALED)),
                new Case(CompletionStatus.REM_INV_REQ_ERR, 9, 0x12, rig -> sendInto(rig, 7, rig.bRegion.lkey())),
                new Case(CompletionStatus.REM_ACCESS_ERR, 10, 0x13, rig -> write(rig, rig.aRegion.lkey(), 77)),
                new Case(CompletionStatus.REM_OP_ERR, 11, 0x14, rig -> sendInto(rig, 8, 77)),
                new Case(CompletionStatus.RETRY_EXC_ERR, 12, 0x15, rig -> {
                    rig.nic.destroy(rig.b);
                    write(rig, rig.aRegion.lkey(), rig.bRegion.rkey());
                }),
                new Case(
                        CompletionStatus.RNR_RETRY_EXC_ERR,
                        13,
                        0x16,
                        rig -> assertTrue(rig.a.postSend(1, A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED))));
    }

    private record Written(CompletionStatus status, int syndrome, int vendorError) {}

    @Test
    void eachStatusHasItsCauseAndItsSyndrome() {
        for (Case one : cases()) {
            try (TestRig rig = TestRig.builder().rnrRetry(1).create()) {
                one.cause.accept(rig);
                rig.a.ringSendDoorbell();
                rig.quiesce();
                List<Written> written = new ArrayList<>();
                for (var cq : List.of(rig.aCq, rig.bCq)) {
                    cq.poll(
                            completion -> written.add(
                                    new Written(completion.status(), completion.syndrome(), completion.vendorError())),
                            64);
                }
                // This device has no vendor errors: the syndrome says all there is to say.
                assertTrue(written.contains(new Written(one.status, one.syndrome, 0)), one.status + ": " + written);
                assertEquals(one.number, List.of(CompletionStatus.values()).indexOf(one.status));
                assertEquals(one.syndrome, one.status.syndrome());
            }
        }
    }

    @Test
    void everyStatusIsProducedOrImpossibleForAReason() {
        Set<CompletionStatus> known = EnumSet.noneOf(CompletionStatus.class);
        cases().forEach(one -> assertTrue(known.add(one.status)));
        IMPOSSIBLE.keySet().forEach(status -> assertTrue(known.add(status), status + " is on both lists"));
        assertEquals(EnumSet.allOf(CompletionStatus.class), known);
    }

    @Test
    void everyStatusExplainsItself() {
        Set<String> causes = new HashSet<>();
        for (CompletionStatus status : CompletionStatus.values()) {
            assertTrue(causes.add(status.cause()), status + " has the cause of another");
            assertTrue(status.cause().endsWith("."), status.cause());
            assertTrue(status.remedy().endsWith("."), status.remedy());
        }
        // What seed 000, section 7.2, says of a missing receive: both queues at the receiver may be too short.
        assertTrue(CompletionStatus.RNR_RETRY_EXC_ERR.remedy().contains("receive and completion queue"));
    }
}
