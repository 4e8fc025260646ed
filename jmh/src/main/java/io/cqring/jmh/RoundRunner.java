package io.cqring.jmh;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs rounds: one thread that writes, one that polls, the same two for every ring and every round. */
final class RoundRunner implements AutoCloseable {
    /** Entries per call of {@link Transfer#send}; a round is a multiple of it. */
    static final int SLICE = 1 << 16;

    private static final int HANG_SECONDS = 60;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final ExecutorService writer = Executors.newSingleThreadExecutor(task -> daemon(task, "writer"));
    private final ExecutorService poller = Executors.newSingleThreadExecutor(task -> daemon(task, "poller"));

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /**
     * What one thread did in a round.
     *
     * @param startNs        when it started
     * @param endNs          when it was done
     * @param cpuNs          how long it had a core meanwhile
     * @param allocatedBytes what it allocated on the heap meanwhile
     */
    private record Work(long startNs, long endNs, long cpuNs, long allocatedBytes) {
        double cpuShare() {
            return (double) cpuNs / (endNs - startNs);
        }
    }

    /**
     * One round of one ring.
     *
     * @param entries        entries that crossed
     * @param seconds        from the writer's start to the last entry handled
     * @param cpuShare       part of its time for which a thread had a core, 0 to 1: of the thread that had less of it
     * @param emptyPolls     polls that found nothing
     * @param fullRefusals   attempts to write that found the ring full
     * @param allocatedBytes heap allocated by both threads
     */
    record Round(
            long entries, double seconds, double cpuShare, long emptyPolls, long fullRefusals, long allocatedBytes) {
        double entriesPerSecond() {
            return entries / seconds;
        }
    }

    /**
     * Sends {@code slices} x {@link #SLICE} entries through the ring and checks that exactly these came out.
     *
     * @throws IllegalStateException if something else came out, nothing did, or a thread failed
     */
    Round run(Transfer transfer, int slices) {
        long entries = (long) slices * SLICE;
        PollerTally tally = transfer.tally();
        long sumBefore = tally.sum;
        long emptyBefore = tally.emptyPolls;
        long fullBefore = transfer.fullRefusals;
        CyclicBarrier start = new CyclicBarrier(2);
        Future<Work> sent = writer.submit(timed(start, () -> {
            for (int slice = 0; slice < slices; slice++) {
                transfer.send((long) slice * SLICE, SLICE);
            }
        }));
        Future<Work> received = poller.submit(timed(start, () -> transfer.receive(entries)));
        Work sending = result(sent);
        Work receiving = result(received);
        long sum = tally.sum - sumBefore;
        long expected = Transfer.expectedSum(entries, transfer.wide ? 7 : 3);
        if (sum != expected) {
            throw new IllegalStateException(transfer.getClass().getSimpleName() + ": the words of " + entries
                    + " entries must add up to " + expected + ": " + sum);
        }
        return new Round(
                entries,
                (receiving.endNs() - sending.startNs()) / 1e9,
                Math.min(sending.cpuShare(), receiving.cpuShare()),
                tally.emptyPolls - emptyBefore,
                transfer.fullRefusals - fullBefore,
                sending.allocatedBytes() + receiving.allocatedBytes());
    }

    private static Callable<Work> timed(CyclicBarrier start, Runnable work) {
        return () -> {
            start.await();
            long allocatedBefore = THREADS.getCurrentThreadAllocatedBytes();
            long cpuBefore = THREADS.getCurrentThreadCpuTime();
            long startNs = System.nanoTime();
            work.run();
            long endNs = System.nanoTime();
            long cpuNs = THREADS.getCurrentThreadCpuTime() - cpuBefore;
            long allocatedBytes = THREADS.getCurrentThreadAllocatedBytes() - allocatedBefore; // not counting the Work
            return new Work(startNs, endNs, cpuNs, allocatedBytes);
        };
    }

    private static Work result(Future<Work> future) {
        try {
            return future.get(HANG_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException failed) {
            throw new IllegalStateException("a round failed", failed.getCause());
        } catch (TimeoutException hung) {
            throw new IllegalStateException("a round did not end within " + HANG_SECONDS + " s", hung);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", interrupted);
        }
    }

    @Override
    public void close() {
        writer.shutdownNow();
        poller.shutdownNow();
    }
}
