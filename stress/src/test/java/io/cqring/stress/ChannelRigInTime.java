package io.cqring.stress;

import io.cqring.cq.CompletionQueue;
import io.cqring.notify.CompletionChannel;
import io.cqring.notify.Moderation;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A host that waits with moderation, a writer that writes at given instants, on the clock of {@link Explorer}. All times are in
 * microseconds from the start.
 *
 * <p>Loaded by {@link HookedClasses}, so that the classes it uses are the hooked ones.
 */
public final class ChannelRigInTime implements Explorer.Run {
    private static final int CAPACITY = 4;
    private static final long US = 1000;

    private final CompletionChannel channel = CompletionChannel.ofQueues(1);
    private final CompletionQueue queue = channel.create(CompletionQueue.ofCapacity(CAPACITY));
    private final String calls;
    private final String writes;
    private final String expected;
    private final StringBuilder seen = new StringBuilder();

    /**
     * A rig.
     *
     * @param calls    waits, one behind the other: moderation, then the most time to wait. After each, what is there is polled, unless a
     *                 {@code keep} follows
     * @param writes   instants of one entry each; those at 0 come before the first wait
     * @param expected for each wait, the instant at which it returns and the entries that are there; {@code -} if it says that there is none
     */
    public ChannelRigInTime(String calls, String writes, String expected) {
        this.calls = calls;
        this.writes = writes;
        this.expected = expected;
        for (String write : writes.split(" ", -1)) {
            if ("0".equals(write)) {
                write();
            }
        }
    }

    private void write() {
        if (!queue.writer().write(0, 1, 0, 0, 0)) {
            throw new IllegalStateException("no room");
        }
        queue.writer().release();
    }

    @Override
    public List<Runnable> bodies() {
        return List.of(this::host, this::device);
    }

    private void host() {
        long start = System.nanoTime();
        for (String call : calls.split("; ", -1)) {
            String[] words = call.split(" ", -1);
            boolean ready;
            try {
                ready = channel.awaitModerated(
                        queue, Moderation.parse(words[0]), Long.parseLong(words[1]), TimeUnit.MICROSECONDS);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            seen.append(seen.length() == 0 ? "" : "; ").append((System.nanoTime() - start) / US);
            boolean keeps = words.length > 2;
            int there = keeps ? queue.size() : queue.poll(completion -> {}, CAPACITY);
            seen.append(ready ? " " + there : " -");
        }
        queue.releasePoller();
    }

    private void device() {
        long start = System.nanoTime();
        for (String write : writes.split(" ", -1)) {
            if (!"0".equals(write)) {
                long left = start + Long.parseLong(write) * US - System.nanoTime();
                if (left > 0) { // else at one instant with the last
                    LockSupport.parkNanos(this, left);
                }
                write();
            }
        }
    }

    @Override
    public void check() {
        if (!expected.contentEquals(seen)) {
            throw new IllegalStateException("expected " + expected + ", but it was " + seen);
        }
    }
}
