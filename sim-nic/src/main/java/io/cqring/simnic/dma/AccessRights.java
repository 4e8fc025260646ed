package io.cqring.simnic.dma;

/**
 * What may be done to a memory region, or through a queue pair: bits with the numbers of {@code enum
 * ibv_access_flags}.
 */
public final class AccessRights {
    /** Nothing but being read by its own side: a source of sends and writes. */
    public static final int LOCAL_READ = 0;

    /** The device may write it for its own side: receive buffers, targets of RDMA reads. */
    public static final int LOCAL_WRITE = 1;

    /** The peer may write it. Needs {@link #LOCAL_WRITE} as well. */
    public static final int REMOTE_WRITE = 1 << 1;

    /** The peer may read it. */
    public static final int REMOTE_READ = 1 << 2;

    /** The peer may carry out atomics on it. Needs {@link #LOCAL_WRITE} as well. */
    public static final int REMOTE_ATOMIC = 1 << 3;

    /** All of them. */
    public static final int ALL = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;

    private AccessRights() {}

    /**
     * Checks a combination.
     *
     * @param rights bits of this class, added up
     * @return the rights
     * @throws IllegalArgumentException if there are other bits, or REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE (the
     *                                  rule of ibv_reg_mr)
     */
    public static int require(int rights) {
        if ((rights & ~ALL) != 0) {
            throw new IllegalArgumentException("access rights must lie within " + ALL + ": " + rights);
        }
        if ((rights & (REMOTE_WRITE | LOCAL_WRITE)) == REMOTE_WRITE) {
            throw new IllegalArgumentException("access rights with REMOTE_WRITE need LOCAL_WRITE: " + rights);
        }
        if ((rights & (REMOTE_ATOMIC | LOCAL_WRITE)) == REMOTE_ATOMIC) {
            throw new IllegalArgumentException("access rights with REMOTE_ATOMIC need LOCAL_WRITE: " + rights);
        }
        return rights;
    }
}
