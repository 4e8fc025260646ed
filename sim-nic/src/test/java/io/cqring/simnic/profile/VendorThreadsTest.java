package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.Completion;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.eq.Interrupt;
import io.cqring.simnic.qp.PostedWork;
import io.cqring.simnic.qp.WqeOpcode;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Threads;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A device thread and a host thread on each vendor's queue: nothing lost, doubled or reordered, and nobody sleeps over an entry. */
class VendorThreadsTest {
    private static final long COMPLETIONS = 300_000;
    private static final int QP = 9;

    /** A wait that lasts longer has missed something. */
    private static final long HANG_NS = 5_000_000_000L;

    /** Posted without end, a tag is its sequence. */
    private static final PostedWork ENDLESS = new PostedWork() {
        @Override
        public long sendsPosted() {
            return 0;
        }

        @Override
        public long receivesPosted() {
            return 0;
        }

        @Override
        public long sendTag(long sequence) {
            return ~sequence;
        }

        @Override
        public long receiveTag(long sequence) {
            return sequence;
        }

        @Override
        public boolean isSignaled(long sequence) {
            return true;
        }

        @Override
        public int sendOpcode(long sequence) {
            return WqeOpcode.SEND;
        }
    };

    private static VendorQueue queue(String kind) {
        final VendorQueue queue = switch (kind) {
            case "mlx5 64" -> Mlx5Queue.create(64, 64, 3, false);
            case "mlx5 128" -> Mlx5Queue.create(4, 128, 3, false);
            case "mlx5 compressed" -> Mlx5Queue.create(64, 64, 3, true);
            case "irdma 32" -> IrdmaQueue.create(20, 32, 3);
            case "irdma 64" -> IrdmaQueue.create(3, 64, 3);
            default -> BnxtQueue.create(32, 3);
        };
        queue.register(QP, ENDLESS);
        return queue;
    }

    /** Writes completion n: receives and sends in turn, the receive's fields made from its number. */
    private static final class DeviceEnd {
        private final VendorWriter writer;
        private final int room;
        private long next;
        private int staged;

        DeviceEnd(VendorQueue queue) {
            this.writer = queue.writer();
            this.room = queue.depth();
        }

        boolean isDone() {
            return next == COMPLETIONS;
        }

        /** As many as there is room for, 16 at the most; whether there were any. */
        boolean pass() {
            final long first = next;
            while (!isDone() && next - first < 16 && hasRoom()) {
                writeNext();
            }
            writer.flush();
            staged = 0;
            return next != first;
        }

        private boolean hasRoom() {
            return writer instanceof Mlx5Writer ? writer.hasRoom(staged + 1, room) : staged == 0 && writer.hasRoom();
        }

        private void writeNext() {
            final long sequence = next >> 1;
            if ((next & 1) == 0) {
                staged = 0;
                final int opcode = sequence % 3 == 0 ? CqeOpcode.RECV_IMM : CqeOpcode.RECV;
                assertTrue(writer.write(
                        CqeLayout.header(opcode, false, (int) sequence, QP, 0),
                        0,
                        CqeLayout.length((int) sequence * 7, opcode == CqeOpcode.RECV ? 0 : (int) ~sequence),
                        0,
                        sequence));
            } else {
                staged++;
                assertTrue(writer.stage(
                        CqeLayout.header(CqeOpcode.RC_SEND, false, (int) sequence, QP, 0), 0, 0, 0, sequence));
            }
            next++;
        }
    }

    /** Checks what comes. */
    private static final class HostEnd {
        private final VendorQueue queue;
        private long next;

        HostEnd(VendorQueue queue) {
            this.queue = queue;
        }

        int poll() {
            return queue.poll(this::take, 32);
        }

        private void take(Completion completion) {
            final long sequence = next >> 1;
            if ((next & 1) == 0) {
                final boolean immediate = sequence % 3 == 0;
                assertEquals(immediate ? CqeOpcode.RECV_IMM : CqeOpcode.RECV, completion.opcode());
                assertEquals(sequence, completion.workRequestId());
                assertEquals(sequence * 7, completion.byteCount());
                if (immediate) {
                    assertEquals((int) ~sequence, completion.immediate());
                }
            } else {
                assertEquals(CqeOpcode.RC_SEND, completion.opcode());
                assertEquals(~sequence, completion.workRequestId());
            }
            next++;
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"mlx5 64", "mlx5 128", "mlx5 compressed", "irdma 32", "irdma 64", "bnxt_re"})
    @FieldBug(21)
    void aHostThatPollsGetsAllInOrder(String kind) {
        final VendorQueue queue = queue(kind);
        final DeviceEnd device = new DeviceEnd(queue);
        final HostEnd host = new HostEnd(queue);
        Threads.run(
                spin -> {
                    while (!device.isDone()) {
                        if (!device.pass()) {
                            spin.once();
                        }
                    }
                },
                spin -> {
                    while (host.next != COMPLETIONS) {
                        if (host.poll() == 0) {
                            spin.once();
                        }
                    }
                });
        assertEquals(0, host.poll());
        assertEquals(0, queue.writer().lostEntries());
        assertEquals(0, queue.writer().rejectedIndexes());
    }

    @ParameterizedTest
    @ValueSource(strings = {"mlx5 64", "mlx5 128", "mlx5 compressed", "irdma 32", "irdma 64", "bnxt_re"})
    @FieldBug({31, 38})
    void aHostThatSleepsIsWokenForEveryEntry(String kind) {
        final VendorQueue queue = queue(kind);
        final DeviceEnd device = new DeviceEnd(queue);
        final HostEnd host = new HostEnd(queue);
        final Interrupt interrupt = new Interrupt();
        final VendorEventQueue events = VendorProfile.of(
                        kind.startsWith("mlx5") ? "mlx5" : kind.startsWith("irdma") ? "irdma" : "bnxt_re")
                .createEventQueue(1, interrupt);
        final java.util.concurrent.atomic.AtomicBoolean over = new java.util.concurrent.atomic.AtomicBoolean();
        Threads.run(
                spin -> {
                    final VendorWriter writer = queue.writer();
                    while (!over.get()) {
                        final boolean wrote = device.pass();
                        if (writer.pastArm() > 0 && writer.answerArm()) {
                            events.post(queue.number(), writer.eventToggle());
                        }
                        events.serve();
                        if (!wrote) {
                            spin.once();
                        }
                    }
                },
                spin -> {
                    try {
                        while (host.next != COMPLETIONS) {
                            if (host.poll() != 0 || queue.arm(ArmMode.NEXT) || host.poll() != 0) {
                                continue;
                            }
                            sleep(queue, events, interrupt);
                        }
                    } finally {
                        over.set(true);
                    }
                });
        assertEquals(0, host.poll());
        assertEquals(0, events.overruns());
        assertEquals(0, queue.writer().lostEntries());
        assertTrue(interrupt.count() > 0, "it has slept");
    }

    private static void sleep(VendorQueue queue, VendorEventQueue events, Interrupt interrupt)
            throws InterruptedException {
        while (true) {
            final long seen = interrupt.count();
            final int[] taken = {0};
            events.poll(
                    (number, toggle) -> {
                        assertEquals(queue.number(), number);
                        queue.onEvent(toggle);
                        taken[0]++;
                    },
                    16);
            if (taken[0] != 0) {
                return;
            }
            events.arm();
            assertTrue(interrupt.await(seen, HANG_NS), "asleep for five seconds; entries follow until the end");
        }
    }
}
