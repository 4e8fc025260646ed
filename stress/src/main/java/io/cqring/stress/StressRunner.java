package io.cqring.stress;

/** Entry point of {@code jcstress.jar}. Placeholder: hands everything to jcstress. */
public final class StressRunner {
    private StressRunner() {}

    /**
     * Runs jcstress.
     *
     * @param args jcstress's own options; none stands for a quick run
     * @throws Exception as jcstress does
     */
    public static void main(String[] args) throws Exception {
        String[] quick = {"-m", "quick", "-r", "stress/target/jcstress-results"};
        org.openjdk.jcstress.Main.main(args.length == 0 ? quick : args);
    }
}
