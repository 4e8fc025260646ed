package io.cqring.plain;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;

/**
 * Moves a million completions from one thread to another with nothing but core and Agrona on the class path, and prints one line:
 * the checksum, the route and the module. {@link PlainJavaIT} starts it in a JVM without flags; it uses no test class.
 */
public final class MillionEntries {
    private static final int ENTRIES = 1_000_000;

    private MillionEntries() {}

    /**
     * Entry point.
     *
     * @param args none
     * @throws InterruptedException never
     */
    @SuppressWarnings("ThreadPriorityCheck") // yields to the other thread on a machine with few cores
    public static void main(String[] args) throws InterruptedException {
        CompletionQueue queue = CompletionQueue.ofCapacity(256).create();
        CompletionWriter writer = queue.writer();
        Thread device = new Thread(() -> {
            for (int i = 0; i < ENTRIES; ) {
                long header = CqeLayout.header(CqeOpcode.RECV, false, i, 7, 0);
                if (writer.write(header, i, CqeLayout.length(i, 0), CqeLayout.detail(0, 0, 9), ~i)) {
                    i++;
                } else {
                    Thread.yield();
                }
            }
        });
        device.setDaemon(true);
        device.start();
        long[] checksum = {0};
        int[] next = {0};
        while (next[0] < ENTRIES) {
            int taken = queue.poll(
                    c -> {
                        boolean right = c.workRequestId() == next[0]
                                && c.wqeCounter() == next[0]
                                && c.byteCount() == next[0]
                                && c.timestamp() == ~next[0]
                                && c.opcode() == CqeOpcode.RECV
                                && c.qpNumber() == 7
                                && c.sourceQp() == 9;
                        if (!right) {
                            throw new IllegalStateException("at " + next[0] + ": " + c);
                        }
                        checksum[0] = checksum[0] * 31 + c.workRequestId();
                        next[0]++;
                    },
                    256);
            if (taken == 0) {
                Thread.yield();
            }
        }
        device.join();
        System.out.println(Long.toHexString(checksum[0]) + " " + QueueMemory.route() + " "
                + CompletionQueue.class.getModule().getName());
    }
}
