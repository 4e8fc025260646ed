package io.cqring.simnic.profile;

import io.cqring.simnic.moderation.ArmedRing;
import io.cqring.simnic.qp.QpType;
import org.agrona.collections.Int2IntHashMap;

/**
 * Device end of a vendor's completion queue. It is told what completed in the words of the reference entry ({@code CqeLayout}) and writes it
 * as that vendor's device does.
 *
 * <p><b>Role:</b> the device thread. <b>Progress:</b> wait-free. <b>Visibility:</b> what the device stored before is visible to the host
 * that polls the entry (edge VENDOR-OWN).
 */
public abstract class VendorWriter implements ArmedRing {
    /** Entries ever written, from the start index on. */
    long produced;

    /** The host's consumer index as last read, as a count. */
    long consumed;

    /** The sequence after the last entry that is solicited or failed. */
    private long urgentEnd;

    private boolean anyUrgent;
    private boolean dead;
    private long lostEntries;
    private long rejectedIndexes;

    /**
     * What sets the entries of a queue pair's receives apart: the depth of the queue it shares, 0 if none, and in bit 0 whether they are
     * datagrams. Null while there is no such queue pair.
     */
    private Int2IntHashMap contexts;

    VendorWriter(long start) {
        this.produced = start;
        this.consumed = start;
    }

    /**
     * From now on this queue has receives of a queue pair; a device has it in the queue pair's context. One that it was not told of is no
     * datagram queue pair and has receives of its own.
     *
     * @param qpNumber    its number
     * @param type        transport service
     * @param sharedDepth entries of the shared queue that its receives are in, a power of two; 0 if they are its own
     */
    public final void admit(int qpNumber, QpType type, int sharedDepth) {
        final int context = sharedDepth << 1 | (type == QpType.UD ? 1 : 0);
        if (context != 0) {
            if (contexts == null) {
                contexts = new Int2IntHashMap(0);
            }
            contexts.put(qpNumber, context);
        }
    }

    /**
     * There is no such queue pair any more.
     *
     * @param qpNumber its number; one that is not known changes nothing
     */
    public final void dismiss(int qpNumber) {
        if (contexts != null) {
            contexts.remove(qpNumber);
        }
    }

    /** What was told of a queue pair, for {@link #isShared}, {@link #isDatagram} and {@link #place}. */
    final int context(int qpNumber) {
        return contexts == null ? 0 : contexts.get(qpNumber);
    }

    static boolean isShared(int context) {
        return context > 1;
    }

    static boolean isDatagram(int context) {
        return (context & 1) != 0;
    }

    /** How an entry names a receive: in a shared queue by its place in the ring. */
    static int place(int context, int counter) {
        return isShared(context) ? counter & (context >>> 1) - 1 : counter;
    }

    /**
     * Writes a completion.
     *
     * @param header        header word
     * @param workRequestId the caller's tag; vendors' entries do not carry it
     * @param length        length word
     * @param detail        detail word
     * @param timestamp     device ticks
     * @return true if written; false if the queue has overrun: it is dead, and the entry is counted as lost
     */
    public abstract boolean write(long header, long workRequestId, long length, long detail, long timestamp);

    /**
     * As {@link #write}, but the host may see it only after {@link #flush}: for devices that compress.
     *
     * @param header        header word
     * @param workRequestId the caller's tag
     * @param length        length word
     * @param detail        detail word
     * @param timestamp     device ticks
     * @return as {@link #write}
     */
    public boolean stage(long header, long workRequestId, long length, long detail, long timestamp) {
        return write(header, workRequestId, length, detail, timestamp);
    }

    /** Shows the host what is staged. */
    public void flush() {}

    /**
     * Whether the next entry finds a slot.
     *
     * @return false if writing it would overrun the queue
     */
    public abstract boolean hasRoom();

    /**
     * What the next event carries besides the queue's number.
     *
     * @return a toggle, where the vendor has one; else 0
     */
    public int eventToggle() {
        return 0;
    }

    /** Reads the host's consumer index anew. */
    abstract void readConsumed();

    /** Whether so many slots are free; looks at the consumer index only if it must. */
    final boolean hasRoom(int slots, long capacity) {
        if (produced + slots - consumed > capacity) {
            readConsumed();
        }
        return produced + slots - consumed <= capacity;
    }

    /** The host says that it has taken so many more. An index it cannot have reached is not believed. */
    final void advanceConsumed(long by) {
        if (by > produced - consumed) {
            rejectedIndexes++;
        } else {
            consumed += by;
        }
    }

    /** No slot was free: verbs' overrun. Always false. */
    final boolean overrun() {
        dead = true;
        lostEntries++;
        return false;
    }

    final void noteUrgent() {
        anyUrgent = true;
        urgentEnd = produced;
    }

    /** Whether something solicited or failed lies at or past an index. */
    final boolean isUrgentPast(long index) {
        return anyUrgent && urgentEnd - index > 0;
    }

    @Override
    public final long producerSequence() {
        return produced;
    }

    @Override
    public final boolean isDead() {
        return dead;
    }

    /**
     * Completions that found no slot.
     *
     * @return the count
     */
    public final long lostEntries() {
        return lostEntries;
    }

    /**
     * Looks at the consumer index that were ignored because the host cannot have got there.
     *
     * @return looks
     */
    public final long rejectedIndexes() {
        return rejectedIndexes;
    }
}
