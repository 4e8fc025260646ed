package io.cqring.simnic.workload;

import java.util.Objects;

/**
 * One data line of a workload: one call, made by all ranks together. Immutable.
 *
 * @param kind what is called
 * @param bytes the size S of the call, in bytes, 0 or more; the table of {@link MessagePlan} says how it is divided
 * @param line where it stands in its file: physical line, the first is 1
 */
public record Collective(CollectiveKind kind, long bytes, int line) {
    /**
     * Checks the ranges.
     *
     * @param kind not null
     * @param bytes 0 or more
     * @param line 1 or more
     * @throws IllegalArgumentException if {@code bytes} is negative or {@code line} is less than 1
     */
    public Collective {
        Objects.requireNonNull(kind, "kind");
        if (bytes < 0) {
            throw new IllegalArgumentException("bytes must not be negative: bytes=" + bytes);
        }
        if (line < 1) {
            throw new IllegalArgumentException("line must be at least 1: line=" + line);
        }
    }
}
