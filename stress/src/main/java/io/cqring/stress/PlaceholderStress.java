package io.cqring.stress;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Stands in until there is a stress test: shows that the processor runs under Error Prone and -Werror. */
@JCStressTest
@Outcome(id = "1, 0", expect = Expect.FORBIDDEN, desc = "flag without payload")
@Outcome(expect = Expect.ACCEPTABLE)
@State
public class PlaceholderStress {
    private int payload;
    private volatile int flag;

    /** Publishes. */
    @Actor
    public void writer() {
        payload = 1;
        flag = 1;
    }

    /**
     * Observes.
     *
     * @param result flag, then payload
     */
    @Actor
    public void reader(II_Result result) {
        result.r1 = flag;
        result.r2 = payload;
    }
}
