/** Lock-free, off-heap completion-queue rings, laid out and behaving as on an RDMA NIC. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module io.cqring.core {
    requires transitive org.agrona;

    exports io.cqring.memory;
    exports io.cqring.ring;
    exports io.cqring.cq;
    exports io.cqring.eq;
    exports io.cqring.notify;
    exports io.cqring.queue;
    exports io.cqring.agrona;
}
