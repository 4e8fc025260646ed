package io.cqring.cq;

/** What an armed queue raises its one event for; the flags of {@code ibv_req_notify_cq}. */
public enum ArmMode {
    /** A completion that is solicited (its sender asked for an event) or failed. */
    SOLICITED(QueueArm.SOLICITED),

    /** Any completion. */
    NEXT(QueueArm.NEXT);

    /** The command in the arm word; of two that are merged, the greater counts. */
    final int command;

    ArmMode(int command) {
        this.command = command;
    }
}
