package io.cqring.simnic;

import io.cqring.memory.QueueMemory;

/** The device's counters: written by the device, readable by any thread. */
final class Counters {
    private final QueueMemory memory = QueueMemory.allocate((long) DeviceCounter.values().length * Long.BYTES);

    void increment(DeviceCounter counter) {
        add(counter, 1);
    }

    /** Device thread only: a plain load of what this thread stored last. */
    void add(DeviceCounter counter, long amount) {
        int offset = counter.offset();
        // Edge COUNT, device end. Partner: get. Each counter stands alone: opaque, so that a reader sees whole values.
        memory.putLongOpaque(offset, memory.getLong(offset) + amount);
    }

    long get(DeviceCounter counter) {
        // Edge COUNT, reading end. Partner: add.
        return memory.getLongOpaque(counter.offset());
    }
}
