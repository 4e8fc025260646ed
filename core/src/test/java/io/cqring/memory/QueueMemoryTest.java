package io.cqring.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import io.cqring.testing.RecordingMemory;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Off-heap memory, whichever way it is reached: runs on both routes. */
@Tag("bothroutes")
class QueueMemoryTest {
    /** A direct buffer of {@code bytes} that starts {@code past} bytes past a 128-byte boundary. */
    private static ByteBuffer direct(int bytes, int past) {
        ByteBuffer aligned = ByteBuffer.allocateDirect(bytes + 512).alignedSlice(128);
        return aligned.position(past).limit(past + bytes);
    }

    private static String refusal(ByteBuffer buffer) {
        return assertThrows(IllegalArgumentException.class, () -> QueueMemory.wrap(buffer))
                .getMessage();
    }

    @FieldBug(96)
    @Test
    void shouldRefuseMemoryThatIsNotAligned() {
        for (int past : new int[] {1, 4, 8, 32, 63, 65, 96, 127}) {
            ByteBuffer buffer = direct(256, past);
            assertEquals(
                    "buffer must start on a 64-byte boundary, it starts " + past % 64 + " bytes past one: " + buffer,
                    refusal(buffer));
        }
        for (int past : new int[] {0, 64, 128}) {
            assertEquals(256, QueueMemory.wrap(direct(256, past)).sizeBytes());
        }
    }

    @FieldBug(96)
    @Test
    void shouldRefuseMemoryThatCannotBeSharedAtomically() {
        ByteBuffer heap = ByteBuffer.allocate(256);
        assertEquals("buffer must be direct (atomic access to heap arrays is not defined): " + heap, refusal(heap));
        ByteBuffer readOnlyHeap = heap.asReadOnlyBuffer();
        assertTrue(refusal(readOnlyHeap).startsWith("buffer must be direct"));
        ByteBuffer readOnly = direct(256, 0).asReadOnlyBuffer();
        assertEquals("buffer must be writable: " + readOnly, refusal(readOnly));
        ByteBuffer empty = direct(0, 0);
        assertEquals("buffer must not be empty: " + empty, refusal(empty));
        assertThrows(NullPointerException.class, () -> QueueMemory.wrap(null));
    }

    @Test
    void shouldWrapWhatLiesBetweenPositionAndLimit() {
        ByteBuffer buffer = direct(256, 64);
        int position = buffer.position();
        byte[] contents = new byte[256];
        new SplittableRandom(1).nextBytes(contents);
        for (int i = 0; i < 256; i++) {
            buffer.put(position + i, contents[i]);
        }
        QueueMemory memory = QueueMemory.wrap(buffer);
        buffer.position(0).limit(1); // without effect
        assertEquals(256, memory.sizeBytes());
        byte[] seen = new byte[256];
        memory.getBytes(0, seen, 0, 256);
        assertArrayEquals(contents, seen, "contents are left alone");
        memory.putLong(8, 0x0102_0304_0506_0708L);
        buffer.clear();
        assertEquals(8, buffer.get(position + 8), "shared, not copied; lowest byte first");
        assertEquals(1, buffer.get(position + 15));
    }

    @Test
    void shouldAllocateZeroedMemoryOnA128ByteBoundary() {
        for (long bytes : new long[] {1, 7, 8, 64, 127, 128, 129, 1000, 4096, 1_000_003}) {
            QueueMemory memory = QueueMemory.allocate(bytes);
            assertEquals(bytes, memory.sizeBytes());
            byte[] all = new byte[(int) bytes];
            memory.getBytes(0, all, 0, all.length);
            assertArrayEquals(new byte[(int) bytes], all);
        }
    }

    /** What the JDK says of the address, not what this class believes. */
    @Test
    void shouldAllocateOnABoundaryThatTheAddressConfirms() throws ReflectiveOperationException {
        Field buffer = DirectMemory.class.getDeclaredField("buffer");
        buffer.setAccessible(true);
        for (int i = 0; i < 200; i++) {
            QueueMemory memory = QueueMemory.allocate(1 + i * 7);
            assertEquals(0, ((ByteBuffer) buffer.get(memory)).alignmentOffset(0, 128));
        }
    }

    @Test
    void shouldRefuseSizesThatNoBufferHas() {
        for (long bytes : new long[] {
            Long.MIN_VALUE,
            -1,
            0,
            2_147_483_393L,
            Integer.MAX_VALUE,
            1L << 31,
            1L << 32,
            (1L << 32) + 64,
            Long.MAX_VALUE
        }) {
            assertEquals(
                    "size must be 1 to 2147483392 bytes: " + bytes,
                    assertThrows(IllegalArgumentException.class, () -> QueueMemory.allocate(bytes))
                            .getMessage());
        }
    }

    /** Every mode stores and loads the same eight bytes, in little-endian order, at every aligned offset. */
    @Test
    void shouldStoreAndLoadWholeWordsInEveryMode() {
        QueueMemory memory = QueueMemory.allocate(136);
        SplittableRandom random = new SplittableRandom(2);
        for (int offset = 0; offset <= 128; offset += 8) {
            for (int mode = 0; mode < 4; mode++) {
                memory.fill(0, 136, (byte) 0x33);
                long value = random.nextLong();
                if (mode == 0) {
                    memory.putLong(offset, value);
                } else if (mode == 1) {
                    memory.putLongOpaque(offset, value);
                } else if (mode == 2) {
                    long before = 0x3333_3333_3333_3333L;
                    assertFalse(memory.compareAndSetLong(offset, ~before, value));
                    assertFalse(memory.compareAndSetLong(offset, before ^ 1L << 63, value), "all 64 bits are compared");
                    assertFalse(memory.compareAndSetLong(offset, before ^ 1, value));
                    assertEquals(before, memory.getLong(offset), "refused: unchanged");
                    assertTrue(memory.compareAndSetLong(offset, before, value));
                    assertFalse(memory.compareAndSetLong(offset, before, ~value), "only once");
                } else {
                    memory.putLongRelease(offset, value);
                }
                assertEquals(value, memory.getLong(offset));
                assertEquals(value, memory.getLongOpaque(offset));
                assertEquals(value, memory.getLongAcquire(offset));
                byte[] expected = new byte[136];
                Arrays.fill(expected, (byte) 0x33);
                ByteBuffer.wrap(expected).order(ByteOrder.LITTLE_ENDIAN).putLong(offset, value);
                byte[] all = new byte[136];
                memory.getBytes(0, all, 0, 136);
                assertArrayEquals(expected, all, "and touch no neighbour");
            }
        }
    }

    /** In tests (-ea) a word out of bounds, or across a word boundary, is an error on both routes. */
    @Test
    void shouldCatchWordsOutOfBounds() {
        QueueMemory memory = QueueMemory.allocate(64);
        for (int offset : new int[] {Integer.MIN_VALUE, -8, -1, 1, 4, 7, 57, 60, 64, 72, Integer.MAX_VALUE}) {
            for (Executable access : new Executable[] {
                () -> memory.getLong(offset),
                () -> memory.getLongOpaque(offset),
                () -> memory.getLongAcquire(offset),
                () -> memory.putLong(offset, 1),
                () -> memory.putLongOpaque(offset, 1),
                () -> memory.putLongRelease(offset, 1),
                () -> memory.compareAndSetLong(offset, 0, 1)
            }) {
                assertThrows(AssertionError.class, access, () -> "offset " + offset);
            }
        }
        QueueMemory tiny = QueueMemory.allocate(7);
        assertThrows(AssertionError.class, () -> tiny.getLong(0));
    }

    @Test
    void shouldMoveBytesAtAnyAlignment() {
        byte[] model = new byte[200];
        QueueMemory memory = QueueMemory.allocate(200);
        byte[] otherModel = new byte[150];
        QueueMemory other = QueueMemory.allocate(150);
        QueueMemory foreign = new RecordingMemory(150);
        SplittableRandom random = new SplittableRandom(3);
        random.nextBytes(otherModel);
        other.putBytes(0, otherModel, 0, 150);
        foreign.putBytes(0, otherModel, 0, 150);
        for (int i = 0; i < 20_000; i++) {
            int length = random.nextInt(100);
            int offset = random.nextInt(200 - length + 1);
            int from = random.nextInt(150 - length + 1);
            switch (random.nextInt(5)) {
                case 0 -> {
                    byte[] bytes = new byte[150];
                    random.nextBytes(bytes);
                    memory.putBytes(offset, bytes, from, length);
                    System.arraycopy(bytes, from, model, offset, length);
                }
                case 1 -> {
                    memory.copy(offset, other, from, length);
                    System.arraycopy(otherModel, from, model, offset, length);
                }
                case 2 -> {
                    memory.copy(offset, foreign, from, length);
                    System.arraycopy(otherModel, from, model, offset, length);
                }
                case 3 -> { // within itself, overlapping more often than not
                    memory.copy(offset, memory, from, length);
                    System.arraycopy(model.clone(), from, model, offset, length);
                }
                default -> {
                    byte value = (byte) random.nextInt();
                    memory.fill(offset, length, value);
                    Arrays.fill(model, offset, offset + length, value);
                }
            }
            byte[] all = new byte[200];
            memory.getBytes(0, all, 0, 200);
            assertArrayEquals(model, all, "step " + i);
            byte[] part = new byte[100];
            memory.getBytes(offset, part, 100 - length, length);
            assertArrayEquals(
                    Arrays.copyOfRange(model, offset, offset + length), Arrays.copyOfRange(part, 100 - length, 100));
        }
    }

    /** Larger than the piece that fill works with, and not a multiple of it. */
    @Test
    void shouldFillLongRanges() {
        int size = (1 << 16) * 3 + 77;
        QueueMemory memory = QueueMemory.allocate(size + 20);
        memory.fill(10, size, (byte) 0x6B);
        byte[] all = new byte[size + 20];
        memory.getBytes(0, all, 0, all.length);
        byte[] expected = new byte[size + 20];
        Arrays.fill(expected, 10, size + 10, (byte) 0x6B);
        assertArrayEquals(expected, all);
    }

    @Test
    void shouldRefuseBytesOutOfBoundsAndMoveNothing() {
        byte[] pattern = new byte[64];
        Arrays.fill(pattern, (byte) 9);
        QueueMemory memory = QueueMemory.allocate(64);
        memory.putBytes(0, pattern, 0, 64);
        QueueMemory other = QueueMemory.allocate(64);
        QueueMemory foreign = new RecordingMemory(64);
        byte[] array = new byte[64];
        int[][] ranges = { // offset in the region, index in the other, length
            {-1, 0, 1},
            {0, -1, 1},
            {0, 0, -1},
            {0, 0, 65},
            {64, 0, 1},
            {0, 64, 1},
            {1, 0, 64},
            {0, 1, 64},
            {Integer.MAX_VALUE, 0, 1},
            {0, Integer.MAX_VALUE, 1},
            {1, 0, Integer.MAX_VALUE},
            {Integer.MIN_VALUE, 0, 8}
        };
        for (int[] range : ranges) {
            for (Executable access : new Executable[] {
                () -> memory.getBytes(range[0], array, range[1], range[2]),
                () -> memory.putBytes(range[0], array, range[1], range[2]),
                () -> memory.copy(range[0], other, range[1], range[2]),
                () -> memory.copy(range[0], foreign, range[1], range[2])
            }) {
                assertThrows(IndexOutOfBoundsException.class, access, () -> Arrays.toString(range));
            }
            if (range[1] == 0) {
                assertThrows(
                        IndexOutOfBoundsException.class,
                        () -> memory.fill(range[0], range[2], (byte) 1),
                        () -> Arrays.toString(range));
            }
        }
        byte[] all = new byte[64];
        memory.getBytes(0, all, 0, 64);
        assertArrayEquals(pattern, all);
        assertArrayEquals(new byte[64], array);
        memory.fill(64, 0, (byte) 1); // nothing at the very end is in bounds
        memory.getBytes(64, array, 64, 0);
    }
}
