package io.cqring.cq;

import io.cqring.memory.QueueMemory;

/** What one thread stores for each entry it looks at or fills. */
abstract class SlotViewFields extends LeftPad {
    /** Where the slots are; changes with the ring. */
    QueueMemory memory;

    final int strideBytes;
    final int workRequestIdOffset;
    final int payloadWords;

    /** Where the slot starts, or {@link SlotView#DETACHED}. */
    long slotOffset = SlotView.DETACHED;

    /** Word 0 of the entry: as read, or as it will be stored. */
    long header;

    /** A bit for each word that has been set since the slot was claimed, see {@link CompletionEntry}. Device end only. */
    int wordsSet;

    /** What that is once all have been set. Device end only. */
    int everyWord;

    SlotViewFields(QueueMemory memory, int strideBytes) {
        this.memory = memory;
        this.strideBytes = strideBytes;
        this.payloadWords = CqeLayout.payloadBytes(strideBytes) / Long.BYTES;
        this.workRequestIdOffset = CqeLayout.workRequestIdOffset(strideBytes);
    }
}

/** Keeps a view's fields off the cache lines of what follows: 128 bytes, and 8 that may move into gaps before them. */
abstract class SlotViewRightPad extends SlotViewFields {
    byte r000, r001, r002, r003, r004, r005, r006, r007, r008, r009, r010, r011, r012, r013, r014, r015;
    byte r016, r017, r018, r019, r020, r021, r022, r023, r024, r025, r026, r027, r028, r029, r030, r031;
    byte r032, r033, r034, r035, r036, r037, r038, r039, r040, r041, r042, r043, r044, r045, r046, r047;
    byte r048, r049, r050, r051, r052, r053, r054, r055, r056, r057, r058, r059, r060, r061, r062, r063;
    byte r064, r065, r066, r067, r068, r069, r070, r071, r072, r073, r074, r075, r076, r077, r078, r079;
    byte r080, r081, r082, r083, r084, r085, r086, r087, r088, r089, r090, r091, r092, r093, r094, r095;
    byte r096, r097, r098, r099, r100, r101, r102, r103, r104, r105, r106, r107, r108, r109, r110, r111;
    byte r112, r113, r114, r115, r116, r117, r118, r119, r120, r121, r122, r123, r124, r125, r126, r127;
    byte r128, r129, r130, r131, r132, r133, r134, r135;

    SlotViewRightPad(QueueMemory memory, int strideBytes) {
        super(memory, strideBytes);
    }
}

/**
 * View of one slot, attached to it or to none. The poller's and the writer's views are made together and stored to on every
 * entry: without padding they would lie on one cache line, and each would slow the other end down.
 */
abstract class SlotView extends SlotViewRightPad {
    static final int DETACHED = -1;

    SlotView(QueueMemory memory, int strideBytes) {
        super(memory, strideBytes);
    }

    /**
     * Whether entries of this size have no such word of payload. All but short ones have the first three: so that of several words
     * with constant indexes the JIT tests the size once.
     */
    final boolean hasNoPayloadWord(int index) {
        return strideBytes == CqeLayout.SHORT_BYTES || index < 0 || (index >= 3 && index >= payloadWords);
    }

    final void detach() {
        slotOffset = DETACHED;
    }
}
