package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionStatus;
import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import io.cqring.notify.Moderation;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.profile.VendorEventQueue;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What fails on the device arrives with the status that the vendor's table gives it, and everything behind it flushed, in order. */
class VendorErrorsTest {
    private static final int SIGNALED = WqeLayout.FLAG_SIGNALED;
    private static final long ADDRESS = 0x7000_0000_0000L;

    private static final class Rig implements AutoCloseable {
        final SimNic nic = SimNic.builder().maxQueuePairs(64).create();
        final VendorQueue aCq;
        final VendorQueue bCq;
        final QueuePair a;
        final QueuePair b;
        final MemoryRegion region;

        Rig(VendorProfile profile, int entries, int rnrRetry) {
            final ProtectionDomain domain = nic.allocateProtectionDomain();
            aCq = profile.createQueue(entries, profile.usualBytes(), 11);
            bCq = profile.createQueue(64, profile.usualBytes(), 12);
            nic.attach(aCq);
            nic.attach(bCq);
            a = nic.createQueuePair(domain, aCq, aCq, 64, 64);
            b = nic.createQueuePair(domain, bCq, bCq, 64, 64);
            nic.connect(a, b, rnrRetry);
            region = nic.registerMemory(domain, ADDRESS, QueueMemory.allocate(4096), AccessRights.ALL);
        }

        void settle() {
            for (int i = 0; i < 1000; i++) {
                nic.step();
            }
        }

        static List<String> poll(VendorQueue queue) {
            final List<String> seen = new ArrayList<>();
            queue.poll(completion -> seen.add(completion.workRequestId() + " " + completion.status()), 1000);
            return seen;
        }

        @Override
        public void close() {
            nic.close();
        }
    }

    private static List<String> firstThenFlushed(CompletionStatus first) {
        return List.of("10 SUCCESS", "11 " + first, "12 WR_FLUSH_ERR", "13 WR_FLUSH_ERR", "20 WR_FLUSH_ERR");
    }

    /** Four sends: the second fails, the third is not signaled. One receive of the sender's. */
    private static void post(Rig rig, int lkey, long length) {
        rig.b.postRecv(30, ADDRESS, 64, rig.region.lkey());
        rig.b.postRecv(31, ADDRESS, 64, rig.region.lkey());
        rig.b.postRecv(32, ADDRESS, 64, rig.region.lkey());
        rig.b.ringReceiveDoorbell();
        rig.a.postRecv(20, ADDRESS, 64, rig.region.lkey());
        rig.a.ringReceiveDoorbell();
        rig.a.postSend(10, ADDRESS, 8, rig.region.lkey(), SIGNALED);
        rig.a.postSend(11, ADDRESS, length, lkey, SIGNALED);
        rig.a.postSend(12, ADDRESS, 8, rig.region.lkey(), 0);
        rig.a.postSend(13, ADDRESS, 8, rig.region.lkey(), SIGNALED);
        rig.a.ringSendDoorbell();
        rig.settle();
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    @FieldBug(80)
    void aWrongLkeyIsALocalProtectionError(VendorProfile profile) {
        try (Rig rig = new Rig(profile, 64, 7)) {
            post(rig, rig.region.lkey() + 1, 8);
            assertEquals(firstThenFlushed(CompletionStatus.LOC_PROT_ERR), Rig.poll(rig.aCq));
            assertEquals(List.of("30 SUCCESS"), Rig.poll(rig.bCq));
        }
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    @FieldBug(80)
    void aReceiveThatIsTooShortIsALengthErrorAndAnInvalidRequest(VendorProfile profile) {
        try (Rig rig = new Rig(profile, 64, 7)) {
            post(rig, rig.region.lkey(), 65);
            assertEquals(firstThenFlushed(CompletionStatus.REM_INV_REQ_ERR), Rig.poll(rig.aCq));
            assertEquals(List.of("30 SUCCESS", "31 LOC_LEN_ERR", "32 WR_FLUSH_ERR"), Rig.poll(rig.bCq));
        }
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    @FieldBug(80)
    void aWrongRkeyIsARemoteAccessError(VendorProfile profile) {
        try (Rig rig = new Rig(profile, 64, 7)) {
            rig.a.postWrite(10, ADDRESS, 8, rig.region.lkey(), ADDRESS, rig.region.rkey() + 1, SIGNALED);
            rig.a.postSend(11, ADDRESS, 8, rig.region.lkey(), 0);
            rig.a.ringSendDoorbell();
            rig.settle();
            assertEquals(List.of("10 REM_ACCESS_ERR", "11 WR_FLUSH_ERR"), Rig.poll(rig.aCq));
            assertEquals(QpState.ERR, rig.b.state());
        }
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    @FieldBug(80)
    void aReceiveThatNeverComesEndsTheRetries(VendorProfile profile) {
        try (Rig rig = new Rig(profile, 64, 2)) {
            rig.a.postSend(10, ADDRESS, 8, rig.region.lkey(), 0);
            rig.a.postSend(11, ADDRESS, 8, rig.region.lkey(), 0);
            rig.a.ringSendDoorbell();
            rig.settle();
            assertEquals(List.of("10 RNR_RETRY_EXC_ERR", "11 WR_FLUSH_ERR"), Rig.poll(rig.aCq));
        }
    }

    /** A receive of a queue pair that is in ERR already; the first that is flushed, then more, then after others succeeded. The host sleeps. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    @FieldBug(80)
    void aReceivePostedInErrorIsFlushedAndWakesTheHost(VendorProfile profile) {
        for (int succeeded = 0; succeeded < 3; succeeded++) {
            try (Rig rig = new Rig(profile, 64, 7)) {
                final VendorEventQueue events = profile.createEventQueue(1, new Interrupt());
                final VendorQueue cq = profile.createQueue(64, profile.usualBytes(), 13);
                rig.nic.attach(cq, events, Moderation.OFF);
                final ProtectionDomain domain = rig.nic.allocateProtectionDomain();
                final QueuePair fails = rig.nic.createQueuePair(domain, cq, cq, 64, 64);
                final QueuePair peer = rig.nic.createQueuePair(domain, rig.bCq, rig.bCq, 64, 64);
                rig.nic.connect(fails, peer);
                for (int i = 0; i < succeeded; i++) {
                    fails.postRecv(50 + i, 0, 0, 0);
                    fails.ringReceiveDoorbell();
                    peer.postSend(60 + i, 0, 0, 0, SIGNALED);
                    peer.ringSendDoorbell();
                    rig.settle();
                    assertEquals(List.of(50 + i + " SUCCESS"), Rig.poll(cq));
                }
                rig.nic.modify(fails, QpState.ERR, new QpAttributes());
                rig.settle();
                assertEquals(List.of(), Rig.poll(cq));
                for (int i = 0; i < 3; i++) {
                    assertFalse(cq.arm(ArmMode.NEXT));
                    rig.settle();
                    assertEquals(0, events.poll((number, toggle) -> {}, 9), "nothing yet");
                    fails.postRecv(20 + i, 0, 0, 0);
                    fails.ringReceiveDoorbell();
                    rig.settle();
                    assertEquals(1, events.poll((number, toggle) -> cq.onEvent(toggle), 9), "receive " + i);
                    assertEquals(List.of(20 + i + " WR_FLUSH_ERR"), Rig.poll(cq));
                    assertEquals(List.of(), Rig.poll(cq));
                }
                fails.postRecv(23, 0, 0, 0);
                fails.postRecv(24, 0, 0, 0);
                fails.ringReceiveDoorbell();
                fails.postSend(10, 0, 0, 0, 0);
                fails.ringSendDoorbell();
                rig.settle();
                final List<String> rest = Rig.poll(cq);
                assertEquals(
                        List.of("10 WR_FLUSH_ERR", "23 WR_FLUSH_ERR", "24 WR_FLUSH_ERR"),
                        rest.stream().sorted().toList());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void anOverrunKillsTheQueueAndItsQueuePairs(VendorProfile profile) {
        try (Rig rig = new Rig(profile, 4, 7)) {
            for (int i = 0; i < 12; i++) {
                rig.a.postWrite(i, 0, 0, 0, 0, 0, SIGNALED);
                rig.a.ringSendDoorbell();
                rig.nic.step(); // one at a time: bnxt_re would merge them
            }
            rig.settle();
            assertTrue(rig.aCq.writer().isDead());
            assertEquals(QpState.ERR, rig.a.state());
            assertEquals(QpState.RTS, rig.b.state());
            final List<String> events = new ArrayList<>();
            rig.nic
                    .asynchronousEvents()
                    .poll((type, number, user, syndrome, detail) -> events.add(type + " " + number), 16);
            assertEquals(EventType.CQ_ERROR + " 11", events.get(0));
            assertTrue(Rig.poll(rig.aCq).size() >= 4, "what was written stays");
        }
    }
}
