package io.cqring.notify;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.ChildJob;
import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Main class of a process that writes to a queue in a file, or sleeps on it and polls, until it has done its part or is killed. It says
 * {@code ready}, reads one line, and plays. What it has done stands in a second file, its ledger, which survives it.
 *
 * <p>Line: {@code role queue socket ledger first count seed}. Ids are {@code first} and up to before {@code first + count}.
 */
final class WakeupVictim {
    /** One more than the last id that was published or handled, as far as calls have returned. */
    static final int PROGRESS = 0;

    /** 1 once it has the role, and a sender its connection. */
    static final int PLAYING = 8;

    /** Times that the queue was full. */
    static final int REFUSED = 16;

    /** Id + 1 of what came instead of the next one. */
    static final int FAULT = 24;

    /** Events that found nobody. */
    static final int LOST = 32;

    /** 1 once all is done. */
    static final int DONE = 40;

    static final int LEDGER_BYTES = 64;

    private WakeupVictim() {}

    /**
     * Entry point.
     *
     * @param args none
     * @throws Exception if something is wrong
     */
    public static void main(String[] args) throws Exception {
        String[] job = ChildJob.await();
        if (job == null) {
            return;
        }
        QueueMemory memory = QueueMemory.attach(Path.of(job[1]));
        Path socket = Path.of(job[2]);
        QueueMemory ledger = QueueMemory.attach(Path.of(job[3]));
        long first = Long.parseLong(job[4]);
        long count = Long.parseLong(job[5]);
        if (job[0].equals("writer")) {
            write(memory, socket, ledger, first, first + count, new SplittableRandom(Long.parseLong(job[6])));
        } else {
            poll(memory, socket, ledger, first, first + count);
        }
        ledger.putLongRelease(DONE, 1);
        new CountDownLatch(1).await(); // until the test has seen what is left
    }

    /** Single entries and batches, now at once, now after a while. */
    private static void write(
            QueueMemory memory, Path socket, QueueMemory ledger, long first, long end, SplittableRandom random)
            throws IOException {
        WakeupSender sender = WakeupSender.to(socket);
        CompletionWriter writer = CompletionQueue.attach(memory, sender, 0).writer();
        writer.recover();
        ledger.putLongRelease(PLAYING, 1);
        long next = first;
        while (next != end) {
            int batch = random.nextBoolean() ? 1 : random.nextInt(1, 17);
            for (int i = 0; i < batch && next != end; i++) {
                long header = CqeLayout.header(CqeOpcode.RECV, false, (int) next, 7, 0);
                boolean taken = batch == 1 ? writer.write(header, next, 0, 0, 0) : writer.stage(header, next, 0, 0, 0);
                if (taken) {
                    next++;
                } else {
                    ledger.putLongRelease(REFUSED, ledger.getLong(REFUSED) + 1);
                    break;
                }
            }
            writer.flush();
            ledger.putLongRelease(PROGRESS, next);
            ledger.putLongRelease(LOST, sender.lost());
            switch (random.nextInt(8)) {
                case 0 -> LockSupport.parkNanos(random.nextInt(200_000));
                case 1, 2 -> {
                    for (int spins = random.nextInt(3000); spins != 0; spins--) {
                        Thread.onSpinWait();
                    }
                }
                default -> {}
            }
        }
    }

    private static void poll(QueueMemory memory, Path socket, QueueMemory ledger, long first, long end)
            throws IOException, InterruptedException {
        CompletionChannel channel = CompletionChannel.ofQueues(1);
        CompletionQueue queue = channel.attach(memory, socket);
        queue.poll(entry -> {}, 0); // takes the role
        ledger.putLongRelease(PLAYING, 1);
        long[] next = {first};
        while (next[0] != end) {
            channel.await(queue, 1, TimeUnit.DAYS); // beside an entry: all hangs, and who waits for us finds out
            queue.poll(
                    entry -> {
                        if (entry.workRequestId() != next[0]) {
                            ledger.putLongRelease(FAULT, 1 + entry.workRequestId());
                        }
                        next[0]++;
                        ledger.putLongRelease(PROGRESS, next[0]);
                    },
                    16);
        }
    }
}
