package io.cqring.stress;

import io.cqring.cq.CompletionEntry;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;

/** Entries whose every word derives from one number, so that a word of any other entry gives itself away. */
final class Entry {
    private static final long SPREAD = 0x0001_0001_0001_0001L;

    private Entry() {}

    static long header(int number) {
        return CqeLayout.header(CqeOpcode.RECV, false, number, number, number);
    }

    static long workRequestId(int number) {
        return number * SPREAD;
    }

    static long length(int number) {
        return CqeLayout.length(number, number);
    }

    static long detail(int number) {
        return CqeLayout.detail(number, 0, number);
    }

    static long timestamp(int number) {
        return number * SPREAD + 100;
    }

    static long payload(int number, int index) {
        return number * SPREAD + 200 + index;
    }

    static boolean write(CompletionWriter writer, int number, int strideBytes) {
        boolean room = strideBytes != CqeLayout.SHORT_BYTES;
        return writer.write(
                header(number),
                workRequestId(number),
                length(number),
                detail(number),
                timestamp(number),
                room ? payload(number, 0) : 0,
                room ? payload(number, 1) : 0,
                room ? payload(number, 2) : 0);
    }

    static boolean stage(CompletionWriter writer, int number) {
        return writer.stage(header(number), workRequestId(number), length(number), detail(number), timestamp(number));
    }

    static boolean claim(CompletionWriter writer, int number, int strideBytes) {
        CompletionEntry entry = writer.claim();
        if (entry == null) {
            return false;
        }
        entry.header(header(number)).workRequestId(workRequestId(number)).length(length(number));
        int words = CqeLayout.payloadBytes(strideBytes) / Long.BYTES;
        if (words != 0) {
            entry.payload(words - 1, payload(number, words - 1));
        }
        return true;
    }

    static boolean full(CompletionWriter writer, int number, int strideBytes) {
        CompletionEntry entry = writer.claim();
        if (entry == null) {
            return false;
        }
        entry.header(header(number))
                .workRequestId(workRequestId(number))
                .length(length(number))
                .detail(detail(number));
        if (strideBytes != CqeLayout.SHORT_BYTES) {
            entry.timestamp(timestamp(number));
        }
        for (int i = 0; i < CqeLayout.payloadBytes(strideBytes) / Long.BYTES; i++) {
            entry.payload(i, payload(number, i));
        }
        return writer.flush() == 1;
    }
}
