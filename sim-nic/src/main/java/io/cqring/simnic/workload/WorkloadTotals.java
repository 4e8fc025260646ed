package io.cqring.simnic.workload;

/**
 * Sums over the collectives of a workload, exact.
 *
 * @param collectives data lines, markers included
 * @param messages messages of all ranks
 * @param chunks chunks of all messages; one work request each
 * @param completions completions at both ends of all chunks: twice {@code chunks}
 */
public record WorkloadTotals(long collectives, long messages, long chunks, long completions) {
    static final WorkloadTotals NONE = new WorkloadTotals(0, 0, 0, 0);

    /**
     * Adds one collective; throws ArithmeticException, with a message for the reader of the file, when a sum overflows.
     */
    WorkloadTotals plus(MessagePlan plan) {
        try {
            return new WorkloadTotals(
                    Math.addExact(collectives, 1),
                    Math.addExact(messages, plan.messages()),
                    Math.addExact(chunks, plan.chunks()),
                    Math.addExact(completions, plan.completions()));
        } catch (ArithmeticException e) {
            ArithmeticException explained = new ArithmeticException("all lines up to this one need more than "
                    + Long.MAX_VALUE + " completions; larger chunks need fewer");
            explained.initCause(e);
            throw explained;
        }
    }
}
