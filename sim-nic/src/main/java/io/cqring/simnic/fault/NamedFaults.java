package io.cqring.simnic.fault;

import java.util.EnumMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Faults chosen by name, each striking by chance, and counted. The same seed and the same sequence of opportunities give the same faults: a device
 * that is stepped repeats them to the byte.
 *
 * <p><b>Role:</b> the device thread; {@link #consumerDelayNs} and {@link #injected} are for the host thread, the latter once the device stands still.
 */
public final class NamedFaults extends DeviceFaults {
    private static final long NS_PER_US = 1_000;
    private static final long LINK_IDLE_NS = 50 * NS_PER_US;
    private static final int MANY = 1 << 30;

    /** One kind's dice. */
    private static final class Dice {
        final SplittableRandom random;
        final int every;
        final long amountNs;
        long thrown;

        Dice(long seed, FaultKind kind, int every, int amountUs) {
            this.random = new SplittableRandom(seed ^ kind.label().hashCode() * 0x9E3779B97F4A7C15L);
            this.every = every;
            this.amountNs = amountUs * NS_PER_US;
        }

        boolean strikes() {
            final boolean hit = every == 1 || random.nextInt(every) == 0;
            thrown += hit ? 1 : 0;
            return hit;
        }
    }

    private final Map<FaultKind, Dice> chosen = new EnumMap<>(FaultKind.class);
    private final long seed;

    private long nowNs;
    private long lastEntryNs;
    private long entryAllowedNs;
    private boolean entryHeld;
    private long eventAllowedNs;
    private boolean eventHeld;
    private long pauseEndNs;
    private boolean paused;
    private int missingQp = -1;
    private long missEndNs;
    private int stuckQp = -1;
    private long clockOffsetNs;

    /**
     * No fault yet.
     *
     * @param seed what strikes are derived from
     */
    public NamedFaults(long seed) {
        this.seed = seed;
    }

    /**
     * Adds a fault.
     *
     * @param text {@code NAME[:EVERY[,MICROS]]}: it strikes one opportunity in EVERY on average, and lasts so long where it has a duration
     * @return its kind
     * @throws IllegalArgumentException if the text is something else, a number is out of range, or the kind was added before
     */
    public FaultKind add(String text) {
        final int colon = text.indexOf(':');
        final FaultKind kind = FaultKind.of(colon < 0 ? text : text.substring(0, colon));
        final String[] numbers =
                colon < 0 ? new String[0] : text.substring(colon + 1).split(",", -1);
        if (numbers.length > (kind.usualAmount() == 0 ? 1 : 2)) {
            throw new IllegalArgumentException("fault " + kind.label() + " takes "
                    + (kind.usualAmount() == 0 ? "EVERY" : "EVERY,MICROS") + ": " + text);
        }
        final int every = numbers.length < 1 ? kind.usualEvery() : number(text, numbers[0], 1, MANY);
        final int amount = numbers.length < 2 ? kind.usualAmount() : number(text, numbers[1], 1, FaultKind.MOST_US);
        if (chosen.put(kind, new Dice(seed, kind, every, amount)) != null) {
            throw new IllegalArgumentException("fault was given twice: " + kind.label());
        }
        return kind;
    }

    private static int number(String text, String digits, int least, int most) {
        try {
            final int value = Integer.parseInt(digits);
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException notANumber) {
            // the same error
        }
        throw new IllegalArgumentException(
                "numbers of a fault must be " + least + " to " + most + ": " + digits + " in " + text);
    }

    /**
     * The faults among them that strike packets, for {@code SimNic.Builder.wireFaults}.
     *
     * @return null if there are none
     */
    public WireFaults wireFaults() {
        if (!chosen.containsKey(FaultKind.PACKET_LOSS)
                && !chosen.containsKey(FaultKind.PACKET_DUPLICATE)
                && !chosen.containsKey(FaultKind.PACKET_DELAY)) {
            return null;
        }
        return new WireFaults() {
            @Override
            public int copies(boolean answer, int sourceQp, int destinationQp, int psn) {
                return strikes(FaultKind.PACKET_LOSS) ? 0 : strikes(FaultKind.PACKET_DUPLICATE) ? 2 : 1;
            }

            @Override
            public long delayNs(boolean answer, int sourceQp, int destinationQp, int psn) {
                return strikes(FaultKind.PACKET_DELAY) ? amountNs(FaultKind.PACKET_DELAY) : 0;
            }
        };
    }

    /**
     * How often each has struck.
     *
     * @return by kind, in the order of the kinds
     */
    public Map<FaultKind, Long> injected() {
        final Map<FaultKind, Long> counts = new EnumMap<>(FaultKind.class);
        chosen.forEach((kind, dice) -> counts.put(kind, dice.thrown));
        return counts;
    }

    private boolean strikes(FaultKind kind) {
        final Dice dice = chosen.get(kind);
        return dice != null && dice.strikes();
    }

    private long amountNs(FaultKind kind) {
        return chosen.get(kind).amountNs;
    }

    // ---- Hooks

    @Override
    public boolean pauses(long now) {
        nowNs = now;
        if (paused && now - pauseEndNs < 0) {
            return true;
        }
        paused = false;
        for (FaultKind kind : new FaultKind[] {FaultKind.BURST, FaultKind.FIRMWARE_PAUSE}) {
            if (strikes(kind)) {
                paused = true;
                pauseEndNs = now + amountNs(kind);
            }
        }
        if (strikes(FaultKind.CLOCK_JUMP)) {
            clockOffsetNs = clockOffsetNs == 0 ? amountNs(FaultKind.CLOCK_JUMP) : 0;
        }
        return paused;
    }

    @Override
    public long clockOffsetNs() {
        return clockOffsetNs;
    }

    @Override
    public boolean skipsTurn(int qpNumber) {
        if (missingQp == qpNumber) {
            if (nowNs - missEndNs < 0) {
                return true;
            }
            missingQp = -1;
            return false;
        }
        if (missingQp == -1 && strikes(FaultKind.QP_CACHE_MISS)) {
            missingQp = qpNumber;
            missEndNs = nowNs + amountNs(FaultKind.QP_CACHE_MISS);
            return true;
        }
        return false;
    }

    @Override
    public boolean isStuck(int qpNumber) {
        if (stuckQp == -1 && strikes(FaultKind.STUCK_QP)) {
            stuckQp = qpNumber;
        }
        return stuckQp == qpNumber;
    }

    @Override
    public boolean readFails() {
        return strikes(FaultKind.PCIE_READ_TIMEOUT);
    }

    @Override
    public Fate entryFate() {
        if (entryHeld) {
            if (nowNs - entryAllowedNs < 0) {
                return Fate.LATER;
            }
            entryHeld = false;
        } else if (nowNs - lastEntryNs > LINK_IDLE_NS && strikes(FaultKind.LINK_SLEEP)) {
            return hold(FaultKind.LINK_SLEEP);
        } else if (strikes(FaultKind.DELAYED_DMA)) {
            return hold(FaultKind.DELAYED_DMA);
        }
        lastEntryNs = nowNs;
        if (strikes(FaultKind.COMPLETER_ABORT)) {
            return Fate.LOST;
        }
        if (strikes(FaultKind.DUPLICATE_ENTRY)) {
            return Fate.TWICE;
        }
        return strikes(FaultKind.TORN_ENTRY) ? Fate.TORN : Fate.WRITTEN;
    }

    private Fate hold(FaultKind kind) {
        entryHeld = true;
        entryAllowedNs = nowNs + amountNs(kind);
        return Fate.LATER;
    }

    @Override
    public boolean delaysEvent() {
        if (eventHeld) {
            eventHeld = nowNs - eventAllowedNs < 0;
            return eventHeld;
        }
        if (strikes(FaultKind.C_STATE)) {
            eventHeld = true;
            eventAllowedNs = nowNs + amountNs(FaultKind.C_STATE);
        }
        return eventHeld;
    }

    @Override
    public boolean dropsArm() {
        return strikes(FaultKind.DROP_ARM);
    }

    @Override
    public int eventCopies() {
        return strikes(FaultKind.DROP_EVENT) ? 0 : strikes(FaultKind.DUPLICATE_EVENT) ? 2 : 1;
    }

    /**
     * How long a slow host does nothing after a completion. Host thread.
     *
     * @return nanoseconds, mostly 0
     */
    public long consumerDelayNs() {
        return strikes(FaultKind.SLOW_CONSUMER) ? amountNs(FaultKind.SLOW_CONSUMER) : 0;
    }
}
