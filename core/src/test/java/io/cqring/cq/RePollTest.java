package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import io.cqring.testing.SteppedMemory;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The poll half of "poll until empty, arm, poll again": an entry that lands at any moment of a poll which finds nothing is found by
 * that poll or by the next, in whatever way either polls, and without any help from the device.
 */
@Tag("bothroutes")
class RePollTest {
    private static final int CAPACITY = 4;

    private enum Kind {
        PLAIN,
        MERGING,
        MANY_WRITERS,
        AFTER_PURGE,
        SHARED;

        CompletionQueue make(SteppedMemory memory) {
            CompletionQueue.Builder builder =
                    CompletionQueue.ofCapacity(CAPACITY).memory(memory);
            return switch (this) {
                case PLAIN, AFTER_PURGE -> builder.create();
                case MERGING -> builder.merging().create();
                case MANY_WRITERS -> builder.writers(2).create();
                case SHARED -> builder.sharedPollers().create();
            };
        }
    }

    private static final class Count implements Polling.Taker {
        private int taken;

        @Override
        public void onView(Completion completion) {
            taken++;
        }

        @Override
        public void onCopy(WorkCompletion completion) {
            taken++;
        }
    }

    @FieldBug(31)
    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldFindAtTheNextPollWhatLandsDuringAnEmptyOne(Kind kind) {
        int ways = kind == Kind.SHARED ? SharedPolling.values().length : Polling.values().length;
        int inTheFirst = 0;
        int inTheSecond = 0;
        for (int first = 0; first < ways; first++) {
            for (int second = 0; second < ways; second++) {
                for (int access = 0; access < 16; access++) {
                    int found = landsAt(kind, first, second, access);
                    inTheFirst += found;
                    inTheSecond += 1 - found;
                }
            }
        }
        assertTrue(inTheFirst != 0 && inTheSecond != 0, "both must happen: " + inTheFirst + ", " + inTheSecond);
    }

    /** 1 if the first poll took the entry, 0 if the second did. */
    private static int landsAt(Kind kind, int first, int second, int access) {
        SteppedMemory memory = new SteppedMemory(CompletionQueue.requiredBytes(CAPACITY, 64, 2));
        CompletionQueue queue = kind.make(memory);
        SharedWriter shared = kind == Kind.MANY_WRITERS ? queue.newWriter() : null;
        CompletionPoller poller = kind == Kind.SHARED ? queue.newPoller() : null;
        IntUnaryOperator poll = way -> {
            Count count = new Count();
            int taken = poller == null
                    ? Polling.at(way).take(queue, CAPACITY, count)
                    : SharedPolling.at(way).take(poller, CAPACITY, CAPACITY, count);
            assertEquals(taken, count.taken);
            return taken;
        };
        for (int i = 0; i < 2; i++) {
            write(queue, shared, 1);
        }
        if (kind == Kind.AFTER_PURGE) {
            write(queue, shared, 2);
            assertEquals(1, queue.purge(2));
        }
        assertEquals(2, poll.applyAsInt(0));
        boolean[] landed = {false};
        memory.runBefore(access, () -> {
            write(queue, shared, 1);
            landed[0] = true;
        });
        int taken = poll.applyAsInt(first);
        memory.unhook();
        if (!landed[0]) {
            write(queue, shared, 1);
        }
        String where = kind + " " + first + " " + second + " access " + access;
        assertEquals(1, taken + poll.applyAsInt(second), where);
        assertEquals(0, poll.applyAsInt(first), where);
        return taken;
    }

    private static void write(CompletionQueue queue, SharedWriter shared, int qpNumber) {
        long header = CqeLayout.header(CqeOpcode.RECV, false, 0, qpNumber, 0);
        assertTrue(
                shared == null ? queue.writer().write(header, 1, 0, 0, 0) : shared.write(header, 1, 0, 0, 0), "a slot");
    }
}
