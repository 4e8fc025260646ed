package io.cqring.simnic;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.agrona.concurrent.AgentRunner;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.NanoClock;

/**
 * Who runs the passes of a device: a thread of its own, or whoever steps it or waits for it, one at a time; and so how a caller gets an
 * answer from it. For any thread.
 */
final class DeviceDrive {
    private static final int IDLE = 0;
    private static final int STEPPING = 1;
    private static final int STARTED = 2;
    private static final int CLOSED = 3;

    private final Device device;
    private final NanoClock clock;
    private final long commandTimeoutNs;
    private final AtomicInteger mode = new AtomicInteger(IDLE);

    /** Time of the virtual clock; only between a successful change of mode to STEPPING and the change back. */
    private long virtualNs;

    /** Edge NIC-MODE, by the way: set once, after the change of mode to STARTED; close waits for it. */
    private volatile AgentRunner runner;

    DeviceDrive(Device device, NanoClock clock, long commandTimeoutNs) {
        this.device = device;
        this.clock = clock;
        this.commandTimeoutNs = commandTimeoutNs;
    }

    /** See {@link SimNic#start}. */
    void start(IdleStrategy idleStrategy) {
        requireAlive();
        changeMode(STARTED, "start");
        runner = new AgentRunner(idleStrategy, device::recordFailure, null, device);
        AgentRunner.startOnThread(runner, task -> {
            Thread thread = new Thread(task, device.roleName());
            thread.setDaemon(true);
            return thread;
        });
    }

    /** See {@link SimNic#step}. */
    int step() {
        requireAlive();
        changeMode(STEPPING, "step");
        return stepAndLeave();
    }

    private int stepAndLeave() {
        try {
            virtualNs += SimNic.STEP_NS;
            return device.doVirtualPass(virtualNs);
        } catch (RuntimeException | Error broken) {
            device.recordFailure(broken);
            throw broken;
        } finally {
            // Edge NIC-MODE, leaving end: all this pass did, then "free". Partner: DeviceDrive.changeMode. Weaker:
            // the next thread runs a pass on old device state.
            mode.set(IDLE);
        }
    }

    private void changeMode(int to, String what) {
        // Edge NIC-MODE, entering end: only one thread gets from IDLE to a mode that runs passes. Partner:
        // DeviceDrive.stepAndLeave, the end of the device's thread. Weaker (test, then set): two threads run the
        // device.
        int was = mode.compareAndExchange(IDLE, to);
        if (was != IDLE) {
            throw new IllegalStateException("cannot " + what + ": the NIC is "
                    + (was == STARTED ? "started" : was == CLOSED ? "closed" : "being stepped by another thread"));
        }
    }

    /** For a caller that waits: runs a pass if nobody else does. */
    private boolean stepIfIdle() {
        if (!mode.compareAndSet(IDLE, STEPPING)) { // Edge NIC-MODE, entering end, as in changeMode
            return false;
        }
        stepAndLeave();
        return true;
    }

    private void requireAlive() {
        Throwable failure = device.failure();
        if (failure != null) {
            throw new IllegalStateException("the device has failed: " + failure, failure);
        }
    }

    private boolean isClosed() {
        return mode.get() == CLOSED; // Edge NIC-MODE, a look only: closed is for good
    }

    private boolean isGone() {
        return device.failure() != null || isClosed();
    }

    /** See {@link SimNic#close}. */
    void close() {
        int was = mode.getAndUpdate(current -> current == STEPPING ? STEPPING : CLOSED);
        while (was == STEPPING) {
            Thread.onSpinWait();
            was = mode.getAndUpdate(current -> current == STEPPING ? STEPPING : CLOSED);
        }
        if (was == STARTED) {
            AgentRunner started = runner;
            while (started == null) { // start() is between its change of mode and here
                Thread.onSpinWait();
                started = runner;
            }
            started.close();
        } else if (was == IDLE) {
            device.close(); // on this thread, which nobody else's pass can meet any more
        }
    }

    /** See {@link SimNic#drainAndClose}. */
    boolean drainAndClose(BooleanSupplier isIdle, long timeoutNs) {
        Deadline deadline = Deadline.after(clock, timeoutNs);
        IdleStrategy idle = new BackoffIdleStrategy();
        boolean drained = isIdle.getAsBoolean();
        while (!drained && !isGone() && !deadline.hasPassed()) {
            if (!stepIfIdle()) {
                idle.idle();
            }
            drained = isIdle.getAsBoolean();
        }
        close();
        return drained;
    }

    /** As {@link #call}, without an answer. */
    void run(Runnable action) {
        call(() -> {
            action.run();
            return null;
        });
    }

    /**
     * Has the device do something between two passes, and waits for it.
     *
     * @return its answer
     * @throws CommandException      if the device does not answer in time; also what the action throws
     * @throws IllegalStateException if the device has failed, or is closed
     */
    <T> T call(Supplier<T> action) {
        Deadline deadline = Deadline.after(clock, commandTimeoutNs);
        Command<T> command = new Command<>(action);
        IdleStrategy idle = new BackoffIdleStrategy();
        requireAlive();
        if (isClosed()) {
            throw new IllegalStateException("the NIC is closed");
        }
        device.submit(command);
        while (!command.isDone()) {
            if (stepIfIdle()) {
                continue;
            }
            if (isGone() && command.withdraw()) {
                requireAlive();
                throw new IllegalStateException("the NIC was closed before the device answered");
            }
            if (deadline.hasPassed() && command.withdraw()) {
                throw new CommandException("the device did not answer within " + commandTimeoutNs + " ns");
            }
            idle.idle();
        }
        return command.result();
    }
}
