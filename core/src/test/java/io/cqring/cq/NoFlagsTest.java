package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.AccessRoute;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.Threads;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Runs in a JVM that got {@code -ea} and nothing else. */
@Tag("noflags")
class NoFlagsTest {
    @Test
    void thisJvmHasNoFlagThatHelps() {
        List<String> arguments = ManagementFactory.getRuntimeMXBean().getInputArguments();
        assertTrue(
                arguments.stream().noneMatch(a -> a.contains("add-opens") || a.contains("add-exports")),
                () -> "" + arguments);
        assertFalse(Object.class.getModule().isOpen("jdk.internal.misc", AccessRoute.class.getModule()));
    }

    @Test
    void theRouteIsTheOneThatNeedsNone() {
        assertEquals(AccessRoute.BUFFER, QueueMemory.route());
    }

    @Test
    void theQueueWorks() {
        for (int stride : Shape.STRIDES) {
            CompletionQueue queue = new Shape(stride, 64, Long.MAX_VALUE - 5).queue();
            AtomicLong total = new AtomicLong(-1);
            Polling.InOrder taker = new Polling.InOrder(stride, Way.CLAIM, 0);
            Threads.run(
                    spin -> {
                        for (long n = 0; n < 100_000; ) {
                            if (Way.CLAIM.publish(queue.writer(), n, stride)) {
                                n++;
                            } else {
                                spin.once();
                            }
                        }
                        total.set(100_000);
                    },
                    spin -> {
                        while (taker.next() != total.get()) {
                            if (queue.poll(taker::onView, 64) == 0) {
                                spin.once();
                            }
                        }
                    });
            assertEquals(100_000, taker.next());
        }
    }
}
