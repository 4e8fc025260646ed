package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Compressed sessions of an mlx5 queue from any start index, against a plain model of the ring: an array of bytes, and indexes that only grow. After
 * every step the whole ring, the consumer record and what an arm sees are as the model has them.
 */
class Mlx5SessionsTest {
    private static final int QP = 0x123456;

    /** Where 16 bits of an entry's counter, 24 bits of the consumer record and 32 bits of an int end; and the start. */
    private static final long[] ENDS = {0, 1 << 16, 1 << 24, 3L << 24, 1L << 31, 1L << 32};

    private static final int[] LIMITS = {1, 3, 7, 64};

    /** The ring as the tables say, and what must come out of it. */
    private static final class Model {
        final int depth;
        final int strideBytes;
        final byte[] ring;

        /** Index of each session or entry in the ring, and how many completions of it are left. */
        final ArrayDeque<long[]> units = new ArrayDeque<>();

        final ArrayDeque<String> order = new ArrayDeque<>();
        long produced;
        long counter;

        Model(long start, int depth, int strideBytes, long counter) {
            this.depth = depth;
            this.strideBytes = strideBytes;
            this.counter = counter;
            this.produced = start;
            this.ring = new byte[depth * strideBytes];
            for (int slot = 0; slot < depth; slot++) {
                ring[slot * strideBytes + strideBytes - 1] = (byte) 0xf1;
            }
        }

        /** The 64 bytes of an entry; writes go to the ring. */
        ByteBuffer slot(long index) {
            final int slot = (int) (index % depth);
            return ByteBuffer.wrap(ring, slot * strideBytes + strideBytes - 64, 64)
                    .slice();
        }

        int lap(long index) {
            return (int) (index / depth % 2);
        }

        /** So many reads and sends by turns; more than one make a session. */
        void write(int count) {
            for (int i = 0; count > 1 && i < count; i++) {
                final int array = i < 8 ? 1 : i / 8 * 8;
                slot(produced + array)
                        .position(i % 8 * 8)
                        .putShort((short) (counter + i))
                        .put(wire(counter + i))
                        .put((byte) 0)
                        .putInt(bytes(counter + i));
            }
            final ByteBuffer title = slot(produced);
            title.put(new byte[32]).putInt(QP).putInt(0).putInt(0);
            title.putInt(count > 1 ? count : bytes(counter)).putLong(stamp(counter));
            title.putInt(wire(counter) << 24 | QP).putShort((short) counter).put((byte) 0);
            title.put((byte) ((count > 1 ? 0x0c : 0) | lap(produced)));
            units.add(new long[] {produced, count, count});
            for (int i = 0; i < count; i++) {
                order.add(expected(counter + i, stamp(counter)));
            }
            produced += count;
            counter += count;
        }

        void taken(int count) {
            for (int left = count; left > 0; ) {
                final long[] unit = units.peek();
                final int now = (int) Math.min(left, unit[2]);
                unit[2] -= now;
                left -= now;
                if (unit[2] == 0) {
                    units.remove();
                    for (long index = unit[0]; unit[1] > 1 && index < unit[0] + unit[1]; index++) {
                        slot(index).position(56).putLong(0xf0 | lap(index));
                    }
                }
            }
        }

        /** The first index that the host has not given back: a session is given back as a whole. */
        long consumed() {
            return units.isEmpty() ? produced : units.peek()[0];
        }

        private static boolean isRead(long counter) {
            return counter % 3 == 0;
        }

        private static byte wire(long counter) {
            return (byte) (isRead(counter) ? 0x10 : 0x0a);
        }

        private static int bytes(long counter) {
            return isRead(counter) ? (int) counter * 0x01234567 : 0;
        }

        private static long stamp(long counter) {
            return counter * 0x1234_5678_9ABC_DEF1L;
        }

        private static String expected(long counter, long stamp) {
            return "tag " + counter + ", opcode " + (isRead(counter) ? CqeOpcode.RC_RDMA_READ : CqeOpcode.RC_SEND)
                    + ", counter " + counter % (1 << 24) + ", bytes " + (bytes(counter) & 0xFFFF_FFFFL) + ", at "
                    + stamp;
        }
    }

    /** Both ends, and the model beside them. */
    private static final class Run {
        final QueueMemory memory;
        final Mlx5Queue queue;
        final Mlx5Writer writer;
        final Model model;
        final Posted work;
        final String name;

        Run(long start, int depth, int strideBytes, long counter) {
            memory = QueueMemory.allocate(Mlx5Queue.requiredBytes(depth, strideBytes));
            queue = Mlx5Queue.create(memory, depth, strideBytes, 1, start, true);
            writer = queue.writer();
            model = new Model(start, depth, strideBytes, counter);
            work = new Posted(counter);
            queue.register(QP, work);
            name = "start " + start + ", depth " + depth;
            check();
        }

        void write(int count) {
            work.sends(model.counter, count);
            for (long counter = model.counter; counter < model.counter + count; counter++) {
                final boolean read = Model.isRead(counter);
                assertTrue(writer.stage(
                        CqeLayout.header(
                                read ? CqeOpcode.RC_RDMA_READ : CqeOpcode.RC_SEND, false, (int) counter, QP, 0),
                        0,
                        CqeLayout.length(Model.bytes(counter), 0),
                        0,
                        Model.stamp(counter)));
            }
            writer.flush();
            model.write(count);
            check();
        }

        void poll(int limit) {
            final List<String> seen = new ArrayList<>();
            queue.poll(
                    completion -> seen.add("tag " + completion.workRequestId() + ", opcode " + completion.opcode()
                            + ", counter " + completion.wqeCounter() + ", bytes " + completion.byteCount() + ", at "
                            + completion.timestamp()),
                    limit);
            final List<String> expected = new ArrayList<>();
            while (expected.size() < limit && !model.order.isEmpty()) {
                expected.add(model.order.remove());
            }
            assertEquals(expected, seen, name);
            model.taken(seen.size());
            check();
        }

        private void check() {
            final byte[] ring = new byte[model.ring.length];
            memory.getBytes(8192, ring, 0, ring.length);
            if (!Arrays.equals(model.ring, ring)) {
                assertArrayEquals(model.ring, ring, name);
            }
            final byte[] record = new byte[4];
            memory.getBytes(4096, record, 0, 4);
            assertEquals(model.consumed() % (1 << 24), ByteBuffer.wrap(record).getInt(), name);
            assertEquals(model.produced - model.consumed() < model.depth, writer.hasRoom(), name);
            queue.arm(ArmMode.NEXT);
            assertEquals(model.produced - model.consumed(), writer.pastArm(), name);
            assertEquals(0, writer.rejectedIndexes(), name);
        }
    }

    /** A session of each length at each position around each end, polled by budgets that cut it; then sessions and plain entries for two laps. */
    @ParameterizedTest
    @CsvSource({"2, 64", "4, 64", "4, 128", "8, 64", "16, 64", "16, 128", "32, 64"})
    @FieldBug(89)
    void sessionsFromAnyStartAreWhatThePlainModelSays(int depth, int strideBytes) {
        for (long end : ENDS) {
            for (long start = Math.max(0, end - depth - 1); start <= end + depth; start++) {
                for (int length = 2; length <= depth; length++) {
                    final int limit = LIMITS[(int) (start + length) & 3];
                    final Run run = new Run(start, depth, strideBytes, start);
                    run.write(length);
                    while (!run.model.order.isEmpty()) {
                        run.poll(limit);
                    }
                    run.poll(limit);
                    int next = length;
                    for (long until = run.model.produced + 2L * depth; run.model.produced < until; ) {
                        next = next % depth + 1;
                        while (run.model.produced + next - run.model.consumed() > depth) {
                            run.poll(limit);
                        }
                        run.write(next);
                    }
                    run.poll(64);
                }
            }
        }
    }

    /** The longest session, 64: title, and eight arrays. Every position of a ring of its own length and of twice that. */
    @ParameterizedTest
    @CsvSource({"64, 64", "64, 128", "128, 64"})
    @FieldBug(89)
    void theLongestSessionWrapsAnywhere(int depth, int strideBytes) {
        for (long end : ENDS) {
            for (long start = Math.max(0, end - depth); start < end + depth; start++) {
                final Run run = new Run(start, depth, strideBytes, (1 << 16) - 40);
                run.write(64);
                run.poll(9);
                run.poll(54);
                run.poll(1);
                run.write(63);
                run.poll(64);
                run.write(64);
                run.poll(64);
                run.write(1);
                run.poll(2);
            }
        }
    }
}
