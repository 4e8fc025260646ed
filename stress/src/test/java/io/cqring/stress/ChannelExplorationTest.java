package io.cqring.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Threads that arm, post, poll, wait in a completion channel of two queues and close, the shipped classes, in every order up to a number
 * of deviations ({@link Explorer} says what is a scheduling point, what is a deviation, and what is not seen). In no schedule
 *
 * <ul>
 *   <li>does a thread sleep for good that another was to wake: beside an entry, behind another waiter, or in something closed;
 *   <li>does a wait that is long enough run out of time;
 *   <li>is an entry handed out twice or not at all, or, by one poller, out of order;
 *   <li>is there at the end an event that was raised and has not arrived, or was given out and is not acknowledged.
 * </ul>
 *
 * <p>Lincheck's model checker runs the same classes, but lets every {@code park} return for no reason, so that a wake-up that is lost
 * does no harm there, and calls a thread that is parked again ten times hung. Hence an explorer of our own.
 *
 * <p>With {@code -Dcqring.explore.deviations=1} more are allowed than usual, and so on: minutes for each scenario, then hours.
 */
class ChannelExplorationTest {
    /** On top of what each test allows. */
    private static final int MORE = Integer.getInteger("cqring.explore.deviations", 0);

    private static final AtomicInteger SCHEDULES = new AtomicInteger();

    @AfterAll
    static void tell() {
        System.out.println("Channel explorations: " + SCHEDULES + " schedules");
    }

    private static int explore(HookedClasses classes, int deviations, boolean storesAreHeldBack, String scenario) {
        // Those with more than one poller of a queue are named so.
        boolean shared = scenario.contains("share") || scenario.contains("serve") || scenario.contains("arm ");
        try {
            Constructor<?> rig =
                    classes.loadClass(ChannelRig.class.getName()).getConstructor(String.class, boolean.class);
            return Explorer.explore(deviations, storesAreHeldBack, () -> make(rig, scenario, shared));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Explorer.Run make(Constructor<?> rig, String scenario, boolean shared) {
        try {
            return (Explorer.Run) rig.newInstance(scenario, shared);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void assertSound(int deviations, boolean storesAreHeldBack, String scenario) {
        int schedules = explore(new HookedClasses(), deviations + MORE, storesAreHeldBack, scenario);
        assertTrue(schedules > 10, () -> "schedules: " + schedules);
        SCHEDULES.addAndGet(schedules);
    }

    /** Three threads or four: two that wait, others that post and close; one deviation, which may be a store held back. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                // Two hosts of one queue each.
                "host 0 1 | host 1 1 | write 0, write 1",
                "host 0 2 | host 1 1 | write 0, write 1, write 0",
                "host 0 2 | host 1 2 | writeTwo 1, writeTwo 0",
                "host 0 1 | host 1 1, write 0 | write 1",
                "host 0 1 | host 1 1 | write 0 | write 1",
                // A wait whose time may run out at any moment.
                "hostBriefly 0 1 | host 1 1 | write 0, write 1",
                "hostBriefly 0 1 | hostBriefly 1 1 | write 1, write 0",
                // Something is closed.
                "hostUntilClose 0 2 | hostUntilClose 1 1 | write 0, close",
                "hostUntilClose 0 2 | hostUntilClose 1 1 | close",
                "hostUntilClose 0 2 | host 1 1 | write 0, closeQueue 0, write 1",
                // Two pollers of one queue; the last entry ends it.
                "share 0 | share 0 | writeTwo 0, write 0",
                "share 0 | shareBriefly 0 | write 0",
                "shareOne 0 | shareOne 0 | writeTwo 0",
                "share 0 | share 1 | write 0, poll 0, write 1",
                // Waiters for any queue; one beside one that waits for a queue.
                "serve | serve | write 0, write 1",
                "serveBriefly | serve | write 0, write 1",
                "arm 0, arm 1; serveOne | serveOne | write 0, write 1",
                "arm 0; shareOne 1 | serveOne, write 1 | write 0",
                // The one for any gets no event of a queue that the other is about to wait for.
                "host 1 1 | answer 0 1 | write 1, write 0",
                "host 1 2 | answer 0 2 | write 1, write 0, write 1, write 0",
                "hostBriefly 1 1 | answer 0 1 | write 1, write 0",
                "waitBriefly 0 | serve | write 0",
                // A waiter that leaves, interrupted, as its event comes: it is another's.
                "interruptSelf, shareOrLeave 0 | serve | write 0, look",
                // A selector that has looked, beside a waiter that leaves.
                "arm 0, arm 1, select; serveOne | write 0, write 0 | lookAll, write 1",
            })
    void nobodySleepsThatAnotherWasToWake(String scenario) {
        assertSound(1, true, scenario);
    }

    /** All orders with two deviations. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "host 0 1 | host 1 1 | write 0, write 1",
                "host 0 1 | host 1 1, write 0 | write 1",
                // One whose time runs out as its event comes, beside one for any.
                "waitBriefly 0 | serve | write 0",
                // Two pollers of a queue that ends as it wakes one of them.
                "shareToEnd 0 | shareToEnd 0 | write 0, closeQueue 0",
            })
    void nobodySleepsThatAnotherWasToWakeInTwoDeviations(String scenario) {
        assertSound(2, false, scenario);
    }

    /** One waits, one posts, with three deviations. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "host 0 1 | write 0",
                "hostUntilClose 0 2 | write 0, close",
                "hostUntilClose 0 2 | write 0, closeQueue 0",
                // Destroy waits for the acknowledgement.
                "arm 0, write 0; take, ack 0 | destroy 0",
            })
    void nobodySleepsThatAnotherWasToWakeInThreeDeviations(String scenario) {
        assertSound(3, true, scenario);
    }

    private static AssertionError assertConvicted(HookedClasses classes, int deviations, String scenario) {
        AssertionError error = assertThrows(AssertionError.class, () -> explore(classes, deviations, true, scenario));
        assertTrue(error.getMessage().contains("asleep for good"), error::getMessage);
        return error;
    }

    /** The queue ends between its last event and the arm that finds it ended: the other poller is asleep, and nothing is armed. */
    @Test
    void shouldConvictAPollerThatKeepsTheEndToItself() {
        HookedClasses twin = new HookedClasses("notify.arm", "passOn");
        String scenario = "shareToEnd 0 | shareToEnd 0 | write 0, closeQueue 0";
        AssertionError error = assertThrows(AssertionError.class, () -> explore(twin, 2, false, scenario));
        assertTrue(error.getMessage().contains("asleep for good"), error::getMessage);
    }

    /** The count of what is acknowledged is looked at before the lock is taken: the last acknowledgement comes in between. */
    @Test
    void shouldConvictADestroyThatLooksBeforeItTakesTheLock() {
        HookedClasses twin = new HookedClasses("CompletionChannel.destroy", "awaitNanos", "awaitNanosTooLate");
        assertConvicted(twin, 2, "arm 0, write 0; take, ack 0 | destroy 0");
        assertTrue(twin.leftOut() != 0);
    }

    /** The rule that nobody may get wrong: poll after arming. */
    @Test
    void shouldConvictAHostThatDoesNotPollAgain() {
        assertConvicted(new HookedClasses(), 1, "armAndWait 0 1 | write 0");
    }

    /**
     * Twins of the shipped classes that leave a call out. Not among them, for no schedule shows them: the fences of QueueArm.arm and
     * Interrupt.raise, as each comes after a compare-and-set or a get-and-add, which is a fence on x86.
     */
    @ParameterizedTest
    @CsvSource(
            delimiter = '#',
            value = {
                // Wake-ups that are not passed on.
                "notify.leave            # wake       # 1 # host 0 1 | host 1 1 | write 0, write 1",
                "notify.leave            # signal     # 1 # interruptSelf, shareOrLeave 0 | serve | write 0, look",
                "notify.signal           # wakeOne    # 1 # host 0 1 | host 1 1, write 0 | write 1",
                "notify.arm              # passOn     # 1 # shareOne 0 | shareOne 0 | writeTwo 0",
                "notify.waitFor          # handOn     # 1 # arm 0; shareOne 1 | serveOne, write 1 | write 0",
                "notify.leave            # handOn     # 2 # waitBriefly 0 | serve | write 0",
                "notify.leave            # size       # 1 # arm 0, arm 1, select; serveOne | write 0, write 0 | lookAll, write 1",
                "notify.leave            # armEvents  # 1 # arm 0, arm 1, select; serveOne | write 0, write 0 | lookAll, write 1",
                "notify.leave            # ring       # 1 # arm 0, arm 1, select; serveOne | write 0, write 0 | lookAll, write 1",
                "notify.close            # wakeAll    # 1 # hostUntilClose 0 2 | hostUntilClose 1 1 | write 0, close",
                "notify.waitFor          # armEvents  # 1 # host 0 1 | write 0",
                "Interrupt.raise           # unpark     # 1 # host 0 1 | write 0",
                "notify.ack              # signalAll  # 1 # arm 0, write 0; take, ack 0 | destroy 0",
                // Fences.
                "QueueArm.serve            # fullFence  # 3 # host 0 1 | write 0",
                "QueueArm.wake             # fullFence  # 3 # hostUntilClose 0 2 | write 0, closeQueue 0",
                "EventQueue.arm            # fullFence  # 3 # host 0 1 | write 0",
                "EventWriter.serveArm      # fullFence  # 3 # host 0 1 | write 0",
                "Interrupt.enterWait       # fullFence  # 3 # host 0 1 | write 0",
            })
    void shouldConvictATwin(String method, String call, int deviations, String scenario) {
        HookedClasses twin = new HookedClasses(method, call);
        assertConvicted(twin, deviations, scenario);
        assertTrue(twin.leftOut() != 0, () -> method + " does not call " + call);
    }

    /** Two threads, each of which stores one word and then loads the other's, with and without a fence: by hand. */
    @Test
    void storesThatAreHeldBackAreSeenOnlyThen() {
        for (boolean fence : new boolean[] {false, true}) {
            for (boolean heldBack : new boolean[] {false, true}) {
                int[] bothZero = {0};
                Explorer.explore(3, heldBack, () -> new Dekker(fence, bothZero));
                assertEquals(heldBack && !fence, bothZero[0] != 0, "fence " + fence + ", stores held back " + heldBack);
            }
        }
    }

    private static final class Dekker implements Explorer.Run {
        private final HeapMemory memory = new HeapMemory(16);
        private final boolean fence;
        private final int[] bothZero;
        private final long[] seen = {-1, -1};

        Dekker(boolean fence, int[] bothZero) {
            this.fence = fence;
            this.bothZero = bothZero;
        }

        @Override
        public List<Runnable> bodies() {
            return List.of(() -> turn(0), () -> turn(1));
        }

        private void turn(int self) {
            Explorer.putLongRelease(memory, 8L * self, 1);
            if (fence) {
                Explorer.fullFence(memory);
            }
            seen[self] = Explorer.getLongAcquire(memory, 8L * (1 - self));
        }

        @Override
        public void check() {
            bothZero[0] += seen[0] + seen[1] == 0 ? 1 : 0;
        }
    }
}
