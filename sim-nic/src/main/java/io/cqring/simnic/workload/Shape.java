package io.cqring.simnic.workload;

/**
 * Who sends to whom, and after what, for each pattern a collective can have. R is {@code ranks}; arguments are checked
 * by {@link MessagePlan}.
 */
enum Shape {
    /** Each rank to the next, once per step; what it sends in a step is what arrived in the step before. */
    RING {
        @Override
        int sends(int ranks, int steps, int rank) {
            return steps;
        }

        @Override
        int destination(int ranks, int rank, int n) {
            return rank + 1 == ranks ? 0 : rank + 1;
        }

        @Override
        int arrivalsNeeded(int ranks, int rank, int n) {
            return n;
        }

        @Override
        int messagesInto(int ranks, int steps, int rank) {
            return steps;
        }

        @Override
        long messages(int ranks, int steps) {
            return Math.multiplyExact((long) steps, ranks);
        }
    },

    /** From rank 0 hop by hop to rank R-1. */
    CHAIN_UP {
        @Override
        int sends(int ranks, int steps, int rank) {
            return rank + 1 == ranks ? 0 : 1;
        }

        @Override
        int destination(int ranks, int rank, int n) {
            return rank + 1;
        }

        @Override
        int arrivalsNeeded(int ranks, int rank, int n) {
            return rank == 0 ? 0 : 1;
        }

        @Override
        int messagesInto(int ranks, int steps, int rank) {
            return rank == 0 ? 0 : 1;
        }

        @Override
        long messages(int ranks, int steps) {
            return steps;
        }
    },

    /** From rank R-1 hop by hop to rank 0. */
    CHAIN_DOWN {
        @Override
        int sends(int ranks, int steps, int rank) {
            return rank == 0 ? 0 : 1;
        }

        @Override
        int destination(int ranks, int rank, int n) {
            return rank - 1;
        }

        @Override
        int arrivalsNeeded(int ranks, int rank, int n) {
            return rank + 1 == ranks ? 0 : 1;
        }

        @Override
        int messagesInto(int ranks, int steps, int rank) {
            return rank + 1 == ranks ? 0 : 1;
        }

        @Override
        long messages(int ranks, int steps) {
            return steps;
        }
    },

    /**
     * Every rank to every other, all at once. Each starts with its own next rank, so that no rank is everyone's first.
     */
    MESH {
        @Override
        int sends(int ranks, int steps, int rank) {
            return ranks - 1;
        }

        @Override
        int destination(int ranks, int rank, int n) {
            int wrapped = rank - (ranks - 1 - n);
            return wrapped < 0 ? wrapped + ranks : wrapped;
        }

        @Override
        int arrivalsNeeded(int ranks, int rank, int n) {
            return 0;
        }

        @Override
        int messagesInto(int ranks, int steps, int rank) {
            return ranks - 1;
        }

        @Override
        long messages(int ranks, int steps) {
            return Math.multiplyExact((long) ranks, ranks - 1);
        }
    },

    /** One message, from rank 0 to rank 1. */
    PAIR {
        @Override
        int sends(int ranks, int steps, int rank) {
            return rank == 0 ? 1 : 0;
        }

        @Override
        int destination(int ranks, int rank, int n) {
            return 1;
        }

        @Override
        int arrivalsNeeded(int ranks, int rank, int n) {
            return 0;
        }

        @Override
        int messagesInto(int ranks, int steps, int rank) {
            return rank == 1 ? 1 : 0;
        }

        @Override
        long messages(int ranks, int steps) {
            return 1;
        }
    },

    /** One message from every rank but 0 to rank 0, all at once. */
    FUNNEL {
        @Override
        int sends(int ranks, int steps, int rank) {
            return rank == 0 ? 0 : 1;
        }

        @Override
        int destination(int ranks, int rank, int n) {
            return 0;
        }

        @Override
        int arrivalsNeeded(int ranks, int rank, int n) {
            return 0;
        }

        @Override
        int messagesInto(int ranks, int steps, int rank) {
            return rank == 0 ? ranks - 1 : 0;
        }

        @Override
        long messages(int ranks, int steps) {
            return ranks - 1L;
        }
    },

    /** Nothing at all. */
    SILENT {
        @Override
        int sends(int ranks, int steps, int rank) {
            return 0;
        }

        @Override
        int destination(int ranks, int rank, int n) {
            throw new AssertionError("a silent shape has no sends");
        }

        @Override
        int arrivalsNeeded(int ranks, int rank, int n) {
            throw new AssertionError("a silent shape has no sends");
        }

        @Override
        int messagesInto(int ranks, int steps, int rank) {
            return 0;
        }

        @Override
        long messages(int ranks, int steps) {
            return 0;
        }
    };

    abstract int sends(int ranks, int steps, int rank);

    abstract int destination(int ranks, int rank, int n);

    abstract int arrivalsNeeded(int ranks, int rank, int n);

    abstract int messagesInto(int ranks, int steps, int rank);

    abstract long messages(int ranks, int steps);
}
