package io.cqring.simnic;

/** Stands in until this package has its first class. */
public final class Placeholder {
    private Placeholder() {}
}
