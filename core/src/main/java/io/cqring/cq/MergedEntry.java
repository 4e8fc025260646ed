package io.cqring.cq;

import io.cqring.memory.QueueMemory;

/**
 * Several completions in one slot, reference form. Word 0 is a header as ever, whose opcode is MERGED, whose WQE counter is that
 * of the first completion, and whose syndrome byte holds their number and opcode; each further word is one completion.
 *
 * <pre>
 *    63    60 59    56 55              32 31              8 7   5 4    1 0
 *   +--------+--------+------------------+-----------------+-----+------+-+
 *   | number | opcode |    QP number     |   WQE counter   |  0  |  10  |O|  word 0
 *   +--------+--------+------------------+-----------------+-----+------+-+
 *   |        0        |    WQE counter   |           byte count           |  words 1 to number
 *   +-----------------+------------------+--------------------------------+
 * </pre>
 *
 * <p>Only completions that say nothing else are merged: successful, not solicited, no immediate, no detail, of one QP and one
 * opcode. Work-request id and timestamp are not carried. Source: seed 000 ("hardware CQ merging"), in our own form.
 */
final class MergedEntry {
    /** Tells, in the detail word of an expanded completion, that there was no work-request id. Devices never set it. */
    static final long EXPANDED = 1L << 63;

    private static final int NUMBER_SHIFT = 60;
    private static final int OPCODE_SHIFT = 56;
    private static final long QP_AND_COUNTER = 0x00FF_FFFF_FFFF_FF00L;
    private static final long SYNDROME_AND_SOLICITED = 0xFF00_0000_0000_0020L;
    private static final long QP_AND_OPCODE = 0x00FF_FFFF_0000_001EL;
    private static final long MINI_COUNTER = 0x00FF_FFFF_0000_0000L;

    /** Opcodes that may be merged: 0 to 6, those without immediate data or an invalidated rkey. */
    private static final int LAST_MERGEABLE = CqeOpcode.RECV;

    private MergedEntry() {}

    /** The most completions that one slot holds: 3, 7 or 15. */
    static int most(int strideBytes) {
        return strideBytes / Long.BYTES - 1;
    }

    /** Whether nothing is lost, but the work-request id and the timestamp, if the completion is merged. */
    static boolean isMergeable(long header, long length, long detail) {
        return (header & SYNDROME_AND_SOLICITED) == 0
                && length >>> Integer.SIZE == 0
                && detail == 0
                && CqeLayout.opcode(header) <= LAST_MERGEABLE;
    }

    /** Whether two completions, both mergeable, may share a slot. */
    static boolean belongTogether(long header, long other) {
        return ((header ^ other) & QP_AND_OPCODE) == 0;
    }

    /** Word 0, owner bit 0, of a slot whose first completion had the header {@code first}. */
    static long header(long first, int number) {
        return (long) number << NUMBER_SHIFT
                | (long) CqeLayout.opcode(first) << OPCODE_SHIFT
                | (first & QP_AND_COUNTER)
                | (long) CqeOpcode.MERGED << 1;
    }

    static long mini(long header, long length) {
        return (long) CqeLayout.wqeCounter(header) << Integer.SIZE | CqeLayout.byteCount(length);
    }

    /** Completions in a slot; whatever the memory says, no more than fit. */
    static int number(long header, int strideBytes) {
        return Math.min((int) (header >>> NUMBER_SHIFT), most(strideBytes));
    }

    /** Writes completion {@code index} of the slot as an entry of its own to the start of {@code scratch}. */
    static void expand(QueueMemory memory, long slot, int index, QueueMemory scratch, int strideBytes) {
        final long header = memory.getLong(slot + CqeLayout.HEADER_OFFSET);
        final long mini = memory.getLong(slot + (index + 1L) * Long.BYTES);
        final int middle = CqeLayout.workRequestIdOffset(strideBytes);
        final long opcode = header >>> OPCODE_SHIFT & 0xF;
        scratch.putLong(
                CqeLayout.HEADER_OFFSET,
                (header & QP_AND_OPCODE & ~0x1EL) | (mini & MINI_COUNTER) >>> 24 | opcode << 1);
        scratch.putLong(middle + Long.BYTES, CqeLayout.byteCount(mini));
        scratch.putLong(middle + 2L * Long.BYTES, EXPANDED);
    }
}
