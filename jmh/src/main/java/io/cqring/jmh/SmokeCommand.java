package io.cqring.jmh;

import java.io.PrintWriter;
import java.util.Collection;
import java.util.concurrent.Callable;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * {@code smoke}: do the benchmarks work? Everything runs shortly, in this JVM and in JMH's forks, on both routes; the
 * checksums must be right and a completion queue must allocate nothing. No time decides: that is for a quiet machine.
 */
@Command(
        name = "smoke",
        mixinStandardHelpOptions = true,
        description = "Runs everything shortly; exit code 1 if a checksum is wrong or a completion queue allocates.")
final class SmokeCommand implements Callable<Integer> {
    /** Heap bytes per entry that count as none: what JMH itself allocates, spread over the entries of an iteration. */
    private static final double NOTHING = 0.05;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws RunnerException {
        PrintWriter out = spec.commandLine().getOut();
        for (int entryBytes : new int[] {64, 32}) {
            ThroughputComparison comparison = ThroughputComparison.measure(entryBytes, 2, 0.02);
            comparison.print(out);
            for (Contender ours : new Contender[] {Contender.CQRING, Contender.CQRING_CLAIM}) {
                double bytes = comparison.allocatedPerEntry(ours);
                if (bytes != 0) {
                    return failed(out, ours.label() + " allocates " + bytes + " B per entry of " + entryBytes + " B");
                }
            }
        }
        for (SharedComparison.Kind kind : SharedComparison.Kind.values()) {
            SharedComparison.measure(kind, 2, 0.01).print(out);
        }
        PollComparison.measure(2, 0.01).print(out);
        new EventComparison(2, 1, 50, 4096).print(out);
        return jmh(out, "unsafe") && jmh(out, "buffer") ? 0 : 1;
    }

    /** Runs our benchmarks in JMH's forks. False if one did not run or allocates. */
    private static boolean jmh(PrintWriter out, String route) throws RunnerException {
        String jvmRoute = "-Dcqring.memory.route=" + route;
        Collection<RunResult> throughput = new Runner(shortly(RingThroughput.class, jvmRoute)
                        .param("ring", Contender.CQRING.name())
                        .param("entryBytes", "64")
                        .build())
                .run();
        Collection<RunResult> poll =
                new Runner(shortly(PollCost.class, jvmRoute).build()).run();
        return allocateNothing(out, throughput, 1, route) && allocateNothing(out, poll, 3, route);
    }

    private static ChainedOptionsBuilder shortly(Class<?> benchmark, String jvmArgument) {
        return new OptionsBuilder()
                .include(benchmark.getName() + "\\..*")
                .jvmArgsPrepend(jvmArgument)
                .warmupIterations(1)
                .warmupTime(TimeValue.milliseconds(500))
                .measurementIterations(1)
                .measurementTime(TimeValue.milliseconds(500))
                .forks(1)
                .addProfiler(GCProfiler.class)
                .verbosity(VerboseMode.SILENT)
                .shouldFailOnError(true);
    }

    private static boolean allocateNothing(PrintWriter out, Collection<RunResult> results, int wanted, String route) {
        boolean good = results.size() == wanted;
        if (!good) {
            failed(out, wanted + " benchmarks must have run: " + results.size());
        }
        for (RunResult result : results) {
            String name = result.getParams().getBenchmark() + ", route " + route;
            double bytes =
                    result.getSecondaryResults().get("gc.alloc.rate.norm").getScore();
            out.printf("JMH: %s: %.6f B per entry%n", name, bytes);
            if (!(bytes <= NOTHING)) {
                failed(out, name + " allocates " + bytes + " B per entry");
                good = false;
            }
        }
        out.flush();
        return good;
    }

    private static int failed(PrintWriter out, String why) {
        out.println("SMOKE FAILED: " + why);
        out.flush();
        return 1;
    }
}
