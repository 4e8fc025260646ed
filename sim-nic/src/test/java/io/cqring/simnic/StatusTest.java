package io.cqring.simnic;

import static io.cqring.simnic.TestRig.SIGNALED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionStatus;
import io.cqring.cq.CompletionWriter;
import io.cqring.cq.CqeOpcode;
import io.cqring.cq.WorkCompletion;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.testing.FieldBug;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every status a device can report surfaces unchanged, whichever way the host polls. */
class StatusTest {
    /** All codes of the reference profile, from the table in seed and driver, not from the enum's own numbers. */
    static int[][] syndromes() {
        return new int[][] {
            {0x00, 0},
            {0x02, 1},
            {0x01, 2},
            {0x04, 4},
            {0x05, 5},
            {0x06, 6},
            {0x10, 7},
            {0x11, 8},
            {0x12, 9},
            {0x13, 10},
            {0x14, 11},
            {0x15, 12},
            {0x16, 13},
            {0x22, 16},
            {0xFF, 21},
            {0x7E, 21}
        };
    }

    @ParameterizedTest
    @MethodSource("syndromes")
    @FieldBug(80)
    void aStatusSurfacesUnchangedInEveryWayToPoll(int[] codes) {
        final long syndrome = codes[0];
        CompletionStatus expected = Arrays.stream(CompletionStatus.values())
                .skip(codes[1])
                .findFirst()
                .orElseThrow();
        DeviceFaults inject = new DeviceFaults() {
            @Override
            public boolean writeCompletion(
                    CompletionWriter writer,
                    long header,
                    long workRequestId,
                    long length,
                    long detail,
                    long timestamp) {
                return super.writeCompletion(writer, header | syndrome << 56, workRequestId, length, detail, timestamp);
            }
        };
        try (TestRig rig = TestRig.builder().faults(inject).create()) {
            for (int i = 0; i < 4; i++) {
                assertTrue(rig.a.postWrite(i, 0, 0, 0, 0, 0, SIGNALED));
            }
            rig.a.ringSendDoorbell();
            rig.quiesce();
            assertEquals(expected, rig.aCq.peek().status());
            rig.aCq.poll(completion -> assertEquals(expected, completion.status()), 1);
            WorkCompletion[] copies = {new WorkCompletion()};
            assertEquals(1, rig.aCq.pollInto(copies, 1));
            assertEquals(expected, copies[0].status());
            assertTrue(rig.aCq.startPoll());
            assertEquals(expected, rig.aCq.completion().status());
            assertEquals((int) syndrome, rig.aCq.completion().syndrome());
            assertTrue(rig.aCq.next());
            assertEquals(expected, rig.aCq.completion().status());
            assertEquals(CqeOpcode.RC_RDMA_WRITE, rig.aCq.completion().opcode());
            assertEquals(2, rig.aCq.endPoll());
        }
    }
}
