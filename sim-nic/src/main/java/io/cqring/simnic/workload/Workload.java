package io.cqring.simnic.workload;

import java.util.List;
import java.util.Objects;

/**
 * The collectives of one job, in the order in which they run. Immutable.
 *
 * @param name where it came from, for reports and errors: the path as it was given, or {@code sample-moe.csv}
 * @param collectives all data lines, markers included; never empty when it was read by {@link WorkloadFile}
 */
public record Workload(String name, List<Collective> collectives) {
    /**
     * Copies the list.
     *
     * @param name not null
     * @param collectives not null, without nulls; later changes of it are not seen
     */
    public Workload {
        Objects.requireNonNull(name, "name");
        collectives = List.copyOf(collectives);
    }

    /**
     * The same job, cut after its first data lines. Markers count as data lines.
     *
     * @param limit the most data lines to keep, at least 1; more than there are is allowed
     * @return a workload of the same name
     * @throws IllegalArgumentException if {@code limit} is less than 1
     */
    public Workload limitedTo(long limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit must be at least 1 collective: limit=" + limit);
        }
        return limit >= collectives.size() ? this : new Workload(name, collectives.subList(0, (int) limit));
    }

    /**
     * What running this workload amounts to, computed from the sizes by the formulas of {@link MessagePlan}.
     *
     * @param ranks how many ranks take part, at least 2
     * @param chunkBytes the most bytes in one chunk, at least 1
     * @return the sums over all collectives
     * @throws IllegalArgumentException if {@code ranks} or {@code chunkBytes} is out of range
     * @throws WorkloadException if a number does not fit in a {@code long}; names the line at which it happened
     */
    public WorkloadTotals totals(int ranks, long chunkBytes) {
        MessagePlan.checkArguments(ranks, chunkBytes);
        WorkloadTotals totals = WorkloadTotals.NONE;
        for (Collective collective : collectives) {
            try {
                totals = totals.plus(MessagePlan.of(collective, ranks, chunkBytes));
            } catch (ArithmeticException e) {
                throw WorkloadException.atLine(name, collective.line(), e.getMessage(), e);
            }
        }
        return totals;
    }
}
