package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

/** Vendors' queues in given memory: what was in it before does not matter, and too little of it is refused. */
class VendorMemoryTest {
    private static final int NUMBER = 5;

    /** Memory full of ones: each bit that a queue would take for valid or rung is set in some word. */
    private static QueueMemory dirty(long bytes) {
        final QueueMemory memory = QueueMemory.allocate(bytes);
        memory.fill(0, memory.sizeBytes(), (byte) 0xFF);
        return memory;
    }

    private static QueueMemory scratch() {
        return dirty(VendorQueue.scratchBytes());
    }

    private static void check(LongSupplier required, Function<QueueMemory, VendorQueue> create) {
        final VendorQueue queue = create.apply(dirty(required.getAsLong()));
        assertEquals(0, queue.poll(completion -> {}, 1));
        assertEquals(0, queue.strays());
        assertEquals(0, queue.writer().pastArm());
        assertEquals(true, queue.writer().hasRoom());
        final QueueMemory small = QueueMemory.allocate(required.getAsLong() - 8);
        assertEquals(
                true,
                assertThrows(IllegalArgumentException.class, () -> create.apply(small))
                        .getMessage()
                        .contains(required.getAsLong() + " bytes"));
    }

    @Test
    void dirtyMemoryMakesAnEmptyQueueAndTooLittleNone() {
        check(() -> Mlx5Queue.requiredBytes(4, 64), memory -> Mlx5Queue.create(memory, scratch(), 4, 64, NUMBER, 0));
        check(() -> IrdmaQueue.requiredBytes(3, 32), memory -> IrdmaQueue.create(memory, scratch(), 3, 32, NUMBER));
        check(() -> BnxtQueue.requiredBytes(4), memory -> BnxtQueue.create(memory, scratch(), 4, NUMBER));
    }

    @Test
    void dirtyMemoryMakesAnEmptyEventQueueAndTooLittleNone() {
        for (VendorProfile profile : VendorProfile.values()) {
            final long required = VendorEventQueue.requiredBytes(profile, 2);
            final Interrupt interrupt = new Interrupt();
            final VendorEventQueue events = VendorEventQueue.create(profile, dirty(required), 2, interrupt);
            events.serve();
            assertEquals(0, events.poll((number, toggle) -> {}, 1));
            assertEquals(0, interrupt.count());
            events.post(NUMBER, 0);
            assertEquals(1, events.poll((number, toggle) -> assertEquals(NUMBER, number), 2));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> VendorEventQueue.create(profile, QueueMemory.allocate(required - 8), 2, interrupt));
        }
    }
}
