package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is polled from a queue that merges is what was staged, whatever shares a slot. */
class MergingTest {
    private static final int QP = 0xABCDEF;
    private static final int FIRST_COUNTER = 0xFFFFFA; // wraps within a run

    private enum Way {
        POLL,
        POLL_INTO,
        CURSOR,
        PEEK
    }

    /** A completion as the model keeps it. */
    private record Item(int opcode, int qp, int counter, long bytes, int syndrome, int immediate) {
        static Item of(Completion c) {
            return new Item(c.opcode(), c.qpNumber(), c.wqeCounter(), c.byteCount(), c.syndrome(), c.immediate());
        }

        static Item of(WorkCompletion c) {
            int syndrome = c.status() == CompletionStatus.SUCCESS ? 0 : 2;
            return new Item(c.opcode(), c.qpNumber(), c.wqeCounter(), c.byteCount(), syndrome, c.immediate());
        }

        boolean stage(CompletionWriter writer, boolean solicited, int sourceQp) {
            return writer.stage(
                    CqeLayout.header(opcode, solicited, counter, qp, syndrome),
                    77,
                    CqeLayout.length((int) bytes, immediate),
                    CqeLayout.detail(0, 0, sourceQp),
                    99);
        }
    }

    /** One batch of one kind: every length, at every slot and parity, with every limit and in every way. */
    @FieldBug(89)
    @ParameterizedTest
    @CsvSource({"32, 3", "64, 7", "128, 15"})
    void shouldGiveBackEveryRun(int stride, int most) {
        int capacity = 32;
        for (int start = 0; start < 2 * capacity; start++) {
            QueueMemory memory = QueueMemory.allocate(Region.SLOTS + capacity * stride);
            for (int length = 1; length <= 64; length++) {
                for (int limit : new int[] {1, 2, most, most + 1, capacity}) {
                    for (Way way : Way.values()) {
                        CompletionQueue queue = CompletionQueue.ofCapacity(capacity)
                                .strideBytes(stride)
                                .startSequence(start)
                                .memory(memory)
                                .merging()
                                .create();
                        List<Item> staged = run(length);
                        staged.forEach(item -> assertTrue(item.stage(queue.writer(), false, 0)));
                        int slots = (length + most - 1) / most;
                        assertEquals(slots, queue.writer().flush());
                        assertEquals(slots, queue.size());
                        List<Item> polled = new ArrayList<>();
                        drain(way, queue, limit, polled);
                        assertEquals(staged, polled, () -> way + " from " + memory);
                        assertEquals(0, queue.size());
                        assertEquals(start + slots, memory.getLong(Region.CONSUMER));
                    }
                }
            }
        }
    }

    private static List<Item> run(int length) {
        List<Item> items = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            items.add(new Item(CqeOpcode.RC_RDMA_READ, QP, FIRST_COUNTER + i & 0xFF_FFFF, 0xFFFF_FFFFL - i, 0, 0));
        }
        return items;
    }

    private static void drain(Way way, CompletionQueue queue, int limit, List<Item> polled) {
        int before;
        do {
            before = polled.size();
            switch (way) {
                case POLL -> queue.poll(c -> polled.add(Item.of(c)), limit);
                case POLL_INTO -> pollInto(queue, limit, polled);
                case CURSOR -> cursor(queue, limit, polled);
                case PEEK -> {
                    Completion seen = queue.peek();
                    if (seen != null) {
                        Item item = Item.of(seen);
                        assertEquals(item, Item.of(queue.peek()));
                        queue.poll(c -> polled.add(Item.of(c)), 1);
                        assertEquals(item, polled.get(before));
                    }
                }
            }
            assertTrue(polled.size() - before <= limit);
        } while (polled.size() != before);
    }

    private static void pollInto(CompletionQueue queue, int limit, List<Item> polled) {
        WorkCompletion[] into = new WorkCompletion[limit];
        for (int i = 0; i < limit; i++) {
            into[i] = new WorkCompletion();
        }
        int taken = queue.pollInto(into, limit);
        for (int i = 0; i < taken; i++) {
            polled.add(Item.of(into[i]));
        }
    }

    /** A cursor that is abandoned first, one completion further than it is ended the second time. */
    private static void cursor(CompletionQueue queue, int limit, List<Item> polled) {
        if (!queue.startPoll()) {
            return;
        }
        for (int i = 1; i <= limit && queue.next(); i++) {}
        assertTrue(queue.startPoll());
        int shown = 1;
        polled.add(Item.of(queue.completion()));
        while (shown != limit && queue.next()) {
            shown++;
            polled.add(Item.of(queue.completion()));
        }
        assertEquals(shown, queue.endPoll());
    }

    /** What a slot looks like, worked out by hand from the picture. */
    @Test
    void shouldLayOutASlotAsDrawn() {
        QueueMemory memory = QueueMemory.allocate(Region.SLOTS + 2 * 32);
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .strideBytes(32)
                .memory(memory)
                .merging()
                .create();
        for (int i = 0; i < 3; i++) {
            new Item(CqeOpcode.RC_RDMA_WRITE, 0x123456, 0xFFFFFF + i & 0xFFFFFF, 0x80000000L + i, 0, 0)
                    .stage(queue.writer(), false, 0);
        }
        queue.writer().flush();
        assertEquals(0x3112_3456_FFFF_FF15L, memory.getLong(Region.SLOTS)); // 3, opcode 1, QP, counter, MERGED, owner 1
        assertEquals(0x00FF_FFFF_8000_0000L, memory.getLong(Region.SLOTS + 8));
        assertEquals(0x0000_0000_8000_0001L, memory.getLong(Region.SLOTS + 16));
        assertEquals(0x0000_0001_8000_0002L, memory.getLong(Region.SLOTS + 24));
    }

    /** Each difference that keeps two completions apart, alone. */
    @Test
    void shouldNotMergeWhatCarriesMore() {
        Item plain = new Item(CqeOpcode.RECV, 5, 1, 10, 0, 0);
        List<Item> others = List.of(
                new Item(CqeOpcode.RC_SEND, 5, 1, 10, 0, 0),
                new Item(CqeOpcode.RECV, 6, 1, 10, 0, 0),
                new Item(CqeOpcode.RECV, 5, 1, 10, 2, 0),
                new Item(CqeOpcode.RECV, 5, 1, 10, 0, 3));
        for (Item other : others) {
            CompletionQueue queue = CompletionQueue.ofCapacity(4).merging().create();
            assertTrue(plain.stage(queue.writer(), false, 0));
            assertTrue(other.stage(queue.writer(), false, 0));
            assertEquals(2, queue.writer().flush(), other.toString());
        }
        for (int opcode = 7; opcode < 15; opcode++) {
            if (opcode <= 9 || opcode >= 13) {
                assertEquals(2, flushTwo(new Item(opcode, 5, 1, 10, 0, 0), false, 0), CqeOpcode.name(opcode));
            }
        }
        assertEquals(2, flushTwo(plain, true, 0), "solicited");
        assertEquals(2, flushTwo(plain, false, 9), "with a source QP");
        assertEquals(1, flushTwo(plain, false, 0));
    }

    private static int flushTwo(Item item, boolean solicited, int sourceQp) {
        CompletionQueue queue = CompletionQueue.ofCapacity(4).merging().create();
        assertTrue(item.stage(queue.writer(), solicited, sourceQp));
        assertTrue(item.stage(queue.writer(), solicited, sourceQp));
        return queue.writer().flush();
    }

    @Test
    void shouldKeepTheIdOfWhatIsAlone() {
        CompletionQueue queue = CompletionQueue.ofCapacity(4).merging().create();
        Item item = new Item(CqeOpcode.RECV, 5, 1, 10, 0, 0);
        item.stage(queue.writer(), false, 0);
        queue.writer().flush(); // ends the batch: what comes later does not join
        item.stage(queue.writer(), false, 0);
        item.stage(queue.writer(), false, 0);
        queue.writer().flush();
        WorkCompletion[] into = {new WorkCompletion(), new WorkCompletion(), new WorkCompletion()};
        assertEquals(3, queue.pollInto(into, 3));
        assertTrue(into[0].hasWorkRequestId());
        assertEquals(77, into[0].workRequestId());
        assertEquals(99, into[0].timestamp());
        assertFalse(into[1].hasWorkRequestId());
        assertEquals(0, into[1].workRequestId());
        assertEquals(0, into[1].timestamp());
        assertFalse(into[2].hasWorkRequestId());
    }

    /** A completion joins a slot that is there already, though none is free; an aborted batch leaves nothing behind. */
    @Test
    void shouldNeedNoSlotToJoinOne() {
        CompletionQueue queue = CompletionQueue.ofCapacity(1).merging().create();
        Item item = new Item(CqeOpcode.RECV, 5, 1, 10, 0, 0);
        assertTrue(item.stage(queue.writer(), false, 0));
        assertTrue(item.stage(queue.writer(), false, 0));
        assertEquals(1, queue.writer().abort());
        for (int i = 0; i < 7; i++) {
            assertTrue(item.stage(queue.writer(), false, 0));
        }
        assertFalse(item.stage(queue.writer(), false, 0), "the slot is full, and there is no other");
        assertEquals(1, queue.writer().flush());
        assertEquals(7, polledAll(queue).size());
    }

    private static List<Item> polledAll(CompletionQueue queue) {
        List<Item> polled = new ArrayList<>();
        drain(Way.POLL, queue, 1, polled);
        return polled;
    }

    /** A cursor that keeps its last one back: wherever that lies in its slot, the next poll starts with it. */
    @Test
    void shouldKeepTheLastOneBack() {
        for (int last = 1; last <= 16; last++) {
            CompletionQueue queue = CompletionQueue.ofCapacity(4).merging().create();
            List<Item> staged = run(16); // slots of 7, 7 and 2
            staged.forEach(item -> item.stage(queue.writer(), false, 0));
            assertEquals(3, queue.writer().flush());
            assertTrue(queue.startPoll());
            for (int i = 1; i < last; i++) {
                assertTrue(queue.next());
            }
            assertEquals(staged.get(last - 1), Item.of(queue.completion()));
            assertEquals(last - 1, queue.endPollButLast());
            assertEquals(3 - (last - 1) / 7, queue.size());
            List<Item> polled = new ArrayList<>();
            drain(Way.CURSOR, queue, 3, polled);
            assertEquals(staged.subList(last - 1, 16), polled);
        }
    }

    /** What is flushed is closed: a completion staged later does not join it. */
    @Test
    void shouldNotJoinWhatAPartialFlushPublished() {
        CompletionQueue queue = CompletionQueue.ofCapacity(4).merging().create();
        Item item = new Item(CqeOpcode.RECV, 5, 1, 10, 0, 0);
        Item other = new Item(CqeOpcode.RECV, 6, 1, 10, 0, 0);
        item.stage(queue.writer(), false, 0);
        other.stage(queue.writer(), false, 0);
        assertEquals(1, queue.writer().flush(1));
        assertTrue(other.stage(queue.writer(), false, 0));
        assertEquals(1, queue.writer().entriesInHand(), "joined the slot that is still in hand");
        assertEquals(1, queue.writer().flush(1));
        assertTrue(other.stage(queue.writer(), false, 0));
        assertEquals(1, queue.writer().entriesInHand());
        assertEquals(1, queue.writer().flush());
        assertEquals(List.of(item, other, other, other), polledAll(queue));
    }

    /** A handler that throws has consumed its completion, also the last of a slot, whose slot goes back. */
    @Test
    void shouldConsumeWhatAHandlerThrewOn() {
        for (int bad = 0; bad < 7; bad++) {
            CompletionQueue queue = CompletionQueue.ofCapacity(8).merging().create();
            List<Item> staged = run(7);
            staged.forEach(item -> item.stage(queue.writer(), false, 0));
            queue.writer().flush();
            List<Item> polled = new ArrayList<>();
            int last = bad;
            assertThrows(
                    ArithmeticException.class,
                    () -> queue.poll(
                            c -> {
                                polled.add(Item.of(c));
                                if (polled.size() == last + 1) {
                                    throw new ArithmeticException();
                                }
                            },
                            1 + last));
            assertEquals(bad == 6 ? 0 : 1, queue.size());
            drain(Way.POLL, queue, 1, polled);
            assertEquals(staged, polled);
        }
    }

    /** Anything in any order: batches, claims and single writes between merged runs, handlers that throw. */
    @ParameterizedTest
    @ValueSource(ints = {32, 64, 128})
    void shouldGiveBackAnyStream(int stride) {
        long seed = Long.getLong("cqring.test.seed", new Random().nextLong());
        System.out.println("MergingTest: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        Random random = new Random(seed);
        for (int round = 0; round < 300; round++) {
            int capacity = 1 << random.nextInt(6);
            CompletionQueue queue = CompletionQueue.ofCapacity(capacity)
                    .strideBytes(stride)
                    .startSequence(random.nextLong())
                    .merging()
                    .create();
            List<Item> written = new ArrayList<>();
            List<Item> staged = new ArrayList<>();
            List<Item> polled = new ArrayList<>();
            for (int step = 0; step < 400; step++) {
                step(random, queue, written, staged, polled);
            }
            queue.writer().flush();
            written.addAll(staged);
            drain(Way.values()[random.nextInt(4)], queue, 1 + random.nextInt(9), polled);
            assertEquals(written, polled, "seed " + seed + " round " + round);
        }
    }

    private static void step(
            Random random, CompletionQueue queue, List<Item> written, List<Item> staged, List<Item> polled) {
        int kind = random.nextInt(20);
        boolean plain = random.nextInt(4) != 0;
        Item item = new Item(
                random.nextInt(8) == 0 ? CqeOpcode.RC_SEND : CqeOpcode.RECV,
                random.nextInt(6) == 0 ? 2 : 1,
                random.nextInt(1 << 24),
                random.nextInt() & 0xFFFF_FFFFL,
                plain || random.nextBoolean() ? 0 : 2,
                plain ? 0 : random.nextInt());
        CompletionWriter writer = queue.writer();
        if (kind < 12) {
            if (item.stage(writer, false, 0)) {
                staged.add(item);
            }
        } else if (kind == 12) {
            CompletionEntry entry = writer.claim();
            if (entry != null) {
                entry.header(CqeLayout.header(item.opcode, false, item.counter, item.qp, item.syndrome))
                        .length(CqeLayout.length((int) item.bytes, item.immediate));
                staged.add(item);
            }
        } else if (kind == 13) {
            long header = CqeLayout.header(item.opcode, false, item.counter, item.qp, item.syndrome);
            boolean done = writer.write(header, 0, CqeLayout.length((int) item.bytes, item.immediate), 0, 0);
            written.addAll(staged); // flushed before it, whether it found room or not
            staged.clear();
            if (done) {
                written.add(item);
            }
        } else if (kind == 14) {
            writer.flush();
            written.addAll(staged);
            staged.clear();
        } else if (kind == 15 && random.nextInt(4) == 0) {
            writer.abort();
            staged.clear();
        } else {
            int limit = random.nextInt(10);
            boolean angry = random.nextInt(5) == 0;
            try {
                queue.poll(
                        c -> {
                            polled.add(Item.of(c));
                            if (angry) {
                                throw new ArithmeticException();
                            }
                        },
                        limit);
            } catch (ArithmeticException expected) {
                assertTrue(angry);
            }
        }
    }
}
