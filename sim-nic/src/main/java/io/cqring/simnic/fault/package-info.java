/**
 * Where faults enter the device.
 *
 * <pre>
 *   device ──► DeviceFaults.copyPayload ──► memory region        payload first,
 *          ──► DeviceFaults.writeCompletion ──► completion queue  then the completion that reports it (edge DATA)
 * </pre>
 *
 * <p>One class, {@link io.cqring.simnic.fault.DeviceFaults}. It exists so that a check can be seen to fail: a test
 * puts a subclass in and watches which check notices.
 */
package io.cqring.simnic.fault;
