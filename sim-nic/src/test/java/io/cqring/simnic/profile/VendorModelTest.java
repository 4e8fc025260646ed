package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.qp.QpMemory;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.SharedReceiveQueue;
import io.cqring.simnic.qp.WqeOpcode;
import io.cqring.testing.FieldBug;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Both ends of each vendor's queue on one thread, against plain lists of what must come out. Every run is one seed; a failure names it, and
 * {@code -Dcqring.seed=N} repeats it alone.
 */
class VendorModelTest {
    private static final int SEEDS = 700;
    private static final int ACTIONS = 120;

    @ParameterizedTest
    @ValueSource(strings = {"mlx5 64", "mlx5 128", "mlx5 compressed", "irdma 32", "irdma 64", "bnxt_re"})
    @FieldBug({74, 75, 86})
    void whatComesOutIsWhatTheListsSay(String kind) {
        final Long only = Long.getLong("cqring.seed");
        final long first = only != null ? only : System.nanoTime();
        for (long seed = first; seed < first + (only != null ? 1 : SEEDS); seed++) {
            try {
                new Run(kind, new Random(seed)).go();
            } catch (AssertionError | RuntimeException wrong) {
                throw new AssertionError(kind + ", seed " + seed + " (-Dcqring.seed=" + seed + "): " + wrong, wrong);
            }
        }
    }

    private record Expected(
            Pair pair,
            int opcode,
            CompletionStatus status,
            long tag,
            int counter,
            long bytes,
            int immediate,
            int flags,
            boolean solicited,
            int vendorError,
            int sourceQp) {

        static Expected flushed(Pair pair, boolean ofSend, long tag, long sequence) {
            return failed(pair, ofSend, tag, sequence, CompletionStatus.WR_FLUSH_ERR, 0);
        }

        static Expected failed(
                Pair pair, boolean ofSend, long tag, long sequence, CompletionStatus status, int vendorError) {
            return new Expected(
                    pair,
                    ofSend ? CqeOpcode.REQ_ERR : CqeOpcode.RESP_ERR,
                    status,
                    tag,
                    (int) sequence & 0xFF_FFFF,
                    0,
                    0,
                    0,
                    false,
                    vendorError,
                    0);
        }

        static Expected of(Pair pair, Completion seen) {
            return new Expected(
                    pair,
                    seen.opcode(),
                    seen.status(),
                    seen.workRequestId(),
                    seen.wqeCounter(),
                    seen.byteCount(),
                    seen.immediate(),
                    seen.flags(),
                    seen.isSolicited(),
                    seen.vendorError(),
                    seen.sourceQp());
        }
    }

    /** A receive of the shared queue that a queue pair has taken and whose entry is not written yet. */
    private record Taken(Pair pair, long sequence, boolean fails) {}

    /** A life of a queue pair. */
    private static final class Pair {
        final int number;
        final Posted work;
        final String name;
        final boolean shares;
        final boolean isDatagram;

        /** Of what was posted, the device is done with so many. */
        long sent;

        long received;
        boolean failed;

        /** bnxt_re: the driver makes up what was posted from there on. */
        long sendFlushNext = -1;

        long receiveFlushNext = -1;

        Pair(int number, int life, long base, SharedReceiveQueue shared, boolean isDatagram) {
            this.number = number;
            this.work = new Posted(base).sharing(shared);
            this.shares = shared != null;
            this.isDatagram = isDatagram;
            if (isDatagram) {
                work.ofDatagrams();
            }
            this.name = "QP " + number + " life " + life + (shares ? " sharing" : "") + (isDatagram ? " UD" : "");
            this.sent = base;
            this.received = base;
        }

        long madeUp() {
            return (sendFlushNext < 0 ? 0 : work.sendsPosted() - sendFlushNext)
                    + (receiveFlushNext < 0 ? 0 : work.receivesPosted() - receiveFlushNext);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static final class HandlerFailure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private static final class Run {
        private static final int[] WIRE = {
            CqeOpcode.RC_SEND,
            CqeOpcode.RC_RDMA_WRITE,
            CqeOpcode.RC_RDMA_READ,
            CqeOpcode.RC_COMP_SWAP,
            CqeOpcode.RC_FETCH_ADD,
            CqeOpcode.LOCAL_INV
        };
        private static final int[] WQE = {WqeOpcode.SEND, WqeOpcode.WRITE, WqeOpcode.READ, 0, 0, 0};
        private static final int[] RECEIVES = {
            CqeOpcode.RECV, CqeOpcode.RECV_IMM, CqeOpcode.RECV_RDMA_IMM, CqeOpcode.RECV_INV
        };
        private static final int SHARED_DEPTH = 16;
        private static final long[] BASES = {0, 32_765, 65_533, (1 << 20) - 3, (1 << 24) - 4, (1L << 32) - 3};
        private static final Set<CompletionStatus> MLX5 = Set.of(
                CompletionStatus.LOC_LEN_ERR,
                CompletionStatus.LOC_QP_OP_ERR,
                CompletionStatus.LOC_PROT_ERR,
                CompletionStatus.MW_BIND_ERR,
                CompletionStatus.BAD_RESP_ERR,
                CompletionStatus.LOC_ACCESS_ERR,
                CompletionStatus.REM_INV_REQ_ERR,
                CompletionStatus.REM_ACCESS_ERR,
                CompletionStatus.REM_OP_ERR,
                CompletionStatus.RETRY_EXC_ERR,
                CompletionStatus.RNR_RETRY_EXC_ERR,
                CompletionStatus.REM_ABORT_ERR);
        private static final Set<CompletionStatus> IRDMA = Set.of(
                CompletionStatus.LOC_PROT_ERR,
                CompletionStatus.REM_ACCESS_ERR,
                CompletionStatus.LOC_QP_OP_ERR,
                CompletionStatus.REM_OP_ERR,
                CompletionStatus.LOC_LEN_ERR,
                CompletionStatus.RETRY_EXC_ERR,
                CompletionStatus.MW_BIND_ERR,
                CompletionStatus.REM_INV_REQ_ERR,
                CompletionStatus.RNR_RETRY_EXC_ERR);
        private static final Set<CompletionStatus> BNXT_SENDS = Set.of(
                CompletionStatus.BAD_RESP_ERR,
                CompletionStatus.LOC_LEN_ERR,
                CompletionStatus.LOC_QP_OP_ERR,
                CompletionStatus.LOC_PROT_ERR,
                CompletionStatus.MW_BIND_ERR,
                CompletionStatus.REM_INV_REQ_ERR,
                CompletionStatus.REM_ACCESS_ERR,
                CompletionStatus.REM_OP_ERR,
                CompletionStatus.RNR_RETRY_EXC_ERR,
                CompletionStatus.RETRY_EXC_ERR);
        private static final Set<CompletionStatus> BNXT_RECEIVES = Set.of(
                CompletionStatus.LOC_ACCESS_ERR,
                CompletionStatus.LOC_LEN_ERR,
                CompletionStatus.LOC_PROT_ERR,
                CompletionStatus.LOC_QP_OP_ERR,
                CompletionStatus.MW_BIND_ERR,
                CompletionStatus.REM_INV_REQ_ERR);
        private static final List<CompletionStatus> ERRORS =
                MLX5.stream().sorted().toList();

        private final Random random;
        private final boolean mlx5;
        private final boolean irdma;
        private final boolean bnxt;
        private final boolean compressed;
        private final boolean canShare;
        private final VendorQueue queue;
        private final VendorWriter writer;
        private final Pair[] pairs = new Pair[3];
        private final int[] lives = new int[3];

        /** What several queue pairs take receives from; sequence n has the n-th tag. */
        private final SharedReceiveQueue shared = new SharedReceiveQueue(1, QpMemory.allocate(1, SHARED_DEPTH));

        private final List<Long> sharedTags = new ArrayList<>();
        private final List<Taken> taken = new ArrayList<>();

        /** Of the shared queue: receives that the device has taken, and those that the host has got, or that were its queue pair's. */
        private int sharedTaken;

        private final BitSet sharedDone = new BitSet();

        /** In the ring, in order. */
        private final ArrayDeque<Expected> order = new ArrayDeque<>();

        /** Staged and not shown. */
        private final List<Expected> staged = new ArrayList<>();

        /** Numbers with entries in the ring that nobody owns; not to be used before the ring has been empty. */
        private boolean late;

        /** Entries that no completion stands for may be in the ring: of forgotten queue pairs, or terminal ones. */
        private boolean uncounted;

        private long nextTag = 0x7000_0000_0000_0000L;
        private int throwIn = -1;

        /** Of the ring that the device writes. */
        private int deviceDepth;

        Run(String kind, Random random) {
            this.random = random;
            this.mlx5 = kind.startsWith("mlx5");
            this.irdma = kind.startsWith("irdma");
            this.bnxt = kind.equals("bnxt_re");
            this.compressed = kind.endsWith("compressed");
            this.canShare = !kind.equals("irdma 32");
            final int depth = 1 << random.nextInt(7);
            if (compressed) {
                queue = Mlx5Queue.create(depth, random.nextBoolean() ? 64 : 128, 7, true);
            } else if (mlx5) {
                final int stride = kind.endsWith("128") ? 128 : 64;
                final long[] starts = {0, 1 << 16, 1 << 24, 1L << 32};
                final long at = starts[random.nextInt(4)];
                queue = Mlx5Queue.create(
                        QueueMemory.allocate(Mlx5Queue.requiredBytes(depth, stride)),
                        depth,
                        stride,
                        7,
                        at == 0 ? 0 : at - random.nextInt(100));
            } else if (irdma) {
                queue = IrdmaQueue.create(1 + random.nextInt(31), kind.endsWith("32") ? 32 : 64, 7);
            } else {
                queue = BnxtQueue.create(depth, 7);
            }
            writer = queue.writer();
            deviceDepth = queue.depth();
            for (int i = 0; i < pairs.length; i++) {
                revive(i);
            }
        }

        private void revive(int i) {
            final boolean shares = random.nextBoolean();
            pairs[i] = new Pair(
                    i + 5,
                    lives[i],
                    lives[i]++ == 0 ? BASES[random.nextInt(BASES.length)] : 0,
                    canShare && shares ? shared : null,
                    random.nextInt(3) == 0);
            queue.register(i + 5, pairs[i].work);
            writer.dismiss(i + 5);
            writer.admit(i + 5, pairs[i].isDatagram ? QpType.UD : QpType.RC, pairs[i].shares ? SHARED_DEPTH : 0);
        }

        void go() {
            for (int i = 0; i < ACTIONS; i++) {
                act(random.nextInt(100));
                assertEquals(0, writer.lostEntries(), "lost");
                assertEquals(0, writer.rejectedIndexes(), "indexes not believed");
            }
            flush();
            while (!taken.isEmpty()) {
                if (room()) {
                    finish(taken.remove(random.nextInt(taken.size())));
                } else {
                    poll(1 + random.nextInt(100), false);
                }
            }
            for (Pair pair : pairs) {
                while (pair != null && pair.failed && flushSome(pair)) {
                    poll(1 + random.nextInt(100), false);
                }
            }
            drain();
        }

        private void act(int choice) {
            final int at = random.nextInt(pairs.length);
            final Pair pair = pairs[at];
            if (choice < 50 && pair != null) {
                for (int i = random.nextInt(6); i >= 0; i--) {
                    work(pair);
                }
            } else if (choice < 60) {
                flush();
            } else if (choice < 85) {
                poll(random.nextInt(4) == 0 ? 0 : random.nextInt(5) == 0 ? 1000 : 1 + random.nextInt(9), choice > 80);
            } else if (choice < 92) {
                resize();
            } else if (choice < 96 && pair != null) {
                forget(at);
            } else if (pair == null) {
                if (random.nextBoolean() && room()) {
                    late = true;
                    write(header(CqeOpcode.RC_SEND, false, 3, at + 5, 0), 0, 0, 0, 0);
                    writer.flush();
                } else if (!late) {
                    revive(at);
                }
            } else if (choice == 99) {
                drain();
            }
        }

        private boolean room() {
            if (bnxt) {
                return writer.hasRoom(staged.isEmpty() ? 1 : 2, deviceDepth);
            }
            return compressed ? writer.hasRoom(staged.size() + 1, queue.depth()) : writer.hasRoom();
        }

        private static long header(int opcode, boolean solicited, long counter, int qp, int syndrome) {
            return CqeLayout.header(opcode, solicited, (int) counter, qp, syndrome);
        }

        /** One step of the device for a queue pair, if it has room. */
        private void work(Pair pair) {
            if (pair.failed) {
                if (random.nextInt(3) == 0) {
                    pair.work.send(nextTag++, WqeOpcode.SEND, random.nextBoolean());
                    if (!pair.shares) {
                        pair.work.receives(nextTag++, 1);
                    }
                }
                flushSome(pair);
            } else if (room()) {
                switch (random.nextInt(16)) {
                    case 0 -> fail(pair);
                    case 1, 2, 3, 4, 5 -> receive(pair);
                    case 6, 7 -> post(pair, false);
                    default -> send(pair);
                }
            }
        }

        private int post(Pair pair, boolean signaled) {
            final int which = random.nextInt(bnxt ? 3 : WIRE.length);
            pair.work.send(nextTag++, WQE[which], signaled);
            return which;
        }

        private void send(Pair pair) {
            final int which = post(pair, true);
            final long sequence = pair.work.sendsPosted() - 1;
            pair.sent = sequence + 1; // and all unsignaled ones before it
            final int bytes = random.nextInt() & 0x7FFF_FFFF;
            final boolean read = which >= 2 && which <= 4;
            final Expected expected = new Expected(
                    pair,
                    WIRE[which],
                    CompletionStatus.SUCCESS,
                    pair.work.sendTag(sequence),
                    (int) sequence & 0xFF_FFFF,
                    irdma || (mlx5 && read) ? bytes : 0,
                    0,
                    0,
                    false,
                    0,
                    0);
            final long header = header(WIRE[which], false, sequence, pair.number, 0);
            if (random.nextInt(4) != 0) {
                if (!compressed && !bnxt) {
                    order.add(expected);
                } else {
                    if (!staged.isEmpty() && (staged.get(0).pair != pair || (compressed && staged.size() == 64))) {
                        shown();
                    }
                    staged.add(expected);
                }
                assertTrue(writer.stage(header, 0, CqeLayout.length(bytes, 0), 0, 0), "staged");
            } else {
                shown();
                order.add(expected);
                write(header, 0, CqeLayout.length(bytes, 0), 0, 0);
            }
        }

        private void receive(Pair pair) {
            if (pair.shares) {
                takeShared(pair, false);
            } else {
                pair.work.receives(nextTag++, 1 + random.nextInt(2));
                final long sequence = pair.received++;
                receive(pair, sequence, pair.work.receiveTag(sequence));
            }
        }

        /** Takes the next receive of the shared queue, if there is one; an entry is written for it or for one that was taken before. */
        private void takeShared(Pair pair, boolean fails) {
            while (random.nextInt(3) != 0 && shared.postRecv(nextTag, 0, 0, 0)) {
                sharedTags.add(nextTag++);
            }
            if (sharedTaken < sharedTags.size()) {
                pair.failed |= fails;
                taken.add(new Taken(pair, sharedTaken++, fails));
            }
            if (!taken.isEmpty() && random.nextInt(3) != 0) {
                finish(taken.remove(random.nextInt(taken.size())));
            }
        }

        private void finish(Taken one) {
            final long tag = sharedTags.get((int) one.sequence);
            if (one.fails) {
                fail(one.pair, false, one.sequence, tag);
            } else {
                receive(one.pair, one.sequence, tag);
            }
        }

        private void receive(Pair pair, long sequence, long tag) {
            final int opcode = RECEIVES[pair.isDatagram ? random.nextInt(2) : random.nextInt(RECEIVES.length)];
            final int source = random.nextInt(1 << 24);
            final int immediate = opcode == CqeOpcode.RECV ? 0 : random.nextInt();
            final int bytes = random.nextInt() & (pair.isDatagram ? 0x3FFF : 0x7FFF_FFFF);
            final boolean solicited = random.nextInt(4) == 0;
            final int flags = (opcode == CqeOpcode.RECV
                            ? 0
                            : opcode == CqeOpcode.RECV_INV ? CqeLayout.FLAG_INVALIDATED_RKEY : CqeLayout.FLAG_IMMEDIATE)
                    | (pair.isDatagram ? CqeLayout.FLAG_GRH : 0);
            shown();
            order.add(new Expected(
                    pair,
                    opcode,
                    CompletionStatus.SUCCESS,
                    tag,
                    (int) sequence & 0xFF_FFFF,
                    bytes,
                    immediate,
                    flags,
                    !bnxt && solicited,
                    0,
                    mlx5 || pair.isDatagram ? source : 0));
            write(
                    header(opcode, solicited, sequence, pair.number, 0),
                    tag,
                    CqeLayout.length(bytes, immediate),
                    CqeLayout.detail(0, flags, source),
                    123);
        }

        private void fail(Pair pair) {
            if (random.nextBoolean()) {
                post(pair, random.nextBoolean());
                final long sequence = pair.work.sendsPosted() - 1;
                pair.sent = sequence + 1;
                fail(pair, true, sequence, pair.work.sendTag(sequence));
            } else if (pair.shares) {
                takeShared(pair, true);
            } else {
                pair.work.receives(nextTag++, 1);
                final long sequence = pair.received++;
                fail(pair, false, sequence, pair.work.receiveTag(sequence));
            }
        }

        private void fail(Pair pair, boolean ofSend, long sequence, long tag) {
            final CompletionStatus status = ERRORS.get(random.nextInt(ERRORS.size()));
            final int vendorError = random.nextInt(256);
            final Set<CompletionStatus> known = mlx5 ? MLX5 : irdma ? IRDMA : ofSend ? BNXT_SENDS : BNXT_RECEIVES;
            pair.failed = true;
            shown();
            order.add(Expected.failed(
                    pair,
                    ofSend,
                    tag,
                    sequence,
                    known.contains(status) ? status : CompletionStatus.GENERAL_ERR,
                    mlx5 ? vendorError : irdma ? known.contains(status) ? minor(status) : 7 : 0));
            write(
                    header(
                            ofSend ? CqeOpcode.REQ_ERR : CqeOpcode.RESP_ERR,
                            false,
                            sequence,
                            pair.number,
                            status.syndrome()),
                    tag,
                    0,
                    CqeLayout.detail(vendorError, 0, 0),
                    0);
        }

        private static int minor(CompletionStatus status) {
            return switch (status) {
                case LOC_PROT_ERR -> 2;
                case REM_ACCESS_ERR -> 3;
                case LOC_QP_OP_ERR -> 4;
                case REM_OP_ERR -> 5;
                case LOC_LEN_ERR -> 6;
                case RETRY_EXC_ERR -> 8;
                case MW_BIND_ERR -> 9;
                case REM_INV_REQ_ERR -> 10;
                case RNR_RETRY_EXC_ERR -> 11;
                default -> throw new AssertionError(status);
            };
        }

        /** Flushes one request; whether there was one. */
        private boolean flushSome(Pair pair) {
            final boolean ofSend = pair.sent != pair.work.sendsPosted();
            if (!ofSend && pair.received == pair.work.receivesPosted()) {
                return false;
            }
            if (!room()) {
                return true;
            }
            final long sequence = ofSend ? pair.sent++ : pair.received++;
            shown();
            if (bnxt) {
                uncounted = true;
                if (ofSend && pair.sendFlushNext < 0) {
                    pair.sendFlushNext = sequence;
                } else if (!ofSend && pair.receiveFlushNext < 0) {
                    pair.receiveFlushNext = sequence;
                }
            } else {
                order.add(Expected.flushed(
                        pair, ofSend, ofSend ? pair.work.sendTag(sequence) : pair.work.receiveTag(sequence), sequence));
                // irdma says why: a general flush.
                if (irdma) {
                    final Expected last = order.removeLast();
                    order.add(Expected.failed(pair, ofSend, last.tag, sequence, CompletionStatus.WR_FLUSH_ERR, 1));
                }
            }
            write(
                    header(
                            ofSend ? CqeOpcode.REQ_ERR : CqeOpcode.RESP_ERR,
                            false,
                            sequence,
                            pair.number,
                            CompletionStatus.WR_FLUSH_ERR.syndrome()),
                    0,
                    0,
                    0,
                    0);
            return true;
        }

        private void write(long header, long tag, long length, long detail, long stamp) {
            assertTrue(writer.write(header, tag, length, detail, stamp), "written");
            if (CqeLayout.qpNumber(header) - 5 < pairs.length && pairs[CqeLayout.qpNumber(header) - 5] == null) {
                shown();
            }
        }

        private void shown() {
            order.addAll(staged);
            staged.clear();
        }

        private void flush() {
            writer.flush();
            shown();
        }

        private long madeUp() {
            long sum = 0;
            for (Pair pair : pairs) {
                sum += pair == null ? 0 : pair.madeUp();
            }
            return sum;
        }

        private void poll(int limit, boolean fails) {
            final long there = order.size() + madeUp();
            final int throwAt = fails ? random.nextInt(8) : -1;
            throwIn = throwAt;
            final int[] told = {0};
            try {
                final int polled = queue.poll(
                        completion -> {
                            told[0]++;
                            take(completion);
                            if (throwIn-- == 0) {
                                throw new HandlerFailure();
                            }
                        },
                        limit);
                assertEquals(told[0], polled, "returned");
                assertEquals(Math.min(limit, there), polled, "polled with limit " + limit);
                late &= polled == limit;
                uncounted &= polled == limit;
                if (polled != limit) { // nothing is decoded and not handed on
                    assertEquals(
                            SHARED_DEPTH - (sharedTags.size() - sharedDone.nextClearBit(0)),
                            shared.free(),
                            "free up to the first that is not done");
                }
            } catch (HandlerFailure expected) {
                assertEquals(throwAt + 1, told[0], "told before the handler threw");
            }
        }

        private void take(Completion completion) {
            if (bnxt && completion.status() == CompletionStatus.WR_FLUSH_ERR) {
                final Pair pair = pairs[completion.qpNumber() - 5];
                for (Expected other : order) { // a shared receive that was taken before may be told after
                    assertTrue(
                            other.pair != pair || (pair.shares && CqeOpcode.isReceive(other.opcode)),
                            "flushed before " + other);
                }
                final boolean ofSend = completion.opcode() == CqeOpcode.REQ_ERR;
                final long sequence = ofSend ? pair.sendFlushNext++ : pair.receiveFlushNext++;
                assertEquals(
                        Expected.flushed(
                                pair,
                                ofSend,
                                ofSend ? pair.work.sendTag(sequence) : pair.work.receiveTag(sequence),
                                sequence),
                        Expected.of(pair, completion));
                return;
            }
            assertTrue(!order.isEmpty(), "more than there is: " + completion);
            final Expected expected = order.remove();
            assertEquals(expected.pair.number, completion.qpNumber(), "QP of " + expected);
            assertEquals(expected, Expected.of(expected.pair, completion));
            noteDone(expected);
        }

        private void noteDone(Expected one) {
            if (one.pair.shares && CqeOpcode.isReceive(one.opcode)) {
                assertTrue(!sharedDone.get(one.counter), "once");
                sharedDone.set(one.counter);
            }
        }

        private void drain() {
            flush();
            poll(1_000_000, false);
            assertEquals(0, order.size(), "left");
            assertEquals(0, queue.poll(completion -> take(completion), 64));
            assertTrue(writer.hasRoom(), "an empty queue has room");
            late = false;
        }

        private void resize() {
            final int depth = irdma ? 1 + random.nextInt(31) : 1 << random.nextInt(7);
            final int before = queue.depth();
            final boolean nothingThere = order.isEmpty() && staged.isEmpty() && madeUp() == 0 && !late && !uncounted;
            try {
                if (queue.resize(depth, Runnable::run)) {
                    shown(); // the device shows what it has staged before it moves
                    deviceDepth = depth;
                } else {
                    shown();
                    assertTrue(!nothingThere, "an empty queue can always be resized");
                    assertEquals(before, queue.depth(), "refused, so nothing changes");
                }
            } catch (IllegalStateException refused) {
                assertTrue(compressed || (bnxt && refused.getMessage().contains("cut-off")), refused::getMessage);
            }
        }

        private void forget(int at) {
            flush();
            final Pair gone = pairs[at];
            for (Taken one : taken) {
                if (one.pair == gone) {
                    return; // it has not come to a stop
                }
            }
            queue.forget(gone.number);
            for (Iterator<Expected> each = order.iterator(); each.hasNext(); ) {
                final Expected one = each.next();
                if (one.pair == gone) {
                    noteDone(one);
                    each.remove();
                }
            }
            pairs[at] = null;
            uncounted = true;
            if (random.nextBoolean() && !late) {
                revive(at);
            }
        }
    }
}
