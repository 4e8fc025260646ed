/**
 * Where faults enter the device.
 *
 * <pre>
 *   device ──► DeviceFaults.copyPayload ──► memory region        payload first,
 *          ──► DeviceFaults.writeCompletion ──► completion queue  then the completion that reports it (edge DATA)
 * </pre>
 *
 * <p>{@link io.cqring.simnic.fault.NamedFaults} has those that can be asked for by name ({@link io.cqring.simnic.fault.FaultKind}), seeded and counted, as {@code run
 * --fault} does. {@link io.cqring.simnic.fault.DeviceFaults} for what the device does in memory, {@link io.cqring.simnic.fault.WireFaults} for packets
 * between queue pairs; the latter is what reliable connections must cope with, the former is not. They exist so that a check can be seen to fail: a test
 * puts a subclass in and watches which check notices.
 */
package io.cqring.simnic.fault;
