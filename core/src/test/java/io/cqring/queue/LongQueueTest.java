package io.cqring.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.SteppedMemory;
import io.cqring.testing.Threads;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.jctools.queues.varhandle.SpscVarHandleArrayQueue;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** LongQueue beside JCTools' queue and a plain model, and what it promises beyond them. */
@Tag("bothroutes")
class LongQueueTest {
    private static final long EMPTY = Long.MIN_VALUE;

    /** The methods in question, so that one test body can drive both. */
    private interface Subject {
        boolean offer(long value);

        boolean relaxedOffer(long value);

        long poll();

        long relaxedPoll();

        long peek();

        long relaxedPeek();

        int drain(LongConsumer consumer, int limit);

        int drain(LongConsumer consumer);

        int fill(LongSupplier supplier, int limit);

        int fill(LongSupplier supplier);

        int size();

        boolean isEmpty();

        int capacity();

        void clear();
    }

    private enum Kind {
        CQRING {
            @Override
            Subject make(int capacity) {
                return new Ours(LongQueue.ofCapacity(capacity));
            }
        },
        JCTOOLS {
            @Override
            Subject make(int capacity) {
                return new Theirs(new SpscVarHandleArrayQueue<>(capacity));
            }
        };

        abstract Subject make(int capacity);
    }

    private record Ours(LongQueue queue) implements Subject {
        @Override
        public boolean offer(long value) {
            return queue.offer(value);
        }

        @Override
        public boolean relaxedOffer(long value) {
            return queue.relaxedOffer(value);
        }

        @Override
        public long poll() {
            return queue.poll(EMPTY);
        }

        @Override
        public long relaxedPoll() {
            return queue.relaxedPoll(EMPTY);
        }

        @Override
        public long peek() {
            return queue.peek(EMPTY);
        }

        @Override
        public long relaxedPeek() {
            return queue.relaxedPeek(EMPTY);
        }

        @Override
        public int drain(LongConsumer consumer, int limit) {
            return queue.drain(consumer, limit);
        }

        @Override
        public int drain(LongConsumer consumer) {
            return queue.drain(consumer);
        }

        @Override
        public int fill(LongSupplier supplier, int limit) {
            return queue.fill(supplier, limit);
        }

        @Override
        public int fill(LongSupplier supplier) {
            return queue.fill(supplier);
        }

        @Override
        public int size() {
            return queue.size();
        }

        @Override
        public boolean isEmpty() {
            return queue.isEmpty();
        }

        @Override
        public int capacity() {
            return queue.capacity();
        }

        @Override
        public void clear() {
            queue.clear();
        }
    }

    private record Theirs(SpscVarHandleArrayQueue<Long> queue) implements Subject {
        private static long orEmpty(Long value) {
            return value == null ? EMPTY : value;
        }

        @Override
        public boolean offer(long value) {
            return queue.offer(value);
        }

        @Override
        public boolean relaxedOffer(long value) {
            return queue.relaxedOffer(value);
        }

        @Override
        public long poll() {
            return orEmpty(queue.poll());
        }

        @Override
        public long relaxedPoll() {
            return orEmpty(queue.relaxedPoll());
        }

        @Override
        public long peek() {
            return orEmpty(queue.peek());
        }

        @Override
        public long relaxedPeek() {
            return orEmpty(queue.relaxedPeek());
        }

        @Override
        public int drain(LongConsumer consumer, int limit) {
            return queue.drain(consumer::accept, limit);
        }

        @Override
        public int drain(LongConsumer consumer) {
            return queue.drain(consumer::accept);
        }

        @Override
        public int fill(LongSupplier supplier, int limit) {
            return queue.fill(supplier::getAsLong, limit);
        }

        @Override
        public int fill(LongSupplier supplier) {
            return queue.fill(supplier::getAsLong);
        }

        @Override
        public int size() {
            return queue.size();
        }

        @Override
        public boolean isEmpty() {
            return queue.isEmpty();
        }

        @Override
        public int capacity() {
            return queue.capacity();
        }

        @Override
        public void clear() {
            queue.clear();
        }
    }

    /** Random calls from one thread: each answer is the model's. */
    @ParameterizedTest
    @CsvSource({
        "CQRING, 1",
        "CQRING, 2",
        "CQRING, 4",
        "CQRING, 8",
        "CQRING, 64",
        "JCTOOLS, 4",
        "JCTOOLS, 8",
        "JCTOOLS, 64"
    })
    void shouldAnswerAsAPlainQueueDoes(Kind kind, int capacity) {
        for (long seed = 1; seed <= 100; seed++) {
            Random random = new Random(seed);
            Subject subject = kind.make(capacity);
            ArrayDeque<Long> model = new ArrayDeque<>();
            String where = kind + " capacity " + capacity + " seed " + seed;
            assertEquals(capacity, subject.capacity(), where);
            for (int step = 0; step < 300; step++) {
                step(subject, model, random, capacity, where + " step " + step);
            }
        }
    }

    private static void step(Subject subject, ArrayDeque<Long> model, Random random, int capacity, String where) {
        long value = random.nextLong();
        int limit = random.nextInt(capacity + 3);
        List<Long> got = new ArrayList<>();
        List<Long> expected = new ArrayList<>();
        int room = capacity - model.size();
        switch (random.nextInt(11)) {
            case 0, 1 -> {
                boolean fits = room != 0 && model.add(value);
                assertEquals(fits, random.nextBoolean() ? subject.offer(value) : subject.relaxedOffer(value), where);
            }
            case 2 -> assertEquals(model.isEmpty() ? EMPTY : model.remove(), subject.poll(), where);
            case 3 -> assertEquals(model.isEmpty() ? EMPTY : model.remove(), subject.relaxedPoll(), where);
            case 4 -> assertEquals(model.isEmpty() ? EMPTY : model.peek(), subject.peek(), where);
            case 5 -> assertEquals(model.isEmpty() ? EMPTY : model.peek(), subject.relaxedPeek(), where);
            case 6 -> {
                while (expected.size() < limit && !model.isEmpty()) {
                    expected.add(model.remove());
                }
                assertEquals(expected.size(), subject.drain(got::add, limit), where);
                assertEquals(expected, got, where);
            }
            case 7 -> {
                expected.addAll(model);
                model.clear();
                assertEquals(expected.size(), subject.drain(got::add), where);
                assertEquals(expected, got, where);
            }
            case 8 -> {
                int fits = Math.min(room, limit);
                assertEquals(fits, subject.fill(() -> add(model, random.nextLong()), limit), where);
                assertEquals(capacity - room + fits, model.size(), where + ": asked for no more than fits");
            }
            case 9 -> assertEquals(room, subject.fill(() -> add(model, random.nextLong())), where);
            default -> {
                if (random.nextInt(8) == 0) {
                    subject.clear();
                    model.clear();
                }
            }
        }
        assertEquals(model.size(), subject.size(), where);
        assertEquals(model.isEmpty(), subject.isEmpty(), where);
    }

    private static long add(ArrayDeque<Long> model, long value) {
        model.add(value);
        return value;
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldRefuseBadArgumentsAsJctoolsDoes(Kind kind) {
        Subject subject = kind.make(4);
        assertTrue(subject.offer(7));
        assertThrows(IllegalArgumentException.class, () -> subject.drain(v -> {}, -1));
        assertThrows(IllegalArgumentException.class, () -> subject.fill(() -> 1, -1));
        assertThrows(IllegalArgumentException.class, () -> subject.drain(v -> {}, Integer.MIN_VALUE));
        assertEquals(0, subject.drain(v -> {}, 0));
        assertEquals(0, subject.fill(() -> 1, 0));
        assertEquals(1, subject.size());
        assertEquals(7, subject.peek());
    }

    @Test
    void shouldNameTheArgumentAndTheRule() {
        LongQueue queue = LongQueue.ofCapacity(4);
        assertEquals("limit must be 0 or more: -3", refusal(() -> queue.drain(v -> {}, -3)));
        assertEquals("limit must be 0 or more: -1", refusal(() -> queue.fill(() -> 1, -1)));
        assertEquals("consumer must not be null", refusal(() -> queue.drain(null)));
        assertEquals("consumer must not be null", refusal(() -> queue.drain(null, 0)));
        assertEquals("supplier must not be null", refusal(() -> queue.fill(null, 0)));
        assertEquals("wait strategy must not be null", refusal(() -> queue.drain(v -> {}, null, () -> false)));
        assertEquals("exit condition must not be null", refusal(() -> queue.fill(() -> 1, i -> i, null)));
        assertEquals("capacity must be a power of two, 1 or more: 3", refusal(() -> LongQueue.ofCapacity(3)));
    }

    private static String refusal(org.junit.jupiter.api.function.Executable call) {
        return assertThrows(IllegalArgumentException.class, call).getMessage();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, 1, Long.MIN_VALUE, Long.MAX_VALUE, 0x8000_0000L})
    void shouldCarryEveryLong(long value) {
        LongQueue queue = LongQueue.ofCapacity(1);
        assertTrue(queue.offer(value));
        assertEquals(value, queue.peek(~value));
        assertEquals(value, queue.poll(~value));
        assertEquals(~value, queue.poll(~value));
        assertEquals(~value, queue.peek(~value));
    }

    @Test
    void shouldUseTheCallersMemoryAndNoByteMore() {
        assertEquals(384 + 8 * 32, LongQueue.requiredBytes(8));
        QueueMemory memory = QueueMemory.allocate(384 + 8 * 32);
        memory.fill(0, memory.sizeBytes(), (byte) 0xFF);
        LongQueue queue = LongQueue.ofCapacity(8, memory);
        assertEquals(EMPTY, queue.poll(EMPTY));
        assertEquals(8, queue.fill(() -> 5));
        assertFalse(queue.offer(5));
        assertThrows(
                IllegalArgumentException.class, () -> LongQueue.ofCapacity(8, QueueMemory.allocate(384 + 8 * 32 - 1)));
    }

    /** What was supplied before the exception is in the queue, the supplier was asked once too often, and nothing is stuck. */
    @Test
    void shouldKeepWhatWasSuppliedBeforeASupplierThrows() {
        LongQueue queue = LongQueue.ofCapacity(8);
        IllegalStateException thrown = new IllegalStateException("no more");
        long[] next = {0};
        assertSame(
                thrown,
                assertThrows(
                        IllegalStateException.class,
                        () -> queue.fill(
                                () -> {
                                    if (next[0] == 3) {
                                        throw thrown;
                                    }
                                    return next[0]++;
                                },
                                8)));
        assertEquals(3, queue.size());
        assertEquals(5, queue.fill(() -> next[0]++, 100));
        for (long i = 0; i < 8; i++) {
            assertEquals(i, queue.poll(EMPTY));
        }
        assertEquals(EMPTY, queue.poll(EMPTY));
    }

    @Test
    void shouldCountAValueWhoseConsumerThrowsAsTaken() {
        LongQueue queue = LongQueue.ofCapacity(8);
        long[] next = {0};
        assertEquals(8, queue.fill(() -> next[0]++));
        IllegalStateException thrown = new IllegalStateException("poison");
        List<Long> got = new ArrayList<>();
        LongConsumer consumer = value -> {
            if (value == 2) {
                throw thrown;
            }
            got.add(value);
        };
        assertSame(thrown, assertThrows(IllegalStateException.class, () -> queue.drain(consumer)));
        assertEquals(List.of(0L, 1L), got);
        assertEquals(5, queue.size());
        assertEquals(5, queue.drain(consumer));
        assertEquals(List.of(0L, 1L, 3L, 4L, 5L, 6L, 7L), got);
    }

    /** A consumer cannot take from the queue it is drained from; the refusal leaves the outer drain whole. */
    @Test
    void shouldRefuseAConsumerThatTakesFromItsQueue() {
        LongQueue queue = LongQueue.ofCapacity(4);
        long[] next = {0};
        assertEquals(4, queue.fill(() -> next[0]++));
        List<Long> got = new ArrayList<>();
        int[] refused = {0};
        List<Runnable> attempts = List.of(
                () -> queue.poll(EMPTY),
                () -> queue.peek(EMPTY),
                () -> queue.drain(v -> got.add(-v)),
                queue::clear,
                queue::releaseConsumer);
        int taken = queue.drain(value -> {
            for (Runnable attempt : attempts) {
                assertThrows(IllegalStateException.class, attempt::run);
                refused[0]++;
            }
            got.add(value);
        });
        assertEquals(4, taken);
        assertEquals(List.of(0L, 1L, 2L, 3L), got);
        assertEquals(4 * attempts.size(), refused[0]);
    }

    /** One thread that plays both ends: a consumer may pass values on into the queue it is drained from. */
    @Test
    void shouldLetAConsumerOfferToItsQueue() {
        LongQueue queue = LongQueue.ofCapacity(4);
        assertTrue(queue.offer(1));
        assertTrue(queue.offer(2));
        List<Long> got = new ArrayList<>();
        int taken = queue.drain(
                value -> {
                    got.add(value);
                    if (value < 100) {
                        assertTrue(queue.offer(value * 100));
                    }
                },
                2);
        assertEquals(2, taken);
        assertEquals(2, queue.drain(got::add));
        assertEquals(List.of(1L, 2L, 100L, 200L), got);
    }

    @Test
    void shouldSayWhichValueASupplierThatFillsItsOwnQueueLost() {
        LongQueue queue = LongQueue.ofCapacity(2);
        IllegalStateException thrown =
                assertThrows(IllegalStateException.class, () -> queue.fill(() -> queue.offer(1) ? 2 : 3));
        assertEquals(
                "a supplier must not fill its own queue: no room is left for 3, its last answer", thrown.getMessage());
        assertEquals(1, queue.poll(EMPTY));
        assertEquals(2, queue.poll(EMPTY));
        assertEquals(EMPTY, queue.poll(EMPTY));
        assertEquals(
                1,
                queue.fill(
                        () -> { // taking from it is allowed
                            queue.poll(EMPTY);
                            return 9;
                        },
                        1));
    }

    @Test
    void shouldDrainAndFillUntilToldToStop() {
        LongQueue queue = LongQueue.ofCapacity(4);
        long[] next = {0};
        List<Integer> idles = new ArrayList<>();
        int[] rounds = {3};
        queue.fill(
                () -> next[0]++,
                idle -> {
                    idles.add(idle);
                    return idle + 1;
                },
                () -> rounds[0]-- > 0);
        assertEquals(4, queue.size());
        assertEquals(List.of(0, 1), idles);
        idles.clear();
        List<Long> got = new ArrayList<>();
        rounds[0] = 4;
        queue.drain(
                got::add,
                idle -> {
                    idles.add(idle);
                    if (idle == 1) {
                        queue.offer(77);
                    }
                    return idle + 1;
                },
                () -> rounds[0]-- > 0);
        assertEquals(List.of(0L, 1L, 2L, 3L, 77L), got);
        assertEquals(List.of(0, 1), idles);
    }

    @Test
    void shouldRefuseASecondProducerAndASecondConsumerAndDisturbNothing() {
        LongQueue queue = LongQueue.ofCapacity(4);
        assertTrue(queue.offer(1));
        assertTrue(queue.offer(2));
        List<Long> got = new ArrayList<>();
        int[] asked = {0};
        int taken = queue.drain(value -> {
            Threads.run(
                    spin -> { // while this thread is in its drain
                        assertThrows(IllegalStateException.class, () -> queue.drain(v -> got.add(-1L)));
                        assertThrows(IllegalStateException.class, () -> queue.poll(EMPTY));
                        assertThrows(IllegalStateException.class, () -> queue.offer(3));
                        assertThrows(IllegalStateException.class, () -> queue.fill(() -> ++asked[0]));
                    });
            got.add(value);
        });
        assertEquals(2, taken);
        assertEquals(List.of(1L, 2L), got);
        assertEquals(0, asked[0], "no value was made for nothing");
        queue.releaseProducer();
        queue.releaseConsumer();
        Threads.run(spin -> {
            assertTrue(queue.offer(3));
            assertEquals(3, queue.poll(EMPTY));
        });
    }

    @Test
    void shouldRefuseEveryCallAfterClose() {
        LongQueue queue = LongQueue.ofCapacity(4);
        assertTrue(queue.offer(1));
        queue.close();
        queue.close();
        for (Runnable call : List.<Runnable>of(
                () -> queue.offer(1),
                () -> queue.poll(EMPTY),
                () -> queue.peek(EMPTY),
                () -> queue.drain(v -> {}),
                () -> queue.fill(() -> 1),
                queue::clear)) {
            assertEquals(
                    "completion queue is closed",
                    assertThrows(IllegalStateException.class, call::run).getMessage());
        }
    }

    @ParameterizedTest
    @CsvSource({"1, true", "2, false", "8, true", "8, false", "1024, true", "1024, false"})
    void shouldPassEveryValueOnceAndInOrderBetweenThreads(int capacity, boolean batches) {
        long count = 200_000;
        LongQueue queue = LongQueue.ofCapacity(capacity);
        AtomicLong wrong = new AtomicLong();
        Threads.run(
                spin -> {
                    long[] next = {0};
                    while (next[0] < count) {
                        int limit = (int) Math.min(capacity, count - next[0]);
                        int done = batches ? queue.fill(() -> next[0]++, limit) : queue.offer(next[0]) ? 1 : 0;
                        if (!batches) {
                            next[0] += done;
                        }
                        if (done == 0) {
                            spin.once();
                        }
                    }
                },
                spin -> {
                    long[] next = {0};
                    while (next[0] < count) {
                        long before = next[0];
                        if (batches) {
                            queue.drain(value -> wrong.addAndGet(value ^ next[0]++));
                        } else {
                            long value = queue.poll(EMPTY);
                            if (value != EMPTY) {
                                assertEquals(next[0]++, value);
                            }
                        }
                        if (next[0] == before) {
                            spin.once();
                        }
                    }
                });
        assertEquals(0, wrong.get());
        assertTrue(queue.isEmpty());
    }

    /** Closed before any of the accesses of a poll: the value, or the exception, which leaves it there; never both. */
    @Test
    void shouldFinishAPollThatIsClosedMeanwhile() {
        int finished = 0;
        for (int access = 0; access < 20; access++) {
            SteppedMemory memory = new SteppedMemory(LongQueue.requiredBytes(4));
            LongQueue queue = LongQueue.ofCapacity(4, memory);
            assertTrue(queue.offer(7));
            boolean[] closed = {false};
            boolean[] shown = {false};
            int[] seen = {0};
            int wanted = access;
            memory.hook((done, offset, stores) -> {
                if (!done && !closed[0] && seen[0]++ == wanted) {
                    closed[0] = true;
                    queue.close();
                }
                shown[0] |= done && offset >= 384 && !closed[0];
            });
            try {
                assertEquals(7, queue.poll(EMPTY), "access " + access);
                finished += closed[0] ? 1 : 0;
            } catch (IllegalStateException e) {
                assertEquals("completion queue is closed", e.getMessage());
                assertFalse(shown[0], "the value had been found at access " + access);
            }
        }
        assertTrue(finished >= 2, "closed in the middle: " + finished);
    }
}
