package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Asynchronous events in the vendors' rings. The bytes were worked out by hand from the drivers' headers. */
@Timeout(60)
class VendorAsyncQueueTest {
    private static final int RING = 256;
    private static final int CONSUMER = 0;
    private static final int QP = 0x123456;

    private static final class Rig {
        final QueueMemory memory;
        final Interrupt interrupt = new Interrupt();
        final VendorAsyncQueue queue;
        final int stride;

        Rig(VendorProfile profile, int depth) {
            final long bytes = VendorAsyncQueue.requiredBytes(profile, depth);
            memory = QueueMemory.allocate(bytes);
            memory.fill(0, (int) bytes, (byte) 0xEE);
            queue = VendorAsyncQueue.create(profile, memory, depth, interrupt);
            stride = (int) (bytes - RING) / depth;
        }

        String dump(int slot) {
            final StringBuilder bytes = new StringBuilder();
            for (int at = 0; at < stride; at += Long.BYTES) {
                bytes.append(HexFormat.of()
                        .toHexDigits(Long.reverseBytes(memory.getLong(RING + (long) slot * stride + at))));
            }
            return bytes.toString();
        }

        void write(int slot, String bytes) {
            for (int at = 0; at < stride; at += Long.BYTES) {
                final long word = HexFormat.fromHexDigitsToLong(bytes, 2 * at, 2 * at + 16);
                memory.putLong(RING + (long) slot * stride + at, Long.reverseBytes(word));
            }
        }

        List<String> poll(int budget) {
            final List<String> events = new ArrayList<>();
            queue.poll(
                    (type, number, subType, syndrome, detail) ->
                            events.add(String.format("%s %x %x %x %x", type, number, subType, syndrome, detail)),
                    budget);
            return events;
        }

        List<String> poll() {
            return poll(1000);
        }
    }

    private static DeviceEvent failed(EventType type, int syndrome, boolean receiving) {
        return new DeviceEvent(type, QP, syndrome, 0, receiving, 0x1_8005, 0x1_8007);
    }

    private static DeviceEvent overrun(boolean receiving) {
        return new DeviceEvent(EventType.CQ_ERROR, 0xb, 1, 1, receiving, 0, 0);
    }

    /** With blanks for the reader; a dot stands for as many zeros as are missing. */
    private static String bytes(String pattern, int length) {
        final String packed = pattern.replace(" ", "");
        final int missing = Math.max(0, 2 * length - packed.length() + 1);
        return packed.replace(".", "0".repeat(missing));
    }

    private static void assertBytes(String expected, VendorProfile profile, DeviceEvent event, String decoded) {
        final Rig rig = new Rig(profile, 1);
        assertTrue(rig.queue.post(event));
        assertEquals(bytes(expected, rig.stride), rig.dump(0), event::toString);
        assertEquals(List.of(decoded), rig.poll());
    }

    @Test
    void mlx5() {
        final VendorProfile profile = VendorProfile.MLX5;
        // Type in byte 1; a completion queue in byte 32 and its syndrome in byte 43; a queue pair in byte 56.
        assertBytes(
                "0004 0000 " + "00".repeat(28) + "0000000b 00000000000000 01 .",
                profile,
                overrun(false),
                "CQ_ERROR b 0 1 1");
        assertBytes(
                "0011 . 00123456 00000000",
                profile,
                failed(EventType.WQ_ACCESS_ERROR, 0x13, true),
                "WQ_ACCESS_ERROR 123456 0 0 0");
        assertBytes(
                "0005 . 00123456 00000000",
                profile,
                failed(EventType.WQ_CATAS_ERROR, 0x15, false),
                "WQ_CATAS_ERROR 123456 0 0 0");
        assertBytes(
                "0010 . 00123456 00000000",
                profile,
                failed(EventType.WQ_INVAL_REQ_ERROR, 0x12, true),
                "WQ_INVAL_REQ_ERROR 123456 0 0 0");
        assertBytes(
                "0003 . 00123456 00000000", profile, failed(EventType.SQ_DRAINED, 0, false), "SQ_DRAINED 123456 0 0 0");
        assertBytes(
                "0013 . 00123456 00000000",
                profile,
                failed(EventType.SRQ_LAST_WQE, 0, false),
                "SRQ_LAST_WQE 123456 0 0 0");
        assertBytes(
                "0014 . 00000009 00000000", profile, DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 9), "SRQ_RQ_LIMIT 9 0 0 0");
        assertBytes(
                "0012 . 00000009 00000000",
                profile,
                DeviceEvent.of(EventType.SRQ_CATAS_ERROR, 9),
                "SRQ_CATAS_ERROR 9 0 0 0");
        assertBytes(
                "0001 . 00123456 00000000", profile, DeviceEvent.of(EventType.PATH_MIG, QP), "PATH_MIG 123456 0 0 0");
        assertBytes(
                "0002 . 00123456 00000000", profile, DeviceEvent.of(EventType.COMM_EST, QP), "COMM_EST 123456 0 0 0");
        assertBytes(
                "0007 . 00123456 00000000",
                profile,
                DeviceEvent.of(EventType.PATH_MIG_FAILED, QP),
                "PATH_MIG_FAILED 123456 0 0 0");
        assertBytes("0008 .", profile, DeviceEvent.of(EventType.INTERNAL_ERROR, 0), "INTERNAL_ERROR 0 0 0 0");
    }

    /**
     * Word 0 is the number times 64. Word 1 from the top: valid and overflow (2 bits), code (12), index (18: 5, or 7 for a receive); state (3: 6
     * error, 3 SQD), source (4: 5 SQ, 1 RQ, 2 CQ), number (25).
     */
    @Test
    void irdma() {
        final VendorProfile profile = VendorProfile.IRDMA;
        // 0x50a << 18 = 0x14280000; 6 << 29 | 5 << 25 = 0xCA000000.
        assertBytes(
                "80158d0400000000 563412ca 05002894",
                profile,
                failed(EventType.WQ_CATAS_ERROR, 0x15, false),
                "WQ_CATAS_ERROR 123456 0 15 0");
        // 0x50f << 18 = 0x143C0000.
        assertBytes(
                "80158d0400000000 563412ca 05003c94",
                profile,
                failed(EventType.WQ_CATAS_ERROR, 0x16, false),
                "WQ_CATAS_ERROR 123456 0 16 0");
        // 0x20d << 18 = 0x08340000; 6 << 29 | 1 << 25 = 0xC2000000.
        assertBytes(
                "80158d0400000000 563412c2 07003488",
                profile,
                failed(EventType.WQ_ACCESS_ERROR, 0x13, true),
                "WQ_ACCESS_ERROR 123456 0 13 0");
        // 0x208 << 18 = 0x08200000.
        assertBytes(
                "80158d0400000000 563412c2 07002088",
                profile,
                failed(EventType.WQ_INVAL_REQ_ERROR, 0x12, true),
                "WQ_INVAL_REQ_ERROR 123456 0 12 0");
        // 0x303 << 18 = 0x0C0C0000; the driver's table has it as catastrophic.
        assertBytes(
                "80158d0400000000 563412c2 07000c8c",
                profile,
                failed(EventType.WQ_INVAL_REQ_ERROR, 0x02, true),
                "WQ_CATAS_ERROR 123456 0 2 0");
        // 0x103 << 18 = 0x040C0000; the driver's table has it as an access error.
        assertBytes(
                "80158d0400000000 563412ca 05000c84",
                profile,
                failed(EventType.WQ_CATAS_ERROR, 0x04, false),
                "WQ_ACCESS_ERROR 123456 0 4 0");
        // 0x700 << 18 = 0x1C000000: no request to blame.
        assertBytes(
                "80158d0400000000 563412ca 0500009c",
                profile,
                failed(EventType.WQ_CATAS_ERROR, 0, false),
                "WQ_CATAS_ERROR 123456 0 0 0");
        // 0x203 << 18 = 0x080C0000; 2 << 25 = 0x04000000.
        assertBytes("c002000000000000 0b000004 00000c88", profile, overrun(false), "CQ_ERROR b 0 1 1");
        // 0x900 << 18 = 0x24000000; 3 << 29 | 5 << 25 = 0x6A000000.
        assertBytes(
                "80158d0400000000 5634126a 050000a4",
                profile,
                failed(EventType.SQ_DRAINED, 0, false),
                "SQ_DRAINED 123456 0 0 0");
        // 0x209 << 18 = 0x08240000, 0x20f << 18 = 0x083C0000, 0x701 << 18 = 0x1C040000.
        assertBytes(
                "4002000000000000 09000000 00002488",
                profile,
                DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 9),
                "SRQ_RQ_LIMIT 9 0 0 0");
        assertBytes(
                "4002000000000000 09000000 00003c88",
                profile,
                DeviceEvent.of(EventType.SRQ_CATAS_ERROR, 9),
                "SRQ_CATAS_ERROR 9 0 0 0");
        assertBytes(
                "0000000000000000 00000000 0000049c",
                profile,
                DeviceEvent.of(EventType.INTERNAL_ERROR, 0),
                "INTERNAL_ERROR 0 0 0 0");
    }

    @Test
    void bnxt() {
        final VendorProfile profile = VendorProfile.BNXT_RE;
        // Reasons of the requester in byte 3: 2 time-outs, 3 no receive, 9 memory, 0xf none of these.
        assertBytes(
                "38000002 56341200 01c00000 0580 0780",
                profile,
                failed(EventType.WQ_CATAS_ERROR, 0x15, false),
                "WQ_ACCESS_ERROR 123456 0 15 0");
        assertBytes(
                "38000003 56341200 01c00000 0580 0780",
                profile,
                failed(EventType.WQ_CATAS_ERROR, 0x16, false),
                "WQ_ACCESS_ERROR 123456 0 16 0");
        assertBytes(
                "38000009 56341200 01c00000 0580 0780",
                profile,
                failed(EventType.WQ_CATAS_ERROR, 0x04, false),
                "WQ_CATAS_ERROR 123456 0 4 0");
        assertBytes(
                "3800000f 56341200 01c00000 0580 0780",
                profile,
                failed(EventType.WQ_CATAS_ERROR, 0, false),
                "WQ_CATAS_ERROR 123456 0 0 0");
        // Reasons of the responder in byte 11: 6 key, 3 too long, 0xf not supported.
        assertBytes(
                "38000000 56341200 01c00006 0580 0780",
                profile,
                failed(EventType.WQ_ACCESS_ERROR, 0x13, true),
                "WQ_ACCESS_ERROR 123456 0 13 0");
        assertBytes(
                "38000000 56341200 01c00003 0580 0780",
                profile,
                failed(EventType.WQ_INVAL_REQ_ERROR, 0x02, true),
                "WQ_INVAL_REQ_ERROR 123456 0 2 0");
        assertBytes(
                "38000000 56341200 01c0000f 0580 0780",
                profile,
                failed(EventType.WQ_INVAL_REQ_ERROR, 0x12, true),
                "WQ_INVAL_REQ_ERROR 123456 0 12 0");
        assertBytes(
                "38000000 56341200 01c00000 0580 0780",
                profile,
                failed(EventType.SRQ_LAST_WQE, 0, false),
                "SRQ_LAST_WQE 123456 0 0 0");
        assertBytes("38000200 0b000000 01c10000 00000000", profile, overrun(false), "CQ_ERROR b 0 1 1");
        assertBytes("38000500 0b000000 01c10000 00000000", profile, overrun(true), "CQ_ERROR b 0 1 1");
        assertBytes(
                "32010000 09000000 01000000 00000000",
                profile,
                DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 9),
                "SRQ_RQ_LIMIT 9 0 0 0");
        assertBytes(
                "3a000000 00000000 01060000 00000000",
                profile,
                DeviceEvent.of(EventType.INTERNAL_ERROR, 0),
                "INTERNAL_ERROR 0 0 0 0");
    }

    /** Entries that our device does not write, as a driver reads them. */
    @ParameterizedTest
    @CsvSource({
        // mlx5: a port has changed, type 9; a type without a name; a queue pair in a data field that is not one
        "MLX5, 0009 0001 ., PORT_CHANGE 0 1 0 0",
        "MLX5, 00ff . 00123456 00000000, UNKNOWN 0 0 0 0",
        "MLX5, 0008 . 00123456 00000000, INTERNAL_ERROR 0 0 0 0",
        // irdma: bounds 0x108 and wrap 0x10a of a send, 0x11c; bind 0x119; 0x316; 0x401 of a queue pair, and of nobody;
        // 0x702
        "IRDMA, . 563412ca 05002084, WQ_ACCESS_ERROR 123456 0 4 0",
        "IRDMA, . 563412ca 05002884, WQ_ACCESS_ERROR 123456 0 4 0",
        "IRDMA, . 563412c2 05007084, WQ_ACCESS_ERROR 123456 0 4 0",
        "IRDMA, . 563412ca 05006484, WQ_ACCESS_ERROR 123456 0 6 0",
        "IRDMA, . 563412ca 0500588c, WQ_CATAS_ERROR 123456 0 14 0",
        "IRDMA, . 563412ca 05000490, WQ_CATAS_ERROR 123456 0 0 0",
        "IRDMA, . 56341200 05000490, UNKNOWN 123456 0 0 0",
        "IRDMA, . 0b000000 0000089c, UNKNOWN b 0 0 0",
        // bnxt_re: PSN range 0x1b, format 0x11, PCI 0x19, a reason to come; responder's atomics 0x10, invalidate 0x11,
        // PCI 0x1c
        "BNXT_RE, 3800001b 56341200 01c00000 .00000000, WQ_ACCESS_ERROR 123456 0 0 0",
        "BNXT_RE, 38000011 56341200 01c00000 .00000000, WQ_INVAL_REQ_ERROR 123456 0 0 0",
        "BNXT_RE, 38000019 56341200 01c00000 .00000000, WQ_CATAS_ERROR 123456 0 0 0",
        "BNXT_RE, 380000ff 56341200 01c00000 .00000000, WQ_CATAS_ERROR 123456 0 0 0",
        "BNXT_RE, 38000000 56341200 01c00010 .00000000, WQ_ACCESS_ERROR 123456 0 0 0",
        "BNXT_RE, 38000000 56341200 01c00011 .00000000, WQ_INVAL_REQ_ERROR 123456 0 0 0",
        "BNXT_RE, 38000000 56341200 01c0001c .00000000, WQ_CATAS_ERROR 123456 0 0 0",
        // both reasons: the responder's counts; CQ load error; a response to command 9; function 0xb; resources 0x81; a
        // toggle over the type
        "BNXT_RE, 38000011 56341200 01c00006 .00000000, WQ_ACCESS_ERROR 123456 0 13 0",
        "BNXT_RE, 38000300 0b000000 01c10000 .00000000, CQ_ERROR b 0 2 1",
        "BNXT_RE, 38000000 56341200 01090000 .00000000, UNKNOWN 0 0 0 0",
        "BNXT_RE, 3a000000 00000000 010b0000 .00000000, INTERNAL_ERROR 0 0 0 0",
        "BNXT_RE, 3a000000 00000000 01810000 .00000000, UNKNOWN 0 0 0 0",
        "BNXT_RE, f2010000 09000000 01000000 .00000000, SRQ_RQ_LIMIT 9 0 0 0",
        "BNXT_RE, 32020000 09000000 01000000 .00000000, UNKNOWN 9 0 0 0",
    })
    void otherEntries(VendorProfile profile, String entry, String decoded) {
        final Rig rig = new Rig(profile, 1);
        rig.write(0, bytes(entry, rig.stride));
        assertEquals(List.of(decoded), rig.poll());
        assertEquals(List.of(), rig.poll());
    }

    /** Every lap, both owner bits, depths from 1 up: each slot against the parity of its lap. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void ringsWrap(VendorProfile profile) {
        for (int depth = 1; depth <= 8; depth *= 2) {
            final Rig rig = new Rig(profile, depth);
            final long seed = depth;
            final Random random = new Random(seed);
            int posted = 0;
            int polled = 0;
            while (polled < 20 * depth) {
                for (int i = random.nextInt(depth + 1); i > 0 && posted - polled < depth; i--) {
                    assertTrue(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, posted)));
                    // Where the bit is: mlx5's last byte, irdma's last bit, bnxt_re's byte 8. mlx5 begins with 0.
                    final String entry = rig.dump(posted % depth);
                    final int owner = profile == VendorProfile.MLX5
                            ? Integer.parseInt(entry.substring(126), 16)
                            : profile == VendorProfile.IRDMA
                                    ? Integer.parseInt(entry.substring(30), 16) >> 7
                                    : Integer.parseInt(entry.substring(16, 18), 16);
                    final int lap = posted / depth;
                    assertEquals(profile == VendorProfile.MLX5 ? lap % 2 : 1 - lap % 2, owner, "event " + posted);
                    posted++;
                }
                for (String event : rig.poll(random.nextInt(depth + 1))) {
                    assertEquals(String.format("SRQ_RQ_LIMIT %x 0 0 0", polled++), event, "seed " + seed);
                }
            }
            assertEquals(0, rig.queue.overruns());
            assertEquals(0, rig.queue.rejectedIndexes());
        }
    }

    /** A full queue counts what it loses and wakes whoever waits, armed or not; what is in it stays. irdma's next event says so too. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void anOverrunIsCountedAndTold(VendorProfile profile) {
        final Rig rig = new Rig(profile, 2);
        assertTrue(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 1)));
        assertTrue(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 2)));
        assertFalse(rig.queue.takeOverrun());
        assertEquals(0, rig.interrupt.count());
        assertFalse(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 3)));
        assertFalse(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 4)));
        assertEquals(2, rig.interrupt.count());
        assertEquals(2, rig.queue.overruns());
        assertTrue(rig.queue.takeOverrun());
        assertFalse(rig.queue.takeOverrun());
        assertEquals(List.of("SRQ_RQ_LIMIT 1 0 0 0"), rig.poll(1));
        assertTrue(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 5)));
        assertFalse(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 6)));
        assertTrue(rig.queue.takeOverrun());
        if (profile == VendorProfile.IRDMA) { // second lap: VALID is 0, overflow 1
            assertEquals("400100000000000005000000" + "00002448", rig.dump(0));
        }
        assertEquals(List.of("SRQ_RQ_LIMIT 2 0 0 0", "SRQ_RQ_LIMIT 5 0 0 0"), rig.poll());
        assertTrue(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 7)));
        assertTrue(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 8)));
        if (profile == VendorProfile.IRDMA) { // only the first after a loss
            assertEquals("c001000000000000" + "07000000" + "00002448", rig.dump(1));
            assertEquals("0002000000000000" + "08000000" + "00002488", rig.dump(0));
        }
        assertEquals(List.of("SRQ_RQ_LIMIT 7 0 0 0", "SRQ_RQ_LIMIT 8 0 0 0"), rig.poll());
        assertEquals(3, rig.queue.overruns());
    }

    /** A consumer index that the host cannot have reached frees nothing; the next good one does. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void aConsumerIndexOutOfRangeIsNotBelieved(VendorProfile profile) {
        for (long index : new long[] {-1, 3, 1L << 32, Long.MIN_VALUE, Long.MAX_VALUE}) {
            final Rig rig = new Rig(profile, 2);
            rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 1));
            rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 2));
            rig.memory.putLong(CONSUMER, index);
            assertFalse(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 3)), "index " + index);
            assertEquals(1, rig.queue.rejectedIndexes());
            assertEquals(List.of("SRQ_RQ_LIMIT 1 0 0 0", "SRQ_RQ_LIMIT 2 0 0 0"), rig.poll());
            assertTrue(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 4)));
            rig.poll();
            rig.memory.putLong(CONSUMER, 1); // back
            rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 5));
            assertFalse(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 6)));
            assertEquals(2, rig.queue.rejectedIndexes());
        }
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void armingRaisesOnceAndSaysWhatIsThere(VendorProfile profile) {
        final Rig rig = new Rig(profile, 8);
        final DeviceEvent event = DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 1);
        rig.queue.post(event);
        assertEquals(0, rig.interrupt.count(), "not armed");
        assertTrue(rig.queue.arm(), "one is there");
        rig.queue.serve();
        rig.queue.serve();
        assertEquals(1, rig.interrupt.count());
        rig.poll();
        assertFalse(rig.queue.arm());
        rig.queue.serve();
        assertEquals(1, rig.interrupt.count());
        rig.queue.post(event);
        rig.queue.post(event);
        assertEquals(2, rig.interrupt.count());
        rig.poll();
        rig.queue.end();
        assertEquals(3, rig.interrupt.count(), "not armed, but over");
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void misuseIsRefusedAndAHandlersExceptionLosesNothing(VendorProfile profile) {
        final Rig rig = new Rig(profile, 2);
        rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 1));
        rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 2));
        assertThrows(NullPointerException.class, () -> rig.queue.poll(null, 1));
        assertThrows(IllegalArgumentException.class, () -> rig.poll(-1));
        assertThrows(
                ArithmeticException.class,
                () -> rig.queue.poll(
                        (type, number, subType, syndrome, detail) -> {
                            throw new ArithmeticException();
                        },
                        2));
        assertTrue(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 3)), "its slot is free");
        assertEquals(List.of("SRQ_RQ_LIMIT 2 0 0 0", "SRQ_RQ_LIMIT 3 0 0 0"), rig.poll());
        final long seen = rig.interrupt.count();
        rig.queue.close();
        rig.queue.close();
        assertEquals(seen + 1, rig.interrupt.count());
        assertThrows(IllegalStateException.class, rig::poll);
        assertThrows(IllegalStateException.class, rig.queue::arm);
        assertThrows(IllegalStateException.class, rig.queue::takeOverrun);
        assertFalse(rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, 4)));
        assertEquals(0, rig.queue.overruns());
    }

    /** What there is no code for is counted, and nothing is written. */
    @ParameterizedTest
    @CsvSource({
        "MLX5, GPIO",
        "IRDMA, SRQ_LAST_WQE",
        "IRDMA, PATH_MIG",
        "BNXT_RE, SQ_DRAINED",
        "BNXT_RE, SRQ_CATAS_ERROR"
    })
    void anEventWithoutACodeIsCounted(VendorProfile profile, EventType type) {
        final Rig rig = new Rig(profile, 2);
        final String before = rig.dump(0);
        assertFalse(rig.queue.tells(type));
        assertTrue(rig.queue.tells(EventType.CQ_ERROR));
        assertFalse(rig.queue.post(DeviceEvent.of(type, 1)));
        assertEquals(1, rig.queue.untold());
        assertEquals(0, rig.queue.overruns());
        assertEquals(before, rig.dump(0));
        assertEquals(List.of(), rig.poll());
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void memoryAndDepthAreChecked(VendorProfile profile) {
        final long required = VendorAsyncQueue.requiredBytes(profile, 4);
        final QueueMemory small = QueueMemory.allocate(required - 8);
        assertThrows(IllegalArgumentException.class, () -> VendorAsyncQueue.create(profile, small, 4, new Interrupt()));
        assertThrows(IllegalArgumentException.class, () -> VendorAsyncQueue.requiredBytes(profile, 3));
        assertThrows(IllegalArgumentException.class, () -> VendorAsyncQueue.requiredBytes(profile, 0));
    }

    /** The device posts on its thread, the host sleeps whenever it finds nothing: every event comes, in order, or is counted as lost. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void twoThreads(VendorProfile profile) throws InterruptedException {
        final int events = 50_000;
        final Rig rig = new Rig(profile, 4);
        final AtomicBoolean over = new AtomicBoolean();
        final Thread device = new Thread(() -> {
            for (int i = 1; i <= events; i++) {
                rig.queue.post(DeviceEvent.of(EventType.SRQ_RQ_LIMIT, i));
                rig.queue.serve();
                if (i % 256 == 0) {
                    LockSupport.parkNanos(1); // so that a slow host gets some, too
                }
            }
            over.set(true);
            rig.queue.end();
        });
        device.start();
        final int[] last = new int[1];
        long taken = 0;
        while (true) {
            final long seen = rig.interrupt.count();
            final boolean wasOver = over.get(); // if not, the last raise is still to come
            final int polled = rig.queue.poll(
                    (type, number, subType, syndrome, detail) -> {
                        assertEquals(EventType.SRQ_RQ_LIMIT, type);
                        assertTrue(number > last[0], () -> number + " after " + last[0]);
                        last[0] = number;
                    },
                    3);
            taken += polled;
            if (polled == 0 && wasOver) {
                break; // all had been posted before this look
            }
            if (polled == 0 && !rig.queue.arm()) {
                assertTrue(rig.interrupt.await(seen, TimeUnit.SECONDS.toNanos(1000)));
            }
        }
        device.join();
        assertEquals(events, taken + rig.queue.overruns());
        assertEquals(0, rig.queue.rejectedIndexes());
    }
}
