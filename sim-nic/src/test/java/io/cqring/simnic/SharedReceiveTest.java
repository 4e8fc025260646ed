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
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.SharedReceiveQueue;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Receives that several queue pairs share. */
@Timeout(120)
class SharedReceiveTest {
    private final TestRig rig = TestRig.builder().create();
    private final SharedReceiveQueue shared = rig.nic.createSharedReceiveQueue(rig.domain, 8);
    private final QueuePair[] senders = new QueuePair[3];
    private final QueuePair[] receivers = new QueuePair[3];

    @BeforeEach
    void connect() {
        for (int i = 0; i < 3; i++) {
            senders[i] = rig.nic.createQueuePair(rig.domain, rig.aCq, rig.aCq, 16, 16);
            receivers[i] = rig.nic.createQueuePair(QpType.RC, rig.domain, rig.bCq, rig.bCq, 16, shared);
            rig.nic.connect(senders[i], receivers[i], 2);
        }
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private void post(int from, int count) {
        for (int i = from; i < from + count; i++) {
            assertTrue(shared.postRecv(i, B_ADDRESS + 8L * (i % 8), 8, rig.bRegion.lkey()));
        }
        shared.ringDoorbell();
    }

    private void send(int sender, String text) {
        assertTrue(
                senders[sender].postSendInline(0, text.getBytes(java.nio.charset.StandardCharsets.US_ASCII), SIGNALED));
        senders[sender].ringSendDoorbell();
        rig.steps(2);
    }

    private List<String> events() {
        List<String> events = new ArrayList<>();
        rig.nic
                .asynchronousEvents()
                .poll((type, number, subType, syndrome, detail) -> events.add(type + " " + number), 128);
        return events;
    }

    private record Received(long id, int qp, int counter, CompletionStatus status) {}

    private List<Received> drain() {
        List<Received> seen = new ArrayList<>();
        rig.bCq.poll(
                completion -> seen.add(new Received(
                        completion.workRequestId(),
                        completion.qpNumber(),
                        completion.wqeCounter(),
                        completion.status())),
                64);
        return seen;
    }

    @Test
    void receivesAreTakenInOrderWhoeverTakesThem() {
        for (int lap = 0; lap < 3; lap++) {
            post(lap * 8, 8);
            assertFalse(shared.postRecv(0, 0, 0, 0), "full");
            int[] order = {2, 0, 0, 1, 2, 1, 1, 0};
            for (int i = 0; i < 8; i++) {
                send(order[i], "message" + i);
            }
            List<Received> seen = drain();
            assertEquals(8, seen.size());
            for (int i = 0; i < 8; i++) {
                assertEquals(
                        new Received(lap * 8 + i, receivers[order[i]].number(), lap * 8 + i, CompletionStatus.SUCCESS),
                        seen.get(i));
                assertEquals("message" + i, TestRig.get(rig.bMemory, 8 * i, 8));
                assertTrue(shared.retire(seen.get(i).counter()));
            }
        }
        assertEquals(8, shared.free());
    }

    /** Completions reach the host in another order, because they come through several queues. */
    @Test
    @FieldBug(86)
    void slotsComeBackOnlyWithAllBeforeThem() {
        post(0, 8);
        for (int i = 0; i < 8; i++) {
            send(i % 3, "x");
        }
        int[] order = {3, 1, 0, 2, 7, 5, 6, 4};
        int[] free = {0, 0, 2, 4, 4, 4, 4, 8};
        for (int i = 0; i < 8; i++) {
            assertTrue(shared.retire(order[i]));
            assertFalse(shared.retire(order[i]), "twice");
            assertEquals(free[i], shared.free(), "after " + order[i]);
        }
        assertFalse(shared.retire(8), "not posted");
        drain();
    }

    @Test
    void theLimitIsToldOnce() {
        post(0, 6);
        rig.nic.armLimit(shared, 4);
        send(0, "a"); // 5 left
        send(1, "b"); // 4
        assertEquals(List.of(), events());
        send(2, "c"); // 3
        assertEquals(List.of(EventType.SRQ_RQ_LIMIT + " " + shared.number()), events());
        assertEquals(15, EventType.SRQ_RQ_LIMIT.ibvEvent(0));
        send(0, "d");
        assertEquals(List.of(), events(), "one shot");
        rig.nic.armLimit(shared, 4); // below already
        assertEquals(List.of(EventType.SRQ_RQ_LIMIT + " " + shared.number()), events());
        rig.nic.armLimit(shared, 2);
        drain().forEach(seen -> assertTrue(shared.retire(seen.counter())));
        post(6, 4); // 6 again
        send(1, "e");
        assertEquals(List.of(), events());
        rig.nic.armLimit(shared, 0);
        assertThrows(CommandException.class, () -> rig.nic.armLimit(shared, 9));
    }

    @Test
    void aQueuePairInErrorLeavesTheReceivesToTheOthersAndSaysWhenItHasTakenItsLast() {
        post(0, 4);
        send(0, "a");
        rig.nic.modify(receivers[0], QpState.ERR, new QpAttributes());
        rig.quiesce();
        assertEquals(List.of(EventType.SRQ_LAST_WQE + " " + receivers[0].number()), events());
        assertEquals(16, EventType.SRQ_LAST_WQE.ibvEvent(0));
        send(1, "b");
        assertEquals(
                List.of(
                        new Received(0, receivers[0].number(), 0, CompletionStatus.SUCCESS),
                        new Received(1, receivers[1].number(), 1, CompletionStatus.SUCCESS)),
                drain());
        assertThrows(IllegalStateException.class, () -> receivers[1].postRecv(1, 0, 0, 0));
    }

    /** Taken out with their queue pair's completions: the host will not hear of them, so they are free at once. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void purgedReceivesComeBack(boolean reset) {
        post(0, 8);
        for (int sender : new int[] {0, 1, 0, 2}) {
            send(sender, "x");
        }
        int purged = reset ? rig.nic.resetAndPurge(receivers[0]) : rig.nic.destroyAndPurge(receivers[0]);
        assertEquals(2, purged);
        assertEquals(1, shared.free(), "of 0 and 2, which were purged, 0 has nothing before it");
        assertFalse(shared.retire(2), "retired already");
        List<Integer> left = drain().stream().map(Received::counter).toList();
        assertEquals(List.of(1, 3), left);
        left.forEach(counter -> assertTrue(shared.retire(counter)));
        assertEquals(4, shared.free());
        post(8, 4);
        assertEquals(0, shared.free());
    }

    /** The device has taken a receive, and its completion waits for room when the queue pair ends: nobody will hear of it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aReceiveWhoseCompletionIsHeldComesBack(boolean reset) {
        CompletionQueue full = CompletionQueue.ofCapacity(1)
                .overrunPolicy(OverrunPolicy.BACKPRESSURE)
                .create();
        rig.nic.attach(full);
        QueuePair sender = rig.nic.createQueuePair(rig.domain, rig.aCq, rig.aCq, 16, 16);
        QueuePair receiver = rig.nic.createQueuePair(QpType.RC, rig.domain, full, full, 16, shared);
        rig.nic.connect(sender, receiver, 2);
        post(0, 8);
        for (int i = 0; i < 2; i++) {
            assertTrue(sender.postSendInline(i, new byte[] {1}, SIGNALED));
            sender.ringSendDoorbell();
            rig.steps(2);
        }
        assertEquals(1, full.size());
        if (reset) {
            rig.nic.modify(receiver, QpState.RESET, new QpAttributes());
        } else {
            rig.nic.destroy(receiver);
        }
        assertEquals(0, shared.free(), "behind the one whose completion is there");
        assertFalse(shared.retire(1), "retired already");
        assertTrue(shared.retire(0));
        assertEquals(2, shared.free());
    }

    @Test
    void anEmptySharedQueueIsAMissingReceive() {
        assertTrue(senders[0].postSend(1, A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED));
        senders[0].ringSendDoorbell();
        rig.quiesce();
        assertEquals(
                List.of(TestRig.failed(senders[0], "REQ_ERR", CompletionStatus.RNR_RETRY_EXC_ERR, 1, 0)),
                TestRig.drain(rig.aCq, senders[0]));
    }

    @Test
    void itCanBeDestroyedOnceNobodyUsesIt() {
        assertThrows(CommandException.class, () -> rig.nic.destroy(shared));
        for (QueuePair receiver : receivers) {
            rig.nic.destroy(receiver);
        }
        rig.nic.destroy(shared);
        assertThrows(CommandException.class, () -> rig.nic.destroy(shared));
        assertThrows(
                CommandException.class,
                () -> rig.nic.createQueuePair(QpType.RC, rig.domain, rig.bCq, rig.bCq, 16, shared));
    }
}
