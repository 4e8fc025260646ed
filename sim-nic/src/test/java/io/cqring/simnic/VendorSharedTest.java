package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.eq.EventType;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.SharedReceiveQueue;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.testing.FieldBug;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Receives that queue pairs share, and datagrams, with each vendor's queues: what the host sees in the end. */
@Timeout(120)
class VendorSharedTest {
    private static final int SIGNALED = WqeLayout.FLAG_SIGNALED;
    private static final int QKEY = 0x1234;
    private static final long ADDRESS = 0x7000_0000_0000L;
    private static final int SLOT = 128;

    /** Which queues: a vendor's, or the reference layout's. */
    private enum Layout {
        REFERENCE(null),
        MLX5(VendorProfile.MLX5),
        IRDMA(VendorProfile.IRDMA),
        BNXT_RE(VendorProfile.BNXT_RE);

        final VendorProfile profile;

        Layout(VendorProfile profile) {
            this.profile = profile;
        }
    }

    /** What becomes of the next entries; written if nothing is said. */
    private static final class Script extends DeviceFaults {
        final ArrayDeque<Fate> next = new ArrayDeque<>();

        void say(Fate fate, int times) {
            for (int i = 0; i < times; i++) {
                next.add(fate);
            }
        }

        @Override
        public Fate entryFate() {
            return next.isEmpty() ? Fate.WRITTEN : next.remove();
        }
    }

    /** A NIC with queues for senders, queues for receivers and one memory. Both kinds of queue behind the same calls. */
    private static final class Rig implements AutoCloseable {
        final Script script = new Script();
        final SimNic nic = SimNic.builder().maxQueuePairs(64).faults(script).create();
        final ProtectionDomain domain = nic.allocateProtectionDomain();
        final QueueMemory memory = QueueMemory.allocate(8192);
        final MemoryRegion region = nic.registerMemory(domain, ADDRESS, memory, AccessRights.ALL);
        final Layout layout;
        final Object sends;
        final Object receives;
        final Object others;
        private int queues;

        Rig(Layout layout) {
            this.layout = layout;
            sends = queue();
            receives = queue();
            others = queue();
        }

        private Object queue() {
            if (layout.profile == null) {
                final CompletionQueue made = CompletionQueue.ofCapacity(256).create();
                nic.attach(made);
                return made;
            }
            final VendorQueue made = layout.profile.createQueue(256, layout.profile.usualBytes(), ++queues);
            nic.attach(made);
            return made;
        }

        QueuePair make(QpType type, Object cq) {
            return cq instanceof VendorQueue vendor
                    ? nic.createQueuePair(type, domain, vendor, vendor, 64, 64)
                    : nic.createQueuePair(type, domain, (CompletionQueue) cq, (CompletionQueue) cq, 64, 64);
        }

        QueuePair make(QpType type, Object cq, SharedReceiveQueue shared) {
            return cq instanceof VendorQueue vendor
                    ? nic.createQueuePair(type, domain, vendor, vendor, 64, shared)
                    : nic.createQueuePair(type, domain, (CompletionQueue) cq, (CompletionQueue) cq, 64, shared);
        }

        int poll(Object cq, CompletionHandler handler) {
            return cq instanceof VendorQueue vendor
                    ? vendor.poll(handler, 64)
                    : ((CompletionQueue) cq).poll(handler, 64);
        }

        /** The host's part: a vendor's driver has retired the receive, else this does. */
        void retire(SharedReceiveQueue shared, Completion completion) {
            assertEquals(layout.profile == null, shared.retire(completion.wqeCounter()), "retired already");
        }

        List<String> drain(Object cq) {
            final List<String> seen = new ArrayList<>();
            while (poll(cq, completion -> seen.add(completion.workRequestId() + " " + completion.status())) != 0) {
                // until empty
            }
            return seen;
        }

        void send(QueuePair from, String text) {
            assertTrue(from.postSendInline(0, text.getBytes(java.nio.charset.StandardCharsets.US_ASCII), 0));
            from.ringSendDoorbell();
            settle();
        }

        void settle() {
            for (int i = 0; i < 4; i++) {
                nic.step();
            }
        }

        /** Receives with tags from {@code first} on, each with so much room. */
        void post(SharedReceiveQueue shared, int first, int count, int room) {
            for (int i = first; i < first + count; i++) {
                assertTrue(shared.postRecv(i, ADDRESS + SLOT * (i % 8L), room, region.lkey()));
            }
            shared.ringDoorbell();
        }

        List<String> events() {
            final List<String> events = new ArrayList<>();
            nic.asynchronousEvents()
                    .poll((type, number, subType, syndrome, detail) -> events.add(type + " " + number), 128);
            return events;
        }

        @Override
        public void close() {
            nic.close();
        }
    }

    // ---- Shared receive queues

    private record Received(long tag, int qp, int opcode, int counter, long bytes, int immediate) {
        static Received of(Completion completion) {
            return new Received(
                    completion.workRequestId(),
                    completion.qpNumber(),
                    completion.opcode(),
                    completion.wqeCounter(),
                    completion.byteCount(),
                    completion.immediate());
        }
    }

    @ParameterizedTest
    @EnumSource(Layout.class)
    void twoQueuePairsTakeWhatComesNext(Layout layout) {
        try (Rig rig = new Rig(layout)) {
            final SharedReceiveQueue shared = rig.nic.createSharedReceiveQueue(rig.domain, 8);
            final QueuePair[] from = new QueuePair[2];
            final QueuePair[] to = new QueuePair[2];
            for (int i = 0; i < 2; i++) {
                from[i] = rig.make(QpType.RC, rig.sends);
                to[i] = rig.make(QpType.RC, rig.receives, shared);
                rig.nic.connect(from[i], to[i]);
            }
            final int[] order = {1, 0, 0, 1, 1, 1, 0, 0};
            for (int lap = 0; lap < 3; lap++) {
                rig.post(shared, 8 * lap, 8, 64);
                assertFalse(shared.postRecv(0, 0, 0, 0), "full");
                final List<Received> expected = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    final int counter = 8 * lap + i;
                    final QueuePair sender = from[order[i]];
                    final int number = to[order[i]].number();
                    TestRig.put(rig.memory, 4096, "message" + i);
                    final int lkey = rig.region.lkey();
                    if (i % 3 == 0) {
                        assertTrue(sender.postSend(counter, ADDRESS + 4096, 8, lkey, SIGNALED));
                        expected.add(new Received(counter, number, CqeOpcode.RECV, counter, 8, 0));
                    } else if (i % 3 == 1) {
                        assertTrue(sender.postSendImm(counter, ADDRESS + 4096, 8, lkey, ~counter, SIGNALED));
                        expected.add(new Received(counter, number, CqeOpcode.RECV_IMM, counter, 8, ~counter));
                    } else { // the bytes go to the place of the receive, though not by it
                        assertTrue(sender.postWriteImm(
                                counter,
                                ADDRESS + 4096,
                                8,
                                lkey,
                                ADDRESS + (long) SLOT * i,
                                rig.region.rkey(),
                                counter,
                                SIGNALED));
                        expected.add(new Received(counter, number, CqeOpcode.RECV_RDMA_IMM, counter, 8, counter));
                    }
                    sender.ringSendDoorbell();
                    rig.settle();
                    assertEquals("message" + i, TestRig.get(rig.memory, SLOT * i, 8));
                }
                final List<Received> seen = new ArrayList<>();
                rig.poll(rig.receives, completion -> {
                    seen.add(Received.of(completion));
                    rig.retire(shared, completion);
                });
                assertEquals(expected, seen);
                assertEquals(8, shared.free());
                assertEquals(8, rig.drain(rig.sends).size());
                for (QueuePair sender : from) {
                    sender.retireSend((int) sender.sendsPosted() - 1);
                }
            }
        }
    }

    /** The queue pair that fails has taken one receive too many; what it has not taken stays, and it says when it takes no more. */
    @ParameterizedTest
    @EnumSource(Layout.class)
    @FieldBug(80)
    void aFailedQueuePairLeavesTheReceivesToTheOther(Layout layout) {
        try (Rig rig = new Rig(layout)) {
            final SharedReceiveQueue shared = rig.nic.createSharedReceiveQueue(rig.domain, 8);
            final QueuePair a1 = rig.make(QpType.RC, rig.sends);
            final QueuePair a2 = rig.make(QpType.RC, rig.sends);
            final QueuePair b1 = rig.make(QpType.RC, rig.receives, shared);
            final QueuePair b2 = rig.make(QpType.RC, rig.receives, shared);
            rig.nic.connect(a1, b1);
            rig.nic.connect(a2, b2);
            rig.post(shared, 0, 6, 8);
            rig.send(a1, "fits");
            rig.send(a2, "fits");
            assertTrue(a1.postSend(70, ADDRESS, 9, rig.region.lkey(), SIGNALED));
            assertTrue(a1.postSend(71, ADDRESS, 1, rig.region.lkey(), SIGNALED));
            a1.ringSendDoorbell();
            rig.settle();
            rig.send(a2, "fits");
            assertEquals(QpState.ERR, b1.state());
            assertTrue(b1.postSend(80, ADDRESS, 1, rig.region.lkey(), SIGNALED));
            b1.ringSendDoorbell();
            rig.settle();
            assertEquals(
                    List.of(
                            EventType.WQ_INVAL_REQ_ERROR + " " + b1.number(),
                            EventType.SRQ_LAST_WQE + " " + b1.number(),
                            EventType.WQ_CATAS_ERROR + " " + a1.number()),
                    rig.events());
            assertEquals(List.of("70 REM_INV_REQ_ERR", "71 WR_FLUSH_ERR"), rig.drain(rig.sends));
            assertEquals(
                    List.of("0 SUCCESS", "1 SUCCESS", "2 LOC_LEN_ERR", "3 SUCCESS", "80 WR_FLUSH_ERR"),
                    rig.drain(rig.receives));
            rig.send(a2, "fits");
            assertEquals(List.of("4 SUCCESS"), rig.drain(rig.receives), "not flushed");
            assertThrows(IllegalStateException.class, () -> b1.postRecv(9, 0, 0, 0));
            assertEquals(
                    layout.profile == null ? 2 : 7, shared.free(), "one is still posted; a vendor's driver retires");
            // It comes back, and takes what is there.
            rig.nic.modify(a1, QpState.RESET, new QpAttributes());
            rig.nic.modify(b1, QpState.RESET, new QpAttributes());
            rig.nic.connect(a1, b1);
            rig.send(a1, "again");
            assertEquals(List.of("5 SUCCESS"), rig.drain(rig.receives));
        }
    }

    /**
     * Entries of one queue come out of the order of their receives when some are late on their way: eight queue pairs take places 0 to 7, and the
     * entries become visible as 3, 1, 0, 2, 7, 5, 6, 4.
     */
    @ParameterizedTest
    @EnumSource(Layout.class)
    @FieldBug(86)
    void lateEntriesComeOutOfOrder(Layout layout) {
        final int[] order = {3, 1, 0, 2, 7, 5, 6, 4};
        final int[] free = {0, 0, 2, 4, 4, 4, 4, 8};
        try (Rig rig = new Rig(layout)) {
            final SharedReceiveQueue shared = rig.nic.createSharedReceiveQueue(rig.domain, 8);
            final QueuePair[] from = new QueuePair[8];
            final QueuePair[] to = new QueuePair[8];
            for (int i = 0; i < 8; i++) {
                from[i] = rig.make(QpType.RC, rig.sends);
                to[i] = rig.make(QpType.RC, rig.receives, shared);
                rig.nic.connect(from[i], to[i]);
            }
            for (int lap = 0; lap < 3; lap++) {
                rig.post(shared, 8 * lap, 8, 8);
                for (QueuePair sender : from) {
                    assertTrue(sender.postSend(0, ADDRESS + 4096, 8, rig.region.lkey(), 0));
                    sender.ringSendDoorbell();
                }
                rig.script.say(DeviceFaults.Fate.LATER, 16); // when each is taken, and once more in the same pass
                rig.nic.step();
                assertTrue(rig.script.next.isEmpty());
                final List<Integer> held = new ArrayList<>(List.of(0, 1, 2, 3, 4, 5, 6, 7));
                for (int i = 0; i < 8; i++) {
                    final int at = held.indexOf(order[i]);
                    rig.script.say(DeviceFaults.Fate.LATER, at);
                    rig.script.say(DeviceFaults.Fate.WRITTEN, 1);
                    rig.script.say(DeviceFaults.Fate.LATER, held.size() - at - 1);
                    rig.nic.step();
                    assertTrue(rig.script.next.isEmpty());
                    held.remove(at);
                    final int counter = 8 * lap + order[i];
                    final List<Received> seen = new ArrayList<>();
                    rig.poll(rig.receives, completion -> {
                        seen.add(Received.of(completion));
                        rig.retire(shared, completion);
                    });
                    assertEquals(
                            List.of(new Received(counter, to[order[i]].number(), CqeOpcode.RECV, counter, 8, 0)), seen);
                    assertEquals(free[i], shared.free(), "after " + order[i]);
                }
            }
        }
    }

    /** The other cause: queue pairs that share receives complete in two queues, and the host looks into the second first. */
    @ParameterizedTest
    @EnumSource(Layout.class)
    @FieldBug(86)
    void theOrderIsThatInWhichTheHostPolls(Layout layout) {
        try (Rig rig = new Rig(layout)) {
            final SharedReceiveQueue shared = rig.nic.createSharedReceiveQueue(rig.domain, 8);
            final QueuePair a1 = rig.make(QpType.RC, rig.sends);
            final QueuePair a2 = rig.make(QpType.RC, rig.sends);
            rig.nic.connect(a1, rig.make(QpType.RC, rig.receives, shared));
            rig.nic.connect(a2, rig.make(QpType.RC, rig.others, shared));
            for (int lap = 0; lap < 3; lap++) {
                rig.post(shared, 8 * lap, 8, 8);
                for (int i = 0; i < 8; i++) {
                    rig.send((i & 1) == 0 ? a1 : a2, "x");
                }
                for (int odd = 1; odd >= 0; odd--) {
                    final List<Integer> seen = new ArrayList<>();
                    final List<Integer> expected = new ArrayList<>();
                    for (int i = odd; i < 8; i += 2) {
                        expected.add(8 * lap + i);
                    }
                    rig.poll(odd == 1 ? rig.others : rig.receives, completion -> {
                        assertEquals(completion.workRequestId(), completion.wqeCounter());
                        seen.add(completion.wqeCounter());
                        rig.retire(shared, completion);
                    });
                    assertEquals(expected, seen);
                    assertEquals(odd == 1 ? 0 : 8, shared.free());
                }
                a1.retireSend((int) a1.sendsPosted() - 1);
                a2.retireSend((int) a2.sendsPosted() - 1);
            }
        }
    }

    /** Destroyed or reset with entries in the ring: they are nobody's, and the places they stand for come back. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    @FieldBug({74, 75})
    void theReceivesOfADestroyedQueuePairComeBack(VendorProfile profile) {
        try (Rig rig = new Rig(Layout.valueOf(profile.name()))) {
            final SharedReceiveQueue shared = rig.nic.createSharedReceiveQueue(rig.domain, 4);
            final QueuePair a1 = rig.make(QpType.RC, rig.sends);
            final QueuePair a2 = rig.make(QpType.RC, rig.sends);
            final QueuePair b1 = rig.make(QpType.RC, rig.receives, shared);
            final QueuePair b2 = rig.make(QpType.RC, rig.receives, shared);
            rig.nic.connect(a1, b1);
            rig.nic.connect(a2, b2);
            rig.post(shared, 0, 4, 8);
            rig.send(a1, "x");
            rig.send(a2, "x");
            rig.send(a1, "x");
            rig.nic.modify(b1, QpState.RESET, new QpAttributes());
            assertEquals(List.of("1 SUCCESS"), rig.drain(rig.receives));
            assertEquals(3, shared.free());
            rig.nic.modify(a1, QpState.RESET, new QpAttributes());
            rig.nic.connect(a1, b1);
            rig.send(a1, "x");
            rig.nic.destroy(b1);
            assertEquals(4, shared.free());
            assertEquals(List.of(), rig.drain(rig.receives));
            rig.nic.destroy(b2);
            rig.nic.destroy(shared);
        }
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void whatAVendorDoesNotHaveIsRefusedAndNothingIsMade(VendorProfile profile) {
        try (Rig rig = new Rig(Layout.valueOf(profile.name()))) {
            final SharedReceiveQueue large = rig.nic.createSharedReceiveQueue(rig.domain, 1 << 16);
            assertThrows(IllegalArgumentException.class, () -> rig.make(QpType.RC, rig.receives, large));
            if (profile != VendorProfile.MLX5) {
                assertThrows(IllegalArgumentException.class, () -> rig.make(QpType.UC, rig.receives));
            }
            rig.nic.destroy(large);
            rig.nic.freeProtectionDomain(rig.nic.allocateProtectionDomain());
            rig.nic.detach((VendorQueue) rig.receives); // nobody uses it
        }
    }

    // ---- Datagrams

    /** What the host learns of a receive. */
    private static String datagram(Completion completion) {
        return completion.workRequestId() + " " + completion.status() + " " + completion.byteCount() + " from "
                + completion.sourceQp()
                + ((completion.flags() & CqeLayout.FLAG_GRH) != 0 ? " GRH" : "")
                + (completion.hasImmediate() ? " imm " + completion.immediate() : "");
    }

    private static List<String> datagrams(Rig rig) {
        final List<String> seen = new ArrayList<>();
        rig.poll(rig.receives, completion -> seen.add(datagram(completion)));
        return seen;
    }

    @ParameterizedTest
    @EnumSource(Layout.class)
    void aDatagramComesWithAHeaderAndItsSender(Layout layout) {
        for (boolean sharing : new boolean[] {false, true}) {
            try (Rig rig = new Rig(layout)) {
                final SharedReceiveQueue shared = rig.nic.createSharedReceiveQueue(rig.domain, 4);
                final QueuePair a = rig.make(QpType.UD, rig.sends);
                final QueuePair b =
                        sharing ? rig.make(QpType.UD, rig.receives, shared) : rig.make(QpType.UD, rig.receives);
                rig.nic.activate(a, QKEY);
                rig.nic.activate(b, QKEY);
                rig.memory.fill(0, 200, (byte) '.');
                TestRig.put(rig.memory, 4096, "datagram");
                final int lkey = rig.region.lkey();
                for (int i = 0; i < 3; i++) {
                    final int room = i == 2 ? 47 : 100;
                    assertTrue(
                            sharing
                                    ? shared.postRecv(7 + i, ADDRESS + 100L * i, room, lkey)
                                    : b.postRecv(7 + i, ADDRESS + 100L * i, room, lkey));
                }
                if (sharing) {
                    shared.ringDoorbell();
                } else {
                    b.ringReceiveDoorbell();
                }
                assertTrue(a.postDatagram(1, ADDRESS + 4096, 8, lkey, b.number(), QKEY, SIGNALED));
                assertTrue(a.postDatagramImm(2, ADDRESS + 4096, 3, lkey, b.number(), QKEY, 99, SIGNALED));
                assertTrue(a.postDatagram(3, ADDRESS + 4096, 8, lkey, b.number(), QKEY + 1, SIGNALED)); // wrong key
                a.ringSendDoorbell();
                rig.settle();
                assertEquals(List.of("1 SUCCESS", "2 SUCCESS", "3 SUCCESS"), rig.drain(rig.sends));
                assertEquals(
                        List.of(
                                "7 SUCCESS 48 from " + a.number() + " GRH",
                                "8 SUCCESS 43 from " + a.number() + " GRH imm 99"),
                        datagrams(rig));
                final byte[] header = new byte[40];
                rig.memory.getBytes(0, header, 0, 40);
                assertEquals(0x60, header[0], "version 6");
                assertEquals(0x1B, header[6], "next header");
                assertEquals("datagram..", TestRig.get(rig.memory, 40, 10));
                assertEquals("dat", TestRig.get(rig.memory, 140, 3));
                // The header needs room as well.
                assertTrue(a.postDatagram(4, ADDRESS + 4096, 8, lkey, b.number(), QKEY, SIGNALED));
                a.ringSendDoorbell();
                rig.settle();
                assertEquals(List.of("4 SUCCESS"), rig.drain(rig.sends));
                assertEquals(List.of("9 LOC_LEN_ERR"), rig.drain(rig.receives));
                assertEquals(QpState.ERR, b.state());
                assertEquals(
                        sharing, rig.events().contains(EventType.SRQ_LAST_WQE + " " + b.number()), "last of the queue");
            }
        }
    }

    /** A send that fails stops the sends alone. mlx5 and irdma go on from there, bnxt_re's driver knows only the reset. */
    @ParameterizedTest
    @EnumSource(Layout.class)
    void sendsThatFailedGoOnWhereTheDriverKnowsIt(Layout layout) {
        try (Rig rig = new Rig(layout)) {
            final QueuePair a = rig.make(QpType.UD, rig.sends);
            final QueuePair b = rig.make(QpType.UD, rig.receives);
            rig.nic.activate(a, QKEY);
            rig.nic.activate(b, QKEY);
            final int lkey = rig.region.lkey();
            assertTrue(a.postDatagram(1, ADDRESS, 4097, lkey, b.number(), QKEY, SIGNALED));
            assertTrue(a.postDatagram(2, ADDRESS, 8, lkey, b.number(), QKEY, SIGNALED));
            assertTrue(a.postRecv(20, ADDRESS, 64, lkey));
            a.ringReceiveDoorbell();
            a.ringSendDoorbell();
            rig.settle();
            assertEquals(QpState.SQE, a.state());
            assertEquals(List.of("1 LOC_LEN_ERR", "2 WR_FLUSH_ERR"), rig.drain(rig.sends));
            assertTrue(b.postDatagram(3, ADDRESS, 8, lkey, a.number(), QKEY, SIGNALED));
            b.ringSendDoorbell();
            rig.settle();
            assertEquals(List.of("20 SUCCESS"), rig.drain(rig.sends), "receives go on");
            assertEquals(List.of("3 SUCCESS"), rig.drain(rig.receives));
            if (layout == Layout.BNXT_RE) {
                final CommandException refused =
                        assertThrows(CommandException.class, () -> rig.nic.modify(a, QpState.RTS, new QpAttributes()));
                assertEquals(
                        "after a failed send this vendor's queue pairs go on only by RESET: " + a,
                        refused.getMessage());
                assertEquals(QpState.SQE, a.state());
                rig.nic.modify(a, QpState.RESET, new QpAttributes());
                rig.nic.activate(a, QKEY);
            } else {
                rig.nic.modify(a, QpState.RTS, new QpAttributes());
            }
            assertTrue(b.postRecv(30, ADDRESS, 64, lkey));
            b.ringReceiveDoorbell();
            assertTrue(a.postDatagram(4, ADDRESS, 8, lkey, b.number(), QKEY, SIGNALED));
            a.ringSendDoorbell();
            rig.settle();
            assertEquals(List.of("4 SUCCESS"), rig.drain(rig.sends));
            assertEquals(List.of("30 SUCCESS"), rig.drain(rig.receives));
        }
    }

    /** mlx5 alone has unreliable connections. */
    @org.junit.jupiter.api.Test
    void mlx5SendsOverUnreliableConnections() {
        try (Rig rig = new Rig(Layout.MLX5)) {
            final QueuePair a = rig.make(QpType.UC, rig.sends);
            final QueuePair b = rig.make(QpType.UC, rig.receives);
            rig.nic.connect(a, b);
            rig.send(a, "lost"); // no receive
            assertTrue(b.postRecv(20, ADDRESS, 64, rig.region.lkey()));
            b.ringReceiveDoorbell();
            rig.send(a, "found");
            assertEquals(List.of("20 SUCCESS"), rig.drain(rig.receives));
            assertEquals("found", TestRig.get(rig.memory, 0, 5));
        }
    }

    // ---- A thread of its own

    /** Three senders, three receivers on two queues, one shared queue: every tag once, every queue pair's messages in order. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    @FieldBug(86)
    void aDeviceThatRunsLosesAndDoublesNothing(VendorProfile profile) {
        final int messages = 5_000;
        try (Rig rig = new Rig(Layout.valueOf(profile.name()))) {
            final SharedReceiveQueue shared = rig.nic.createSharedReceiveQueue(rig.domain, 256);
            final QueuePair[] from = new QueuePair[3];
            final QueuePair[] to = new QueuePair[3];
            final int[] sent = new int[3];
            final int[] received = new int[3];
            for (int i = 0; i < 3; i++) {
                from[i] = rig.make(QpType.RC, rig.sends);
                to[i] = rig.make(QpType.RC, i == 2 ? rig.others : rig.receives, shared);
                rig.nic.connect(from[i], to[i]);
            }
            rig.nic.start(new BackoffIdleStrategy());
            final BackoffIdleStrategy idle = new BackoffIdleStrategy();
            final BitSet taken = new BitSet();
            final long[] posted = {0};
            final CompletionHandler receiver = completion -> {
                final int counter = completion.wqeCounter();
                assertEquals(3L + 7L * counter, completion.workRequestId());
                assertFalse(taken.get(counter), "twice");
                taken.set(counter);
                for (int i = 0; i < 3; i++) {
                    if (to[i].number() == completion.qpNumber()) {
                        assertEquals(received[i]++, completion.immediate(), "in order");
                    }
                }
            };
            final CompletionHandler sender = completion -> {
                for (QueuePair one : from) {
                    if (one.number() == completion.qpNumber()) {
                        one.retire(completion);
                    }
                }
            };
            while (received[0] + received[1] + received[2] < messages) {
                assertNull(rig.nic.failure());
                assertFalse(Thread.interrupted(), "time is up");
                while (shared.postRecv(3L + 7L * posted[0], ADDRESS, 64, rig.region.lkey())) {
                    posted[0]++;
                }
                shared.ringDoorbell();
                for (int i = 0; i < 3; i++) {
                    while (sent[0] + sent[1] + sent[2] < messages
                            && from[i].freeSends() > 0
                            && from[i].postSendImm(0, ADDRESS, 8, rig.region.lkey(), sent[i], SIGNALED)) {
                        sent[i]++;
                    }
                    from[i].ringSendDoorbell();
                }
                idle.idle(rig.poll(rig.others, receiver)
                        + rig.poll(rig.receives, receiver)
                        + rig.poll(rig.sends, sender));
            }
            assertEquals(messages, taken.cardinality());
            assertEquals(messages, taken.length(), "without a hole");
            assertEquals(256 - (posted[0] - messages), shared.free());
        }
    }
}
