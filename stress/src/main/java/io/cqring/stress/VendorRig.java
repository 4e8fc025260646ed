package io.cqring.stress;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionHandler;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.profile.VendorQueue;
import io.cqring.simnic.profile.VendorWriter;
import io.cqring.simnic.qp.PostedWork;
import io.cqring.simnic.qp.WqeOpcode;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;

/**
 * One sample of a vendor's queue: as {@link QueueRig}, with receives that give themselves away. Every field of completion number n follows
 * from n, and neighbours are of different queue pairs. The host's end belongs to the thread that plays the host, so nothing is polled before
 * the race.
 */
abstract class VendorRig extends Meeting implements CompletionHandler {
    /** Bit of {@link #wrong}: the tag, or another queue pair's entry. */
    static final int TAG = 1;

    /** Bit of {@link #wrong}: the length. */
    static final int LENGTH = 1 << 1;

    /** Bit of {@link #wrong}: the immediate data. */
    static final int IMMEDIATE = 1 << 2;

    /** Bit of {@link #wrong}: an entry of nobody. */
    static final int STRAY = 1 << 3;

    /** Bit of {@link #wrong}: the device has written an entry, and it does not come. */
    static final int LOST = 1 << 4;

    private static final int QP = 9;

    /** Posted without end. */
    private static final PostedWork WORK = new PostedWork() {
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
            return -1;
        }

        @Override
        public long receiveTag(long sequence) {
            return tag((int) sequence);
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

    final QueueMemory memory;
    final VendorQueue queue;
    final VendorWriter writer;

    /** Completions that the host has got. */
    int taken;

    /** What was wrong with them. */
    int wrong;

    private final QueueMemory slice;
    private final QueueMemory scratch;

    VendorRig(BiFunction<QueueMemory, QueueMemory, VendorQueue> make, UnaryOperator<QueueMemory> weakener) {
        this.slice = Slices.OF_VENDORS.lend();
        this.scratch = Slices.OF_DRIVERS.lend();
        this.memory = weakener.apply(slice);
        this.queue = make.apply(memory, scratch);
        this.writer = queue.writer();
        queue.register(QP, WORK);
        queue.register(QP + 1, WORK);
    }

    private static long tag(int number) {
        return 1000L + number;
    }

    private static int bytes(int number) {
        return number * 0x0101_0101;
    }

    private static int immediate(int number) {
        return ~(number * 0x0202_0202);
    }

    final void write(int number) {
        writer.write(
                CqeLayout.header(CqeOpcode.RECV_IMM, false, number, QP + (number & 1), 0),
                0,
                CqeLayout.length(bytes(number), immediate(number)),
                0,
                0);
    }

    @Override
    public void onCompletion(Completion completion) {
        taken++;
        wrong |= (completion.workRequestId() == tag(taken) && completion.qpNumber() == QP + (taken & 1) ? 0 : TAG)
                | (completion.byteCount() == bytes(taken) ? 0 : LENGTH)
                | (completion.immediate() == immediate(taken) ? 0 : IMMEDIATE);
    }

    final int poll(int limit) {
        int polled = queue.poll(this, limit);
        if (queue.strays() != 0) {
            wrong |= STRAY;
        }
        return polled;
    }

    /** Device: waits for the host, so that both begin the race together; false if it did not come. */
    final boolean meetHost() {
        if (memory instanceof VendorTwin twin) {
            twin.isDevice();
        }
        meetOther();
        return isOtherHere();
    }

    /** Host: waits for the device. */
    final void meetDevice() {
        if (memory instanceof VendorTwin twin) {
            twin.isHost();
        }
        meetOne();
    }

    /** Ends the sample: its memory goes to the next one. */
    final void recycle() {
        Slices.OF_VENDORS.receive(slice);
        Slices.OF_DRIVERS.receive(scratch);
    }
}
