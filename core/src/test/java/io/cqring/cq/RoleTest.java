package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.testing.Threads;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** One poller and one writer: who may call, and how the role goes to another thread. */
@Tag("bothroutes")
class RoleTest {
    private final CompletionQueue queue = new Shape(64, 8, 5).queue();
    private final CompletionWriter writer = queue.writer();

    /** Runs something on a thread that then ends. */
    private static <T> T onThread(String name, Callable<T> body) {
        AtomicReference<T> result = new AtomicReference<>();
        Threads.run(spin -> {
            Thread.currentThread().setName(name);
            result.set(body.call());
        });
        return result.get();
    }

    /** Runs something on a thread that stays alive until the check has run. */
    private static void whileAlive(String name, Runnable first, Runnable check) {
        CountDownLatch ready = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        Threads.run(
                spin -> {
                    Thread.currentThread().setName(name);
                    try {
                        first.run();
                    } finally {
                        ready.countDown();
                    }
                    done.await();
                },
                spin -> {
                    try {
                        ready.await();
                        Thread.currentThread().setName("tester");
                        check.run();
                    } finally {
                        done.countDown();
                    }
                });
    }

    private static String refused(String end, String holder) {
        return "completion queue has one " + end + ", thread " + holder
                + "; it must release the role before thread tester can take it";
    }

    private List<Executable> pollerCalls() {
        return List.of(
                () -> queue.poll(c -> {}, 1),
                () -> queue.poll(c -> {}, 0),
                () -> queue.poll(c -> {}, -1),
                () -> queue.pollInto(Polling.completions(8), 1),
                queue::startPoll,
                queue::next,
                queue::endPoll,
                queue::peek);
    }

    private List<Executable> writerCalls() {
        return List.of(
                () -> writer.write(0, 0, 0, 0, 0),
                () -> writer.write(0, 0, 0, 0, 0, 1, 2, 3),
                () -> writer.stage(0, 0, 0, 0, 0),
                writer::claim,
                writer::flush,
                writer::abort);
    }

    private static void assertAllRefused(List<Executable> calls, String message) {
        for (Executable call : calls) {
            assertEquals(
                    message, assertThrows(IllegalStateException.class, call).getMessage());
        }
    }

    @Test
    void shouldRefuseASecondPoller() {
        onThread("device", () -> Way.WRITE.publish(writer, 1, 64));
        whileAlive("first", () -> assertTrue(queue.startPoll()), () -> {
            assertAllRefused(pollerCalls(), refused("poller", "first"));
            assertEquals(
                    "thread tester is not the poller",
                    assertThrows(IllegalStateException.class, queue::releasePoller)
                            .getMessage());
            // What is for any thread works on any thread.
            assertEquals(1, queue.size());
            assertEquals(7, queue.remaining());
            assertFalse(queue.isEmpty());
            assertEquals(0, queue.lostEntries());
        });
        assertEquals(1, queue.poll(c -> Numbered.verify(c, 1, Way.WRITE, 64), 9), "nothing was taken");
    }

    @Test
    void shouldRefuseASecondWriter() {
        whileAlive("device", () -> assertTrue(Way.STAGE.put(writer, 1, 64)), () -> {
            assertAllRefused(writerCalls(), refused("writer", "device"));
            assertEquals(
                    "thread tester is not the writer",
                    assertThrows(IllegalStateException.class, writer::release).getMessage());
            assertEquals(0, writer.lostEntries());
            assertEquals(0, writer.rejectedDoorbells());
            assertEquals(0, queue.poll(c -> {}, 1), "the roles are apart");
        });
    }

    @Test
    void shouldLetAnotherThreadPollOnceTheRoleIsReleased() {
        for (int i = 0; i < 5; i++) {
            assertTrue(Way.WRITE.publish(writer, i, 64));
        }
        InOrder taker = new InOrder(64, Way.WRITE, 0);
        whileAlive(
                "first",
                () -> {
                    assertEquals(2, queue.poll(taker::onView, 2));
                    assertTrue(queue.startPoll());
                    assertTrue(queue.next());
                    queue.releasePoller(); // abandons the cursor
                    assertThrows(IllegalStateException.class, queue::releasePoller);
                },
                () -> {
                    assertThrows(IllegalStateException.class, queue::next);
                    assertEquals(2, queue.poll(taker::onView, 2));
                    queue.releasePoller();
                });
        assertEquals(1, queue.poll(taker::onView, 2));
    }

    @Test
    void shouldLetAnotherThreadWriteOnceTheRoleIsReleasedWithWhatIsStaged() {
        whileAlive(
                "first",
                () -> {
                    assertTrue(Way.STAGE.put(writer, 0, 64));
                    assertTrue(Way.CLAIM.put(writer, 1, 64));
                    writer.release();
                    assertThrows(IllegalStateException.class, writer::release);
                },
                () -> {
                    assertTrue(Way.STAGE.put(writer, 2, 64));
                    assertEquals(3, writer.flush());
                });
        Way[] ways = {Way.STAGE, Way.CLAIM, Way.STAGE};
        int[] seen = {0};
        assertEquals(3, queue.poll(c -> Numbered.verify(c, seen[0], ways[seen[0]++], 64), 8));
    }

    @Test
    void shouldLetAnotherThreadInWhenThePlayerHasEnded() {
        InOrder taker = new InOrder(64, Way.WRITE, 0);
        for (int i = 0; i < 20; i++) {
            int number = i;
            assertTrue(onThread("device " + i, () -> Way.WRITE.publish(writer, number, 64)));
            assertEquals(1, onThread("host " + i, () -> queue.poll(taker::onView, 1)));
        }
        assertEquals(20, taker.next());
    }

    /** A slot that a dead thread had claimed and not finished is nobody's completion. */
    @Test
    void shouldNotPublishWhatADeadThreadHadClaimed() {
        assertNotNull(onThread("device", () -> writer.claim().workRequestId(666)));
        assertTrue(Way.WRITE.publish(writer, 1, 64));
        assertEquals(1, queue.poll(c -> Numbered.verify(c, 1, Way.WRITE, 64), 8));
        assertNull(queue.peek());
    }

    @Test
    void shouldLetExactlyOneOfManyThreadsIn() {
        for (int round = 0; round < 200; round++) {
            CompletionQueue contested = new Shape(32, 2, 0).queue();
            AtomicInteger in = new AtomicInteger();
            AtomicInteger out = new AtomicInteger();
            AtomicInteger finished = new AtomicInteger();
            Threads.Body body = spin -> {
                try {
                    contested.poll(c -> {}, 1);
                    in.incrementAndGet();
                } catch (IllegalStateException e) {
                    out.incrementAndGet();
                }
                finished.incrementAndGet();
                while (finished.get() != 3) { // stay alive: the end of a thread frees its role
                    spin.once();
                }
            };
            Threads.run(body, body, body);
            assertEquals(1, in.get());
            assertEquals(2, out.get());
        }
    }

    /** The role goes round and round; with it must go the sequence, the staged entries, the cached credit. */
    @Test
    void shouldKeepAllStateAcrossManyHandOvers() {
        CompletionQueue shared = new Shape(64, 4, Long.MAX_VALUE - 1).queue();
        AtomicInteger turn = new AtomicInteger();
        InOrder taker = new InOrder(64, Way.STAGE, 0);
        int rounds = 20_000;
        Threads.Body[] bodies = new Threads.Body[2];
        for (int self = 0; self < 2; self++) {
            int me = self;
            bodies[self] = spin -> {
                for (int round = me; round < rounds; round += 2) {
                    while (turn.get() != round) {
                        spin.once();
                    }
                    assertTrue(Way.STAGE.put(shared.writer(), round, 64));
                    assertEquals(1, shared.writer().flush());
                    assertEquals(1, shared.poll(taker::onView, 3));
                    shared.releasePoller();
                    shared.writer().release();
                    turn.set(round + 1);
                }
            };
        }
        Threads.run(bodies);
        assertEquals(rounds, taker.next());
    }
}
