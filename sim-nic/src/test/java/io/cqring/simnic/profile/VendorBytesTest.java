package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.qp.WqeOpcode;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Bytes typed in from the vendors' tables, and the rules of arms, resizes and flushes step by step. */
class VendorBytesTest {
    private static final CompletionStatus FLUSHED = CompletionStatus.WR_FLUSH_ERR;

    private static Posted register(VendorQueue queue, int qp) {
        final Posted work = new Posted(0);
        queue.register(qp, work);
        return work;
    }

    private static boolean sent(VendorWriter writer, int qp, int counter) {
        return writer.write(CqeLayout.header(CqeOpcode.RC_SEND, false, counter, qp, 0), 0, 0, 0, 0);
    }

    private static boolean received(VendorWriter writer, int qp, int counter, int opcode, int immediate) {
        return writer.write(CqeLayout.header(opcode, false, counter, qp, 0), 0, CqeLayout.length(64, immediate), 0, 0);
    }

    private static boolean failed(VendorWriter writer, int qp, int counter, boolean ofSend, CompletionStatus status) {
        final int opcode = ofSend ? CqeOpcode.REQ_ERR : CqeOpcode.RESP_ERR;
        return writer.write(CqeLayout.header(opcode, false, counter, qp, status.syndrome()), 0, 0, 0, 0);
    }

    /** Tag and status of all that comes. */
    private static List<String> poll(VendorQueue queue) {
        final List<String> seen = new ArrayList<>();
        queue.poll(completion -> seen.add(completion.workRequestId() + " " + completion.status()), 1000);
        return seen;
    }

    private static String hex(QueueMemory memory, long offset, int length) {
        final byte[] bytes = new byte[length];
        memory.getBytes((int) offset, bytes, 0, length);
        return HexFormat.of().formatHex(bytes);
    }

    // ---- mlx5

    private static QueueMemory mlx5Memory(int depth) {
        return QueueMemory.allocate(Mlx5Queue.requiredBytes(depth, 64));
    }

    /** Consumer record at byte 4096, arm record behind it, doorbell at 0x20: sn 31:28, command 24, index 23:0, queue number. */
    @Test
    void mlx5ArmsAsTheTableSays() {
        final QueueMemory memory = mlx5Memory(8);
        final Mlx5Queue queue = Mlx5Queue.create(memory, 8, 64, 0x123456, (1L << 24) - 1);
        register(queue, 5).sends(0, 10);
        assertEquals("00ffffff", hex(memory, 4096, 4));
        assertFalse(queue.arm(ArmMode.NEXT));
        assertEquals("00ffffff", hex(memory, 4100, 4));
        assertEquals("00ffffff00123456", hex(memory, 0x20, 8));
        final Mlx5Writer writer = queue.writer();
        assertEquals(0, writer.pastArm());
        assertTrue(sent(writer, 5, 0));
        assertEquals(1, writer.pastArm());
        assertTrue(writer.answerArm());
        queue.arm(ArmMode.NEXT); // again with the same number: fired already
        assertEquals(0, writer.pastArm());
        assertFalse(writer.answerArm());
        queue.onEvent(0);
        assertEquals(List.of("0 SUCCESS"), poll(queue));
        assertEquals("00000000", hex(memory, 4096, 4)); // 2^24 is 0
        queue.arm(ArmMode.SOLICITED);
        assertEquals("1100000000123456", hex(memory, 0x20, 8));
        assertTrue(sent(writer, 5, 1));
        assertEquals(0, writer.pastArm(), "neither solicited nor failed");
        assertTrue(failed(writer, 5, 2, true, FLUSHED));
        assertEquals(2, writer.pastArm());
    }

    private static void stage(Mlx5Writer writer, int first, int count) {
        for (int i = 0; i < count; i++) {
            assertTrue(writer.stage(CqeLayout.header(CqeOpcode.RC_SEND, false, first + i, 5, 0), 0, 0, 0, 0));
        }
        writer.flush();
    }

    private static byte[] slot(VendorRing ring, int slot) {
        final byte[] bytes = new byte[64];
        ring.memory().getBytes((int) ring.entryAt(slot), bytes, 0, 64);
        return bytes;
    }

    /** Title at index t, arrays of eight minis at t + 1, t + 8, t + 16; a mini is counter, opcode 0x0a, 0, byte count. */
    @Test
    void mlx5SessionsLieWhereTheTableSays() {
        for (int length : new int[] {2, 8, 9, 17}) {
            for (int before : new int[] {0, 32 - 5, 32 + 3}) { // first lap, across the wrap, second lap
                final int depth = 32;
                final Mlx5Queue queue = Mlx5Queue.create(depth, 64, 1, true);
                register(queue, 5).sends(100, 300);
                final Mlx5Writer writer = queue.writer();
                for (int i = 0; i < before; i++) {
                    assertTrue(sent(writer, 5, i));
                    assertEquals(1, poll(queue).size());
                }
                stage(writer, before, length);
                final VendorRing ring = queue.ring();
                final byte[] title = slot(ring, before % depth);
                assertEquals("%08x".formatted(length), HexFormat.of().formatHex(title, 44, 48), "completions");
                assertEquals("0a000005%04x00".formatted(before), HexFormat.of().formatHex(title, 56, 63));
                assertEquals(0x0c | ((before / depth) & 1), title[63], "opcode 0, format 3, owner");
                for (int mini = 0; mini < length; mini++) {
                    final int array = mini < 8 ? 1 : (mini / 8) * 8;
                    assertEquals(
                            "%04x0a0000000000".formatted(before + mini),
                            HexFormat.of()
                                    .formatHex(
                                            slot(ring, (before + array) % depth), (mini % 8) * 8, (mini % 8) * 8 + 8),
                            length + " from " + before + ", mini " + mini);
                }
                final List<String> expected = new ArrayList<>();
                for (int i = 0; i < length; i++) {
                    expected.add(100 + before + i + " SUCCESS");
                }
                assertEquals(expected, poll(queue));
                for (int index = before; index < before + length; index++) {
                    assertEquals(
                            (byte) (0xf0 | ((index / depth) & 1)), slot(ring, index % depth)[63], "INVALID, owner");
                }
                assertEquals(List.of(), poll(queue));
                for (int i = before + length; i < before + length + 2 * depth; i++) {
                    assertTrue(sent(writer, 5, i));
                    assertEquals(List.of(100 + i + " SUCCESS"), poll(queue), "laps later");
                    assertEquals(List.of(), poll(queue));
                }
            }
        }
    }

    /** Old ring of 4, index 6: A at 6, B at 7, the marker at 8. New ring of 8: A at 7, B at 8, the next at 9. */
    @Test
    void mlx5ResizeMovesEntriesByOne() {
        final QueueMemory memory = mlx5Memory(4);
        final Mlx5Queue queue = Mlx5Queue.create(memory, 4, 64, 1, 6);
        register(queue, 5).sends(10, 9);
        final Mlx5Writer writer = queue.writer();
        assertTrue(sent(writer, 5, 0));
        assertTrue(sent(writer, 5, 1));
        final VendorRing old = queue.ring();
        assertTrue(queue.resize(8, Runnable::run));
        assertEquals(0x50, slot(old, 0)[63], "marker at 8: opcode 5, third lap of 4, owner 0");
        final VendorRing ring = queue.ring();
        assertEquals("00000000" + "00000000", HexFormat.of().formatHex(slot(ring, 7), 48, 56));
        assertEquals("0a000005" + "0000" + "00" + "00", HexFormat.of().formatHex(slot(ring, 7), 56, 64), "A");
        assertEquals("0a000005" + "0001" + "00" + "01", HexFormat.of().formatHex(slot(ring, 0), 56, 64), "B, at 8");
        assertEquals("00000007", hex(memory, 4096, 4));
        assertTrue(sent(writer, 5, 2));
        assertEquals(1, slot(ring, 1)[63], "at 9: second lap of 8");
        assertEquals(List.of("10 SUCCESS", "11 SUCCESS", "12 SUCCESS"), poll(queue));
        assertEquals("0000000a", hex(memory, 4096, 4));
    }

    // ---- irdma

    /** A ring of 4 x 32: after three sends an immediate lies in slots 3 and 0; slot 0's extension has the next lap's polarity, 0. */
    @Test
    void anIrdmaExtensionAcrossTheWrapHasTheOtherPolarity() {
        final IrdmaQueue queue = IrdmaQueue.create(1, 32, 1);
        assertEquals(4, queue.depth());
        register(queue, 5).sends(10, 3).receives(20, 1);
        for (int i = 0; i < 3; i++) {
            assertTrue(sent(queue.writer(), 5, i));
            assertEquals(1, poll(queue).size());
        }
        assertTrue(received(queue.writer(), 5, 0, CqeOpcode.RECV_IMM, 0x11223344));
        final QueueMemory ring = queue.ring().memory();
        assertEquals(
                "4000000000000000" + "0500000000000000" + "0000000005000000" + "00000000000004bf", hex(ring, 96, 32));
        assertEquals(
                "4433221100000000" + "0000000000000000" + "0000000000000000" + "0000000000000040", hex(ring, 0, 32));
        assertEquals(List.of("20 SUCCESS"), poll(queue));
        assertEquals("0100000000000000", hex(queue.shadow(), 0, 8), "head");
    }

    @Test
    void anIrdmaEntryWaitsForItsExtension() {
        final IrdmaQueue queue = IrdmaQueue.create(4, 32, 1);
        register(queue, 5).receives(20, 1);
        final QueueMemory ring = queue.ring().memory();
        put(ring, 0, "4000000000000000" + "0500000000000000" + "0000000005000000" + "00000000000004bf");
        assertEquals(List.of(), poll(queue));
        assertEquals("0000000000000000", hex(queue.shadow(), 0, 8), "head");
        put(ring, 32, "4433221100000000" + "0000000000000000" + "0000000000000000" + "00000000000000c0");
        queue.poll(completion -> assertEquals(0x11223344, completion.immediate()), 1);
        assertEquals("0200000000000000", hex(queue.shadow(), 0, 8), "head");
    }

    private static void put(QueueMemory memory, int offset, String hex) {
        final byte[] bytes = HexFormat.of().parseHex(hex);
        memory.putBytes(offset, bytes, 0, bytes.length);
    }

    /** 13:0 resizes | 14 next | 15 solicited | 17:16 sequence, which counts every arm. Four arms between two looks are an arm still. */
    @Test
    void irdmaArmsAsTheTableSays() {
        final IrdmaQueue queue = IrdmaQueue.create(4, 64, 1);
        register(queue, 5).sends(10, 9);
        queue.arm(ArmMode.SOLICITED);
        assertEquals("0080010000000000", hex(queue.shadow(), 32, 8));
        assertEquals(0, queue.writer().pastArm());
        assertTrue(sent(queue.writer(), 5, 0));
        assertEquals(0, queue.writer().pastArm());
        queue.arm(ArmMode.NEXT);
        assertEquals("00c0020000000000", hex(queue.shadow(), 32, 8));
        assertEquals(1, queue.writer().pastArm());
        assertTrue(queue.writer().answerArm());
        queue.onEvent(0);
        poll(queue);
        for (int i = 0; i < 4; i++) {
            queue.arm(ArmMode.NEXT);
        }
        assertEquals("00c0020000000000", hex(queue.shadow(), 32, 8));
        assertTrue(sent(queue.writer(), 5, 1));
        assertEquals(1, queue.writer().pastArm());
    }

    @Test
    void irdmaDrainsARingBetweenTwoResizesThoughTheLastIsEmpty() {
        final IrdmaQueue queue = IrdmaQueue.create(4, 64, 1);
        register(queue, 5).sends(10, 9);
        assertTrue(queue.resize(8, Runnable::run));
        assertTrue(sent(queue.writer(), 5, 0));
        assertTrue(queue.resize(2, Runnable::run));
        assertEquals(List.of("10 SUCCESS"), poll(queue));
        assertEquals("0100000000000000", hex(queue.shadow(), 32, 8), "one ring is finished");
        assertTrue(sent(queue.writer(), 5, 1));
        assertEquals(List.of("11 SUCCESS"), poll(queue));
        assertEquals("0200000000000000", hex(queue.shadow(), 32, 8), "both are");
    }

    /** The device looks between its own move and the driver's: the old ring's head, 3, says nothing about the new ring. */
    @Test
    void irdmaDoesNotTakeTheOldHeadForTheNewRings() {
        final IrdmaQueue queue = IrdmaQueue.create(7, 64, 1);
        register(queue, 5).sends(10, 40);
        for (int i = 0; i < 3; i++) {
            assertTrue(sent(queue.writer(), 5, i));
        }
        assertEquals(3, poll(queue).size());
        final VendorRing next = queue.prepareResize(7);
        assertTrue(queue.moveDevice(next));
        int written = 0;
        while (queue.writer().hasRoom()) {
            assertTrue(sent(queue.writer(), 5, 3 + written++));
        }
        queue.finishResize(next);
        assertEquals(7, written, "all slots but one");
        assertEquals(7, poll(queue).size());
    }

    // ---- bnxt_re

    /** One entry, consumer index 5, covers five requests of which 1 and 4 are signaled. A limit of one leaves it at the head. */
    @Test
    void aBnxtEntryCoversSeveralRequests() {
        final BnxtQueue queue = BnxtQueue.create(4, 0x1234);
        final Posted work = register(queue, 5);
        for (int i = 0; i < 8; i++) {
            work.send(10 + i, WqeOpcode.WRITE, i == 1 || i == 4);
        }
        assertEquals("0000000034120074", hex(queue.doorbells(), 128, 8), "arm enable: valid, type 7");
        put(
                queue.ring().memory(),
                0,
                "0500000000000000" + "0500000000000000" + "0000000000000000" + "0100000000000000");
        final List<String> seen = new ArrayList<>();
        assertEquals(1, queue.poll(completion -> seen.add(completion.workRequestId() + ""), 1));
        assertEquals("0000000000000000", hex(queue.doorbells(), 0, 8), "still at the head");
        assertTrue(queue.arm(ArmMode.NEXT), "not empty: says so and does not arm");
        assertEquals("0000000000000000", hex(queue.doorbells(), 64, 8));
        assertEquals(1, queue.poll(completion -> seen.add(completion.workRequestId() + ""), 9));
        assertEquals(List.of("11", "14"), seen);
        assertEquals("0100000034120044", hex(queue.doorbells(), 0, 8), "index 1, valid, type 4");
        assertEquals("0000000000000000", hex(queue.ring().memory(), 0, 8), "stale handle");
        assertFalse(queue.arm(ArmMode.NEXT));
        assertEquals("0100000034120064", hex(queue.doorbells(), 64, 8), "type 6");
        assertFalse(queue.arm(ArmMode.SOLICITED));
        assertEquals("0100000034120054", hex(queue.doorbells(), 64, 8), "type 5");
    }

    /** Terminal: send index 2, no receive index. What lies before 2 has succeeded, unsignaled or not; the rest is flushed, later posts too. */
    @Test
    @FieldBug({36, 80})
    void aBnxtDriverFlushesWhatLiesBehindTheTerminalEntry() {
        final BnxtQueue queue = BnxtQueue.create(4, 1);
        final Posted work = register(queue, 5);
        work.send(10, WqeOpcode.SEND, false);
        work.send(11, WqeOpcode.SEND, true);
        work.send(12, WqeOpcode.SEND, false);
        work.send(13, WqeOpcode.SEND, true);
        work.receives(20, 1);
        put(
                queue.ring().memory(),
                0,
                "0500000000000000" + "0200ffff00000000" + "0000000000000000" + "1d0b000000000000");
        assertEquals(List.of("11 SUCCESS", "12 WR_FLUSH_ERR", "13 WR_FLUSH_ERR"), poll(queue));
        assertFalse(queue.arm(ArmMode.NEXT));
        work.sends(14, 1);
        assertTrue(queue.arm(ArmMode.NEXT), "there is one that no entry stands for");
        assertEquals(List.of("14 WR_FLUSH_ERR"), poll(queue));
    }

    @Test
    void theBnxtDeviceSaysHowFarASendQueueHadCome() {
        final BnxtQueue queue = BnxtQueue.create(8, 1);
        final Posted work = register(queue, 5).receives(20, 2);
        for (int i = 0; i < 4; i++) {
            work.send(10 + i, WqeOpcode.SEND, false);
        }
        for (int i = 2; i < 4; i++) {
            assertTrue(failed(queue.writer(), 5, i, true, FLUSHED));
        }
        for (int i = 0; i < 2; i++) {
            assertTrue(failed(queue.writer(), 5, i, false, FLUSHED));
        }
        assertEquals(
                "0500000000000000" + "0200ffff00000000" + "0000000000000000" + "1d0b000000000000",
                hex(queue.ring().memory(), 0, 32));
        assertEquals(
                "0500000000000000" + "ffff000000000000" + "0000000000000000" + "1d0b000000000000",
                hex(queue.ring().memory(), 32, 32));
        assertEquals(List.of("12 WR_FLUSH_ERR", "13 WR_FLUSH_ERR", "20 WR_FLUSH_ERR", "21 WR_FLUSH_ERR"), poll(queue));
        // Reset, and flushed again with nothing between: the device must tell again.
        queue.forget(5);
        register(queue, 5).sends(30, 1).receives(40, 1);
        queue.writer().flush();
        assertTrue(failed(queue.writer(), 5, 0, true, FLUSHED));
        assertTrue(failed(queue.writer(), 5, 0, false, FLUSHED));
        assertEquals(List.of("30 WR_FLUSH_ERR", "40 WR_FLUSH_ERR"), poll(queue));
    }

    /** Head 1 in the old ring, so the epoch turns; the acknowledgement has type 9 and the resize toggle, 1. */
    @Test
    void aBnxtResizeIsCutOffAndAcknowledged() {
        final BnxtQueue queue = BnxtQueue.create(4, 0x1234);
        register(queue, 5).sends(10, 9);
        assertTrue(sent(queue.writer(), 5, 0));
        assertEquals(1, poll(queue).size());
        assertTrue(sent(queue.writer(), 5, 1));
        final QueueMemory old = queue.ring().memory();
        assertTrue(queue.resize(2, Runnable::run));
        assertEquals("3f00000000000000", hex(old, 2 * 32 + 24, 8), "cut-off: toggle 1, type 15, resize toggle 1");
        assertThrows(IllegalStateException.class, () -> queue.resize(8, Runnable::run));
        assertTrue(sent(queue.writer(), 5, 2));
        assertEquals(List.of("11 SUCCESS", "12 SUCCESS"), poll(queue));
        assertEquals("0000000334120094", hex(queue.doorbells(), 192, 8), "index 0, epoch 1, toggle 1, type 9");
        assertEquals("0100000134120044", hex(queue.doorbells(), 0, 8), "index 1, epoch 1");
        assertEquals(2, queue.depth());
    }

    @Test
    void aStaleBnxtArmIsIgnored() {
        final BnxtQueue queue = BnxtQueue.create(4, 1);
        register(queue, 5).sends(10, 9);
        final BnxtWriter writer = queue.writer();
        queue.arm(ArmMode.NEXT);
        assertTrue(sent(writer, 5, 0));
        assertEquals(1, writer.pastArm());
        assertTrue(writer.answerArm());
        assertEquals(1, writer.eventToggle());
        poll(queue);
        queue.arm(ArmMode.NEXT); // before the event is known: the old toggle
        assertTrue(sent(writer, 5, 1));
        assertEquals(0, writer.pastArm());
        queue.onEvent(1);
        assertEquals(0, writer.pastArm());
        assertEquals(1, writer.staleArms());
        poll(queue);
        queue.arm(ArmMode.NEXT);
        assertEquals("0200000201000064", hex(queue.doorbells(), 64, 8), "index 2, toggle 1");
        assertTrue(sent(writer, 5, 2));
        assertEquals(1, writer.pastArm());
    }

    // ---- All of them

    private static List<VendorQueue> each() {
        return List.of(
                Mlx5Queue.create(8, 64, 1, false),
                Mlx5Queue.create(8, 64, 1, true),
                IrdmaQueue.create(8, 32, 1),
                BnxtQueue.create(8, 1));
    }

    /** A1 B1 A2 B2 in the ring; A is gone, its number comes back. */
    @Test
    @FieldBug({74, 75, 78})
    void aForgottenQueuePairsEntriesAreNobodys() {
        for (VendorQueue queue : each()) {
            register(queue, 1).sends(10, 2);
            register(queue, 2).sends(20, 200);
            for (int i = 0; i < 2; i++) {
                assertTrue(sent(queue.writer(), 1, i));
                assertTrue(sent(queue.writer(), 2, i));
            }
            queue.forget(1);
            register(queue, 1).sends(30, 2);
            assertTrue(sent(queue.writer(), 1, 0));
            assertEquals(List.of("20 SUCCESS", "21 SUCCESS", "30 SUCCESS"), poll(queue));
            assertEquals(2, queue.strays());
            for (int i = 2; i < 40; i++) {
                assertTrue(sent(queue.writer(), 2, i));
                assertEquals(List.of(20 + i + " SUCCESS"), poll(queue));
            }
        }
    }

    /** What a handler's exception left decoded is not forgotten by arm, and is by forget. */
    @Test
    @FieldBug(36)
    void whatIsDecodedButNotHandedOnKeepsTheHostAwake() {
        for (VendorQueue queue : each()) {
            register(queue, 1).sends(10, 3);
            for (int i = 0; i < 3; i++) {
                assertTrue(sent(queue.writer(), 1, i));
            }
            assertThrows(
                    IllegalStateException.class,
                    () -> queue.poll(
                            completion -> {
                                throw new IllegalStateException("handler");
                            },
                            64));
            assertTrue(queue.arm(ArmMode.NEXT));
            queue.forget(1);
            assertFalse(queue.arm(ArmMode.NEXT));
            assertEquals(List.of(), poll(queue));
        }
    }

    @Test
    void badNumbersAreRefused() {
        assertEquals(
                "number of a queue must be 0 to 1048575: 1048576",
                assertThrows(IllegalArgumentException.class, () -> BnxtQueue.create(4, 1 << 20))
                        .getMessage());
        assertEquals(
                "QP number must be 1 to 16777215: 0",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> BnxtQueue.create(4, 1).register(0, new Posted(0)))
                        .getMessage());
    }

    @Test
    void anEventWhoseHandlerThrowsIsTakenAndItsSlotGivenBack() {
        final VendorEventQueue events = new VendorEventQueue(VendorEventQueue.Format.BNXT_RE, 1, new Interrupt());
        for (int i = 0; i < 5; i++) {
            assertTrue(events.post(i, 0));
            assertThrows(
                    IllegalStateException.class,
                    () -> events.poll(
                            (number, toggle) -> {
                                throw new IllegalStateException("handler");
                            },
                            1));
        }
        assertEquals(0, events.overruns());
    }
}
