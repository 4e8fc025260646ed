package io.cqring.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.cqring.agrona.CompletionRingBuffer;
import java.nio.ByteBuffer;
import org.agrona.concurrent.AtomicBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressMeta;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.JJ_Result;

/**
 * Edge CORRELATION: no two calls of {@code nextCorrelationId} get the same id. Two threads ask once each; the results are what
 * they got. A locked add is all that x86 has for it, so the twin loads and stores apart.
 */
public class CorrelationStress {
    private static final int MESSAGES = 1;

    private CorrelationStress() {}

    /** What may come of two calls. */
    @Outcome(
            id = {"0, 1", "1, 0"},
            expect = ACCEPTABLE,
            desc = "An id each.")
    @Outcome(expect = FORBIDDEN, desc = "One id for both, or one left out.")
    public static class OneEach {
        private OneEach() {}
    }

    /** What must come of a load and a store. */
    @Outcome(
            id = {"0, 1", "1, 0"},
            expect = ACCEPTABLE,
            desc = "An id each.")
    @Outcome(id = "0, 0", expect = ACCEPTABLE_INTERESTING, desc = "Convicted: one id for both.")
    @Outcome(expect = FORBIDDEN, desc = "A fault that the twin does not have.")
    public static class OneForBoth {
        private OneForBoth() {}
    }

    private static ByteBuffer memory() {
        int bytes = (int) CompletionRingBuffer.requiredBytes(MESSAGES);
        return ByteBuffer.allocateDirect(bytes + 128).alignedSlice(128).slice(0, bytes);
    }

    /** The shipped ring buffer. */
    @JCStressTest
    @JCStressMeta(OneEach.class)
    @State
    public static class Ask {
        private final CompletionRingBuffer ring = new CompletionRingBuffer(new UnsafeBuffer(memory()));

        /** One sample. */
        public Ask() {}

        /**
         * Asks.
         *
         * @param result what it got
         */
        @Actor
        public void one(JJ_Result result) {
            result.r1 = ring.nextCorrelationId();
        }

        /**
         * Asks.
         *
         * @param result what it got
         */
        @Actor
        public void other(JJ_Result result) {
            result.r2 = ring.nextCorrelationId();
        }
    }

    /** A buffer whose get-and-add is a load and a store. */
    private static final class Torn extends UnsafeBuffer {
        Torn(ByteBuffer memory) {
            super(memory);
        }

        @Override
        public long getAndAddLong(int index, long delta) {
            long value = getLongVolatile(index);
            putLongVolatile(index, value + delta);
            return value;
        }
    }

    /** The shipped ring buffer over that buffer. */
    @JCStressTest
    @JCStressMeta(OneForBoth.class)
    @State
    public static class TwinLoadThenStore {
        private final AtomicBuffer torn = new Torn(memory());
        private final CompletionRingBuffer ring = new CompletionRingBuffer(torn);

        /** One sample. */
        public TwinLoadThenStore() {}

        /**
         * Asks.
         *
         * @param result what it got
         */
        @Actor
        public void one(JJ_Result result) {
            result.r1 = ring.nextCorrelationId();
        }

        /**
         * Asks.
         *
         * @param result what it got
         */
        @Actor
        public void other(JJ_Result result) {
            result.r2 = ring.nextCorrelationId();
        }
    }
}
