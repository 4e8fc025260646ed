package io.cqring.jmh;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What does it cost to poll one entry that is in the cache? One operation is one entry <em>written and polled</em>, by one
 * thread; the writing is the same code for all. The {@code compare-poll} command times the polling alone, in
 * paired rounds. The other route: {@code -jvmArgsAppend -Dcqring.memory.route=buffer}.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(PollRing.CAPACITY)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED")
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 10, time = 1)
public class PollCost {
    private final PollRing handler = new PollRing.Handler();
    private final PollRing cursor = new PollRing.Cursor();
    private final PollRing handWritten = new PollRing.HandWritten();

    /**
     * Polls with a handler.
     *
     * @return the sum of all words
     */
    @Benchmark
    public long handler() {
        handler.fill();
        return handler.drain();
    }

    /**
     * Polls with a cursor.
     *
     * @return the sum of all words
     */
    @Benchmark
    public long cursor() {
        cursor.fill();
        return cursor.drain();
    }

    /**
     * Polls with a loop that does not use the library.
     *
     * @return the sum of all words
     */
    @Benchmark
    public long handWritten() {
        handWritten.fill();
        return handWritten.drain();
    }
}
