package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.RecordingMemory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A compact queue takes less memory and is otherwise like any other. */
@Tag("bothroutes")
class CompactTest {
    private static final int FIRST_SLOT = 320;

    @ParameterizedTest
    @ValueSource(ints = {32, 64, 128})
    void shouldTakeAsMuchMemoryAsItSays(int stride) {
        for (int capacity = 1; capacity <= 64; capacity *= 2) {
            CompletionQueue.Builder builder =
                    CompletionQueue.ofCapacity(capacity).strideBytes(stride);
            assertEquals(512 + capacity * stride, builder.requiredBytes());
            long bytes = builder.compact().requiredBytes();
            assertEquals((stride == 128 ? 384 : FIRST_SLOT) + capacity * stride, bytes);
            builder.memory(QueueMemory.allocate(bytes)).create();
            QueueMemory small = QueueMemory.allocate(bytes - 8);
            assertThrows(
                    IllegalArgumentException.class, () -> builder.memory(small).create());
        }
    }

    /** Each side stores to a line of its own: 64-byte lines 0 and 1 are the header, 2 the host's, 3 the device's, 4 both ends'. */
    @Test
    void shouldKeepTheTwoEndsOnDifferentLines() {
        RecordingMemory memory = new RecordingMemory(FIRST_SLOT + 2 * 64);
        CompletionQueue queue =
                CompletionQueue.ofCapacity(2).compact().memory(memory).create();
        memory.clear();
        for (int i = 0; i < 2; i++) {
            assertTrue(queue.writer().write(0, i, 0, 0, 0));
        }
        assertEquals(Set.of(3, 5, 6), storedLines(memory));
        memory.clear();
        assertEquals(2, queue.poll(c -> {}, 2));
        assertEquals(Set.of(2), storedLines(memory));
        memory.clear();
        queue.close();
        assertEquals(Set.of(4), storedLines(memory));
    }

    private static Set<Integer> storedLines(RecordingMemory memory) {
        Set<Integer> lines = new TreeSet<>();
        memory.log().stream()
                .filter(access -> access.op().isStore())
                .forEach(access -> lines.add(access.offset() / 64));
        return lines;
    }

    @Test
    void shouldRefuseWhatDoesNotGoWithIt(@TempDir Path dir) throws Exception {
        assertEquals(
                "a compact queue has one writer: choose compact() or writers(2)",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> CompletionQueue.ofCapacity(2)
                                        .compact()
                                        .writers(2)
                                        .create())
                        .getMessage());
        QueueMemory file = QueueMemory.create(dir.resolve("queue"), 1024);
        assertEquals(
                "a queue in a file is not compact, for its readers and writers go by fixed offsets: compact()",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> CompletionQueue.ofCapacity(2)
                                        .compact()
                                        .memory(file)
                                        .create())
                        .getMessage());
        QueueMemory memory = QueueMemory.allocate(1024);
        CompletionQueue.ofCapacity(2).compact().memory(memory).create();
        String refused = assertThrows(CqAttachException.class, () -> CompletionQueue.attach(memory))
                .getMessage();
        assertTrue(refused.endsWith("bits of the shape for merging and beyond must be 0: 262144"), refused);
    }

    /** The same calls on both: the same results, also those of an overrun, a resize, a purge, a reset, a drain. */
    @ParameterizedTest
    @EnumSource(OverrunPolicy.class)
    void shouldDoWhatAnOrdinaryQueueDoes(OverrunPolicy policy) {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < 300; round++) {
            int capacity = 1 << random.nextInt(5);
            int stride = 32 << random.nextInt(3);
            long start = random.nextLong();
            boolean shared = random.nextBoolean();
            boolean waiting = policy == OverrunPolicy.BACKPRESSURE && random.nextBoolean();
            List<Player> players = new ArrayList<>();
            for (boolean compact : new boolean[] {false, true}) {
                players.add(new Player(capacity, stride, start, policy, shared, waiting, compact));
            }
            for (int step = 0; step < 200; step++) {
                int what = random.nextInt(shared ? 6 : 12);
                int amount = random.nextInt(2 * capacity + 1);
                assertEquals(
                        players.get(0).play(what, amount),
                        players.get(1).play(what, amount),
                        "seed " + seed + " round " + round + " step " + step);
            }
            assertEquals(players.get(0).end(), players.get(1).end(), "seed " + seed + " round " + round);
        }
    }

    private static final class Player {
        private final CompletionQueue queue;
        private final CompletionPoller poller;
        private final boolean waiting;
        private final List<Long> polled = new ArrayList<>();
        private long next;

        Player(
                int capacity,
                int stride,
                long start,
                OverrunPolicy policy,
                boolean shared,
                boolean waiting,
                boolean compact) {
            CompletionQueue.Builder builder = CompletionQueue.ofCapacity(capacity)
                    .strideBytes(stride)
                    .startSequence(start)
                    .overrunPolicy(policy);
            if (shared) {
                builder.sharedPollers();
            }
            if (waiting) {
                builder.waitingWriters();
            }
            if (compact) {
                builder.compact();
            }
            this.waiting = waiting;
            this.queue = builder.create();
            this.poller = shared ? queue.newPoller(3) : null;
        }

        /** All that a caller can see of one step. */
        List<Object> play(int what, int amount) {
            List<Object> seen = new ArrayList<>();
            CompletionWriter writer = queue.writer();
            try {
                switch (what) {
                    case 0, 1 -> {
                        for (int i = 0; i < amount; i++) {
                            seen.add(writer.write(header(), next++, 0, 0, 0));
                        }
                    }
                    case 2 -> {
                        for (int i = 0; i < amount; i++) {
                            seen.add(writer.stage(header(), next++, 0, 0, 0));
                        }
                        seen.add(writer.flush());
                    }
                    case 3, 4 ->
                        seen.add(poller == null ? queue.poll(this::take, amount) : poller.poll(this::take, amount));
                    case 5 -> seen.add(waiting && writer.awaitSpace(0, TimeUnit.SECONDS));
                    case 6 -> {
                        if (queue.startPoll()) {
                            take(queue.completion());
                            seen.add(queue.endPoll());
                        }
                    }
                    case 7 -> {
                        Completion first = queue.peek();
                        seen.add(first == null ? "none" : first.workRequestId());
                    }
                    case 8 -> queue.resize(1 << amount % 6);
                    case 9 -> seen.add(queue.cancelResize());
                    case 10 -> seen.add(queue.purge(amount & 3));
                    default -> {
                        if (amount == 0) {
                            seen.add(queue.reset());
                        }
                    }
                }
            } catch (IllegalStateException e) {
                seen.add(e.getMessage());
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            seen.addAll(List.of(
                    queue.size(),
                    queue.remaining(),
                    queue.capacity(),
                    queue.lostEntries(),
                    queue.consumerSequence(),
                    queue.producerSequence(),
                    writer.isDead(),
                    writer.rejectedDoorbells(),
                    List.copyOf(polled)));
            return seen;
        }

        List<Object> end() {
            List<Object> seen = new ArrayList<>();
            if (poller == null) {
                seen.add(queue.drainAndClose(this::take, 0, TimeUnit.SECONDS));
            } else {
                queue.close();
            }
            seen.addAll(polled);
            seen.add(assertThrows(
                            IllegalStateException.class, () -> queue.writer().flush())
                    .getMessage());
            return seen;
        }

        private void take(Completion completion) {
            polled.add(completion.workRequestId());
        }

        private long header() {
            return CqeLayout.header(CqeOpcode.RECV, false, (int) next, (int) next & 3, 0);
        }
    }
}
