/** Completion-queue and event-queue rings in off-heap memory. Runs without any JVM flag. */
// Agrona is an automatic module: its name is stable, but lint warns about every one of them.
@SuppressWarnings("requires-automatic")
module io.cqring.core {
    requires org.agrona;

    exports io.cqring.cq;
    exports io.cqring.memory;
    exports io.cqring.ring;
}
