package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.openjdk.jol.info.ClassLayout;
import org.openjdk.jol.info.FieldLayout;

/** Who shares a cache line with whom, on the heap (measured by JOL) and off it (by the picture of the region). */
class PaddingTest {
    private static final int APART = 128;

    private static final Set<String> HOT = Set.of(
            "sequence",
            "creditLimit",
            "straightEnd",
            "straightOffset",
            "straightOwner",
            "claimed",
            "held",
            "shown",
            "passed",
            "minis",
            "minisShown",
            "current",
            "lastHeader",
            "lastLength",
            "solicitedEnd",
            "inHandler",
            "player");
    /** Stored by a resize. */
    private static final Set<String> RING =
            Set.of("ring", "slots", "firstSlotOffset", "indexMask", "lapShift", "capacity");

    /**
     * Fields that one thread stores on its way through an entry: nothing else may lie within 128 bytes of them, be it another
     * field of the object or the neighbouring object.
     */
    private static void assertKeptApart(Class<?> type, Set<String> hot) {
        ClassLayout layout = ClassLayout.parseClass(type);
        List<FieldLayout> hotFields =
                layout.fields().stream().filter(f -> hot.contains(f.name())).collect(Collectors.toList());
        assertEquals(
                hot,
                hotFields.stream().map(FieldLayout::name).collect(Collectors.toCollection(TreeSet::new)),
                () -> "fields of " + type);
        long from = hotFields.stream().mapToLong(FieldLayout::offset).min().getAsLong();
        long to = hotFields.stream().mapToLong(f -> f.offset() + f.size()).max().getAsLong();
        assertTrue(from >= APART, () -> type + ": the object before is only " + from + " bytes away");
        assertTrue(
                layout.instanceSize() - to >= APART,
                () -> type + ": the object behind is only " + (layout.instanceSize() - to) + " bytes away");
        for (FieldLayout field : layout.fields()) {
            boolean pad = field.typeClass().equals("byte") && field.name().matches("[a-z]\\d{3}");
            if (!pad && !hot.contains(field.name())) {
                assertTrue(
                        field.offset() + field.size() <= from - APART || field.offset() >= to + APART,
                        () -> type + ": " + field.name() + " at " + field.offset() + ", hot fields from " + from
                                + " to " + to);
            }
        }
    }

    /** Fields of a class and its parents that are stored after construction, as far as the compiler knows. */
    private static Set<String> mutableFields(Class<?> type) {
        Set<String> names = new TreeSet<>();
        for (Class<?> c = type; c != Object.class; c = c.getSuperclass()) {
            for (Field field : c.getDeclaredFields()) {
                boolean pad = field.getType() == byte.class;
                if (!Modifier.isStatic(field.getModifiers()) && !Modifier.isFinal(field.getModifiers()) && !pad) {
                    names.add(field.getName());
                }
            }
        }
        return names;
    }

    @FieldBug(102)
    @Test
    void whatThePollerStoresSharesNoLine() {
        Set<String> hot = new TreeSet<>(HOT);
        assertKeptApart(CompletionQueue.class, hot);
        Set<String> rare = new TreeSet<>(Set.of("ordinary", "detour")); // stored when the queue's shape changes
        rare.addAll(RING);
        rare.addAll(
                Set.of("publishInterval", "gaps", "nextRing", "usedFrom", "resizes", "resizeStatus", "mostUnpolled"));
        rare.addAll(hot);
        assertEquals(rare, mutableFields(CompletionQueue.class), "a field that is stored, outside the padding");
    }

    @FieldBug(102)
    @Test
    void whatTheWriterStoresSharesNoLine() {
        Set<String> hot = new TreeSet<>(HOT);
        assertKeptApart(CompletionWriter.class, hot);
        Set<String> rare = new TreeSet<>(
                Set.of("dead", "losing", "lostEntries", "rejectedDoorbells")); // only when something is wrong
        rare.addAll(RING);
        rare.add("offered");
        rare.addAll(hot);
        assertEquals(rare, mutableFields(CompletionWriter.class), "a field that is stored, outside the padding");
    }

    @FieldBug(102)
    @Test
    void whatOneOfManyPollersStoresSharesNoLine() {
        Set<String> hot = new TreeSet<>(HOT);
        assertKeptApart(CompletionPoller.class, hot);
        Set<String> rare = new TreeSet<>(Set.of("closed"));
        rare.addAll(Set.of("rivalry", "even", "copiedFrom", "copiedTo")); // once per claim, and only with a rival
        rare.addAll(RING);
        rare.addAll(hot);
        assertEquals(rare, mutableFields(CompletionPoller.class), "a field that is stored, outside the padding");
    }

    @FieldBug(102)
    @Test
    void whatASharedWriterStoresSharesNoLine() {
        Set<String> hot = new TreeSet<>(HOT);
        assertKeptApart(SharedWriter.class, hot);
        Set<String> rare =
                // when the size of claims changes; after a loss; at the end; at the first release
                new TreeSet<>(Set.of("rowCount", "losing", "closed", "opener"));
        rare.addAll(RING);
        rare.addAll(hot);
        assertEquals(rare, mutableFields(SharedWriter.class), "a field that is stored, outside the padding");
    }

    /** Rows of many writers: each in a block of its own, off the words before and the slots behind. */
    @FieldBug(102)
    @Test
    void rowsOfManyWritersAreApart() {
        for (int writers : new int[] {2, 3, 64}) {
            int slots = (int) CompletionQueue.requiredBytes(1, 32, writers) - 32;
            assertEquals(384 + writers * 128, slots);
            for (int row = 0; row < writers; row++) {
                int block = Region.row(row) / 128;
                assertEquals(block, ClaimRows.offset(row) / 128);
                assertEquals(3 + row, block);
                assertEquals(block, (ClaimRows.offset(row) + CqRegion.ROW_COUNT) / 128);
                assertTrue(block < slots / 128);
            }
        }
        assertEquals(List.of(0, 8, 16), List.of(CqRegion.ROW_OWNER, CqRegion.ROW_FIRST, CqRegion.ROW_COUNT));
    }

    /** The view is stored to at each entry by the poller, the claimed entry at each word by the writer. */
    @FieldBug(102)
    @Test
    void theViewsShareNoLineWithTheOtherEnd() {
        assertKeptApart(Completion.class, allFields(Completion.class));
        assertKeptApart(CompletionEntry.class, allFields(CompletionEntry.class));
    }

    private static Set<String> allFields(Class<?> type) {
        return ClassLayout.parseClass(type).fields().stream()
                .filter(f -> !f.typeClass().equals("byte"))
                .map(FieldLayout::name)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** The checker checked: no padding, padding on one side, and padding made of longs, into whose gaps fields move. */
    @Test
    void theCheckSeesMissingPadding() {
        assertThrows(AssertionError.class, () -> assertKeptApart(Bare.class, Set.of("sequence")));
        assertThrows(AssertionError.class, () -> assertKeptApart(LeftOnly.class, Set.of("sequence")));
        assertThrows(AssertionError.class, () -> assertKeptApart(Bare.class, Set.of("misspelt")));
        assertEquals(Set.of("sequence", "other"), mutableFields(Bare.class));
    }

    @SuppressWarnings("unused")
    private static final class Bare {
        long sequence;
        long other;
    }

    @SuppressWarnings("unused")
    private static class Pad {
        byte l000, l001, l002, l003, l004, l005, l006, l007, l008, l009, l010, l011, l012, l013, l014, l015;
        byte l016, l017, l018, l019, l020, l021, l022, l023, l024, l025, l026, l027, l028, l029, l030, l031;
        byte l032, l033, l034, l035, l036, l037, l038, l039, l040, l041, l042, l043, l044, l045, l046, l047;
        byte l048, l049, l050, l051, l052, l053, l054, l055, l056, l057, l058, l059, l060, l061, l062, l063;
        byte l064, l065, l066, l067, l068, l069, l070, l071, l072, l073, l074, l075, l076, l077, l078, l079;
        byte l080, l081, l082, l083, l084, l085, l086, l087, l088, l089, l090, l091, l092, l093, l094, l095;
        byte l096, l097, l098, l099, l100, l101, l102, l103, l104, l105, l106, l107, l108, l109, l110, l111;
        byte l112, l113, l114, l115, l116, l117, l118, l119, l120, l121, l122, l123, l124, l125, l126, l127;
    }

    @SuppressWarnings("unused")
    private static final class LeftOnly extends Pad {
        long sequence;
    }

    /**
     * Off the heap, what the host stores at each poll and what the device stores at each entry lie 128 bytes apart, and so do the
     * slots: processors may fetch lines in pairs. The other line of each pair holds what is stored rarely, if at all.
     */
    @FieldBug({26, 102})
    @Test
    void sharedWordsOfDifferentWritersAreApart() {
        int[] host = {CqRegion.CONSUMER_SEQUENCE, CqRegion.PASSED_OVER};
        int[] state = {CqRegion.DEAD, CqRegion.CLOSED, CqRegion.WAITING_WRITERS};
        int[] device = {
            CqRegion.PRODUCER_SEQUENCE,
            CqRegion.LOST_ENTRIES,
            CqRegion.REJECTED_DOORBELLS,
            CqRegion.ABANDONED_ENTRIES,
            CqRegion.GIVE_BACKS,
            CqRegion.FIRED,
            CqRegion.SOLICITED_END
        };
        int[] arm = {CqRegion.ARM, CqRegion.ARMED_INDEX};
        int[] slots = {CqRegion.FIRST_SLOT};
        assertApart(64, host, state, device, arm, slots);
        assertApart(128, host, device, slots);
        int[] all = Stream.of(host, state, device, arm, slots)
                .flatMapToInt(Arrays::stream)
                .toArray();
        for (int i = 0; i < all.length; i++) {
            assertEquals(0, all[i] % 8, "aligned");
            assertFalse(i > 0 && all[i] - all[i - 1] < 8, "one word, two fields");
        }
        assertEquals(
                List.of(
                        Region.CONSUMER,
                        Region.PASSED_OVER,
                        Region.DEAD,
                        Region.CLOSED,
                        Region.WAITING_WRITERS,
                        Region.PRODUCER,
                        Region.LOST,
                        Region.REJECTED,
                        Region.ABANDONED,
                        Region.GIVE_BACKS,
                        Region.FIRED,
                        Region.SOLICITED_END,
                        Region.ARM,
                        Region.ARMED_INDEX,
                        Region.SLOTS),
                Arrays.stream(all).boxed().collect(Collectors.toList()),
                "as drawn");
    }

    private static void assertApart(int bytes, int[]... groups) {
        for (int i = 0; i < groups.length; i++) {
            for (int j = 0; j < groups.length; j++) {
                for (int a : groups[i]) {
                    for (int b : groups[j]) {
                        assertEquals(i == j, a / bytes == b / bytes, a + " and " + b);
                    }
                }
            }
        }
    }
}
