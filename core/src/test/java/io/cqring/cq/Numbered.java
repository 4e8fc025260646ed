package io.cqring.cq;

import java.util.List;

/**
 * Completions whose every field follows from one number, so that a field of another entry, another lap or a half-written
 * slot is noticed. Words are composed here by hand from the picture in CqeLayout, not with its methods.
 */
final class Numbered {
    private static final int[] OPCODES = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14};

    /** Numbers below this are looked up: the sweep asks for the same few a billion times. */
    static final int TABLE = 1024;

    private static final long[] HEADERS = new long[TABLE];
    private static final long[] LENGTHS = new long[TABLE];
    private static final long[] DETAILS = new long[TABLE];
    private static final long[] TIMESTAMPS = new long[TABLE];
    private static final long[] PAYLOADS = new long[TABLE * 11];

    static {
        for (int n = 0; n < TABLE; n++) {
            HEADERS[n] = makeHeader(n);
            LENGTHS[n] = mix(~(long) n);
            DETAILS[n] = makeDetail(n);
            TIMESTAMPS[n] = mix(n * 3L + 1);
            for (int i = 0; i < 11; i++) {
                PAYLOADS[n * 11 + i] = makePayload(n, i);
            }
        }
    }

    private Numbered() {}

    /** splitmix64's finaliser: every bit of the result depends on every bit of the number. */
    static long mix(long n) {
        long z = n + 0x9E37_79B9_7F4A_7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D0_49BB_1331_11EBL;
        return z ^ (z >>> 31);
    }

    private static int opcode(long n) {
        return OPCODES[(int) (((mix(n) >>> 1) & 0x7FFF) % OPCODES.length)];
    }

    /** Owner bit random: the writer must not care. Bits 7:6 zero. */
    static long header(long n) {
        return inTable(n) ? HEADERS[(int) n] : makeHeader(n);
    }

    private static long makeHeader(long n) {
        return (mix(n) & 0xFFFF_FFFF_FFFF_FF21L) | ((long) opcode(n) << 1);
    }

    static long length(long n) {
        return inTable(n) ? LENGTHS[(int) n] : mix(~n);
    }

    /** Flags only where there are flags, bits 63:40 zero. */
    static long detail(long n) {
        return inTable(n) ? DETAILS[(int) n] : makeDetail(n);
    }

    private static long makeDetail(long n) {
        return mix(n ^ 0x5555_5555_5555_5555L) & 0x0000_00FF_FFFF_87FFL;
    }

    static long timestamp(long n) {
        return inTable(n) ? TIMESTAMPS[(int) n] : mix(n * 3 + 1);
    }

    static long payload(long n, int index) {
        return inTable(n) ? PAYLOADS[(int) n * 11 + index] : makePayload(n, index);
    }

    private static long makePayload(long n, int index) {
        return mix(n * 16 + index) | 1; // never 0, so a word that was not written shows
    }

    private static boolean inTable(long n) {
        return (n & -TABLE) == 0;
    }

    static int payloadWords(int stride) {
        return stride == 32 ? 0 : stride == 64 ? 3 : 11;
    }

    /** A way to write a completion, and what it leaves in the fields. */
    enum Way {
        /** One call per entry, 24 bytes of payload. */
        WRITE {
            @Override
            boolean put(CompletionWriter writer, long n, int stride) {
                return stride == 32
                        ? writer.write(header(n), n, length(n), detail(n), timestamp(n), 0, 0, 0)
                        : writer.write(
                                header(n),
                                n,
                                length(n),
                                detail(n),
                                timestamp(n),
                                payload(n, 0),
                                payload(n, 1),
                                payload(n, 2));
            }

            @Override
            long expectedPayload(long n, int index) {
                return index < 3 ? payload(n, index) : 0;
            }
        },

        /** One call per entry, without payload. */
        WRITE_BARE {
            @Override
            boolean put(CompletionWriter writer, long n, int stride) {
                return writer.write(header(n), n, length(n), detail(n), timestamp(n));
            }

            @Override
            long expectedPayload(long n, int index) {
                return 0;
            }
        },

        /** Held back until flush. */
        STAGE {
            @Override
            boolean put(CompletionWriter writer, long n, int stride) {
                return writer.stage(header(n), n, length(n), detail(n), timestamp(n));
            }

            @Override
            long expectedPayload(long n, int index) {
                return 0;
            }
        },

        /** Filled in place, every word. */
        CLAIM {
            @Override
            boolean put(CompletionWriter writer, long n, int stride) {
                CompletionEntry entry = writer.claim();
                if (entry == null) {
                    return false;
                }
                entry.detail(detail(n)).length(length(n)).workRequestId(n).header(header(n));
                if (stride != 32) {
                    entry.timestamp(timestamp(n));
                }
                for (int i = 0; i < payloadWords(stride); i++) {
                    entry.payload(i, payload(n, i));
                }
                return true;
            }

            @Override
            long expectedPayload(long n, int index) {
                return payload(n, index);
            }
        },

        /** Filled in place, only header and work-request id: the rest must read as zero. */
        CLAIM_BARE {
            @Override
            boolean put(CompletionWriter writer, long n, int stride) {
                CompletionEntry entry = writer.claim();
                if (entry == null) {
                    return false;
                }
                entry.header(header(n)).workRequestId(n);
                return true;
            }

            @Override
            long expectedPayload(long n, int index) {
                return 0;
            }
        };

        private static final List<Way> ALL = List.of(values());

        /** One after the other, for a count that goes up. */
        static Way at(int count) {
            return ALL.get(count % ALL.size());
        }

        /** Writes entry n; false if the queue refused it. What STAGE and CLAIM write is seen after flush. */
        abstract boolean put(CompletionWriter writer, long n, int stride);

        abstract long expectedPayload(long n, int index);

        boolean needsFlush() {
            return this == STAGE || this == CLAIM || this == CLAIM_BARE;
        }

        /** Writes entry n and makes it visible. */
        boolean publish(CompletionWriter writer, long n, int stride) {
            boolean accepted = put(writer, n, stride);
            if (accepted && needsFlush()) {
                writer.flush();
            }
            return accepted;
        }
    }

    /** Everything an entry says must be what was written for n. */
    static void verify(Completion c, long n, Way way, int stride) {
        same(n, "work-request id", n, c.workRequestId());
        verifyHeader(n, c.opcode(), c.isSolicited(), c.wqeCounter(), c.qpNumber(), c.syndrome());
        long length = way == Way.CLAIM_BARE ? 0 : length(n);
        long detail = way == Way.CLAIM_BARE ? 0 : detail(n);
        same(n, "byte count", length & 0xFFFF_FFFFL, c.byteCount());
        same(n, "immediate", length >> 32, c.immediate());
        same(n, "vendor error", detail & 0xFF, c.vendorError());
        same(n, "flags", detail >>> 8 & 0xFF, c.flags());
        same(n, "has immediate", detail >>> 8 & 1, c.hasImmediate() ? 1 : 0);
        same(n, "source QP", detail >>> 16, c.sourceQp());
        if (stride != 32) {
            same(n, "timestamp", way == Way.CLAIM_BARE ? 0 : timestamp(n), c.timestamp());
        }
        for (int i = 0; i < payloadWords(stride); i++) {
            same(n, "payload", way.expectedPayload(n, i), c.payload(i));
        }
    }

    /** Enough to know the entry and that both its ends belong to it; every field is checked by the contract tests. */
    static void verifyBriefly(Completion c, long n, Way way, int stride) {
        same(n, "header", header(n) >>> 1, c.header() >>> 1);
        same(n, "work-request id", n, c.workRequestId());
        int last = payloadWords(stride) - 1;
        if (last >= 0) {
            same(n, "last payload word", way.expectedPayload(n, last), c.payload(last));
        }
    }

    static void verify(WorkCompletion c, long n, Way way, int stride) {
        same(n, "work-request id", n, c.workRequestId());
        verifyHeader(n, c.opcode(), c.isSolicited(), c.wqeCounter(), c.qpNumber(), c.syndrome());
        long length = way == Way.CLAIM_BARE ? 0 : length(n);
        long detail = way == Way.CLAIM_BARE ? 0 : detail(n);
        same(n, "byte count", length & 0xFFFF_FFFFL, c.byteCount());
        same(n, "immediate", length >> 32, c.immediate());
        same(n, "vendor error", detail & 0xFF, c.vendorError());
        same(n, "flags", detail >>> 8 & 0xFF, c.flags());
        same(n, "source QP", detail >>> 16, c.sourceQp());
        same(n, "timestamp", stride == 32 || way == Way.CLAIM_BARE ? 0 : timestamp(n), c.timestamp());
    }

    private static void verifyHeader(long n, int opcode, boolean solicited, int counter, int qp, int syndrome) {
        long header = header(n);
        same(n, "opcode", (header >>> 1) & 0xF, opcode);
        same(n, "solicited", header >>> 5 & 1, solicited ? 1 : 0);
        same(n, "WQE counter", header >>> 8 & 0xFF_FFFF, counter);
        same(n, "QP number", header >>> 32 & 0xFF_FFFF, qp);
        same(n, "syndrome", header >>> 56, syndrome);
    }

    private static void same(long n, String field, long expected, long actual) {
        if (expected != actual) {
            throw new AssertionError("entry " + n + ": " + field + " must be 0x" + Long.toHexString(expected)
                    + ", is 0x" + Long.toHexString(actual));
        }
    }
}
