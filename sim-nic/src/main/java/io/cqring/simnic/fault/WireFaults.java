package io.cqring.simnic.fault;

import java.util.SplittableRandom;

/**
 * What happens to packets on their way between the queue pairs of a device: given to {@code SimNic.Builder.wireFaults}. A subclass decides
 * packet by packet; {@link #seeded} rolls dice.
 *
 * <p><b>Role:</b> the device calls the methods on its own thread, first {@link #copies}, then {@link #delayNs} once for each copy.
 * <b>Determinism:</b> a device that is stepped asks in the same order every time.
 */
public abstract class WireFaults {
    /** For subclasses. */
    protected WireFaults() {}

    /**
     * How often a packet arrives.
     *
     * @param answer        whether it is an answer, else a request
     * @param sourceQp      number of the queue pair that sends it
     * @param destinationQp number of the queue pair it is for
     * @param psn           its packet sequence number, 24 bits
     * @return 0 if it is lost, 1 as a rule, more if it is doubled
     */
    public abstract int copies(boolean answer, int sourceQp, int destinationQp, int psn);

    /**
     * How long one copy of a packet is under way. Packets with the same delay stay in order; a longer one lets later packets overtake.
     *
     * @param answer        as {@link #copies}
     * @param sourceQp      as {@link #copies}
     * @param destinationQp as {@link #copies}
     * @param psn           as {@link #copies}
     * @return nanoseconds, 0 or more
     */
    public abstract long delayNs(boolean answer, int sourceQp, int destinationQp, int psn);

    /**
     * Faults by chance. As made there are none: set the rates.
     *
     * @param seed the same seed, the same faults
     * @return the faults
     */
    public static Seeded seeded(long seed) {
        return new Seeded(seed);
    }

    /** Faults by chance, each packet for itself. Set all rates before the device is made. */
    public static final class Seeded extends WireFaults {
        private static final int MOST_REORDERED = 8;

        private final SplittableRandom random;
        private double loss;
        private double duplication;
        private double reordering;
        private long leastDelayNs;
        private long mostDelayNs;

        private Seeded(long seed) {
            this.random = new SplittableRandom(seed);
        }

        private static double requireRate(double rate) {
            if (!(rate >= 0 && rate <= 1)) {
                throw new IllegalArgumentException("rate must be 0 to 1: " + rate);
            }
            return rate;
        }

        /**
         * Sets how many packets are lost.
         *
         * @param rate 0 to 1
         * @return this
         * @throws IllegalArgumentException if it is not
         */
        public Seeded loss(double rate) {
            loss = requireRate(rate);
            return this;
        }

        /**
         * Sets how many packets arrive twice.
         *
         * @param rate 0 to 1, of those that are not lost
         * @return this
         * @throws IllegalArgumentException if it is not
         */
        public Seeded duplication(double rate) {
            duplication = requireRate(rate);
            return this;
        }

        /**
         * Sets how many packets are held up for two to nine times the longest delay and a microsecond, so that later ones overtake.
         *
         * @param rate 0 to 1
         * @return this
         * @throws IllegalArgumentException if it is not
         */
        public Seeded reordering(double rate) {
            reordering = requireRate(rate);
            return this;
        }

        /**
         * Sets how long packets are under way: evenly spread between two limits.
         *
         * @param leastNs nanoseconds, 0 or more
         * @param mostNs  nanoseconds, leastNs or more
         * @return this
         * @throws IllegalArgumentException if they are not
         */
        public Seeded delayNs(long leastNs, long mostNs) {
            if (leastNs < 0 || mostNs < leastNs || mostNs > Integer.MAX_VALUE) {
                throw new IllegalArgumentException(
                        "delays must be 0 <= least <= most < 2^31 ns: " + leastNs + ", " + mostNs);
            }
            leastDelayNs = leastNs;
            mostDelayNs = mostNs;
            return this;
        }

        @Override
        public int copies(boolean answer, int sourceQp, int destinationQp, int psn) {
            if (random.nextDouble() < loss) {
                return 0;
            }
            return random.nextDouble() < duplication ? 2 : 1;
        }

        @Override
        public long delayNs(boolean answer, int sourceQp, int destinationQp, int psn) {
            long delay = leastDelayNs == mostDelayNs ? leastDelayNs : random.nextLong(leastDelayNs, mostDelayNs + 1);
            if (random.nextDouble() < reordering) {
                delay += (mostDelayNs + 1000) * (1 + random.nextInt(MOST_REORDERED));
            }
            return delay;
        }
    }
}
