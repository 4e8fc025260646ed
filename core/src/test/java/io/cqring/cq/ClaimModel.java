package io.cqring.cq;

import java.util.ArrayList;
import java.util.List;

/**
 * What a queue with many writers must do, as plain lists: no memory, no owner bits. A sequence is open, published with a
 * number, or abandoned.
 */
final class ClaimModel {
    private static final long OPEN = -1;
    private static final long ABANDONED = -2;

    /** One claim. */
    record Claim(int first, int count) {}

    private final int capacity;

    /** State of every sequence from the start on; what is given back is taken off the end again. */
    private final List<Long> sequences = new ArrayList<>();

    private int consumed;

    ClaimModel(int capacity) {
        this.capacity = capacity;
    }

    int claimed() {
        return sequences.size();
    }

    int consumed() {
        return consumed;
    }

    int free() {
        return capacity - (sequences.size() - consumed);
    }

    /** A claim, or null if it does not fit. */
    Claim claim(int count) {
        if (count > free()) {
            return null;
        }
        Claim claim = new Claim(sequences.size(), count);
        for (int i = 0; i < count; i++) {
            sequences.add(OPEN);
        }
        return claim;
    }

    /** Publishes the first entries of a claim with consecutive numbers and gives the others back. */
    void end(Claim claim, int publish, long firstNumber) {
        for (int i = 0; i < publish; i++) {
            sequences.set(claim.first + i, firstNumber + i);
        }
        boolean newest = claim.first + claim.count == sequences.size();
        for (int i = claim.count - 1; i >= publish; i--) {
            if (newest) {
                sequences.remove(claim.first + i);
            } else {
                sequences.set(claim.first + i, ABANDONED);
            }
        }
    }

    /** The numbers that a poll must give. */
    List<Long> poll(int limit) {
        List<Long> numbers = new ArrayList<>();
        while (numbers.size() < limit && consumed < sequences.size() && sequences.get(consumed) != OPEN) {
            long number = sequences.get(consumed++);
            if (number != ABANDONED) {
                numbers.add(number);
            }
        }
        return numbers;
    }

    /** Published and open entries that are not consumed. */
    int size() {
        return (int) sequences.subList(consumed, sequences.size()).stream()
                .filter(state -> state != ABANDONED)
                .count();
    }
}
