package io.cqring.simnic.dma;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.cqring.memory.QueueMemory;
import io.cqring.simnic.fault.DeviceFaults;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RegionTableTest {
    private final RegionTable table = new RegionTable();
    private final ProtectionDomain domain = new ProtectionDomain(1);

    private MemoryRegion plain(long address, int length, int rights) {
        return table.register(domain, address, length, rights, QueueMemory.allocate(length), 0);
    }

    @ParameterizedTest
    @CsvSource({
        // base of 256 bytes, access, length, within
        "0, 0, 256, true",
        "0, 0, 257, false",
        "0, 256, 1, false",
        "0, 255, 1, true",
        "0, -1, 1, false",
        "4096, 4095, 2, false",
        "4096, 4096, 9223372036854775807, false",
        "4096, 4196, 9223372036854775807, false",
        "4096, 4300, 52, true",
        "4096, 4300, 53, false",
        "9223372036854775800, 9223372036854775807, 1, true",
        "9223372036854775800, -9223372036854775808, 1, true",
        "9223372036854775800, -9223372036854775561, 2, false",
        "-256, -1, 1, true",
        "-256, -1, 2, false",
        "-256, 0, 1, false"
    })
    void rangesAreExactForAllAddresses(long base, long address, long length, boolean within) {
        MemoryRegion region = plain(base, 256, AccessRights.ALL);
        assertEquals(within, table.findLocal(region.lkey(), domain, address, length, 0) != null);
        assertEquals(
                within, table.findRemote(region.rkey(), domain, address, length, AccessRights.REMOTE_READ) != null);
    }

    @Test
    void keysAreNotInterchangeable() {
        MemoryRegion region = plain(0, 64, AccessRights.ALL);
        assertSame(region, table.findLocal(region.lkey(), domain, 0, 1, AccessRights.LOCAL_WRITE));
        assertSame(region, table.findRemote(region.rkey(), domain, 0, 1, AccessRights.REMOTE_WRITE));
        assertNull(table.findLocal(region.rkey(), domain, 0, 1, 0));
        assertNull(table.findRemote(region.lkey(), domain, 0, 1, 0));
        assertNull(table.findLocal(region.lkey(), new ProtectionDomain(1), 0, 1, 0), "another domain of equal number");
        for (int key : new int[] {0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, region.lkey() + 1}) {
            assertNull(table.findLocal(key, domain, 0, 1, 0));
        }
    }

    @Test
    void rightsAreChecked() {
        MemoryRegion region = plain(0, 64, AccessRights.LOCAL_WRITE | AccessRights.REMOTE_READ);
        assertNotNull(table.findRemote(region.rkey(), domain, 0, 64, AccessRights.REMOTE_READ));
        assertNull(table.findRemote(region.rkey(), domain, 0, 64, AccessRights.REMOTE_WRITE));
        assertThrows(IllegalArgumentException.class, () -> plain(0, 64, AccessRights.REMOTE_WRITE));
        assertThrows(IllegalArgumentException.class, () -> plain(0, 64, 8));
    }

    @Test
    void staleKeysAreRefusedThroughManyGenerations() {
        Set<Integer> keys = new HashSet<>();
        for (int i = 0; i < 127; i++) {
            MemoryRegion region = plain(0, 64, AccessRights.ALL);
            assertEquals(true, keys.add(region.lkey()) && keys.add(region.rkey()), "a key came back after " + i);
            table.deregister(region);
            assertNull(table.findLocal(region.lkey(), domain, 0, 1, 0));
            assertThrows(IllegalArgumentException.class, () -> table.deregister(region));
        }
        MemoryRegion a = plain(0, 64, AccessRights.ALL);
        MemoryRegion b = plain(0, 64, AccessRights.ALL);
        assertNotEquals(a.lkey() >>> 8, b.lkey() >>> 8);
    }

    @Test
    void registrationRefusesWhatDoesNotFit() {
        QueueMemory memory = QueueMemory.allocate(256);
        assertThrows(IllegalArgumentException.class, () -> table.register(domain, 0, 257, 0, memory, 0));
        assertThrows(IllegalArgumentException.class, () -> table.register(domain, 0, 256, 0, memory, 1));
        assertThrows(IllegalArgumentException.class, () -> table.register(domain, 0, 0, 0, memory, 0));
        assertThrows(IllegalArgumentException.class, () -> table.register(domain, 0, 1, 0, memory, -1));
        assertThrows(IllegalArgumentException.class, () -> table.register(domain, -255, 256, 0, memory, 0));
        assertThrows(IllegalArgumentException.class, () -> table.registerSparse(domain, 0, 1, 0, memory, 63, 1));
        assertThrows(IllegalArgumentException.class, () -> table.registerSparse(domain, 0, 1, 0, memory, 3, 9));
        assertThrows(IllegalArgumentException.class, () -> table.registerSparse(domain, 0, 1, 0, memory, 3, 0));
        // Four pages of 64 bytes fit, five do not.
        assertNotNull(table.registerSparse(domain, 0, 4 * 4096, 0, memory, 12, 1));
        assertThrows(
                IllegalArgumentException.class, () -> table.registerSparse(domain, 0, 4 * 4096 + 1, 0, memory, 12, 1));
    }

    @Test
    void aHugeRangeNeedsLittleMemory() {
        long length = 6_400_000_000L;
        assertEquals(12_208L * 128, MemoryRegion.sparseMemoryBytes(length, 19, 100)); // 12,207.03 pages, 100 -> 128
        QueueMemory memory = QueueMemory.allocate(12_208L * 128);
        MemoryRegion region = table.registerSparse(domain, 1L << 40, length, AccessRights.ALL, memory, 19, 100);
        assertEquals(0, region.memoryOffset(1L << 40));
        assertEquals(99, region.memoryOffset((1L << 40) + 99));
        assertEquals(-1, region.memoryOffset((1L << 40) + 100));
        assertEquals(12_207 * 128, region.memoryOffset((1L << 40) + (12_207L << 19)));
        assertEquals(-1, region.memoryOffset((1L << 40) + length));
        assertEquals(-1, region.memoryOffset((1L << 40) - 1));
        assertNotNull(table.findLocal(region.lkey(), domain, 1L << 40, length, 0));
        assertNull(table.findLocal(region.lkey(), domain, (1L << 40) + 1, length, 0));
    }

    /** Against a model that knows only "byte i of the region is resident if i mod page size < resident bytes". */
    @Test
    void copiesAreThoseOfAByteByByteModel() {
        Random random = new Random(4711);
        for (int round = 0; round < 3000; round++) {
            Shape from = new Shape(random);
            Shape into = new Shape(random);
            int length = 1 + random.nextInt(Math.min(from.length, into.length));
            int fromOffset = random.nextInt(from.length - length + 1);
            int intoOffset = random.nextInt(into.length - length + 1);
            byte[] source = from.fill(random);
            byte[] target = into.fill(random);
            long expectedCopied = 0;
            for (int i = 0; i < length; i++) {
                if (from.isResident(fromOffset + i) && into.isResident(intoOffset + i)) {
                    target[into.at(intoOffset + i)] = source[from.at(fromOffset + i)];
                    expectedCopied++;
                }
            }
            long copied = RegionTable.copy(
                    into.region,
                    into.base + intoOffset,
                    from.region,
                    from.base + fromOffset,
                    length,
                    DeviceFaults.NONE);
            String what = "round " + round + ": " + from + " to " + into;
            assertEquals(expectedCopied, copied, what);
            byte[] after = new byte[into.memory.sizeBytes()];
            into.memory.getBytes(0, after, 0, after.length);
            assertArrayEquals(target, after, what);
        }
    }

    private final class Shape {
        final int pageShift;
        final int resident;
        final int stride;
        final int length;
        final long base;
        final QueueMemory memory;
        final MemoryRegion region;

        Shape(Random random) {
            pageShift = random.nextInt(9);
            resident = 1 + random.nextInt(1 << pageShift);
            stride = (resident + 63) / 64 * 64;
            length = 1 + random.nextInt(900);
            base = random.nextLong() & ~0xFFFL;
            int pages = (length + (1 << pageShift) - 1) >> pageShift;
            memory = QueueMemory.allocate((long) pages * stride);
            region = table.registerSparse(domain, base, length, AccessRights.ALL, memory, pageShift, resident);
        }

        boolean isResident(int i) {
            return i % (1 << pageShift) < resident;
        }

        int at(int i) {
            return i / (1 << pageShift) * stride + i % (1 << pageShift);
        }

        byte[] fill(Random random) {
            byte[] bytes = new byte[memory.sizeBytes()];
            random.nextBytes(bytes);
            memory.putBytes(0, bytes, 0, bytes.length);
            return bytes;
        }

        @Override
        public String toString() {
            return "pages of " + (1 << pageShift) + ", " + resident + " resident, " + length + " bytes";
        }
    }
}
