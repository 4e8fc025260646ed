package io.cqring.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigInteger;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The arithmetic against a walk that counts slots and flips a bit, and against BigInteger where no walk gets to. */
class RingGeometryTest {
    private static final BigInteger TWO_64 = BigInteger.ONE.shiftLeft(64);

    /** Index, lap parity and offset by counting, three laps and more from creation. */
    @Test
    void shouldAgreeWithAWalkFromTheStart() {
        for (int stride : new int[] {8, 16, 32, 64, 128, 4096}) {
            for (int capacity = 1; capacity <= 64; capacity *= 2) {
                RingGeometry geometry = RingGeometry.of(stride * 3, capacity, stride);
                int index = 0;
                int phase = 1;
                for (long sequence = 0; sequence < 5L * capacity; sequence++) {
                    assertEquals(stride * 3 + index * stride, geometry.offset(sequence));
                    assertEquals(phase, geometry.phase(sequence));
                    index++;
                    if (index == capacity) {
                        index = 0;
                        phase = 1 - phase;
                    }
                }
            }
        }
    }

    /** A walk across each width, the end of positive longs and the end of unsigned ones included. */
    @ParameterizedTest
    @ValueSource(
            longs = {
                (1L << 16) - 200,
                (1L << 24) - 200,
                (1L << 31) - 200,
                (1L << 32) - 200,
                Long.MAX_VALUE - 200,
                -200,
                Long.MIN_VALUE,
                -1
            })
    void shouldAgreeWithBigIntegersAcrossEveryWidth(long from) {
        for (int capacity = 1; capacity <= 128; capacity *= 2) {
            for (long i = 0; i < 400; i++) {
                assertAgrees(capacity, 64, from + i);
            }
        }
    }

    @Test
    void shouldAgreeWithBigIntegersAnywhere() {
        SplittableRandom random = new SplittableRandom(20260101);
        for (int i = 0; i < 200_000; i++) {
            assertAgrees(1 << random.nextInt(25), 8 << random.nextInt(4), random.nextLong());
        }
    }

    private static void assertAgrees(int capacity, int stride, long sequence) {
        RingGeometry geometry = RingGeometry.of(0, capacity, stride);
        BigInteger count = BigInteger.valueOf(sequence).mod(TWO_64);
        BigInteger[] lapAndIndex = count.divideAndRemainder(BigInteger.valueOf(capacity));
        int offset = lapAndIndex[1].intValueExact() * stride;
        long phase = lapAndIndex[0].testBit(0) ? 0 : 1;
        assertEquals(offset, geometry.offset(sequence));
        assertEquals(phase, geometry.phase(sequence));
        assertEquals(phase, RingGeometry.phase(sequence, geometry.lapShift()));
        assertEquals(offset + 4096, RingGeometry.offset(sequence, 4096, geometry.indexMask(), geometry.strideShift()));
    }

    @Test
    void shouldFindTheFirstUseOfEachSlot() {
        for (int capacity = 1; capacity <= 32; capacity *= 2) {
            RingGeometry geometry = RingGeometry.of(0, capacity, 8);
            for (long start : new long[] {0, 1, capacity - 1, (1L << 31) - 3, (1L << 32) - 1, Long.MAX_VALUE - 1, -5}) {
                for (int index = 0; index < capacity; index++) {
                    long expected = start;
                    while (Long.remainderUnsigned(expected, capacity) != index) {
                        expected++;
                    }
                    assertEquals(expected, geometry.firstUse(start, index));
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "1, 8, 0, 0, 3",
        "2, 16, 1, 1, 4",
        "8192, 64, 8191, 13, 6",
        "16777216, 64, 16777215, 24, 6",
        "4, 128, 3, 2, 7"
    })
    void shouldTellItsNumbers(int capacity, int stride, int indexMask, int lapShift, int strideShift) {
        RingGeometry geometry = RingGeometry.of(256 * stride, capacity, stride);
        assertEquals(capacity, geometry.capacity());
        assertEquals(stride, geometry.strideBytes());
        assertEquals(256 * stride, geometry.firstSlotOffset());
        assertEquals(indexMask, geometry.indexMask());
        assertEquals(lapShift, geometry.lapShift());
        assertEquals(strideShift, geometry.strideShift());
        assertEquals((long) capacity * stride, RingGeometry.slotsBytes(capacity, stride));
    }

    @Test
    void shouldComputeBytesExactlyBeyondAnInt() {
        assertEquals(137_438_953_472L, RingGeometry.slotsBytes(1 << 30, 128));
        assertEquals(2_147_483_648L, RingGeometry.slotsBytes(1 << 24, 128));
        assertEquals(1_152_921_504_606_846_976L, RingGeometry.slotsBytes(1 << 30, 1 << 30));
    }

    private static String refusal(int firstSlotOffset, int capacity, int stride) {
        return assertThrows(IllegalArgumentException.class, () -> RingGeometry.of(firstSlotOffset, capacity, stride))
                .getMessage();
    }

    @Test
    void shouldRefuseWhatIsNoRing() {
        for (int capacity : new int[] {Integer.MIN_VALUE, -8, -1, 0, 3, 6, 12, Integer.MAX_VALUE}) {
            String message = "capacity must be a power of two, 1 or more: " + capacity;
            assertEquals(message, refusal(0, capacity, 64));
            assertEquals(
                    message,
                    assertThrows(IllegalArgumentException.class, () -> RingGeometry.slotsBytes(capacity, 64))
                            .getMessage());
        }
        for (int stride : new int[] {Integer.MIN_VALUE, -64, 0, 1, 4, 24, 100, Integer.MAX_VALUE}) {
            assertEquals("stride must be a power of two, 8 bytes or more: " + stride, refusal(0, 4, stride));
        }
        for (int offset : new int[] {-64, -1, 1, 32, 63, 65}) {
            assertEquals(
                    "first slot offset must be a multiple of the stride, 64 bytes: " + offset, refusal(offset, 4, 64));
        }
    }

    /** The last slot may end at 2^31 - 1 at most: exactly there is no ring, 64 bytes before is one. */
    @Test
    void shouldRefuseARingThatAnIntCannotAddress() {
        assertEquals(
                "ring must end within 2147483647 bytes: capacity 16777216 x stride 128 ends at 2147483648",
                refusal(0, 1 << 24, 128));
        assertEquals(
                "ring must end within 2147483647 bytes: capacity 16777216 x stride 64 ends at 2147483648",
                refusal(1 << 30, 1 << 24, 64));
        assertEquals(
                "ring must end within 2147483647 bytes: capacity 1073741824 x stride 1073741824 ends at 1152921504606846976",
                refusal(0, 1 << 30, 1 << 30));
        RingGeometry largest = RingGeometry.of((1 << 30) - 64, 1 << 24, 64);
        assertEquals(Integer.MAX_VALUE - 127, largest.offset(-1));
    }
}
