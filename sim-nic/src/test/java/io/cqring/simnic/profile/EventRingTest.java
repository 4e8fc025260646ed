package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.eq.EventQueue;
import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the vendors' two kinds of event queue refuse, and that neither loses a wake-up. */
@Timeout(120)
class EventRingTest {
    private static final String FROM_HANDLER = "an event handler must not call the queue that is calling it";

    private static VendorEventQueue eventQueue(VendorProfile profile, int depth) {
        final QueueMemory memory = QueueMemory.allocate(VendorEventQueue.requiredBytes(profile, depth));
        return VendorEventQueue.create(profile, memory, depth, new Interrupt());
    }

    private static VendorAsyncQueue asyncQueue(VendorProfile profile, int depth) {
        final QueueMemory memory = QueueMemory.allocate(VendorAsyncQueue.requiredBytes(profile, depth));
        return VendorAsyncQueue.create(profile, memory, depth, new Interrupt());
    }

    private static DeviceEvent event(int number) {
        return DeviceEvent.of(EventType.SRQ_RQ_LIMIT, number);
    }

    private static String refused(Class<? extends Exception> as, org.junit.jupiter.api.function.Executable call) {
        return assertThrows(as, call).getMessage();
    }

    // ---- Polling

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void aBudgetIsKeptOrRefused(VendorProfile profile) {
        final VendorEventQueue events = eventQueue(profile, 4);
        for (int i = 1; i <= 3; i++) {
            assertTrue(events.post(i, 0));
        }
        final List<Integer> seen = new ArrayList<>();
        assertEquals(
                "budget must be 0 or more events: -1",
                refused(IllegalArgumentException.class, () -> events.poll((number, toggle) -> seen.add(number), -1)));
        assertThrows(NullPointerException.class, () -> events.poll(null, 1));
        assertEquals(List.of(), seen, "nothing is taken");
        assertEquals(0, events.poll((number, toggle) -> seen.add(number), 0));
        assertEquals(1, events.poll((number, toggle) -> seen.add(number), 1));
        assertEquals(2, events.poll((number, toggle) -> seen.add(number), Integer.MAX_VALUE));
        assertEquals(List.of(1, 2, 3), seen);
    }

    /** A device that posts while the host polls does not keep it: a poll takes what the ring can hold, at most. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void aPollEndsThoughTheDeviceGoesOn(VendorProfile profile) {
        final VendorEventQueue events = eventQueue(profile, 2);
        assertTrue(events.post(1, 0));
        assertEquals(2, events.poll((number, toggle) -> events.post(number + 1, 0), 100));
    }

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void aHandlerThatCallsItsQueueIsRefused(VendorProfile profile) {
        final VendorEventQueue events = eventQueue(profile, 4);
        final List<String> said = new ArrayList<>();
        final List<Integer> seen = new ArrayList<>();
        for (int i = 1; i <= 3; i++) {
            assertTrue(events.post(i, 0));
        }
        final CqEventHandler handler = (number, toggle) -> {
            seen.add(number);
            said.add(refused(IllegalStateException.class, () -> events.poll((other, its) -> seen.add(-other), 1)));
            said.add(refused(IllegalStateException.class, events::arm));
        };
        assertEquals(1, events.poll(handler, 1), "the budget is not passed");
        assertEquals(List.of(1), seen);
        assertEquals(List.of(FROM_HANDLER, FROM_HANDLER), said);
        assertThrows(
                ArithmeticException.class,
                () -> events.poll(
                        (number, toggle) -> {
                            throw new ArithmeticException();
                        },
                        1));
        assertEquals(1, events.poll((number, toggle) -> seen.add(number), 9), "and later calls are let in");
        assertEquals(List.of(1, 3), seen);
    }

    /** The reference profile's queue is the model: each of the poller's calls says the same, and takes nothing. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void asynchronousEventsRefuseAsTheReferenceQueueDoes(VendorProfile profile) {
        final List<String> model = new ArrayList<>();
        final EventQueue reference = EventQueue.builder(4).create();
        reference.writer().post(EventType.SRQ_RQ_LIMIT, 1, 0, 0, 0);
        reference.poll(
                (type, number, subType, syndrome, detail) -> {
                    model.add(refused(
                            IllegalStateException.class, () -> reference.poll((a, b, c, d, e) -> model.add("?"), 1)));
                    model.add(refused(IllegalStateException.class, reference::arm));
                    model.add(refused(IllegalStateException.class, reference::takeOverrun));
                    model.add(refused(IllegalStateException.class, reference::releasePoller));
                },
                1);
        assertEquals(List.of(FROM_HANDLER, FROM_HANDLER, FROM_HANDLER, FROM_HANDLER), model);

        final List<String> said = new ArrayList<>();
        final VendorAsyncQueue events = asyncQueue(profile, 4);
        for (int i = 1; i <= 3; i++) {
            assertTrue(events.post(event(i)));
        }
        final int taken = events.poll(
                (type, number, subType, syndrome, detail) -> {
                    said.add(refused(
                            IllegalStateException.class, () -> events.poll((a, b, c, d, e) -> said.add("?"), 1)));
                    said.add(refused(IllegalStateException.class, events::arm));
                    said.add(refused(IllegalStateException.class, events::takeOverrun));
                    said.add(refused(IllegalStateException.class, events::releasePoller));
                },
                1);
        assertEquals(1, taken);
        assertEquals(model, said);
        assertEquals(2, events.poll((type, number, subType, syndrome, detail) -> {}, Integer.MAX_VALUE));
    }

    // ---- Posting

    /** mlx5 has 24 bits for a queue's number, irdma and bnxt_re more than a number has; a toggle has two. */
    @ParameterizedTest
    @CsvSource({"MLX5, 16777215", "IRDMA, 2147483647", "BNXT_RE, 2147483647"})
    void whatDoesNotFitIsRefused(VendorProfile profile, int most) {
        final VendorEventQueue events = eventQueue(profile, 4);
        final List<String> seen = new ArrayList<>();
        for (int number : new int[] {-1, Integer.MIN_VALUE, most + 1}) {
            assertEquals(
                    "number of a completion queue must be 0 to " + most + ": " + number,
                    refused(IllegalArgumentException.class, () -> events.post(number, 0)));
        }
        for (int toggle : new int[] {-1, 4}) {
            assertEquals(
                    "toggle must be 0 to 3: " + toggle,
                    refused(IllegalArgumentException.class, () -> events.post(1, toggle)));
        }
        assertEquals(0, events.poll((number, toggle) -> seen.add("?"), 9), "nothing is posted");
        assertTrue(events.post(most, 3));
        assertTrue(events.post(0, 0));
        events.poll((number, toggle) -> seen.add(number + " " + toggle), 9);
        assertEquals(List.of(most + (profile == VendorProfile.BNXT_RE ? " 3" : " 0"), "0 0"), seen);
    }

    // ---- Making

    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void aQueueOfNoEntriesIsRefused(VendorProfile profile) {
        final int stride = profile.usualBytes();
        for (int entries : new int[] {0, -5, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            assertEquals(
                    "entries must be 1 to " + profile.mostEntries(stride) + ": " + entries,
                    refused(IllegalArgumentException.class, () -> profile.createQueue(entries, stride, 1)));
        }
        assertTrue(profile.createQueue(1, stride, 1).depth() >= 1);
    }

    /** 2^22 entries are the most; 128 are spare. */
    @ParameterizedTest
    @ValueSource(ints = {0, -1, -200, Integer.MIN_VALUE, (1 << 22) - 127, Integer.MAX_VALUE})
    void anEventQueueForSoManyQueuesIsRefused(int queues) {
        for (VendorProfile profile : VendorProfile.values()) {
            assertEquals(
                    "completion queues must be 1 to 4194176: " + queues,
                    refused(IllegalArgumentException.class, () -> profile.createEventQueue(queues, new Interrupt())));
        }
    }

    @Test
    void anEventQueueHasRoomForEachAndSpare() {
        assertEquals(
                256, VendorProfile.MLX5.createEventQueue(1, new Interrupt()).depth());
        assertEquals(
                256, VendorProfile.IRDMA.createEventQueue(128, new Interrupt()).depth());
        assertEquals(
                512,
                VendorProfile.BNXT_RE.createEventQueue(129, new Interrupt()).depth());
        assertEquals(
                1 << 22,
                VendorProfile.IRDMA
                        .createEventQueue((1 << 22) - 128, new Interrupt())
                        .depth());
    }

    // ---- Two threads

    /**
     * The device posts only while there is room, so no overrun wakes the host: each time it sleeps only the answer to its arm does. If one
     * is lost the ring fills, the device waits for the host and the host for the device.
     */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void everyArmIsAnswered(VendorProfile profile) {
        final int count = 50_000;
        final int depth = 4;
        final VendorAsyncQueue events = asyncQueue(profile, depth);
        final AtomicInteger acknowledged = new AtomicInteger();
        final int[] last = new int[1];
        Threads.run(
                spin -> {
                    for (int posted = 0; posted < count; posted++) {
                        while (posted - acknowledged.get() == depth) {
                            events.serve();
                            spin.once();
                        }
                        assertTrue(events.post(event(posted + 1)));
                    }
                    while (acknowledged.get() != count) {
                        events.serve();
                        spin.once();
                    }
                },
                spin -> {
                    while (last[0] != count) {
                        final long seen = events.interrupt().count();
                        final int polled = events.poll(
                                (type, number, subType, syndrome, detail) -> assertEquals(++last[0], number), 3);
                        acknowledged.addAndGet(polled);
                        if (polled == 0 && !events.arm()) {
                            assertTrue(
                                    events.interrupt().await(seen, TimeUnit.SECONDS.toNanos(60)), "a wake-up is lost");
                        }
                    }
                });
        assertEquals(0, events.overruns());
        assertEquals(0, events.rejectedIndexes());
        assertTrue(events.interrupt().count() > 0, "it has slept");
    }
}
