package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What every way to write promises, for every stride, capacity and start sequence. */
@Tag("bothroutes")
class WriterContractTest {
    private static final String NOT_CLAIMED = "no slot is claimed: call claim() before filling an entry";
    private static final String NO_PAYLOAD = "a 32-byte entry has no inline payload; use 64 or 128 bytes";
    private static final String NO_TIMESTAMP = "a 32-byte entry has no timestamp; use 64 or 128 bytes";

    private static void assertNotClaimed(CompletionEntry entry, int stride) {
        List<Runnable> setters = new ArrayList<>(List.of(
                () -> entry.header(0), () -> entry.workRequestId(1), () -> entry.length(1), () -> entry.detail(1)));
        if (stride != 32) {
            setters.add(() -> entry.timestamp(1));
            setters.add(() -> entry.payload(0, 1));
        }
        for (Runnable setter : setters) {
            assertEquals(
                    NOT_CLAIMED,
                    assertThrows(IllegalStateException.class, setter::run).getMessage());
        }
    }

    @FieldBug(65)
    @Shape.EveryWithPolicy
    void shouldTakeExactlyCapacityEntriesAndOneMoreForEachOnePolled(Shape shape, OverrunPolicy policy) {
        int n = shape.capacity();
        for (Way way : Way.values()) {
            CompletionQueue queue = shape.queue(policy);
            CompletionWriter writer = queue.writer();
            assertSame(writer, queue.writer());
            InOrder taker = new InOrder(shape.stride(), way, 0);
            long written = 0;
            for (int i = 0; i < n; i++) {
                assertTrue(way.publish(writer, written++, shape.stride()));
            }
            for (int i = 0; i < 3 * n; i++) {
                if (policy != OverrunPolicy.ERROR) { // there a refusal is the end
                    assertFalse(way.publish(writer, -1, shape.stride()));
                }
                assertEquals(n, queue.size());
                assertEquals(0, queue.remaining());
                assertEquals(1, queue.poll(taker::onView, 1));
                assertTrue(way.publish(writer, written++, shape.stride()), "one polled, one free");
            }
            assertEquals(n, queue.poll(taker::onView, n + 1));
            assertEquals(written, taker.next());
            assertEquals(policy == OverrunPolicy.DROP_NEW ? 3L * n : 0, queue.lostEntries());
        }
    }

    @Shape.Every
    void shouldShowNothingBeforeFlush(Shape shape) {
        int n = shape.capacity();
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        CompletionWriter writer = queue.writer();
        assertEquals(0, writer.flush());
        long number = 0;
        for (Way way : List.of(Way.STAGE, Way.CLAIM, Way.CLAIM_BARE)) {
            for (int count = 1; count <= n; count++) {
                for (int i = 0; i < count; i++) {
                    assertTrue(way.put(writer, number + i, shape.stride()));
                    assertEquals(0, queue.poll(c -> {}, n));
                    assertNull(queue.peek());
                    assertTrue(queue.isEmpty());
                }
                assertEquals(shape.start() + number, memory.getLong(Region.PRODUCER));
                assertEquals(count, writer.flush());
                assertEquals(shape.start() + number + count, memory.getLong(Region.PRODUCER));
                assertEquals(0, writer.flush(), "published once");
                assertEquals(count, queue.size());
                InOrder taker = new InOrder(shape.stride(), way, number);
                assertEquals(count, queue.poll(taker::onView, n));
                number += count;
            }
        }
    }

    @Shape.Every
    void shouldRefuseMoreThanCapacityInHand(Shape shape) {
        int n = shape.capacity();
        for (Way way : List.of(Way.STAGE, Way.CLAIM)) {
            CompletionQueue queue = shape.queue();
            CompletionWriter writer = queue.writer();
            for (int i = 0; i < n; i++) {
                assertTrue(way.put(writer, i, shape.stride()));
            }
            assertFalse(way.put(writer, n, shape.stride()));
            assertFalse(writer.stage(0, 0, 0, 0, 0));
            assertNull(writer.claim());
            assertTrue(queue.isEmpty(), "a refusal publishes nothing");
            assertEquals(n, writer.flush());
            InOrder taker = new InOrder(shape.stride(), way, 0);
            assertEquals(n, queue.poll(taker::onView, n));
            assertEquals(0, queue.lostEntries());
        }
    }

    @Shape.Every
    void shouldGiveBackWhatIsAborted(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue();
        CompletionWriter writer = queue.writer();
        assertEquals(0, writer.abort());
        long number = 0;
        for (Way way : List.of(Way.STAGE, Way.CLAIM, Way.CLAIM_BARE)) {
            for (int count = 1; count <= n; count++) {
                for (int i = 0; i < count; i++) {
                    assertTrue(way.put(writer, -1 - i, shape.stride()));
                }
                assertEquals(count, writer.abort());
                assertEquals(0, writer.abort());
                assertEquals(0, writer.flush());
                assertEquals(0, queue.poll(c -> {}, n));
                // The slots come back clean, whichever way they are used next.
                Way next = Way.at(count);
                for (int i = 0; i < n; i++) {
                    assertTrue(next.publish(writer, number + i, shape.stride()));
                }
                InOrder taker = new InOrder(shape.stride(), next, number);
                assertEquals(n, queue.poll(taker::onView, n));
                assertEquals(number + n, taker.next());
                number += n;
            }
        }
    }

    @Shape.Every
    void shouldPublishWhatIsInHandBeforeASingleWrite(Shape shape) {
        if (shape.capacity() < 4) {
            return; // needs four entries in hand
        }
        CompletionQueue queue = shape.queue();
        CompletionWriter writer = queue.writer();
        assertTrue(Way.STAGE.put(writer, 0, shape.stride()));
        assertTrue(Way.CLAIM.put(writer, 1, shape.stride()));
        assertTrue(Way.STAGE.put(writer, 2, shape.stride()));
        assertTrue(queue.isEmpty());
        assertTrue(Way.WRITE.put(writer, 3, shape.stride()));
        assertEquals(4, queue.size());
        Way[] ways = {Way.STAGE, Way.CLAIM, Way.STAGE, Way.WRITE};
        long[] next = {0};
        queue.poll(c -> Numbered.verify(c, next[0], ways[(int) next[0]++], shape.stride()), 4);
        assertEquals(4, next[0]);

        // With a claim in hand as well.
        assertTrue(Way.CLAIM.put(writer, 4, shape.stride()));
        assertTrue(Way.WRITE.put(writer, 5, shape.stride()));
        assertEquals(2, queue.size());
    }

    /** A refused single write still publishes what was in hand: it comes "after anything that is in hand". */
    @Shape.Every
    void shouldPublishWhatIsInHandWhenASingleWriteIsRefused(Shape shape) {
        int n = shape.capacity();
        CompletionQueue queue = shape.queue();
        for (int i = 0; i < n; i++) {
            assertTrue(Way.STAGE.put(queue.writer(), i, shape.stride()));
        }
        assertFalse(Way.WRITE.put(queue.writer(), n, shape.stride()));
        InOrder taker = new InOrder(shape.stride(), Way.STAGE, 0);
        assertEquals(n, queue.poll(taker::onView, n));
    }

    @Shape.Every
    void shouldLetAClaimedEntryGoWhenItIsDoneWith(Shape shape) {
        CompletionQueue queue = shape.queue(OverrunPolicy.DROP_NEW);
        CompletionWriter writer = queue.writer();
        CompletionEntry entry = writer.claim();
        assertNotNull(entry);
        writer.abort();
        assertNotClaimed(entry, shape.stride());
        assertSame(entry, writer.claim(), "one per writer");
        assertEquals(1, writer.flush());
        assertNotClaimed(entry, shape.stride());
        queue.poll(c -> {}, 1);
        assertNotNull(writer.claim());
        writer.write(0, 0, 0, 0, 0);
        assertNotClaimed(entry, shape.stride());
        queue.poll(c -> {}, shape.capacity());
        for (int i = 0; i < shape.capacity(); i++) {
            assertNotNull(writer.claim());
        }
        assertNull(writer.claim());
        assertNotClaimed(entry, shape.stride());
        assertEquals(shape.capacity(), writer.flush());
        queue.poll(c -> {}, shape.capacity());
        assertNotNull(writer.claim());
        assertEquals(shape.capacity() > 1, writer.stage(0, 0, 0, 0, 0), "the claim is in hand, complete");
        assertNotClaimed(entry, shape.stride());
    }

    /** Every word of the last lap must be gone, whatever this lap sets. */
    @Shape.Every
    void shouldShowNothingOfTheLastLapInFieldsThatAreNotSet(Shape shape) {
        int n = shape.capacity();
        for (Way way : Way.values()) {
            QueueMemory memory = QueueMemory.allocate(shape.bytes());
            CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
            PollContractTest.write(queue, Way.CLAIM, 1000, 1000 + n);
            assertEquals(n, queue.poll(c -> {}, n));
            PollContractTest.write(queue, way, 0, n);
            InOrder taker = new InOrder(shape.stride(), way, 0);
            assertEquals(n, queue.poll(taker::onView, n));
        }
        // An entry of which nothing is set at all.
        CompletionQueue queue = shape.queue();
        PollContractTest.write(queue, Way.CLAIM, 1000, 1000 + n);
        queue.poll(c -> {}, n);
        assertNotNull(queue.writer().claim());
        queue.writer().flush();
        queue.poll(
                c -> {
                    assertEquals(0, c.header() >>> 1);
                    assertEquals(0, c.workRequestId());
                    assertEquals(0, c.byteCount());
                    assertEquals(0, c.immediate());
                    assertEquals(0, c.flags());
                    for (int i = 0; i < Numbered.payloadWords(shape.stride()); i++) {
                        assertEquals(0, c.payload(i));
                    }
                },
                1);
    }

    /** The last value set is the one that counts, and a claim may be filled in any order. */
    @Test
    void shouldTakeTheLastValueSet() {
        CompletionQueue queue = new Shape(128, 2, 0).queue();
        CompletionEntry entry = queue.writer().claim();
        entry.payload(10, 1).workRequestId(1).length(1).detail(1).timestamp(1).header(2);
        entry.header(CqeLayout.header(6, true, 3, 4, 5))
                .timestamp(6)
                .detail(CqeLayout.detail(7, 1, 8))
                .length(CqeLayout.length(9, 10))
                .workRequestId(11)
                .payload(10, 12);
        queue.writer().flush();
        queue.poll(
                c -> {
                    assertEquals(6, c.opcode());
                    assertTrue(c.isSolicited());
                    assertEquals(3, c.wqeCounter());
                    assertEquals(4, c.qpNumber());
                    assertEquals(5, c.syndrome());
                    assertEquals(6, c.timestamp());
                    assertEquals(7, c.vendorError());
                    assertTrue(c.hasImmediate());
                    assertEquals(8, c.sourceQp());
                    assertEquals(9, c.byteCount());
                    assertEquals(10, c.immediate());
                    assertEquals(11, c.workRequestId());
                    assertEquals(12, c.payload(10));
                    assertEquals(0, c.payload(9));
                },
                1);
    }

    @Shape.Every
    void shouldRefuseFieldsThatTheEntryHasNoRoomFor(Shape shape) {
        int stride = shape.stride();
        CompletionQueue queue = shape.queue();
        CompletionWriter writer = queue.writer();
        int words = Numbered.payloadWords(stride);
        if (stride == 32) {
            for (int word = 0; word < 3; word++) {
                long p0 = word == 0 ? 1 : 0;
                long p1 = word == 1 ? 1 : 0;
                long p2 = word == 2 ? Long.MIN_VALUE : 0;
                assertEquals(
                        NO_PAYLOAD,
                        assertThrows(UnsupportedOperationException.class, () -> writer.write(0, 0, 0, 0, 0, p0, p1, p2))
                                .getMessage());
            }
            assertTrue(queue.isEmpty(), "nothing is written");
            CompletionEntry entry = writer.claim();
            assertEquals(
                    NO_TIMESTAMP,
                    assertThrows(UnsupportedOperationException.class, () -> entry.timestamp(1))
                            .getMessage());
        }
        CompletionEntry entry = writer.claim();
        if (entry == null) {
            entry = reclaim(writer);
        }
        CompletionEntry claimed = entry;
        for (int index : new int[] {Integer.MIN_VALUE, -1, words, words + 1, Integer.MAX_VALUE}) {
            assertEquals(
                    noSuchWord(words, stride, index),
                    assertThrows(IndexOutOfBoundsException.class, () -> claimed.payload(index, 1))
                            .getMessage());
        }
        writer.flush();
        queue.poll(
                c -> {
                    for (int index : new int[] {Integer.MIN_VALUE, -1, words, words + 1, Integer.MAX_VALUE}) {
                        assertEquals(
                                noSuchWord(words, stride, index),
                                assertThrows(IndexOutOfBoundsException.class, () -> c.payload(index))
                                        .getMessage());
                    }
                    assertEquals(stride != 32, c.hasTimestamp());
                    if (stride == 32) {
                        assertEquals(
                                NO_TIMESTAMP,
                                assertThrows(UnsupportedOperationException.class, c::timestamp)
                                        .getMessage());
                    }
                },
                1);
    }

    private static CompletionEntry reclaim(CompletionWriter writer) {
        writer.abort();
        return writer.claim();
    }

    private static String noSuchWord(int words, int stride, int index) {
        return "payload word must be 0 to less than " + words + " in a " + stride + "-byte entry: " + index;
    }

    /** All states of a small ring: a claim is refused exactly when a model says so, and unread entries never change. */
    @FieldBug(54)
    @Test
    void shouldRefuseAClaimExactlyWhenTheRingIsFull() {
        for (int stride : Shape.STRIDES) {
            for (int n : new int[] {1, 2, 4, 8, 16}) {
                for (int start = 0; start < 2 * n; start++) {
                    for (int published = 0; published <= n; published++) {
                        for (int inHand = 0; inHand <= n - published; inHand++) {
                            oneState(new Shape(stride, n, start), published, inHand);
                        }
                    }
                }
            }
        }
    }

    private static void oneState(Shape shape, int published, int inHand) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        CompletionWriter writer = queue.writer();
        PollContractTest.write(queue, Way.CLAIM, 0, published);
        byte[][] before = snapshots(shape, memory, published);
        for (int i = 0; i < inHand; i++) {
            assertTrue(Way.CLAIM.put(writer, -7, shape.stride()), "not full: must be accepted");
        }
        boolean full = published + inHand == shape.capacity();
        assertEquals(!full, Way.CLAIM.put(writer, -8, shape.stride()));
        writer.abort();
        for (int i = 0; i < inHand; i++) {
            assertTrue(Way.STAGE.put(writer, -9, shape.stride()));
        }
        assertEquals(!full, Way.STAGE.put(writer, -10, shape.stride()));
        writer.abort();
        if (published == shape.capacity()) {
            assertFalse(Way.WRITE.put(writer, -11, shape.stride()));
        }
        assertArrayEquals(before, snapshots(shape, memory, published), () -> shape + ": an unread entry changed");
        InOrder taker = new InOrder(shape.stride(), Way.CLAIM, 0);
        assertEquals(published, queue.poll(taker::onView, shape.capacity()));
    }

    private static byte[][] snapshots(Shape shape, QueueMemory memory, int count) {
        byte[][] slots = new byte[count][shape.stride()];
        for (int i = 0; i < count; i++) {
            memory.getBytes(shape.slot(shape.start() + i), slots[i], 0, shape.stride());
        }
        return slots;
    }

    /** The host scribbles over owner bits of slots it has given back; the device goes by its own count. */
    @FieldBug(16)
    @Shape.Every
    void shouldIgnoreOwnerBitsThatTheHostScribblesIntoConsumedSlots(Shape shape) {
        int n = shape.capacity();
        SplittableRandom random = new SplittableRandom(shape.hashCode());
        for (Way way : Way.values()) {
            QueueMemory memory = QueueMemory.allocate(shape.bytes());
            CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
            long sequence = shape.start();
            for (int lap = 0; lap < 12; lap++) {
                for (int i = 0; i < n; i++) {
                    int slot = shape.slot(sequence + i);
                    long owner = lap % 4 < 2 ? lap % 4 : random.nextInt(2);
                    memory.putLong(slot, lap % 3 == 0 ? random.nextLong() : (memory.getLong(slot) & ~1L) | owner);
                }
                for (int i = 0; i < n; i++) { // and once more while they are in hand
                    assertTrue(way.put(queue.writer(), sequence + i, shape.stride()));
                    int slot = shape.slot(sequence + i);
                    if (way.needsFlush()) {
                        memory.putLong(slot, memory.getLong(slot) ^ 1);
                    }
                }
                if (way.needsFlush()) {
                    assertEquals(n, queue.writer().flush());
                }
                InOrder taker = new InOrder(shape.stride(), way, sequence);
                assertEquals(n, queue.poll(taker::onView, n), way + " lap " + lap);
                sequence += n;
                assertEquals(sequence, taker.next());
            }
        }
    }

    /** A consumer index the host cannot have reached is counted and ignored; the last good one stays in force. */
    @Shape.EveryWithPolicy
    void shouldRejectDoorbellsTheHostCannotHaveReached(Shape shape, OverrunPolicy policy) {
        int n = shape.capacity();
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(policy, memory);
        CompletionWriter writer = queue.writer();
        PollContractTest.write(queue, Way.WRITE, 0, n);
        assertEquals(n, queue.poll(c -> {}, n));
        PollContractTest.write(queue, Way.WRITE, n, 2L * n); // the device has seen start + n by now
        long seen = shape.start() + n;
        long published = shape.start() + 2L * n;
        long[] nonsense = {
            published + 1,
            published + n,
            seen - 1,
            seen - n,
            published + (1L << 32),
            seen - (1L << 32),
            seen + Long.MIN_VALUE,
            published + Long.MIN_VALUE
        };
        int looks = 0;
        for (long doorbell : nonsense) {
            memory.putLong(Region.CONSUMER, doorbell);
            assertFalse(writer.write(0, -1, 0, 0, 0), () -> "overwrote for doorbell " + doorbell);
            assertEquals(++looks, writer.rejectedDoorbells());
            assertTrue(queue.size() >= 0 && queue.size() <= n);
            assertEquals(looks, memory.getLong(Region.REJECTED));
        }
        memory.putLong(Region.CONSUMER, seen);
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, n);
        assertEquals(n, queue.poll(taker::onView, n), "nothing was overwritten");
        assertEquals(policy == OverrunPolicy.BACKPRESSURE ? 0 : looks, queue.lostEntries());
        assertEquals(policy != OverrunPolicy.ERROR, writer.write(0, 1, 0, 0, 0), "a good doorbell is believed again");
        assertEquals(looks, writer.rejectedDoorbells());
    }
}
