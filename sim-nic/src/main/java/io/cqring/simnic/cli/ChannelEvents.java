package io.cqring.simnic.cli;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionQueue;
import io.cqring.notify.CompletionChannel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.agrona.collections.Object2IntHashMap;

/** Events of the library's queues: the thread sleeps in its channel; with several channels, in a selector over all of them. */
final class ChannelEvents implements EventSource {
    private static final long NS_PER_MS = 1_000_000;

    private final CompletionChannel[] channels;
    private final CompletionQueue[] queues;
    private final Object2IntHashMap<CompletionQueue> numbers = new Object2IntHashMap<>(NONE);

    /** Null if there is one channel. */
    private final Selector selector;

    ChannelEvents(int eqs, int queues) {
        this.queues = new CompletionQueue[queues];
        this.channels = new CompletionChannel[eqs];
        final int each = (queues - 1) / eqs + 1;
        Arrays.setAll(channels, i -> CompletionChannel.ofQueues(each));
        try {
            this.selector = eqs == 1 ? null : Selector.open();
            for (CompletionChannel channel : channels) {
                if (selector != null) {
                    channel.selectable().register(selector, SelectionKey.OP_READ);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("no selector for " + eqs + " channels", e);
        }
    }

    /** Makes the queue of a number; each number once. */
    CompletionQueue create(int number, CompletionQueue.Builder described) {
        queues[number] = channel(number).createForDevice(described);
        numbers.put(queues[number], number);
        return queues[number];
    }

    CompletionChannel channel(int number) {
        return channels[number % channels.length];
    }

    @Override
    public boolean arm(int queue) {
        return queues[queue].arm(ArmMode.NEXT);
    }

    @Override
    public int next(long nanos) throws InterruptedException {
        if (selector == null) {
            return take(channels[0], nanos);
        }
        final int found = takeAny(); // also makes each channel ready to be selected
        if (found != NONE || nanos <= 0) {
            return found;
        }
        try {
            selector.select(Math.max(1, nanos / NS_PER_MS));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot select", e);
        }
        selector.selectedKeys().clear();
        return takeAny();
    }

    private int takeAny() throws InterruptedException {
        for (CompletionChannel channel : channels) {
            final int found = take(channel, 0);
            if (found != NONE) {
                return found;
            }
        }
        return NONE;
    }

    private int take(CompletionChannel channel, long nanos) throws InterruptedException {
        final CompletionQueue queue = channel.getEvent(nanos, TimeUnit.NANOSECONDS);
        if (queue == null) {
            return NONE;
        }
        channel.ack(queue, 1);
        return numbers.getValue(queue);
    }

    @Override
    public void giveUp(int queue) {
        queues[queue].takeEvent(); // an arm that was answered without an event could not be answered again
    }

    @Override
    public void report(RunReport report) {
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
