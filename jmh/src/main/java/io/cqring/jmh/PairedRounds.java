package io.cqring.jmh;

import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.DoubleSupplier;

/**
 * One question, asked of several ways in turn, round after round: each way's figure, and its ratio to the first way's figure of the same
 * round.
 */
final class PairedRounds {
    private final String title;
    private final String unit;
    private final Map<String, DoubleSupplier> ways = new LinkedHashMap<>();
    private final Map<String, double[]> figures = new LinkedHashMap<>();

    /**
     * @param title what is asked
     * @param unit  of the figures
     */
    PairedRounds(String title, String unit) {
        this.title = title;
        this.unit = unit;
    }

    /** Adds a way; the first is what the others are compared with. A turn yields one figure. */
    PairedRounds way(String name, DoubleSupplier turn) {
        ways.put(name, turn);
        return this;
    }

    PairedRounds measure(int warmUpRounds, int rounds) {
        ways.keySet().forEach(name -> figures.put(name, new double[rounds]));
        for (int round = -warmUpRounds; round < rounds; round++) {
            for (Map.Entry<String, DoubleSupplier> way : ways.entrySet()) {
                final double figure = way.getValue().getAsDouble();
                if (round >= 0) {
                    figures.get(way.getKey())[round] = figure;
                }
            }
        }
        return this;
    }

    private Summary ratio(String name) {
        return Summary.ofRatios(figures.get(name), figures.values().iterator().next());
    }

    void print(PrintWriter out) {
        out.printf("%n%s%n", title);
        out.printf("%-44s %30s   %27s%n", "", unit, "this / the first way");
        out.printf("%-44s %10s%10s%10s   %9s%9s%9s%n", "way", "q1", "median", "q3", "q1", "median", "q3");
        figures.forEach((name, each) -> {
            final Summary figure = Summary.of(each);
            final Summary ratio = ratio(name);
            out.printf(
                    "%-44s %10.2f%10.2f%10.2f   %9.3f%9.3f%9.3f%n",
                    name,
                    figure.lowerQuartile(),
                    figure.median(),
                    figure.upperQuartile(),
                    ratio.lowerQuartile(),
                    ratio.median(),
                    ratio.upperQuartile());
        });
        out.flush();
    }

    /** For JSON. */
    Map<String, Object> document() {
        final Map<String, Object> document = new LinkedHashMap<>();
        document.put("title", title);
        document.put("unit", unit);
        figures.forEach((name, each) ->
                document.put(name, Map.of("summary", Summary.of(each), "over_first_way", ratio(name), "rounds", each)));
        return document;
    }
}
