package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.cqring.cq.Numbered.Way;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.Threads;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When a queue is deepened and when it is halved: against tables and counts made by hand, and that no traffic suffers from it. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class AdaptiveDepthTest {
    /** Queue and policy, both ends on this thread. What was written must come, in order. */
    private static final class Machine {
        final CompletionQueue queue;
        final CompletionWriter writer;
        final AdaptiveDepth depth;
        long written;
        long taken;

        Machine(int capacity, int smallest, int largest, OverrunPolicy policy, long start) {
            queue = CompletionQueue.ofCapacity(capacity)
                    .overrunPolicy(policy)
                    .startSequence(start)
                    .create();
            writer = queue.writer();
            depth = new AdaptiveDepth(queue, smallest, largest);
        }

        Machine(int capacity, int smallest, int largest) {
            this(capacity, smallest, largest, OverrunPolicy.BACKPRESSURE, 0);
        }

        void write(int count) {
            for (int i = 0; i < count; i++) {
                assertTrue(Way.WRITE.publish(writer, written, 64), "write " + written);
                written++;
            }
        }

        void stage(int count) {
            for (int i = 0; i < count; i++) {
                assertTrue(Way.STAGE.put(writer, written, 64), "stage " + written);
                written++;
            }
        }

        void onCompletion(Completion completion) {
            assertEquals(taken++, completion.workRequestId());
        }

        int poll(int limit) {
            int count = queue.poll(this::onCompletion, limit);
            depth.adapt();
            return count;
        }

        /** So many at once, then polled: in one call, or in two when the first comes to the end of a ring. */
        void burst(int count) {
            write(count);
            int took = poll(1 << 24);
            assertTrue(took > 0);
            assertEquals(count, took == count ? took : took + poll(1 << 24));
        }

        /** One by one. */
        void lull(int count) {
            for (int i = 0; i < count; i++) {
                burst(1);
            }
        }

        void assertFigures(int capacity, int deepened, int halved, int refused, int takenBack) {
            assertEquals(capacity, queue.capacity(), "capacity");
            assertEquals(deepened, depth.deepened(), "deepened");
            assertEquals(halved, depth.halved(), "halved");
            assertEquals(refused, depth.refused(), "refused");
            assertEquals(takenBack, depth.takenBack(), "taken back");
        }
    }

    /** Worked out by hand: three quarters and an eighth of the depth, 8 windows, the limits. */
    @ParameterizedTest
    @CsvSource({
        // depth, backlog, calm, smallest, largest -> wanted
        "  64,   0,  0,   8,   1024,   64",
        "  64,   7,  7,   8,   1024,   64",
        "  64,   7,  8,   8,   1024,   32",
        "  64,   7,  9,   8,   1024,   32",
        "  64,   7,  8,  64,   1024,   64",
        "  64,   7,  8,  32,   1024,   32",
        "  64,  47,  0,   8,   1024,   64",
        "  64,  48,  0,   8,   1024,  128",
        "  64,  48,  8,   8,   1024,  128",
        "  64,  64,  0,   8,   1024,  128",
        "  64,  95,  0,   8,   1024,  128",
        "  64,  96,  0,   8,   1024,  256",
        "  64, 128,  0,   8,   1024,  256",
        "  64, 128,  0,   8,    128,  128",
        "  64,  64,  0,   8,     64,   64",
        "  64,  64,  9,   8,     64,   64",
        "  64,   8,  9,   8,     64,   64",
        "   1,   0,  0,   1,      8,    1",
        "   1,   1,  0,   1,      8,    2",
        "   1,   2,  0,   1,      8,    4",
        "   2,   1,  0,   1,      8,    2",
        "   2,   2,  0,   1,      8,    4",
        "   4,   2,  0,   1,      8,    4",
        "   4,   3,  0,   1,      8,    8",
        "   4,   6,  0,   1,   1024,   16",
        "8192, 6143,  0,  32, 16384, 8192",
        "8192, 6144,  0,  32, 16384, 16384",
        "16777216, 16777216, 0, 32, 16777216, 16777216",
        "8388608, 16777216, 0, 32, 16777216, 16777216",
        // the queue was taken out of the limits by somebody else
        " 128, 128,  0,   8,     64,  128",
        " 128,   0,  8,   8,     64,   64",
        "   4,   0,  8,   8,     64,    4",
        "   4,   3,  0,   8,     64,    8"
    })
    void decides(int capacity, int backlog, int calm, int smallest, int largest, int wanted) {
        assertEquals(wanted, AdaptiveDepth.wanted(capacity, backlog, calm, smallest, largest));
    }

    /** Three quarters of the ring are seen in one poll: twice the depth, when the device has answered and the poller has followed. */
    @ParameterizedTest
    @ValueSource(longs = {0, 5, (1L << 32) - 3, Long.MAX_VALUE - 20})
    void aBurstDeepens(long start) {
        Machine machine = new Machine(16, 16, 128, OverrunPolicy.BACKPRESSURE, start);
        machine.burst(11);
        assertEquals(ResizeStatus.NONE, machine.queue.resizeStatus());
        machine.burst(12);
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        machine.assertFigures(16, 0, 0, 0, 0);
        machine.burst(23);
        machine.assertFigures(32, 1, 0, 0, 0);
        machine.burst(23);
        machine.burst(24);
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        machine.burst(64);
        machine.assertFigures(64, 2, 0, 0, 0);
        machine.burst(64);
        machine.burst(1);
        machine.assertFigures(128, 3, 0, 0, 0);
        machine.burst(128);
        machine.burst(128);
        assertEquals(ResizeStatus.DONE, machine.queue.resizeStatus(), "at the limit");
        machine.assertFigures(128, 3, 0, 0, 0);
        assertEquals(128, machine.depth.deepest());
        assertEquals(128, machine.depth.highWater());
    }

    /** A limit below the backlog hides nothing: what is left counts. By hand: 4 taken, 8 left. */
    @Test
    void aBurstIsSeenBySmallPollsToo() {
        Machine machine = new Machine(16, 16, 128);
        machine.write(12);
        assertEquals(1, machine.poll(1)); // 1 of 16 consumed: no look yet
        assertEquals(ResizeStatus.NONE, machine.queue.resizeStatus());
        machine.write(1);
        assertEquals(1, machine.poll(1)); // an eighth: 1 taken, 11 left
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        assertEquals(12, machine.depth.highWater());
    }

    /**
     * What arrives during a poll counts. By hand: 16 are polled, slots go back after 4, 8 and 12, and the handler of each entry
     * writes one more, for which there is room from the fifth entry on. 16 taken and 12 left are below 3/4 of 64, not of 32.
     */
    @Test
    void aBacklogThatGrowsWhileItIsPolledDeepensFourfold() {
        Machine machine = new Machine(16, 16, 128);
        machine.write(16);
        int count = machine.queue.poll(
                completion -> {
                    machine.onCompletion(completion);
                    if (machine.writer.write(Numbered.header(machine.written), machine.written, 0, 0, 0)) {
                        machine.written++;
                    }
                },
                100);
        assertEquals(16, count);
        assertEquals(28, machine.written);
        machine.depth.adapt();
        assertEquals(28, machine.depth.highWater());
        assertEquals(12, machine.poll(100));
        machine.burst(1);
        machine.assertFigures(64, 1, 0, 0, 0);
    }

    /**
     * Entries one by one: 8 windows of 64 are 512 entries, the 513th leads into the ring of 32; there 8 x 32 = 256 more, and so on. A
     * ring of 8 stays: one entry is an eighth of it.
     */
    @Test
    void aLullHalvesAfterEightWindows() {
        Machine machine = new Machine(64, 1, 64);
        for (int entry = 1; entry <= 2000; entry++) {
            machine.burst(1);
            int expected = entry <= 512 ? 64 : entry <= 768 ? 32 : entry <= 896 ? 16 : 8;
            assertEquals(expected, machine.queue.capacity(), "after entry " + entry);
        }
        machine.assertFigures(8, 0, 3, 0, 0);
        assertEquals(64, machine.depth.deepest());
        assertEquals(1, machine.depth.highWater());
    }

    @Test
    void aLullStopsAtTheSmallest() {
        Machine machine = new Machine(64, 32, 64);
        machine.lull(5000);
        machine.assertFigures(32, 0, 1, 0, 0);
    }

    /** From an eighth to just below three quarters: nothing happens, whatever the order. */
    @Test
    void trafficWithinTheHysteresisChangesNothing() {
        Machine machine = new Machine(64, 8, 1024);
        for (int i = 0; i < 10_000; i++) {
            machine.burst(8);
            machine.burst(47);
        }
        assertEquals(ResizeStatus.NONE, machine.queue.resizeStatus());
        machine.assertFigures(64, 0, 0, 0, 0);
    }

    /** A burst of an eighth every 456 entries: between two of them there are at most 7 whole windows of 64. */
    @Test
    void calmMustLastEightWindowsInARow() {
        Machine machine = new Machine(64, 8, 1024);
        for (int i = 0; i < 100; i++) {
            machine.lull(448);
            machine.burst(8);
        }
        assertEquals(ResizeStatus.NONE, machine.queue.resizeStatus());
    }

    /** Up and down again and again: five depths, so five rings, of which the first was never ours. */
    @Test
    void ringsAreUsedAgain() {
        Machine machine = new Machine(64, 16, 256);
        Set<QueueMemory> rings = Collections.newSetFromMap(new IdentityHashMap<>());
        for (int cycle = 1; cycle <= 50; cycle++) {
            while (machine.queue.capacity() != 256) {
                machine.burst(machine.queue.capacity());
                rings.add(machine.queue.slots);
            }
            while (machine.queue.capacity() != 16) {
                machine.burst(1);
                rings.add(machine.queue.slots);
            }
        }
        assertEquals(6, rings.size(), "the first of 64, then 128, 256, 64, 32, 16");
        machine.assertFigures(16, 2 + 49 * 4, 50 * 4, 0, 0);
    }

    /** A device that writes nothing does not answer; nothing waits for it, and the command still stands when it comes back. */
    @Test
    void aSilentDeviceHoldsNobodyUp() {
        Machine machine = new Machine(16, 16, 128);
        machine.burst(12);
        for (int i = 0; i < 1000; i++) {
            assertEquals(0, machine.poll(16));
        }
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        machine.burst(1);
        machine.assertFigures(32, 1, 0, 0, 0);
    }

    /** To 512 entries one by one, the last with an entry of the device in hand: it cannot answer before it has flushed. */
    private static Machine machineWithAHalvingUnanswered() {
        Machine machine = new Machine(64, 8, 256);
        machine.lull(511);
        machine.write(1);
        machine.stage(1);
        assertEquals(1, machine.poll(64));
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        return machine;
    }

    @Test
    void aHalvingThatIsNotAnsweredIsTakenBackForABurst() {
        Machine machine = machineWithAHalvingUnanswered();
        machine.stage(47);
        assertEquals(48, machine.writer.flush());
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        assertEquals(48, machine.poll(64)); // three quarters of 64
        machine.assertFigures(64, 0, 0, 0, 1);
        machine.burst(1);
        machine.assertFigures(128, 1, 0, 0, 1);
    }

    @Test
    void aHalvingThatTheDeviceRefusesIsCountedAndTriedAfterTheNextCalm() {
        Machine machine = machineWithAHalvingUnanswered();
        machine.stage(39);
        assertEquals(40, machine.writer.flush());
        assertEquals(0, machine.writer.flush()); // with nothing in hand: 40 are unpolled, 32 would fit
        assertEquals(1, machine.poll(1));
        machine.assertFigures(64, 0, 0, 1, 0);
        assertEquals(39, machine.poll(64));
        machine.lull(8 * 64); // the first window is not calm
        assertEquals(ResizeStatus.REFUSED_BACKLOG, machine.queue.resizeStatus());
        machine.lull(2 * 64);
        machine.assertFigures(32, 0, 1, 1, 0);
    }

    @Test
    void aDeadQueueIsAskedOnce() {
        Machine machine = new Machine(16, 16, 64, OverrunPolicy.ERROR, 0);
        machine.write(16);
        assertFalse(machine.writer.write(0, 16, 0, 0, 0));
        assertEquals(4, machine.poll(4));
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        assertEquals(0, machine.writer.flush());
        assertEquals(4, machine.poll(4));
        machine.assertFigures(16, 0, 0, 1, 0);
        assertEquals(8, machine.poll(16));
        assertThrows(CqOverrunException.class, () -> machine.poll(16));
        assertEquals(ResizeStatus.REFUSED_DEAD, machine.queue.resizeStatus());
        machine.assertFigures(16, 0, 0, 1, 0);
        assertEquals(0, machine.queue.reset());
        machine.written = 0;
        machine.taken = 0;
        machine.burst(12); // the first call after a reset begins anew
        machine.burst(12);
        machine.burst(1);
        machine.assertFigures(32, 1, 0, 1, 0);
    }

    /** Sequences go back by 100; the second burst after it is looked at as ever. */
    @Test
    void aResetBeginsAnew() {
        Machine machine = new Machine(16, 16, 64);
        machine.lull(100);
        assertEquals(0, machine.queue.reset());
        machine.written = 0;
        machine.taken = 0;
        machine.burst(12);
        machine.burst(12);
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
    }

    /** Sixty entries in ten polls are no backlog of sixty: no call takes more than the ring holds. */
    @Test
    void severalPollsBeforeOneCallCountAsOneRingAtMost() {
        Machine machine = new Machine(16, 16, 256);
        for (int i = 0; i < 10; i++) {
            machine.write(6);
            assertEquals(6, machine.queue.poll(machine::onCompletion, 16));
        }
        machine.depth.adapt();
        assertEquals(16, machine.depth.highWater());
        machine.burst(2);
        machine.assertFigures(32, 1, 0, 0, 0);
        machine.burst(4);
        assertEquals(16, machine.depth.highWater(), "the largest, not the last");
    }

    /** What somebody else does with the queue is let be, and a resize of theirs is not counted. */
    @Test
    void anotherResizeUnderWayIsLeftAlone() {
        Machine machine = new Machine(16, 16, 256);
        machine.write(12);
        machine.queue.resize(64);
        assertEquals(12, machine.poll(16));
        assertEquals(ResizeStatus.PENDING, machine.queue.resizeStatus());
        machine.burst(1);
        machine.assertFigures(64, 0, 0, 0, 0);
        machine.burst(48);
        assertTrue(machine.queue.cancelResize());
        machine.burst(1); // learns of it
        machine.burst(48);
        machine.burst(1);
        machine.assertFigures(128, 1, 0, 0, 0);
    }

    @Test
    void onlyThePollingThreadAndOnlyWhileTheQueueIsOpen() {
        Machine machine = new Machine(16, 16, 64);
        machine.write(12);
        assertEquals(12, machine.queue.poll(c -> {}, 16));
        AssertionError wrongThread =
                assertThrows(AssertionError.class, () -> Threads.run(spin -> machine.depth.adapt()));
        assertTrue(wrongThread.getCause() instanceof IllegalStateException, wrongThread::toString);
        machine.write(12);
        assertEquals(12, machine.queue.poll(c -> {}, 16));
        machine.queue.close();
        IllegalStateException closed = assertThrows(IllegalStateException.class, machine.depth::adapt);
        assertEquals("completion queue is closed", closed.getMessage());
    }

    @Test
    void depthsThatBreakTheirRuleAreRefused() {
        CompletionQueue queue = CompletionQueue.ofCapacity(16).strideBytes(128).create();
        for (int smallest : new int[] {-16, 0, 3, 32}) {
            assertEquals(
                    "smallest depth must be a power of two, 1 to the queue's capacity of 16: " + smallest,
                    assertThrows(IllegalArgumentException.class, () -> new AdaptiveDepth(queue, smallest, 64))
                            .getMessage());
        }
        for (int largest : new int[] {Integer.MIN_VALUE, 0, 8, 48}) {
            assertEquals(
                    "largest depth must be a power of two, at least the queue's capacity of 16: " + largest,
                    assertThrows(IllegalArgumentException.class, () -> new AdaptiveDepth(queue, 8, largest))
                            .getMessage());
        }
        assertEquals(
                "capacity must be at most 8388608 entries of 128 bytes: 16777216",
                assertThrows(IllegalArgumentException.class, () -> new AdaptiveDepth(queue, 8, 1 << 24))
                        .getMessage());
        new AdaptiveDepth(queue, 16, 16);
    }

    @Test
    void queuesThatCannotBeResizedAreRefused(@TempDir Path folder) throws IOException {
        CompletionQueue inFile = CompletionQueue.ofCapacity(16)
                .memory(QueueMemory.create(folder.resolve("queue"), CompletionQueue.requiredBytes(16, 64)))
                .create();
        CompletionQueue manyWriters = CompletionQueue.ofCapacity(16).writers(2).create();
        CompletionQueue merging = CompletionQueue.ofCapacity(16).merging().create();
        for (CompletionQueue queue : new CompletionQueue[] {inFile, manyWriters, merging}) {
            assertEquals(
                    "the depth of a queue can adapt only if it has one writer and one poller, does not merge and is"
                            + " not in a file",
                    assertThrows(IllegalStateException.class, () -> new AdaptiveDepth(queue, 8, 64))
                            .getMessage());
        }
        CompletionQueue manyPollers =
                CompletionQueue.ofCapacity(16).sharedPollers().create();
        assertThrows(IllegalStateException.class, () -> new AdaptiveDepth(manyPollers, 8, 64));
    }

    @Test
    void allocatesNothingWhileTheDepthStays() {
        CompletionQueue queue = CompletionQueue.ofCapacity(64).create();
        AdaptiveDepth depth = new AdaptiveDepth(queue, 64, 1024);
        CompletionHandler handler = completion -> {};
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 20; round++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < 10_000; i++) {
                for (int n = 0; n < 8; n++) {
                    queue.writer().write(0, n, 0, 0, 0);
                }
                queue.poll(handler, 64);
                depth.adapt();
            }
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        long bytes = least;
        assertTrue(bytes < 10_000, () -> "bytes in 10,000 laps: " + bytes);
    }

    /** Random bursts, batches, limits and pauses: all comes, in order and whole, whatever the depth does, and it stays in its limits. */
    @Test
    void randomTrafficLosesNothing() {
        long seed = Long.getLong("cqring.test.seed", System.nanoTime());
        System.out.println("AdaptiveDepthTest: seed " + seed + ", repeat with -Dcqring.test.seed=" + seed);
        SplittableRandom seeds = new SplittableRandom(seed);
        long deepened = 0;
        long halved = 0;
        long refused = 0;
        long takenBack = 0;
        for (int run = 0; run < 200; run++) {
            try {
                AdaptiveDepth depth = randomRun(seeds.split());
                deepened += depth.deepened();
                halved += depth.halved();
                refused += depth.refused();
                takenBack += depth.takenBack();
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + ", run " + run, e);
            }
        }
        System.out.println("Adaptive depth: deepened " + deepened + ", halved " + halved + ", refused " + refused
                + ", taken back " + takenBack);
        assertTrue(deepened > 200 && halved > 200, "random traffic must move the depth");
    }

    private static AdaptiveDepth randomRun(SplittableRandom random) {
        final int smallest = 1 << random.nextInt(5);
        final int first = smallest << random.nextInt(3);
        final int largest = first << random.nextInt(5);
        final int stride = 32 << random.nextInt(3);
        CompletionQueue queue = new Shape(stride, first, random.nextLong() >>> 1).queue();
        CompletionWriter writer = queue.writer();
        AdaptiveDepth depth = new AdaptiveDepth(queue, smallest, largest);
        Deque<Long> model = new ArrayDeque<>();
        Deque<Long> inHand = new ArrayDeque<>();
        Polling.Taker taker = new Polling.Taker() {
            @Override
            public void onView(Completion view) {
                long n = model.removeFirst();
                Numbered.verify(view, n, Way.at((int) (n % 5)), stride);
            }

            @Override
            public void onCopy(WorkCompletion copy) {
                long n = model.removeFirst();
                Numbered.verify(copy, n, Way.at((int) (n % 5)), stride);
            }
        };
        long next = 0;
        for (int phase = 0; phase < 12; phase++) {
            final boolean calm = random.nextBoolean();
            final int burst = 1 + (calm ? 0 : random.nextInt(2 * largest));
            final int most = 1 + random.nextInt(2 * largest);
            final long end = next + (calm ? 12L * queue.capacity() : 4L * largest);
            while (next < end) {
                boolean room = true;
                for (int i = 0; i < burst && room; i++) {
                    Way way = Way.at((int) (next % 5));
                    if (!way.needsFlush() && !inHand.isEmpty() && random.nextBoolean()) {
                        writer.flush();
                        move(inHand, model);
                    }
                    room = way.put(writer, next, stride);
                    if (!way.needsFlush()) {
                        move(inHand, model); // published along with what is in hand, room or not
                    }
                    if (room) {
                        (way.needsFlush() ? inHand : model).addLast(next++);
                    }
                }
                if (!room || random.nextInt(3) != 0) {
                    writer.flush();
                    move(inHand, model);
                }
                final int waiting = model.size();
                final int taken = Polling.at(random.nextInt(5)).take(queue, most, taker);
                assertTrue(taken > 0 || waiting == 0 || most == 0, "entries wait and none comes");
                depth.adapt();
                assertTrue(queue.capacity() >= smallest && queue.capacity() <= largest, "depth beyond its limits");
                assertEquals(model.size(), queue.size());
            }
        }
        writer.flush();
        move(inHand, model);
        while (queue.poll(taker::onView, largest) != 0) {
            depth.adapt();
        }
        assertTrue(model.isEmpty(), () -> model.size() + " lost");
        assertEquals(0, queue.lostEntries());
        return depth;
    }

    private static void move(Deque<Long> from, Deque<Long> to) {
        to.addAll(from);
        from.clear();
    }

    /**
     * Two threads. A burst, whose entries the poller lets pile up, takes the queue from the smallest depth to the largest; a lull, each
     * entry polled before the next is written, takes it back: 8 x (1024 + 384 + ... + 32) are 16,128 entries; a window of 1024 that saw the end of the burst
     * does not count, nor do the entries during which a resize is under way.
     */
    @Test
    void theDepthFollowsBurstsAndLullsOfALiveDevice() {
        final int rounds = 4;
        final int burst = 8192;
        final int lull = 20_000;
        CompletionQueue queue = CompletionQueue.ofCapacity(16).create();
        AdaptiveDepth depth = new AdaptiveDepth(queue, 16, 1024);
        AtomicLong written = new AtomicLong();
        AtomicLong taken = new AtomicLong();
        Threads.run(
                spin -> {
                    CompletionWriter writer = queue.writer();
                    for (int round = 0; round < rounds; round++) {
                        for (int i = 0; i < burst + lull; i++) {
                            while (!Way.WRITE.put(writer, written.get(), 64)) {
                                spin.once();
                            }
                            written.incrementAndGet();
                            while (i >= burst - 1 && taken.get() != written.get()) {
                                spin.once();
                            }
                        }
                    }
                },
                spin -> {
                    Polling.InOrder taker = new Polling.InOrder(64, Way.WRITE, 0);
                    for (int round = 0; round < rounds; round++) {
                        final long burstEnd = (long) round * (burst + lull) + burst;
                        final long end = burstEnd + lull;
                        while (taken.get() != end) {
                            while (written.get() < burstEnd && queue.size() < queue.capacity()) {
                                spin.once();
                            }
                            int count = queue.poll(taker::onView, 1 << 20);
                            depth.adapt();
                            boolean inBurst = taken.get() < burstEnd;
                            taken.addAndGet(count);
                            if (inBurst && taken.get() == burstEnd) {
                                assertEquals(1024, queue.capacity(), "after a burst");
                            }
                            if (count == 0) {
                                spin.once();
                            }
                        }
                        assertEquals(16, queue.capacity(), "after a lull");
                    }
                });
        assertEquals(rounds * 6L, depth.halved());
        assertTrue(depth.deepened() >= rounds && depth.deepened() <= rounds * 6L, () -> "deepened " + depth.deepened());
        assertEquals(0, depth.refused());
        assertEquals(1024, depth.deepest());
    }
}
