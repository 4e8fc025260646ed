package io.cqring.simnic;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionQueue;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.qp.QueuePair;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** In step mode the same calls give the same bytes: of every completion, timestamps included, and of the payload. */
class DeterminismTest {
    @Test
    void theSameSeedGivesTheSameBytesAndAnotherSeedOthers() {
        byte[] first = run(1);
        assertArrayEquals(first, run(1));
        assertFalse(Arrays.equals(first, run(2)));
        assertEquals(true, first.length > 100_000);
    }

    /** Random traffic of four queue pairs in a ring, errors included; all memory the device wrote, after each round. */
    private static byte[] run(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (SimNic nic = SimNic.builder().maxQueuePairs(8).copyLimitBytes(100).create()) {
            ProtectionDomain domain = nic.allocateProtectionDomain();
            QueueMemory cqMemory = QueueMemory.allocate(CompletionQueue.requiredBytes(128, 64));
            CompletionQueue cq =
                    CompletionQueue.ofCapacity(128).memory(cqMemory).create();
            nic.attach(cq);
            QueueMemory payload = QueueMemory.allocate(4096);
            MemoryRegion region = nic.registerMemory(domain, 0, payload, AccessRights.ALL);
            QueuePair[] qps = new QueuePair[4];
            for (int i = 0; i < 4; i++) {
                qps[i] = nic.createQueuePair(domain, cq, cq, 16, 16);
            }
            nic.connect(qps[0], qps[1]);
            nic.connect(qps[2], qps[3]);
            for (int round = 0; round < 100; round++) {
                for (QueuePair qp : qps) {
                    long id = random.nextLong();
                    payload.putLong(random.nextInt(512) * 8L, id);
                    int key = random.nextInt(200) == 0 ? 0 : region.lkey();
                    switch (random.nextInt(3)) {
                        case 0 -> qp.postWrite(id, random.nextInt(2048), 200, key, 2048, region.rkey(), 1);
                        case 1 -> qp.postRecv(id, random.nextInt(2048), 500, key);
                        default -> qp.postSend(id, random.nextInt(2048), 300, key, 1);
                    }
                    if (random.nextBoolean()) {
                        qp.ringSendDoorbell();
                        qp.ringReceiveDoorbell();
                    }
                }
                nic.step();
                if (round % 10 == 9) {
                    byte[] bytes = new byte[cqMemory.sizeBytes()];
                    cqMemory.getBytes(0, bytes, 0, bytes.length);
                    out.writeBytes(bytes);
                    bytes = new byte[4096];
                    payload.getBytes(0, bytes, 0, bytes.length);
                    out.writeBytes(bytes);
                }
                cq.poll(
                        completion -> {
                            for (QueuePair qp : qps) {
                                if (qp.number() == completion.qpNumber()) {
                                    qp.retire(completion);
                                }
                            }
                        },
                        128);
            }
        }
        assertTrue(out.size() > 0);
        return out.toByteArray();
    }
}
