package io.cqring.cq;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.ChildJob;
import io.cqring.testing.StoppingMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;

/**
 * Main class of a process that plays one end of a queue in a file until it is killed. It says {@code ready}, reads one line, and
 * plays. What it has done stands in a second file, its ledger, which survives it.
 *
 * <p>Line: {@code role queue ledger first seed stopAtStore stopAtEntry}. {@code first} is the number of the next entry. A stop
 * of -1 never comes; at the others it parks, in front of a store to the queue or within a handler, and says so in the ledger.
 */
final class Victim {
    /** Number of the next entry: to be published, as far as calls have returned; to be handled. */
    static final int PROGRESS = 0;

    /** 1 once it has parked. */
    static final int STOPPED = 8;

    /** Times that the queue was full, or empty. */
    static final int REFUSED = 16;

    /** 1 once it has the role. */
    static final int PLAYING = 24;

    /** 1 + the entry that was not what it should be. */
    static final int FAULT = 32;

    /** Limit of the poll under way, negative if it copies entries out. */
    static final int LIMIT = 40;

    static final int LEDGER_BYTES = 64;

    /** The most entries in one batch: see {@link #way}. */
    static final int MOST_IN_HAND = 24;

    private final QueueMemory ledger;
    private final StoppingMemory memory;
    private final CompletionQueue queue;
    private final SplittableRandom random;
    private final long stopAtEntry;
    private long next;

    private Victim(String[] job) throws IOException {
        this.ledger = QueueMemory.attach(Path.of(job[2]));
        QueueMemory real = QueueMemory.attach(Path.of(job[1]));
        this.next = Long.parseLong(job[3]);
        this.random = new SplittableRandom(Long.parseLong(job[4]));
        long stopAtStore = Long.parseLong(job[5]);
        this.stopAtEntry = Long.parseLong(job[6]);
        this.memory = stopAtStore < 0 ? null : new StoppingMemory(real, this::park);
        this.queue = CompletionQueue.attach(stopAtStore < 0 ? real : memory);
        if (memory != null) {
            memory.stopAfter(stopAtStore);
        }
    }

    /** How an entry is written: eight of each kind, so that batches of up to 24 come about. */
    static Way way(long number) {
        return Way.at((int) (number >>> 3) % 5);
    }

    /**
     * Entry point.
     *
     * @param args none
     * @throws IOException if a file cannot be used
     */
    public static void main(String[] args) throws IOException {
        warmUp();
        String[] job = ChildJob.await();
        if (job == null) {
            return;
        }
        Victim victim = new Victim(job);
        if (job[0].equals("writer")) {
            victim.write();
        } else {
            victim.poll();
        }
    }

    /** Loads the classes. */
    private static void warmUp() {
        CompletionQueue queue = CompletionQueue.ofCapacity(4).create();
        for (int n = 0; n < 100; n++) {
            int number = n;
            way(n).publish(queue.writer(), n, 64);
            Polling.at(n).take(queue, 1, new Polling.InOrder(64, way(number), number));
        }
    }

    private void park() {
        ChildJob.park(ledger, STOPPED);
    }

    private void write() {
        CompletionWriter writer = queue.writer();
        int stride = queue.strideBytes();
        writer.flush(); // takes the role
        ledger.putLongRelease(PLAYING, 1);
        int inHand = 0;
        while (true) {
            boolean accepted = way(next).put(writer, next, stride);
            if (accepted) {
                next++;
                inHand++;
            }
            if (!accepted || !way(next - 1).needsFlush() || random.nextInt(8) == 0) {
                if (inHand != 0) {
                    writer.flush();
                    inHand = 0;
                    ledger.putLongRelease(PROGRESS, next);
                }
            }
            if (!accepted) {
                ledger.putLongRelease(REFUSED, ledger.getLong(REFUSED) + 1);
                Thread.onSpinWait();
            }
        }
    }

    private void poll() {
        queue.poll(c -> {}, 0); // takes the role
        ledger.putLongRelease(PLAYING, 1);
        int stride = queue.strideBytes();
        Polling.Taker taker = new Polling.Taker() {
            @Override
            public void onView(Completion view) {
                check(() -> Numbered.verify(view, next, way(next), stride));
            }

            @Override
            public void onCopy(WorkCompletion copy) {
                check(() -> Numbered.verify(copy, next, way(next), stride));
            }
        };
        while (true) {
            Polling polling = Polling.at(random.nextInt(5));
            int limit = random.nextInt(1, 2 * queue.capacity() + 1);
            ledger.putLongRelease(LIMIT, polling == Polling.COPY ? -limit : limit);
            if (polling.take(queue, limit, taker) == 0) {
                ledger.putLongRelease(REFUSED, ledger.getLong(REFUSED) + 1);
            }
        }
    }

    private void check(Runnable verify) {
        try {
            verify.run();
        } catch (AssertionError e) {
            ledger.putLongRelease(FAULT, 1 + next);
            throw e;
        }
        next++;
        ledger.putLongRelease(PROGRESS, next);
        if (next == stopAtEntry) {
            park();
        }
    }
}
