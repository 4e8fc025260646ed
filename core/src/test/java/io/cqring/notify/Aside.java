package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A call on a thread of its own, which may wait: what came of it, and whether it waits. */
final class Aside<T> {
    /** Turns a hang into a failure, nothing else. */
    static final long DEADLINE_S = 60;

    private final FutureTask<T> task;
    final Thread thread;

    private Aside(Callable<T> call) {
        task = new FutureTask<>(call);
        thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
    }

    static <T> Aside<T> call(Callable<T> call) {
        return new Aside<>(call);
    }

    /** Returns once the thread waits: in the call, if it can wait nowhere else. */
    @SuppressWarnings("ThreadPriorityCheck") // one core
    Aside<T> untilItWaits() {
        long start = System.nanoTime();
        while (thread.getState() != Thread.State.TIMED_WAITING && thread.getState() != Thread.State.WAITING) {
            if (!thread.isAlive() || System.nanoTime() - start > DEADLINE_S * 1_000_000_000) {
                throw new AssertionError("does not wait: " + thread.getState() + " " + task);
            }
            Thread.yield();
        }
        return this;
    }

    /** Returns once the thread has begun; where it is then, nobody knows. */
    Aside<T> untilItRuns() {
        while (thread.getState() == Thread.State.NEW) {
            Thread.onSpinWait();
        }
        return this;
    }

    T result() throws Exception {
        try {
            return task.get(DEADLINE_S, TimeUnit.SECONDS);
        } catch (TimeoutException hang) {
            AssertionError error = new AssertionError("still waits");
            error.setStackTrace(thread.getStackTrace());
            throw error;
        }
    }

    <E extends Throwable> E failure(Class<E> type) {
        return assertThrows(type, () -> {
            try {
                result();
            } catch (ExecutionException e) {
                throw e.getCause();
            }
        });
    }
}
