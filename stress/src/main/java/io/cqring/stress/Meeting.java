package io.cqring.stress;

/**
 * The meeting of the two actors of a sample, right before the race. An actor tries up to {@value #SPINS} times, then goes on alone: that puts
 * both on the same few cache lines at the same moment in most samples, and a sample always ends.
 */
abstract class Meeting {
    /** How often an actor tries before it gives up. */
    static final int SPINS = 200;

    private volatile boolean oneHere;
    private volatile boolean otherHere;

    /** One of the two, the device or the first: waits for the other. */
    final void meetOther() {
        oneHere = true;
        for (int spins = 0; !otherHere && spins != SPINS; spins++) {
            Thread.onSpinWait();
        }
    }

    /** The other, the host or the second: waits for the one. */
    final void meetOne() {
        otherHere = true;
        for (int spins = 0; !oneHere && spins != SPINS; spins++) {
            Thread.onSpinWait();
        }
    }

    /** For the one, after its wait: whether the other has come. */
    final boolean isOtherHere() {
        return otherHere;
    }

    /**
     * Before the race jcstress tries the actors out, with threads that may end before the other's begins. Where something depends on who has
     * ended, as a role does, which is free then, nothing should be tried.
     */
    static boolean rehearsal() {
        return Thread.currentThread().getName().contains("Check_");
    }
}
