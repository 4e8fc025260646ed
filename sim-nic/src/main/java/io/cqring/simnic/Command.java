package io.cqring.simnic;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * A control command on its way to the device and back.
 *
 * <pre>
 *   WAITING ──► RUNNING ──► DONE        by the device
 *      └──────► WITHDRAWN               by the caller, who has waited long enough; the device skips it
 * </pre>
 */
final class Command<T> {
    private static final int WAITING = 0;
    private static final int RUNNING = 1;
    private static final int DONE = 2;
    private static final int WITHDRAWN = 3;

    private final Supplier<T> action;
    private final AtomicInteger stage = new AtomicInteger(WAITING);
    private T result;
    private RuntimeException refusal;

    Command(Supplier<T> action) {
        this.action = action;
    }

    /** Carries the command out unless it was withdrawn. Device thread. */
    void run() {
        // Edge COMMAND: one compare-and-set at either side decides who has the command. Partner: withdraw. Weaker
        // (test, then set): the caller reports a time-out of a command that is carried out.
        if (!stage.compareAndSet(WAITING, RUNNING)) {
            return;
        }
        try {
            result = action.get();
        } catch (RuntimeException refused) {
            refusal = refused;
        } finally {
            // Edge COMMAND: result, then the stage. Partner: isDone. Weaker: the caller takes an old result.
            stage.set(DONE);
        }
    }

    /** Whether the device has answered. Calling thread. */
    boolean isDone() {
        // Edge COMMAND: the stage, then the result. Partner: run.
        return stage.get() == DONE;
    }

    /** Takes the command back. False if the device has begun it: its answer is near. */
    boolean withdraw() {
        // Edge COMMAND: one compare-and-set at either side decides. Partner: run.
        return stage.compareAndSet(WAITING, WITHDRAWN);
    }

    /** The answer; only once {@link #isDone}. */
    T result() {
        if (refusal != null) {
            String message = refusal.getMessage();
            throw new CommandException(message == null ? refusal.toString() : message, refusal);
        }
        return result;
    }
}
