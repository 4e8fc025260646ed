package io.cqring.jmh;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * How many entries per second cross from one writer thread to one poller thread? One operation is one entry.
 *
 * <p>JMH runs one ring after the other, each in a JVM of its own, so a machine whose speed drifts spoils the comparison: for
 * ratios use the {@code compare} command, which measures in paired rounds. This class is for JMH's profilers, such as
 * {@code -prof gc}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(
        value = 1,
        jvmArgsAppend = {"--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED", "-Dagrona.disable.bounds.checks=true"})
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
public class RingThroughput {
    /** Entries per invocation. */
    static final int ENTRIES = 1 << 20;

    /** The ring. */
    @Param
    public Contender ring;

    /** Bytes per entry. */
    @Param({"64", "32"})
    public int entryBytes;

    private Transfer transfer;
    private Thread writer;

    /** Invocations so far; the writer sends one invocation's entries each time it rises, and ends when it is negative. */
    private volatile long turn;

    /** The poller's own count of invocations. */
    private long turns;

    /** Makes the ring and starts its writer. The benchmark's own thread is the poller. */
    @Setup
    public void start() {
        transfer = ring.create(entryBytes);
        long done = turns;
        turn = done;
        writer = new Thread(() -> writeTurns(done), "writer");
        writer.setDaemon(true);
        writer.start();
    }

    private void writeTurns(long from) {
        for (long done = from; ; done++) {
            while (turn == done) {
                Thread.onSpinWait();
            }
            if (turn < 0) {
                return;
            }
            for (int first = 0; first != ENTRIES; first += RoundRunner.SLICE) {
                transfer.send(first, RoundRunner.SLICE);
            }
        }
    }

    /**
     * Moves {@link #ENTRIES} entries and checks that they are what was sent.
     *
     * @return what their words add up to
     */
    @Benchmark
    @OperationsPerInvocation(ENTRIES)
    public long transfer() {
        long before = transfer.tally().sum;
        turn = ++turns;
        transfer.receive(ENTRIES);
        long sum = transfer.tally().sum - before;
        if (sum != Transfer.expectedSum(ENTRIES, Transfer.wordsOf(entryBytes))) {
            throw new IllegalStateException("words add up to something else than what was sent: " + sum);
        }
        return sum;
    }

    /**
     * Ends the writer.
     *
     * @throws InterruptedException if interrupted meanwhile
     */
    @TearDown
    public void stop() throws InterruptedException {
        turn = -1;
        writer.join();
    }
}
