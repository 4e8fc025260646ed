package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.WqeLayout;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Edge DATA with the real device thread: a host that has polled a completion sees the payload it reports. Payloads
 * are a pure function of the message's number, and each slot's content differs from lap to lap, so a byte of the last
 * lap is noticed.
 */
class DataEdgeTest {
    private static final int MESSAGES = 1_000_000;
    private static final int WINDOW = 1024;
    private static final int PAYLOAD_BYTES = 32;
    private static final long SOURCE = 0x1000_0000_0000L;
    private static final long TARGET = 0x2000_0000_0000L;

    private final QueueMemory source = QueueMemory.allocate((long) WINDOW * PAYLOAD_BYTES);
    private final QueueMemory target = QueueMemory.allocate((long) WINDOW * PAYLOAD_BYTES);
    private long arrived;
    private long acknowledged;
    private long mismatches;

    private static long word(long message, int index) {
        return (message * 4 + index) * 0x9E37_79B9_7F4A_7C15L;
    }

    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void payloadIsVisibleWhenItsCompletionIs() {
        try (SimNic nic = SimNic.builder().create()) {
            ProtectionDomain domain = nic.allocateProtectionDomain();
            CompletionQueue cq = CompletionQueue.ofCapacity(2 * WINDOW).create();
            nic.attach(cq);
            QueuePair a = nic.createQueuePair(domain, cq, cq, WINDOW, WINDOW);
            QueuePair b = nic.createQueuePair(domain, cq, cq, WINDOW, WINDOW);
            nic.connect(a, b);
            MemoryRegion from = nic.registerMemory(domain, SOURCE, source, AccessRights.LOCAL_READ);
            MemoryRegion to =
                    nic.registerMemory(domain, TARGET, target, AccessRights.LOCAL_WRITE | AccessRights.REMOTE_WRITE);
            for (int i = 0; i < WINDOW; i++) {
                assertTrue(b.postRecv(i, 0, 0, 0));
            }
            b.ringReceiveDoorbell();
            nic.start(new BackoffIdleStrategy());
            long startNs = System.nanoTime();
            long posted = 0;
            while (arrived != MESSAGES || acknowledged != MESSAGES) {
                long before = posted;
                long most = Math.min(MESSAGES, Math.min(arrived, acknowledged) + WINDOW);
                for (; posted != most; posted++) {
                    int offset = (int) (posted % WINDOW) * PAYLOAD_BYTES;
                    for (int i = 0; i < 4; i++) {
                        source.putLong(offset + 8 * i, word(posted, i));
                    }
                    assertTrue(a.postWriteImm(
                            posted,
                            SOURCE + offset,
                            PAYLOAD_BYTES,
                            from.lkey(),
                            TARGET + offset,
                            to.rkey(),
                            (int) posted,
                            WqeLayout.FLAG_SIGNALED));
                }
                if (posted != before) {
                    a.ringSendDoorbell();
                }
                if (cq.poll(
                                completion -> {
                                    assertEquals(CompletionStatus.SUCCESS, completion.status());
                                    if (completion.opcode() == CqeOpcode.RECV_RDMA_IMM) {
                                        int offset = (int) (arrived % WINDOW) * PAYLOAD_BYTES;
                                        for (int i = 0; i < 4; i++) {
                                            if (target.getLong(offset + 8 * i) != word(arrived, i)) {
                                                mismatches++;
                                            }
                                        }
                                        assertEquals((int) arrived, completion.immediate());
                                        assertEquals(1, b.retire(completion));
                                        assertTrue(b.postRecv(arrived, 0, 0, 0));
                                        arrived++;
                                    } else {
                                        assertEquals(acknowledged, completion.workRequestId());
                                        assertEquals(1, a.retire(completion));
                                        acknowledged++;
                                    }
                                },
                                2 * WINDOW)
                        != 0) {
                    b.ringReceiveDoorbell();
                }
            }
            double seconds = (System.nanoTime() - startNs) / 1e9;
            System.out.printf(
                    "%,d messages of %d bytes, %.2f million/s%n", MESSAGES, PAYLOAD_BYTES, MESSAGES / seconds / 1e6);
            assertEquals(0, mismatches, "words that did not have the message's content");
            assertEquals(MESSAGES, nic.counter(DeviceCounter.MESSAGES_EXECUTED));
        }
    }
}
