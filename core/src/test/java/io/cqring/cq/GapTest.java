package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Entries that are no completions are passed over by every way of polling, and their slots go back to the device. The gaps
 * are made by hand: the opcode of a written entry is overwritten in memory.
 */
class GapTest {
    private static final int ABANDONED = 12;
    private static final int INVALID = 15;

    private enum Way {
        POLL,
        POLL_INTO,
        CURSOR,
        PEEK
    }

    /** Every set of gaps, at every start index, with every limit: what comes out is what the set leaves, in order. */
    @ParameterizedTest
    @CsvSource({"32, 1", "64, 2", "128, 4", "64, 8"})
    void shouldPassOverEverySetOfGaps(int stride, int capacity) {
        for (Way way : Way.values()) {
            for (int start = 0; start < 2 * capacity; start++) {
                for (int backlog = 0; backlog <= capacity; backlog++) {
                    for (int gaps = 0; gaps < 1 << backlog; gaps++) {
                        for (int limit = 1; limit <= capacity + 1; limit++) {
                            check(way, new Shape(stride, capacity, start), backlog, gaps, limit);
                        }
                    }
                }
            }
        }
    }

    private static void check(Way way, Shape shape, int backlog, int gaps, int limit) {
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        queue.expectGaps();
        List<Long> expected = new ArrayList<>();
        for (int i = 0; i < backlog; i++) {
            assertTrue(queue.writer().write(CqeOpcode.RECV << 1, i, 0, 0, 0));
            if ((gaps >>> i & 1) != 0) {
                overwriteOpcode(memory, shape.slot(shape.start() + i), i % 2 == 0 ? ABANDONED : INVALID);
            } else {
                expected.add((long) i);
            }
        }
        String where =
                way + " " + shape + " backlog " + backlog + " gaps " + Integer.toBinaryString(gaps) + " limit " + limit;
        List<Long> got = new ArrayList<>();
        int before;
        do {
            before = got.size();
            take(way, queue, limit, got);
            assertTrue(got.size() - before <= limit, where);
        } while (got.size() != before);
        assertEquals(expected, got, where);
        assertEquals(0, queue.size(), where);
        for (int i = 0; i < shape.capacity(); i++) { // every slot is the device's again
            assertTrue(queue.writer().write(CqeOpcode.RECV << 1, 100 + i, 0, 0, 0), where);
        }
        assertFalse(queue.writer().write(CqeOpcode.RECV << 1, -1, 0, 0, 0), where);
        assertEquals(100, queue.peek().workRequestId(), where);
    }

    private static void take(Way way, CompletionQueue queue, int limit, List<Long> got) {
        switch (way) {
            case POLL -> queue.poll(completion -> got.add(completion.workRequestId()), limit);
            case POLL_INTO -> {
                WorkCompletion[] into = new WorkCompletion[limit];
                for (int i = 0; i < limit; i++) {
                    into[i] = new WorkCompletion();
                }
                int taken = queue.pollInto(into, limit);
                for (int i = 0; i < taken; i++) {
                    got.add(into[i].workRequestId());
                }
            }
            case CURSOR -> {
                if (queue.startPoll()) {
                    int shown = 0;
                    do {
                        got.add(queue.completion().workRequestId());
                        shown++;
                    } while (shown != limit && queue.next());
                    assertEquals(shown, queue.endPoll());
                }
            }
            case PEEK -> {
                Completion completion = queue.peek();
                if (completion != null) {
                    long seen = completion.workRequestId();
                    assertEquals(seen, queue.peek().workRequestId(), "a peek consumes nothing");
                    assertEquals(1, queue.poll(polled -> got.add(polled.workRequestId()), 1));
                    assertEquals(seen, got.get(got.size() - 1));
                }
            }
        }
    }

    /** A full ring of gaps is emptied by one call that returns 0, and does not hold the caller longer than one lap. */
    @Test
    void shouldEmptyARingOfNothingButGaps() {
        Shape shape = new Shape(64, 8, 5);
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        queue.expectGaps();
        for (int i = 0; i < 8; i++) {
            assertTrue(queue.writer().write(CqeOpcode.RECV << 1, i, 0, 0, 0));
            overwriteOpcode(memory, shape.slot(5 + i), ABANDONED);
        }
        assertEquals(0, queue.poll(completion -> {}, 1));
        assertEquals(13, memory.getLong(Region.CONSUMER));
    }

    private static void overwriteOpcode(QueueMemory memory, int slot, int opcode) {
        memory.putLong(slot, (memory.getLong(slot) & ~0x1EL) | ((long) opcode << 1));
    }
}
