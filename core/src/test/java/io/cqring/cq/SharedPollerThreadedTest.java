package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Threads;
import io.cqring.testing.Threads.Spin;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * One writer, several pollers, and an exact account: every entry once, each poller in order, each word its own. Nothing depends
 * on time, but a writer on a machine too busy for tiny rings stops early; the line at the end says how many entries moved. The
 * seed chooses limits, batches, ways to poll and failures; which thread gets what is the machine's choice.
 */
@Tag("bothroutes")
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class SharedPollerThreadedTest {
    private static final long ENOUGH_NS = 5_000_000_000L;
    private static final long AT_LEAST = 2_000;
    private static final AtomicLong MOVED = new AtomicLong();
    private static final AtomicLong THROWN = new AtomicLong();
    private static final AtomicLong POLLERS = new AtomicLong();
    private static final long SEED =
            Long.getLong("cqring.test.seed", ThreadLocalRandom.current().nextLong());

    @AfterAll
    static void tell() {
        System.out.println("Shared pollers: " + MOVED + " entries moved, " + POLLERS + " pollers, " + THROWN
                + " handlers threw; seed " + SEED + ", repeat with -Dcqring.test.seed=" + SEED);
    }

    /** What handlers of these tests throw now and then. */
    private static final class Thrown extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    /** The way of entry n, so that lap after lap a slot is filled in different ways. */
    private static Way wayOf(long n) {
        return switch ((int) (n % 5)) {
            case 0 -> Way.WRITE;
            case 1 -> Way.STAGE;
            case 2 -> Way.CLAIM;
            case 3 -> Way.WRITE_BARE;
            default -> Way.CLAIM_BARE;
        };
    }

    /** What one thread has got: numbers, in order per poller. */
    private static final class Account implements Polling.Taker {
        private final int stride;
        private final BitSet arrived = new BitSet();
        private final SplittableRandom random;
        private final AtomicLong delivered;
        private long previous = -1;
        private boolean mayThrow;

        Account(int stride, long seed, AtomicLong delivered) {
            this.stride = stride;
            this.random = new SplittableRandom(seed);
            this.delivered = delivered;
        }

        private void record(long number) {
            if (number <= previous) {
                throw new AssertionError(number + " after " + previous);
            }
            previous = number;
            arrived.set((int) number);
            delivered.incrementAndGet();
        }

        @Override
        public void onView(Completion view) {
            long number = view.workRequestId();
            Numbered.verify(view, number, wayOf(number), stride);
            record(number);
            if (mayThrow && random.nextInt(100) == 0) {
                THROWN.incrementAndGet();
                throw new Thrown();
            }
        }

        @Override
        public void onCopy(WorkCompletion copy) {
            long number = copy.workRequestId();
            Numbered.verify(copy, number, wayOf(number), stride);
            record(number);
        }

        /** One call of one kind; a handler may throw. */
        int take(CompletionPoller poller, int capacity) {
            SharedPolling polling = SharedPolling.at(random.nextInt(4));
            mayThrow = polling == SharedPolling.HANDLER;
            try {
                return polling.take(poller, capacity, 1 + random.nextInt(Math.min(capacity, 40)), this);
            } catch (Thrown expected) {
                return 1;
            }
        }
    }

    private static void write(CompletionQueue queue, int stride, long target, AtomicLong total, Spin spin) {
        CompletionWriter writer = queue.writer();
        long startNs = System.nanoTime();
        long n = 0;
        while (n != target) {
            if (wayOf(n).put(writer, n, stride)) {
                n++;
                if ((n & 0xFF) == 0 && n >= AT_LEAST && System.nanoTime() - startNs > ENOUGH_NS) {
                    break;
                }
            } else {
                writer.flush();
                spin.once();
            }
        }
        writer.flush();
        total.set(n);
    }

    private static void checkAll(List<Account> accounts, long total) {
        BitSet all = new BitSet();
        for (Account account : accounts) {
            assertFalse(all.intersects(account.arrived), "delivered twice");
            all.or(account.arrived);
        }
        assertEquals(total, all.cardinality(), "lost");
        assertEquals(total, all.length(), "numbers that nobody wrote");
    }

    /** Two pollers that stay, and one after the other that come and go. 10^6 entries per stride, and more. */
    @FieldBug({7, 8, 24, 91})
    @ParameterizedTest
    @CsvSource({
        "32, 1, 0, 100000",
        "32, 2, 4294967293, 150000",
        "32, 8, 2147483645, 250000",
        "32, 64, 9223372036854775805, 500000",
        "32, 1024, 65533, 1000000",
        "64, 1, 2147483645, 100000",
        "64, 2, 0, 150000",
        "64, 8, 9223372036854775805, 250000",
        "64, 64, 0, 500000",
        "64, 1024, 4294967293, 1000000",
        "128, 1, 9223372036854775805, 100000",
        "128, 2, 16777213, 150000",
        "128, 8, 0, 250000",
        "128, 64, 4294967293, 500000",
        "128, 1024, 0, 1000000"
    })
    void everyEntryGoesToOnePollerOnce(int stride, int capacity, long start, long target) {
        CompletionQueue queue =
                new Shape(stride, capacity, start).builder().sharedPollers().create();
        AtomicLong total = new AtomicLong(-1);
        AtomicLong delivered = new AtomicLong();
        List<Account> accounts = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            accounts.add(new Account(stride, SEED + i, delivered));
        }
        Threads.Body stays = spin -> {
            Account account = accounts.get(0);
            try (CompletionPoller poller = queue.newPoller()) {
                POLLERS.incrementAndGet();
                pollUntilAllIsDelivered(poller, account, capacity, total, delivered, spin);
            }
        };
        Threads.Body staysWithSmallClaims = spin -> {
            Account account = accounts.get(1);
            try (CompletionPoller poller = queue.newPoller(2)) {
                POLLERS.incrementAndGet();
                pollUntilAllIsDelivered(poller, account, capacity, total, delivered, spin);
            }
        };
        Threads.Body comesAndGoes = spin -> {
            Account account = accounts.get(2);
            while (delivered.get() != total.get()) {
                try (CompletionPoller poller = queue.newPoller(1 + account.random.nextInt(40))) {
                    POLLERS.incrementAndGet();
                    for (int calls = 1 + account.random.nextInt(50); calls != 0; calls--) {
                        if (account.take(poller, capacity) == 0) {
                            spin.once();
                        }
                    }
                    while (poller.undelivered() != 0) { // nobody else could get them
                        account.take(poller, capacity);
                    }
                }
            }
        };
        Threads.run(spin -> write(queue, stride, target, total, spin), stays, staysWithSmallClaims, comesAndGoes);
        checkAll(accounts, total.get());
        assertTrue(queue.isEmpty());
        assertEquals(0, queue.lostEntries());
        assertEquals(0, queue.writer().rejectedDoorbells());
        MOVED.addAndGet(total.get());
    }

    private static void pollUntilAllIsDelivered(
            CompletionPoller poller, Account account, int capacity, AtomicLong total, AtomicLong delivered, Spin spin) {
        while (delivered.get() != total.get()) {
            if (account.take(poller, capacity) == 0) {
                spin.once();
            }
        }
    }

    /**
     * Each thread is first poller, then writer, and round again; the writer's role goes from hand to hand. Free slots, reckoned
     * from two sequences that others move, must never come out above capacity or below zero.
     */
    @FieldBug({64, 91})
    @ParameterizedTest
    @CsvSource({"32, 1, 0", "64, 2, 2147483645", "128, 8, 9223372036854775805", "64, 64, 4294967293"})
    void threadsThatPollAndWriteNeverSeeAnImpossibleSize(int stride, int capacity, long start) {
        Shape shape = new Shape(stride, capacity, start);
        QueueMemory memory = QueueMemory.allocate(shape.bytes());
        CompletionQueue queue = shape.builder().memory(memory).sharedPollers().create();
        long target = 60_000;
        AtomicLong written = new AtomicLong(); // stored by the thread that has the writer's role
        AtomicBoolean writing = new AtomicBoolean();
        AtomicLong total = new AtomicLong(-1);
        AtomicLong delivered = new AtomicLong();
        long startNs = System.nanoTime();
        List<Account> accounts = new ArrayList<>();
        Threads.Body[] bodies = new Threads.Body[3];
        for (int i = 0; i < bodies.length; i++) {
            Account account = new Account(stride, SEED + i, delivered);
            accounts.add(account);
            bodies[i] = spin -> {
                try (CompletionPoller poller = queue.newPoller(3)) {
                    while (delivered.get() != total.get()) {
                        int taken = account.take(poller, capacity);
                        int size = queue.size();
                        int remaining = queue.remaining();
                        if (size < 0 || size > capacity || remaining < 0 || remaining > capacity) {
                            throw new AssertionError("size " + size + ", remaining " + remaining);
                        }
                        boolean wrote = false;
                        if (total.get() < 0 && writing.compareAndSet(false, true)) {
                            wrote = writeSome(queue, stride, target, written, total, startNs);
                            queue.writer().release();
                            writing.set(false);
                        }
                        if (taken == 0 && !wrote) {
                            spin.once();
                        }
                    }
                }
            };
        }
        Threads.run(bodies);
        checkAll(accounts, total.get());
        assertEquals(0, queue.writer().rejectedDoorbells());
        assertEquals(shape.start() + total.get(), memory.getLong(Region.CONSUMER));
        MOVED.addAndGet(total.get());
    }

    private static boolean writeSome(
            CompletionQueue queue, int stride, long target, AtomicLong written, AtomicLong total, long startNs) {
        long n = written.get();
        boolean wrote = false;
        for (int i = 0; i < 5 && n != target && wayOf(n).publish(queue.writer(), n, stride); i++) {
            n++;
            wrote = true;
        }
        written.set(n);
        queue.writer().flush();
        if (n == target || (n >= AT_LEAST && System.nanoTime() - startNs > ENOUGH_NS)) {
            total.set(n);
        }
        return wrote;
    }

    /** Policy ERROR: all that was accepted before the overrun is delivered, then every poller is told. */
    @FieldBug(60)
    @ParameterizedTest
    @CsvSource({"32, 1", "64, 2", "128, 8", "64, 64"})
    void allThatWasWrittenBeforeTheOverrunArrives(int stride, int capacity) {
        for (int round = 0; round < 20; round++) {
            CompletionQueue queue = new Shape(stride, capacity, round)
                    .builder()
                    .overrunPolicy(OverrunPolicy.ERROR)
                    .sharedPollers()
                    .create();
            AtomicLong accepted = new AtomicLong(-1);
            AtomicLong delivered = new AtomicLong();
            List<Account> accounts = new ArrayList<>();
            Threads.Body[] bodies = new Threads.Body[3];
            for (int i = 0; i < 2; i++) {
                Account account = new Account(stride, SEED + round * 2L + i, delivered);
                accounts.add(account);
                long pauseAt = 1 + round * 7L;
                bodies[i] = spin -> {
                    CompletionPoller poller = queue.newPoller();
                    try {
                        while (true) {
                            while (delivered.get() >= pauseAt && accepted.get() < 0) { // the ring must overrun
                                spin.once();
                            }
                            if (account.take(poller, capacity) == 0) {
                                spin.once();
                            }
                        }
                    } catch (CqOverrunException told) {
                        assertEquals(0, poller.undelivered());
                        assertTrue(told.lostEntries() >= 1);
                    }
                };
            }
            bodies[2] = spin -> {
                long n = 0;
                while (wayOf(n).publish(queue.writer(), n, stride)) {
                    n++;
                }
                accepted.set(n);
            };
            Threads.run(bodies);
            checkAll(accounts, accepted.get());
            MOVED.addAndGet(accepted.get());
        }
    }
}
