package io.cqring.examples;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqAttachException;
import io.cqring.memory.QueueMemory;
import io.cqring.notify.CompletionChannel;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * Takes a million completions out of the queue that {@link WriterProcess} makes, and prints the sum of their ids. Sleeps while there are
 * none, and ends if the writer does too early.
 */
public final class PollerProcess {
    private PollerProcess() {}

    /**
     * Entry point.
     *
     * @param args the file
     * @throws IOException          if it cannot be mapped
     * @throws InterruptedException never
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        try (CompletionChannel channel = CompletionChannel.ofQueues(1)) {
            CompletionQueue queue = attach(channel, Path.of(args[0]), Path.of(args[0] + ".sock"));
            long[] sum = new long[1];
            int taken = 0;
            while (taken < 1_000_000) {
                if (channel.await(queue, 1, TimeUnit.SECONDS)) {
                    int more = queue.poll(completion -> sum[0] += completion.workRequestId(), 64);
                    taken += more;
                    if (more == 0 && channel.connectedSenders(queue) == 0) {
                        System.out.println("the writer has ended after " + taken);
                        return;
                    }
                }
            }
            queue.close();
            System.out.println(sum[0]);
        }
    }

    private static CompletionQueue attach(CompletionChannel channel, Path file, Path socket)
            throws IOException, InterruptedException {
        while (true) {
            try {
                return channel.attach(QueueMemory.attach(file), socket);
            } catch (NoSuchFileException e) {
                Thread.sleep(10); // the writer has not made it yet
            } catch (CqAttachException e) {
                if (!e.isUnfinished()) {
                    throw e;
                }
                Thread.sleep(10); // it is at it
            }
        }
    }
}
