package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.testing.FieldBug;
import io.cqring.testing.RecordingMemory;
import io.cqring.testing.RecordingMemory.Access;
import io.cqring.testing.RecordingMemory.Op;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The order in which the shipped classes touch memory, read off a memory that writes it down. Which stores overtake which is
 * for jcstress; that each end issues them in the order its edge needs, with the mode its edge needs, is shown here.
 */
class AccessOrderTest {
    /** The owner bit is stored once per publication, by the only release store to the slot, and after every other. */
    @FieldBug(8)
    @Shape.Every
    void shouldPublishTheHeaderLastAndByTheOnlyReleaseStore(Shape shape) {
        int n = shape.capacity();
        for (Way way : Way.values()) {
            RecordingMemory memory = new RecordingMemory(shape.bytes());
            CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
            for (int lap = 0; lap < 2; lap++) {
                memory.clear();
                for (int i = 0; i < n; i++) {
                    assertTrue(way.put(queue.writer(), i, shape.stride()));
                }
                if (way.needsFlush()) {
                    assertFalse(
                            memory.log(Region.SLOTS, (int) shape.bytes()).stream()
                                    .anyMatch(a -> a.op() == Op.PUT_RELEASE),
                            "nothing is published before flush");
                    queue.writer().flush();
                }
                assertPublished(shape, memory, shape.start() + (long) lap * n);
                assertEquals(n, queue.poll(c -> {}, n));
            }
        }
    }

    private static void assertPublished(Shape shape, RecordingMemory memory, long first) {
        List<Access> all = memory.log();
        int producerStored = lastIndex(all, Region.PRODUCER);
        int publishedBefore = -1;
        for (int i = 0; i < shape.capacity(); i++) {
            int slot = shape.slot(first + i);
            List<Access> stores = memory.log(slot, slot + shape.stride()).stream()
                    .filter(a -> a.op().isStore())
                    .collect(Collectors.toList());
            List<Access> releases =
                    stores.stream().filter(a -> a.op() == Op.PUT_RELEASE).collect(Collectors.toList());
            assertEquals(1, releases.size(), () -> "one release store per slot: " + stores);
            Access last = stores.get(stores.size() - 1);
            assertEquals(releases.get(0), last, "and it is the last store to the slot");
            assertEquals(slot, last.offset(), "to the header");
            long lap = Long.divideUnsigned(first + i, shape.capacity());
            long phase = lap % 2 == 0 ? 1 : 0;
            assertEquals(phase, last.value() & 1, "with the owner bit of its lap");
            // Each word of the slot was stored before: nothing of the last lap is left.
            assertEquals(
                    shape.stride() / 8 - 1,
                    stores.stream()
                            .map(Access::offset)
                            .filter(o -> o != slot)
                            .distinct()
                            .count(),
                    () -> "every other word: " + stores);
            // Earlier header stores, while the entry is in hand, keep the bit invalid and are whole-word stores.
            for (Access store : stores.subList(0, stores.size() - 1)) {
                if (store.offset() == slot) {
                    assertEquals(Op.PUT_OPAQUE, store.op());
                    assertEquals(phase ^ 1, store.value() & 1, "valid before flush");
                }
            }
            int published = all.indexOf(last);
            assertTrue(published > publishedBefore, "slots become valid in order");
            publishedBefore = published;
        }
        assertTrue(producerStored > publishedBefore, "the count follows the owner bits");
        assertEquals(Op.PUT_RELEASE, all.get(producerStored).op());
    }

    /**
     * Before the poller loads anything from a slot with a plain load, it has loaded, with acquire, the header of that entry or
     * of a later one: entries become valid in order, so a later one vouches. A slot of the device's is only looked at.
     */
    @FieldBug(7)
    @Shape.Every
    void shouldLoadAHeaderThatVouchesForTheSlotFirstAndWithAcquire(Shape shape) {
        int n = shape.capacity();
        for (Polling polling : Polling.values()) {
            RecordingMemory memory = new RecordingMemory(shape.bytes());
            CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
            for (int count : new TreeSet<>(List.of(0, n / 4, n / 2, n - 1))) {
                for (int i = 0; i < count; i++) {
                    assertTrue(Way.WRITE.publish(queue.writer(), i, shape.stride()));
                }
                long consumed = memory.getLong(Region.CONSUMER);
                memory.clear();
                InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
                assertEquals(count, polling.take(queue, n, taker));
                for (int i = 0; i < count; i++) {
                    int slot = shape.slot(consumed + i);
                    Set<Integer> vouchers = new HashSet<>();
                    for (int later = i; later < count; later++) {
                        vouchers.add(shape.slot(consumed + later));
                    }
                    boolean vouchedFor = false;
                    boolean loaded = false;
                    for (Access access : memory.log(0, (int) shape.bytes())) {
                        vouchedFor |= access.op() == Op.GET_ACQUIRE && vouchers.contains(access.offset());
                        if (access.offset() >= slot && access.offset() < slot + shape.stride()) {
                            assertFalse(access.op().isStore(), () -> "the host writes no slot: " + access);
                            assertTrue(vouchedFor || access.op() == Op.GET_ACQUIRE, () -> polling + ": " + access);
                            loaded |= access.op() == Op.GET;
                        }
                    }
                    assertTrue(loaded, "the entry was read");
                }
                int empty = shape.slot(consumed + count);
                for (Access access : memory.log(empty, empty + shape.stride())) {
                    assertEquals(Op.GET_ACQUIRE, access.op(), "a slot of the device's");
                    assertEquals(empty, access.offset());
                }
            }
        }
    }

    /** The slot goes back by a release store after the last load from it; the device looks with acquire before it stores. */
    @FieldBug(24)
    @Shape.Every
    void shouldGiveASlotBackAfterItsLastLoadAndTakeItAfterLooking(Shape shape) {
        int n = shape.capacity();
        for (Polling polling : Polling.values()) {
            RecordingMemory memory = new RecordingMemory(shape.bytes());
            CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
            for (int i = 0; i < n; i++) {
                assertTrue(Way.CLAIM.publish(queue.writer(), i, shape.stride()));
            }
            memory.clear();
            InOrder taker = new InOrder(shape.stride(), Way.CLAIM, 0);
            assertEquals(n, polling.take(queue, n, taker));
            List<Access> log = memory.log();
            for (int i = 0; i < n; i++) {
                int slot = shape.slot(shape.start() + i);
                int lastLoad = -1;
                for (int at = 0; at < log.size(); at++) {
                    Access access = log.get(at);
                    if (access.offset() >= slot && access.offset() < slot + shape.stride()) {
                        lastLoad = at;
                    }
                }
                for (int at = 0; at < lastLoad; at++) {
                    Access access = log.get(at);
                    if (access.offset() == Region.CONSUMER) {
                        assertEquals(Op.PUT_RELEASE, access.op());
                        assertTrue(
                                access.value() - (shape.start() + i) <= 0,
                                () -> polling + ": slot given back while it is still read");
                    }
                }
            }
            assertEquals(
                    Op.PUT_RELEASE, log.get(lastIndex(log, Region.CONSUMER)).op());

            memory.clear();
            assertTrue(Way.WRITE.put(queue.writer(), n, shape.stride()));
            List<Access> writerLog = memory.log();
            int look = lastIndex(writerLog, Region.CONSUMER);
            assertTrue(look >= 0, "the ring was full as far as the device knew: it must look");
            assertEquals(Op.GET_ACQUIRE, writerLog.get(look).op());
            for (int at = 0; at < look; at++) {
                assertFalse(writerLog.get(at).op().isStore(), () -> "stored before it looked: " + writerLog);
            }
        }
    }

    /** One doorbell per call, not per entry; and an unchanged one is not written. */
    @FieldBug(21)
    @Shape.Every
    void shouldRingTheDoorbellOncePerCall(Shape shape) {
        int n = shape.capacity();
        RecordingMemory memory = new RecordingMemory(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        for (int count : new TreeSet<>(List.of(0, 1, n / 4, n / 4 + 1, n / 2, n - 1, n))) {
            for (Polling polling : List.of(Polling.HANDLER, Polling.CURSOR, Polling.COPY, Polling.ABANDONED_CURSOR)) {
                for (int i = 0; i < count; i++) {
                    assertTrue(Way.WRITE.publish(queue.writer(), i, shape.stride()));
                }
                memory.clear();
                InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
                assertEquals(count, polling.take(queue, n, taker));
                long rings = memory.log().stream()
                        .filter(a -> a.op().isStore() && a.offset() == Region.CONSUMER)
                        .count();
                // poll gives credit back at each quarter as well: every full quarter, then what is left.
                int quarter = Math.max(1, n / 4);
                boolean byQuarters = polling == Polling.HANDLER || polling == Polling.ABANDONED_CURSOR;
                long expected = count == 0 ? 0 : byQuarters ? (count + quarter - 1) / quarter : 1;
                assertEquals(expected, rings, () -> polling + " of " + taker.next() + " entries");
            }
        }
    }

    /** With its doorbells lost on the way, the device stops at N and says so; nothing is overwritten. */
    @FieldBug(21)
    @Shape.Every
    void shouldStopAtCapacityWhenDoorbellsAreLost(Shape shape) {
        int n = shape.capacity();
        RecordingMemory memory = new RecordingMemory(shape.bytes());
        CompletionQueue queue = shape.queue(OverrunPolicy.BACKPRESSURE, memory);
        InOrder taker = new InOrder(shape.stride(), Way.WRITE, 0);
        for (int i = 0; i <= n; i++) { // with doorbells: N + 1 entries, each polled
            assertTrue(Way.WRITE.publish(queue.writer(), i, shape.stride()));
            assertEquals(1, queue.poll(taker::onView, n));
        }
        long seen = memory.getLong(Region.CONSUMER);
        memory.loseStores(offset -> offset == Region.CONSUMER);
        long accepted = 0;
        for (int i = 0; i < 3 * n; i++) {
            if (Way.WRITE.publish(queue.writer(), n + 1 + i, shape.stride())) {
                accepted++;
                assertEquals(1, queue.poll(taker::onView, n));
            }
        }
        assertEquals(n, accepted, "exactly a ring since the last doorbell that arrived");
        assertEquals(seen, memory.getLong(Region.CONSUMER));
        memory.loseStores(offset -> false);
        memory.putLong(Region.CONSUMER, seen + accepted);
        assertTrue(Way.WRITE.publish(queue.writer(), n + 1 + accepted, shape.stride()));
        assertEquals(1, queue.poll(taker::onView, n));
    }

    /** The dead flag is looked at before the owner bits, else entries written before the overrun could be missed. */
    @Shape.Every
    void shouldLookAtTheDeadFlagBeforeTheSlots(Shape shape) {
        for (Polling polling : Polling.values()) {
            RecordingMemory memory = new RecordingMemory(shape.bytes());
            CompletionQueue queue = shape.queue(OverrunPolicy.ERROR, memory);
            memory.clear();
            assertEquals(0, polling.take(queue, 1, new InOrder(shape.stride(), Way.WRITE, 0)));
            List<Access> log = memory.log();
            int flag = lastIndex(log, Region.DEAD);
            assertTrue(flag >= 0);
            assertEquals(Op.GET_ACQUIRE, log.get(flag).op());
            int firstSlot = 0;
            while (log.get(firstSlot).offset() < Region.SLOTS) {
                firstSlot++;
            }
            int firstFlag = 0;
            while (log.get(firstFlag).offset() != Region.DEAD) {
                firstFlag++;
            }
            assertTrue(firstFlag < firstSlot, () -> polling + ": " + log);
        }
    }

    private static int lastIndex(List<Access> log, int offset) {
        for (int i = log.size() - 1; i >= 0; i--) {
            if (log.get(i).offset() == offset) {
                return i;
            }
        }
        return -1;
    }
}
