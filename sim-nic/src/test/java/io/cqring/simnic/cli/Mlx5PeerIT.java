package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.cqring.cq.ArmMode;
import io.cqring.cq.Completion;
import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.simnic.profile.Mlx5Cqe;
import io.cqring.simnic.profile.Mlx5Queue;
import io.cqring.simnic.profile.TamperedMemory;
import io.cqring.simnic.qp.PostedWork;
import io.cqring.simnic.qp.WqeOpcode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Debian's mlx5 driver polls our device, and our host end polls the small device that comes with it. */
class Mlx5PeerIT {
    private static final UnaryOperator<QueueMemory> SOUND = UnaryOperator.identity();

    /** Where the next entry would cross 24 bits soon. */
    private static final long NEAR_WRAP = (1L << 24) - 37;

    @TempDir
    Path folder;

    private static List<String> options(Path script, int depth, int cqeBytes, long loops, long start) {
        return List.of(
                "--script", script.toString(),
                "--depth", Integer.toString(depth),
                "--cqe-size", Integer.toString(cqeBytes),
                "--loops", Long.toString(loops),
                "--start", Long.toString(start));
    }

    private void assertAccepted(
            String mode, Path script, int depth, int cqeBytes, long loops, long start, String... more)
            throws Exception {
        final JsonNode found = Mlx5Peer.poll(folder, SOUND, mode, options(script, depth, cqeBytes, loops, start), more);
        assertTrue(found.path("ok").asBoolean(), found::toString);
        assertEquals(loops * lines(script), found.path("completions").asLong(), found::toString);
        if (mode.equals("event")) {
            // One event per arm sequence number: the driver waits for each, and none comes that it did not ask for.
            assertTrue(found.path("events").asLong() <= found.path("arms").asLong(), found::toString);
            assertTrue(found.path("waits").asLong() <= found.path("events").asLong(), found::toString);
        }
    }

    private static long lines(Path script) throws IOException {
        try (var lines = Files.lines(script, StandardCharsets.UTF_8)) {
            return lines.filter(line -> !line.startsWith("#") && !line.isEmpty())
                    .count();
        }
    }

    @ParameterizedTest
    @CsvSource({"poll, 64", "poll, 128", "event, 64", "event, 128"})
    void theDriverAcceptsEveryDepthAndBothScripts(String mode, int cqeBytes) throws Exception {
        for (int depth = 1; depth <= 4096; depth *= 2) {
            final long loops = mode.equals("poll") ? 2 + 2L * depth / 8 : 20 + 2L * depth / 8;
            assertAccepted(mode, Mlx5Peer.shared("mixed.csv"), depth, cqeBytes, loops, 0);
            assertAccepted(mode, Mlx5Peer.shared("errors.csv"), depth, cqeBytes, loops, NEAR_WRAP);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"poll", "event"})
    void theDriverAcceptsRandomScripts(String mode) throws Exception {
        for (int run = 0; run < 6; run++) {
            final long seed = System.nanoTime();
            final Random random = new Random(seed);
            System.out.println("random script, " + mode + ": seed " + seed);
            final Path script = randomScript(random);
            assertAccepted(
                    mode,
                    script,
                    1 << random.nextInt(13),
                    random.nextBoolean() ? 64 : 128,
                    20 + random.nextInt(80),
                    random.nextBoolean() ? random.nextInt(1 << 24) : NEAR_WRAP);
        }
    }

    private Path randomScript(Random random) throws IOException {
        final String[] ops = {"send", "write", "read", "fadd", "recv", "recv_imm", "recv_inv", "req_err", "resp_err"};
        final int[] syndromes = {1, 2, 4, 5, 6, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x22};
        final List<String> lines = new ArrayList<>();
        for (int i = 0; i < 1 + random.nextInt(60); i++) {
            final String op = ops[random.nextInt(ops.length)];
            final boolean failed = op.endsWith("err");
            lines.add(op + "," + (failed ? 0 : op.equals("fadd") ? 8 : random.nextInt(1 << 20)) + ","
                    + (op.equals("recv_imm") || op.equals("recv_inv") ? random.nextInt() & 0xFFFF_FFFFL : 0) + ","
                    + (failed ? syndromes[random.nextInt(syndromes.length)] : 0) + ","
                    + (failed ? random.nextInt(256) : 0) + "," + random.nextInt(2));
        }
        final Path script = folder.resolve("random.csv");
        Files.write(script, lines, StandardCharsets.UTF_8);
        return script;
    }

    @Test
    void tenMillionCompletionsInPollMode() throws Exception {
        assertAccepted("poll", Mlx5Peer.shared("mixed.csv"), 1024, 64, 1_250_000, NEAR_WRAP);
    }

    @Test
    void aHundredThousandCompletionsInEventMode() throws Exception {
        assertAccepted("event", Mlx5Peer.shared("mixed.csv"), 16, 64, 12_500, NEAR_WRAP);
    }

    @ParameterizedTest
    @ValueSource(strings = {"8,100", "64,16", "0,50"})
    void theDriverAcceptsModeratedEvents(String moderation) throws Exception {
        assertAccepted("event", Mlx5Peer.shared("mixed.csv"), 64, 64, 2_000, 0, "--moderation", moderation);
    }

    // ---- The driver notices a broken device

    /** The word with the owner bit, as it lies in memory: little-endian here, so its last byte is the top one. */
    private static boolean isControl(long offset) {
        return offset >= 8192 && offset % 64 == 56;
    }

    @ParameterizedTest
    @CsvSource({
        "parity,  poll,  8, time ran out",
        "counter, poll,  100, wrong wr_id",
        "event,   event, 100, lost wake-up"
    })
    void theDriverNoticesABrokenDevice(String broken, String mode, int seconds, String why) throws Exception {
        final UnaryOperator<QueueMemory> sabotage = real -> new TamperedMemory(real) {
            private long entries;

            @Override
            protected long tamper(long offset, long value) {
                if (isControl(offset)) {
                    entries++;
                    if (broken.equals("parity") && entries > 64) {
                        return value ^ 1L << 56;
                    }
                    if (broken.equals("counter") && entries == 9) {
                        return value ^ 1L << 40;
                    }
                }
                return broken.equals("event") && offset == 4096 + 64 ? 0 : value;
            }
        };
        final List<String> options = new ArrayList<>(options(Mlx5Peer.shared("mixed.csv"), 64, 64, 100, 0));
        final JsonNode found = Mlx5Peer.poll(folder, sabotage, mode, seconds, options, "--timeout", "7");
        assertFalse(found.path("ok").asBoolean(), found::toString);
        assertTrue(found.path("why").asText().contains(why), found::toString);
    }

    // ---- Our host end

    /** What the script's completions must look like, worked out from the script. */
    private static final class Expected implements PostedWork {
        private final List<String[]> lines = new ArrayList<>();
        private long sends;
        private long receives;
        private long got;
        private String wrong;

        Expected(Path script) throws IOException {
            for (String line : Files.readAllLines(script, StandardCharsets.UTF_8)) {
                if (!line.startsWith("#") && !line.isEmpty()) {
                    lines.add(line.split(",", -1));
                }
            }
        }

        void take(Completion completion) {
            final String[] line = lines.get((int) (got % lines.size()));
            final boolean ofSend =
                    List.of("send", "write", "read", "fadd", "req_err").contains(line[0]);
            final long id = ofSend ? sendTag(sends++) : receiveTag(receives++);
            final boolean fits = completion.workRequestId() == id
                    && completion.qpNumber() == 7
                    && (line[0].endsWith("err") ? failed(completion, line) : succeeded(completion, line));
            if (!fits && wrong == null) {
                wrong = "completion " + got + " of " + String.join(",", line) + ": " + completion;
            }
            got++;
        }

        private static boolean failed(Completion completion, String[] line) {
            return completion.status() == Mlx5Cqe.status(Integer.decode(line[3]))
                    && completion.vendorError() == Integer.decode(line[4]);
        }

        private static boolean succeeded(Completion completion, String[] line) {
            final int opcode = switch (line[0]) {
                case "send" -> CqeOpcode.RC_SEND;
                case "write" -> CqeOpcode.RC_RDMA_WRITE;
                case "read" -> CqeOpcode.RC_RDMA_READ;
                case "fadd" -> CqeOpcode.RC_FETCH_ADD;
                case "recv" -> CqeOpcode.RECV;
                case "recv_imm" -> CqeOpcode.RECV_IMM;
                default -> CqeOpcode.RECV_INV;
            };
            return completion.status() == CompletionStatus.SUCCESS
                    && completion.opcode() == opcode
                    && completion.byteCount() == Long.parseLong(line[1])
                    && completion.immediate() == (int) (long) Long.decode(line[2])
                    && completion.isSolicited() == line[5].equals("1");
        }

        @Override
        public long sendsPosted() {
            return 0; // the first completion is that of the first one
        }

        @Override
        public long receivesPosted() {
            return 0;
        }

        @Override
        public long sendTag(long sequence) {
            return 0x5E4D_0000_0000L + sequence;
        }

        @Override
        public long receiveTag(long sequence) {
            return 0x4ECE_0000_0000L + sequence;
        }

        @Override
        public boolean isSignaled(long sequence) {
            return true;
        }

        @Override
        public int sendOpcode(long sequence) {
            return WqeOpcode.SEND;
        }
    }

    private String hostEnd(
            String script, int depth, int cqeBytes, long loops, long start, String sabotage, boolean sleeps)
            throws Exception {
        final Path file = folder.resolve("theirs");
        Files.deleteIfExists(file);
        final List<String> options = new ArrayList<>(List.of("--device-only", "--file", file.toString()));
        options.addAll(options(Mlx5Peer.shared(script), depth, cqeBytes, loops, start));
        if (sabotage != null) {
            options.addAll(List.of("--sabotage", sabotage));
        }
        final Process device = Mlx5Peer.start(folder.resolve("device.out"), options);
        try {
            while (!Files.exists(file) || Files.size(file) < Mlx5Queue.requiredBytes(depth, cqeBytes)) {
                assertTrue(device.isAlive(), "the device did not start");
            }
            final QueueMemory memory = QueueMemory.attach(file);
            while ((int) memory.getLongAcquire(4096 + 128) == 0) {
                assertTrue(device.isAlive(), "the device did not start");
            }
            final Expected expected = new Expected(Mlx5Peer.shared(script));
            final Mlx5Queue queue = Mlx5Queue.attach(memory, depth, cqeBytes, 0x42, start);
            queue.register(7, expected);
            memory.putLongRelease(4096 + 192, 1);
            final String outcome = drain(memory, queue, expected, loops * expected.lines.size(), sleeps);
            memory.putLongRelease(4096 + 192, 2);
            if (outcome == null) { // else it may find its ring full for ever, and looks at nothing else
                assertTrue(device.waitFor(60, TimeUnit.SECONDS), "the device hangs");
            }
            return outcome;
        } finally {
            device.destroyForcibly();
        }
    }

    /** Null if all came as expected. */
    private static String drain(QueueMemory memory, Mlx5Queue queue, Expected expected, long wanted, boolean sleeps) {
        final long most = TimeUnit.SECONDS.toNanos(5);
        long seen = 0;
        long start = System.nanoTime();
        while (expected.got < wanted && expected.wrong == null) {
            if (queue.poll(expected::take, 16) != 0) {
                start = System.nanoTime();
            } else if (sleeps) {
                queue.arm(ArmMode.NEXT);
                while (memory.getLongAcquire(4096 + 64) == seen) {
                    if (System.nanoTime() - start > most) {
                        return "lost wake-up at " + expected.got;
                    }
                    Thread.onSpinWait();
                }
                seen = memory.getLongAcquire(4096 + 64);
                queue.onEvent(0);
            } else if (System.nanoTime() - start > most) {
                return "nothing came after " + expected.got;
            }
        }
        queue.poll(expected::take, 0);
        return expected.wrong;
    }

    @ParameterizedTest
    @CsvSource({
        "mixed.csv,  1,    64,  50,   0",
        "mixed.csv,  64,   64,  2000, 16777179",
        "mixed.csv,  64,   128, 2000, 0",
        "errors.csv, 2,    64,  50,   16777215",
        "errors.csv, 4096, 128, 2000, 0"
    })
    void ourHostEndAcceptsTheirDevice(String script, int depth, int cqeBytes, long loops, long start) throws Exception {
        assertEquals(null, hostEnd(script, depth, cqeBytes, loops, start, null, false));
        assertEquals(null, hostEnd(script, depth, cqeBytes, loops, start, null, true));
    }

    @ParameterizedTest
    @ValueSource(strings = {"parity", "counter", "status", "event"})
    void ourHostEndNoticesTheirBrokenDevice(String sabotage) throws Exception {
        final String script = sabotage.equals("status") ? "errors.csv" : "mixed.csv";
        final String found = hostEnd(script, 64, 64, 100, 0, sabotage, sabotage.equals("event"));
        assertTrue(found != null, "not noticed: " + sabotage);
    }

    @Test
    void misuseIsOneLineAndExitCode2() throws Exception {
        final Path script = Files.writeString(folder.resolve("s.csv"), "send,0,0,0,0\n");
        final var err = new java.io.StringWriter();
        final int code = Main.execute(
                new RunCommand(),
                new java.io.PrintWriter(new java.io.StringWriter(), true),
                new java.io.PrintWriter(err, true),
                "mlx5-device",
                "--file",
                folder.resolve("f").toString(),
                "--script",
                script.toString());
        assertEquals(
                "cqring: " + script + " line 1: op,bytes,imm,syndrome,vendor,se are six fields: found 5",
                err.toString().strip());
        assertEquals(2, code);
    }
}
