package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.RecordingMemory;
import io.cqring.testing.RecordingMemory.Access;
import io.cqring.testing.RecordingMemory.Op;
import io.cqring.testing.Threads;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** A poller of many is one thread's at a time; and the order in which it touches the ring. */
@Tag("bothroutes")
class SharedPollerRoleTest {
    private final CompletionQueue queue =
            new Shape(64, 8, 5).builder().sharedPollers().create();
    private final CompletionPoller poller = queue.newPoller();

    /** Runs the first on a thread that stays alive until the second has run on a thread named tester. */
    private static void whileAlive(Runnable first, Runnable second) {
        CountDownLatch ready = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        Threads.run(
                spin -> {
                    Thread.currentThread().setName("first");
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
                        second.run();
                    } finally {
                        done.countDown();
                    }
                });
    }

    private void writeAndThrowAtFirst(int count) {
        PollContractTest.write(queue, Way.WRITE, 0, count);
        assertThrows(
                IllegalCallerException.class,
                () -> poller.poll(
                        c -> {
                            throw new IllegalCallerException();
                        },
                        count));
        assertEquals(count - 1, poller.undelivered());
    }

    @Test
    void shouldRefuseASecondThread() {
        whileAlive(() -> writeAndThrowAtFirst(4), () -> {
            List<Executable> calls = List.of(
                    () -> poller.poll(c -> {}, 1),
                    () -> poller.poll(c -> {}, 0),
                    () -> poller.pollInto(Polling.completions(8), 1),
                    poller::startPoll,
                    poller::next,
                    poller::endPoll,
                    poller::undelivered,
                    poller::close);
            for (Executable call : calls) {
                assertEquals(
                        "completion poller is for one thread, thread first; it must release the poller before thread"
                                + " tester can use it, or that thread makes its own with newPoller()",
                        assertThrows(IllegalStateException.class, call).getMessage());
            }
            assertEquals(
                    "thread tester is not the thread of this completion poller",
                    assertThrows(IllegalStateException.class, poller::release).getMessage());
            CompletionPoller own = queue.newPoller();
            assertEquals(0, own.poll(c -> {}, 8), "what is claimed is claimed");
        });
        InOrder taker = new InOrder(64, Way.WRITE, 1);
        assertEquals(3, poller.poll(taker::onView, 8), "nothing was taken");
    }

    @Test
    void shouldHandOverWhatIsClaimed() {
        whileAlive(
                () -> {
                    writeAndThrowAtFirst(4);
                    assertTrue(poller.startPoll());
                    poller.release(); // abandons the cursor, which has consumed what it showed
                    assertThrows(IllegalStateException.class, poller::release);
                },
                () -> {
                    assertThrows(IllegalStateException.class, poller::next);
                    InOrder taker = new InOrder(64, Way.WRITE, 2);
                    assertEquals(2, poller.poll(taker::onView, 8));
                    poller.close();
                    assertEquals(
                            "completion poller is closed",
                            assertThrows(IllegalStateException.class, poller::startPoll)
                                    .getMessage());
                });
    }

    @Test
    void shouldLeaveWhatAnEndedThreadHadClaimedToTheNext() {
        Threads.run(spin -> {
            writeAndThrowAtFirst(4);
            assertTrue(poller.startPoll());
        });
        assertEquals(
                "no cursor is open: startPoll() must have returned true",
                assertThrows(IllegalStateException.class, poller::next).getMessage());
        InOrder taker = new InOrder(64, Way.WRITE, 2);
        assertEquals(2, poller.poll(taker::onView, 8));
    }

    /** A thread that knows nothing of the close but that the poller is free sees that it is closed. */
    @Test
    void shouldSeeThatAnotherThreadHasClosedThePoller() {
        Threads.run(spin -> poller.close());
        assertEquals(
                "completion poller is closed",
                assertThrows(IllegalStateException.class, () -> poller.poll(c -> {}, 1))
                        .getMessage());
    }

    /**
     * The owner bit of each entry is loaded with acquire before its words, the consumer sequence changes by compare-and-set only,
     * after the last load of a slot that it gives away; the host stores nothing else.
     */
    @FieldBug({7, 24, 91})
    @Shape.Every
    void shouldLookThenCopyThenClaim(Shape shape) {
        int n = shape.capacity();
        for (SharedPolling polling : SharedPolling.values()) {
            RecordingMemory memory = new RecordingMemory(shape.bytes());
            CompletionQueue shared =
                    shape.builder().memory(memory).sharedPollers().create();
            CompletionPoller one = shared.newPoller(4);
            for (int count : new int[] {0, 1, n / 2, n}) {
                PollContractTest.write(shared, Way.WRITE, 0, count);
                long first = memory.getLong(Region.CONSUMER);
                memory.clear();
                assertEquals(count, polling.take(one, n, n, new InOrder(shape.stride(), Way.WRITE, 0)));
                long claimed = first;
                boolean looked = false;
                boolean[] valid = new boolean[n];
                for (Access access : memory.log()) {
                    if (access.offset() >= Region.SLOTS) {
                        assertTrue(looked, "the sequence before the slots");
                        int index = (access.offset() - Region.SLOTS) / shape.stride();
                        if (access.op() == Op.GET_ACQUIRE) {
                            assertEquals(Region.SLOTS + index * shape.stride(), access.offset(), "a header");
                            valid[index] = true;
                        } else {
                            assertEquals(Op.GET, access.op());
                            assertTrue(valid[index], "owner bit before the words");
                            long distance = Math.floorMod(index - claimed, (long) n);
                            assertTrue(claimed + distance - first < count, "a slot that is not given away");
                        }
                    } else if (access.offset() == Region.CONSUMER) {
                        looked = true;
                        if (access.op() == Op.COMPARE_AND_SET) {
                            assertTrue(access.value() - claimed >= 1 && access.value() - claimed <= 4, "one claim");
                            claimed = access.value();
                            Arrays.fill(valid, false); // a copy made before says nothing of the next claim
                        } else {
                            assertEquals(Op.GET_ACQUIRE, access.op());
                        }
                    } else {
                        assertFalse(access.op().isStore(), () -> "a store of the host's: " + access);
                    }
                }
                assertEquals(first + count, claimed);
            }
        }
    }

    /** With claims of 16, a full ring of 64 goes in 4 steps: the one line that all pollers store to is touched seldom. */
    @Test
    void shouldClaimBatchesInOneStep() {
        Shape shape = new Shape(64, 64, 0);
        RecordingMemory memory = new RecordingMemory(shape.bytes());
        CompletionQueue shared = shape.builder().memory(memory).sharedPollers().create();
        PollContractTest.write(shared, Way.WRITE, 0, 64);
        memory.clear();
        assertEquals(64, shared.newPoller(16).poll(c -> {}, 64));
        assertEquals(
                List.of(16L, 32L, 48L, 64L),
                memory.log().stream()
                        .filter(a -> a.op() == Op.COMPARE_AND_SET)
                        .map(Access::value)
                        .toList());
    }

    /** Memory that always says that somebody else was first: a call must end, and say that it took nothing. */
    @Test
    void shouldEndACallThatLosesEveryClaim() {
        Shape shape = new Shape(64, 8, 0);
        long[] lost = {0};
        RecordingMemory real = new RecordingMemory(shape.bytes());
        CompletionQueue shared = shape.builder().memory(real).sharedPollers().create();
        PollContractTest.write(shared, Way.WRITE, 0, 8);
        real.onCompareAndSet(() -> {
            // Another poller takes one, and the device writes another in its place.
            lost[0]++;
            QueueMemory memory = real.real();
            memory.putLongRelease(Region.CONSUMER, memory.getLong(Region.CONSUMER) + 1);
            assertTrue(Way.WRITE.put(shared.writer(), 100, 64));
        });
        CompletionPoller loser = shared.newPoller();
        assertEquals(0, loser.poll(c -> {}, 8));
        assertEquals(8, lost[0], "a call ends when all that was ready as it began is taken");
        assertFalse(loser.startPoll());
        assertEquals(16, lost[0]);
    }
}
