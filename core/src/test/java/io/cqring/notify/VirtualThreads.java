package io.cqring.notify;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.SECONDS;

import io.cqring.cq.CompletionQueue;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** A program that does all its waiting in virtual threads: one pair, then a hundred queues. Needs JDK 21 or later. */
final class VirtualThreads {
    private VirtualThreads() {}

    /** On which threads, for those who want to use the same elsewhere. */
    interface Start {
        void start(Runnable runnable) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        System.out.println(run(runnable -> start.invoke(null, runnable)));
    }

    private static <T> FutureTask<T> call(Start start, Callable<T> call) throws Exception {
        FutureTask<T> task = new FutureTask<>(call);
        start.start(task);
        return task;
    }

    static String run(Start start) throws Exception {
        return pair(start, 20_000) + " " + many(start, 100, 50);
    }

    private static long pair(Start start, int number) throws Exception {
        CompletionChannel channel = CompletionChannel.ofQueues(1);
        CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(4).waitingWriters());
        FutureTask<Long> waiter = call(start, () -> {
            long[] sum = new long[1];
            for (int taken = 0; taken != number; ) {
                if (!channel.await(queue, 1, DAYS)) {
                    throw new AssertionError("slept beside " + queue.size());
                }
                taken += queue.poll(entry -> sum[0] += entry.workRequestId(), 4);
            }
            return sum[0];
        });
        FutureTask<Void> writer = call(start, () -> {
            for (int i = 0; i < number; i++) {
                while (!queue.writer().write(0, i, 0, 0, 0)) {
                    if (!queue.writer().awaitSpace(1, DAYS)) {
                        throw new AssertionError("no space");
                    }
                }
            }
            return null;
        });
        writer.get(90, SECONDS);
        return waiter.get(90, SECONDS);
    }

    private static long many(Start start, int queues, int each) throws Exception {
        CompletionChannel channel = CompletionChannel.ofQueues(queues);
        List<CompletionQueue> all = new ArrayList<>();
        List<FutureTask<Integer>> waiters = new ArrayList<>();
        for (int i = 0; i < queues; i++) {
            CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(64));
            all.add(queue);
            waiters.add(call(start, () -> {
                int taken = 0;
                while (taken != each) {
                    if (!channel.await(queue, 1, DAYS)) {
                        throw new AssertionError("slept beside " + queue.size());
                    }
                    taken += queue.poll(entry -> {}, 64);
                }
                return taken;
            }));
        }
        for (int i = 0; i < each; i++) {
            for (CompletionQueue queue : all) {
                if (!queue.writer().write(0, i, 0, 0, 0)) {
                    throw new AssertionError("full");
                }
            }
        }
        long taken = 0;
        for (FutureTask<Integer> waiter : waiters) {
            taken += waiter.get(90, SECONDS);
        }
        return taken;
    }
}
