package io.cqring.examples;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqAttachException;
import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Takes a million completions out of the queue that {@link WriterProcess} makes, and prints the sum of their ids. */
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
        CompletionQueue queue = attach(Path.of(args[0]));
        long[] sum = new long[1];
        for (int taken = 0; taken < 1_000_000; ) {
            taken += queue.poll(completion -> sum[0] += completion.workRequestId(), 64);
        }
        queue.close();
        System.out.println(sum[0]);
    }

    private static CompletionQueue attach(Path file) throws IOException, InterruptedException {
        while (true) {
            try {
                return CompletionQueue.attach(QueueMemory.attach(file));
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
