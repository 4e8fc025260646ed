package io.cqring.simnic.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class WorkloadFileTest {
    private static final String KNOWN =
            " (known: all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, reduce,"
                    + " isend, irecv, barrier, incast, epoch_end)";
    private static final String SIZE_RULE =
            "msg_size must be a whole number of bytes, 0 to 9223372036854775807, or blank: ";
    private static final String QUOTE_RULE = "a quoted field is not closed, or has text after its closing quote: ";

    @TempDir
    Path directory;

    @Test
    void shouldReadTheFullFormatWithPhysicalLineNumbers() {
        assertEquals(
                List.of(
                        new Collective(CollectiveKind.ALL_REDUCE, 8, 3),
                        new Collective(CollectiveKind.REDUCE_SCATTER, 6_422_958_080L, 4),
                        new Collective(CollectiveKind.BARRIER, 0, 5),
                        new Collective(CollectiveKind.EPOCH_END, 0, 6)),
                read("""
                        [rank0 ~ rank127]
                        comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count
                        CommType.all_reduce,CommGroup.dp_group,16,8,init.model_setup,None,None,,None,None,None,1
                        CommType.reduce_scatter,CommGroup.dp_group,16,6422958080,step,None,None,,None,None,None,1
                        CommType.barrier,None,None,,step,None,None,,None,None,None,1
                        CommType.epoch_end,None,None,0,,None,None,,None,None,None,1
                        """));
    }

    @Test
    void shouldNeedOnlyTwoColumnsInAnyOrder() {
        assertEquals(
                List.of(new Collective(CollectiveKind.REDUCE, 7, 2), new Collective(CollectiveKind.ISEND, 9, 3)),
                read("msg_size,comm_type\n7,reduce\n9,CommType.isend\n"));
    }

    @Test
    void shouldIgnoreColumnsItDoesNotKnowEvenTwiceTheSame() {
        assertEquals(
                List.of(new Collective(CollectiveKind.REDUCE, 7, 2)),
                read("x,msg_size,x,comm_type,\nmsg_size,7,8,reduce,\n"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"\n", "\r\n", "\r"})
    void shouldCountLinesWithEachKindOfLineEnd(String end) {
        String text = String.join(
                end, "[rank0 ~ rank7]", "comm_type,msg_size", "reduce,7", "", "isend,9", "barrier,0", "", "", "");
        List<Collective> expected = List.of(
                new Collective(CollectiveKind.REDUCE, 7, 3),
                new Collective(CollectiveKind.ISEND, 9, 5),
                new Collective(CollectiveKind.BARRIER, 0, 6));
        assertEquals(expected, read(text));
        assertEquals(expected, read(text.strip()), "no line end after the last line");
        assertEquals(expected, read(text + "   " + end + "\t"), "blank lines with spaces in them");
    }

    @Test
    void shouldReadQuotedFieldsAndCountTheLinesInsideThem() {
        assertEquals(
                List.of(
                        new Collective(CollectiveKind.REDUCE, 7, 3),
                        new Collective(CollectiveKind.ISEND, 9, 4),
                        new Collective(CollectiveKind.BARRIER, 0, 6)),
                read(
                        "\"[rank0 ~ rank7]\"\n\"comm_type\",stage,\"msg_size\"\n\"CommType.reduce\",\"a, \"\"b\"\"\",\"7\"\n"
                                + "isend,\"two\nlines\",9\nbarrier,\"\",\n"));
        assertEquals(
                List.of(new Collective(CollectiveKind.REDUCE, 7, 2), new Collective(CollectiveKind.ISEND, 9, 6)),
                read("comm_type,stage,msg_size\r\nreduce,\"a\r\nb\r\n\r\n\",7\r\nisend,,9\r\n"));
    }

    @Test
    void shouldAcceptAByteOrderMark() {
        List<Collective> expected = List.of(new Collective(CollectiveKind.REDUCE, 7, 3));
        assertEquals(expected, read("\uFEFF[rank0 ~ rank7]\ncomm_type,msg_size\nreduce,7\n"));
        assertEquals(
                List.of(new Collective(CollectiveKind.REDUCE, 7, 2)), read("\uFEFFcomm_type,msg_size\nreduce,7\n"));
    }

    @Test
    void shouldIgnoreSpacesAroundNamesAndValues() {
        assertEquals(
                List.of(new Collective(CollectiveKind.REDUCE, 7, 3), new Collective(CollectiveKind.ISEND, 0, 4)),
                read(" [rank0~rank7] \n comm_type , msg_size\n reduce , 7 \nisend,  \n".stripLeading()));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "00, 0",
        "4096, 4096",
        "0004096, 4096",
        "6400000000, 6400000000",
        "6.4e9, 6400000000",
        "6.4E+9, 6400000000",
        "4096.0, 4096",
        "4096., 4096",
        "1500e-2, 15",
        "0e999, 0",
        "9223372036854775807, 9223372036854775807",
        "9.223372036854775807e18, 9223372036854775807"
    })
    void shouldReadSizesThatAreWholeNumbers(String value, long bytes) {
        assertEquals(
                bytes, read("comm_type,msg_size\nreduce," + value + "\n").get(0).bytes());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-1",
                "-0",
                "+1",
                "1.5",
                "6.42e1000",
                "1e-1",
                "1e999",
                "1e1000000000",
                "9223372036854775808",
                "99999999999999999999999999",
                "None",
                "NaN",
                "Infinity",
                "0x10",
                "1_000",
                "1 000",
                "12L",
                "1e",
                ".5",
                "e9",
                "٣",
                "4096B",
                "(blank)"
            })
    void shouldRefuseEveryOtherSize(String value) {
        assertEquals(
                "jobs.csv line 3: " + SIZE_RULE + value,
                error("comm_type,msg_size\nreduce,1\nreduce," + value + "\nisend,bad too\n"));
    }

    @Test
    void shouldRefuseAnEndlessNumberAtOnceAndShowItsStart() {
        assertEquals(
                "jobs.csv line 2: " + SIZE_RULE + "1".repeat(160) + "...",
                error("comm_type,msg_size\nreduce," + "1".repeat(5_000_000) + "\n"));
        assertEquals(
                "jobs.csv line 2: " + SIZE_RULE + "1".repeat(160),
                error("comm_type,msg_size\nreduce," + "1".repeat(160) + "\n"));
    }

    static Stream<Arguments> wrongFiles() {
        return Stream.of(
                // comm_type
                wrong(
                        "comm_type,msg_size\nreduce,1\nCommType.all_scatter,1\n",
                        "line 3: unknown comm_type: CommType.all_scatter" + KNOWN),
                wrong("comm_type,msg_size\n,1\n", "line 2: unknown comm_type: (blank)" + KNOWN),
                wrong("comm_type,msg_size\nALL_REDUCE,1\n", "line 2: unknown comm_type: ALL_REDUCE" + KNOWN),
                wrong("comm_type,msg_size\nCommType.,1\n", "line 2: unknown comm_type: CommType." + KNOWN),
                wrong(
                        "comm_type,msg_size\n\"a\nb\u202Ec\",1\n",
                        "line 2: unknown comm_type: a\\u000ab\\u202ec" + KNOWN),
                wrong("comm_type,msg_size\nnope,nope\n", "line 2: unknown comm_type: nope" + KNOWN),
                wrong(
                        "[rank0 ~ rank7]\r\n\r\ncomm_type,msg_size\r\n\r\nnope,1\r\n",
                        "line 5: unknown comm_type: nope" + KNOWN),
                wrong(
                        "comm_type,stage,msg_size\nreduce,\"1\n2\n3\",1\nnope,,1\n",
                        "line 5: unknown comm_type: nope" + KNOWN),
                // header
                wrong(
                        "comm_type,stage,size\nreduce,,1\n",
                        "line 1: missing column: msg_size (columns found: comm_type, stage, size)"),
                wrong(
                        "[rank0 ~ rank7]\nmsg_size,stage\n1,x\n",
                        "line 2: missing column: comm_type (columns found: msg_size, stage)"),
                wrong(
                        "CommType.reduce,8\n",
                        "line 1: missing column: comm_type, msg_size (columns found: CommType.reduce, 8)"),
                wrong(
                        "Comm_Type,MSG_SIZE\nreduce,8\n",
                        "line 1: missing column: comm_type, msg_size (columns found: Comm_Type, MSG_SIZE)"),
                wrong(
                        "# my job\ncomm_type,msg_size\nreduce,8\n",
                        "line 1: missing column: comm_type, msg_size (columns found: # my job)"),
                wrong(
                        "comm_type;msg_size\nreduce;8\n",
                        "line 1: missing column: comm_type, msg_size (columns found: comm_type;msg_size)"),
                wrong("comm_type,msg_size,msg_size\nreduce,8,8\n", "line 1: a column may appear only once: msg_size"),
                wrong("comm_type,comm_type,msg_size\n", "line 1: a column may appear only once: comm_type"),
                // rank range
                wrong("[rank0 - rank7]\n", "line 1: the rank range must look like [rank0 ~ rank7]: [rank0 - rank7]"),
                wrong("[rank1 ~ rank7]\n", "line 1: the rank range must look like [rank0 ~ rank7]: [rank1 ~ rank7]"),
                wrong("[rank0 ~ rankN]\n", "line 1: the rank range must look like [rank0 ~ rank7]: [rank0 ~ rankN]"),
                wrong("[rank0 ~ rank7\n", "line 1: the rank range must look like [rank0 ~ rank7]: [rank0 ~ rank7"),
                wrong(
                        "[rank0 ~ rank7] x\n",
                        "line 1: the rank range must look like [rank0 ~ rank7]: [rank0 ~ rank7] x"),
                wrong(
                        "\n[rank0 ~ rank7],,\n",
                        "line 2: the rank range must look like [rank0 ~ rank7]: [rank0 ~ rank7],,"),
                wrong(
                        "[rank0 ~ rank7]\n[rank0 ~ rank7]\n",
                        "line 2: missing column: comm_type, msg_size (columns found: [rank0 ~ rank7])"),
                wrong("comm_type,msg_size\n[rank0 ~ rank7],1\n", "line 2: unknown comm_type: [rank0 ~ rank7]" + KNOWN),
                // truncated and over-full
                wrong("", "line 1: the file ends before the line with the column names (needed: comm_type, msg_size)"),
                wrong(
                        "\n \n",
                        "line 3: the file ends before the line with the column names (needed: comm_type, msg_size)"),
                wrong(
                        "[rank0 ~ rank7]\n",
                        "line 2: the file ends before the line with the column names (needed: comm_type, msg_size)"),
                wrong("comm_type,msg_size", "line 1: no data line follows the column names"),
                wrong("[rank0 ~ rank7]\ncomm_type,msg_size\n\n\n", "line 2: no data line follows the column names"),
                wrong(
                        "comm_type,msg_size,stage\nreduce,1,x\nreduce,1",
                        "line 3: a record must have as many fields as there are columns: 2 fields, 3 columns"),
                wrong(
                        "comm_type,msg_size,stage\nred",
                        "line 2: a record must have as many fields as there are columns: 1 fields, 3 columns"),
                wrong(
                        "comm_type,msg_size\nreduce,1,2\n",
                        "line 2: a record must have as many fields as there are columns: 3 fields, 2 columns"),
                wrong("comm_type,msg_size\nreduce,1\nreduce,\"1\nreduce,2\n", "line 3: " + QUOTE_RULE + "reduce,\"1"),
                wrong("comm_type,msg_size\n\n\"reduce\"x,1\n", "line 3: " + QUOTE_RULE + "\"reduce\"x,1"),
                wrong("\"comm_type,msg_size\nreduce,1\n", "line 1: " + QUOTE_RULE + "\"comm_type,msg_size"));
    }

    private static Arguments wrong(String text, String message) {
        return Arguments.of(text, message);
    }

    @ParameterizedTest
    @MethodSource("wrongFiles")
    void shouldRefuseAWrongFileWithOneLineThatNamesFileLineValueAndRule(String text, String message) {
        assertEquals("jobs.csv " + message, error(text));
    }

    @Test
    void shouldReportAWrongLineHoweverLateItComes() {
        assertEquals(
                "jobs.csv line 10002: unknown comm_type: nope" + KNOWN,
                error("comm_type,msg_size\n" + "reduce,1\n".repeat(10_000) + "nope,1\n"));
    }

    /**
     * Cut anywhere, a file whose last column is not its size is either refused or holds only whole lines, the last
     * perhaps short of its tail.
     */
    @Test
    void shouldNeverTakeACutLineForADifferentCollective() {
        String text = """
                [rank0 ~ rank7]
                comm_type,msg_size,stage,count
                CommType.all_reduce,123456,"a,b",1
                CommType.isend,98765,c,1
                """;
        Collective first = new Collective(CollectiveKind.ALL_REDUCE, 123_456, 3);
        Collective second = new Collective(CollectiveKind.ISEND, 98_765, 4);
        int refused = 0;
        for (int length = 0; length < text.length(); length++) {
            String cut = text.substring(0, length);
            try {
                List<Collective> read = read(cut);
                assertTrue(read.equals(List.of(first)) || read.equals(List.of(first, second)), cut);
            } catch (WorkloadException e) {
                assertFalse(e.getMessage().contains("\n"), e.getMessage());
                refused++;
            }
        }
        // accepted: the first record complete with or without its last digit or line end, the second likewise
        assertEquals(text.length() - 5, refused);
    }

    @Test
    void shouldRefuseTextThatIsNotUtf8WithItsLine() throws IOException {
        Path file = directory.resolve("jobs.csv");
        Files.write(file, "comm_type,msg_size\nreduce,1\nr\u00E9duce,1\n".getBytes(StandardCharsets.ISO_8859_1));
        assertEquals(
                "jobs.csv line 3: the text is not UTF-8: byte 0xe9",
                message(assertThrows(WorkloadException.class, () -> WorkloadFile.read(file))));

        Files.write(file, "comm_type,msg_size\nreduce,1\n".getBytes(StandardCharsets.UTF_16));
        assertEquals(
                "jobs.csv line 1: the text is not UTF-8: byte 0xfe",
                message(assertThrows(WorkloadException.class, () -> WorkloadFile.read(file))));

        Files.write(file, new byte[] {'a', '\n', (byte) 0xE2, (byte) 0x82});
        assertEquals(
                "jobs.csv line 2: the text is not UTF-8: byte 0xe2",
                message(assertThrows(WorkloadException.class, () -> WorkloadFile.read(file))),
                "cut inside a character");
    }

    @Test
    void shouldRefuseAFileThatIsNotThereOrNotAFile() throws IOException {
        assertEquals(
                "absent.csv: cannot be read: no such file",
                message(assertThrows(
                        WorkloadException.class, () -> WorkloadFile.read(directory.resolve("absent.csv")))));

        Path folder = Files.createDirectory(directory.resolve("folder"));
        assertEquals(
                "folder: is a directory, not a workload file",
                message(assertThrows(WorkloadException.class, () -> WorkloadFile.read(folder))));

        Path file = Files.writeString(directory.resolve("file"), "x");
        String through =
                message(assertThrows(WorkloadException.class, () -> WorkloadFile.read(file.resolve("jobs.csv"))));
        assertTrue(through.startsWith("file/jobs.csv: cannot be read: "), through);
        assertFalse(through.contains("\n"), through);
    }

    @Test
    void shouldSayWhyAFileCannotBeRead() {
        assertEquals("access denied", WorkloadFile.reason(new AccessDeniedException("jobs.csv")));
        assertEquals(
                "too many links", WorkloadFile.reason(new FileSystemException("jobs.csv", null, "too many links")));
        assertEquals("device gone", WorkloadFile.reason(new IOException("device gone")));
        assertEquals("IOException", WorkloadFile.reason(new IOException()));
    }

    @Test
    void shouldRefuseAFileBeyondTheLargestSize() throws IOException {
        Path file = directory.resolve("jobs.csv");
        String head = "comm_type,msg_size\nreduce,7\n";
        Files.writeString(file, head + " ".repeat(WorkloadFile.MAX_FILE_BYTES - head.length()));
        assertEquals(1, WorkloadFile.read(file).collectives().size());
        Files.writeString(file, head + " ".repeat(WorkloadFile.MAX_FILE_BYTES + 1 - head.length()));
        assertEquals(
                "jobs.csv: is larger than 33554432 bytes",
                message(assertThrows(WorkloadException.class, () -> WorkloadFile.read(file))));
    }

    @Test
    void shouldNameTheWorkloadByThePathItWasGiven() throws IOException {
        Path file = directory.resolve("jobs.csv");
        Files.writeString(file, "comm_type,msg_size\nreduce,7\n");
        assertEquals(file.toString(), WorkloadFile.read(file).name());
    }

    @Test
    void shouldNeverCutTheNameOfAFile() {
        String deep = "a folder with a long name/".repeat(10) + "jobs.csv";
        assertEquals(
                deep + ": cannot be read: no such file",
                message(assertThrows(WorkloadException.class, () -> WorkloadFile.read(directory.resolve(deep)))));
    }

    @Test
    void shouldKeepAStrangeFileNameOnOneLine() throws IOException {
        Path file = directory.resolve("two\nlines.csv");
        Files.writeString(file, "x\n");
        assertEquals(
                "two\\u000alines.csv line 1: missing column: comm_type, msg_size (columns found: x)",
                message(assertThrows(WorkloadException.class, () -> WorkloadFile.read(file))));
    }

    private List<Collective> read(String text) {
        Path file = directory.resolve("jobs.csv");
        try {
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return WorkloadFile.read(file).collectives();
    }

    private String error(String text) {
        return message(assertThrows(WorkloadException.class, () -> read(text)));
    }

    /** The message without the temporary directory. */
    private String message(WorkloadException e) {
        String prefix = directory + "/";
        assertTrue(e.getMessage().startsWith(prefix), e.getMessage());
        return e.getMessage().substring(prefix.length());
    }
}
