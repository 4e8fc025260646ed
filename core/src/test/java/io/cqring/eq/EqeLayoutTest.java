package io.cqring.eq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The entry bit by bit, and the numbers of the events, against tables written by hand. */
class EqeLayoutTest {
    @ParameterizedTest
    @CsvSource({
        "COMPLETION,       0,        0,   0,   0x0000000000000000",
        "COMPLETION,       0xABCDEF, 0,   0,   0x00ABCDEF00000000",
        "CQ_ERROR,         5,        0,   1,   0x0000000501000400",
        "PORT_CHANGE,      1,        4,   0,   0x0000000100040900",
        "OBJECT_CHANGE,    16777215, 255, 255, 0x00FFFFFFFFFF2700",
        "WQ_ACCESS_ERROR,  0x800001, 128, 127, 0x008000017F801100",
    })
    void shouldPutEachFieldWhereThePictureHasIt(
            EventType type, String number, int subType, int syndrome, String expected) {
        long header = EqeLayout.header(type, Integer.decode(number), subType, syndrome);
        assertEquals(Long.decode(expected), header);
        for (long owner = 0; owner != 2; owner++) {
            assertSame(type, EqeLayout.type(header | owner));
            assertEquals(type.code(), EqeLayout.typeCode(header | owner));
            assertEquals((int) Integer.decode(number), EqeLayout.number(header | owner));
            assertEquals(subType, EqeLayout.subType(header | owner));
            assertEquals(syndrome, EqeLayout.syndrome(header | owner));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 1 << 24, Integer.MIN_VALUE})
    void shouldNameANumberOutOfRange(int number) {
        assertEquals(
                "queue number must be 0 to 16777215: " + number,
                assertThrows(IllegalArgumentException.class, () -> EqeLayout.header(EventType.CMD, number, 0, 0))
                        .getMessage());
    }

    @ParameterizedTest
    @CsvSource({"-1,0", "256,0", "0,-1", "0,256"})
    void shouldNameASubTypeOrSyndromeOutOfRange(int subType, int syndrome) {
        assertEquals(
                "sub-type and syndrome must be 0 to 255: sub-type " + subType + ", syndrome " + syndrome,
                assertThrows(
                                IllegalArgumentException.class,
                                () -> EqeLayout.header(EventType.CMD, 0, subType, syndrome))
                        .getMessage());
    }

    @Test
    void shouldRefuseATypeWithoutACode() {
        assertEquals(
                "event type must have a code: UNKNOWN",
                assertThrows(IllegalArgumentException.class, () -> EqeLayout.header(EventType.UNKNOWN, 0, 0, 0))
                        .getMessage());
        assertThrows(NullPointerException.class, () -> EqeLayout.header(null, 0, 0, 0));
    }

    /** Codes of mlx5 and numbers of ibv_event_type, typed in from their tables; -1: none. */
    private static final Object[][] TABLE = {
        {EventType.COMPLETION, 0x00, -1},
        {EventType.PATH_MIG, 0x01, 6},
        {EventType.COMM_EST, 0x02, 4},
        {EventType.SQ_DRAINED, 0x03, 5},
        {EventType.CQ_ERROR, 0x04, 0},
        {EventType.WQ_CATAS_ERROR, 0x05, 1},
        {EventType.PATH_MIG_FAILED, 0x07, 7},
        {EventType.INTERNAL_ERROR, 0x08, -1},
        {EventType.CMD, 0x0a, -1},
        {EventType.PAGE_REQUEST, 0x0b, -1},
        {EventType.PAGE_FAULT, 0x0c, -1},
        {EventType.NIC_VPORT_CHANGE, 0x0d, -1},
        {EventType.ESW_FUNCTIONS_CHANGED, 0x0e, -1},
        {EventType.VHCA_STATE, 0x0f, -1},
        {EventType.WQ_INVAL_REQ_ERROR, 0x10, 2},
        {EventType.WQ_ACCESS_ERROR, 0x11, 3},
        {EventType.SRQ_CATAS_ERROR, 0x12, 14},
        {EventType.SRQ_LAST_WQE, 0x13, 16},
        {EventType.SRQ_RQ_LIMIT, 0x14, 15},
        {EventType.GPIO, 0x15, -1},
        {EventType.PORT_MODULE, 0x16, -1},
        {EventType.TEMP_WARN, 0x17, -1},
        {EventType.XRQ_ERROR, 0x18, -1},
        {EventType.REMOTE_CONFIG, 0x19, -1},
        {EventType.DB_BF_CONGESTION, 0x1a, -1},
        {EventType.STALL, 0x1b, -1},
        {EventType.DCT_DRAINED, 0x1c, -1},
        {EventType.DCT_KEY_VIOLATION, 0x1d, -1},
        {EventType.FPGA_ERROR, 0x20, -1},
        {EventType.FPGA_QP_ERROR, 0x21, -1},
        {EventType.GENERAL, 0x22, -1},
        {EventType.MONITOR_COUNTER, 0x24, -1},
        {EventType.PPS, 0x25, -1},
        {EventType.DEVICE_TRACER, 0x26, -1},
        {EventType.OBJECT_CHANGE, 0x27, -1},
    };

    @Test
    void shouldHaveTheNumbersOfTheTables() {
        Set<EventType> seen = EnumSet.of(EventType.UNKNOWN, EventType.PORT_CHANGE);
        for (Object[] row : TABLE) {
            EventType type = (EventType) row[0];
            assertTrue(seen.add(type));
            assertEquals(row[1], type.code());
            assertSame(type, EventType.of((int) row[1]));
            assertEquals(row[2], type.ibvEvent(0), type::toString);
            assertEquals(row[2], type.ibvEvent(EventType.PORT_ACTIVE), type::toString);
        }
        assertEquals(EnumSet.allOf(EventType.class), seen);
    }

    @ParameterizedTest
    @CsvSource({"0,-1", "1,10", "2,-1", "4,9", "5,10", "6,11", "7,12", "8,18", "9,17", "10,-1", "255,-1"})
    void shouldTellPortChangesApartBySubType(int subType, int ibvEvent) {
        assertEquals(0x09, EventType.PORT_CHANGE.code());
        assertSame(EventType.PORT_CHANGE, EventType.of(0x09));
        assertEquals(ibvEvent, EventType.PORT_CHANGE.ibvEvent(subType));
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 0x06, 0x1e, 0x1f, 0x23, 0x28, 0xff, 0x100, Integer.MAX_VALUE, Integer.MIN_VALUE})
    void shouldCallACodeWithoutANameUnknown(int code) {
        assertSame(EventType.UNKNOWN, EventType.of(code));
        assertEquals(EventType.NO_IBV_EVENT, EventType.of(code).ibvEvent(0));
    }
}
