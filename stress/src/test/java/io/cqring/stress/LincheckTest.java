package io.cqring.stress;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionEntry;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.OverrunPolicy;
import io.cqring.cq.SharedWriter;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jetbrains.kotlinx.lincheck.Actor;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

/**
 * Queues with many writers or many pollers, judged by Lincheck: it runs a scenario again and again, each time with other
 * switches between the threads, and says whether what the calls returned is what a plain queue returns, the calls done one by one
 * in some order that agrees with real time (linearizability). The plain queues are {@link Fifo} and {@link ClaimedFifo}.
 *
 * <p><b>What is shown</b>, for the scenarios below and for as many schedules of each as {@link #SCHEDULES} says (fewest switches
 * first, not all that there are):
 *
 * <ul>
 *   <li>Many writers with one poller, and with many: a bounded first-in, first-out queue, full and empty answers included,
 *       <em>if a poll that finds nothing is made again while something is claimed</em> ({@link #isClaimed}). A bare poll is
 *       weaker by design: it says "nothing" also while an older claim is open and a younger one has been published.
 *   <li>The same with claims as steps of their own, committed or abandoned: then a bare poll is exact. Not when full: an
 *       abandoned entry takes up its slot until it is passed over, so the ring of these scenarios has room for all.
 *   <li>One writer with many pollers: a bare poll is exact, in a ring that holds more than the scenario takes. In a smaller one
 *       it may say "nothing" once others have taken a whole ring during the call, as it promises; with one such poller, never.
 *   <li>Where {@code checkObstructionFreedom} is asked for, no call waits for another thread.
 * </ul>
 *
 * <p><b>What is not:</b> Lincheck runs one thread at a time and keeps every store in program order (sequential consistency), and
 * {@link HeapMemory} orders every access. That an acquire or a release is there, and is needed, is shown by jcstress.
 */
class LincheckTest {
    private static final int SCHEDULES = 200;
    private static final int STRIDE_BYTES = 32;
    private static final int CAPACITY = 2;

    /** More than any scenario claims or takes. */
    private static final int AMPLE = 8;

    /** Threads of a race, from 1. What comes before it and after it is done by the first. */
    private static final int THREADS = 4;

    private static HeapMemory memory(int capacity, int writers) {
        return new HeapMemory(CompletionQueue.requiredBytes(capacity, STRIDE_BYTES, writers));
    }

    private static HeapMemory testThenSet(int word, int capacity, int writers) {
        return new HeapMemory.TestThenSet(CompletionQueue.requiredBytes(capacity, STRIDE_BYTES, writers), word);
    }

    /** Numbers of entries: which thread wrote it, and how many it had tried to write before. */
    private static final class Numbers {
        private final int[] tried = new int[THREADS + 1];

        int next(int thread) {
            return 10 * thread + ++tried[thread];
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Numbers numbers && Arrays.equals(tried, numbers.tried);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(tried);
        }
    }

    /** The number of an entry; negative if not all its words are its own. */
    private static int number(Completion completion) {
        int number = completion.wqeCounter();
        boolean whole = completion.qpNumber() == number
                && completion.workRequestId() == Entry.workRequestId(number)
                && completion.byteCount() == number
                && completion.sourceQp() == number;
        return whole ? number : -number;
    }

    private static CompletionQueue.Builder queue(HeapMemory memory, int capacity) {
        return CompletionQueue.ofCapacity(capacity)
                .strideBytes(STRIDE_BYTES)
                .overrunPolicy(OverrunPolicy.BACKPRESSURE)
                .memory(memory);
    }

    /** Whether something is claimed and not consumed. The consumer sequence first: it only goes up. */
    private static boolean isClaimed(CompletionQueue queue) {
        return queue.consumerSequence() != queue.producerSequence();
    }

    /** The writers of many threads. */
    private static final class Writers {
        private final Numbers numbers = new Numbers();
        private final SharedWriter[] writers = new SharedWriter[THREADS + 1];

        Writers(CompletionQueue queue, int count) {
            for (int thread = 1; thread <= count; thread++) {
                writers[thread] = queue.newWriter();
            }
        }

        boolean write(int thread) {
            int number = numbers.next(thread);
            return writers[thread].write(
                    Entry.header(number), Entry.workRequestId(number), Entry.length(number), Entry.detail(number), 0);
        }

        boolean claim(int thread, int count) {
            boolean claimed = writers[thread].claim(count);
            for (int i = 0; i != count; i++) {
                int number = numbers.next(thread);
                if (claimed) {
                    CompletionEntry entry = writers[thread].entry(i);
                    entry.header(Entry.header(number))
                            .workRequestId(Entry.workRequestId(number))
                            .length(Entry.length(number))
                            .detail(Entry.detail(number));
                }
            }
            return claimed;
        }

        void commit(int thread, int count) {
            writers[thread].commit(count);
        }

        int abandon(int thread) {
            return writers[thread].abandon();
        }
    }

    /** The pollers of many threads. */
    private static final class Pollers {
        private final CompletionPoller[] pollers = new CompletionPoller[THREADS + 1];

        Pollers(CompletionQueue queue, int count) {
            for (int thread = 1; thread <= count; thread++) {
                pollers[thread] = queue.newPoller(1);
            }
        }

        int poll(int thread) {
            int[] got = {0};
            pollers[thread].poll(completion -> got[0] = number(completion), 1);
            return got[0];
        }
    }

    private static int pollOnly(CompletionQueue queue) {
        int[] got = {0};
        queue.poll(completion -> got[0] = number(completion), 1);
        queue.releasePoller();
        return got[0];
    }

    /** A plain queue with a bound, and with claims that are written at once. */
    public static class Fifo {
        private final Numbers numbers = new Numbers();
        private final List<Integer> entries = new ArrayList<>();

        int bound() {
            return CAPACITY;
        }

        public boolean write(int thread) {
            int number = numbers.next(thread);
            return entries.size() != bound() && entries.add(number);
        }

        public boolean writeTwo(int thread) {
            List<Integer> two = List.of(numbers.next(thread), numbers.next(thread));
            return entries.size() + 2 <= bound() && entries.addAll(two);
        }

        public int poll() {
            return entries.isEmpty() ? 0 : entries.remove(0);
        }

        public int poll(int thread) {
            return poll();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Fifo fifo && numbers.equals(fifo.numbers) && entries.equals(fifo.entries);
        }

        @Override
        public int hashCode() {
            return Objects.hash(numbers, entries);
        }
    }

    /** A plain queue with more room. */
    public static class AmpleFifo extends Fifo {
        @Override
        int bound() {
            return AMPLE;
        }
    }

    /** A plain queue of claims: the oldest holds up the others until it is committed; abandoned ones vanish. */
    public static class ClaimedFifo {
        private final Numbers numbers = new Numbers();
        private final int[] open = new int[THREADS + 1];
        private final List<Integer> claims = new ArrayList<>();

        public boolean claim(int thread) {
            open[thread] = numbers.next(thread);
            return claims.add(open[thread]);
        }

        public void commit(int thread) {
            open[thread] = 0;
        }

        public int abandon(int thread) {
            claims.remove((Integer) open[thread]);
            open[thread] = 0;
            return 1;
        }

        public int poll() {
            boolean ready = !claims.isEmpty() && Arrays.stream(open).noneMatch(number -> number == claims.get(0));
            return ready ? claims.remove(0) : 0;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof ClaimedFifo fifo
                    && numbers.equals(fifo.numbers)
                    && Arrays.equals(open, fifo.open)
                    && claims.equals(fifo.claims);
        }

        @Override
        public int hashCode() {
            return Objects.hash(numbers, Arrays.hashCode(open), claims);
        }
    }

    /** Many writers, one poller that waits while something is claimed. */
    public static class ManyWriters {
        private final CompletionQueue queue;
        private final Writers writers;

        /** The shipped classes. */
        public ManyWriters() {
            this(memory(CAPACITY, 3));
        }

        ManyWriters(HeapMemory memory) {
            queue = queue(memory, CAPACITY).writers(3).create();
            writers = new Writers(queue, 3);
        }

        @Operation
        public boolean write(int thread) {
            return writers.write(thread);
        }

        @Operation
        public boolean writeTwo(int thread) {
            if (!writers.claim(thread, 2)) {
                return false;
            }
            writers.commit(thread, 2);
            return true;
        }

        final int pollOnce() {
            return pollOnly(queue);
        }

        @Operation
        public int poll() {
            int got;
            do {
                got = pollOnce();
            } while (got == 0 && isClaimed(queue));
            return got;
        }
    }

    /** Known bad: claims are tested, then set. */
    public static class TwinManyWriters extends ManyWriters {
        /** The shipped classes over a memory that breaks its promise. */
        public TwinManyWriters() {
            super(testThenSet(Region.PRODUCER_SEQUENCE, CAPACITY, 3));
        }
    }

    /** No queue: a poll that does not wait says "nothing" although a younger entry has been published. */
    public static class TwinBarePoll extends ManyWriters {
        /** The shipped classes. */
        public TwinBarePoll() {}

        @Override
        public int poll() {
            return pollOnce();
        }
    }

    /** Many writers that hold claims open, one poller that does not wait. */
    public static class OpenClaims {
        private final CompletionQueue queue;
        private final Writers writers;

        /** The shipped classes. */
        public OpenClaims() {
            this(memory(AMPLE, 3));
        }

        OpenClaims(HeapMemory memory) {
            queue = queue(memory, AMPLE).writers(3).create();
            writers = new Writers(queue, 3);
        }

        @Operation
        public boolean claim(int thread) {
            return writers.claim(thread, 1);
        }

        @Operation
        public void commit(int thread) {
            writers.commit(thread, 1);
        }

        @Operation
        public int abandon(int thread) {
            return writers.abandon(thread);
        }

        @Operation
        public int poll() {
            return pollOnly(queue);
        }
    }

    /** Known bad: claims and give-backs are tested, then set. */
    public static class TwinOpenClaims extends OpenClaims {
        /** The shipped classes over a memory that breaks its promise. */
        public TwinOpenClaims() {
            super(testThenSet(Region.PRODUCER_SEQUENCE, AMPLE, 3));
        }
    }

    /** One writer, many pollers that do not wait. */
    public static class ManyPollers {
        private final Numbers numbers = new Numbers();
        private final CompletionWriter writer;
        private final Pollers pollers;

        /** The shipped classes. */
        public ManyPollers() {
            this(memory(AMPLE, 1), AMPLE);
        }

        ManyPollers(HeapMemory memory, int capacity) {
            CompletionQueue queue = queue(memory, capacity).sharedPollers().create();
            writer = queue.writer();
            pollers = new Pollers(queue, 3);
        }

        @Operation
        public boolean write(int thread) {
            boolean written = Entry.write(writer, numbers.next(thread), STRIDE_BYTES);
            writer.release();
            return written;
        }

        @Operation
        public int poll(int thread) {
            return pollers.poll(thread);
        }
    }

    /** Known bad: the consumer sequence is compared, then stored. */
    public static class TwinCompareThenStore extends ManyPollers {
        /** The shipped classes over a memory that breaks its promise. */
        public TwinCompareThenStore() {
            super(testThenSet(Region.CONSUMER_SEQUENCE, AMPLE, 1), AMPLE);
        }
    }

    /** A ring that is soon full: what is copied too late is overwritten. */
    public static class ManyPollersFull extends ManyPollers {
        /** The shipped classes. */
        public ManyPollersFull() {
            this(memory(CAPACITY, 1));
        }

        ManyPollersFull(HeapMemory memory) {
            super(memory, CAPACITY);
        }
    }

    /** Known bad: entries are claimed before they are copied. */
    public static class TwinClaimFirst extends ManyPollersFull {
        /** The shipped classes over a memory that breaks its promise. */
        public TwinClaimFirst() {
            super(new HeapMemory.ClaimFirst(
                    CompletionQueue.requiredBytes(CAPACITY, STRIDE_BYTES, 1), CAPACITY, STRIDE_BYTES));
        }
    }

    /** Many writers, many pollers that wait while something is claimed. */
    public static class ManyOfBoth {
        private final CompletionQueue queue;
        private final Writers writers;
        private final Pollers pollers;

        /** The shipped classes. */
        public ManyOfBoth() {
            this(memory(CAPACITY, 2));
        }

        ManyOfBoth(HeapMemory memory) {
            queue = queue(memory, CAPACITY).writers(2).sharedPollers().create();
            writers = new Writers(queue, 2);
            pollers = new Pollers(queue, THREADS);
        }

        @Operation
        public boolean write(int thread) {
            return writers.write(thread);
        }

        @Operation
        public int poll(int thread) {
            int got;
            do {
                got = pollers.poll(thread);
            } while (got == 0 && isClaimed(queue));
            return got;
        }
    }

    /** Known bad: claims are tested, then set. */
    public static class TwinBothClaim extends ManyOfBoth {
        /** The shipped classes over a memory that breaks its promise. */
        public TwinBothClaim() {
            super(testThenSet(Region.PRODUCER_SEQUENCE, CAPACITY, 2));
        }
    }

    /** Known bad: the consumer sequence is compared, then stored. */
    public static class TwinBothTake extends ManyOfBoth {
        /** The shipped classes over a memory that breaks its promise. */
        public TwinBothTake() {
            super(testThenSet(Region.CONSUMER_SEQUENCE, CAPACITY, 2));
        }
    }

    /** Scenarios: calls before the race | of thread 1 | of thread 2 ... | after the race, by name. */
    private static ModelCheckingOptions options(Class<?> shape, Class<?> plainQueue, String... scenarios) {
        ModelCheckingOptions options = new ModelCheckingOptions()
                .iterations(0) // no scenario but ours
                .invocationsPerIteration(SCHEDULES)
                .minimizeFailedScenario(false)
                .sequentialSpecification(plainQueue)
                // A poller's copies lie in real memory of its own. No other thread reaches it: nothing to explore.
                .addGuarantee(ManagedStrategyGuaranteeKt.forClasses("io.cqring.memory.DirectMemory")
                        .allMethods()
                        .ignore())
                // Nor is there while a queue is being made, before the race.
                .addGuarantee(ManagedStrategyGuaranteeKt.forClasses("io.cqring.cq.CompletionQueue$Builder")
                        .allMethods()
                        .ignore());
        for (String scenario : scenarios) {
            List<List<Actor>> parts = new ArrayList<>();
            String[] calls = scenario.split("\\|", -1);
            for (int part = 0; part != calls.length; part++) {
                int thread = part == 0 || part == calls.length - 1 ? 1 : part;
                parts.add(Arrays.stream(calls[part].trim().split(" "))
                        .filter(name -> !name.isEmpty())
                        .map(name -> call(shape, name, thread))
                        .toList());
            }
            int last = parts.size() - 1;
            options.addCustomScenario(
                    new ExecutionScenario(parts.get(0), parts.subList(1, last), parts.get(last), null));
        }
        return options;
    }

    private static Actor call(Class<?> shape, String name, int thread) {
        for (Method method : shape.getMethods()) {
            if (method.getName().equals(name)) {
                return new Actor(method, method.getParameterCount() == 0 ? List.of() : List.of(thread));
            }
        }
        throw new IllegalArgumentException("no such call: " + name);
    }

    private static void assertConvicted(ModelCheckingOptions options, Class<?> twin) {
        String verdict = assertThrows(LincheckAssertionError.class, () -> options.check(twin))
                .getMessage();
        // Or hung: a poll is made again while something is claimed, and a claim that was wiped out is never published.
        assertTrue(
                verdict.contains("= Invalid execution results =") || verdict.contains("= The execution has hung ="),
                verdict);
        assertFalse(verdict.contains("Exception #"), verdict); // a fault of this test, not of the twin
    }

    /** An empty ring, then one that is full. */
    private static final String[] WRITES = {
        "| write write | write | poll poll | poll poll poll",
        "write write | write | write | poll poll | poll poll poll",
        "write | writeTwo | write | poll | poll poll poll",
    };

    private static final String[] CLAIMS = {
        "| claim commit | claim abandon | poll poll | poll poll",
        "claim | abandon | claim commit | claim commit poll | poll poll poll",
        "| claim abandon | claim abandon claim commit | claim commit | poll poll poll",
    };

    private static final String[] POLLS = {
        "write write | write write | poll poll | poll poll | poll poll poll poll", "write | poll | poll | poll | poll"
    };

    private static final String[] OVERWRITES = {"write write | poll | write | poll poll poll"};

    private static final String[] BOTH = {
        "| write | write | poll | poll | poll poll", "write write | write | write | poll | poll | poll poll poll",
    };

    @Test
    void shouldBeAQueueWhenManyWriteAndOnePolls() {
        options(ManyWriters.class, Fifo.class, WRITES).check(ManyWriters.class);
    }

    @Test
    void shouldConvictAClaimThatIsTestedThenSet() {
        assertConvicted(options(ManyWriters.class, Fifo.class, WRITES), TwinManyWriters.class);
    }

    @Test
    void shouldConvictAQueueOfManyWritersOfBarePolls() {
        assertConvicted(options(TwinBarePoll.class, Fifo.class, WRITES), TwinBarePoll.class);
    }

    @Test
    void shouldBeAQueueOfClaimsWhenManyHoldThemOpen() {
        options(OpenClaims.class, ClaimedFifo.class, CLAIMS)
                .checkObstructionFreedom(true)
                .check(OpenClaims.class);
    }

    @Test
    void shouldConvictAGiveBackThatIsTestedThenSet() {
        assertConvicted(options(OpenClaims.class, ClaimedFifo.class, CLAIMS), TwinOpenClaims.class);
    }

    @Test
    void shouldBeAQueueWhenOneWritesAndManyPoll() {
        options(ManyPollers.class, AmpleFifo.class, POLLS)
                .checkObstructionFreedom(true)
                .check(ManyPollers.class);
    }

    @Test
    void shouldConvictATakeThatIsComparedThenStored() {
        assertConvicted(options(ManyPollers.class, AmpleFifo.class, POLLS), TwinCompareThenStore.class);
    }

    @Test
    void shouldCopyEntriesWholeWhenTheRingIsFull() {
        options(ManyPollersFull.class, Fifo.class, OVERWRITES)
                .checkObstructionFreedom(true)
                .check(ManyPollersFull.class);
    }

    @Test
    void shouldConvictAClaimBeforeTheCopy() {
        assertConvicted(options(ManyPollersFull.class, Fifo.class, OVERWRITES), TwinClaimFirst.class);
    }

    @Test
    void shouldBeAQueueWhenManyWriteAndManyPoll() {
        options(ManyOfBoth.class, Fifo.class, BOTH).check(ManyOfBoth.class);
    }

    @Test
    void shouldConvictAClaimThatIsTestedThenSetWithManyPollers() {
        assertConvicted(options(ManyOfBoth.class, Fifo.class, BOTH), TwinBothClaim.class);
    }

    @Test
    void shouldConvictATakeThatIsComparedThenStoredWithManyWriters() {
        assertConvicted(
                options(ManyOfBoth.class, Fifo.class, "write write | poll | poll | poll poll poll"),
                TwinBothTake.class);
    }
}
