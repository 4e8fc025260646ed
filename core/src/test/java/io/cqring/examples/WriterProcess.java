package io.cqring.examples;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.notify.WakeupSender;
import java.io.IOException;
import java.nio.file.Path;

/** Makes a queue in a file and writes a million completions to it. Start {@link PollerProcess} beside it: it is woken from here. */
public final class WriterProcess {
    private WriterProcess() {}

    /**
     * Entry point.
     *
     * @param args the file to make
     * @throws IOException if it cannot be made
     */
    public static void main(String[] args) throws IOException {
        QueueMemory memory = QueueMemory.create(Path.of(args[0]), CompletionQueue.requiredBytes(1024, 64));
        WakeupSender sender = WakeupSender.to(Path.of(args[0] + ".sock"));
        CompletionWriter writer = CompletionQueue.ofCapacity(1024)
                .memory(memory)
                .events(sender, 0)
                .create()
                .writer();
        for (int i = 0; i < 1_000_000; i++) {
            long header = CqeLayout.header(CqeOpcode.RECV, false, i, 7, 0);
            while (!writer.write(header, i, CqeLayout.length(64, 0), 0, System.nanoTime())) {
                Thread.onSpinWait(); // full: the poller is behind, or not there yet
            }
        }
    }
}
