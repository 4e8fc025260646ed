package io.cqring.agrona;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.CacheLines;
import org.agrona.concurrent.ringbuffer.RingBuffer;

/**
 * A message in a 128-byte entry, and what lies behind the last slot. An entry is what a NIC writes for a receive with inline data:
 * whoever polls the queue beneath sees byte count, immediate and payload.
 *
 * <pre>
 *   word 0       header: RECV_IMM, all else zero; stored by the queue
 *   word 1       zero
 *   word 2       1 once the claim is committed or aborted, 0 until then
 *   word 3       length in bytes (low half) | message type, -1: aborted (high half)
 *   word 4       flags: immediate
 *   words 5..15  the message, 88 bytes; zero behind its last byte
 *
 *   behind the slots
 *   byte 0       claimed sequence                      written by the producing thread
 *   byte 128     next correlation id                   written by any thread
 *   byte 256     time of the consumer's heartbeat      written by whoever keeps it
 * </pre>
 */
final class MessageLayout {
    static final int STRIDE_BYTES = CqeLayout.LONG_BYTES;
    static final int MAX_MESSAGE_BYTES = STRIDE_BYTES - CqeLayout.PAYLOAD_OFFSET;

    /** The most messages: what a queue of 128-byte entries takes. */
    static final int MAX_MESSAGES = 1 << 23;

    static final int ABORTED_TYPE = RingBuffer.PADDING_MSG_TYPE_ID;

    static final long HEADER = CqeLayout.header(CqeOpcode.RECV_IMM, false, 0, 0, 0);
    static final long DETAIL = CqeLayout.detail(0, CqeLayout.FLAG_IMMEDIATE, 0);

    /** Offsets of words within a slot, in bytes. */
    static final int STATE_OFFSET = CqeLayout.workRequestIdOffset(STRIDE_BYTES);

    static final int LENGTH_OFFSET = STATE_OFFSET + Long.BYTES;
    static final int MESSAGE_OFFSET = CqeLayout.PAYLOAD_OFFSET;

    static final long CLAIMED = 0;
    static final long RELEASED = 1;

    /** Offsets of words behind the last slot, in bytes. */
    static final int CLAIMED_SEQUENCE = 0;

    static final int CORRELATION_ID = CLAIMED_SEQUENCE + CacheLines.SEPARATION_BYTES;
    static final int HEARTBEAT = CORRELATION_ID + CacheLines.SEPARATION_BYTES;
    static final int TRAILER_BYTES = HEARTBEAT + CacheLines.SEPARATION_BYTES;

    private MessageLayout() {}

    static int slotsBytes(int messages) {
        return messages * STRIDE_BYTES;
    }

    /** Where the trailer starts, which is what the queue itself takes. */
    static long trailerOffset(int messages) {
        return CompletionQueue.requiredBytes(messages, STRIDE_BYTES);
    }

    static int type(Completion completion) {
        return completion.immediate();
    }

    static int length(Completion completion) {
        return (int) completion.byteCount();
    }

    static int index(Completion completion) {
        return (int) completion.slotOffset() + MESSAGE_OFFSET;
    }
}
