package io.cqring.simnic.cli;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
import io.cqring.notify.CompletionChannel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Which queues are to be polled, and sleep while none is. A queue is awake, and polled, or it is armed, and left alone until its event
 * comes.
 *
 * <pre>
 *   awake ──► polled empty (HYBRID: many times) ──► armed ──► nothing there ──► asleep
 *     ▲                                               └─ something there ─┐        │
 *     └───────────────────────────────────────────────────────────────────┴────────┘ event
 * </pre>
 *
 * <p>INTERRUPT sleeps also if something was there: a device that compares the armed index fires for that too.
 *
 * <p>For one thread, the one that polls. It sleeps in its channel; with several channels, in a selector over all of them.
 */
final class QueueWatch implements AutoCloseable {
    /** HYBRID: empty polls in a row before a queue is armed. */
    static final int DRY_POLLS = 64;

    private static final long NS_PER_MS = 1_000_000;

    private final PollMode mode;
    private final CompletionChannel[] channels;
    private final Watched[] watched;
    private final IdentityHashMap<CompletionQueue, Watched> byQueue = new IdentityHashMap<>();

    /** Null if there is one channel. */
    private final Selector selector;

    private int awake;
    private long arms;
    private long missedEvents;
    private long vainEvents;

    private static final class Watched {
        CompletionQueue queue;
        boolean awake = true;

        /** Woken by an event, and not polled since. */
        boolean woken;

        int dryPolls;
    }

    QueueWatch(EventOptions options, int queues) {
        this.mode = options.mode();
        this.channels = new CompletionChannel[options.eqs()];
        final int each = (queues - 1) / channels.length + 1;
        Arrays.setAll(channels, i -> CompletionChannel.ofQueues(each));
        this.watched = new Watched[queues];
        this.awake = queues;
        try {
            this.selector = channels.length == 1 ? null : Selector.open();
            for (CompletionChannel channel : channels) {
                if (selector != null) {
                    channel.selectable().register(selector, SelectionKey.OP_READ);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("no selector for " + channels.length + " channels", e);
        }
    }

    /** Makes the queue of a number; each number once. */
    CompletionQueue create(int number, CompletionQueue.Builder described) {
        final Watched made = new Watched();
        made.queue = channel(number).createForDevice(described);
        watched[number] = made;
        byQueue.put(made.queue, made);
        return made.queue;
    }

    CompletionChannel channel(int number) {
        return channels[number % channels.length];
    }

    boolean isAwake(int number) {
        return watched[number].awake;
    }

    boolean allAsleep() {
        return awake == 0;
    }

    /** A queue that is awake has been polled: arms it if it is time. */
    void polled(int number, int taken) {
        final Watched polled = watched[number];
        if (taken == 0 && polled.woken) {
            vainEvents++;
        }
        polled.woken = false;
        if (taken != 0) {
            polled.dryPolls = 0;
            return;
        }
        polled.dryPolls++;
        if (mode == PollMode.HYBRID && polled.dryPolls < DRY_POLLS) {
            return;
        }
        polled.dryPolls = 0;
        arms++;
        final boolean missed = polled.queue.arm(ArmMode.NEXT);
        if (missed) {
            missedEvents++;
        }
        if (!missed || mode == PollMode.INTERRUPT) {
            polled.awake = false;
            awake--;
        }
    }

    /** Waits for an event; takes all that are there. False if none came in time. */
    boolean await(long nanos) {
        try {
            return selector == null ? awaitChannel(nanos) : awaitSelector(nanos);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot select", e);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", interrupted);
        }
    }

    private boolean awaitChannel(long nanos) throws InterruptedException {
        final boolean got = take(channels[0], nanos);
        return takeAll() || got;
    }

    private boolean awaitSelector(long nanos) throws IOException, InterruptedException {
        final long start = System.nanoTime();
        boolean got = takeAll(); // also makes each channel ready to be selected
        long left = nanos;
        while (!got && left > 0) {
            selector.select(Math.max(1, left / NS_PER_MS));
            selector.selectedKeys().clear();
            got = takeAll();
            left = nanos - (System.nanoTime() - start);
        }
        return got;
    }

    private boolean takeAll() throws InterruptedException {
        boolean got = false;
        for (CompletionChannel channel : channels) {
            while (take(channel, 0)) {
                got = true;
            }
        }
        return got;
    }

    private boolean take(CompletionChannel channel, long nanos) throws InterruptedException {
        final CompletionQueue queue = channel.getEvent(nanos, TimeUnit.NANOSECONDS);
        if (queue == null) {
            return false;
        }
        channel.ack(queue, 1);
        final Watched raised = byQueue.get(queue);
        raised.woken = true;
        wake(raised);
        return true;
    }

    private void wake(Watched sleeping) {
        if (!sleeping.awake) {
            sleeping.awake = true;
            awake++;
        }
    }

    /** The watchdog has had enough: every queue is polled again, whatever the events say. */
    void wakeAll() {
        for (Watched queue : watched) {
            queue.queue.takeEvent(); // an arm that was answered without an event could not be answered again
            wake(queue);
        }
    }

    /** Fills in what was counted. */
    void report(RunReport report) {
        await(0); // what nobody has taken yet counts too
        report.arms = arms;
        report.missedEvents = missedEvents;
        report.spuriousWakeups = vainEvents;
        for (CompletionChannel channel : channels) {
            report.events += channel.events();
            report.interrupts += channel.interrupts();
            report.spuriousWakeups += channel.spuriousWakeups();
            report.eqOverruns += channel.overruns();
        }
    }

    @Override
    public void close() {
        for (CompletionChannel channel : channels) {
            channel.close();
        }
        if (selector != null) {
            try {
                selector.close();
            } catch (IOException e) {
                throw new UncheckedIOException("cannot close a selector", e);
            }
        }
    }
}
