package io.cqring.simnic.cli;

/** Entry point of {@code cqring.jar}. Placeholder: prints the version. */
public final class Main {
    private Main() {}

    /**
     * Prints the version.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        System.out.println("cqring " + Main.class.getPackage().getImplementationVersion());
    }
}
