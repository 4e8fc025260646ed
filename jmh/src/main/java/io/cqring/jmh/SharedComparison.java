package io.cqring.jmh;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Rings that several may write to, or poll, in paired rounds. Two workers, so that a machine of two cores is enough. A round
 * gives every ring two turns:
 *
 * <ul>
 *   <li><em>stream</em>: one worker writes, the other polls, both on the path for many;
 *   <li><em>contended</em>: two workers fill half the ring at once, then one empties it; or one fills it, then two empty it at
 *       once. Only what two do at once is timed.
 * </ul>
 */
final class SharedComparison {
    /** Who shares the ring. */
    enum Kind {
        /** Two writers. */
        WRITERS,
        /** Two pollers. */
        POLLERS
    }

    private static final int SLICE = 1 << 14;
    private static final int FILL = SharedRing.CAPACITY / 2;
    private static final int HANG_SECONDS = 60;
    private static final int WARM_UP_ROUNDS = 4;

    private final Kind kind;
    private final Map<String, String> conditions;

    /** Entries per second, by ring, turn by turn. */
    private final Map<String, List<Double>> stream;

    private final Map<String, List<Double>> contended;

    private SharedComparison(
            Kind kind,
            Map<String, String> conditions,
            Map<String, List<Double>> stream,
            Map<String, List<Double>> contended) {
        this.kind = kind;
        this.conditions = conditions;
        this.stream = stream;
        this.contended = contended;
    }

    /** Ours first. */
    private static Map<String, Supplier<SharedRing>> contenders(Kind kind) {
        Map<String, Supplier<SharedRing>> contenders = new LinkedHashMap<>();
        if (kind == Kind.WRITERS) {
            contenders.put("cqring, write", SharedRing.Writers::new);
            contenders.put("cqring, claim of 16", SharedRing.WriterBatches::new);
            contenders.put("Agrona ManyToOneRingBuffer", SharedRing.Agrona::new);
            contenders.put("JCTools MpscArrayQueue, Unsafe", SharedRing.Mpsc::new);
        } else {
            contenders.put("cqring, claims of 64", () -> new SharedRing.Pollers(64));
            contenders.put("cqring, claims of 16", () -> new SharedRing.Pollers(16));
            contenders.put("lock round a queue, 64", () -> new SharedRing.Locked(64));
            contenders.put("lock round a queue, 16", () -> new SharedRing.Locked(16));
            contenders.put("JCTools MpmcArrayQueue, Unsafe", SharedRing.Mpmc::new);
        }
        return contenders;
    }

    /** Measures, in this JVM. Every turn's checksum is verified. */
    static SharedComparison measure(Kind kind, int rounds, double seconds) {
        Map<String, SharedRing> rings = new LinkedHashMap<>();
        contenders(kind).forEach((name, maker) -> rings.put(name, maker.get()));
        Map<String, List<Double>> stream = new LinkedHashMap<>();
        Map<String, List<Double>> contended = new LinkedHashMap<>();
        Map<String, String> conditions = Conditions.describe();
        try (Workers workers = new Workers()) {
            for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
                for (Map.Entry<String, SharedRing> ring : rings.entrySet()) {
                    double streamRate = workers.stream(ring.getValue(), seconds);
                    double contendedRate = workers.contended(kind, ring.getValue(), seconds);
                    if (round >= 0) {
                        stream.computeIfAbsent(ring.getKey(), name -> new ArrayList<>())
                                .add(streamRate);
                        contended
                                .computeIfAbsent(ring.getKey(), name -> new ArrayList<>())
                                .add(contendedRate);
                    }
                }
            }
        }
        return new SharedComparison(kind, conditions, stream, contended);
    }

    /** Puts together what several JVMs wrote by {@link #writeJson}. */
    static SharedComparison of(Kind kind, List<String> documents) throws IOException {
        ObjectMapper json = new ObjectMapper();
        Map<String, String> conditions = new LinkedHashMap<>();
        Map<String, List<Double>> stream = new LinkedHashMap<>();
        Map<String, List<Double>> contended = new LinkedHashMap<>();
        for (String document : documents) {
            var root = json.readTree(document);
            conditions = json.convertValue(root.get("conditions"), new TypeReference<>() {});
            addAll(stream, json.convertValue(root.get("stream"), new TypeReference<>() {}));
            addAll(contended, json.convertValue(root.get("contended"), new TypeReference<>() {}));
        }
        return new SharedComparison(kind, conditions, stream, contended);
    }

    private static void addAll(Map<String, List<Double>> to, Map<String, List<Double>> more) {
        more.forEach((name, list) ->
                to.computeIfAbsent(name, absent -> new ArrayList<>()).addAll(list));
    }

    private static double[] array(List<Double> list) {
        return list.stream().mapToDouble(Double::doubleValue).toArray();
    }

    void print(PrintWriter out) {
        out.printf(
                "Many %s: 64-byte entries, 56 bytes of payload in every ring, capacity %d%n",
                kind == Kind.WRITERS ? "writers" : "pollers", SharedRing.CAPACITY);
        conditions.forEach((name, value) -> out.printf("  %-21s %s%n", name, value));
        for (Map<String, List<Double>> turns : List.of(stream, contended)) {
            String ours = turns.keySet().iterator().next();
            out.printf(
                    "%n%-34s %24s   %s / this%n",
                    turns == stream
                            ? "stream: 1 writes, 1 polls"
                            : kind == Kind.WRITERS ? "contended: 2 write" : "contended: 2 poll",
                    "million entries/s",
                    ours);
            out.printf("%-34s %8s%8s%8s   %8s%8s%8s%n", "ring", "q1", "median", "q3", "q1", "median", "q3");
            turns.forEach((name, rates) -> {
                Summary rate = Summary.of(array(rates));
                Summary ratio = Summary.ofRatios(array(turns.get(ours)), array(rates));
                out.printf(
                        "%-34s %8.1f%8.1f%8.1f   %8.2f%8.2f%8.2f%n",
                        name,
                        rate.lowerQuartile() / 1e6,
                        rate.median() / 1e6,
                        rate.upperQuartile() / 1e6,
                        ratio.lowerQuartile(),
                        ratio.median(),
                        ratio.upperQuartile());
            });
        }
        out.flush();
    }

    void writeJson(Path file) throws IOException {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("benchmark", "SharedComparison " + kind);
        document.put("conditions", conditions);
        document.put("stream", stream);
        document.put("contended", contended);
        new ObjectMapper().writeValue(file.toFile(), document);
    }

    /** Two threads that take turns together. */
    private static final class Workers implements AutoCloseable {
        private final ExecutorService[] threads = {
            Executors.newSingleThreadExecutor(Workers::daemon), Executors.newSingleThreadExecutor(Workers::daemon)
        };
        private final AtomicInteger arrived = new AtomicInteger();

        private static Thread daemon(Runnable task) {
            Thread thread = new Thread(task, "worker");
            thread.setDaemon(true);
            return thread;
        }

        /** Waits for the other worker; both spin, for what follows is short. */
        private void meet() {
            int end = (arrived.getAndIncrement() | 1) + 1;
            while (arrived.get() < end) {
                Thread.onSpinWait();
            }
        }

        /** Entries per second: worker 0 writes, worker 1 takes. */
        double stream(SharedRing ring, double seconds) {
            long before = ring.sum();
            long[] sent = new long[2]; // 0: not known yet
            AtomicInteger finished = new AtomicInteger();
            double[] rate = new double[1];
            run(
                    () -> {
                        meet();
                        long start = System.nanoTime();
                        long count = 0;
                        do {
                            ring.write(0, count, SLICE);
                            count += SLICE;
                        } while (System.nanoTime() - start < seconds * 1e9);
                        sent[0] = count;
                        finished.set(1); // after the count
                        meet();
                        rate[0] = count * 1e9 / (System.nanoTime() - start);
                    },
                    () -> {
                        meet();
                        long taken = 0;
                        while (finished.get() == 0 || taken != sent[0]) {
                            int now = ring.take(1);
                            if (now == 0) {
                                Thread.onSpinWait();
                            }
                            taken += now;
                        }
                        meet();
                    });
            check(ring, before, Transfer.expectedSum(sent[0], 7));
            return rate[0];
        }

        /** Entries per second while both write, or both take. */
        double contended(Kind kind, SharedRing ring, double seconds) {
            long before = ring.sum();
            long[] phases = new long[1];
            long[] busyNs = new long[1];
            AtomicInteger go = new AtomicInteger(1);
            run(() -> work(kind, ring, 0, seconds, phases, busyNs, go), () -> work(kind, ring, 1, 0, null, null, go));
            check(ring, before, phases[0] * Transfer.expectedSum(FILL, 7));
            return phases[0] * (double) FILL * 1e9 / busyNs[0];
        }

        private void work(
                Kind kind,
                SharedRing ring,
                int worker,
                double seconds,
                long[] phases,
                long[] busyNs,
                AtomicInteger go) {
            boolean timing = worker == 0;
            long begin = System.nanoTime();
            while (true) {
                meet();
                if (go.get() == 0) {
                    return;
                }
                if (kind == Kind.POLLERS) {
                    if (worker == 0) {
                        ring.write(0, 0, FILL);
                    }
                    meet();
                }
                long start = timing ? System.nanoTime() : 0;
                if (kind == Kind.WRITERS) {
                    ring.write(worker, (long) worker * (FILL / 2), FILL / 2);
                } else {
                    empty(ring, worker);
                }
                meet();
                if (timing) {
                    busyNs[0] += System.nanoTime() - start;
                    phases[0]++;
                    if (System.nanoTime() - begin > seconds * 1e9) {
                        go.set(0);
                    }
                }
                if (kind == Kind.WRITERS && worker == 1) {
                    empty(ring, 1);
                }
            }
        }

        private static void empty(SharedRing ring, int worker) {
            while (ring.take(worker) != 0) {}
        }

        private static void check(SharedRing ring, long before, long expected) {
            long sum = ring.sum() - before;
            if (sum != expected) {
                throw new IllegalStateException(
                        ring.getClass().getSimpleName() + ": words must add up to " + expected + ": " + sum);
            }
        }

        private void run(Runnable zero, Runnable one) {
            arrived.set(0);
            Future<?> first = threads[0].submit(zero);
            Future<?> second = threads[1].submit(one);
            try {
                first.get(HANG_SECONDS, TimeUnit.SECONDS);
                second.get(HANG_SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException failed) {
                throw new IllegalStateException("a turn failed", failed.getCause());
            } catch (TimeoutException hung) {
                throw new IllegalStateException("a turn did not end within " + HANG_SECONDS + " s", hung);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", interrupted);
            }
        }

        @Override
        public void close() {
            threads[0].shutdownNow();
            threads[1].shutdownNow();
        }
    }
}
