package io.cqring.simnic.cli;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionStatus;
import io.cqring.memory.QueueMemory;
import io.cqring.notify.CompletionChannel;
import io.cqring.notify.Moderation;
import io.cqring.simnic.SimNic;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.WqeLayout;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.agrona.concurrent.BackoffIdleStrategy;

/**
 * Two connected queue pairs on a NIC of their own, whose host posts RDMA WRITEs of eight bytes and takes their completions in one of
 * the ways that are compared. All times are real. The host is the calling thread.
 */
final class PerfRig implements AutoCloseable {
    /** How the host learns of completions. */
    enum Mode {
        /** It looks, and looks again. */
        POLL,

        /** It sleeps until the device says so, then takes what is there; it never looks on its own. */
        INTERRUPT,

        /** It polls until nothing is left, arms, and sleeps. */
        EVENT,

        /** As EVENT, but looks a few hundred times more before it sleeps. */
        HYBRID
    }

    /** What was found in one measurement. */
    record Result(
            double averageUs, double p99Us, double perSecond, double hostCpuPercent, double interruptsPerSecond) {}

    private static final int BYTES = 8;
    private static final int CAPACITY = 8192;
    private static final int BUDGET = 64;
    private static final int DRY_POLLS = 256;

    /** A wait this long means that a wake-up was lost, or the device died. */
    private static final long WATCHDOG_SECONDS = 10;

    private static final long DEVICE_SPINS = 1_000;
    private static final long DEVICE_YIELDS = 1_000;
    private static final long DEVICE_PARK_NS = 50_000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final Mode mode;
    private final int window;
    private final SimNic nic = SimNic.builder().create();
    private final CompletionChannel channel = CompletionChannel.ofQueues(1);
    private final CompletionQueue queue;
    private final QueuePair queuePair;
    private final MemoryRegion source;
    private final MemoryRegion target;
    private final Histogram latencyNs = new Histogram(60_000_000_000L, 3);

    /** When each request that is under way was posted, by slot. */
    private final long[] postedNs;

    private long posted;
    private long completed;
    private int dry;
    private CompletionStatus failure;

    /**
     * Connects everything and starts the device.
     *
     * @param mode       how the host learns of completions
     * @param moderation of the device's events; not for POLL
     * @param cqeBytes   bytes per completion entry
     * @param window     the most requests under way, 1 to 4096
     */
    PerfRig(Mode mode, Moderation moderation, int cqeBytes, int window) {
        this.mode = mode;
        this.window = window;
        final CompletionQueue.Builder described =
                CompletionQueue.ofCapacity(CAPACITY).strideBytes(cqeBytes);
        if (mode == Mode.POLL) {
            this.queue = described.create();
            nic.attach(queue);
        } else {
            this.queue = channel.createForDevice(described);
            nic.attach(queue, channel, moderation);
        }
        final int depth = Integer.highestOneBit(2 * window - 1);
        this.postedNs = new long[depth];
        final ProtectionDomain domain = nic.allocateProtectionDomain();
        this.source = nic.registerMemory(domain, 1 << 20, QueueMemory.allocate(64), AccessRights.LOCAL_READ);
        this.target = nic.registerMemory(
                domain, 1 << 21, QueueMemory.allocate(64), AccessRights.LOCAL_WRITE | AccessRights.REMOTE_WRITE);
        this.queuePair = nic.createQueuePair(domain, queue, queue, depth, 1);
        nic.connect(queuePair, nic.createQueuePair(domain, queue, queue, 1, 1));
        nic.start(new BackoffIdleStrategy(DEVICE_SPINS, DEVICE_YIELDS, DEVICE_PARK_NS, DEVICE_PARK_NS));
    }

    /** Keeps {@code window} requests under way until so many have completed. */
    Result run(long count) throws InterruptedException {
        latencyNs.reset();
        final long interruptsBefore = channel.interrupts();
        final long cpuBefore = THREADS.getCurrentThreadCpuTime();
        final long start = System.nanoTime();
        final long end = completed + count;
        while (completed != end) {
            post(Math.min(end, completed + window));
            take();
        }
        final long elapsed = System.nanoTime() - start;
        final long cpu = THREADS.getCurrentThreadCpuTime() - cpuBefore;
        return new Result(
                latencyNs.getMean() / 1e3,
                latencyNs.getValueAtPercentile(99) / 1e3,
                count * 1e9 / elapsed,
                100.0 * cpu / elapsed,
                (channel.interrupts() - interruptsBefore) * 1e9 / elapsed);
    }

    private void post(long end) {
        if (posted == end) {
            return;
        }
        while (posted != end) {
            postedNs[(int) posted & postedNs.length - 1] = System.nanoTime();
            if (!queuePair.postWrite(
                    posted,
                    source.address(),
                    BYTES,
                    source.lkey(),
                    target.address(),
                    target.rkey(),
                    WqeLayout.FLAG_SIGNALED)) {
                throw new IllegalStateException("send queue is full: " + queuePair);
            }
            posted++;
        }
        queuePair.ringSendDoorbell();
    }

    /** Takes completions that are there, or waits for some in the way of the mode. */
    private void take() throws InterruptedException {
        if (mode == Mode.INTERRUPT) {
            sleep();
        }
        if (queue.poll(this::onCompletion, BUDGET) != 0) {
            dry = 0;
            if (failure != null) {
                throw new IllegalStateException("a request failed: " + failure);
            }
            return;
        }
        switch (mode) {
            case POLL -> Thread.onSpinWait();
            case EVENT -> sleep();
            case HYBRID -> {
                if (++dry < DRY_POLLS) {
                    Thread.onSpinWait();
                } else {
                    dry = 0;
                    sleep();
                }
            }
            case INTERRUPT -> {} // what was there is taken
        }
    }

    private void sleep() throws InterruptedException {
        if (!channel.await(queue, WATCHDOG_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no completion for " + WATCHDOG_SECONDS + " s with " + (posted - completed)
                    + " requests under way; the device: " + nic.failure());
        }
    }

    private void onCompletion(Completion completion) {
        if (completion.status() != CompletionStatus.SUCCESS || completion.workRequestId() != completed) {
            failure = completion.status();
        }
        latencyNs.recordValue(System.nanoTime() - postedNs[(int) completed & postedNs.length - 1]);
        queuePair.retire(completion);
        completed++;
    }

    @Override
    public void close() {
        nic.close();
        channel.close();
    }
}
