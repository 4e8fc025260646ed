package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqOverrunException;
import io.cqring.cq.EventSink;
import io.cqring.cq.OverrunPolicy;
import io.cqring.cq.SharedWriter;
import io.cqring.eq.EventQueue;
import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who sleeps on a queue that closes, dies, or whose event was lost; each of these has failed once. */
@Timeout(60)
@SuppressWarnings("FutureReturnValueIgnored") // a thread that watches, and is left asleep
class LivenessTest {
    /** Turns a hang into a failure, nothing else. */
    private static final long DEADLINE_S = 5;

    private final CompletionChannel channel = CompletionChannel.ofQueues(4);

    /** A call on a thread of its own, which has gone to sleep in it. */
    private static <T> FutureTask<T> asleep(Callable<T> call) {
        FutureTask<T> task = new FutureTask<>(call);
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != Thread.State.TIMED_WAITING && thread.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        return task;
    }

    /** Another thread watches the interrupt, so that those who wait for our queue are woken by name only. */
    private void watchElsewhere() {
        CompletionQueue other = channel.create(CompletionQueue.ofCapacity(8));
        asleep(() -> channel.await(other, 1, DAYS));
    }

    /** One event for one close, and it wakes one waiter. */
    @Test
    void shouldTellEveryPollerThatSleepsOfAClose() throws Exception {
        watchElsewhere();
        CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(8).sharedPollers());
        List<FutureTask<Boolean>> pollers = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            pollers.add(asleep(() -> channel.await(queue.newPoller(4), 1, DAYS)));
        }
        queue.close();
        for (FutureTask<Boolean> poller : pollers) {
            ExecutionException e = assertThrows(ExecutionException.class, () -> poller.get(DEADLINE_S, SECONDS));
            assertEquals("completion queue is closed", e.getCause().getMessage());
        }
    }

    /** Likewise for the death of a queue; nobody is told of it again. */
    @Test
    void shouldTellEveryPollerThatSleepsOfAnOverrun() throws Exception {
        CompletionQueue queue =
                channel.create(CompletionQueue.ofCapacity(2).sharedPollers().overrunPolicy(OverrunPolicy.ERROR));
        List<FutureTask<Boolean>> pollers = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            pollers.add(asleep(() -> {
                CompletionPoller poller = queue.newPoller(2);
                try {
                    while (true) {
                        channel.await(poller, 1, DAYS);
                        poller.poll(entry -> {}, 2);
                    }
                } catch (CqOverrunException dead) {
                    return true;
                }
            }));
        }
        for (int i = 0; i < 3; i++) {
            assertEquals(i < 2, queue.writer().stage(0, i, 0, 0, 0)); // the third overruns
        }
        for (FutureTask<Boolean> poller : pollers) {
            assertTrue(poller.get(DEADLINE_S, SECONDS));
        }
    }

    /**
     * The loop of the description of io.cqring.eq, on two completion queues: after a loss, each queue's event is taken, or the lost one
     * stays outstanding and its queue asks for no other.
     */
    @Test
    void shouldHearOfAQueueAgainAfterItsEventWasLost() throws InterruptedException {
        EventQueue events = EventQueue.builder(1).create();
        EventSink sink = new EventSink() {
            @Override
            public void completion(int number) {
                events.writer().post(EventType.COMPLETION, number, 0, 0, 0);
            }

            @Override
            public void overrun(int number, boolean dead) {}
        };
        List<CompletionQueue> queues = List.of(
                CompletionQueue.ofCapacity(8).events(sink, 0).create(),
                CompletionQueue.ofCapacity(8).events(sink, 1).create());
        for (CompletionQueue queue : queues) {
            assertFalse(queue.arm(ArmMode.NEXT));
            assertTrue(queue.writer().write(0, 1, 0, 0, 0)); // the second event finds no slot
        }
        Interrupt interrupt = events.interrupt();
        long seen = interrupt.count();
        while (events.poll(
                        (type, number, subType, syndrome, detail) ->
                                queues.get(number).takeEvent(),
                        128)
                != 0) {}
        assertTrue(events.takeOverrun());
        for (CompletionQueue queue : queues) { // takeAndPollEverything(), and arm as the rule for callers is
            queue.takeEvent();
            do {
                while (queue.poll(entry -> {}, 8) != 0) {}
            } while (queue.arm(ArmMode.NEXT));
        }
        assertFalse(events.arm());
        assertTrue(queues.get(1).writer().write(0, 2, 0, 0, 0));
        assertTrue(interrupt.await(seen, 100_000_000), "asleep beside an entry, for good");
    }

    /** The queue is dead, a claim is open: await says yes, the poll gives nothing and does not throw. */
    @Test
    void shouldNotSpinBesideADeadQueueWithAnOpenClaim() throws InterruptedException {
        CompletionQueue queue =
                channel.create(CompletionQueue.ofCapacity(4).writers(2).overrunPolicy(OverrunPolicy.ERROR));
        SharedWriter slow = queue.newWriter();
        SharedWriter fast = queue.newWriter();
        assertTrue(slow.claim(1));
        for (int i = 0; i < 4; i++) {
            assertEquals(i < 3, fast.write(0, i, 0, 0, 0)); // the last one overruns
        }
        int nothing = 0;
        while (nothing != 1_000 && channel.await(queue, 1, MILLISECONDS)) {
            assertEquals(0, queue.poll(entry -> {}, 4));
            nothing++;
        }
        assertTrue(nothing < 1_000, "1000 times told to poll, and 1000 times nothing");
    }

    /** An asynchronous event of a queue that is gone is taken for one of its successor. */
    @Test
    void shouldNotBlameTheNextQueueOfANumber() throws InterruptedException {
        EventQueue asynchronous = EventQueue.builder(8).create();
        CompletionChannel reporting = CompletionChannel.ofQueues(4, asynchronous.writer());
        CompletionQueue first = reporting.create(CompletionQueue.ofCapacity(1).overrunPolicy(OverrunPolicy.DROP_NEW));
        assertTrue(first.writer().write(0, 1, 0, 0, 0));
        assertFalse(first.writer().write(0, 2, 0, 0, 0));
        assertTrue(reporting.destroy(first, 0, SECONDS));
        CompletionQueue second = reporting.create(CompletionQueue.ofCapacity(1));
        int[] blamed = {-1};
        assertEquals(1, asynchronous.poll((type, number, subType, syndrome, detail) -> blamed[0] = number, 8));
        assertTrue(blamed[0] != second.number(), "an overrun of number " + blamed[0] + ", which has lost nothing");
    }

    /** The sink's report comes before the wake-up, so a report that fails costs the wake-up of a dead queue. */
    @Test
    void shouldWakeTheHostOfADeadQueueThoughTheReportFails() {
        boolean[] woken = new boolean[1];
        CompletionQueue queue = CompletionQueue.ofCapacity(1)
                .overrunPolicy(OverrunPolicy.ERROR)
                .events(
                        new EventSink() {
                            @Override
                            public void completion(int number) {
                                woken[0] = true;
                            }

                            @Override
                            public void overrun(int number, boolean dead) {
                                throw new IllegalStateException("event queue is closed");
                            }
                        },
                        1)
                .create();
        assertTrue(queue.writer().write(0, 1, 0, 0, 0));
        assertEquals(1, queue.poll(entry -> {}, 1));
        assertTrue(queue.writer().write(0, 2, 0, 0, 0));
        queue.arm(ArmMode.NEXT, 1);
        queue.takeEvent();
        assertTrue(queue.arm(ArmMode.NEXT)); // index before entry 2
        for (int i = 0; i < 2; i++) {
            try {
                queue.writer().write(0, 3, 0, 0, 0);
            } catch (IllegalStateException closed) {
                // what the sink threw
            }
        }
        assertTrue(woken[0]);
    }
}
