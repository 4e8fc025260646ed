/**
 * What a training job wants to communicate, and the exact list of messages that follows from it. Pure data and
 * arithmetic: this package knows no queue, no NIC and no thread.
 *
 * <pre>
 *   jobs.csv ──► WorkloadFile ──► Workload ──► Collective ──► MessagePlan ──► (rank, n): to whom, how many bytes,
 *   sample   ──►  (validates      (a list)     (one line)     (for R ranks,   after how many arrivals
 *                  every line)       │                         chunk size C)
 *                                    └──► WorkloadTotals: collectives, messages, chunks, completions, by formula
 * </pre>
 *
 * <p>Reading order: {@link io.cqring.simnic.workload.MessagePlan} (the table of collectives),
 * {@link io.cqring.simnic.workload.WorkloadFile} (the format), the rest as needed.
 *
 * <p>Words: a <i>collective</i> is one data line of a file, a <i>message</i> is what one rank sends to one other rank
 * in one step, a <i>chunk</i> is one work request. Every chunk ends in two completions: one at its sender, one at its
 * receiver. Sizes are bytes in {@code long}; whatever does not fit is an error, never a wrapped number.
 */
package io.cqring.simnic.workload;
