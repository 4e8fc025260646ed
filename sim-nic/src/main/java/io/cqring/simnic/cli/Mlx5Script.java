package io.cqring.simnic.cli;

import io.cqring.simnic.profile.Mlx5Cqe;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVRecord;

/** A script of completions: CSV lines {@code op,bytes,imm,syndrome,vendor,se}; {@code #} starts a comment, numbers as C reads them. */
final class Mlx5Script {
    /**
     * One completion to be written.
     *
     * @param opcode     opcode of the entry
     * @param wireOpcode opcode of the request, 0 for a receive
     * @param bytes      byte count
     * @param immediate  immediate data or invalidated rkey
     * @param syndrome   of a failure
     * @param vendor     vendor's error of a failure
     * @param solicited  whether the sender asked for an event
     */
    record Line(int opcode, int wireOpcode, int bytes, int immediate, int syndrome, int vendor, boolean solicited) {
        boolean isFailure() {
            return opcode == Mlx5Cqe.REQ_ERR || opcode == Mlx5Cqe.RESP_ERR;
        }

        boolean isRequest() {
            return opcode == Mlx5Cqe.REQ || opcode == Mlx5Cqe.REQ_ERR;
        }
    }

    private static final int FIELDS = 6;

    private Mlx5Script() {}

    /** Reads a script; an error names the line and the rule. */
    static List<Line> read(Path file) throws IOException {
        final CSVFormat format =
                CSVFormat.DEFAULT.builder().setCommentMarker('#').get();
        final List<Line> lines = new ArrayList<>();
        try (CSVParser parser = CSVParser.parse(Files.newBufferedReader(file), format)) {
            for (CSVRecord record : parser) {
                lines.add(line(record, file + " line " + parser.getCurrentLineNumber()));
            }
        } catch (UncheckedIOException notCsv) {
            throw notCsv.getCause();
        }
        if (lines.isEmpty()) {
            throw new IllegalArgumentException(file + ": a script must have a completion");
        }
        return lines;
    }

    private static Line line(CSVRecord record, String where) {
        if (record.size() != FIELDS) {
            throw new IllegalArgumentException(
                    where + ": op,bytes,imm,syndrome,vendor,se are six fields: found " + record.size());
        }
        final String op = record.get(0);
        int wire = 0;
        final int opcode = switch (op) {
            case "send", "write", "read", "fadd" -> {
                wire = wire(op);
                yield Mlx5Cqe.REQ;
            }
            case "recv" -> Mlx5Cqe.RESP_SEND;
            case "recv_imm" -> Mlx5Cqe.RESP_SEND_IMM;
            case "recv_inv" -> Mlx5Cqe.RESP_SEND_INV;
            case "req_err" -> Mlx5Cqe.REQ_ERR;
            case "resp_err" -> Mlx5Cqe.RESP_ERR;
            default ->
                throw new IllegalArgumentException(where
                        + ": op must be send, write, read, fadd, recv, recv_imm, recv_inv, req_err or resp_err: " + op);
        };
        return new Line(
                opcode,
                wire,
                number(record, 1, Integer.SIZE, where),
                number(record, 2, Integer.SIZE, where),
                number(record, 3, Byte.SIZE, where),
                number(record, 4, Byte.SIZE, where),
                number(record, 5, Integer.SIZE, where) != 0);
    }

    private static int wire(String op) {
        return switch (op) {
            case "write" -> Mlx5Cqe.WIRE_RDMA_WRITE;
            case "read" -> Mlx5Cqe.WIRE_RDMA_READ;
            case "fadd" -> Mlx5Cqe.WIRE_FETCH_ADD;
            default -> Mlx5Cqe.WIRE_SEND;
        };
    }

    /** A number of so many bits, decimal, 0x or 0. */
    private static int number(CSVRecord record, int field, int bits, String where) {
        final String text = record.get(field).strip();
        try {
            final long value = Long.decode(text);
            if (value >= 0 && value >>> bits == 0) {
                return (int) value;
            }
        } catch (NumberFormatException notANumber) {
            // the same error
        }
        throw new IllegalArgumentException(
                where + ": field " + (field + 1) + " must be a number of " + bits + " bits: " + text);
    }
}
