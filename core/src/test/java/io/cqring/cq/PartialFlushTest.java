package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Publishing part of what is in hand, ending a cursor before its last completion, filling a payload from outside. */
@Tag("bothroutes")
class PartialFlushTest {
    private static final long HEADER = CqeOpcode.RECV << 1;

    /** Random staging, claiming and partial flushing against counts kept beside: only what was flushed shows, in order. */
    @Shape.Every
    void shouldPublishTheOldestAndKeepTheRest(Shape shape) {
        for (long seed = 1; seed <= 20; seed++) {
            Random random = new Random(seed);
            String where = shape + " seed " + seed;
            CompletionQueue queue = shape.queue();
            CompletionWriter writer = queue.writer();
            long made = 0;
            long flushed = 0;
            long polled = 0;
            for (int step = 0; step < 60; step++) {
                int inHand = (int) (made - flushed);
                assertEquals(inHand, writer.entriesInHand(), where);
                assertEquals(flushed - polled, queue.size(), where);
                assertEquals(shape.start() + flushed, queue.producerSequence(), where);
                assertEquals(shape.start() + polled, queue.consumerSequence(), where);
                boolean room = made - polled < shape.capacity();
                switch (random.nextInt(4)) {
                    case 0 -> {
                        assertEquals(room, writer.stage(HEADER, made, 0, 0, 0), where);
                        made += room ? 1 : 0;
                    }
                    case 1 -> {
                        CompletionEntry entry = writer.claim();
                        assertEquals(room, entry != null, where);
                        if (entry != null) {
                            assertEquals(shape.slot(shape.start() + made), entry.slotOffset(), where);
                            entry.header(HEADER).workRequestId(made);
                            made++;
                        }
                    }
                    case 2 -> {
                        int count = random.nextInt(inHand + 1);
                        assertEquals(count, writer.flush(count), where);
                        flushed += count;
                    }
                    default -> {
                        List<Long> ids = new ArrayList<>();
                        queue.poll(c -> ids.add(c.workRequestId()), 1 + random.nextInt(shape.capacity()));
                        for (long id : ids) {
                            assertEquals(polled++, id, where);
                        }
                        assertTrue(polled <= flushed, where);
                    }
                }
            }
        }
    }

    @Test
    void shouldRefuseToFlushWhatIsNotInHand() {
        CompletionQueue queue = CompletionQueue.ofCapacity(4).create();
        CompletionWriter writer = queue.writer();
        assertEquals(0, writer.flush(0));
        assertTrue(writer.stage(HEADER, 1, 0, 0, 0));
        for (int count : new int[] {-1, 2, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            assertEquals(
                    "entries to flush must be 0 to what is in hand, 1: " + count,
                    assertThrows(IllegalArgumentException.class, () -> writer.flush(count))
                            .getMessage());
        }
        assertEquals(0, queue.size());
        assertEquals(1, writer.flush(1));
        assertEquals(1, queue.size());
    }

    @Shape.Every
    void shouldEndACursorBeforeTheCompletionItStandsOn(Shape shape) {
        CompletionQueue queue = shape.queue();
        long next = 0;
        for (int show = 1; show <= shape.capacity(); show++) {
            for (int i = 0; i < shape.capacity(); i++) {
                assertTrue(queue.writer().write(HEADER, next + i, 0, 0, 0));
            }
            assertTrue(queue.startPoll());
            for (int i = 1; i < show; i++) {
                assertTrue(queue.next());
            }
            assertEquals(next + show - 1, queue.completion().workRequestId());
            assertEquals(
                    shape.slot(shape.start() + next + show - 1),
                    queue.completion().slotOffset());
            assertEquals(show - 1, queue.endPollButLast());
            assertEquals(shape.capacity() - show + 1, queue.size());
            assertThrows(IllegalStateException.class, queue::next);
            assertThrows(IllegalStateException.class, queue::endPollButLast);
            assertEquals(next + show - 1, queue.peek().workRequestId());
            assertEquals(shape.capacity() - show + 1, queue.poll(c -> {}, shape.capacity()));
            next += shape.capacity();
        }
    }

    /** Behind the last completion there may be passed-over entries in hand: which one is the last shown is then unclear. */
    @Test
    void shouldRefuseToEndBeforeTheLastIfTheCursorStandsOnNothing() {
        CompletionQueue queue = CompletionQueue.ofCapacity(4).create();
        assertTrue(queue.writer().write(HEADER, 1, 0, 0, 0));
        assertTrue(queue.startPoll());
        assertFalse(queue.next());
        assertEquals(
                "the cursor stands on no completion: next() returned false",
                assertThrows(IllegalStateException.class, queue::endPollButLast).getMessage());
        assertEquals(1, queue.endPoll());
        assertEquals(0, queue.size());
    }

    @Test
    void shouldKeepAPayloadThatWasFilledFromOutsideAndClearTheRest() {
        for (int stride : new int[] {64, 128}) {
            QueueMemory memory = QueueMemory.allocate(Region.SLOTS + stride);
            CompletionQueue queue = CompletionQueue.ofCapacity(1)
                    .strideBytes(stride)
                    .memory(memory)
                    .create();
            CompletionWriter writer = queue.writer();
            for (int lap = 0; lap < 4; lap++) {
                memory.fill(Region.SLOTS + 8, stride - 8, (byte) 0xEE);
                CompletionEntry entry = writer.claim().header(HEADER).workRequestId(5);
                assertEquals(Region.SLOTS, entry.slotOffset());
                if (lap % 2 == 0) {
                    entry.payloadInPlace();
                }
                assertEquals(1, writer.flush());
                assertThrows(IllegalStateException.class, entry::payloadInPlace);
                assertThrows(IllegalStateException.class, entry::slotOffset);
                Completion seen = queue.peek();
                assertEquals(0, seen.timestamp());
                assertEquals(0, seen.byteCount());
                assertEquals(0, seen.sourceQp());
                for (int word = 0; word < (stride - 40) / 8; word++) {
                    assertEquals(lap % 2 == 0 ? 0xEEEE_EEEE_EEEE_EEEEL : 0, seen.payload(word));
                }
                assertEquals(1, queue.poll(c -> {}, 1));
            }
        }
        CompletionQueue narrow = CompletionQueue.ofCapacity(1).strideBytes(32).create();
        narrow.writer().claim().header(HEADER).workRequestId(3).payloadInPlace();
        assertEquals(1, narrow.writer().flush());
        assertEquals(3, narrow.peek().workRequestId());
    }
}
