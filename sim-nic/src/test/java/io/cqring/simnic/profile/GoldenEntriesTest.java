package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Entries made with the headers of the real drivers, both ways: the codec composes the same bytes from the fields, and reads the same fields
 * from the bytes. They are not part of this repository.
 */
class GoldenEntriesTest {
    private record Golden(String profile, int bytes, String name, Map<String, Long> fields, String image) {
        long get(String field) {
            return fields.getOrDefault(field, 0L);
        }

        int num(String field) {
            return (int) get(field);
        }

        boolean is(String field) {
            return get(field) != 0;
        }
    }

    private static List<Golden> golden() throws IOException {
        final Path file = Path.of(System.getProperty("cqring.shared.dir", "../shared"), "golden", "cqe-vectors.csv");
        if (!Files.exists(file)) {
            System.out.println("SKIPPED: golden entries, absent");
            Assumptions.abort("golden entries are absent");
        }
        final List<Golden> all = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            if (!line.startsWith("#")) {
                final String[] parts = line.split(",", -1);
                final Map<String, Long> fields = new HashMap<>();
                for (String field : parts[3].split(" ", -1)) {
                    final String[] pair = field.split("=", -1);
                    fields.put(pair[0], Long.parseUnsignedLong(pair[1]));
                }
                all.add(new Golden(parts[0], Integer.parseInt(parts[1]), parts[2], fields, parts[4]));
            }
        }
        return all;
    }

    @TestFactory
    List<DynamicTest> composesTheBytesOfTheRealHeaders() throws IOException {
        return tests("composed", GoldenEntriesTest::composed);
    }

    @TestFactory
    List<DynamicTest> readsTheFieldsOfTheRealHeaders() throws IOException {
        return tests("read", GoldenEntriesTest::read);
    }

    private static List<DynamicTest> tests(String what, java.util.function.Consumer<Golden> test) throws IOException {
        final List<Golden> all = golden();
        assertTrue(all.size() >= 49, "golden entries: " + all.size());
        return all.stream()
                .map(one -> DynamicTest.dynamicTest(
                        what + " " + one.profile + " " + one.bytes + " " + one.name, () -> test.accept(one)))
                .toList();
    }

    private static void composed(Golden one) {
        final QueueMemory memory = QueueMemory.allocate(128);
        switch (one.profile) {
            case "mlx5" -> composeMlx5(one, memory);
            case "irdma" -> composeIrdma(one, memory);
            case "bnxt_re" -> composeBnxt(one, memory);
            default -> throw new AssertionError(one.profile);
        }
        final byte[] made = new byte[one.image.length() / 2];
        memory.getBytes(0, made, 0, made.length);
        assertEquals(one.image, HexFormat.of().formatHex(made));
    }

    private static QueueMemory image(Golden one) {
        final QueueMemory memory = QueueMemory.allocate(128);
        final byte[] bytes = HexFormat.of().parseHex(one.image);
        memory.putBytes(0, bytes, 0, bytes.length);
        return memory;
    }

    // ---- mlx5

    private static void composeMlx5(Golden one, QueueMemory memory) {
        final int at = one.bytes - Mlx5Cqe.BYTES;
        final boolean failed = one.num("opcode") == Mlx5Cqe.REQ_ERR || one.num("opcode") == Mlx5Cqe.RESP_ERR;
        Mlx5Cqe.putWord(memory, at + Mlx5Cqe.PATH, one.get("slid"));
        Mlx5Cqe.putWord(memory, at + Mlx5Cqe.SOURCE, Mlx5Cqe.source(one.num("source_qp"), one.num("sl")));
        Mlx5Cqe.putWord(memory, at + Mlx5Cqe.KEY, Mlx5Cqe.key(one.num("uidx"), one.num("imm")));
        Mlx5Cqe.putWord(memory, at + Mlx5Cqe.LENGTH, one.get("byte_count"));
        Mlx5Cqe.putWord(
                memory,
                at + Mlx5Cqe.STAMP,
                failed ? Mlx5Cqe.error(one.num("vendor_error"), one.num("syndrome")) : one.get("timestamp"));
        Mlx5Cqe.putWord(
                memory,
                at + Mlx5Cqe.CONTROL,
                Mlx5Cqe.control(
                        one.num("wire_opcode"),
                        one.num("qpn"),
                        one.num("wqe_counter"),
                        one.num("opcode"),
                        Mlx5Cqe.FORMAT_PLAIN,
                        one.is("solicited"),
                        one.num("owner")));
    }

    private static void readMlx5(Golden one, QueueMemory memory) {
        final int at = one.bytes - Mlx5Cqe.BYTES;
        final long control = Mlx5Cqe.word(memory, at + Mlx5Cqe.CONTROL);
        assertEquals(one.num("owner"), Mlx5Cqe.owner(control), "owner");
        assertEquals(one.num("opcode"), Mlx5Cqe.opcode(control), "opcode");
        assertEquals(one.num("wire_opcode"), Mlx5Cqe.wireOpcode(control), "wire opcode");
        assertEquals(one.is("solicited"), Mlx5Cqe.isSolicited(control), "solicited");
        assertEquals(one.num("qpn"), Mlx5Cqe.qpNumber(control), "QP number");
        assertEquals(one.num("wqe_counter"), Mlx5Cqe.wqeCounter(control), "WQE counter");
        assertEquals(Mlx5Cqe.FORMAT_PLAIN, Mlx5Cqe.format(control), "format");
        final long key = Mlx5Cqe.word(memory, at + Mlx5Cqe.KEY);
        assertEquals(one.num("uidx"), (int) (key >>> 32) & 0xFF_FFFF, "user index");
        assertEquals(one.num("imm"), (int) key, "immediate");
        assertEquals(one.num("byte_count"), (int) Mlx5Cqe.word(memory, at + Mlx5Cqe.LENGTH), "byte count");
        final long stamp = Mlx5Cqe.word(memory, at + Mlx5Cqe.STAMP);
        if (one.is("syndrome")) {
            assertEquals(one.num("syndrome"), (int) stamp & 0xFF, "syndrome");
            assertEquals(one.num("vendor_error"), (int) stamp >>> 8 & 0xFF, "vendor error");
        } else {
            assertEquals(one.get("timestamp"), stamp, "timestamp");
        }
    }

    // ---- irdma

    private static void composeIrdma(Golden one, QueueMemory memory) {
        memory.putLong(0, IrdmaCqe.length(one.num("payload_length"), one.num("psn")));
        memory.putLong(IrdmaCqe.CONTEXT, one.get("completion_context"));
        memory.putLong(IrdmaCqe.QP, IrdmaCqe.qp(one.num("qp_id"), one.num("ud_src_qp")));
        final long control = IrdmaCqe.control(
                one.num("op"),
                one.is("sq"),
                one.num("wqe_index"),
                one.is("ext"),
                false,
                one.is("solicited"),
                one.num("valid"));
        memory.putLong(
                IrdmaCqe.CONTROL,
                one.is("error") ? IrdmaCqe.failed(control, one.num("major_error"), one.num("minor_error")) : control);
        if (one.is("ext")) {
            memory.putLong(IrdmaCqe.BYTES, one.get("imm"));
            memory.putLong(IrdmaCqe.BYTES + IrdmaCqe.CONTROL, IrdmaCqe.extensionControl(one.num("valid")));
        }
    }

    private static void readIrdma(Golden one, QueueMemory memory) {
        final long control = memory.getLong(IrdmaCqe.CONTROL);
        assertEquals(one.num("valid"), IrdmaCqe.valid(control), "VALID");
        assertEquals(one.is("sq"), IrdmaCqe.isSendQueue(control), "send queue");
        assertEquals(one.num("op"), IrdmaCqe.operation(control), "operation");
        assertEquals(one.is("error"), IrdmaCqe.isError(control), "error");
        assertEquals(one.is("solicited"), IrdmaCqe.isSolicited(control), "solicited");
        assertEquals(one.is("ext"), IrdmaCqe.isExtended(control), "extended");
        assertEquals(one.num("wqe_index"), IrdmaCqe.wqeIndex(control), "WQE index");
        assertEquals(one.num("major_error"), IrdmaCqe.majorError(control), "major error");
        assertEquals(one.num("minor_error"), IrdmaCqe.minorError(control), "minor error");
        assertEquals(one.num("qp_id"), IrdmaCqe.qpNumber(memory.getLong(IrdmaCqe.QP)), "QP number");
        assertEquals(one.num("payload_length"), (int) memory.getLong(0), "length");
        if (one.is("ext")) {
            assertEquals(one.num("imm"), (int) memory.getLong(IrdmaCqe.BYTES), "immediate");
            assertEquals(one.num("valid"), IrdmaCqe.valid(memory.getLong(IrdmaCqe.BYTES + IrdmaCqe.CONTROL)), "VALID");
        }
    }

    // ---- bnxt_re

    private static void composeBnxt(Golden one, QueueMemory memory) {
        switch (one.num("type")) {
            case BnxtCqe.REQ -> {
                memory.putLong(0, one.get("qp_handle"));
                memory.putLong(BnxtCqe.WORD_1, one.get("con_indx"));
            }
            case BnxtCqe.RES_RC -> {
                memory.putLong(0, BnxtCqe.receive(one.num("length"), one.num("imm")));
                memory.putLong(BnxtCqe.WORD_1, one.get("qp_handle"));
            }
            default -> memory.putLong(0, one.get("qp_handle"));
        }
        memory.putLong(
                BnxtCqe.BASE,
                one.num("type") == BnxtCqe.CUT_OFF
                        ? BnxtCqe.cutOff(one.num("resize_toggle"), one.num("phase"))
                        : BnxtCqe.base(
                                one.num("type"),
                                one.num("status"),
                                one.num("flags"),
                                one.num("wr_id_index"),
                                one.num("phase")));
    }

    private static void readBnxt(Golden one, QueueMemory memory) {
        final long base = memory.getLong(BnxtCqe.BASE);
        assertEquals(one.num("phase"), BnxtCqe.toggle(base), "phase");
        assertEquals(one.num("type"), BnxtCqe.type(base), "type");
        assertEquals(one.num("status"), BnxtCqe.status(base), "status");
        assertEquals(one.num("flags"), BnxtCqe.flags(base), "flags");
        assertEquals(one.num("wr_id_index"), BnxtCqe.receiveIndex(base), "receive's index");
        assertEquals(one.num("resize_toggle"), BnxtCqe.resizeToggle(base), "resize toggle");
    }

    private static void read(Golden one) {
        final QueueMemory memory = image(one);
        switch (one.profile) {
            case "mlx5" -> readMlx5(one, memory);
            case "irdma" -> readIrdma(one, memory);
            case "bnxt_re" -> readBnxt(one, memory);
            default -> throw new AssertionError(one.profile);
        }
    }
}
