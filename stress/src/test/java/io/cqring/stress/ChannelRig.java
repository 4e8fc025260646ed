package io.cqring.stress;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CompletionPoller;
import io.cqring.cq.CompletionQueue;
import io.cqring.cq.CqOverrunException;
import io.cqring.cq.OverrunPolicy;
import io.cqring.notify.CompletionChannel;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A channel with two queues, and threads that do what a scenario says: calls of one thread are separated by commas, threads by bars; what comes
 * before a semicolon is done first. A call is a name and, for most, the queue, and for some how many entries.
 *
 * <p>Loaded by {@link HookedClasses}, so that the classes it uses are the hooked ones.
 */
public final class ChannelRig implements Explorer.Run {
    private static final int CAPACITY = 4;
    private static final int QUEUES = 2;

    /** Entries that a scenario writes to one queue, at most. */
    private static final int MOST = 4;

    private final CompletionChannel channel = CompletionChannel.ofQueues(QUEUES);
    private final CompletionQueue[] queues = new CompletionQueue[QUEUES];

    /** By thread and queue; null if the queues have one poller each. */
    private final CompletionPoller[][] pollers;

    private final String[] threads;

    /** Entries of all queues that the scenario writes: whoever gets the last one of shared queues closes the channel. */
    private final int expected;

    private final int[] written = new int[QUEUES];
    private final int[] lastHanded = new int[QUEUES];
    private final int[][] timesHanded = new int[QUEUES][MOST + 1];
    private int handed;

    /** Events of each queue that were taken and are not acknowledged, and whether it is gone. */
    private final int[] held = new int[QUEUES];

    private final boolean[] destroyed = new boolean[QUEUES];

    /** What a selector would wait for, or null if there is none. */
    private Pipe.SourceChannel selected;

    /**
     * A rig.
     *
     * @param scenario what the threads do
     * @param shared   whether the queues have many pollers
     */
    public ChannelRig(String scenario, boolean shared) {
        String[] parts = scenario.split(";", -1);
        this.threads = parts[parts.length - 1].split("\\|", -1);
        for (int queue = 0; queue != QUEUES; queue++) {
            CompletionQueue.Builder described = CompletionQueue.ofCapacity(CAPACITY)
                    .overrunPolicy(scenario.contains("die ") ? OverrunPolicy.ERROR : OverrunPolicy.BACKPRESSURE);
            queues[queue] = channel.create(shared ? described.sharedPollers() : described);
        }
        this.pollers = shared ? new CompletionPoller[threads.length + 1][QUEUES] : null;
        for (int thread = 0; shared && thread <= threads.length; thread++) {
            for (int queue = 0; queue != QUEUES; queue++) {
                pollers[thread][queue] = queues[queue].newPoller(1);
            }
        }
        this.expected = scenario.split("write ", -1).length + 2 * scenario.split("writeTwo ", -1).length - 3;
        if (parts.length != 1) {
            run(threads.length, parts[0]);
        }
    }

    @Override
    public List<Runnable> bodies() {
        List<Runnable> bodies = new ArrayList<>();
        for (int thread = 0; thread != threads.length; thread++) {
            int self = thread;
            bodies.add(() -> run(self, threads[self]));
        }
        return bodies;
    }

    private void run(int thread, String calls) {
        try {
            for (String call : calls.split(",", -1)) {
                call(thread, call.trim().split(" ", -1));
            }
        } catch (InterruptedException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void call(int thread, String... words) throws InterruptedException, IOException {
        int queue = words.length > 1 ? Integer.parseInt(words[1]) : 0;
        int count = words.length > 2 ? Integer.parseInt(words[2]) : 0;
        switch (words[0]) {
            case "host" -> host(queue, count);
            case "hostBriefly" -> {
                await(queue, 1, TimeUnit.MILLISECONDS); // whatever it says, the next wait is to end
                host(queue, count);
            }
            case "hostUntilClose" -> untilClose(() -> host(queue, count));
            case "armAndWait" -> {
                queues[queue].arm(ArmMode.NEXT); // wrong: does not look at the answer
                require(channel.getEvent(1, TimeUnit.DAYS) == queues[queue], "an event of another queue");
                channel.ack(queues[queue], 1);
                host(queue, count);
            }
            case "answer" -> answer(queue, count);
            case "write" -> {
                require(queues[queue].writer().write(0, ++written[queue], 0, 0, 0), "no room");
                queues[queue].writer().release();
            }
            case "writeTwo" -> { // one event
                for (int i = 0; i != 2; i++) {
                    require(queues[queue].writer().stage(0, ++written[queue], 0, 0, 0), "no room");
                }
                queues[queue].writer().flush();
                queues[queue].writer().release();
            }
            case "close" -> channel.close();
            case "closeQueue" -> queues[queue].close();
            case "poll" -> takeOne(thread, queue);
            case "share" -> untilClose(() -> share(thread, queue));
            case "shareToEnd" -> untilClose(() -> shareToEnd(pollers[thread][queue]));
            case "die" -> { // by an overrun
                while (queues[queue].writer().write(0, ++written[queue], 0, 0, 0)) {
                    // not yet
                }
                queues[queue].writer().release();
            }
            case "shareBriefly" ->
                untilClose(() -> {
                    channel.await(pollers[thread][queue], 1, TimeUnit.MILLISECONDS);
                    takeOne(thread, queue);
                    share(thread, queue);
                });
            case "waitBriefly" -> // whoever else waits is to hear of what came as it left
                untilClose(() -> {
                    if (channel.await(pollers[thread][queue], 1, TimeUnit.MILLISECONDS)) {
                        takeOne(thread, queue);
                    }
                });
            case "shareOne" -> {
                require(channel.await(pollers[thread][queue], 1, TimeUnit.DAYS), "time ran out");
                takeOne(thread, queue);
            }
            case "serveOne" -> {
                CompletionQueue ready = channel.getEvent(1, TimeUnit.DAYS);
                require(ready != null, "time ran out");
                channel.ack(ready, 1);
                takeOne(thread, ready == queues[0] ? 0 : 1);
            }
            case "interruptSelf" -> Thread.currentThread().interrupt(); // so that the next wait ends at once
            case "shareOrLeave" ->
                untilClose(() -> {
                    try {
                        share(thread, queue);
                    } catch (InterruptedException e) {
                        // It has left; what came for it is another's.
                    }
                });
            case "look" -> // deals out what has come; takes what nobody waits for by name
                untilClose(() -> {
                    CompletionQueue ready = channel.getEvent(0, TimeUnit.SECONDS);
                    if (ready != null) {
                        channel.ack(ready, 1);
                        takeOne(thread, ready == queues[0] ? 0 : 1);
                    }
                });
            case "select" -> { // a selector waits from now on: nothing is there
                selected = (Pipe.SourceChannel) channel.selectable();
                require(channel.getEvent(0, TimeUnit.SECONDS) == null, "an event");
            }
            case "lookAll" -> { // as one that was selected, which does not come again unless the pipe says so
                CompletionQueue ready = channel.getEvent(0, TimeUnit.SECONDS);
                while (ready != null) {
                    channel.ack(ready, 1);
                    takeAndArm(thread, ready == queues[0] ? 0 : 1);
                    ready = channel.getEvent(0, TimeUnit.SECONDS);
                }
            }
            case "take" -> { // at most one event, and says later that it was done with
                CompletionQueue ready = channel.getEvent(1, TimeUnit.MILLISECONDS);
                if (ready != null) {
                    held[ready == queues[0] ? 0 : 1]++;
                }
            }
            case "ack" -> {
                int owed = held[queue];
                held[queue] = 0;
                if (owed != 0) {
                    channel.ack(queues[queue], owed);
                }
            }
            case "destroy" -> {
                require(channel.destroy(queues[queue], 1, TimeUnit.DAYS), "time ran out");
                require(held[queue] == 0, "destroyed while an event of it was held");
                destroyed[queue] = true;
            }
            case "arm" -> require(!pollers[thread][queue].arm(ArmMode.NEXT), "something is there");
            case "serve" -> untilClose(() -> serve(thread));
            case "serveBriefly" ->
                untilClose(() -> {
                    CompletionQueue ready = channel.getEvent(1, TimeUnit.MILLISECONDS);
                    if (ready != null) {
                        channel.ack(ready, 1);
                    }
                    serve(thread);
                });
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    /** A call that may wait. */
    @FunctionalInterface
    private interface Waiting {
        void run() throws InterruptedException;
    }

    private static void untilClose(Waiting call) throws InterruptedException {
        try {
            call.run();
        } catch (IllegalStateException e) {
            if (!"completion channel is closed".equals(e.getMessage())
                    && !"completion queue is closed".equals(e.getMessage())) {
                throw e;
            }
        }
    }

    private boolean await(int queue, long timeout, TimeUnit unit) throws InterruptedException {
        boolean ready = channel.await(queues[queue], timeout, unit);
        queues[queue].releasePoller();
        return ready;
    }

    /** Waits for so many entries, one wait after another. */
    private void host(int queue, int count) throws InterruptedException {
        int[] got = {0};
        try {
            while (got[0] < count) {
                require(channel.await(queues[queue], 1, TimeUnit.DAYS), "time ran out");
                queues[queue].poll(
                        completion -> {
                            got[0]++;
                            hand(queue, completion.workRequestId());
                            require(completion.workRequestId() == ++lastHanded[queue], "out of order");
                        },
                        CAPACITY);
            }
        } finally {
            if (!queues[queue].isClosed()) {
                queues[queue].poll(completion -> {}, 0); // takes the role, if the channel was closed before we had it
                queues[queue].releasePoller();
            }
        }
    }

    /** The same by events of any queue; those of the other queue are not for us. */
    private void answer(int queue, int count) throws InterruptedException {
        int got = 0;
        while (got < count) {
            boolean ready = queues[queue].arm(ArmMode.NEXT);
            queues[queue].releasePoller();
            while (!ready) {
                CompletionQueue event = channel.getEvent(1, TimeUnit.DAYS);
                require(event != null, "time ran out");
                channel.ack(event, 1);
                ready = event == queues[queue];
            }
            got += queues[queue].poll(completion -> hand(queue, completion.workRequestId()), CAPACITY);
            queues[queue].releasePoller();
        }
    }

    private void hand(int queue, long number) {
        timesHanded[queue][(int) number]++;
        handed++;
    }

    private void takeOne(int thread, int queue) {
        pollers[thread][queue].poll(completion -> hand(queue, completion.workRequestId()), 1);
        if (handed == expected) {
            channel.close();
        }
    }

    /** Waits for entries of one queue and takes them one by one, until somebody has got the last. */
    private void share(int thread, int queue) throws InterruptedException {
        while (true) {
            require(channel.await(pollers[thread][queue], 1, TimeUnit.DAYS), "time ran out");
            takeOne(thread, queue);
        }
    }

    /** The same, until the queue is closed or dead. */
    private void shareToEnd(CompletionPoller poller) throws InterruptedException {
        try {
            while (true) {
                require(channel.await(poller, 1, TimeUnit.DAYS), "time ran out");
                poller.poll(completion -> {}, 1);
            }
        } catch (CqOverrunException dead) {
            // That is the end.
        }
    }

    /** Arms both queues and takes what is there, then waits for events of either, until somebody has got the last entry. */
    private void serve(int thread) throws InterruptedException {
        for (int queue = 0; queue != QUEUES; queue++) {
            takeAndArm(thread, queue);
        }
        while (true) {
            CompletionQueue queue = channel.getEvent(1, TimeUnit.DAYS);
            require(queue != null, "time ran out");
            channel.ack(queue, 1);
            takeAndArm(thread, queue == queues[0] ? 0 : 1);
        }
    }

    private void takeAndArm(int thread, int queue) {
        do {
            takeOne(thread, queue);
        } while (pollers[thread][queue].arm(ArmMode.NEXT));
    }

    private static void require(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }

    /** The counts, once all threads have ended. */
    @Override
    public void check() {
        try {
            settle();
            if (selected != null) {
                channel.close();
                selected.close();
            }
        } catch (InterruptedException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void settle() throws InterruptedException, IOException {
        for (int queue = 0; queue != QUEUES; queue++) {
            int self = queue;
            if (queues[queue].isDead()) {
                continue;
            }
            if (pollers != null && !queues[queue].isClosed()) {
                CompletionPoller poller = pollers[threads.length][queue];
                while (poller.poll(completion -> hand(self, completion.workRequestId()), 1) != 0) {
                    // all that is left
                }
            } else if (!queues[queue].isClosed()) {
                queues[queue].poll(completion -> hand(self, completion.workRequestId()), CAPACITY);
            }
            for (int number = 1; number <= MOST && !queues[queue].isClosed(); number++) {
                require(
                        timesHanded[queue][number] == (number <= written[queue] ? 1 : 0),
                        "entry " + number + " of queue " + queue + " was handed out " + timesHanded[queue][number]
                                + " times");
            }
        }
        if (!channel.isClosed()) {
            boolean silent = selected != null && selected.read(ByteBuffer.allocate(1)) == 0;
            CompletionQueue left = channel.getEvent(0, TimeUnit.SECONDS);
            require(!silent || left == null, "asleep for good: the selector, beside an event");
            while (left != null) {
                channel.ack(left, 1);
                left = channel.getEvent(0, TimeUnit.SECONDS);
            }
            long raised = queues[0].events() + queues[1].events();
            require(
                    channel.events() + channel.spuriousEvents() == raised,
                    "events raised " + raised + ", arrived " + channel.events());
        }
        for (int number = 0; number != QUEUES; number++) {
            CompletionQueue queue = queues[number];
            if (destroyed[number]) {
                continue;
            }
            require(channel.unacknowledged(queue) == 0, "an event was given out and is not acknowledged");
            require(channel.destroy(queue, 0, TimeUnit.SECONDS), "a queue is still held");
        }
    }
}
