/** An emulated RDMA NIC on cqring's queues, and its command line. */
// Agrona and HdrHistogram are automatic modules, the latter named by its file: lint warns about both.
@SuppressWarnings("requires-automatic")
module io.cqring.simnic {
    requires com.fasterxml.jackson.databind;
    requires HdrHistogram;
    requires info.picocli;
    requires io.cqring.core;
    requires me.tongfei.progressbar;
    requires org.agrona;
    requires org.apache.commons.csv;
    requires org.jctools.core;

    exports io.cqring.simnic;
    exports io.cqring.simnic.workload;

    // picocli sets annotated fields by reflection.
    opens io.cqring.simnic.cli to
            info.picocli;
}
