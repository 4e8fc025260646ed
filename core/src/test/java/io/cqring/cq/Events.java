package io.cqring.cq;

import java.util.ArrayList;
import java.util.List;

/** An event sink that counts, for tests on one thread or with one thread at a time. */
final class Events implements EventSink {
    /** Number of the queue that tests give it. */
    static final int CQ = 0xABCDEF;

    int completions;

    /** Of each report of lost entries, whether the queue was dead. */
    final List<Boolean> overruns = new ArrayList<>();

    @Override
    public void completion(int cqNumber) {
        requireCq(cqNumber);
        completions++;
    }

    @Override
    public void overrun(int cqNumber, boolean dead) {
        requireCq(cqNumber);
        overruns.add(dead);
    }

    private static void requireCq(int cqNumber) {
        if (cqNumber != CQ) {
            throw new AssertionError("event of queue " + cqNumber);
        }
    }
}
