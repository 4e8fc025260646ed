package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** One kind of queue that the contract tests run against. */
record Shape(int stride, int capacity, long start) {
    static final int[] STRIDES = {32, 64, 128};
    static final int[] CAPACITIES = {1, 2, 4, 8, 64};

    /** Runs a test against every stride, capacity and start sequence. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.METHOD)
    @ParameterizedTest
    @MethodSource("io.cqring.cq.Shape#all")
    @interface Every {}

    /** Runs a test against every stride, capacity and start sequence, with every overrun policy. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.METHOD)
    @ParameterizedTest
    @MethodSource("io.cqring.cq.Shape#allWithPolicies")
    @interface EveryWithPolicy {}

    static Stream<Shape> all() {
        List<Shape> shapes = new ArrayList<>();
        for (int stride : STRIDES) {
            for (int capacity : CAPACITIES) {
                starts(capacity).forEach(start -> shapes.add(new Shape(stride, capacity, start)));
            }
        }
        return shapes.stream();
    }

    static Stream<Arguments> allWithPolicies() {
        return all().flatMap(shape -> Stream.of(OverrunPolicy.values()).map(policy -> Arguments.of(shape, policy)));
    }

    /** Just before each width at which a counter kept too narrow, or compared by size, goes wrong. */
    static LongStream starts(int capacity) {
        return LongStream.of(
                        0,
                        1,
                        capacity - 1,
                        (1L << 16) - 3,
                        (1L << 24) - 3,
                        (1L << 31) - 3,
                        (1L << 32) - 3,
                        Long.MAX_VALUE - 2,
                        Long.MAX_VALUE)
                .distinct();
    }

    CompletionQueue queue() {
        return queue(OverrunPolicy.BACKPRESSURE);
    }

    CompletionQueue queue(OverrunPolicy policy) {
        return builder().overrunPolicy(policy).create();
    }

    CompletionQueue queue(OverrunPolicy policy, QueueMemory memory) {
        return builder().overrunPolicy(policy).memory(memory).create();
    }

    CompletionQueue.Builder builder() {
        return CompletionQueue.ofCapacity(capacity).strideBytes(stride).startSequence(start);
    }

    /** Bytes as drawn in CqRegion, by hand. */
    long bytes() {
        return Region.SLOTS + (long) capacity * stride;
    }

    /** Offset of the slot that a sequence uses, by remainder rather than by mask. */
    int slot(long sequence) {
        return Region.SLOTS + (int) Long.remainderUnsigned(sequence, capacity) * stride;
    }
}
