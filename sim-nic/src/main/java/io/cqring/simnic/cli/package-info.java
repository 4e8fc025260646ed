/**
 * The command line, and the programs behind it: {@code run}, below; {@code simulate}, {@code perf}, {@code mlx5-device}, each a command with what it
 * needs ({@code Simulation}, {@code PerfRig}, {@code Mlx5Script}).
 *
 * <pre>
 *   Main ──► RunCommand ──► RunOptions (checked)         WorkloadRun: the threads, when they post, poll and wait
 *               │                                            │
 *               └──► workload: WorkloadFile, Workload        ├──► Traffic, Link: posts to queue pairs, checks completions
 *                                                            │      ├──► ChunkLedger: lost? twice? out of order?
 *                                                            │      └──► PayloadPattern: are these the bytes that were sent?
 *                                                            ├──► QueueWatch: which queues to poll; sleep while there is none
 *                                                            └──► RunReport: counters, latencies ──► table or JSON
 * </pre>
 *
 * <p>Read {@code Link} and {@code WorkloadRun} for how an application uses the NIC and its queues.
 */
package io.cqring.simnic.cli;
