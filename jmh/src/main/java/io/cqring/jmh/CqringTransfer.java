package io.cqring.jmh;

import io.cqring.cq.CompletionEntry;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.cq.EventSink;

/** A completion queue: the poller's loop. How entries are written, the subclass says. */
abstract class CqringTransfer extends Transfer {
    static final long HEADER = CqeLayout.header(CqeOpcode.RECV, false, 0, 1, 0);

    final CompletionWriter writer;
    private final CompletionQueue queue;
    private final CompletionSum sum;

    private CqringTransfer(int entryBytes) {
        this(entryBytes, false);
    }

    private CqringTransfer(int entryBytes, boolean withEvents) {
        super(entryBytes);
        CompletionQueue.Builder builder = CompletionQueue.ofCapacity(CAPACITY).strideBytes(entryBytes);
        this.queue = (withEvents ? builder.events(new Nobody(), 0) : builder).create();
        this.writer = queue.writer();
        this.sum = CompletionSum.of(wide);
    }

    @Override
    void receive(long count) {
        CompletionQueue queue = this.queue;
        CompletionSum sum = this.sum;
        long empty = 0;
        long left = count;
        while (left != 0) {
            int taken = queue.poll(sum, (int) Math.min(left, POLL_LIMIT));
            if (taken == 0) {
                empty++;
                Thread.onSpinWait();
            }
            left -= taken;
        }
        sum.emptyPolls += empty;
    }

    @Override
    PollerTally tally() {
        return sum;
    }

    /** Whom events would go to. Nobody arms, so there are none. */
    private static final class Nobody implements EventSink {
        @Override
        public void completion(int cqNumber) {
            throw new IllegalStateException("an event, and nobody has armed");
        }

        @Override
        public void overrun(int cqNumber, boolean dead) {
            throw new IllegalStateException("an overrun under BACKPRESSURE");
        }
    }

    /** Several entries at a time: {@link CompletionWriter#claim}, and {@link CompletionWriter#flush} after each {@code batch}. */
    static final class Batching extends CqringTransfer {
        private final int batch;

        Batching(int batch, boolean withEvents) {
            super(64, withEvents);
            this.batch = batch;
        }

        @Override
        void send(long first, int count) {
            fullRefusals += send(writer, first, count, batch);
        }

        private static long send(CompletionWriter writer, long first, int count, int batch) {
            long full = 0;
            int claimed = 0;
            for (long s = first; s != first + count; s++) {
                CompletionEntry entry = writer.claim();
                while (entry == null) {
                    full++;
                    writer.flush();
                    claimed = 0;
                    Thread.onSpinWait();
                    entry = writer.claim();
                }
                entry.header(HEADER)
                        .workRequestId(s)
                        .length(s + 1)
                        .detail(s + 2)
                        .timestamp(s + 3)
                        .payload(0, s + 4)
                        .payload(1, s + 5)
                        .payload(2, s + 6);
                claimed++;
                if (claimed == batch) {
                    writer.flush();
                    claimed = 0;
                }
            }
            writer.flush();
            return full;
        }
    }

    /** One call per entry: {@link CompletionWriter#write}. */
    static final class Writing extends CqringTransfer {
        Writing(int entryBytes) {
            super(entryBytes);
        }

        Writing(boolean withEvents) {
            super(64, withEvents);
        }

        @Override
        void send(long first, int count) {
            fullRefusals += wide ? sendWide(writer, first, count) : sendNarrow(writer, first, count);
        }

        private static long sendWide(CompletionWriter writer, long first, int count) {
            long full = 0;
            for (long s = first; s != first + count; s++) {
                while (!writer.write(HEADER, s, s + 1, s + 2, s + 3, s + 4, s + 5, s + 6)) {
                    full++;
                    Thread.onSpinWait();
                }
            }
            return full;
        }

        private static long sendNarrow(CompletionWriter writer, long first, int count) {
            long full = 0;
            for (long s = first; s != first + count; s++) {
                while (!writer.write(HEADER, s, s + 1, s + 2, 0)) {
                    full++;
                    Thread.onSpinWait();
                }
            }
            return full;
        }
    }

    /** Filled in place: {@link CompletionWriter#claim}, the setters, {@link CompletionWriter#flush} after each entry. */
    static final class Claiming extends CqringTransfer {
        Claiming(int entryBytes) {
            super(entryBytes);
        }

        @Override
        void send(long first, int count) {
            fullRefusals += wide ? sendWide(writer, first, count) : sendNarrow(writer, first, count);
        }

        private static long sendWide(CompletionWriter writer, long first, int count) {
            long full = 0;
            for (long s = first; s != first + count; s++) {
                CompletionEntry entry = writer.claim();
                while (entry == null) {
                    full++;
                    Thread.onSpinWait();
                    entry = writer.claim();
                }
                entry.header(HEADER)
                        .workRequestId(s)
                        .length(s + 1)
                        .detail(s + 2)
                        .timestamp(s + 3)
                        .payload(0, s + 4)
                        .payload(1, s + 5)
                        .payload(2, s + 6);
                writer.flush();
            }
            return full;
        }

        private static long sendNarrow(CompletionWriter writer, long first, int count) {
            long full = 0;
            for (long s = first; s != first + count; s++) {
                CompletionEntry entry = writer.claim();
                while (entry == null) {
                    full++;
                    Thread.onSpinWait();
                    entry = writer.claim();
                }
                entry.header(HEADER).workRequestId(s).length(s + 1).detail(s + 2);
                writer.flush();
            }
            return full;
        }
    }
}
