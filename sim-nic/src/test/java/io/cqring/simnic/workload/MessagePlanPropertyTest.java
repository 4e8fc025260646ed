package io.cqring.simnic.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** Formula and walk against a model that only knows the definition. jqwik prints the seed of every property. */
class MessagePlanPropertyTest {
    private static final BigInteger LONG_MAX = BigInteger.valueOf(Long.MAX_VALUE);

    /** One message of the definition. */
    private record Message(int from, int to, long bytes) implements Comparable<Message> {
        @Override
        public int compareTo(Message other) {
            int order = Integer.compare(from, other.from);
            return order != 0 ? order : Integer.compare(to, other.to);
        }
    }

    @Property(tries = 2000)
    void formulaShouldCountWhatTheDefinitionSends(
            @ForAll CollectiveKind kind,
            @ForAll @LongRange(max = 20_000) long size,
            @ForAll @IntRange(min = 2, max = 12) int ranks,
            @ForAll @LongRange(min = 1, max = 3000) long chunkBytes) {
        MessagePlan plan = MessagePlan.of(new Collective(kind, size, 1), ranks, chunkBytes);
        List<Message> messages = definition(kind, size, ranks);
        long chunks = 0;
        for (Message message : messages) {
            chunks += cut(message.bytes(), chunkBytes).size();
            assertEquals(message.bytes(), plan.bytes());
        }
        assertEquals(messages.size(), plan.messages());
        assertEquals(chunks, plan.chunks());
        assertEquals(2 * chunks, plan.completions());
    }

    @Property(tries = 2000)
    void walkShouldSendExactlyTheMessagesOfTheDefinition(
            @ForAll CollectiveKind kind, @ForAll @IntRange(min = 2, max = 40) int ranks) {
        MessagePlan plan = MessagePlan.of(new Collective(kind, 1_000_003, 1), ranks, 4096);
        List<Message> walked = new ArrayList<>();
        int[] into = new int[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            for (int n = 0; n < plan.sends(rank); n++) {
                walked.add(new Message(rank, plan.destination(rank, n), plan.bytes()));
                into[plan.destination(rank, n)]++;
            }
        }
        List<Message> defined = definition(kind, 1_000_003, ranks);
        Collections.sort(walked);
        Collections.sort(defined);
        assertEquals(defined, walked);
        for (int rank = 0; rank < ranks; rank++) {
            assertEquals(into[rank], plan.messagesInto(rank), "messages into rank " + rank);
        }
    }

    @Property(tries = 1000)
    void chunksShouldAddUpToTheMessage(
            @ForAll @LongRange(max = 20_000) long size, @ForAll @LongRange(min = 1, max = 3000) long chunkBytes) {
        MessagePlan plan = MessagePlan.of(new Collective(CollectiveKind.ISEND, size, 1), 2, chunkBytes);
        List<Long> chunks = new ArrayList<>();
        for (long chunk = 0; chunk < plan.chunksPerMessage(); chunk++) {
            chunks.add(plan.chunkBytes(chunk));
        }
        assertEquals(cut(size, chunkBytes), chunks);
    }

    @Property(tries = 1000)
    void everyOrderOfArrivalsShouldEndWithAllSentAndReceived(
            @ForAll CollectiveKind kind, @ForAll @IntRange(min = 2, max = 20) int ranks, @ForAll long seed) {
        MessagePlan plan = MessagePlan.of(new Collective(kind, 12_345, 1), ranks, 100);
        Random random = new Random(seed);
        int[] sent = new int[ranks];
        int[] arrived = new int[ranks];
        List<Message> inFlight = new ArrayList<>();
        long delivered = 0;
        while (true) {
            List<Integer> ready = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                if (sent[rank] < plan.sends(rank) && plan.arrivalsNeeded(rank, sent[rank]) <= arrived[rank]) {
                    ready.add(rank);
                }
            }
            if (ready.isEmpty() && inFlight.isEmpty()) {
                break;
            }
            if (!ready.isEmpty() && (inFlight.isEmpty() || random.nextBoolean())) {
                int rank = ready.get(random.nextInt(ready.size()));
                inFlight.add(new Message(rank, plan.destination(rank, sent[rank]++), plan.bytes()));
            } else {
                arrived[inFlight.remove(random.nextInt(inFlight.size())).to()]++;
                delivered++;
            }
        }
        assertEquals(plan.messages(), delivered, "stopped before the end");
        for (int rank = 0; rank < ranks; rank++) {
            assertEquals(plan.sends(rank), sent[rank], "sent by rank " + rank);
            assertEquals(plan.messagesInto(rank), arrived[rank], "arrived at rank " + rank);
        }
    }

    /**
     * The rules must not only let everything through: in lock step, they must take exactly as many rounds as there are
     * steps.
     */
    @Property(tries = 500)
    void lockStepShouldTakeExactlyTheStepsOfTheTable(
            @ForAll CollectiveKind kind, @ForAll @IntRange(min = 2, max = 20) int ranks) {
        MessagePlan plan = MessagePlan.of(new Collective(kind, 12_345, 1), ranks, 100);
        int[] sent = new int[ranks];
        int[] arrived = new int[ranks];
        int rounds = 0;
        for (long delivered = 0; delivered < plan.messages(); rounds++) {
            int[] arriving = new int[ranks];
            boolean anySent = false;
            for (int rank = 0; rank < ranks; rank++) {
                while (sent[rank] < plan.sends(rank) && plan.arrivalsNeeded(rank, sent[rank]) <= arrived[rank]) {
                    arriving[plan.destination(rank, sent[rank]++)]++;
                    anySent = true;
                    delivered++;
                }
            }
            assertTrue(anySent, "deadlock in round " + rounds);
            for (int rank = 0; rank < ranks; rank++) {
                arrived[rank] += arriving[rank];
            }
        }
        assertEquals(plan.steps(), rounds);
    }

    /** What all the sends are for: at the end every rank must hold what its kind promises. */
    @Property(tries = 300)
    void everyRankShouldHaveHeardFromEveryOtherAfterAFullRing(@ForAll @IntRange(min = 2, max = 20) int ranks) {
        for (CollectiveKind kind : List.of(CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER)) {
            MessagePlan plan = MessagePlan.of(new Collective(kind, 12_345, 1), ranks, 100);
            // part[rank]: what rank passes on next; it begins with its own
            int[] part = new int[ranks];
            boolean[][] seen = new boolean[ranks][ranks];
            for (int rank = 0; rank < ranks; rank++) {
                part[rank] = rank;
                seen[rank][rank] = true;
            }
            for (int step = 0; step < plan.steps(); step++) {
                int[] next = new int[ranks];
                for (int rank = 0; rank < ranks; rank++) {
                    int to = plan.destination(rank, step);
                    next[to] = part[rank];
                    assertFalse(seen[to][part[rank]], "the same part twice");
                    seen[to][part[rank]] = true;
                }
                part = next;
            }
            for (int rank = 0; rank < ranks; rank++) {
                for (int from = 0; from < ranks; from++) {
                    assertTrue(seen[rank][from], "rank " + rank + " misses the part of rank " + from);
                }
            }
        }
    }

    @Property(tries = 2000)
    void numbersShouldBeExactOrRefused(
            @ForAll CollectiveKind kind,
            @ForAll @LongRange(min = 0) long size,
            @ForAll @IntRange(min = 2, max = 1_000_000_000) int ranks,
            @ForAll @LongRange(min = 1) long chunkBytes) {
        BigInteger completions = completions(kind, size, ranks, chunkBytes);
        Collective collective = new Collective(kind, size, 1);
        if (completions.compareTo(LONG_MAX) > 0) {
            assertThrows(ArithmeticException.class, () -> MessagePlan.of(collective, ranks, chunkBytes));
        } else {
            assertEquals(
                    completions.longValueExact(),
                    MessagePlan.of(collective, ranks, chunkBytes).completions());
        }
    }

    /** Sizes that need the upper bits, with chunks small enough for the edge to lie in the middle of what is tried. */
    @Property(tries = 2000)
    void numbersNearTheEdgeShouldBeExactOrRefused(
            @ForAll CollectiveKind kind,
            @ForAll @LongRange(min = 1L << 58) long size,
            @ForAll @IntRange(min = 2, max = 16) int ranks,
            @ForAll @LongRange(min = 1, max = 64) long chunkBytes) {
        numbersShouldBeExactOrRefused(kind, size, ranks, chunkBytes);
    }

    private static BigInteger completions(CollectiveKind kind, long size, int ranks, long chunkBytes) {
        BigInteger r = BigInteger.valueOf(ranks);
        BigInteger others = r.subtract(BigInteger.ONE);
        BigInteger s = BigInteger.valueOf(size);
        BigInteger b = s.add(others).divide(r);
        BigInteger messages;
        BigInteger bytes;
        switch (kind) {
            case ALL_REDUCE -> {
                messages = others.multiply(r).shiftLeft(1);
                bytes = b;
            }
            case REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL -> {
                messages = others.multiply(r);
                bytes = b;
            }
            case BROADCAST, REDUCE, INCAST -> {
                messages = others;
                bytes = s;
            }
            case ISEND -> {
                messages = BigInteger.ONE;
                bytes = s;
            }
            case BARRIER -> {
                messages = r;
                bytes = BigInteger.ZERO;
            }
            default -> {
                messages = BigInteger.ZERO;
                bytes = BigInteger.ZERO;
            }
        }
        BigInteger c = BigInteger.valueOf(chunkBytes);
        BigInteger chunks = bytes.add(c).subtract(BigInteger.ONE).divide(c).max(BigInteger.ONE);
        return messages.multiply(chunks).shiftLeft(1);
    }

    /** Cuts a message the slow way: takes a chunk off until nothing is left. */
    private static List<Long> cut(long bytes, long chunkBytes) {
        List<Long> chunks = new ArrayList<>();
        long left = bytes;
        do {
            long chunk = Math.min(left, chunkBytes);
            chunks.add(chunk);
            left -= chunk;
        } while (left > 0);
        return chunks;
    }

    /** The collectives step by step, as the contract words them; shares nothing with the code under test. */
    private static List<Message> definition(CollectiveKind kind, long size, int ranks) {
        long part = 0;
        while (part * ranks < size) {
            part = Math.max(part + 1, size / ranks);
        }
        List<Message> messages = new ArrayList<>();
        switch (kind) {
            case ALL_REDUCE -> {
                ring(messages, ranks, ranks - 1, part);
                ring(messages, ranks, ranks - 1, part);
            }
            case REDUCE_SCATTER, ALL_GATHER -> ring(messages, ranks, ranks - 1, part);
            case ALL_TO_ALL -> {
                for (int from = 0; from < ranks; from++) {
                    for (int to = 0; to < ranks; to++) {
                        if (from != to) {
                            messages.add(new Message(from, to, part));
                        }
                    }
                }
            }
            case BROADCAST -> {
                for (int k = 0; k < ranks - 1; k++) {
                    messages.add(new Message(k, k + 1, size));
                }
            }
            case REDUCE -> {
                for (int k = 0; k < ranks - 1; k++) {
                    messages.add(new Message(ranks - 1 - k, ranks - 2 - k, size));
                }
            }
            case ISEND -> messages.add(new Message(0, 1, size));
            case BARRIER -> ring(messages, ranks, 1, 0);
            case INCAST -> {
                for (int from = 1; from < ranks; from++) {
                    messages.add(new Message(from, 0, size));
                }
            }
            case IRECV, EPOCH_END -> {}
        }
        return messages;
    }

    private static void ring(List<Message> messages, int ranks, int steps, long bytes) {
        for (int step = 0; step < steps; step++) {
            for (int rank = 0; rank < ranks; rank++) {
                messages.add(new Message(rank, (rank + 1) % ranks, bytes));
            }
        }
    }
}
