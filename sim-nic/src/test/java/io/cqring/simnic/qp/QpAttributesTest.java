package io.cqring.simnic.qp;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Which attributes each change of state must and may have: the table of the verbs, written down by hand. */
class QpAttributesTest {
    /**
     * Type, from, to: required; optional. Linux, drivers/infiniband/core/verbs.c, qp_state_table, without what does not exist here (alternate
     * paths). All other legal changes have neither.
     */
    private static final String TABLE = """
            RC RESET INIT : PKEY_INDEX PORT ACCESS_RIGHTS ;
            UC RESET INIT : PKEY_INDEX PORT ACCESS_RIGHTS ;
            UD RESET INIT : PKEY_INDEX PORT QKEY ;
            RC INIT INIT : ; PKEY_INDEX PORT ACCESS_RIGHTS
            UC INIT INIT : ; PKEY_INDEX PORT ACCESS_RIGHTS
            UD INIT INIT : ; PKEY_INDEX PORT QKEY
            RC INIT RTR : DESTINATION_LID PATH_MTU DESTINATION_QP RECEIVE_PSN MAX_DESTINATION_READS MIN_RNR_TIMER ; ACCESS_RIGHTS PKEY_INDEX
            UC INIT RTR : DESTINATION_LID PATH_MTU DESTINATION_QP RECEIVE_PSN ; ACCESS_RIGHTS PKEY_INDEX
            UD INIT RTR : ; PKEY_INDEX QKEY
            RC RTR RTS : TIMEOUT RETRY_COUNT RNR_RETRY SEND_PSN MAX_READS ; CURRENT_STATE ACCESS_RIGHTS MIN_RNR_TIMER
            UC RTR RTS : SEND_PSN ; CURRENT_STATE ACCESS_RIGHTS
            UD RTR RTS : SEND_PSN ; CURRENT_STATE QKEY
            RC RTS RTS : ; CURRENT_STATE ACCESS_RIGHTS MIN_RNR_TIMER
            UC RTS RTS : ; CURRENT_STATE ACCESS_RIGHTS
            UD RTS RTS : ; CURRENT_STATE QKEY
            RC RTS SQD : ; SQD_NOTIFY
            UC RTS SQD : ; SQD_NOTIFY
            UD RTS SQD : ; SQD_NOTIFY
            RC SQD RTS : ; CURRENT_STATE ACCESS_RIGHTS MIN_RNR_TIMER
            UC SQD RTS : ; CURRENT_STATE ACCESS_RIGHTS
            UD SQD RTS : ; CURRENT_STATE QKEY
            RC SQD SQD : ; PORT DESTINATION_LID TIMEOUT RETRY_COUNT RNR_RETRY MAX_READS MAX_DESTINATION_READS ACCESS_RIGHTS PKEY_INDEX MIN_RNR_TIMER
            UC SQD SQD : ; DESTINATION_LID ACCESS_RIGHTS PKEY_INDEX
            UD SQD SQD : ; PKEY_INDEX QKEY
            UC SQE RTS : ; CURRENT_STATE ACCESS_RIGHTS
            UD SQE RTS : ; CURRENT_STATE QKEY
            """;

    private static final String LEGAL = "RESET>RESET RESET>INIT INIT>RESET INIT>INIT INIT>RTR INIT>ERR RTR>RESET"
            + " RTR>RTS RTR>ERR RTS>RESET RTS>RTS RTS>SQD RTS>ERR SQD>RESET SQD>RTS SQD>SQD SQD>ERR SQE>RESET SQE>RTS"
            + " SQE>ERR ERR>RESET ERR>ERR";

    private static QpAttributes with(Set<String> names, QpState from) {
        QpAttributes attributes = new QpAttributes();
        for (String name : names) {
            QpAttribute attribute = QpAttribute.valueOf(name);
            int value = attribute == QpAttribute.PATH_MTU ? 1024 : attribute == QpAttribute.PKEY_INDEX ? 0 : 1;
            attributes.set(
                    attribute, attribute == QpAttribute.CURRENT_STATE ? Math.min(5, Math.max(2, from.code())) : value);
        }
        return attributes;
    }

    private static Set<String> words(String text) {
        return text.isBlank() ? Set.of() : Set.of(text.strip().split(" +", -1));
    }

    @Test
    void eachChangeTakesTheAttributesOfTheVerbsAndNoOthers() {
        int checked = 0;
        for (QpType type : QpType.values()) {
            for (String change : LEGAL.split(" ", -1)) {
                QpState from = QpState.valueOf(change.split(">", -1)[0]);
                QpState to = QpState.valueOf(change.split(">", -1)[1]);
                Set<String> required = Set.of();
                Set<String> optional = Set.of();
                for (String row : TABLE.strip().split("\n", -1)) {
                    if (row.startsWith(type + " " + from + " " + to + " ")) {
                        List<String> parts = List.of(row.split("[:;]", -1));
                        required = words(parts.get(1));
                        optional = words(parts.get(2));
                    }
                }
                String where = type + " " + change;
                QpAttributes exact = with(required, from);
                assertDoesNotThrow(() -> exact.requireSuits(type, from, to), where);
                for (String name : required) {
                    Set<String> missing = new HashSet<>(required);
                    missing.remove(name);
                    QpAttributes incomplete = with(missing, from);
                    assertThrows(
                            IllegalArgumentException.class,
                            () -> incomplete.requireSuits(type, from, to),
                            where + " without " + name);
                    checked++;
                }
                for (QpAttribute extra : QpAttribute.values()) {
                    if (required.contains(extra.name())) {
                        continue;
                    }
                    Set<String> more = new HashSet<>(required);
                    more.add(extra.name());
                    QpAttributes larger = with(more, from);
                    if (optional.contains(extra.name())) {
                        assertDoesNotThrow(() -> larger.requireSuits(type, from, to), where + " with " + extra);
                    } else {
                        assertThrows(
                                IllegalArgumentException.class,
                                () -> larger.requireSuits(type, from, to),
                                where + " with " + extra);
                    }
                    checked++;
                }
            }
        }
        assertEquals(3 * 22 * QpAttribute.values().length, checked, "every attribute in every change of every type");
    }

    @Test
    void aWrongBeliefAboutTheStateIsRefused() {
        QpAttributes wrong = new QpAttributes().set(QpAttribute.CURRENT_STATE, QpState.SQD.code());
        assertThrows(IllegalArgumentException.class, () -> wrong.requireSuits(QpType.RC, QpState.RTS, QpState.RTS));
        assertDoesNotThrow(() -> wrong.requireSuits(QpType.RC, QpState.SQD, QpState.RTS));
    }

    @Test
    void eachTypeHasItsOperations() {
        String rc = "";
        String uc = "";
        String ud = "";
        for (int opcode = -1; opcode < 40; opcode++) {
            rc += QpType.RC.canSend(opcode) ? opcode + " " : "";
            uc += QpType.UC.canSend(opcode) ? opcode + " " : "";
            ud += QpType.UD.canSend(opcode) ? opcode + " " : "";
        }
        assertEquals("1 2 3 4 5 7 8 9 10 ", rc);
        assertEquals("1 2 3 4 ", uc);
        assertEquals("1 2 ", ud);
    }
}
