package io.cqring.simnic.workload;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

/**
 * Reads workloads in the CSV format of AICB: one line per collective call.
 *
 * <pre>
 *   [rank0 ~ rank127]                                            optional
 *   comm_type,comm_group,comm_group_size,msg_size,stage,...      column names, in any order
 *   CommType.all_gather,CommGroup.tp_group,8,10485760,forward,...
 * </pre>
 *
 * <p>Used are {@code comm_type} (a {@link CollectiveKind}, with or without {@code CommType.}) and {@code msg_size}
 * (bytes; blank is 0; {@code 6.4e9} is read as the whole number it is, {@code 1.5} is refused). Other columns are
 * allowed and ignored, so the rank range and the group sizes do not limit the ranks a workload is run with. UTF-8, with
 * or without a byte-order mark; either kind of line end; quoted fields; blank lines are skipped but counted.
 *
 * <p>A file is used whole or not at all: every line is checked before anything is returned, and the first wrong one is
 * reported. A record with more or fewer fields than the header, an open quote, no header or no data line is wrong: it
 * is what a truncated file looks like. (One cut inside its very last field cannot be recognised.)
 *
 * <p><b>The built-in sample</b> is a text of our own making, not a recorded job. It was written by a small program that
 * walks through two training steps, of two micro-batches each, of an invented Mixture-of-Experts model and prints the
 * calls it would make: 8 layers of width 2048, 8192 tokens per micro-batch, 8 experts of which each token visits 2, a
 * vocabulary of 32003, two bytes per number. Parameters are broadcast first; each layer gathers and reduce-scatters its
 * activations around attention and exchanges tokens with the experts by all_to_all, forward and backward; gradients are
 * all-reduced. A fixed formula unbalances the tokens from layer to layer and each carries a few bytes of routing data,
 * so most of these sizes divide by neither ranks nor chunk; sizes of 0 occur as well. Every kind of collective occurs.
 * The program is {@code SampleRecipe} among the tests of this package; one of them holds the two against each other.
 */
public final class WorkloadFile {
    private static final String SAMPLE = "sample-moe.csv";
    private static final char BYTE_ORDER_MARK = '\uFEFF';

    /**
     * The largest file that is read. At some 90 bytes a line this is 350,000 collectives; it also ends a read from an
     * endless device.
     */
    static final int MAX_FILE_BYTES = 32 << 20;

    private WorkloadFile() {}

    /**
     * Reads and checks a whole file.
     *
     * @param file an AICB workload, at most 32 MiB
     * @return its collectives, at least one, named by the path as given
     * @throws WorkloadException if the file cannot be read or any line of it is wrong
     */
    public static Workload read(Path file) {
        String name = file.toString();
        if (Files.isDirectory(file)) {
            throw new WorkloadException(OneLine.whole(name) + ": is a directory, not a workload file");
        }
        try (InputStream in = Files.newInputStream(file)) {
            return parse(name, in);
        } catch (IOException e) {
            throw new WorkloadException(OneLine.whole(name) + ": cannot be read: " + OneLine.whole(reason(e)), e);
        }
    }

    /**
     * The built-in sample, read with the same code as any file.
     *
     * @return a few hundred collectives
     */
    public static Workload sample() {
        try (InputStream in = WorkloadFile.class.getResourceAsStream(SAMPLE)) {
            if (in == null) {
                throw new IllegalStateException("the built-in sample is missing from the class path: " + SAMPLE);
            }
            return parse(SAMPLE, in);
        } catch (IOException e) {
            throw new IllegalStateException("the built-in sample cannot be read: " + SAMPLE, e);
        }
    }

    private static Workload parse(String name, InputStream in) throws IOException {
        byte[] bytes = in.readNBytes(MAX_FILE_BYTES + 1);
        if (bytes.length > MAX_FILE_BYTES) {
            throw new WorkloadException(OneLine.whole(name) + ": is larger than " + MAX_FILE_BYTES + " bytes");
        }
        return new Workload(name, WorkloadParser.parse(name, decode(name, bytes)));
    }

    private static String decode(String name, byte[] bytes) {
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
        ByteBuffer in = ByteBuffer.wrap(bytes);
        CharBuffer out = CharBuffer.allocate(bytes.length);
        if (decoder.decode(in, out, true).isError()) {
            String firstBad = String.format(Locale.ROOT, "byte 0x%02x", bytes[in.position()] & 0xFF);
            throw WorkloadException.atLine(name, lineOf(bytes, in.position()), "the text is not UTF-8: " + firstBad);
        }
        out.flip();
        boolean marked = out.hasRemaining() && out.charAt(0) == BYTE_ORDER_MARK;
        return marked ? out.subSequence(1, out.length()).toString() : out.toString();
    }

    private static long lineOf(byte[] bytes, int position) {
        String before = new String(Arrays.copyOf(bytes, position), StandardCharsets.ISO_8859_1);
        return 1 + before.chars().filter(c -> c == '\n').count();
    }

    /** Java's own messages for these are a bare path. */
    static String reason(IOException e) {
        if (e instanceof NoSuchFileException) {
            return "no such file";
        }
        if (e instanceof AccessDeniedException) {
            return "access denied";
        }
        if (e instanceof FileSystemException failure && failure.getReason() != null) {
            return failure.getReason();
        }
        return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    }
}
