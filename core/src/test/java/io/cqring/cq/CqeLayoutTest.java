package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The picture in CqeLayout against its numbers, word by word. */
class CqeLayoutTest {
    /** Masks of the header's fields, read off the picture. */
    private static final long OWNER = 0x0000_0000_0000_0001L;

    private static final long OPCODE = 0x0000_0000_0000_001EL;
    private static final long SOLICITED = 0x0000_0000_0000_0020L;
    private static final long ZERO = 0x0000_0000_0000_00C0L;
    private static final long COUNTER = 0x0000_0000_FFFF_FF00L;
    private static final long QP = 0x00FF_FFFF_0000_0000L;
    private static final long SYNDROME = 0xFF00_0000_0000_0000L;

    private static void assertTiles(long... masks) {
        long seen = 0;
        for (long mask : masks) {
            assertEquals(0, seen & mask, () -> "overlap at " + Long.toHexString(mask));
            seen |= mask;
        }
        assertEquals(-1L, seen, "gap");
    }

    @Test
    void masksTileEachWordWithoutGapOrOverlap() {
        assertTiles(OWNER, OPCODE, SOLICITED, ZERO, COUNTER, QP, SYNDROME);
        assertTiles(0x0000_0000_FFFF_FFFFL, 0xFFFF_FFFF_0000_0000L); // byte count, immediate
        assertTiles(0xFF, 0xFF00, 0xFF_FFFF_0000L, 0xFFFF_FF00_0000_0000L); // vendor error, flags, source QP, zero
        assertThrows(AssertionError.class, () -> assertTiles(1, -1L), "the check sees an overlap");
        assertThrows(AssertionError.class, () -> assertTiles(1, 4), "and a gap");
        assertEquals(OWNER, CqeLayout.OWNER_MASK);
    }

    /** Flip each bit of a header: exactly the field that the picture gives the bit to changes. */
    @Test
    void everyHeaderBitBelongsToTheFieldOfThePicture() {
        SplittableRandom random = new SplittableRandom(5);
        for (int round = 0; round < 200; round++) {
            long word = random.nextLong();
            for (int bit = 0; bit < 64; bit++) {
                long mask = 1L << bit;
                long flipped = word ^ mask;
                assertEquals((mask & OPCODE) != 0, CqeLayout.opcode(word) != CqeLayout.opcode(flipped));
                assertEquals((mask & SOLICITED) != 0, CqeLayout.isSolicited(word) != CqeLayout.isSolicited(flipped));
                assertEquals((mask & COUNTER) != 0, CqeLayout.wqeCounter(word) != CqeLayout.wqeCounter(flipped));
                assertEquals((mask & QP) != 0, CqeLayout.qpNumber(word) != CqeLayout.qpNumber(flipped));
                assertEquals((mask & SYNDROME) != 0, CqeLayout.syndrome(word) != CqeLayout.syndrome(flipped));

                assertEquals(bit < 32, CqeLayout.byteCount(word) != CqeLayout.byteCount(flipped));
                assertEquals(bit >= 32, CqeLayout.immediate(word) != CqeLayout.immediate(flipped));

                assertEquals(bit < 8, CqeLayout.vendorError(word) != CqeLayout.vendorError(flipped));
                assertEquals(bit >= 8 && bit < 16, CqeLayout.flags(word) != CqeLayout.flags(flipped));
                assertEquals(bit >= 16 && bit < 40, CqeLayout.sourceQp(word) != CqeLayout.sourceQp(flipped));
            }
        }
    }

    /** Words worked out by hand: opcode, solicited, WQE counter, QP number, syndrome. */
    @ParameterizedTest
    @CsvSource({
        "0,  false, 0,        0,        0,    0000000000000000",
        "1,  false, 0,        0,        0,    0000000000000002",
        "2,  false, 0,        0,        0,    0000000000000004",
        "3,  false, 0,        0,        0,    0000000000000006",
        "4,  false, 0,        0,        0,    0000000000000008",
        "5,  false, 0,        0,        0,    000000000000000A",
        "6,  false, 0,        0,        0,    000000000000000C",
        "7,  false, 0,        0,        0,    000000000000000E",
        "8,  false, 0,        0,        0,    0000000000000010",
        "9,  false, 0,        0,        0,    0000000000000012",
        "13, false, 0,        0,        0,    000000000000001A",
        "14, false, 0,        0,        0,    000000000000001C",
        "0,  true,  0,        0,        0,    0000000000000020",
        "0,  false, 1,        0,        0,    0000000000000100",
        "0,  false, 16777215, 0,        0,    00000000FFFFFF00",
        "0,  false, 16777216, 0,        0,    0000000000000000",
        "0,  false, -1,       0,        0,    00000000FFFFFF00",
        "0,  false, 0,        1,        0,    0000000100000000",
        "0,  false, 0,        16777215, 0,    00FFFFFF00000000",
        "0,  false, 0,        0,        1,    0100000000000000",
        "0,  false, 0,        0,        255,  FF00000000000000",
        "8,  true,  11259375, 1193046,  18,   12123456ABCDEF30",
        "14, true,  16777215, 16777215, 255,  FFFFFFFFFFFFFF3C"
    })
    void headersAreComposedAsDrawn(int opcode, boolean solicited, int counter, int qp, int syndrome, String expected) {
        long header = CqeLayout.header(opcode, solicited, counter, qp, syndrome);
        assertEquals(expected, String.format("%016X", header));
        assertEquals(opcode, CqeLayout.opcode(header));
        assertEquals(solicited, CqeLayout.isSolicited(header));
        assertEquals(counter & 0xFF_FFFF, CqeLayout.wqeCounter(header));
        assertEquals(qp, CqeLayout.qpNumber(header));
        assertEquals(syndrome, CqeLayout.syndrome(header));
    }

    @ParameterizedTest
    @CsvSource({
        "0,          0,          0000000000000000",
        "1,          0,          0000000000000001",
        "-1,         0,          00000000FFFFFFFF",
        "0,          -1,         FFFFFFFF00000000",
        "-2147483648, 1,         0000000180000000",
        "305419896,  -559038737, DEADBEEF12345678"
    })
    void lengthsAreComposedAsDrawn(int byteCount, int immediate, String expected) {
        long length = CqeLayout.length(byteCount, immediate);
        assertEquals(expected, String.format("%016X", length));
        assertEquals(Integer.toUnsignedLong(byteCount), CqeLayout.byteCount(length));
        assertEquals(immediate, CqeLayout.immediate(length));
    }

    @ParameterizedTest
    @CsvSource({
        "0,   0,   0,        0000000000000000",
        "255, 0,   0,        00000000000000FF",
        "0,   1,   0,        0000000000000100",
        "0,   2,   0,        0000000000000200",
        "0,   4,   0,        0000000000000400",
        "0,   128, 0,        0000000000008000",
        "0,   135, 0,        0000000000008700",
        "0,   0,   1,        0000000000010000",
        "0,   0,   16777215, 000000FFFFFF0000",
        "128, 129, 11259375, 000000ABCDEF8180"
    })
    void detailsAreComposedAsDrawn(int vendorError, int flags, int sourceQp, String expected) {
        long detail = CqeLayout.detail(vendorError, flags, sourceQp);
        assertEquals(expected, String.format("%016X", detail));
        assertEquals(vendorError, CqeLayout.vendorError(detail));
        assertEquals(flags, CqeLayout.flags(detail));
        assertEquals(sourceQp, CqeLayout.sourceQp(detail));
    }

    /** Flags 8, 9, 10 and 15 of the detail word. */
    @Test
    void flagsHaveTheBitsOfTheDesign() {
        assertEquals(1L << 8, CqeLayout.detail(0, CqeLayout.FLAG_IMMEDIATE, 0));
        assertEquals(1L << 9, CqeLayout.detail(0, CqeLayout.FLAG_INVALIDATED_RKEY, 0));
        assertEquals(1L << 10, CqeLayout.detail(0, CqeLayout.FLAG_GRH, 0));
        assertEquals(1L << 15, CqeLayout.detail(0, CqeLayout.FLAG_FLOW_HASH, 0));
    }

    @Test
    void shouldRefuseWhatDoesNotFit() {
        for (int opcode : new int[] {Integer.MIN_VALUE, -1, 10, 11, 12, 15, 16, 32, Integer.MAX_VALUE}) {
            assertRefused("opcode must be 0 to 9, 13 or 14 (the rest are the queue's own): " + opcode, opcode, 0, 0);
        }
        for (int qp : new int[] {Integer.MIN_VALUE, -1, 1 << 24, Integer.MAX_VALUE}) {
            assertRefused("QP number must be 0 to 16777215: " + qp, 0, qp, 0);
        }
        for (int syndrome : new int[] {Integer.MIN_VALUE, -1, 256, Integer.MAX_VALUE}) {
            assertRefused("syndrome must be 0 to 255: " + syndrome, 0, 0, syndrome);
        }
        int[][] details = {
            {-1, 0, 0},
            {256, 0, 0},
            {0, -1, 0},
            {0, 8, 0},
            {0, 16, 0},
            {0, 32, 0},
            {0, 64, 0},
            {0, 256, 0},
            {0, 0, -1},
            {0, 0, 1 << 24}
        };
        for (int[] d : details) {
            assertEquals(
                    "vendor error must be 0 to 255, flags within 0x87, source QP 0 to 16777215: " + d[0] + ", 0x"
                            + Integer.toHexString(d[1]) + ", " + d[2],
                    assertThrows(IllegalArgumentException.class, () -> CqeLayout.detail(d[0], d[1], d[2]))
                            .getMessage());
        }
    }

    private static void assertRefused(String message, int opcode, int qp, int syndrome) {
        assertEquals(
                message,
                assertThrows(IllegalArgumentException.class, () -> CqeLayout.header(opcode, false, 0, qp, syndrome))
                        .getMessage());
    }

    /** Offsets in bytes, and that the words of an entry tile it: naturally aligned, no gap, no overlap. */
    @Test
    void wordsTileTheEntry() {
        assertEquals(0, CqeLayout.HEADER_OFFSET);
        for (int stride : Shape.STRIDES) {
            assertEquals(stride, CqeLayout.requireStride(stride));
            int id = CqeLayout.workRequestIdOffset(stride);
            int payload = CqeLayout.payloadBytes(stride);
            assertEquals(stride == 32 ? 8 : 16, id);
            assertEquals(stride == 32 ? 0 : stride - 40, payload);
            LongStream offsets = LongStream.of(CqeLayout.HEADER_OFFSET, id, id + 8, id + 16);
            if (stride != 32) {
                offsets = LongStream.concat(offsets, LongStream.of(CqeLayout.TIMESTAMP_OFFSET));
                offsets = LongStream.concat(
                        offsets, LongStream.range(0, payload / 8).map(i -> CqeLayout.PAYLOAD_OFFSET + i * 8));
            }
            List<Long> sorted = offsets.sorted().boxed().collect(Collectors.toList());
            assertEquals(LongStream.range(0, stride / 8).map(i -> i * 8).boxed().collect(Collectors.toList()), sorted);
        }
        assertEquals(88, CqeLayout.payloadBytes(128));
        assertEquals(24, CqeLayout.payloadBytes(64));
        for (int stride : new int[] {Integer.MIN_VALUE, -32, 0, 16, 48, 96, 256}) {
            assertEquals(
                    "entry must be 32, 64 or 128 bytes: " + stride,
                    assertThrows(IllegalArgumentException.class, () -> CqeLayout.requireStride(stride))
                            .getMessage());
        }
    }

    /** The bytes of one entry in memory, for each stride, written out by hand (first lap: owner bit 1). */
    @Test
    @Tag("bothroutes")
    void entriesLieInMemoryAsDrawn() {
        long[] words64 = {
            0x12123456_ABCDEF31L, 0x1111_2222_3333_4444L, 0x5555_6666_7777_8888L, 0xDEADBEEF_12345678L,
            0x000000AB_CDEF8180L, 0xA0A1_A2A3_A4A5_A6A7L, 0xB0B1_B2B3_B4B5_B6B7L, 0xC0C1_C2C3_C4C5_C6C7L
        };
        long[] words32 = {words64[0], words64[2], words64[3], words64[4]};
        long[] words128 = Arrays.copyOf(words64, 16);
        assertWords(32, words32, 0, 0, 0);
        assertWords(64, words64, words64[5], words64[6], words64[7]);
        assertWords(128, words128, words64[5], words64[6], words64[7]);
    }

    private static void assertWords(int stride, long[] expected, long p0, long p1, long p2) {
        QueueMemory memory = QueueMemory.allocate(384 + 2L * stride);
        CompletionQueue queue =
                CompletionQueue.ofCapacity(2).strideBytes(stride).memory(memory).create();
        assertTrue(queue.writer()
                .write(
                        CqeLayout.header(8, true, 0xABCDEF, 0x123456, 0x12),
                        0x5555_6666_7777_8888L,
                        CqeLayout.length(0x12345678, 0xDEADBEEF),
                        CqeLayout.detail(0x80, 0x81, 0xABCDEF),
                        0x1111_2222_3333_4444L,
                        p0,
                        p1,
                        p2));
        long[] actual = new long[stride / 8];
        Arrays.setAll(actual, i -> memory.getLong(384 + i * 8));
        assertEquals(hex(expected), hex(actual));
        assertEquals(0, memory.getLong(384 + stride), "second slot");
    }

    private static List<String> hex(long[] words) {
        return LongStream.of(words).mapToObj(w -> String.format("%016X", w)).collect(Collectors.toList());
    }

    /**
     * The same script on all three strides decodes to the same completions wherever the strides have the field, through views
     * and through copies; payload bytes are those written; neighbours are untouched.
     */
    @FieldBug(11)
    @Test
    @Tag("bothroutes")
    void allStridesDecodeTheSame() {
        SplittableRandom random = new SplittableRandom(11);
        int n = 4;
        QueueMemory[] memories = new QueueMemory[3];
        CompletionQueue[] queues = new CompletionQueue[3];
        for (int i = 0; i < 3; i++) {
            memories[i] = QueueMemory.allocate(384 + (long) n * Shape.STRIDES[i] + 128);
            memories[i].fill(384 + n * Shape.STRIDES[i], 128, (byte) 0x5A);
            queues[i] = CompletionQueue.ofCapacity(n)
                    .strideBytes(Shape.STRIDES[i])
                    .memory(memories[i])
                    .create();
        }
        CompletionStatus[] statuses = CompletionStatus.values();
        for (int round = 0; round < 2000; round++) {
            int opcode = List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14).get(random.nextInt(12));
            int syndrome = opcode >= 13 ? 1 + random.nextInt(255) : 0;
            long header = CqeLayout.header(
                    opcode, random.nextBoolean(), random.nextInt(1 << 24), random.nextInt(1 << 24), syndrome);
            long id = random.nextLong();
            long length = random.nextLong();
            long detail = CqeLayout.detail(random.nextInt(256), random.nextInt(4), random.nextInt(1 << 24));
            long timestamp = random.nextLong();
            long[] payload = random.longs(11).toArray();

            String[] seen = new String[3];
            String[] copied = new String[3];
            for (int i = 0; i < 3; i++) {
                int stride = Shape.STRIDES[i];
                byte[] before = slots(memories[i], stride, n);
                CompletionEntry entry = queues[i].writer().claim();
                entry.header(header).workRequestId(id).length(length).detail(detail);
                if (stride != 32) {
                    entry.timestamp(timestamp);
                }
                int words = stride == 32 ? 0 : stride == 64 ? 3 : 11;
                for (int w = 0; w < words; w++) {
                    entry.payload(w, payload[w]);
                }
                assertEquals(1, queues[i].writer().flush());

                int own = round % n;
                byte[] after = slots(memories[i], stride, n);
                for (int at = 0; at < before.length; at++) {
                    if (at / stride != own) {
                        assertEquals(before[at], after[at], "a neighbour's byte");
                    }
                }
                for (int at = 0; at < 16; at++) {
                    assertEquals(0x5A5A_5A5A_5A5A_5A5AL, memories[i].getLong(384 + n * stride + at * 8), "canary");
                }

                Completion c = queues[i].peek();
                seen[i] = String.join(
                        " ",
                        String.valueOf(c.opcode()),
                        String.valueOf(c.isSolicited()),
                        String.valueOf(c.wqeCounter()),
                        String.valueOf(c.qpNumber()),
                        String.valueOf(c.syndrome()),
                        c.status().name(),
                        String.valueOf(c.workRequestId()),
                        String.valueOf(c.byteCount()),
                        String.valueOf(c.immediate()),
                        String.valueOf(c.vendorError()),
                        String.valueOf(c.flags()),
                        String.valueOf(c.sourceQp()));
                assertEquals(statusOf(statuses, syndrome), c.status());
                if (stride != 32) {
                    assertEquals(timestamp, c.timestamp());
                    byte[] bytes = new byte[words * 8];
                    for (int w = 0; w < words; w++) {
                        assertEquals(payload[w], c.payload(w));
                    }
                    memories[i].getBytes(384 + own * stride + 40, bytes, 0, bytes.length);
                    for (int at = 0; at < bytes.length; at++) {
                        assertEquals((byte) (payload[at / 8] >>> (at % 8 * 8)), bytes[at], "payload byte " + at);
                    }
                }
                WorkCompletion[] copy = {new WorkCompletion()};
                assertEquals(1, queues[i].pollInto(copy, 1));
                WorkCompletion w = copy[0];
                copied[i] = String.join(
                        " ",
                        String.valueOf(w.opcode()),
                        String.valueOf(w.isSolicited()),
                        String.valueOf(w.wqeCounter()),
                        String.valueOf(w.qpNumber()),
                        String.valueOf(w.syndrome()),
                        w.status().name(),
                        String.valueOf(w.workRequestId()),
                        String.valueOf(w.byteCount()),
                        String.valueOf(w.immediate()),
                        String.valueOf(w.vendorError()),
                        String.valueOf(w.flags()),
                        String.valueOf(w.sourceQp()));
                assertEquals(stride == 32 ? 0 : timestamp, w.timestamp());
            }
            assertEquals(seen[1], seen[0]);
            assertEquals(seen[1], seen[2]);
            assertEquals(seen[1], copied[0]);
            assertEquals(seen[1], copied[1]);
            assertEquals(seen[1], copied[2]);
        }
    }

    private static byte[] slots(QueueMemory memory, int stride, int n) {
        byte[] bytes = new byte[n * stride];
        memory.getBytes(384, bytes, 0, bytes.length);
        return bytes;
    }

    private static CompletionStatus statusOf(CompletionStatus[] statuses, int syndrome) {
        return switch (syndrome) {
            case 0 -> statuses[0];
            case 1 -> statuses[2];
            case 2 -> statuses[1];
            case 4 -> statuses[4];
            case 5 -> statuses[5];
            case 6 -> statuses[6];
            case 0x10 -> statuses[7];
            case 0x11 -> statuses[8];
            case 0x12 -> statuses[9];
            case 0x13 -> statuses[10];
            case 0x14 -> statuses[11];
            case 0x15 -> statuses[12];
            case 0x16 -> statuses[13];
            case 0x22 -> statuses[16];
            default -> statuses[21];
        };
    }

    @ParameterizedTest
    @CsvSource({ // enum ibv_wc_status of libibverbs/verbs.h, by number, with the reference syndrome (-1: none)
        "0,  SUCCESS,            0",
        "1,  LOC_LEN_ERR,        2",
        "2,  LOC_QP_OP_ERR,      1",
        "3,  LOC_EEC_OP_ERR,     -1",
        "4,  LOC_PROT_ERR,       4",
        "5,  WR_FLUSH_ERR,       5",
        "6,  MW_BIND_ERR,        6",
        "7,  BAD_RESP_ERR,       16",
        "8,  LOC_ACCESS_ERR,     17",
        "9,  REM_INV_REQ_ERR,    18",
        "10, REM_ACCESS_ERR,     19",
        "11, REM_OP_ERR,         20",
        "12, RETRY_EXC_ERR,      21",
        "13, RNR_RETRY_EXC_ERR,  22",
        "14, LOC_RDD_VIOL_ERR,   -1",
        "15, REM_INV_RD_REQ_ERR, -1",
        "16, REM_ABORT_ERR,      34",
        "17, INV_EECN_ERR,       -1",
        "18, INV_EEC_STATE_ERR,  -1",
        "19, FATAL_ERR,          -1",
        "20, RESP_TIMEOUT_ERR,   -1",
        "21, GENERAL_ERR,        255",
        "22, TM_ERR,             -1",
        "23, TM_RNDV_INCOMPLETE, -1"
    })
    @SuppressWarnings("EnumOrdinal") // that the ordinal is the number of verbs is what is tested
    void statusesHaveTheNumbersOfVerbs(int number, String name, int syndrome) {
        CompletionStatus status = CompletionStatus.valueOf(name);
        assertEquals(number, status.ordinal());
        assertEquals(24, CompletionStatus.values().length);
        if (syndrome >= 0) {
            assertEquals(syndrome, status.syndrome());
            assertEquals(status, CompletionStatus.ofSyndrome(syndrome));
            assertEquals(status, CompletionStatus.ofSyndrome(syndrome | 0x100), "higher bits are ignored");
        } else {
            assertEquals(
                    "the reference profile has no syndrome for " + name,
                    assertThrows(IllegalStateException.class, status::syndrome).getMessage());
        }
    }

    @Test
    void aSyndromeWithoutMeaningIsAGeneralError() {
        List<Integer> known = List.of(0, 1, 2, 4, 5, 6, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x22);
        for (int syndrome = 0; syndrome < 256; syndrome++) {
            assertEquals(
                    !known.contains(syndrome),
                    CompletionStatus.ofSyndrome(syndrome) == CompletionStatus.GENERAL_ERR,
                    "syndrome " + syndrome);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0,  RC_SEND,       false, true", "1,  RC_RDMA_WRITE, false, true", "2,  RC_RDMA_READ,  false, true",
        "3,  RC_COMP_SWAP,  false, true", "4,  RC_FETCH_ADD,  false, true", "5,  LOCAL_INV,     false, true",
        "6,  RECV,          true,  true", "7,  RECV_IMM,      true,  true", "8,  RECV_RDMA_IMM, true,  true",
        "9,  RECV_INV,      true,  true", "10, MERGED,        false, false", "11, RESIZE,       false, false",
        "12, ABANDONED,     false, false", "13, REQ_ERR,      false, true", "14, RESP_ERR,      true,  true",
        "15, INVALID,       false, false", "16, opcode 16,    false, false", "-1, opcode -1,    false, false"
    })
    void opcodesHaveTheNumbersOfTheDesign(int opcode, String name, boolean receive, boolean writable) {
        assertEquals(name, CqeOpcode.name(opcode));
        assertEquals(receive, CqeOpcode.isReceive(opcode));
        assertEquals(writable, CqeOpcode.isWritable(opcode));
    }

    @Test
    void opcodeConstantsHaveTheNumbersOfTheDesign() {
        assertEquals(
                List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14),
                List.of(
                        CqeOpcode.RC_SEND,
                        CqeOpcode.RC_RDMA_WRITE,
                        CqeOpcode.RC_RDMA_READ,
                        CqeOpcode.RC_COMP_SWAP,
                        CqeOpcode.RC_FETCH_ADD,
                        CqeOpcode.LOCAL_INV,
                        CqeOpcode.RECV,
                        CqeOpcode.RECV_IMM,
                        CqeOpcode.RECV_RDMA_IMM,
                        CqeOpcode.RECV_INV,
                        CqeOpcode.REQ_ERR,
                        CqeOpcode.RESP_ERR));
    }

    @Test
    void completionsDescribeThemselves() {
        CompletionQueue queue = CompletionQueue.ofCapacity(1).create();
        queue.writer()
                .write(CqeLayout.header(14, false, 7, 9, 5), -3, CqeLayout.length(-1, 0), CqeLayout.detail(0, 0, 0), 0);
        String expected = "Completion[RESP_ERR WR_FLUSH_ERR qp=9 wqe=7 id=-3 bytes=4294967295]";
        assertEquals(expected, queue.peek().toString());
        WorkCompletion[] copy = {new WorkCompletion()};
        assertEquals(1, queue.pollInto(copy, 1));
        assertEquals(expected, copy[0].toString());
        assertFalse(queue.startPoll());
    }
}
