/** An emulated RDMA NIC on cqring's queues, and its command line. */
// Agrona and HdrHistogram are automatic modules, the latter named by its file: lint warns about both. Agrona's clock
// and idle strategies are part of the API.
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module io.cqring.simnic {
    requires com.fasterxml.jackson.databind;
    requires HdrHistogram;
    requires info.picocli;
    requires transitive io.cqring.core;
    requires java.management;
    requires me.tongfei.progressbar;
    requires transitive org.agrona;
    requires org.apache.commons.csv;
    requires org.jctools.core;

    exports io.cqring.simnic;
    exports io.cqring.simnic.dma;
    exports io.cqring.simnic.fault;
    exports io.cqring.simnic.moderation;
    exports io.cqring.simnic.profile;
    exports io.cqring.simnic.qp;
    exports io.cqring.simnic.workload;

    // picocli sets annotated fields by reflection.
    opens io.cqring.simnic.cli to
            info.picocli;
}
