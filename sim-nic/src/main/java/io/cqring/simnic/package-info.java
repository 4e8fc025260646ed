/** An emulated RDMA NIC: a thread that sees only memory and doorbells. */
package io.cqring.simnic;
