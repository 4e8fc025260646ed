package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Queues that can be armed, at some slot of their ring, and what the tests of arming do to them. */
abstract class ArmRig {
    /** Every width at which a counter kept too narrow goes wrong, and sequences that are negative as a long. */
    static Stream<Shape> shapes() {
        List<Shape> shapes = new ArrayList<>();
        for (int stride : Shape.STRIDES) {
            for (int capacity : new int[] {1, 2, 4, 8}) {
                LongStream.concat(
                                Shape.starts(capacity),
                                LongStream.of((1L << 32) - 1, Long.MIN_VALUE, Long.MIN_VALUE + 1, -1, -3))
                        .forEach(start -> shapes.add(new Shape(stride, capacity, start)));
            }
        }
        return shapes.stream();
    }

    static long plain() {
        return CqeLayout.header(CqeOpcode.RECV, false, 1, 7, 0);
    }

    static long solicited() {
        return CqeLayout.header(CqeOpcode.RECV, true, 1, 7, 0);
    }

    static boolean write(CompletionQueue queue) {
        return queue.writer().write(plain(), 0, 0, 0, 0);
    }

    static int poll(CompletionQueue queue, int limit) {
        return limit == 0 ? 0 : queue.poll(c -> {}, limit);
    }

    static void stage(CompletionQueue queue, int count) {
        for (int i = 0; i != count; i++) {
            assertTrue(queue.writer().stage(plain(), 0, 0, 0, 0));
        }
    }

    /** A queue with events, at some slot of its ring. */
    static CompletionQueue queueAt(Shape shape, int offset, Events events) {
        CompletionQueue queue = shape.builder().events(events, Events.CQ).create();
        for (int i = 0; i != offset; i++) {
            assertTrue(write(queue));
            assertEquals(1, poll(queue, 1));
        }
        assertEquals(0, events.completions, "nothing was armed");
        return queue;
    }

    static String at(Object... what) {
        return List.of(what).toString();
    }

    static boolean arm(CompletionQueue queue, CompletionPoller poller, ArmMode mode) {
        return poller == null ? queue.arm(mode) : poller.arm(mode);
    }

    static int take(CompletionQueue queue, CompletionPoller poller, List<Long> into) {
        CompletionHandler handler = c -> into.add(c.workRequestId());
        return poller == null ? queue.poll(handler, 8) : poller.poll(handler, 8);
    }

    static void assertRefused(Class<? extends RuntimeException> type, String why, Runnable call) {
        String message = assertThrows(type, call::run).getMessage();
        assertTrue(message.contains(why), message);
    }
}
