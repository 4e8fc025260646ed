package io.cqring.cq;

import java.nio.ByteBuffer;

/** Touches memory behind QueueMemory's back: what the architecture test must refuse. */
public final class KnownBadForArchitectureTest {
    private KnownBadForArchitectureTest() {}

    /**
     * Not allowed here.
     *
     * @param buffer any
     * @return its first byte
     */
    public static byte peek(ByteBuffer buffer) {
        return buffer.get(0);
    }
}
