package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.ring.RingGeometry;

/** The slots of one ring: a queue has one after the other, each end is in one of them. */
record Ring(QueueMemory memory, RingGeometry geometry) {}
