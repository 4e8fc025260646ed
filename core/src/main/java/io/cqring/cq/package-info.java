/** Completion queues: layout, host end and device end. */
package io.cqring.cq;
