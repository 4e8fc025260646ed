package io.cqring.simnic.profile;

import io.cqring.eq.Interrupt;
import java.util.Locale;

/** The vendors whose queues are modelled. */
public enum VendorProfile {
    /** NVIDIA mlx5: 64 or 128 bytes, parity, many queues per event queue. */
    MLX5(64, 128) {
        @Override
        public VendorQueue createQueue(int entries, int strideBytes, int number) {
            return Mlx5Queue.create(roundUp(require(entries, strideBytes)), strideBytes, number, false);
        }

        @Override
        public int mostEntries(int strideBytes) {
            return Mlx5Region.MAX_DEPTH;
        }
    },

    /** Intel irdma: 32 or 64 bytes, polarity, shadow area. */
    IRDMA(64, 32) {
        @Override
        public VendorQueue createQueue(int entries, int strideBytes, int number) {
            return IrdmaQueue.create(require(entries, strideBytes), strideBytes, number);
        }

        @Override
        public int mostEntries(int strideBytes) {
            return IrdmaRegion.mostEntries(strideBytes);
        }
    },

    /** Broadcom bnxt_re: 32 bytes, toggle, aggregated sends. */
    BNXT_RE(32, 32) {
        @Override
        public VendorQueue createQueue(int entries, int strideBytes, int number) {
            return BnxtQueue.create(roundUp(require(entries, strideBytes)), number);
        }

        @Override
        public int mostEntries(int strideBytes) {
            return BnxtRegion.MAX_DEPTH;
        }
    };

    /** Entries of an event queue beyond one for each completion queue. */
    private static final int SPARE_EVENTS = 128;

    private final int usualBytes;
    private final int otherBytes;

    VendorProfile(int usualBytes, int otherBytes) {
        this.usualBytes = usualBytes;
        this.otherBytes = otherBytes;
    }

    /**
     * The profile of a name.
     *
     * @param name {@code mlx5}, {@code irdma} or {@code bnxt_re}
     * @return the profile
     * @throws IllegalArgumentException for another name
     */
    public static VendorProfile of(String name) {
        for (VendorProfile profile : values()) {
            if (profile.label().equals(name)) {
                return profile;
            }
        }
        throw new IllegalArgumentException("profile must be mlx5, irdma or bnxt_re: " + name);
    }

    /**
     * As the driver is called.
     *
     * @return {@code mlx5}, {@code irdma} or {@code bnxt_re}
     */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * The size of an entry that this vendor's driver takes unless told otherwise.
     *
     * @return bytes
     */
    public int usualBytes() {
        return usualBytes;
    }

    /**
     * Whether entries of a size exist.
     *
     * @param strideBytes bytes
     * @return false if a queue of such entries cannot be made
     */
    public boolean hasStride(int strideBytes) {
        return strideBytes == usualBytes || strideBytes == otherBytes;
    }

    /**
     * Makes a completion queue.
     *
     * @param entries     completions that it must hold, 1 to {@link #mostEntries}
     * @param strideBytes bytes per entry
     * @param number      its number, 20 bits
     * @return the queue
     * @throws IllegalArgumentException if a number breaks the vendor's rule
     */
    public abstract VendorQueue createQueue(int entries, int strideBytes, int number);

    /**
     * The most completions that a queue can be made for.
     *
     * @param strideBytes bytes per entry, see {@link #hasStride}
     * @return the largest number that {@link #createQueue} takes
     */
    public abstract int mostEntries(int strideBytes);

    /**
     * Makes an event queue.
     *
     * @param queues    completion queues that will use it, 1 to 2^22 - 128
     * @param interrupt what it raises
     * @return the queue
     * @throws IllegalArgumentException if the count breaks its rule
     */
    public final VendorEventQueue createEventQueue(int queues, Interrupt interrupt) {
        requireRange("completion queues", queues, EventRing.MAX_DEPTH - SPARE_EVENTS);
        return new VendorEventQueue(VendorEventQueue.Format.valueOf(name()), roundUp(queues + SPARE_EVENTS), interrupt);
    }

    final int require(int entries, int strideBytes) {
        requireRange("entries", entries, mostEntries(strideBytes));
        return entries;
    }

    private static void requireRange(String what, int value, int most) {
        if (value < 1 || value > most) {
            throw new IllegalArgumentException(what + " must be 1 to " + most + ": " + value);
        }
    }

    /** The next power of two; for at most 2^30. */
    private static int roundUp(int entries) {
        return entries < 2 ? 1 : Integer.highestOneBit(entries - 1) << 1;
    }
}
