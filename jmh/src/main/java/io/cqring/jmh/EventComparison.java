package io.cqring.jmh;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleSupplier;

/**
 * What events cost: a writer whose queue nobody has armed (ArmCost), a thread that sleeps until it is woken (WakeLatency), and the host, as
 * queues become many (EqScaling).
 */
final class EventComparison {
    private static final int WARM_UP_ROUNDS = 8;
    private static final int FEWEST_QUEUES_OF_WHOLE = 4096;

    private final Map<String, String> conditions = Conditions.describe();
    private final List<PairedRounds> questions = new ArrayList<>();

    /**
     * Measures all three.
     *
     * @param rounds     rounds of each question
     * @param slices     entries of a turn of ArmCost, in units of {@link RoundRunner#SLICE}
     * @param roundTrips of a turn of WakeLatency
     * @param mostQueues queues of the largest case of EqScaling
     */
    EventComparison(int rounds, int slices, int roundTrips, int mostQueues) {
        armCost(rounds, slices);
        wakeLatency(rounds, roundTrips);
        scaling(rounds, mostQueues);
    }

    private void armCost(int rounds, int slices) {
        try (RoundRunner runner = new RoundRunner()) {
            for (int batch : new int[] {1, 16, 64}) {
                final Transfer plain = transfer(batch, false);
                final Transfer withEvents = transfer(batch, true);
                questions.add(new PairedRounds(
                                "ArmCost: publish + flush every " + batch
                                        + ", with nobody armed, against a queue without events",
                                "million entries/s")
                        .way("without events", () -> runner.run(plain, slices).entriesPerSecond() / 1e6)
                        .way("with events", () -> runner.run(withEvents, slices).entriesPerSecond() / 1e6)
                        .measure(WARM_UP_ROUNDS, rounds));
            }
        }
    }

    private static Transfer transfer(int batch, boolean withEvents) {
        return batch == 1 ? new CqringTransfer.Writing(withEvents) : new CqringTransfer.Batching(batch, withEvents);
    }

    private void wakeLatency(int rounds, int roundTrips) {
        try (WakeLoop bare = new WakeLoop.Bare().start();
                WakeLoop ours = new WakeLoop.Cqring().start();
                WakeLoop jctools = new WakeLoop.Jctools().start();
                WakeLoop disruptor = new WakeLoop.Disruptor().start()) {
            questions.add(
                    new PairedRounds("WakeLatency: from a write to the sleeping thread's having it", "microseconds")
                            .way("a word and LockSupport", () -> bare.turn(roundTrips))
                            .way("cqring, CompletionChannel", () -> ours.turn(roundTrips))
                            .way("JCTools MpscBlockingConsumerArrayQueue", () -> jctools.turn(roundTrips))
                            .way("Disruptor, BlockingWaitStrategy", () -> disruptor.turn(roundTrips))
                            .measure(WARM_UP_ROUNDS, rounds));
        }
    }

    private void scaling(int rounds, int mostQueues) {
        final PairedRounds decode =
                new PairedRounds("EqScaling: an event taken and its queue looked up", "ns per event");
        final PairedRounds whole =
                new PairedRounds("EqScaling, whole path: write, event, poll, arm, on one thread", "ns per event");
        for (int queues = 1; queues <= mostQueues; queues *= 16) {
            decode.way(queues + " queues", turn(new EventPaths.Decode(queues)));
        }
        for (int queues = FEWEST_QUEUES_OF_WHOLE; queues <= mostQueues; queues *= 16) {
            final EventPaths.Whole path = new EventPaths.Whole(queues);
            whole.way(queues + " queues", path::turn);
        }
        questions.add(decode.measure(WARM_UP_ROUNDS, rounds));
        questions.add(whole.measure(WARM_UP_ROUNDS, rounds));
    }

    private static DoubleSupplier turn(EventPaths.Decode path) {
        return path::turn;
    }

    void print(PrintWriter out) {
        conditions.forEach((name, value) -> out.printf("  %-21s %s%n", name, value));
        out.printf("  %-21s %s%n", "load average at end", Conditions.loadAverage());
        questions.forEach(question -> question.print(out));
    }

    void writeJson(Path file) throws IOException {
        final Map<String, Object> document = new LinkedHashMap<>();
        document.put("benchmark", "Events");
        document.put("conditions", conditions);
        document.put("questions", questions.stream().map(PairedRounds::document).toList());
        new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValue(file.toFile(), document);
    }
}
