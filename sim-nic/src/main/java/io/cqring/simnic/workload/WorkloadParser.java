package io.cqring.simnic.workload;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVRecord;

/** Turns the text of one workload file into collectives, or says which line is wrong and why. Used once. */
final class WorkloadParser {
    private static final String COMM_TYPE = "comm_type";
    private static final String MSG_SIZE = "msg_size";
    private static final Pattern RANK_RANGE = Pattern.compile("\\[rank0 *~ *rank(0|[1-9][0-9]*)\\]");

    /** Bounded, because the cost of an exact decimal grows with the square of its length. */
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,40}(\\.[0-9]{0,40})?([eE][+-]?[0-9]{1,3})?");

    private final String name;
    private final String text;
    private final List<Collective> collectives = new ArrayList<>();

    private boolean rankRangeSeen;
    private List<String> columns;
    private int commTypeColumn;
    private int msgSizeColumn;
    private long headerLine;

    private WorkloadParser(String name, String text) {
        this.name = name;
        this.text = text;
    }

    /**
     * Parses a whole file.
     *
     * @param name how errors call the file
     * @param text its text, without byte-order mark
     * @return all data lines, at least one
     * @throws WorkloadException at the first wrong line
     */
    static List<Collective> parse(String name, String text) {
        WorkloadParser parser = new WorkloadParser(name, text);
        try (CSVParser records = CSVParser.parse(text, CSVFormat.RFC4180)) {
            parser.takeAll(records);
        } catch (IOException e) {
            throw new UncheckedIOException("reading a String cannot fail", e);
        }
        return parser.collectives;
    }

    private void takeAll(CSVParser records) {
        Iterator<CSVRecord> iterator = records.iterator();
        // A record may span lines (quoted line ends), so its own line is taken before the parser moves on to it.
        long line = 1;
        while (hasNext(iterator, line)) {
            CSVRecord record = iterator.next();
            if (!isBlankLine(record)) {
                take(record, line);
            }
            line = records.getCurrentLineNumber() + 1;
        }
        if (columns == null) {
            throw error(line, "the file ends before the line with the column names (needed: comm_type, msg_size)");
        }
        if (collectives.isEmpty()) {
            throw error(headerLine, "no data line follows the column names");
        }
    }

    /** Asking commons-csv for the next record is what reads it, and what fails on broken quoting. */
    private boolean hasNext(Iterator<CSVRecord> iterator, long line) {
        try {
            return iterator.hasNext();
        } catch (UncheckedIOException e) {
            String start = text.lines().skip(line - 1).findFirst().orElse("");
            throw error(
                    line, "a quoted field is not closed, or has text after its closing quote: " + OneLine.of(start));
        }
    }

    private static boolean isBlankLine(CSVRecord record) {
        return record.size() == 1 && record.get(0).isBlank();
    }

    private void take(CSVRecord record, long line) {
        if (columns != null) {
            collectives.add(collective(record, line));
        } else if (!rankRangeSeen && record.get(0).startsWith("[")) {
            takeRankRange(record, line);
        } else {
            takeHeader(record, line);
        }
    }

    private void takeRankRange(CSVRecord record, long line) {
        String range = String.join(",", record);
        if (!RANK_RANGE.matcher(range.strip()).matches()) {
            throw error(line, "the rank range must look like [rank0 ~ rank7]: " + OneLine.of(range));
        }
        rankRangeSeen = true;
    }

    private void takeHeader(CSVRecord record, long line) {
        columns = record.stream().map(String::strip).toList();
        headerLine = line;
        List<String> missing = Stream.of(COMM_TYPE, MSG_SIZE)
                .filter(column -> !columns.contains(column))
                .toList();
        if (!missing.isEmpty()) {
            throw error(
                    line,
                    "missing column: " + String.join(", ", missing) + " (columns found: "
                            + OneLine.of(String.join(", ", columns)) + ")");
        }
        commTypeColumn = onlyIndexOf(COMM_TYPE);
        msgSizeColumn = onlyIndexOf(MSG_SIZE);
    }

    private int onlyIndexOf(String column) {
        int index = columns.indexOf(column);
        if (index != columns.lastIndexOf(column)) {
            throw error(headerLine, "a column may appear only once: " + column);
        }
        return index;
    }

    private Collective collective(CSVRecord record, long line) {
        if (record.size() != columns.size()) {
            throw error(
                    line,
                    "a record must have as many fields as there are columns: " + record.size() + " fields, "
                            + columns.size() + " columns");
        }
        return new Collective(
                kind(record.get(commTypeColumn).strip(), line),
                bytes(record.get(msgSizeColumn).strip(), line),
                Math.toIntExact(line));
    }

    private CollectiveKind kind(String value, long line) {
        return CollectiveKind.of(value)
                .orElseThrow(() -> error(
                        line, "unknown comm_type: " + OneLine.of(value) + " (known: " + CollectiveKind.known() + ")"));
    }

    private long bytes(String value, long line) {
        if (value.isEmpty()) {
            return 0;
        }
        if (NUMBER.matcher(value).matches()) {
            try {
                return new BigDecimal(value).longValueExact();
            } catch (ArithmeticException e) {
                // not whole, or too large: falls through to the one error for every bad size
            }
        }
        throw error(
                line,
                "msg_size must be a whole number of bytes, 0 to " + Long.MAX_VALUE + ", or blank: "
                        + OneLine.of(value));
    }

    private WorkloadException error(long line, String problem) {
        return WorkloadException.atLine(name, line, problem);
    }
}
