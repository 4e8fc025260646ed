package io.cqring.simnic.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.abort;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Workloads recorded from real jobs. They are not part of this repository: the system property {@code
 * cqring.shared.dir} says where they are, in its folder {@code data/aicb}.
 */
class RecordedWorkloadsTest {
    /** Counted from the files with awk, not with this package. */
    @ParameterizedTest(name = "{0} R={1} C={2}")
    @CsvSource({
        "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv,  2, 524288,  421,    859,   34589,    69178",
        "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv,  8, 524288,  421,  23989,  243061,   486122",
        "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv, 16, 524288,  421, 102765,  571965,  1143930",
        "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv,  8,  65537,  421,  23989, 1935661,  3871322",
        "L7B-D1-C02_Llama7B_zero3_mbs1.csv,                2, 524288, 1243,   2195,  129133,   258266",
        "L7B-D1-C02_Llama7B_zero3_mbs1.csv,                8, 524288, 1243,  55205,  923415,  1846830",
        "L7B-D1-C02_Llama7B_zero3_mbs1.csv,               16, 524288, 1243, 232173, 2011863,  4023726",
        "L7B-D1-C02_Llama7B_zero3_mbs1.csv,                8,  65537, 1243,  55205, 7212775, 14425550",
        "all_to_all_workload.csv,                          2, 524288, 2002,   4000,  411200,   822400",
        "all_to_all_workload.csv,                          8, 524288, 2002, 112000, 2923200,  5846400",
        "all_to_all_workload.csv,                         16, 524288, 2002, 480000, 6408000, 12816000",
        "all_to_all_workload.csv,                          8,  65537, 2002, 112000, 22976800, 45953600"
    })
    void shouldHaveTheTotalsThatAnotherToolCounts(
            String file, int ranks, long chunkBytes, long lines, long messages, long chunks, long completions) {
        assertEquals(
                new WorkloadTotals(lines, messages, chunks, completions),
                WorkloadFile.read(aicb(file)).totals(ranks, chunkBytes));
    }

    private static Path aicb(String file) {
        String shared = System.getProperty("cqring.shared.dir", "");
        if (shared.isEmpty() || !Files.isDirectory(Path.of(shared))) {
            String reason = "SKIPPED: recorded workload " + file
                    + ": the system property cqring.shared.dir names no directory: \"" + shared + "\"";
            System.out.println(reason);
            abort(reason);
        }
        return Path.of(shared, "data", "aicb", file);
    }
}
