package io.cqring.stress;

/** Entry point of {@code jcstress.jar}. Placeholder: hands everything to jcstress. */
public final class StressRunner {
    private StressRunner() {}

    /**
     * Runs jcstress.
     *
     * @param args jcstress's own options
     * @throws Exception as jcstress does
     */
    public static void main(String[] args) throws Exception {
        org.openjdk.jcstress.Main.main(args);
    }
}
