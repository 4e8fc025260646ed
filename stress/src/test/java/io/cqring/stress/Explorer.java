package io.cqring.stress;

import io.cqring.memory.QueueMemory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Runs a few threads in every order of what they do to each other, up to a number of deviations, depth first. One thread runs at a
 * time, real threads of the JVM that hand the turn on; {@link HookedClasses} makes the shipped classes call this class wherever they
 * touch shared memory, a lock, the clock, or park.
 *
 * <p><b>A switch may come</b> before each access to a word of a {@link QueueMemory} that two threads touch and one stores, before a lock
 * is taken, before a thread parks, wakes or interrupts another, and before an access to a plain field named in {@link HookedClasses}, and before
 * stores that were held back are seen; and must come where a thread blocks or ends.
 *
 * <p><b>A deviation</b> is a switch away from a thread that could go on, a time-out that comes although somebody can run, or a store that
 * is held back. The schedules without any are those in which a thread runs until it blocks; who then goes on is tried in all ways.
 *
 * <p><b>Stores that are held back</b> are what a processor's store buffer does (TSO, x86): a store may be seen by others only when its
 * thread comes to a fence, a compare-and-set, a get-and-add, a lock or the end; what it stores later waits behind it, and it sees its
 * own. So a full fence that is missing between a store and a load shows. A load that comes too early for another reason does not.
 *
 * <p><b>Time</b> stands still while anybody can run. It goes on for a thread that is parked for less than {@link #LONG_NS}, and then to the
 * end of its wait, as for one that waits for a condition: that thread may run out of time at any moment. One that waits longer has to be woken: if all that are left do so, they
 * are asleep for good, and the run has failed. With {@link #exploreInTime} no thread runs out of time before another that has less left, so
 * that things happen at the instants that a timetable says.
 */
public final class Explorer {
    /** Whoever parks for longer is not to time out. */
    public static final long LONG_NS = TimeUnit.HOURS.toNanos(1);

    /** The conditions that hooked classes have made, with their locks. */
    private static final Map<Condition, ReentrantLock> CONDITIONS = new WeakHashMap<>();

    private static final long START_NS = 1_000_000_000L;

    /** More points than any run has: something loops. */
    private static final int MOST_POINTS = 20_000;

    /** One run: made afresh for each schedule. */
    public interface Run {
        /**
         * What each thread does.
         *
         * @return the bodies
         */
        List<Runnable> bodies();

        /** Checks what has come of it, after all threads have ended. Not under any schedule. */
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

    /** Ends a thread of a run that has failed. */
    private static final class Abandoned extends Error {
        private static final long serialVersionUID = 1L;

        Abandoned() {
            super("run abandoned", null, false, false);
        }
    }

    private static final class Store {
        final QueueMemory memory;
        final long offset;
        final long value;

        Store(QueueMemory memory, long offset, long value) {
            this.memory = memory;
            this.offset = offset;
            this.value = value;
        }
    }

    /** A thread that takes part, run after run. */
    private static final class Worker extends Thread {
        final Explorer explorer;
        final int number;
        final ArrayDeque<Store> heldBack = new ArrayDeque<>();

        /** Its turn. */
        volatile boolean turn;

        Runnable body;
        boolean ended = true;
        boolean parked;
        boolean permit;
        boolean interrupted;

        /** What it waits for with the lock released, and whether that has been signalled. */
        Condition awaited;

        boolean signalled;
        long deadlineNs;
        ReentrantLock wanted;

        Worker(Explorer explorer, int number) {
            super("explored-" + number);
            this.explorer = explorer;
            this.number = number;
            setDaemon(true);
        }

        void begin(Runnable what) {
            body = what;
            ended = false;
            parked = false;
            permit = false;
            interrupted = false;
            awaited = null;
            wanted = null;
            heldBack.clear();
        }

        @Override
        public void run() {
            while (true) {
                awaitTurn();
                try {
                    body.run();
                    explorer.drain(this);
                } catch (Abandoned e) {
                    heldBack.clear();
                } catch (Throwable e) {
                    explorer.fail(this + " threw", e);
                    heldBack.clear();
                }
                ended = true;
                explorer.next(null);
            }
        }

        void awaitTurn() {
            while (!turn) {
                LockSupport.park(this);
            }
            turn = false;
        }

        boolean canRun() {
            return !ended
                    && (wanted == null || !explorer.owners.containsKey(wanted))
                    && (!parked || permit || interrupted)
                    && (awaited == null || signalled || interrupted);
        }

        boolean mayTimeOut() {
            return !canRun() && !ended && (parked || awaited != null) && deadlineNs - explorer.nowNs < LONG_NS;
        }

        @Override
        public String toString() {
            return getName()
                    + (ended
                            ? " (ended)"
                            : parked
                                    ? " (parked)"
                                    : awaited != null ? " (waits)" : wanted != null ? " (wants a lock)" : "");
        }
    }

    /** Where there was a choice: what could be chosen, the deviations each costs, and which is being tried. */
    private static final class Choice {
        final int[] options;
        final int[] costs;
        final int deviations;
        int at;

        Choice(int[] options, int[] costs, int deviations) {
            this.options = options;
            this.costs = costs;
            this.deviations = deviations;
        }
    }

    private final int most;
    private final boolean storesAreHeldBack;
    private final boolean inTime;
    private final List<Worker> workers = new ArrayList<>();
    private final Thread conductor = Thread.currentThread();

    /** Of this run: locks by owner, and memories by the order in which they were first touched. */
    private final IdentityHashMap<ReentrantLock, Worker> owners = new IdentityHashMap<>();

    private final List<Choice> choices = new ArrayList<>();
    private final IdentityHashMap<QueueMemory, Integer> memories = new IdentityHashMap<>();

    /** Words, by memory and offset: who has touched it, a bit each, and whether somebody stored, in any run so far. */
    private final Map<Long, Integer> touched = new HashMap<>();

    private boolean sharedWordsGrew;
    private int step;
    private int points;
    private int deviations;
    private long nowNs;
    private boolean abandoned;
    private Throwable failure;
    private volatile boolean over;

    private Explorer(int most, boolean storesAreHeldBack, boolean inTime) {
        this.most = most;
        this.storesAreHeldBack = storesAreHeldBack;
        this.inTime = inTime;
    }

    /**
     * Runs every schedule with at most so many deviations.
     *
     * @param most              the most deviations of a schedule
     * @param storesAreHeldBack whether stores may be held back
     * @param factory           makes a fresh run
     * @return schedules run
     * @throws AssertionError if a run fails
     */
    public static int explore(int most, boolean storesAreHeldBack, Factory factory) {
        return new Explorer(most, storesAreHeldBack, false).explore(factory);
    }

    /**
     * Runs every schedule without a deviation in which nobody runs out of time too early.
     *
     * @param factory makes a fresh run
     * @return schedules run
     * @throws AssertionError if a run fails
     */
    public static int exploreInTime(Factory factory) {
        return new Explorer(0, false, true).explore(factory);
    }

    private int explore(Factory factory) {
        int runs = 0;
        boolean more = true;
        while (more) {
            play(factory.make(), ++runs);
            if (sharedWordsGrew) { // there were too few points: from the start
                sharedWordsGrew = false;
                choices.clear();
            } else {
                more = advance();
            }
        }
        return runs;
    }

    /** To the next schedule. False if there is none. */
    private boolean advance() {
        while (!choices.isEmpty()) {
            Choice last = choices.get(choices.size() - 1);
            while (++last.at < last.options.length) {
                if (last.deviations + last.costs[last.at] <= most) {
                    return true;
                }
            }
            choices.remove(choices.size() - 1);
        }
        return false;
    }

    private void play(Run run, int number) {
        List<Runnable> bodies = run.bodies();
        while (workers.size() < bodies.size()) {
            Worker worker = new Worker(this, workers.size());
            workers.add(worker);
            worker.start();
        }
        owners.clear();
        memories.clear();
        step = 0;
        points = 0;
        deviations = 0;
        nowNs = START_NS;
        abandoned = false;
        failure = null;
        over = false;
        for (int i = 0; i != bodies.size(); i++) {
            workers.get(i).begin(bodies.get(i));
        }
        next(null);
        while (!over) {
            LockSupport.park(this);
        }
        try {
            if (failure != null) {
                throw failure;
            }
            run.check();
        } catch (Throwable e) {
            throw new AssertionError("run " + number + ", choices " + chosen() + ": " + e.getMessage(), e);
        }
    }

    private String chosen() {
        return choices.stream()
                .map(choice -> String.valueOf(choice.options[choice.at]))
                .toList()
                .toString();
    }

    private void fail(String what, Throwable cause) {
        if (failure == null) {
            failure = cause == null ? new AssertionError(what) : new AssertionError(what + ": " + cause, cause);
        }
        abandoned = true;
    }

    // ---- Choosing. All of this is done by the thread that has the turn.

    /** One of several options; the first costs nothing. */
    private int choose(int[] options, int[] costs) {
        if (options.length == 1) {
            return options[0];
        }
        if (step == choices.size()) {
            choices.add(new Choice(options, costs, deviations));
        }
        Choice choice = choices.get(step++);
        if (!Arrays.equals(choice.options, options)) {
            throw new IllegalStateException("the same schedule went another way: " + chosen());
        }
        deviations += choice.costs[choice.at];
        return choice.options[choice.at];
    }

    /** Hands the turn on; to whom, is a choice. Returns when it has come back to {@code self}, if that is somebody. */
    private void next(Worker self) {
        boolean goesOn = self != null && self.canRun();
        List<Worker> able = new ArrayList<>();
        if (goesOn) {
            able.add(self);
        }
        for (Worker worker : workers) {
            if (worker != self && (abandoned ? !worker.ended : worker.canRun())) {
                able.add(worker);
            }
        }
        int awake = able.size();
        for (Worker worker : workers) {
            if (!abandoned && worker.mayTimeOut() && (!inTime || (awake == 0 && isFirst(worker)))) {
                able.add(worker);
            }
        }
        if (able.isEmpty()) {
            if (workers.stream().allMatch(worker -> worker.ended)) {
                over = true;
                LockSupport.unpark(conductor);
                return;
            }
            fail("asleep for good: " + workers, null);
            next(null);
            if (self != null && !self.ended) {
                self.awaitTurn();
            }
            return;
        }
        Worker chosen = able.get(0);
        if (!abandoned) {
            int[] options = able.stream().mapToInt(worker -> worker.number).toArray();
            int[] costs = new int[options.length];
            for (int i = 1; i != costs.length; i++) {
                costs[i] = goesOn || (i >= awake && awake != 0) ? 1 : 0;
            }
            chosen = workers.get(choose(options, costs));
        }
        if (chosen == self) {
            return;
        }
        chosen.turn = true;
        LockSupport.unpark(chosen);
        if (self != null) {
            self.awaitTurn();
        }
    }

    private boolean isFirst(Worker self) {
        return workers.stream().noneMatch(other -> other.mayTimeOut() && other.deadlineNs < self.deadlineNs);
    }

    private void point(Worker self) {
        if (abandoned) {
            throw new Abandoned();
        }
        if (++points > MOST_POINTS) {
            fail("a run without end: " + workers, null);
            throw new Abandoned();
        }
        next(self);
        if (abandoned) {
            throw new Abandoned();
        }
    }

    /** Lets the others go on until this thread can. */
    private void block(Worker self) {
        next(self);
        if (abandoned) {
            throw new Abandoned();
        }
    }

    // ---- Memory

    /** A point, if another thread touches this word too, and one of them stores. */
    private void access(Worker self, QueueMemory memory, long offset, boolean stores) {
        int number = memories.computeIfAbsent(memory, any -> memories.size());
        int bits = 1 << self.number | (stores ? Integer.MIN_VALUE : 0);
        int before = touched.getOrDefault((long) number << 32 | offset, 0);
        int after = before | bits;
        if (after != before) {
            touched.put((long) number << 32 | offset, after);
            sharedWordsGrew |= isShared(after) && !isShared(before);
        }
        if (isShared(before)) {
            point(self);
        }
    }

    private static boolean isShared(int bits) {
        return bits < 0 && Integer.bitCount(bits & Integer.MAX_VALUE) > 1;
    }

    private long load(Worker self, QueueMemory memory, long offset) {
        access(self, memory, offset, false);
        Store seen = null;
        for (Store store : self.heldBack) {
            seen = store.memory == memory && store.offset == offset ? store : seen;
        }
        return seen == null ? memory.getLongAcquire(offset) : seen.value;
    }

    private void store(Worker self, QueueMemory memory, long offset, long value) {
        access(self, memory, offset, true);
        boolean waits = !self.heldBack.isEmpty();
        if (storesAreHeldBack && !waits && isShared(touched.get((long) memories.get(memory) << 32 | offset))) {
            waits = choose(new int[] {0, 1}, new int[] {0, 1}) == 1;
        }
        if (waits) {
            self.heldBack.add(new Store(memory, offset, value));
        } else {
            memory.putLongRelease(offset, value);
        }
    }

    /** Lets the others see what was held back. A point, for until now they may do much. */
    private void drain(Worker self) {
        if (!self.heldBack.isEmpty()) {
            point(self);
        }
        while (!self.heldBack.isEmpty()) {
            Store store = self.heldBack.remove();
            store.memory.putLongRelease(store.offset, store.value);
        }
    }

    private static Worker self() {
        return Thread.currentThread() instanceof Worker worker ? worker : null;
    }

    public static long getLong(QueueMemory memory, long offset) {
        Worker self = self();
        return self == null ? memory.getLong(offset) : self.explorer.load(self, memory, offset);
    }

    public static long getLongOpaque(QueueMemory memory, long offset) {
        return getLong(memory, offset);
    }

    public static long getLongAcquire(QueueMemory memory, long offset) {
        return getLong(memory, offset);
    }

    public static void putLong(QueueMemory memory, long offset, long value) {
        Worker self = self();
        if (self == null) {
            memory.putLong(offset, value);
        } else {
            self.explorer.store(self, memory, offset, value);
        }
    }

    public static void putLongOpaque(QueueMemory memory, long offset, long value) {
        putLong(memory, offset, value);
    }

    public static void putLongRelease(QueueMemory memory, long offset, long value) {
        putLong(memory, offset, value);
    }

    private static void atomic(QueueMemory memory, long offset) {
        Worker self = self();
        if (self != null) {
            self.explorer.access(self, memory, offset, true);
            self.explorer.drain(self);
        }
    }

    public static boolean compareAndSetLong(QueueMemory memory, long offset, long expected, long value) {
        atomic(memory, offset);
        return memory.compareAndSetLong(offset, expected, value);
    }

    public static long compareAndExchangeLong(QueueMemory memory, long offset, long expected, long value) {
        atomic(memory, offset);
        return memory.compareAndExchangeLong(offset, expected, value);
    }

    public static long getAndAddLong(QueueMemory memory, long offset, long delta) {
        atomic(memory, offset);
        return memory.getAndAddLong(offset, delta);
    }

    public static void fullFence(QueueMemory memory) {
        Worker self = self();
        if (self == null) {
            memory.fullFence();
        } else {
            self.explorer.drain(self);
        }
    }

    // ---- Locks, parking, time

    /**
     * Instead of {@link LockSupport#park(Object)}: never runs out of time.
     *
     * @param blocker what is waited for
     */
    public static void park(Object blocker) {
        parkNanos(blocker, Long.MAX_VALUE / 2);
    }

    /** Before an access to a plain field that threads share. */
    public static void field() {
        Worker self = self();
        if (self != null) {
            self.explorer.point(self);
        }
    }

    public static void lock(ReentrantLock lock) {
        Worker self = self();
        if (self == null) {
            lock.lock();
            return;
        }
        Explorer explorer = self.explorer;
        explorer.point(self);
        explorer.drain(self);
        if (explorer.owners.get(lock) == self) {
            throw new IllegalStateException("a lock is taken twice");
        }
        self.wanted = lock;
        while (explorer.owners.containsKey(lock)) {
            explorer.block(self);
        }
        self.wanted = null;
        explorer.owners.put(lock, self);
    }

    public static void unlock(ReentrantLock lock) {
        Worker self = self();
        if (self == null) {
            lock.unlock();
            return;
        }
        if (self.explorer.abandoned) {
            throw new Abandoned();
        }
        self.explorer.drain(self);
        if (self.explorer.owners.remove(lock) != self) {
            throw new IllegalMonitorStateException();
        }
    }

    public static Condition newCondition(ReentrantLock lock) {
        Condition condition = lock.newCondition();
        synchronized (CONDITIONS) {
            CONDITIONS.put(condition, lock);
        }
        return condition;
    }

    private static ReentrantLock lockOf(Condition condition) {
        synchronized (CONDITIONS) {
            return CONDITIONS.get(condition);
        }
    }

    @SuppressWarnings("WaitNotInLoop") // the loop is that of who calls it
    public static long awaitNanos(Condition condition, long nanos) throws InterruptedException {
        Worker self = self();
        if (self == null) {
            return condition.awaitNanos(nanos);
        }
        Explorer explorer = self.explorer;
        ReentrantLock lock = lockOf(condition);
        explorer.drain(self);
        if (explorer.owners.get(lock) != self) {
            throw new IllegalMonitorStateException();
        }
        long start = explorer.nowNs;
        self.deadlineNs = start + nanos;
        self.signalled = false;
        self.awaited = condition;
        explorer.owners.remove(lock);
        explorer.block(self);
        self.awaited = null;
        if (!self.signalled && !self.interrupted) {
            explorer.nowNs = Math.max(explorer.nowNs, self.deadlineNs);
        }
        self.wanted = lock;
        while (explorer.owners.containsKey(lock)) {
            explorer.block(self);
        }
        self.wanted = null;
        explorer.owners.put(lock, self);
        if (!self.signalled && interrupted()) {
            throw new InterruptedException();
        }
        return nanos - (explorer.nowNs - start);
    }

    /**
     * For twins: waits as one that has looked before it took the lock. Others may change what it saw in between, and signal nobody.
     *
     * @param condition what for
     * @param nanos     how long
     * @return as {@link #awaitNanos}
     * @throws InterruptedException as {@link #awaitNanos}
     */
    public static long awaitNanosTooLate(Condition condition, long nanos) throws InterruptedException {
        final ReentrantLock lock = lockOf(condition);
        unlock(lock);
        lock(lock);
        return awaitNanos(condition, nanos);
    }

    public static void signalAll(Condition condition) {
        Worker self = self();
        if (self == null) {
            condition.signalAll();
            return;
        }
        if (self.explorer.owners.get(lockOf(condition)) != self) {
            throw new IllegalMonitorStateException();
        }
        for (Worker worker : self.explorer.workers) {
            worker.signalled |= worker.awaited == condition;
        }
    }

    public static void interrupt(Thread thread) {
        Worker self = self();
        if (self == null) {
            thread.interrupt();
            return;
        }
        self.explorer.point(self);
        if (thread instanceof Worker worker) {
            worker.interrupted = true;
        }
    }

    public static boolean interrupted() {
        Worker self = self();
        if (self == null) {
            return Thread.interrupted();
        }
        boolean was = self.interrupted;
        self.interrupted = false;
        return was;
    }

    public static void parkNanos(Object blocker, long nanos) {
        Worker self = self();
        if (self == null) {
            LockSupport.parkNanos(blocker, nanos);
            return;
        }
        Explorer explorer = self.explorer;
        explorer.point(self);
        explorer.drain(self);
        if (!self.permit && !self.interrupted) {
            self.deadlineNs = explorer.nowNs + nanos;
            self.parked = true;
            explorer.block(self);
            self.parked = false;
            if (!self.permit && !self.interrupted) {
                explorer.nowNs = Math.max(explorer.nowNs, self.deadlineNs);
            }
        }
        self.permit = false;
    }

    public static void parkNanos(long nanos) {
        parkNanos(null, nanos);
    }

    public static void unpark(Thread thread) {
        Worker self = self();
        if (self == null) {
            LockSupport.unpark(thread);
            return;
        }
        self.explorer.point(self);
        self.explorer.drain(self);
        if (thread instanceof Worker worker) {
            worker.permit = true;
        }
    }

    public static long nanoTime() {
        Worker self = self();
        return self == null ? System.nanoTime() : self.explorer.nowNs;
    }
}
