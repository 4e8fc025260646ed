package io.cqring.simnic;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqeLayout;
import io.cqring.eq.EventType;
import io.cqring.eq.Interrupt;
import io.cqring.memory.QueueMemory;
import io.cqring.notify.AdaptiveModeration;
import io.cqring.notify.CompletionChannel;
import io.cqring.notify.Moderation;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.dma.RegionTable;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.fault.WireFaults;
import io.cqring.simnic.moderation.ArmedRing;
import io.cqring.simnic.moderation.QueueEvents;
import io.cqring.simnic.profile.AsynchronousEvents;
import io.cqring.simnic.profile.DeviceEvent;
import io.cqring.simnic.profile.VendorAsyncQueue;
import io.cqring.simnic.profile.VendorEventQueue;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import io.cqring.simnic.profile.VendorWriter;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpMemory;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.WqeLayout;
import io.cqring.simnic.wire.Packet;
import io.cqring.simnic.wire.SegmentList;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.agrona.LangUtil;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentTerminationException;
import org.agrona.concurrent.NanoClock;
import org.jctools.queues.atomic.MpscUnboundedAtomicArrayQueue;

/**
 * The device: what the NIC's own processor does. It sees the memory of the queue pairs, the UAR page, the memory
 * regions and the completion queues, and takes control commands; nothing else reaches it. One pass is
 * {@link #doWork}:
 *
 * <pre>
 *   1  commands
 *   2  doorbells: each register of the UAR page that changed makes its queue pair active
 *   3  wire: what arrives, if it has faults
 *   4  turns: each active queue pair, in turn, a bounded number of entries
 *        Requester.takeTurn: fetch WQE ─► wire ─► Responder.receive: bytes, receive completion ─► answer ─► send completion
 *   5  events: each completion queue whose host asked for one, see QueueEvents
 * </pre>
 *
 * <p>A wire without faults is empty between turns, so what a turn touches stays in the cache. On one with faults packets outlive commands
 * and resets; each names the life of the queue pair that sent it, and is dropped when that has ended. All fields belong to the thread that runs the pass; {@link SimNic} sees to it that there is one
 * at a time.
 */
final class Device implements Agent {
    /** Queue pair numbers have 24 bits. */
    private static final int QP_NUMBER_MASK = 0xFF_FFFF;

    /** No receive's completion is held. */
    static final int NONE_HELD = -1;

    /** Asynchronous events kept beside one for each queue pair, and the most in all: as a real device has them. */
    private static final int SPARE_EVENTS = 128;

    private static final int MOST_EVENTS = 4096;

    /** Not a value a doorbell register can have while it is valid: counts go up from 0. */
    static final long UNSETTLED = -1;

    final RegionTable regions = new RegionTable();
    final Counters counters = new Counters();
    final DeviceFaults faults;
    final long copyLimitBytes;

    /** Doorbell registers, one long per slot, eight to a line: written by hosts. */
    final QueueMemory uarPage;

    /** Per slot, the register value that has been dealt with entirely: written by the device. */
    final QueueMemory settledPage;

    /** Where hosts learn of overruns and failed queue pairs. */
    final AsynchronousEvents asynchronousEvents;

    private final MpscUnboundedAtomicArrayQueue<Command<?>> commands = new MpscUnboundedAtomicArrayQueue<>(64);
    /** Addresses fe80::, in memory order. */
    private static final long LINK_LOCAL = 0x80FEL;

    /** What the device reads, changes and writes back, or writes by itself. */
    private final QueueMemory scratch = QueueMemory.allocate(64);

    final MemoryRegion scratchRegion = MemoryRegion.ofDevice(scratch);

    private final List<ReceiveQueue> sharedQueues = new ArrayList<>();
    private int sharedQueuesMade;

    /** Where a completion is being reported, until it is accounted for; else null. */
    CqPort reporting;

    /** The device has failed, and does its last act. */
    private boolean dying;

    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final NanoClock clock;
    private final Requester requester;
    private long lives;

    private final int slotMask;
    private final DeviceQp[] bySlot;
    private final long[] rungSeen;
    private final int[] generations;
    private final ArrayDeque<Integer> freeSlots = new ArrayDeque<>();
    private int slotsUsed;

    private final DeviceQp[] active;
    private int activeCount;

    private final IdentityHashMap<Object, CqPort> ports = new IdentityHashMap<>();

    /** Of the ports, those with events; replaced when one comes or goes. */
    private CqPort[] eventPorts = {};

    /** Of vendors: served in each pass. */
    private final List<VendorEventQueue> eventQueues = new ArrayList<>();

    private final List<ProtectionDomain> domains = new ArrayList<>();
    private int domainsMade;

    /** Time of the virtual clock, or -1 while real time counts. */
    private long virtualNs = -1;

    private long nowNs;

    /** The profile is that of its asynchronous events; null for the reference. */
    Device(
            int maxQueuePairs,
            long copyLimitBytes,
            NanoClock clock,
            DeviceFaults faults,
            WireFaults wireFaults,
            VendorProfile profile) {
        this.slotMask = maxQueuePairs - 1;
        this.copyLimitBytes = copyLimitBytes;
        this.clock = clock;
        this.faults = faults;
        this.uarPage = QueueMemory.allocate((long) maxQueuePairs * Long.BYTES);
        this.settledPage = QueueMemory.allocate((long) maxQueuePairs * Long.BYTES);
        this.bySlot = new DeviceQp[maxQueuePairs];
        this.active = new DeviceQp[maxQueuePairs];
        this.rungSeen = new long[maxQueuePairs];
        this.generations = new int[maxQueuePairs];
        this.asynchronousEvents = asynchronousEvents(
                profile, Math.min(MOST_EVENTS, Integer.highestOneBit(maxQueuePairs + SPARE_EVENTS - 1) << 1));
        this.requester = new Requester(this, wireFaults);
    }

    private static AsynchronousEvents asynchronousEvents(VendorProfile profile, int depth) {
        if (profile == null) {
            return new ReferenceEvents(depth);
        }
        final QueueMemory memory = QueueMemory.allocate(VendorAsyncQueue.requiredBytes(profile, depth));
        return VendorAsyncQueue.create(profile, memory, depth, new Interrupt());
    }

    static int registerOffset(int slot) {
        return slot << 3;
    }

    int slotOf(int qpNumber) {
        return qpNumber & slotMask;
    }

    // ---- The pass

    /** One pass on real time, as {@link Agent}; an exception ends the device and is kept for its callers. */
    @Override
    public int doWork() {
        try {
            virtualNs = -1;
            return pass();
        } catch (RuntimeException | Error broken) {
            recordFailure(broken);
            throw new AgentTerminationException(broken);
        }
    }

    /** One pass on virtual time, at whose end the calling thread gives all completion queues back. */
    int doVirtualPass(long virtualNs) {
        this.virtualNs = virtualNs;
        try {
            return pass();
        } finally {
            releasePorts();
        }
    }

    private int pass() {
        faults.beginPass();
        int work = 0;
        Command<?> command = commands.poll();
        while (command != null) {
            command.run();
            work++;
            command = commands.poll();
        }
        if (faults.pauses(rawTimeNs())) {
            return work + 1; // not idle: it must come back soon
        }
        scanDoorbells();
        nowNs = timeNs();
        work += requester.deliver();
        work += takeTurns();
        return work + serveEvents();
    }

    private int serveEvents() {
        int work = 0;
        for (CqPort port : eventPorts) {
            work += port.serveEvents() ? 1 : 0; // a timer that runs is work: the next pass must not be far
        }
        for (int i = 0; i < eventQueues.size(); i++) {
            eventQueues.get(i).serve();
        }
        asynchronousEvents.serve();
        return work;
    }

    private void scanDoorbells() {
        final QueueMemory uarPage = this.uarPage;
        final long[] rungSeen = this.rungSeen;
        final int end = slotsUsed;
        for (int slot = 0; slot < end; slot++) {
            // Edge DOORBELL, device end: the register, then the record. Partner: QueuePair.ringSendDoorbell. Weaker:
            // the old record is read, and the register that said "new" will not change again.
            long rung = uarPage.getLongAcquire(registerOffset(slot));
            if (rung != rungSeen[slot]) {
                onDoorbell(slot, rung);
            }
        }
    }

    private void onDoorbell(int slot, long rung) {
        DeviceQp qp = bySlot[slot];
        if (qp != null && faults.isStuck(qp.number)) {
            rungSeen[slot] = rung;
            settle(slot, rung);
            return;
        }
        if (qp == null || !qp.state.canPostSend()) {
            return; // not yet, or not any more; seen once the state allows it
        }
        rungSeen[slot] = rung;
        if (!qp.readSendDoorbell()) {
            badDoorbell(qp);
        }
        activate(qp);
    }

    void badReceiveDoorbell(DeviceQp qp) {
        if (qp.receives.isShared()) {
            post(EventType.SRQ_CATAS_ERROR, qp.receives.number);
        }
        counters.increment(DeviceCounter.BAD_DOORBELLS);
        failReceiving(qp, EventType.WQ_CATAS_ERROR, 0, qp.receives.consumed);
    }

    private void badDoorbell(DeviceQp qp) {
        counters.increment(DeviceCounter.BAD_DOORBELLS);
        fail(qp, EventType.WQ_CATAS_ERROR, 0);
    }

    private int takeTurns() {
        int work = 0;
        int kept = 0;
        // Turns may make others active, which appends them: they get theirs in this same pass.
        for (int i = 0; i < activeCount; i++) {
            DeviceQp qp = active[i];
            nowNs = timeNs();
            if (faults.skipsTurn(qp.number)) {
                active[kept++] = qp;
                continue;
            }
            if (faults.isStuck(qp.number)) {
                settle(qp.slot, rungSeen[qp.slot]);
                qp.active = false;
                continue;
            }
            work += requester.takeTurn(qp);
            if (staysActive(qp)) {
                active[kept++] = qp;
            } else {
                qp.active = false;
            }
        }
        for (int i = kept; i < activeCount; i++) {
            active[i] = null;
        }
        activeCount = kept;
        return work;
    }

    /** Whether a queue pair needs another turn without a new doorbell; says so to the host if it does not. */
    private boolean staysActive(DeviceQp qp) {
        if (qp.isDrained()) {
            settle(qp.slot, rungSeen[qp.slot]);
            return qp.state == QpState.ERR; // receives posted from now on are flushed, and ring no register
        }
        return qp.state.canPostSend() || qp.receiveHeld;
    }

    private void settle(int slot, long rung) {
        // Edge QUIESCE, device end: completions and states, then "all that this register value rang for is done".
        // Partner: SimNic.isIdle. Weaker: the host is told that the device is idle, polls, and misses a completion.
        settledPage.putLongRelease(registerOffset(slot), rung);
    }

    void activate(DeviceQp qp) {
        if (!qp.active) {
            qp.active = true;
            active[activeCount++] = qp;
        }
    }

    /** As {@link #activate}, for work that no doorbell announced: the host shall not take the queue pair for idle. */
    void activateUnrung(DeviceQp qp) {
        settle(qp.slot, UNSETTLED);
        activate(qp);
    }

    /** Something is wrong with a queue pair, or with what it sends: puts it into ERR, and says why. */
    void fail(DeviceQp qp, EventType why, int syndrome) {
        fail(qp, why, syndrome, false, qp.receives.consumed);
    }

    /** As {@link #fail}, for what a queue pair is sent, and the receive concerned. */
    void failReceiving(DeviceQp qp, EventType why, int syndrome, long receive) {
        fail(qp, why, syndrome, true, receive);
    }

    private void fail(DeviceQp qp, EventType why, int syndrome, boolean receiving, long receive) {
        if (qp.state != QpState.ERR && qp.state != QpState.RESET) {
            asynchronousEvents.post(
                    new DeviceEvent(why, qp.number, syndrome, 0, receiving, (int) qp.acked, (int) receive));
            toError(qp);
        }
    }

    /** Posts an asynchronous event. A full queue counts what it loses; one that the host has closed takes nothing. */
    private void post(EventType type, int number) {
        asynchronousEvents.post(DeviceEvent.of(type, number));
    }

    /** Posts an asynchronous event of a queue pair. */
    void post(EventType type, DeviceQp qp) {
        asynchronousEvents.post(
                new DeviceEvent(type, qp.number, 0, 0, false, (int) qp.acked, (int) qp.receives.consumed));
    }

    /** A completion queue begins to lose completions: of receives, or of sends. */
    void onOverrun(CqPort port, boolean receiving) {
        final int detail = port.isDead() ? 1 : 0;
        asynchronousEvents.post(new DeviceEvent(
                EventType.CQ_ERROR, port.number(), CompletionChannel.OVERRUN_SYNDROME, detail, receiving, 0, 0));
    }

    /** Puts a queue pair into ERR, where all that is outstanding is flushed. */
    void toError(DeviceQp qp) {
        if (qp.state == QpState.ERR || qp.state == QpState.RESET) {
            return;
        }
        counters.increment(DeviceCounter.QPS_TO_ERROR);
        qp.life = newLife();
        qp.beginFlush();
        qp.publishState(QpState.ERR);
        if (!qp.receiveHeld) {
            postLastReceive(qp);
        }
        activateUnrung(qp);
    }

    /** A queue pair in ERR has taken its last receive from the queue it shares, if it does. */
    void postLastReceive(DeviceQp qp) {
        if (qp.receives.isShared()) {
            post(EventType.SRQ_LAST_WQE, qp);
        }
    }

    /** A send of an unreliable queue pair has failed: its sends are flushed, its receives go on. */
    void toSendError(DeviceQp qp) {
        qp.beginFlush();
        qp.publishState(QpState.SQE);
        activateUnrung(qp);
    }

    /** Fewer receives than the limit are left in a shared queue: says so, once. */
    void checkLimit(ReceiveQueue receives) {
        if (receives.posted - receives.consumed < receives.limit
                && receives.readDoorbell() // the host may have posted since; a bad record is found when it is needed
                && receives.posted - receives.consumed < receives.limit) {
            receives.limit = 0;
            post(EventType.SRQ_RQ_LIMIT, receives.number);
        }
    }

    // ---- Memory, for requester and responder

    long loadLong(MemoryRegion region, long address) {
        scratch.putLong(0, 0);
        RegionTable.copy(scratchRegion, 0, region, address, Long.BYTES, faults);
        return scratch.getLong(0);
    }

    void storeLong(MemoryRegion region, long address, long value) {
        scratch.putLong(0, value);
        // Edge DATA, device end, as Responder.moveBytes.
        RegionTable.copy(region, address, scratchRegion, 0, Long.BYTES, faults);
    }

    /** Puts the global routing header of a datagram into the scratch region. */
    void fillHeader(Packet message) {
        // Big endian, as on the wire: version 6; payload length, next header 0x1B, hop limit 255; two link-local
        // addresses.
        int length = (int) message.length;
        scratch.putLong(0, 0x60L | (long) (length >>> 8 & 0xFF) << 32 | (long) (length & 0xFF) << 40 | 0xFF1BL << 48);
        scratch.putLong(8, LINK_LOCAL);
        scratch.putLong(16, Long.reverseBytes(message.sourceQp));
        scratch.putLong(24, LINK_LOCAL);
        scratch.putLong(32, Long.reverseBytes(message.destinationQp));
    }

    /** Finds the regions of an entry's pieces; false if one is not allowed. */
    boolean findSegments(
            QueueMemory memory,
            int slot,
            int extension,
            int more,
            ProtectionDomain domain,
            int right,
            SegmentList into) {
        int at = slot + WqeLayout.LOCAL_ADDRESS_OFFSET;
        for (int i = 0; i <= more; i++) {
            long address = memory.getLong(at);
            long word = memory.getLong(at + Long.BYTES);
            long length = WqeLayout.length(word);
            if (length != 0) {
                MemoryRegion region = regions.findLocal(WqeLayout.high(word), domain, address, length, right);
                if (region == null) {
                    return false;
                }
                into.add(region, address, length);
            }
            at = extension + WqeLayout.segmentOffset(i);
        }
        return true;
    }

    /** What a queue pair has on the wire is as good as lost from now on. */
    private long newLife() {
        return ++lives;
    }

    /** A completion queue died: as in verbs, so does every queue pair that uses it. */
    void onPortDeath(CqPort port) {
        for (int slot = 0; slot < slotsUsed; slot++) {
            DeviceQp qp = bySlot[slot];
            if (qp != null
                    && (qp.sendPort == port || qp.receivePort == port)
                    && qp.state != QpState.ERR
                    && qp.state != QpState.RESET) {
                counters.increment(DeviceCounter.QPS_LOST_TO_DEAD_CQS);
                fail(qp, EventType.WQ_CATAS_ERROR, 0);
            }
        }
    }

    /** The queue pair of a number; null if there is none. */
    DeviceQp find(int qpNumber) {
        DeviceQp qp = bySlot[slotOf(qpNumber)];
        return qp != null && qp.number == qpNumber ? qp : null;
    }

    /** The time, in device ticks of one nanosecond. */
    long timeNs() {
        return rawTimeNs() + faults.clockOffsetNs();
    }

    private long rawTimeNs() {
        return virtualNs >= 0 ? virtualNs : clock.nanoTime();
    }

    /** Time of this turn, in device ticks of one nanosecond. */
    long nowNs() {
        return nowNs;
    }

    // ---- Control commands, each called from Command.run

    /** Hands a command over. Any thread; safe because the queue is made for many producers. */
    void submit(Command<?> command) {
        commands.add(command);
    }

    ProtectionDomain allocateDomain() {
        ProtectionDomain domain = new ProtectionDomain(++domainsMade);
        domains.add(domain);
        return domain;
    }

    void freeDomain(ProtectionDomain domain) {
        requireDomain(domain);
        if (regions.isUsed(domain)) {
            throw new IllegalStateException(domain + " still has memory regions");
        }
        for (int slot = 0; slot < slotsUsed; slot++) {
            if (bySlot[slot] != null && bySlot[slot].domain == domain) {
                throw new IllegalStateException(domain + " still has " + bySlot[slot]);
            }
        }
        for (ReceiveQueue queue : sharedQueues) {
            if (queue.domain == domain) {
                throw new IllegalStateException(domain + " still has SRQ " + queue.number);
            }
        }
        domains.remove(domain);
    }

    void requireDomain(ProtectionDomain domain) {
        if (!domains.contains(domain)) {
            throw new IllegalArgumentException(domain + " is not one of this device, or was freed");
        }
    }

    MemoryRegion register(
            ProtectionDomain domain, long address, long length, int rights, QueueMemory memory, int memoryOffset) {
        requireDomain(domain);
        return regions.register(domain, address, length, rights, memory, memoryOffset);
    }

    MemoryRegion registerSparse(
            ProtectionDomain domain,
            long address,
            long length,
            int rights,
            QueueMemory memory,
            int pageShift,
            int residentBytes) {
        requireDomain(domain);
        return regions.registerSparse(domain, address, length, rights, memory, pageShift, residentBytes);
    }

    void attach(CompletionQueue queue) {
        if (ports.containsKey(queue)) {
            throw new IllegalStateException("completion queue is attached already");
        }
        if (queue.hasDeviceEvents()) {
            throw new IllegalArgumentException(
                    "completion queue was made for events that the device raises:" + " attach it with its channel");
        }
        ports.put(queue, new ReferencePort(queue));
    }

    void attach(CompletionQueue queue, CompletionChannel channel, Moderation moderation) {
        if (ports.containsKey(queue)) {
            throw new IllegalStateException("completion queue is attached already");
        }
        if (!queue.hasDeviceEvents()) {
            throw new IllegalArgumentException("completion queue was not made for events that the device raises:"
                    + " make it with the channel's createForDevice()");
        }
        final ReferencePort port = new ReferencePort(queue);
        ports.put(queue, port);
        raise(port, port, () -> channel.raise(queue), moderation);
    }

    /** A vendor's queue; without an event queue it has no events. */
    void attach(VendorQueue queue, VendorEventQueue events, Moderation moderation) {
        if (ports.containsKey(queue)) {
            throw new IllegalStateException("completion queue is attached already");
        }
        final VendorPort port = new VendorPort(queue, events);
        ports.put(queue, port);
        if (events != null) {
            final VendorWriter writer = queue.writer();
            raise(port, writer, () -> events.post(queue.number(), writer.eventToggle()), moderation);
            if (!eventQueues.contains(events)) {
                eventQueues.add(events);
            }
        }
    }

    /** Gives a port events. */
    private void raise(CqPort port, ArmedRing ring, Runnable how, Moderation moderation) {
        final Runnable event = () -> {
            counters.increment(DeviceCounter.EVENTS_RAISED);
            how.run();
        };
        port.raises(new QueueEvents(ring, this::timeNs, faults, event, moderation), event);
        eventPorts = Arrays.copyOf(eventPorts, eventPorts.length + 1);
        eventPorts[eventPorts.length - 1] = port;
    }

    void moderate(CompletionQueue queue, Moderation moderation) {
        port(queue).events().moderate(moderation);
    }

    void moderate(Object queue, AdaptiveModeration algorithm) {
        port(queue).events().moderate(algorithm);
    }

    Moderation moderation(CompletionQueue queue) {
        return port(queue).events().moderation();
    }

    void detach(Object queue) {
        CqPort port = port(queue);
        if (port.users != 0) {
            throw new IllegalStateException(
                    "completion queue is in use by " + port.users + " work queues; destroy their queue pairs first");
        }
        port.serveEventsLast();
        port.release();
        ports.remove(queue);
        eventPorts = Arrays.stream(eventPorts).filter(other -> other != port).toArray(CqPort[]::new);
        if (port instanceof VendorPort vendors && vendors.eventQueue != null) {
            leave(vendors.eventQueue);
        }
    }

    /** A port with this event queue is gone: if it was the last, no pass looks at the queue's arm any more. */
    private void leave(VendorEventQueue events) {
        for (CqPort other : eventPorts) {
            if (other instanceof VendorPort vendors && vendors.eventQueue == events) {
                return;
            }
        }
        eventQueues.remove(events);
        events.end();
    }

    private CqPort port(Object queue) {
        CqPort port = ports.get(queue);
        if (port == null) {
            throw new IllegalStateException("completion queue is not attached to this device");
        }
        return port;
    }

    /** Lets other threads write the completion queues; by the thread that ran the passes so far. */
    void releasePorts() {
        for (CqPort port : ports.values()) {
            port.release();
        }
    }

    /** Makes a queue pair in RESET; its number. */
    int createQueuePair(
            QpType type, ProtectionDomain domain, Object sendCq, Object receiveCq, QpMemory qpMemory, int sharedQueue) {
        requireDomain(domain);
        CqPort sendPort = port(sendCq);
        CqPort receivePort = port(receiveCq);
        ReceiveQueue receives = sharedQueue == 0
                ? new ReceiveQueue(qpMemory.memory(), qpMemory.receiveQueue(), QpMemory.RECEIVE_DOORBELL, 0, domain)
                : sharedQueue(sharedQueue);
        if (freeSlots.isEmpty() && slotsUsed == bySlot.length) {
            throw new IllegalStateException("the device holds at most " + bySlot.length + " queue pairs");
        }
        int slot = freeSlots.isEmpty() ? slotsUsed++ : freeSlots.remove();
        int number = nextNumber(slot);
        sendPort.users++;
        receivePort.users++;
        receives.users++;
        // Nobody owns the register at this moment; the answer to this command publishes the zero to whoever will.
        uarPage.putLong(registerOffset(slot), 0);
        rungSeen[slot] = 0;
        settle(slot, 0);
        DeviceQp qp = new DeviceQp(number, slot, type, domain, sendPort, receivePort, qpMemory, receives);
        qp.life = newLife();
        receivePort.admit(qp);
        bySlot[slot] = qp;
        return number;
    }

    /** Makes a shared receive queue; its number. */
    int createSharedQueue(ProtectionDomain domain, QpMemory memory) {
        requireDomain(domain);
        ReceiveQueue made = new ReceiveQueue(
                memory.memory(), memory.receiveQueue(), QpMemory.RECEIVE_DOORBELL, ++sharedQueuesMade, domain);
        sharedQueues.add(made);
        return made.number;
    }

    private ReceiveQueue sharedQueue(int number) {
        for (ReceiveQueue queue : sharedQueues) {
            if (queue.number == number) {
                return queue;
            }
        }
        throw new IllegalArgumentException("no shared receive queue of this device, or destroyed: SRQ " + number);
    }

    void armLimit(int number, int limit) {
        ReceiveQueue queue = sharedQueue(number);
        if (limit < 0 || limit > queue.ring.capacity()) {
            throw new IllegalArgumentException("limit must be 0 to the depth, " + queue.ring.capacity() + ": " + limit);
        }
        queue.limit = limit;
        if (limit != 0) {
            checkLimit(queue);
        }
    }

    void destroySharedQueue(int number) {
        ReceiveQueue queue = sharedQueue(number);
        if (queue.users != 0) {
            throw new IllegalStateException(
                    "SRQ " + number + " is in use by " + queue.users + " queue pairs; destroy them first");
        }
        sharedQueues.remove(queue);
    }

    /**
     * A slot's next number: never one of the first maxQueuePairs, and no number comes back before all others of its
     * slot.
     */
    private int nextNumber(int slot) {
        int step = slotMask + 1;
        int uses = (QP_NUMBER_MASK + 1) / step - 1;
        return (generations[slot]++ % uses + 1) * step + slot;
    }

    private DeviceQp require(int qpNumber) {
        DeviceQp qp = find(qpNumber);
        if (qp == null) {
            throw new IllegalArgumentException(
                    "no queue pair of this device, or destroyed: QP 0x" + Integer.toHexString(qpNumber));
        }
        return qp;
    }

    /** As {@link #heldShared}. */
    int destroyQueuePair(int qpNumber) {
        DeviceQp qp = require(qpNumber);
        final int held = heldShared(qpNumber);
        qp.reset();
        qp.sendPort.users--;
        qp.receivePort.users--;
        qp.receivePort.dismiss(qp);
        qp.receives.users--;
        bySlot[qp.slot] = null;
        freeSlots.add(qp.slot);
        if (qp.active) {
            deactivate(qp);
        }
        return held;
    }

    /** Counter of the receive of a shared queue whose completion waits for room, and will be gone after this; NONE_HELD if none does. */
    int heldShared(int qpNumber) {
        DeviceQp qp = require(qpNumber);
        return qp.receiveHeld && qp.receives.isShared() ? CqeLayout.wqeCounter(qp.heldHeader) : NONE_HELD;
    }

    private void deactivate(DeviceQp qp) {
        int kept = 0;
        for (int i = 0; i < activeCount; i++) {
            if (active[i] != qp) {
                active[kept++] = active[i];
            }
        }
        active[--activeCount] = null;
    }

    QpState modify(int qpNumber, QpState to, QpAttributes attributes) {
        DeviceQp qp = require(qpNumber);
        QpState from = qp.state;
        if (!from.canBecome(to)) {
            throw new IllegalStateException(qp + " cannot go from " + from + " to " + to);
        }
        attributes.requireSuits(qp.type, from, to);
        if (attributes.getOrElse(QpAttribute.SQD_NOTIFY, 0) != 0 && !asynchronousEvents.tells(EventType.SQ_DRAINED)) {
            throw new IllegalStateException("this profile has no event SQ_DRAINED: SQD_NOTIFY must be 0 for " + qp);
        }
        qp.apply(attributes);
        switch (to) {
            case RESET -> {
                qp.life = newLife();
                qp.reset();
                rungSeen[qp.slot] = 0;
                settle(qp.slot, 0);
            }
            case ERR -> toError(qp);
            default -> {
                if (from == QpState.SQE) {
                    if (!qp.readSendDoorbell()) {
                        badDoorbell(qp);
                        break;
                    }
                    qp.endFlush();
                }
                if (from != to || to != QpState.SQD) {
                    qp.drainNotice = to == QpState.SQD && attributes.getOrElse(QpAttribute.SQD_NOTIFY, 0) != 0;
                }
                qp.publishState(to);
                activate(qp); // what was posted while it could not be sent
            }
        }
        return qp.state;
    }

    // ---- Life

    Throwable failure() {
        // Edge FAILURE, callers' end. Partner: recordFailure.
        return failure.get();
    }

    /** On the thread that ran the pass. */
    void recordFailure(Throwable broken) {
        if (failure() == null) {
            attempt(broken, () -> finishQueuePairs(broken));
            // Edge FAILURE, device end: the last completions, then the exception, then the news of it. Partner:
            // failure.
            failure.set(broken);
            wakeWaiters(broken);
        }
    }

    /** Parts of a last act do not depend on one another: who knows what is broken. The first exception, with the later ones in it. */
    private static Throwable attempt(Throwable broken, Runnable part) {
        try {
            part.run();
        } catch (RuntimeException | Error again) {
            if (broken == null) {
                return again;
            }
            if (again != broken) {
                broken.addSuppressed(again);
            }
        }
        return broken;
    }

    /**
     * Every queue pair goes to ERR; what was carried out is reported, what is outstanding flushed, while the completion queues have room. A
     * completion queue into which an entry was being written when something broke is left alone: the entry may be there, and must not come
     * twice.
     */
    private void finishQueuePairs(Throwable broken) {
        dying = true;
        for (int slot = 0; slot < slotsUsed; slot++) {
            final DeviceQp qp = bySlot[slot];
            if (qp != null && qp.state != QpState.RESET && qp.state != QpState.ERR) {
                counters.increment(DeviceCounter.QPS_TO_ERROR);
                qp.life = newLife();
                qp.beginFlush();
                qp.publishState(QpState.ERR);
            }
        }
        final List<CqPort> doubtful = new ArrayList<>();
        for (int slot = 0; slot < slotsUsed; slot++) {
            if (reporting != null && reporting.hasBegun()) { // by the pass, or by the queue pair before
                doubtful.add(reporting);
            }
            reporting = null;
            final DeviceQp qp = bySlot[slot];
            if (qp != null
                    && qp.state == QpState.ERR
                    && !doubtful.contains(qp.sendPort)
                    && !doubtful.contains(qp.receivePort)) {
                attempt(broken, () -> requester.finish(qp));
            }
        }
    }

    /** What completions meet with: nothing any more in the last act. */
    DeviceFaults entryFaults() {
        return dying ? DeviceFaults.NONE : faults;
    }

    /** No completion will come any more: whoever waits for an event gets one, and can ask why. */
    private void wakeWaiters(Throwable broken) {
        attempt(broken, () -> post(EventType.INTERNAL_ERROR, 0));
        for (CqPort port : eventPorts) {
            attempt(broken, () -> wake(port));
        }
        attempt(broken, this::endEventQueues);
        for (CqPort port : ports.values()) {
            attempt(broken, port::release);
        }
    }

    private static void wake(CqPort port) {
        if (!port.isClosed()) {
            port.events().wake();
        }
    }

    /** No pass will look at an arm any more. */
    private void endEventQueues() {
        for (int i = 0; i < eventQueues.size(); i++) {
            eventQueues.get(i).end();
        }
        asynchronousEvents.end();
    }

    @Override
    public void onClose() {
        close();
    }

    /**
     * The end: raises the events that wait for their time. On the thread that ran the passes, or when none did. What a fault throws at one
     * queue comes out when all the others have been served.
     */
    void close() {
        Throwable broken = null;
        for (CqPort port : eventPorts) {
            broken = attempt(broken, port::serveEventsLast);
        }
        broken = attempt(broken, this::endEventQueues);
        for (CqPort port : ports.values()) {
            broken = attempt(broken, port::release);
        }
        if (broken != null) {
            LangUtil.rethrowUnchecked(broken);
        }
    }

    @Override
    public String roleName() {
        return "sim-nic";
    }
}
