package io.cqring.simnic;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.notify.AdaptiveModeration;
import io.cqring.notify.CompletionChannel;
import io.cqring.notify.Moderation;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.fault.WireFaults;
import io.cqring.simnic.profile.AsynchronousEvents;
import io.cqring.simnic.profile.VendorEventQueue;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import io.cqring.simnic.qp.QpAttribute;
import io.cqring.simnic.qp.QpAttributes;
import io.cqring.simnic.qp.QpMemory;
import io.cqring.simnic.qp.QpState;
import io.cqring.simnic.qp.QpType;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.SharedReceiveQueue;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.NanoClock;
import org.agrona.concurrent.SystemNanoClock;

/**
 * An emulated RDMA NIC, as its driver sees it: control commands, and the switch that runs the device.
 *
 * <p>The device itself sees only memory and doorbells. It runs in one of two ways, with the same code:
 * <ul>
 *   <li>{@link #start}: on a thread of its own, on real time;
 *   <li>{@link #step}: one pass on the caller's thread, on a virtual clock that advances {@value #STEP_NS} ns per
 *       pass: the same calls give the same bytes, timestamps included. A NIC that was stepped may be started, not the
 *       other way round.
 * </ul>
 *
 * <p><b>Threads:</b> control commands may come from any thread; they travel through a queue, and the caller waits for
 * the answer (in step mode the waiting caller runs the passes itself). The data path is {@link QueuePair} and {@link
 * CompletionQueue}, each with the roles it names. What was posted and rung before {@link #start} is executed after
 * it.
 *
 * <p><b>Copy limit:</b> of each message the device copies only the first {@code copyLimitBytes} bytes, so that a
 * workload of terabytes can run in seconds. Ranges are checked, and lengths reported, in full.
 *
 * <pre>{@code
 * try (SimNic nic = SimNic.builder().create()) {
 *     ProtectionDomain domain = nic.allocateProtectionDomain();
 *     nic.attach(cq);
 *     QueuePair a = nic.createQueuePair(domain, cq, cq, 64, 64);
 *     QueuePair b = nic.createQueuePair(domain, cq, cq, 64, 64);
 *     nic.connect(a, b);
 *     nic.start(new BackoffIdleStrategy());
 *     ...
 * }
 * }</pre>
 */
public final class SimNic implements AutoCloseable {
    /** How far the virtual clock advances with each {@link #step}, in nanoseconds. */
    public static final long STEP_NS = 1_000;

    /** 1.05 ms: the answer of a peer in the same process comes within one pass. */
    private static final int CONNECT_TIMEOUT = 8;

    private final Device device;
    private final DeviceDrive drive;
    private final List<HostQp> queuePairs = new CopyOnWriteArrayList<>();

    private record HostQp(QueuePair queuePair, QpMemory memory, int register, Object sendCq, Object receiveCq) {

        /** Does something with each of its vendors' queues, once. */
        void forVendors(Consumer<VendorQueue> action) {
            if (sendCq instanceof VendorQueue vendor) {
                action.accept(vendor);
            }
            if (receiveCq != sendCq && receiveCq instanceof VendorQueue vendor) {
                action.accept(vendor);
            }
        }
    }

    private SimNic(Builder builder) {
        device = new Device(
                builder.maxQueuePairs,
                builder.copyLimitBytes,
                builder.clock,
                builder.faults,
                builder.wireFaults,
                builder.profile);
        drive = new DeviceDrive(device, builder.clock, builder.commandTimeoutNs);
    }

    /**
     * Starts to describe a NIC: 4096 queue pairs, no copy limit, the system's clock, healthy, ten seconds for a
     * command.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    // ---- Running the device

    /**
     * Runs the device on a daemon thread of its own, named {@code sim-nic}, until {@link #close}.
     *
     * @param idleStrategy what the thread does after a pass without work; not to be shared. It must not sleep without a time limit: the device
     *                     sees doorbells and arms only in a pass. While a moderation timer runs it is not asked to idle
     * @throws IllegalStateException if the NIC is started, closed or being stepped
     */
    public void start(IdleStrategy idleStrategy) {
        Objects.requireNonNull(idleStrategy, "idle strategy");
        drive.start(idleStrategy);
    }

    /**
     * Runs one pass of the device on the calling thread, on virtual time. One thread at a time; whoever is next sees
     * all the last one did.
     *
     * @return work done: commands, entries sent, completions, events; 0 if there was nothing to do. A moderation timer that runs counts
     * @throws IllegalStateException if the NIC is started, closed or being stepped by another thread; no pass is run
     */
    public int step() {
        return drive.step();
    }

    /**
     * What ended the device: a bug of the device, or of an injected fault. Its last {@link #asynchronousEvents event} is then
     * {@link io.cqring.eq.EventType#INTERNAL_ERROR}, as {@code IBV_EVENT_DEVICE_FATAL} with verbs. Before that the dying device puts every queue
     * pair into ERR, reports what it has carried out and flushes what was posted and rung, as far as the completion queues have room:
     * as mlx5's driver does for its own. What was written stays pollable. What finds no room, what comes later, receives in a
     * shared queue, and what uses a completion queue that the device was just writing to when it broke, never completes.
     *
     * <p>An armed queue's event has come then: of a vendor's queue even if there is no completion for it. One of the reference layout needs a
     * completion, because an event that answers no entry is spurious to its channel and wakes nobody; so a host that sleeps there
     * with nothing outstanding needs the asynchronous event, or a time limit, to learn of the end.
     *
     * @return the exception; null if the device is well
     */
    public Throwable failure() {
        return device.failure();
    }

    /**
     * Stops the device's thread, and waits for its end. What it has not executed stays unexecuted; completions
     * written stay pollable, events that wait for their time are raised, the interrupts of its event
     * queues once more. Any thread. Closing again does nothing.
     */
    @Override
    public void close() {
        drive.close();
    }

    /**
     * Lets the device deal with all that was rung before this call, then closes it: {@link #isIdle}, then {@link #close}. A NIC that was
     * not started is stepped by this thread. Any thread; blocks for the time given at most, and for the end of a pass. Completions and
     * events of all that was dealt with are there when this returns.
     *
     * @param timeout the most time to wait, by the NIC's clock
     * @param unit    its unit
     * @return true if the device had nothing left to do; false if it was closed with work left: time ran out, it has failed, or it was
     *     closed before
     * @throws IllegalArgumentException if the time is negative; nothing is closed
     */
    public boolean drainAndClose(long timeout, TimeUnit unit) {
        return drive.drainAndClose(this::isIdle, unit.toNanos(timeout));
    }

    // ---- Quiescence and counters

    /**
     * Whether the device has dealt with every doorbell rung before this call: each entry executed or flushed, its
     * completions written. If so, a poll that follows sees them. Any thread; a doorbell counts as rung before if this
     * thread rang it, or knows of it. Posted receives are dealt with when they are there; those of a queue pair in
     * ERR, when they are flushed. Never true while a queue pair waits for something: its peer's receive, room in a
     * completion queue, or, in SQD, a change of state.
     *
     * @return true if there is nothing left to do
     */
    public boolean isIdle() {
        // The second sweep sees what the work that the first found done has started elsewhere: a peer's flush, say.
        boolean settled = allSettled();
        return settled && allSettled();
    }

    private boolean allSettled() {
        for (HostQp host : queuePairs) {
            long rung = device.uarPage.getLongOpaque(host.register);
            // Edge QUIESCE, host end: "dealt with", then states and completions. Partner: Device.settle. Weaker: idle
            // is reported, and a poll that follows misses a completion. Opaque will do for the doorbells: this
            // thread's own.
            if (device.settledPage.getLongAcquire(host.register) != rung) {
                return false;
            }
            if (host.queuePair.state() == QpState.ERR) {
                QueueMemory memory = host.memory.memory();
                long posted = memory.getLongOpaque(QpMemory.RECEIVE_DOORBELL);
                // Edge QUIESCE, host end, as above. Partner: Responder.flush.
                if (memory.getLongAcquire(QpMemory.RECEIVES_FLUSHED) != posted) {
                    return false;
                }
            }
        }
        return true;
    }

    /**
     * Reads a counter. Any thread. Exact once {@link #isIdle} returned true, else a moment old.
     *
     * @param counter which
     * @return its value since creation
     */
    public long counter(DeviceCounter counter) {
        return device.counters.get(counter);
    }

    // ---- Control commands

    /**
     * Makes a protection domain.
     *
     * @return the domain
     * @throws CommandException if the device does not answer in time
     */
    public ProtectionDomain allocateProtectionDomain() {
        return drive.call(device::allocateDomain);
    }

    /**
     * Frees a protection domain that nothing uses any more.
     *
     * @param domain the domain
     * @throws CommandException if it is unknown or in use
     */
    public void freeProtectionDomain(ProtectionDomain domain) {
        drive.run(() -> device.freeDomain(domain));
    }

    /**
     * Registers memory, all of it.
     *
     * @param domain  who may use it
     * @param address virtual address of its first byte, the caller's choice
     * @param memory  the memory
     * @param rights  bits of {@link AccessRights}
     * @return the region, with its keys
     * @throws CommandException if a value breaks its rule; nothing is registered
     */
    public MemoryRegion registerMemory(ProtectionDomain domain, long address, QueueMemory memory, int rights) {
        return registerMemory(domain, address, memory.sizeBytes(), memory, 0, rights);
    }

    /**
     * Registers part of a memory.
     *
     * @param domain       who may use it
     * @param address      virtual address of its first byte, the caller's choice
     * @param length       bytes, 1 or more
     * @param memory       the memory
     * @param memoryOffset where the part starts, in bytes
     * @param rights       bits of {@link AccessRights}
     * @return the region, with its keys
     * @throws CommandException if a value breaks its rule; nothing is registered
     */
    public MemoryRegion registerMemory(
            ProtectionDomain domain, long address, long length, QueueMemory memory, int memoryOffset, int rights) {
        Objects.requireNonNull(memory, "memory");
        return drive.call(() -> device.register(domain, address, length, rights, memory, memoryOffset));
    }

    /**
     * Registers a sparse range: of each page only the head is real, see {@link MemoryRegion}.
     *
     * @param domain        who may use it
     * @param address       virtual address of its first byte and of page 0, the caller's choice
     * @param length        bytes, 1 or more
     * @param memory        the memory, at least {@link MemoryRegion#sparseMemoryBytes} bytes
     * @param pageShift     log2 of the page size, 0 to 62
     * @param residentBytes bytes of each page that are real, 1 to 2^pageShift
     * @param rights        bits of {@link AccessRights}
     * @return the region, with its keys
     * @throws CommandException if a value breaks its rule; nothing is registered
     */
    public MemoryRegion registerSparseMemory(
            ProtectionDomain domain,
            long address,
            long length,
            QueueMemory memory,
            int pageShift,
            int residentBytes,
            int rights) {
        Objects.requireNonNull(memory, "memory");
        return drive.call(
                () -> device.registerSparse(domain, address, length, rights, memory, pageShift, residentBytes));
    }

    /**
     * Takes a region out; its keys are refused from now on. Messages already executed are not undone.
     *
     * @param region the region
     * @throws CommandException if it is not registered
     */
    public void deregisterMemory(MemoryRegion region) {
        drive.run(() -> device.regions.deregister(region));
    }

    /**
     * Gives the device a completion queue to write. From now on nobody else may use its writer.
     *
     * <p>All overrun policies work. Under BACKPRESSURE a full queue stalls the queue pairs whose completions it
     * refuses, no others, and nothing is lost. Under ERROR an overrun kills the queue, and with it, as in verbs,
     * every queue pair that uses it.
     *
     * <p>Events: none, or those that the queue's writer raises by itself. A queue whose events the device is to raise is attached with its
     * channel.
     *
     * @param queue the host end
     * @throws CommandException if it is attached already, or its events are the device's to raise
     */
    public void attach(CompletionQueue queue) {
        Objects.requireNonNull(queue, "completion queue");
        drive.run(() -> device.attach(queue));
    }

    /**
     * Gives the device a completion queue to write, and its events to raise, without moderation: as
     * {@link #attach(CompletionQueue, CompletionChannel, Moderation)}.
     *
     * @param queue   the host end, made by the channel's {@link CompletionChannel#createForDevice createForDevice}
     * @param channel the channel
     * @throws IllegalArgumentException if the queue is not one of the channel
     * @throws CommandException         if it is attached already, or its events are not the device's
     */
    public void attach(CompletionQueue queue, CompletionChannel channel) {
        attach(queue, channel, Moderation.OFF);
    }

    /**
     * Gives the device a completion queue to write, and its events to raise, as {@link #attach(CompletionQueue)} otherwise.
     *
     * <p>The device looks at the arm word in each pass, also at one that was armed before this call. When entries are past the arm, it raises
     * one event: at once, or when the moderation says so. It keeps the time itself: the last entry waits one period and one
     * pass at most. An entry that is solicited or failed does not wait, nor does the death of the queue, and a queue that the host
     * closes wakes whoever waits for it. {@link #detach} and {@link #close} raise what still waits for its time.
     *
     * @param queue      the host end, made by the channel's {@link CompletionChannel#createForDevice createForDevice}
     * @param channel    the channel
     * @param moderation how events are held back
     * @throws IllegalArgumentException if the queue is not one of the channel
     * @throws CommandException         if it is attached already, or its events are not the device's
     */
    public void attach(CompletionQueue queue, CompletionChannel channel, Moderation moderation) {
        Objects.requireNonNull(moderation, "moderation");
        channel.unacknowledged(queue); // throws if it is not one of the channel
        drive.run(() -> device.attach(queue, channel, moderation));
    }

    /**
     * Gives the device a vendor's completion queue to write, without events. An overrun kills it, as {@code OverrunPolicy.ERROR} does.
     *
     * @param queue the host end
     * @throws CommandException if it is attached already
     */
    public void attach(VendorQueue queue) {
        Objects.requireNonNull(queue, "completion queue");
        drive.run(() -> device.attach(queue, null, Moderation.OFF));
    }

    /**
     * Gives the device a vendor's completion queue to write, and its events to raise, as {@link #attach(CompletionQueue, CompletionChannel,
     * Moderation)} otherwise.
     *
     * @param queue      the host end
     * @param events     where its events go; several queues may share it
     * @param moderation how events are held back
     * @throws CommandException if it is attached already
     */
    public void attach(VendorQueue queue, VendorEventQueue events, Moderation moderation) {
        Objects.requireNonNull(queue, "completion queue");
        Objects.requireNonNull(events, "event queue");
        Objects.requireNonNull(moderation, "moderation");
        drive.run(() -> device.attach(queue, events, moderation));
    }

    /**
     * Takes a vendor's completion queue back.
     *
     * @param queue the host end
     * @throws CommandException if it is not attached, or a queue pair uses it
     */
    public void detach(VendorQueue queue) {
        drive.run(() -> device.detach(queue));
    }

    /**
     * Changes the depth of a vendor's queue while the device writes it, see {@link VendorQueue#resize}. The thread that polls it must be this one.
     *
     * @param queue attached
     * @param depth entries
     * @return false if the device cannot move now, and nothing is changed
     * @throws IllegalArgumentException if the depth breaks its rule
     * @throws IllegalStateException    if the queue cannot be resized, or an earlier resize is not finished
     */
    public boolean resize(VendorQueue queue, int depth) {
        return queue.resize(depth, drive::run);
    }

    /**
     * Changes the moderation of a queue, {@code ibv_modify_cq}: at once, also for entries that wait. Ends an adaptive one.
     *
     * @param queue      attached with a channel
     * @param moderation how events are held back from now on
     * @throws CommandException if the queue is not attached, or without a channel; nothing is changed
     */
    public void moderate(CompletionQueue queue, Moderation moderation) {
        Objects.requireNonNull(moderation, "moderation");
        drive.run(() -> device.moderate(queue, moderation));
    }

    /**
     * Lets an algorithm choose the moderation of a queue from now on. The device tells it of each event that it raises, with the entries
     * and bytes since the last one, and applies what it chooses at once.
     *
     * @param queue     attached with a channel
     * @param algorithm for this queue alone; the device's from now on
     * @throws CommandException if the queue is not attached, or without a channel; nothing is changed
     */
    public void moderate(CompletionQueue queue, AdaptiveModeration algorithm) {
        Objects.requireNonNull(algorithm, "algorithm");
        drive.run(() -> device.moderate(queue, algorithm));
    }

    /**
     * Lets an algorithm choose the moderation of a vendor's queue from now on, as {@link #moderate(CompletionQueue, AdaptiveModeration)}.
     *
     * @param queue     attached with an event queue
     * @param algorithm for this queue alone; the device's from now on
     * @throws CommandException if the queue is not attached, or without an event queue; nothing is changed
     */
    public void moderate(VendorQueue queue, AdaptiveModeration algorithm) {
        Objects.requireNonNull(algorithm, "algorithm");
        drive.run(() -> device.moderate(queue, algorithm));
    }

    /**
     * The moderation in effect.
     *
     * @param queue attached with a channel
     * @return what was given last, or what the algorithm has chosen
     * @throws CommandException if the queue is not attached, or without a channel
     */
    public Moderation moderation(CompletionQueue queue) {
        return drive.call(() -> device.moderation(queue));
    }

    /**
     * Where the device posts what goes wrong; the host polls it, may arm it, and may wait on its interrupt. Always the same object.
     * With {@link Builder#profile} the entries are a vendor's; what comes out of them is the same, with what that vendor's driver makes of
     * each code: {@code sim-nic/docs/profiles.md}.
     *
     * <pre>
     *   CQ_ERROR             a completion queue begins to lose: its number (0 if it has no events), syndrome 1, detail 1 if it is dead;
     *                        with a vendor's profile detail is always 1, also for a queue that only drops
     *   WQ_CATAS_ERROR       the device put a queue pair into ERR: its number, the syndrome of what failed, 0 if that is none
     *   WQ_ACCESS_ERROR      the same, for a message that it may not obey
     *   WQ_INVAL_REQ_ERROR   the same, for a message that does not fit, or is not allowed
     *   SQ_DRAINED           a queue pair in SQD that was asked to tell has nothing on the wire and nothing to report: its number
     *   SRQ_RQ_LIMIT         a shared receive queue has fewer receives than its limit: its number. Once, then the limit is gone
     *   SRQ_LAST_WQE         a queue pair in ERR takes no more from the queue it shares: the number of the queue pair
     *   SRQ_CATAS_ERROR      a shared receive queue has an impossible doorbell record: its number
     *   INTERNAL_ERROR       the device has failed and does nothing any more, see {@link #failure}
     * </pre>
     *
     * <p>A change to ERR that the host asked for posts nothing. What a full queue loses it counts ({@link AsynchronousEvents#overruns}), and
     * what a vendor has no code for too ({@link AsynchronousEvents#untold}).
     *
     * @return the events
     */
    public AsynchronousEvents asynchronousEvents() {
        return device.asynchronousEvents;
    }

    /**
     * Takes a completion queue back; its writer is free again.
     *
     * @param queue the host end
     * @throws CommandException if it is not attached, or a queue pair uses it
     */
    public void detach(CompletionQueue queue) {
        drive.run(() -> device.detach(queue));
    }

    /**
     * Makes a queue pair, in state RESET.
     *
     * @param domain       whose memory it may use
     * @param sendCq       where its sends, writes and reads complete; attached
     * @param receiveCq    where its receives complete; attached; may be the same
     * @param sendDepth    entries of the send queue; a power of two, 1 to {@link QpMemory#MAX_DEPTH}
     * @param receiveDepth entries of the receive queue; the same rule
     * @return the host side
     * @throws IllegalArgumentException if a depth breaks its rule; nothing is made
     * @throws CommandException         if domain or queues are unknown, or there are too many queue pairs; nothing is
     *                                  made
     */
    public QueuePair createQueuePair(
            ProtectionDomain domain,
            CompletionQueue sendCq,
            CompletionQueue receiveCq,
            int sendDepth,
            int receiveDepth) {
        return createQueuePair(QpType.RC, domain, sendCq, receiveCq, sendDepth, receiveDepth);
    }

    /**
     * Makes a queue pair whose completions go into vendors' queues, and makes it known to their driver.
     *
     * @param domain       whose memory it may use
     * @param sendCq       where its sends, writes and reads complete; attached
     * @param receiveCq    where its receives complete; attached; may be the same
     * @param sendDepth    entries of the send queue; a power of two, 1 to 2^15: entries carry 15 or 16 bits of its counter
     * @param receiveDepth entries of the receive queue; the same rule
     * @return the host side
     * @throws IllegalArgumentException if a depth breaks its rule; nothing is made
     * @throws CommandException         if domain or queues are unknown, or there are too many queue pairs; nothing is
     *                                  made
     */
    public QueuePair createQueuePair(
            ProtectionDomain domain, VendorQueue sendCq, VendorQueue receiveCq, int sendDepth, int receiveDepth) {
        return createQueuePair(QpType.RC, domain, sendCq, receiveCq, sendDepth, receiveDepth);
    }

    /**
     * Makes a queue pair whose completions go into vendors' queues, and makes it known to their driver.
     *
     * @param type         transport service; UC only with mlx5
     * @param domain       as {@link #createQueuePair(ProtectionDomain, VendorQueue, VendorQueue, int, int)}
     * @param sendCq       as there
     * @param receiveCq    as there
     * @param sendDepth    as there
     * @param receiveDepth as there
     * @return the host side
     * @throws IllegalArgumentException as there, or if the vendor has no queue pairs of this type
     * @throws CommandException         as there
     */
    public QueuePair createQueuePair(
            QpType type,
            ProtectionDomain domain,
            VendorQueue sendCq,
            VendorQueue receiveCq,
            int sendDepth,
            int receiveDepth) {
        requireDepths(sendDepth, receiveDepth);
        return createVendorsQueuePair(
                type, domain, sendCq, receiveCq, QpMemory.allocate(sendDepth, receiveDepth), null);
    }

    /**
     * Makes a queue pair whose completions go into vendors' queues, and that takes its receives from a shared queue. The driver retires a
     * receive when it takes its completion, so the thread that polls is the one that posts to the shared queue.
     *
     * @param type      transport service; UC only with mlx5
     * @param domain    whose memory its sends may use, and its peer; receives go by the domain of the shared queue
     * @param sendCq    as {@link #createQueuePair(ProtectionDomain, VendorQueue, VendorQueue, int, int)}
     * @param receiveCq as there; with irdma one of 64-byte slots
     * @param sendDepth as there
     * @param shared    the shared queue, of at most 2^15 entries
     * @return the host side
     * @throws IllegalArgumentException as there, or if the vendor has no such queue pairs
     * @throws CommandException         as there, or if the shared queue is unknown
     */
    public QueuePair createQueuePair(
            QpType type,
            ProtectionDomain domain,
            VendorQueue sendCq,
            VendorQueue receiveCq,
            int sendDepth,
            SharedReceiveQueue shared) {
        Objects.requireNonNull(shared, "shared receive queue");
        requireDepths(sendDepth, 1);
        return createVendorsQueuePair(type, domain, sendCq, receiveCq, QpMemory.allocate(sendDepth, 1), shared);
    }

    private static void requireDepths(int sendDepth, int receiveDepth) {
        if (sendDepth > VendorQueue.MAX_WORK_QUEUE || receiveDepth > VendorQueue.MAX_WORK_QUEUE) {
            throw new IllegalArgumentException("queues of a queue pair must have at most " + VendorQueue.MAX_WORK_QUEUE
                    + " entries with a vendor's completion queue: " + sendDepth + ", " + receiveDepth);
        }
    }

    private QueuePair createVendorsQueuePair(
            QpType type,
            ProtectionDomain domain,
            VendorQueue sendCq,
            VendorQueue receiveCq,
            QpMemory memory,
            SharedReceiveQueue shared) {
        Objects.requireNonNull(type, "type");
        sendCq.requireSupports(type, null);
        receiveCq.requireSupports(type, shared);
        final QueuePair made = createQueuePair(type, domain, sendCq, receiveCq, memory, shared);
        sendCq.register(made.number(), made);
        if (receiveCq != sendCq) {
            receiveCq.register(made.number(), made);
        }
        return made;
    }

    /**
     * Makes a queue pair, in state RESET.
     *
     * @param type         transport service
     * @param domain       as {@link #createQueuePair(ProtectionDomain, CompletionQueue, CompletionQueue, int, int)}
     * @param sendCq       as there
     * @param receiveCq    as there
     * @param sendDepth    as there
     * @param receiveDepth as there
     * @return the host side
     * @throws IllegalArgumentException as there
     * @throws CommandException         as there
     */
    public QueuePair createQueuePair(
            QpType type,
            ProtectionDomain domain,
            CompletionQueue sendCq,
            CompletionQueue receiveCq,
            int sendDepth,
            int receiveDepth) {
        Objects.requireNonNull(type, "type");
        QpMemory memory = QpMemory.allocate(sendDepth, receiveDepth);
        return createQueuePair(type, domain, sendCq, receiveCq, memory, null);
    }

    /**
     * Makes a queue pair, in state RESET, that takes its receives from a shared queue.
     *
     * @param type      transport service
     * @param domain    whose memory its sends may use, and its peer; receives go by the domain of the shared queue
     * @param sendCq    as {@link #createQueuePair(ProtectionDomain, CompletionQueue, CompletionQueue, int, int)}
     * @param receiveCq as there
     * @param sendDepth as there
     * @param shared    the shared queue
     * @return the host side
     * @throws IllegalArgumentException as there
     * @throws CommandException         as there, or if the shared queue is unknown
     */
    public QueuePair createQueuePair(
            QpType type,
            ProtectionDomain domain,
            CompletionQueue sendCq,
            CompletionQueue receiveCq,
            int sendDepth,
            SharedReceiveQueue shared) {
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(shared, "shared receive queue");
        return createQueuePair(type, domain, sendCq, receiveCq, QpMemory.allocate(sendDepth, 1), shared);
    }

    private QueuePair createQueuePair(
            QpType type,
            ProtectionDomain domain,
            Object sendCq,
            Object receiveCq,
            QpMemory memory,
            SharedReceiveQueue shared) {
        int sharedNumber = shared == null ? 0 : shared.number();
        int number = drive.call(() -> device.createQueuePair(type, domain, sendCq, receiveCq, memory, sharedNumber));
        int register = Device.registerOffset(device.slotOf(number));
        QueuePair queuePair = new QueuePair(number, type, shared, memory, device.uarPage, register);
        queuePairs.add(new HostQp(queuePair, memory, register, sendCq, receiveCq));
        return queuePair;
    }

    /**
     * Makes a shared receive queue.
     *
     * @param domain whose memory its receives may use
     * @param depth  entries; a power of two, 1 to {@link QpMemory#MAX_DEPTH}
     * @return the host side
     * @throws IllegalArgumentException if the depth breaks its rule; nothing is made
     * @throws CommandException         if the domain is unknown; nothing is made
     */
    public SharedReceiveQueue createSharedReceiveQueue(ProtectionDomain domain, int depth) {
        QpMemory memory = QpMemory.allocate(1, depth);
        return new SharedReceiveQueue(drive.call(() -> device.createSharedQueue(domain, memory)), memory);
    }

    /**
     * Asks for one event once a shared receive queue has fewer receives than a limit: at once if it has. As {@code ibv_modify_srq}.
     *
     * @param shared the queue
     * @param limit  1 to its depth; 0 asks for none
     * @throws CommandException if the queue is unknown or the limit out of range; nothing is changed
     */
    public void armLimit(SharedReceiveQueue shared, int limit) {
        drive.run(() -> device.armLimit(shared.number(), limit));
    }

    /**
     * Destroys a shared receive queue that no queue pair uses any more. What is posted to it is forgotten.
     *
     * @param shared the queue
     * @throws CommandException if it is unknown or in use
     */
    public void destroy(SharedReceiveQueue shared) {
        drive.run(() -> device.destroySharedQueue(shared.number()));
    }

    /**
     * Changes a queue pair's state. The thread that posts must be this one, or pause. A change to RESET of a queue pair whose completions go into
     * vendors' queues is for the thread that polls them: their driver forgets what is left of it.
     *
     * <p>A change to RESET forgets all that was posted, and clears both doorbell records and the doorbell register.
     * Completions written before stay in their queue: poll them out before posting again, their counters mean nothing
     * any more.
     *
     * @param queuePair  the queue pair
     * @param to         the new state; legal changes in {@link QpState}
     * @param attributes what goes with the change, see {@link QpAttributes}
     * @throws CommandException if the change is not legal, the attributes do not suit it, or a vendor's driver does not know it; nothing is
     *                          changed
     */
    public void modify(QueuePair queuePair, QpState to, QpAttributes attributes) {
        if (to == QpState.RTS
                && queuePair.state() == QpState.SQE
                && find(queuePair).sendCq instanceof VendorQueue vendor
                && !vendor.resumesSends()) {
            throw new CommandException(
                    "after a failed send this vendor's queue pairs go on only by RESET: " + queuePair);
        }
        QpAttributes values = attributes.copy();
        final int held = drive.call(() -> {
            final int counter = to == QpState.RESET ? device.heldShared(queuePair.number()) : Device.NONE_HELD;
            device.modify(queuePair.number(), to, values);
            return counter;
        });
        retireHeld(queuePair, held);
        if (to == QpState.RESET) {
            queuePair.clear();
            find(queuePair).forVendors(vendor -> {
                vendor.forget(queuePair.number());
                vendor.register(queuePair.number(), queuePair);
            });
        }
    }

    /**
     * Connects two queue pairs in state RESET, through all states to RTS: all rights, retries without end for a
     * missing receive, seven retries for a missing answer, after 1.05 ms each.
     *
     * @param a one; RC or UC
     * @param b the other, of the same type; may be the same one, connected to itself
     * @throws IllegalArgumentException if one is UD, or their types differ; nothing is changed
     * @throws CommandException if one is not in RESET; both may have changed
     */
    public void connect(QueuePair a, QueuePair b) {
        connect(a, b, QpAttribute.RNR_RETRY_WITHOUT_END);
    }

    /**
     * As {@link #connect(QueuePair, QueuePair)}, with a limit of retries.
     *
     * @param a        one
     * @param b        the other; may be the same one, connected to itself
     * @param rnrRetry retries for a missing receive, 0 to 7; 7 is without end
     * @throws IllegalArgumentException if the limit is out of range; nothing is changed
     * @throws CommandException         if one is not in RESET; both may have changed
     */
    public void connect(QueuePair a, QueuePair b, int rnrRetry) {
        if (a.type() != b.type()) {
            throw new IllegalArgumentException("types differ: " + a.type() + ", " + b.type());
        }
        connectHalf(a, b, rnrRetry);
        if (a != b) {
            connectHalf(b, a, rnrRetry);
        }
    }

    private void connectHalf(QueuePair queuePair, QueuePair peer, int rnrRetry) {
        if (queuePair.type() == QpType.UD) {
            throw new IllegalArgumentException("a UD queue pair is not connected: " + queuePair);
        }
        boolean reliable = queuePair.type() == QpType.RC;
        modify(
                queuePair,
                QpState.INIT,
                new QpAttributes()
                        .set(QpAttribute.PKEY_INDEX, 0)
                        .set(QpAttribute.PORT, 1)
                        .set(QpAttribute.ACCESS_RIGHTS, AccessRights.ALL));
        QpAttributes toRtr = new QpAttributes()
                .set(QpAttribute.DESTINATION_LID, 1)
                .set(QpAttribute.PATH_MTU, 4096)
                .set(QpAttribute.DESTINATION_QP, peer.number())
                .set(QpAttribute.RECEIVE_PSN, firstPsn(peer));
        QpAttributes toRts = new QpAttributes().set(QpAttribute.SEND_PSN, firstPsn(queuePair));
        if (reliable) {
            toRtr.set(QpAttribute.MAX_DESTINATION_READS, 16).set(QpAttribute.MIN_RNR_TIMER, 1);
            toRts.set(QpAttribute.TIMEOUT, CONNECT_TIMEOUT)
                    .set(QpAttribute.RETRY_COUNT, 7)
                    .set(QpAttribute.RNR_RETRY, rnrRetry)
                    .set(QpAttribute.MAX_READS, 16);
        }
        modify(queuePair, QpState.RTR, toRtr);
        modify(queuePair, QpState.RTS, toRts);
    }

    /**
     * Brings a UD queue pair from RESET through all states to RTS.
     *
     * @param queuePair the queue pair
     * @param qkey      the key that a datagram must bring to be received
     * @throws IllegalArgumentException if it is no UD queue pair; nothing is changed
     * @throws CommandException         if it is not in RESET
     */
    public void activate(QueuePair queuePair, int qkey) {
        if (queuePair.type() != QpType.UD) {
            throw new IllegalArgumentException("not a UD queue pair: " + queuePair);
        }
        modify(
                queuePair,
                QpState.INIT,
                new QpAttributes()
                        .set(QpAttribute.PKEY_INDEX, 0)
                        .set(QpAttribute.PORT, 1)
                        .set(QpAttribute.QKEY, qkey));
        modify(queuePair, QpState.RTR, new QpAttributes());
        modify(queuePair, QpState.RTS, new QpAttributes().set(QpAttribute.SEND_PSN, firstPsn(queuePair)));
    }

    /** A first number that differs from queue pair to queue pair, so that a mix-up shows. */
    private static int firstPsn(QueuePair queuePair) {
        return (queuePair.number() * 0x9E3779B1) >>> 8;
    }

    /**
     * Destroys a queue pair, in whatever state; nothing is flushed. Completions written before stay in their queue.
     * It cannot be posted to any more, and its number is not used again soon. If they go into vendors' queues, this is for the thread that polls
     * them: their driver forgets what is left of it. If its receives are shared, it is for the thread that posts these.
     *
     * @param queuePair the queue pair
     * @throws CommandException if it is not one of this NIC, or was destroyed
     */
    public void destroy(QueuePair queuePair) {
        retireHeld(queuePair, drive.call(() -> device.destroyQueuePair(queuePair.number())));
        find(queuePair).forVendors(vendor -> vendor.forget(queuePair.number()));
        queuePairs.removeIf(host -> host.queuePair == queuePair);
    }

    /**
     * Destroys a queue pair as {@link #destroy(QueuePair)}, and takes its completions that have not been polled out of its completion queues:
     * nothing of it comes after. To be called by the thread that polls both queues, without an open cursor.
     *
     * <p>A queue with many writers or pollers, and one that merges, cannot be purged. Then nothing is done; destroy the queue pair with the
     * other method, and go by the number: completions that carry it are the old ones', it is not given out again before all others of its slot.
     *
     * @param queuePair the queue pair
     * @return completions taken out
     * @throws IllegalStateException if a queue cannot be purged, or another thread polls it; nothing is done
     * @throws CommandException      if it is not one of this NIC, or was destroyed
     */
    public int destroyAndPurge(QueuePair queuePair) {
        return purgeRound(queuePair, () -> destroy(queuePair));
    }

    /**
     * Brings a queue pair into RESET, as {@link #modify}, and takes its completions that have not been polled out of its completion queues,
     * as {@link #destroyAndPurge}.
     *
     * @param queuePair the queue pair
     * @return completions taken out
     * @throws IllegalStateException as {@link #destroyAndPurge}
     * @throws CommandException      as {@link #destroyAndPurge}
     */
    public int resetAndPurge(QueuePair queuePair) {
        return purgeRound(queuePair, () -> modify(queuePair, QpState.RESET, new QpAttributes()));
    }

    private int purgeRound(QueuePair queuePair, Runnable stop) {
        HostQp host = find(queuePair);
        int purged = purge(host); // a queue that refuses does so before anything is changed
        stop.run();
        return purged + purge(host); // the device is done with it, so nothing follows these
    }

    private HostQp find(QueuePair queuePair) {
        for (HostQp host : queuePairs) {
            if (host.queuePair == queuePair) {
                return host;
            }
        }
        throw new CommandException(
                "no queue pair of this NIC, or destroyed: QP 0x" + Integer.toHexString(queuePair.number()));
    }

    private static int purge(HostQp host) {
        int purged = purge(host.sendCq, host.queuePair);
        return host.receiveCq == host.sendCq ? purged : purged + purge(host.receiveCq, host.queuePair);
    }

    /** A vendor's driver passes over what it does not know any more. Receives of a shared queue are free again, as with every driver. */
    private static int purge(Object queue, QueuePair queuePair) {
        if (!(queue instanceof CompletionQueue ours)) {
            return 0;
        }
        final SharedReceiveQueue shared = queuePair.sharedReceives();
        return ours.purge(queuePair.number(), gone -> {
            if (shared != null && CqeOpcode.isReceive(gone.opcode())) {
                shared.retire(gone.wqeCounter());
            }
        });
    }

    /** The receive of a shared queue whose completion the device still held when the queue pair came to its end: it is free again. */
    private static void retireHeld(QueuePair queuePair, int counter) {
        if (counter != Device.NONE_HELD) {
            queuePair.sharedReceives().retire(counter);
        }
    }

    /** Describes a NIC to be made. Not thread-safe. */
    public static final class Builder {
        private static final int MOST_QUEUE_PAIRS = 1 << 20;

        private int maxQueuePairs = 1 << 12;
        private long copyLimitBytes = Long.MAX_VALUE;
        private NanoClock clock = SystemNanoClock.INSTANCE;
        private DeviceFaults faults = DeviceFaults.NONE;
        private WireFaults wireFaults;
        private VendorProfile profile;
        private long commandTimeoutNs = 10_000_000_000L;

        private Builder() {}

        /**
         * Sets how many queue pairs there may be at a time.
         *
         * @param maxQueuePairs a power of two, 1 to 2^20
         * @return this
         * @throws IllegalArgumentException if it is none
         */
        public Builder maxQueuePairs(int maxQueuePairs) {
            if (maxQueuePairs < 1 || maxQueuePairs > MOST_QUEUE_PAIRS || Integer.bitCount(maxQueuePairs) != 1) {
                throw new IllegalArgumentException(
                        "queue pairs must be a power of two, 1 to " + MOST_QUEUE_PAIRS + ": " + maxQueuePairs);
            }
            this.maxQueuePairs = maxQueuePairs;
            return this;
        }

        /**
         * Sets how many bytes of each message are really copied; the rest is checked and counted only.
         *
         * @param copyLimitBytes bytes, 0 or more
         * @return this
         * @throws IllegalArgumentException if it is negative
         */
        public Builder copyLimitBytes(long copyLimitBytes) {
            if (copyLimitBytes < 0) {
                throw new IllegalArgumentException("copy limit must be 0 bytes or more: " + copyLimitBytes);
            }
            this.copyLimitBytes = copyLimitBytes;
            return this;
        }

        /**
         * Sets the clock of a started device (its completions' timestamps, its waits) and of the callers' waits.
         *
         * @param clock a monotonic clock
         * @return this
         */
        public Builder clock(NanoClock clock) {
            this.clock = Objects.requireNonNull(clock, "clock");
            return this;
        }

        /**
         * Sets what completions and payload pass through.
         *
         * @param faults the faults
         * @return this
         */
        public Builder faults(DeviceFaults faults) {
            this.faults = Objects.requireNonNull(faults, "faults");
            return this;
        }

        /**
         * Sets what happens to packets between queue pairs; unless set, they all arrive at once. Reliable connections deliver each message
         * once and in order all the same, or fail with RETRY_EXC_ERR.
         *
         * @param wireFaults the faults; of this NIC alone
         * @return this
         */
        public Builder wireFaults(WireFaults wireFaults) {
            this.wireFaults = Objects.requireNonNull(wireFaults, "wire faults");
            return this;
        }

        /**
         * Lets the NIC post its asynchronous events as a vendor's does, see {@link SimNic#asynchronousEvents}. Its completion queues may be of
         * any profile.
         *
         * @param profile the vendor
         * @return this
         */
        public Builder profile(VendorProfile profile) {
            this.profile = Objects.requireNonNull(profile, "profile");
            return this;
        }

        /**
         * Sets how long a control command may take.
         *
         * @param commandTimeoutNs nanoseconds; 0 does not wait, {@code Long.MAX_VALUE} waits for ever
         * @return this
         * @throws IllegalArgumentException if it is negative
         */
        public Builder commandTimeoutNs(long commandTimeoutNs) {
            this.commandTimeoutNs = Deadline.requireTimeout(commandTimeoutNs);
            return this;
        }

        /**
         * Makes the NIC. It runs nothing yet.
         *
         * @return the NIC
         */
        public SimNic create() {
            return new SimNic(this);
        }
    }
}
