package io.cqring.simnic.cli;

import io.cqring.cq.Completion;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.notify.Moderation;
import io.cqring.simnic.DeviceCounter;
import io.cqring.simnic.SimNic;
import io.cqring.simnic.dma.AccessRights;
import io.cqring.simnic.dma.MemoryRegion;
import io.cqring.simnic.dma.ProtectionDomain;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.fault.NamedFaults;
import io.cqring.simnic.fault.WireFaults;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.qp.QueuePair;
import io.cqring.simnic.qp.WqeLayout;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * A whole system on one thread and a virtual clock: three hosts, the device, the wire, and a scheduler that picks who is next by the seed. Everything is
 * booked, and anything that does not add up ends the run: a work request that completes twice, never, out of order or with the wrong outcome; bytes that
 * are not those sent; credits that do not come back; a host that sleeps beside a completion; counters that disagree. The same seed gives the same run, to
 * the last line of its log.
 */
final class Simulation {
    private static final int HOSTS = 3;
    private static final int WINDOW = 8;
    private static final int SLOT_BYTES = 64;

    /** Between two looks for sleepers. */
    private static final int SETTLE_EVERY = 400;

    /** A host that sleeps wakes by itself once in so many turns. */
    private static final int TIME_OUT = 20;

    /** Passes of the device that are enough for whatever is under way, time-outs and moderation included. */
    private static final int ENOUGH_PASSES = 60_000;

    private static final Moderation[] MODERATIONS = {
        Moderation.OFF, Moderation.ofMicros(4, 20), Moderation.ofMicros(64, 100), Moderation.ofMicros(0, 7)
    };

    /** What a host may ask for. */
    private enum Kind {
        SEND,
        SEND_IMM,
        WRITE,
        WRITE_IMM,
        READ,
        FETCH_ADD,
        COMPARE_SWAP
    }

    private static final List<Kind> KINDS = List.of(Kind.values());

    /** Something did not add up. */
    static final class Violation extends RuntimeException {
        private static final long serialVersionUID = 1;

        Violation(String message) {
            super(message);
        }
    }

    /**
     * What came of it.
     *
     * @param violation what did not add up; null if all did
     * @param digest    SHA-256 of the log
     * @param posted    work requests posted, receives included
     * @param polled    completions polled
     * @param sleeps    times that a host went to sleep
     */
    record Outcome(String violation, String digest, long posted, long polled, long sleeps) {}

    private final int steps;
    private final Consumer<String> log;
    private final SplittableRandom random;
    private final NamedFaults faults;
    private final SimNic nic;
    private final RunQueues queues;
    private final EventSource events;
    private final Host[] hosts = new Host[HOSTS];
    private final Link[] links = new Link[HOSTS * HOSTS];
    private final MessageDigest digest;
    private long posted;
    private long polled;
    private long sleeps;
    private long nextId = 1;
    private long time;

    Simulation(long seed, int steps, Optional<VendorProfile> profile, List<String> faultNames, Consumer<String> log) {
        this.steps = steps;
        this.log = log;
        this.random = new SplittableRandom(seed);
        try {
            this.digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
        final RunOptions options = new RunOptions(
                HOSTS,
                SLOT_BYTES,
                SLOT_BYTES,
                profile.map(VendorProfile::usualBytes).orElse(32 << random.nextInt(3)),
                OptionalInt.of(RunOptions.smallestDepth(HOSTS, WINDOW)),
                WINDOW,
                seed,
                false,
                1,
                new EventOptions(PollMode.EVENT, Optional.of(MODERATIONS[random.nextInt(MODERATIONS.length)]), 1, 0),
                profile);
        this.faults = faultNames.isEmpty() ? null : new NamedFaults(seed);
        for (String name : faultNames) {
            options.requireSuits(faults.add(name));
        }
        final SimNic.Builder builder = SimNic.builder().faults(faults == null ? DeviceFaults.NONE : faults);
        final WireFaults wire = faults == null ? null : faults.wireFaults();
        if (wire != null) {
            builder.wireFaults(wire);
        }
        profile.ifPresent(builder::profile);
        this.nic = builder.create();
        this.queues = profile.isPresent() ? new VendorRunQueues(nic, options) : new ReferenceRunQueues(nic, options);
        this.events = queues.events();
        final ProtectionDomain domain = nic.allocateProtectionDomain();
        for (int host = 0; host < HOSTS; host++) {
            hosts[host] = new Host(host);
            queues.create(host);
        }
        for (int one = 0; one < HOSTS; one++) {
            for (int other = one + 1; other < HOSTS; other++) {
                final QueuePair a = queues.createQueuePair(one, domain, WINDOW);
                final QueuePair b = queues.createQueuePair(other, domain, WINDOW);
                nic.connect(a, b);
                links[one * HOSTS + other] = new Link(domain, one, other, a, b);
                links[other * HOSTS + one] = new Link(domain, other, one, b, a);
            }
        }
    }

    /** Runs it. */
    Outcome run() {
        String violation = null;
        try {
            for (int step = 0; step < steps; step++) {
                act();
                if (step % SETTLE_EVERY == SETTLE_EVERY - 1) {
                    settle();
                }
            }
            finish();
        } catch (Violation found) {
            violation = found.getMessage();
            note("violation: " + violation);
        } finally {
            nic.close();
            events.close();
        }
        return new Outcome(violation, HexFormat.of().formatHex(digest.digest()), posted, polled, sleeps);
    }

    private void note(String what) {
        final String line = time + " " + what + "\n";
        digest.update(line.getBytes(StandardCharsets.UTF_8));
        log.accept(line);
    }

    private static void require(boolean holds, String what) {
        if (!holds) {
            throw new Violation(what);
        }
    }

    // ---- The scheduler

    private void act() {
        time++;
        final int dice = random.nextInt(10);
        if (dice < 4) {
            nic.step();
        } else if (dice == 4) {
            deliverEvents();
        } else {
            final Host host = hosts[random.nextInt(HOSTS)];
            if (host.asleep && random.nextInt(TIME_OUT) == 0) {
                note("host " + host.number + " has waited long enough");
                host.asleep = false;
            }
            if (!host.asleep) {
                host.act();
            }
        }
    }

    private void deliverEvents() {
        try {
            for (int raised = events.next(0); raised != EventSource.NONE; raised = events.next(0)) {
                note("event for " + raised);
                hosts[raised].asleep = false;
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", interrupted);
        }
    }

    /** Lets the device finish what is under way; whoever sleeps then must have nothing to take. */
    private void settle() {
        int passes = 0;
        int quiet = 0;
        while (quiet < 200 && passes < ENOUGH_PASSES) {
            passes++;
            quiet = nic.step() == 0 && nic.isIdle() ? quiet + 1 : 0;
        }
        if (quiet < 200) {
            return; // a sender that waits for a receive keeps it busy
        }
        deliverEvents();
        for (Host host : hosts) {
            if (host.asleep) {
                final long before = polled;
                queues.poll(host.number, host::take, 1);
                require(polled == before, "host " + host.number + " slept beside a completion");
            }
        }
        note("settled");
    }

    /** Every request must complete, every credit come back. */
    private void finish() {
        for (Link link : links) {
            if (link != null) {
                link.postLast();
            }
        }
        long quietPasses = 0;
        while (isOutstanding()) {
            final long before = polled;
            for (Link link : links) {
                if (link != null) {
                    link.postReceives();
                    link.ring();
                }
            }
            nic.step();
            deliverEvents();
            for (Host host : hosts) {
                queues.poll(host.number, host::take, 64);
            }
            quietPasses = polled == before ? quietPasses + 1 : 0;
            require(quietPasses < ENOUGH_PASSES, "never completed: " + firstOutstanding());
        }
        for (Link link : links) {
            require(
                    link == null || link.qp.freeSends() == WINDOW,
                    "credits are missing: " + link + " has " + (link == null ? 0 : link.qp.freeSends()) + " of "
                            + WINDOW);
        }
        for (Host host : hosts) {
            require(queues.lostEntries(host.number) == 0, "the queue of host " + host.number + " lost completions");
        }
        require(
                nic.counter(DeviceCounter.COMPLETIONS_WRITTEN) == polled,
                "the device wrote " + nic.counter(DeviceCounter.COMPLETIONS_WRITTEN) + " completions, the hosts took "
                        + polled);
        note("finished " + posted + " " + polled);
    }

    private boolean isOutstanding() {
        for (Link link : links) {
            if (link != null && !(link.sends.isEmpty() && link.arrivals.isEmpty())) {
                return true;
            }
        }
        return false;
    }

    private String firstOutstanding() {
        for (Link link : links) {
            if (link != null && !link.sends.isEmpty()) {
                return link.sends.peek() + " of " + link;
            }
            if (link != null && !link.arrivals.isEmpty()) {
                return "the arrival of " + link.arrivals.peek() + " on " + link;
            }
        }
        return "nothing";
    }

    // ---- Hosts

    private final class Host {
        final int number;
        boolean asleep;

        Host(int number) {
            this.number = number;
        }

        void act() {
            final Link out = links[number * HOSTS + (number + 1 + random.nextInt(HOSTS - 1)) % HOSTS];
            switch (random.nextInt(16)) {
                case 0, 1, 2, 3, 4 -> out.post(false);
                case 5, 6, 7, 8 -> links[out.to * HOSTS + number].postReceive();
                case 9, 10 -> out.ring();
                case 11, 12, 13, 14 -> {
                    final int limit = random.nextInt(9);
                    final int taken = queues.poll(number, this::take, limit);
                    require(taken <= limit, "a poll of " + limit + " took " + taken);
                }
                default -> sleep();
            }
        }

        private void sleep() {
            out();
            while (queues.poll(number, this::take, 16) != 0) {
                // until it is empty
            }
            events.arm(number);
            if (queues.poll(number, this::take, 16) == 0) {
                asleep = true;
                sleeps++;
                note("host " + number + " sleeps");
            }
        }

        /** A host that sleeps has told the device all it wants. */
        private void out() {
            for (Link link : links) {
                if (link != null && link.from == number) {
                    link.ring();
                }
            }
        }

        void take(Completion completion) {
            polled++;
            final boolean receive = CqeOpcode.isReceive(completion.opcode());
            note("host " + number + " takes " + completion);
            for (Link link : links) {
                if (link != null
                        && (receive
                                ? link.to == number && link.peer.number() == completion.qpNumber()
                                : link.from == number && link.qp.number() == completion.qpNumber())) {
                    if (receive) {
                        link.arrived(completion);
                    } else {
                        link.completed(completion);
                    }
                    return;
                }
            }
            throw new Violation("nobody's completion: " + completion);
        }
    }

    // ---- Links

    private record Wr(long id, Kind kind, long sequence, boolean signaled, int bytes, long value) {
        boolean takesReceive() {
            return kind == Kind.SEND || kind == Kind.SEND_IMM || kind == Kind.WRITE_IMM;
        }
    }

    /** From one host to another: what is under way, and the memory that it moves between. */
    private final class Link {
        final int from;
        final int to;
        final QueuePair qp;
        final QueuePair peer;
        final ArrayDeque<Wr> sends = new ArrayDeque<>();
        final ArrayDeque<Wr> arrivals = new ArrayDeque<>();
        final ArrayDeque<Long> receives = new ArrayDeque<>();

        /** A slot for each entry of the send queue; the same at the peer, with a word for atomics behind it; and of its receive queue. */
        private final QueueMemory local = QueueMemory.allocate(WINDOW * SLOT_BYTES);

        private final QueueMemory remote = QueueMemory.allocate((WINDOW + 2) * SLOT_BYTES);
        private final QueueMemory buffers = QueueMemory.allocate(WINDOW * SLOT_BYTES);
        private final MemoryRegion localRegion;
        private final MemoryRegion remoteRegion;
        private final MemoryRegion bufferRegion;
        private long sum;
        private long swapped;

        Link(ProtectionDomain domain, int from, int to, QueuePair qp, QueuePair peer) {
            this.from = from;
            this.to = to;
            this.qp = qp;
            this.peer = peer;
            final long base = (from * HOSTS + to + 1L) << 32;
            localRegion = nic.registerMemory(domain, base, local, AccessRights.LOCAL_WRITE);
            remoteRegion = nic.registerMemory(domain, base + (1 << 20), remote, AccessRights.ALL);
            bufferRegion = nic.registerMemory(domain, base + (2 << 20), buffers, AccessRights.LOCAL_WRITE);
        }

        private int slot(long sequence) {
            return (int) (sequence % WINDOW) * SLOT_BYTES;
        }

        /** Unsignaled requests are known to be done only when one behind them is. */
        void postLast() {
            if (!sends.isEmpty() && !sends.peekLast().signaled()) {
                post(true);
            }
        }

        void post(boolean last) {
            if (qp.freeSends() == 0) {
                return;
            }
            final Kind kind = KINDS.get(random.nextInt(KINDS.size()));
            final long id = nextId++;
            final long sequence = qp.sendsPosted();
            final boolean atomic = kind == Kind.FETCH_ADD || kind == Kind.COMPARE_SWAP;
            // One slot is always left for a request with a completion: unsignaled ones alone would fill the queue for
            // good.
            final boolean signaled = last || qp.freeSends() == 1 || random.nextInt(10) < 7;
            final int bytes = atomic ? Long.BYTES : random.nextInt(SLOT_BYTES / Long.BYTES + 1) * Long.BYTES;
            final int flags =
                    (signaled ? WqeLayout.FLAG_SIGNALED : 0) + (random.nextInt(4) == 0 ? WqeLayout.FLAG_SOLICITED : 0);
            final int slot = slot(sequence);
            final long here = localRegion.address() + slot;
            final long there = remoteRegion.address() + slot;
            final long atomics = remoteRegion.address() + (long) WINDOW * SLOT_BYTES;
            final int lkey = localRegion.lkey();
            final int rkey = remoteRegion.rkey();
            final long value;
            if (kind == Kind.READ) {
                value = id;
                fill(remote, slot, bytes, id); // nothing under way touches this slot
            } else if (atomic) {
                value = kind == Kind.FETCH_ADD ? sum : swapped;
            } else {
                value = id;
                fill(local, slot, bytes, id);
            }
            final boolean taken = switch (kind) {
                case SEND -> qp.postSend(id, here, bytes, lkey, flags);
                case SEND_IMM -> qp.postSendImm(id, here, bytes, lkey, (int) id, flags);
                case WRITE -> qp.postWrite(id, here, bytes, lkey, there, rkey, flags);
                case WRITE_IMM -> qp.postWriteImm(id, here, bytes, lkey, there, rkey, (int) id, flags);
                case READ -> qp.postRead(id, here, bytes, lkey, there, rkey, flags);
                case FETCH_ADD -> qp.postFetchAdd(id, here, lkey, atomics, rkey, id, flags);
                case COMPARE_SWAP -> qp.postCompareSwap(id, here, lkey, atomics + Long.BYTES, rkey, swapped, id, flags);
            };
            require(taken, "a send queue with room refused " + kind + " on " + this);
            if (kind == Kind.FETCH_ADD) {
                sum += id;
            } else if (kind == Kind.COMPARE_SWAP) {
                swapped = id;
            }
            posted++;
            final Wr wr = new Wr(id, kind, sequence, signaled, bytes, value);
            sends.add(wr);
            if (wr.takesReceive()) {
                arrivals.add(wr);
            }
            note("host " + from + " posts " + wr);
        }

        void postReceives() {
            while (peer.freeReceives() != 0) {
                postReceive();
            }
        }

        /** At the peer. */
        void postReceive() {
            if (peer.freeReceives() == 0) {
                return;
            }
            final long id = nextId++;
            final long address = bufferRegion.address() + slot(peer.receivesPosted());
            require(
                    peer.postRecv(id, address, SLOT_BYTES, bufferRegion.lkey()),
                    "a receive queue with room refused on " + this);
            posted++;
            receives.add(id);
            peer.ringReceiveDoorbell();
        }

        void ring() {
            qp.ringSendDoorbell();
        }

        /** Of the sender. */
        void completed(Completion completion) {
            Wr wr = sends.poll();
            while (wr != null && !wr.signaled() && wr.id() != completion.workRequestId()) {
                wr = sends.poll(); // done too: completions come in order
            }
            require(
                    wr != null && wr.id() == completion.workRequestId(),
                    "out of order, twice, or nobody's: " + completion + ", expected " + wr + " on " + this);
            require(completion.status() == CompletionStatus.SUCCESS, completion + " of " + wr + " on " + this);
            require(wr.signaled(), "nobody asked for " + completion);
            require(
                    completion.wqeCounter() == (int) wr.sequence() && completion.opcode() == opcode(wr.kind()),
                    "not as posted: " + completion + " of " + wr);
            switch (wr.kind()) {
                case WRITE, WRITE_IMM -> check(remote, slot(wr.sequence()), wr);
                case READ -> check(local, slot(wr.sequence()), wr);
                case FETCH_ADD, COMPARE_SWAP ->
                    require(
                            local.getLong(slot(wr.sequence())) == wr.value(),
                            "an atomic found " + local.getLong(slot(wr.sequence())) + ": " + wr + " on " + this);
                default -> {}
            }
            require(qp.retireSend(completion.wqeCounter()) > 0, "no credit came back with " + completion);
        }

        private static int opcode(Kind kind) {
            return switch (kind) {
                case SEND, SEND_IMM -> CqeOpcode.RC_SEND;
                case WRITE, WRITE_IMM -> CqeOpcode.RC_RDMA_WRITE;
                case READ -> CqeOpcode.RC_RDMA_READ;
                case FETCH_ADD -> CqeOpcode.RC_FETCH_ADD;
                case COMPARE_SWAP -> CqeOpcode.RC_COMP_SWAP;
            };
        }

        /** Of the receiver. */
        void arrived(Completion completion) {
            final Wr wr = arrivals.poll();
            final Long receive = receives.poll();
            require(
                    wr != null && receive != null && receive == completion.workRequestId(),
                    "out of order, twice, or nobody's: " + completion + ", expected receive " + receive + " on "
                            + this);
            require(
                    completion.status() == CompletionStatus.SUCCESS && completion.byteCount() == wr.bytes(),
                    completion + " for " + wr + " on " + this);
            final boolean hasImmediate = wr.kind() != Kind.SEND;
            require(
                    completion.hasImmediate() == hasImmediate
                            && (!hasImmediate || completion.immediate() == (int) wr.id()),
                    "another immediate: " + completion + " for " + wr);
            if (wr.kind() != Kind.WRITE_IMM) {
                check(buffers, slot(completion.wqeCounter()), wr);
            }
            require(peer.retireReceive(completion.wqeCounter()) == 1, "no credit came back with " + completion);
        }

        private static void fill(QueueMemory memory, int offset, int bytes, long id) {
            for (int word = 0; word < bytes; word += Long.BYTES) {
                memory.putLong(offset + word, id * 0x9E3779B97F4A7C15L + word);
            }
        }

        private void check(QueueMemory memory, int offset, Wr wr) {
            for (int word = 0; word < wr.bytes(); word += Long.BYTES) {
                require(
                        memory.getLong(offset + word) == wr.id() * 0x9E3779B97F4A7C15L + word,
                        "not the bytes that were sent: " + wr + " on " + this + ", byte " + word);
            }
        }

        @Override
        public String toString() {
            return from + " to " + to;
        }
    }
}
