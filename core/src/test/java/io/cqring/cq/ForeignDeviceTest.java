package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A device that is not Java: the C header says what Java says, and a C process that goes by it is a good device. */
@Tag("bothroutes")
class ForeignDeviceTest {
    private static final Path HEADER = Path.of("src", "main", "c", "cqring.h");
    private static final Path DEVICE = Path.of("src", "test", "c", "cq_device.c");
    private static final Pattern CONSTANT =
            Pattern.compile("^#define CQRING_(\\w+) +(0x[0-9A-Fa-f]+|\\d+)$", Pattern.MULTILINE);
    private static final Pattern ANY_MACRO = Pattern.compile("^#define (\\w+)", Pattern.MULTILINE);

    @TempDir
    static Path folder;

    /** Every constant of the header, by name. */
    private static Map<String, Long> constants() throws IOException {
        Map<String, Long> constants = new TreeMap<>();
        Matcher matcher = CONSTANT.matcher(Files.readString(HEADER));
        while (matcher.find()) {
            constants.put(matcher.group(1), Long.decode(matcher.group(2)));
        }
        return constants;
    }

    /** What Java has for each; shifts as the lowest bit that its own functions set. */
    private static Map<String, Long> ofJava() throws IllegalAccessException {
        Map<String, Long> java = new TreeMap<>();
        java.put("VERSION", 1L);
        java.put("CONSUMER_SEQUENCE", (long) CqRegion.CONSUMER_SEQUENCE);
        java.put("PRODUCER_SEQUENCE", (long) CqRegion.PRODUCER_SEQUENCE);
        java.put("LOST_ENTRIES", (long) CqRegion.LOST_ENTRIES);
        java.put("REJECTED_DOORBELLS", (long) CqRegion.REJECTED_DOORBELLS);
        java.put("DEAD", (long) CqRegion.DEAD);
        java.put("CLOSED", (long) CqRegion.CLOSED);
        java.put("FIRST_SLOT", (long) CqRegion.FIRST_SLOT);
        java.put("SHORT_BYTES", (long) CqeLayout.SHORT_BYTES);
        java.put("STANDARD_BYTES", (long) CqeLayout.STANDARD_BYTES);
        java.put("LONG_BYTES", (long) CqeLayout.LONG_BYTES);
        java.put("HEADER_OFFSET", (long) CqeLayout.HEADER_OFFSET);
        java.put("TIMESTAMP_OFFSET", (long) CqeLayout.TIMESTAMP_OFFSET);
        java.put("PAYLOAD_OFFSET", (long) CqeLayout.PAYLOAD_OFFSET);
        java.put("SHORT_WORK_REQUEST_ID_OFFSET", (long) CqeLayout.workRequestIdOffset(CqeLayout.SHORT_BYTES));
        java.put("WORK_REQUEST_ID_OFFSET", (long) CqeLayout.workRequestIdOffset(CqeLayout.STANDARD_BYTES));
        java.put("OWNER_MASK", CqeLayout.OWNER_MASK);
        java.put("OPCODE_SHIFT", lowestBit(CqeLayout.header(1, false, 0, 0, 0)));
        java.put("SOLICITED_SHIFT", lowestBit(CqeLayout.header(0, true, 0, 0, 0)));
        java.put("COUNTER_SHIFT", lowestBit(CqeLayout.header(0, false, 1, 0, 0)));
        java.put("QP_SHIFT", lowestBit(CqeLayout.header(0, false, 0, 1, 0)));
        java.put("SYNDROME_SHIFT", lowestBit(CqeLayout.header(0, false, 0, 0, 1)));
        java.put("IMMEDIATE_SHIFT", lowestBit(CqeLayout.length(0, 1)));
        java.put("FLAGS_SHIFT", lowestBit(CqeLayout.detail(0, 1, 0)));
        java.put("SOURCE_QP_SHIFT", lowestBit(CqeLayout.detail(0, 0, 1)));
        for (Field field : CqeLayout.class.getFields()) {
            if (field.getName().startsWith("FLAG_")) {
                java.put(field.getName(), (long) field.getInt(null));
            }
        }
        for (Field field : CqeOpcode.class.getFields()) { // public ones: what a device may write
            if (Modifier.isStatic(field.getModifiers()) && field.getType() == int.class) {
                java.put("OP_" + field.getName(), (long) field.getInt(null));
            }
        }
        return java;
    }

    private static long lowestBit(long word) {
        return Long.numberOfTrailingZeros(word);
    }

    @Test
    void theHeaderAndJavaHaveTheSameConstants() throws IOException, IllegalAccessException {
        assertEquals(ofJava(), constants());
    }

    /** A constant in another form than the test can read would go unseen. */
    @Test
    void theTestReadsEveryMacroOfTheHeader() throws IOException {
        String text = Files.readString(HEADER);
        List<String> names = new ArrayList<>();
        Matcher matcher = ANY_MACRO.matcher(text);
        while (matcher.find()) {
            names.add(matcher.group(1).replaceFirst("^CQRING_", ""));
        }
        assertTrue(names.remove("H"), "the include guard");
        assertTrue(names.size() > 40, names::toString);
        names.sort(null);
        assertEquals(new ArrayList<>(constants().keySet()), names);
    }

    private static Process start(String... command) throws IOException {
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    private static void assertEndsWell(Process process, String what) throws IOException, InterruptedException {
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(120, TimeUnit.SECONDS), what + " does not end");
        assertEquals("0: ", process.exitValue() + ": " + output, what);
    }

    /** The device, compiled; the header's own assertions hold or it does not compile. */
    private static String device() throws IOException, InterruptedException {
        Path program = folder.resolve("cq_device");
        if (!Files.exists(program)) {
            Process gcc;
            try {
                gcc = start(
                        "gcc",
                        "-std=c11",
                        "-O2",
                        "-Wall",
                        "-Wextra",
                        "-Wpedantic",
                        "-Wconversion",
                        "-Werror",
                        "-I" + HEADER.getParent(),
                        "-o",
                        program.toString(),
                        DEVICE.toString());
            } catch (IOException noCompiler) {
                System.out.println("SKIPPED: a device in C: no gcc, " + noCompiler.getMessage());
                return Assumptions.abort("no gcc");
            }
            assertEndsWell(gcc, "gcc");
        }
        return program.toString();
    }

    /** More entries than fit, from a process that must wait for room: each comes once, in order, whole. */
    @SuppressWarnings("ThreadPriorityCheck") // gives a core to the other process
    @ParameterizedTest
    @CsvSource({
        "32, 1, 0",
        "64, 1, 1",
        "128, 1, 4294967293",
        "32, 8, 5",
        "64, 8, 4294967293",
        "128, 8, 9223372036854775800",
        "32, 1024, 9223372036854775800",
        "64, 1024, 1023",
        "128, 1024, 0"
    })
    void shouldPollWhatADeviceInCWrites(int stride, int capacity, long startSequence) throws Exception {
        String device = device();
        int entries = capacity == 1024 ? 100_000 : capacity * 1_500;
        long bytes = CompletionQueue.requiredBytes(capacity, stride);
        Path file = Files.createTempFile(folder, "queue", ".bin");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer map = channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
            CompletionQueue queue = CompletionQueue.ofCapacity(capacity)
                    .strideBytes(stride)
                    .startSequence(startSequence)
                    .memory(QueueMemory.wrap(map))
                    .create();
            byte[] header = new byte[128];
            map.get(0, header);
            Process process = start(
                    device,
                    file.toString(),
                    Integer.toString(capacity),
                    Integer.toString(stride),
                    Long.toUnsignedString(startSequence),
                    Integer.toString(entries));
            long[] next = {0};
            CompletionHandler handler = completion -> verify(completion, next[0]++, stride);
            while (next[0] != entries) {
                if (queue.poll(handler, 100) == 0 && !process.isAlive() && queue.poll(handler, 100) == 0) {
                    break; // it ended, and nothing more is there
                }
                Thread.yield();
            }
            assertEndsWell(process, "the device");
            assertEquals(entries, next[0]);
            assertEquals(startSequence + entries, queue.producerSequence());
            assertEquals(0, queue.size());
            assertEquals(0, queue.poll(handler, 100));
            byte[] headerAfterwards = new byte[128];
            map.get(0, headerAfterwards);
            assertArrayEquals(header, headerAfterwards, "the region's header is not the device's");
        }
    }

    private static void verify(Completion completion, long n, int stride) {
        boolean right = completion.workRequestId() == n * 31
                && completion.opcode() == CqeOpcode.RECV_IMM
                && completion.isSolicited() == (n % 2 == 1)
                && completion.wqeCounter() == n % (1 << 24)
                && completion.qpNumber() == n * 7 % (1 << 24)
                && completion.syndrome() == n % 5
                && completion.byteCount() == n + 1
                && completion.immediate() == (int) ~n
                && completion.vendorError() == n % 256
                && completion.flags() == CqeLayout.FLAG_IMMEDIATE + CqeLayout.FLAG_GRH
                && completion.sourceQp() == n % (1 << 24)
                && (stride == 32 || completion.timestamp() == ~n);
        for (int word = 0; stride != 32 && word < (stride - 40) / 8; word++) {
            right &= completion.payload(word) == n * 1000 + word;
        }
        if (!right) {
            throw new AssertionError("entry " + n + ": " + completion);
        }
    }
}
