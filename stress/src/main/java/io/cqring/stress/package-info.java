/**
 * Proofs of the ordering edges of core and of sim-nic's vendors' rings, on the shipped classes, with twins that must fail.
 *
 * <pre>
 *   StressRunner ── runs, then Judgement decides: a forbidden outcome, a twin that nobody convicted, a missing test: exit 1
 *   CqOwnStress CqCreditStress CqCountStress StateStress RoleStress     one class per edge, one nested class per variant
 *     QueueRig   one sample: a shipped queue over a recycled slice (Slices), entries that give themselves away (Entry, Observer)
 *     WeakMemory what a twin runs on: takes one end of one edge away, under the same shipped classes
 * </pre>
 *
 * <p>Run all: {@code java -jar stress/target/jcstress.jar}, after {@code mvn verify}. One class: add {@code -t CqOwnStress};
 * longer: {@code -time 1000 -iters 10}; other options are jcstress's own, see {@code -h}. The edges are listed in {@code core/docs/ordering.md}.
 *
 * <p>Beside them, in the tests of this module, {@code LincheckTest} has rings that many share judged by another tool.
 *
 * <p>A nested class whose name starts with {@code Twin} must show its interesting outcome; any other must have none.
 */
package io.cqring.stress;
