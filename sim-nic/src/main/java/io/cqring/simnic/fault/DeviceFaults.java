package io.cqring.simnic.fault;

import io.cqring.cq.CompletionWriter;
import io.cqring.memory.QueueMemory;

/**
 * The one place where the device's completions and payload copies can be tampered with. The base class does what a
 * healthy device does; a test overrides a method to lose, double, reorder or corrupt what passes through.
 *
 * <p><b>Role:</b> the device calls every method on its own thread, and never two at once. <b>Cost:</b> while no
 * subclass is loaded the JIT inlines these methods, so a healthy device pays nothing for the possibility.
 */
public class DeviceFaults {
    /** A healthy device. */
    public static final DeviceFaults NONE = new DeviceFaults();

    /** For subclasses; a healthy device is {@link #NONE}. */
    protected DeviceFaults() {}

    /** Called at the start of each pass of the device, before it looks at any doorbell. Does nothing. */
    public void beginPass() {}

    /**
     * Writes a completion.
     *
     * @param writer        the device end of the queue it goes to
     * @param header        see {@link CompletionWriter#write(long, long, long, long, long)}, as for the other words
     * @param workRequestId the caller's tag of the work request
     * @param length        length word
     * @param detail        detail word
     * @param timestamp     device ticks
     * @return what the device shall believe: true if the completion was written; false if no slot was free
     */
    public boolean writeCompletion(
            CompletionWriter writer, long header, long workRequestId, long length, long detail, long timestamp) {
        return writer.write(header, workRequestId, length, detail, timestamp);
    }

    /**
     * Stages a completion of a queue that merges; the device flushes the queue soon after.
     *
     * @param writer        the device end of the queue it goes to
     * @param header        see {@link CompletionWriter#stage}, as for the other words
     * @param workRequestId the caller's tag of the work request
     * @param length        length word
     * @param detail        detail word
     * @param timestamp     device ticks
     * @return what the device shall believe: true if the completion was staged; false if no slot was free
     */
    public boolean stageCompletion(
            CompletionWriter writer, long header, long workRequestId, long length, long detail, long timestamp) {
        return writer.stage(header, workRequestId, length, detail, timestamp);
    }

    /**
     * Copies payload, before the completion that reports it is written. Called once per contiguous piece.
     *
     * @param into       where the bytes go
     * @param intoOffset first byte there
     * @param from       where the bytes come from
     * @param fromOffset first byte there
     * @param length     bytes to copy, 1 or more
     */
    public void copyPayload(QueueMemory into, int intoOffset, QueueMemory from, int fromOffset, int length) {
        into.copy(intoOffset, from, fromOffset, length);
    }

    /** What becomes of a completion entry on its way to the ring. */
    public enum Fate {
        /** It is written. */
        WRITTEN,

        /** It is not written now: the device must come again with it. */
        LATER,

        /** It is lost, and the device takes it for written. */
        LOST,

        /** It is written twice. */
        TWICE,

        /** It is written with the body of the one before it. */
        TORN
    }

    /**
     * Called once per entry that the device wants to write.
     *
     * @return its fate
     */
    public Fate entryFate() {
        return Fate.WRITTEN;
    }

    /**
     * Called at the start of each pass, after the commands.
     *
     * @param nowNs device time without {@link #clockOffsetNs}
     * @return whether the device does nothing else in this pass
     */
    public boolean pauses(long nowNs) {
        return false;
    }

    /**
     * How far the device's clock is off.
     *
     * @return nanoseconds
     */
    public long clockOffsetNs() {
        return 0;
    }

    /**
     * Called before each turn of a queue pair.
     *
     * @param qpNumber which
     * @return whether it has to wait for a later pass
     */
    public boolean skipsTurn(int qpNumber) {
        return false;
    }

    /**
     * Called before each turn of a queue pair, and for each doorbell.
     *
     * @param qpNumber which
     * @return whether it gets no turn any more, without the device knowing that something is left
     */
    public boolean isStuck(int qpNumber) {
        return false;
    }

    /**
     * Called for each work request that is fetched.
     *
     * @return whether the read of its memory times out
     */
    public boolean readFails() {
        return false;
    }

    /**
     * Called when an event is due.
     *
     * @return whether it must wait for a later pass
     */
    public boolean delaysEvent() {
        return false;
    }

    /**
     * Called when an arm is answered.
     *
     * @return whether the device forgets it instead
     */
    public boolean dropsArm() {
        return false;
    }

    /**
     * Called when an event is raised.
     *
     * @return how often it is: 1, unless something is wrong
     */
    public int eventCopies() {
        return 1;
    }
}
