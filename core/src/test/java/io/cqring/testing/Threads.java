package io.cqring.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Runs a few threads to their end and passes on the first failure. Nothing in a test depends on time: the deadline only
 * turns a hang into a failure.
 */
public final class Threads {
    private static final long DEADLINE_NS = 180_000_000_000L;

    private Threads() {}

    /** What one thread does. */
    @FunctionalInterface
    public interface Body {
        /**
         * Runs on a thread of its own.
         *
         * @param spin to be called while waiting for another thread
         * @throws Exception any failure
         */
        void run(Spin spin) throws Exception;
    }

    /** Waiting: gives the core away now and then, ends when another thread has failed or time is up. */
    public static final class Spin {
        private final AtomicReference<Throwable> failure;
        private final long startNs = System.nanoTime();
        private int count;

        Spin(AtomicReference<Throwable> failure) {
            this.failure = failure;
        }

        /** One turn of a waiting loop. */
        @SuppressWarnings("ThreadPriorityCheck") // two threads on a busy two-core machine get nowhere without yield
        public void once() {
            Thread.onSpinWait();
            if ((++count & 0x3F) == 0) {
                Thread.yield();
                if (failure.get() != null) {
                    throw new IllegalStateException("another thread failed");
                }
                if (System.nanoTime() - startNs > DEADLINE_NS) {
                    throw new AssertionError("nothing moves");
                }
            }
        }
    }

    /**
     * Runs each body on its own thread and waits for all.
     *
     * @param bodies what to run
     */
    public static void run(Body... bodies) {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (Body body : bodies) {
            Thread thread = new Thread(() -> {
                try {
                    body.run(new Spin(failure));
                } catch (Throwable e) {
                    failure.compareAndSet(null, e);
                }
            });
            thread.setDaemon(true);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
        try {
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (InterruptedException e) {
            failure.compareAndSet(null, e);
            Thread.currentThread().interrupt();
        }
        Throwable first = failure.get();
        if (first instanceof Error error) {
            throw error;
        }
        if (first != null) {
            throw new AssertionError(first);
        }
    }
}
