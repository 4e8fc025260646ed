package io.cqring.cq;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.ChildJob;
import io.cqring.testing.StoppingMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;

/**
 * Main class of a process that is one of many writers, or one of many pollers, of a queue in a file until it is killed. It says
 * {@code ready}, reads one line, and plays. What it has done stands in a second file, its ledger, which survives it.
 *
 * <p>Line: {@code role queue ledger first seed stopAtStore stopAtEntry batch}. A writer's first entry has the number
 * {@code first}. A stop of -1 never comes; at the others it parks, in front of a store to the queue, within a handler (poller) or
 * in front of a release store (writer, stopAtEntry), and says so in the ledger. A poller claims batches of {@code batch}; a writer gives claims back if that is not 0.
 */
final class SharedVictim {
    /** Writer: number of the next entry, as far as calls have returned. Poller: entries in its log. */
    static final int PROGRESS = 0;

    /** 1 once it has parked. */
    static final int STOPPED = 8;

    /** Times that the queue was full, or empty. */
    static final int REFUSED = 16;

    /** 1 + the entry that was not what it should be. */
    static final int FAULT = 24;

    /** From here on: numbers of the entries that a poller has handled, in order. */
    static final int LOG = 64;

    static final int LOG_ENTRIES = 1 << 14;

    static final int LEDGER_BYTES = LOG + LOG_ENTRIES * Long.BYTES;

    /** The most entries in one claim: see {@link #way}. */
    static final int MOST_IN_CLAIM = 8;

    private final QueueMemory ledger;
    private final CompletionQueue queue;
    private final SplittableRandom random;
    private final long stopAtEntry;
    private final int batch;
    private long next;

    private SharedVictim(String[] job) throws IOException {
        this.ledger = QueueMemory.attach(Path.of(job[2]));
        QueueMemory real = QueueMemory.attach(Path.of(job[1]));
        this.next = Long.parseLong(job[3]);
        this.random = new SplittableRandom(Long.parseLong(job[4]));
        long stopAtStore = Long.parseLong(job[5]);
        this.stopAtEntry = Long.parseLong(job[6]);
        this.batch = Integer.parseInt(job[7]);
        boolean stopsAtRelease = job[0].equals("writer") && stopAtEntry >= 0;
        if (stopAtStore < 0 && !stopsAtRelease) {
            this.queue = CompletionQueue.attach(real);
        } else {
            StoppingMemory stopping = new StoppingMemory(real, this::park);
            this.queue = CompletionQueue.attach(stopping);
            if (stopsAtRelease) {
                stopping.stopAfterReleases(stopAtEntry);
            } else {
                stopping.stopAfter(stopAtStore);
            }
        }
    }

    /** How an entry is written: eight of each kind, so that claims of up to eight come about. */
    static Way way(long number) {
        return switch ((int) (number >>> 3) & 3) {
            case 0 -> Way.WRITE;
            case 1 -> Way.WRITE_BARE;
            default -> Way.CLAIM;
        };
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
        SharedVictim victim = new SharedVictim(job);
        if (job[0].equals("writer")) {
            victim.write();
        } else {
            victim.poll();
        }
    }

    /** Loads the classes. */
    private static void warmUp() {
        CompletionQueue queue =
                CompletionQueue.ofCapacity(8).writers(2).sharedPollers().create();
        CompletionPoller poller = queue.newPoller();
        SharedWriter writer = queue.newWriter();
        for (int n = 0; n < 100; n++) {
            int number = n;
            NumberedShared.put(writer, way(n), n, 64);
            poller.poll(seen -> Numbered.verify(seen, number, way(number), 64), 1);
        }
        writer.close();
        queue.recover();
    }

    private void park() {
        ChildJob.park(ledger, STOPPED);
    }

    private SharedWriter open() {
        while (true) {
            try {
                return queue.newWriter();
            } catch (IllegalStateException allOpen) { // rows of those that were killed before
                queue.recover();
            }
        }
    }

    private void write() {
        SharedWriter writer = open();
        while (true) {
            int whim = random.nextInt(200);
            if (whim == 0) {
                writer.close();
                writer = open();
            } else if (whim == 1) {
                queue.recover();
            }
            long before = next;
            boolean accepted = way(next) == Way.CLAIM ? writeClaim(writer) : writeOne(writer);
            if (next != before) {
                ledger.putLongRelease(PROGRESS, next);
            }
            if (!accepted) {
                ledger.putLongRelease(REFUSED, ledger.getLong(REFUSED) + 1);
                Thread.onSpinWait();
            }
        }
    }

    private boolean writeOne(SharedWriter writer) {
        boolean accepted = NumberedShared.put(writer, way(next), next, queue.strideBytes());
        next += accepted ? 1 : 0;
        return accepted;
    }

    private boolean writeClaim(SharedWriter writer) {
        int most = Math.min(queue.capacity(), MOST_IN_CLAIM - (int) next % MOST_IN_CLAIM);
        int count = random.nextInt(1, most + 1);
        if (!writer.claim(count)) {
            return false;
        }
        for (int i = 0; i < count; i++) {
            NumberedShared.fill(writer.entry(i), way(next), next + i, queue.strideBytes());
        }
        int publish = batch == 0 ? count : random.nextInt(count + 1);
        writer.commit(publish);
        next += publish;
        return true;
    }

    private void poll() {
        CompletionPoller poller = queue.newPoller(batch);
        while (true) {
            if (poller.poll(this::log, random.nextInt(1, 2 * batch + 1)) == 0) {
                ledger.putLongRelease(REFUSED, ledger.getLong(REFUSED) + 1);
            }
        }
    }

    private void log(Completion seen) {
        long number = seen.workRequestId();
        try {
            Numbered.verify(seen, number, way(number), queue.strideBytes());
        } catch (AssertionError e) {
            ledger.putLongRelease(FAULT, 1 + number);
            throw e;
        }
        ledger.putLong(LOG + next * Long.BYTES, number);
        next++;
        ledger.putLongRelease(PROGRESS, next);
        if (next == stopAtEntry || next == LOG_ENTRIES) {
            park();
        }
    }
}
