package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sizes: what is refused, what is needed, what is touched. */
@Tag("bothroutes")
class CreationTest {
    private static String message(Class<? extends Throwable> type, org.junit.jupiter.api.function.Executable call) {
        return assertThrows(type, call).getMessage();
    }

    @Test
    void shouldHaveTheDefaultsItNames() {
        CompletionQueue queue = CompletionQueue.ofCapacity(4).create();
        assertEquals(64, queue.strideBytes());
        assertEquals(4, queue.capacity());
        for (int i = 0; i < 4; i++) {
            assertTrue(queue.writer().write(0, i, 0, 0, 0));
        }
        assertFalse(queue.writer().write(0, 4, 0, 0, 0), "BACKPRESSURE: refused");
        assertEquals(0, queue.lostEntries());
        assertEquals(4, queue.poll(c -> {}, 4));
        assertTrue(queue.writer().write(0, 4, 0, 0, 0));
    }

    @ParameterizedTest
    @ValueSource(ints = {Integer.MIN_VALUE, -4, -1, 0, 3, 5, 6, 7, 9, 1000, (1 << 24) + 1, Integer.MAX_VALUE})
    void shouldRefuseACapacityThatIsNoPowerOfTwo(int capacity) {
        for (int stride : Shape.STRIDES) {
            String expected = "capacity must be a power of two, 1 or more: " + capacity;
            assertEquals(
                    expected,
                    message(
                            IllegalArgumentException.class,
                            () -> CompletionQueue.ofCapacity(capacity)
                                    .strideBytes(stride)
                                    .create()));
            assertEquals(
                    expected,
                    message(IllegalArgumentException.class, () -> CompletionQueue.requiredBytes(capacity, stride)));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Integer.MIN_VALUE, -64, 0, 1, 8, 16, 31, 33, 48, 63, 65, 96, 256, Integer.MAX_VALUE})
    void shouldRefuseAStrideThatIsNoEntry(int stride) {
        String expected = "entry must be 32, 64 or 128 bytes: " + stride;
        assertEquals(
                expected,
                message(
                        IllegalArgumentException.class,
                        () -> CompletionQueue.ofCapacity(4).strideBytes(stride).create()));
        assertEquals(expected, message(IllegalArgumentException.class, () -> CompletionQueue.requiredBytes(4, stride)));
    }

    @Test
    void shouldRefuseNulls() {
        assertEquals(
                "overrun policy",
                message(
                        NullPointerException.class,
                        () -> CompletionQueue.ofCapacity(1).overrunPolicy(null)));
        assertEquals(
                "memory",
                message(
                        NullPointerException.class,
                        () -> CompletionQueue.ofCapacity(1).memory(null)));
    }

    /** One size formula, exact beyond 2^31 and 2^32: 384 bytes of words, then the slots. */
    @FieldBug(13)
    @Test
    void shouldComputeSizesExactly() {
        long[] of128 = { // 2^20 .. 2^30 entries of 128 bytes, plus 384; worked out by hand
            134_218_112L,
            268_435_840L,
            536_871_296L,
            1_073_742_208L,
            2_147_484_032L,
            4_294_967_680L,
            8_589_934_976L,
            17_179_869_568L,
            34_359_738_752L,
            68_719_477_120L,
            137_438_953_856L
        };
        for (int i = 0; i < of128.length; i++) {
            assertEquals(of128[i], CompletionQueue.requiredBytes(1 << (20 + i), 128));
        }
        assertEquals(416, CompletionQueue.requiredBytes(1, 32));
        assertEquals(448, CompletionQueue.requiredBytes(1, 64));
        assertEquals(512, CompletionQueue.requiredBytes(1, 128));
        assertEquals(34_359_738_752L, CompletionQueue.requiredBytes(1 << 30, 32));
        assertEquals(68_719_477_120L, CompletionQueue.requiredBytes(1 << 30, 64));
    }

    /** A region of exactly the size is enough, a byte less is refused, and no byte outside is touched. */
    @FieldBug(13)
    @Shape.Every
    void shouldTouchNothingBeyondWhatItAskedFor(Shape shape) {
        byte[] guard = new byte[4096];
        Arrays.fill(guard, (byte) 0x5A);
        long bytes = CompletionQueue.requiredBytes(shape.capacity(), shape.stride());
        assertEquals(shape.bytes(), bytes);
        QueueMemory larger = QueueMemory.allocate(bytes + guard.length);
        larger.putBytes((int) bytes, guard, 0, guard.length);
        use(shape, larger);
        byte[] after = new byte[guard.length];
        larger.getBytes((int) bytes, after, 0, after.length);
        assertArrayEquals(guard, after, "guard bytes");

        use(shape, QueueMemory.allocate(bytes));

        QueueMemory smaller = QueueMemory.allocate(bytes - 1);
        byte[] pattern = new byte[(int) bytes - 1];
        Arrays.fill(pattern, (byte) 0xC3);
        smaller.putBytes(0, pattern, 0, pattern.length);
        assertEquals(
                "memory of " + (bytes - 1) + " bytes is too small for " + shape.capacity() + " entries of "
                        + shape.stride() + " bytes: " + bytes + " bytes are needed",
                message(IllegalArgumentException.class, () -> shape.queue(OverrunPolicy.ERROR, smaller)));
        byte[] untouched = new byte[pattern.length];
        smaller.getBytes(0, untouched, 0, untouched.length);
        assertArrayEquals(pattern, untouched, "a refusal touches nothing");
    }

    private static void use(Shape shape, QueueMemory memory) {
        CompletionQueue queue = shape.queue(OverrunPolicy.DROP_NEW, memory);
        Polling.InOrder taker = new Polling.InOrder(shape.stride(), Way.CLAIM, 0);
        for (int lap = 0; lap < 3; lap++) {
            PollContractTest.write(queue, Way.CLAIM, (long) lap * shape.capacity(), (lap + 1L) * shape.capacity());
            assertFalse(Way.CLAIM.publish(queue.writer(), 0, shape.stride()));
            assertEquals(shape.capacity(), queue.poll(taker::onView, shape.capacity()));
        }
    }

    /** The words of the picture, at the places of the picture, each written by the end that owns it. */
    @Test
    void shouldKeepItsWordsWhereThePictureHasThem() {
        QueueMemory memory = QueueMemory.allocate(384 + 2 * 64);
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .startSequence(1000)
                .overrunPolicy(OverrunPolicy.ERROR)
                .memory(memory)
                .create();
        assertWords(memory, 1000, 1000, 0, 0, 0, 0);
        queue.writer().write(0, 1, 0, 0, 0);
        assertWords(memory, 1000, 1001, 0, 0, 0, 0);
        queue.poll(c -> {}, 1);
        assertWords(memory, 1001, 1001, 0, 0, 0, 0);
        queue.writer().write(0, 2, 0, 0, 0);
        queue.writer().write(0, 3, 0, 0, 0);
        memory.putLong(Region.CONSUMER, 5);
        queue.writer().write(0, 4, 0, 0, 0);
        assertWords(memory, 5, 1003, 1, 1, 1, 0);
        queue.close();
        assertWords(memory, 5, 1003, 1, 1, 1, 1);
    }

    private static void assertWords(QueueMemory memory, long... words) {
        int[] offsets = {Region.CONSUMER, Region.PRODUCER, Region.LOST, Region.REJECTED, Region.DEAD, Region.CLOSED};
        for (int i = 0; i < offsets.length; i++) {
            assertEquals(words[i], memory.getLong(offsets[i]), "word at byte " + offsets[i]);
        }
    }
}
