package io.cqring.simnic;

import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.OverrunPolicy;
import io.cqring.eq.EventType;
import io.cqring.notify.Moderation;
import io.cqring.simnic.profile.AsynchronousEvents;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.YieldingIdleStrategy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the device posts when something goes wrong. */
@Timeout(120)
class AsynchronousEventsTest {
    private record Event(EventType type, int number, int syndrome, long detail) {}

    private static List<Event> poll(AsynchronousEvents queue) {
        List<Event> events = new ArrayList<>();
        while (queue.poll(
                        (type, number, subType, syndrome, detail) ->
                                events.add(new Event(type, number, syndrome, detail)),
                        128)
                != 0) {
            // until empty
        }
        return events;
    }

    /** Syndromes as on the wire: 0x13 remote access error, 0x02 local length error, 0x12 remote invalid request. */
    @Test
    void aQueuePairThatFailsIsNamedWithItsCause() {
        try (TestRig rig = TestRig.builder().create()) {
            AsynchronousEvents events = rig.nic.asynchronousEvents();
            assertSame(events, rig.nic.asynchronousEvents());
            assertTrue(rig.a.postWrite(1, TestRig.A_ADDRESS, 8, rig.aRegion.lkey(), 0, 77, SIGNALED)); // a bad rkey
            rig.a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(
                    List.of(
                            new Event(EventType.WQ_ACCESS_ERROR, rig.b.number(), 0x13, 0),
                            new Event(EventType.WQ_CATAS_ERROR, rig.a.number(), 0x13, 0)),
                    poll(events));
        }
        try (TestRig rig = TestRig.builder().create()) {
            assertTrue(rig.b.postRecv(1, TestRig.B_ADDRESS, 4, rig.bRegion.lkey()));
            rig.b.ringReceiveDoorbell();
            assertTrue(rig.a.postSend(1, TestRig.A_ADDRESS, 8, rig.aRegion.lkey(), SIGNALED)); // 8 into 4
            rig.a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(
                    List.of(
                            new Event(EventType.WQ_INVAL_REQ_ERROR, rig.b.number(), 0x02, 0),
                            new Event(EventType.WQ_CATAS_ERROR, rig.a.number(), 0x12, 0)),
                    poll(rig.nic.asynchronousEvents()));
        }
    }

    @Test
    void whatTheHostAskedForIsNoEvent() {
        try (TestRig rig = TestRig.builder().create()) {
            rig.nic.modify(rig.a, QpState.ERR, new QpAttributes());
            rig.steps(5);
            assertEquals(List.of(), poll(rig.nic.asynchronousEvents()));
        }
    }

    @Test
    void anOverrunIsReportedOncePerRunOfLosses() {
        try (EventRig rig = new EventRig(2, 4, OverrunPolicy.DROP_NEW, Moderation.OFF)) {
            for (int run = 0; run < 3; run++) {
                rig.write(1, 0, 7); // 4 fit
                rig.steps(5);
                assertEquals(
                        List.of(new Event(EventType.CQ_ERROR, 1, 1, 0)),
                        poll(rig.nic.asynchronousEvents()),
                        "run " + run);
                assertEquals(4, rig.drain(1).size());
                rig.write(1, 0, 1);
                rig.steps(5);
                assertEquals(1, rig.drain(1).size());
                assertEquals(List.of(), poll(rig.nic.asynchronousEvents()));
            }
            assertEquals(9, rig.nic.counter(DeviceCounter.COMPLETIONS_LOST));
        }
    }

    @Test
    void theDeathOfAQueueIsReportedAndTakesItsQueuePairsWithIt() {
        try (EventRig rig = new EventRig(2, 4, OverrunPolicy.ERROR, Moderation.OFF)) {
            rig.write(1, 0, 9);
            rig.steps(5);
            assertEquals(
                    List.of(
                            new Event(EventType.CQ_ERROR, 1, 1, 1),
                            new Event(EventType.WQ_CATAS_ERROR, rig.pairs[1].number(), 0, 0)),
                    poll(rig.nic.asynchronousEvents()));
        }
    }

    /** The host sleeps on the interrupt; and a queue that it closes does the device no harm. */
    @Test
    void theInterruptWakesAndAClosedQueueIsNoMatter() throws InterruptedException {
        try (EventRig rig = new EventRig(2, 4, OverrunPolicy.ERROR, Moderation.OFF)) {
            AsynchronousEvents events = rig.nic.asynchronousEvents();
            long seen = events.interrupt().count();
            assertFalse(events.arm());
            rig.nic.start(new YieldingIdleStrategy());
            rig.write(0, 0, 5);
            assertTrue(events.interrupt().await(seen, 20_000_000_000L));
            assertEquals(EventType.CQ_ERROR, poll(events).get(0).type());
            events.close();
            rig.write(1, 0, 5);
            while (rig.nic.counter(DeviceCounter.QPS_TO_ERROR) != 2) {
                Thread.onSpinWait();
            }
            assertEquals(null, rig.nic.failure());
        }
    }
}
