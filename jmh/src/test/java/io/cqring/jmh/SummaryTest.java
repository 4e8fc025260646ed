package io.cqring.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** Expected values worked out by hand: quantile p of n sorted values lies at position (n - 1) p, counted from 0. */
class SummaryTest {
    private static final double EXACT = 1e-12;

    @Test
    void quartilesOfFiveValuesAreValuesOfTheSample() {
        Summary summary = Summary.of(new double[] {50, 10, 40, 20, 30});
        assertEquals(20, summary.lowerQuartile(), EXACT);
        assertEquals(30, summary.median(), EXACT);
        assertEquals(40, summary.upperQuartile(), EXACT);
    }

    @Test
    void quantilesBetweenValuesAreInterpolated() {
        // positions 0.75, 1.5, 2.25 of 1, 2, 4, 8
        Summary summary = Summary.of(new double[] {8, 4, 2, 1});
        assertEquals(1.75, summary.lowerQuartile(), EXACT);
        assertEquals(3, summary.median(), EXACT);
        assertEquals(5, summary.upperQuartile(), EXACT);
    }

    @Test
    void oneValueIsItsOwnQuartiles() {
        assertEquals(new Summary(7, 7, 7), Summary.of(new double[] {7}));
    }

    @Test
    void ratiosAreTakenPairByPairAndNotOfMedians() {
        // 2/1, 9/3, 4/4: median 2. The ratio of the medians 4 and 3 would be 1.33.
        Summary ratios = Summary.ofRatios(new double[] {2, 9, 4}, new double[] {1, 3, 4});
        assertEquals(2, ratios.median(), EXACT);
        assertEquals(1.5, ratios.lowerQuartile(), EXACT);
        assertEquals(2.5, ratios.upperQuartile(), EXACT);
    }

    @Test
    void valuesWithoutPartnerAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> Summary.ofRatios(new double[2], new double[3]));
        assertThrows(IllegalArgumentException.class, () -> Summary.of(new double[0]));
    }
}
