package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.OverrunPolicy;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.profile.AsynchronousEvents;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.SharedReceiveQueue;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.agrona.concurrent.YieldingIdleStrategy;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Asynchronous events by their real causes, with the reference profile and the vendors': one host program, and what each profile tells it. */
@Timeout(60)
class AsynchronousProfilesTest {
    private static final int SIGNALED = WqeLayout.FLAG_SIGNALED;
    private static final long ADDRESS = 0x7000_0000_0000L;

    /** The reference profile, then the vendors in their order. */
    enum Profile {
        REFERENCE,
        MLX5,
        IRDMA,
        BNXT_RE;

        SimNic.Builder nic() {
            final SimNic.Builder builder = SimNic.builder().maxQueuePairs(64);
            return this == REFERENCE ? builder : builder.profile(VendorProfile.valueOf(name()));
        }
    }

    /** Two connected queue pairs, each with a completion queue of the profile. */
    private static final class Rig implements AutoCloseable {
        final SimNic nic;
        final ProtectionDomain domain;
        final QueuePair a;
        final QueuePair b;
        final MemoryRegion region;
        private final Object aCq;
        private final Object bCq;

        Rig(Profile profile, int entries, DeviceFaults faults) {
            nic = profile.nic().faults(faults).create();
            domain = nic.allocateProtectionDomain();
            if (profile == Profile.REFERENCE) {
                final CompletionQueue ours = CompletionQueue.ofCapacity(entries)
                        .overrunPolicy(OverrunPolicy.ERROR)
                        .create();
                final CompletionQueue peers = CompletionQueue.ofCapacity(64).create();
                nic.attach(ours);
                nic.attach(peers);
                a = nic.createQueuePair(domain, ours, ours, 64, 64);
                b = nic.createQueuePair(domain, peers, peers, 64, 64);
                aCq = ours;
                bCq = peers;
            } else {
                final VendorProfile vendor = VendorProfile.valueOf(profile.name());
                final VendorQueue ours = vendor.createQueue(entries, vendor.usualBytes(), 11);
                final VendorQueue peers = vendor.createQueue(64, vendor.usualBytes(), 12);
                nic.attach(ours);
                nic.attach(peers);
                a = nic.createQueuePair(domain, ours, ours, 64, 64);
                b = nic.createQueuePair(domain, peers, peers, 64, 64);
                aCq = ours;
                bCq = peers;
            }
            nic.connect(a, b, 1);
            region = nic.registerMemory(domain, ADDRESS, QueueMemory.allocate(4096), AccessRights.ALL);
        }

        private static int poll(Object queue, CompletionHandler handler) {
            return queue instanceof VendorQueue vendor
                    ? vendor.poll(handler, 64)
                    : ((CompletionQueue) queue).poll(handler, 64);
        }

        void settle() {
            for (int i = 0; i < 100_000 && !nic.isIdle(); i++) {
                nic.step();
            }
            assertTrue(nic.isIdle());
        }

        List<String> completions() {
            final List<String> seen = new ArrayList<>();
            poll(aCq, completion -> seen.add("a " + completion.status()));
            poll(bCq, completion -> seen.add("b " + completion.status()));
            return seen;
        }

        private String name(int number) {
            return number == a.number() ? "a" : number == b.number() ? "b" : Integer.toString(number);
        }

        List<String> events() {
            final List<String> seen = new ArrayList<>();
            nic.asynchronousEvents()
                    .poll(
                            (type, number, subType, syndrome, detail) ->
                                    seen.add(String.format("%s %s %x %x", name(number), type, syndrome, detail)),
                            1000);
            return seen;
        }

        void write(int lkey, int rkey) {
            assertTrue(a.postWrite(1, ADDRESS, 8, lkey, ADDRESS, rkey, SIGNALED));
        }

        void sendInto(int room, int lkey) {
            assertTrue(b.postRecv(2, ADDRESS, room, lkey));
            b.ringReceiveDoorbell();
            send();
        }

        void send() {
            assertTrue(a.postSend(1, ADDRESS, 8, region.lkey(), SIGNALED));
        }

        @Override
        public void close() {
            nic.close();
        }
    }

    private static void readWithoutTheRight(Rig rig) {
        rig.nic.modify(rig.a, QpState.SQD, new QpAttributes());
        rig.nic.modify(rig.a, QpState.SQD, new QpAttributes().set(QpAttribute.MAX_READS, 0));
        rig.nic.modify(rig.a, QpState.RTS, new QpAttributes());
        assertTrue(rig.a.postRead(1, 0, 0, 0, 0, 0, SIGNALED));
    }

    private static void flushed(Rig rig) {
        rig.nic.modify(rig.a, QpState.ERR, new QpAttributes());
        rig.send();
    }

    private static void writeToNobody(Rig rig) {
        rig.nic.destroy(rig.b);
        rig.write(rig.region.lkey(), rig.region.rkey());
    }

    /** What is done, the completions, and the events of the four profiles: queue pair, type, syndrome. */
    private record Case(
            Consumer<Rig> cause, String completions, String reference, String mlx5, String irdma, String bnxt) {
        List<String> events(Profile profile) {
            final String events = switch (profile) {
                case REFERENCE -> reference;
                case MLX5 -> mlx5;
                case IRDMA -> irdma;
                case BNXT_RE -> bnxt;
            };
            return events.isEmpty()
                    ? List.of()
                    : Stream.of(events.split(", ")).map(event -> event + " 0").toList();
        }
    }

    /**
     * mlx5 has no room for a syndrome. irdma's driver calls local protection and binding errors access errors, and a receive that is too short
     * catastrophic; bnxt_re's calls time-outs, missing receives and remote operation errors access errors, and what is wrong with a request or a
     * NAK that says so an invalid request.
     */
    private static List<Case> cases() {
        return List.of(
                new Case(
                        rig -> rig.sendInto(7, rig.region.lkey()),
                        "a REM_INV_REQ_ERR, b LOC_LEN_ERR",
                        "b WQ_INVAL_REQ_ERROR 2, a WQ_CATAS_ERROR 12",
                        "b WQ_INVAL_REQ_ERROR 0, a WQ_CATAS_ERROR 0",
                        "b WQ_CATAS_ERROR 2, a WQ_INVAL_REQ_ERROR 12",
                        "b WQ_INVAL_REQ_ERROR 2, a WQ_INVAL_REQ_ERROR 12"),
                new Case(
                        AsynchronousProfilesTest::readWithoutTheRight,
                        "a LOC_QP_OP_ERR",
                        "a WQ_CATAS_ERROR 1",
                        "a WQ_CATAS_ERROR 0",
                        "a WQ_CATAS_ERROR 1",
                        "a WQ_INVAL_REQ_ERROR 1"),
                new Case(
                        rig -> rig.write(rig.region.rkey(), 0),
                        "a LOC_PROT_ERR",
                        "a WQ_CATAS_ERROR 4",
                        "a WQ_CATAS_ERROR 0",
                        "a WQ_ACCESS_ERROR 4",
                        "a WQ_CATAS_ERROR 4"),
                new Case(AsynchronousProfilesTest::flushed, "a WR_FLUSH_ERR", "", "", "", ""),
                new Case(
                        rig -> rig.a.postLocalInvalidate(1, 77, SIGNALED),
                        "a MW_BIND_ERR",
                        "a WQ_CATAS_ERROR 6",
                        "a WQ_CATAS_ERROR 0",
                        "a WQ_ACCESS_ERROR 6",
                        "a WQ_ACCESS_ERROR 6"),
                new Case(
                        rig -> rig.write(rig.region.lkey(), 77),
                        "a REM_ACCESS_ERR",
                        "b WQ_ACCESS_ERROR 13, a WQ_CATAS_ERROR 13",
                        "b WQ_ACCESS_ERROR 0, a WQ_CATAS_ERROR 0",
                        "b WQ_ACCESS_ERROR 13, a WQ_ACCESS_ERROR 13",
                        "b WQ_ACCESS_ERROR 13, a WQ_ACCESS_ERROR 13"),
                new Case(
                        rig -> rig.sendInto(8, 77),
                        "a REM_OP_ERR, b LOC_PROT_ERR",
                        "b WQ_CATAS_ERROR 4, a WQ_CATAS_ERROR 14",
                        "b WQ_CATAS_ERROR 0, a WQ_CATAS_ERROR 0",
                        "b WQ_ACCESS_ERROR 4, a WQ_CATAS_ERROR 14",
                        "b WQ_CATAS_ERROR 4, a WQ_ACCESS_ERROR 14"),
                new Case(
                        AsynchronousProfilesTest::writeToNobody,
                        "a RETRY_EXC_ERR",
                        "a WQ_CATAS_ERROR 15",
                        "a WQ_CATAS_ERROR 0",
                        "a WQ_CATAS_ERROR 15",
                        "a WQ_ACCESS_ERROR 15"),
                new Case(
                        Rig::send,
                        "a RNR_RETRY_EXC_ERR",
                        "a WQ_CATAS_ERROR 16",
                        "a WQ_CATAS_ERROR 0",
                        "a WQ_CATAS_ERROR 16",
                        "a WQ_ACCESS_ERROR 16"));
    }

    static Stream<Arguments> everyStatus() {
        return cases().stream()
                .flatMap(
                        one -> Stream.of(Profile.values()).map(profile -> Arguments.of(profile, one.completions, one)));
    }

    /** In poll, in the counters and in the events; calls that fail in between change nothing. */
    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("everyStatus")
    @FieldBug(80)
    void everyStatusComesThroughUnchanged(Profile profile, String completions, Case one) {
        try (Rig rig = new Rig(profile, 64, DeviceFaults.NONE)) {
            one.cause.accept(rig);
            rig.a.ringSendDoorbell();
            rig.settle();
            assertThrows(CommandException.class, () -> rig.nic.freeProtectionDomain(rig.domain));
            assertThrows(CommandException.class, () -> rig.nic.modify(rig.a, QpState.RTS, new QpAttributes()));
            final List<String> polled = rig.completions();
            assertEquals(List.of(completions.split(", ")), polled);
            assertEquals(one.events(profile), rig.events());
            assertEquals(0, rig.nic.asynchronousEvents().overruns());
            assertEquals(0, rig.nic.asynchronousEvents().untold());
            final int failed = completions.startsWith("a WR_FLUSH") ? 1 : one.reference.split(", ").length;
            assertEquals(failed, rig.nic.counter(DeviceCounter.QPS_TO_ERROR));
            assertEquals(polled.size(), rig.nic.counter(DeviceCounter.COMPLETIONS_WRITTEN));
            assertEquals(polled.contains("a WR_FLUSH_ERR") ? 1 : 0, rig.nic.counter(DeviceCounter.COMPLETIONS_FLUSHED));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aCompletionQueueThatOverrunsIsNamedAndTakesItsQueuePairAlong(Profile profile) {
        try (Rig rig = new Rig(profile, 4, DeviceFaults.NONE)) {
            for (int i = 0; i < 12; i++) {
                rig.a.postWrite(i, 0, 0, 0, 0, 0, SIGNALED);
                rig.a.ringSendDoorbell();
                rig.nic.step(); // one at a time: bnxt_re would merge them
            }
            rig.settle();
            final String number = profile == Profile.REFERENCE ? "0" : "11";
            assertEquals(List.of(number + " CQ_ERROR 1 1", "a WQ_CATAS_ERROR 0 0"), rig.events());
        }
    }

    /** A vendor's device looks at the arm in each pass, and answers one for an event that was there before; ours tells at once, and raises nothing. */
    @ParameterizedTest
    @EnumSource
    void anArmBehindAnEventIsAnswered(Profile profile) {
        try (Rig rig = new Rig(profile, 64, DeviceFaults.NONE)) {
            rig.write(rig.region.rkey(), 0);
            rig.a.ringSendDoorbell();
            rig.settle();
            final AsynchronousEvents events = rig.nic.asynchronousEvents();
            assertEquals(0, events.interrupt().count());
            assertTrue(events.arm());
            rig.nic.step();
            rig.nic.step();
            assertEquals(
                    profile == Profile.REFERENCE ? 0 : 1, events.interrupt().count());
        }
    }

    /** A profile without such an event refuses to promise it. */
    @ParameterizedTest
    @EnumSource
    void aSendQueueThatDrainsIsTold(Profile profile) {
        try (Rig rig = new Rig(profile, 64, DeviceFaults.NONE)) {
            final QpAttributes tell = new QpAttributes().set(QpAttribute.SQD_NOTIFY, 1);
            if (profile == Profile.BNXT_RE) {
                assertTrue(assertThrows(CommandException.class, () -> rig.nic.modify(rig.a, QpState.SQD, tell))
                        .getMessage()
                        .contains("SQD_NOTIFY must be 0"));
                assertEquals(QpState.RTS, rig.a.state());
                rig.nic.modify(rig.a, QpState.SQD, new QpAttributes());
                rig.settle();
                assertEquals(List.of(), rig.events());
            } else {
                rig.nic.modify(rig.a, QpState.SQD, tell);
                rig.nic.step();
                assertEquals(List.of("a SQ_DRAINED 0 0"), rig.events());
            }
            assertEquals(0, rig.nic.asynchronousEvents().untold());
        }
    }

    /** irdma has no code for the last receive of a queue pair; that is counted. */
    @ParameterizedTest
    @EnumSource
    void aSharedReceiveQueueTellsOfItsLimitAndOfTheLastReceive(Profile profile) {
        try (SimNic nic = profile.nic().create()) {
            final ProtectionDomain domain = nic.allocateProtectionDomain();
            final CompletionQueue cq = CompletionQueue.ofCapacity(64).create();
            nic.attach(cq);
            nic.createSharedReceiveQueue(domain, 8);
            final SharedReceiveQueue shared = nic.createSharedReceiveQueue(domain, 8);
            final QueuePair pair = nic.createQueuePair(QpType.RC, domain, cq, cq, 8, shared);
            nic.connect(pair, pair);
            nic.armLimit(shared, 3); // none is posted
            nic.modify(pair, QpState.ERR, new QpAttributes());
            final List<String> events = new ArrayList<>();
            nic.asynchronousEvents()
                    .poll((type, number, subType, syndrome, detail) -> events.add(type + " " + number), 9);
            final String limit = "SRQ_RQ_LIMIT 2";
            final boolean told = profile != Profile.IRDMA;
            assertEquals(told ? List.of(limit, "SRQ_LAST_WQE " + pair.number()) : List.of(limit), events);
            assertEquals(told ? 0 : 1, nic.asynchronousEvents().untold());
        }
    }

    /** The host sleeps, the device runs on its thread, fails queue pairs one after the other, and at last dies. */
    @ParameterizedTest
    @EnumSource
    void theHostSleepsUntilItIsTold(Profile profile) throws InterruptedException {
        final RuntimeException broken = new RuntimeException("injected");
        final DeviceFaults dies = new DeviceFaults() {
            private int written;

            @Override
            public Fate entryFate() {
                if (written++ == 10) {
                    throw broken;
                }
                return Fate.WRITTEN;
            }
        };
        try (Rig rig = new Rig(profile, 64, dies)) {
            final AsynchronousEvents events = rig.nic.asynchronousEvents();
            rig.nic.start(new YieldingIdleStrategy());
            final List<String> end = List.of("0 INTERNAL_ERROR 0 0");
            final List<String> seen = new ArrayList<>();
            for (int failures = 1; failures <= 11; failures++) {
                rig.write(rig.region.rkey(), 0); // not a key of its own
                rig.a.ringSendDoorbell();
                seen.addAll(sleep(rig, events));
                if (failures == 11) {
                    break; // the device is about to die, and takes no command any more
                }
                while (rig.completions().isEmpty()) { // the event comes before the completion
                    assertNull(rig.nic.failure());
                    assertFalse(Thread.interrupted(), "time is up");
                    Thread.onSpinWait();
                }
                rig.nic.modify(rig.a, QpState.RESET, new QpAttributes());
                rig.nic.modify(rig.b, QpState.RESET, new QpAttributes());
                rig.nic.connect(rig.a, rig.b);
            }
            while (!seen.containsAll(end)) {
                seen.addAll(sleep(rig, events));
            }
            assertEquals(
                    12,
                    seen.size(),
                    "one for each failure, the last of which the device did not survive, and one for that");
            assertEquals(end, seen.subList(11, 12));
            assertEquals(broken, rig.nic.failure());
        }
    }

    private static List<String> sleep(Rig rig, AsynchronousEvents events) throws InterruptedException {
        while (true) {
            final long seen = events.interrupt().count();
            final List<String> told = rig.events();
            if (!told.isEmpty()) {
                return told;
            }
            if (!events.arm()) {
                assertTrue(events.interrupt().await(seen, TimeUnit.SECONDS.toNanos(1000)));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aClosedQueueIsNoMatterToTheDevice(Profile profile) {
        try (Rig rig = new Rig(profile, 64, DeviceFaults.NONE)) {
            rig.nic.asynchronousEvents().close();
            rig.write(rig.region.lkey(), 77);
            rig.a.ringSendDoorbell();
            rig.settle();
            assertEquals(List.of("a REM_ACCESS_ERR"), rig.completions());
            assertThrows(IllegalStateException.class, rig::events);
            assertNull(rig.nic.failure());
        }
    }
}
