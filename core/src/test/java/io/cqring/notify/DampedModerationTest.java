package io.cqring.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.cqring.testing.FieldBug;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the filter shows to an algorithm, and what both make of bursts. */
class DampedModerationTest {
    private static final long MS = VirtualHost.MS;

    private final RdmaDim algorithm = new RdmaDim();
    private final DampedModeration damped = new DampedModeration(algorithm, 15 * MS);
    private long nowNs = Long.MAX_VALUE - 20 * MS;

    /** A millisecond with so many completions in 5 events. */
    private boolean slice(int completions) {
        boolean changed = false;
        for (int i = 1; i <= 5; i++) {
            assertFalse(changed, "only at the end of a period");
            nowNs += MS / 5;
            changed = damped.onEvent(i == 5 ? completions : 0, 0, nowNs);
        }
        return changed;
    }

    private boolean period(int slices, int completions, int otherSlices, int otherCompletions) {
        boolean changed = false;
        for (int i = 0; i < slices + otherSlices; i++) {
            assertFalse(changed, "only at the end of a period");
            boolean other = i >= slices / 2 && i < slices / 2 + otherSlices; // in the middle
            changed = slice(other ? otherCompletions : completions);
        }
        return changed;
    }

    /** Seven of fifteen slices do not show, eight do. 1 ms slices of 5 events: the rate is the number of completions. */
    @Test
    void theAlgorithmSeesTheMedianSlice() {
        assertFalse(damped.onEvent(99, 0, nowNs), "opens the first slice");
        assertFalse(period(15, 640, 0, 0));
        assertEquals(640, algorithm.reference.completions);
        assertEquals(5, algorithm.reference.events);
        assertEquals(12_800, algorithm.reference.perEvent);
        assertFalse(period(8, 700, 7, 7000)); // 700 is 9 percent more
        assertEquals(700, algorithm.reference.completions);
        assertFalse(period(8, 700, 7, 0));
        assertEquals(700, algorithm.reference.completions);
        assertTrue(period(7, 700, 8, 7000));
        assertEquals(7000, algorithm.reference.completions);
        assertEquals(1, damped.profileIndex());
        assertEquals("4,1", damped.moderation().toString());
        assertEquals("32,32", damped.profile(8).toString());
        assertFalse(damped.onEvent(99, 0, nowNs), "after a change an event opens a slice");
        assertTrue(period(8, 9000, 7, 0));
        assertEquals(2, damped.profileIndex());
        assertEquals(9000, algorithm.reference.completions);
    }

    /** One event in 10 ms: a slice lasts for 5, a period for 75 of them, and the first event opens it. By hand: 10 in 50 ms. */
    @Test
    void whereEventsAreRarePeriodsAreLonger() {
        for (int i = 1; i <= 75; i++) {
            damped.onEvent(2, 0, nowNs += 10 * MS);
            assertEquals(0, algorithm.reference.events);
        }
        damped.onEvent(2, 0, nowNs += 10 * MS);
        assertEquals(1, algorithm.reference.events);
        assertEquals(1, algorithm.reference.completions);
        assertEquals(100, algorithm.reference.perEvent);
    }

    @Test
    void badValuesAreRefused() {
        assertEquals(
                "damping period must be at least 15000 ns: 14999",
                assertThrows(IllegalArgumentException.class, () -> new DampedModeration(algorithm, 14_999))
                        .getMessage());
        assertThrows(NullPointerException.class, () -> new DampedModeration((NetDim) null, MS));
        assertEquals(
                "completions and bytes of an event must not be negative: -1, 0",
                assertThrows(IllegalArgumentException.class, () -> damped.onEvent(-1, 0, 0))
                        .getMessage());
    }

    private static VirtualHost run(boolean net, long seed, boolean bursts, long periodMs) {
        RdmaDim rdma = new RdmaDim();
        NetDim receive = NetDim.receive(TimerMode.FROM_EVENT);
        AdaptiveModeration adaptive = net ? receive : rdma;
        if (periodMs > 0) {
            adaptive = net ? new DampedModeration(receive, periodMs * MS) : new DampedModeration(rdma, periodMs * MS);
        }
        VirtualHost host = new VirtualHost(seed, bursts, adaptive);
        host.run();
        System.out.println("DampedModerationTest: " + (net ? "net" : "rdma") + ", seed " + seed
                + (bursts ? ", bursts" : ", steady") + ", damping period " + periodMs + " ms: " + host);
        return host;
    }

    /**
     * Steady traffic shows the steady profile. With bursts and without the filter the algorithms oscillate, and leave it
     * by far more than a factor of two; with the filter neither count nor period leaves that factor, there is at most one
     * step per period, and a completion costs as many events as in steady traffic, within a fifth.
     */
    @FieldBug(104)
    @ParameterizedTest
    @CsvSource({"false, 1", "false, 2", "true, 1", "true, 2"})
    void burstsDoNotMoveADampedModeration(boolean net, long seed) {
        long periodMs = 10;
        VirtualHost steady = run(net, seed, false, periodMs);
        Moderation steadyValue = profile(net, steady.mostTimeAt);

        VirtualHost free = run(net, seed, true, 0);
        assertTrue(free.turns > 50, "2 s and 100 bursts, undamped: " + free);
        assertTrue(free.shortestNsBetweenChanges < MS, "undamped: " + free);
        assertFalse(isWithinTwice(profile(net, free.lowest), steadyValue), "undamped: " + free);

        VirtualHost damped = run(net, seed, true, periodMs);
        for (int index = damped.lowest; index <= damped.highest; index++) {
            assertTrue(isWithinTwice(profile(net, index), steadyValue), "damped: " + damped);
        }
        assertTrue(damped.shortestNsBetweenChanges >= periodMs * MS, "damped: " + damped);
        double cost = steady.completionsPerEvent() / damped.completionsPerEvent();
        assertTrue(cost > 0.8 && cost < 1.2, "damped: " + damped + "; steady: " + steady);
    }

    private static Moderation profile(boolean net, int index) {
        return (net ? NetDim.receive(TimerMode.FROM_EVENT) : new RdmaDim()).profile(index);
    }

    private static boolean isWithinTwice(Moderation one, Moderation other) {
        return one.count() <= 2 * other.count()
                && other.count() <= 2 * one.count()
                && one.periodNs() <= 2 * other.periodNs()
                && other.periodNs() <= 2 * one.periodNs();
    }

    /** As elsewhere: the least of several rounds, so that a compiler thread's own work on this thread does not count. */
    @Test
    void nothingIsAllocatedPerEvent() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        AdaptiveModeration[] all = {
            new RdmaDim(),
            NetDim.receive(TimerMode.FROM_EVENT),
            new DampedModeration(new RdmaDim(), MS),
            new DampedModeration(NetDim.send(TimerMode.FROM_ENTRY), MS)
        };
        ModerationTimer timer = new ModerationTimer(Moderation.OFF);
        Loads loads = new Loads();
        long least = Long.MAX_VALUE;
        int changes = 0;
        for (int round = 0; round < 20; round++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < 100_000; i++) {
                int completions = loads.next();
                timer.onArm(0, nowNs);
                timer.onEntries(completions, nowNs);
                nowNs += 10_000;
                if (timer.isDue(nowNs)) {
                    timer.onEvent();
                }
                for (AdaptiveModeration one : all) {
                    if (one.onEvent(completions, completions * 1000L, nowNs)) {
                        timer.moderation(one.moderation());
                        changes++;
                    }
                }
            }
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertTrue(changes > 1000, "changes " + changes);
        assertTrue(least < 10_000, "bytes in 100,000 events: " + least);
    }

    /** Loads that differ from window to window, without an object per number. */
    private static final class Loads {
        private int count;

        int next() {
            count++;
            return 1 + (count >> 10 & 7); // another load every 1024 events
        }
    }
}
