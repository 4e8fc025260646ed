package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One step of a resize after the other, both ends on this thread, against an {@link ArrayDeque}. */
@Tag("bothroutes")
class ResizeTest {
    private static final int[] SIZES = {1, 2, 4, 8, 16};
    private static long cases;

    @AfterAll
    static void tell() {
        System.out.println("Resize: " + cases + " cases");
    }

    /** A queue, what is unpolled according to a plain model, and the words of the region. */
    private static final class Machine implements Polling.Taker {
        final int stride;
        final QueueMemory region;
        final CompletionQueue queue;
        final CompletionWriter writer;
        final Deque<Long> model = new ArrayDeque<>();
        final long start;
        private final Polling polling;
        long written;
        long taken;

        Machine(int stride, int capacity, long start, OverrunPolicy policy, Polling polling) {
            this.stride = stride;
            this.start = start;
            this.polling = polling;
            this.region = QueueMemory.allocate(384 + capacity * stride);
            this.queue = new Shape(stride, capacity, start).queue(policy, region);
            this.writer = queue.writer();
        }

        private static Way wayOf(long n) {
            return Way.at((int) (n % 5));
        }

        void write() {
            assertTrue(wayOf(written).publish(writer, written, stride), "write " + written);
            model.addLast(written++);
            assertWords();
        }

        void refuseWrite() {
            assertFalse(wayOf(written).publish(writer, written, stride), "write " + written + " must be refused");
            assertWords();
        }

        /** Takes up to {@code limit}; all that a model says must come. */
        void take(int limit) {
            int expected = Math.min(limit, model.size());
            long from = taken;
            while (taken != from + expected) {
                long before = taken;
                int count = polling.take(queue, (int) (from + expected - before), this);
                assertEquals(taken - before, count);
                assertTrue(count > 0, () -> "entry " + taken + " must be ready");
                assertWords();
            }
            if (model.isEmpty()) {
                assertEquals(0, polling.take(queue, 1, this), "nothing else");
                assertWords();
            }
        }

        /** The doorbell record is what was consumed, marker or not; the size what is unpolled. */
        void assertWords() {
            assertEquals(start + taken, region.getLong(Region.CONSUMER), "consumer sequence");
            assertEquals(model.size(), queue.size(), "size");
            assertEquals(model.isEmpty(), queue.isEmpty());
        }

        @Override
        public void onView(Completion view) {
            next();
            Numbered.verify(view, taken - 1, wayOf(taken - 1), stride);
        }

        @Override
        public void onCopy(WorkCompletion copy) {
            next();
            Numbered.verify(copy, taken - 1, wayOf(taken - 1), stride);
        }

        private void next() {
            assertEquals(model.pollFirst(), Long.valueOf(taken), "next in order");
            taken++;
        }
    }

    /** Memory as the caller may have it: what an earlier ring left, zeros, ones. */
    private static QueueMemory dirty(QueueMemory memory, long turn) {
        int pattern = (int) (turn % 3);
        if (pattern != 0) {
            memory.fill(0, memory.sizeBytes(), (byte) (pattern == 1 ? 0 : 0xFF));
        }
        return memory;
    }

    /**
     * Every pair of capacities, start index, parity and backlog, with every way to poll: refused if more is unpolled than the new
     * ring holds, and then nothing has changed; else all comes, in order, and the new ring works for three laps.
     */
    @FieldBug({1, 20, 69, 71})
    @ParameterizedTest
    @ValueSource(ints = {32, 64, 128})
    void everySizeToEverySizeFromEveryState(int stride) {
        QueueMemory spare = QueueMemory.allocate(16L * stride);
        for (int n : SIZES) {
            for (int m : SIZES) {
                for (int start = 0; start < 2 * Math.max(n, m); start++) {
                    for (int backlog = 0; backlog <= n; backlog++) {
                        for (Polling polling : Polling.values()) {
                            for (int after = 0; after <= m; after += Math.max(1, m / 2)) {
                                String where = "stride " + stride + ", " + n + " to " + m + ", start " + start
                                        + ", backlog " + backlog + ", " + polling + ", written after " + after;
                                try {
                                    resizeOnce(stride, n, m, start, backlog, polling, after, dirty(spare, cases));
                                } catch (RuntimeException | AssertionError e) {
                                    throw new AssertionError(where, e);
                                }
                                cases++;
                            }
                        }
                    }
                }
            }
        }
    }

    private static void resizeOnce(
            int stride, int n, int m, int start, int backlog, Polling polling, int after, QueueMemory memory) {
        Machine machine = new Machine(stride, n, start, OverrunPolicy.BACKPRESSURE, polling);
        for (int i = 0; i < backlog; i++) {
            machine.write();
        }
        machine.queue.resize(m, memory);
        machine.assertWords();
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        assertEquals(n, machine.queue.capacity());
        assertEquals(0, machine.writer.flush()); // the device's next call
        if (backlog > m) {
            assertEquals(ResizeStatus.REFUSED_BACKLOG, machine.queue.resizeStatus());
            assertFalse(machine.queue.cancelResize(), "there is nothing left to cancel");
            fill(machine, n);
            machine.take(n);
            goOn(machine, n);
            return;
        }
        if (backlog == n) { // no slot for the marker
            assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
            machine.refuseWrite();
            machine.take(1);
            assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
            assertEquals(0, machine.writer.flush());
        }
        assertEquals(ResizeStatus.ACCEPTED, machine.queue.resizeStatus());
        assertFalse(machine.queue.cancelResize(), "too late");
        assertEquals(ResizeStatus.ACCEPTED, machine.queue.resizeStatus());
        int position = (int) ((start + machine.written) % m);
        while (machine.model.size() < Math.min(after, m)) {
            machine.write();
        }
        if (machine.written > backlog) { // the first entry after the switch, where remainders say it must be
            assertEquals(
                    backlog, memory.getLong((long) position * stride + (stride == 32 ? 8 : 16)), "in the new ring");
        }
        if (after >= m) {
            machine.refuseWrite();
        }
        machine.take(Integer.MAX_VALUE);
        assertEquals(ResizeStatus.DONE, machine.queue.resizeStatus());
        assertEquals(m, machine.queue.capacity());
        goOn(machine, m);
    }

    private static void fill(Machine machine, int capacity) {
        while (machine.model.size() < capacity) {
            machine.write();
        }
        machine.refuseWrite();
    }

    /** Three laps, each filled and drained; then one by one over another. */
    private static void goOn(Machine machine, int capacity) {
        for (int lap = 0; lap < 3; lap++) {
            fill(machine, capacity);
            machine.take(capacity);
        }
        for (int i = 0; i < capacity; i++) {
            machine.write();
            machine.take(1);
        }
        assertEquals(capacity, machine.queue.remaining());
    }

    /** The marker at each index of rings that have not been used all round: resize after resize, with a few entries between. */
    @FieldBug({1, 71})
    @Test
    void everyThreeSizesInARow() {
        for (int first : SIZES) {
            for (int second : SIZES) {
                for (int third : SIZES) {
                    for (int between = 0; between <= 2 * second; between++) {
                        for (Polling polling : Polling.values()) {
                            Machine machine = new Machine(64, first, 3, OverrunPolicy.BACKPRESSURE, polling);
                            machine.queue.resize(second, dirty(QueueMemory.allocate(second * 64L), cases));
                            machine.writer.flush();
                            for (int i = 0; i < between; i++) {
                                machine.write();
                                machine.take(1);
                            }
                            machine.take(1);
                            assertEquals(ResizeStatus.DONE, machine.queue.resizeStatus());
                            machine.queue.resize(third, dirty(QueueMemory.allocate(third * 64L), cases));
                            machine.writer.flush();
                            machine.take(1);
                            assertEquals(ResizeStatus.DONE, machine.queue.resizeStatus());
                            goOn(machine, third);
                            cases++;
                        }
                    }
                }
            }
        }
    }

    /** Growing helps at once: what the old ring could not hold goes to the new one before the poller has followed. */
    @Test
    void theDeviceUsesTheNewCapacityBeforeThePollerIsThere() {
        Machine machine = new Machine(64, 2, 5, OverrunPolicy.BACKPRESSURE, Polling.HANDLER);
        machine.write();
        machine.queue.resize(16);
        for (int i = 1; i < 16; i++) {
            machine.write(); // the first of these answers the command
        }
        machine.refuseWrite();
        assertEquals(2, machine.queue.capacity(), "the poller's ring");
        assertEquals(16, machine.queue.size());
        assertEquals(0, machine.queue.remaining());
        machine.take(16);
        assertEquals(16, machine.queue.remaining());
        goOn(machine, 16);
    }

    /** A device that never answers: the poller works on in the old ring and may take the command back at any time. */
    @FieldBug(70)
    @Test
    void aDeviceThatNeverAnswersHoldsNobodyUp() {
        Machine machine = new Machine(64, 4, 0, OverrunPolicy.BACKPRESSURE, Polling.HANDLER);
        machine.write();
        machine.write();
        QueueMemory spare = QueueMemory.allocate(8 * 64);
        machine.queue.resize(8, spare);
        machine.take(1);
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        machine.take(1);
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        assertTrue(machine.queue.cancelResize());
        assertEquals(ResizeStatus.CANCELLED, machine.queue.resizeStatus());
        assertFalse(machine.queue.cancelResize());
        spare.fill(0, spare.sizeBytes(), (byte) 0xFF); // the caller's again
        goOn(machine, 4);
        machine.queue.resize(8, spare);
        machine.writer.flush();
        machine.take(1);
        assertEquals(ResizeStatus.DONE, machine.queue.resizeStatus());
        goOn(machine, 8);
    }

    /** An answer belongs to one command: what was cancelled cannot be accepted, the next one can. */
    @Test
    void aCancelledCommandIsNotCarriedOut() {
        Machine machine = new Machine(64, 4, 7, OverrunPolicy.BACKPRESSURE, Polling.CURSOR);
        QueueMemory first = QueueMemory.allocate(8 * 64);
        machine.queue.resize(8, first);
        assertTrue(machine.queue.cancelResize());
        machine.queue.resize(2);
        machine.write();
        first.fill(0, first.sizeBytes(), (byte) 0);
        machine.write();
        machine.refuseWrite();
        machine.take(2);
        assertEquals(2, machine.queue.capacity());
        byte[] untouched = new byte[first.sizeBytes()];
        first.getBytes(0, untouched, 0, untouched.length);
        assertEquals(0, new java.math.BigInteger(untouched).signum(), "the cancelled ring was written to");
        goOn(machine, 2);
    }

    /** The device moves only with nothing in hand: what is staged or claimed belongs to the old ring. */
    @Test
    void whatIsInHandIsPublishedFirst() {
        for (Way way : List.of(Way.STAGE, Way.CLAIM)) {
            CompletionQueue queue = new Shape(64, 4, 2).queue();
            CompletionWriter writer = queue.writer();
            assertTrue(way.put(writer, 0, 64));
            queue.resize(8);
            assertTrue(way.put(writer, 1, 64));
            assertEquals(ResizeStatus.PENDING, queue.resizeStatus());
            assertEquals(2, writer.flush());
            assertEquals(ResizeStatus.PENDING, queue.resizeStatus());
            assertTrue(way.put(writer, 2, 64));
            assertEquals(ResizeStatus.ACCEPTED, queue.resizeStatus());
            assertEquals(1, writer.flush());
            Polling.InOrder taker = new Polling.InOrder(64, way, 0);
            assertEquals(3, queue.poll(taker::onView, 4));
            assertEquals(8, queue.capacity());
        }
    }

    /** A cursor does not leave its ring; abandoned before the marker it has consumed nothing. */
    @Test
    void aCursorStopsAtTheMarker() {
        CompletionQueue queue = new Shape(64, 4, 6).queue();
        PollContractTest.write(queue, Way.WRITE, 0, 2);
        queue.resize(2);
        queue.writer().flush();
        queue.poll(c -> {}, 1);
        PollContractTest.write(queue, Way.WRITE, 2, 3); // in the new ring
        for (int twice = 0; twice < 2; twice++) {
            assertTrue(queue.startPoll());
            assertEquals(1, queue.completion().workRequestId());
            assertFalse(queue.next());
            assertFalse(queue.next());
            assertThrows(IllegalStateException.class, () -> queue.completion().workRequestId());
        }
        assertEquals(2, queue.size(), "abandoned: nothing consumed");
        assertTrue(queue.startPoll());
        assertFalse(queue.next());
        assertEquals(1, queue.endPoll());
        assertEquals(ResizeStatus.ACCEPTED, queue.resizeStatus());
        assertTrue(queue.startPoll());
        assertEquals(ResizeStatus.DONE, queue.resizeStatus());
        assertEquals(2, queue.completion().workRequestId());
        assertFalse(queue.next());
        assertEquals(1, queue.endPoll());
        assertNull(queue.peek());
    }

    @Test
    void peekLooksOverTheMarkerAndConsumesNothing() {
        CompletionQueue queue = new Shape(64, 2, 0).queue();
        queue.resize(4);
        PollContractTest.write(queue, Way.WRITE, 0, 4);
        for (int twice = 0; twice < 2; twice++) {
            Completion seen = queue.peek();
            assertNotNull(seen);
            assertEquals(0, seen.workRequestId());
            assertEquals(4, queue.size());
        }
        assertEquals(4, queue.poll(c -> {}, 4));
    }

    /** One poll over the marker gives slots back as often as the new, smaller ring needs it, not the old one. */
    @FieldBug(20)
    @Test
    void aPollOverTheMarkerGivesSlotsBackForTheNewRing() {
        QueueMemory region = QueueMemory.allocate(384 + 64 * 64);
        CompletionQueue queue = new Shape(64, 64, 0).queue(OverrunPolicy.BACKPRESSURE, region);
        queue.resize(4);
        PollContractTest.write(queue, Way.WRITE, 0, 4);
        assertEquals(
                8, // the four, and four that found room while this poll was under way
                queue.poll(
                        c -> {
                            long id = c.workRequestId();
                            assertEquals(id, region.getLong(Region.CONSUMER), "all before this one");
                            if (id > 0 && id < 5) {
                                assertTrue(queue.writer().write(0, id + 3, 0, 0, 0));
                            }
                        },
                        64));
    }

    /** Counters are the queue's, not the ring's. */
    @Test
    void countersGoOn() {
        QueueMemory region = QueueMemory.allocate(384 + 64);
        CompletionQueue queue = new Shape(64, 1, 0).queue(OverrunPolicy.DROP_NEW, region);
        CompletionWriter writer = queue.writer();
        assertTrue(writer.write(0, 0, 0, 0, 0));
        assertFalse(writer.write(0, 1, 0, 0, 0));
        region.putLong(Region.CONSUMER, 7); // nonsense
        assertFalse(writer.write(0, 2, 0, 0, 0));
        region.putLong(Region.CONSUMER, 0);
        assertEquals(List.of(2L, 1L), List.of(queue.lostEntries(), writer.rejectedDoorbells()));
        assertEquals(1, queue.poll(c -> {}, 1));
        queue.resize(2);
        assertTrue(writer.write(0, 3, 0, 0, 0));
        assertTrue(writer.write(0, 4, 0, 0, 0));
        assertFalse(writer.write(0, 5, 0, 0, 0));
        region.putLong(Region.CONSUMER, 9);
        assertFalse(writer.write(0, 6, 0, 0, 0));
        region.putLong(Region.CONSUMER, 1);
        assertEquals(List.of(4L, 2L), List.of(queue.lostEntries(), writer.rejectedDoorbells()));
        assertEquals(1, queue.poll(c -> {}, 2), "the call began in a ring of one slot");
        assertEquals(1, queue.poll(c -> {}, 2));
    }

    /** A dead queue stays dead, and is drained where it died. */
    @Test
    void aDeadQueueIsNotResized() {
        CompletionQueue queue = new Shape(64, 2, 0).queue(OverrunPolicy.ERROR);
        PollContractTest.write(queue, Way.WRITE, 0, 2);
        assertFalse(queue.writer().write(0, 9, 0, 0, 0));
        queue.resize(8);
        assertEquals(0, queue.writer().flush());
        assertEquals(ResizeStatus.REFUSED_DEAD, queue.resizeStatus());
        assertEquals(2, queue.poll(c -> {}, 8));
        assertThrows(CqOverrunException.class, () -> queue.poll(c -> {}, 1));
    }

    /** Overrun in the new ring, before the poller is there: all that was written is polled, from both rings, then the end. */
    @Test
    void anOverrunInTheNewRingLeavesBothRingsToBePolled() {
        for (Polling polling : Polling.values()) {
            Machine machine = new Machine(64, 2, 1, OverrunPolicy.ERROR, polling);
            machine.write();
            machine.queue.resize(4);
            for (int i = 0; i < 3; i++) {
                machine.write();
            }
            assertFalse(machine.writer.write(0, 9, 0, 0, 0));
            while (!machine.model.isEmpty()) {
                polling.take(machine.queue, 4, machine);
            }
            assertThrows(CqOverrunException.class, () -> polling.take(machine.queue, 1, machine));
        }
    }

    @Test
    void shouldRefuseWhatBreaksARuleAndChangeNothing() {
        QueueMemory region = QueueMemory.allocate(1024);
        CompletionQueue queue = new Shape(64, 2, 0).queue(OverrunPolicy.BACKPRESSURE, region);
        assertMessage(
                IllegalArgumentException.class, "capacity must be a power of two, 1 or more: 3", () -> queue.resize(3));
        assertMessage(
                IllegalArgumentException.class, "capacity must be a power of two, 1 or more: 0", () -> queue.resize(0));
        assertMessage(
                IllegalArgumentException.class,
                "capacity must be at most 16777216 entries of 64 bytes: 33554432",
                () -> queue.resize(1 << 25));
        assertMessage(
                IllegalArgumentException.class,
                "memory of 255 bytes is too small for 4 slots of 64 bytes: 256 bytes are needed",
                () -> queue.resize(4, QueueMemory.allocate(255)));
        assertMessage(
                IllegalArgumentException.class,
                "memory of the new ring must not be in use by this queue: " + region,
                () -> queue.resize(4, region));
        assertEquals(ResizeStatus.NONE, queue.resizeStatus());
        assertFalse(queue.cancelResize());

        queue.resize(4);
        assertMessage(
                IllegalStateException.class,
                "a resize from 2 to 4 entries is under way: poll until it is done, or cancel it",
                () -> queue.resize(8));
        PollContractTest.write(queue, Way.WRITE, 0, 4);
        assertMessage(
                IllegalStateException.class,
                "a resize from 2 to 4 entries is under way: poll until it is done, or cancel it",
                () -> queue.resize(8));
        Polling.InOrder taker = new Polling.InOrder(64, Way.WRITE, 0);
        int[] handled = {0};
        assertEquals(
                2, // as many as the ring held in which the call began
                queue.poll(
                        c -> {
                            taker.onView(c);
                            handled[0]++;
                            assertThrows(IllegalStateException.class, () -> queue.resize(8), "from a handler");
                        },
                        4));
        assertEquals(2, queue.poll(taker::onView, 4));
        queue.close();
        assertMessage(IllegalStateException.class, "completion queue is closed", () -> queue.resize(2));
        assertMessage(IllegalStateException.class, "completion queue is closed", queue::cancelResize);
        assertMessage(IllegalStateException.class, "completion queue is closed", queue::resizeStatus);
    }

    @Test
    void shouldRefuseAQueueWithGaps() {
        CompletionQueue queue = new Shape(64, 2, 0).queue();
        queue.expectGaps();
        assertMessage(
                IllegalStateException.class,
                "a queue can be resized only if it has one writer and one poller, does not merge and is not in a file",
                () -> queue.resize(4));
    }

    /** Closing wins over a command, whichever way it lies. */
    @Test
    void closedWhileAResizeIsUnderWay() {
        CompletionQueue pending = new Shape(64, 2, 0).queue();
        pending.resize(4);
        pending.close();
        assertMessage(
                IllegalStateException.class,
                "completion queue is closed",
                () -> pending.writer().flush());
        CompletionQueue accepted = new Shape(64, 2, 0).queue();
        accepted.resize(4);
        assertTrue(accepted.writer().write(0, 0, 0, 0, 0));
        accepted.close();
        assertMessage(IllegalStateException.class, "completion queue is closed", () -> accepted.poll(c -> {}, 1));
        assertEquals(1, accepted.size(), "still told");
    }

    private static void assertMessage(
            Class<? extends Exception> type, String message, org.junit.jupiter.api.function.Executable call) {
        assertEquals(message, assertThrows(type, call).getMessage());
    }
}
