package io.cqring.jmh;

import org.apache.commons.math3.stat.descriptive.rank.Percentile;
import org.apache.commons.math3.stat.descriptive.rank.Percentile.EstimationType;

/**
 * Middle and spread of a sample.
 *
 * @param lowerQuartile a quarter of the sample lies below
 * @param median        half of it does
 * @param upperQuartile three quarters do
 */
record Summary(double lowerQuartile, double median, double upperQuartile) {
    /** Quantiles by linear interpolation between order statistics (R's type 7). */
    static Summary of(double[] sample) {
        if (sample.length == 0) {
            throw new IllegalArgumentException("a sample must not be empty");
        }
        Percentile percentile = new Percentile().withEstimationType(EstimationType.R_7);
        percentile.setData(sample);
        return new Summary(percentile.evaluate(25), percentile.evaluate(50), percentile.evaluate(75));
    }

    /** Summary of {@code numerators[i] / denominators[i]}: each pair was measured one right after the other. */
    static Summary ofRatios(double[] numerators, double[] denominators) {
        if (numerators.length != denominators.length) {
            throw new IllegalArgumentException(
                    "ratios need pairs: " + numerators.length + " and " + denominators.length + " values");
        }
        double[] ratios = new double[numerators.length];
        for (int i = 0; i < ratios.length; i++) {
            ratios[i] = numerators[i] / denominators[i];
        }
        return of(ratios);
    }
}
