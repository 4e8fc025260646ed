package io.cqring.simnic.profile;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.ForwardingMemory;

/** Real memory, but for what a subclass does to release stores. */
public abstract class TamperedMemory extends ForwardingMemory {
    protected TamperedMemory(QueueMemory real) {
        super(real);
    }

    /**
     * A release store on its way.
     *
     * @return what is stored instead
     */
    protected abstract long tamper(long offset, long value);

    @Override
    public void putLongRelease(long offset, long value) {
        memory.putLongRelease(offset, tamper(offset, value));
    }
}
