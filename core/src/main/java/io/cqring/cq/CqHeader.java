package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import java.util.zip.CRC32C;

/**
 * Constant part of a queue's region: says what the queue is, so that another process can attach it. Written once, by create;
 * the magic is stored last of the whole region. Every word has 8 bytes, little endian.
 *
 * <pre>
 *   byte 0     magic, the 8 characters "cqring", CR, LF; 0: the queue is not finished
 *   byte 8     byte order mark, 0x0102030405060708
 *   byte 16    version of this layout, 1
 *   byte 24    layout of an entry, 1: the reference layout of CqeLayout
 *   byte 32    stride, in bytes
 *   byte 40    capacity, in entries
 *   byte 48    offset of the first slot, in bytes
 *   byte 56    bytes of the region, from the magic to the end of the last slot; the memory may be larger
 *   byte 64    overrun policy: 0 ERROR, 1 DROP_NEW, 2 BACKPRESSURE
 *   byte 72    start sequence
 *   byte 80    epoch: in a file a random number, drawn by create; tells it from one made later under that name. Else 0
 *   byte 88    shape: writers less one 15:0, shared pollers 16, merging 17 (never in a file), events 18; 0: one writer, one poller
 *   byte 96    zero, three words
 *   byte 120   CRC-32C of bytes 8 to 119, zero extended
 * </pre>
 *
 * <p>A reader copies every word once and judges the copy: whoever changes the region meanwhile changes nothing that has been
 * judged.
 */
record CqHeader(int strideBytes, int capacity, OverrunPolicy policy, long startSequence, long shape) {
    static final long MAGIC = 0x0A0D_676E_6972_7163L;

    /** In the place of the magic: the queue has left this region's ring for another, "moved", CR, LF. */
    static final long MOVED = 0x0A0D_6465_766F_6DL;

    private static final int WORDS = 16;
    private static final int BYTE_ORDER = 1;
    private static final int VERSION = 2;
    private static final int LAYOUT = 3;
    private static final int STRIDE = 4;
    private static final int CAPACITY = 5;
    private static final int FIRST_SLOT = 6;
    private static final int REGION_BYTES = 7;
    private static final int POLICY = 8;
    private static final int START_SEQUENCE = 9;
    private static final int EPOCH = 10;
    private static final int SHAPE = 11;
    private static final int CRC = 15;

    private static final long BYTE_ORDER_MARK = 0x0102_0304_0506_0708L;
    private static final long LAYOUT_VERSION = 1;
    private static final long REFERENCE_LAYOUT = 1;

    private static final long WRITERS_LESS_ONE = 0xFFFF;
    private static final long SHARED_POLLERS = 1L << 16;
    private static final long MERGING = 1L << 17;
    private static final long EVENTS = 1L << 18;
    private static final long ATTACHABLE = WRITERS_LESS_ONE | SHARED_POLLERS | EVENTS;

    static long shape(int writers, boolean sharedPollers, boolean merging, boolean events) {
        return writers - 1 | (sharedPollers ? SHARED_POLLERS : 0) | (merging ? MERGING : 0) | (events ? EVENTS : 0);
    }

    /** The most writers; 1: the queue has one. */
    int writers() {
        return (int) (shape & WRITERS_LESS_ONE) + 1;
    }

    boolean sharedPollers() {
        return (shape & SHARED_POLLERS) != 0;
    }

    /** Whether the host may arm the queue, so that whoever writes must serve the arm. */
    boolean events() {
        return (shape & EVENTS) != 0;
    }

    /** Stores everything but the magic, which stays 0. */
    void write(QueueMemory memory, long epoch) {
        long[] words = new long[WORDS];
        words[BYTE_ORDER] = BYTE_ORDER_MARK;
        words[VERSION] = LAYOUT_VERSION;
        words[LAYOUT] = REFERENCE_LAYOUT;
        words[STRIDE] = strideBytes;
        words[CAPACITY] = capacity;
        words[FIRST_SLOT] = CqRegion.geometry(capacity, strideBytes, writers()).firstSlotOffset();
        words[REGION_BYTES] = CqRegion.requiredBytes(capacity, strideBytes, writers());
        words[POLICY] = code(policy);
        words[START_SEQUENCE] = startSequence;
        words[EPOCH] = epoch;
        words[SHAPE] = shape;
        words[CRC] = checksum(words);
        for (int i = 1; i != WORDS; i++) {
            memory.putLong((long) i * Long.BYTES, words[i]);
        }
    }

    /** Stores the magic: the queue is complete. */
    static void publish(QueueMemory memory) {
        // Edge HEADER, creating end: the whole of an empty queue, then the magic. Partner: read. Weaker (plain, or the
        // magic first): another process attaches a queue that is still being made. Shown by HeaderStress.
        memory.putLongRelease(CqRegion.MAGIC, MAGIC);
    }

    /** Reads the constant part and checks all of it; touches nothing else. */
    static CqHeader read(QueueMemory memory) {
        long size = memory.sizeBytes();
        if (size < CqRegion.FIRST_SLOT) {
            throw refused(memory, "size must be at least " + CqRegion.FIRST_SLOT + " bytes: " + size, true);
        }
        // Edge HEADER, attaching end. Partner: publish. Weaker: words of the header, indices or owner bits from before
        // the queue was made. Shown by HeaderStress.
        long magic = memory.getLongAcquire(CqRegion.MAGIC);
        if (magic == 0) {
            throw refused(memory, "magic is 0: the queue is not finished, or its creator has died", true);
        }
        if (magic == MOVED) {
            throw refused(memory, "the queue has been resized: its entries are in another ring", false);
        }
        require(memory, "magic", MAGIC, magic);
        long[] words = new long[WORDS];
        for (int i = 1; i != WORDS; i++) {
            words[i] = memory.getLong((long) i * Long.BYTES);
        }
        require(memory, "byte order mark", BYTE_ORDER_MARK, words[BYTE_ORDER]);
        require(memory, "layout version", LAYOUT_VERSION, words[VERSION]);
        require(memory, "checksum", checksum(words), words[CRC]);
        require(memory, "entry layout", REFERENCE_LAYOUT, words[LAYOUT]);
        require(memory, "bits of the shape that this cannot attach", 0, words[SHAPE] & ~ATTACHABLE);
        int writers = 1
                + (int) narrow(
                        memory, "writers less one", words[SHAPE] & WRITERS_LESS_ONE, 0, CqRegion.MAX_WRITERS - 1);
        for (int i = SHAPE + 1; i != CRC; i++) {
            require(memory, "reserved word at byte " + i * Long.BYTES, 0, words[i]);
        }
        int stride = (int) narrow(memory, "stride", words[STRIDE], 32, 128);
        int capacity = (int) narrow(memory, "capacity", words[CAPACITY], 1, CqRegion.MAX_CAPACITY);
        try {
            int firstSlot = CqRegion.geometry(capacity, stride, writers).firstSlotOffset();
            require(memory, "first slot offset", firstSlot, words[FIRST_SLOT]);
        } catch (IllegalArgumentException e) {
            throw refused(memory, e.getMessage(), false);
        }
        require(memory, "region bytes", CqRegion.requiredBytes(capacity, stride, writers), words[REGION_BYTES]);
        narrow(memory, "region bytes", words[REGION_BYTES], CqRegion.FIRST_SLOT, size);
        OverrunPolicy policy = policy((int) narrow(memory, "overrun policy", words[POLICY], 0, 2));
        return new CqHeader(stride, capacity, policy, words[START_SEQUENCE], words[SHAPE]);
    }

    private static void require(QueueMemory memory, String name, long expected, long value) {
        if (value != expected) {
            throw refused(memory, name + " must be " + number(expected) + ": " + number(value), false);
        }
    }

    private static long narrow(QueueMemory memory, String name, long value, long least, long most) {
        if (value < least || value > most) {
            throw refused(memory, name + " must be " + least + " to " + most + ": " + value, false);
        }
        return value;
    }

    private static String number(long value) {
        return value >= 0 && value < 1L << 32 ? Long.toString(value) : "0x" + Long.toHexString(value);
    }

    static CqAttachException refused(QueueMemory memory, String why, boolean unfinished) {
        return new CqAttachException("cannot attach " + memory + ": " + why, unfinished);
    }

    private static long checksum(long[] words) {
        byte[] bytes = new byte[(CRC - BYTE_ORDER) * Long.BYTES];
        for (int i = 0; i != bytes.length; i++) {
            bytes[i] = (byte) (words[BYTE_ORDER + i / Long.BYTES] >>> (i % Long.BYTES * Byte.SIZE));
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, bytes.length);
        return crc.getValue();
    }

    private static long code(OverrunPolicy policy) {
        return switch (policy) {
            case ERROR -> 0;
            case DROP_NEW -> 1;
            case BACKPRESSURE -> 2;
        };
    }

    private static OverrunPolicy policy(int code) {
        return switch (code) {
            case 0 -> OverrunPolicy.ERROR;
            case 1 -> OverrunPolicy.DROP_NEW;
            default -> OverrunPolicy.BACKPRESSURE;
        };
    }
}
