package io.cqring.testing;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * Runs a few threads in every order of their memory accesses, up to a number of forced switches: one thread at a time, handed
 * on before an access to a word of {@link SteppedMemory} that matters to another. Sequentially consistent by construction; what processors and JIT may do
 * beyond is for jcstress.
 *
 * <p>A schedule is the list of threads that made each access. Each run follows a prefix and then switches only when a thread
 * ends; its decisions that were free are where later runs branch off.
 */
public final class Interleavings {
    /** One run: made afresh for each schedule. */
    public interface Run {
        /**
         * The memory whose accesses are ordered.
         *
         * @return the memory
         */
        SteppedMemory memory();

        /**
         * What each thread does.
         *
         * @return the bodies
         */
        List<Runnable> bodies();

        /** Checks what has come of it, after all threads have ended. */
        void check();
    }

    /** Makes runs. */
    @FunctionalInterface
    public interface Factory {
        /**
         * Makes a run.
         *
         * @return a fresh one
         */
        Run make();
    }

    /**
     * The words that two threads touch and one stores. A switch before an access to any other word gives what a switch before the
     * thread's next access gives, so there is none. Which they are is learned from the runs; if there is a new one, all begins anew.
     */
    private static final class Words {
        private final Map<Long, Integer> touchedBy = new HashMap<>();
        private final Set<Long> stored = new HashSet<>();
        private Set<Long> shared = Set.of();
        private boolean grown;

        void note(long offset, int thread, boolean stores) {
            int threads = touchedBy.merge(offset, 1 << thread, (a, b) -> a | b);
            if (stores) {
                stored.add(offset);
            }
            grown |= isShared(offset, threads) && !shared.contains(offset);
        }

        private boolean isShared(long offset, int threads) {
            return Integer.bitCount(threads) > 1 && stored.contains(offset);
        }

        boolean decides(long offset) {
            return shared.contains(offset);
        }

        boolean haveGrown() {
            return grown;
        }

        void decideByWhatWasSeen() {
            shared = touchedBy.keySet().stream()
                    .filter(offset -> isShared(offset, touchedBy.get(offset)))
                    .collect(Collectors.toUnmodifiableSet());
            grown = false;
        }
    }

    private final Thread[] threads;
    private final boolean[] ended;
    private final List<Integer> prefix;
    private final List<Integer> chosen = new ArrayList<>();
    private final List<List<Integer>> ready = new ArrayList<>();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    /** Whose turn it is, or -1 before the start and at the end. */
    private volatile int turn = -1;

    private final CountDownLatch allEnded = new CountDownLatch(1);
    private final Thread conductor = Thread.currentThread();

    private final Words words;

    private Interleavings(int count, List<Integer> prefix, Words words) {
        this.threads = new Thread[count];
        this.ended = new boolean[count];
        this.prefix = prefix;
        this.words = words;
    }

    /**
     * Runs every schedule with at most so many switches away from a thread that could have gone on.
     *
     * @param switches the most forced switches
     * @param factory  makes a fresh run
     * @return schedules run
     */
    public static int explore(int switches, Factory factory) {
        Words words = new Words();
        int runs;
        do {
            words.decideByWhatWasSeen();
            runs = exploreAll(switches, factory, words);
        } while (words.haveGrown());
        return runs;
    }

    private static int exploreAll(int switches, Factory factory, Words words) {
        int runs = 0;
        List<List<Integer>> todo = new ArrayList<>();
        todo.add(List.of());
        while (!todo.isEmpty() && !words.haveGrown()) {
            List<Integer> prefix = todo.remove(todo.size() - 1);
            Run run = factory.make();
            Interleavings one = new Interleavings(run.bodies().size(), prefix, words);
            one.play(run);
            runs++;
            try {
                Throwable failed = one.failure.get();
                if (failed != null) {
                    throw new AssertionError("a thread failed", failed);
                }
                run.check();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("schedule " + one.chosen + " (run " + runs + ")", e);
            }
            for (int at = prefix.size(); at < one.chosen.size(); at++) {
                for (int other : one.ready.get(at)) {
                    List<Integer> branch = new ArrayList<>(one.chosen.subList(0, at));
                    branch.add(other);
                    if (other != one.chosen.get(at) && forcedSwitches(branch, one.ready) <= switches) {
                        todo.add(branch);
                    }
                }
            }
        }
        return runs;
    }

    /** Switches away from a thread that could have gone on. */
    private static int forcedSwitches(List<Integer> schedule, List<List<Integer>> ready) {
        int forced = 0;
        for (int at = 1; at < schedule.size(); at++) {
            int before = schedule.get(at - 1);
            if (schedule.get(at) != before && ready.get(at).contains(before)) {
                forced++;
            }
        }
        return forced;
    }

    private void play(Run run) {
        List<Runnable> bodies = run.bodies();
        for (int i = 0; i < threads.length; i++) {
            int self = i;
            threads[i] = new Thread(() -> {
                try {
                    awaitTurn(self);
                    bodies.get(self).run();
                } catch (Throwable e) {
                    failure.compareAndSet(null, e);
                } finally {
                    ended[self] = true;
                    passOn(self);
                    awaitAll(); // whether a thread lives must not depend on time
                }
            });
            threads[i].setDaemon(true);
        }
        run.memory().hook((done, offset, stores) -> {
            Thread self = Thread.currentThread();
            for (int i = 0; i < threads.length && !done; i++) {
                if (threads[i] == self) {
                    words.note(offset, i, stores);
                    if (words.decides(offset)) {
                        passOn(i);
                        awaitTurn(i);
                    }
                }
            }
        });
        for (Thread thread : threads) {
            thread.start();
        }
        passOn(-1);
        for (Thread thread : threads) {
            try {
                thread.join(60_000);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            if (thread.isAlive()) {
                throw new AssertionError("a thread hangs: schedule " + chosen);
            }
        }
        run.memory().unhook();
    }

    /** Decides who makes the next access. By the thread that has the turn. */
    private void passOn(int self) {
        List<Integer> able = new ArrayList<>();
        for (int i = 0; i < threads.length; i++) {
            if (!ended[i]) {
                able.add(i);
            }
        }
        if (able.isEmpty()) {
            allEnded.countDown();
            return;
        }
        int next;
        if (chosen.size() < prefix.size()) {
            next = prefix.get(chosen.size());
        } else {
            next = able.contains(self) ? self : able.get(0);
        }
        if (!able.contains(next)) {
            throw new IllegalStateException("the same schedule went another way: " + prefix);
        }
        chosen.add(next);
        ready.add(able);
        turn = next;
        if (next != self) {
            LockSupport.unpark(threads[next]);
        }
    }

    private void awaitAll() {
        try {
            allEnded.await();
        } catch (InterruptedException e) {
            failure.compareAndSet(null, e);
        }
    }

    private void awaitTurn(int self) {
        while (turn != self) {
            LockSupport.park(conductor);
        }
    }
}
