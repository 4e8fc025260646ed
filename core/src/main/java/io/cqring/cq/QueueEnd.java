package io.cqring.cq;

import io.cqring.memory.QueueMemory;
import io.cqring.memory.RoleLock;
import io.cqring.ring.RingGeometry;
import java.util.concurrent.atomic.AtomicReference;

/** What one thread writes on every call. */
abstract class QueueEndFields extends LeftPad {
    /** Next sequence of this end, in entries: to poll at the host end, to publish at the device end. */
    long sequence;

    /** Device end: first sequence that needs a newer consumer sequence. Host end: not used. */
    long creditLimit;

    /**
     * Device end with one writer: from {@link #sequence} to here there is credit, and no lap begins. If it is not past the
     * sequence, it says nothing.
     */
    long straightEnd;

    /** Until {@link #straightEnd}: the slot of a sequence is this and the sequence times the stride. */
    long straightOffset;

    /** Until {@link #straightEnd}: the owner bit. */
    long straightOwner;

    /** Device end with many writers: the count of what is claimed, as this writer saw it last. Else not used. */
    long claimed;

    /**
     * Entries in hand: filled but not published at the device end; shown by the open cursor at the host end, 0: none open;
     * claimed but not delivered at a {@link CompletionPoller}.
     */
    int held;

    /**
     * Host end: completions that the open cursor has shown, 0: none open. Device end with many writers: entries of the open claim
     * that have been filled, -1 while a call is under way. Else not used.
     */
    int shown;

    /** Of what is held by the cursor, slots that it passed over. Host end only. */
    int passed;

    /**
     * Merged completions. Device end: how many the slot staged last holds, 0 if none may join it. Host end: how many of the next
     * slot have been consumed.
     */
    int minis;

    /** Merged completions of the slot under the cursor that it has shown or that were consumed before. Host end only. */
    int minisShown;

    /** What the cursor or the last peek shows: the view of a slot, or of what a merged entry expands to. Host end only. */
    Completion current;

    /** Device end: header and length word of the first completion in the slot staged last. Host end: not used. */
    long lastHeader;

    long lastLength;

    /** Device end with one writer: the sequence after the last solicited or failed entry. Else not used. */
    long solicitedEnd;

    /** Set while a handler may run, so that it cannot call its own queue. Host end only. */
    boolean inHandler;

    /** The thread that plays this end, or null. A thread finds itself here only if it wrote itself. */
    Thread player;
}

/** Keeps an end's hot fields off the cache lines of what follows: 128 bytes, and 8 that may move into gaps before them. */
abstract class QueueEndRightPad extends QueueEndFields {
    byte r000, r001, r002, r003, r004, r005, r006, r007, r008, r009, r010, r011, r012, r013, r014, r015;
    byte r016, r017, r018, r019, r020, r021, r022, r023, r024, r025, r026, r027, r028, r029, r030, r031;
    byte r032, r033, r034, r035, r036, r037, r038, r039, r040, r041, r042, r043, r044, r045, r046, r047;
    byte r048, r049, r050, r051, r052, r053, r054, r055, r056, r057, r058, r059, r060, r061, r062, r063;
    byte r064, r065, r066, r067, r068, r069, r070, r071, r072, r073, r074, r075, r076, r077, r078, r079;
    byte r080, r081, r082, r083, r084, r085, r086, r087, r088, r089, r090, r091, r092, r093, r094, r095;
    byte r096, r097, r098, r099, r100, r101, r102, r103, r104, r105, r106, r107, r108, r109, r110, r111;
    byte r112, r113, r114, r115, r116, r117, r118, r119, r120, r121, r122, r123, r124, r125, r126, r127;
    byte r128, r129, r130, r131, r132, r133, r134, r135;
}

/**
 * One end of a completion queue: the memory, the geometry, the thread that plays the end, and whether the queue is open.
 *
 * <p>An end belongs to the first thread that uses it, until that thread releases it or ends; what a thread had in hand when
 * it ended is given back. The check is one comparison
 * per call; it is exact, because a thread can only find itself in {@code player} if it put itself there. If the memory is a
 * file, the process takes the role as well, at the same moment, and reads from the region where to go on.
 */
abstract class QueueEnd extends QueueEndRightPad {
    /** The queue's words: sequences, counters, flags. The first ring lies behind them. */
    final QueueMemory memory;

    final int strideShift;

    final long startSequence;

    /** The ring this end is in; the next fields repeat what it says. Changed by {@link #useRing} only. */
    Ring ring;

    QueueMemory slots;

    int firstSlotOffset;
    int indexMask;
    int lapShift;
    int capacity;

    private final AtomicReference<Thread> role = new AtomicReference<>();

    /** This process's right to play the end; null if the memory is no file, or many processes may. */
    private final RoleLock processRole;

    QueueEnd(QueueMemory memory, RingGeometry geometry, long startSequence) {
        this.memory = memory;
        this.strideShift = geometry.strideShift();
        this.startSequence = startSequence;
        this.sequence = startSequence;
        this.processRole = isForManyProcesses() ? null : memory.roleLock(endName());
        useRing(new Ring(memory, geometry));
    }

    /** Whether ends of this kind work side by side, also in several processes: then a process takes no role. */
    boolean isForManyProcesses() {
        return false;
    }

    /** Whether other processes may play the ends as well. For the ends that a queue has one of. */
    final boolean isInFile() {
        return processRole != null;
    }

    /** From now on this end works in another ring. Sequences go on; index and phase follow from the new capacity. */
    final void useRing(Ring ring) {
        RingGeometry geometry = ring.geometry();
        this.ring = ring;
        this.slots = ring.memory();
        this.firstSlotOffset = geometry.firstSlotOffset();
        this.indexMask = geometry.indexMask();
        this.lapShift = geometry.lapShift();
        this.capacity = geometry.capacity();
    }

    /** Name of the end, for messages: "poller" or "writer". */
    abstract String endName();

    /** Forgets what this end has in hand and detaches its view: nobody may touch a slot through it any more. */
    abstract void letGo();

    /**
     * Goes on where the region says that the last player of this end stopped. Changes nothing in the region. Called where the
     * memory is a file, or has been attached.
     */
    void resume() {
        throw new IllegalStateException("bug: " + endName() + " of a queue that cannot be in a file");
    }

    /** Throws if no thread may play this end, or none any more. */
    void requirePlayable() {}

    /** What a thread is told while another one plays this end. */
    String refusal(Thread holder, Thread self) {
        return "completion queue has one " + endName() + ", thread " + holder.getName()
                + "; it must release the role before thread " + self.getName() + " can take it";
    }

    /** Does what the control word asks of this end, or throws. Called only if it is not 0 and the queue is open. */
    void heed(long control) {}

    /** Lets the calling thread in, or throws. Every call of an end starts here, or with {@link #mustEnter}. */
    final void enter() {
        if (player != Thread.currentThread()) {
            takeRole();
        }
        if (isControlled()) {
            attend();
        }
    }

    /** Whether {@link #enter} has anything to do. */
    final boolean mustEnter() {
        return player != Thread.currentThread() || isControlled();
    }

    private boolean isControlled() {
        // Edge STATE, reading end. Partner: markClosed. Only the flag itself is wanted: memory outlives both ends, so
        // nothing else hangs on the order, and opaque is enough.
        return memory.getLongOpaque(CqRegion.CLOSED) != 0;
    }

    /** Something stands in the control word: the one branch of a call that a resize or a close costs. */
    private void attend() {
        // Edge RESIZE, device end: the command, then the ring that it offers. Partner: CompletionQueue.post. Weaker
        // (opaque): the device sees the command and the ring of an older one, or slots that are not primed yet.
        // Shown by ResizeStress.
        final long control = memory.getLongAcquire(CqRegion.CLOSED);
        if ((control & Control.CLOSED) != 0) {
            letGo();
            releaseProcessRole();
            throw queueClosed();
        }
        heed(control);
    }

    /** Whether the queue is closed, for calls that are not a player's. */
    final boolean isQueueClosed() {
        return (memory.getLongOpaque(CqRegion.CLOSED) & Control.CLOSED) != 0;
    }

    static IllegalStateException queueClosed() {
        return new IllegalStateException("completion queue is closed");
    }

    final void takeRole() {
        Thread self = Thread.currentThread();
        // Edge ROLE, taking end: CAS with full ordering. Partner: releaseRole of the last player, or the end of its
        // thread (seen by isAlive). Protects this end's plain fields. Weaker (test, then set): two threads get in and
        // both use one sequence. Shown by RoleStress.
        Thread holder = role.get();
        while (holder != self) {
            requirePlayable(); // after each look at the role: what the last player decided is visible
            if (holder != null && holder.isAlive()) {
                throw new IllegalStateException(refusal(holder, self));
            }
            if (holder != null) {
                beforeTakeover(holder);
            }
            // Edge ROLE, taking end: as above.
            if (role.compareAndSet(holder, self)) {
                break;
            }
            holder = role.get();
        }
        if (holder != null) {
            letGo(); // its thread ended with the role: what it had in hand is unfinished
        }
        if (processRole != null && !processRole.isHeld()) {
            try {
                takeProcessRole();
            } catch (RuntimeException | Error e) {
                // Edge ROLE, releasing end: as in releaseRole. The thread did not get in.
                role.set(null);
                throw e;
            }
        }
        player = self;
    }

    /** Throws if nobody may take this end over from a player whose thread has ended. */
    void beforeTakeover(Thread ended) {}

    /** The player whose thread has ended, or null: all that it did is visible, and it will do nothing more. */
    final Thread endedPlayer() {
        // Edge ROLE, taking end: the role, then whether its thread lives. Partner: the end of the player's thread.
        // Weaker: its last stores are not seen.
        Thread holder = role.get();
        return holder == null || holder.isAlive() ? null : holder;
    }

    /** If nobody has the role, a thread that has ended gets it: whoever comes then finds that it is gone. True if so. */
    final boolean takeRoleFor(Thread ended) {
        // Edge ROLE, taking end, as in takeRole.
        return role.compareAndSet(null, ended);
    }

    /** The role was another process's, or nobody's: waits for nothing, goes on where that process stopped. */
    private void takeProcessRole() {
        processRole.acquire(); // the system's lock orders more than this needs: all that the last holder stored is seen
        boolean resumed = false;
        try {
            resume();
            resumed = true;
        } finally {
            if (!resumed) {
                processRole.release();
            }
        }
    }

    /** Lets another process play this end. */
    final void releaseProcessRole() {
        if (processRole != null) {
            processRole.release();
        }
    }

    /** Takes the role unless somebody alive has it; what a dead player had in hand is given back. True if it is the caller's. */
    final boolean takeRoleIfFree() {
        final Thread self = Thread.currentThread();
        if (player == self) {
            return true;
        }
        // Edge ROLE, taking end, as in takeRole.
        final Thread holder = role.get();
        if ((holder != null && holder.isAlive()) || !role.compareAndSet(holder, self)) {
            return false;
        }
        if (holder != null) {
            letGo();
        }
        player = self;
        return true;
    }

    final void requirePlayer() {
        if (player != Thread.currentThread()) {
            throw new IllegalStateException("thread " + Thread.currentThread().getName() + " is not the " + endName());
        }
    }

    /** Gives the role up, so that another thread may take it. Only its player can; anybody else is refused. */
    final void releaseRole() {
        requirePlayer();
        if (processRole != null) {
            letGo(); // another process knows nothing of it
            processRole.release();
        }
        player = null;
        // Edge ROLE, releasing end. Partner: takeRole. Weaker (plain): the next player may see an old sequence.
        role.set(null);
    }

    final void markClosed() {
        // Edge STATE, writing end. Partner: isControlled. Opaque: the flag carries nothing but itself. A call that
        // comes after
        // close finds it set: all other changes of the word are by CAS and expect an open queue. Memory outlives both
        // ends, so a call under way does no harm.
        memory.putLongOpaque(CqRegion.CLOSED, Control.CLOSED);
    }
}
