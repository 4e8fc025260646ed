package io.cqring.jmh;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Group;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** Stands in until there is a benchmark: shows that the processor runs under Error Prone and -Werror. */
@State(Scope.Group)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 1, time = 1)
@Measurement(iterations = 1, time = 1)
public class PlaceholderBenchmark {
    private volatile long value;

    /**
     * Writes.
     *
     * @return what it wrote
     */
    @Benchmark
    @Group("pair")
    public long write() {
        long now = System.nanoTime();
        value = now;
        return now;
    }

    /**
     * Reads.
     *
     * @return what it read
     */
    @Benchmark
    @Group("pair")
    public long read() {
        return value;
    }
}
