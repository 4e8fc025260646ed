package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.StoppingMemory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What attach accepts, what it refuses, and that it changes nothing. The header is composed here by hand. */
@Tag("bothroutes")
class AttachTest {
    private static final int CAPACITY = 4;
    private static final int STRIDE = 64;
    private static final int BYTES = 384 + CAPACITY * STRIDE;
    private static final long START = 1000;

    /** The constant part of the queue that most tests here use, as drawn in CqHeader; the checksum is filled in. */
    private static long[] header() {
        long[] words = new long[16];
        words[0] = text("cqring\r\n");
        words[1] = 0x0102_0304_0506_0708L;
        words[2] = 1;
        words[3] = 1;
        words[4] = STRIDE;
        words[5] = CAPACITY;
        words[6] = 384;
        words[7] = BYTES;
        words[8] = 1; // DROP_NEW
        words[9] = START;
        words[15] = crc(words);
        return words;
    }

    private static long text(String eight) {
        byte[] bytes = eight.getBytes(StandardCharsets.US_ASCII);
        long word = 0;
        for (int i = 7; i >= 0; i--) {
            word = word << 8 | bytes[i];
        }
        return word;
    }

    /** CRC-32C bit by bit, of words 1 to 14. */
    private static long crc(long[] words) {
        int crc = ~0;
        for (int word = 1; word < 15; word++) {
            for (int bit = 0; bit < 64; bit++) {
                int in = (int) (words[word] >>> bit) & 1;
                crc = ((crc ^ in) & 1) == 0 ? crc >>> 1 : crc >>> 1 ^ 0x82F6_3B78;
            }
        }
        return ~crc & 0xFFFF_FFFFL;
    }

    private static QueueMemory made() {
        QueueMemory memory = QueueMemory.allocate(BYTES);
        queue(memory);
        return memory;
    }

    private static CompletionQueue queue(QueueMemory memory) {
        return CompletionQueue.ofCapacity(CAPACITY)
                .overrunPolicy(OverrunPolicy.DROP_NEW)
                .startSequence(START)
                .memory(memory)
                .create();
    }

    private static byte[] bytes(QueueMemory memory) {
        byte[] all = new byte[memory.sizeBytes()];
        memory.getBytes(0, all, 0, all.length);
        return all;
    }

    private static void put(QueueMemory memory, long[] words) {
        for (int i = 0; i < words.length; i++) {
            memory.putLong(i * 8L, words[i]);
        }
    }

    private static CqAttachException refusal(QueueMemory memory) {
        byte[] before = bytes(memory);
        CqAttachException refused =
                assertThrows(CqAttachException.class, () -> CompletionQueue.attach(memory), () -> memory.toString());
        assertArrayEquals(before, bytes(memory), "a refusal changes nothing");
        return refused;
    }

    private static void assertRefused(QueueMemory memory, String why) {
        assertEquals("cannot attach " + memory + ": " + why, refusal(memory).getMessage());
    }

    @Test
    void shouldWriteTheHeaderThatThePictureShows() {
        QueueMemory memory = made();
        long[] expected = header();
        for (int i = 0; i < 16; i++) {
            assertEquals(expected[i], memory.getLong(i * 8L), "word " + i);
        }
        int[] codes = {0, 1, 2};
        OverrunPolicy[] policies = {OverrunPolicy.ERROR, OverrunPolicy.DROP_NEW, OverrunPolicy.BACKPRESSURE};
        for (int i = 0; i < 3; i++) {
            new Shape(STRIDE, CAPACITY, START).queue(policies[i], memory);
            assertEquals(codes[i], memory.getLong(64));
            expected[8] = codes[i];
            assertEquals(crc(expected), memory.getLong(120));
            OverrunPolicy policy = policies[i];
            CompletionQueue attached = CompletionQueue.attach(memory);
            for (int n = 0; n < 4; n++) {
                assertTrue(Way.WRITE.publish(attached.writer(), n, STRIDE));
            }
            assertFalse(attached.writer().write(0, 0, 0, 0, 0));
            assertEquals(policy == OverrunPolicy.BACKPRESSURE ? 0 : 1, attached.lostEntries());
            assertEquals(policy == OverrunPolicy.ERROR, attached.writer().isDead());
        }
    }

    /** A second process must not wipe out what the first has posted: five entries posted, five polled. */
    @FieldBug(97)
    @Shape.Every
    void shouldChangeNoByteAndPollWhatIsThere(Shape shape) {
        int n = shape.capacity();
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue first = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        InOrder firstTaker = new InOrder(shape.stride(), Way.CLAIM, 0);
        long number = 0;
        for (int unpolled = 0; unpolled <= n; unpolled++) {
            while (number - firstTaker.next() < unpolled) {
                assertTrue(Way.CLAIM.publish(first.writer(), number++, shape.stride()));
            }
            byte[] before = bytes(memory);
            CompletionQueue second = CompletionQueue.attach(memory);
            assertArrayEquals(before, bytes(memory));
            assertEquals(unpolled, second.size());
            assertEquals(n, second.capacity());
            assertEquals(shape.stride(), second.strideBytes());
            InOrder taker = new InOrder(shape.stride(), Way.CLAIM, firstTaker.next());
            assertEquals(unpolled, second.poll(taker::onView, n));
            for (int i = 0; i < n; i++) {
                assertTrue(Way.CLAIM.publish(second.writer(), number++, shape.stride()));
            }
            assertFalse(Way.CLAIM.publish(second.writer(), number, shape.stride()), "full");
            first = CompletionQueue.attach(memory);
            firstTaker = new InOrder(shape.stride(), Way.CLAIM, taker.next());
            assertEquals(n, first.poll(firstTaker::onView, n));
        }
    }

    /** Every byte of the constant part, with several values each. */
    @Test
    void shouldRefuseAnyChangeOfTheConstantPart() {
        QueueMemory memory = made();
        byte[] good = bytes(memory);
        int tried = 0;
        for (int at = 0; at < 128; at++) {
            for (int value :
                    new int[] {0, 1, 2, 0x7F, 0x80, 0xFF, good[at] + 1, good[at] - 1, good[at] ^ 0x10, ~good[at]}) {
                byte[] bad = good.clone();
                bad[at] = (byte) value;
                memory.putBytes(0, bad, 0, bad.length);
                if (bad[at] != good[at]) {
                    CqAttachException refused = refusal(memory);
                    assertFalse(refused.isUnfinished(), () -> "waiting helps nothing: " + refused.getMessage());
                    tried++;
                }
            }
        }
        assertTrue(tried > 128 * 5);
        memory.putBytes(0, good, 0, good.length);
        CompletionQueue.attach(memory);
    }

    @Test
    void shouldSayWhichValueBreaksWhichRule() {
        QueueMemory memory = made();
        String crc = Long.toString(header()[15]);
        Object[][] cases = {
            {0, 0L, "magic is 0: the queue is not finished, or its creator has died"},
            {0, 5L, "magic must be 0xa0d676e69727163: 5"},
            {1, 0x0807_0605_0403_0201L, "byte order mark must be 0x102030405060708: 0x807060504030201"},
            {2, 2L, "layout version must be 1: 2"},
            {15, -1L, "checksum must be " + crc + ": 0xffffffffffffffff"},
        };
        for (Object[] each : cases) {
            long[] words = header();
            words[(int) each[0]] = (long) each[1];
            put(memory, words);
            assertRefused(memory, (String) each[2]);
        }
        Object[][] sealed = {
            {3, 2L, "entry layout must be 1: 2"},
            {11, 1L, "first slot offset must be 640: 384"},
            {11, 64L, "writers less one must be 0 to 63: 64"},
            {11, 1L << 17, "bits of the shape that this cannot attach must be 0: 131072"},
            {11, 1L << 19, "bits of the shape that this cannot attach must be 0: 524288"},
            {13, 7L, "reserved word at byte 104 must be 0: 7"},
            {4, 256L, "stride must be 32 to 128: 256"},
            {4, 48L, "entry must be 32, 64 or 128 bytes: 48"},
            {4, (1L << 32) + 64, "stride must be 32 to 128: 4294967360"},
            {5, 0L, "capacity must be 1 to 16777216: 0"},
            {5, 3L, "capacity must be a power of two, 1 or more: 3"},
            {5, (1L << 32) + 4, "capacity must be 1 to 16777216: 4294967300"},
            {6, 448L, "first slot offset must be 384: 448"},
            {7, 641L, "region bytes must be 640: 641"},
            {8, 3L, "overrun policy must be 0 to 2: 3"},
            {8, -1L, "overrun policy must be 0 to 2: -1"},
            {9, START + 1, "sequences must be 1001 (the first) or later: consumer 1000, producer 1000"},
        };
        for (Object[] each : sealed) {
            long[] words = header();
            words[(int) each[0]] = (long) each[1];
            words[15] = crc(words);
            put(memory, words);
            assertRefused(memory, (String) each[2]);
        }
        long[] larger = header();
        larger[5] = 8;
        larger[7] = 384 + 8 * 64;
        larger[15] = crc(larger);
        put(memory, larger);
        assertRefused(memory, "region bytes must be 384 to 640: 896");
        put(memory, header());
        memory.putLong(Region.LOST, -1);
        assertRefused(memory, "counter at byte 264 must be 0 or more: -1");
        memory.putLong(Region.LOST, 0);
        memory.putLong(Region.DEAD, 2);
        assertRefused(memory, "flag at byte 192 must be 0 or 1: 2");
    }

    /** A right checksum over numbers made to hurt. What is accepted, by hand: */
    private static boolean acceptable(int word, long value) {
        return switch (word) {
            case 2, 3 -> value == 1;
            case 4 -> value == STRIDE;
            case 5 -> value == CAPACITY;
            case 6 -> value == 384;
            case 7 -> value == BYTES;
            case 8 -> value >= 0 && value <= 2;
            case 9 -> START - value >= 0; // sequences at START were reached from there
            case 10 -> true; // epoch: any
            case 11 -> value == 1 << 16; // shared pollers
            default -> false;
        };
    }

    @Test
    void shouldRefuseHostileNumbersUnderARightChecksum() {
        QueueMemory memory = made();
        byte[] good = bytes(memory);
        long[] nasty = {
            0,
            1,
            2,
            3,
            4,
            5,
            8,
            16,
            31,
            32,
            33,
            63,
            64,
            65,
            127,
            128,
            129,
            256,
            511,
            384,
            513,
            576,
            640,
            767,
            768,
            769,
            999,
            1001,
            1 << 16,
            1 << 23,
            1 << 24,
            1 << 25,
            1 << 30,
            Integer.MAX_VALUE,
            1L << 31,
            (1L << 32) - 1,
            1L << 32,
            (1L << 32) + 4,
            (1L << 32) + 64,
            (1L << 32) + 384,
            (1L << 32) + 768,
            1L << 62,
            Long.MAX_VALUE,
            Long.MIN_VALUE,
            Long.MIN_VALUE + 4,
            -1,
            -4,
            -64,
            -384,
            -768,
            Integer.MIN_VALUE
        };
        int refused = 0;
        for (int word = 2; word < 15; word++) {
            for (long value : nasty) {
                long[] words = header();
                if (words[word] == value) {
                    continue;
                }
                words[word] = value;
                words[15] = crc(words);
                memory.putBytes(0, good, 0, good.length);
                put(memory, words);
                if (acceptable(word, value)) {
                    CompletionQueue queue = CompletionQueue.attach(memory);
                    if (word == 11) {
                        SharedAttachTest.exercise(queue, new SplittableRandom(value));
                    } else {
                        exercise(queue, new SplittableRandom(value));
                    }
                } else {
                    assertFalse(refusal(memory).isUnfinished());
                    refused++;
                }
            }
        }
        assertTrue(refused > 400, "refused " + refused);
    }

    @Test
    void shouldRefuseAFileThatIsTooShort(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("queue");
        queue(QueueMemory.create(file, BYTES));
        byte[] whole = Files.readAllBytes(file);
        assertEquals(BYTES, whole.length);
        for (int length = 0; length < BYTES; length += length < 520 ? 1 : 13) {
            Path truncated = folder.resolve("truncated");
            Files.write(truncated, Arrays.copyOf(whole, length));
            QueueMemory memory = QueueMemory.attach(truncated);
            assertEquals(length, memory.sizeBytes());
            CqAttachException refused = refusal(memory);
            assertEquals(length < 384, refused.isUnfinished(), refused.getMessage());
            assertArrayEquals(Arrays.copyOf(whole, length), Files.readAllBytes(truncated));
            Files.delete(truncated); // or the next write would shorten a file that is mapped
        }
        Path longer = folder.resolve("longer");
        Files.write(longer, Arrays.copyOf(whole, BYTES + 4097));
        assertEquals(
                CAPACITY, CompletionQueue.attach(QueueMemory.attach(longer)).capacity());
    }

    @Test
    void shouldRefuseWhatIsNoQueue(@TempDir Path folder) throws IOException {
        Path foreign = folder.resolve("foreign");
        SplittableRandom random = new SplittableRandom(7);
        for (int i = 0; i < 200; i++) {
            byte[] bytes = new byte[random.nextInt(384, 2000)];
            random.nextBytes(bytes);
            Files.write(foreign, bytes);
            assertFalse(refusal(QueueMemory.attach(foreign)).isUnfinished());
            Files.delete(foreign);
        }
    }

    /** Its creator stopped in front of every store in turn: attach says "not finished", and creating again works. */
    @FieldBug(99)
    @Test
    void shouldRefuseAQueueThatIsHalfMadeAndLetItBeMadeAgain(@TempDir Path folder) throws IOException {
        StoppingMemory counted = new StoppingMemory(QueueMemory.allocate(BYTES));
        queue(counted);
        assertTrue(counted.stores() > 16, "stores of a creation: " + counted.stores());
        for (long stores = 0; stores < counted.stores(); stores++) {
            Path file = folder.resolve("half" + stores);
            StoppingMemory memory = new StoppingMemory(QueueMemory.create(file, BYTES));
            memory.stopAfter(stores);
            assertThrows(StoppingMemory.Stopped.class, () -> queue(memory));
            QueueMemory again = QueueMemory.attach(file);
            CqAttachException refused = refusal(again);
            assertTrue(refused.isUnfinished());
            assertEquals(
                    "cannot attach " + again + ": magic is 0: the queue is not finished, or its creator has died",
                    refused.getMessage());
            CompletionQueue queue = queue(again);
            assertEquals(0, queue.poll(c -> {}, 1));
            assertTrue(Way.WRITE.publish(queue.writer(), 3, STRIDE));
            assertEquals(1, queue.poll(c -> Numbered.verify(c, 3, Way.WRITE, STRIDE), 1));
            queue.close();
        }
    }

    /** The two sequences around each other: what is reachable, by hand. */
    @Test
    void shouldAcceptSequencesThatTheEndsCanHaveReachedAndNoOthers() {
        QueueMemory memory = made();
        byte[] good = bytes(memory);
        for (long consumed = START - 2; consumed <= START + 12; consumed++) {
            for (long published = START - 2; published <= START + 12; published++) {
                memory.putBytes(0, good, 0, good.length);
                memory.putLong(Region.CONSUMER, consumed);
                memory.putLong(Region.PRODUCER, published);
                boolean reachable =
                        consumed >= START && published >= START && Math.abs(published - consumed) <= CAPACITY;
                // No slot has been written, so owner bits are 0: valid on odd laps, from 1004 to 1007.
                long valid = published;
                while (valid >= 1004 && valid <= 1007) {
                    valid++;
                }
                if (!reachable || consumed > valid) {
                    refusal(memory);
                } else {
                    assertEquals(
                            Math.max(0, published - consumed),
                            CompletionQueue.attach(memory).size());
                }
            }
        }
    }

    /** Whatever the part that changes holds: one exception, or a queue on which every call ends and stays in bounds. */
    @Test
    void shouldSurviveAnyMutablePart() {
        long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        System.out.println("AttachTest: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        int accepted = 0;
        for (int round = 0; round < 4000; round++) {
            long[] words = header();
            int stride = 32 << random.nextInt(3);
            int capacity = 1 << random.nextInt(5);
            words[4] = stride;
            words[5] = capacity;
            words[7] = 384 + (long) capacity * stride;
            words[8] = random.nextInt(3);
            words[15] = crc(words);
            QueueMemory memory = QueueMemory.allocate(words[7]);
            byte[] noise = new byte[capacity * stride];
            random.nextBytes(noise);
            memory.putBytes(384, noise, 0, noise.length);
            put(memory, words);
            memory.putLong(Region.CONSUMER, START);
            memory.putLong(Region.PRODUCER, START);
            for (int offset = 128; offset < 384; offset += 8) {
                if (random.nextInt(4) == 0) {
                    long[] values = {
                        0,
                        1,
                        -1,
                        Long.MIN_VALUE,
                        Long.MAX_VALUE,
                        START + random.nextInt(3 * capacity),
                        random.nextLong()
                    };
                    // Mostly near the mark, or nothing would be accepted.
                    memory.putLong(
                            offset, offset < 264 && random.nextInt(8) != 0 ? values[5] : values[random.nextInt(7)]);
                }
            }
            CompletionQueue queue;
            try {
                queue = CompletionQueue.attach(memory);
            } catch (CqAttachException e) {
                continue;
            }
            accepted++;
            exercise(queue, random);
        }
        assertTrue(
                accepted > 400 && accepted < 3600, "both must happen: accepted " + accepted + " of 4000, seed " + seed);
    }

    /** A peer stores into the words after both ends have their roles: as before, one exception, or calls that end in bounds. */
    @Test
    void shouldSurviveAnyMutablePartThatChangesAfterAttach(@TempDir Path folder) throws IOException {
        long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        System.out.println("AttachTest, after attach: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        int[] words = {Region.CONSUMER, Region.DEAD, Region.CLOSED, Region.PRODUCER, Region.LOST, Region.REJECTED};
        for (int round = 0; round < 300; round++) {
            boolean inFile = round % 3 == 0;
            Path file = folder.resolve("queue" + round);
            QueueMemory memory = inFile ? QueueMemory.create(file, BYTES) : QueueMemory.allocate(BYTES);
            queue(memory);
            CompletionQueue queue = CompletionQueue.attach(memory);
            exercise(queue, random);
            for (int change = 0; change < 8; change++) {
                long near = START + random.nextInt(3 * CAPACITY);
                long[] values = {0, 1, 1L << random.nextInt(10), -1, Long.MIN_VALUE, Long.MAX_VALUE, near};
                int word = words[random.nextInt(words.length)];
                long value = values[random.nextInt(values.length)];
                if (word == Region.CLOSED && value != 1) {
                    value &= ~1L; // mostly not closed, or there is little to see
                }
                memory.putLong(word, value);
                exercise(queue, random);
            }
            queue.close();
        }
    }

    /** Only a host of the same process can offer a ring: in a file the bit is a stranger's, and means nothing. */
    @Test
    void shouldIgnoreAResizeThatNobodyCanHaveAskedFor(@TempDir Path folder) throws IOException {
        QueueMemory memory = QueueMemory.create(folder.resolve("queue"), BYTES);
        CompletionQueue queue = queue(memory);
        assertTrue(Way.WRITE.publish(queue.writer(), 0, STRIDE));
        memory.putLong(Region.CLOSED, 2);
        assertTrue(Way.WRITE.publish(queue.writer(), 1, STRIDE));
        assertEquals(0, queue.writer().flush());
        assertEquals(ResizeStatus.NONE, queue.resizeStatus());
        InOrder taker = new InOrder(STRIDE, Way.WRITE, 0);
        assertEquals(2, queue.poll(taker::onView, CAPACITY));
    }

    /** A process that attaches a dead queue learns it from its writer before that has written. */
    @Test
    void shouldSayThatAQueueInAFileIsDead(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("queue");
        CompletionQueue made = CompletionQueue.ofCapacity(CAPACITY)
                .overrunPolicy(OverrunPolicy.ERROR)
                .memory(QueueMemory.create(file, BYTES))
                .create();
        CompletionQueue attached = CompletionQueue.attach(QueueMemory.attach(file));
        assertFalse(attached.writer().isDead());
        for (int i = 0; i < CAPACITY; i++) {
            assertTrue(Way.WRITE.publish(made.writer(), i, STRIDE));
        }
        assertFalse(Way.WRITE.publish(made.writer(), CAPACITY, STRIDE));
        assertTrue(made.writer().isDead());
        assertTrue(attached.writer().isDead());
    }

    /** Every call, in any order: returns within bounds or throws what it documents. */
    private static void exercise(CompletionQueue queue, SplittableRandom random) {
        CompletionWriter writer = queue.writer();
        WorkCompletion[] into = Polling.completions(queue.capacity());
        for (int i = 0; i < 30; i++) {
            int limit = random.nextInt(2 * queue.capacity() + 1);
            try {
                int done = switch (random.nextInt(9)) {
                    case 0 -> queue.poll(c -> assertTrue(c.toString().length() > 10), limit);
                    case 1 -> queue.pollInto(into, Math.min(limit, into.length));
                    case 2 -> queue.startPoll() ? queue.endPoll() : 0;
                    case 3 -> queue.peek() == null ? 0 : 1;
                    case 4 -> writer.write(2, i, 0, 0, 0) ? 1 : 0;
                    case 5 -> writer.stage(2, i, 0, 0, 0) ? 1 : 0;
                    case 6 -> writer.flush();
                    case 7 -> writer.recover();
                    default -> queue.size();
                };
                assertTrue(done >= 0 && done <= queue.capacity(), "result " + done);
            } catch (IllegalStateException documented) {
                String message = documented.getMessage();
                assertTrue(
                        documented instanceof CqOverrunException
                                || documented instanceof CqAttachException
                                || message.equals("completion queue is closed")
                                || message.equals("completion queue is being drained: it takes no more entries"),
                        message);
            }
        }
    }

    @FieldBug(97)
    @Test
    void shouldNotMakeAQueueOverOneInAFile(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("queue");
        QueueMemory memory = QueueMemory.create(file, BYTES);
        CompletionQueue queue = queue(memory);
        assertTrue(Way.WRITE.publish(queue.writer(), 1, STRIDE));
        byte[] before = bytes(memory);
        assertEquals(
                "memory is a file that holds a queue, which other processes may use: " + memory
                        + "; attach it, or delete the file",
                assertThrows(IllegalArgumentException.class, () -> queue(memory))
                        .getMessage());
        assertThrows(java.nio.file.FileAlreadyExistsException.class, () -> QueueMemory.create(file, BYTES));
        assertArrayEquals(before, bytes(memory));
        long epoch = memory.getLong(80);
        Files.delete(file);
        QueueMemory newer = QueueMemory.create(file, BYTES);
        assertThrows(
                IllegalStateException.class,
                () -> Way.WRITE.publish(queue(newer).writer(), 1, STRIDE),
                "the old queue of that name still has its writer");
        assertTrue(epoch != newer.getLong(80), "another creation, another epoch");
        assertEquals(1, queue.poll(c -> Numbered.verify(c, 1, Way.WRITE, STRIDE), 4), "the old file lives on");
        queue.close();
        assertTrue(Way.WRITE.publish(CompletionQueue.attach(newer).writer(), 1, STRIDE));
    }
}
