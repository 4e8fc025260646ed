package io.cqring.jmh;

import io.cqring.memory.AccessRoute;
import io.cqring.memory.QueueMemory;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.agrona.BufferUtil;
import org.agrona.UnsafeApi;

/** The bare accesses of this JVM's route, for the hand-written loop: no abstraction to look through, and offsets of the
 * width that is cheapest to add to an address. */
final class RawMemory {
    private static final boolean UNSAFE = QueueMemory.route() == AccessRoute.UNSAFE;
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final ByteBuffer buffer;
    private final long address;

    RawMemory(ByteBuffer buffer) {
        this.buffer = buffer;
        this.address = UNSAFE ? BufferUtil.address(buffer) : 0;
    }

    long get(long offset) {
        return UNSAFE ? UnsafeApi.getLong(address + offset) : (long) LONGS.get(buffer, (int) offset);
    }

    long getAcquire(long offset) {
        return UNSAFE
                ? UnsafeApi.getLongAcquire(null, address + offset)
                : (long) LONGS.getAcquire(buffer, (int) offset);
    }

    void putRelease(long offset, long value) {
        if (UNSAFE) {
            UnsafeApi.putLongRelease(null, address + offset, value);
        } else {
            LONGS.setRelease(buffer, (int) offset, value);
        }
    }
}
