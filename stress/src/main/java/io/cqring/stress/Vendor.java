package io.cqring.stress;

import io.cqring.memory.QueueMemory;
import io.cqring.simnic.profile.BnxtQueue;
import io.cqring.simnic.profile.IrdmaQueue;
import io.cqring.simnic.profile.Mlx5Queue;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;

/**
 * The smallest queue of each vendor, and where its words lie, as sim-nic draws them: twins must know which store is which. Each holds one
 * entry at a time; irdma's entries have an extension, so that one takes two of the four slots that its ring has at least.
 */
enum Vendor {
    MLX5(VendorProfile.MLX5, 8192, 64, 1, 56, 40, 4096, 32) {
        @Override
        VendorQueue create(QueueMemory memory, QueueMemory scratch) {
            return Mlx5Queue.create(memory, scratch, 1, 64, NUMBER, 0);
        }

        @Override
        long consumerWord(int taken) {
            return Integer.reverseBytes(taken) & 0xFFFF_FFFFL;
        }
    },

    IRDMA(VendorProfile.IRDMA, 4096, 64, 2, 24, 0, 0, 64) {
        @Override
        VendorQueue create(QueueMemory memory, QueueMemory scratch) {
            return IrdmaQueue.create(memory, scratch, 1, 32, NUMBER);
        }

        @Override
        long consumerWord(int taken) {
            return 2L * taken % 4;
        }
    },

    BNXT_RE(VendorProfile.BNXT_RE, 4096, 32, 1, 24, 0, 0, 64) {
        @Override
        VendorQueue create(QueueMemory memory, QueueMemory scratch) {
            return BnxtQueue.create(memory, scratch, 1, NUMBER);
        }

        @Override
        long consumerWord(int taken) {
            return (taken & 1L) << 24; // index 0, the epoch turns
        }
    };

    /** Number of the queue. */
    static final int NUMBER = 3;

    /** Bytes of the largest. */
    static final int BYTES = 8192 + 128;

    /** irdma: the word that says what is armed. */
    static final int IRDMA_ARM_WORD = 32;

    /** irdma: the first word and the word with VALID, of the extension in slot 1. */
    static final int IRDMA_EXTENSION = 4096 + 32;

    static final int IRDMA_EXTENSION_CONTROL = IRDMA_EXTENSION + 24;

    /** bnxt_re: the acknowledgement of a cut-off. */
    static final int BNXT_CUT_OFF_ACK = 192;

    final VendorProfile profile;
    final int ring;

    /** Bytes of what one entry takes. */
    final int entryBytes;

    /** Entries that the ring has places for. */
    final int places;

    /** Offset in an entry of the word with the owner bit. */
    final int owner;

    /** Offset in an entry of the word with the length. */
    final int length;

    /** Where the host says how far it has come. */
    final int consumer;

    /** Where the host says that it wants an event. */
    final int doorbell;

    Vendor(
            VendorProfile profile,
            int ring,
            int entryBytes,
            int places,
            int owner,
            int length,
            int consumer,
            int doorbell) {
        this.profile = profile;
        this.ring = ring;
        this.entryBytes = entryBytes;
        this.places = places;
        this.owner = owner;
        this.length = length;
        this.consumer = consumer;
        this.doorbell = doorbell;
    }

    abstract VendorQueue create(QueueMemory memory, QueueMemory scratch);

    /** What the consumer word is after so many entries, as far as the device reads it. */
    abstract long consumerWord(int taken);

    boolean isInRing(long offset) {
        return offset >= ring;
    }

    boolean isOwner(long offset) {
        return offset >= ring && (offset - ring) % entryBytes == owner;
    }

    /** Where entry n lies, the first being 1. */
    int entry(int n) {
        return ring + (n - 1) % places * entryBytes;
    }
}
