package io.cqring.cq;

/**
 * What {@link CompletionQueue#drainAndClose} did.
 *
 * @param drained  completions handed to the handler, in entries
 * @param left     completions published and given up, in entries; 0 if complete
 * @param lost     completions lost to overrun in the queue's life, in entries
 * @param complete true if the writer had stopped and all it had published was drained; false if time ran out before, or somebody
 *                 else closed the queue
 */
public record DrainResult(long drained, int left, long lost, boolean complete) {}
