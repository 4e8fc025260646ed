package io.cqring.simnic.fault;

import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import java.util.SplittableRandom;

/**
 * A device that misbehaves once: on its n-th completion, or on its n-th copy of payload, both counted from 0. All
 * else is as a healthy device does it.
 */
public final class Sabotage extends DeviceFaults {
    /** What it does. */
    public enum Kind {
        /** The completion is never written. */
        DROP,
        /** The completion is written twice. */
        DUPLICATE,
        /**
         * The completion changes places with the next one of the same queue pair and direction; lost if there is
         * none.
         */
        SWAP,
        /** One bit of the work-request id is flipped. */
        CORRUPT_ID,
        /** One bit of the QP number is flipped. */
        CORRUPT_QP,
        /** One bit of the WQE counter is flipped. */
        CORRUPT_COUNTER,
        /** One bit of the byte count is flipped. */
        CORRUPT_BYTE_COUNT,
        /** One bit of the immediate is flipped. */
        CORRUPT_IMMEDIATE,
        /** A success is reported as LOC_LEN_ERR, syndrome 2. */
        CORRUPT_STATUS,
        /** One byte of the payload arrives wrong. */
        CORRUPT_PAYLOAD,
        /** The payload arrives passes after the completion that reports it. */
        LATE_PAYLOAD;

        boolean concernsPayload() {
            return this == CORRUPT_PAYLOAD || this == LATE_PAYLOAD;
        }
    }

    private final Kind kind;
    private final long strikeAt;
    private final long delayPasses;
    private long seen;
    private volatile boolean struck;

    // SWAP: the completion held back.
    private CompletionWriter heldWriter;
    private long[] held;

    // LATE_PAYLOAD: the bytes held back.
    private QueueMemory lateInto;
    private int lateOffset;
    private byte[] lateBytes;
    private long passesLeft;

    /**
     * Strikes once.
     *
     * @param kind     what to do
     * @param strikeAt at which completion or copy, from 0
     */
    public Sabotage(Kind kind, long strikeAt) {
        this(kind, strikeAt, 1);
    }

    /**
     * Strikes once.
     *
     * @param kind        what to do
     * @param strikeAt    at which completion or copy, from 0
     * @param delayPasses LATE_PAYLOAD: passes of the device by which the bytes are late
     */
    public Sabotage(Kind kind, long strikeAt, long delayPasses) {
        this.kind = kind;
        this.strikeAt = strikeAt;
        this.delayPasses = delayPasses;
    }

    /**
     * Strikes once, somewhere among the first completions or copies.
     *
     * @param kind  what to do
     * @param seed  decides where
     * @param among how many there are to choose from
     * @return the faults
     */
    public static Sabotage seeded(Kind kind, long seed, long among) {
        return new Sabotage(kind, new SplittableRandom(seed).nextLong(among));
    }

    /**
     * Whether it has struck. Any thread.
     *
     * @return true once the n-th completion or copy has passed
     */
    public boolean hasStruck() {
        return struck;
    }

    private boolean strikesNow() {
        if (struck || seen++ != strikeAt) {
            return false;
        }
        struck = true;
        return true;
    }

    @Override
    public void beginPass() {
        if (lateBytes != null && --passesLeft <= 0) {
            lateInto.putBytes(lateOffset, lateBytes, 0, lateBytes.length);
            lateBytes = null;
        }
    }

    @Override
    public boolean writeCompletion(
            CompletionWriter writer, long header, long workRequestId, long length, long detail, long timestamp) {
        if (held != null && writer == heldWriter && sameStream(header, held[0])) {
            long[] first = held;
            held = null;
            return writer.write(header, workRequestId, length, detail, timestamp)
                    && writer.write(first[0], first[1], first[2], first[3], first[4]);
        }
        if (kind.concernsPayload() || !strikesNow()) {
            return writer.write(header, workRequestId, length, detail, timestamp);
        }
        switch (kind) {
            case DROP -> {
                return true;
            }
            case DUPLICATE -> {
                boolean once = writer.write(header, workRequestId, length, detail, timestamp);
                return once && writer.write(header, workRequestId, length, detail, timestamp);
            }
            case SWAP -> {
                heldWriter = writer;
                held = new long[] {header, workRequestId, length, detail, timestamp};
                return true;
            }
            case CORRUPT_ID -> {
                return writer.write(header, workRequestId ^ 1L << 40, length, detail, timestamp);
            }
            case CORRUPT_QP -> {
                return writer.write(header ^ 1L << 32, workRequestId, length, detail, timestamp);
            }
            case CORRUPT_COUNTER -> {
                return writer.write(header ^ 1L << 28, workRequestId, length, detail, timestamp);
            }
            case CORRUPT_BYTE_COUNT -> {
                return writer.write(header, workRequestId, length ^ 1, detail, timestamp);
            }
            case CORRUPT_IMMEDIATE -> {
                return writer.write(header, workRequestId, length ^ 1L << 32, detail, timestamp);
            }
            case CORRUPT_STATUS -> {
                return writer.write(header | 2L << 56, workRequestId, length, detail, timestamp);
            }
            default -> throw new AssertionError(kind);
        }
    }

    private static boolean sameStream(long header, long other) {
        return CqeLayout.qpNumber(header) == CqeLayout.qpNumber(other)
                && CqeOpcode.isReceive(CqeLayout.opcode(header)) == CqeOpcode.isReceive(CqeLayout.opcode(other));
    }

    @Override
    public void copyPayload(QueueMemory into, int intoOffset, QueueMemory from, int fromOffset, int length) {
        if (!kind.concernsPayload() || !strikesNow()) {
            into.copy(intoOffset, from, fromOffset, length);
            return;
        }
        byte[] bytes = new byte[length];
        from.getBytes(fromOffset, bytes, 0, length);
        if (kind == Kind.CORRUPT_PAYLOAD) {
            bytes[length / 2] ^= 1;
            into.putBytes(intoOffset, bytes, 0, length);
        } else {
            lateInto = into;
            lateOffset = intoOffset;
            lateBytes = bytes;
            passesLeft = delayPasses;
        }
    }

    @Override
    public String toString() {
        return "Sabotage[" + kind + " at " + strikeAt + "]";
    }
}
