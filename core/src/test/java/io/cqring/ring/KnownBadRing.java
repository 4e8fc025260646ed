package io.cqring.ring;

import io.cqring.memory.CacheLines;

/** Arithmetic that knows of memory: what the architecture test must refuse. */
public final class KnownBadRing {
    private KnownBadRing() {}

    /**
     * Not allowed here.
     *
     * @param lines any
     * @return whether it is one
     */
    public static boolean isLines(Object lines) {
        return lines instanceof CacheLines;
    }
}
