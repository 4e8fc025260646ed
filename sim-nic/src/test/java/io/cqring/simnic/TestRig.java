package io.cqring.simnic;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeOpcode;
import io.cqring.cq.OverrunPolicy;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.WqeLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Two connected queue pairs, a and b, each with a completion queue and 4 KiB of memory, on one NIC. */
final class TestRig implements AutoCloseable {
    static final int SIGNALED = WqeLayout.FLAG_SIGNALED;
    static final int MEMORY_BYTES = 4096;

    /** Far apart and far up: a sum or a cast that loses bits is noticed. */
    static final long A_ADDRESS = 0x7000_0000_0000L;

    static final long B_ADDRESS = 0xFFFF_FFFF_0000_0000L;

    final SimNic nic;
    final ProtectionDomain domain;
    final CompletionQueue aCq;
    final CompletionQueue bCq;
    final QueuePair a;
    final QueuePair b;
    final QueueMemory aMemory = QueueMemory.allocate(MEMORY_BYTES);
    final QueueMemory bMemory = QueueMemory.allocate(MEMORY_BYTES);
    final MemoryRegion aRegion;
    final MemoryRegion bRegion;

    /** What a test sees of a completion. Fields that mean nothing after an error are 0 then. */
    record Seen(
            int qp,
            String opcode,
            CompletionStatus status,
            long id,
            int counter,
            long bytes,
            int immediate,
            boolean hasImmediate,
            int sourceQp,
            boolean solicited) {
        static Seen of(Completion completion) {
            boolean ok = completion.status() == CompletionStatus.SUCCESS;
            return new Seen(
                    completion.qpNumber(),
                    CqeOpcode.name(completion.opcode()),
                    completion.status(),
                    completion.workRequestId(),
                    completion.wqeCounter(),
                    ok ? completion.byteCount() : 0,
                    ok ? completion.immediate() : 0,
                    completion.hasImmediate(),
                    ok ? completion.sourceQp() : 0,
                    completion.isSolicited());
        }
    }

    static Builder builder() {
        return new Builder();
    }

    private TestRig(Builder builder) {
        nic = builder.nic.create();
        domain = nic.allocateProtectionDomain();
        aCq = cq(builder.aCqDepth, builder.policy);
        bCq = cq(builder.bCqDepth, builder.policy);
        nic.attach(aCq);
        nic.attach(bCq);
        a = nic.createQueuePair(domain, aCq, aCq, builder.depth, builder.depth);
        b = nic.createQueuePair(domain, bCq, bCq, builder.depth, builder.depth);
        if (builder.connected) {
            nic.connect(a, b, builder.rnrRetry);
        }
        aRegion = nic.registerMemory(domain, A_ADDRESS, aMemory, AccessRights.ALL);
        bRegion = nic.registerMemory(domain, B_ADDRESS, bMemory, AccessRights.ALL);
    }

    private static CompletionQueue cq(int depth, OverrunPolicy policy) {
        return CompletionQueue.ofCapacity(depth).overrunPolicy(policy).create();
    }

    /** Steps until nothing is left to do; fails rather than loop for ever. */
    void quiesce() {
        for (int i = 0; i < 100_000; i++) {
            if (nic.isIdle()) {
                return;
            }
            nic.step();
        }
        throw new AssertionError("not idle after 100,000 passes");
    }

    void steps(int count) {
        for (int i = 0; i < count; i++) {
            nic.step();
        }
    }

    /** Polls all, and gives the slots back to the queue pair. */
    static List<Seen> drain(CompletionQueue cq, QueuePair queuePair) {
        List<Seen> seen = new ArrayList<>();
        while (cq.poll(
                        completion -> {
                            seen.add(Seen.of(completion));
                            if (completion.qpNumber() == queuePair.number()) {
                                queuePair.retire(completion);
                            }
                        },
                        64)
                != 0) {
            // poll until empty
        }
        return seen;
    }

    List<Seen> drainA() {
        return drain(aCq, a);
    }

    List<Seen> drainB() {
        return drain(bCq, b);
    }

    Seen sent(QueuePair queuePair, String opcode, long id, int counter, long bytes) {
        return new Seen(queuePair.number(), opcode, CompletionStatus.SUCCESS, id, counter, bytes, 0, false, 0, false);
    }

    Seen received(QueuePair queuePair, String opcode, long id, int counter, long bytes, QueuePair from) {
        return new Seen(
                queuePair.number(),
                opcode,
                CompletionStatus.SUCCESS,
                id,
                counter,
                bytes,
                0,
                false,
                from.number(),
                false);
    }

    Seen receivedImm(
            QueuePair queuePair, String opcode, long id, int counter, long bytes, int immediate, QueuePair from) {
        return new Seen(
                queuePair.number(),
                opcode,
                CompletionStatus.SUCCESS,
                id,
                counter,
                bytes,
                immediate,
                true,
                from.number(),
                false);
    }

    static Seen failed(QueuePair queuePair, String opcode, CompletionStatus status, long id, int counter) {
        return new Seen(queuePair.number(), opcode, status, id, counter, 0, 0, false, 0, false);
    }

    static void put(QueueMemory memory, int offset, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        memory.putBytes(offset, bytes, 0, bytes.length);
    }

    static String get(QueueMemory memory, int offset, int length) {
        byte[] bytes = new byte[length];
        memory.getBytes(offset, bytes, 0, length);
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    @Override
    public void close() {
        nic.close();
    }

    /** What may differ from test to test. */
    static final class Builder {
        final SimNic.Builder nic = SimNic.builder().maxQueuePairs(64);
        private int aCqDepth = 256;
        private int bCqDepth = 256;
        private int depth = 64;
        private OverrunPolicy policy = OverrunPolicy.ERROR;
        private boolean connected = true;
        private int rnrRetry = 7;

        Builder cqDepths(int aCqDepth, int bCqDepth) {
            this.aCqDepth = aCqDepth;
            this.bCqDepth = bCqDepth;
            return this;
        }

        Builder depth(int depth) {
            this.depth = depth;
            return this;
        }

        Builder policy(OverrunPolicy policy) {
            this.policy = policy;
            return this;
        }

        Builder unconnected() {
            this.connected = false;
            return this;
        }

        Builder rnrRetry(int rnrRetry) {
            this.rnrRetry = rnrRetry;
            return this;
        }

        Builder faults(DeviceFaults faults) {
            nic.faults(faults);
            return this;
        }

        TestRig create() {
            return new TestRig(this);
        }
    }
}
