package io.cqring.simnic.workload;

import java.util.Locale;
import java.util.Objects;

/**
 * The messages of one collective among R ranks, in chunks of at most C bytes: how many there are, and for every rank
 * what it sends, to whom, and after how many arrivals. Immutable; computed once from formulas, no query allocates or
 * loops.
 *
 * <p>With S = the size of the collective and B = ceil(S / R):
 *
 * <pre>
 *   kind             steps    messages   bytes each  who sends in a step
 *   all_reduce       2(R-1)   2(R-1)R    B           ring: every rank to the next (after R-1 comes 0)
 *   reduce_scatter   R-1      (R-1)R     B           ring
 *   all_gather       R-1      (R-1)R     B           ring
 *   all_to_all       1        R(R-1)     B           every rank to every other
 *   broadcast        R-1      R-1        S           chain: in step k rank k to rank k+1
 *   reduce           R-1      R-1        S           chain: in step k rank R-1-k to rank R-2-k
 *   isend            1        1          S           rank 0 to rank 1
 *   barrier          1        R          0           ring
 *   incast           1        R-1        S           every rank but 0 to rank 0
 *   irecv            0        0          -           nobody: it is the other half of isend
 *   epoch_end        0        0          -           nobody
 * </pre>
 *
 * <p>A message of b bytes is max(1, ceil(b / C)) chunks, so an empty message is one chunk of 0 bytes. All are C bytes
 * long except the last, which is what remains. Each chunk gives 2 completions.
 *
 * <p><b>How to run it.</b> Rank r makes {@link #sends sends(r)} sends, numbered n = 0, 1, ... and started in that
 * order. Send n goes to {@link #destination destination(r, n)} and may start once {@link #arrivalsNeeded
 * arrivalsNeeded(r, n)} messages of this collective have <i>fully</i> arrived at r (all their chunks). The collective
 * is over when every rank has made all its sends and received {@link #messagesInto messagesInto(r)} messages. These
 * rules cannot deadlock. In a ring send n needs n arrivals, as in NCCL: a step passes on what the step before it
 * brought. All messages of a ring or a chain reach a rank from the same neighbour, in order.
 *
 * <p>The rules order one collective within itself. Whether the next collective waits for all ranks is the caller's
 * choice.
 */
public final class MessagePlan {
    private final Collective collective;
    private final Shape shape;
    private final int ranks;
    private final int steps;
    private final long bytes;
    private final long chunkBytes;
    private final long messages;
    private final long chunksPerMessage;
    private final long chunks;
    private final long completions;

    private MessagePlan(Collective collective, int ranks, long chunkBytes) {
        this.collective = collective;
        this.ranks = ranks;
        this.chunkBytes = chunkBytes;
        CollectiveKind kind = collective.kind();
        shape = shape(kind);
        steps = steps(kind, ranks);
        bytes = bytesPerMessage(collective, ranks);
        messages = shape.messages(ranks, steps);
        chunksPerMessage = Math.max(1, ceilDivide(bytes, chunkBytes));
        chunks = Math.multiplyExact(messages, chunksPerMessage);
        completions = Math.multiplyExact(2, chunks);
    }

    /**
     * Plans one collective.
     *
     * @param collective what to plan
     * @param ranks R, how many ranks take part, at least 2
     * @param chunkBytes C, the most bytes in one chunk, at least 1
     * @return the plan; a plan that exists has all its numbers within {@code long}
     * @throws IllegalArgumentException if {@code ranks} or {@code chunkBytes} is out of range
     * @throws ArithmeticException if a number of the plan does not fit; the message is one line that says which
     *     collective
     */
    public static MessagePlan of(Collective collective, int ranks, long chunkBytes) {
        checkArguments(ranks, chunkBytes);
        try {
            return new MessagePlan(collective, ranks, chunkBytes);
        } catch (ArithmeticException e) {
            ArithmeticException explained = new ArithmeticException(String.format(
                    Locale.ROOT,
                    "%s of %d bytes over %d ranks in chunks of %d bytes needs more than %d completions",
                    collective.kind().label(),
                    collective.bytes(),
                    ranks,
                    chunkBytes,
                    Long.MAX_VALUE));
            explained.initCause(e);
            throw explained;
        }
    }

    static void checkArguments(int ranks, long chunkBytes) {
        if (ranks < 2) {
            throw new IllegalArgumentException("ranks must be at least 2: ranks=" + ranks);
        }
        if (chunkBytes < 1) {
            throw new IllegalArgumentException("chunkBytes must be at least 1: chunkBytes=" + chunkBytes);
        }
    }

    private static Shape shape(CollectiveKind kind) {
        return switch (kind) {
            case ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BARRIER -> Shape.RING;
            case ALL_TO_ALL -> Shape.MESH;
            case BROADCAST -> Shape.CHAIN_UP;
            case REDUCE -> Shape.CHAIN_DOWN;
            case ISEND -> Shape.PAIR;
            case INCAST -> Shape.FUNNEL;
            case IRECV, EPOCH_END -> Shape.SILENT;
        };
    }

    private static int steps(CollectiveKind kind, int ranks) {
        return switch (kind) {
            case ALL_REDUCE -> Math.multiplyExact(2, ranks - 1);
            case REDUCE_SCATTER, ALL_GATHER, BROADCAST, REDUCE -> ranks - 1;
            case ALL_TO_ALL, ISEND, BARRIER, INCAST -> 1;
            case IRECV, EPOCH_END -> 0;
        };
    }

    private static long bytesPerMessage(Collective collective, int ranks) {
        return switch (collective.kind()) {
            case ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL -> ceilDivide(collective.bytes(), ranks);
            case BROADCAST, REDUCE, ISEND, INCAST -> collective.bytes();
            case BARRIER, IRECV, EPOCH_END -> 0;
        };
    }

    /** Rounds up without the overflow of (a + b - 1) / b. Both are non-negative here. */
    private static long ceilDivide(long dividend, long divisor) {
        long quotient = dividend / divisor;
        return dividend % divisor == 0 ? quotient : quotient + 1;
    }

    /**
     * What this is the plan of.
     *
     * @return the collective given to {@link #of}
     */
    public Collective collective() {
        return collective;
    }

    /**
     * What is called.
     *
     * @return the kind of the collective
     */
    public CollectiveKind kind() {
        return collective.kind();
    }

    /**
     * R.
     *
     * @return how many ranks take part
     */
    public int ranks() {
        return ranks;
    }

    /**
     * The length of the longest line of sends that wait for each other.
     *
     * @return steps, as in the table; 0 if nothing is sent
     */
    public int steps() {
        return steps;
    }

    /**
     * The size of every message of this collective: they are all equal.
     *
     * @return bytes per message, 0 or more
     */
    public long bytes() {
        return bytes;
    }

    /**
     * Messages of all ranks together.
     *
     * @return messages, as in the table
     */
    public long messages() {
        return messages;
    }

    /**
     * Chunks in each message.
     *
     * @return chunks per message, at least 1
     */
    public long chunksPerMessage() {
        return chunksPerMessage;
    }

    /**
     * The length of one chunk of a message: C, for the last chunk what remains.
     *
     * @param chunk which one, from 0 to {@link #chunksPerMessage()} - 1
     * @return bytes; 0 only for the single chunk of an empty message
     * @throws IndexOutOfBoundsException if there is no such chunk
     */
    public long chunkBytes(long chunk) {
        Objects.checkIndex(chunk, chunksPerMessage);
        return Math.min(chunkBytes, bytes - chunk * chunkBytes);
    }

    /**
     * Chunks of all messages together.
     *
     * @return {@code messages() * chunksPerMessage()}
     */
    public long chunks() {
        return chunks;
    }

    /**
     * Completions of all chunks, at sender and receiver.
     *
     * @return {@code 2 * chunks()}
     */
    public long completions() {
        return completions;
    }

    /**
     * How many messages a rank sends.
     *
     * @param rank the sender, from 0 to R-1
     * @return messages; 0 if this rank only receives or takes no part
     * @throws IndexOutOfBoundsException if there is no such rank
     */
    public int sends(int rank) {
        Objects.checkIndex(rank, ranks);
        return shape.sends(ranks, steps, rank);
    }

    /**
     * To whom a rank's n-th send goes.
     *
     * @param rank the sender, from 0 to R-1
     * @param n which of its sends, from 0 to {@code sends(rank) - 1}
     * @return the receiving rank, never the sender itself
     * @throws IndexOutOfBoundsException if there is no such rank or send
     */
    public int destination(int rank, int n) {
        Objects.checkIndex(n, sends(rank));
        return shape.destination(ranks, rank, n);
    }

    /**
     * How many messages of this collective must have fully arrived at a rank before its n-th send may start.
     *
     * @param rank the sender, from 0 to R-1
     * @param n which of its sends, from 0 to {@code sends(rank) - 1}
     * @return messages: n in a ring, 1 within a chain, 0 at the head of a chain and wherever all may start at once
     * @throws IndexOutOfBoundsException if there is no such rank or send
     */
    public int arrivalsNeeded(int rank, int n) {
        Objects.checkIndex(n, sends(rank));
        return shape.arrivalsNeeded(ranks, rank, n);
    }

    /**
     * How many messages of this collective arrive at a rank.
     *
     * @param rank the receiver, from 0 to R-1
     * @return messages
     * @throws IndexOutOfBoundsException if there is no such rank
     */
    public int messagesInto(int rank) {
        Objects.checkIndex(rank, ranks);
        return shape.messagesInto(ranks, steps, rank);
    }

    /**
     * For logs and test reports.
     *
     * @return one line with the numbers of the plan
     */
    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "%s of %d bytes, %d ranks: %d messages of %d bytes in %d chunks",
                kind().label(),
                collective.bytes(),
                ranks,
                messages,
                bytes,
                chunks);
    }
}
