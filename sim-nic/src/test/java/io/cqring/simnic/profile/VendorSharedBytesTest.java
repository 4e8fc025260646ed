package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.qp.QpMemory;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.SharedReceiveQueue;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Receives of shared queues and of datagram queue pairs, bytes typed in from the drivers' headers, both ways. */
class VendorSharedBytesTest {
    private static final int QP = 0xC0DE;
    private static final int SOURCE = 0x123456;
    private static final int IMMEDIATE = 0xAABBCCDD;
    private static final long TAG = 0x1122334455667788L;
    private static final long STAMP = 0x0102030405060708L;

    /** In a queue of eight: place 3 on a later lap. */
    private static final int COUNTER = 0x12345B;

    private static final String ZERO = "0000000000000000";

    /** A shared queue with receives posted, their tags from {@code first} on. */
    private static SharedReceiveQueue shared(int depth, long first, int count) {
        final SharedReceiveQueue shared = new SharedReceiveQueue(1, QpMemory.allocate(1, depth));
        for (int i = 0; i < count; i++) {
            assertTrue(shared.postRecv(first + i, 0, 0, 0));
        }
        return shared;
    }

    private static void write(
            VendorWriter writer, int opcode, boolean solicited, int counter, int bytes, int attached) {
        final int flags = opcode == CqeOpcode.RECV ? 0 : CqeLayout.FLAG_IMMEDIATE;
        assertTrue(writer.write(
                CqeLayout.header(opcode, solicited, counter, QP, 0),
                TAG,
                CqeLayout.length(bytes, attached),
                CqeLayout.detail(0, flags, SOURCE),
                STAMP));
    }

    private static void writeTooLong(VendorWriter writer, int counter) {
        assertTrue(writer.write(
                CqeLayout.header(CqeOpcode.RESP_ERR, false, counter, QP, CompletionStatus.LOC_LEN_ERR.syndrome()),
                TAG,
                0,
                0,
                STAMP));
    }

    private static String hex(VendorRing ring, int slot) {
        final byte[] bytes = new byte[ring.strideBytes()];
        ring.memory().getBytes((int) ring.entryAt(slot), bytes, 0, bytes.length);
        return HexFormat.of().formatHex(bytes);
    }

    private static void put(VendorRing ring, int slot, String hex) {
        final byte[] bytes = HexFormat.of().parseHex(hex);
        final QueueMemory memory = ring.memory();
        memory.putBytes((int) ring.entryAt(slot), bytes, 0, bytes.length);
    }

    private static String text(Completion completion) {
        return Long.toHexString(completion.workRequestId()) + " " + CqeOpcode.name(completion.opcode()) + " "
                + completion.status() + " #" + completion.wqeCounter() + " " + completion.byteCount()
                + (completion.hasImmediate() ? " imm " + Integer.toHexString(completion.immediate()) : "")
                + (completion.sourceQp() == 0 ? "" : " from " + Integer.toHexString(completion.sourceQp()))
                + ((completion.flags() & CqeLayout.FLAG_GRH) == 0 ? "" : " GRH");
    }

    private static List<String> poll(VendorQueue queue) {
        final List<String> seen = new ArrayList<>();
        queue.poll(completion -> seen.add(text(completion)), 100);
        return seen;
    }

    // ---- mlx5

    @Test
    void mlx5WritesWhatTheHeaderSays() {
        final Mlx5Queue queue = Mlx5Queue.create(8, 64, 1, false);
        queue.writer().admit(QP, QpType.RC, 8);
        write(queue.writer(), CqeOpcode.RECV_IMM, false, COUNTER, 64, IMMEDIATE);
        writeTooLong(queue.writer(), COUNTER);
        queue.writer().dismiss(QP);
        queue.writer().admit(QP, QpType.UD, 0);
        write(queue.writer(), CqeOpcode.RECV, true, 7, 48, 0);
        assertEquals(
                ZERO + ZERO + ZERO + "0012345600000000" + "0000c0deaabbccdd" + "0000000000000040" + "0102030405060708"
                        + "0000c0de00030030",
                hex(queue.ring(), 0));
        assertEquals(
                ZERO + ZERO + ZERO + ZERO + "0000c0de00000000" + ZERO + "0000000000000001" + "0000c0de000300e0",
                hex(queue.ring(), 1));
        assertEquals( // source LID 1; header present, service level 0; solicited
                ZERO + ZERO + "0000000000000001" + "1012345600000000" + "0000c0de00000000" + "0000000000000030"
                        + "0102030405060708" + "0000c0de00070022",
                hex(queue.ring(), 2));
    }

    @Test
    void mlx5ReadsWhatTheHeaderSays() {
        final Mlx5Queue queue = Mlx5Queue.create(8, 64, 1, false);
        final SharedReceiveQueue shared = shared(8, 0x50, 4);
        queue.register(QP, new Posted(0).sharing(shared));
        final Posted datagrams = new Posted(0).ofDatagrams();
        queue.register(0xBEEF, datagrams);
        datagrams.receives(0x70, 2);
        put(
                queue.ring(),
                0,
                ZERO + ZERO + ZERO + "0012345600000000" + "0000c0deaabbccdd" + "0000000000000040" + ZERO
                        + "0000c0de00030010");
        // Service level 9, header bits 2; a driver takes the byte count as it is, with the header's 40.
        put(
                queue.ring(),
                1,
                ZERO + ZERO + "000000000000abcd" + "2912345600000000" + "0000beef00000000" + "0000000000000030" + ZERO
                        + "0000beef00000020");
        put(
                queue.ring(),
                2,
                ZERO + ZERO + ZERO + "0912345600000000" + "0000beef00000000" + "0000000000000030" + ZERO
                        + "0000beef00010020");
        put(
                queue.ring(),
                3,
                ZERO + ZERO + ZERO + ZERO + "0000c0de00000000" + ZERO + "0000000000000001" + "0000c0de000100e0");
        assertEquals(
                List.of(
                        "53 RECV_RDMA_IMM SUCCESS #3 64 imm aabbccdd from 123456",
                        "70 RECV SUCCESS #0 48 from 123456 GRH",
                        "71 RECV SUCCESS #1 48 from 123456",
                        "51 RESP_ERR LOC_LEN_ERR #1 0"),
                poll(queue));
        assertEquals(4, shared.free(), "neither is the oldest");
        assertTrue(shared.retire(0));
        assertEquals(6, shared.free());
        assertFalse(shared.retire(1), "the driver has done that");
    }

    // ---- irdma

    @Test
    void irdmaWritesWhatTheHeaderSays() {
        final IrdmaQueue queue = IrdmaQueue.create(7, 64, 1);
        queue.writer().admit(QP, QpType.RC, 8);
        write(queue.writer(), CqeOpcode.RECV_RDMA_IMM, true, COUNTER, 64, IMMEDIATE);
        write(queue.writer(), CqeOpcode.RECV, false, COUNTER, 64, 0);
        writeTooLong(queue.writer(), COUNTER);
        assertEquals( // the tag, the place, extended, shared, solicited; operation 0; the queue pair in the second half
                "4000000000000000" + "8877665544332211" + "00000000dec00000" + "0000000003005480" + "ddccbbaa00000000"
                        + "dec0000000000000" + ZERO + "00000000000000c0",
                hex(queue.ring(), 0));
        assertEquals(
                "4000000000000000" + "8877665544332211" + "00000000dec00000" + "00000000030010be" + ZERO
                        + "dec0000000000000" + ZERO + "0000000000000080",
                hex(queue.ring(), 1));
        assertEquals( // major 0xfffe, minor the code of an asynchronous event
                ZERO + "8877665544332211" + "00000000dec00000" + "0303feff030090be" + ZERO + "dec0000000000000" + ZERO
                        + "0000000000000080",
                hex(queue.ring(), 2));
    }

    @Test
    void irdmaWritesDatagramsAsTheHeaderSays() {
        final IrdmaQueue queue = IrdmaQueue.create(4, 32, 1);
        queue.writer().admit(QP, QpType.UD, 0);
        write(queue.writer(), CqeOpcode.RECV_IMM, false, 7, 48, IMMEDIATE);
        write(queue.writer(), CqeOpcode.RECV, false, 8, 40, 0);
        final String context = "dec0000000000000";
        assertEquals("3000000000000000" + context + "56341200dec00000" + "00000000070004bf", hex(queue.ring(), 0));
        assertEquals("ddccbbaa00000000" + ZERO + "0100000000020000" + "00000000000000e0", hex(queue.ring(), 1));
        assertEquals("2800000000000000" + context + "56341200dec00000" + "00000000080004be", hex(queue.ring(), 2));
        assertEquals(ZERO + ZERO + "0100000000020000" + "00000000000000a0", hex(queue.ring(), 3));
        writeTooLong(queue.writer(), 9);
        assertEquals(ZERO + context + "00000000dec00000" + "06000100090080be", hex(queue.ring(), 4), "no address");
    }

    @Test
    void irdmaReadsWhatTheHeaderSays() {
        final IrdmaQueue queue = IrdmaQueue.create(7, 64, 1);
        final SharedReceiveQueue shared = shared(8, 0x50, 4);
        queue.register(QP, new Posted(0).sharing(shared));
        final Posted datagrams = new Posted(0).ofDatagrams();
        queue.register(0xBEEF, datagrams);
        datagrams.receives(0x70, 2);
        // A write with immediate that asked for an event: operation 0x0d, not the last packet's opcode.
        put(
                queue.ring(),
                0,
                "4000000000000000" + "8877665544332211" + "00000000dec00000" + "000000000300148d" + "ddccbbaa00000000"
                        + "dec0000000000000" + ZERO + "00000000000000c0");
        // A datagram over IPv4, which has the bit of an invalidated key, from a VLAN; there is no immediate.
        put(
                queue.ring(),
                1,
                "3000000000000000" + "efbe000000000000" + "56341200efbe0000" + "00000000000024be" + "9999999900000000"
                        + ZERO + "0605040302010500" + "00000000000000b0");
        put(
                queue.ring(),
                2,
                ZERO + "8877665544332211" + "00000000dec00000" + "0801feff010090be" + ZERO + "dec0000000000000" + ZERO
                        + ZERO);
        assertEquals(
                List.of(
                        "1122334455667788 RECV_RDMA_IMM SUCCESS #3 64 imm aabbccdd",
                        "70 RECV SUCCESS #0 48 from 123456 GRH",
                        "1122334455667788 RESP_ERR LOC_PROT_ERR #1 0"),
                poll(queue));
        assertTrue(shared.retire(0));
        assertEquals(6, shared.free(), "places 1 and 3 are free, 2 is not");
    }

    /** The driver's table, from the codes in its header. */
    @Test
    void irdmaEventsStandForFlushes() {
        final int[][] table = {
            {2, 0x102, 0x103, 0x104, 0x105, 0x106, 0x107, 0x108, 0x109, 0x10a, 0x11c},
            {3, 0x112, 0x20d},
            {4, 0x133, 0x20a},
            {5, 0x20e, 0x316, 0x505, 0x507},
            {6, 0x132, 0x134, 0x135, 0x303, 0x305},
            {7, 0x700, 0x703, 0x704, 0x705},
            {8, 0x50a},
            {9, 0x114, 0x118, 0x119, 0x11b},
            {10, 0x208},
            {11, 0x50f}
        };
        final int[] expected = new int[0x1_0000];
        java.util.Arrays.fill(expected, 1);
        for (int[] row : table) {
            for (int i = 1; i < row.length; i++) {
                expected[row[i]] = row[0];
            }
        }
        for (int code = 0; code < expected.length; code++) {
            assertEquals(expected[code], IrdmaCqe.ofEvent(code), Integer.toHexString(code));
        }
        for (CompletionStatus status : CompletionStatus.values()) {
            if (status != CompletionStatus.SUCCESS) {
                assertEquals(IrdmaCqe.minorError(status), IrdmaCqe.ofEvent(IrdmaCqe.event(status)), status.toString());
            }
        }
    }

    // ---- bnxt_re

    @Test
    void bnxtWritesWhatTheHeaderSays() {
        final BnxtQueue queue = BnxtQueue.create(8, 1);
        queue.writer().admit(QP, QpType.RC, 8);
        write(queue.writer(), CqeOpcode.RECV_IMM, false, COUNTER, 64, IMMEDIATE);
        queue.writer().admit(QP, QpType.UD, 8);
        write(queue.writer(), CqeOpcode.RECV_IMM, false, COUNTER, 48, IMMEDIATE);
        writeTooLong(queue.writer(), COUNTER);
        queue.writer().admit(QP, QpType.UD, 0);
        write(queue.writer(), CqeOpcode.RECV, false, COUNTER, 40, 0);
        final String handle = "dec0000000000000";
        assertEquals("40000000ddccbbaa" + handle + ZERO + "0300030003000000", hex(queue.ring(), 0), "shared, imm");
        assertEquals(
                "30000000ddccbbaa" + handle + "0100000000025634" + "0500030003000012", hex(queue.ring(), 1), "type 2");
        assertEquals(ZERO + handle + ZERO + "0502010003000000", hex(queue.ring(), 2), "status 2");
        assertEquals( // 20 bits of the counter: 0x2345b
                "2800000000000000" + handle + "0100000000025634" + "050000005b340212", hex(queue.ring(), 3));
    }

    @Test
    void bnxtReadsWhatTheHeaderSays() {
        final BnxtQueue queue = BnxtQueue.create(8, 1);
        final SharedReceiveQueue shared = shared(8, 0x50, 4);
        queue.register(QP, new Posted(0).sharing(shared));
        final Posted datagrams = new Posted(0).ofDatagrams();
        queue.register(0xBEEF, datagrams);
        datagrams.receives(0x70, 2);
        put(queue.ring(), 0, "40000000ddccbbaa" + "dec0000000000000" + ZERO + "03000b0003000000");
        // Metadata above the 14 bits of the length, IP version 2; the source's high bits where rdma-core's own mask
        // loses some.
        put(queue.ring(), 1, "3040cdab00000000" + "efbe000000000000" + "6655443322115634" + "05002000000000e7");
        put(queue.ring(), 2, ZERO + "dec0000000000000" + ZERO + "0303010001000000");
        assertEquals(
                List.of(
                        "53 RECV_RDMA_IMM SUCCESS #3 64 imm aabbccdd",
                        "70 RECV SUCCESS #0 48 from e73456 GRH",
                        "51 RESP_ERR LOC_PROT_ERR #1 0"),
                poll(queue));
        assertTrue(shared.retire(0));
        assertEquals(6, shared.free(), "places 1 and 3 are free, 2 is not");
    }

    /** Terminal with both indexes: a driver flushes no receives of a queue pair that shares them. */
    @Test
    void aBnxtDriverFlushesNoSharedReceives() {
        final BnxtQueue queue = BnxtQueue.create(8, 1);
        final SharedReceiveQueue shared = shared(8, 0x50, 4);
        final Posted work = new Posted(0).sharing(shared);
        queue.register(QP, work);
        work.sends(0x10, 1).receives(0x20, 1);
        put(queue.ring(), 0, "dec0000000000000" + "0000000000000000" + ZERO + "1d0b000000000000");
        assertEquals(List.of("10 REQ_ERR WR_FLUSH_ERR #0 0"), poll(queue));
        assertEquals(4, shared.free());
    }

    // ---- All of them

    private static List<VendorQueue> each() {
        return List.of(Mlx5Queue.create(16, 64, 1, false), IrdmaQueue.create(16, 64, 1), BnxtQueue.create(16, 1));
    }

    private static void receive(VendorQueue queue, int qp, int counter, long tag) {
        assertTrue(queue.writer().write(CqeLayout.header(CqeOpcode.RECV, false, counter, qp, 0), tag, 0, 0, 0));
    }

    /** Places 0 to 7 of two laps complete as 3, 1, 0, 2, 7, 5, 6, 4; the second lap is posted as far as the first is free. */
    @Test
    @FieldBug(86)
    void tagsGoByThePlaceAndFreeOnesToTheFirstThatIsNot() {
        final int[] order = {3, 1, 0, 2, 7, 5, 6, 4};
        final int[] free = {0, 0, 2, 4, 4, 4, 4, 8};
        for (VendorQueue queue : each()) {
            final SharedReceiveQueue shared = shared(8, 100, 8);
            for (int qp = 1; qp <= 2; qp++) {
                queue.register(qp, new Posted(0).sharing(shared));
                queue.writer().admit(qp, QpType.RC, 8);
            }
            for (int lap = 0; lap < 3; lap++) {
                for (int i = 0; i < 8; i++) {
                    final int counter = 8 * lap + order[i];
                    receive(queue, 1 + (i & 1), counter, 100 + counter);
                    assertEquals(
                            List.of(Integer.toHexString(100 + counter) + " RECV SUCCESS #" + counter + " 0"),
                            poll(queue));
                    assertEquals(free[i], shared.free(), "after " + order[i]);
                }
                for (int i = 0; i < 8; i++) {
                    assertTrue(shared.postRecv(108 + 8 * lap + i, 0, 0, 0));
                }
            }
        }
    }

    /** A device that says the same receive twice: handed on twice, with the tag that is there, and freed once. */
    @Test
    void aReceiveThatComesTwiceIsFreedOnce() {
        for (VendorQueue queue : each()) {
            final SharedReceiveQueue shared = shared(8, 0, 6);
            queue.register(1, new Posted(0).sharing(shared));
            queue.writer().admit(1, QpType.RC, 8);
            for (int counter : new int[] {0, 0, 2, 2}) {
                receive(queue, 1, counter, counter);
            }
            assertEquals(
                    List.of("0 RECV SUCCESS #0 0", "0 RECV SUCCESS #0 0", "2 RECV SUCCESS #2 0", "2 RECV SUCCESS #2 0"),
                    poll(queue));
            assertEquals(3, shared.free(), "two never posted, and the first");
        }
    }

    /** One is decoded and not handed on, one in the ring, one of another queue pair; a place is not lost with its queue pair. */
    @Test
    @FieldBug(75)
    void theReceivesOfAForgottenQueuePairComeBack() {
        for (VendorQueue queue : each()) {
            final SharedReceiveQueue shared = shared(8, 0, 8);
            for (int qp = 1; qp <= 2; qp++) {
                final Posted work = new Posted(0).sharing(shared);
                queue.register(qp, work);
                work.sends(50, 1);
                queue.writer().admit(qp, QpType.RC, 8);
            }
            receive(queue, 1, 1, 1);
            receive(queue, 1, 2, 2);
            assertThrows(
                    IllegalStateException.class,
                    () -> queue.poll(
                            completion -> {
                                throw new IllegalStateException("handler");
                            },
                            2));
            receive(queue, 1, 3, 3);
            receive(queue, 2, 0, 0);
            assertTrue(queue.writer().write(CqeLayout.header(CqeOpcode.RC_SEND, false, 0, 1, 0), 0, 0, 0, 0));
            assertEquals(0, shared.free());
            queue.forget(1);
            assertEquals(0, shared.free(), "the first is the other queue pair's");
            assertEquals(List.of("0 RECV SUCCESS #0 0"), poll(queue));
            assertEquals(4, shared.free());
        }
    }

    @Test
    void whatAVendorDoesNotHaveIsRefused() {
        final SharedReceiveQueue shared = shared(8, 0, 0);
        final SharedReceiveQueue large = shared(1 << 16, 0, 0);
        for (VendorQueue queue : each()) {
            for (QpType type : new QpType[] {QpType.RC, QpType.UD}) {
                queue.requireSupports(type, null);
                queue.requireSupports(type, shared);
                assertEquals(
                        "a shared receive queue must have at most 32768 entries with a vendor's completion queue: 65536",
                        refusal(queue, type, large));
            }
        }
        each().get(0).requireSupports(QpType.UC, shared);
        assertEquals("irdma has no UC queue pairs", refusal(each().get(1), QpType.UC, null));
        assertEquals("bnxt_re has no UC queue pairs", refusal(each().get(2), QpType.UC, null));
        final VendorQueue narrow = IrdmaQueue.create(8, 32, 1);
        narrow.requireSupports(QpType.UD, null);
        assertEquals(
                "irdma has shared receive queues only with slots of 64 bytes: 32", refusal(narrow, QpType.RC, shared));
        assertNull(new Posted(0).sharedReceives());
    }

    private static String refusal(VendorQueue queue, QpType type, SharedReceiveQueue shared) {
        return assertThrows(IllegalArgumentException.class, () -> queue.requireSupports(type, shared))
                .getMessage();
    }
}
