package io.cqring.simnic.qp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class QpStateTest {
    /**
     * Linux, drivers/infiniband/core/verbs.c, qp_state_table, written down by hand. Row: from; column: to; x: legal.
     */
    private static final String TABLE = """
                    RESET INIT RTR RTS SQD SQE ERR
            RESET     x    x    .   .   .   .   .
            INIT      x    x    x   .   .   .   x
            RTR       x    .    .   x   .   .   x
            RTS       x    .    .   x   x   .   x
            SQD       x    .    .   x   x   .   x
            SQE       x    .    .   x   .   .   x
            ERR       x    .    .   .   .   .   x
            """;

    @Test
    void changesOfStateAreThoseOfTheVerbs() {
        String[] rows = TABLE.strip().split("\n", -1);
        String[] columns = rows[0].strip().split(" +", -1);
        int cells = 0;
        for (int row = 1; row < rows.length; row++) {
            String[] cell = rows[row].strip().split(" +", -1);
            QpState from = QpState.valueOf(cell[0]);
            for (int column = 0; column < columns.length; column++) {
                QpState to = QpState.valueOf(columns[column]);
                assertEquals(cell[column + 1].equals("x"), from.canBecome(to), from + " to " + to);
                cells++;
            }
        }
        assertEquals(49, cells);
    }

    @ParameterizedTest
    @CsvSource({
        "RESET, 0, false, false, false",
        "INIT,  1, false, true,  false",
        "RTR,   2, false, true,  true",
        "RTS,   3, true,  true,  true",
        "SQD,   4, true,  true,  true",
        "SQE,   5, true,  true,  true",
        "ERR,   6, true,  true,  false"
    })
    void eachStateHasItsNumberAndItsRights(QpState state, int code, boolean send, boolean receive, boolean answers) {
        assertEquals(code, state.code());
        assertEquals(state, QpState.of(code));
        assertEquals(send, state.canPostSend());
        assertEquals(receive, state.canPostReceive());
        assertEquals(answers, state.answers());
    }

    @ParameterizedTest
    @EnumSource(value = QpAttribute.class, mode = EnumSource.Mode.EXCLUDE, names = "QKEY")
    void anAttributeOutOfRangeIsRefusedByName(QpAttribute attribute) {
        for (int value : new int[] {-1, Integer.MIN_VALUE, 0x100_0000}) {
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> new QpAttributes().set(attribute, value));
            assertEquals(true, refused.getMessage().startsWith(attribute + " must be "), refused.getMessage());
        }
    }

    @Test
    void anMtuIsAPowerOfTwo() {
        for (int mtu = 256; mtu <= 4096; mtu *= 2) {
            new QpAttributes().set(QpAttribute.PATH_MTU, mtu);
        }
        assertThrows(IllegalArgumentException.class, () -> new QpAttributes().set(QpAttribute.PATH_MTU, 1500));
    }

    /** Spot checks of the InfiniBand table "RNR NAK timer field". */
    @ParameterizedTest
    @CsvSource({
        "0, 655360000",
        "1, 10000",
        "4, 40000",
        "5, 60000",
        "12, 640000",
        "13, 960000",
        "23, 30720000",
        "31, 491520000"
    })
    void timerCodesStandForTheStandardsTimes(int code, long ns) {
        assertEquals(ns, QpAttribute.rnrDelayNs(code));
    }
}
