package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.agrona.CompletionRingBuffer;
import io.cqring.queue.LongQueue;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.openjdk.jol.info.ClassLayout;

/** What a queue costs, on the heap and off it, held against the table in architecture.md. */
class FootprintTest {
    /** Objects of ours, and of the JDK's but not what hangs on those, that belong to one queue. */
    private static Map<String, Long> objectsOf(Object owner) throws IllegalAccessException {
        Map<String, Long> bytes = new TreeMap<>();
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        ArrayDeque<Object> open = new ArrayDeque<>();
        open.add(owner);
        seen.add(owner);
        while (!open.isEmpty()) {
            Object object = open.remove();
            bytes.merge(
                    object.getClass().getName(),
                    ClassLayout.parseInstance(object).instanceSize(),
                    Long::sum);
            if (!object.getClass().getName().startsWith("io.cqring.")) {
                continue;
            }
            for (Class<?> type = object.getClass(); type != Object.class; type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers())
                            && !field.getType().isPrimitive()) {
                        field.setAccessible(true);
                        Object value = field.get(object);
                        if (value != null && !(value instanceof Enum) && seen.add(value)) {
                            open.add(value);
                        }
                    }
                }
            }
        }
        return bytes;
    }

    private static long total(Object... owners) throws IllegalAccessException {
        long total = 0;
        for (Object owner : owners) {
            total += objectsOf(owner).values().stream()
                    .mapToLong(Long::longValue)
                    .sum();
        }
        return total;
    }

    /** The table says "less than": a field more does not make it wrong, twice the size does. */
    private static void assertLessThan(int documented, long measured) throws IOException {
        assertTrue(measured < documented, () -> measured + " bytes, documented: " + documented);
        assertTrue(measured > documented / 2, () -> measured + " bytes, documented: " + documented);
        String table = Files.readString(Path.of("docs", "architecture.md"));
        assertTrue(table.contains(String.format(Locale.ROOT, "less than %,d", documented)), "table of architecture.md");
    }

    @Test
    void whatAQueueHasOnTheHeapIsAsDocumented() throws IllegalAccessException, IOException {
        long small = total(CompletionQueue.ofCapacity(1).create());
        assertLessThan(2048, small);
        assertEquals(small, total(CompletionQueue.ofCapacity(1 << 20).create()), "whatever the capacity");
        assertLessThan(2560, total(LongQueue.ofCapacity(4)));
        assertLessThan(3072, total(CompletionRingBuffer.ofMessages(4)));
    }

    /** What the JVM counts as direct memory grows by the words, the slots and the alignment. */
    @Test
    void whatAQueueTakesOffTheHeapIsAsDocumented() throws IOException {
        BufferPoolMXBean direct = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .findFirst()
                .orElseThrow();
        for (int stride : Shape.STRIDES) {
            int expected = 384 + 64 * stride + 128;
            assertEquals(384 + 64 * stride, CompletionQueue.requiredBytes(64, stride));
            long seen = -1;
            for (int i = 0; i < 100 && seen != expected; i++) { // the collector may free other buffers meanwhile
                long before = direct.getMemoryUsed();
                CompletionQueue queue =
                        CompletionQueue.ofCapacity(64).strideBytes(stride).create();
                seen = direct.getMemoryUsed() - before;
                assertTrue(seen <= expected, "bytes: " + seen);
                assertEquals(0, queue.size());
            }
            assertEquals(expected, seen);
        }
        assertEquals(384 + 4 * 128 + 384, CompletionRingBuffer.requiredBytes(4));
        assertEquals(384 + 4 * 32, LongQueue.requiredBytes(4));
        String table = Files.readString(Path.of("docs", "architecture.md"));
        assertTrue(table.contains("| 384 + capacity x stride"), "table of architecture.md");
        assertTrue(table.contains("| 384 + messages x 128 + 384"), "table of architecture.md");
        assertTrue(table.contains("| 384 + capacity x 32"), "table of architecture.md");
    }

    /** The walk itself: it counts what hangs on an object of ours once, and nothing that hangs on the JDK's. */
    @Test
    void theWalkCountsEveryObjectOnce() throws IllegalAccessException {
        Map<String, Long> objects = objectsOf(CompletionQueue.ofCapacity(4).create());
        for (String name : List.of("CompletionQueue", "CompletionWriter", "Completion", "CompletionEntry")) {
            assertTrue(objects.get("io.cqring.cq." + name) > 256, () -> name + " is padded on both sides: " + objects);
        }
        assertTrue(objects.containsKey("io.cqring.memory.DirectMemory"), objects::toString);
        assertTrue(objects.containsKey(ByteBuffer.allocateDirect(1).getClass().getName()), objects::toString);
    }
}
