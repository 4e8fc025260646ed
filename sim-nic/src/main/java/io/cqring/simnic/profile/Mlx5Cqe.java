package io.cqring.simnic.profile;

import io.cqring.cq.CompletionStatus;
import io.cqring.memory.QueueMemory;

/**
 * The mlx5 completion entry, 64 bytes, bit by bit. Everything is big-endian; in a 128-byte slot the entry is the last half, inline data the
 * first.
 *
 * <pre>
 *   byte 16  path     15:0 source LID
 *   byte 24  source   61:60 not 0: with a global routing header | 59:56 service level | 55:32 source QP number
 *   byte 32  key      55:32 user index | 31:0 immediate, or the invalidated rkey
 *   byte 40  length   31:0 byte count; in a title: completions of the session
 *   byte 48  stamp    63:0 device time; after an error: 15:8 vendor error | 7:0 syndrome
 *   byte 56  control  63:56 opcode of the request | 55:32 QP number | 31:16 WQE counter | 15:8 signature
 *                     | 7:4 opcode | 3:2 format | 1 solicited | 0 owner
 * </pre>
 *
 * <p>The seed puts the owner into bit 0 of a 64-byte entry's first word, the counter into 24 bits, and gives 0x02 to the local length error.
 * The driver differs in all three, and this class follows the driver. Source: rdma-core {@code providers/mlx5/mlx5dv.h}, {@code cq.c}.
 *
 * <p>Words are passed as the numbers they stand for; {@link #word} and {@link #putWord} turn them.
 */
public final class Mlx5Cqe {
    /** Bytes of an entry. */
    public static final int BYTES = 64;

    /** Opcode: a request succeeded. */
    public static final int REQ = 0;

    /** Opcode: a receive was consumed by a write with immediate. */
    public static final int RESP_WR_IMM = 1;

    /** Opcode: a receive was consumed by a send. */
    public static final int RESP_SEND = 2;

    /** Opcode: a receive was consumed by a send with immediate. */
    public static final int RESP_SEND_IMM = 3;

    /** Opcode: a receive was consumed by a send that invalidated an rkey. */
    public static final int RESP_SEND_INV = 4;

    /** Opcode: the device goes on in another ring. */
    public static final int RESIZE_CQ = 5;

    /** Opcode: a request failed. */
    public static final int REQ_ERR = 13;

    /** Opcode: a receive failed. */
    public static final int RESP_ERR = 14;

    /** Opcode: never written by a device; slots are filled with it. */
    public static final int INVALID = 15;

    /** Opcode of the request: write. */
    public static final int WIRE_RDMA_WRITE = 0x08;

    /** Opcode of the request: write with immediate. */
    public static final int WIRE_RDMA_WRITE_IMM = 0x09;

    /** Opcode of the request: send. */
    public static final int WIRE_SEND = 0x0a;

    /** Opcode of the request: read. */
    public static final int WIRE_RDMA_READ = 0x10;

    /** Opcode of the request: compare and swap. */
    public static final int WIRE_CMP_SWAP = 0x11;

    /** Opcode of the request: fetch and add. */
    public static final int WIRE_FETCH_ADD = 0x12;

    /** Opcode of the request: a local invalidate, which is a user-mode registration that unregisters. */
    public static final int WIRE_UMR = 0x25;

    /** Format: no inline data. */
    public static final int FORMAT_PLAIN = 0;

    /** Format: the title of a compressed session. */
    public static final int FORMAT_COMPRESSED = 3;

    /** Last byte of a slot that the device has never written: invalid to a driver that looks at the opcode, and to one that looks at the owner. */
    public static final byte FILL = (byte) 0xf1;

    /** Offset of the path word. */
    public static final int PATH = 16;

    /** Offset of the source word. */
    public static final int SOURCE = 24;

    /** Offset of the key word. */
    public static final int KEY = 32;

    /** Offset of the length word. */
    public static final int LENGTH = 40;

    /** Offset of the stamp word. */
    public static final int STAMP = 48;

    /** Offset of the control word: stored last, with release; loaded first, with acquire. */
    public static final int CONTROL = 56;

    private static final int MASK_24 = 0xFF_FFFF;
    private static final int HEADER_SHIFT = 60;

    private Mlx5Cqe() {}

    /**
     * Loads a word, plain.
     *
     * @param memory where the entry lies
     * @param offset offset of the word, a multiple of 8
     * @return the number it stands for
     */
    public static long word(QueueMemory memory, long offset) {
        return Long.reverseBytes(memory.getLong(offset));
    }

    /**
     * Stores a word, plain.
     *
     * @param memory where the entry lies
     * @param offset offset of the word, a multiple of 8
     * @param value  the number it is to stand for
     */
    public static void putWord(QueueMemory memory, long offset, long value) {
        memory.putLong(offset, Long.reverseBytes(value));
    }

    /**
     * Composes the control word.
     *
     * @param wireOpcode one of the WIRE constants; 0 for a receive
     * @param qpNumber   queue pair, 24 bits
     * @param wqeCounter counter of the work-queue entry; its low 16 bits count
     * @param opcode     one of the opcodes
     * @param format     one of the FORMAT constants
     * @param solicited  whether the sender asked for an event
     * @param owner      owner bit
     * @return the word
     */
    public static long control(
            int wireOpcode, int qpNumber, int wqeCounter, int opcode, int format, boolean solicited, int owner) {
        return (long) wireOpcode << 56
                | (qpNumber & (long) MASK_24) << 32
                | (wqeCounter & 0xFFFFL) << 16
                | opcode << 4
                | format << 2
                | (solicited ? 2 : 0)
                | owner;
    }

    /**
     * Composes the source word.
     *
     * @param sourceQp     queue pair that sent the message, 24 bits
     * @param serviceLevel 4 bits
     * @return the word
     */
    public static long source(int sourceQp, int serviceLevel) {
        return ((serviceLevel & 0xFL) << 24 | (sourceQp & MASK_24)) << 32;
    }

    /**
     * Composes the source word of a datagram, which comes with a global routing header.
     *
     * @param sourceQp     queue pair that sent the message, 24 bits
     * @param serviceLevel 4 bits; with RoCE its low two say what kind of header, 0 for the global routing header
     * @return the word
     */
    public static long sourceOfDatagram(int sourceQp, int serviceLevel) {
        return source(sourceQp, serviceLevel) | 1L << HEADER_SHIFT;
    }

    /**
     * Composes the key word.
     *
     * @param userIndex the driver's own number of the queue pair, 24 bits
     * @param immediate immediate data, or the invalidated rkey
     * @return the word
     */
    public static long key(int userIndex, int immediate) {
        return (userIndex & (long) MASK_24) << 32 | (immediate & 0xFFFF_FFFFL);
    }

    /**
     * Composes the stamp word of a failed entry.
     *
     * @param vendorError 8 bits
     * @param syndrome    8 bits
     * @return the word
     */
    public static long error(int vendorError, int syndrome) {
        return (vendorError & 0xFFL) << 8 | (syndrome & 0xFF);
    }

    /**
     * Operation code.
     *
     * @param control a control word
     * @return one of the opcodes
     */
    public static int opcode(long control) {
        return (int) control >>> 4 & 0xF;
    }

    /**
     * Owner bit.
     *
     * @param control a control word
     * @return 0 or 1
     */
    public static int owner(long control) {
        return (int) control & 1;
    }

    /**
     * Format.
     *
     * @param control a control word
     * @return 0 to 3
     */
    public static int format(long control) {
        return (int) control >>> 2 & 3;
    }

    /**
     * Solicited bit.
     *
     * @param control a control word
     * @return whether the sender asked for an event
     */
    public static boolean isSolicited(long control) {
        return (control & 2) != 0;
    }

    /**
     * Operation code of the request.
     *
     * @param control a control word
     * @return one of the WIRE constants, for the entry of a request
     */
    public static int wireOpcode(long control) {
        return (int) (control >>> 56);
    }

    /**
     * Queue pair.
     *
     * @param control a control word
     * @return 24 bits
     */
    public static int qpNumber(long control) {
        return (int) (control >>> 32) & MASK_24;
    }

    /**
     * Queue pair that sent the message.
     *
     * @param source a source word
     * @return 24 bits
     */
    public static int sourceQp(long source) {
        return (int) (source >>> 32) & MASK_24;
    }

    /**
     * Whether a global routing header came with the message.
     *
     * @param source a source word
     * @return whether one of its two bits is set
     */
    public static boolean hasHeader(long source) {
        return (source >>> HEADER_SHIFT & 3) != 0;
    }

    /**
     * Counter of the work-queue entry; of a receive in a shared queue, its place in the ring.
     *
     * @param control a control word
     * @return 16 bits
     */
    public static int wqeCounter(long control) {
        return (int) control >>> 16 & 0xFFFF;
    }

    /**
     * Owner bit of the entry at an index: the parity of the lap, 0 on the first.
     *
     * @param index      entries before this one
     * @param log2Depth  binary logarithm of the ring's depth
     * @return 0 or 1
     */
    public static int ownerAt(long index, int log2Depth) {
        return (int) (index >>> log2Depth) & 1;
    }

    /**
     * What a syndrome stands for.
     *
     * @param syndrome 8 bits
     * @return the status; {@link CompletionStatus#GENERAL_ERR} for a code without a meaning
     */
    public static CompletionStatus status(int syndrome) {
        return switch (syndrome) {
            case 0x01 -> CompletionStatus.LOC_LEN_ERR;
            case 0x02 -> CompletionStatus.LOC_QP_OP_ERR;
            case 0x04 -> CompletionStatus.LOC_PROT_ERR;
            case 0x05 -> CompletionStatus.WR_FLUSH_ERR;
            case 0x06 -> CompletionStatus.MW_BIND_ERR;
            case 0x10 -> CompletionStatus.BAD_RESP_ERR;
            case 0x11 -> CompletionStatus.LOC_ACCESS_ERR;
            case 0x12 -> CompletionStatus.REM_INV_REQ_ERR;
            case 0x13 -> CompletionStatus.REM_ACCESS_ERR;
            case 0x14 -> CompletionStatus.REM_OP_ERR;
            case 0x15 -> CompletionStatus.RETRY_EXC_ERR;
            case 0x16 -> CompletionStatus.RNR_RETRY_EXC_ERR;
            case 0x22 -> CompletionStatus.REM_ABORT_ERR;
            default -> CompletionStatus.GENERAL_ERR;
        };
    }

    /**
     * The syndrome a device writes for a status.
     *
     * @param status an error
     * @return 8 bits; 0xff, which stands for nothing, where mlx5 has no code
     */
    public static int syndrome(CompletionStatus status) {
        return switch (status) {
            case LOC_LEN_ERR -> 0x01;
            case LOC_QP_OP_ERR -> 0x02;
            case LOC_PROT_ERR -> 0x04;
            case WR_FLUSH_ERR -> 0x05;
            case MW_BIND_ERR -> 0x06;
            case BAD_RESP_ERR -> 0x10;
            case LOC_ACCESS_ERR -> 0x11;
            case REM_INV_REQ_ERR -> 0x12;
            case REM_ACCESS_ERR -> 0x13;
            case REM_OP_ERR -> 0x14;
            case RETRY_EXC_ERR -> 0x15;
            case RNR_RETRY_EXC_ERR -> 0x16;
            case REM_ABORT_ERR -> 0x22;
            default -> 0xff;
        };
    }
}
