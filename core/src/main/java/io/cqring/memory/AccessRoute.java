package io.cqring.memory;

/**
 * How off-heap memory is reached. Both routes give the same results; they differ in speed and in the flag they need.
 *
 * <p>The route is chosen once for the JVM: {@link #UNSAFE} where it works, else {@link #BUFFER}. The system property
 * {@value #PROPERTY} set to {@code buffer} or {@code unsafe} insists on one.
 */
public enum AccessRoute {
    /** VarHandles over a direct {@code ByteBuffer}, with bounds checks. Needs no JVM flag. */
    BUFFER,

    /**
     * Agrona's {@code UnsafeApi}, without bounds checks; about twice as fast per polled entry when all is in cache. Needs
     * the flag that Agrona itself needs: {@code --add-opens java.base/jdk.internal.misc=ALL-UNNAMED}, and a little-endian
     * machine.
     */
    UNSAFE;

    /** System property that insists on a route: {@code auto} (the default), {@code buffer} or {@code unsafe}. */
    public static final String PROPERTY = "cqring.memory.route";

    static AccessRoute choose(String wanted, boolean unsafeWorks) {
        if ("unsafe".equals(wanted) && !unsafeWorks) {
            throw new IllegalStateException(PROPERTY + "=unsafe needs a little-endian machine and the JVM option "
                    + "--add-opens java.base/jdk.internal.misc=ALL-UNNAMED (on the module path: =org.agrona)");
        }
        return switch (wanted) {
            case "auto" -> unsafeWorks ? UNSAFE : BUFFER;
            case "buffer" -> BUFFER;
            case "unsafe" -> UNSAFE;
            default -> throw new IllegalStateException(PROPERTY + " must be auto, buffer or unsafe: " + wanted);
        };
    }
}
