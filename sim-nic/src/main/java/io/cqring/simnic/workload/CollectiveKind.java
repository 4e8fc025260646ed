package io.cqring.simnic.workload;

import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Collectors;

/** The calls a workload may contain. What each one sends is the table of {@link MessagePlan}. */
public enum CollectiveKind {
    /** Every rank ends with the sum of all: a reduce_scatter followed by an all_gather. */
    ALL_REDUCE("all_reduce"),
    /** Every rank ends with its own part of the sum. */
    REDUCE_SCATTER("reduce_scatter"),
    /** Every rank ends with the parts of all. */
    ALL_GATHER("all_gather"),
    /** Every rank sends a different part to every other. */
    ALL_TO_ALL("all_to_all"),
    /** Rank 0 gives its data to all. */
    BROADCAST("broadcast"),
    /** Rank 0 ends with the sum of all. */
    REDUCE("reduce"),
    /** One message from rank 0 to the next rank. */
    ISEND("isend"),
    /** The other half of {@link #ISEND}: sends nothing. */
    IRECV("irecv"),
    /** Empty messages, one from every rank to the next. */
    BARRIER("barrier"),
    /** Every rank but 0 sends to rank 0, all at once: no call of a library, but the pattern that congests one receiver. */
    INCAST("incast"),
    /** A marker: sends nothing. */
    EPOCH_END("epoch_end");

    private static final String OPTIONAL_PREFIX = "CommType.";

    private final String label;

    CollectiveKind(String label) {
        this.label = label;
    }

    /**
     * The name in workload files, without prefix.
     *
     * @return for example {@code all_reduce}
     */
    public String label() {
        return label;
    }

    /**
     * Finds a kind by its name in a workload file.
     *
     * @param commType the value of the column {@code comm_type}, with or without the prefix {@code CommType.}
     * @return the kind, or nothing if there is none of that name; upper and lower case are different
     */
    public static Optional<CollectiveKind> of(String commType) {
        String label = commType.startsWith(OPTIONAL_PREFIX) ? commType.substring(OPTIONAL_PREFIX.length()) : commType;
        return Arrays.stream(values()).filter(kind -> kind.label.equals(label)).findFirst();
    }

    /** All labels in the order of declaration, for error messages. */
    static String known() {
        return Arrays.stream(values()).map(CollectiveKind::label).collect(Collectors.joining(", "));
    }
}
